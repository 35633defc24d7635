// Package truncate owns how a text is cut to a bound: at the end of a character, so that what is left can be written
// anywhere. What the bound is, and where the whole text can be read, is for its users to say.
package truncate

import "strings"

// Cut returns the beginning of a text that has at most so many bytes, and whether something is missing. A text that fits
// comes back as it is; what is cut is valid UTF-8.
func Cut(s string, most int) (string, bool) {
	if len(s) <= most {
		return s, false
	}
	return strings.ToValidUTF8(s[:most], ""), true
}

// Head is Cut with a mark at the end of what was cut, which comes on top of the bound.
func Head(s string, most int) string {
	head, cut := Cut(s, most)
	if cut {
		head += "…"
	}
	return head
}

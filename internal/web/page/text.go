package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// plain makes what an agent wrote fit to be read: escape sequences of terminals are gone, and what would turn the order of the
// characters around, or hide among them, is shown by its number. Lines and tabs stay. That it is text and no markup is the business
// of html/template.
func plain(s string) string {
	if isPlain(s) {
		return s
	}
	return visible(ansi.Strip(strings.ReplaceAll(s, "\r\n", "\n")))
}

// isPlain reports that there is nothing to change, as a rule at the cost of one look at each byte.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return utf8.ValidString(s) && !strings.ContainsFunc(s, hidden)
		}
	}
	return true
}

// hidden reports whether a character does something other than stand there.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) ||
		r == 0x200b || r == 0x2060 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f)
}

// visible shows hidden characters by their numbers.
func visible(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// scrub is the backstop behind every template: no document that the page sends holds a hidden character, wherever it came from.
func scrub(doc []byte) []byte {
	if isPlain(string(doc)) {
		return doc
	}
	return []byte(visible(string(doc)))
}

// line is the first line of a text, in at most so many characters.
func line(most int, s string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(plain(s)), "\n")
	r := []rune(first)
	switch {
	case len(r) > most:
		return string(r[:most-1]) + "…"
	case more && strings.TrimSpace(rest) != "":
		return first + " …"
	}
	return first
}

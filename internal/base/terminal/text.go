// Package terminal owns how text reaches a terminal: harmless, coloured where that is wanted, and in columns; and how a whole screen
// is drawn and its keys are read. What is shown is its callers' business.
package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// A Palette colours text, or does not.
type Palette bool

func (p Palette) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Red is the colour of what went wrong.
func (p Palette) Red(s string) string { return p.wrap("31", s) }

// Green is the colour of what is proven.
func (p Palette) Green(s string) string { return p.wrap("32", s) }

// Yellow is the colour of what waits.
func (p Palette) Yellow(s string) string { return p.wrap("33", s) }

// Bold makes a heading.
func (p Palette) Bold(s string) string { return p.wrap("1", s) }

// Dim steps back.
func (p Palette) Dim(s string) string { return p.wrap("2", s) }

// Reverse marks what is chosen. It also works without colours, so that the choice can be seen.
func (p Palette) Reverse(s string) string { return "\x1b[7m" + s + "\x1b[27m" }

// Clean makes text that an agent wrote safe to show on a terminal: escape sequences and control characters are gone, line breaks are
// spaces.
func Clean(s string) string {
	s = ansi.Strip(s)
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case Drives(r):
			return -1
		}
		return r
	}, s))
}

// Drives reports whether a character does something to a terminal, or to the order in which others are shown.
func Drives(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// CleanLines is Clean for text that keeps its lines.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.Map(func(r rune) rune {
			if r != '\t' && Drives(r) {
				return -1
			}
			return r
		}, ansi.Strip(l)), " ")
	}
	return strings.Join(lines, "\n")
}

// SafeJSON escapes what drives a terminal in an encoded document. Such characters stand in its strings alone: the encoder has escaped
// those below a blank, and left the others.
func SafeJSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, func(r rune) bool { return r >= 0x7f && Drives(r) }) {
		return doc
	}
	var out bytes.Buffer
	for _, r := range string(doc) {
		if r >= 0x7f && Drives(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// Shorten cuts a text to n runes.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// Fit cuts a text to a width on the terminal; colours have none.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// Pad fills a text up to a width on the terminal.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// Column is a text of exactly a width.
func Column(s string, width int) string { return Pad(Fit(s, width), width) }

// Width is how wide a text is on the terminal.
func Width(s string) int { return ansi.StringWidth(s) }

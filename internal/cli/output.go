package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/deedrun/deed/internal/workspace"
)

// palette colours text, or does not.
type palette bool

// colorFor is on for a terminal whose user did not ask for plain text.
func colorFor(w io.Writer, getenv func(string) string) palette {
	return palette(isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb")
}

func isTerminal(w any) bool {
	if s, ok := w.(*sink); ok {
		w = s.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p palette) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) red(s string) string    { return p.wrap("31", s) }
func (p palette) green(s string) string  { return p.wrap("32", s) }
func (p palette) yellow(s string) string { return p.wrap("33", s) }
func (p palette) bold(s string) string   { return p.wrap("1", s) }
func (p palette) dim(s string) string    { return p.wrap("2", s) }

// clean makes text that an agent wrote safe to show on a terminal: escape sequences and control characters are
// gone, line breaks are spaces.
func clean(s string) string {
	s = ansi.Strip(s)
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case drives(r):
			return -1
		}
		return r
	}, s))
}

// drives reports whether a character does something to a terminal, or to the order in which others are shown.
func drives(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// safeJSON escapes what drives a terminal in an encoded document. Such characters stand in its strings alone: the encoder
// has escaped those below a blank, and left the others.
func safeJSON(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, func(r rune) bool { return r >= 0x7f && drives(r) }) {
		return doc
	}
	var out bytes.Buffer
	for _, r := range string(doc) {
		if r >= 0x7f && drives(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// showPath makes a path safe to show.
func showPath(p string) string { return workspace.Display(p) }

// cleanLines is clean for text that keeps its lines.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(strings.Map(func(r rune) rune {
			if r != '\t' && drives(r) {
				return -1
			}
			return r
		}, ansi.Strip(l)), " ")
	}
	return strings.Join(lines, "\n")
}

// shorten cuts a text to n runes.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// emit writes one JSON document.
func (a *app) emit(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", safeJSON(b))
	return err
}

// printf writes data to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// hint writes talk to standard error, unless the user asked for quiet or for JSON.
func (a *app) hint(format string, args ...any) {
	if a.quiet || a.json {
		return
	}
	if isTerminal(a.Err) {
		fmt.Fprint(a.Err, "\r\x1b[K") // a line of progress may stand there
	}
	fmt.Fprintf(a.Err, format+"\n", args...)
}

// table writes aligned columns.
func (a *app) table(head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, r := range append([][]string{head}, rows...) {
		for i, cell := range r {
			width[i] = max(width[i], ansi.StringWidth(cell)) // colours have no width
		}
	}
	for _, r := range append([][]string{head}, rows...) {
		var line strings.Builder
		for i, cell := range r {
			line.WriteString(cell)
			if i < len(r)-1 {
				line.WriteString(strings.Repeat(" ", width[i]-ansi.StringWidth(cell)+2))
			}
		}
		a.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

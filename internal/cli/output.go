package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// palette colours text, or does not.
type palette = terminal.Palette

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

func clean(s string) string          { return terminal.Clean(s) }
func cleanLines(s string) string     { return terminal.CleanLines(s) }
func shorten(s string, n int) string { return terminal.Shorten(s, n) }

// toSecond is an instant for a person. What cannot be read is shown as it is.
func toSecond(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return clean(at)
	}
	return t.UTC().Format(time.RFC3339)
}

// interval is a number of seconds for a person: 24h, not 24h0m0s.
func interval(seconds int64) string {
	s := (time.Duration(seconds) * time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// showPath makes a path safe to show.
func showPath(p string) string { return workspace.Display(p) }

// emit writes one JSON document.
func (a *app) emit(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", terminal.SafeJSON(b))
	return err
}

// printf writes data to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// hintDamaged names a row that a list cannot show whole, also to a program: its document has what can be read of it.
func (a *app) hintDamaged(why string) {
	if why != "" {
		fmt.Fprintf(a.Err, "damaged: %s\n", clean(why))
	}
}

// hint writes talk to standard error, unless the user asked for quiet or for JSON.
func (a *app) hint(format string, args ...any) {
	if a.quiet || a.json {
		return
	}
	if isTerminal(a.Err) {
		fmt.Fprint(a.Err, "\r\x1b[K") // a line of progress may be there
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

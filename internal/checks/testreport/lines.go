package testreport

import (
	"bytes"
	"io"
	"iter"

	"github.com/charmbracelet/x/ansi"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// textLines yields the lines of what a tool printed, without colours.
func textLines(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for line, err := range toolreport.Lines(r) {
			text := string(line)
			if bytes.IndexByte(line, 0x1b) >= 0 {
				text = ansi.Strip(text)
			}
			if !yield(text, err) {
				return
			}
		}
	}
}

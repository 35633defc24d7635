package tool

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// edit replaces text in a file.
func (t *tree) edit(in editInput, w io.Writer) error {
	if in.Old == in.New {
		return Failf(TypeInput, "old and new are the same")
	}
	data, mode, err := t.whole(in.Path)
	if err != nil {
		return err
	}
	if isBinary(data[:min(len(data), headBytes)]) {
		return Failf(TypeBinary, "%s is a binary file; change it with the shell", workspace.Display(in.Path))
	}
	changed, n, err := replaceText(data, in)
	if err != nil {
		return err
	}
	if err := t.put(in.Path, changed, mode); err != nil {
		return err
	}
	line := 1 + bytes.Count(data[:bytes.Index(data, []byte(in.Old))], []byte("\n"))
	fmt.Fprintf(w, "replaced %s in %s, the first in line %d\n", plural(n, "occurrence"), workspace.Display(in.Path), line)
	return nil
}

// replaceText does the replacement on the content of a file.
func replaceText(data []byte, in editInput) (changed []byte, n int, err error) {
	old := []byte(in.Old)
	path := workspace.Display(in.Path)
	switch n = bytes.Count(data, old); {
	case n == 0:
		return nil, 0, Failf(TypeNoMatch, "old does not occur in %s (0 matches)%s", path, nearest(data, in.Old))
	case n > 1 && !in.All:
		return nil, n, Failf(TypeAmbiguous, "old occurs %d times in %s, in lines %s; give more of the text around it, or all: true",
			n, path, matchLines(data, old))
	}
	grown := int64(len(data)) + int64(n)*int64(len(in.New)-len(in.Old))
	if grown > MaxFile {
		return nil, n, Failf(TypeTooLarge, "%s would have %d bytes (at most %d)", path, grown, MaxFile)
	}
	return bytes.ReplaceAll(data, old, []byte(in.New)), n, nil
}

// matchLines names the first lines in which old begins.
func matchLines(data, old []byte) string {
	var lines []string
	line, at := 1, 0
	for len(lines) < 10 {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		line += bytes.Count(data[at:at+i], []byte("\n"))
		lines = append(lines, fmt.Sprint(line))
		line += bytes.Count(old, []byte("\n"))
		at += i + len(old)
	}
	return strings.Join(lines, ", ") + ", …"
}

// Bounds of the look for the nearest line.
const (
	maxNearFile = 1 << 20
	maxNearLine = 300
)

// nearest says where the file comes closest to the first line of old that has something in it.
func nearest(data []byte, old string) string {
	if strings.Contains(old, "\n") && !strings.Contains(old, "\r\n") && bytes.Contains(data, []byte("\r\n")) &&
		bytes.Contains(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte(old)) {
		return `; its lines end in \r\n, those of old in \n`
	}
	want := ""
	for line := range strings.Lines(old) {
		if want = strings.TrimSpace(line); want != "" {
			break
		}
	}
	if want == "" || len(data) > maxNearFile || len(want) > maxNearLine {
		return ""
	}
	best, at, text, n := 0.0, 0, "", 0
	for line := range bytes.Lines(data) {
		n++
		have := strings.TrimSpace(string(line))
		if have == "" || len(have) > 2*maxNearLine {
			continue
		}
		if s := similarity(want, have); s > best {
			best, at, text = s, n, strings.TrimRight(string(line), "\r\n")
		}
	}
	if best < 0.4 {
		return "; no line is like its first one; read the file"
	}
	return fmt.Sprintf("; the nearest line is %d: %s", at, strings.ToValidUTF8(text, "\ufffd"))
}

// similarity compares two lines by the pairs of bytes that they share, from 0 to 1.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := make(map[[2]byte]int, len(a))
	for i := range len(a) - 1 {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	shared := 0
	for i := range len(b) - 1 {
		if p := [2]byte{b[i], b[i+1]}; pairs[p] > 0 {
			pairs[p]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b)-2)
}

// write writes a whole file.
func (t *tree) write(in writeInput, w io.Writer) error {
	if err := t.put(in.Path, []byte(in.Content), 0); err != nil {
		return err
	}
	fmt.Fprintf(w, "wrote %s to %s\n", plural(len(in.Content), "byte"), workspace.Display(in.Path))
	return nil
}

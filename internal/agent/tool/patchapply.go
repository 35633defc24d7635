package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A patched file is what one change comes to.
type patched struct {
	change
	before []byte // nil: there was none
	mode   fs.FileMode
	after  []byte
}

// applyPatch works out all changes before it makes the first, and takes them back when one cannot be made.
func (t *tree) applyPatch(in patchInput, w io.Writer) error {
	changes, err := parsePatch(in.Patch)
	if err != nil {
		return err
	}
	var todo []patched
	var faults []string
	taken := map[string]bool{}
	for _, c := range changes {
		p, err := t.plan(c, taken)
		if err != nil {
			faults = append(faults, err.Error())
		}
		todo = append(todo, p)
	}
	if len(faults) > 0 {
		return Failf(TypePatch, "%s; nothing was changed", strings.Join(faults, "; "))
	}
	for i, p := range todo {
		if err := t.make(p); err != nil {
			return t.rollBack(todo[:i+1], err)
		}
	}
	for _, p := range todo {
		if p.to != "" {
			fmt.Fprintf(w, "R %s -> %s\n", workspace.Display(p.path), workspace.Display(p.to))
		} else {
			fmt.Fprintf(w, "%c %s\n", p.op, workspace.Display(p.path))
		}
	}
	return nil
}

// plan works out one change without making it.
func (t *tree) plan(c change, taken map[string]bool) (patched, error) {
	p := patched{change: c}
	for _, path := range []string{c.path, c.to} {
		rel, err := t.rel(path)
		if err != nil {
			return p, err
		}
		if path == "" && c.to == "" {
			continue
		}
		if taken[rel] && path != "" {
			return p, Failf(TypePatch, "%s is named twice", workspace.Display(path))
		}
		taken[rel] = true
	}
	if c.path == "" {
		return p, Failf(TypePatch, "a file has no name")
	}
	missing := func(path string) error {
		if _, err := t.target(path); err != nil {
			return err
		}
		rel, err := t.rel(path)
		if err != nil {
			return err
		}
		if _, err := t.root.Lstat(rel); !errors.Is(err, fs.ErrNotExist) {
			return Failf(TypePatch, "%s is there already", workspace.Display(path))
		}
		return nil
	}
	if c.op == opAdd {
		if err := missing(c.path); err != nil {
			return p, err
		}
		after, err := patchText(nil, c)
		p.after = after
		p.mode = 0o644
		return p.withMode(), err
	}
	before, mode, err := t.whole(c.path)
	if err != nil {
		return p, err
	}
	p.before, p.mode = before, mode
	if c.to != "" {
		if err := missing(c.to); err != nil {
			return p, err
		}
	}
	if p.after, err = patchText(before, c); err != nil {
		return p, err
	}
	if c.op == opDelete && len(c.hunks) > 0 && len(p.after) > 0 {
		return p, Failf(TypePatch, "%s is to be deleted, but has more than the patch removes", workspace.Display(c.path))
	}
	return p.withMode(), nil
}

func (p patched) withMode() patched {
	if p.exec != nil {
		p.mode &^= 0o111
		if *p.exec {
			p.mode |= 0o111 & (p.mode >> 2)
		}
	}
	return p
}

func (t *tree) make(p patched) error {
	switch {
	case p.op == opDelete:
		return t.remove(p.path)
	case p.to != "":
		if err := t.put(p.to, p.after, p.mode); err != nil {
			return err
		}
		return t.remove(p.path)
	default:
		return t.put(p.path, p.after, p.mode)
	}
}

// rollBack undoes the changes that were made before one failed; the last one may be half made.
func (t *tree) rollBack(done []patched, cause error) error {
	var left []string
	for i := len(done) - 1; i >= 0; i-- {
		p := done[i]
		var err error
		if p.to != "" {
			err = t.discard(p.to)
		}
		if p.before != nil {
			err = errors.Join(err, t.put(p.path, p.before, p.mode))
		} else {
			err = errors.Join(err, t.discard(p.path))
		}
		if err != nil {
			left = append(left, workspace.Display(p.path))
		}
	}
	if len(left) > 0 {
		return Failf(TypeIO, "%v; what was changed before could not be taken back in %s", cause, strings.Join(left, ", "))
	}
	return Failf(TypeIO, "%v; nothing was changed", cause)
}

// discard removes a file that a change made, if it came to that.
func (t *tree) discard(path string) error {
	rel, err := t.rel(path)
	if err != nil {
		return err
	}
	if _, err := t.root.Lstat(rel); err == nil {
		return t.remove(path)
	}
	return nil
}

// patchText applies the hunks of a change to the content of its file.
func patchText(data []byte, c change) ([]byte, error) {
	if len(c.hunks) == 0 {
		if c.op == opDelete {
			return nil, nil
		}
		return data, nil
	}
	text := string(data)
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	lines, closed := splitLines(text)
	out := make([]string, 0, len(lines))
	at := 0 // lines before it are done
	for n, h := range c.hunks {
		i, err := h.find(lines, at)
		if err != nil {
			return nil, Failf(TypePatch, "%s, hunk %d: %v", workspace.Display(c.path), n+1, err)
		}
		out = append(out, lines[at:i]...)
		for _, l := range h.lines {
			switch l.kind {
			case '+':
				out = append(out, strings.TrimSuffix(l.text+end, "\n"))
			case ' ':
				out = append(out, lines[i]) // as it is in the file
				i++
			case '-':
				i++
			}
		}
		at = i
		if at == len(lines) {
			closed = (closed || h.closed || len(lines) == 0) && !h.cut
		}
	}
	out = append(out, lines[at:]...)
	if len(out) == 0 {
		return nil, nil
	}
	result := strings.Join(out, "\n")
	if closed {
		return []byte(result + "\n"), nil
	}
	return []byte(strings.TrimSuffix(result, "\r")), nil
}

// splitLines splits at \n and says whether the last line ends in one. A \r stays with its line.
func splitLines(text string) (lines []string, closed bool) {
	if text == "" {
		return nil, true
	}
	text, closed = strings.CutSuffix(text, "\n")
	return strings.Split(text, "\n"), closed
}

// find returns the index of the line at which the hunk begins, not before from.
func (h hunk) find(lines []string, from int) (int, error) {
	old := h.old()
	if h.anchor != "" {
		i := indexLine(lines, from, h.anchor)
		if i < 0 {
			return 0, fmt.Errorf("no line is %q", h.anchor)
		}
		from = i + 1
		if len(old) > 0 && sameLine(old[0], h.anchor, trimSpace) {
			from = i // the anchor is repeated as context
		}
	}
	if len(old) == 0 {
		switch {
		case h.at > 0 && h.at >= from && h.at <= len(lines):
			return h.at, nil // a hunk that only adds names the line before
		case h.anchor != "":
			return from, nil
		case h.at == 0:
			return len(lines), nil
		}
		return 0, fmt.Errorf("the file has %d lines, the hunk begins after line %d", len(lines), h.at)
	}
	for _, alike := range []func(string) string{trimCR, trimRight} {
		if i := h.nearest(lines, old, from, alike); i >= 0 {
			return i, nil
		}
	}
	if from > 0 && h.nearest(lines, old, 0, trimRight) >= 0 {
		return 0, fmt.Errorf("the lines from %q on come before those of an earlier hunk or of its @@ line", shown(old))
	}
	return 0, fmt.Errorf("the lines from %q on are not in the file%s", shown(old), nearest([]byte(strings.Join(lines, "\n")), strings.Join(old, "\n")))
}

func shown(old []string) string {
	for _, l := range old {
		if strings.TrimSpace(l) != "" {
			return l[:min(len(l), 120)]
		}
	}
	return old[0]
}

// nearest returns the place at which all old lines stand that is closest to where the hunk says it is, else the first.
func (h hunk) nearest(lines, old []string, from int, alike func(string) string) int {
	best := -1
	for i := from; i+len(old) <= len(lines); i++ {
		if h.atEnd && i+len(old) != len(lines) {
			continue
		}
		if !matches(lines[i:], old, alike) {
			continue
		}
		if h.at == 0 {
			return i
		}
		if best < 0 || abs(i+1-h.at) < abs(best+1-h.at) {
			best = i
		}
	}
	return best
}

func matches(lines, old []string, alike func(string) string) bool {
	for k, o := range old {
		if !sameLine(lines[k], o, alike) {
			return false
		}
	}
	return true
}

func sameLine(a, b string, alike func(string) string) bool { return a == b || alike(a) == alike(b) }

func trimCR(s string) string    { return strings.TrimSuffix(s, "\r") }
func trimRight(s string) string { return strings.TrimRight(s, " \t\r") }
func trimSpace(s string) string { return strings.TrimSpace(s) }

func indexLine(lines []string, from int, anchor string) int {
	for i := from; i < len(lines); i++ {
		if sameLine(lines[i], anchor, trimSpace) {
			return i
		}
	}
	return -1
}

func abs(n int) int { return max(n, -n) }

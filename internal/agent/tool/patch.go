package tool

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bounds of a patch.
const maxPatchFiles = 500

// A change is what a patch does to one file.
type change struct {
	op    changeOp
	path  string
	to    string // where the file moves; empty: it stays
	hunks []hunk // of an update; an added file has one without old lines
	exec  *bool  // the new file is executable, or no longer
}

type changeOp byte

const (
	opAdd    changeOp = 'A'
	opUpdate changeOp = 'M'
	opDelete changeOp = 'D'
)

// A hunk replaces a run of lines.
type hunk struct {
	anchor string // a line that comes before; empty: none
	at     int    // the number of the first old line; 0: unknown
	lines  []patchLine
	atEnd  bool // the old lines are the last of the file
	cut    bool // the new file does not end in a line break
	closed bool // the old file did not end in a line break, the new one does
}

type patchLine struct {
	kind byte // ' ', '-' or '+'
	text string
}

func (h hunk) old() (out []string) {
	for _, l := range h.lines {
		if l.kind != '+' {
			out = append(out, l.text)
		}
	}
	return out
}

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
)

func badPatch(line int, format string, args ...any) error {
	f := Failf(TypePatch, format, args...)
	f.Message = "line " + strconv.Itoa(line) + " of the patch: " + f.Message + "; nothing was changed"
	return f
}

// parsePatch reads a patch in either format.
func parsePatch(text string) (changes []change, err error) {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n \t"), "\n")
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	p := &patchParser{lines: lines}
	if strings.TrimSpace(lines[0]) == beginPatch {
		changes, err = p.envelope()
	} else {
		changes, err = p.unified()
	}
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, Failf(TypePatch, "the patch changes nothing: it has neither *** lines nor --- and +++ lines; nothing was changed")
	}
	if len(changes) > maxPatchFiles {
		return nil, Failf(TypePatch, "the patch changes %d files (at most %d); nothing was changed", len(changes), maxPatchFiles)
	}
	return changes, nil
}

type patchParser struct {
	lines []string
	i     int
}

func (p *patchParser) more() bool   { return p.i < len(p.lines) }
func (p *patchParser) peek() string { return p.lines[p.i] }

// envelope reads the format between *** Begin Patch and *** End Patch.
func (p *patchParser) envelope() ([]change, error) {
	var out []change
	for p.i = 1; p.more(); {
		line := strings.TrimRight(p.peek(), " \t")
		p.i++
		switch {
		case line == endPatch:
			if p.more() {
				return nil, badPatch(p.i+1, "%q follows after %s", p.peek(), endPatch)
			}
			return out, nil
		case strings.HasPrefix(line, addFile):
			c := change{op: opAdd, path: strings.TrimPrefix(line, addFile)}
			var h hunk
			for p.more() && strings.HasPrefix(p.peek(), "+") {
				h.lines = append(h.lines, patchLine{'+', p.peek()[1:]})
				p.i++
			}
			c.hunks = []hunk{h}
			out = append(out, c)
		case strings.HasPrefix(line, deleteFile):
			out = append(out, change{op: opDelete, path: strings.TrimPrefix(line, deleteFile)})
		case strings.HasPrefix(line, updateFile):
			c := change{op: opUpdate, path: strings.TrimPrefix(line, updateFile)}
			if p.more() && strings.HasPrefix(p.peek(), moveTo) {
				c.to = strings.TrimSpace(strings.TrimPrefix(p.peek(), moveTo))
				p.i++
			}
			if err := p.envelopeHunks(&c); err != nil {
				return nil, err
			}
			out = append(out, c)
		case line == "":
		default:
			return nil, badPatch(p.i, "expected *** Add File:, *** Update File:, *** Delete File: or *** End Patch, not %.80q", line)
		}
	}
	return nil, badPatch(p.i, "*** End Patch is missing")
}

func (p *patchParser) envelopeHunks(c *change) error {
	var h *hunk
	for p.more() && (!strings.HasPrefix(p.peek(), "*** ") || strings.HasPrefix(p.peek(), endOfFile)) {
		line := p.peek()
		p.i++
		switch {
		case strings.HasPrefix(line, endOfFile):
			if h == nil {
				return badPatch(p.i, "*** End of File comes before any line")
			}
			h.atEnd = true
		case strings.HasPrefix(line, "@@"):
			c.hunks = append(c.hunks, hunk{anchor: strings.TrimSpace(strings.TrimPrefix(line, "@@"))})
			h = &c.hunks[len(c.hunks)-1]
			if m := unifiedHunk().FindStringSubmatch(line); m != nil { // what some models write here
				h.anchor, h.at = "", number(m[1])
			}
		default:
			if h == nil {
				c.hunks = append(c.hunks, hunk{})
				h = &c.hunks[0]
			}
			if !h.add(line) {
				return badPatch(p.i, "expected a line that begins with a space, + or -, not %.80q", line)
			}
		}
	}
	if len(c.hunks) == 0 && c.to == "" {
		return badPatch(p.i, "the update of %s has no lines", workspace.Display(c.path))
	}
	return nil
}

// add takes a line of a hunk. An empty one is an empty line of context whose space was lost.
func (h *hunk) add(line string) bool {
	switch {
	case line == "":
		h.lines = append(h.lines, patchLine{' ', ""})
	case line[0] == ' ' || line[0] == '+' || line[0] == '-':
		h.lines = append(h.lines, patchLine{line[0], line[1:]})
	case strings.HasPrefix(line, `\ No newline`) && len(h.lines) > 0:
		switch last := h.lines[len(h.lines)-1].kind; last {
		case '-':
			h.closed = true
		default:
			h.cut, h.closed = true, false
		}
	default:
		return false
	}
	return true
}

var unifiedHunk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@`)
})

func number(s string) int {
	n, _ := strconv.Atoi(s) // digits only, and few
	return n
}

// unified reads a unified diff, git's or a plain one.
func (p *patchParser) unified() ([]change, error) {
	var out []change
	var git *change // the file that a diff --git line began
	flush := func() {
		if git != nil {
			out = append(out, *git)
			git = nil
		}
	}
	for p.more() {
		line := p.peek()
		p.i++
		switch {
		case strings.HasPrefix(line, "diff --git "):
			flush()
			git = &change{op: opUpdate}
		case git != nil && strings.HasPrefix(line, "rename from "):
			git.path = unquote(strings.TrimPrefix(line, "rename from "))
		case git != nil && strings.HasPrefix(line, "rename to "):
			git.to = unquote(strings.TrimPrefix(line, "rename to "))
		case git != nil && strings.HasPrefix(line, "new file mode "):
			git.op, git.exec = opAdd, executable(line)
		case git != nil && strings.HasPrefix(line, "deleted file mode "):
			git.op = opDelete
		case git != nil && strings.HasPrefix(line, "new mode "):
			git.exec = executable(line)
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return nil, badPatch(p.i, "a binary change cannot be applied")
		case p.header(line):
			c := change{op: opUpdate}
			if git != nil {
				c, git = *git, nil
			}
			if err := p.unifiedFile(line, &c); err != nil {
				return nil, err
			}
			out = append(out, c)
		case strings.HasPrefix(line, "@@"):
			return nil, badPatch(p.i, "a hunk without --- and +++ lines before it")
		}
	}
	if git != nil && git.path == "" {
		return nil, badPatch(p.i, "the file of the last diff --git line is not named by --- and +++ or rename lines")
	}
	flush()
	return out, nil
}

func executable(line string) *bool {
	x := strings.HasSuffix(line, "755")
	return &x
}

// header reports whether a line begins a file: --- with +++ after it.
func (p *patchParser) header(line string) bool {
	return strings.HasPrefix(line, "--- ") && p.more() && strings.HasPrefix(p.peek(), "+++ ")
}

func (p *patchParser) unifiedFile(first string, c *change) error {
	from, to := fileName(first[4:]), fileName(p.peek()[4:])
	p.i++
	switch {
	case from == "/dev/null":
		c.op, c.path = opAdd, trimPrefix(to, "b/")
	case to == "/dev/null":
		c.op, c.path = opDelete, trimPrefix(from, "a/")
	case strings.HasPrefix(from, "a/") && strings.HasPrefix(to, "b/"):
		c.path, c.to = from[2:], to[2:]
	default:
		c.path, c.to = from, to
	}
	if c.to == c.path {
		c.to = ""
	}
	for p.more() {
		line := p.peek()
		m := unifiedHunk().FindStringSubmatch(line)
		if m == nil {
			break
		}
		p.i++
		h := hunk{at: number(m[1])}
		for p.more() && !strings.HasPrefix(p.peek(), "@@") && !strings.HasPrefix(p.peek(), "diff --git ") && !p.headerNext() {
			if !h.add(p.peek()) {
				return badPatch(p.i+1, "expected a line that begins with a space, + or -, not %.80q", p.peek())
			}
			p.i++
		}
		c.hunks = append(c.hunks, h)
	}
	if len(c.hunks) == 0 && c.op == opUpdate && c.to == "" {
		return badPatch(p.i, "no hunk (@@ -1,2 +1,2 @@) follows for %s", workspace.Display(c.path))
	}
	return nil
}

// headerNext tells the header of the next file from a removed line that begins with two dashes.
func (p *patchParser) headerNext() bool {
	return p.i+2 < len(p.lines) && strings.HasPrefix(p.lines[p.i], "--- ") && strings.HasPrefix(p.lines[p.i+1], "+++ ") && strings.HasPrefix(p.lines[p.i+2], "@@ ")
}

func fileName(s string) string {
	s, _, _ = strings.Cut(s, "\t") // a time stamp
	return unquote(strings.TrimSpace(s))
}

func unquote(s string) string {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

func trimPrefix(s, prefix string) string { return strings.TrimPrefix(s, prefix) }

package page

import (
	"bytes"
	"strconv"
	"strings"
)

// A fileDiff is one file of a patch. Its lines are cut into rows only when they are shown, so that a large patch costs what is
// looked at.
type fileDiff struct {
	Index          int
	Path, Was      string // Was: the name before, where it is another
	Note           string // new file, deleted, mode, binary
	Added, Deleted int
	Rows           int // lines of hunks, their heads included
	body           []byte
}

// A row is one line of a diff.
type row struct {
	Kind     string // "add", "del", "same", "hunk", "note"
	Old, New int    // line numbers; 0: none on that side
	Spans    []span
}

// A pair is a row of two sides. The header of a hunk is on the left only.
type pair struct{ Left, Right *row }

// parsePatch cuts a patch of git into its files. It never fails: what it does not understand is shown as it is.
func parsePatch(patch []byte) []fileDiff {
	var files []fileDiff
	for len(patch) > 0 {
		part := patch
		if i := bytes.Index(patch[1:], []byte("\ndiff --git ")); i >= 0 {
			part = patch[:i+2]
		}
		patch = patch[len(part):]
		f := parseFile(part)
		f.Index = len(files)
		files = append(files, f)
	}
	return files
}

func parseFile(part []byte) fileDiff {
	f := fileDiff{}
	var notes []string
	first := true
	for len(part) > 0 {
		l, rest, _ := bytes.Cut(part, []byte("\n"))
		if bytes.HasPrefix(l, []byte("@@ ")) {
			break
		}
		s := string(l)
		switch {
		case first && strings.HasPrefix(s, "diff --git "):
			f.Path = gitName(s)
		case strings.HasPrefix(s, "--- "):
			if n := sideName(s[4:]); n != "" && f.Path == "" {
				f.Path = n
			}
		case strings.HasPrefix(s, "+++ "):
			if n := sideName(s[4:]); n != "" {
				f.Path = n
			}
		case strings.HasPrefix(s, "rename from "):
			f.Was = unquote(s[len("rename from "):])
		case strings.HasPrefix(s, "rename to "):
			f.Path = unquote(s[len("rename to "):])
		case strings.HasPrefix(s, "new file mode "):
			notes = append(notes, "new")
			if m := s[len("new file mode "):]; m != "100644" {
				notes = append(notes, "mode "+m)
			}
		case strings.HasPrefix(s, "deleted file mode "):
			notes = append(notes, "deleted")
		case strings.HasPrefix(s, "old mode "):
			notes = append(notes, "mode "+s[len("old mode "):])
		case strings.HasPrefix(s, "new mode "):
			notes = append(notes, "→ "+s[len("new mode "):])
		case strings.HasPrefix(s, "GIT binary patch"), strings.HasPrefix(s, "Binary files "):
			f.Note = strings.Join(append(notes, "binary"), " ")
			return f
		}
		first = false
		part = rest
	}
	f.Note, f.body = strings.Join(notes, " "), bytes.TrimSuffix(part, []byte("\n"))
	f.count()
	return f
}

func (f *fileDiff) count() {
	for l := range bytes.Lines(f.body) {
		f.Rows++
		switch l[0] {
		case '+':
			f.Added++
		case '-':
			f.Deleted++
		}
	}
}

// gitName is the new name in a line "diff --git a/x b/x".
func gitName(s string) string {
	s = strings.TrimPrefix(s, "diff --git ")
	if i := strings.LastIndex(s, ` "b/`); i >= 0 {
		return strings.TrimPrefix(unquote(s[i+1:]), "b/")
	}
	if i := strings.LastIndex(s, " b/"); i >= 0 {
		return s[i+3:]
	}
	return s
}

// sideName is the name in a line "--- a/x" or "+++ b/x"; empty for /dev/null.
func sideName(s string) string {
	s = unquote(strings.TrimSuffix(s, "\t"))
	if s == "/dev/null" {
		return ""
	}
	if len(s) > 2 && (s[:2] == "a/" || s[:2] == "b/") {
		return s[2:]
	}
	return s
}

func unquote(s string) string {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

// rows returns a stretch of a file's rows. The ones before it are read for their numbers and what they leave open.
func (f *fileDiff) rows(from, most int) []row {
	x := syntaxOf(f.Path)
	old, now := painter{syntax: x}, painter{syntax: x}
	var out []row
	a, b, i := 0, 0, 0
	for l := range bytes.Lines(f.body) {
		if len(out) == most {
			break
		}
		var r row
		s := strings.TrimRight(string(l), "\r\n")
		sign := byte(' ')
		if s != "" {
			sign = s[0]
		}
		text := plain(s[min(1, len(s)):])
		switch sign {
		case '@':
			a, b = hunkStart(s)
			old.reset()
			now.reset()
			r = row{Kind: "hunk", Spans: []span{{"", plain(s)}}}
		case '+':
			r = row{Kind: "add", New: b, Spans: now.paint(text)}
			b++
		case '-':
			r = row{Kind: "del", Old: a, Spans: old.paint(text)}
			a++
		case '\\':
			r = row{Kind: "note", Spans: []span{{"", text}}}
		default:
			r = row{Kind: "same", Old: a, New: b, Spans: now.paint(text)}
			old.open, old.class = now.open, now.class
			a++
			b++
		}
		if i >= from {
			out = append(out, r)
		}
		i++
	}
	return out
}

// hunkStart reads the two line numbers of "@@ -1,2 +3,4 @@".
func hunkStart(s string) (a, b int) {
	for _, w := range strings.Fields(s) {
		n, _, _ := strings.Cut(w[1:], ",")
		switch w[0] {
		case '-':
			a, _ = strconv.Atoi(n)
		case '+':
			b, _ = strconv.Atoi(n)
			return a, b
		}
	}
	return a, b
}

// sideBySide puts deleted lines next to those that were added in their place.
func sideBySide(rows []row) []pair {
	var out []pair
	for i := 0; i < len(rows); {
		switch rows[i].Kind {
		case "del", "add":
			d := i
			for i < len(rows) && rows[i].Kind == "del" {
				i++
			}
			a := i
			for i < len(rows) && rows[i].Kind == "add" {
				i++
			}
			for n := range max(a-d, i-a) {
				p := pair{}
				if d+n < a {
					p.Left = &rows[d+n]
				}
				if a+n < i {
					p.Right = &rows[a+n]
				}
				out = append(out, p)
			}
		case "same":
			out = append(out, pair{&rows[i], &rows[i]})
			i++
		default:
			out = append(out, pair{Left: &rows[i]})
			i++
		}
	}
	return out
}

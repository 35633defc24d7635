package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A PatchPart is the part of a git patch that changes one file.
type PatchPart struct {
	Path       string // any bytes but NUL
	Start, End int64  // where it is in the patch
	// The mode of what it takes away, and of what it adds. It has both where a file becomes a link or a link a file.
	Deleted, Added string
}

// Retypes reports whether the part makes a link of a file, or a file of a link.
func (p PatchPart) Retypes() bool { return p.Deleted != "" && p.Added != "" }

// SplitPatch finds the parts of a git patch: one for each file, in the patch's order, without a gap between them. Git
// writes a file that becomes a link, and a link that becomes a file, as a deletion and an addition, one right after the
// other: that is one part. What else has a path twice stays several. It takes what deed and wp-codebox write, and nothing else: a patch that begins with text, renames, copies, submodules,
// and modes other than 100644, 100755 and 120000 are ErrApply. Names with spaces, quotes and line breaks are read as git
// writes them. What the parts say is for git to judge.
func SplitPatch(r io.Reader) ([]PatchPart, error) {
	s := &patchScanner{r: bufio.NewReaderSize(r, maxHeaderLine)}
	for {
		line, err := s.line()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.take(line)
		}
		if err != nil {
			return nil, &Error{Code: ErrApply, Op: "read patch", Err: err}
		}
		s.at += int64(s.length)
	}
	s.end()
	return s.parts, nil
}

// maxHeaderLine is how much of a line is looked at: two paths, each byte of them escaped.
const maxHeaderLine = 64 << 10

type patchScanner struct {
	r      *bufio.Reader
	at     int64 // of the line
	length int   // of the line, all of it
	header bool  // between a part's first line and its content
	parts  []PatchPart
}

// line returns the start of the next line, without its end.
func (s *patchScanner) line() (string, error) {
	b, err := s.r.ReadSlice('\n')
	text := string(b)
	s.length = len(b)
	for errors.Is(err, bufio.ErrBufferFull) {
		b, err = s.r.ReadSlice('\n')
		s.length += len(b)
	}
	if errors.Is(err, io.EOF) && s.length > 0 {
		err = nil
	}
	return strings.TrimSuffix(text, "\n"), err
}

func (s *patchScanner) take(line string) error {
	if names, ok := strings.CutPrefix(line, "diff --git "); ok {
		p, err := headerPath(names)
		if err != nil {
			return err
		}
		s.end()
		s.parts = append(s.parts, PatchPart{Path: p, Start: s.at})
		s.header = true
		return nil
	}
	if len(s.parts) == 0 {
		return errors.New("it does not begin with a file (diff --git)")
	}
	if !s.header {
		return nil
	}
	if content(line) {
		s.header = false
		return nil
	}
	return s.parts[len(s.parts)-1].header(line)
}

// end ends the last part where the scanner is, and joins it to the one before when both are one file.
func (s *patchScanner) end() {
	n := len(s.parts)
	if n == 0 {
		return
	}
	last := &s.parts[n-1]
	last.End = s.at
	if n > 1 && s.parts[n-2].becomes(*last) {
		s.parts[n-2].Added, s.parts[n-2].End = last.Added, last.End
		s.parts = s.parts[:n-1]
	}
}

const linkMode = "120000"

// becomes reports whether p removes a file and next adds a link with its name, or the other way round.
func (p PatchPart) becomes(next PatchPart) bool {
	return p.Path == next.Path && p.Deleted != "" && p.Added == "" && next.Deleted == "" && next.Added != "" && (p.Deleted == linkMode) != (next.Added == linkMode)
}

// header reads one line of the header.
func (p *PatchPart) header(line string) error {
	if err := headerFault(line, p.Path); err != nil {
		return err
	}
	deleted, isDeleted := strings.CutPrefix(line, "deleted file mode ")
	added, isAdded := strings.CutPrefix(line, "new file mode ")
	switch {
	case (isDeleted || isAdded) && (p.Deleted != "" || p.Added != ""):
		return fmt.Errorf("%s: one part adds or deletes it twice", quotePath(p.Path))
	case isDeleted:
		p.Deleted = deleted
	case isAdded:
		p.Added = added
	}
	return nil
}

// content reports whether a line ends the header of a part.
func content(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "@@ ") || line == "GIT binary patch"
}

func headerFault(line, path string) error {
	key, value, _ := strings.Cut(line, " ")
	var mode string
	switch {
	case line == "": // between two parts
		return nil
	case strings.HasPrefix(line, "new file mode "), strings.HasPrefix(line, "deleted file mode "), strings.HasPrefix(line, "old mode "), strings.HasPrefix(line, "new mode "):
		mode = line[strings.LastIndexByte(line, ' ')+1:]
	case key == "index":
		_, mode, _ = strings.Cut(value, " ")
		if mode == "" {
			return nil
		}
	default:
		return fmt.Errorf("%s: %q is not part of a plain change (renames, copies and submodules are not applied)", quotePath(path), shorten(line))
	}
	switch mode {
	case "100644", "100755", "120000":
		return nil
	}
	return fmt.Errorf("%s: the mode %q is not that of a file or a link", quotePath(path), shorten(mode))
}

// headerPath reads the one path that "a/PATH b/PATH" names. Without quotes, both halves are equally long.
func headerPath(names string) (string, error) {
	var a, b string
	switch {
	case strings.HasPrefix(names, `"`):
		var rest string
		var err error
		if a, rest, err = unquoteC(names); err != nil {
			return "", err
		}
		var ok bool
		if rest, ok = strings.CutPrefix(rest, " "); !ok {
			return "", fmt.Errorf("the names %q cannot be read", shorten(names))
		}
		if b = rest; strings.HasPrefix(rest, `"`) {
			if b, rest, err = unquoteC(rest); err != nil || rest != "" {
				return "", errors.Join(err, fmt.Errorf("the names %q cannot be read", shorten(names)))
			}
		}
	case len(names)%2 == 1 && names[len(names)/2] == ' ':
		a, b = names[:len(names)/2], names[len(names)/2+1:]
	default:
		return "", fmt.Errorf("the names %q are not one name twice: renames and copies are not applied", shorten(names))
	}
	a, okA := strings.CutPrefix(a, "a/")
	b, okB := strings.CutPrefix(b, "b/")
	if !okA || !okB || a != b {
		return "", fmt.Errorf("the names %q are not one name twice: renames and copies are not applied", shorten(names))
	}
	return a, nil
}

// unquoteC reads one of git's C-style strings and returns what follows it.
func unquoteC(s string) (value, rest string, err error) {
	bad := fmt.Errorf("the name %q is not quoted as git quotes", shorten(s))
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c != '\\':
			b.WriteByte(c)
		case i+1 >= len(s):
			return "", "", bad
		case s[i+1] >= '0' && s[i+1] <= '3':
			if i+3 >= len(s) || s[i+2]-'0' > 7 || s[i+3]-'0' > 7 {
				return "", "", bad
			}
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
		default:
			at := strings.IndexByte(`abtnvfr"\`, s[i+1])
			if at < 0 {
				return "", "", bad
			}
			b.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
			i++
		}
	}
	return "", "", bad
}

// CheckChangePath reports why a change at a path must not be made in somebody's directory: it leads elsewhere, or it is
// git's own on some file system.
func CheckChangePath(p string, link bool) error {
	if err := validRelative(p); err != nil {
		return err
	}
	k := KindFile
	if link {
		k = KindSymlink
	}
	if reservedByGit(p, k) {
		return errors.New("the name belongs to git")
	}
	return nil
}

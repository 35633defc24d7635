package workspace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EncodePath turns a path, which is any sequence of bytes but NUL, into valid UTF-8 for JSON. A backslash becomes
// `\\` and a byte that is not part of valid UTF-8 becomes `\xHH`; everything else stays as it is. DecodePath is
// its inverse.
func EncodePath(path string) string {
	if utf8.ValidString(path) && strings.IndexByte(path, '\\') < 0 {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, path[i])
		default:
			b.WriteString(path[i : i+n])
		}
		i += n
	}
	return b.String()
}

// DecodePath turns what EncodePath made into the path. It refuses every other use of a backslash.
func DecodePath(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		rest := s[i+1:]
		switch {
		case strings.HasPrefix(rest, `\`):
			b.WriteByte('\\')
			i++
		case len(rest) >= 3 && rest[0] == 'x':
			v, err := strconv.ParseUint(rest[1:3], 16, 8)
			if err != nil {
				return "", fmt.Errorf("decode path %q: %w", s, err)
			}
			b.WriteByte(byte(v))
			i += 3
		default:
			return "", fmt.Errorf("decode path %q: a backslash is followed by neither a backslash nor xHH", s)
		}
	}
	return b.String(), nil
}

// quotePath makes a path fit for a message: plain where it is plain, quoted where it could mislead a reader.
func quotePath(p string) string {
	for i := 0; i < len(p); i++ {
		if p[i] <= ' ' || p[i] >= 0x7f || p[i] == '"' {
			return strconv.Quote(p)
		}
	}
	return p
}

// Display makes the name of a file, or any other line that an agent chose, safe for a terminal: itself where all of it is
// printable, else quoted, so that it can neither move the cursor nor pose as another. Characters that change the
// direction of what follows count as not printable.
func Display(name string) string {
	if name == "" || name[0] == '"' || strings.TrimSpace(name) != name || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

// validRelative reports why p cannot be the path of an entry: it is not a clean, relative, slash-separated path.
func validRelative(p string) error {
	if p == "" {
		return errors.New("the path is empty")
	}
	if strings.IndexByte(p, 0) >= 0 {
		return errors.New("the path has a NUL byte")
	}
	for c := range strings.SplitSeq(p, "/") {
		if c == "" || c == "." || c == ".." {
			return fmt.Errorf("the path has a %q component", c)
		}
	}
	return nil
}

// parentOf returns the directory of a slash-separated relative path, "" for the root.
func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// join joins slash-separated relative paths; dir may be "".
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// gitMeta reports whether a name is git's own at any depth of a tree: its entries are never part of a change.
func gitMeta(name string) bool { return name == ".git" }

// reservedByGit reports whether git refuses to have such a path in an index, on this or on another platform: names
// that a file system could take for .git, and links that could be taken for .gitmodules. The rules are a superset of
// git's own (dot-git spellings with case, trailing dots and spaces, 8.3 names, code points that HFS+ ignores): a
// path wrongly listed here is reported instead of carried, while one missed would make the whole patch fail.
func reservedByGit(p string, k Kind) bool {
	for c := range strings.SplitSeq(p, "/") {
		n := foldName(c)
		if n == ".git" || n == "git~1" {
			return true
		}
		if k == KindSymlink && (n == ".gitmodules" || strings.HasPrefix(n, "gitmod~") || strings.HasPrefix(n, "gi7eb")) {
			return true
		}
	}
	return false
}

func foldName(c string) string {
	n := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, strings.ToLower(c))
	if i := strings.IndexAny(n, `:\`); i >= 0 {
		n = n[:i]
	}
	return strings.TrimRight(n, ". ")
}

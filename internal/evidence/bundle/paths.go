package bundle

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

var scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`) })

// pathFault says why p is not a bundle path by the rules that every verifier shares, or returns "".
func pathFault(p string) string {
	switch {
	case p == "":
		return "a path must not be empty"
	case strings.Contains(p, `\`):
		return "a path must not contain a backslash"
	case strings.HasPrefix(p, "/"), scheme().MatchString(p):
		return "a path must be relative to the bundle"
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "a path must not contain .."
		}
	}
	return ""
}

// strictPathFault adds what deed asks of the paths it writes and of those it opens: one spelling for each file, no bytes
// that other systems or JSON cannot carry.
func strictPathFault(p string) string {
	if fault := pathFault(p); fault != "" {
		return fault
	}
	switch {
	case len(p) > maxPath:
		return fmt.Sprintf("a path must have at most %d bytes", maxPath)
	case !utf8.ValidString(p):
		return "a path must be UTF-8"
	case path.Clean(p) != p || p == ".":
		return "a path must be in its shortest form"
	}
	for _, c := range p {
		if c < 0x20 || c == 0x7f {
			return "a path must not contain control characters"
		}
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > 255 {
			return "a part of a path must have at most 255 bytes"
		}
	}
	return ""
}

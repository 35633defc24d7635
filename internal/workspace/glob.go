package workspace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// The limits of a glob: bytes, and groups of alternatives, each of which multiplies the time that a match can take.
const (
	maxGlob   = 1024
	maxGroups = 4
)

// Match reports whether a glob covers a path of a tree. `*` and `?` stay within one component, `**` as a whole
// component stands for any number of them, `[a-z]` and `{a,b}` are alternatives, a backslash takes the next character
// as it is. A glob that covers a directory covers all that is below it: "docs", "docs/" and "docs/**" mean the same.
// A glob is matched from the root: `*.go` is the Go files at the top, `**/*.go` all of them. An invalid glob covers
// nothing; see ValidateGlob.
func Match(glob, path string) bool {
	g := strings.TrimSuffix(glob, "/")
	if ok, err := doublestar.Match(g, path); err != nil || ok {
		return err == nil
	}
	ok, err := doublestar.Match(g+"/**", path)
	return err == nil && ok
}

// MatchAny reports whether one of the globs covers the path.
func MatchAny(globs []string, path string) bool {
	for _, g := range globs {
		if Match(g, path) {
			return true
		}
	}
	return false
}

// ValidateGlob reports why a glob cannot be used for the paths of a tree.
func ValidateGlob(glob string) error {
	bad := func(why, remedy string) error {
		return &Error{Code: ErrGlob, Op: "check glob", Path: glob, Err: errors.New(why), Remedy: remedy}
	}
	switch {
	case strings.Trim(glob, "/") == "" && glob != "":
		return bad("it names the file system's root", "use ** for the whole tree")
	case glob == "":
		return bad("it is empty", "use ** for the whole tree")
	case len(glob) > maxGlob:
		return bad(fmt.Sprintf("it has %d bytes, more than %d", len(glob), maxGlob), "use a shorter one")
	case strings.Count(glob, "{") > maxGroups:
		return bad(fmt.Sprintf("it has more than %d groups in braces", maxGroups), "use several globs")
	case strings.IndexByte(glob, 0) >= 0:
		return bad("it has a NUL byte", "no path has one")
	case strings.HasPrefix(glob, "/"):
		return bad("it is absolute", "give it relative to the workspace")
	}
	for c := range strings.SplitSeq(strings.TrimSuffix(glob, "/"), "/") {
		switch c {
		case "", ".", "..":
			return bad(fmt.Sprintf("it has a %q component, which no path of a tree has", c), "give it relative to the workspace")
		}
	}
	if !doublestar.ValidatePattern(glob) {
		return bad("it is not well formed", "close every [ and {, and end on no backslash")
	}
	return nil
}

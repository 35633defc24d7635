package workspace

import (
	"errors"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deedrun/deed/contract/fault"
)

// Match reports whether a glob covers a path of a tree. `*` and `?` stay within one component, `**` as a whole
// component matches any number of them, `[a-z]` is one of some characters and `[!a-z]` or `[^a-z]` one of the others,
// a backslash takes the next character as it is. A glob that covers a directory covers all that is below it: "docs",
// "docs/" and "docs/**" mean the same. A glob is matched from the root: `*.go` is the Go files at the top, `**/*.go`
// all of them. A glob that ValidateGlob refuses has no meaning.
func Match(glob, path string) bool {
	return covers(strings.Split(strings.TrimSuffix(glob, "/"), "/"), strings.Split(path, "/"))
}

// covers matches component by component, because to the library a class such as [!a] can be a slash.
func covers(glob, path []string) bool {
	again, from := -1, 0 // the component after the last **, and where in the path it was last tried
	for g, p := 0, 0; g < len(glob); {
		switch {
		case glob[g] == "**":
			g++
			again, from = g, p
		case p < len(path) && doublestar.MatchUnvalidated(glob[g], path[p]):
			g, p = g+1, p+1
		case again >= 0 && from < len(path):
			from++
			g, p = again, from
		default:
			return false
		}
	}
	return true // what is left of the path is below what the glob names
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

// ValidateGlob reports why a glob cannot be used for the paths of a tree. The rule is the contract's, so a glob that
// was admitted with a task is never refused here.
func ValidateGlob(glob string) error {
	var l fault.List
	l.Glob(fault.Root, glob)
	for _, f := range l.Faults() {
		return &Error{Code: ErrGlob, Op: "check glob", Path: glob, Err: errors.New(f.Message), Remedy: f.Remedy}
	}
	return nil
}

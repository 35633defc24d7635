package workspace

import (
	"errors"
	"fmt"
	"strings"
)

// An excluder decides which paths of a source stay behind. A pattern is a path from the source's root: the thing
// itself and, for a directory, all below it. "dir/" and "dir/**" mean the directory; any other trailing "*" makes the
// pattern a prefix of the path's text.
type excluder struct {
	exact    []string
	prefixes []string
}

// newExcluder reads the patterns. An unusable one is ErrGlob.
func newExcluder(patterns []string) (*excluder, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	x := &excluder{}
	var errs []error
	for _, p := range patterns {
		text, isPrefix := strings.CutSuffix(p, "*")
		if dir, ok := strings.CutSuffix(text, "/*"); ok && isPrefix {
			text, isPrefix = dir, false
		}
		if !isPrefix {
			text = strings.TrimSuffix(text, "/")
		}
		if err := excludable(text, isPrefix); err != nil {
			errs = append(errs, &Error{Code: ErrGlob, Op: "read exclude path", Path: p, Err: err, Remedy: "give a path below the source, such as node_modules, build/** or tmp-*"})
			continue
		}
		if isPrefix {
			x.prefixes = append(x.prefixes, text)
		} else {
			x.exact = append(x.exact, text)
		}
	}
	return x, errors.Join(errs...)
}

func excludable(text string, isPrefix bool) error {
	if isPrefix {
		if text == "" { // all of it
			return nil
		}
		text += "x" // what the star stands for, so that "dir/*" is judged as a path
	}
	if strings.ContainsRune(text, '*') {
		return errors.New("a * is understood at the end only")
	}
	if strings.HasPrefix(text, "/") {
		return errors.New("the path is absolute")
	}
	if err := validRelative(text); err != nil {
		return fmt.Errorf("it is no path of a tree: %w", err)
	}
	return nil
}

// out reports whether a path stays behind.
func (x *excluder) out(path string) bool {
	if x == nil {
		return false
	}
	for _, e := range x.exact {
		if path == e || len(path) > len(e) && path[len(e)] == '/' && strings.HasPrefix(path, e) {
			return true
		}
	}
	for _, p := range x.prefixes {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// specs says to git what is meant, with more magic words if wanted, taking every character as it is.
func (x *excluder) specs(magic string) (out []string) {
	for _, p := range x.exact {
		out = append(out, ":(top,literal"+magic+")"+p)
	}
	for _, p := range x.prefixes {
		out = append(out, ":(top"+magic+")"+strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`, "*", `\*`).Replace(p)+"*")
	}
	return out
}

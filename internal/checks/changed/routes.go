package changed

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A Route sends some of the changed files to one step of a lint script. A file takes it when one of the extensions,
// which have no dot, or one of the globs, which are of the path below the component, is its own.
type Route struct {
	Extensions []string
	Globs      []string
	Step       string
}

// A Run is one run of a lint script on changed files.
type Run struct {
	Step  string   // HOMEBOY_STEP; "" is every step
	Files []string // below the component, sorted
	Glob  string   // HOMEBOY_LINT_GLOB; "" where the names allow none: the script looks at everything, and only findings in Files count
}

// Routes says which runs the files ask for: one for each route that some of them take, or one for all of them when there
// are no routes. unmatched are the files that take none. Deleted files take no part. root is the component's directory
// as the script sees it.
//
// Two routes with one step are one run. Upstream runs them apart and loses the findings of all but the first; here every
// run is read.
func Routes(files []File, routes []Route, root string) (runs []Run, unmatched []string) {
	var there []string
	for _, f := range files {
		if f.There() {
			there = append(there, f.Path)
		}
	}
	if len(routes) == 0 {
		if len(there) > 0 {
			runs = append(runs, Run{Files: there, Glob: Glob(root, there)})
		}
		return runs, nil
	}
	taken := map[string]bool{}
	for _, r := range routes {
		for _, p := range there {
			if !r.takes(p) {
				continue
			}
			taken[p] = true
			i := slices.IndexFunc(runs, func(have Run) bool { return have.Step == r.Step })
			if i < 0 {
				i, runs = len(runs), append(runs, Run{Step: r.Step})
			}
			if !slices.Contains(runs[i].Files, p) {
				runs[i].Files = append(runs[i].Files, p)
			}
		}
	}
	for i := range runs {
		slices.Sort(runs[i].Files)
		runs[i].Glob = Glob(root, runs[i].Files)
	}
	for _, p := range there {
		if !taken[p] {
			unmatched = append(unmatched, p)
		}
	}
	return runs, unmatched
}

func (r Route) takes(p string) bool {
	ext := strings.TrimPrefix(path.Ext(p), ".")
	if ext != "" && slices.ContainsFunc(r.Extensions, func(e string) bool { return strings.EqualFold(strings.TrimPrefix(e, "."), ext) }) {
		return true
	}
	return slices.ContainsFunc(r.Globs, func(g string) bool { return MatchGlob(g, p) })
}

// MatchGlob reports whether a glob of a manifest covers a path below the component: `**` stands for directories, braces
// for alternatives, and a glob without a slash is of the name alone, in whatever directory. A glob that cannot be read
// covers nothing.
func MatchGlob(glob, p string) bool {
	glob = strings.TrimPrefix(glob, "./")
	if !doublestar.ValidatePattern(glob) {
		return false
	}
	if !strings.Contains(glob, "/") {
		p = path.Base(p)
	}
	return doublestar.MatchUnvalidated(glob, p)
}

// maxVariable is the size beyond which a value is not put into the environment: the kernel takes 128 KiB of one.
const maxVariable = 96 << 10

// Glob is what HOMEBOY_LINT_GLOB says for files: the absolute path of one, a list in braces of several. Scripts hand it
// to a shell, some of them to its eval, so it is "" when a name has a character that means something there, or when
// there are more names than the environment takes.
func Glob(root string, files []string) string {
	size := 2
	abs := make([]string, len(files))
	for i, p := range files {
		abs[i] = filepath.Join(root, filepath.FromSlash(p))
		size += len(abs[i]) + 1
		plain := plainName
		if len(files) == 1 {
			plain += ","
		}
		if strings.Trim(abs[i], plain) != "" {
			return ""
		}
	}
	switch {
	case len(files) == 0 || size > maxVariable:
		return ""
	case len(files) == 1:
		return abs[0]
	}
	return "{" + strings.Join(abs, ",") + "}"
}

// plainName are the characters that no shell gives a meaning to.
const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%:="

// Lines is a list of files as the runner contract hands it on: one name in a line. ok is false when a name cannot be
// told that way.
func Lines(files []string) (text string, ok bool) {
	for _, p := range files {
		if strings.ContainsAny(p, "\n\r") {
			return "", false
		}
	}
	return strings.Join(files, "\n"), true
}

// Variable is Lines for the environment, which has a bound.
func Variable(files []string) (text string, ok bool) {
	text, ok = Lines(files)
	return text, ok && len(text) <= maxVariable
}

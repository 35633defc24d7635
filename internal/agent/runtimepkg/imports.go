package runtimepkg

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// relativeImport finds what a JavaScript file takes from a path of its own tree.
var relativeImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\brequire\(|\bfrom\b|\bimport\(?)\s*['"](\.\.?/[^'"\n]{1,300})['"]`)
})

// Bounds of the look at a package's sources.
const (
	maxSources = 2000
	maxSource  = 1 << 20
)

// isSource reports whether a file is one that imports are looked for in.
func isSource(name string) bool {
	return slices.Contains([]string{".js", ".cjs", ".mjs"}, path.Ext(name))
}

// importsOf lists what a file of a package takes from paths of its own tree, as it is written and as a path below the package.
// A large file is a bundle, which is its own closure; what cannot be read is the run's to tell.
func importsOf(root *os.Root, name string) (written, paths []string) {
	if fi, err := root.Stat(name); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxSource {
		return nil, nil
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return nil, nil
	}
	for _, m := range relativeImport().FindAllSubmatch(text, -1) {
		written, paths = append(written, string(m[1])), append(paths, path.Join(path.Dir(name), string(m[1])))
	}
	return written, paths
}

// lintImports reports files that a package takes from outside itself: it would not run where they are missing.
func (p *Package) lintImports() []Finding {
	var out []Finding
	seen := 0
	root, err := os.OpenRoot(p.Real)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // only read
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !isSource(name) {
			return nil
		}
		if seen++; seen > maxSources {
			return fs.SkipAll
		}
		written, paths := importsOf(root, name)
		for i, to := range paths {
			if !filepath.IsLocal(to) {
				out = append(out, Finding{Warning, name, OutsideFile, fmt.Sprintf("takes %s, which is not in the package", written[i]), "put into the package what it needs, or use it in place with `deed runtime link`"})
			}
		}
		return nil
	})
	return out
}

// escapes says what the commands of a package need from outside of it: what they name, and what the JavaScript files among
// them take, also through other files of the package. A copy of the package alone would not run. Sources that no command
// comes to, such as tests, do not count.
func (p *Package) escapes() (why []string) {
	root, err := os.OpenRoot(p.Real)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }() // only read
	todo := p.entryFiles()
	seen := map[string]bool{}
	for len(todo) > 0 && len(seen) < maxSources {
		name := path.Clean(todo[0])
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		if !filepath.IsLocal(name) {
			why = append(why, fmt.Sprintf("a command names %s", name))
			continue
		}
		if !isSource(name) {
			continue
		}
		written, paths := importsOf(root, name)
		for i, to := range paths {
			if !filepath.IsLocal(to) {
				why = append(why, fmt.Sprintf("%s takes %s", name, written[i]))
				continue
			}
			for _, ending := range []string{"", ".js", ".cjs", ".mjs", "/index.js", "/index.cjs"} {
				if fi, err := root.Stat(to + ending); err == nil && fi.Mode().IsRegular() {
					todo = append(todo, to+ending)
					break
				}
			}
		}
	}
	slices.Sort(why)
	return why
}

// entryFiles are the files of the package that its commands and probes name.
func (p *Package) entryFiles() (list []string) {
	for _, x := range p.Manifest.AgentTaskExecutors {
		if c, err := p.Command(x); err == nil {
			list = append(list, p.ownFiles(c)...)
		}
		if v := x.ReadinessInvocation; v != nil {
			list = append(list, p.ownFiles(p.invocation(*v))...)
		}
		for _, r := range x.RunnerReadiness {
			if r.Invocation != nil {
				list = append(list, p.ownFiles(p.invocation(*r.Invocation))...)
			}
		}
	}
	return list
}

// selfContained refuses a package that a copy of could not run.
func (p *Package) selfContained() error {
	if why := p.escapes(); len(why) > 0 {
		return fmt.Errorf("%w: it needs files that are not in it: %s (use it in place with `deed runtime link`, or put into the package what it needs)", ErrRefused, strings.Join(why, "; "))
	}
	return nil
}

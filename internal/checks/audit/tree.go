package audit

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A tree is the facts of all files, by the questions that detectors ask.
type tree struct {
	byPath map[string]*source
	dirs   []string // that hold files, in order
	byDir  map[string][]*source
	module map[string]string // the import path of each directory with Go files
}

func newTree(a *audit) *tree {
	t := &tree{byPath: make(map[string]*source, len(a.files)), byDir: map[string][]*source{}, module: map[string]string{}}
	for _, s := range a.files {
		t.byPath[s.path] = s
		dir := path.Dir(s.path)
		if t.byDir[dir] == nil {
			t.dirs = append(t.dirs, dir)
		}
		t.byDir[dir] = append(t.byDir[dir], s)
	}
	slices.Sort(t.dirs)
	modules := map[string]string{}
	for _, m := range a.modules {
		if name := moduleName(a.readSmall(m)); name != "" {
			modules[path.Dir(m)] = name
		}
	}
	for _, dir := range t.dirs {
		if p := importPath(modules, dir); p != "" {
			t.module[dir] = p
		}
	}
	return t
}

// importPath is the path by which Go code imports a directory; "" where no module has it.
func importPath(modules map[string]string, dir string) string {
	for top := dir; ; top = path.Dir(top) {
		if m, ok := modules[top]; ok {
			return path.Join(m, strings.TrimPrefix(strings.TrimPrefix(dir, top), "/"))
		}
		if top == "." {
			return ""
		}
	}
}

func moduleName(goMod string) string {
	for line := range strings.Lines(goMod) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			rest, _, _ = strings.Cut(rest, "//")
			return strings.Trim(strings.TrimSpace(rest), `"`)
		}
	}
	return ""
}

// maxSmall bounds a file that a detector reads itself.
const maxSmall = 1 << 20

// readSmall reads a file that a detector needs as text; "" when it cannot be had.
func (a *audit) readSmall(name string) string {
	fi, err := a.root.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxSmall {
		return ""
	}
	f, err := a.root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err != nil {
		return ""
	}
	return string(b)
}

// exists reports whether there is something of this name in the tree, ignored or not.
func (a *audit) exists(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := a.root.Lstat(name)
	return err == nil
}

// isTestFile reports whether a file is a test or serves tests, by its name.
func isTestFile(name string) bool {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case strings.HasSuffix(stem, "_test"), strings.HasSuffix(stem, "_tests"), strings.HasPrefix(base, "test_"):
		return true
	case strings.HasSuffix(stem, ".test"), strings.HasSuffix(stem, ".spec"):
		return true
	case strings.HasSuffix(base, "Test.php"), strings.HasSuffix(base, "Test.java"), strings.HasSuffix(base, "Test.kt"):
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(d string) bool {
		return d == "tests" || d == "test" || d == "__tests__" || d == "spec"
	})
}

// servesTests reports whether a Go package is there for the tests of others: its name ends in test.
func servesTests(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") }

package repolint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/deedrun/deed"

// A file is one file of the repository, as a rule sees it.
type file struct {
	path string // from the root, with slashes
	text string
	ast  *ast.File // of Go files only
	fset *token.FileSet
}

// A finding is a rule broken at one place.
type finding struct {
	path string
	line int // 0 when it is about the whole file
	text string
}

func (f finding) String() string {
	if f.line == 0 {
		return f.path + ": " + f.text
	}
	return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.text)
}

// corpus is where the programs stand that deed's verdicts are measured on. They are data: some do not compile.
const corpus = "judge/projects"

// newFile parses text when it is Go of the repository's own.
func newFile(name, text string) (*file, error) {
	f := &file{path: name, text: text}
	if path.Ext(name) != ".go" || f.under(corpus) {
		return f, nil
	}
	f.fset = token.NewFileSet()
	var err error
	f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments)
	return f, err
}

// at returns a finding at a node of the file.
func (f *file) at(n ast.Node, format string, args ...any) finding {
	return finding{f.path, f.fset.Position(n.Pos()).Line, fmt.Sprintf(format, args...)}
}

func (f *file) dir() string  { return path.Dir(f.path) }
func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// inModule reports whether the file is Go source of the module itself: neither test data nor the tools, which are a
// module of their own.
func (f *file) inModule() bool {
	return f.ast != nil && !strings.HasPrefix(f.path, "tools/") && !slices.Contains(strings.Split(f.dir(), "/"), "testdata")
}

// isProduction reports whether the file ends up in the program: it is neither a test nor in a package that supports
// tests, which is what a last element ending in "test" says.
func (f *file) isProduction() bool { return f.inModule() && !f.isTest() && !isTestSupport(f.dir()) }

func isTestSupport(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }

// under reports whether the file is in one of the packages or below it.
func (f *file) under(pkgs ...string) bool {
	return slices.ContainsFunc(pkgs, func(p string) bool { return f.dir() == p || strings.HasPrefix(f.dir(), p+"/") })
}

// imports returns the import specs by path.
func (f *file) imports() map[string]*ast.ImportSpec {
	specs := make(map[string]*ast.ImportSpec, len(f.ast.Imports))
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			specs[p] = spec
		}
	}
	return specs
}

// uses returns where the file names one of the symbols of a package, under whatever name it imports it. Importing
// all of its names into the file counts as a use, for what follows cannot be told apart.
func (f *file) uses(pkg string, symbols ...string) []finding {
	spec := f.imports()[pkg]
	if spec == nil {
		return nil
	}
	local := path.Base(pkg)
	if spec.Name != nil {
		local = spec.Name.Name
	}
	if local == "." {
		return []finding{f.at(spec, "dot import of %s", pkg)}
	}
	var found []finding
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// A package name resolves to nothing inside the file; a local variable of that name does.
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil && slices.Contains(symbols, sel.Sel.Name) {
			found = append(found, f.at(sel, "%s.%s", pkg, sel.Sel.Name))
		}
		return true
	})
	return found
}

// repository returns every text file that git tracks or would track, parsed where it is Go, and every picture by its name.
func repository(t *testing.T) []*file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []*file
	for _, name := range repositoryPaths(t, root) {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if path.Ext(name) == ".png" {
			text = nil // documents link to pictures; no rule reads one
		} else if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue
		}
		f, err := newFile(name, string(text))
		if err != nil && f.inModule() {
			t.Errorf("does not parse: %v", err)
			continue
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		t.Fatal("the repository has no files: the rules would hold for nothing")
	}
	return files
}

// repositoryPaths asks git, which may not know the tree: a source archive has no .git. Then all files count.
func repositoryPaths(t *testing.T, root string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "-c", "safe.directory=*", "ls-files", "-z",
		"--cached", "--others", "--exclude-standard").Output()
	if err == nil && len(out) > 0 {
		names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(names)
		return slices.Compact(names)
	}
	var names []string
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "bin", "node_modules"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

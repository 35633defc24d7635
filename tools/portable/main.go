// Command portable says whether the module in the current directory, with its tests, compiles for other systems:
//
//	portable GOOS...
//
// It checks types from source. What a compiler would make of the dependencies is not needed for that, and making it takes minutes on a machine
// that has no build cache for the system; function bodies of dependencies are not even looked at.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(dir, os.Args[1:], os.Stderr))
}

// run checks the module in dir for every system, and writes what is wrong to out.
func run(dir string, systems []string, out io.Writer) int {
	if len(systems) == 0 {
		fmt.Fprintln(out, "usage: portable GOOS...")
		return 2
	}
	failed := 0
	for _, goos := range systems {
		faults, err := check(dir, goos)
		if err == nil && len(faults) == 0 {
			continue
		}
		failed = 1
		for _, f := range faults {
			fmt.Fprintf(out, "%s: %s\n", goos, f)
		}
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", goos, err)
		}
	}
	return failed
}

// check returns the errors of the module's own packages on a system.
func check(dir, goos string) ([]string, error) {
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
		Dir: dir, Tests: true,
		Env: append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOWORK=off"),
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if rel, rerr := filepath.Rel(dir, name); f != nil && (rerr != nil || !filepath.IsLocal(rel)) {
				strip(f)
			}
			return f, err
		},
	}
	list, err := packages.Load(cfg, "./...")
	if err != nil {
		return nil, fmt.Errorf("load the packages: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no package in %s", dir)
	}
	var faults []string
	seen := map[string]bool{}
	for _, p := range list {
		if strings.HasSuffix(p.PkgPath, ".test") { // the go command wrote it, outside the module
			continue
		}
		for _, e := range p.Errors {
			text := strings.TrimPrefix(e.Error(), dir+string(filepath.Separator))
			if !seen[text] { // a package and its test variant have the same files
				seen[text] = true
				faults = append(faults, text)
			}
		}
	}
	return faults, nil
}

// strip takes the bodies out of a file. Types do not depend on them.
func strip(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}

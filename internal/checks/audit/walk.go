package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Directories that hold no work of the component.
var (
	skippedAnywhere = []string{"node_modules", "vendor", ".git", ".svn", ".hg", "__pycache__", "testdata"}
	skippedAtRoot   = []string{"build", "dist", "target", "cache", "tmp"}
)

// indexFiles gather or wire the files next to them, so they do not follow the conventions of those.
var indexFiles = []string{
	"mod.rs", "lib.rs", "main.rs", "index.js", "index.jsx", "index.ts", "index.tsx", "index.mjs", "__init__.py", "doc.go", "main.go",
}

// maxFiles bounds a tree. It is a guard against a home directory, not a limit of the method.
const maxFiles = 500_000

// errTooMany ends the walk of a tree that is too large to audit.
var errTooMany = fmt.Errorf("the tree has more than %d files (choose a directory with --path)", maxFiles)

func skipped(name string) bool {
	dir := path.Dir(name)
	if dir == "." {
		return false
	}
	parts := strings.Split(dir, "/")
	if slices.Contains(skippedAtRoot, parts[0]) {
		return true
	}
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(skippedAnywhere, p) })
}

// list finds the names of the files of the tree, in order. In a git work tree these are the files that git would track;
// elsewhere all files. Links are not followed.
func (a *audit) list(ctx context.Context) ([]string, error) {
	names, err := a.gitList(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 { // no repository, or a directory that an outer one ignores
		if names, err = walkList(a.root); err != nil {
			return nil, err
		}
	}
	for _, n := range names {
		if path.Base(n) == "go.mod" {
			a.modules = append(a.modules, n)
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		_, known := languages[strings.ToLower(path.Ext(n))]
		return !known && !a.wanted(n)
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

// wanted reports whether a requested detector names files that no language is known for.
func (a *audit) wanted(name string) bool {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	return ext != "" && slices.ContainsFunc(a.set.RequestedDetectors, func(d Detector) bool {
		return slices.ContainsFunc(d.FileExtensions, func(e string) bool { return strings.TrimPrefix(e, ".") == ext })
	})
}

// gitList asks git; nothing is a tree that git knows nothing of.
func (a *audit) gitList(ctx context.Context) ([]string, error) {
	top, below, err := workspace.TopOf(a.dir)
	if err != nil {
		return nil, nil //nolint:nilerr // it lies in no work tree
	}
	opt := workspace.StatusOptions{}
	if below != "" {
		opt.Paths = []string{below}
	}
	files, err := workspace.ListFiles(ctx, top, opt)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		a.warnings = append(a.warnings, fmt.Sprintf("git cannot say which files are ignored (%v): all are read", err))
		return nil, nil
	}
	a.top, a.below = top, below
	names := []string{}
	for _, n := range files {
		if below != "" {
			n = strings.TrimPrefix(n, below+"/")
		}
		if skipped(n) {
			continue
		}
		if len(names) == maxFiles {
			return nil, errTooMany
		}
		names = append(names, n)
	}
	return names, nil
}

func walkList(root *os.Root) ([]string, error) {
	names := []string{}
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			return nil //nolint:nilerr // a directory that cannot be read has no files to tell of
		case d.IsDir():
			if p != "." && skipped(p+"/x") {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		case len(names) == maxFiles:
			return errTooMany
		}
		names = append(names, p)
		return nil
	})
	if err != nil && !errors.Is(err, errTooMany) {
		return nil, fmt.Errorf("walk the tree: %w", err)
	}
	return names, err
}

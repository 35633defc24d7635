package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/proc"
)

// Directories that hold no work of the component.
var (
	skippedAnywhere = []string{"node_modules", "vendor", ".git", ".svn", ".hg", "__pycache__", "testdata"}
	skippedAtRoot   = []string{"build", "dist", "target", "cache", "tmp"}
)

// indexFiles gather or wire the files beside them, so that they keep no convention of theirs.
var indexFiles = []string{
	"mod.rs", "lib.rs", "main.rs", "index.js", "index.jsx", "index.ts", "index.tsx", "index.mjs", "__init__.py", "doc.go", "main.go",
}

// maxFiles bounds a tree. It is a guard against a home directory, not a limit of the method.
const maxFiles = 500_000

// gitTime bounds one question to git.
const gitTime = 30 * time.Second

// errTooMany ends the walk of a tree that nobody wants audited.
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

// gitList asks git; nil is a tree that git knows nothing of.
func (a *audit) gitList(ctx context.Context) ([]string, error) {
	out, ok, err := a.git(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil || !ok {
		return nil, err
	}
	names := []string{}
	for n := range strings.SplitSeq(out, "\x00") {
		if n == "" || strings.HasSuffix(n, "/") || skipped(n) {
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

// git runs git on the tree. The repository may be a stranger's: its hooks and monitors have no say, and nothing is
// written. ok is false where there is no git or no repository.
func (a *audit) git(ctx context.Context, args ...string) (out string, ok bool, err error) {
	if _, err := a.root.Lstat(".git"); err != nil && !a.insideGit() {
		return "", false, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, fmt.Errorf("git took longer than %s", gitTime))
	defer cancel()
	fixed := []string{"git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false", "-c", "safe.directory=*", "-c", "core.pager=cat", "-c", "core.quotePath=false"}
	res, err := proc.Tool(ctx, proc.ToolSpec{
		Argv: append(fixed, args...), Dir: a.dir, MaxOutput: 256 << 20,
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat",
		},
	})
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case err != nil: // no git on this machine
		return "", false, nil //nolint:nilerr // the audit does without history
	case res.ExitCode != 0:
		return "", false, nil
	}
	return string(res.Stdout), true, nil
}

// insideGit reports whether a directory above is a work tree.
func (a *audit) insideGit() bool {
	for dir := filepath.Dir(a.dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

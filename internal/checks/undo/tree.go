package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// An entry is a file, a link or a directory of a component.
type entry struct {
	Path   encoded     `json:"path"`
	Mode   fs.FileMode `json:"mode"` // with its type
	Size   int64       `json:"size,omitempty"`
	Hash   string      `json:"sha256,omitempty"`
	Offset int64       `json:"offset,omitempty"` // in the file of contents
	Link   string      `json:"link,omitempty"`
	MTime  int64       `json:"mtime_ns,omitempty"`
}

// encoded is a path, which is any bytes, in JSON.
type encoded string

func (e encoded) MarshalJSON() ([]byte, error) { return json.Marshal(workspace.EncodePath(string(e))) }

func (e *encoded) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	p, err := workspace.DecodePath(s)
	*e = encoded(p)
	return err
}

// same reports whether two entries have the same content and mode.
func (e entry) same(o entry) bool { return e.Mode == o.Mode && e.Hash == o.Hash && e.Link == o.Link }

// filled are the names of directories that tools fill. What git knows in them is looked at all the same.
var filled = []string{
	".git", "node_modules", "vendor", "target", "dist", "build", "out", "__pycache__", ".venv", "venv", ".tox", ".cache", ".mypy_cache",
	".pytest_cache", ".ruff_cache", ".next", ".nuxt", ".gradle", ".idea", ".deed",
}

// A tree is a component's directory, never left by way of a link.
type tree struct {
	dir  string
	root *os.Root
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{dir, root}, nil
}

func (t *tree) close() { _ = t.root.Close() }

// paths lists the files, links and directories that count, sorted.
func (t *tree) paths(ctx context.Context) ([]string, error) {
	var found []string
	err := fs.WalkDir(t.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err != nil:
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		case p == ".":
			return nil
		case e.IsDir() && slices.Contains(filled, e.Name()):
			return fs.SkipDir
		case e.IsDir(), e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0:
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, _, err := workspace.TopOf(t.dir); err == nil {
		known, err := changed.All(ctx, t.dir)
		if err != nil {
			return nil, err
		}
		for _, p := range known {
			if inFilled(p) {
				found = append(found, p)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func inFilled(p string) bool {
	for d := range strings.SplitSeq(path.Dir(p), "/") {
		if slices.Contains(filled, d) {
			return d != ".git"
		}
	}
	return false
}

// entries reads what is there, and appends the contents to content unless it is nil.
func (t *tree) entries(ctx context.Context, content io.Writer) ([]entry, error) {
	paths, err := t.paths(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]entry, 0, len(paths))
	var at int64
	for _, p := range paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e, err := t.entry(p, content)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", workspace.Display(p), err)
		}
		e.Offset = at
		at += e.Size
		list = append(list, e)
	}
	return list, nil
}

func (t *tree) entry(p string, content io.Writer) (entry, error) {
	name := filepath.FromSlash(p)
	st, err := t.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	e := entry{Path: encoded(p), Mode: st.Mode() & (fs.ModeType | fs.ModePerm)}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		e.Mode &= fs.ModeType
		e.Link, err = t.root.Readlink(name)
		return e, err
	case !st.Mode().IsRegular():
		return e, nil
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return e, err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	to := io.Writer(sum)
	if content != nil {
		to = io.MultiWriter(sum, content)
	}
	if e.Size, err = io.Copy(to, f); err != nil {
		return e, err
	}
	e.Hash, e.MTime = hex.EncodeToString(sum.Sum(nil)), st.ModTime().UnixNano()
	return e, nil
}

// A Status says what happened to a file.
type Status string

// The statuses.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
)

// A Change is a file that is not what the copy has.
type Change struct {
	Path   string
	Status Status

	was *entry // nil: it was not there
}

// Changes compares the files with the copy, by their content and mode. Directories count only where they are in the way.
func (c *Copy) Changes(ctx context.Context) ([]Change, error) {
	t, err := openTree(c.dir)
	if err != nil {
		return nil, fmt.Errorf("compare with the copy: %w", err)
	}
	defer t.close()
	now, err := t.entries(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("compare with the copy: %w", err)
	}
	there := map[encoded]entry{}
	for _, e := range now {
		there[e.Path] = e
	}
	var out []Change
	was := map[encoded]bool{}
	for i := range c.rec.Entries {
		e := &c.rec.Entries[i]
		was[e.Path] = true
		n, ok := there[e.Path]
		switch {
		case !ok && !e.Mode.IsDir():
			out = append(out, Change{string(e.Path), Deleted, e})
		case ok && !n.same(*e) && (!e.Mode.IsDir() || !n.Mode.IsDir()):
			out = append(out, Change{string(e.Path), Modified, e})
		}
	}
	for _, n := range now {
		if !was[n.Path] && !n.Mode.IsDir() {
			out = append(out, Change{Path: string(n.Path), Status: Added})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Restore puts files back: those that are named, or all of them, and then there is nothing to undo any more.
func (c *Copy) Restore(ctx context.Context, only ...string) error {
	changes, err := c.Changes(ctx)
	if err != nil {
		return err
	}
	if len(only) > 0 {
		changes = slices.DeleteFunc(changes, func(ch Change) bool { return !slices.Contains(only, ch.Path) })
	}
	if err := c.put(ctx, changes); err != nil {
		return fmt.Errorf("put files back, of which %s has a copy: %w", c.home, err)
	}
	if len(only) > 0 {
		return nil
	}
	return c.Keep()
}

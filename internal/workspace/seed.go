package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/deedrun/deed/internal/failure"
)

// A SourceKind says what a workspace was seeded from.
type SourceKind string

// The kinds of sources.
const (
	SourceEmpty     SourceKind = "empty"
	SourceDirectory SourceKind = "directory"
	SourceGit       SourceKind = "git"
)

// A Source is where a workspace comes from.
type Source struct {
	Dir  string // "" for an empty workspace
	Ref  string // a commit, branch or tag of the repository at Dir: what is committed there, and nothing else
	Home string // deed's home, which must lie neither in the source nor around it; "" to leave that out
}

// The codes of notes.
const (
	NoteLinkOutside      = "link_outside"      // a link with an absolute target, or one that leaves the source; kept as it is
	NoteSpecialFile      = "special_file"      // a FIFO, socket or device; left out
	NoteNestedRepository = "nested_repository" // a .git below the top; left out, the files around it are copied
)

// A Note is something that a reader of the evidence should know about a seeded workspace.
type Note struct {
	Path   string `json:"path"` // in the form of EncodePath only when it is not valid UTF-8
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Seeded says what a workspace was made of.
type Seeded struct {
	Kind   SourceKind `json:"kind"`
	Commit string     `json:"commit,omitempty"` // what HEAD names; "" without a repository or before its first commit
	Branch string     `json:"branch,omitempty"` // "" when HEAD is detached
	Dirty  bool       `json:"dirty,omitempty"`  // the work tree differs from Commit, or has untracked files
	Notes  []Note     `json:"notes,omitempty"`  // by path
}

// Seed makes a workspace at dst, which must be absent or empty, and leaves the source untouched.
//
// A directory is copied with all that is in it. A directory with a .git (a repository, a linked work tree or a
// checked-out submodule) gets a repository of its own: branches, tags and the commits that they reach, in objects of
// its own, without remotes, hooks, stash, reflogs or configuration of the caller; the work tree is copied as it
// stands, with uncommitted, untracked and ignored files, and the index is that of HEAD, so that git status shows
// the caller's uncommitted work. With Ref the work tree is that commit's. A bare repository is taken as with
// Ref "HEAD".
//
// Submodules and other repositories inside the source arrive as plain files. Filters (such as git-lfs) are not run:
// a work tree that has their output keeps it, a checkout by Ref has what is committed.
//
// An unusable source is ErrSource, of class failure.Config. On any error dst is removed.
func Seed(ctx context.Context, src Source, dst string) (s Seeded, err error) {
	dir, err := src.resolve(dst)
	if err != nil {
		return Seeded{}, failure.New(failure.Config, "seed workspace", err, "")
	}
	if err := prepare(dst); err != nil {
		return Seeded{}, fmt.Errorf("seed workspace: %w", err)
	}
	defer func() {
		if err != nil {
			s, err = Seeded{}, errors.Join(fmt.Errorf("seed workspace: %w", err), Remove(dst))
		}
	}()
	switch {
	case dir == "":
		return Seeded{Kind: SourceEmpty}, nil
	case isRepository(dir):
		return seedGit(ctx, dir, src.Ref, dst)
	case src.Ref != "":
		return Seeded{}, failure.New(failure.Config, "seed workspace", sourceError(dir, "it is not the top of a git repository, and a ref was given"), "")
	}
	notes, err := copyTree(ctx, dir, dst, copyOptions{skipGit: true})
	return Seeded{Kind: SourceDirectory, Notes: sortNotes(notes)}, err
}

func sourceError(dir, why string) error {
	return &Error{Code: ErrSource, Op: "use source", Path: dir, Err: errors.New(why), Remedy: "give a project directory of its own"}
}

// resolve returns the true path of the source, or "" for none, and refuses one that would copy itself or deed's state.
func (src Source) resolve(dst string) (string, error) {
	if src.Dir == "" {
		if src.Ref != "" {
			return "", sourceError("", "a ref was given without a directory")
		}
		return "", nil
	}
	if strings.IndexByte(src.Dir, 0) >= 0 || strings.IndexByte(src.Ref, 0) >= 0 {
		return "", sourceError(src.Dir, "the path or the ref has a NUL byte")
	}
	dir, err := filepath.EvalSymlinks(absolute(src.Dir))
	if err != nil {
		return "", &Error{Code: ErrSource, Op: "use source", Path: src.Dir, Err: err}
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", sourceError(src.Dir, "it is not a directory")
	}
	for what, other := range map[string]string{"the workspace": dst, "deed's home": src.Home} {
		if other == "" {
			continue
		}
		o := truePath(other)
		switch {
		case o == dir || within(o, dir):
			return "", sourceError(src.Dir, what+" lies in it")
		case within(dir, o):
			return "", sourceError(src.Dir, "it lies in "+what)
		}
	}
	return dir, nil
}

// truePath resolves the links of a path of which the last parts may not exist yet.
func truePath(p string) string {
	p = absolute(p)
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	if parent := filepath.Dir(p); parent != p {
		return filepath.Join(truePath(parent), filepath.Base(p))
	}
	return p
}

func within(p, dir string) bool {
	return strings.HasPrefix(p, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

func isRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	return isBare(dir)
}

func isBare(dir string) bool {
	for name, isDir := range map[string]bool{"HEAD": false, "objects": true, "refs": true, "config": false} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.IsDir() != isDir {
			return false
		}
	}
	return true
}

func sortNotes(n []Note) []Note {
	sort.Slice(n, func(i, j int) bool { return n[i].Path < n[j].Path })
	return n
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/deedrun/deed/internal/base/failure"
)

// A SourceKind says what a workspace is seeded from.
type SourceKind string

// The kinds of sources.
const (
	SourceEmpty     SourceKind = "empty"
	SourceDirectory SourceKind = "directory"       // the files as they stand; a repository keeps its history
	SourceGit       SourceKind = "git"             // a repository: a commit of it, or the work tree with its history
	SourceBundle    SourceKind = "bundle"          // a directory or a commit, with the change of a bundle on top
	SourcePlugin    SourceKind = "plugin_scaffold" // a minimal WordPress plugin
	SourceTheme     SourceKind = "theme_scaffold"  // a minimal WordPress theme
	SourceFile      SourceKind = "file"            // one file
)

// How much of a repository's history a workspace has.
const (
	HistoryFull = "full" // what the commit of the workspace reaches
	HistoryNone = "none" // one commit with the same tree
)

// A Source is where a workspace comes from.
type Source struct {
	// Kind says how to take Dir. "" is SourceEmpty without a Dir, SourceGit for a repository with a Ref, and
	// SourceDirectory otherwise.
	Kind    SourceKind
	Dir     string   // the directory, the repository or the file; the base of a bundle
	Ref     string   // a commit, branch or tag of the repository at Dir: what is committed there, and nothing else
	Exclude []string // paths below Dir that stay behind: exact, a directory (dir, dir/, dir/**), or a prefix (tmp-*)
	Bundle  string   // with SourceBundle: its directory
	Earlier []string // with SourceBundle: bundles that are applied before it, in their order
	Slug    string   // of a scaffold
	Name    string   // of a scaffold, for people; "" is the slug
	History string   // how much of a repository's history comes along; "" is HistoryFull
	Home    string   // deed's home, which must lie neither in the source nor around it; "" to leave that out
}

// The codes of notes.
const (
	NoteLinkOutside      = "link_outside"      // a link with an absolute target, or one that leaves the source; kept as it is
	NoteSpecialFile      = "special_file"      // a FIFO, socket or device; left out
	NoteNestedRepository = "nested_repository" // a .git below the top; left out, the files around it are copied
	NoteHistory          = "history"           // the history of a repository; left out, because it has what is excluded, or as asked
)

// A Note is something that a reader of the evidence should know about a seeded workspace.
type Note struct {
	Path   string `json:"path"` // in the form of EncodePath only when it is not valid UTF-8
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Seeded says what a workspace was made of.
type Seeded struct {
	Kind   SourceKind `json:"kind"`             // SourceGit for a directory that is a repository
	Method Method     `json:"method,omitempty"` // how its files got there; "" when there was none to bring
	Bundle string     `json:"bundle,omitempty"` // the id of the bundle that was applied
	Commit string     `json:"commit,omitempty"` // what HEAD of the source names, or Ref; "" without a repository or before its first commit
	Head   string     `json:"head,omitempty"`   // what HEAD of the workspace names, when that is a commit of its own: see Seed
	Branch string     `json:"branch,omitempty"` // "" when HEAD is detached
	Dirty  bool       `json:"dirty,omitempty"`  // the work tree differs from Commit, or has untracked files
	Notes  []Note     `json:"notes,omitempty"`  // by path
}

// Seed makes a workspace at dst, which must be absent or empty, and leaves the source untouched.
//
// A directory is copied with all that is in it. A directory with a .git (a repository, a linked work tree or a checked-out
// submodule) gets a repository of its own: the commit that it begins at and what that reaches, in objects of its own, with
// its branch and the tags of that history. Nothing newer is copied, and no other branch, remote, hook, stash, reflog, object
// or setting of the caller: an agent must not find the solution in them. The work tree is copied as it stands, with
// uncommitted, untracked and ignored files, and the index is that of HEAD, so that git status shows the caller's uncommitted
// work. With Ref the work tree is that commit's. A bare repository is taken as with Ref "HEAD".
//
// Submodules and other repositories inside the source arrive as plain files; in a checkout by Ref a submodule is empty.
// Filters (such as git-lfs) are not run: a work tree that has their output keeps it, a checkout by Ref has what is
// committed.
//
// Nothing that Exclude names is in the workspace. Where a commit that the branches, the tags or HEAD reach has some of it,
// the history would reveal it: then the history is not copied, and the repository begins with one commit of its own, which
// is the same whenever it is made.
//
// An unusable source is ErrSource, of class failure.Config. On any error dst is removed, unless it was in use.
func Seed(ctx context.Context, src Source, dst string) (Seeded, error) {
	return seedOne(ctx, src, dst, nil)
}

// seedOne is Seed, and keeps what it wrote.
func seedOne(ctx context.Context, src Source, dst string, wrote *written) (s Seeded, err error) {
	err = src.check()
	if err == nil {
		src.Dir, err = src.resolve(dst)
	}
	if err != nil {
		return Seeded{}, failure.New(failure.Config, "seed workspace", err, "")
	}
	if src.Kind == SourceFile {
		s, err := seedFile(ctx, src.Dir, dst)
		switch err = unreadable(src.Dir, err); {
		case errors.Is(err, ErrSource):
			err = failure.New(failure.Config, "seed workspace", err, "")
		case err != nil:
			err = fmt.Errorf("seed workspace: %w", err)
		}
		return s, err
	}
	if err := prepare(dst); err != nil {
		return Seeded{}, fmt.Errorf("seed workspace: %w", err)
	}
	defer func() {
		switch err = unreadable(src.Dir, err); {
		case err == nil:
			return
		case errors.Is(err, ErrSource) && failure.ClassOf(err) != failure.Config:
			err = failure.New(failure.Config, "seed workspace", err, "")
		default:
			err = fmt.Errorf("seed workspace: %w", err)
		}
		s, err = Seeded{}, errors.Join(err, Remove(dst))
	}()
	switch src.kind() {
	case SourceEmpty:
		return Seeded{Kind: SourceEmpty}, nil
	case SourcePlugin, SourceTheme:
		return Seeded{Kind: src.Kind}, scaffold(src, dst)
	case SourceBundle:
		if s, err = seedTree(ctx, src, dst, wrote); err != nil {
			return s, err
		}
		var notes []Note
		s.Kind, s.Dirty = SourceBundle, s.Commit != ""
		for _, dir := range append(slices.Clone(src.Earlier), src.Bundle) {
			if s.Bundle, notes, err = applyBundle(ctx, dir, dst); err != nil {
				return s, err
			}
			s.Notes = append(s.Notes, notes...)
		}
		s.Notes = sortNotes(s.Notes)
		return s, nil
	}
	return seedTree(ctx, src, dst, wrote)
}

// unreadable turns a permission error into the source's fault: the files that are written lie in directories that deed has just
// made.
func unreadable(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrSource) || dir == "" {
		return err
	}
	return &Error{Code: ErrSource, Op: "use source", Path: dir, Err: err, Remedy: "let the user that deed runs as read all of it, or exclude what it may not read"}
}

// seedTree seeds from a directory or a repository.
func seedTree(ctx context.Context, src Source, dst string, wrote *written) (Seeded, error) {
	out, err := newExcluder(src.Exclude)
	if err != nil {
		return Seeded{}, err
	}
	switch {
	case isRepository(src.Dir):
		if src.Ref == "" && (src.Kind == SourceGit || isBare(src.Dir)) {
			src.Ref = "HEAD"
		}
		return seedGit(ctx, src, dst, out, wrote)
	case src.Ref != "" || src.Kind == SourceGit:
		return Seeded{}, sourceError(src.Dir, "it is not the top of a git repository, and a commit was asked for")
	}
	done, err := copyTree(ctx, src.Dir, dst, copyOptions{skipGit: true, exclude: out, wrote: wrote})
	return Seeded{Kind: SourceDirectory, Method: done.method, Notes: sortNotes(done.notes)}, err
}

// seedFile copies one file to dst, which must not exist.
func seedFile(ctx context.Context, from, dst string) (s Seeded, err error) {
	if _, err := os.Lstat(dst); err == nil {
		return Seeded{}, &Error{Code: ErrDestination, Op: "copy to", Path: dst, Remedy: "give a path that is absent"}
	}
	m, err := copyOne(ctx, from, dst)
	return Seeded{Kind: SourceFile, Method: m}, err
}

func sourceError(dir, why string) error {
	return &Error{Code: ErrSource, Op: "use source", Path: dir, Err: errors.New(why), Remedy: "give a project directory of its own"}
}

func (src Source) kind() SourceKind {
	switch {
	case src.Kind != "":
		return src.Kind
	case src.Dir == "" && src.Ref == "":
		return SourceEmpty
	case src.Ref != "":
		return SourceGit
	}
	return SourceDirectory
}

// check reports what a source lacks, or has without a use, as far as that can be found without looking at the disk.
func (src Source) check() error {
	var errs []error
	fail := func(field, why string) {
		errs = append(errs, &Error{Code: ErrSource, Op: "use source", Err: errors.New(field + " " + why), Remedy: "see the kinds of sources"})
	}
	kind := src.kind()
	dir, isScaffold := false, false
	switch kind {
	case SourceEmpty:
	case SourceDirectory, SourceGit, SourceBundle, SourceFile:
		dir = true
	case SourcePlugin, SourceTheme:
		isScaffold = true
	default:
		fail("kind", fmt.Sprintf("%q is not known", kind))
		return errors.Join(errs...)
	}
	of := " a source of kind " + string(kind)
	for _, f := range []struct {
		name         string
		given        bool
		needed, fits bool
	}{
		{"a directory", src.Dir != "", dir, dir},
		{"a ref", src.Ref != "", false, kind == SourceGit || kind == SourceBundle || src.Kind == ""},
		{"a bundle", src.Bundle != "", kind == SourceBundle, kind == SourceBundle},
		{"a list of earlier bundles", len(src.Earlier) > 0, false, kind == SourceBundle},
		{"a slug", src.Slug != "", isScaffold, isScaffold},
		{"a history", src.History != "", false, dir && kind != SourceFile},
		{"a list of paths to exclude", len(src.Exclude) > 0, false, dir && kind != SourceFile},
	} {
		if f.needed && !f.given {
			fail(f.name, "is missing for"+of)
		}
		if f.given && !f.fits {
			fail(f.name, "has no meaning for"+of)
		}
	}
	if isScaffold && src.Slug != "" && (len(src.Slug) > maxSlug || !slugPattern().MatchString(src.Slug)) {
		fail("slug", fmt.Sprintf("%q is not made of letters, digits, - and _, a letter or digit first", shorten(src.Slug)))
	}
	for _, s := range []string{src.Dir, src.Ref, src.Bundle} {
		if strings.IndexByte(s, 0) >= 0 {
			fail("a path or ref", "has a NUL byte")
		}
	}
	switch src.History {
	case "", HistoryFull, HistoryNone:
	default:
		fail("history", fmt.Sprintf("%q is not full or none", src.History))
	}
	if _, err := newExcluder(src.Exclude); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// resolve returns the true path of the source, or "" for none, and refuses one that would copy itself or deed's state.
func (src Source) resolve(dst string) (string, error) {
	if src.Dir == "" {
		return "", nil
	}
	dir, err := filepath.EvalSymlinks(absolute(src.Dir))
	if err != nil {
		return "", &Error{Code: ErrSource, Op: "use source", Path: src.Dir, Err: err}
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", &Error{Code: ErrSource, Op: "use source", Path: src.Dir, Err: err}
	case src.Kind == SourceFile && !st.Mode().IsRegular():
		return "", sourceError(src.Dir, "it is not a regular file")
	case src.Kind != SourceFile && !st.IsDir():
		return "", sourceError(src.Dir, "it is not a directory")
	}
	for what, other := range map[string]string{"the workspace": dst, "deed's home": src.Home} {
		if other == "" {
			continue
		}
		o := TruePath(other)
		switch {
		case Within(o, dir):
			return "", sourceError(src.Dir, what+" lies in it")
		case Within(dir, o):
			return "", sourceError(src.Dir, "it lies in "+what)
		}
	}
	return dir, nil
}

// TruePath is an absolute path with its links followed; its last components need not exist yet.
func TruePath(p string) string {
	p = absolute(p)
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	if parent := filepath.Dir(p); parent != p {
		return filepath.Join(TruePath(parent), filepath.Base(p))
	}
	return p
}

// Within reports whether a clean path is dir or lies below it.
func Within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

func isRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	return isBare(dir)
}

// IsBare reports whether a directory is itself a repository: one without a work tree, or the .git of one.
func IsBare(dir string) bool { return isBare(dir) }

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

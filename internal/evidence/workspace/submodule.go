package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// NoteSubmodule is the code of a note about a submodule.
const NoteSubmodule = "submodule"

// A Submodule is a path at which a commit names a commit of another repository. git is never let into one: what is there
// has a configuration, hooks and filters of its own, and they may be an agent's. What is known of it is read as plain
// files: which commit it is at, and nothing of its work tree.
type Submodule struct {
	Path   string // in the form of EncodePath only when it is not valid UTF-8
	Commit string // that the commit names
	Head   string // that it is at; "" when it is at none, or at one that cannot be told
	Status Status // Modified when it is at another commit, Deleted or TypeChanged when its directory is gone, and else ""
	Detail string // for people; "" when its directory is empty, as git leaves one that nobody asked for

	path string
}

func (m Submodule) note() Note { return Note{m.Path, NoteSubmodule, m.Detail} }

// Submodules lists the submodules that a commit of the work tree at dir names, in their present state: those that the
// options select, and those that contain a selected path. It is as hermetic as StatusOf.
func Submodules(ctx context.Context, dir, commit string, opt StatusOptions) ([]Submodule, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return nil, fmt.Errorf("find submodules: %w", err)
	}
	defer m.close()
	if commit, _, err = m.from.resolve(ctx, commit); err != nil {
		return nil, fmt.Errorf("find submodules: %w", err)
	}
	list, err := m.submodules(ctx, commit, opt)
	if err != nil {
		return nil, fmt.Errorf("find submodules: %w", err)
	}
	return list, nil
}

func (s *borrower) submodules(ctx context.Context, commit string, opt StatusOptions) ([]Submodule, error) {
	links, err := s.gitlinks(ctx, commit)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	exclude, err := newExcluder(opt.Exclude)
	if err != nil {
		return nil, err
	}
	t, err := openTree(s.workTree)
	if err != nil {
		return nil, &Error{Code: ErrRoot, Op: "walk", Err: err}
	}
	defer t.close()
	var list []Submodule
	for _, m := range links {
		if exclude.out(m.path) || !concerns(m.path, opt.Paths) {
			continue
		}
		s.look(t, &m)
		list = append(list, m)
	}
	return list, nil
}

// gitlinks lists what a commit names of other repositories, by path.
func (s *borrower) gitlinks(ctx context.Context, commit string) ([]Submodule, error) {
	if commit == "" {
		return nil, nil
	}
	out, err := s.in(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var list []Submodule
	for line := range strings.SplitSeq(out, "\x00") {
		rest, ok := strings.CutPrefix(line, "160000 commit ")
		if id, p, tab := strings.Cut(rest, "\t"); ok && tab {
			list = append(list, Submodule{Path: TextPath(p), Commit: id, path: p})
		}
	}
	return list, nil
}

// concerns reports whether a path is one of the selected ones, lies in one of them, or contains one.
func concerns(p string, asked []string) bool {
	return len(asked) == 0 || slices.ContainsFunc(asked, func(a string) bool {
		a = strings.TrimSuffix(a, "/")
		return Within(p, a) || Within(a, p)
	})
}

// look finds out how a submodule stands.
func (s *borrower) look(t *tree, m *Submodule) {
	fd, err := t.openDir(m.path)
	switch {
	case gone(err), swapped(err) && beyondLink(t, m.path):
		if !s.from.sparse { // which leaves out what it likes
			m.Status, m.Detail = Deleted, "the submodule is gone from the work tree"
		}
		return
	case swapped(err):
		m.Status, m.Detail = TypeChanged, "something that is no directory stands in the place of the submodule"
		return
	case err != nil:
		m.Detail = "the submodule cannot be opened, and is not looked into"
		return
	}
	defer unix.Close(fd)
	list, err := names(fd)
	switch {
	case err != nil:
		m.Detail = "the submodule cannot be listed, and is not looked into"
	case len(list) == 0:
	case !slices.ContainsFunc(list, gitMeta):
		m.Detail = "the files of the submodule are there without its repository, and are not looked into"
	default:
		if m.Head, err = s.headOf(m.path); err != nil {
			m.Detail = "the submodule is not looked into, and its commit cannot be told: " + err.Error()
		} else if m.Head != m.Commit {
			m.Status, m.Detail = Modified, fmt.Sprintf("the submodule is at %s, and not at %s: it is not looked into", orNone(m.Head), m.Commit)
		} else {
			m.Detail = "the submodule is at its commit, and is not looked into: changes of its files are not seen"
		}
	}
}

func orNone(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit
}

// beyondLink reports whether a parent of a path is no directory any more.
func beyondLink(t *tree, p string) bool {
	fd, err := t.openDir(parentOf(p))
	if err == nil {
		_ = unix.Close(fd)
	}
	return err != nil
}

// headOf reads which commit a submodule is at, from plain files only. Its repository has to lie in the work tree or
// in the repository around it: a .git can name any other one, whose commits must not be disclosed here.
func (s *borrower) headOf(p string) (string, error) {
	r := &repository{git: s.git, dir: filepath.Join(s.workTree, filepath.FromSlash(p)), format: s.from.format, refs: map[string]string{}}
	if err := r.find(); err != nil {
		return "", errors.New("it has no repository that can be read")
	}
	for _, at := range []*string{&r.gitDir, &r.common} {
		real, err := filepath.EvalSymlinks(*at)
		if err != nil || !Within(real, TruePath(s.workTree)) && !Within(real, TruePath(s.from.common)) {
			return "", errors.New("its repository lies elsewhere")
		}
		*at = real
	}
	if err := r.readRefs(); err != nil {
		return "", errors.New("its refs cannot be read")
	}
	if err := r.readHead(); err != nil {
		return "", errors.New("its HEAD names neither a branch nor a commit")
	}
	return r.commit, nil
}

// noteSubmodules puts what is known of the submodules in the place of the notes about repositories inside.
func (f *treeChanges) noteSubmodules(list []Submodule) {
	for _, m := range list {
		f.notes = slices.DeleteFunc(f.notes, func(n Note) bool { return Within(n.Path, m.Path) })
		if m.Detail != "" {
			f.notes = append(f.notes, m.note())
		}
	}
	sortNotes(f.notes)
}

// RefuseSubmodules refuses, as ErrSubmodule, paths that no commit of the outer repository can contain: a path inside a
// submodule, and a submodule that is not in the state that the parent records.
func RefuseSubmodules(modules []Submodule, paths []string) error {
	var errs []error
	for _, m := range modules {
		for _, p := range paths {
			p = strings.TrimSuffix(p, "/")
			switch {
			case p == m.path && m.Status != "":
				errs = append(errs, &Error{Code: ErrSubmodule, Op: "commit", Path: p, Err: errors.New(m.Detail), Remedy: "commit the submodule by hand, or leave the path out: it stays as it is in the base"})
			case p != m.path && Within(p, m.path):
				errs = append(errs, &Error{Code: ErrSubmodule, Op: "commit", Path: p, Err: fmt.Errorf("it lies in the submodule %s, which has a repository of its own", quotePath(m.path)), Remedy: "commit it there, or leave the path out"})
			}
		}
	}
	return errors.Join(errs...)
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CleanRoom makes a fresh tree at dst, which must be absent or empty, in which work can be judged: the base with the
// patch applied, and everything under the pinned globs exactly as it is in the base. What the patch changed or
// deleted there is put back, and what it added there is taken out: a check must read what its author pinned, and a
// file that is only added (a second configuration, a test that always passes) can change a verdict as well as an edit.
//
// The copy is compared with baseManifest before the patch comes in, repositories included: a base that is not the one
// that was recorded is ErrBaseTampered, so what is judged is what was pinned. A patch that git refuses is ErrApply. Without
// a patch ("") the room is the base itself. On any error dst is removed.
func CleanRoom(ctx context.Context, base string, baseManifest *Manifest, patchPath string, pinned []string, dst string) (err error) {
	for _, g := range pinned {
		if err := ValidateGlob(g); err != nil {
			return fmt.Errorf("clean room: %w", err)
		}
	}
	if _, err := Clone(ctx, base, dst); err != nil {
		return fmt.Errorf("clean room: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("clean room: %w", err), Remove(dst))
		}
	}()
	fresh, err := Snapshot(ctx, dst, nil)
	if err != nil {
		return err
	}
	if err := sameTree(baseManifest, fresh); err != nil {
		return &Error{Code: ErrBaseTampered, Op: "verify base", Path: base, Err: err}
	}
	if patchPath == "" {
		return nil
	}
	if err := Apply(ctx, dst, patchPath); err != nil {
		return err
	}
	if len(pinned) == 0 {
		return nil
	}
	after, err := Snapshot(ctx, dst, fresh)
	if err != nil {
		return err
	}
	return restore(base, baseManifest, after, pinned, dst)
}

func sameTree(want, have *Manifest) error {
	diffs := Compare(want, have)
	if !slices.EqualFunc(want.Git, have.Git, func(a, b GitDir) bool { return a == b }) {
		diffs = append(diffs, Difference{".git", "a repository differs"})
	}
	if len(diffs) > 0 {
		return &Mismatch{diffs}
	}
	return nil
}

// restore puts the pinned paths of dst back to what they are in the base.
func restore(base string, before, after *Manifest, pinned []string, dst string) error {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer root.Close()
	t, err := openTree(base)
	if err != nil {
		return err
	}
	defer t.close()
	r := &restorer{root: root, tree: t, before: before, buf: make([]byte, readBuffer)}
	var put []*Entry
	eachPair(before.Entries, after.Entries, func(b, a *Entry) {
		switch {
		case b == nil:
			if MatchAny(pinned, a.Path) {
				r.extra = append(r.extra, a)
			}
		case MatchAny(pinned, b.Path) && (a == nil || describe(b, a) != ""):
			put = append(put, b)
		}
	})
	// Deepest first, so that a directory is empty when its turn comes; one that holds something not pinned stays.
	for _, e := range slices.Backward(r.extra) {
		if err := r.takeOut(e); err != nil {
			return fmt.Errorf("take out %s: %w", quotePath(e.Path), err)
		}
	}
	for _, e := range put {
		if err := r.putBack(e); err != nil {
			return tampered("put back", e.Path, err)
		}
	}
	return nil
}

// Overlay writes everything that the manifest of the tree at from lists over the tree at dst. Existing entries with the
// same names are removed first, and no link in dst is followed. A file that is not as the manifest has it is
// ErrBaseTampered.
func Overlay(from string, m *Manifest, dst string) error {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer root.Close()
	t, err := openTree(from)
	if err != nil {
		return err
	}
	defer t.close()
	r := &restorer{root: root, tree: t, before: m, buf: make([]byte, readBuffer)}
	for i := range m.Entries {
		e := &m.Entries[i]
		if !e.Kind.carried() && e.Kind != KindDir {
			return fmt.Errorf("overlay: %s is a %s, and only files, links and directories can be laid over a tree", quotePath(e.Path), e.Kind)
		}
		if err := r.putBack(e); err != nil {
			return tampered("lay over", e.Path, err)
		}
	}
	return nil
}

type restorer struct {
	root   *os.Root
	tree   *tree
	before *Manifest
	extra  []*Entry
	buf    []byte
}

func (r *restorer) takeOut(e *Entry) error {
	err := r.root.Remove(filepath.FromSlash(e.Path))
	if e.Kind == KindDir || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// putBack writes one entry of the base. Whatever the patch put at its path, or at the path of a directory that leads
// to it, is removed first; no component of the path is a link when the entry is written.
func (r *restorer) putBack(e *Entry) error {
	if dir := parentOf(e.Path); dir != "" {
		at := ""
		for c := range strings.SplitSeq(dir, "/") {
			at = join(at, c)
			if err := r.directory(at); err != nil {
				return err
			}
		}
	}
	name := filepath.FromSlash(e.Path)
	if e.Kind == KindDir {
		if err := r.directory(e.Path); err != nil {
			return err
		}
		return r.root.Chmod(name, fs.FileMode(e.Mode&0o777))
	}
	if err := r.root.RemoveAll(name); err != nil {
		return err
	}
	if e.Kind == KindSymlink {
		return r.root.Symlink(e.Target, name)
	}
	f, err := r.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = r.tree.copyOut(e, f, r.buf)
	return errors.Join(err, f.Chmod(fs.FileMode(e.Mode&0o777)), f.Close())
}

// directory makes sure that there is a real directory at a path that is one in the base.
func (r *restorer) directory(rel string) error {
	name := filepath.FromSlash(rel)
	st, err := r.root.Lstat(name)
	if err == nil && st.IsDir() {
		return nil
	}
	if err == nil {
		if err := r.root.Remove(name); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mode := fs.FileMode(0o755)
	if e := r.before.Find(rel); e != nil {
		mode = fs.FileMode(e.Mode & 0o777)
	}
	if err := r.root.Mkdir(name, 0o700); err != nil {
		return err
	}
	return r.root.Chmod(name, mode|0o700)
}

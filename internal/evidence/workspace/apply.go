package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Apply applies a patch to the tree at dir with git apply, all of it or, as far as git can check beforehand, nothing.
// If dir is a repository, that has no effect, and neither have attributes in the tree: the bytes of the patch are
// what gets written. Paths that lead out of dir, by ".." or through a symbolic link, are refused. A refusal is
// ErrApply with git's own message. A patch of no bytes changes nothing.
func Apply(ctx context.Context, dir, patchPath string) error {
	st, err := os.Stat(patchPath)
	switch {
	case err != nil:
		return fmt.Errorf("apply patch: %w", err)
	case !st.Mode().IsRegular():
		return &Error{Code: ErrApply, Op: "apply patch", Path: patchPath, Err: errors.New("it is not a regular file")}
	case st.Size() == 0:
		return nil
	}
	if err := realDir(dir); err != nil {
		return &Error{Code: ErrApply, Op: "apply patch to", Path: dir, Err: err}
	}
	g, err := newGit("")
	if err != nil {
		return err
	}
	defer g.close()
	repo, err := g.scratch()
	if err != nil {
		return err
	}
	res, err := g.try(ctx, gitCall{
		args: []string{"apply", "--whitespace=nowarn", "--", absolute(patchPath)},
		dir:  absolute(dir), gitDir: repo, workTree: absolute(dir),
	})
	if err != nil {
		return &Error{Code: ErrGit, Op: "apply patch", Err: err}
	}
	if res.ExitCode != 0 {
		return &Error{Code: ErrApply, Op: "apply patch", Err: gitMessage(res)}
	}
	return nil
}

func realDir(dir string) error {
	st, err := os.Lstat(dir)
	if err == nil && !st.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

// A Mismatch lists where the patched base differs from the tree that the patch was made from.
type Mismatch struct {
	Differences []Difference
}

func (m *Mismatch) Error() string {
	var b strings.Builder
	for i, d := range m.Differences {
		if i == 10 {
			fmt.Fprintf(&b, "; and %d more", len(m.Differences)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(d.String())
	}
	return b.String()
}

// Check makes sure that a patch says the same as the change set it was made from: applied to the base it gives after,
// except for what is ignored, git's own, or not representable. It returns ErrApply when git refuses the patch and
// ErrPatchMismatch, with a *Mismatch that lists all differences, when the result is another tree.
//
// The patch is applied to those files of the base that the change set names, in a fresh directory next to the base,
// and the whole result is compared. That is enough: a patch that touches any other path of the base either does not
// apply, or leaves a file that is not expected.
func Check(ctx context.Context, base string, before *Manifest, patchPath string, after *Manifest, cs ChangeSet) error {
	dir, err := os.MkdirTemp(filepath.Dir(absolute(base)), ".deed-check-")
	if err != nil {
		return fmt.Errorf("check patch: %w", err)
	}
	defer func() { _ = Remove(dir) }()
	if err := stage(base, before, cs, dir); err != nil {
		return fmt.Errorf("check patch: %w", err)
	}
	if err := Apply(ctx, dir, patchPath); err != nil {
		return fmt.Errorf("check patch: %w", err)
	}
	have, err := Snapshot(ctx, dir, nil)
	if err != nil {
		return fmt.Errorf("check patch: %w", err)
	}
	if diffs := mismatches(expected(after, cs), have); len(diffs) > 0 {
		return &Error{Code: ErrPatchMismatch, Op: "check patch", Err: &Mismatch{diffs}}
	}
	return nil
}

// stage puts the base side of every tracked change into dir.
func stage(base string, before *Manifest, cs ChangeSet, dir string) error {
	t, err := openTree(base)
	if err != nil {
		return err
	}
	defer t.close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	buf := make([]byte, readBuffer)
	for i := range cs.Changes {
		ch := &cs.Changes[i]
		e := ch.before()
		if ch.Class != ClassTracked || e == nil {
			continue
		}
		if rec := before.Find(e.Path); rec == nil || describe(rec, e) != "" {
			return &Error{Code: ErrPatchMismatch, Op: "stage", Path: e.Path, Err: errors.New("the change set does not belong to the base")}
		}
		if err := t.stageOne(root, e, buf); err != nil {
			return tampered("stage", e.Path, err)
		}
	}
	return nil
}

// stageOne copies an entry into a fresh tree that holds nothing but other entries of the same base, so that none of
// its parents is a link.
func (t *tree) stageOne(root *os.Root, e *Entry, buf []byte) (err error) {
	name := filepath.FromSlash(e.Path)
	if dir := parentOf(name); dir != "" {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if e.Kind == KindSymlink {
		var target strings.Builder
		if err := t.copyOut(e, &target, nil); err != nil {
			return err
		}
		return root.Symlink(target.String(), name)
	}
	perm := fs.FileMode(0o600)
	if e.GitMode() == "100755" {
		perm = 0o700
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return t.copyOut(e, f, buf)
}

// expected lists, in order, what must be there after the patch: the after side of every tracked change.
func expected(after *Manifest, cs ChangeSet) []Entry {
	var want []Entry
	for i := range cs.Changes {
		ch := &cs.Changes[i]
		if ch.Class != ClassTracked || ch.after() == nil {
			continue
		}
		if e := after.Find(ch.Path); e != nil {
			want = append(want, *e)
		} else {
			want = append(want, *ch.After)
		}
	}
	return want
}

// mismatches compares by what git records: kind, executable or not, and content.
func mismatches(want []Entry, have *Manifest) []Difference {
	var got []Entry
	for _, e := range have.Entries {
		if e.Kind != KindDir {
			got = append(got, e)
		}
	}
	var out []Difference
	eachPair(want, got, func(w, h *Entry) {
		if w != nil && h != nil {
			w2, h2 := *w, *h
			w2.Mode, h2.Mode = w.Mode&0o100, h.Mode&0o100
			w, h = &w2, &h2
		}
		if s := describe(w, h); s != "" {
			p := w
			if p == nil {
				p = h
			}
			out = append(out, Difference{p.Path, s})
		}
	})
	for _, g := range have.Git {
		out = append(out, Difference{g.Path, "unexpected repository"})
	}
	return out
}

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A stage is a directory in which the patch is applied to copies of the files it changes, and nothing else. The result is
// compared with the change list before the real directory is touched.
type stage struct {
	dir string // absolute
}

// work is the tree of the copies. Files are there under the names that the patch has for them.
func (s *stage) work() string { return filepath.Join(s.dir, "work") }

// file is the staged file of a step.
func (s *stage) file(st step) string { return path.Join("work", st.part.Path) }

// build fills the stage and returns the digest of the patch that was applied.
func (s *stage) build(ctx context.Context, o *Offer, t *site, p *plan) (patchSHA string, err error) {
	if err := os.Mkdir(s.work(), 0o700); err != nil {
		return "", atomicfile.Explain("stage the change", err)
	}
	root, err := os.OpenRoot(s.work())
	if err != nil {
		return "", fmt.Errorf("stage the change: %w", err)
	}
	defer root.Close()
	for _, st := range p.steps {
		if err := copyBefore(t, root, st); err != nil {
			return "", err
		}
	}
	patch := filepath.Join(s.dir, "patch.diff")
	if patchSHA, err = s.filter(o, p, patch); err != nil {
		return "", err
	}
	if err := workspace.Apply(ctx, s.work(), patch); err != nil {
		if errors.Is(err, workspace.ErrApply) {
			return "", refuse(ReasonPatch, "", "%v", err)
		}
		return "", err
	}
	if err := s.compare(ctx, p); err != nil {
		return "", err
	}
	if err := finish(root, p); err != nil {
		return "", err
	}
	return patchSHA, atomicfile.SyncTree(ctx, s.work())
}

// copyBefore puts the file that a step changes into the stage.
func copyBefore(t *site, root *os.Root, st step) (err error) {
	if st.Before.absent() {
		return nil
	}
	name := filepath.FromSlash(st.part.Path)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("stage the change: %w", err)
		}
	}
	if st.Before.Mode == linkMode {
		return root.Symlink(st.was.Target, name)
	}
	perm := fs.FileMode(0o600)
	if st.Before.Mode == "100755" {
		perm = 0o700
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return atomicfile.Explain("stage the change", err)
	}
	sum, err := t.copyOut(st.Path, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return atomicfile.Explain("stage the change", err)
	}
	if sum != st.Before.SHA256 {
		return refuse(ReasonDrift, st.Name, "changed while it was read")
	}
	return nil
}

func (s *stage) filter(o *Offer, p *plan, to string) (string, error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", atomicfile.Explain("filter the patch", err)
	}
	files := make([]File, len(p.steps))
	for i, st := range p.steps {
		files[i] = st.File
	}
	h := sha256.New()
	err = o.WritePatch(files, io.MultiWriter(f, h))
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// compare demands that the stage holds exactly what the change list says, no more and no less.
func (s *stage) compare(ctx context.Context, p *plan) error {
	m, err := workspace.Snapshot(ctx, s.work(), nil)
	if err != nil {
		return err
	}
	want := map[string]step{}
	var reasons []evidence.ApplyReason
	say := func(path, format string, args ...any) {
		reasons = append(reasons, evidence.ApplyReason{Code: ReasonSurprise, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	for _, st := range p.steps {
		if !st.After.absent() {
			want[st.part.Path] = st
		}
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Kind == workspace.KindDir {
			continue
		}
		st, ok := want[e.Path]
		delete(want, e.Path)
		switch {
		case !ok:
			say(workspace.TextPath(e.Path), "would be there after the patch, and the change list does not say so")
		case e.SHA256.String() != st.After.SHA256:
			say(st.Name, "would have another content after the patch than the change list says")
		case e.GitMode() != st.After.Mode:
			say(st.Name, "would have the mode %s after the patch, and the change list says %s", e.GitMode(), st.After.Mode)
		case e.Kind == workspace.KindSymlink && leaves(st.Path, e.Target):
			reasons = append(reasons, evidence.ApplyReason{Code: ReasonPath, Path: st.Name, Message: fmt.Sprintf("would be a link out of the directory, to %q", e.Target)})
		}
	}
	for _, g := range m.Git {
		say(workspace.TextPath(g.Path), "would be a repository")
	}
	for _, st := range p.steps {
		if _, missing := want[st.part.Path]; missing && !st.After.absent() {
			say(st.Name, "would not be there after the patch, and the change list says it is")
		}
	}
	return refused(reasons)
}

// leaves reports whether a link at a path leads out of the tree.
func leaves(at, target string) bool {
	to := path.Join(path.Dir(at), target)
	return path.IsAbs(target) || to == ".." || strings.HasPrefix(to, "../")
}

// finish gives existing files the permissions and the owner that they had, except where the change says otherwise.
func finish(root *os.Root, p *plan) error {
	for _, st := range p.steps {
		link, wasLink := st.After.Mode == linkMode, st.was.Mode == linkMode
		if st.After.absent() || st.was.Mode == "" || link && wasLink {
			continue
		}
		name := filepath.FromSlash(st.part.Path)
		if !link && !wasLink { // a link has no permissions of its own
			perm := st.was.Perm
			switch st.After.Mode {
			case st.was.Mode:
			case "100755":
				perm |= perm & 0o444 >> 2
			default:
				perm &^= 0o111
			}
			if err := root.Chmod(name, perm); err != nil {
				return fmt.Errorf("stage %s: %w", Shown(st.Name), err)
			}
		}
		if err := chown(root, name, st.was); err != nil {
			return fmt.Errorf("keep the owner of %s: %w", Shown(st.Name), err)
		}
	}
	return nil
}

// chown gives a file the owner it had, where that is not who it belongs to now.
func chown(root *os.Root, name string, was state) error {
	if was.UID == os.Geteuid() && was.GID == os.Getegid() {
		return nil
	}
	return root.Lchown(name, was.UID, was.GID)
}

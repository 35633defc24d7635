package undo

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
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// put brings files to what they were, and proves it.
func (c *Copy) put(ctx context.Context, changes []Change) error {
	t, err := openTree(c.dir)
	if err != nil {
		return err
	}
	defer t.close()
	content, err := os.Open(c.contentPath())
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	// What is new goes first, the deepest first: it can stand where something else has to be put.
	for _, ch := range slices.Backward(changes) {
		if ch.was == nil {
			if err := t.root.Remove(filepath.FromSlash(ch.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			c.prune(t, ch.Path)
		}
	}
	half := true
	for _, ch := range changes {
		if ch.was == nil {
			continue
		}
		if err := c.putOne(t, content, *ch.was); err != nil {
			return fmt.Errorf("%s: %w", workspace.Display(ch.Path), err)
		}
		if half {
			half = false
			crashpoint.Hit(crashpoint.FixHalfRestored)
		}
	}
	crashpoint.Hit(crashpoint.FixRestored)
	return c.verify(ctx, changes)
}

// verify checks that every change was undone.
func (c *Copy) verify(ctx context.Context, put []Change) error {
	left, err := c.Changes(ctx)
	if err != nil {
		return err
	}
	for _, ch := range left {
		if slices.ContainsFunc(put, func(p Change) bool { return p.Path == ch.Path }) {
			return fmt.Errorf("%s is not what it was: something writes to the component", workspace.Display(ch.Path))
		}
	}
	return nil
}

// prune removes the directories that are empty now and were not there before.
func (c *Copy) prune(t *tree, p string) {
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if slices.ContainsFunc(c.rec.Entries, func(e entry) bool { return string(e.Path) == d || strings.HasPrefix(string(e.Path), d+"/") }) {
			return
		}
		if t.root.Remove(filepath.FromSlash(d)) != nil {
			return
		}
	}
}

// putOne puts one file, link or directory in the place of whatever has its name.
func (c *Copy) putOne(t *tree, content *os.File, e entry) error {
	name := filepath.FromSlash(string(e.Path))
	if err := c.parents(t, string(e.Path)); err != nil {
		return err
	}
	if st, err := t.root.Lstat(name); err == nil && st.IsDir() != e.Mode.IsDir() {
		// What was in a directory that is in the way is gone already: it was new.
		if err := t.root.Remove(name); err != nil {
			return err
		}
	}
	if e.Mode.IsDir() {
		if err := t.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return t.root.Chmod(name, e.Mode.Perm())
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(name), ".deed-undo-"+id.String()+".tmp")
	if e.Mode&fs.ModeSymlink != 0 {
		err = t.root.Symlink(e.Link, tmp)
	} else {
		err = c.write(t, content, e, tmp)
	}
	if err == nil {
		err = t.root.Rename(tmp, name)
	}
	if err != nil {
		_ = t.root.Remove(tmp)
	}
	return err
}

// write makes a file with what the copy has.
func (c *Copy) write(t *tree, content *os.File, e entry, tmp string) error {
	f, err := t.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), io.NewSectionReader(content, e.Offset, e.Size))
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != e.Hash {
		err = errors.New("the copy is damaged")
	}
	if err == nil {
		err = f.Chmod(e.Mode.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	when := time.Unix(0, e.MTime)
	return t.root.Chtimes(tmp, when, when)
}

// parents restores the directories above a file. A link or file at the path of one is removed: it is new.
func (c *Copy) parents(t *tree, p string) error {
	dir := path.Dir(p)
	if dir == "." {
		return nil
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		name := filepath.FromSlash(at)
		st, err := t.root.Lstat(name)
		if err == nil && st.IsDir() {
			continue
		}
		if err == nil {
			if err := t.root.Remove(name); err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		mode := fs.FileMode(0o755)
		if i := slices.IndexFunc(c.rec.Entries, func(e entry) bool { return string(e.Path) == at }); i >= 0 {
			mode = c.rec.Entries[i].Mode.Perm()
		}
		if err := t.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		if err := t.root.Chmod(name, mode); err != nil {
			return err
		}
	}
	return nil
}

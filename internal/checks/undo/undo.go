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
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
)

// ErrBusy says that another process has fixers at work in the same component.
var ErrBusy = errors.New("another deed has fixers at work in this component")

// ErrPending says that a copy of an earlier run is there, which Recover has to deal with first.
var ErrPending = errors.New("an earlier run of fixers was killed")

// schema is the id of a record.
const schema = "deed/undo/v1"

// A record lists what a component's files were, and where in the file of contents they are.
type record struct {
	Schema    string    `json:"schema"`
	Component string    `json:"component_path"`
	CreatedAt time.Time `json:"created_at"`
	Entries   []entry   `json:"entries"`
}

// A Copy is what a component's files were. It is held by one process at a time.
type Copy struct {
	dir  string   // of the component
	home string   // of the copy
	lock *os.File // ends with the process, however that ends
	rec  record
}

// place is the directory of a component's copy.
func place(store, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(store, hex.EncodeToString(sum[:12]))
}

func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	return abs, err
}

// open takes the lock of a component, and reads the record of a killed run if there is one.
func open(store, dir string) (c *Copy, pending bool, err error) {
	if dir, err = realPath(dir); err != nil {
		return nil, false, err
	}
	c = &Copy{dir: dir, home: place(store, dir)}
	if err := atomicfile.MkdirAll(c.home, 0o700); err != nil {
		return nil, false, err
	}
	if c.lock, err = os.OpenFile(filepath.Join(c.home, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, false, err
	}
	if err := unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = c.lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, fmt.Errorf("%w (%s): wait for it, or end it", ErrBusy, dir)
		}
		return nil, false, err
	}
	if pending, err = c.load(); err != nil {
		_ = atomicfile.Unlock(c.lock)
		return nil, false, err
	}
	return c, pending, nil
}

func (c *Copy) recordPath() string  { return filepath.Join(c.home, "record.json") }
func (c *Copy) contentPath() string { return filepath.Join(c.home, "content") }

// load reads the record. A record is written in one step, so one that cannot be read was damaged by something else: it is
// an error, because what it stood for may be all that is left of a file.
func (c *Copy) load() (bool, error) {
	text, err := os.ReadFile(c.recordPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, &c.rec); err != nil || c.rec.Schema != schema || c.rec.Component != c.dir {
		return false, fmt.Errorf("%s is not the record of a copy of %s (look at it, and move %s away)", c.recordPath(), c.dir, c.home)
	}
	return true, nil
}

// Pending reports whether a run of fixers in a component was killed, and when it began.
func Pending(store, dir string) (since time.Time, ok bool) {
	dir, err := realPath(dir)
	if err != nil {
		return since, false
	}
	if _, err := os.Lstat((&Copy{home: place(store, dir)}).recordPath()); err != nil {
		return since, false
	}
	c, pending, err := open(store, dir)
	if err != nil {
		return since, false // one that is at work is not pending
	}
	defer c.Close()
	return c.rec.CreatedAt, pending
}

// Take copies the files of the component in dir to a place below store. When it returns the copy is durable. A copy of a
// run that was killed is ErrPending, a run that is at work ErrBusy.
func Take(ctx context.Context, store, dir string) (_ *Copy, err error) {
	c, pending, err := open(store, dir)
	if err != nil {
		return nil, fmt.Errorf("copy the files before they are fixed: %w", err)
	}
	defer func() {
		if err != nil {
			c.Close()
			err = fmt.Errorf("copy the files before they are fixed: %w", err)
		}
	}()
	if pending {
		return nil, ErrPending
	}
	t, err := openTree(c.dir)
	if err != nil {
		return nil, err
	}
	defer t.close()
	content, err := os.OpenFile(c.contentPath(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	c.rec = record{Schema: schema, Component: c.dir, CreatedAt: clock.System()}
	if c.rec.Entries, err = t.entries(ctx, content); err != nil {
		return nil, err
	}
	if err := content.Sync(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(c.rec)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFile(c.recordPath(), text, 0o600); err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.FixCopied)
	return c, nil
}

// Keep leaves the files as they are now: there is nothing to undo any more.
func (c *Copy) Keep() error {
	err := os.Remove(c.recordPath())
	if err == nil {
		err = atomicfile.SyncDir(c.home)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the fixed files: %w", err)
	}
	crashpoint.Hit(crashpoint.FixKept)
	if err := os.Remove(c.contentPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy: %w", err)
	}
	return nil
}

// Close gives the lock back. A copy that was neither kept nor restored stays for Recover.
func (c *Copy) Close() {
	if c.lock != nil {
		_ = atomicfile.Unlock(c.lock)
		c.lock = nil
	}
}

// Recovered is what Recover did.
type Recovered struct {
	Since    time.Time // when the run that was killed began
	Restored []string  // the files that were put back
	Aside    string    // the directory with what was found at their paths; "" if nothing was
}

// Recover restores the files that a killed run of fixers may have changed. It is not known who wrote what since then, so what is
// found at their paths is moved aside. ok is false if there is nothing to recover.
func Recover(ctx context.Context, store, dir string) (r Recovered, ok bool, err error) {
	c, pending, err := open(store, dir)
	if err != nil {
		return r, false, fmt.Errorf("recover: %w", err)
	}
	defer c.Close()
	if !pending {
		return r, false, nil
	}
	r.Since = c.rec.CreatedAt
	changes, err := c.Changes(ctx)
	if err == nil && len(changes) > 0 {
		if r.Aside, err = c.moveAside(changes); err == nil {
			err = c.put(ctx, changes)
		}
	}
	if err == nil {
		err = c.Keep()
	}
	if err != nil {
		return r, true, fmt.Errorf("recover the files of %s, of which %s has a copy: %w", c.dir, c.home, err)
	}
	for _, ch := range changes {
		r.Restored = append(r.Restored, ch.Path)
	}
	return r, true, nil
}

// moveAside copies the files that are to be replaced or removed.
func (c *Copy) moveAside(changes []Change) (string, error) {
	aside := filepath.Join(c.home, "aside-"+clock.System().Format("20060102T150405.000000"))
	t, err := openTree(c.dir)
	if err != nil {
		return "", err
	}
	defer t.close()
	n := 0
	for _, ch := range changes {
		if ch.Status == Deleted {
			continue
		}
		if err := t.save(ch.Path, filepath.Join(aside, filepath.FromSlash(ch.Path))); err != nil {
			return "", err
		}
		n++
	}
	if n == 0 {
		return "", nil
	}
	return aside, nil
}

// save copies one file or link out of the tree.
func (t *tree) save(p, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	name := filepath.FromSlash(p)
	st, err := t.root.Lstat(name)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		target, err := t.root.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if !st.Mode().IsRegular() {
		return nil
	}
	in, err := t.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

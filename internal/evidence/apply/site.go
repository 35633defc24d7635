package apply

import (
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
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A site is the directory that a change goes to, held by its descriptor and locked against other appliers.
type site struct {
	dir  string // absolute, without links
	root *os.Root
	lock *os.File
	id   identity
}

// An identity distinguishes a directory from another one that gets its name later. The inode number alone does not: a file
// system reuses it as soon as it is free.
type identity struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born,omitempty"` // nanoseconds; 0 where the system does not report it
}

// is reports whether two identities are of one directory. A record of an earlier deed has no birth.
func (i identity) is(o identity) bool {
	return i.Inode == o.Inode && (i.Born == o.Born || i.Born == 0 || o.Born == 0)
}

// openSite opens and locks a directory. The lock is the kernel's and ends with this process.
func openSite(dir string) (*site, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("open the directory to change: %w", err)
	}
	lock, err := os.OpenFile(abs, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open the directory to change: %w", err)
	}
	s := &site{dir: abs, lock: lock}
	if s.id, err = identify(lock); err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = refuse(ReasonBusy, "", "another process applies a change to %s", Shown(abs))
	}
	if err == nil {
		s.root, err = os.OpenRoot(abs)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

func (t *site) close() {
	_ = t.root.Close()
	_ = atomicfile.Unlock(t.lock)
}

// A state is what is at a path now.
type state struct {
	Side
	Perm     fs.FileMode
	UID, GID int
	Target   string // of a link
	links    uint64
	dir      bool
	special  bool
	behind   string // the link that the path lies behind
}

// is reports whether the path holds what a side of a change says. Where nothing is to be, a directory is no file either.
func (c state) is(s Side) bool {
	if s.absent() {
		return c.Mode == "" && !c.special
	}
	return c.Side == s
}

// look reads what is at a path. A path below something that is not a directory holds nothing, whatever a link leads to.
func (t *site) look(p string) (state, error) {
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		if fi, err := t.root.Lstat(filepath.FromSlash(p[:i])); err != nil {
			break
		} else if fi.Mode()&fs.ModeSymlink != 0 {
			return state{behind: p[:i]}, nil
		}
	}
	name := filepath.FromSlash(p)
	fi, err := t.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	c := state{Perm: fi.Mode().Perm(), dir: fi.IsDir()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		c.UID, c.GID, c.links = int(st.Uid), int(st.Gid), uint64(st.Nlink)
	}
	switch {
	case c.dir:
	case fi.Mode()&fs.ModeSymlink != 0:
		if c.Target, err = t.root.Readlink(name); err != nil {
			return state{}, err
		}
		c.Mode, c.SHA256 = linkMode, digest([]byte(c.Target))
	case fi.Mode().IsRegular():
		c.Mode = gitMode(c.Perm)
		c.SHA256, err = t.copyOut(p, io.Discard)
	default:
		c.special = true
	}
	return c, err
}

// copyOut writes a regular file to w and returns its digest.
func (t *site) copyOut(p string, w io.Writer) (string, error) {
	f, err := t.root.OpenFile(filepath.FromSlash(p), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(h, w), f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func gitMode(perm fs.FileMode) string {
	if perm&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// A step is one file of a plan with what is there before.
type step struct {
	File
	was state
}

// A plan is what an apply will do to a site.
type plan struct {
	steps []step
	made  []string               // directories that have to be made, parents first
	dirs  map[string]fs.FileMode // directories that may become empty and go, with their permissions
}

// plan compares every file with what the agent found and reports all that is not as it must be.
func (t *site) plan(files []File) (*plan, error) {
	p := &plan{dirs: map[string]fs.FileMode{}}
	var reasons []evidence.ApplyReason
	add := func(path, code, format string, args ...any) {
		reasons = append(reasons, evidence.ApplyReason{Code: code, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	gone := map[string]bool{} // what the change takes away
	for _, f := range files {
		if f.After.absent() {
			gone[f.Path] = true
		}
	}
	for _, f := range files {
		if err := workspace.CheckChangePath(f.Path, f.After.Mode == linkMode); err != nil {
			add(f.Name, ReasonPath, "is not a path to change: %v", err)
			continue
		}
		if code, why := t.parents(p, f, gone); why != "" {
			add(f.Name, code, "%s", why)
			continue
		}
		was, err := t.look(f.Path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", Shown(f.Name), err)
		}
		if code, why := t.drift(f, was, gone); why != "" {
			add(f.Name, code, "%s", why)
		}
		p.steps = append(p.steps, step{File: f, was: was})
	}
	slices.Sort(p.made)
	p.made = slices.Compact(p.made)
	return p, refused(reasons)
}

// parents walks the directories of a path: none may be a link.
func (t *site) parents(p *plan, f File, gone map[string]bool) (code, why string) {
	at := ""
	for part := range strings.SplitSeq(path.Dir(f.Path), "/") {
		if part == "." {
			return "", ""
		}
		at = path.Join(at, part)
		fi, err := t.root.Lstat(filepath.FromSlash(at))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !fi.IsDir() && gone[at]:
			if !f.After.absent() {
				p.made = append(p.made, at)
			}
		case err != nil:
			return ReasonPath, fmt.Sprintf("cannot be reached: %v", err)
		case fi.Mode()&fs.ModeSymlink != 0:
			return ReasonLinkedParent, fmt.Sprintf("lies behind the link %s", Shown(at))
		case !fi.IsDir():
			return ReasonDrift, fmt.Sprintf("cannot be there: %s is not a directory", Shown(at))
		case f.After.absent():
			p.dirs[at] = fi.Mode().Perm()
		}
	}
	return "", ""
}

// drift says how a file differs from what the agent found.
func (t *site) drift(f File, was state, gone map[string]bool) (code, why string) {
	switch {
	case was.special:
		return ReasonDrift, "is neither a file nor a link"
	case f.Before.absent() && was.dir:
		if left := t.staying(f.Path, gone); left != "" {
			return ReasonDrift, fmt.Sprintf("is a directory, and %s in it would stay", Shown(left))
		}
	case f.Before.absent() && was.Mode != "":
		return ReasonDrift, "is there, and the agent found none"
	case f.Before.absent():
	case was.Mode == "":
		return ReasonDrift, "is not there, and the agent found one"
	case was.SHA256 != f.Before.SHA256:
		return ReasonDrift, "is not as the agent found it"
	case was.Mode != f.Before.Mode:
		return ReasonDrift, fmt.Sprintf("has the mode %s, and the agent found %s", was.Mode, f.Before.Mode)
	case was.links > 1:
		return ReasonHardLink, fmt.Sprintf("has %d names (hard links), and the others would not change with it; copy it to make it one file", was.links)
	}
	return "", ""
}

// staying returns a file below a directory that the change does not take away, or "".
func (t *site) staying(dir string, gone map[string]bool) string {
	left := ""
	_ = fs.WalkDir(t.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !gone[p] {
			left = p
			return fs.SkipAll
		}
		return nil
	})
	return left
}

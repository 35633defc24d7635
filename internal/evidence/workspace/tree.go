package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits of a tree that deed takes in. They are far above what a project has, and keep a hostile tree from using up
// memory: the kernel's own limit on a path, and sizes that fit in memory and in an attempt's time.
const (
	maxPath    = 4095
	maxEntries = 4 << 20
	maxPaths   = maxEntries * 128 // bytes of all paths: an entry's own path costs more than the rest of it where directories are deep
	maxBytes   = 1 << 40
	maxHoles   = 1 << 30 // bytes of files that are on no disk: they cost nothing to make and as much as others to read
)

// maxGrownPaths is how many bytes of paths a tree may have beyond an earlier snapshot of it, what is ignored included: half a million
// files as package managers make them. A path is kept several times, and twenty thousand of the longest ones are made in a second.
const maxGrownPaths = 64 << 20

func tooManyPaths(op, dir string, most int64) error {
	return &Error{
		Code: ErrTreeTooLarge, Op: op, Path: shorten(dir), Err: fmt.Errorf("the paths of the tree have more than %d bytes together", most),
		Remedy: "make fewer files, or shorter paths",
	}
}

// pathsIn is how many bytes the paths of a directory's entries have.
func pathsIn(dir string, names []string) int64 {
	n := int64(len(names)) * int64(len(dir)+1)
	for _, name := range names {
		n += int64(len(name))
	}
	return n
}

func tooManyHoles(op, path string) error {
	return &Error{
		Code: ErrTreeTooLarge, Op: op, Path: shorten(path), Err: fmt.Errorf("sparse files have more than %d bytes of holes", int64(maxHoles)),
		Remedy: "leave them out",
	}
}

// A tree is a root directory. Everything below it is reached through its descriptor, component by component without
// following a symbolic link, so that a link swapped in for a directory leads nowhere.
type tree struct {
	fd   int
	path string // for messages
}

func openTree(path string) (*tree, error) {
	fd, err := retryFD(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open directory", Path: path, Err: err}
	}
	return &tree{fd: fd, path: path}, nil
}

func (t *tree) close() { _ = unix.Close(t.fd) }

// openDir opens a directory below the root; rel may be "".
func (t *tree) openDir(rel string) (int, error) {
	if rel == "" {
		rel = "."
	}
	return openBeneath(t.fd, rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
}

// openParent opens the directory of a path and returns the last component as well.
func (t *tree) openParent(rel string) (fd int, name string, err error) {
	fd, err = t.openDir(parentOf(rel))
	return fd, rel[strings.LastIndexByte(rel, '/')+1:], err
}

// openFileAt opens a regular file for reading. What is not one is refused after the fact, by its descriptor; the
// flags see to it that neither a FIFO nor a terminal can hold up or be changed by the open itself.
func openFileAt(dir int, name string, st *unix.Stat_t) (int, error) {
	fd, err := retryFD(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, err
	}
	if err := fstat(fd, st); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return -1, unix.ELOOP
	}
	return fd, nil
}

// openBySteps opens rel below dir one component at a time: what openBeneath does where the kernel cannot do it in
// one call.
func openBySteps(dir int, rel string, flags int) (int, error) {
	at, owned := dir, false
	for {
		name, rest, more := strings.Cut(rel, "/")
		fl := unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if !more {
			fl = flags | unix.O_NOFOLLOW
		}
		if name == ".." {
			return -1, unix.EXDEV
		}
		fd, err := retryFD(func() (int, error) { return unix.Openat(at, name, fl, 0) })
		if owned {
			_ = unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, owned, rel = fd, true, rest
	}
}

func lstatAt(dir int, name string, st *unix.Stat_t) error {
	for {
		err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func fstat(fd int, st *unix.Stat_t) error {
	for {
		err := unix.Fstat(fd, st)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func readlinkAt(dir int, name string, size int64) (string, error) {
	for n := max(int(size)+1, 256); ; n *= 2 {
		buf := make([]byte, n)
		got, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return "", err
		}
		if got < n {
			return string(buf[:got]), nil
		}
	}
}

func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func retryFD(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// names lists a directory from where the descriptor stands, which stays open and shares its position with the list.
func names(fd int) ([]string, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(dup), "directory")
	defer f.Close()
	return f.Readdirnames(-1)
}

func kindOf(st *unix.Stat_t) Kind {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return KindFile
	case unix.S_IFLNK:
		return KindSymlink
	case unix.S_IFDIR:
		return KindDir
	case unix.S_IFIFO:
		return KindFIFO
	case unix.S_IFSOCK:
		return KindSocket
	}
	return KindDevice
}

func identityOf(st *unix.Stat_t) identity {
	return identity{
		Dev: uint64(st.Dev), Ino: st.Ino,
		Ctime: unix.TimespecToNsec(st.Ctim), Mtime: unix.TimespecToNsec(st.Mtim),
	}
}

// gone reports whether an error says that a name no longer exists.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) }

// swapped reports whether an error says that a name is there but is no longer what it was a moment ago.
func swapped(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENXIO)
}

func denied(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

func checkName(op, dir, name string) error {
	if len(dir)+1+len(name) > maxPath {
		return &Error{Code: ErrTreeTooLarge, Op: op, Path: shorten(join(dir, name)), Err: fmt.Errorf("a path has more than %d bytes", maxPath)}
	}
	return nil
}

func shorten(p string) string {
	if len(p) <= 200 {
		return p
	}
	return p[:100] + "…" + p[len(p)-100:]
}

// ended returns why ctx ended, or nil.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Temp creates a temporary file in the directory of path. The file will be renamed to path, or is never read by its own name. Until
// release, or the death of this process, Abandoned reports that it has an owner. The caller closes the file, renames or removes it,
// and then releases it. On a file system without locks, only its age counts.
func Temp(path string) (f *os.File, release func(), err error) {
	return held(path, func() (*os.File, error) { return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") })
}

// TempDir creates a directory for what lives no longer than this process, as Temp does a file. The caller removes it, and releases it
// then.
func TempDir(dir, pattern string) (name string, release func(), err error) {
	f, release, err := held(filepath.Join(dir, pattern), func() (*os.File, error) {
		name, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errSwept
		}
		if err != nil {
			return nil, errors.Join(err, os.Remove(name))
		}
		return f, nil
	})
	if err != nil {
		return "", nil, err
	}
	_ = f.Close() // the lock has a descriptor of its own
	return f.Name(), release, nil
}

// errSwept says that a sweep came between making a directory and opening it.
var errSwept = errors.New("removed while it was made")

// held creates something that a sweep could take for abandoned, and locks it before one does.
func held(what string, create func() (*os.File, error)) (*os.File, func(), error) {
	for range 10 {
		f, err := create()
		if errors.Is(err, errSwept) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		release, err := hold(f)
		if err == nil {
			return f, release, nil
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
		// A sweep came between the two steps; it takes only files that are not locked yet.
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("the temporary name of %s is removed again and again while it is made", what)
}

// hold locks a file by a descriptor of its own, so that the file can be closed before it is renamed, and makes sure that it still has
// its name.
func hold(f *os.File) (release func(), err error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	release = unlocker(fd)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		release()
		return nil, err
	} else if err != nil {
		return release, nil //nolint:nilerr // this file system has no locks
	}
	held, err := f.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = os.Lstat(f.Name()); err == nil && !os.SameFile(held, named) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Abandoned reports whether the owner of a temporary file or directory in an open directory is dead. It locks it until release, so
// that nobody begins to write it while it is removed. What is gone, or cannot be locked, counts as abandoned.
func Abandoned(dir *os.File, name string) (release func(), ok bool) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}, true
	}
	release = unlocker(fd)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		release()
		return func() {}, false
	}
	return release, true
}

// unlocker gives a descriptor and its lock back by Unlock.
func unlocker(fd int) func() {
	f := os.NewFile(uintptr(fd), "lock")
	return func() { _ = Unlock(f) }
}

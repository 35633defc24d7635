package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// removeDepth is how many levels Remove goes down before it lifts what is below to the top: a tree of any depth is
// removed with a bounded number of open directories.
const removeDepth = 64

// Remove removes a tree. Directories that were made unreadable or unwritable get their permissions back first. No
// symbolic link is followed, and a link at dir itself is removed as a link. A tree that does not exist is no error,
// and neither is one that is removed concurrently.
func Remove(dir string) error {
	parent, name := filepath.Split(absolute(dir))
	pfd, err := retryFD(func() (int, error) {
		return unix.Open(parent, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		if gone(err) {
			return nil
		}
		return &fs.PathError{Op: "remove tree", Path: dir, Err: err}
	}
	defer unix.Close(pfd)
	if err := removeAt(pfd, name); err != nil {
		return fmt.Errorf("remove tree %s: %w", quotePath(dir), err)
	}
	return nil
}

// RemoveAt removes the tree with this name in an open directory, so that no name above it can be exchanged meanwhile. It
// is Remove otherwise.
func RemoveAt(dir *os.File, name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') {
		return fmt.Errorf("remove tree: %s is not the name of an entry", quotePath(name))
	}
	if err := removeAt(int(dir.Fd()), name); err != nil {
		return fmt.Errorf("remove tree %s: %w", quotePath(filepath.Join(dir.Name(), name)), err)
	}
	return nil
}

type remover struct {
	top    int
	lifted int
}

func removeAt(parent int, name string) error {
	done, err := unlink(parent, name)
	if done || err != nil {
		return err
	}
	top, err := openToEmpty(parent, name)
	if err != nil {
		return ignoreGone(err)
	}
	r := &remover{top: top}
	defer unix.Close(top)
	// What is lifted lands in the top directory, so it is listed again until nothing is left there.
	for {
		// The list shares its position with the descriptor.
		if _, err := unix.Seek(top, 0, io.SeekStart); err != nil {
			return err
		}
		lifted := r.lifted
		if err := r.empty(top, removeDepth); err != nil {
			return err
		}
		if r.lifted == lifted {
			break
		}
	}
	return ignoreGone(unix.Unlinkat(parent, name, unix.AT_REMOVEDIR))
}

// empty removes what is in a directory.
func (r *remover) empty(dir, depth int) error {
	list, err := names(dir)
	if err != nil {
		return ignoreGone(err) // an open directory that somebody else removed has no list
	}
	var errs []error
	for _, name := range list {
		if err := r.entry(dir, name, depth); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", quotePath(name), err))
			if len(errs) == 10 {
				break
			}
		}
	}
	return errors.Join(errs...)
}

func (r *remover) entry(dir int, name string, depth int) error {
	done, err := unlink(dir, name)
	if done || err != nil {
		return err
	}
	if depth == 0 {
		// A directory that moves to another parent must be writable itself.
		if os.Geteuid() != 0 {
			if err := chmodDirAt(dir, name, 0o700); err != nil {
				return ignoreGone(err)
			}
		}
		r.lifted++
		// The new name can be taken by an entry that the agent made; the kernel refuses then, and the next one is tried.
		for n := r.lifted; ; n++ {
			err := unix.Renameat(dir, name, r.top, ".deed-lifted-"+strconv.Itoa(n))
			if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTDIR) {
				return ignoreGone(err)
			}
		}
	}
	fd, err := openToEmpty(dir, name)
	if err != nil {
		return ignoreGone(err)
	}
	err = r.empty(fd, depth-1)
	_ = unix.Close(fd)
	if err != nil {
		return err
	}
	return ignoreGone(unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// unlink removes a name that is not a directory; done is false when it is one. The kernel itself refuses directories, so there is no
// need to look at each name first.
func unlink(dir int, name string) (done bool, err error) {
	err = unix.Unlinkat(dir, name, 0)
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return true, ignoreGone(err)
	}
	var st unix.Stat_t
	if serr := lstatAt(dir, name, &st); serr != nil {
		return true, ignoreGone(serr)
	}
	if kindOf(&st) == KindDir {
		return false, nil
	}
	return true, err
}

// openToEmpty opens a directory that can be listed and changed, giving itself the permission where it lacks it.
func openToEmpty(dir int, name string) (int, error) {
	var st unix.Stat_t
	if err := lstatAt(dir, name, &st); err != nil {
		return -1, err
	}
	if st.Mode&0o700 != 0o700 && os.Geteuid() != 0 {
		if err := chmodDirAt(dir, name, 0o700); err != nil {
			return -1, err
		}
	}
	return retryFD(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
}

func ignoreGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

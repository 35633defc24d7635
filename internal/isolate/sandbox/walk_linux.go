package sandbox

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// stride is how many bytes of a path are opened at once, and maxStrides how many of them there may be: the tree is an
	// agent's, and neither its depth nor the names in it may cost deed more than a few descriptors.
	stride     = 2 << 10
	maxStrides = 16
)

// A walk sums what directories hold: the blocks on the disk, so that a sparse file counts for what it holds, not for what
// it claims. The trees change meanwhile; what is gone or cannot be read does not count.
type walk struct {
	used int64
	left int                // entries that may still come; negative: there were more, or some too deep to be found
	seen map[[2]uint64]bool // files with several names
}

// tree walks one directory, and what lies in it. It follows no link.
func (w *walk) tree(ctx context.Context, path string) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	w.left--
	w.dir(ctx, fd, ".", 0)
}

// dir looks at the directory rel below base, which is open, and then at those in it.
func (w *walk) dir(ctx context.Context, base int, rel string, strides int) {
	if ctx.Err() != nil || w.left < 0 {
		return
	}
	fd, err := openBelow(base, rel)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), rel)
	defer func() { f.Close() }()
	dirs := w.list(ctx, f)
	far := len(rel) > stride
	if far {
		if strides++; strides > maxStrides {
			w.left = -1
			return
		}
	} else {
		f.Close() // or every level would hold one
	}
	for _, name := range dirs {
		if far {
			w.dir(ctx, fd, name, strides)
		} else {
			w.dir(ctx, base, rel+"/"+name, strides)
		}
	}
}

// list counts the entries of a directory, and returns the directories among them.
func (w *walk) list(ctx context.Context, f *os.File) (dirs []string) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) == nil {
		w.used += st.Blocks * 512
	}
	for ctx.Err() == nil {
		names, err := f.Readdirnames(1024)
		if w.left -= len(names); w.left < 0 {
			return nil
		}
		for _, name := range names {
			if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				dirs = append(dirs, name)
				continue
			}
			if id := [2]uint64{st.Dev, st.Ino}; st.Nlink > 1 && w.seen[id] {
				continue
			} else if st.Nlink > 1 {
				w.seen[id] = true
			}
			w.used += st.Blocks * 512
		}
		if err != nil {
			return dirs
		}
	}
	return nil
}

// openBelow opens a directory without following a link. A kernel without openat2 follows those before the last name: the
// sum is then wrong for a run that exchanges directories for links, and nothing worse.
func openBelow(base int, rel string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for {
		fd, err := unix.Openat2(base, rel, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			fd, err = unix.Openat(base, rel, flags, 0)
		}
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

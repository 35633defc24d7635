//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// mountPoints keeps the mount points that did not exist: empty files and directories in a tree that is not deed's. They are removed
// when the last run of a sandbox is over; otherwise they would be taken for the work of its command.
type mountPoints struct {
	mu     sync.Mutex
	runs   int
	points []mountPoint // in the order of making
}

type mountPoint struct {
	dir  int // a descriptor of what it is in
	name string
	kind fs.FileMode
}

// enter is called before a run. Nothing is removed while a run is active: it may be mounted on one of them.
func (m *mountPoints) enter() {
	m.mu.Lock()
	m.runs++
	m.mu.Unlock()
}

// leave is called when a run is over and its mounts are gone. A directory into which the command put something stays.
func (m *mountPoints) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs--; m.runs > 0 {
		return
	}
	for _, s := range slices.Backward(m.points) {
		var st unix.Stat_t
		switch err := unix.Fstatat(s.dir, s.name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err != nil:
		case s.kind == fs.ModeDir:
			_ = unix.Unlinkat(s.dir, s.name, unix.AT_REMOVEDIR) // only an empty one
		case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0:
			_ = unix.Unlinkat(s.dir, s.name, 0)
		}
		_ = unix.Close(s.dir)
	}
	m.points = nil
}

// place makes what a mount will cover: a directory, or an empty file. A program that lies below /tmp on this machine has its place in
// the run's own /tmp. The mount keeps the command from removing or renaming it.
func (m *mountPoints) place(dir int, name string, kind fs.FileMode) error {
	in, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	switch kind {
	case fs.ModeDir:
		err = unix.Mkdirat(dir, name, 0o755)
	case 0:
		var fd int
		if fd, err = unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o444); err == nil {
			err = unix.Close(fd)
		}
	default:
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = unix.Close(in)
		return err
	}
	m.mu.Lock()
	m.points = append(m.points, mountPoint{in, name, kind})
	m.mu.Unlock()
	return nil
}

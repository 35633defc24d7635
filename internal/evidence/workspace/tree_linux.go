package workspace

import (
	"errors"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 remembers that the kernel, or a filter in front of it, does not have openat2.
var noOpenat2 atomic.Bool

// openBeneath opens a path below dir without following a symbolic link in any component.
func openBeneath(dir int, rel string, flags int) (int, error) {
	if noOpenat2.Load() {
		return openBySteps(dir, rel, flags)
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(dir, rel, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.ENOSYS):
			noOpenat2.Store(true)
			return openBySteps(dir, rel, flags)
		case errors.Is(err, unix.EPERM):
			// A seccomp filter that does not know the call answers so; an ordinary refusal comes back from the steps.
			return openBySteps(dir, rel, flags)
		}
		return fd, err
	}
}

// grainTrials is how many changes in a row must all have different times. Two of them are microseconds apart, and the
// steps of a coarse clock are milliseconds.
const grainTrials = 4

// fsClock returns the present time as the file system of dir stamps it: the ctime of a file without a name, which is
// in no listing and changes no directory. grained says that two changes can bear the same time although somebody asked
// for it in between. ok is false where there is no such thing.
func fsClock(dir string) (ns int64, grained, ok bool) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, true, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, true, false
	}
	ns = unix.TimespecToNsec(st.Ctim)
	last := st.Ctim
	for range grainTrials {
		if _, err := unix.Pwrite(fd, []byte{0}, 0); err != nil || unix.Fstat(fd, &st) != nil || st.Ctim == last {
			return ns, true, true
		}
		last = st.Ctim
	}
	return ns, false, true
}

// chmodDirAt changes the mode of the directory name in dir, and of nothing else: not of what a link points to.
func chmodDirAt(dir int, name string, mode uint32) error {
	fd, err := retryFD(func() (int, error) {
		return unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(procFD(fd), mode)
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// sparseFrom is the size below which no file is searched for holes.
const sparseFrom = 1 << 20

// holesIn returns how many bytes of an open file are on no disk. A file that the file system merely stores well has
// none. The position is the beginning afterwards.
func holesIn(fd int, st *unix.Stat_t) int64 {
	missing := st.Size - st.Blocks*512
	if st.Size < sparseFrom || missing <= 0 {
		return 0
	}
	hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	if _, serr := unix.Seek(fd, 0, unix.SEEK_SET); err != nil || serr != nil || hole >= st.Size {
		return 0
	}
	return missing
}

package workspace

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

func cloneFile(in, out int) error { return unix.IoctlFileClone(out, in) }

func copyRange(in, out int, off, n int64) (int, error) {
	from, to := off, off
	for {
		got, err := unix.CopyFileRange(in, &from, out, &to, int(n), 0)
		if !errors.Is(err, unix.EINTR) {
			return got, err
		}
	}
}

// umask returns the process's mask, which nothing changes while deed runs. Where it cannot be read without being changed
// it is taken to be everything.
var umask = sync.OnceValue(func() uint32 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0o777
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if v, ok := strings.CutPrefix(line, "Umask:"); ok {
			if m, err := strconv.ParseUint(strings.TrimSpace(v), 8, 12); err == nil {
				return uint32(m)
			}
		}
	}
	return 0o777
})

func setMtime(dir int, name string, st *unix.Stat_t) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, st.Mtim}
	return unix.UtimesNanoAt(dir, name, ts, unix.AT_SYMLINK_NOFOLLOW)
}

// sparse copies the parts of a file that hold data. done is false when the file system cannot say where they are.
func (c *copier) sparse(w *worker, in, out int, size int64) (done bool, err error) {
	if err := unix.Ftruncate(out, size); err != nil {
		return false, err
	}
	for off := int64(0); off < size; {
		data, err := unix.Seek(in, off, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // nothing but a hole up to the end
			return true, nil
		case err != nil && off == 0:
			return false, nil
		case err != nil:
			return false, err
		}
		hole, err := unix.Seek(in, data, unix.SEEK_HOLE)
		if err != nil {
			return false, err
		}
		if err := c.span(w, in, out, data, min(hole, size)); err != nil {
			return false, err
		}
		off = hole
	}
	return true, nil
}

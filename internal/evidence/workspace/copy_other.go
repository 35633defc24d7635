//go:build unix && !linux

package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

func cloneFile(_, _ int) error { return errors.ErrUnsupported }

func copyRange(_, _ int, _, _ int64) (int, error) { return 0, errors.ErrUnsupported }

func umask() uint32 { return 0o777 }

func setMtime(dir int, name string, st *unix.Stat_t) error {
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

func (c *copier) sparse(*worker, int, int, int64) (bool, error) { return false, nil }

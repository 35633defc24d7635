package apply

import (
	"os"

	"golang.org/x/sys/unix"
)

// identify returns which directory was opened.
func identify(dir *os.File) (identity, error) {
	var st unix.Statx_t
	err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	id := identity{Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id, err
}

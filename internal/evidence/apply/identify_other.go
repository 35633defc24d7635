//go:build !linux

package apply

import (
	"os"

	"golang.org/x/sys/unix"
)

// identify returns which directory was opened.
func identify(dir *os.File) (identity, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(dir.Fd()), &st)
	return identity{Inode: st.Ino}, err
}

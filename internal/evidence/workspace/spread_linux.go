package workspace

import "golang.org/x/sys/unix"

// topdirFlag is FS_TOPDIR_FL: the children of the directory are not related to each other.
const topdirFlag = 0x20000

// Spread tells the file system that the directories in dir, which must be one of deed's own, come and go independently
// of each other, as the directories of attempts do. ext4 then gives each a part of the disk of its own. Without it they
// all share one, in which ext4 passes over every inode that was freed during the last half minute, for each file that
// is made: on a busy home a workspace costs fifty times as much. Where there is no such flag nothing happens.
func Spread(dir string) {
	t, err := openTree(dir)
	if err != nil {
		return
	}
	defer t.close()
	flags, err := unix.IoctlGetInt(t.fd, unix.FS_IOC_GETFLAGS)
	if err != nil || flags&topdirFlag != 0 {
		return
	}
	_ = unix.IoctlSetPointerInt(t.fd, unix.FS_IOC_SETFLAGS, flags|topdirFlag)
}

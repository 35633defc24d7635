package workspace

import "golang.org/x/sys/unix"

// topdirFlag is FS_TOPDIR_FL: the children of the directory are not related to each other.
const topdirFlag = 0x20000

// SetTopdirFlag marks dir, which must be a directory that only deed uses, as a top directory: its subdirectories come
// and go independently of each other, as the directories of attempts do. ext4 then places each in a block group of its
// own. Without the flag they all share one group, in which ext4 passes over every inode that was freed during the last
// half minute, for each file that is made: on a busy home a workspace costs fifty times as much. On a file system
// without such a flag nothing happens.
func SetTopdirFlag(dir string) {
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

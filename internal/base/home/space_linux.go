package home

import "golang.org/x/sys/unix"

// Room is what the home's file system has left for deed's user: bytes, and files of any size. 0 means not known.
func (h *Home) Room() (bytes, files uint64) {
	var st unix.Statfs_t
	if err := unix.Statfs(h.root, &st); err != nil || st.Bsize <= 0 {
		return 0, 0
	}
	return st.Bavail * uint64(st.Bsize), st.Ffree
}

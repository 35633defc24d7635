package home

// leastRoom is the free space below which a file system counts as full: there must be room for a page of the store, a line of a journal.
const leastRoom = 1 << 20

// Full reports whether the home's file system is out of space, so that no new work could be recorded. On a system that does not report
// free space the answer is false.
func (h *Home) Full() bool { return full(h.Room()) }

func full(bytes, files uint64) bool {
	return bytes < leastRoom && (bytes > 0 || files > 0) // some file systems count no files
}

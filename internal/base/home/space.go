package home

// leastRoom is what a file system has left at least when something can still be written to it: a page of the store, a journal's line.
const leastRoom = 1 << 20

// Full reports whether the home's file system has no room left, so that nothing that is begun could be recorded. Where the system does
// not tell, it has.
func (h *Home) Full() bool { return full(h.Room()) }

func full(bytes, files uint64) bool {
	return bytes < leastRoom && (bytes > 0 || files > 0) // some file systems count no files
}

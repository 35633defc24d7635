package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWrite has the kernel begin to write a file's data without waiting for it. It promises nothing: Sync does.
func beginWrite(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWrite has the kernel begin to write a file's data without waiting for it. It promises nothing: Sync does.
func beginWrite(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// open opens a file or directory to be synced. os.Open would ask the kernel five times whether it can be waited for, which no file on a
// disk can.
func open(path string) (*os.File, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

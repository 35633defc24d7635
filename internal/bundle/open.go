package bundle

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errNotRegular is wrapped when something other than a regular file is found where one is read.
var errNotRegular = errors.New("not a regular file")

// openRegular opens a file below root for reading. The check is made on the open file, so that a swap between look and
// open gains nothing, and a pipe does not block.
func openRegular(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return requireRegular(f, err)
}

// openSource opens a file by a path of the caller's. The last part of the path must not be a symlink.
func openSource(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	return requireRegular(f, err)
}

func requireRegular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", f.Name(), errNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

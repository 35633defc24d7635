// Package plainfile owns the reading of files that another party may have replaced: only a regular file is opened, a pipe without
// a writer never blocks, and no more is read than was asked for. Writing is package atomicfile's.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// What a caller may decide on, with errors.Is.
var (
	// ErrNotRegular: something other than a regular file has the name.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: the file has more bytes than were asked for.
	ErrTooLarge = errors.New("too large")
)

// Open opens a file for reading. Links are followed.
func Open(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// OpenNoLink is Open for a path whose last part must not be a link: the error is then syscall.ELOOP.
func OpenNoLink(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0))
}

// OpenIn is Open for a name below a root, which links cannot lead out of.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return regular(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// regular looks at the file that was opened, so that a swap between look and open gains nothing.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s: %w", f.Name(), Kind(info.Mode()), ErrNotRegular)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a whole file of at most so many bytes. Links are followed.
func Read(path string, most int64) ([]byte, error) { return all(most)(Open(path)) }

// ReadIn is Read for a name below a root.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	return all(most)(OpenIn(root, name))
}

func all(most int64) func(*os.File, error) ([]byte, error) {
	return func(f *os.File, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		return All(f, most)
	}
}

// All reads what is left of an open file, at most so many bytes.
func All(f *os.File, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", f.Name(), most, ErrTooLarge)
	}
	return data, nil
}

// Kind says what a file is, for a message.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

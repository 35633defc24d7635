package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxResult is the largest result or account that is taken from an agent.
const MaxResult = 8 << 20

// TakeFile reads a file that an agent may have written. It is fs.ErrNotExist when there is none. Anything but a
// regular file of at most MaxResult bytes is an error: a symbolic link is not followed, a FIFO is not waited for.
// Call it when the agent's processes are gone.
func TakeFile(root *os.Root, name string) ([]byte, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s, not a regular file", name, fileKind(before.Mode()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, st) {
		return nil, fmt.Errorf("%s was replaced while it was read", name)
	}
	if st.Size() > MaxResult {
		return nil, tooLarge(name, st.Size())
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxResult+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxResult {
		return nil, tooLarge(name, int64(len(data)))
	}
	return data, nil
}

func tooLarge(name string, n int64) error {
	return fmt.Errorf("%s has %d bytes (at most %d)", name, n, MaxResult)
}

func fileKind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a special file"
}

// WriteFile writes a small file of deed's own record of a run, replacing what has the name.
func WriteFile(root *os.Root, name string, data []byte) error {
	f, err := replaceFile(root, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

package finding

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxSource is the largest file whose lines are part of identities.
const maxSource = 32 << 20

// Sources returns a reader of the files below a directory, for Identify. It reads regular files of a sensible size, never
// leaves the directory, and never waits for anybody at the other end of a pipe.
func Sources(root *os.Root) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > maxSource {
			return nil, fmt.Errorf("read %s: not a regular file of at most %d MiB", path, maxSource>>20)
		}
		text := make([]byte, info.Size())
		n, err := io.ReadFull(f, text)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) { // shorter by now
			return nil, err
		}
		return text[:n], nil
	}
}

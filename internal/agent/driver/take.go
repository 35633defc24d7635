package driver

import (
	"errors"
	"fmt"
	"os"

	"github.com/deedrun/deed/internal/base/plainfile"
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
		return nil, fmt.Errorf("%s is %s, not a regular file", name, plainfile.Kind(before.Mode()))
	}
	f, err := plainfile.OpenIn(root, name)
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
		return nil, fmt.Errorf("%s has %d bytes (at most %d)", name, st.Size(), MaxResult)
	}
	return plainfile.All(f, MaxResult)
}

// WriteFile writes a small file of deed's record of a run, and replaces whatever has the name.
func WriteFile(root *os.Root, name string, data []byte) error {
	f, err := replaceFile(root, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

package atomicfile

import (
	"errors"
	"os"
)

// renameChecked is the portable form. A target made between the check and the rename is refused by rename(2) unless it
// is an empty directory, whose replacement loses nothing.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrExist}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

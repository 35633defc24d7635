// Package atomicfile owns durable files: content that is whole and on the disk when a function returns, or not there at
// all. It knows nothing of what the files mean.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// ErrExists is wrapped when a directory cannot be published because its final name is already taken.
var ErrExists = errors.New("target already exists")

// ErrReadOnly is wrapped when the file system or the directory does not take writes.
var ErrReadOnly = errors.New("not writable")

// ErrFull is wrapped when the disk or the quota is full.
var ErrFull = errors.New("no space left")

// WriteFile replaces path with data in one step: a temporary file in the same directory, fsync, rename, fsync of the
// directory. A reader sees the old content or the new one. After a crash at any point path holds one of the two; a temporary
// file whose name starts with a dot and ends in ".tmp" may be left in the directory.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	return Write(path, perm, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// Write is WriteFile for content that is too large to be held at once. When write fails, path is what it was.
func Write(path string, perm os.FileMode, write func(io.Writer) error) error {
	if err := replace(path, perm, true, write); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Replace is WriteFile without the wait for the disk: a reader sees the old content or the new one, but a power cut may
// leave either, or an empty file. It is for copies of what is durable elsewhere and will be written again.
func Replace(path string, data []byte, perm os.FileMode) error {
	return replace(path, perm, false, func(w io.Writer) error { _, err := w.Write(data); return err })
}

func replace(path string, perm os.FileMode, sync bool, write func(io.Writer) error) (err error) {
	f, release, err := Temp(path)
	if err != nil {
		return Explain("write "+path, err)
	}
	defer release()
	defer func() {
		if err != nil {
			_ = f.Close() // a second Close only repeats what err already says
			_ = os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return Explain("write "+path, err)
	}
	if err = f.Chmod(perm); err != nil {
		return Explain("write "+path, err)
	}
	if sync {
		if err = f.Sync(); err != nil {
			return Explain("sync "+path, err)
		}
	}
	if err = f.Close(); err != nil {
		return Explain("close "+path, err)
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return Explain("write "+path, err)
	}
	return nil
}

// CreateFile writes path only if nothing is there yet, as durably as WriteFile does. Of several processes that try at
// once exactly one succeeds; the others get an error that wraps ErrExists, and can then read a whole file.
func CreateFile(path string, data []byte, perm os.FileMode) error {
	f, release, err := Temp(path)
	if err != nil {
		return Explain("create "+path, err)
	}
	defer release()
	defer os.Remove(f.Name()) // the link below keeps the content
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return Explain("create "+path, err)
	}
	// A hard link, unlike a rename, refuses a name that is taken.
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("create %s: %w", path, ErrExists)
		}
		return Explain("create "+path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// MkdirAll is os.MkdirAll with durable names: every directory that it had to make survives a crash.
func MkdirAll(dir string, perm os.FileMode) error {
	var synced []string // parents of the directories that are not there yet
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			break // it is there, or MkdirAll says what is wrong with it
		}
		synced = append(synced, filepath.Dir(d))
	}
	if err := os.MkdirAll(dir, perm); err != nil {
		return Explain("create directory "+dir, err)
	}
	for _, d := range synced {
		if err := SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes the names in a directory durable: those created, renamed and removed so far.
func SyncDir(dir string) error {
	if err := syncPath(dir); err != nil {
		return Explain("sync directory "+dir, err)
	}
	return nil
}

// Explain wraps err with the operation, and with ErrReadOnly or ErrFull where that is the cause, so that callers decide
// on a sentinel and people read a remedy.
func Explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s: %w: free some space or raise the quota: %w", op, ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: %w: check the mount and the permissions: %w", op, ErrReadOnly, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

func syncPath(path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

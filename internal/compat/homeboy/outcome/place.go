package outcome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// Why the bytes of an artifact are not taken, as the member code of a diagnostic's data.
const (
	faultUnsafe   = "unsafe_path"  // it leads out, or over a link
	faultOutside  = "outside"      // it is at none of the provider's places
	faultInvalid  = "invalid_path" // it is no path
	faultMissing  = "missing"
	faultKind     = "not_regular" // a FIFO, a device, a socket, a directory
	faultChanged  = "changed"     // while it was read
	faultTooLarge = "too_large"
	faultRead     = "capture_failed"
)

// A refusal says why an artifact is not taken.
type refusal struct {
	code   string
	detail string
}

func (r *refusal) Error() string { return r.detail }

func refuse(code, format string, args ...any) error {
	return &refusal{code: code, detail: fmt.Sprintf(format, args...)}
}

// find returns the place of a path that a provider wrote, and the path below it.
func (at Places) find(said string) (place, rel string, err error) {
	if strings.ContainsRune(said, 0) {
		return "", "", refuse(faultInvalid, "the path holds a NUL character")
	}
	host := said
	if !filepath.IsAbs(said) {
		if !filepath.IsLocal(said) {
			return "", "", refuse(faultUnsafe, "the path leads out of the working directory")
		}
		host = filepath.Join(at.Cwd, said)
	} else if at.Host != nil {
		var ok bool
		if host, ok = at.Host(filepath.Clean(said)); !ok {
			return "", "", refuse(faultOutside, "the path is outside of the workspace and of the directory for artifacts")
		}
	}
	// The narrower place first: the directory for artifacts may be in the workspace.
	for _, dir := range []string{at.Artifacts, at.Workspace} {
		if dir == "" {
			continue
		}
		for _, name := range spellings(dir) {
			if rel, err := filepath.Rel(name, host); err == nil && filepath.IsLocal(rel) {
				return dir, rel, nil
			}
		}
	}
	return "", "", refuse(faultOutside, "the path is outside of the workspace and of the directory for artifacts")
}

// spellings returns a directory as it is named, and as a program calls it that asked the system where it is.
func spellings(dir string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir {
		return []string{dir}
	}
	return []string{dir, real}
}

// openPlace opens a directory of deed's, which must be one and no link to one.
func openPlace(dir string) (*os.Root, error) {
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, missing(err)
	}
	if !before.IsDir() {
		return nil, refuse(faultUnsafe, "the place itself is %s", plainfile.Kind(before.Mode()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, missing(err)
	}
	return same(root, before)
}

// same returns the directory that was opened if it is the one that was examined.
func same(root *os.Root, before fs.FileInfo) (*os.Root, error) {
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = refuse(faultUnsafe, "a directory of the path was replaced")
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// descend opens the directory of rel below root, step by step, and returns it with the last name. No link is followed: not
// even one that stays inside, because its target can be changed after it was examined.
func descend(root *os.Root, rel string) (dir *os.Root, name string, err error) {
	dir = root
	for {
		step, rest, more := strings.Cut(rel, string(filepath.Separator))
		if !more {
			return dir, step, nil
		}
		next, err := enter(dir, step)
		if dir != root {
			_ = dir.Close()
		}
		if err != nil {
			return nil, "", err
		}
		dir, rel = next, rest
	}
}

// enter opens a directory that is no link.
func enter(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, missing(err)
	}
	if !before.IsDir() {
		return nil, refuse(faultUnsafe, "%s on the way is %s", clip(name), plainfile.Kind(before.Mode()))
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, missing(err)
	}
	return same(next, before)
}

// openFile opens a regular file in a directory for reading. It waits for nothing: a FIFO is refused.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, missing(err)
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, refuse(faultUnsafe, "it is a symbolic link")
	}
	if !before.Mode().IsRegular() {
		return nil, nil, refuse(faultKind, "it is %s, not a regular file", plainfile.Kind(before.Mode()))
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, missing(err)
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = refuse(faultChanged, "it was replaced while it was opened")
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, after, nil
}

// missing distinguishes a file that is not there from one that cannot be read.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return refuse(faultMissing, "there is no such file")
	}
	return refuse(faultRead, "it cannot be read: %v", err)
}

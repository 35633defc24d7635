package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/deedrun/deed/internal/base/filetree"
)

// What a package may be made of. The largest that is known has some hundred files; with its modules, some thousand.
var bounds = filetree.Limits{Files: 50_000, Bytes: 1 << 30}

// ErrRefused says that a package cannot be installed: it is damaged, too large, or holds what it must not.
var ErrRefused = filetree.ErrRefused

// unpack copies a directory, or what is in a tar, tar.gz or zip file, into dir, which must be empty. No name leads out of it.
func unpack(ctx context.Context, source, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only names were looked up through it
	some := false
	err = filetree.Walk(source, bounds, func(name string, exec bool, in io.Reader) error {
		some = true
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if in == nil {
			return root.MkdirAll(name, 0o755)
		}
		return unpackFile(root, name, exec, in)
	})
	switch {
	case errors.Is(err, filetree.ErrRefused):
		return fmt.Errorf("%w (`deed runtime link` uses a package where it lies, as it is)", err)
	case err == nil && !some:
		return fmt.Errorf("%w: there is nothing in it", ErrRefused)
	}
	return err
}

func unpackFile(root *os.Root, name string, exec bool, in io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if exec {
		perm = 0o755
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SyncTree makes root and everything below it durable. Symlinks are not followed: the directory that holds one makes it
// durable. The tree must not change meanwhile.
func SyncTree(ctx context.Context, root string) error {
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() || d.IsDir() {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return Explain("sync "+root, err)
	}
	return SyncPaths(ctx, paths)
}

// PublishDir gives the finished directory tmp its final name: everything in it is made durable, then it is renamed, then
// the parent is. After a crash final is a whole directory or is not there; tmp may be left. An existing final is refused
// with an error that wraps ErrExists. Both names must be on one file system.
func PublishDir(ctx context.Context, tmp, final string) error {
	if err := SyncTree(ctx, tmp); err != nil {
		return err
	}
	return RenameDir(tmp, final)
}

// RenameDir is the last step of PublishDir, for a caller that has made the tree durable itself.
func RenameDir(tmp, final string) error {
	if err := renameNoReplace(tmp, final); err != nil {
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("publish %s: %w", final, ErrExists)
		}
		return Explain("publish "+final, err)
	}
	return SyncDir(filepath.Dir(final))
}

// SwapDir gives the finished directory tmp the name of another, which is then found at tmp. There is a whole directory of the final name
// at every moment, the old one or the new one, where the system can exchange two names; elsewhere there is none for a moment.
func SwapDir(ctx context.Context, tmp, final string) error {
	if err := SyncTree(ctx, tmp); err != nil {
		return err
	}
	if err := exchange(tmp, final); err != nil {
		return Explain("replace "+final, err)
	}
	return SyncDir(filepath.Dir(final))
}

// exchangeSlowly is the portable form of exchange.
func exchangeSlowly(a, b string) error {
	aside := a + ".aside"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

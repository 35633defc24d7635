package wordpress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Unpack lays an archive out for a PHP that is not deed's: below dir, as wordpress, in one tree that may be changed, and the
// SQLite plugin beside it, as sqlite. The drop-in is the caller's.
func Unpack(ctx context.Context, o Options, dir string) error {
	core := filepath.Join(dir, "wordpress")
	err := unpack(ctx, o.Archive, core)
	if err == nil {
		_, err = version(core)
	}
	content := filepath.Join(core, "wp-content")
	if err == nil {
		if fi, serr := os.Lstat(filepath.Join(content, "database", databaseFile)); serr != nil || !fi.Mode().IsRegular() {
			err = errNotInstalled
		}
	}
	if err == nil {
		err = takeSQLite(ctx, o, content, filepath.Join(dir, "sqlite"))
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", o.Archive, err)
	}
	return nil
}

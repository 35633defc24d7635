package wordpress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Unpack unpacks an archive for a PHP outside of deed: below dir, as wordpress, in one writable tree, with the SQLite
// plugin next to it, as sqlite. The caller adds the drop-in.
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

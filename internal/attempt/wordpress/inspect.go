package wordpress

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Extensions are the PHP extensions without which WordPress does not start here.
var Extensions = []string{"pdo_sqlite", "mbstring", "xml"}

// Inspect reads the version of the WordPress in an archive without unpacking it. It returns the errors of Prepare, as
// far as they show in the list of files.
func Inspect(o Options) (string, error) {
	version, err := inspect(o)
	if err != nil {
		return "", unusable(o, err)
	}
	return version, nil
}

func inspect(o Options) (string, error) {
	core, done, err := open(o.Archive)
	if err != nil {
		return "", err
	}
	defer done()
	v, err := versionIn(core)
	if err != nil {
		return "", err
	}
	if fi, err := fs.Stat(core, "wp-content/database/"+databaseFile); err != nil || !fi.Mode().IsRegular() {
		return "", errNotInstalled
	}
	if o.SQLite == "" {
		for _, d := range []string{"mu-plugins", "plugins"} {
			if _, err := fs.Stat(core, path.Join("wp-content", d, "sqlite-database-integration", sqliteEntry)); err == nil {
				return v, nil
			}
		}
		return "", errNoSQLite
	}
	plugin, closePlugin, err := open(o.SQLite)
	if err != nil {
		return "", err
	}
	defer closePlugin()
	if _, err := fs.Stat(plugin, sqliteEntry); err != nil {
		return "", fmt.Errorf("%s is not the sqlite-database-integration plugin: %w", o.SQLite, err)
	}
	return v, nil
}

// open opens the files of a zip file or of a directory, without a single top-level directory that holds everything.
func open(archive string) (files fs.FS, done func(), err error) {
	fi, err := os.Stat(archive)
	if err != nil {
		return nil, nil, err
	}
	done = func() {}
	if fi.IsDir() {
		files = os.DirFS(archive)
	} else {
		z, err := zip.OpenReader(archive)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrArchive, err)
		}
		files, done = z, func() { _ = z.Close() }
	}
	list, err := fs.ReadDir(files, ".")
	if err == nil && len(list) == 1 && list[0].IsDir() {
		files, err = fs.Sub(files, list[0].Name())
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return files, done, nil
}

// versionIn reads which WordPress files are.
func versionIn(files fs.FS) (string, error) {
	f, err := files.Open("wp-includes/version.php")
	if err != nil {
		return "", fmt.Errorf("it is not WordPress: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", err
	}
	m := versionLine().FindSubmatch(data)
	if m == nil {
		return "", errors.New("it is not WordPress: wp-includes/version.php names no version")
	}
	return string(m[1]), nil
}

package wordpress

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

//go:embed config.php
var configPHP []byte

// cacheLayout is part of the key of an installation, so that versions of deed with another layout do not share it.
// The configuration that is added is part of the key too.
const cacheLayout = "deed/wordpress.cache/v1\x00"

// An installation is an unpacked archive in the cache. It is never written to again.
//
//	core/      WordPress with deed's wp-config.php and an empty wp-content, read-only at /wordpress
//	content/   the archive's wp-content without its database
//	database/  the installed database, of which every run gets a copy
//	sqlite/    the plugin that replaces MySQL
type installation struct {
	dir     string
	version string
}

func (in installation) path(elem ...string) string {
	return filepath.Join(append([]string{in.dir}, elem...)...)
}

// install returns the unpacked archive, unpacking it if the cache does not have it. It is unpacked in tmp, a
// directory of the run, and published by a rename: a crash leaves nothing in the cache, and two runs may do this
// concurrently.
func install(ctx context.Context, o Options, tmp string) (installation, error) {
	key, err := archiveKey(ctx, o.Archive, o.SQLite)
	if err != nil {
		return installation{}, unusable(o, err)
	}
	in := installation{dir: filepath.Join(o.Cache, key)}
	if in.version, err = version(in.path("core")); err == nil {
		return in, nil
	}
	work := filepath.Join(tmp, "unpacked")
	if err := build(ctx, o, work); err != nil {
		err = errors.Join(err, workspace.Remove(work))
		return installation{}, unusable(o, err)
	}
	if err := os.MkdirAll(o.Cache, 0o700); err != nil {
		return installation{}, err
	}
	if err := atomicfile.PublishDir(ctx, work, in.dir); err != nil {
		if !errors.Is(err, atomicfile.ErrExists) {
			return installation{}, errors.Join(err, workspace.Remove(work))
		}
		if err := workspace.Remove(work); err != nil { // another run was faster
			return installation{}, err
		}
	}
	in.version, err = version(in.path("core"))
	return in, err
}

func unusable(o Options, err error) error {
	return failure.New(failure.Config, "use the WordPress archive "+o.Archive, err,
		"components.wordpress in deed.yaml names an installed WordPress (zip or directory) as archive, and the sqlite-database-integration plugin as sqlite")
}

// archiveKey is the digest of what is unpacked.
func archiveKey(ctx context.Context, paths ...string) (string, error) {
	h := sha256.New()
	h.Write([]byte(cacheLayout))
	h.Write(configPHP)
	for _, p := range paths {
		d, err := contentDigest(ctx, p)
		if err != nil {
			return "", err
		}
		h.Write([]byte(d + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func contentDigest(ctx context.Context, p string) (string, error) {
	if p == "" {
		return "", nil
	}
	f, err := os.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	if fi.IsDir() {
		m, err := workspace.Snapshot(ctx, p, nil)
		if err != nil {
			return "", err
		}
		return "tree:" + m.Digest(), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "file:" + hex.EncodeToString(h.Sum(nil)), nil
}

// sqliteEntry is the file of the SQLite plugin that deed's drop-in loads.
const sqliteEntry = "wp-includes/sqlite/db.php"

// build lays an archive out in dir.
func build(ctx context.Context, o Options, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	core, content := filepath.Join(dir, "core"), filepath.Join(dir, "content")
	if err := unpack(ctx, o.Archive, core); err != nil {
		return err
	}
	if _, err := version(core); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(core, "wp-content"), content); err != nil {
		return fmt.Errorf("it has no wp-content: %w", err)
	}
	if err := takeDatabase(content, filepath.Join(dir, "database")); err != nil {
		return err
	}
	if err := takeSQLite(ctx, o, content, filepath.Join(dir, "sqlite")); err != nil {
		return err
	}
	for _, target := range append(component.OverlayTargets(), contentTarget) {
		point := filepath.Join(core, strings.TrimPrefix(target, component.WordPressDir))
		if err := os.MkdirAll(point, 0o755); err != nil {
			return err
		}
	}
	config := filepath.Join(core, "wp-config.php")
	if err := os.Remove(config); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(config, configPHP, 0o644)
}

// databaseFile is where the SQLite plugin keeps the database, below wp-content/database.
const databaseFile = ".ht.sqlite"

var (
	errNotInstalled = errors.New("it is not installed: wp-content/database/" + databaseFile + " is not there")
	errNoSQLite     = errors.New("it does not bring the sqlite-database-integration plugin, and none is named")
)

func takeDatabase(content, to string) error {
	from := filepath.Join(content, "database")
	fi, err := os.Lstat(filepath.Join(from, databaseFile))
	if err != nil || !fi.Mode().IsRegular() {
		return errNotInstalled
	}
	return os.Rename(from, to)
}

// takeSQLite finds the SQLite plugin: the named one, else the archive's own.
func takeSQLite(ctx context.Context, o Options, content, to string) error {
	if o.SQLite != "" {
		if err := unpack(ctx, o.SQLite, to); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(to, sqliteEntry)); err != nil {
			return fmt.Errorf("%s is not the sqlite-database-integration plugin: %w", o.SQLite, err)
		}
		return nil
	}
	for _, d := range []string{"mu-plugins", "plugins"} {
		from := filepath.Join(content, d, "sqlite-database-integration")
		if _, err := os.Stat(filepath.Join(from, sqliteEntry)); err == nil {
			return os.Rename(from, to)
		}
	}
	return errNoSQLite
}

var versionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)\$wp_version\s*=\s*'([^']{1,64})'\s*;`) })

// version reads the version of WordPress in a directory.
func version(core string) (string, error) {
	root, err := os.OpenRoot(core)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return versionIn(root.FS())
}

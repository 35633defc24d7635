// Package wordpresstest owns how tests get a WordPress: it finds the archive that scripts/setup.sh fetched, and
// prepares sites from it. Without it, a test is skipped and says what is missing.
package wordpresstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/component/componenttest"
	"github.com/deedrun/deed/internal/attempt/wordpress"
)

// Version is that of the archive.
const Version = "6.5.5"

// Options names the archive, or skips the test.
func Options(t testing.TB) wordpress.Options {
	t.Helper()
	componenttest.Needs(t)
	if _, err := exec.LookPath("php"); err != nil {
		t.Skip("missing tool: php: apt-get install php-cli php-sqlite3 php-mbstring php-xml")
	}
	dir := filepath.Join(module(t), ".cache", "wordpress")
	o := wordpress.Options{Archive: filepath.Join(dir, "wp-6.5.zip"), SQLite: filepath.Join(dir, "sqlite-database-integration.zip")}
	for _, f := range []string{o.Archive, o.SQLite} {
		if _, err := os.Stat(f); err != nil {
			t.Skip("missing tool: WordPress archive: scripts/setup.sh fetches it with npm")
		}
	}
	return o
}

// module is the root of the repository, found upwards from the package under test.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("go.mod is nowhere above the test")
		}
		dir = up
	}
}

// Cache makes a directory for unpacked archives that the tests of one package share; the caller removes it.
func Cache() (string, error) { return os.MkdirTemp("", "deed-wordpress-") }

// preparing lets the first test fill the cache for the others, instead of all of them unpacking at once.
var preparing sync.Mutex

// Prepare resolves components and prepares a site with them and with workspaces, in a directory of the test's own.
func Prepare(t testing.TB, cache string, req component.Request, workspaces ...component.Mount) (*wordpress.Site, component.Resolved) {
	t.Helper()
	o := Options(t)
	dir, err := os.MkdirTemp(cache, "run-") // on the file system of the cache
	if err != nil {
		t.Fatal(err)
	}
	req.Dir = filepath.Join(dir, "components")
	res, err := component.Resolve(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	o.Cache, o.Dir = filepath.Join(cache, "unpacked"), filepath.Join(dir, "site")
	o.Mounts = append(res.Mounts, workspaces...)
	o.MUPlugins, o.Plugins = res.MUPlugins, res.Plugins
	preparing.Lock()
	s, err := wordpress.Prepare(t.Context(), o)
	preparing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	return s, res
}

// Package binarytest builds the deed binary for tests, as users get it. It owns the build and nothing else; only tests import it.
package binarytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Deed returns the path of the deed binary of this source tree. All test packages share one file, .cache/test/deed: the go command
// leaves it alone when it is up to date, so it is linked once for a change and not once for a package. It is built without the race
// detector, which would make each of a thousand starts slow. A test that needs it is skipped by -short.
func Deed(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: runs the deed binary")
	}
	file, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var build = sync.OnceValues(func() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("build deed: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("build deed: no go.mod above the test's directory")
		}
		root = filepath.Dir(root)
	}
	file := filepath.Join(root, ".cache", "test", "deed")
	c := exec.Command("go", "build", "-o", file, "./cmd/deed")
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build deed: %w\n%s", err, out)
	}
	return file, nil
})

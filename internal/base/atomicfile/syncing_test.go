package atomicfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// Several callers sync lists of every length around the size of a batch.
func TestSyncManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for i := range 259 {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, make([]byte, 100*i), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	var all sync.WaitGroup
	for _, n := range []int{0, 1, 127, 128, 129, 256, 259} {
		all.Go(func() {
			if err := atomicfile.SyncPaths(t.Context(), paths[:n]); err != nil {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	all.Wait()
	if err := atomicfile.SyncPaths(t.Context(), append(paths, filepath.Join(dir, "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// An error of a sync names the file and the reason. The kernel refuses to sync /dev/null.
func TestSyncErrorNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.SyncPaths(t.Context(), []string{path, os.DevNull})
	if !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), os.DevNull) {
		t.Errorf("got %v", err)
	}
}

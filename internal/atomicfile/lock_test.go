package atomicfile_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deedrun/deed/internal/atomicfile"
)

func TestLockDirIsHeldByOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	inside := 0
	for range 8 {
		wg.Go(func() {
			unlock, err := atomicfile.LockDir(dir)
			if err != nil {
				t.Error(err)
				return
			}
			inside++ // the race detector watches
			unlock()
		})
	}
	wg.Wait()
	if inside != 8 {
		t.Errorf("%d were inside", inside)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
	if _, err := atomicfile.LockDir(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that is not there was locked")
	}
}

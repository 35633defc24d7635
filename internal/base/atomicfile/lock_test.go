package atomicfile_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

func TestLockDirIsHeldByOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	var inside, times atomic.Int64
	for range 8 {
		wg.Go(func() {
			unlock, err := atomicfile.LockDir(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d are inside at once", n)
			}
			times.Add(1)
			inside.Add(-1)
			unlock()
		})
	}
	wg.Wait()
	if times.Load() != 8 {
		t.Errorf("%d were inside", times.Load())
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
	if _, err := atomicfile.LockDir(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that is not there was locked")
	}
}

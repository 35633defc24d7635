package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Many small files take what others need as well as a few large ones, and hide what lies behind them from a walk that has
// an end.
func TestEntriesAreCounted(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for i := range 10 {
		for _, dir := range []string{one, two} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		entries int
		over    bool
	}{{22, false}, {21, true}, {5, true}} {
		m := monitor{limits: Limits{DiskBytes: 1 << 30}, watch: []string{one, two}, entries: c.entries, short: true}
		var limit *LimitError
		if err := m.space(t.Context(), 0); errors.As(err, &limit) != c.over || c.over && limit.Limit != WallDisk {
			t.Errorf("22 entries of %d: %v", c.entries, err)
		}
	}
}

func TestFileSystemsRunShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		st   unix.Statfs_t
		want bool
	}{
		"room":                {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 24, Bavail: 1 << 23, Files: 1 << 20, Ffree: 1 << 19}, false},
		"no space":            {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 24, Bavail: 1 << 12, Files: 1 << 20, Ffree: 1 << 19}, true},
		"no files":            {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 24, Bavail: 1 << 23, Files: 1 << 20, Ffree: 9_999}, true},
		"files without bound": {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 24, Bavail: 1 << 23}, false},
		"small":               {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 12, Bavail: 1 << 10, Files: 1000, Ffree: 100}, false},
	} {
		if got := short(c.st); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

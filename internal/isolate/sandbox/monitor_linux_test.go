package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		if err := m.space(t.Context(), 0); errors.As(err, &limit) != c.over || c.over && limit.Limit != RestrictDisk {
			t.Errorf("22 entries of %d: %v", c.entries, err)
		}
	}
}

// A deep tree hides nothing, and does not hold up the walk: one that opens every path from the top takes minutes for this.
func TestDeepTrees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name   string
		levels int
		over   bool
	}{
		"usual": {"directory", 5, false}, "short names": {"d", 3_000, false}, "long names": {strings.Repeat("d", 255), 100, false},
		"nobody's": {strings.Repeat("d", 255), 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			deepen(t, top, c.name, c.levels)
			w := walk{left: maxEntries, seen: map[[2]uint64]bool{}}
			w.tree(t.Context(), top)
			if over := w.left < 0; over != c.over || !over && (w.used < 1<<20 || maxEntries-w.left != c.levels+2) {
				t.Errorf("found %d entries of %d bytes", maxEntries-w.left, w.used)
			}
		})
	}
}

// deepen makes directories in one another, and a file of a megabyte in the last. They are removed at the end.
func deepen(t *testing.T, top, name string, levels int) {
	t.Helper()
	root, err := os.OpenRoot(top)
	for range levels {
		if err != nil {
			break
		}
		var next *os.Root
		if err = root.Mkdir(name, 0o700); err == nil {
			next, err = root.OpenRoot(name)
		}
		root.Close()
		root = next
	}
	if err == nil {
		err = root.WriteFile("file", make([]byte, 1<<20), 0o600)
		root.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("rm", "-rf", filepath.Join(top, name)).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
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

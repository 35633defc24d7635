package bundle_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/evidence/bundle"
)

// copies duplicates every descriptor of a directory, as the start of a process elsewhere does for a moment.
func copies(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range entries {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err != nil || at != dir {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		found = true
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
	if !found {
		t.Fatal("nobody has it open:", dir)
	}
}

// A lock ends when it is released, not when the last copy of its descriptor is closed.
func TestLocksAreGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, release, err := bundle.Temp(filepath.Join(parent, "one"))
	if err != nil {
		t.Fatal(err)
	}
	copies(t, dir)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if n, err := bundle.RemoveStale(parent); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}

	w, err := bundle.Create(filepath.Join(parent, "two"), bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	temps, err := filepath.Glob(filepath.Join(parent, ".two.*"))
	if err != nil || len(temps) != 1 {
		t.Fatal(temps, err)
	}
	copies(t, temps[0])
	if err := fill(w, patch); err != nil {
		t.Fatal(err)
	}
	sealed, err := w.Seal(context.Background(), input())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(sealed.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("lock a bundle that was sealed: %v", err)
	}
}

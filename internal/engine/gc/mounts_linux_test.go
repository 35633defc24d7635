package gc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestMountsOfDeadAttemptsGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over, alive := b.settled(t, 1, true), b.claim(t, "me")
	precious := filepath.Join(t.TempDir(), "precious")
	write(t, filepath.Join(precious, "f"), "x")
	mount := func(id string) string {
		t.Helper()
		p := filepath.Join(b.Home.Attempt(id), "workspace", "with space")
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(precious, p, "", syscall.MS_BIND, ""); err != nil {
			t.Skip("missing tool: mount: run the tests as root: ", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(p, syscall.MNT_DETACH) })
		return p
	}
	gone, kept := mount(over.AttemptID), mount(alive.AttemptID)
	b.sweep(t, Options{DryRun: true, Deep: true})
	if !there(filepath.Join(gone, "f")) {
		t.Fatal("a dry run unmounted")
	}
	rep := b.sweep(t, Options{})
	if there(b.Home.Attempt(over.AttemptID)) || !there(filepath.Join(precious, "f")) {
		t.Errorf("want the directory gone and what was mounted there: %v", brief(rep))
	}
	if !there(filepath.Join(kept, "f")) {
		t.Error("the mount of a live attempt is gone")
	}
}

// What two sweepers unmount is unmounted once, and is a fault for neither.
func TestMountsGoOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	precious := filepath.Join(t.TempDir(), "precious")
	write(t, filepath.Join(precious, "f"), "x")
	for range 20 {
		over := b.settled(t, 1, true)
		for _, name := range []string{"a", "b", "c", "d"} {
			p := filepath.Join(b.Home.Attempt(over.AttemptID), "workspace", name)
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount(precious, p, "", syscall.MS_BIND, ""); err != nil {
				t.Skip("missing tool: mount: run the tests as root: ", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(p, syscall.MNT_DETACH) })
		}
		var g errgroup.Group
		for range 3 {
			g.Go(func() error {
				_, err := b.Sweep(t.Context(), Options{})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if there(b.Home.Attempt(over.AttemptID)) || !there(filepath.Join(precious, "f")) {
			t.Fatal("want the directory gone and what was mounted there")
		}
	}
}

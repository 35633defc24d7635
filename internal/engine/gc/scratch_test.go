package gc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/base/atomicfile"
)

// Of the system's temporary files, only what deed made, is this user's and has no owner any more is removed.
func TestScratchOfTheDeadIsRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Temp = t.TempDir()
	alive, release, err := atomicfile.TempDir(b.Temp, "deed-command-*.tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	dead, let, err := atomicfile.TempDir(b.Temp, "deed-command-*.tmp")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dead, "sub", "f"), "xyz")
	if err := os.Chmod(filepath.Join(dead, "sub"), 0); err != nil {
		t.Fatal(err)
	}
	let()
	root, let, err := atomicfile.TempDir(b.Temp, "deed-container-*.tmp")
	if err != nil {
		t.Fatal(err)
	}
	let()
	for _, name := range []string{"deed-command-1", "deed-demo-1/home/f", "deed-command-x.tmp/f", "other-command-1.tmp/f", "deed-command-2.tmp"} {
		write(t, filepath.Join(b.Temp, name), "x")
	}
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "f"), "x")
	if err := os.Symlink(elsewhere, filepath.Join(b.Temp, "deed-command-3.tmp")); err != nil {
		t.Fatal(err)
	}
	spared := []string{filepath.Base(alive), "deed-command-1", "deed-command-2.tmp", "deed-command-3.tmp", "deed-command-x.tmp", "deed-demo-1", "other-command-1.tmp"}
	if os.Geteuid() == 0 { // another user's
		name := filepath.Join(b.Temp, "deed-command-4.tmp")
		if err := errors.Join(os.Mkdir(name, 0o700), os.Chown(name, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		spared = append(spared, "deed-command-4.tmp")
	}
	want := sorted([]string{"planned remove temp " + filepath.Base(dead), "planned remove temp " + filepath.Base(root)})
	if d := cmp.Diff(want, sorted(brief(b.sweep(t, Options{Deep: true, DryRun: true})))); d != "" {
		t.Errorf("dry run (-want +got):\n%s", d)
	}
	want = sorted([]string{"done remove temp " + filepath.Base(dead), "done remove temp " + filepath.Base(root)})
	if d := cmp.Diff(want, sorted(brief(b.sweep(t, Options{Deep: true})))); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	var left []string
	list, err := os.ReadDir(b.Temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		left = append(left, e.Name())
	}
	slices.Sort(spared)
	if d := cmp.Diff(spared, left); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "f")); err != nil {
		t.Error(err)
	}
	b.Temp = filepath.Join(b.Temp, "none")
	if rep := b.sweep(t, Options{Deep: true}); len(rep.Findings) != 0 {
		t.Errorf("without the directory: %+v", rep.Findings)
	}
}

// A directory that cannot be locked may have a live owner.
func TestScratchThatCannotBeOpenedIsLeft(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root opens everything; TestWithoutRoot runs this")
	}
	b := setup(t)
	b.Temp = t.TempDir()
	closed := filepath.Join(b.Temp, "deed-command-1.tmp")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if rep := b.sweep(t, Options{Deep: true}); len(rep.Findings) != 0 {
		t.Errorf("%+v", rep.Findings)
	}
	if _, err := os.Lstat(closed); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOENT) {
		t.Error("it is gone")
	}
}

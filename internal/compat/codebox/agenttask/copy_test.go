package agenttask

import (
	"os"
	"path/filepath"
	"testing"
)

// tree makes a directory with one file.
func tree(t *testing.T, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// holds reports what is in the place of the copy, and that nothing lies beside it.
func holds(t *testing.T, to, want string) {
	t.Helper()
	got, _ := os.ReadFile(filepath.Join(to, "manifest.json"))
	if string(got) != want {
		t.Errorf("the copy holds %q, want %q", got, want)
	}
	list, err := os.ReadDir(filepath.Dir(to))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != filepath.Base(to) {
			t.Errorf("%s was left beside the copy", e.Name())
		}
	}
}

// The copy has no name before it is published, and needs its source no longer than Read waits.
func TestBundleCopy(t *testing.T) {
	t.Parallel()
	from, to := tree(t, "one"), filepath.Join(t.TempDir(), "out")
	c := &bundleCopy{to: to}
	c.Begin(t.Context(), from)
	c.Read()
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(to); err == nil {
		t.Error("the copy has its name already")
	}
	if err := c.publish(t.Context(), "/nonexistent"); err != nil {
		t.Fatal(err)
	}
	holds(t, to, "one")
}

// Of a bundle that was given up nothing is left, and the one that is written instead is copied.
func TestBundleCopyOfAnother(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "out")
	c := &bundleCopy{to: to}
	c.Read() // before anything was begun
	c.Begin(t.Context(), tree(t, "given up"))
	c.Drop()
	c.Drop()
	holds(t, to, "")
	c.Begin(t.Context(), tree(t, "replaced"))
	c.Begin(t.Context(), tree(t, "two"))
	if err := c.publish(t.Context(), "/nonexistent"); err != nil {
		t.Fatal(err)
	}
	holds(t, to, "two")
}

// A bundle that another runner published is copied from the home.
func TestBundleCopyOfAnAdoptedOne(t *testing.T) {
	t.Parallel()
	from, to := tree(t, "adopted"), filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(to, 0o755); err != nil { // an empty directory may be there
		t.Fatal(err)
	}
	c := &bundleCopy{to: to}
	c.Begin(t.Context(), tree(t, "own"))
	c.Drop()
	if err := c.publish(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	holds(t, to, "adopted")
}

func TestBundleCopyWhoseFilesVanish(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "out")
	c := &bundleCopy{to: to}
	c.Begin(t.Context(), filepath.Join(t.TempDir(), "nothing"))
	c.Read()
	if err := c.publish(t.Context(), "/nonexistent"); err == nil {
		t.Error("a copy of nothing was published")
	}
	holds(t, to, "")
}

// Whoever took the place while the agent ran keeps it.
func TestBundleCopyToATakenPlace(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "out")
	c := &bundleCopy{to: to}
	c.Begin(t.Context(), tree(t, "one"))
	c.Read()
	if err := os.Rename(tree(t, "another's"), to); err != nil {
		t.Fatal(err)
	}
	if err := c.publish(t.Context(), "/nonexistent"); err == nil {
		t.Error("a place that is taken was used")
	}
	holds(t, to, "another's")
}

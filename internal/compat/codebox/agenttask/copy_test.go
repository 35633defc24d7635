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

// holds reports what is at the place of the copy, and that nothing lies next to it.
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

// The copy may take the place of an empty directory, and leaves nothing else next to it.
func TestCopyBundle(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]bool{"nothing there": false, "an empty directory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := tree(t, "one"), filepath.Join(t.TempDir(), "out")
			if empty {
				if err := os.Mkdir(to, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := copyBundle(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			holds(t, to, "one")
			holds(t, from, "one")
		})
	}
}

// A copy of what is not there fails and leaves nothing.
func TestCopyBundleOfNothing(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "out")
	if err := copyBundle(t.Context(), filepath.Join(t.TempDir(), "nothing"), to); err == nil {
		t.Error("a copy of nothing was published")
	}
	holds(t, to, "")
}

// A place that was taken while the agent ran is not overwritten.
func TestCopyBundleToATakenPlace(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "out")
	if err := os.Rename(tree(t, "another's"), to); err != nil {
		t.Fatal(err)
	}
	if err := copyBundle(t.Context(), tree(t, "one"), to); err == nil {
		t.Error("a place that is taken was used")
	}
	holds(t, to, "another's")
}

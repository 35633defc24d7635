package shipped

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

func TestManifests(t *testing.T) {
	t.Parallel()
	if want := []string{"claude-code", "codex", "local-shell", "opencode", "wp-playground"}; !slices.Equal(IDs(), want) {
		t.Errorf("%v", IDs())
	}
	for _, id := range IDs() {
		text, ok := Manifest(id)
		if !ok {
			t.Fatal(id)
		}
		m, warnings, err := homeboy.ReadManifest(text)
		if err != nil || len(warnings) > 0 || m.ID != id || m.Validate() != nil || len(m.Lint()) > 0 {
			t.Errorf("%s: %v %v %v %v", id, err, warnings, m.Validate(), m.Lint())
		}
	}
	if _, ok := Manifest("../codex"); ok {
		t.Error("led out")
	}
}

// TestPlace has several deeds at once, and files that somebody damaged.
func TestPlace(t *testing.T) {
	t.Parallel()
	below := filepath.Join(t.TempDir(), "cache")
	var deeds sync.WaitGroup
	for range 8 {
		deeds.Go(func() {
			if err := Place(Dir(below)); err != nil || !whole(Dir(below)) {
				t.Errorf("%v", err)
			}
		})
	}
	deeds.Wait()
	dir := Dir(below)
	if err := os.MkdirAll(filepath.Join(below, ".new-dead", "all"), 0o700); err != nil { // of a deed that was killed
		t.Fatal(err)
	}
	for name, damage := range map[string]func(file string) error{
		"changed": func(file string) error { return os.WriteFile(file, []byte("{}"), 0o600) },
		"gone":    os.Remove,
	} {
		if err := damage(filepath.Join(dir, "codex", "codex.json")); err != nil {
			t.Fatal(err)
		}
		if err := Place(dir); err != nil || !whole(dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(below); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if err := Place(Dir(filepath.Join(dir, "codex", "codex.json"))); err == nil {
		t.Error("a file was taken for a directory")
	}
}

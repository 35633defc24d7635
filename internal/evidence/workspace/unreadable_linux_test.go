package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc/proctest"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// TestWithoutRoot runs tests as a user for whom permissions hold.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	if out := proctest.WithoutRoot(t, "^TestUnreadableSource$", "-test.v"); strings.Contains(out, "missing tool") {
		t.Skip("missing tool: " + out)
	}
}

// What a source keeps to itself is the source's fault: it is named, with what to do about it, once.
func TestUnreadableSource(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything; TestWithoutRoot runs this")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "greeting.txt")
	if err := errors.Join(os.WriteFile(file, []byte("hello\n"), 0o600), os.Chmod(file, 0)); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]workspace.Source{"a directory": {Kind: workspace.SourceDirectory, Dir: dir}, "a file": {Kind: workspace.SourceFile, Dir: file}} {
		_, err := workspace.Seed(t.Context(), src, filepath.Join(t.TempDir(), "to"))
		if !errors.Is(err, workspace.ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Fatalf("%s: %v", name, err)
		}
		said := err.Error()
		for _, want := range []string{"seed workspace: use source " + src.Dir, "greeting.txt", "permission denied (let the user that deed runs as read all of it"} {
			if strings.Count(said, want) < 1 || strings.Contains(said, "source_invalid") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}

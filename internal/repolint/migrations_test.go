package repolint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Migrations of both engines have the same names, numbered from 1 without a gap, and the newest is the one that the binary says it
// knows. Two changes that were written side by side meet here, and not in somebody's home.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	const dir = "../store/migrations"
	count := 0
	for _, engine := range []string{"sqlite", "postgres"} {
		files, err := os.ReadDir(filepath.Join(dir, engine))
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range files {
			if want := fmt.Sprintf("%05d_", i+1); !strings.HasPrefix(f.Name(), want) {
				t.Fatalf("%s/%s: the number must be %s (renumber the newer one, and schemaKnown)", engine, f.Name(), want)
			}
			if _, err := os.Stat(filepath.Join(dir, "sqlite", f.Name())); err != nil {
				t.Errorf("%s has no twin: %v", f.Name(), err)
			}
		}
		count = len(files)
	}
	text, err := os.ReadFile("../store/migrate.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("const schemaKnown = %d\n", count); !strings.Contains(string(text), want) {
		t.Errorf("internal/store/migrate.go lacks %q", want)
	}
}

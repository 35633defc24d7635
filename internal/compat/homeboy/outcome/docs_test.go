package outcome

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table into the docs")

// The table is printed into the docs from the data that decides.
func TestDocs(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- outcome table: go test ./internal/compat/homeboy/outcome -run Docs -update -->\n", "<!-- end of the outcome table -->"
	path := filepath.Join("..", "..", "..", "..", "docs", "RUNTIMES.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/RUNTIMES.md has no place for the table")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+Table()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, Table()); diff != "" {
		t.Errorf("docs/RUNTIMES.md is old; run go test ./internal/compat/homeboy/outcome -run Docs -update (-docs +code):\n%s", diff)
	}
}

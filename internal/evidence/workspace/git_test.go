package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A call of git ends, whatever it is given.
func TestGitHasALimit(t *testing.T) {
	t.Parallel()
	g, err := newGit(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	never, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	defer w.Close()
	g.limit = 50 * time.Millisecond
	if _, err := g.run(t.Context(), gitCall{args: []string{"hash-object", "--stdin"}, stdin: never}); !errors.Is(err, ErrGit) || !strings.Contains(err.Error(), "longer than 50ms") {
		t.Errorf("got %v", err)
	}
}

package store_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/store"
)

// TestOpenOnFullDisk opens a sound store on a real full file system, mounted in a namespace of the reader's own. Reading needs room too, for
// the file that readers share: the error says that there is none, and not that the store is out of reach.
func TestOpenOnFullDisk(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("missing tool: unshare: install util-linux")
	}
	from := sqliteDSN(t)
	s, err := store.Open(t.Context(), from, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := helperCommand(t, "open", filepath.Join(dir, "deed.db"), unshare, "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=4m none "$1" || { echo mount; exit 0; }
cp "$2" "$1/deed.db" && { cat /dev/zero >"$1/fill" 2>/dev/null; exec "$3"; }`, "sh", dir, from)
	out, err := cmd.Output()
	if err != nil || strings.HasPrefix(string(out), "mount") {
		t.Skipf("missing tool: mount namespaces: allow them: %v %s", err, out)
	}
	if !strings.Contains(string(out), store.ErrFull.Error()) {
		t.Errorf("got %q, want %q", out, store.ErrFull)
	}
}

package gate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What is not a regular file is not an artifact. It is reported, however many there are, in a text of bounded length.
func TestArtifactsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "deep/.git/config", "x")
	put(t, dir, "f", "x")
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Symlink("f", filepath.Join(dir, "a\nlink")), os.Mkdir(filepath.Join(dir, "empty"), 0o700)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got, err := ListArtifacts(root)
	const want = "left out of the artifacts, which are regular files: \"a\\nlink\" (a link), pipe (a named pipe), s (a socket)"
	if err != nil || got.LeftOut() != want || !slices.Equal(got.Names, []string{"deep/.git/config", "f"}) {
		t.Errorf("%q, %q, %v", got.LeftOut(), got.Names, err)
	}
	long := strings.Repeat("\x01", 250)
	for i := range 300 {
		if err := os.Symlink("f", filepath.Join(dir, fmt.Sprintf("%s%03d", long, i))); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = ListArtifacts(root); err != nil || len(got.LeftOut()) > 32<<10 || !strings.HasSuffix(got.LeftOut(), ", and 283 more") {
		t.Errorf("%d bytes: …%s, %v", len(got.LeftOut()), got.LeftOut()[max(0, len(got.LeftOut())-50):], err)
	}
}

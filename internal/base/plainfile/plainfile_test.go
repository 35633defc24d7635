package plainfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/plainfile"
)

// TestOnlyRegularFiles opens what is no regular file. A FIFO without a writer would hold an ordinary open for ever.
func TestOnlyRegularFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(path("file"), []byte("text"), 0o600), os.Symlink("file", path("link")), os.Symlink("/etc/passwd", path("out")),
		os.Symlink("pipe", path("to-pipe")), os.Mkdir(path("dir"), 0o700), syscall.Mkfifo(path("pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, c := range []struct {
		name string
		most int64
		want error // nil: "text"
	}{
		{name: "file", most: 4},
		{name: "file", most: 3, want: plainfile.ErrTooLarge},
		{name: "link", most: 100},
		{name: "dir", most: 100, want: plainfile.ErrNotRegular},
		{name: "pipe", most: 100, want: plainfile.ErrNotRegular},
		{name: "to-pipe", most: 100, want: plainfile.ErrNotRegular},
		{name: "absent", most: 100, want: fs.ErrNotExist},
	} {
		for where, read := range map[string]func() ([]byte, error){
			"Read":   func() ([]byte, error) { return plainfile.Read(path(c.name), c.most) },
			"ReadIn": func() ([]byte, error) { return plainfile.ReadIn(root, c.name, c.most) },
		} {
			data, err := read()
			if !errors.Is(err, c.want) || c.want == nil && string(data) != "text" {
				t.Errorf("%s %s, %d: %q, %v, want %v", where, c.name, c.most, data, err, c.want)
			}
		}
	}
	if _, err := plainfile.ReadIn(root, "out", 100); err == nil {
		t.Error("a link led out of the root")
	}
	if _, err := plainfile.OpenNoLink(path("link")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("OpenNoLink of a link: %v, want ELOOP", err)
	}
}

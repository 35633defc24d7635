package driver_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func openRoot(t interface {
	Fatal(...any)
	Cleanup(func())
}, dir string,
) *os.Root {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// However the stream is cut into writes, the file is the stream, or its head, a line and its tail.
func TestRecorderKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	root := openRoot(t, t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Int64Range(1, 200).Draw(rt, "limit")
		chunks := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abcdef\n")), 0, 300, -1), 0, 8).Draw(rt, "chunks")
		rec, err := driver.NewRecorder(root, "out", limit, nil)
		if err != nil {
			rt.Fatal(err)
		}
		for _, c := range chunks {
			if n, err := rec.Write([]byte(c)); err != nil || n != len(c) {
				rt.Fatal(n, err)
			}
		}
		if err := errors.Join(rec.Finish(), rec.Close()); err != nil {
			rt.Fatal(err)
		}
		all := strings.Join(chunks, "")
		got, err := root.ReadFile("out")
		if err != nil {
			rt.Fatal(err)
		}
		tr, truncated := rec.Truncation("stdout")
		if int64(len(all)) <= limit {
			if truncated || string(got) != all {
				rt.Fatalf("got %q, want %q, %v", got, all, tr)
			}
			return
		}
		tail := limit / 2
		want := all[:limit-tail] + fmt.Sprintf("\n[deed: %d of %d bytes dropped here]\n", int64(len(all))-limit, len(all)) + all[int64(len(all))-tail:]
		if !truncated || tr.Kept != limit || tr.Dropped != int64(len(all))-limit || string(got) != want {
			rt.Fatalf("got %q, want %q, %+v", got, want, tr)
		}
	})
}

func TestRecorderRedactsBeforeItCuts(t *testing.T) {
	t.Parallel()
	root := openRoot(t, t.TempDir())
	const secret = "very-secret-value"
	for limit := int64(1); limit < 80; limit++ {
		rec, err := driver.NewRecorder(root, "out", limit, redact.New(map[string]string{"S": secret}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range "before " + secret + " between " + secret + " after" {
			if _, err := rec.Write([]byte(string(c))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(rec.Finish(), rec.Close()); err != nil {
			t.Fatal(err)
		}
		got, _ := root.ReadFile("out")
		for _, part := range []string{"very-sec", "secret-v", "et-value"} {
			if strings.Contains(string(got), part) {
				t.Errorf("limit %d: %q", limit, got)
			}
		}
	}
}

func TestTakeFileTakesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := openRoot(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("good"), []byte("{}"), 0o600),
		os.WriteFile(at("large"), nil, 0o600),
		os.Truncate(at("large"), driver.MaxResult+1),
		os.Symlink("good", at("link")),
		os.Symlink("/etc/passwd", at("out")),
		os.Mkdir(at("dir"), 0o700),
		syscall.Mkfifo(at("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, err := driver.TakeFile(root, "good"); err != nil || string(data) != "{}" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := driver.TakeFile(root, "absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for name, want := range map[string]string{"large": "at most", "link": "a symbolic link", "out": "a symbolic link", "dir": "a directory", "fifo": "a FIFO"} {
		if _, err := driver.TakeFile(root, name); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSetNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	set := driver.NewSet()
	for kind, want := range map[string]string{agentruntime.KindCodex: "no driver in this build", "codecs": "unknown"} {
		_, err := set.For(kind)
		if failure.ClassOf(err) != failure.Config || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

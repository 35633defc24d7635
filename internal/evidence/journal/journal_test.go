package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/evidence/journal"
)

func open(t *testing.T, path string, opt journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func kinds(t *testing.T, path string) []string {
	t.Helper()
	entries, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			t.Errorf("entry %d has number %d", i+1, e.Seq)
		}
		out = append(out, e.Kind)
	}
	return out
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	j := open(t, path, journal.Options{Clock: func() time.Time { return at }})
	if err := j.Append("begun", map[string]any{"n": 1, "text": "a\nb"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Append("ended", nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	got, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []journal.Entry{
		{Seq: 1, At: "2026-01-02T03:04:05.000000Z", Kind: "begun", Detail: json.RawMessage(`{"n":1,"text":"a\nb"}`)},
		{Seq: 2, At: "2026-01-02T03:04:05.000000Z", Kind: "ended"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", st.Mode(), err)
	}
}

func TestTornLastLineIsCutAndGoneOnFrom(t *testing.T) {
	t.Parallel()
	for name, torn := range map[string]string{
		"half a line":       `{"seq":3,"at":"20`,
		"a line, no break":  `{"seq":3,"at":"2026-01-01T00:00:00Z","kind":"c"}`,
		"unwritten blocks":  "\x00\x00\x00\x00\n",
		"half, then blocks": "{\"seq\":3,\x00\x00\x00\n",
		"wrong number":      `{"seq":9,"at":"2026-01-01T00:00:00Z","kind":"c"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			j := open(t, path, journal.Options{})
			for _, k := range []string{"a", "b"} {
				if err := j.Append(k, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(data, torn...), 0o600); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"a", "b"}, kinds(t, path)); d != "" {
				t.Error(d)
			}
			j = open(t, path, journal.Options{})
			if err := j.Append("again", nil); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"a", "b", "again"}, kinds(t, path)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDamageInTheMiddleIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	text := `{"seq":1,"at":"x","kind":"a"}` + "\nrubbish\n" + `{"seq":3,"at":"x","kind":"c"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := journal.Read(path)
	if err == nil || !strings.Contains(err.Error(), "line 2") || len(entries) != 1 {
		t.Errorf("got %v, %v", entries, err)
	}
	if _, err := journal.Open(path, journal.Options{}); err == nil {
		t.Error("a damaged journal was opened, and would have been cut")
	}
	if data, _ := os.ReadFile(path); string(data) != text {
		t.Error("the damaged journal was changed")
	}
}

func TestEntriesOfManyGoroutines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path, journal.Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				if err := j.Append(fmt.Sprintf("g%d", g), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := kinds(t, path); len(got) != 400 {
		t.Errorf("%d entries", len(got))
	}
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path, journal.Options{Redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[x]")) }})
	if err := j.Append("said", map[string]string{"text": "it is hunter2"}); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	if strings.Contains(string(data), "hunter2") || !strings.Contains(string(data), "it is [x]") {
		t.Errorf("got %s", data)
	}
	broken := open(t, path, journal.Options{Redact: func([]byte) []byte { return []byte("{") }})
	if err := broken.Append("x", nil); err == nil {
		t.Error("an entry that is no JSON was written")
	}
	if got := kinds(t, path); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path, journal.Options{})
	if err := j.Append("", nil); err == nil {
		t.Error("an entry without a kind")
	}
	if err := j.Append("x", func() {}); err == nil {
		t.Error("a detail that is no JSON")
	}
	if err := j.Append("x", strings.Repeat("y", journal.MaxEntry)); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if err := j.Append("whole", nil); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"whole"}, kinds(t, path)); d != "" {
		t.Error(d)
	}
	for range 2 {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := j.Append("late", nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := journal.Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"seq":1,"at":"x","kind":"a"}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := journal.Read(path)
		if err != nil {
			return
		}
		j, err := journal.Open(path, journal.Options{})
		if err != nil {
			t.Fatalf("read well and not opened: %v", err)
		}
		defer j.Close()
		if err := j.Append("next", nil); err != nil {
			t.Fatal(err)
		}
		after, err := journal.Read(path)
		if err != nil || len(after) != len(before)+1 {
			t.Fatalf("%d entries, then %d, %v", len(before), len(after), err)
		}
	})
}

// An agent may have put something else where a journal was: it is refused, never followed and never waited for.
func TestOnlyRegularFilesAreJournals(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link": func(path string) error {
			if err := os.WriteFile(path+".target", []byte("kept"), 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".target", path)
		},
		"dangling link": func(path string) error { return os.Symlink(path+".none", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Open(path, journal.Options{}); err == nil {
				t.Error("it was opened")
			}
			if _, err := journal.Read(path); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read: %v", err)
			}
			if data, err := os.ReadFile(path + ".target"); err == nil && string(data) != "kept" {
				t.Errorf("what the link leads to was changed: %q", data)
			}
			if _, err := os.Lstat(path + ".none"); err == nil {
				t.Error("what the link leads to was made")
			}
		})
	}
}

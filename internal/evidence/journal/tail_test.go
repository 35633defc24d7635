package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/evidence/journal"
)

func tail(t *testing.T, path string) *journal.Tail {
	t.Helper()
	tl, err := journal.OpenTail(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tl.Close() })
	return tl
}

func next(t *testing.T, tl *journal.Tail) string {
	t.Helper()
	entries, err := tl.Next()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Kind)
	}
	return strings.Join(out, " ")
}

func TestTailFollowsAWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path, journal.Options{})
	tl := tail(t, path)
	if got := next(t, tl); got != "" {
		t.Errorf("an empty journal has %q", got)
	}
	for _, kinds := range [][]string{{"a"}, {"b", "c"}, {}} {
		for _, k := range kinds {
			if err := j.Append(k, map[string]string{"text": "x\ny"}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := next(t, tl), strings.Join(kinds, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := os.Remove(path); err != nil { // the attempt ended and its directory is gone
		t.Fatal(err)
	}
	if err := j.Append("last", nil); err != nil {
		t.Fatal(err)
	}
	if got := next(t, tl); got != "last" {
		t.Errorf("got %q after the file was removed", got)
	}
	if _, err := journal.OpenTail(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal that is not there: %v", err)
	}
}

// Half a line is not an entry yet; a process that resumes may finish it, or cut it and write it again.
func TestTailLeavesWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	const first = `{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"a"}` + "\n"
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first + `{"seq":2,"at":"2026`)
	tl := tail(t, path)
	if got := next(t, tl); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := next(t, tl); got != "" {
		t.Errorf("half a line is %q", got)
	}
	write(first + "\x00\x00\x00\n") // blocks that were never written, at the end
	if got := next(t, tl); got != "" {
		t.Errorf("garbage is %q", got)
	}
	write(first + `{"seq":2,"at":"2026-01-01T00:00:01Z","kind":"anew"}` + "\n")
	if got := next(t, tl); got != "anew" {
		t.Errorf("got %q", got)
	}
	for name, text := range map[string]string{
		"damaged": first + "{\n" + `{"seq":3,"at":"2026-01-01T00:00:01Z","kind":"c"}` + "\n",
		"a gap":   first + `{"seq":3,"at":"2026-01-01T00:00:01Z","kind":"c"}` + "\n" + `{"seq":4,"at":"2026-01-01T00:00:01Z","kind":"d"}` + "\n",
	} {
		write(text)
		tl := tail(t, path)
		entries, err := tl.Next()
		if err == nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// What one call returns is bounded, whatever the journal's size, and nothing is left out.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path, journal.Options{})
	const n = 600
	for i := range n {
		size := 10
		if i%50 == 0 {
			size = 3 << 20
		}
		if err := j.Append(fmt.Sprint(i), strings.Repeat("x", size)); err != nil {
			t.Fatal(err)
		}
	}
	tl := tail(t, path)
	seen := 0
	for {
		entries, err := tl.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		bytes := 0
		for _, e := range entries {
			if e.Kind != fmt.Sprint(seen) {
				t.Fatalf("entry %d is %s", seen, e.Kind)
			}
			seen++
			bytes += len(e.Detail)
		}
		if len(entries) > 256 || bytes > journal.MaxEntry+1<<20 {
			t.Fatalf("one call returned %d entries with %d bytes", len(entries), bytes)
		}
	}
	if seen != n {
		t.Errorf("saw %d of %d", seen, n)
	}
}

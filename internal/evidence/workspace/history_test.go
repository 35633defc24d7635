package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A history says where lines come from, and runs nothing that the repository configures.
func TestHistoryLines(t *testing.T) {
	t.Parallel()
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git := func(date string, args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "2024-02-03T04:05:06Z", "2025-02-03T04:05:06Z"
	git(first, "init", "-q")
	put("a b.go", "one\n\ttwo\n")
	git(first, "add", "-A")
	git(first, "commit", "-qm", "1")
	put("a b.go", "one\n\ttwo\nthree\n")
	put(".gitattributes", "* diff=evil\n")
	git(second, "add", "-A")
	git(second, "commit", "-qm", "2")
	git(second, "config", "diff.evil.textconv", "touch "+mark+"; cat")
	git(second, "config", "core.fsmonitor", "touch "+mark)

	h, err := OpenHistory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if len(h.Head()) != 40 {
		t.Errorf("head %q", h.Head())
	}
	put("a b.go", "changed since\n")
	got, err := h.Lines(t.Context(), "a b.go", []int{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []CommittedLine{
		{Line: 2, Time: time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), Text: "\ttwo"},
		{Line: 3, Time: time.Date(2025, 2, 3, 4, 5, 6, 0, time.UTC), Text: "three"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := h.Lines(t.Context(), "a b.go", []int{9}); err == nil {
		t.Error("a line that is not there")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command of the repository ran")
	}
	if _, err := OpenHistory(t.Context(), t.TempDir()); err == nil {
		t.Error("a directory without a repository has a history")
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
)

// TestDocumentsCrash kills `deed cleanup` while it gives up a version of a skill: the next one continues, and a task that waits keeps
// the version that it was admitted with.
func TestDocumentsCrash(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfDocument {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			crashDocuments(t, p)
		})
	}
}

func crashDocuments(t *testing.T, p crashpoint.Point) {
	s := homeSite(t, store.SQLite)
	dir := filepath.Join(s.dir, "links")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	add := func(version string) {
		writeFile(t, filepath.Join(dir, "SKILL.md"), "---\nname: links\ndescription: Counts.\n---\nVersion "+version+".\n")
		writeFile(t, filepath.Join(dir, "notes.md"), version)
		s.ok("skill", "add", dir, "--replace")
	}
	agent := filepath.Join(s.dir, "agent.sh")
	writeFile(t, agent, `#!/bin/sh
cat "$DEED_SKILLS/links/notes.md" > which.txt
echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done", "file_changes": ["which.txt"]}' > "$DEED_RESULT_FILE"
`)
	if err := os.Chmod(agent, 0o755); err != nil {
		t.Fatal(err)
	}
	s.ok("agent", "add", "host")
	writeFile(t, filepath.Join(s.home, "deed.yaml"), "retention: {max_age_days: 2}\nadapters: {work: {kind: script, command: "+agent+", timeout_ms: 60000}}\n")
	task := func() string {
		return strings.TrimSpace(s.ok("task", "add", "--type", "operator", "--adapter", "work", "--skill", "links", "--subject", "x"))
	}
	add("1")
	s.ok("task", "cancel", task())
	add("2")
	waits := task()
	add("3")
	blobs := filepath.Join(s.home, "blobs", "sha256")
	count := func() int {
		t.Helper()
		list, err := os.ReadDir(blobs)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-72 * time.Hour)
		for _, e := range list {
			if err := os.Chtimes(filepath.Join(blobs, e.Name()), old, old); err != nil {
				t.Fatal(err)
			}
		}
		return len(list)
	}
	if n := count(); n != 6 {
		t.Fatalf("%d documents, want two versions of three", n)
	}
	if out := s.ok("cleanup", "--dry-run"); strings.Count(out, "remove  document") != 1 || !strings.Contains(out, "nothing needs it") {
		t.Fatalf("a dry run says\n%s", out)
	}
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "cleanup"); o.signal != syscall.SIGKILL {
		t.Fatalf("the crash point %s was never reached: exit %d\n%s", p, o.code, o.stderr)
	}
	count()
	s.ok("cleanup")
	if n := count(); n != 3 {
		t.Errorf("%d documents are left, want those of the version that a task waits with", n)
	}
	s.ok("dispatch")
	patch, err := filepath.Glob(filepath.Join(s.home, "bundles", "*", "files", "patch.diff"))
	if err != nil || len(patch) != 1 {
		t.Fatalf("bundles: %v %v\n%s", patch, err, s.ok("task", "show", waits))
	}
	if text, err := os.ReadFile(patch[0]); err != nil || !strings.Contains(string(text), "+2") {
		t.Errorf("the task worked by another version: %s %v", text, err)
	}
}

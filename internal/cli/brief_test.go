package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
)

const briefAgent = `echo x > made.txt
echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done", "file_changes": ["made.txt"]}' > "$DEED_RESULT_FILE"`

func (s *site) attempts(task string) []store.Attempt {
	s.t.Helper()
	list, err := s.open().Attempts(s.t.Context(), task)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// The real binary is killed when the agent is about to start: the brief is there, and stays what it was.
func TestABriefOutlivesAKill(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": briefAgent})
	id := strings.TrimSpace(s.ok("task", "add", "--type", "operator", "--adapter", "work", "--subject", "say it"))
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(crashpoint.BeginCommitted)}, "dispatch"); o.signal != syscall.SIGKILL {
		t.Fatalf("not killed: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	before := s.ok("brief", "show", id, "--prompt")
	if !strings.Contains(before, "# say it") {
		t.Fatalf("the brief of a killed attempt:\n%s", before)
	}
	s.ok("dispatch")
	list := s.attempts(id)
	if len(list) != 2 || list[0].BriefHash == "" || list[0].BriefHash != list[1].BriefHash {
		t.Fatalf("%d attempts, and the same task has other briefs: %+v", len(list), list)
	}
	for _, at := range list {
		if out := s.ok("brief", "replay", at.Record.AttemptID); !strings.Contains(out, "the same brief") {
			t.Errorf("attempt %s:\n%s", at.Record.AttemptID, out)
		}
	}
	if after := s.ok("brief", "show", list[0].Record.AttemptID, "--prompt"); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	s.tidy()
}

// A task whose text holds a secret: the agent gets it, no one else does, and the brief repeats to the hash on record.
func TestABriefWithASecret(t *testing.T) {
	t.Parallel()
	const value = "tok_9182736455647382910aa"
	s := newSite(t, map[string]string{"work": `grep -q "with $API_TOKEN now" "$DEED_BRIEF_FILE" && echo told > told.txt
echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done", "file_changes": ["told.txt"]}' > "$DEED_RESULT_FILE"`})
	file := filepath.Join(s.dir, "deed.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), "env: {", "env: {API_TOKEN: "+value+", ", 1))
	id := strings.TrimSpace(s.ok("task", "add", "--type", "operator", "--adapter", "work", "--subject", "call it with "+value+" now"))
	if o := s.deed([]string{"DEED_CRASHPOINT=" + string(crashpoint.BeginCommitted)}, "dispatch"); o.signal != syscall.SIGKILL {
		t.Fatalf("not killed: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	s.ok("dispatch")
	list := s.attempts(id)
	if len(list) != 2 || list[1].Record.ExitStatus != "ok" {
		t.Fatalf("%d attempts: %+v", len(list), list)
	}
	for _, at := range list {
		out := s.ok("brief", "replay", at.Record.AttemptID) + s.ok("brief", "show", at.Record.AttemptID) + s.ok("brief", "show", at.Record.AttemptID, "--prompt")
		if !strings.Contains(out, "the same brief") || strings.Contains(out, "not what was hashed") || strings.Contains(out, value) || !strings.Contains(out, "call it with [") {
			t.Errorf("attempt %s:\n%s", at.Record.AttemptID, out)
		}
		s.ok("verify", filepath.Join(s.home, at.BundleDir))
	}
	s.tidy()
}

// A brief that cannot be shown is refused with a reason; one that was changed is reported.
func TestBriefsThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"work": briefAgent})
	id := strings.TrimSpace(s.ok("task", "add", "--type", "operator", "--adapter", "work", "--subject", "say it"))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"brief", "show", id}, "it has not been tried yet"},
		{[]string{"brief", "show", "0123456789"}, "no task and no attempt 0123456789"},
		{[]string{"brief", "diff", id}, "B is missing"},
		{[]string{"brief", "replay"}, "ATTEMPT is missing"},
	} {
		if o := s.deed(nil, c.args...); o.code != ExitUsage || !strings.Contains(o.stderr, c.says) {
			t.Errorf("deed %v: exit %d, %s", c.args, o.code, o.stderr)
		}
	}
	s.ok("dispatch")
	at := s.attempts(id)[0]
	file := filepath.Join(s.home, at.BundleDir, "files", "attempt", "brief.json")
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(doc), "say it", "say this", 1)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, changed)
	o := s.deed(nil, "brief", "replay", id, "--json")
	var r replayDoc
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	if o.code != ExitNotDone || r.Same || r.Compiled == r.Recorded || !strings.Contains(r.Why, "not what was hashed: it was changed since") || r.Differs == nil {
		t.Errorf("exit %d: %+v", o.code, r)
	}
	if out := s.ok("brief", "show", id); !strings.Contains(out, "not what was hashed") {
		t.Errorf("a changed brief is shown as if it were what was told:\n%s", out)
	}
	writeFile(t, file, string(doc))
	s.tidy()
}

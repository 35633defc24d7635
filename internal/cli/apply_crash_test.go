package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/engine/gc"
)

const applyAgent = `
echo two > a.txt
rm gone.txt
mkdir new && echo n > new/file
echo '{"status": "completed", "machine_status": "ok", "operator_summary": "did it", "file_changes": ["a.txt", "gone.txt", "new/file"]}'
`

// applySite makes a bundle that changes, deletes and adds, and a target for it.
func applySite(t *testing.T) (s *site, bundle, target string) {
	t.Helper()
	s = newSite(t, map[string]string{"work": applyAgent})
	target = filepath.Join(s.dir, "target")
	for _, d := range []string{filepath.Join(s.dir, "src"), target} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(d, "a.txt"), "one\n")
		writeFile(t, filepath.Join(d, "gone.txt"), "bye\n")
	}
	s.ok("run", "--workspace", filepath.Join(s.dir, "src"), "--agent", "work", "go")
	list, err := filepath.Glob(filepath.Join(s.home, "bundles", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("bundles are %v, %v", list, err)
	}
	return s, list[0], target
}

// content reads the target: the three files, "-" for one that is not there.
func content(t *testing.T, target string) string {
	t.Helper()
	var out []string
	for _, name := range []string{"a.txt", "gone.txt", "new/file"} {
		b, err := os.ReadFile(filepath.Join(target, name))
		if err != nil {
			b = []byte("-")
		}
		out = append(out, strings.TrimSpace(string(b)))
	}
	if left, _ := filepath.Glob(filepath.Join(target, ".deed-*")); len(left) > 0 {
		t.Errorf("%v is left in the target", left)
	}
	return strings.Join(out, " ")
}

const (
	contentBefore = "one bye -"
	contentAfter  = "two - n"
)

// TestCrashOfApply kills `deed apply` at each of its steps. What was acknowledged stays, what was not is taken back by the
// next apply, which then does its own work.
func TestCrashOfApply(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfApply {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, bundle, target := applySite(t)
			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "apply", bundle, "--to", target)
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			o = s.deed(nil, "apply", bundle, "--to", target, "--json")
			var res evidence.ApplyResult
			if err := json.Unmarshal([]byte(o.stdout), &res); err != nil {
				t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
			}
			if len(res.Recovered) != 1 {
				t.Errorf("recovered %v", res.Recovered)
			}
			if o.code != 0 || res.Status != evidence.ApplyApplied {
				t.Errorf("exit %d, %s\n%s", o.code, res.Status, o.stderr)
			}
			as, again := evidence.ApplyRolledBack, false
			if p == crashpoint.ApplyMarked { // it was whole, and is what was asked for
				as, again = evidence.ApplyApplied, true
			}
			if id := res.Recovered[0]; res.RecoveredAs[id] != as || (id == res.ApplyID) != again {
				t.Errorf("apply %s; recovered %v", res.ApplyID, res.RecoveredAs)
			}
			if got := content(t, target); got != contentAfter {
				t.Errorf("the target is %q", got)
			}
			s.ok("apply", "--undo", res.ApplyID)
			if got := content(t, target); got != contentBefore {
				t.Errorf("after the undo the target is %q", got)
			}
		})
	}
}

// TestCleanupNamesAnApplyThatWasCutShort kills `deed apply` and looks for it: a cleanup changes nothing in the directory and names the apply, and
// the command that it gives takes the apply back. The output says whether the apply was taken back or finished.
func TestCleanupNamesAnApplyThatWasCutShort(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfApply {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, bundle, target := applySite(t)
			if o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "apply", bundle, "--to", target); o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			was, err := filepath.Glob(filepath.Join(target, "*"))
			if err != nil {
				t.Fatal(err)
			}
			var rep struct {
				Findings []gc.Finding `json:"findings"`
			}
			if err := json.Unmarshal([]byte(s.ok("cleanup", "--json")), &rep); err != nil {
				t.Fatal(err)
			}
			if len(rep.Findings) != 1 || rep.Findings[0].Kind != gc.KindApply || rep.Findings[0].Path != target || rep.Findings[0].Result != gc.ResultLeft {
				t.Fatalf("findings %+v", rep.Findings)
			}
			id := rep.Findings[0].Owner
			if command := "deed apply --undo " + id; !strings.Contains(rep.Findings[0].Reason, command) {
				t.Errorf("no %q in %q", command, rep.Findings[0].Reason)
			}
			if now, err := filepath.Glob(filepath.Join(target, "*")); err != nil || !slices.Equal(now, was) {
				t.Errorf("the cleanup changed the directory: %v, was %v, %v", now, was, err)
			}
			o := s.deed(nil, "apply", "--undo", id)
			says := "apply " + id + " had been cut short, and was taken back"
			if p == crashpoint.ApplyMarked {
				says = "apply " + id + " had been cut short when it was whole; it was finished first"
			}
			if o.code != 0 || !strings.Contains(o.stderr, says) {
				t.Errorf("exit %d, want %q\n%s%s", o.code, says, o.stdout, o.stderr)
			}
			if got := content(t, target); got != contentBefore {
				t.Errorf("the target is %q", got)
			}
			if o = s.deed(nil, "cleanup"); !strings.Contains(o.stderr, "nothing is left behind") {
				t.Errorf("a second cleanup: %s%s", o.stdout, o.stderr)
			}
		})
	}
}

// TestCrashOfUndo kills an undo: the next command finishes it.
func TestCrashOfUndo(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfUndo {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, bundle, target := applySite(t)
			var res evidence.ApplyResult
			if err := json.Unmarshal([]byte(s.ok("apply", bundle, "--to", target, "--json")), &res); err != nil {
				t.Fatal(err)
			}
			o := s.deed([]string{"DEED_CRASHPOINT=" + string(p)}, "apply", "--undo", res.ApplyID)
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if o = s.deed(nil, "apply", "--undo", res.ApplyID); o.code != ExitNotDone || !strings.Contains(o.stderr, "undone already") {
				t.Errorf("undo again: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if got := content(t, target); got != contentBefore {
				t.Errorf("the target is %q", got)
			}
			s.ok("apply", bundle, "--to", target)
		})
	}
}

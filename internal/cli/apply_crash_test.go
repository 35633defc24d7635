package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/crashpoint"
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
			var res codebox.ApplyResult
			if err := json.Unmarshal([]byte(o.stdout), &res); err != nil {
				t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
			}
			if len(res.Recovered) != 1 {
				t.Errorf("recovered %v", res.Recovered)
			}
			if p == crashpoint.ApplyMarked { // it was whole; applying again finds that the files are not as the agent found them
				if o.code != ExitNotDone || res.Status != codebox.ApplyRefused {
					t.Errorf("exit %d, %s", o.code, res.Status)
				}
				res.ApplyID = res.Recovered[0]
			} else if o.code != 0 || res.Status != codebox.ApplyApplied {
				t.Errorf("exit %d, %s\n%s", o.code, res.Status, o.stderr)
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

// TestCrashOfUndo kills an undo: the next command finishes it.
func TestCrashOfUndo(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfUndo {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, bundle, target := applySite(t)
			var res codebox.ApplyResult
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

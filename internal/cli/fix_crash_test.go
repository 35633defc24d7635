package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/crashpoint"
)

const fixerScript = `#!/bin/sh
if [ "${HOMEBOY_FIX_ONLY:-}" = 1 ]; then
  for f in a.txt b.txt; do
    sed 's/^bad$/good/' "$f" >"$f.tmp" && mv "$f.tmp" "$f"
  done
  echo new >new.txt
  exit 0
fi
grep -n '^bad$' a.txt b.txt && exit 1
exit 0
`

// fixerSite makes a component whose fixer changes two files and adds one.
func fixerSite(t *testing.T) (s *site, dir string) {
	t.Helper()
	s = newSite(t, nil)
	dir = filepath.Join(s.dir, "app")
	ext := filepath.Join(dir, ".deed", "extensions", "mend")
	if err := os.MkdirAll(ext, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "homeboy.json"), `{"id": "app", "extensions": {"mend": {}}}`)
	writeFile(t, filepath.Join(ext, "mend.json"), `{"name": "mend", "version": "1.0.0", "lint": {"extension_script": "lint.sh"}, "autofix_verify": {"command": "sh", "args": ["verify.sh"]}}`)
	writeFile(t, filepath.Join(ext, "lint.sh"), fixerScript)
	if err := os.Chmod(filepath.Join(ext, "lint.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "verify.sh"), "exit ${VERIFY:-0}\n")
	writeFile(t, filepath.Join(dir, "a.txt"), "bad\n")
	writeFile(t, filepath.Join(dir, "b.txt"), "fine\nbad\n")
	return s, dir
}

// fixerState is what the fixer can change, in one line.
func fixerState(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	for _, name := range []string{"a.txt", "b.txt", "new.txt"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			b = []byte("-")
		}
		out = append(out, strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", "|"))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".deed-undo-*")); len(left) > 0 {
		t.Errorf("%v is left in the component", left)
	}
	return strings.Join(out, " ")
}

const (
	fixerBefore = "bad fine|bad -"
	fixerAfter  = "good fine|good new"
)

// TestCrashOfFix kills `deed lint --fix` at each of its steps: no file of the user's is lost, the next run puts back what
// was not verified and says so, and then does its own work.
func TestCrashOfFix(t *testing.T) {
	t.Parallel()
	for _, p := range crashpoint.OfFix {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, dir := fixerSite(t)
			env := []string{"DEED_CRASHPOINT=" + string(p)}
			if slices.Contains([]crashpoint.Point{crashpoint.FixHalfRestored, crashpoint.FixRestored}, p) {
				env = append(env, "VERIFY=1")
			}
			o := s.deed(env, "lint", "--fix", dir)
			if o.signal != syscall.SIGKILL {
				t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if p == crashpoint.FixKept { // it was verified: it stays
				if got := fixerState(t, dir); got != fixerAfter {
					t.Errorf("the files are %q", got)
				}
				if o = s.deed(nil, "lint", dir); strings.Contains(o.stdout, "was killed") {
					t.Errorf("there is nothing to put back:\n%s", o.stdout)
				}
				return
			}
			if o = s.deed(nil, "lint", dir); !strings.Contains(o.stdout, "was killed and may have left files half fixed") {
				t.Errorf("a plain lint does not tell:\n%s%s", o.stdout, o.stderr)
			}
			// A run that cannot be verified shows what the recovery gave back.
			if o = s.deed([]string{"VERIFY=1"}, "lint", "--fix", dir); !strings.Contains(o.stdout, "was killed: ") {
				t.Errorf("the recovery is not told:\n%s%s", o.stdout, o.stderr)
			}
			if got := fixerState(t, dir); got != fixerBefore {
				t.Errorf("the files are %q", got)
			}
			if o = s.deed(nil, "lint", "--fix", dir); o.code != ExitDone || strings.Contains(o.stdout, "was killed") {
				t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			if got := fixerState(t, dir); got != fixerAfter {
				t.Errorf("the files are %q", got)
			}
		})
	}
}

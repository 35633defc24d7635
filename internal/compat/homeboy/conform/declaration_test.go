package conform

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
)

// Edge case 35: a command whose files do not fit together is found by asking it for its declaration, before any request;
// one that is no program of node is asked the same way.
func TestCommandsThatDoNotLoad(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		program, file, text string
		want                string // of command.declaration
		says                string
	}{
		"node, and a file that is not there": {"node", "run.cjs", `require('./lib/missing.cjs')`, deed.ConformFail, "Cannot find module"},
		"sh, which knows nothing of it":      {"sh", "run.sh", "cat >/dev/null\n", deed.ConformFail, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skip("missing tool: " + tt.program + ": run scripts/setup.sh")
			}
			dir := make1(t, "good", func(_, x map[string]any) {
				x["command"] = tt.program + " {{runtime_path}}/" + tt.file
				delete(x, "command_argv")
			})
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := conform(t, dir, Options{})
			for _, c := range r.Checks {
				if c.ID == ruleDeclaration.id && (c.Result != tt.want || !strings.Contains(c.Reason+c.Evidence, tt.says)) {
					t.Errorf("%s: %s\n%s", c.Result, c.Reason, c.Evidence)
				}
			}
			if r.Passed {
				t.Errorf("it conforms\n%s", dump(r))
			}
		})
	}
}

package runnerworkspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/base/proc/proctest"
)

// TestWithoutRoot runs tests as a user for whom permissions hold.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	if out := proctest.WithoutRoot(t, "^TestCommandShuts.*$", "-test.v"); strings.Contains(out, "missing tool") {
		t.Skipf("missing tool: bwrap: let users who are not root have user namespaces\n%s", out)
	}
}

// What a command hides in a directory that cannot be listed is found and reported, with the command's exit status.
func TestCommandShutsADirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root lists everything; TestWithoutRoot runs this")
	}
	for name, c := range map[string]struct {
		command string
		says    []string
		gone    string
	}{
		"not listable":       {`mkdir -p d/sub/.git && chmod 0311 d`, []string{`left "d" so that nobody can list it`, `a repository at "d/sub/.git"`}, "d/sub/.git"},
		"not to be entered":  {`mkdir -p d/.git && chmod 0600 d; exit 3`, []string{`left "d" so`, `a repository at "d/.git"`}, "d/.git"},
		"shut one in other":  {`mkdir -p d/e/.git && chmod 0 d/e && chmod 0 d`, []string{`left "d, d/e" so`, `a repository at "d/e/.git"`}, "d/e/.git"},
		"and one in plain":   {`mkdir -p a/.git d && chmod 0 d`, []string{`left "d" so`, `a repository at "a/.git"`}, "a/.git"},
		"nothing is in it":   {`mkdir d && chmod 0 d`, []string{`left "d" so`}, ".git"},
		"more than is named": {`for i in $(seq 30); do mkdir d$i && chmod 0 d$i; done`, []string{" and 10 more so that"}, ".git"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			res := runner().Command(t.Context(), codebox.CommandRequest{WorkspacePath: dir, Command: c.command})
			if res.Error != nil && res.FailureType == codebox.FailureIsolationUnavailable {
				t.Skip("missing tool: bwrap: apt-get install bubblewrap")
			}
			check(t, codebox.SchemaCommandResult, res)
			if res.Success || res.ExitCode == nil || (*res.ExitCode == 3) != strings.Contains(c.command, "exit 3") {
				t.Fatalf("%+v, %+v", res, res.Error)
			}
			for _, say := range c.says {
				if !strings.Contains(res.Error.Message, say) {
					t.Errorf("no %q in %q", say, res.Error.Message)
				}
			}
			if exists(filepath.Join(dir, c.gone)) {
				t.Errorf("%s is there", c.gone)
			}
		})
	}
}

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store"
)

// When the disk of artifacts_path is full the run fails and its task is completed: the gate has accepted the work, and only its bundle could not be
// handed over. Each record says so of the other.
func TestAgentTaskRunOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"agent": `echo x >new; echo '{"status": "completed"}' >"$DEED_RESULT_FILE"`})
	small := filepath.Join(s.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	c := s.command(nil, "agent-task-run", "--json", "--input-file="+s.request("agent", map[string]any{"artifacts_path": filepath.Join(small, "out")}))
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("missing tool: unshare: install util-linux")
	}
	const script = `mount -t tmpfs -o size=64k none "$1" || exit 99; shift; exec "$@"`
	c.Args, c.Path = append([]string{unshare, "--mount", "sh", "-c", script, "sh", small}, c.Args...), unshare
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && out.Len() == 0 {
		t.Skipf("missing tool: mount namespaces: run as root: %v %s", err, errs.String())
	}
	env := envelope(t, out.String())
	run := s.record(env)
	if c.ProcessState.ExitCode() != ExitInfra || env.Success || run.Status != evidence.RunFailed {
		t.Fatalf("exit %d: %s", c.ProcessState.ExitCode(), out.String())
	}
	list, err := s.open().Tasks(t.Context(), store.TaskFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d tasks, %v", len(list), err)
	}
	task := list[0].ID()
	if want := "the work was accepted (task " + task + " is completed), and its bundle could not be put at " + filepath.Join(small, "out"); !strings.Contains(env.AgentTaskRunResult.Summary, want) {
		t.Errorf("the run says %q, want %q", env.AgentTaskRunResult.Summary, want)
	}
	shown := s.ok("task", "show", task)
	for _, want := range []string{"status     completed", "run        " + run.RunID + " failed: the work was accepted"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the task does not say %q:\n%s", want, shown)
		}
	}
}

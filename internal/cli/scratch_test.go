package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/gc"
)

// The directory of a command is spared while deed lives, and is removed when deed was killed.
func TestCleanupOfAKilledWorkspaceCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	s.ok("pause") // there is a home
	request := filepath.Join(s.dir, "request.json")
	text, err := json.Marshal(codebox.CommandRequest{
		Schema: codebox.SchemaCommandRequest, WorkspacePath: s.temp(), Isolation: "process", Env: map[string]string{"MARK": s.mark},
		Command: `mkdir -p "$HOME/shut/in" && chmod 0 "$HOME/shut" && mkfifo "$HOME/p" && read never <"$HOME/p"`,
	})
	if err == nil {
		err = os.WriteFile(request, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := s.command(nil, "workspace", "command", "--input-file="+request)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	made := func() []string {
		list, err := filepath.Glob(filepath.Join(s.temp(), "deed-command-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	s.until("the command runs", func() bool {
		pids, err := proc.FindByEnv("MARK", s.mark)
		return err == nil && len(pids) > 0 && len(made()) == 1
	})
	if rep := s.report("cleanup", "--json"); len(rep.Findings) != 0 || len(made()) != 1 {
		t.Errorf("a live one: %+v", rep.Findings)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	s.noProcess()
	left := made()
	if len(left) != 1 {
		t.Fatalf("left: %v", left)
	}
	rep := s.report("cleanup", "--json")
	if len(rep.Findings) != 1 || rep.Findings[0].Path != left[0] || rep.Findings[0].Result != gc.ResultDone {
		t.Errorf("%+v", rep.Findings)
	}
	if left := made(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

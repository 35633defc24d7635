package state_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store/state"
)

var update = flag.Bool("update", false, "write the tables into the docs")

// The tables are printed into the docs from the data that the store asks.
func TestDocs(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "states.md")
	got := markdown()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Fatalf("docs/states.md is old; run go test ./internal/store/state -update (-docs +code):\n%s", d)
	}
}

func markdown() string {
	var b strings.Builder
	b.WriteString("# States\n\nThis page is printed from the tables in `internal/store/state` by a test. The store refuses every transition that is not here.\n")
	b.WriteString("\n## Task\n\n| from | to | made by | when |\n|---|---|---|---|\n")
	for _, r := range state.TaskTransitions {
		from := "`" + string(r.From) + "`"
		if r.From == state.New {
			from = "(new)"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", from, r.To, r.By, r.When)
	}
	b.WriteString("\nEvery task that has not ended has a known wake-up:\n\n| state | what ends it |\n|---|---|\n")
	for _, s := range agentruntime.TaskStatuses {
		what, waits := state.Wakeups[s]
		if !waits {
			what = "ended; an operator's retry starts it again"
			if s == agentruntime.TaskCompleted {
				what = "ended for good"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, what)
	}
	b.WriteString("\n## Attempt\n\n| from | to | when |\n|---|---|---|\n")
	for _, r := range state.AttemptTransitions {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.From, r.To, r.When)
	}
	b.WriteString("\nEach step that does not begin or end an attempt leaves the event `agent_state` with `from`, `to` and the cause.\n")
	b.WriteString("\nAn attempt ends as `completed`, `failed_terminal` or `resumable`. After `resumable` the conversation goes on in the task's next\nattempt.\n")
	b.WriteString("\n## Run\n\n| from | to | when |\n|---|---|---|\n")
	for _, r := range state.RunTransitions {
		from := "`" + string(r.From) + "`"
		if r.From == state.RunNew {
			from = "(new)"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", from, r.To, r.When)
	}
	b.WriteString("\n## Workflow\n\n| from | to | made by | when |\n|---|---|---|---|\n")
	for _, r := range state.WorkflowTransitions {
		from := "`" + string(r.From) + "`"
		if r.From == state.WorkflowNew {
			from = "(new)"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", from, r.To, r.By, r.When)
	}
	b.WriteString("\nA workflow that has not ended has a live task or an open action.\n")
	return b.String()
}

func TestTaskTable(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range state.TaskTransitions {
		k := string(r.From) + ">" + string(r.To)
		if legal[k] {
			t.Errorf("%s is there twice", k)
		}
		legal[k] = true
		if r.From != state.New && !state.TaskKnown(r.From) || !state.TaskKnown(r.To) || r.When == "" || r.By == "" {
			t.Errorf("bad row %+v", r)
		}
	}
	all := append([]agentruntime.TaskStatus{state.New, "unknown"}, agentruntime.TaskStatuses...)
	for _, from := range all {
		for _, to := range all {
			err := state.TaskNext(from, to)
			if ok := legal[string(from)+">"+string(to)]; ok != (err == nil) {
				t.Errorf("%q to %q: %v", from, to, err)
			}
			var illegal *state.IllegalError
			if err != nil && !errors.As(err, &illegal) {
				t.Errorf("%q to %q: %T", from, to, err)
			}
		}
	}
	if err := state.TaskNext(agentruntime.TaskCompleted, agentruntime.TaskPending); err == nil {
		t.Error("completed can be left")
	}
}

// From every state there is a way to an end, and a state is either terminal or has a wake-up.
func TestTaskEnds(t *testing.T) {
	t.Parallel()
	for _, s := range agentruntime.TaskStatuses {
		_, waits := state.Wakeups[s]
		if waits == state.TaskTerminal(s) {
			t.Errorf("%s: waits %v, terminal %v", s, waits, state.TaskTerminal(s))
		}
		seen := map[agentruntime.TaskStatus]bool{}
		if !state.TaskTerminal(s) && !reaches(s, seen) {
			t.Errorf("%s never ends", s)
		}
	}
	if state.TaskTerminal("unknown") || state.TaskTerminal(state.New) {
		t.Error("an unknown state is terminal")
	}
}

func reaches(s agentruntime.TaskStatus, seen map[agentruntime.TaskStatus]bool) bool {
	if state.TaskTerminal(s) {
		return true
	}
	if seen[s] {
		return false
	}
	seen[s] = true
	for _, r := range state.TaskTransitions {
		if r.From == s && reaches(r.To, seen) {
			return true
		}
	}
	return false
}

func TestAttemptTable(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range state.AttemptTransitions {
		k := string(r.From) + ">" + string(r.To)
		if legal[k] || r.When == "" {
			t.Errorf("bad row %s", k)
		}
		legal[k] = true
		if state.AttemptEnded(r.From) {
			t.Errorf("%s: an ended attempt moves", k)
		}
	}
	for _, from := range append([]state.Attempt{"", "unknown"}, state.Attempts...) {
		for _, to := range append([]state.Attempt{"", "unknown"}, state.Attempts...) {
			if ok := legal[string(from)+">"+string(to)]; ok != (state.AttemptNext(from, to) == nil) {
				t.Errorf("%q to %q", from, to)
			}
		}
	}
	// A sweep must be able to end an attempt in whatever state its runner died.
	for _, s := range state.Attempts {
		if !state.AttemptEnded(s) && state.AttemptNext(s, state.FailedTerminal) != nil {
			t.Errorf("%s cannot be swept", s)
		}
	}
}

func TestRunTable(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range state.RunTransitions {
		k := string(r.From) + ">" + string(r.To)
		if legal[k] || r.When == "" {
			t.Errorf("bad row %s", k)
		}
		legal[k] = true
		if r.From.Terminal() && r.To != r.From {
			t.Errorf("%s: a run that has ended moves", k)
		}
	}
	all := append([]evidence.RunStatus{state.RunNew, "unknown"}, evidence.RunStatuses...)
	for _, from := range all {
		for _, to := range all {
			if ok := legal[string(from)+">"+string(to)]; ok != (state.RunNext(from, to) == nil) {
				t.Errorf("%q to %q", from, to)
			}
		}
	}
	for _, c := range []struct {
		from, to evidence.RunStatus
		legal    bool
	}{
		{evidence.RunQueued, evidence.RunSucceeded, false},
		{evidence.RunRunning, evidence.RunQueued, false},
		{evidence.RunSucceeded, evidence.RunFailed, false},
		{evidence.RunSucceeded, evidence.RunSucceeded, true},
		{state.RunNew, evidence.RunRunning, false},
	} {
		if err := state.RunNext(c.from, c.to); (err == nil) != c.legal {
			t.Errorf("%q to %q: %v", c.from, c.to, err)
		}
	}
	// A sweep must be able to end a run in whatever state its runner died.
	for _, s := range evidence.RunStatuses {
		if !s.Terminal() && state.RunNext(s, evidence.RunFailed) != nil {
			t.Errorf("%s cannot be swept", s)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// The agent of a goal: it plans, adds a line each time that it works, and finds the goal reached when there are two.
const goalAgent = `
phase=$(sed -n 's/.*"phase":"\([a-z]*\)".*/\1/p' "$DEED_PAYLOAD_FILE")
echo "$phase" >> "$OUT/ran"
echo "report of $phase" > "$DEED_ARTIFACTS/$phase.md"
changed= said=
case $phase in
execute) echo line >> work.txt; changed='"work.txt"' ;;
verify) said='"workflow_signal": "continue",'; [ "$(wc -l < work.txt)" -lt 2 ] || said='"workflow_signal": "complete",' ;;
esac
cat > "$DEED_RESULT_FILE" <<JSON
{"status": "completed", "machine_status": "ok", $said "operator_summary": "did it", "file_changes": [$changed], "artifact_paths": ["$phase.md"]}
JSON
`

// goalSteps is the way that the agent takes.
const goalSteps = "plan execute verify execute verify complete"

// TestWorkflowCrash kills the real binary at each step of a goal, at the first and at a later visit, starts it again, and
// asserts that the goal is reached by the same way: no step is lost, and none is taken twice.
func TestWorkflowCrash(t *testing.T) {
	t.Parallel()
	points := append([]crashpoint.Point{crashpoint.ClaimCommitted, crashpoint.BundlePublished, crashpoint.SettleCommitted, crashpoint.CleanupDone}, crashpoint.OfWorkflow...)
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range points {
			for _, nth := range []string{"#1", "#3"} {
				if engine == store.Postgres && !slices.Contains(crashpoint.OfWorkflow, p) {
					continue // the other steps are a task's own, and TestCrash has them on both
				}
				t.Run(engine+"/"+string(p)+nth, func(t *testing.T) {
					t.Parallel()
					crashGoal(t, engine, string(p)+nth)
				})
			}
		}
	}
}

func crashGoal(t *testing.T, engine, point string) {
	s := newSite(t, map[string]string{"work": goalAgent})
	if engine == store.Postgres {
		s.dsn = pgtest.DSN(t)
	}
	src := filepath.Join(s.dir, "src")
	if err := os.Mkdir(src, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(src, "readme.txt"), "a project\n")
	start := []string{"workflow", "start", "goal-loop", "two lines", "--agent", "work", "--workspace", src}
	arm := []string{"DEED_CRASHPOINT=" + point}
	crashed := s.deed(arm, start...).signal == syscall.SIGKILL
	id := strings.TrimSpace(s.ok(start...)) // asking again gives the same one
	if !crashed {
		crashed = s.deed(arm, "dispatch").signal == syscall.SIGKILL
	}
	if !crashed {
		t.Fatalf("the crash point %s was never reached", point)
	}
	s.noProcess()
	s.ok("dispatch")
	s.ok("dispatch")
	s.noProcess()
	st := s.open()
	w, err := st.Workflow(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if w.Record.Status != agentruntime.WorkflowCompleted || w.Record.CurrentState != "complete" {
		t.Fatalf("the workflow is %s in %s: %s", w.Record.Status, w.Record.CurrentState, w.Reason)
	}
	steps, err := st.Transitions(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	var way []string
	for _, x := range steps {
		way = append(way, x.To)
	}
	if got := strings.Join(way, " "); got != goalSteps {
		t.Errorf("it went %s, want %s", got, goalSteps)
	}
	all, err := st.Workflows(t.Context(), store.WorkflowFilter{All: true})
	if err != nil || len(all) != 1 {
		t.Errorf("%d workflows, %v", len(all), err)
	}
	n, err := st.Counts(t.Context())
	if err != nil || n[agentruntime.TaskCompleted] != 5 || len(n) != 1 {
		t.Errorf("tasks %v, %v, want one for each visit", n, err)
	}
	if faults, err := st.Audit(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("audit: %v %v", faults, err)
	}
	s.tidy()
}

package providertask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/compat/homeboy/providertask"
	"github.com/deedrun/deed/internal/engine/dispatch/dispatchtest"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	os.Exit(m.Run())
}

// serviceOf returns a service with one package, whose only provider is a shell script.
func serviceOf(t *testing.T, text string) *providertask.Service {
	t.Helper()
	packages := t.TempDir()
	dir := filepath.Join(packages, "demo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"demo.json": `{"schema": "homeboy/agent-runtime-manifest/v1", "id": "demo", "name": "Demo", "version": "1.0.0",
			"agent_task_executors": [{"id": "demo.run", "backend": "demo", "command": "sh {{runtime_path}}/run.sh", "capabilities": ["structured_outcome"],
				"runner_readiness": [{"id": "shell", "executable": {"candidates": ["sh"]}}]}]}`,
		"run.sh": "read -r request\n" + text + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := dispatchtest.Engine(t, script.New(), packaged.New(packaged.Options{Dirs: []string{packages}, Environ: os.Environ()}))
	return &providertask.Service{
		Home: e.Home, Store: e.Store, Engine: e, Clock: clock.System,
		Admission: &task.Admission{Store: e.Store, Config: e.Runner.Config, Clock: clock.System, Drivers: e.Runner.Drivers},
		Options:   providertask.Options{RuntimeDirs: []string{packages}, Isolation: string(sandbox.None)},
	}
}

func request(t *testing.T, backend string) runtimepkg.Request {
	t.Helper()
	q, err := runtimepkg.RequestOf(homeboy.Request{
		Schema: homeboy.SchemaRequest, TaskID: "t1", Instructions: "do it",
		Executor: homeboy.Executor{Backend: backend, Config: map[string]homeboy.Value{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// answer is a provider's last word.
func answer(status string) string {
	return `echo '{"schema": "homeboy/agent-task-outcome/v1", "status": "` + status + `", "summary": "said"}'`
}

// A request comes to one outcome, one exit code, one record of its run and one settled task.
func TestRun(t *testing.T) {
	t.Parallel()
	failing := deed.Check{Name: "never", Command: []string{"false"}}
	for name, c := range map[string]struct {
		says   string
		checks []deed.Check
		status []homeboy.OutcomeStatus
		exit   int
		run    evidence.RunStatus
	}{
		"nothing to do":    {says: answer("no_op"), status: []homeboy.OutcomeStatus{homeboy.NoOp}, exit: 0, run: evidence.RunSucceeded},
		"it failed":        {says: answer("failed"), status: []homeboy.OutcomeStatus{homeboy.Failed}, exit: 1, run: evidence.RunFailed},
		"it lied":          {says: answer("succeeded"), checks: []deed.Check{failing}, status: []homeboy.OutcomeStatus{homeboy.Failed}, exit: 1, run: evidence.RunFailed},
		"it broke":         {says: "exit 7", status: []homeboy.OutcomeStatus{homeboy.Failed, homeboy.ProviderError}, exit: 1, run: evidence.RunFailed},
		"it said nonsense": {says: "echo nonsense", status: []homeboy.OutcomeStatus{homeboy.Failed, homeboy.ProviderError}, exit: 1, run: evidence.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serviceOf(t, c.says)
			s.Options.Checks = c.checks
			o, exit := s.Run(t.Context(), request(t, "demo"))
			if !slices.Contains(c.status, o.Status) || exit != c.exit || o.TaskID != "t1" {
				t.Errorf("%s of %s, exit %d: %s", o.Status, o.TaskID, exit, o.Summary)
			}
			runs, err := s.Store.Runs(t.Context(), store.RunFilter{})
			if err != nil || len(runs) != 1 || runs[0].Record.Status != c.run {
				t.Fatalf("the record: %+v, %v", runs, err)
			}
			got, err := s.Store.Task(t.Context(), runs[0].TaskID)
			if err != nil || !got.Record.Status.Terminal() || got.Record.AttemptCount != 1 {
				t.Errorf("the task is %s after %d attempts, %v", got.Record.Status, got.Record.AttemptCount, err)
			}
			if again, err := providertask.OutcomeOf(t.Context(), s.Store, s.Home, runs[0].AttemptID); err != nil || again.Status != o.Status {
				t.Errorf("read again: %s, %v", again.Status, err)
			}
			if list, err := s.Store.Runners(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("runners on record: %v, %v", list, err)
			}
		})
	}
}

// A request that cannot be run is refused before anything is queued.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, answer("no_op"))
	late := request(t, "demo")
	q := late.Request
	q.Limits = &homeboy.Limits{ExecutionDeadlineUnixMS: 1}
	late, err := runtimepkg.RequestOf(q)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		req    runtimepkg.Request
		status homeboy.OutcomeStatus
		code   string
	}{
		"a backend that nobody has": {request(t, "none"), homeboy.ProviderError, runtimepkg.ProviderMissing},
		"too late":                  {late, homeboy.Timeout, packaged.CodeDeadline},
	} {
		o, exit := s.Run(t.Context(), c.req)
		if o.Status != c.status || exit != 2 || len(o.Diagnostics) == 0 || o.Diagnostics[0].Class != c.code {
			t.Errorf("%s: %s, exit %d, %+v", name, o.Status, exit, o.Diagnostics)
		}
		row, refusal, err := s.Prepare(t.Context(), c.req)
		if err != nil || refusal == nil || refusal.Status != o.Status || row.AdapterID != "" {
			t.Errorf("%s: prepared as %q, %+v, %v", name, row.AdapterID, refusal, err)
		}
	}
	n, err := s.Store.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for status, count := range n {
		if count != 0 {
			t.Errorf("%d tasks are %s", count, status)
		}
	}
}

// stopper stops a run when its provider has started.
type stopper struct{ stop func() }

func (s stopper) Write(p []byte) (int, error) {
	var line deed.Progress
	for one := range bytes.Lines(p) {
		if json.Unmarshal(one, &line) == nil && line.Step == "started" {
			s.stop()
		}
	}
	return len(p), nil
}

// A caller that stops gets an outcome, whether the provider had begun or not, and nothing of the task goes on.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, "exec sleep 100000")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stream := runrecord.NewStream(stopper{stop}, clock.System)
	defer func() { _ = stream.Close() }()
	s.Streams = []*runrecord.Stream{stream}
	for _, began := range []string{"while it runs", "before it runs"} {
		o, exit := s.Run(ctx, request(t, "demo"))
		if o.Status != homeboy.Cancelled || exit != 130 {
			t.Errorf("%s: %s, exit %d: %s", began, o.Status, exit, o.Summary)
		}
	}
	n, err := s.Store.Counts(t.Context())
	if err != nil || n[agentruntime.TaskOperatorCanceled] != 1 || n[agentruntime.TaskPending]+n[agentruntime.TaskRunning]+n[agentruntime.TaskRetryableFailure] != 0 {
		t.Errorf("tasks: %v, %v", n, err)
	}
}

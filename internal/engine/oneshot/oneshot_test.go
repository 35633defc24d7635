package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/dispatch/dispatchtest"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

func engineOf(t *testing.T) *dispatch.Engine { return dispatchtest.Engine(t, script.New()) }

// row is a task for a shell script.
func row(t *testing.T, text string) store.NewTask {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	adapter, err := json.Marshal(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
		AdapterID: "agent", Kind: agentruntime.KindScript, Command: file, TimeoutMS: 600_000,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "t", Source: "test", Payload: json.RawMessage(`{}`), Deed: &deed.TaskSpec{Adapter: adapter}},
		ProfileID: config.DefaultProfile, AdapterID: "agent", MaxAttempts: 3,
	}
}

const (
	done    = `echo '{"status": "completed", "machine_status": "ok", "operator_summary": "done"}'`
	forever = "exec sleep 100000"
)

// execute takes a job from Begin to Close and returns the result and the record as the store has it.
func execute(ctx context.Context, t *testing.T, e *dispatch.Engine, job Job) (attempt.Result, store.Task, store.Run) {
	t.Helper()
	r, err := Begin(ctx, e, job)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Execute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.EndPhase(nil)
	status := evidence.RunSucceeded
	if res.Settlement.Status != agentruntime.TaskCompleted {
		status = evidence.RunFailed
	}
	r.Finish(ctx, runrecord.Outcome{Status: status})
	r.Close(ctx)
	r.Close(ctx)
	if list, err := e.Store.Runners(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("runners on record: %v, %v", list, err)
	}
	bundletest.Check(t, res.BundleDir)
	task, err := e.Store.Task(t.Context(), res.Ref.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Record == nil {
		return res, task, store.Run{}
	}
	run, err := e.Store.Run(t.Context(), r.Record.ID())
	if err != nil {
		t.Fatal(err)
	}
	return res, task, run
}

// A run is settled with its evidence, recorded, and reported step by step.
func TestRun(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	var steps []string
	res, task, run := execute(t.Context(), t, e, Job{
		Claim: New(e, row(t, done)), Record: &runrecord.New{}, Phases: true, Limit: time.Hour, Late: errors.New("late"),
		Show: func(p attempt.Progress) { steps = append(steps, p.Step) },
	})
	if res.Settlement.Status != agentruntime.TaskCompleted || task.Record.Status != agentruntime.TaskCompleted {
		t.Errorf("settled as %s (%s), the task is %s", res.Settlement.Status, res.Settlement.LastError, task.Record.Status)
	}
	if run.Record.Status != evidence.RunSucceeded || run.TaskID != res.Ref.TaskID || run.AttemptID != res.Ref.AttemptID {
		t.Errorf("the record is %s, of task %s and attempt %s", run.Record.Status, run.TaskID, run.AttemptID)
	}
	if text := strings.Join(steps, " "); !strings.Contains(text, "prepared started ended judging verdict settled") {
		t.Errorf("steps: %s", text)
	}
}

// Without UntilSettled there is one attempt, and no other process may try the task again.
func TestOneAttempt(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	res, task, _ := execute(t.Context(), t, e, Job{Claim: New(e, row(t, "exit 7")), Source: "caller", Reason: "one attempt"})
	if res.Settlement.Status != agentruntime.TaskRetryableFailure {
		t.Errorf("settled as %s", res.Settlement.Status)
	}
	if task.Record.Status != agentruntime.TaskOperatorCanceled || task.Record.AttemptCount != 1 {
		t.Errorf("the task is %s after %d attempts", task.Record.Status, task.Record.AttemptCount)
	}
}

// With UntilSettled a task is tried again when it is due.
func TestUntilSettled(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	mark := filepath.Join(t.TempDir(), "mark")
	res, task, _ := execute(t.Context(), t, e, Job{Claim: New(e, row(t, "test -e "+mark+" || { touch "+mark+"; exit 7; }; "+done)), UntilSettled: true})
	if res.Settlement.Status != agentruntime.TaskCompleted || task.Record.AttemptCount != 2 {
		t.Errorf("settled as %s after %d attempts", res.Settlement.Status, task.Record.AttemptCount)
	}
}

// Whatever ends a run, its attempt is settled for that reason, with its evidence.
func TestEnds(t *testing.T) {
	t.Parallel()
	late := failure.New(failure.Timeout, "run", errors.New("too long"), "")
	for name, c := range map[string]struct {
		job     Job
		started func(e *dispatch.Engine, stop func())
		class   failure.Class
		cause   string
	}{
		"its caller is told to stop": {started: func(_ *dispatch.Engine, stop func()) { stop() }, class: failure.Canceled, cause: "told to stop"},
		"at a terminal":              {job: Job{UntilSettled: true}, started: func(_ *dispatch.Engine, stop func()) { stop() }, class: failure.Canceled, cause: "by the operator"},
		"its limit passed":           {job: Job{Limit: 50 * time.Millisecond, Late: late}, class: failure.Timeout, cause: "too long"},
		"somebody cancels the run": {job: Job{Record: &runrecord.New{}}, started: func(e *dispatch.Engine, _ func()) {
			list, err := e.Store.Runs(context.Background(), store.RunFilter{})
			if err == nil && len(list) == 1 {
				_, err = e.Store.CancelRun(context.Background(), list[0].ID(), "because")
			}
			if err != nil {
				panic(err)
			}
		}, class: failure.Canceled, cause: "because"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engineOf(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			job := c.job
			job.Claim = New(e, row(t, forever))
			job.Show = func(p attempt.Progress) {
				if p.Step == attempt.StepStarted && c.started != nil {
					c.started(e, stop)
				}
			}
			res, task, _ := execute(ctx, t, e, job)
			if res.Settlement.Class != string(c.class) || !strings.Contains(res.Settlement.LastError, c.cause) {
				t.Errorf("settled as %s: %s", res.Settlement.Class, res.Settlement.LastError)
			}
			if !task.Record.Status.Terminal() {
				t.Errorf("the task is %s", task.Record.Status)
			}
		})
	}
}

// What cannot be begun leaves neither a live attempt nor a runner.
func TestBeginFails(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx context.Context
		job func(*dispatch.Engine) Job
	}{
		"stopped before": {stopped, func(e *dispatch.Engine) Job { return Job{Claim: New(e, row(t, "true"))} }},
		"no claim":       {t.Context(), func(*dispatch.Engine) Job { return Job{Claim: refuse} }},
		"no record": {t.Context(), func(e *dispatch.Engine) Job {
			return Job{Claim: New(e, row(t, "true")), Record: &runrecord.New{Dir: "not absolute"}}
		}},
		"no task, no record": {t.Context(), func(*dispatch.Engine) Job { return Job{Record: &runrecord.New{Dir: "not absolute"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			e := engineOf(t)
			if _, err := Begin(c.ctx, e, c.job(e)); err == nil {
				t.Fatal("it began")
			}
			runners, err := e.Store.Runners(t.Context())
			if err != nil || len(runners) != 0 {
				t.Errorf("runners on record: %v, %v", runners, err)
			}
			n, err := e.Store.Counts(t.Context())
			if err != nil || n[agentruntime.TaskRunning] != 0 {
				t.Errorf("tasks: %v, %v", n, err)
			}
		})
	}
}

func refuse(context.Context, store.ClaimOptions) (*store.Claim, error) {
	return nil, errors.New("refused")
}

// A run whose task another runner took waits for what that one makes of it.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	ctx := t.Context()
	c, err := e.Store.EnqueueClaimed(ctx, row(t, "true"), store.ClaimOptions{RunnerID: "other", Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Store.Begin(ctx, c.Ref, store.Begin{AdapterID: "agent", AdapterKind: "script"}); err != nil {
		t.Fatal(err)
	}
	r := &Run{eng: e, Claim: c}
	type answer struct {
		claim *store.Claim
		task  store.Task
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		claim, task, err := r.again(ctx, c.Ref.TaskID)
		got <- answer{claim, task, err}
	}()
	settlement := store.Settlement{
		State: "failed_terminal", Class: "unable", Status: agentruntime.TaskPermanentFailure, LastError: "no",
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskPermanentFailure, MachineStatus: agentruntime.MachineFailed, OperatorSummary: "no"},
	}
	if err := e.Store.Settle(ctx, c.Ref, settlement); err != nil {
		t.Fatal(err)
	}
	a := <-got
	if a.err != nil || a.claim != nil || a.task.Record.Status != agentruntime.TaskPermanentFailure {
		t.Fatalf("%+v", a)
	}
	if res, err := r.elsewhere(ctx, a.task); err != nil || res.Settlement.LastError != "no" || res.Settlement.Class != "unable" {
		t.Errorf("%+v, %v", res.Settlement, err)
	}
}

// A caller that stops waiting for the next attempt cancels the task.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	c, err := e.Store.EnqueueClaimed(t.Context(), row(t, "true"), store.ClaimOptions{RunnerID: "me", Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	in := store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskRetryableFailure, LastError: "lost", AvailableAt: time.Now().Add(time.Hour)}
	if err := e.Store.Settle(t.Context(), c.Ref, in); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := &Run{eng: e, Claim: c, job: Job{Source: "me", Reason: "enough"}}
	if _, _, err := r.again(ctx, c.Ref.TaskID); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	task, err := e.Store.Task(t.Context(), c.Ref.TaskID)
	if err != nil || task.Record.Status != agentruntime.TaskOperatorCanceled {
		t.Errorf("the task is %s, %v", task.Record.Status, err)
	}
}

// A run without a task has the same bounds.
func TestWorkWithoutATask(t *testing.T) {
	t.Parallel()
	e := engineOf(t)
	late := failure.New(failure.Timeout, "run", errors.New("too long"), "")
	r, err := Begin(t.Context(), e, Job{Record: &runrecord.New{}, Limit: time.Millisecond, Late: late})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	work, done := r.Work(t.Context())
	defer done()
	<-work.Done()
	if cause := context.Cause(work); !errors.Is(cause, late) {
		t.Errorf("ended for %v", cause)
	}
	r.Finish(t.Context(), runrecord.Outcome{Status: evidence.RunTimedOut})
	if run, err := e.Store.Run(t.Context(), r.Record.ID()); err != nil || run.Record.Status != evidence.RunTimedOut {
		t.Errorf("the record is %s, %v", run.Record.Status, err)
	}
}

package providertask

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// Run answers one request. There is always an outcome; exit is what a command ends with. When ctx ends, the run is
// cancelled, settled with its evidence, and told as such.
func (s *Service) Run(ctx context.Context, req runtimepkg.Request) (o homeboy.Outcome, exit int) {
	r := &run{Service: s}
	o, err := r.do(ctx, req)
	if err != nil {
		return Unbegun(ctx, req.TaskID, err)
	}
	for _, w := range req.Warnings {
		o.Diagnostics = append(o.Diagnostics, homeboy.Diagnostic{Class: ReaderLiberty, Message: w.String()})
	}
	return o, r.exit(ctx, o)
}

// Unbegun is the outcome, and the exit code, of a request that came to no settled attempt.
func Unbegun(ctx context.Context, taskID string, err error) (homeboy.Outcome, int) {
	if ctx.Err() != nil {
		o := (&Refusal{Code: "agent_task.cancelled", Class: homeboy.ClassUnknown, Status: homeboy.Cancelled, Message: "deed was told to stop before the provider ran"}).Outcome(taskID)
		o.FailureClassification = ""
		return o, failure.ExitInterrupted
	}
	if r, ok := refusalOf(err); ok {
		if r.Infra {
			return r.Outcome(taskID), failure.ExitInfra
		}
		return r.Outcome(taskID), failure.ExitUsage
	}
	return (&Refusal{Code: "agent_task." + string(failure.ClassOf(err)), Class: homeboy.ClassTransient, Message: err.Error()}).Outcome(taskID), failure.ExitInfra
}

// A run is one request under way.
type run struct {
	*Service
	claim  *store.Claim
	record *runrecord.Run

	class   failure.Class
	unheard bool // the provider left no answer
}

func (r *run) exit(ctx context.Context, o homeboy.Outcome) int {
	switch {
	case homeboy.IsSuccess(o.Status):
		return failure.ExitDone
	case o.Status == homeboy.Cancelled && ctx.Err() != nil:
		return failure.ExitInterrupted
	}
	if e := endOf(r.class); e.exit != failure.ExitDone && (e.deeds || r.unheard) {
		return e.exit
	}
	return failure.ExitNotDone
}

// do takes the request to the outcome of its one attempt.
func (r *run) do(ctx context.Context, req runtimepkg.Request) (none homeboy.Outcome, err error) {
	row, err := r.prepare(ctx, req)
	if err != nil {
		return none, err
	}
	bg := context.WithoutCancel(ctx)
	defer func() { _ = r.Engine.Close(bg) }()
	if err := r.Engine.SweepBriefly(ctx); err != nil {
		r.Engine.Log.Warn("sweep", "error", err)
	}
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if r.claim, err = r.Engine.Take(bg, row); err != nil {
		return none, err
	}
	reg := &runrecord.Registry{Store: r.Store, Clock: r.Clock, RunnerID: r.Engine.Runner.RunnerID, Home: r.Home}
	r.record, err = reg.Create(bg, runrecord.New{
		TaskID: r.claim.Ref.TaskID, AttemptID: r.claim.Ref.AttemptID, SessionID: req.TaskID, Streams: r.Streams,
		Metadata: map[string]any{"goal": req.Instructions, "agent": row.AdapterID},
	})
	if err != nil {
		return none, errors.Join(failure.New(failure.Infra, "record the run", err, ""), r.Engine.Runner.Abort(bg, r.claim, err))
	}
	res, err := r.execute(ctx)
	if err != nil {
		r.close(bg, codebox.RunFailed, err.Error(), "")
		return none, err
	}
	r.class = failure.Class(res.Settlement.Class)
	o, said, err := rebuild(bg, r.Store, r.Home, r.claim.Ref.AttemptID)
	r.unheard = !said
	if err != nil {
		r.close(bg, codebox.RunFailed, err.Error(), res.BundleDir)
		return none, failure.New(failure.Infra, "read what the attempt left", err, "")
	}
	r.close(bg, runStatus(o), o.Summary, res.BundleDir)
	return o, nil
}

// execute runs the attempt, and cancels it when ctx ends or somebody asks for it.
func (r *run) execute(ctx context.Context) (attempt.Result, error) {
	bg := context.WithoutCancel(ctx)
	work, quiet := dispatch.Watch(ctx, bg, r.record)
	defer quiet()
	r.Engine.Runner.Observe, r.Engine.Runner.OneShot = r.observe, true
	res, err := r.Engine.Execute(work, r.claim)
	if err != nil {
		return res, err
	}
	if st := res.Settlement.Status; st == agentruntime.TaskBlocked || st == agentruntime.TaskRetryableFailure {
		// The caller owns what comes next; nothing of this task may run behind its back.
		if _, err := r.Store.Cancel(bg, res.Ref.TaskID, "deed runtime run makes one attempt", Source); err != nil {
			return res, err
		}
	}
	return res, nil
}

// observe moves the run's record along with the attempt.
func (r *run) observe(p attempt.Progress) {
	to := map[string]codebox.RunStatus{attempt.StepStarted: codebox.RunRunning, attempt.StepVerdict: codebox.RunCollecting}[p.Step]
	if to != "" && r.record.Record().Status != to {
		if err := r.record.To(context.Background(), to); err != nil {
			r.Engine.Log.Warn("run record", "error", err)
		}
	}
	r.record.Progress(p.Step, p.Text)
}

func runStatus(o homeboy.Outcome) codebox.RunStatus {
	switch {
	case homeboy.IsSuccess(o.Status):
		return codebox.RunSucceeded
	case o.Status == homeboy.Cancelled:
		return codebox.RunCancelled
	case o.Status == homeboy.Timeout:
		return codebox.RunTimedOut
	}
	return codebox.RunFailed
}

// close ends the run's record.
func (r *run) close(ctx context.Context, status codebox.RunStatus, why, bundleDir string) {
	o := runrecord.Outcome{Status: status, Bundle: bundleDir}
	if bundleDir != "" {
		o.Refs = []codebox.RunArtifactRef{{Kind: codebox.KindArtifactBundle, Directory: bundleDir}}
	}
	if status != codebox.RunSucceeded {
		o.Error = &codebox.RunError{Name: "RuntimeRunError", Message: why, Code: string(r.class)}
	}
	if err := r.record.Finish(ctx, o); err != nil {
		r.Engine.Log.Warn("run record", "error", err)
	}
}

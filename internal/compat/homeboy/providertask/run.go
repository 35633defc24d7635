package providertask

import (
	"context"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/oneshot"
	"github.com/deedrun/deed/internal/evidence/runrecord"
)

// Run answers one request. There is always an outcome; exit is the exit code of a command. When ctx ends, the run is
// cancelled, settled with its evidence, and reported as cancelled.
func (s *Service) Run(ctx context.Context, req runtimepkg.Request) (o homeboy.Outcome, exit int) {
	r := &run{Service: s}
	o, err := r.do(ctx, req)
	if err != nil {
		return NotStarted(ctx, req.TaskID, err)
	}
	for _, w := range req.Warnings {
		o.Diagnostics = append(o.Diagnostics, homeboy.Diagnostic{Class: ReaderLiberty, Message: w.String()})
	}
	return o, r.exit(ctx, o)
}

// NotStarted returns the outcome, and the exit code, of a request that led to no settled attempt.
func NotStarted(ctx context.Context, taskID string, err error) (homeboy.Outcome, int) {
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

// A run is one request in progress.
type run struct {
	*Service
	job *oneshot.Run

	class    failure.Class
	noAnswer bool // the provider left no answer
}

func (r *run) exit(ctx context.Context, o homeboy.Outcome) int {
	switch {
	case homeboy.IsSuccess(o.Status):
		return failure.ExitDone
	case o.Status == homeboy.Cancelled && ctx.Err() != nil:
		return failure.ExitInterrupted
	}
	if r.class != failure.None && (wordOf(string(r.class)).own || r.noAnswer) {
		return ending.OfClass(r.class).Exit
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
	r.job, err = oneshot.Begin(ctx, r.Engine, oneshot.Job{
		Claim: oneshot.New(r.Engine, row),
		Record: &runrecord.New{
			SessionID: req.TaskID, Streams: r.Streams, Metadata: map[string]any{"goal": req.Instructions, "agent": row.AdapterID},
		},
		Source: Source, Reason: "deed runtime run makes one attempt",
	})
	if err != nil {
		return none, err
	}
	defer r.job.Close(bg)
	res, err := r.job.Execute(ctx)
	if err != nil {
		r.close(bg, evidence.RunFailed, err.Error(), "")
		return none, err
	}
	r.class = failure.Class(res.Settlement.Class)
	o, answered, err := rebuild(bg, r.Store, r.Home, r.job.Claim.Ref.AttemptID)
	r.noAnswer = !answered
	if err != nil {
		r.close(bg, evidence.RunFailed, err.Error(), res.BundleDir)
		return none, failure.New(failure.Infra, "read what the attempt left", err, "")
	}
	r.close(bg, runStatus(o), o.Summary, res.BundleDir)
	return o, nil
}

func runStatus(o homeboy.Outcome) evidence.RunStatus {
	switch {
	case homeboy.IsSuccess(o.Status):
		return evidence.RunSucceeded
	case o.Status == homeboy.Cancelled:
		return evidence.RunCancelled
	case o.Status == homeboy.Timeout:
		return evidence.RunTimedOut
	}
	return evidence.RunFailed
}

// close ends the run's record.
func (r *run) close(ctx context.Context, status evidence.RunStatus, why, bundleDir string) {
	o := runrecord.Outcome{Status: status, Bundle: bundleDir}
	if bundleDir != "" {
		o.Refs = []evidence.RunArtifactRef{{Kind: evidence.KindArtifactBundle, Directory: bundleDir}}
	}
	if status != evidence.RunSucceeded {
		o.Error = &evidence.RunError{Name: "RuntimeRunError", Message: why, Code: string(r.class)}
	}
	r.job.Finish(ctx, o)
}

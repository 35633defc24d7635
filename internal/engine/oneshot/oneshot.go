// Package oneshot owns a single run in the foreground, in the caller's process: it clears away what dead processes left, claims the task
// under lease and fence, keeps the record of the run, executes the attempt, and ends it when its caller, an operator or its time limit says
// so. Nothing of the task is running when it returns. The callers own what is asked for and how the result is reported.
//
// A crash leaves what every attempt leaves, a live record, and a runner that is recognised as dead: the next sweep settles the attempt as
// lost and ends the record.
package oneshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// A Claim takes a task for this process, with the given options.
type Claim func(ctx context.Context, o store.ClaimOptions) (*store.Claim, error)

// A Job is what to run, and within which bounds.
type Job struct {
	Claim  Claim                  // nil: there is no task behind the run
	Record *runrecord.New         // the record to keep, whose task and attempt are filled in; nil: none
	Phases bool                   // the record has the phases of the attempt
	Show   func(attempt.Progress) // gets every step of the attempt; may be nil

	Limit time.Duration // how long the work may take; for an attempt it counts from when the workspace is ready; 0: no limit
	Late  error         // the cause of the end when Limit has passed

	// UntilSettled retries a task that may be tried again until it is settled or blocked. Otherwise there is one attempt, and
	// Source cancels what is left of the task, for the Reason.
	UntilSettled   bool
	Source, Reason string
}

// A Run is a job under way. Its caller ends it with Finish and Close.
type Run struct {
	Record *runrecord.Run // nil: none is kept
	Claim  *store.Claim   // nil: there is no task

	eng    *dispatch.Engine
	job    Job
	ready  func() // the workspace is
	phase  string // under way
	ended  func(error)
	closed bool
}

// New is the claim of a task that does not exist yet: it is queued and claimed in one transaction.
func New(eng *dispatch.Engine, row store.NewTask) Claim {
	return func(ctx context.Context, o store.ClaimOptions) (*store.Claim, error) {
		c, err := eng.Store.EnqueueClaimed(ctx, row, o)
		if err != nil {
			return nil, failure.New(failure.Infra, "queue the task", err, "")
		}
		return c, nil
	}
}

// Begin clears away what dead processes left, puts this process on record, claims the task and records the run. The engine must not be
// registered yet. After an error nothing is left to end.
func Begin(ctx context.Context, eng *dispatch.Engine, job Job) (*Run, error) {
	r := &Run{eng: eng, job: job, ready: func() {}, ended: func(error) {}}
	if err := eng.SweepBriefly(ctx); err != nil && ctx.Err() == nil {
		eng.Log.Warn("sweep", "error", err) // what cannot be cleared away is the doctor's
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	bg := context.WithoutCancel(ctx)
	if err := eng.Register(bg); err != nil {
		return nil, failure.New(failure.Infra, "register the runner", err, "")
	}
	if err := r.open(bg); err != nil {
		r.Close(bg)
		return nil, err
	}
	return r, nil
}

// open claims the task and records the run.
func (r *Run) open(ctx context.Context) (err error) {
	if r.job.Claim != nil {
		if r.Claim, err = r.job.Claim(ctx, r.options()); err != nil {
			return err
		}
	}
	if r.job.Record == nil {
		return nil
	}
	n := *r.job.Record
	if r.Claim != nil {
		n.TaskID, n.AttemptID = r.Claim.Ref.TaskID, r.Claim.Ref.AttemptID
	}
	reg := &runrecord.Recorder{Store: r.eng.Store, Clock: r.eng.Clock, RunnerID: r.eng.Runner.RunnerID, Home: r.eng.Home}
	if r.Record, err = reg.Create(ctx, n); err == nil {
		return nil
	}
	fault := failure.New(failure.Infra, "record the run", err, "")
	if r.Claim == nil {
		return fault
	}
	return errors.Join(fault, r.eng.Runner.Abort(ctx, r.Claim, err))
}

func (r *Run) options() store.ClaimOptions {
	return store.ClaimOptions{RunnerID: r.eng.Runner.RunnerID, Lease: r.eng.Runner.Lease}
}

// Execute runs the attempt to its settlement. When ctx ends, the attempt is cancelled and settled with its evidence.
func (r *Run) Execute(ctx context.Context) (attempt.Result, error) {
	bg := context.WithoutCancel(ctx)
	work, done := r.Work(ctx)
	defer done()
	r.begin(attempt.PhaseStartup)
	r.eng.Runner.Observe, r.eng.Runner.OneShot = r.observe, !r.job.UntilSettled
	if r.job.UntilSettled {
		return r.untilSettled(bg, work)
	}
	res, err := r.eng.Execute(work, r.Claim)
	if err != nil {
		return res, err
	}
	if st := res.Settlement.Status; st == agentruntime.TaskBlocked || st == agentruntime.TaskRetryableFailure {
		// The caller owns what comes next; nothing of this task may run behind its back.
		if _, err := r.eng.Store.Cancel(bg, res.Ref.TaskID, r.job.Reason, r.job.Source); err != nil {
			return res, err
		}
	}
	return res, nil
}

// Work returns the context of what the run does. It does not end with ctx itself, but with a cause that an attempt understands: when ctx
// ends, when somebody cancels the run, when another process took it over, or when the time limit passed. The record beats until the
// returned function is called.
func (r *Run) Work(ctx context.Context) (work context.Context, done func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := attempt.Stopped
	if r.job.UntilSettled {
		stopped = driver.ErrCanceled // Ctrl-C at the terminal is the operator's cancel
	}
	ends := []func(){func() { cancel(nil) }}
	unstop := context.AfterFunc(ctx, func() { cancel(stopped) })
	ends = append(ends, func() { unstop() })
	if limit := r.job.Limit; limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(r.job.Late) })
		r.ready = func() {
			if timer.Stop() {
				timer.Reset(limit)
			}
		}
		ends = append(ends, func() { timer.Stop() })
	}
	if r.Record != nil {
		beat, quiet := r.Record.Watch(work)
		unbeat := context.AfterFunc(beat, func() { cancel(r.cause(context.Cause(beat))) })
		ends = append(ends, quiet, func() { unbeat() })
	}
	return work, func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
}

// cause is why the record ended the work, as an attempt reads it.
func (r *Run) cause(err error) error {
	if r.Claim != nil && errors.Is(err, runrecord.ErrCancelRequested) {
		return fmt.Errorf("%w: %w", driver.ErrCanceled, err)
	}
	return err
}

// Finish ends the record of the run.
func (r *Run) Finish(ctx context.Context, o runrecord.Outcome) {
	if r.Record == nil {
		return
	}
	if err := r.Record.Finish(ctx, o); err != nil {
		r.eng.Log.Warn("run record", "error", err)
	}
}

// Close ends the supervisors and takes this process off the record. A second call does nothing.
func (r *Run) Close(ctx context.Context) {
	if r.closed {
		return
	}
	r.closed = true
	if err := r.eng.Close(context.WithoutCancel(ctx)); err != nil {
		r.eng.Log.Warn("close", "error", err)
	}
}

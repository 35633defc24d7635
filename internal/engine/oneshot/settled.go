package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// untilSettled runs attempts of the task until it is settled or blocked.
func (r *Run) untilSettled(bg, work context.Context) (attempt.Result, error) {
	for {
		res, err := r.eng.Execute(work, r.Claim)
		if err != nil || res.Settlement.Status != agentruntime.TaskRetryableFailure || work.Err() != nil {
			return res, err
		}
		claim, t, err := r.again(work, res.Ref.TaskID)
		if err != nil {
			return res, err
		}
		if claim == nil {
			return r.elsewhere(bg, t)
		}
		r.Claim = claim
	}
}

// safetyNet is how long the task is left alone at most while another process has it: a wake-up may be lost, or that process die.
const safetyNet = 2 * time.Second

// again waits until a task is due once more, and claims it. When a dispatcher was faster it waits for what that one makes of it; the
// claim is nil when the task ended there.
func (r *Run) again(ctx context.Context, id string) (*store.Claim, store.Task, error) {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	local, err := r.eng.Home.Watch(watch) // processes on this home
	if err != nil {
		return nil, store.Task{}, err
	}
	remote, err := r.eng.Store.Listen(watch) // other machines
	if err != nil {
		return nil, store.Task{}, err
	}
	opt := r.options()
	opt.TaskID = id
	for {
		t, err := r.eng.Store.Task(ctx, id)
		if ctx.Err() != nil {
			return nil, t, r.interrupted(ctx, id)
		}
		if err != nil {
			return nil, t, err
		}
		if state.TaskTerminal(t.Record.Status) || t.Record.Status == agentruntime.TaskBlocked {
			return nil, t, nil
		}
		wait := safetyNet
		if t.Record.Status != agentruntime.TaskRunning {
			at, err := t.Record.AvailableAt.Time()
			if err != nil {
				return nil, t, err
			}
			if wait = at.Sub(r.eng.Clock()); wait <= 0 {
				claim, err := r.eng.Store.Claim(ctx, opt)
				if err == nil || !errors.Is(err, store.ErrNoTask) && !errors.Is(err, store.ErrTerminal) && !errors.Is(err, store.ErrRunning) {
					return claim, t, err
				}
				wait = 10 * time.Millisecond // another runner was faster, or the task is due a moment later
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case _, ok := <-local:
			if !ok {
				local = nil
			}
		case _, ok := <-remote:
			if !ok {
				remote = nil
			}
		}
		timer.Stop()
	}
}

// interrupted cancels a task that waits for its next attempt when its caller does not.
func (r *Run) interrupted(ctx context.Context, id string) error {
	_, err := r.eng.Store.Cancel(context.WithoutCancel(ctx), id, r.job.Reason, r.job.Source)
	return errors.Join(context.Canceled, err)
}

// elsewhere is the result of a task that another runner brought to its end.
func (r *Run) elsewhere(ctx context.Context, t store.Task) (attempt.Result, error) {
	res := attempt.Result{Ref: store.Ref{TaskID: t.ID(), AttemptID: t.AttemptID, Fence: t.Fence}}
	at, err := r.eng.Store.Attempt(ctx, t.AttemptID)
	if err != nil {
		return res, err
	}
	res.Settlement = store.Settlement{Attempt: at.Record, Class: at.Class, Status: t.Record.Status, Outcome: t.Record.Outcome, BundleID: at.BundleID}
	if t.Record.LastError != nil {
		res.Settlement.LastError = *t.Record.LastError
	}
	if len(at.Verdict) > 0 {
		if err := json.Unmarshal(at.Verdict, &res.Verdict); err != nil {
			return res, fmt.Errorf("verdict of attempt %s: %w", t.AttemptID, err)
		}
	}
	if at.BundleDir != "" {
		res.BundleDir = filepath.Join(r.eng.Home.Root(), at.BundleDir)
	}
	return res, nil
}

package fanoutrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/store"
)

// An Executor runs the tasks of a fanout in this process.
type Executor interface {
	// Execute runs a claim to its settlement. When ctx ends, it settles what it can and returns.
	Execute(ctx context.Context, c *store.Claim) error
	// Beat says that this process is alive.
	Beat(ctx context.Context) error
	// Sweep settles what dead processes left, so that nothing waits for what they held.
	Sweep(ctx context.Context) error
}

// lookAgain is how often the items are looked at that run elsewhere.
const lookAgain = time.Second

// Run brings a fanout that this process owns to its end, with its tasks run in this process. It returns when nothing of
// it runs here any more: the fanout is over, or ctx ended. What it returns in the latter case waits for Resume.
func (s *Service) Run(ctx context.Context, id string, x Executor) (store.Fanout, error) {
	bg := context.WithoutCancel(ctx)
	work, stop := context.WithCancelCause(bg)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(driver.ErrInterrupted) })()
	r := &running{Service: s, x: x, ended: make(chan error)}
	f, err := r.loop(ctx, work, id)
	if err != nil {
		stop(driver.ErrInterrupted) // no one would record how the others end; they wait for their next owner
	}
	for r.workers > 0 {
		err = errors.Join(err, own(<-r.ended))
		r.workers--
	}
	if ctx.Err() != nil && err == nil && f.Live() {
		if last, lerr := s.Store.Fanout(bg, f.ID); lerr == nil {
			f = last
		}
		err = errors.Join(s.writeFile(bg, f, true), context.Cause(ctx))
	}
	return f, err
}

// running is a fanout that runs in this process.
type running struct {
	*Service
	x       Executor
	ended   chan error
	workers int
	waits   bool // for another fanout, or for what another process ran and perhaps died with
	logged  bool // for which one
}

func (r *running) loop(ctx, work context.Context, id string) (store.Fanout, error) {
	beat := time.NewTicker(r.Lease / 2)
	defer beat.Stop()
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	for {
		st, err := r.Advance(context.WithoutCancel(ctx), id)
		for _, c := range st.Claims { // they are claimed: run them, whatever else went wrong
			r.workers++
			go func() { r.ended <- r.x.Execute(work, c) }()
		}
		if err != nil || !st.Fanout.Live() {
			return st.Fanout, err
		}
		var look <-chan time.Time
		switch {
		case st.Moved >= maxMoves:
			continue
		case st.Away || st.Waits:
			again.Reset(lookAgain)
			look = again.C
		case r.workers == 0:
			return st.Fanout, fmt.Errorf("fanout %s: %d tasks are pending and none can be released; this is a fault in deed: please report it", id, st.Fanout.Pending)
		}
		r.logWait(ctx, st)
		if err := r.wait(ctx, beat.C, look); err != nil {
			return st.Fanout, err
		}
		if ctx.Err() != nil {
			return st.Fanout, nil
		}
	}
}

// logWait logs once what an idle run waits for, if that is another fanout.
func (r *running) logWait(ctx context.Context, st Step) {
	if r.waits = st.Waits || st.Away; !st.Waits || r.workers > 0 || r.logged {
		return
	}
	list, err := r.Store.SharedWaits(ctx, st.Fanout.ID)
	for _, w := range list {
		if r.logged = err == nil; w.FanoutID != st.Fanout.ID {
			r.Log.Warn("waiting for a key", "key", strings.TrimPrefix(w.Resource, useKey), "held_by_fanout", w.FanoutID, "task", w.TaskID)
		}
	}
}

// wait returns when there may be something to do.
func (r *running) wait(ctx context.Context, beat, look <-chan time.Time) error {
	for {
		select {
		case err := <-r.ended:
			r.workers--
			return own(err)
		case <-look:
			return nil
		case <-beat:
			if err := r.x.Beat(ctx); err != nil {
				r.Log.Warn("heartbeat", "error", err)
			}
			if !r.waits {
				continue
			}
			if err := r.x.Sweep(ctx); err != nil {
				r.Log.Warn("sweep", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// own is what went wrong with a task that ran here. A task that another runner took over is that runner's to settle.
func own(err error) error {
	if errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}

// Resume makes this process the owner of a fanout whose owner is dead; dead names the runners that are known to be
// dead. With a live owner it is refused with a *store.OwnedError. Without a runner of its own the service leaves the
// fanout to dispatchers.
func (s *Service) Resume(ctx context.Context, id string, dead []string) (store.Fanout, error) {
	f, err := s.Store.Fanout(ctx, id)
	if err != nil {
		return f, err
	}
	if !f.Live() {
		return f, s.writeFile(ctx, f, true) // the process may have died between the last record and the file
	}
	if s.Runner.ID == "" {
		return s.Store.OwnFanout(ctx, f.ID, nil, dead)
	}
	return s.Store.OwnFanout(ctx, f.ID, &s.Runner, dead)
}

// A Cancelled says what a cancel did. The words are those of the contract.
type Cancelled struct {
	Fanout store.Fanout
	Result string
	Asked  int // running tasks that were asked to end
}

// The results of a cancel.
const (
	CancelledDone      = "cancelled"                     // nothing of it runs any more
	CancelledRequested = "cancellation_requested"        // what runs has yet to obey
	CancelledTooLate   = "terminal_without_cancellation" // it was over; its result stays
)

// Cancel ends a fanout: what is pending is never started, and what runs is asked to end, once. What comes to a result
// before it obeys keeps it. The records of what was pending are written here, unless a live process runs the fanout; live
// says whether one does.
func (s *Service) Cancel(ctx context.Context, id, reason, by string, live func(store.Fanout) bool) (Cancelled, error) {
	f, err := s.Store.Fanout(ctx, id)
	if err != nil {
		return Cancelled{}, err
	}
	if !f.Live() {
		return Cancelled{Fanout: f, Result: CancelledTooLate}, nil
	}
	out := Cancelled{Result: CancelledRequested}
	if out.Fanout, err = s.Store.CancelFanout(ctx, f.ID, reason, by); err != nil {
		return out, err
	}
	if reason == "" {
		reason = "the fanout was cancelled"
	}
	items, err := s.Store.ReleasedItems(ctx, f.ID)
	if err != nil {
		return out, err
	}
	for _, it := range items {
		res, err := s.Store.Cancel(ctx, it.TaskID, reason, by)
		if err != nil && !errors.Is(err, store.ErrTerminal) {
			return out, err
		}
		if err == nil && res.Requested {
			out.Asked++
		}
	}
	if !live(f) {
		out.Fanout, err = s.close(ctx, out.Fanout)
	} else {
		out.Fanout, err = s.Store.Fanout(ctx, f.ID)
	}
	if !out.Fanout.Live() {
		out.Result = CancelledDone
	}
	return out, err
}

// close records what it can of a cancelled fanout that no process runs.
func (s *Service) close(ctx context.Context, f store.Fanout) (store.Fanout, error) {
	set, err := s.load(ctx, f.ID)
	if err != nil {
		return f, err
	}
	st := &step{Service: s, Step: Step{Fanout: f}, set: set}
	err = st.advance(ctx)
	return st.Fanout, errors.Join(err, s.writeFile(ctx, st.Fanout, true))
}

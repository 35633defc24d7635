package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/store"
)

// safetyNet is how long the loop sleeps at most: wake-ups and due times end the sleep, and this ends it when a
// wake-up was lost or another machine's runner died.
const safetyNet = 30 * time.Second

// ServeOptions change how Serve ends and what it reports.
type ServeOptions struct {
	Drain     <-chan struct{}   // closed: claim nothing more, end when the running attempts have ended
	UntilIdle bool              // end when nothing is due and nothing runs, instead of waiting for work
	Settled   func(Ran)         // called for every settled attempt; may be nil
	Cycle     func(Report)      // called for what was done before claiming; may be nil
	Beat      func(running int) // called in every turn of the loop, by the loop: silence means that it hangs; may be nil
	BeatEvery time.Duration     // how long the loop sleeps at most; 0: as long as it likes
	Change    <-chan Parts      // new parts to continue with, of the same runner; may be nil
}

// Serve dispatches as work arrives. Ending ctx stops the running attempts; however it ends, nothing is left running
// when it returns. The caller holds the dispatch lock.
func (e *Engine) Serve(ctx context.Context, o ServeOptions) error {
	wakes, err := e.wakes(ctx)
	if err != nil {
		return err
	}
	defer e.writeCycle(ctx)
	defer e.sender.start(ctx, e.send)()
	stopHooks := e.startHooks(ctx, o)
	defer func() { stopHooks() }()
	finished := make(chan ended)
	running, draining := 0, false
	var failed error // why it ends by itself
	var swept time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			draining = true
		}
		if err := e.Home.Check(); err != nil && !draining {
			e.Log.Error("stopping", "error", err)
			draining, failed = true, err
		}
		if !draining {
			e.upkeep(ctx, o, &swept)
			n, err := e.fill(ctx, running, func(c *store.Claim) {
				r := e.Runner
				go func() {
					res, err := e.execute(ctx, r, c)
					finished <- ended{res, err}
				}()
			})
			running += n
			if ctx.Err() != nil {
				draining, err = true, nil // asked to stop meanwhile: nothing failed
			}
			e.claims.note(e.Clock(), err)
			if err != nil {
				e.Log.Error("claim", "error", err)
				if o.UntilIdle {
					draining, failed = true, err
				}
			}
		}
		if running == 0 && (draining || o.UntilIdle) {
			return failed
		}
		if running == 0 || e.cycleDue() {
			e.writeCycle(ctx)
		}
		if o.Beat != nil {
			o.Beat(running)
		}
		timer.Reset(o.atMost(e.sleep(ctx, draining || running >= e.Slots)))
		drain, stop := o.Drain, ctx.Done()
		if draining {
			drain, stop = nil, nil
		}
		select {
		case d := <-finished:
			running--
			e.report(o, d)
		case _, ok := <-wakes:
			if !ok {
				wakes = nil
			}
		case <-timer.C:
		case p := <-o.Change:
			stopHooks()
			e.mu.Lock()
			e.Parts, e.hooks = p, nil
			e.mu.Unlock()
			stopHooks = e.startHooks(ctx, o)
			swept = time.Time{} // what the new settings make due is due now
		case <-drain:
			draining = true
			e.Log.Info("draining", "running", running)
		case <-stop:
			draining = true
		}
	}
}

// startHooks lets slow work run concurrently with the loop. The function that it returns ends that work and waits for
// it.
func (e *Engine) startHooks(ctx context.Context, o ServeOptions) (stop func()) {
	var stops []func()
	for _, h := range e.Hooks {
		if h.Start != nil && !o.UntilIdle {
			stops = append(stops, h.Start(ctx))
		}
	}
	return func() {
		for _, s := range slices.Backward(stops) {
			s()
		}
	}
}

// atMost bounds a sleep by the interval at which the loop must give a sign of life.
func (o ServeOptions) atMost(d time.Duration) time.Duration {
	if o.BeatEvery > 0 {
		return min(d, o.BeatEvery)
	}
	return d
}

// ended is an attempt that has returned.
type ended struct {
	r   attempt.Result
	err error
}

// report reports how an attempt ended.
func (e *Engine) report(o ServeOptions, d ended) {
	r := ran(d.r)
	e.didSettle(r, d.err)
	switch {
	case errors.Is(d.err, store.ErrFenced):
		e.Log.Warn("attempt abandoned: another runner owns the task", "task", r.TaskID, "attempt", r.AttemptID)
	case d.err != nil:
		e.Log.Error("attempt", "task", r.TaskID, "attempt", r.AttemptID, "error", d.err)
		if o.Cycle != nil {
			o.Cycle(Report{Faults: []string{fmt.Sprintf("attempt %s: %v", r.AttemptID, d.err)}})
		}
	default:
		if o.Settled != nil {
			o.Settled(r)
		}
		e.Log.Info("settled", "task", r.TaskID, "attempt", r.AttemptID, "status", r.Status, "class", r.Class, "summary", r.Summary, "bundle", r.Bundle)
	}
}

// upkeep does what comes before claiming, when it is time: twice in a lease, and when something other than a task is
// due.
func (e *Engine) upkeep(ctx context.Context, o ServeOptions, swept *time.Time) {
	now := e.Clock()
	if now.Sub(*swept) < e.Runner.Lease/2 && !e.otherDue(ctx, now) {
		return
	}
	*swept = now
	var rep Report
	e.before(ctx, &rep)
	e.sender.wake()
	e.logReport(rep)
	if o.Cycle != nil {
		o.Cycle(rep)
	}
	e.heartbeat(ctx)
}

// heartbeat records in the store that this process is alive. On SQLite it does so after work only: a process that shares the file asks
// the kernel instead, and an idle day writes nothing there.
func (e *Engine) heartbeat(ctx context.Context) {
	e.mu.Lock()
	idle := e.quiet && e.cycle.began.IsZero() && e.Store.Dialect() == store.SQLite
	e.mu.Unlock()
	if idle {
		return
	}
	if err := e.Register(ctx); err != nil && ctx.Err() == nil {
		e.Log.Error("heartbeat", "error", err)
	}
}

// otherDue reports whether something other than a task is due: a hook, an item of the outbox, or an action's
// deadline.
func (e *Engine) otherDue(ctx context.Context, now time.Time) bool {
	due := false
	look := func(t time.Time, ok bool, err error) { due = due || err == nil && ok && !t.After(now) }
	if !e.rest.waits(now) {
		look(e.Store.NextOutbox(ctx))
		look(e.Store.NextDeadline(ctx))
	}
	for _, h := range e.Hooks {
		if h.Next != nil && !e.holdback(h).waits(now) {
			look(h.Next(ctx))
		}
	}
	return due
}

// fill claims while there is a free slot and due work, and returns how many it started.
func (e *Engine) fill(ctx context.Context, running int, start func(*store.Claim)) (int, error) {
	paused, err := e.checkPause(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for a pause: %w", err)
	}
	e.logPaused(paused)
	if paused {
		return 0, nil
	}
	n := 0
	for running+n < e.Slots && ctx.Err() == nil {
		c, err := e.claim(ctx)
		if errors.Is(err, store.ErrNoTask) {
			if running+n == 0 {
				return n, e.idle(ctx)
			}
			return n, nil
		}
		if err != nil {
			return n, err
		}
		e.busy()
		n++
		start(c)
	}
	return n, nil
}

// sleep is the time until the next known due work.
func (e *Engine) sleep(ctx context.Context, full bool) time.Duration {
	d := safetyNet
	if l := e.Runner.Lease / 2; l < d {
		d = l
	}
	if full {
		return d
	}
	now := e.Clock()
	sooner := func(t time.Time, ok bool, err error) {
		if err == nil && ok {
			d = min(d, max(t.Sub(now), 0))
		}
	}
	after := func(b *backoff) func(time.Time, bool, error) {
		return func(t time.Time, ok bool, err error) { sooner(b.next(now, t), ok, err) }
	}
	paused, err := e.checkPause(ctx)
	if err == nil && !paused {
		after(&e.claims)(e.Store.NextDue(ctx))
	}
	after(&e.rest)(e.Store.NextOutbox(ctx))
	after(&e.rest)(e.Store.NextDeadline(ctx))
	for _, h := range e.Hooks {
		if h.Next != nil {
			after(e.holdback(h))(h.Next(ctx))
		}
	}
	if d <= 0 {
		d = 10 * time.Millisecond // due, and could not be claimed a moment ago: another runner was faster, or the store is busy
	}
	return d
}

// wakes joins the home's wake-up with the store's own, where it has one.
func (e *Engine) wakes(ctx context.Context) (<-chan struct{}, error) {
	local, err := e.Home.Wakes(ctx)
	if err != nil {
		return nil, err
	}
	remote, err := e.Store.Listen(ctx)
	if err != nil {
		return nil, err
	}
	if remote == nil {
		return local, nil
	}
	out := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case _, ok := <-local:
				if !ok {
					local = nil
				}
			case _, ok := <-remote:
				if !ok {
					remote = nil
				}
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, nil
}

func (e *Engine) logReport(rep Report) {
	if rep.Reclaimed > 0 {
		e.Log.Warn("reclaimed", "attempts", rep.Reclaimed)
	}
	for _, f := range rep.Faults {
		e.Log.Error("cycle", "fault", f)
	}
}

func (e *Engine) logPaused(p bool) {
	e.mu.Lock()
	changed := e.paused != p
	e.paused = p
	e.mu.Unlock()
	if changed && p {
		e.Log.Info("dispatch is paused; `deed resume` goes on")
	} else if changed {
		e.Log.Info("dispatch goes on")
	}
}

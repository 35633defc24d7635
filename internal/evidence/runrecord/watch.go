package runrecord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/store"
)

// beatEvery is how often a run beats while a step runs, and so how soon it notices a request to cancel.
const beatEvery = 2 * time.Second

// ErrCancelRequested is the cancellation cause when somebody asked to cancel the run. The cause's text has the reason.
var ErrCancelRequested = errors.New("the run was asked to cancel")

// ErrTakenOver is the cancellation cause when a sweep took this process for dead and ended the run.
var ErrTakenOver = errors.New("the run was ended by another process")

// Beat says once that the owner lives, and returns what it learned.
func (r *Run) Beat(ctx context.Context) (store.RunBeat, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending {
		return store.RunBeat{Status: r.row.Record.Status}, nil
	}
	b, err := r.reg.Store.BeatRun(ctx, r.row.Record.RunID, r.news())
	if err != nil || b.Status.Terminal() {
		return b, err
	}
	r.stored = true
	rec := &r.row.Record
	rec.HeartbeatAt = b.At
	if b.CancelRequested && !rec.Lifecycle.CancelRequested {
		rec.Lifecycle = evidence.NewRunLifecycle(rec.Status, &evidence.RunCancellation{RequestedAt: b.CancelAt, Reason: b.CancelReason}, rec.Lifecycle.Cleanup)
	}
	return b, writeFile(r.row, atomicfile.Replace)
}

// Watch beats while a step runs. The returned context ends with ErrCancelRequested when the run is asked to cancel, and
// with ErrTakenOver when another process ended the run. stop ends the heartbeat and waits for its goroutine; a second call
// does nothing.
//
// A store that cannot be reached does not end the step: the process that watches the heartbeat decides.
func (r *Run) Watch(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	quit, done := make(chan struct{}), make(chan struct{})
	every := r.reg.BeatEvery
	if every <= 0 {
		every = beatEvery
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select { // what came before the step has just written the record
			case <-quit:
				return
			case <-tick.C:
			}
			bg, end := context.WithTimeout(context.WithoutCancel(parent), 10*time.Second)
			b, err := r.Beat(bg)
			end()
			switch {
			case errors.Is(err, store.ErrNotFound), err == nil && b.Status.Terminal():
				cancel(ErrTakenOver)
				return
			case err == nil && b.CancelRequested && ctx.Err() == nil:
				cause := ErrCancelRequested
				if b.CancelReason != "" {
					cause = fmt.Errorf("%w: %s", ErrCancelRequested, b.CancelReason)
				}
				cancel(cause) // and go on beating: ending takes its time
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(quit)
		<-done
		cancel(nil)
	})
}

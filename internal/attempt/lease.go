package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/store"
)

// cancelPoll is how often a running attempt checks whether an operator cancelled its task. That is a read; the lease
// is renewed far less often.
const cancelPoll = time.Second

// errLost is the cancellation cause when another runner has the claim now.
var errLost = errors.New("the lease was lost")

// canceled is the cancellation cause when an operator cancelled the task; it carries the reason.
type canceled struct{ reason string }

func (c *canceled) Error() string {
	if c.reason == "" {
		return driver.ErrCanceled.Error()
	}
	return driver.ErrCanceled.Error() + ": " + c.reason
}
func (c *canceled) Unwrap() error { return driver.ErrCanceled }

// Stopped is the cancellation cause when deed is told to stop and no later attempt will continue this one: the
// attempt is cancelled instead of given back, and its evidence says why.
var Stopped error = stopped{}

type stopped struct{}

func (stopped) Error() string   { return driver.ErrInterrupted.Error() }
func (stopped) Unwrap() []error { return []error{driver.ErrCanceled, driver.ErrInterrupted} }

// keepLease renews the lease while the attempt runs, and cancels the attempt when the lease is lost or an operator
// asks for it. The returned function stops that and waits.
func (a *run) keepLease(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		poll := time.NewTicker(min(cancelPoll, a.Lease/3))
		defer poll.Stop()
		renewAt := a.claim.LeaseUntil.Add(-2 * a.Lease / 3)
		until := a.claim.LeaseUntil
		for {
			select {
			case <-quit:
				return
			case <-poll.C:
			}
			bg, stop := context.WithTimeout(context.WithoutCancel(parent), a.Lease/3)
			l, err := a.look(bg)
			if err == nil && a.Clock().After(renewAt) {
				l, err = a.Store.Renew(bg, a.claim.Ref, a.Lease)
				if err == nil {
					until = l.Until
					renewAt = l.Until.Add(-2 * a.Lease / 3)
				}
			}
			stop()
			switch {
			case errors.Is(err, store.ErrFenced):
				cancel(fmt.Errorf("%w: %w", errLost, err))
				return
			case err != nil && a.Clock().After(until):
				// The store cannot be reached and the lease has run out: another runner may own the task now.
				cancel(fmt.Errorf("%w: %w", errLost, err))
				return
			case err == nil && l.CancelRequested:
				cancel(&canceled{l.CancelReason}) // and keep renewing: ending and evidence take their time
			}
		}
	}()
	return ctx, func() {
		close(quit)
		<-done
		cancel(nil)
	}
}

// look reads whether the claim is still valid, without writing.
func (a *run) look(ctx context.Context) (store.Lease, error) {
	t, err := a.Store.Task(ctx, a.claim.Ref.TaskID)
	if err != nil {
		return store.Lease{}, err
	}
	if t.Fence != a.claim.Ref.Fence {
		return store.Lease{}, store.ErrFenced
	}
	return store.Lease{CancelRequested: t.CancelRequested, CancelReason: t.CancelReason}, nil
}

// lostCause returns an error when the attempt must not settle because it lost its claim.
func lostCause(ctx context.Context, err error) error {
	for _, e := range []error{err, context.Cause(ctx)} {
		if errors.Is(e, errLost) || errors.Is(e, store.ErrFenced) {
			return fmt.Errorf("attempt abandoned: %w", e)
		}
	}
	return nil
}

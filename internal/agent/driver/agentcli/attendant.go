package agentcli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/proc"
)

// stayTime is how long a process may stay when its turn is over.
const stayTime = 3 * time.Second

// errOver is why a process is ended that stays when its turn is over.
var errOver = errors.New("its turn is over, and it did not end")

// An attendant stands between the context of a turn and that of its process.
type attendant struct {
	ctx    context.Context //nolint:containedctx // of the process
	outer  context.Context //nolint:containedctx // of the turn
	cancel context.CancelCauseFunc
	gone   chan struct{} // closed when the process is
	wg     sync.WaitGroup
	asked  bool // the agent was asked to stop; written before wg is done
}

// newAttendant returns the attendant of a launch. A launch that asks for nothing gets the context of the turn itself.
func newAttendant(ctx context.Context, l Launch) *attendant {
	a := &attendant{ctx: ctx, outer: ctx, cancel: func(error) {}, gone: make(chan struct{})}
	if l.Over == nil && l.Cancel == nil {
		return a
	}
	a.ctx, a.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	a.wg.Go(func() { a.watch(l) })
	return a
}

func (a *attendant) watch(l Launch) {
	select {
	case <-a.gone:
		return
	case <-l.Over: // never, when it is nil
		stay := time.NewTimer(stayTime)
		defer stay.Stop()
		select {
		case <-a.gone:
			return
		case <-stay.C:
			a.cancel(errOver)
			return
		case <-a.outer.Done():
		}
	case <-a.outer.Done():
		if l.Cancel != nil && !errors.Is(context.Cause(a.outer), proc.ErrAtOnce) {
			a.asked = true
			l.Cancel()
		}
	}
	a.cancel(context.Cause(a.outer))
}

// end is called when the process is gone.
func (a *attendant) end() {
	close(a.gone)
	a.wg.Wait()
	a.cancel(nil)
}

// report corrects what a run says of its end: who was asked to stop and did was cancelled, and who was ended after its turn
// was not.
func (a *attendant) report(t *process.Turn) {
	exit := &t.Yield.Proc
	switch {
	case errors.Is(exit.Cause, errOver):
		exit.Canceled, exit.Cause, t.Ended = false, nil, true
	case a.asked && exit.Cause == nil:
		exit.Canceled, exit.Cause = true, context.Cause(a.outer)
	}
}

package dispatch

import (
	"context"
	"sync"

	"github.com/deedrun/deed/internal/store"
)

// A sender sends messages concurrently with the cycle: a target that answers slowly delays no task.
type sender struct {
	mu   sync.Mutex
	work chan struct{} // nil: it is not at work
}

// start puts the sender to work. What it returns waits for what is under way and ends it. When ctx ends, messages that are under way
// are interrupted, and due again.
func (s *sender) start(ctx context.Context, send func(context.Context)) (stop func()) {
	work := make(chan struct{}, 1)
	s.mu.Lock()
	s.work = work
	s.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range work {
			send(ctx)
		}
	})
	return func() {
		s.mu.Lock()
		s.work = nil
		close(work)
		s.mu.Unlock()
		wg.Wait()
	}
}

// wake wakes the sender, and reports whether it is working.
func (s *sender) wake() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work == nil {
		return false
	}
	select {
	case s.work <- struct{}{}:
	default: // it will look
	}
	return true
}

// send sends what is due and says what went wrong with that.
func (e *Engine) send(ctx context.Context) {
	n, err := e.parts().Outbox.Send(ctx)
	if n > 0 {
		e.did(func(w *store.CycleWork) { w.Sent += n })
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Error("send", "error", err)
	}
}

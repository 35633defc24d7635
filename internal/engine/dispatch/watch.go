package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/evidence/runrecord"
)

// Watch lets a run beat while its one attempt works, and returns the context of that work, below the given one. The work is stopped
// when the caller's context ends, cancelled when somebody asks for it, and given up when another process took the run over. What is
// returned with it ends the beating.
func Watch(caller, work context.Context, record *runrecord.Run) (context.Context, func()) {
	work, cancel := context.WithCancelCause(work)
	unstop := context.AfterFunc(caller, func() { cancel(attempt.Stopped) })
	beat, quiet := record.Watch(work)
	unbeat := context.AfterFunc(beat, func() {
		if cause := context.Cause(beat); errors.Is(cause, runrecord.ErrCancelRequested) {
			cancel(fmt.Errorf("%w: %w", driver.ErrCanceled, cause))
		} else if errors.Is(cause, runrecord.ErrTakenOver) {
			cancel(cause)
		}
	})
	return work, func() {
		unbeat()
		quiet()
		unstop()
		cancel(nil)
	}
}

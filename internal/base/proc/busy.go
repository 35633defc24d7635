package proc

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// busyRetryTime is how long the start of a program is retried while the program is open for writing.
const busyRetryTime = 2 * time.Second

// whileBusy starts a program, again as long as its file is open for writing. Who wrote it a moment ago may have closed it
// since: a process that another goroutine was starting just then holds a copy of the descriptor until it executes its own
// program, and the kernel executes nothing that somebody can still write.
func whileBusy(ctx context.Context, start func() error) error {
	first := clock.Start()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := start()
		if !errors.Is(err, syscall.ETXTBSY) || clock.Since(first) > busyRetryTime {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

package home

import (
	"context"
	"sync"
	"testing"
)

// Changes in the middle of a new watcher's start take its FIFO for a leftover; it begins again.
func TestWatchBesideChanges(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var changes sync.WaitGroup
	for range 2 {
		changes.Go(func() {
			for ctx.Err() == nil {
				h.Changed()
			}
		})
	}
	for i := range 500 {
		one, done := context.WithCancel(ctx)
		if _, err := h.Watch(one); err != nil {
			t.Errorf("watcher %d: %v", i, err)
		}
		done()
	}
	stop()
	changes.Wait()
}

package proc

import (
	"errors"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// A run whose end was not observed did not succeed.
func TestUnobservedEndIsLost(t *testing.T) {
	t.Parallel()
	r := newReaper(1, clock.Start())
	r.none = true // and ended is not set
	r.news <- struct{}{}
	e := &enclosure{
		run: &run{path: "bwrap"}, deliveries: make(chan delivery),
		supervisedRun: supervisedRun{s: &supervise{}, reaper: r, timer: time.NewTimer(time.Hour)},
	}
	if exit, err := e.wait(t.Context(), nil); !errors.Is(err, ErrSupervisorLost) || exit.Code != -1 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

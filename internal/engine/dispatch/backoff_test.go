package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/engine/outbox"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	var b backoff
	var waits []time.Duration
	for range 9 {
		b.note(now, errors.New("full"))
		waits = append(waits, b.next(now, now).Sub(now))
	}
	for i, want := range []int64{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000} {
		if waits[i].Milliseconds() != want {
			t.Errorf("wait %d is %s, want %d ms", i, waits[i], want)
		}
	}
	if !b.waits(now) || b.waits(now.Add(maxWait)) || b.waits(now.Add(-time.Hour)) {
		t.Error("it waits too long, or not at all")
	}
	if at := now.Add(time.Hour); b.next(now, at) != at {
		t.Error("what is due later is due then")
	}
	if b.note(now, nil); b.waits(now) || b.next(now, now) != now {
		t.Error("it waits after all went well")
	}
}

// A hook that fails waits, each time longer; the others are called as before, and the loop sleeps until it is its turn.
func TestAHookThatFailsIsHeldBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Outbox = &outbox.Deliverer{Store: b.Store, Clock: b.Clock}
	bad, good := 0, 0
	full := errors.New("the disk is full")
	due := func(context.Context) (time.Time, bool, error) { return b.Clock(), true, nil }
	b.Hooks = []Hook{
		{Name: "bad", Next: due, Due: func(context.Context) (int, error) { bad++; return 0, full }},
		{Name: "good", Due: func(context.Context) (int, error) { good++; return 0, nil }},
	}
	turn := func() Report {
		var r Report
		b.before(t.Context(), &r)
		return r
	}
	if r := turn(); len(r.Faults) != 1 || bad != 1 || good != 1 {
		t.Fatalf("the first turn: %v, %d, %d", r.Faults, bad, good)
	}
	if d := b.sleep(t.Context(), false); d != firstWait {
		t.Errorf("it sleeps %s", d)
	}
	if r := turn(); len(r.Faults) != 0 || bad != 1 || good != 2 || b.otherDue(t.Context(), b.Clock()) {
		t.Errorf("the second turn: %v, %d, %d", r.Faults, bad, good)
	}
	b.now = b.now.Add(firstWait)
	if !b.otherDue(t.Context(), b.Clock()) {
		t.Error("its turn has come, and nothing is due")
	}
	if turn(); bad != 2 || b.sleep(t.Context(), false) != 2*firstWait {
		t.Errorf("%d calls, then it sleeps %s", bad, b.sleep(t.Context(), false))
	}
	full = nil
	b.now = b.now.Add(2 * firstWait)
	if turn(); bad != 3 || b.sleep(t.Context(), false) > firstWait {
		t.Errorf("after it went well: %d calls, sleeps %s", bad, b.sleep(t.Context(), false))
	}
}

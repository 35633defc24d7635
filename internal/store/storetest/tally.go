package storetest

import (
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// tallies: what is counted as it changes agrees with what is there, after every way that a task can go.
func tallies(t *testing.T, target Target) {
	b := setup(t, target)
	since := b.clock.Now().Add(-time.Hour)
	for range 3 {
		for _, st := range agentruntime.TaskStatuses {
			b.in(st)
		}
	}
	back := b.in(agentruntime.TaskPermanentFailure)
	b.ok(b.s.Retry(b.ctx, back, "", "ann"))
	b.clock.Advance(2 * time.Hour)
	_, err := b.s.Cancel(b.ctx, back, "", "ann")
	b.ok(err)

	counted, err := b.s.TypeCounts(b.ctx)
	b.ok(err)
	want := map[agentruntime.TaskStatus]int64{}
	for _, of := range counted {
		for st, n := range of {
			want[st] += n
		}
	}
	got, err := b.s.Counts(b.ctx)
	b.ok(err)
	b.same(got, want)

	ended, attempts, hours := map[string]int64{}, int64(0), map[time.Time]bool{}
	b.ok(b.s.Ended(b.ctx, since, func(x store.Tally) {
		hours[x.Hour] = true
		if x.Kind == store.TallyAttempt {
			attempts += x.N
			return
		}
		ended[x.Key] += x.N
	}))
	// The task that was tried again ended twice, in two hours.
	b.same(ended, map[string]int64{"completed": 3, "permanent_failure": 4, "operator_canceled": 4})
	if len(hours) != 2 || attempts == 0 {
		t.Errorf("%d hours, %d attempts", len(hours), attempts)
	}
	ended = map[string]int64{}
	b.ok(b.s.Ended(b.ctx, b.clock.Now(), func(x store.Tally) { ended[x.Key] += x.N }))
	b.same(ended, map[string]int64{"operator_canceled": 1})
}

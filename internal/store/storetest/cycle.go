package storetest

import (
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// The log of cycles keeps what was done, newest first.
func cycleLog(t *testing.T, target Target) {
	b := setup(t, target)
	began := b.clock.Now()
	work := store.CycleWork{
		Reclaimed: 1, Expired: 2, Created: map[string]int{"schedules": 3}, Settled: map[string]int{"completed": 4}, Delivered: 5, Sent: 6,
		Faults: []string{"a \x00 fault"}, FaultsAll: 7,
	}
	for range 3 {
		b.clock.Advance(time.Minute)
		b.ok(b.s.PutCycle(b.ctx, store.Cycle{RunnerID: "r", BeganAt: began, EndedAt: b.clock.Now(), CycleWork: work}))
	}
	list, err := b.s.Cycles(b.ctx, time.Time{}, 2)
	b.ok(err)
	if len(list) != 2 || list[0].Seq <= list[1].Seq {
		t.Fatalf("got %+v, want the two newest, newest first", list)
	}
	b.same(list[0], store.Cycle{Seq: list[0].Seq, RunnerID: "r", BeganAt: began, EndedAt: b.clock.Now(), CycleWork: work})
	if list, err = b.s.Cycles(b.ctx, b.clock.Now(), 10); err != nil || len(list) != 1 {
		t.Errorf("since the newest: %d cycles, %v", len(list), err)
	}
	if !(store.CycleWork{}).Idle() || work.Idle() {
		t.Error("idle is what did nothing")
	}
}

// What sensors saw is forgotten when it is old, and never while something depends on it.
func sensorForget(t *testing.T, target Target) {
	b := setup(t, target)
	b.take(b.seen("done", "done"))
	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, store.Settlement{State: "failed_terminal", Class: "declared_failed", Status: agentruntime.TaskPermanentFailure}))
	b.take(b.seen("waits", "waits"))
	b.take(b.seen("held", "held", func(in *store.Intake) { in.Tasks, in.Sensor.Window = nil, 30*24*time.Hour }))
	b.clock.Advance(10 * 24 * time.Hour)
	b.take(b.seen("new", "new", func(in *store.Intake) { in.Tasks = nil }))
	forget := func(want int, left ...string) {
		t.Helper()
		n, err := b.s.ForgetSensorEvents(b.ctx, b.clock.Now().Add(-24*time.Hour), 100)
		b.ok(err)
		list, err := b.s.SensorEvents(b.ctx, store.SensorFilter{})
		b.ok(err)
		var got []string
		for _, e := range list {
			got = append([]string{e.EventID}, got...)
		}
		if n != want {
			t.Errorf("forgot %d, want %d", n, want)
		}
		b.same(got, left)
	}
	forget(1, "waits", "held", "new")
	forget(0, "waits", "held", "new")
	b.clock.Advance(21 * 24 * time.Hour)
	forget(2, "waits") // its window is over, and "new" is old
	if out := b.take(b.seen("done", "done", func(in *store.Intake) { in.Tasks = nil })); out.Sensor.Deduped {
		t.Error("what was forgotten is new")
	}
}

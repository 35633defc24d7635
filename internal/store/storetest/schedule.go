package storetest

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func (b *bench) schedule(name string, every time.Duration) store.Schedule {
	b.Helper()
	s, fresh, err := b.s.PutSchedule(b.ctx, agentruntime.RecurringScheduleRecord{
		Name: name, Enabled: true, IntervalSeconds: int64(every / time.Second), NextRunAt: agentruntime.At(b.clock.Now().Add(every)),
		Task: agentruntime.TaskIntent{TaskType: "script", Source: "schedule:" + name, Payload: json.RawMessage(`{ "n": 1.10 }`)},
	}, store.OverlapSkip, "me")
	b.ok(err)
	if !fresh || string(s.Record.Task.Payload) != `{"n":1.10}` && string(s.Record.Task.Payload) != `{ "n": 1.10 }` {
		b.Fatalf("schedule: fresh %v, %s", fresh, s.Record.Task.Payload)
	}
	return s
}

// scheduleOnce lets many evaluations take one slot.
func scheduleOnce(t *testing.T, target Target) {
	b := setup(t, target)
	s := b.schedule("hourly", time.Hour)
	due, err := b.s.DueSchedules(b.ctx, 10)
	b.ok(err)
	if len(due) != 0 {
		t.Fatalf("due before its time: %+v", due)
	}
	next, ok, err := b.s.NextSchedule(b.ctx)
	b.ok(err)
	if !ok || !next.Equal(b.clock.Now().Add(time.Hour)) {
		t.Fatalf("next: %v %v", next, ok)
	}
	b.clock.Advance(time.Hour)
	slot := next
	var wg sync.WaitGroup
	var mu sync.Mutex
	took := 0
	for range 8 {
		wg.Go(func() {
			row := task("x")
			_, taken, err := b.s.RunSchedule(b.ctx, store.ScheduleRun{ID: s.Record.ScheduleID, Slot: slot, Newest: slot, Next: slot.Add(time.Hour), Task: &row})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if taken {
				took++
			}
		})
	}
	wg.Wait()
	got, err := b.s.Schedule(b.ctx, "hourly")
	b.ok(err)
	counts, err := b.s.Counts(b.ctx)
	b.ok(err)
	if took != 1 || got.Runs != 1 || counts[agentruntime.TaskPending] != 1 || got.LastTaskID == "" || !got.LastSlot.Equal(slot) {
		t.Fatalf("%d took the slot; %+v; %v", took, got, counts)
	}
	if at, _, _ := b.s.NextSchedule(b.ctx); !at.Equal(slot.Add(time.Hour)) {
		t.Errorf("next: %v", at)
	}
	b.audit()
}

// scheduleStates switches a schedule off and on, suspends it and lets a person wake it.
func scheduleStates(t *testing.T, target Target) {
	b := setup(t, target)
	s := b.schedule("hourly", time.Hour)
	id := s.Record.ScheduleID
	live := func(want bool, what string) {
		t.Helper()
		if _, ok, err := b.s.NextSchedule(b.ctx); err != nil || ok != want {
			t.Fatalf("%s: a next run %v, %v", what, ok, err)
		}
	}
	_, err := b.s.EnableSchedule(b.ctx, id, false, b.clock.Now().Add(time.Hour), "me")
	b.ok(err)
	live(false, "disabled")
	row := task("x")
	if _, taken, err := b.s.RunSchedule(b.ctx, store.ScheduleRun{ID: id, Slot: b.clock.Now().Add(time.Hour), Next: b.clock.Now(), Task: &row}); taken || err != nil {
		t.Fatalf("a disabled schedule ran: %v %v", taken, err)
	}
	if _, taken, err := b.s.RunSchedule(b.ctx, store.ScheduleRun{ID: id, Slot: b.clock.Now(), Newest: b.clock.Now(), ByHand: "me", Task: &row}); !taken || err != nil {
		t.Fatalf("by hand: %v %v", taken, err)
	}
	live(false, "by hand")
	_, err = b.s.EnableSchedule(b.ctx, id, true, b.clock.Now().Add(time.Minute), "me")
	b.ok(err)
	live(true, "enabled")

	sus, err := b.s.SuspendSchedule(b.ctx, id, "no adapter", store.NewAction{Kind: "schedule", Prompt: "mend it"})
	b.ok(err)
	if sus.Live() || sus.Suspended != "no adapter" {
		t.Fatalf("suspended: %+v", sus)
	}
	_, err = b.s.SuspendSchedule(b.ctx, id, "again", store.NewAction{Kind: "schedule", Prompt: "mend it"}) // another evaluation was as fast
	b.ok(err)
	open, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen})
	b.ok(err)
	if len(open) != 1 || open[0].Owner != store.ScheduleOwner+"/"+id {
		t.Fatalf("actions: %+v", open)
	}
	live(false, "suspended")
	b.ok(b.s.AnswerAction(b.ctx, open[0].ID, json.RawMessage(`"mended"`), "me"))
	live(true, "answered")
	_, err = b.s.SuspendSchedule(b.ctx, id, "once more", store.NewAction{Kind: "schedule", Prompt: "mend it"})
	b.ok(err)
	_, fresh, err := b.s.PutSchedule(b.ctx, s.Record, store.OverlapAllow, "me") // rewritten
	b.ok(err)
	if open, err = b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen}); err != nil || len(open) != 0 || fresh {
		t.Fatalf("after it was written anew: %d actions, fresh %v, %v", len(open), fresh, err)
	}
	live(true, "written anew")
	b.ok(b.s.DropSchedule(b.ctx, id, "me"))
	live(false, "dropped")
	b.is(b.s.DropSchedule(b.ctx, id, "me"), store.ErrNotFound)
	_, err = b.s.Schedule(b.ctx, "hourly")
	b.is(err, store.ErrNotFound)
	b.audit()
}

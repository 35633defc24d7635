package storetest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// settled enqueues and settles a task with outbox items, and returns them.
func (b *bench) settled(items ...store.OutboxItem) []store.OutboxItem {
	b.Helper()
	b.add(task("parent"))
	in := done()
	in.Outbox = items
	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	out, err := b.s.Outbox(b.ctx, store.OutboxFilter{TaskID: c.Ref.TaskID})
	b.ok(err)
	return out
}

func outboxOnce(t *testing.T, target Target) {
	b := setup(t, target)
	items := b.settled(store.OutboxItem{Kind: store.OutboxFollowUpTask, Body: json.RawMessage(`{"n": 1.0}`)})
	if len(items) != 1 || items[0].State != store.OutboxPending || string(items[0].Body) != `{"n": 1.0}` {
		t.Fatalf("items: %+v", items)
	}
	// Two deliverers at once, then a third one after a restart: one task.
	other := b.open(store.Options{})
	var wg sync.WaitGroup
	ids := make([]string, 2)
	for i, s := range []*store.Store{b.s, other} {
		wg.Go(func() {
			e, err := s.DeliverTask(b.ctx, items[0].ID, task("child"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = e.TaskID
		})
	}
	wg.Wait()
	third, err := b.s.DeliverTask(b.ctx, items[0].ID, task("child"))
	b.ok(err)
	if ids[0] != ids[1] || third.TaskID != ids[0] || !third.Deduped || third.TaskID == "" {
		t.Fatalf("delivered to %v and %+v", ids, third)
	}
	list, err := b.s.Tasks(b.ctx, store.TaskFilter{Status: []agentruntime.TaskStatus{agentruntime.TaskPending}})
	b.ok(err)
	if len(list) != 1 || list[0].ID() != ids[0] {
		t.Fatalf("%d tasks", len(list))
	}
	due, err := b.s.OutboxDue(b.ctx, store.OutboxFollowUpTask, 10)
	b.ok(err)
	if len(due) != 0 {
		t.Fatalf("due: %+v", due)
	}
	b.ok(b.s.OutboxDone(b.ctx, items[0].ID, ""))
	_, err = b.s.DeliverTask(b.ctx, store.NewID(), task("x"))
	b.is(err, store.ErrNotFound)
}

func outboxFail(t *testing.T, target Target) {
	b := setup(t, target)
	body := json.RawMessage(`{}`)
	items := b.settled(
		store.OutboxItem{Kind: store.OutboxFollowUpTask, Body: body},
		store.OutboxItem{Kind: store.OutboxExternalMessage, Body: body},
		store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: 1, Body: body},
	)
	next := b.clock.Now().Add(time.Minute)
	b.ok(b.s.OutboxFail(b.ctx, items[0].ID, "down", next, false))
	b.ok(b.s.OutboxFail(b.ctx, items[1].ID, "gone", next, true))
	b.ok(b.s.OutboxDone(b.ctx, items[2].ID, "ok"))
	due, err := b.s.OutboxDue(b.ctx, store.OutboxFollowUpTask, 10)
	b.ok(err)
	if len(due) != 0 {
		t.Fatalf("due: %+v", due)
	}
	if at, ok, err := b.s.NextOutbox(b.ctx); err != nil || !ok || !at.Equal(next) {
		t.Fatalf("next: %v %v %v", at, ok, err)
	}
	b.clock.Advance(time.Minute)
	due, err = b.s.OutboxDue(b.ctx, store.OutboxFollowUpTask, 10)
	b.ok(err)
	if len(due) != 1 || due[0].ID != items[0].ID || due[0].Attempts != 1 || due[0].LastError != "down" {
		t.Fatalf("due: %+v", due)
	}
	_, err = b.s.DeliverTask(b.ctx, items[1].ID, task("x"))
	b.is(err, store.ErrClosed)
	b.is(b.s.OutboxFail(b.ctx, items[2].ID, "x", next, true), store.ErrClosed)
	all, err := b.s.Outbox(b.ctx, store.OutboxFilter{TaskID: items[0].TaskID})
	b.ok(err)
	if all[1].State != store.OutboxFailed || all[1].LastError != "gone" || all[2].State != store.OutboxDelivered || all[2].Result != "ok" {
		t.Fatalf("items: %+v", all)
	}
}

func outboxTake(t *testing.T, target Target) {
	b := setup(t, target)
	body := json.RawMessage(`{}`)
	var items []store.OutboxItem
	for i := range 20 {
		items = append(items, store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: i, Body: body})
	}
	b.settled(append(items, store.OutboxItem{Kind: store.OutboxFollowUpTask, Body: body})...)
	var mu sync.Mutex
	taken := map[string]int{}
	var wg sync.WaitGroup
	for range 4 { // the first one gets it
		wg.Go(func() {
			for {
				got, err := b.s.OutboxTake(b.ctx, store.OutboxExternalMessage, 3, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if err != nil || len(got) == 0 {
					return
				}
				mu.Lock()
				for _, o := range got {
					taken[o.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", id, n)
		}
	}
	if len(taken) != 20 {
		t.Fatalf("%d of 20 were taken", len(taken))
	}
	b.clock.Advance(time.Minute) // the one that took them died
	got, err := b.s.OutboxTake(b.ctx, store.OutboxExternalMessage, 100, time.Minute)
	b.ok(err)
	if len(got) != 20 || got[0].Attempts != 0 || got[0].CreatedAt.IsZero() {
		t.Fatalf("taken again: %d, the first %+v", len(got), got[0])
	}
}

func outboxByHand(t *testing.T, target Target) {
	b := setup(t, target)
	body := json.RawMessage(`{}`)
	items := b.settled(
		store.OutboxItem{Kind: store.OutboxExternalMessage, Body: body, State: store.OutboxHeld},
		store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: 1, Body: body},
		store.OutboxItem{Kind: store.OutboxExternalMessage, Ordinal: 2, Body: body},
	)
	take := func(want ...string) {
		t.Helper()
		got, err := b.s.OutboxTake(b.ctx, store.OutboxExternalMessage, 10, time.Minute)
		b.ok(err)
		var ids []string
		for _, o := range got {
			ids = append(ids, o.ID)
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("taken: %v, want %v", ids, want)
		}
	}
	take(items[1].ID, items[2].ID) // not the one that is held
	b.ok(b.s.OutboxFail(b.ctx, items[1].ID, "gone", b.clock.Now(), true))
	b.ok(b.s.OutboxDone(b.ctx, items[2].ID, "ok"))
	b.ok(b.s.OutboxRetry(b.ctx, items[0].ID, "me"))
	b.ok(b.s.OutboxRetry(b.ctx, items[1].ID, "me"))
	take(items[0].ID, items[1].ID)
	b.ok(b.s.OutboxDrop(b.ctx, items[0].ID, "nobody wants it", "me"))
	b.is(b.s.OutboxDrop(b.ctx, items[0].ID, "", "me"), store.ErrClosed)
	b.is(b.s.OutboxRetry(b.ctx, items[2].ID, "me"), store.ErrClosed)
	b.is(b.s.OutboxRetry(b.ctx, store.NewID(), "me"), store.ErrNotFound)
	for state, want := range map[string]int{"": 2, store.OutboxDropped: 1, store.OutboxDelivered: 1, store.OutboxHeld: 0} {
		got, err := b.s.Outbox(b.ctx, store.OutboxFilter{State: state})
		b.ok(err)
		if len(got) != want {
			t.Errorf("state %q: %d items, want %d", state, len(got), want)
		}
	}
	one, err := b.s.OutboxItem(b.ctx, items[0].ID)
	b.ok(err)
	if one.State != store.OutboxDropped || one.LastError != "" {
		t.Errorf("dropped: %+v", one)
	}
	var told []string
	ev, err := b.s.Events(b.ctx, store.EventFilter{TaskID: items[0].TaskID, Newest: true, Limit: 5})
	b.ok(err)
	for _, e := range ev {
		told = append(told, e.Type)
	}
	if want := []string{"message_failed", "message_delivered", "outbox_retried", "outbox_retried", "outbox_dropped"}; !slices.Equal(told, want) {
		t.Errorf("events: %v, want %v", told, want)
	}
}

func actionsWake(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(1)))[0]
	for round := range 3 { // more often than it has attempts
		c := b.begun()
		if c.Task.Record.AttemptCount != 1 {
			t.Fatalf("round %d: attempt count %d", round, c.Task.Record.AttemptCount)
		}
		b.ok(b.s.Settle(b.ctx, c.Ref, blocked("a or b?")))
		r := b.task(id).Record
		if r.Status != agentruntime.TaskBlocked || r.FinishedAt != nil || r.Outcome.MachineStatus != agentruntime.MachineBlocked {
			t.Fatalf("blocked: %+v", r)
		}
		_, err := b.s.Claim(b.ctx, lease)
		b.is(err, store.ErrNoTask)
		b.audit()
		open, err := b.s.Actions(b.ctx, store.ActionFilter{TaskID: id, State: store.ActionOpen})
		b.ok(err)
		if len(open) != 1 || open[0].Prompt != "a or b?" || open[0].AttemptID != c.Ref.AttemptID || string(open[0].Detail) != `{"choices": ["a", "b"]}` {
			t.Fatalf("open: %+v", open)
		}
		b.is(b.s.AnswerAction(b.ctx, open[0].ID, json.RawMessage(`{`), "me"), store.ErrInvalid)
		b.clock.Advance(time.Hour)
		b.ok(b.s.AnswerAction(b.ctx, open[0].ID, json.RawMessage(`{"choice": "a"}`), "me"))
		b.is(b.s.AnswerAction(b.ctx, open[0].ID, json.RawMessage(`{}`), "you"), store.ErrClosed)
		b.wantStatus(id, agentruntime.TaskPending)
		b.audit()
	}
	all, err := b.s.Actions(b.ctx, store.ActionFilter{TaskID: id})
	b.ok(err)
	if len(all) != 3 || all[0].State != store.ActionAnswered || all[0].AnsweredBy != "me" || string(all[0].Answer) != `{"choice": "a"}` || all[0].ClosedAt.IsZero() {
		t.Fatalf("actions: %+v", all)
	}
	if got, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionAnswered, Limit: 2}); err != nil || len(got) != 2 {
		t.Fatalf("answered: %d %v", len(got), err)
	}
	b.is(b.s.AnswerAction(b.ctx, store.NewID(), nil, "me"), store.ErrNotFound)
}

func runners(t *testing.T, target Target) {
	b := setup(t, target)
	r := store.Runner{ID: "r1", Host: "h", PID: 7, BootID: "b", ProcStart: 1 << 40, Version: "v1"}
	b.ok(b.s.PutRunner(b.ctx, r))
	started := b.clock.Now()
	b.clock.Advance(time.Second)
	r.StartedAt, r.SeenAt, r.Version = started, b.clock.Now(), "v2"
	b.ok(b.s.PutRunner(b.ctx, r))
	b.ok(b.s.PutRunner(b.ctx, store.Runner{ID: "r0"}))
	b.is(b.s.PutRunner(b.ctx, store.Runner{}), store.ErrInvalid)
	list, err := b.s.Runners(b.ctx)
	b.ok(err)
	b.same(list[1], r)
	b.ok(b.s.DropRunner(b.ctx, "r0"))
	b.ok(b.s.DropRunner(b.ctx, "r0"))
	if list, err = b.s.Runners(b.ctx); err != nil || len(list) != 1 {
		t.Fatalf("runners: %v %v", list, err)
	}
	b.add(task("left"))
	c := b.begun()
	b.ok(b.s.DropRunner(b.ctx, "r1")) // it ends, and could not settle what it ran
	if list, err = b.s.Runners(b.ctx); err != nil || len(list) != 1 {
		t.Fatalf("runners with an attempt: %v %v", list, err)
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	b.ok(b.s.DropRunner(b.ctx, "r1"))
	if list, err = b.s.Runners(b.ctx); err != nil || len(list) != 0 {
		t.Fatalf("runners in the end: %v %v", list, err)
	}
}

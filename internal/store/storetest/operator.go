package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// in brings a new task into the given state and returns its id.
func (b *bench) in(status agentruntime.TaskStatus) string {
	b.Helper()
	id := b.add(task(string(status), attempts(1)))[0]
	if status == agentruntime.TaskPending {
		return id
	}
	o := lease
	o.TaskID = id
	c, err := b.s.Claim(b.ctx, o)
	b.ok(err)
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{}))
	var in store.Settlement
	switch status {
	case agentruntime.TaskRunning:
		return id
	case agentruntime.TaskCompleted:
		in = done()
	case agentruntime.TaskRetryableFailure:
		in = retryable(b.clock.Now().Add(time.Hour), "again")
		in.Refund = true
	case agentruntime.TaskPermanentFailure:
		in = permanent("no")
	case agentruntime.TaskBlocked:
		in = blocked("which?")
	case agentruntime.TaskOperatorCanceled:
		in = canceled("stop")
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	b.wantStatus(id, status)
	return id
}

func cancelStates(t *testing.T, target Target) {
	b := setup(t, target)
	for _, from := range agentruntime.TaskStatuses {
		id := b.in(from)
		got, err := b.s.Cancel(b.ctx, id, "not needed", "me")
		switch from {
		case agentruntime.TaskCompleted, agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled:
			b.is(err, store.ErrTerminal)
			var se *store.StatusError
			if !errors.As(err, &se) || se.Status != from {
				t.Fatalf("%s: %v", from, err)
			}
			b.wantStatus(id, from)
		case agentruntime.TaskRunning:
			b.ok(err)
			b.same(got, store.CancelResult{TaskID: id, Previous: from, Status: from, Requested: true})
		default:
			b.ok(err)
			b.same(got, store.CancelResult{TaskID: id, Previous: from, Status: agentruntime.TaskOperatorCanceled})
			r := b.task(id).Record
			b.same(r.Outcome, &agentruntime.TaskOutcome{
				Status: agentruntime.TaskOperatorCanceled, MachineStatus: agentruntime.MachineCanceled, OperatorSummary: "not needed",
			})
			if r.FinishedAt == nil {
				t.Fatalf("%s: no end", from)
			}
			ev, err := b.s.Events(b.ctx, store.EventFilter{TaskID: id, Newest: true, Limit: 1})
			b.ok(err)
			var d struct {
				Previous string `json:"previous_status"`
				Reason   string `json:"reason"`
				By       string `json:"by"`
			}
			b.ok(json.Unmarshal(ev[0].Detail, &d))
			if ev[0].Type != "task_operator_canceled" || d.Previous != string(from) || d.Reason != "not needed" || d.By != "me" {
				t.Fatalf("event: %+v", ev)
			}
		}
	}
	_, err := b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
	_, err = b.s.Cancel(b.ctx, "00000000-0000-7000-8000-000000000000", "", "")
	b.is(err, store.ErrNotFound)
	b.audit()
}

// The runner learns of a cancel by its renewal. A runner that does not obey in time, or dies, cannot undo it.
func cancelRunning(t *testing.T, target Target) {
	b := setup(t, target)
	ids := b.add(task("obeys"), task("dies"), task("asks"), task("done"))
	var claims []*store.Claim
	for range ids {
		c := b.begun()
		claims = append(claims, c)
		_, err := b.s.Cancel(b.ctx, c.Ref.TaskID, "stop it", "me")
		b.ok(err)
		l, err := b.s.Renew(b.ctx, c.Ref, time.Minute)
		b.ok(err)
		if !l.CancelRequested || l.CancelReason != "stop it" {
			t.Fatalf("lease: %+v", l)
		}
	}
	_, err := b.s.Cancel(b.ctx, ids[0], "again", "you") // changes nothing
	b.ok(err)
	if got := b.task(ids[0]); !got.CancelRequested || got.CancelReason != "stop it" || got.CancelBy != "me" {
		t.Fatalf("task: %+v", got)
	}
	b.ok(b.s.Settle(b.ctx, claims[0].Ref, canceled("stopped")))
	b.ok(b.s.Settle(b.ctx, claims[1].Ref, retryable(time.Time{}, "lost")))
	b.ok(b.s.Settle(b.ctx, claims[2].Ref, blocked("what?")))
	b.ok(b.s.Settle(b.ctx, claims[3].Ref, done())) // the work was done before the runner looked
	for i, want := range []string{"stopped", "stop it", "stop it"} {
		r := b.task(ids[i]).Record
		if r.Status != agentruntime.TaskOperatorCanceled || r.Outcome.MachineStatus != agentruntime.MachineCanceled || r.Outcome.OperatorSummary != want {
			t.Fatalf("%d: %+v %+v", i, r, r.Outcome)
		}
	}
	b.wantStatus(ids[3], agentruntime.TaskCompleted)
	open, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen})
	b.ok(err)
	if len(open) != 0 {
		t.Fatalf("open actions: %+v", open)
	}
	b.audit()
}

func retryStates(t *testing.T, target Target) {
	b := setup(t, target)
	for _, from := range agentruntime.TaskStatuses {
		id := b.in(from)
		err := b.s.Retry(b.ctx, id, "try again", "me")
		switch from {
		case agentruntime.TaskCompleted:
			b.is(err, store.ErrTerminal)
			continue
		case agentruntime.TaskRunning:
			b.is(err, store.ErrRunning)
			continue
		}
		b.ok(err)
		r := b.task(id).Record
		if r.Status != agentruntime.TaskPending || r.Outcome != nil || r.FinishedAt != nil || r.AvailableAt != agentruntime.At(b.clock.Now()) ||
			r.MaxAttempts <= r.AttemptCount {
			t.Fatalf("%s: %+v", from, r)
		}
		if types := b.types(id); !slices.Contains(types, "task_operator_retried") {
			t.Fatalf("%s: %v", from, types)
		}
		b.audit()
		c := b.begun()
		if c.Ref.TaskID != id {
			t.Fatalf("%s: claimed another", from)
		}
		if l, err := b.s.Renew(b.ctx, c.Ref, time.Minute); err != nil || l.CancelRequested {
			t.Fatalf("%s: an old cancel is still there: %+v %v", from, l, err)
		}
		b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	}
	open, err := b.s.Actions(b.ctx, store.ActionFilter{State: store.ActionOpen})
	b.ok(err)
	if len(open) != 0 {
		t.Fatalf("open actions: %+v", open)
	}
	b.audit()
}

func pauseResume(t *testing.T, target Target) {
	b := setup(t, target)
	if _, on, err := b.s.Paused(b.ctx); on || err != nil {
		t.Fatalf("paused: %v %v", on, err)
	}
	b.ok(b.s.Resume(b.ctx, "me")) // nothing to end, nothing recorded
	b.ok(b.s.Pause(b.ctx, "deploy", "me"))
	b.clock.Advance(time.Second)
	b.ok(b.s.Pause(b.ctx, "longer deploy", "you"))
	p, on, err := b.s.Paused(b.ctx)
	b.ok(err)
	if !on || p.Reason != "longer deploy" || p.By != "you" || !p.At.Equal(b.clock.Now()) {
		t.Fatalf("pause: %+v %v", p, on)
	}
	b.ok(b.s.Resume(b.ctx, "me"))
	if _, on, err := b.s.Paused(b.ctx); on || err != nil {
		t.Fatalf("paused: %v %v", on, err)
	}
	list, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	var types []string
	for _, e := range list {
		types = append(types, e.Type)
	}
	b.same(types, []string{"dispatch_paused", "dispatch_paused", "dispatch_resumed"})
}

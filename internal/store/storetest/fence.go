package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// fenced fails unless every write of the ref is refused.
func (b *bench) fenced(ref store.Ref) {
	b.Helper()
	_, err := b.s.Renew(b.ctx, ref, time.Minute)
	b.is(err, store.ErrFenced)
	b.is(b.s.Begin(b.ctx, ref, store.Begin{}), store.ErrFenced)
	_, err = b.s.SetAttemptState(b.ctx, ref, state.Streaming, "stale")
	b.is(err, store.ErrFenced)
	b.is(b.s.Checkpoint(b.ctx, ref, json.RawMessage(`{}`)), store.ErrFenced)
	b.is(b.s.Settle(b.ctx, ref, permanent("stale")), store.ErrFenced)
	b.is(b.s.Settle(b.ctx, ref, done()), store.ErrFenced)
}

func renewAndFence(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	first := b.claim()
	if want := b.clock.Now().Add(time.Minute); !first.LeaseUntil.Equal(want) || !first.Attempt.LeaseUntil.Equal(want) {
		t.Fatalf("lease until %s", first.LeaseUntil)
	}
	if first.Ref.Fence != 1 || first.Task.Record.AttemptCount != 1 || first.Task.Fence != 1 || first.Attempt.State != "idle" {
		t.Fatalf("claim: %+v", first)
	}
	b.clock.Advance(50 * time.Second)
	l, err := b.s.Renew(b.ctx, first.Ref, time.Minute)
	b.ok(err)
	if !l.Until.Equal(b.clock.Now().Add(time.Minute)) || l.CancelRequested {
		t.Fatalf("renewed: %+v", l)
	}
	a, err := b.s.Attempt(b.ctx, first.Ref.AttemptID)
	b.ok(err)
	if !a.LeaseUntil.Equal(l.Until) || !a.Live {
		t.Fatalf("attempt: %+v", a)
	}

	wrong := first.Ref
	wrong.Fence++
	b.fenced(wrong)
	b.ok(b.s.Settle(b.ctx, first.Ref, retryable(time.Time{}, "once")))
	b.fenced(first.Ref) // settled
	second := b.claim()
	if second.Ref.Fence <= first.Ref.Fence || second.Ref.TaskID != id || second.Task.Record.AttemptCount != 2 {
		t.Fatalf("second claim: %+v", second.Ref)
	}
	b.fenced(first.Ref) // claimed again
	mixed := second.Ref
	mixed.AttemptID = first.Ref.AttemptID
	b.fenced(mixed)
	_, err = b.s.Renew(b.ctx, store.Ref{TaskID: "00000000-0000-7000-8000-000000000000"}, time.Minute)
	b.is(err, store.ErrNotFound)
	_, err = b.s.Renew(b.ctx, second.Ref, 0)
	b.is(err, store.ErrInvalid)
	b.ok(b.s.Begin(b.ctx, second.Ref, store.Begin{}))
	b.ok(b.s.Settle(b.ctx, second.Ref, done()))
	list, err := b.s.Attempts(b.ctx, id)
	b.ok(err)
	if len(list) != 2 || list[0].Live || list[1].Live || list[0].State != "failed_terminal" || list[1].State != "completed" {
		t.Fatalf("attempts: %+v", list)
	}
	b.audit()
}

func beginOnce(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.claim()
	b.clock.Advance(time.Second)
	begin := store.Begin{AdapterID: "a", AdapterKind: "script", Model: "m", BriefHash: "bh", SpecHash: "sh", Detail: []byte(`{"bundle_id": "x"}`)}
	b.ok(b.s.Begin(b.ctx, c.Ref, begin))
	var illegal *state.IllegalError
	if err := b.s.Begin(b.ctx, c.Ref, begin); !errors.As(err, &illegal) {
		t.Fatalf("second begin: %v", err)
	}
	a, err := b.s.Attempt(b.ctx, c.Ref.AttemptID)
	b.ok(err)
	if a.State != "running" || a.Record.AdapterID != "a" || a.Record.AdapterKind != "script" || a.Record.Model == nil ||
		*a.Record.Model != "m" || a.BriefHash != "bh" || a.SpecHash != "sh" || a.Record.RunnerID != "r1" {
		t.Fatalf("attempt: %+v", a)
	}
	if got := b.task(id).Record.StartedAt; got == nil || *got != agentruntime.At(b.clock.Now()) {
		t.Fatalf("started at %v", got)
	}
	ev, err := b.s.Events(b.ctx, store.EventFilter{AttemptID: c.Ref.AttemptID})
	b.ok(err)
	if len(ev) != 3 || ev[1].Type != "bundle_compiled" || string(ev[1].Detail) != `{"bundle_id": "x"}` || ev[2].Type != "task_started" {
		t.Fatalf("events: %+v", ev)
	}
	begin.Detail = []byte(`{`)
	b.is(b.s.Begin(b.ctx, c.Ref, begin), store.ErrInvalid)
}

func attemptTransitions(t *testing.T, target Target) {
	b := setup(t, target)
	b.add(task("x"))
	c := b.claim()
	refused := func(to state.Attempt) {
		t.Helper()
		var illegal *state.IllegalError
		if _, err := b.s.SetAttemptState(b.ctx, c.Ref, to, "no"); !errors.As(err, &illegal) {
			t.Fatalf("to %s: %v", to, err)
		}
	}
	refused(state.Running) // Begin does that
	refused(state.Streaming)
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{}))
	from := state.Running
	var want []string
	for _, to := range []state.Attempt{state.Streaming, state.WaitingForInput, state.Running, state.Compacting, state.Running} {
		b.clock.Advance(time.Second)
		got, err := b.s.SetAttemptState(b.ctx, c.Ref, to, "it wants \x00 <"+string(to)+">")
		b.ok(err)
		b.same(got, from)
		want = append(want, fmt.Sprintf("{\"from\":%q,\"to\":%q,\"cause\":\"it wants \uFFFD <%s>\"}", from, to, to))
		from = to
	}
	for _, to := range []state.Attempt{state.Running, state.Idle, state.Completed, state.Resumable, state.FailedTerminal, "unknown", ""} {
		refused(to)
	}
	_, err := b.s.SetAttemptState(b.ctx, c.Ref, state.Streaming, " ")
	b.is(err, store.ErrInvalid)
	b.same(b.changes(c.Ref), want) // what was refused left no event
	_, err = b.s.SetAttemptState(b.ctx, c.Ref, state.WaitingForPermission, "may it write?")
	b.ok(err)
	if a, err := b.s.Attempt(b.ctx, c.Ref.AttemptID); err != nil || a.State != string(state.WaitingForPermission) {
		t.Fatalf("%+v, %v", a, err)
	}
	var illegal *state.IllegalError
	if err := b.s.Settle(b.ctx, c.Ref, done()); !errors.As(err, &illegal) {
		t.Fatalf("completed while it waits for a permission: %v", err)
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, blocked("may I?")))
	ev, err := b.s.Events(b.ctx, store.EventFilter{AttemptID: c.Ref.AttemptID})
	b.ok(err)
	for _, e := range ev {
		if e.Type == string(agentruntime.EventTaskAttemptFinished) && !strings.Contains(string(e.Detail), `"from":"waiting_for_permission","state":"resumable"`) {
			t.Errorf("the end says %s", e.Detail)
		}
	}
	b.audit()
}

// changes lists the details of the agent_state events of an attempt.
func (b *bench) changes(ref store.Ref) []string {
	b.Helper()
	ev, err := b.s.Events(b.ctx, store.EventFilter{AttemptID: ref.AttemptID, TaskID: ref.TaskID})
	b.ok(err)
	var out []string
	for _, e := range ev {
		if e.Type == store.EventAgentState {
			out = append(out, string(e.Detail))
		}
	}
	return out
}

func lostByLease(t *testing.T, target Target) {
	b := setup(t, target)
	ids := b.add(task("dies", attempts(1)), task("lives"))
	dies, lives := b.begun(), b.begun()
	none, err := b.s.Lost(b.ctx, nil)
	b.ok(err)
	if len(none) != 0 {
		t.Fatalf("lost too early: %+v", none)
	}
	b.clock.Advance(time.Minute)
	_, err = b.s.Renew(b.ctx, lives.Ref, time.Minute) // late, and not swept yet
	b.ok(err)
	lost, err := b.s.Lost(b.ctx, nil)
	b.ok(err)
	if len(lost) != 1 || lost[0].Ref.AttemptID != dies.Ref.AttemptID || lost[0].Reason != store.ReasonLeaseExpired ||
		lost[0].Task.ID() != ids[0] || lost[0].Attempt.State != "running" {
		t.Fatalf("lost: %+v", lost)
	}
	b.fenced(dies.Ref) // the owner is fenced off before anybody settles
	again, err := b.s.Lost(b.ctx, nil)
	b.ok(err)
	if len(again) != 0 {
		t.Fatalf("the sweeper's own lease is ignored: %+v", again)
	}
	// A sweeper that dies is followed by another one.
	b.clock.Advance(2 * time.Minute)
	_, err = b.s.Renew(b.ctx, lives.Ref, time.Minute)
	b.ok(err)
	again, err = b.s.Lost(b.ctx, nil)
	b.ok(err)
	if len(again) != 1 || again[0].Ref.Fence <= lost[0].Ref.Fence {
		t.Fatalf("second sweep: %+v", again)
	}
	b.fenced(lost[0].Ref)
	in := retryable(time.Time{}, "its runner was lost")
	in.Class = "lost"
	b.ok(b.s.Settle(b.ctx, again[0].Ref, in))
	got := b.task(ids[0]).Record
	if got.Status != agentruntime.TaskPermanentFailure || got.Outcome == nil || got.Outcome.OperatorSummary != "its runner was lost" {
		t.Fatalf("a lost last attempt must end the task: %+v", got)
	}
	b.audit()
}

func lostByRunner(t *testing.T, target Target) {
	b := setup(t, target)
	b.add(task("a"), task("b"), task("c"))
	dead := b.claim()
	other := lease
	other.RunnerID = "r2"
	live, err := b.s.Claim(b.ctx, other)
	b.ok(err)
	ended := b.claim()
	b.ok(b.s.Settle(b.ctx, ended.Ref, permanent("x")))
	lost, err := b.s.Lost(b.ctx, []string{"r1", "r9"})
	b.ok(err)
	if len(lost) != 1 || lost[0].Ref.AttemptID != dead.Ref.AttemptID || lost[0].Reason != store.ReasonRunnerDead {
		t.Fatalf("lost: %+v", lost)
	}
	b.fenced(dead.Ref)
	_, err = b.s.Renew(b.ctx, live.Ref, time.Minute)
	b.ok(err)
	b.ok(b.s.Settle(b.ctx, lost[0].Ref, retryable(time.Time{}, "lost")))
	b.wantStatus(dead.Ref.TaskID, agentruntime.TaskRetryableFailure)
	b.audit()
}

// checkpoints are kept with their attempt, and belong to it alone.
func checkpoints(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	first := b.begun()
	got := func(attempt string) string {
		a, err := b.s.Attempt(b.ctx, attempt)
		b.ok(err)
		return string(a.Checkpoint)
	}
	for _, doc := range []string{`{"turn": 1}`, `{"turn": 2, "ref": "ä"}`} {
		b.ok(b.s.Checkpoint(b.ctx, first.Ref, json.RawMessage(doc)))
		if s := got(first.Ref.AttemptID); s != doc {
			t.Errorf("checkpoint %s, want %s", s, doc)
		}
	}
	b.is(b.s.Checkpoint(b.ctx, first.Ref, json.RawMessage(`{`)), store.ErrInvalid)
	b.ok(b.s.Settle(b.ctx, first.Ref, retryable(time.Time{}, "once")))
	second := b.begun()
	if a, b := got(first.Ref.AttemptID), got(second.Ref.AttemptID); a == "" || b != "" {
		t.Errorf("checkpoints %q and %q, want that of the first alone", a, b)
	}
	b.ok(b.s.Checkpoint(b.ctx, second.Ref, json.RawMessage(`{}`)))
	b.ok(b.s.Checkpoint(b.ctx, second.Ref, nil))
	list, err := b.s.Attempts(b.ctx, id)
	b.ok(err)
	if len(list) != 2 || list[0].Checkpoint == nil || list[1].Checkpoint != nil {
		t.Errorf("attempts: %+v", list)
	}
	b.audit()
}

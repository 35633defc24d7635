package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func permission(b *bench, digest string) store.NewAction {
	return store.NewAction{
		Kind: "permission", Prompt: "may it push?", Why: "it leaves the machine", Rule: "home/push", ContextDigest: digest,
		Subject: json.RawMessage(`{"tool": "shell"}`), Deadline: b.clock.Now().Add(time.Hour), Default: json.RawMessage(`{"decision": "deny"}`),
		MayAnswer: []string{"ada", "bob"},
	}
}

// An action that is opened while the attempt runs is kept whole, survives a restart, and is what a blocked task waits for.
func actionsLive(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(1)))[0]
	c := b.begun()
	asked, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:1"))
	b.ok(err)
	b.audit()
	want := store.Action{
		ID: asked.ID, TaskID: id, AttemptID: c.Ref.AttemptID, Kind: "permission", Prompt: "may it push?", State: store.ActionOpen,
		OpenedAt: b.clock.Now(), Why: "it leaves the machine", Rule: "home/push", ContextDigest: "sha256:1", Subject: json.RawMessage(`{"tool": "shell"}`),
		Deadline: b.clock.Now().Add(time.Hour), Default: json.RawMessage(`{"decision": "deny"}`), MayAnswer: []string{"ada", "bob"},
	}
	b.same(asked, want)
	got, err := b.s.Action(b.ctx, asked.ID)
	b.ok(err)
	b.same(got, want)

	in := blocked("")
	in.Action = &store.NewAction{ID: asked.ID}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	b.wantStatus(id, agentruntime.TaskBlocked)
	b.audit()
	b.is(b.s.AnswerAction(b.ctx, asked.ID, json.RawMessage(`true`), "eve"), store.ErrMayNotAnswer)
	b.wantStatus(id, agentruntime.TaskBlocked)
	b.ok(b.s.AnswerAction(b.ctx, asked.ID, json.RawMessage(`true`), "bob"))
	b.wantStatus(id, agentruntime.TaskPending)
	b.audit()

	// The answer comes between the end of the wait and the settlement.
	c = b.begun()
	asked, err = b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:2"))
	b.ok(err)
	b.ok(b.s.AnswerAction(b.ctx, asked.ID, json.RawMessage(`true`), "ada"))
	in.Action = &store.NewAction{ID: asked.ID}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	b.wantStatus(id, agentruntime.TaskPending)
	b.audit()

	// What is still open when the task ends has no use any more.
	c = b.begun()
	asked, err = b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:3"))
	b.ok(err)
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	if a, err := b.s.Action(b.ctx, asked.ID); err != nil || a.State != store.ActionDismissed {
		t.Fatalf("action of a task that ended: %+v %v", a, err)
	}
	b.audit()
	_, err = b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:4"))
	b.is(err, store.ErrFenced)

	other := b.add(task("y"))[0]
	c = b.begun()
	in.Action = &store.NewAction{ID: asked.ID}
	b.is(b.s.Settle(b.ctx, c.Ref, in), store.ErrInvalid)
	b.wantStatus(other, agentruntime.TaskRunning)
}

// The same question is asked once, whatever became of the attempt that asked it.
func actionsOnce(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(5)))[0]
	c := b.begun()
	asked, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:1"))
	b.ok(err)
	again, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:1"))
	b.ok(err)
	b.same(again, asked)
	b.ok(b.s.Settle(b.ctx, c.Ref, retryable(time.Time{}, "lost")))
	b.audit()

	c = b.begun() // after a restart
	again, err = b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:1"))
	b.ok(err)
	b.same(again, asked)
	b.ok(b.s.AnswerAction(b.ctx, asked.ID, json.RawMessage(`{"decision": "allow"}`), "ada"))
	again, err = b.s.FindAction(b.ctx, id, "sha256:1")
	b.ok(err)
	if again.ID != asked.ID || again.State != store.ActionAnswered || again.AnsweredBy != "ada" || string(again.Answer) != `{"decision": "allow"}` || again.ClosedAt.IsZero() {
		t.Fatalf("found %+v", again)
	}
	_, err = b.s.FindAction(b.ctx, id, "sha256:other")
	b.is(err, store.ErrNotFound)
	_, err = b.s.FindAction(b.ctx, store.NewID(), "sha256:1")
	b.is(err, store.ErrNotFound)

	// Without a context each question is its own, and one that was dismissed is asked again.
	plain := store.NewAction{Kind: "question", Prompt: "?"}
	first, err := b.s.OpenAction(b.ctx, c.Ref, plain)
	b.ok(err)
	second, err := b.s.OpenAction(b.ctx, c.Ref, plain)
	b.ok(err)
	if first.ID == second.ID {
		t.Fatal("two questions share an action")
	}
	third, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:3"))
	b.ok(err)
	in := blocked("")
	in.Action = &store.NewAction{ID: third.ID}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	b.ok(b.s.Retry(b.ctx, id, "", "op"))
	c = b.begun()
	fourth, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:3"))
	b.ok(err)
	if fourth.ID == third.ID {
		t.Fatal("a dismissed action is taken for an answer")
	}
}

// Nobody's answer is the default, and it wakes the task.
func actionDeadlines(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(1)))[0]
	c := b.begun()
	_, err := b.s.OpenAction(b.ctx, c.Ref, store.NewAction{Kind: "permission", Deadline: b.clock.Now()})
	b.is(err, store.ErrInvalid)
	asked, err := b.s.OpenAction(b.ctx, c.Ref, permission(b, "sha256:1"))
	b.ok(err)
	in := blocked("")
	in.Action = &store.NewAction{ID: asked.ID}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	if at, ok, err := b.s.NextDeadline(b.ctx); err != nil || !ok || !at.Equal(asked.Deadline) {
		t.Fatalf("next deadline: %v %v %v", at, ok, err)
	}
	b.clock.Advance(time.Hour - time.Microsecond)
	if n, err := b.s.ExpireActions(b.ctx, 10); err != nil || n != 0 {
		t.Fatalf("expired %d: %v", n, err)
	}
	b.clock.Advance(time.Microsecond)
	b.is(b.s.AnswerAction(b.ctx, asked.ID, json.RawMessage(`true`), "ada"), store.ErrClosed)
	if n, err := b.s.ExpireActions(b.ctx, 10); err != nil || n != 1 {
		t.Fatalf("expired %d: %v", n, err)
	}
	a, err := b.s.Action(b.ctx, asked.ID)
	b.ok(err)
	if a.State != store.ActionAnswered || a.AnsweredBy != store.ByDeadline || string(a.Answer) != `{"decision": "deny"}` {
		t.Fatalf("action %+v", a)
	}
	b.wantStatus(id, agentruntime.TaskPending)
	b.audit()
	if !slices.Contains(b.types(id), store.EventActionExpired) {
		t.Fatalf("events: %v", b.types(id))
	}
	if n, err := b.s.ExpireActions(b.ctx, 10); err != nil || n != 0 {
		t.Fatalf("expired twice: %d %v", n, err)
	}
	if _, ok, err := b.s.NextDeadline(b.ctx); ok || err != nil {
		t.Fatalf("next deadline: %v %v", ok, err)
	}
}

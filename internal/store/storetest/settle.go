package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

func settleCompleted(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.begun()
	b.clock.Advance(time.Second)
	model := "m2"
	ended := agentruntime.At(b.clock.Now())
	in := done()
	in.Attempt = agentruntime.TaskAttempt{
		AttemptID: "ignored", AdapterID: "a2", AdapterKind: "codex", Model: &model, EndedAt: &ended, ExitStatus: agentruntime.ExitOK,
		RetryClass: agentruntime.RetryNone, PromptPath: "files/prompt.txt", StdoutPath: "logs/stdout.log",
		Diagnostics: json.RawMessage(`{"big":12345678901234567890123}`),
	}
	in.Outcome.FollowUpTasks = []agentruntime.TaskIntent{{TaskType: "f", Source: "s", Payload: json.RawMessage(`{"n":1.10}`)}}
	in.Outcome.FileChanges = []string{"a <b>.go"}
	in.Verdict = json.RawMessage(`{"accepted":true}`)
	in.BundleDir, in.BundleID = "bundles/x", "sha256:abc"
	in.Artifacts = []agentruntime.ArtifactRecord{
		{Role: agentruntime.RoleOutput, RelativePath: "artifacts/out.json", ContentType: "application/json", VerifiedAt: ended},
		{ArtifactID: store.NewID(), Role: agentruntime.RolePlan, RelativePath: "artifacts/plan.md", CreatedAt: "2026-01-01T00:00:00.5Z"},
	}
	in.Events = []store.Event{{Type: "adapter_result", Detail: json.RawMessage(`{"n":1}`)}}
	in.Outbox = []store.OutboxItem{{Kind: store.OutboxFollowUpTask, Body: json.RawMessage(`{"task_type":"f"}`)}}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))

	got := b.task(id).Record
	if got.Status != agentruntime.TaskCompleted || got.FinishedAt == nil || *got.FinishedAt != ended || got.LastError != nil || got.AttemptCount != 1 {
		t.Fatalf("record: %+v", got)
	}
	b.same(got.Outcome, in.Outcome)
	a, err := b.s.Attempt(b.ctx, c.Ref.AttemptID)
	b.ok(err)
	want := in.Attempt
	want.AttemptID, want.TaskID, want.RunnerID, want.StartedAt = c.Ref.AttemptID, id, "r1", c.Attempt.Record.StartedAt
	b.same(a.Record, want)
	if a.State != "completed" || a.Class != "none" || a.Live || a.BundleDir != "bundles/x" || a.BundleID != "sha256:abc" || string(a.Verdict) != `{"accepted":true}` {
		t.Fatalf("attempt: %+v", a)
	}
	arts, err := b.s.Artifacts(b.ctx, id)
	b.ok(err)
	if len(arts) != 2 || arts[0].ArtifactID == "" || arts[0].TaskID != id || arts[0].VerifiedAt != ended || arts[0].CreatedAt != ended ||
		arts[1].CreatedAt != "2026-01-01T00:00:00.500000Z" || arts[1].VerifiedAt != "" || arts[1].ArtifactID != in.Artifacts[1].ArtifactID {
		t.Fatalf("artifacts: %+v", arts)
	}
	b.same(b.types(id), []string{
		"task_enqueued", "task_claimed", "bundle_compiled", "task_started", "task_attempt_finished", "adapter_result", "task_finished",
	})
	ev, err := b.s.Events(b.ctx, store.EventFilter{AttemptID: c.Ref.AttemptID})
	b.ok(err)
	if len(ev) != 6 { // everything after the enqueue carries the attempt
		t.Fatalf("events of the attempt: %+v", ev)
	}
	due, err := b.s.OutboxDue(b.ctx, store.OutboxFollowUpTask, 10)
	b.ok(err)
	if len(due) != 1 || due[0].TaskID != id || due[0].AttemptID != c.Ref.AttemptID || string(due[0].Body) != `{"task_type":"f"}` {
		t.Fatalf("outbox: %+v", due)
	}
	b.audit()
}

func settleRetries(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(2)))[0]
	c := b.begun()
	when := b.clock.Now().Add(90*time.Second + time.Microsecond)
	b.ok(b.s.Settle(b.ctx, c.Ref, retryable(when, "first")))
	got := b.task(id).Record
	if got.Status != agentruntime.TaskRetryableFailure || got.Outcome != nil || got.FinishedAt != nil || *got.LastError != "first" ||
		got.AvailableAt != agentruntime.At(when) {
		t.Fatalf("after the first: %+v", got)
	}
	_, err := b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
	b.audit()
	b.clock.Advance(when.Sub(b.clock.Now()))
	c = b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, retryable(b.clock.Now().Add(time.Hour), "second")))
	got = b.task(id).Record
	b.same(got.Outcome, &agentruntime.TaskOutcome{
		Status: agentruntime.TaskPermanentFailure, MachineStatus: agentruntime.MachineFailed, OperatorSummary: "second",
	})
	if got.Status != agentruntime.TaskPermanentFailure || got.FinishedAt == nil || got.AttemptCount != 2 {
		t.Fatalf("after the last: %+v", got)
	}
	types := b.types(id)
	b.same(types[len(types)-2:], []string{"task_attempt_finished", "task_finished"})
	if types[5] != "task_retry_scheduled" {
		t.Fatalf("events: %v", types)
	}
	b.audit()
}

func settleRefund(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", attempts(1)))[0]
	for range 3 {
		c := b.begun()
		in := retryable(time.Time{}, "told to stop")
		in.State, in.Class, in.Refund = "resumable", "interrupted", true
		b.ok(b.s.Settle(b.ctx, c.Ref, in))
		b.wantStatus(id, agentruntime.TaskRetryableFailure)
		if n := b.task(id).Record.AttemptCount; n != 0 {
			t.Fatalf("attempt count %d", n)
		}
		b.audit()
	}
	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, retryable(time.Time{}, "at last")))
	b.wantStatus(id, agentruntime.TaskPermanentFailure)
}

func settleIllegal(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.claim()
	before := b.types(id)
	var illegal *state.IllegalError
	if err := b.s.Settle(b.ctx, c.Ref, done()); !errors.As(err, &illegal) {
		t.Errorf("completed without having begun: %v", err)
	}
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{}))
	for name, change := range map[string]func(*store.Settlement){
		"pending":                   func(s *store.Settlement) { s.Status, s.Outcome = agentruntime.TaskPending, nil },
		"running":                   func(s *store.Settlement) { s.Status, s.Outcome = agentruntime.TaskRunning, nil },
		"unknown status":            func(s *store.Settlement) { s.Status, s.Outcome = "success", nil },
		"attempt still running":     func(s *store.Settlement) { s.State = "running" },
		"unknown attempt state":     func(s *store.Settlement) { s.State = "done" },
		"completed, attempt failed": func(s *store.Settlement) { s.State = "failed_terminal" },
		"completed without outcome": func(s *store.Settlement) { s.Outcome = nil },
		"completed, machine not ok": func(s *store.Settlement) { s.Outcome.MachineStatus = agentruntime.MachineFailed },
		"outcome of another status": func(s *store.Settlement) { s.Outcome.Status = agentruntime.TaskBlocked },
		"blocked without action":    func(s *store.Settlement) { s.Status, s.Outcome = agentruntime.TaskBlocked, nil },
		"action without blocked":    func(s *store.Settlement) { s.Action = &store.NewAction{} },
		"retry with outcome": func(s *store.Settlement) {
			s.Status, s.Outcome.Status = agentruntime.TaskRetryableFailure, agentruntime.TaskRetryableFailure
		},
		"broken verdict":       func(s *store.Settlement) { s.Verdict = json.RawMessage(`{`) },
		"broken diagnostics":   func(s *store.Settlement) { s.Attempt.Diagnostics = json.RawMessage(`{`) },
		"broken end":           func(s *store.Settlement) { e := agentruntime.Timestamp("yesterday"); s.Attempt.EndedAt = &e },
		"broken artifact date": func(s *store.Settlement) { s.Artifacts = []agentruntime.ArtifactRecord{{CreatedAt: "x"}} },
		"event without type":   func(s *store.Settlement) { s.Events = []store.Event{{}} },
		"outbox without body":  func(s *store.Settlement) { s.Outbox = []store.OutboxItem{{Kind: "follow_up_task"}} },
		"two outbox items at one place": func(s *store.Settlement) {
			i := store.OutboxItem{Kind: "k", Body: json.RawMessage(`{}`)}
			s.Outbox = []store.OutboxItem{i, i}
		},
	} {
		in := done()
		change(&in)
		if err := b.s.Settle(b.ctx, c.Ref, in); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "SQL") && !errors.As(err, &illegal) && !errors.Is(err, store.ErrInvalid) && name != "two outbox items at one place" {
			t.Errorf("%s: unclear error %v", name, err)
		}
	}
	b.wantStatus(id, agentruntime.TaskRunning)
	b.same(b.types(id), append(before, "bundle_compiled", "task_started"))
	b.ok(b.s.Settle(b.ctx, c.Ref, done())) // the claim is still good
	b.audit()
}

// The last row of a settlement fails: nothing of it may be seen.
func settleAtomic(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x", key("k")))[0]
	c := b.begun()
	in := done()
	in.Artifacts = []agentruntime.ArtifactRecord{{Role: agentruntime.RoleOutput, RelativePath: "a"}}
	item := store.OutboxItem{Kind: "k", Body: json.RawMessage(`{}`)}
	in.Outbox = []store.OutboxItem{item, item}
	if err := b.s.Settle(b.ctx, c.Ref, in); err == nil {
		t.Fatal("accepted")
	}
	b.wantStatus(id, agentruntime.TaskRunning)
	if arts, err := b.s.Artifacts(b.ctx, id); err != nil || len(arts) != 0 {
		t.Fatalf("artifacts: %v %v", arts, err)
	}
	if due, err := b.s.OutboxDue(b.ctx, store.OutboxFollowUpTask, 10); err != nil || len(due) != 0 {
		t.Fatalf("outbox: %v %v", due, err)
	}
	if a, err := b.s.Attempt(b.ctx, c.Ref.AttemptID); err != nil || !a.Live || a.State != "running" {
		t.Fatalf("attempt: %+v %v", a, err)
	}
	in.Outbox[1].Ordinal = 1
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	b.audit()
}

// What an agent wrote may hold anything.
func settleHostile(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.begun()
	in := permanent("bad \xff and \x00 and '; DROP TABLE tasks; --")
	in.Artifacts = []agentruntime.ArtifactRecord{{Role: agentruntime.RoleOutput, RelativePath: "a\x00\xfe"}}
	in.Outcome = &agentruntime.TaskOutcome{
		Status: agentruntime.TaskPermanentFailure, MachineStatus: agentruntime.MachineFailed, OperatorSummary: "\x00\xff", RawOutput: "\u2028",
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, in))
	if got := *b.task(id).Record.LastError; got != "bad \uFFFD and \uFFFD and '; DROP TABLE tasks; --" {
		t.Fatalf("last error %q", got)
	}
	if got := b.task(id).Record.Outcome.OperatorSummary; got != "\x00\uFFFD" {
		t.Fatalf("summary %q", got)
	}
}

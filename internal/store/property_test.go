package store_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
	"github.com/deedrun/deed/internal/store/storetest"
)

// Every task that has not ended has a known wake-up, whatever is done to the store and whoever dies meanwhile. After each
// step the store's own audit finds no fault; at the end nothing but the wake-ups is used, and every task ends.
func TestEveryTaskHasAWakeup(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), store.Options{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{s: s, clock: clock, seen: map[string]agentruntime.TaskStatus{}}
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue": m.enqueue, "claim": m.claim, "begin": m.begin, "renew": m.renew, "settle": m.settle, "forget": m.forget,
			"sweep": m.sweep, "cancel": m.cancel, "retry": m.retry, "answer": m.answer, "wait": m.wait, "": m.check,
		})
		m.drain(rt)
	})
}

type machine struct {
	s     *store.Store
	clock *storetest.Clock
	ids   []string
	held  []store.Ref // also those that are no longer good
	seen  map[string]agentruntime.TaskStatus
}

var word = rapid.StringMatching(`[a-c]`)

func (m *machine) enqueue(t *rapid.T) {
	n := store.NewTask{
		Intent:      agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)},
		MaxAttempts: rapid.IntRange(1, 3).Draw(t, "max"),
		Priority:    rapid.Int64Range(-2, 2).Draw(t, "priority"),
		AvailableAt: m.clock.Now().Add(time.Duration(rapid.IntRange(-1, 120).Draw(t, "delay")) * time.Second),
	}
	if rapid.Bool().Draw(t, "keyed") {
		n.DedupeKey = word.Draw(t, "key")
		n.DedupeWindow = time.Duration(rapid.IntRange(0, 60).Draw(t, "window")) * time.Second
	}
	out, err := m.s.Enqueue(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	m.ids = append(m.ids, out[0].TaskID)
}

func (m *machine) claim(t *rapid.T) {
	c, err := m.s.Claim(t.Context(), store.ClaimOptions{RunnerID: word.Draw(t, "runner"), Lease: time.Minute})
	if errors.Is(err, store.ErrNoTask) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.held = append(m.held, c.Ref)
}

// ref picks a claim, good or stale.
func (m *machine) ref(t *rapid.T) store.Ref {
	if len(m.held) == 0 {
		t.Skip("nothing claimed")
	}
	return rapid.SampledFrom(m.held).Draw(t, "ref")
}

// tolerate lets pass what a caller must expect: a lost claim, or a step that the tables refuse.
func tolerate(t *rapid.T, err error) {
	var illegal *state.IllegalError
	if err != nil && !errors.Is(err, store.ErrFenced) && !errors.As(err, &illegal) {
		t.Fatal(err)
	}
}

func (m *machine) begin(t *rapid.T) { tolerate(t, m.s.Begin(t.Context(), m.ref(t), store.Begin{})) }

func (m *machine) renew(t *rapid.T) {
	_, err := m.s.Renew(t.Context(), m.ref(t), time.Minute)
	tolerate(t, err)
}

func (m *machine) settle(t *rapid.T) { tolerate(t, m.s.Settle(t.Context(), m.ref(t), m.settlement(t))) }

func (m *machine) settlement(t *rapid.T) store.Settlement {
	in := store.Settlement{State: "failed_terminal", Class: "lost", LastError: "x", Refund: rapid.Bool().Draw(t, "refund")}
	in.Status = rapid.SampledFrom([]agentruntime.TaskStatus{
		agentruntime.TaskCompleted, agentruntime.TaskRetryableFailure, agentruntime.TaskPermanentFailure, agentruntime.TaskBlocked,
		agentruntime.TaskOperatorCanceled,
	}).Draw(t, "status")
	switch in.Status {
	case agentruntime.TaskCompleted:
		in.State, in.Outcome = "completed", &agentruntime.TaskOutcome{Status: in.Status, MachineStatus: agentruntime.MachineOK}
	case agentruntime.TaskRetryableFailure:
		in.AvailableAt = m.clock.Now().Add(time.Duration(rapid.IntRange(-10, 600).Draw(t, "backoff")) * time.Second)
	case agentruntime.TaskBlocked:
		in.State, in.Action = "resumable", &store.NewAction{Kind: "question", Prompt: "?"}
	}
	return in
}

// forget is a runner that dies: it never renews or settles its claims.
func (m *machine) forget(*rapid.T) { m.held = nil }

func (m *machine) sweep(t *rapid.T) {
	lost, err := m.s.Lost(t.Context(), rapid.SliceOfN(word, 0, 2).Draw(t, "dead"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lost {
		if rapid.Bool().Draw(t, "sweeper dies") {
			return
		}
		in := m.settlement(t)
		if in.Status == agentruntime.TaskCompleted && l.Attempt.State == "idle" {
			continue
		}
		if err := m.s.Settle(t.Context(), l.Ref, in); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) id(t *rapid.T) string {
	if len(m.ids) == 0 {
		t.Skip("no task")
	}
	return rapid.SampledFrom(m.ids).Draw(t, "id")
}

func (m *machine) cancel(t *rapid.T) {
	if _, err := m.s.Cancel(t.Context(), m.id(t), "no", "op"); err != nil && !errors.Is(err, store.ErrTerminal) {
		t.Fatal(err)
	}
}

func (m *machine) retry(t *rapid.T) {
	err := m.s.Retry(t.Context(), m.id(t), "again", "op")
	if err != nil && !errors.Is(err, store.ErrTerminal) && !errors.Is(err, store.ErrRunning) && !errors.Is(err, store.ErrDuplicate) {
		t.Fatal(err)
	}
}

func (m *machine) answer(t *rapid.T) {
	open, err := m.s.Actions(t.Context(), store.ActionFilter{State: store.ActionOpen})
	if err != nil {
		t.Fatal(err)
	}
	if len(open) == 0 {
		t.Skip("no open action")
	}
	if err := m.s.AnswerAction(t.Context(), rapid.SampledFrom(open).Draw(t, "action").ID, nil, "op"); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) wait(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

// check also watches each task's state: every change between two looks must be a path in the table.
func (m *machine) check(t *rapid.T) {
	faults, err := m.s.Audit(t.Context())
	if err != nil || len(faults) > 0 {
		t.Fatalf("audit: %v %v", faults, err)
	}
	for _, id := range m.ids {
		task, err := m.s.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		now := task.Record.Status
		if was, ok := m.seen[id]; ok && was != now && state.TaskNext(was, now) != nil {
			t.Fatalf("task went from %s to %s", was, now)
		}
		m.seen[id] = now
	}
}

// drain follows the wake-ups and nothing else.
func (m *machine) drain(t *rapid.T) {
	ctx := t.Context()
	for range 10 * (len(m.ids) + 1) {
		counts, err := m.s.Counts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left := int64(0)
		for st := range state.Wakeups {
			left += counts[st]
		}
		if left == 0 {
			return
		}
		m.clock.Advance(2 * time.Minute) // every lease runs out
		lost, err := m.s.Lost(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lost {
			in := store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskRetryableFailure, LastError: "lost"}
			if err := m.s.Settle(ctx, l.Ref, in); err != nil {
				t.Fatal(err)
			}
		}
		open, err := m.s.Actions(ctx, store.ActionFilter{State: store.ActionOpen})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range open {
			if err := m.s.AnswerAction(ctx, a.ID, nil, "op"); err != nil {
				t.Fatal(err)
			}
		}
		if due, ok, err := m.s.NextDue(ctx); err != nil {
			t.Fatal(err)
		} else if ok && due.After(m.clock.Now()) {
			m.clock.Advance(due.Sub(m.clock.Now()))
		}
		c, err := m.s.Claim(ctx, store.ClaimOptions{RunnerID: "drain", Lease: time.Minute})
		if errors.Is(err, store.ErrNoTask) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		in := store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskPermanentFailure, LastError: "drained"}
		if err := m.s.Settle(ctx, c.Ref, in); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("a task waits for ever")
}

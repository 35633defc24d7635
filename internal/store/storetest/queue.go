package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/store"
)

func enqueueRecords(t *testing.T, target Target) {
	b := setup(t, target)
	p := int64(-7)
	in := agentruntime.TaskIntent{
		Schema: agentruntime.SchemaTaskIntent, TaskType: "code", Source: "cli", Subject: "s <&>", Description: "d", Priority: &p,
		RequestedProfileID: "p", RequestedAdapterID: "codex", RequestedModel: "m", SkillIDs: []string{"x"},
		WorkflowRef:          &agentruntime.WorkflowRef{WorkflowID: "w", StateID: "st", InstanceKey: "k"},
		Payload:              json.RawMessage(`{"a":1}`),
		EvidenceRequirements: &agentruntime.EvidenceRequirements{RequireAdapterAudit: true},
		Deed:                 &deed.TaskSpec{DedupeKey: "k", WriteScope: []string{"src/**"}},
	}
	due := b.clock.Now().Add(time.Hour + 7*time.Microsecond)
	id := b.add(store.NewTask{
		Intent: in, ProfileID: "p", AdapterID: "codex", Model: "m", Priority: p, MaxAttempts: 5, AvailableAt: due, DedupeKey: "k",
	})[0]
	got := b.task(id)
	b.same(got.Intent, in)
	str := func(s string) *string { return &s }
	now := agentruntime.At(b.clock.Now())
	b.same(got.Record, agentruntime.TaskRecord{
		TaskID: id, TaskType: "code", Source: "cli", Subject: str("s <&>"), Description: str("d"), Priority: -7, Payload: in.Payload,
		RequestedProfileID: "p", RequestedAdapterID: str("codex"), RequestedModel: str("m"), Status: agentruntime.TaskPending,
		MaxAttempts: 5, AvailableAt: agentruntime.At(due), CreatedAt: now, UpdatedAt: now,
	})
	if got.DedupeKey != "k" || got.Fence != 0 || got.AttemptID != "" || got.CancelRequested {
		t.Fatalf("task: %+v", got)
	}
	b.same(b.types(id), []string{"task_enqueued"})
	plain := b.task(b.add(task("x"))[0]).Record
	if plain.Subject != nil || plain.RequestedAdapterID != nil || plain.RequestedModel != nil || plain.Outcome != nil || plain.LastError != nil {
		t.Fatalf("empty fields must be null: %+v", plain)
	}
	b.audit()
}

// Payloads are bytes to the store: no number is rounded, no space is lost, on either side of the inline limit.
func enqueuePayload(t *testing.T, target Target) {
	b := setup(t, target)
	small := "{ \"n\": 123456789012345678901234567890.10,\"e\":1E400, \"u\":\"\\u0000 \u2028 <&> \\ud83d\\ude00 \U0001F600\",\n\t\"z\": -0.0 }"
	big := `{"b": "` + strings.Repeat("é", 300_000) + `", "n": 1.000}`
	for _, payload := range []string{small, big} {
		id := b.add(task("p", func(n *store.NewTask) { n.Intent.Payload = json.RawMessage(payload) }))[0]
		if got := b.task(id); !bytes.Equal(got.Record.Payload, []byte(payload)) || !bytes.Equal(got.Intent.Payload, []byte(payload)) {
			t.Fatalf("payload of %d bytes changed", len(payload))
		}
		if c := b.claim(); string(c.Task.Record.Payload) != payload {
			t.Fatalf("claimed payload of %d bytes changed", len(payload))
		}
	}
	list, err := b.s.Tasks(b.ctx, store.TaskFilter{})
	b.ok(err)
	if string(list[0].Record.Payload) != big || string(list[1].Record.Payload) != small {
		t.Fatal("listed payloads changed")
	}
}

func enqueueBatch(t *testing.T, target Target) {
	b := setup(t, target)
	var tasks []store.NewTask
	for _, n := range names(1003, "n") {
		tasks = append(tasks, task(n))
	}
	tasks[500].Intent.Payload = json.RawMessage(`{"big": "` + strings.Repeat("x", 10_000) + `"}`)
	bad := append([]store.NewTask{}, tasks...)
	bad[1002].Intent.Payload = json.RawMessage(`{"open": `)
	_, err := b.s.Enqueue(b.ctx, bad...)
	b.is(err, store.ErrInvalid)
	if !strings.Contains(err.Error(), "task 1003 of 1003") {
		t.Fatalf("the error does not name the task: %v", err)
	}
	if n, err := b.s.Counts(b.ctx); err != nil || len(n) != 0 {
		t.Fatalf("half a batch was written: %v %v", n, err)
	}
	ids := b.add(tasks...)
	list, err := b.s.Tasks(b.ctx, store.TaskFilter{Limit: 2000})
	b.ok(err)
	for i, got := range list {
		want := len(ids) - 1 - i
		if got.ID() != ids[want] || got.Record.Source != tasks[want].Intent.Source {
			t.Fatalf("place %d holds %s, want %s", i, got.Record.Source, tasks[want].Intent.Source)
		}
	}
	ev, err := b.s.Events(b.ctx, store.EventFilter{Limit: 5000})
	b.ok(err)
	if len(ev) != len(ids) {
		t.Fatalf("%d events for %d tasks", len(ev), len(ids))
	}
	for i, e := range ev {
		if e.Type != "task_enqueued" || e.TaskID != ids[i] {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if out, err := b.s.Enqueue(b.ctx); err != nil || out != nil {
		t.Fatalf("empty batch: %v %v", out, err)
	}
}

func enqueueBad(t *testing.T, target Target) {
	b := setup(t, target)
	for name, change := range map[string]func(*store.NewTask){
		"no attempts":       attempts(0),
		"negative attempts": attempts(-1),
		"huge attempts":     attempts(math.MaxInt),
		"no type":           typed(""),
		"NUL in type":       typed("a\x00b"),
		"bad UTF-8 in key":  key("\xff"),
		"negative window":   window(-1),
		"broken payload":    func(n *store.NewTask) { n.Intent.Payload = json.RawMessage(`{`) },
		"payload not UTF-8": func(n *store.NewTask) { n.Intent.Payload = json.RawMessage("{\"a\":\"\xff\"}") },
	} {
		if _, err := b.s.Enqueue(b.ctx, task("x", change)); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := b.s.Claim(b.ctx, store.ClaimOptions{RunnerID: "r"})
	b.is(err, store.ErrInvalid)
	_, err = b.s.Claim(b.ctx, store.ClaimOptions{Lease: time.Second})
	b.is(err, store.ErrInvalid)
	if n, err := b.s.Counts(b.ctx); err != nil || len(n) != 0 {
		t.Fatalf("something was written: %v %v", n, err)
	}
}

func enqueueClaimed(t *testing.T, target Target) {
	b := setup(t, target)
	c, err := b.s.EnqueueClaimed(b.ctx, task("mine", at(b.clock.Now().Add(time.Hour)), key("k")), lease)
	b.ok(err)
	b.wantStatus(c.Ref.TaskID, agentruntime.TaskRunning)
	b.same(b.types(c.Ref.TaskID), []string{"task_enqueued", "task_claimed"})
	_, err = b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
	var dup *store.DuplicateError
	if _, err = b.s.EnqueueClaimed(b.ctx, task("second", key("k")), lease); !errors.As(err, &dup) || dup.TaskID != c.Ref.TaskID {
		t.Fatalf("second: %v", err)
	}
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{}))
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))

	b.add(task("waits", key("taken")))
	if _, err = b.s.EnqueueClaimed(b.ctx, task("third", key("taken")), lease); !errors.As(err, &dup) {
		t.Fatalf("third: %v", err)
	}
	b.audit()
}

func claimOrder(t *testing.T, target Target) {
	b := setup(t, target)
	prios := []int64{0, 5, -5, 5, math.MaxInt64, math.MinInt64, 0, 100, math.MaxInt64 - 1}
	for i, p := range prios {
		b.add(task(fmt.Sprintf("%d#%d", p, i), priority(p)))
		b.clock.Advance(time.Millisecond)
	}
	var got []string
	for range prios {
		got = append(got, b.claim().Task.Record.Source)
	}
	b.same(got, []string{
		"9223372036854775807#4", "9223372036854775806#8", "100#7", "5#1", "5#3", "0#0", "0#6", "-5#2", "-9223372036854775808#5",
	})
	_, err := b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
}

// The clock stands: the order of insertion decides.
func claimSubSecond(t *testing.T, target Target) {
	b := setup(t, target)
	want := names(120, "n")
	for _, n := range want[:60] {
		b.add(task(n))
	}
	var rest []store.NewTask
	for _, n := range want[60:] {
		rest = append(rest, task(n))
	}
	b.add(rest...)
	var got []string
	for range want {
		got = append(got, b.claim().Task.Record.Source)
	}
	b.same(got, want)
}

func claimDue(t *testing.T, target Target) {
	b := setup(t, target)
	now := b.clock.Now()
	b.add(task("later", at(now.Add(1500*time.Microsecond)), priority(100)), task("now", priority(1)))
	if c := b.claim(); c.Task.Record.Source != "now" {
		t.Fatalf("claimed %s", c.Task.Record.Source)
	}
	_, err := b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
	b.clock.Advance(1499 * time.Microsecond)
	_, err = b.s.Claim(b.ctx, lease)
	b.is(err, store.ErrNoTask)
	b.clock.Advance(time.Microsecond)
	b.add(task("low"))
	if c := b.claim(); c.Task.Record.Source != "later" {
		t.Fatalf("claimed %s", c.Task.Record.Source)
	}
	n, err := b.s.Promote(b.ctx, 10)
	if err != nil || n != 0 {
		t.Fatalf("promote: %d %v", n, err)
	}
}

// Many tasks become due at once: priority decides among them, not the due time.
func claimBurst(t *testing.T, target Target) {
	b := setup(t, target)
	const n = 1200
	var tasks []store.NewTask
	for i := range n {
		tasks = append(tasks, task(fmt.Sprint(i), priority(int64(i)), at(b.clock.Now().Add(time.Minute+time.Duration(i)))))
	}
	b.add(tasks...)
	b.clock.Advance(time.Hour)
	for want := n - 1; want > n-4; want-- {
		if got := b.claim().Task.Record.Source; got != fmt.Sprint(want) {
			t.Fatalf("claimed %s, want %d", got, want)
		}
	}
	b.audit()
}

func claimByID(t *testing.T, target Target) {
	b := setup(t, target)
	ids := b.add(task("a", priority(9)), task("b"), task("c", at(b.clock.Now().Add(time.Hour))))
	by := func(id string) (*store.Claim, error) {
		o := lease
		o.TaskID = id
		return b.s.Claim(b.ctx, o)
	}
	c, err := by(ids[1])
	b.ok(err)
	if c.Ref.TaskID != ids[1] {
		t.Fatalf("claimed %s", c.Ref.TaskID)
	}
	_, err = by(ids[1])
	b.is(err, store.ErrNoTask)
	_, err = by(ids[2])
	b.is(err, store.ErrNoTask)
	_, err = by("00000000-0000-7000-8000-000000000000")
	b.is(err, store.ErrNotFound)
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{}))
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	_, err = by(ids[1])
	b.is(err, store.ErrTerminal)
	b.clock.Advance(time.Hour)
	_, err = by(ids[2]) // due, and still in the waiting lane
	b.ok(err)
	b.audit()
}

func claimAgeing(t *testing.T, target Target) {
	b := setup(t, target)
	aged := b.open(store.Options{AgeingStep: time.Minute})
	put := func(name string, p int64) {
		_, err := aged.Enqueue(b.ctx, task(name, priority(p)))
		b.ok(err)
	}
	put("old", 0)
	b.clock.Advance(90 * time.Second)
	put("plus one", 1) // one step above, but "old" has waited for one and a half
	put("plus two", 2)
	put("lowest", math.MinInt64)
	put("highest", math.MaxInt64)
	var got []string
	for range 5 {
		c, err := aged.Claim(b.ctx, lease)
		b.ok(err)
		got = append(got, c.Task.Record.Source)
	}
	b.same(got, []string{"highest", "plus two", "old", "plus one", "lowest"})
}

func claimRerank(t *testing.T, target Target) {
	b := setup(t, target)
	b.add(task("old"))
	b.clock.Advance(time.Hour)
	b.add(task("new", priority(1)))
	aged := b.open(store.Options{AgeingStep: time.Minute})
	c, err := aged.Claim(b.ctx, lease)
	b.ok(err)
	if c.Task.Record.Source != "old" {
		t.Fatalf("claimed %s: the waiting tasks were not ranked anew", c.Task.Record.Source)
	}
	strict := b.open(store.Options{})
	_, err = strict.Enqueue(b.ctx, task("newest"))
	b.ok(err)
	c, err = strict.Claim(b.ctx, lease)
	b.ok(err)
	if c.Task.Record.Source != "new" {
		t.Fatalf("claimed %s", c.Task.Record.Source)
	}
}

// Claimers in two stores take every task once.
func claimConcurrent(t *testing.T, target Target) {
	b := setup(t, target)
	const n = 200
	var tasks []store.NewTask
	for i := range n {
		tasks = append(tasks, task(fmt.Sprint(i), priority(int64(i%3))))
	}
	ids := b.add(tasks...)
	other := b.open(store.Options{})
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for i := range 8 {
		s := b.s
		if i%2 == 1 {
			s = other
		}
		wg.Go(func() {
			for {
				c, err := s.Claim(b.ctx, lease)
				if errors.Is(err, store.ErrNoTask) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[c.Ref.TaskID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if seen[id] != 1 {
			t.Fatalf("task %s was claimed %d times", id, seen[id])
		}
		if a, err := b.s.Attempts(b.ctx, id); err != nil || len(a) != 1 {
			t.Fatalf("task %s has %d attempts: %v", id, len(a), err)
		}
	}
	b.audit()
}

func nextDue(t *testing.T, target Target) {
	b := setup(t, target)
	want := func(at time.Time, ok bool) {
		t.Helper()
		gotAt, gotOK, err := b.s.NextDue(b.ctx)
		b.ok(err)
		if gotOK != ok || !gotAt.Equal(at) {
			t.Fatalf("next due %v %v, want %v %v", gotAt, gotOK, at, ok)
		}
	}
	now := b.clock.Now()
	want(time.Time{}, false)
	b.add(task("2h", at(now.Add(2*time.Hour))), task("1h", at(now.Add(time.Hour))))
	want(now.Add(time.Hour), true)
	b.add(task("now"))
	want(now, true)
	b.claim()
	want(now.Add(time.Hour), true)
	b.clock.Advance(3 * time.Hour)
	b.claim()
	b.claim()
	want(time.Time{}, false)
}

// What was due stays due when the clock is set back: a task of the better time must not hide the others behind it.
func clockBack(t *testing.T, target Target) {
	b := setup(t, target)
	first := b.add(task("x"))[0]
	b.clock.Advance(-48 * time.Hour)
	second := b.add(task("x"))[0]
	if at, ok, err := b.s.NextDue(b.ctx); err != nil || !ok || at.After(b.clock.Now()) {
		t.Errorf("NextDue = %s, %v, %v; want now", at, ok, err)
	}
	b.same([]string{b.claim().Ref.TaskID, b.claim().Ref.TaskID}, []string{first, second})
}

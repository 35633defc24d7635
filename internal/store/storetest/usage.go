package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/store"
)

func part(day, model string, u store.Usage) store.UsagePart {
	return store.UsagePart{Day: day, Model: model, Usage: u}
}

func usd(micro int64) *int64 { return &micro }

// Usage is written while the attempt runs and when it ends; the last word about a day and a model counts.
func usageRecorded(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.begun()
	first := store.Usage{Turns: 1, ToolCalls: 2, InputTokens: 100, CachedInputTokens: 40, CacheWriteTokens: 10, OutputTokens: 7, ReasoningTokens: 3, CostMicroUSD: 55, AgentMS: 900}
	b.ok(b.s.UpdateUsage(b.ctx, c.Ref, []store.UsagePart{part("2026-01-31", "m", first)}))
	for range 2 { // the same again changes nothing
		more := first.Add(first)
		more.ReportedMicroUSD = usd(200)
		b.ok(b.s.UpdateUsage(b.ctx, c.Ref, []store.UsagePart{part("2026-01-31", "m", more), part("2026-02-01", "n", store.Usage{UnpricedTokens: 5, InputTokens: 5})}))
	}
	rows, err := b.s.UsageOfTask(b.ctx, id)
	b.ok(err)
	want := []store.UsageRow{
		{TaskID: id, AttemptID: c.Ref.AttemptID, UsagePart: part("2026-01-31", "m", store.Usage{
			Turns: 2, ToolCalls: 4, InputTokens: 200, CachedInputTokens: 80, CacheWriteTokens: 20, OutputTokens: 14, ReasoningTokens: 6, CostMicroUSD: 110, ReportedMicroUSD: usd(200), AgentMS: 1800,
		})},
		{TaskID: id, AttemptID: c.Ref.AttemptID, UsagePart: part("2026-02-01", "n", store.Usage{UnpricedTokens: 5, InputTokens: 5})},
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Fatalf("rows differ (-want +got):\n%s", d)
	}
	end := done()
	end.Usage = []store.UsagePart{part("2026-02-01", "n", store.Usage{Turns: 9, InputTokens: 6, UnpricedTokens: 6})}
	b.ok(b.s.Settle(b.ctx, c.Ref, end))
	rows, err = b.s.UsageOfTask(b.ctx, id)
	b.ok(err)
	if len(rows) != 2 || rows[1].Turns != 9 || rows[0].Turns != 2 {
		t.Fatalf("after the settlement: %+v", rows)
	}
	if sum := store.SumUsage(rows); sum.Turns != 11 || sum.CountedMicroUSD != 200 || sum.CostMicroUSD != 110 {
		t.Fatalf("sum: %+v", sum)
	}
	none, err := b.s.UsageOfTask(b.ctx, b.add(task("y"))[0])
	if err != nil || none == nil || len(none) != 0 {
		t.Fatalf("a task that used nothing: %+v %v", none, err)
	}
}

// Only who holds the claim may write, and what is wrong changes nothing.
func usageFenced(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("x"))[0]
	c := b.begun()
	good := []store.UsagePart{part("2026-01-31", "m\x00\xff", store.Usage{Turns: 1})}
	stale := c.Ref
	stale.Fence--
	b.is(b.s.UpdateUsage(b.ctx, stale, good), store.ErrFenced)
	for _, bad := range [][]store.UsagePart{
		{part("yesterday", "m", store.Usage{})},
		{part("2026-02-30", "m", store.Usage{})},
		{part("", "m", store.Usage{})},
		{part("2026-01-31", "m", store.Usage{Turns: 1}), part("2026-01-31", "n", store.Usage{OutputTokens: -1})},
		{part("2026-01-31", "m", store.Usage{ReportedMicroUSD: usd(-1)})},
		make([]store.UsagePart, 1001),
	} {
		b.is(b.s.UpdateUsage(b.ctx, c.Ref, bad), store.ErrInvalid)
		in := done()
		in.Usage = bad
		b.is(b.s.Settle(b.ctx, c.Ref, in), store.ErrInvalid)
	}
	b.ok(b.s.UpdateUsage(b.ctx, c.Ref, good))
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	b.is(b.s.UpdateUsage(b.ctx, c.Ref, good), store.ErrFenced)
	rows, err := b.s.UsageOfTask(b.ctx, id)
	if err != nil || len(rows) != 1 || rows[0].Model != "m\uFFFD\uFFFD" {
		t.Fatalf("%+v %v", rows, err)
	}
}

// Days and models are added up over attempts; of reported and computed cost the larger counts, by attempt and day.
func usageReport(t *testing.T, target Target) {
	b := setup(t, target)
	var ids []string
	for i, parts := range [][]store.UsagePart{
		{part("2026-01-30", "a", store.Usage{Turns: 1, CostMicroUSD: 10}), part("2026-01-31", "a", store.Usage{Turns: 2, CostMicroUSD: 20})},
		{part("2026-01-31", "a", store.Usage{Turns: 4, CostMicroUSD: 30}), part("2026-01-31", "b", store.Usage{CostMicroUSD: 5}), part("2026-01-31", "", store.Usage{ReportedMicroUSD: usd(100)})},
		{part("2026-01-31", "b", store.Usage{CostMicroUSD: 7, ReportedMicroUSD: usd(1)})},
		{part("2026-02-01", "a", store.Usage{InputTokens: math.MaxInt64, OutputTokens: 1})},
		{part("2026-02-01", "a", store.Usage{InputTokens: math.MaxInt64})},
	} {
		ids = append(ids, b.add(task(fmt.Sprint(i)))...)
		c := b.begun()
		b.ok(b.s.UpdateUsage(b.ctx, c.Ref, parts))
		b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	}
	day, err := b.s.UsageOfDay(b.ctx, "2026-01-31", "")
	b.ok(err)
	if day.Turns != 6 || day.CostMicroUSD != 62 || *day.ReportedMicroUSD != 101 || day.CountedMicroUSD != 20+100+7 {
		t.Fatalf("day: %+v", day)
	}
	rows, err := b.s.UsageOfTask(b.ctx, ids[0])
	b.ok(err)
	if rest, err := b.s.UsageOfDay(b.ctx, "2026-01-31", rows[0].AttemptID); err != nil || rest.Turns != 4 || rest.CountedMicroUSD != 107 {
		t.Fatalf("the day without one: %+v %v", rest, err)
	}
	if empty, err := b.s.UsageOfDay(b.ctx, "2025-01-01", ""); err != nil || empty != (store.UsageSum{}) {
		t.Fatalf("an empty day: %+v %v", empty, err)
	}
	r, err := b.s.UsageByModel(b.ctx, "2026-01-30", "2026-01-31")
	b.ok(err)
	var lines []string
	for _, l := range r.Lines {
		lines = append(lines, fmt.Sprint(l.Day, " ", l.Model, " ", l.Attempts, " ", l.CostMicroUSD))
	}
	want := []string{"2026-01-30 a 1 10", "2026-01-31  1 0", "2026-01-31 a 2 50", "2026-01-31 b 2 12"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Fatalf("lines differ (-want +got):\n%s", d)
	}
	if len(r.Days) != 2 || r.Days["2026-01-31"].CountedMicroUSD != day.CountedMicroUSD || r.Total.CountedMicroUSD != day.CountedMicroUSD+10 || r.Attempts != 3 {
		t.Fatalf("report: %+v", r)
	}
	last, err := b.s.UsageOfDay(b.ctx, "2026-02-01", "")
	if err != nil || last.InputTokens != math.MaxInt64 || last.Tokens() != math.MaxInt64 {
		t.Fatalf("a sum that does not fit: %+v %v", last, err)
	}
	_, err = b.s.UsageOfDay(b.ctx, "31.1.2026", "")
	b.is(err, store.ErrInvalid)
	_, err = b.s.UsageByModel(b.ctx, "2026-01-30", "now")
	b.is(err, store.ErrInvalid)
}

// The sum of a day is that of its rows, whatever was written how often, and by how many at once.
func usageOfDays(t *testing.T, target Target) {
	b := setup(t, target)
	const day = "2026-01-31"
	var refs []store.Ref
	for i := range 6 {
		b.add(task(fmt.Sprint(i)))
		refs = append(refs, b.begun().Ref)
	}
	check := func(step string) {
		t.Helper()
		r, err := b.s.UsageByModel(b.ctx, day, day)
		b.ok(err)
		got, err := b.s.UsageOfDay(b.ctx, day, "")
		b.ok(err)
		if d := cmp.Diff(r.Days[day], got); d != "" {
			t.Errorf("%s: (-rows +day)\n%s", step, d)
		}
	}
	const huge = 1 << 50
	for _, c := range []struct {
		name  string
		parts []store.UsagePart
	}{
		{"the first", []store.UsagePart{part(day, "a", store.Usage{Turns: 1, InputTokens: 10, CostMicroUSD: 7})}},
		{"more of it, and another model", []store.UsagePart{part(day, "a", store.Usage{Turns: 3, InputTokens: 30, CostMicroUSD: 9}), part(day, "b", store.Usage{AgentMS: 5, ReportedMicroUSD: usd(20)})}},
		{"the same again", []store.UsagePart{part(day, "b", store.Usage{AgentMS: 5, ReportedMicroUSD: usd(20)})}},
		{"two of one model", []store.UsagePart{part(day, "c", store.Usage{Turns: 1}), part(day, "c", store.Usage{Turns: 2})}},
		{"less of it", []store.UsagePart{part(day, "a", store.Usage{Turns: 2}), part(day, "b", store.Usage{AgentMS: 5})}},
		{"too much", []store.UsagePart{part(day, "a", store.Usage{Turns: 2, OutputTokens: huge, ReportedMicroUSD: usd(math.MaxInt64)})}},
		{"still too much", []store.UsagePart{part(day, "c", store.Usage{ToolCalls: 8, UnpricedTokens: 2})}},
		{"not too much", []store.UsagePart{part(day, "a", store.Usage{Turns: 2, OutputTokens: 50})}},
		{"another day", []store.UsagePart{part("2026-02-01", "a", store.Usage{Turns: 1}), part(day, "d", store.Usage{Turns: 1})}},
	} {
		b.ok(b.s.UpdateUsage(b.ctx, refs[0], c.parts))
		check(c.name)
	}
	var wg sync.WaitGroup
	for i, ref := range refs {
		wg.Go(func() {
			for n := range 10 {
				err := b.s.UpdateUsage(b.ctx, ref, []store.UsagePart{
					part(day, fmt.Sprint(n%3), store.Usage{Turns: int64(n), CostMicroUSD: int64(i * n), ReportedMicroUSD: usd(int64(n))}), part("2026-02-01", "a", store.Usage{Turns: int64(n)}),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	check("many at once")
	rows, err := b.s.UsageByModel(b.ctx, "2026-02-01", "2026-02-01")
	b.ok(err)
	b.same(rows.Total.Turns, int64(6*9))
	last, err := b.s.UsageOfDay(b.ctx, "2026-02-01", refs[0].AttemptID)
	b.ok(err)
	b.same(last.Turns, int64(5*9))
}

// A higher budget answers what waits for it and wakes the task; what else is open stays open.
func budgetRaised(t *testing.T, target Target) {
	b := setup(t, target)
	exhausted := blocked("the budget is used up")
	exhausted.Action.Kind, exhausted.Class = store.ActionBudget, "budget_exhausted"
	for _, size := range []int{10, 5000} { // in the row of the task, and in a row of its own
		payload := json.RawMessage(`{ "n": 1.10, "x": "` + strings.Repeat("<", size) + `" }`)
		id := b.add(task("x", attempts(1), func(n *store.NewTask) {
			n.Intent.Payload = payload
			n.Intent.Deed = &deed.TaskSpec{MaxTurns: 3, Budget: &deed.Budget{Turns: 5, Tokens: 10}}
		}))[0]
		raise := func(v deed.Budget) deed.Budget { v.Turns *= 2; return v }
		for round := range 2 {
			c := b.begun()
			if got := c.Task.Intent.Deed.Budget.Turns; got != 5<<round {
				t.Fatalf("round %d is claimed with %d turns", round, got)
			}
			b.ok(b.s.Settle(b.ctx, c.Ref, exhausted))
			b.clock.Advance(time.Minute)
			got, err := b.s.SetBudget(b.ctx, id, "me", raise)
			b.ok(err)
			if got.Previous.Turns != 5<<round || got.Budget.Turns != 10<<round || got.Budget.Tokens != 10 || len(got.Answered) != 1 || got.Status != agentruntime.TaskPending {
				t.Fatalf("change: %+v", got)
			}
			b.wantStatus(id, agentruntime.TaskPending)
			b.audit()
		}
		after := b.task(id)
		if after.Intent.Deed.MaxTurns != 3 || string(after.Record.Payload) != string(payload) {
			t.Fatalf("the rest of the task: %+v %s", after.Intent.Deed, after.Record.Payload)
		}
		acts, err := b.s.Actions(b.ctx, store.ActionFilter{TaskID: id})
		b.ok(err)
		if len(acts) != 2 || acts[1].State != store.ActionAnswered || acts[1].AnsweredBy != "me" || string(acts[1].Answer) != `{"budget":{"turns":20,"tokens":10}}` {
			t.Fatalf("actions: %+v", acts)
		}
		events, err := b.s.Events(b.ctx, store.EventFilter{TaskID: id})
		b.ok(err)
		n := 0
		for _, e := range events {
			if e.Type == store.EventTaskBudgetChanged {
				n++
			}
		}
		if n != 2 {
			t.Fatalf("%d events of a changed budget", n)
		}
		b.ok(b.s.Settle(b.ctx, b.begun().Ref, done()))
		_, err = b.s.SetBudget(b.ctx, id, "me", raise)
		b.is(err, store.ErrTerminal)
	}
	// A question stays open; the budget is changed all the same. So it is while the task runs.
	id := b.add(task("q"))[0]
	c := b.begun()
	set := func(v deed.Budget) deed.Budget { v.Turns = 7; return v }
	got, err := b.s.SetBudget(b.ctx, id, "me", set)
	if err != nil || got.Status != agentruntime.TaskRunning || got.Answered != nil {
		t.Fatalf("while it runs: %+v %v", got, err)
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, blocked("a or b?")))
	_, err = b.s.SetBudget(b.ctx, id, "me", func(deed.Budget) deed.Budget { return deed.Budget{Turns: -1} })
	b.is(err, store.ErrInvalid)
	got, err = b.s.SetBudget(b.ctx, id, "me", set)
	if err != nil || got.Previous.Turns != 7 || got.Status != agentruntime.TaskBlocked || got.Answered != nil {
		t.Fatalf("with a question open: %+v %v", got, err)
	}
	b.audit()
	_, err = b.s.SetBudget(b.ctx, store.NewID(), "me", set)
	b.is(err, store.ErrNotFound)
}

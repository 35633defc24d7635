package attempt

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

// spender works on until it is ended, or waits for that; when it is asked again it does what it was asked for.
func spender(t *testing.T, spend func(driver.Sink)) *talker {
	d := &talker{ref: "conversation-1"}
	d.turn = func(ctx context.Context, j driver.Job, in driver.Input, sink driver.Sink) driver.Yield {
		if in.Turn > 1 {
			writes(t, j, "answer", "42\n")
			return says("done")
		}
		writes(t, j, "half", "begun\n")
		for spend != nil && ctx.Err() == nil {
			spend(sink)
		}
		<-ctx.Done()
		return driver.Yield{}
	}
	return d
}

// Each bound stops the agent, keeps its work, and lets it go on in the same conversation when it is raised.
func TestABudgetStopsTheAgentAndRaisingItGoesOn(t *testing.T) {
	t.Parallel()
	use := func(sink driver.Sink) {
		sink.Event(driver.EventUsage, agentruntime.Usage{Model: "m", InputTokens: 900_000, OutputTokens: 100_000})
	}
	for name, c := range map[string]struct {
		budget deed.Budget
		spend  func(driver.Sink)
		bound  string
	}{
		"turns":      {deed.Budget{Turns: 3}, func(s driver.Sink) { s.Event(driver.EventTurn, agentruntime.Turn{ID: "t", Index: 1}) }, "turns"},
		"tool calls": {deed.Budget{ToolCalls: 3}, func(s driver.Sink) { s.Event(driver.EventToolCall, agentruntime.ToolCall{CallID: "c", Tool: "x"}) }, "tool_calls"},
		"tokens":     {deed.Budget{Tokens: 2_500_000}, use, "tokens"},
		"money":      {deed.Budget{CostUSD: 2}, use, "cost_usd"},
		"a told price": {deed.Budget{CostUSD: 9}, func(s driver.Sink) {
			s.Event(driver.EventUsage, agentruntime.Usage{CostMicroUSD: new(int64(4_000_000))})
		}, "cost_usd"},
		"time": {deed.Budget{WallSeconds: 1}, nil, "wall_seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Config.Prices["m"] = settings.Price{Input: 1, Output: 1}
			d := spender(t, c.spend)
			claim := b.talking(d, func(s *deed.TaskSpec) { s.Budget = &c.budget })
			res, err := b.Run(t.Context(), b.sup, claim)
			if err != nil {
				t.Fatal(err)
			}
			s := res.Settlement
			if s.Status != agentruntime.TaskBlocked || s.Class != string(failure.Budget) || s.Action == nil || s.Action.Kind != store.ActionBudget {
				t.Fatalf("settled %s %s: %s", s.Status, s.Class, s.LastError)
			}
			var bound usage.Bound
			if err := json.Unmarshal(s.Action.Detail, &bound); err != nil || bound.Scope != "task" || bound.Name != c.bound {
				t.Errorf("%s: %v", s.Action.Detail, err)
			}
			if !strings.Contains(s.LastError, "deed task budget "+claim.Ref.TaskID) {
				t.Errorf("no remedy: %s", s.LastError)
			}
			entries, err := journal.Read(filepath.Join(res.BundleDir, "events.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if told := history.Of(history.Options{}, entries).Budgets; len(told) != 1 || told[0].Used == 0 || told[0].Limit == 0 || !told[0].Exhausted && name != "time" {
				t.Errorf("the journal says of the budget: %+v", told)
			}
			rows, err := b.Store.UsageOfTask(t.Context(), claim.Ref.TaskID)
			if err != nil || len(rows) == 0 || rows[0].AttemptID != claim.Ref.AttemptID {
				t.Fatalf("usage: %+v %v", rows, err)
			}
			more, err := b.Store.SetBudget(t.Context(), claim.Ref.TaskID, "me", func(deed.Budget) deed.Budget {
				return deed.Budget{Turns: 1000, ToolCalls: 1000, Tokens: 1e9, CostUSD: 1000, WallSeconds: 1000}
			})
			if err != nil || more.Status != agentruntime.TaskPending {
				t.Fatalf("%+v %v", more, err)
			}
			next, err := b.Store.Claim(t.Context(), store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			res, err = b.Run(t.Context(), b.sup, next)
			if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
				t.Fatalf("%s: %s, %v", res.Settlement.Status, res.Settlement.LastError, err)
			}
			if len(d.resume) != 2 || d.resume[1] != "conversation-1" || len(res.Files) != 2 {
				t.Errorf("it began anew: %q, %+v", d.resume, res.Files)
			}
			if next.Task.Record.AttemptCount != 1 {
				t.Errorf("it cost an attempt: %d", next.Task.Record.AttemptCount)
			}
		})
	}
}

// What is left of a budget is what earlier attempts and other tasks left of it.
func TestABudgetThatIsUsedUpStartsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Budgets.Day = deed.Budget{Tokens: 1000}
	spend := &talker{ref: "a"}
	spend.turn = func(_ context.Context, j driver.Job, _ driver.Input, sink driver.Sink) driver.Yield {
		sink.Event(driver.EventUsage, agentruntime.Usage{InputTokens: 999})
		writes(t, j, "answer", "42\n")
		return says("cheap")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(spend, nil))
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s %v", res.Settlement.LastError, err)
	}
	// It ends what runs, and a completion that came with the last token counts.
	res, err = b.Run(t.Context(), b.sup, b.talking(spend, nil))
	if err != nil || res.Settlement.Status != agentruntime.TaskCompleted {
		t.Fatalf("%s %v", res.Settlement.LastError, err)
	}
	idle := &talker{ref: "b"}
	idle.turn = func(context.Context, driver.Job, driver.Input, driver.Sink) driver.Yield {
		t.Error("it was started")
		return says("x")
	}
	res, err = b.Run(t.Context(), b.sup, b.talking(idle, nil))
	if err != nil || res.Settlement.Status != agentruntime.TaskBlocked || res.Settlement.Class != string(failure.Budget) {
		t.Fatalf("%s %s %v", res.Settlement.Status, res.Settlement.LastError, err)
	}
	if s := res.Settlement.LastError; !strings.Contains(s, "day") || !strings.Contains(s, "budgets.day.tokens") {
		t.Errorf("%s", s)
	}
}

// Another task's use counts while this one runs.
func TestOthersUseTheDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Budgets.Day = deed.Budget{Tokens: 1000}
	other := b.claim("exit 0", nil)
	d := &talker{ref: "a"}
	d.turn = func(ctx context.Context, j driver.Job, in driver.Input, sink driver.Sink) driver.Yield {
		if in.Turn == 1 {
			part := store.UsagePart{Day: usage.Day(b.Clock()), Model: "m", Usage: store.Usage{InputTokens: 1000}}
			if err := b.Store.UpdateUsage(context.WithoutCancel(ctx), other.Ref, []store.UsagePart{part}); err != nil {
				t.Error(err)
			}
			return says("not yet") // it is refused, and there is no next turn
		}
		t.Error("it went on")
		return says("x")
	}
	res, err := b.Run(t.Context(), b.sup, b.talking(d, nil))
	if err != nil || res.Settlement.Class != string(failure.Budget) {
		t.Fatalf("%s %s %v", res.Settlement.Class, res.Settlement.LastError, err)
	}
}

func TestAnUnknownPriceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	row := store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "test", Payload: json.RawMessage(`{}`), Deed: &deed.TaskSpec{
			Adapter: json.RawMessage(`{"adapter_id": "a", "kind": "native", "model": "mystery", "timeout_ms": 1000, "provider": {"api": "openai-chat", "base_url": "https://models.example"}}`),
			Budget:  &deed.Budget{CostUSD: 1},
		}},
		ProfileID: "default", AdapterID: "a",
	}
	b.Drivers = driver.NewSet(&talker{})
	err := b.Preflight(t.Context(), row)
	if failure.ClassOf(err) != failure.Config || !strings.Contains(err.Error(), `"mystery"`) || !strings.Contains(err.Error(), "prices:") {
		t.Fatalf("%v", err)
	}
	row.Model = "gpt-5" // the task's own model counts
	if err := b.Preflight(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	// What was admitted under other settings is refused when it is attempted.
	row.Model, row.MaxAttempts = "", 3
	c, err := b.Store.EnqueueClaimed(t.Context(), row, store.ClaimOptions{RunnerID: "runner", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Run(t.Context(), b.sup, c)
	if err != nil || res.Settlement.Status != agentruntime.TaskPermanentFailure || res.Settlement.Class != string(failure.Config) {
		t.Fatalf("%s %s %v", res.Settlement.Status, res.Settlement.LastError, err)
	}
}

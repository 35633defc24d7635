package loop_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/failure"
)

func TestDelegation(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		calls(tool.Delegate, `{"goal": "find it", "tools": ["read", "list", "task_complete"], "max_turns": 5}`),
		// The helper:
		calls(tool.Read, `{"path": "a"}`, tool.Shell, `{"command": "x"}`),
		says("it is in a"),
		// And again the agent:
		calls(tool.Edit, `{"path": "a", "old": "x", "new": "y"}`),
		says("done"))
	defer b.close()
	b.cfg.Bounds.MaxTurns = 5
	g := &guard{}
	b.guard = g
	y := b.turn(t.Context(), "")
	if !y.Completed || y.Summary != "done" {
		t.Fatalf("%+v", y)
	}
	helper := b.script.reqs[1]
	if len(helper.Tools) != 2 || len(helper.Messages) != 1 {
		t.Errorf("the helper has %d tools and %d messages", len(helper.Tools), len(helper.Messages))
	}
	mustContain(t, helper.System, "a helper to another one")
	mustContain(t, text(b.script.reqs[2].Messages[2]), `there is no tool "shell"`)
	parent := b.script.reqs[3].Messages
	mustContain(t, text(parent[len(parent)-1]), "[c0 false] it is in a")
	runs := details[agentruntime.SubagentRun](b, driver.EventSubagent)
	if len(runs) != 2 || runs[0].State != "running" || runs[1].State != "completed" || runs[1].Turns != 2 || runs[1].Summary != "it is in a" || runs[1].Usage.OutputTokens != 10 || runs[0].MaxTurns != 4 || runs[0].Depth != 1 {
		t.Errorf("%+v", runs)
	}
	if _, err := os.Stat(filepath.Join(b.cfg.Dir, runs[0].JournalRef)); err != nil {
		t.Error(err)
	}
	if turns := details[agentruntime.Turn](b, driver.EventTurn); len(turns) != 5 || turns[1].SubagentID != "s1" || turns[2].Index != 3 || turns[3].SubagentID != "" {
		t.Errorf("%+v", turns)
	}
	if g.asked != 3 { // delegate, read, edit: what there is no tool for is not asked about
		t.Errorf("the guard was asked %d times", g.asked)
	}
	var usage int64
	for _, u := range details[agentruntime.Usage](b, driver.EventUsage) {
		usage += u.OutputTokens
	}
	if usage != 25 {
		t.Errorf("usage: %d", usage)
	}
}

func TestDelegationIsBounded(t *testing.T) {
	t.Parallel()
	delegate := func(goal string) model.Response { return calls(tool.Delegate, `{"goal": "`+goal+`"}`) }
	t.Run("count", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), says("1"), delegate("b"), says("2"), delegate("c"), says("3"), delegate("d"), says("done"))
		defer b.close()
		if y := b.turn(t.Context(), ""); !y.Completed || y.Summary != "done" {
			t.Fatalf("%+v", y)
		}
		mustContain(t, b.last(), "all 3 helpers are used up")
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), delegate("b"), delegate("c"), says("deepest"), says("deeper"), says("done"))
		defer b.close()
		b.cfg.Bounds.Depth = 2
		if y := b.turn(t.Context(), ""); !y.Completed || y.Summary != "done" {
			t.Fatalf("%+v", y)
		}
		mustContain(t, text(b.script.reqs[3].Messages[2]), `there is no tool "delegate"`)
		runs := details[agentruntime.SubagentRun](b, driver.EventSubagent)
		if len(runs) != 4 || runs[1].ParentID != "s1" || runs[1].Depth != 2 || runs[1].ID != "s2" {
			t.Errorf("%+v", runs)
		}
	})
	t.Run("turns", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), calls(tool.Read, `{"path": "1"}`), calls(tool.Read, `{"path": "2"}`), says("done"))
		defer b.close()
		b.cfg.Bounds.DelegateTurn = 2
		if y := b.turn(t.Context(), ""); !y.Completed || y.Summary != "done" {
			t.Fatalf("%+v", y)
		}
		mustContain(t, b.last(), "[c0 true] the helper did not come to an end", "answered 2 times")
	})
	t.Run("the turns of all", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), calls(tool.Read, `{"path": "1"}`), calls(tool.Read, `{"path": "2"}`), says("never"))
		defer b.close()
		b.cfg.Bounds.MaxTurns = 3
		if y := b.turn(t.Context(), ""); y.Err == nil || y.Err.Class != failure.Turns {
			t.Fatalf("%+v", y)
		}
	})
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, calls(tool.Delegate, `{"goal": "a", "tools": ["shell"]}`), says("done"))
		defer b.close()
		b.cfg.Bounds.Tools = []string{tool.Read, tool.Delegate}
		if y := b.turn(t.Context(), ""); !y.Completed {
			t.Fatalf("%+v", y)
		}
		mustContain(t, b.last(), `"shell" is not a tool of yours; there are read, delegate`)
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), &model.Error{Kind: model.KindRateLimited, RetryAfter: time.Minute}, says("done"))
		defer b.close()
		b.cfg.Bounds.DelegateTime = 10 * time.Second
		synctest.Test(t, func(t *testing.T) {
			if y := b.turn(t.Context(), ""); !y.Completed || y.Summary != "done" {
				t.Fatalf("%+v", y)
			}
		})
		mustContain(t, b.last(), "it took too long")
	})
	t.Run("a fault of the service", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, delegate("a"), &model.Error{Kind: model.KindAuth}, says("never"))
		defer b.close()
		if y := b.turn(t.Context(), ""); y.Err == nil || y.Err.Class != failure.Config {
			t.Fatalf("%+v", y)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		b := newBench(t, delegate("a"), func(model.Request) (model.Response, error) {
			cancel(driver.ErrCanceled)
			return model.Response{}, errors.New("cut off")
		})
		defer b.close()
		if y := b.turn(ctx, ""); y.Err == nil || y.Err.Class != failure.Canceled {
			t.Fatalf("%+v", y)
		}
		if runs := details[agentruntime.SubagentRun](b, driver.EventSubagent); len(runs) != 2 || runs[1].State != "cancelled" {
			t.Errorf("%+v", runs)
		}
	})
}

// TestADelegateWaitsForAPerson stops within a delegated conversation, and goes on within it.
func TestADelegateWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newBench(t, calls(tool.Delegate, `{"goal": "a"}`), calls(tool.Write, `{"path": "a", "content": ""}`, tool.Shell, `{"command": "x"}`), says("helped"), says("done"))
	defer b.close()
	open := true
	b.guard = &guard{before: func(c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
		if c.Tool == tool.Shell && open {
			return agentruntime.PolicyDecision{}, driver.ErrAsked
		}
		return agentruntime.PolicyDecision{Effect: agentruntime.PolicyAllow}, nil
	}}
	if y := b.turn(t.Context(), ""); y.Err == nil || y.Err.Class != failure.Blocked {
		t.Fatalf("%+v", y)
	}
	b.reopen()
	open = false
	if y := b.turn(t.Context(), "Answered."); !y.Completed || y.Summary != "done" {
		t.Fatalf("%+v", y)
	}
	if got := strings.Join(b.hands.done, " "); strings.Count(got, "write") != 1 || strings.Count(got, "shell") != 1 {
		t.Errorf("carried out: %s", got)
	}
	mustContain(t, b.last(), "[c0 false] helped", "Answered.")
}

package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// What an agent's attempts ended is its own, newest first; a task that runs again is not among it.
func memoryByAgent(t *testing.T, target Target) {
	b := setup(t, target)
	failed := store.Settlement{State: "failed_terminal", Status: agentruntime.TaskPermanentFailure, LastError: "no"}
	var ids []string
	for _, agent := range []string{"loom", "forge", "loom", "", "loom"} {
		b.clock.Advance(time.Second)
		ids = append(ids, b.add(task("x"))[0])
		c := b.claim()
		b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{Agent: agent}))
		end := done()
		if len(ids) == 3 {
			end = failed
		}
		b.ok(b.s.Settle(b.ctx, c.Ref, end))
		got, err := b.s.Attempt(b.ctx, c.Ref.AttemptID)
		b.ok(err)
		b.same(got.Agent, agent)
	}
	recent := func(agent string, limit int) []string {
		t.Helper()
		list, err := b.s.RecentTasks(b.ctx, agent, limit)
		b.ok(err)
		var out []string
		for _, x := range list {
			out = append(out, x.ID())
		}
		return out
	}
	b.same(recent("loom", 10), []string{ids[4], ids[2], ids[0]})
	b.same(recent("loom", 2), []string{ids[4], ids[2]})
	b.same(recent("forge", 10), []string{ids[1]})
	if all := slices.Concat(recent("", 10), recent("nobody", 10)); len(all) > 0 {
		t.Errorf("nobody's tasks: %v", all)
	}
	// It runs again: what it was is no longer how it ended.
	b.ok(b.s.Retry(b.ctx, ids[2], "", "me"))
	b.same(recent("loom", 10), []string{ids[4], ids[0]})
	b.clock.Advance(time.Second)
	c, err := b.s.Claim(b.ctx, store.ClaimOptions{RunnerID: "r1", Lease: time.Minute, TaskID: ids[2]})
	b.ok(err)
	b.ok(b.s.Begin(b.ctx, c.Ref, store.Begin{Agent: "forge"}))
	b.ok(b.s.Settle(b.ctx, c.Ref, failed))
	b.same(recent("loom", 10), []string{ids[4], ids[0]})
	b.same(recent("forge", 10), []string{ids[2], ids[1]}) // whoever ended it
}

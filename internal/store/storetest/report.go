package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// A window of the log includes its beginning and excludes its end, comes newest first, and is bounded.
func reportWindow(t *testing.T, target Target) {
	b := setup(t, target)
	var ended []time.Time
	for i := range 3 {
		b.add(task(fmt.Sprint(i)))
		c := b.begun()
		b.clock.Advance(time.Minute)
		b.ok(b.s.Settle(b.ctx, c.Ref, done()))
		ended = append(ended, b.clock.Now())
		b.clock.Advance(time.Minute)
	}
	told := func(from, to time.Time, limit int) (out []string) {
		b.ok(b.s.ReportEvents(b.ctx, from, to, limit, func(e store.Event) { out = append(out, fmt.Sprint(e.Type, " ", e.At.Sub(ended[0]))) }))
		return out
	}
	ends := func(d string) []string { return []string{"task_finished " + d, "task_attempt_finished " + d} }
	for _, c := range []struct {
		from, to time.Time
		limit    int
		want     []string
	}{
		{ended[0], ended[2], 10, append(ends("2m0s"), ends("0s")...)},
		{ended[0].Add(time.Microsecond), ended[2].Add(time.Microsecond), 3, append(ends("4m0s"), "task_finished 2m0s")},
		{ended[2].Add(time.Hour), ended[2].Add(2 * time.Hour), 10, nil},
	} {
		if d := cmp.Diff(c.want, told(c.from, c.to, c.limit)); d != "" {
			t.Errorf("told differs (-want +got):\n%s", d)
		}
	}
}

// Usage is reported with what it was used for, and adds up to the same sum however it is grouped.
func usageShares(t *testing.T, target Target) {
	b := setup(t, target)
	for i, p := range []string{"p", "p", "q"} {
		b.add(task(fmt.Sprint(i), func(n *store.NewTask) { n.ProfileID = p }))
		c := b.begun()
		end := done()
		end.Attempt.AdapterID, end.Attempt.AdapterKind = "a", "script"
		end.Usage = []store.UsagePart{part("2026-01-31", "m", store.Usage{Turns: 1, CostMicroUSD: 10}), part("2026-02-01", "n", store.Usage{Turns: 2, CostMicroUSD: 5, ReportedMicroUSD: usd(7)})}
		b.ok(b.s.Settle(b.ctx, c.Ref, end))
	}
	for by, want := range map[string][]string{"profile": {"p 2 2 6 34", "q 1 1 3 17"}, "model": {"m 3 3 3 30", "n 3 3 6 21"}, "adapter": {"a script 3 3 9 51"}} {
		var g store.UsageGroups
		b.ok(b.s.EachUsage(b.ctx, "2026-01-31", "2026-02-01", func(r store.UsageShare) {
			g.Add(map[string]string{"profile": r.ProfileID, "model": r.Model, "adapter": r.AdapterID + " " + r.AdapterKind}[by], r.UsageRow)
		}))
		var got []string
		for _, l := range g.Lines() {
			got = append(got, fmt.Sprint(l.Key, " ", l.Tasks, " ", l.Attempts, " ", l.Turns, " ", l.CountedMicroUSD))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by %s (-want +got):\n%s", by, d)
		}
		if g.Total().CountedMicroUSD != 51 {
			t.Errorf("total by %s: %+v", by, g.Total())
		}
	}
	sum, err := b.s.UsageTotal(b.ctx, "0001-01-01", "9999-12-31")
	if err != nil || sum.CountedMicroUSD != 51 || sum.Turns != 9 {
		t.Errorf("total: %+v %v", sum, err)
	}
	b.is(b.s.EachUsage(b.ctx, "x", "2026-02-01", func(store.UsageShare) {}), store.ErrInvalid)
	_, err = b.s.UsageTotal(b.ctx, "2026-01-01", "")
	b.is(err, store.ErrInvalid)
}

// What waits now is counted.
func backlog(t *testing.T, target Target) {
	b := setup(t, target)
	empty, err := b.s.Backlog(b.ctx)
	b.ok(err)
	if empty.Ready != 0 || !empty.HeadSince.IsZero() {
		t.Fatalf("%+v", empty)
	}
	first := b.clock.Now()
	b.add(task("1"))
	b.clock.Advance(time.Minute)
	b.add(task("2", at(first.Add(time.Hour))), task("3"))
	got, err := b.s.Backlog(b.ctx)
	b.ok(err)
	if got.Ready != 2 || got.Later != 1 || !got.HeadSince.Equal(first) {
		t.Fatalf("%+v, first at %s", got, first)
	}
	types, err := b.s.TypeCounts(b.ctx)
	b.ok(err)
	n := int64(0)
	for _, m := range types {
		n += m[agentruntime.TaskPending]
	}
	if n != 3 {
		t.Fatalf("%v", types)
	}
}

package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// item returns an item of a plan.
func item(name string, uses ...string) store.NewItem {
	return store.NewItem{Name: name, GroupKey: "group " + name, Uses: uses, Work: json.RawMessage(`{"n": 1.10}`)}
}

func (b *bench) fanout(items ...store.NewItem) store.Fanout {
	b.Helper()
	f, err := b.s.CreateFanout(b.ctx, store.NewFanout{PlanHash: "h", Settings: json.RawMessage(`{"a": 1}`), Items: items})
	b.ok(err)
	return f
}

var three = store.Window{Most: 3}

// release releases the next item and returns it, claimed.
func (b *bench) release(id string, w store.Window) (store.FanoutItem, *store.Claim) {
	b.Helper()
	it, err := b.s.NextItem(b.ctx, id, w)
	b.ok(err)
	c, err := b.s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task(it.Name), Window: w, Claim: &lease})
	b.ok(err)
	return it, c
}

func (b *bench) finish(it store.FanoutItem, ok bool) store.Fanout {
	b.Helper()
	f, err := b.s.FinishItem(b.ctx, it, json.RawMessage(`{"id": "`+it.Name+`"}`), ok)
	b.ok(err)
	return f
}

func (b *bench) names(list []store.FanoutItem) []string {
	out := []string{}
	for _, it := range list {
		out = append(out, it.Name)
	}
	return out
}

// edge case 103: a fanout is whole on the disk, or it is not there.
func fanoutRecords(t *testing.T, target Target) {
	b := setup(t, target)
	after := int64(0)
	f := b.fanout(item("one", "key:b", "key:a", "key:a"), store.NewItem{Name: "two", After: &after})
	got, err := b.s.Fanout(b.ctx, f.ID[:13])
	b.ok(err)
	if got.ID != f.ID || got.Status != store.FanoutIncomplete || got.Tasks != 2 || got.Pending != 2 || !got.Live() || got.PlanHash != "h" || !got.CreatedAt.Equal(b.clock.Now()) {
		b.Fatalf("the fanout is %+v", got)
	}
	settings, err := b.s.FanoutSettings(b.ctx, f.ID)
	b.ok(err)
	b.same(string(settings), `{"a": 1}`)
	list, err := b.s.FanoutItems(b.ctx, f.ID, -1, 10)
	b.ok(err)
	b.same(list, []store.FanoutItem{
		{FanoutID: f.ID, Ordinal: 0, Name: "one", GroupKey: "group one", State: store.ItemPending, Try: 1, Uses: []string{"key:a", "key:b"}, Work: json.RawMessage(`{"n": 1.10}`)},
		{FanoutID: f.ID, Ordinal: 1, Name: "two", State: store.ItemPending, Try: 1, WaitsFor: "after:0", Work: json.RawMessage(`null`)},
	})
	for _, bad := range []store.NewFanout{
		{Items: []store.NewItem{item("a"), item("")}},
		{Items: []store.NewItem{item("a"), item("a")}},
		{Items: []store.NewItem{item("a\x00")}},
		{Items: []store.NewItem{item("a", "")}},
		{Items: []store.NewItem{{Name: "a", Work: json.RawMessage(`{`)}}},
		{Items: []store.NewItem{{Name: "a", After: &after}}},
		{Settings: json.RawMessage(`{`)},
		{Owner: &store.Runner{}},
	} {
		_, err := b.s.CreateFanout(b.ctx, bad)
		b.is(err, store.ErrInvalid)
	}
	all, err := b.s.Fanouts(b.ctx, store.FanoutFilter{})
	b.ok(err)
	if len(all) != 1 {
		b.Fatalf("there are %d fanouts after refusals", len(all))
	}
	_, err = b.s.Fanout(b.ctx, store.NewID())
	b.is(err, store.ErrNotFound)
}

// edge case 110: an empty plan is completed.
func fanoutEmpty(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout()
	if f.Status != store.FanoutCompleted || f.Live() {
		b.Fatalf("an empty fanout is %+v", f)
	}
	live, err := b.s.LiveFanouts(b.ctx)
	b.ok(err)
	if len(live) != 0 {
		b.Fatalf("it is among the live: %+v", live)
	}
}

// A plan larger than one statement inserts keeps its order.
func fanoutLarge(t *testing.T, target Target) {
	b := setup(t, target)
	var items []store.NewItem
	want := names(123, "t")
	for _, n := range want {
		items = append(items, item(n))
	}
	f := b.fanout(items...)
	var got []string
	for after := int64(-1); ; {
		page, err := b.s.FanoutItems(b.ctx, f.ID, after, 50)
		b.ok(err)
		if len(page) == 0 {
			break
		}
		got, after = append(got, b.names(page)...), page[len(page)-1].Ordinal
	}
	b.same(got, want)
}

// edge cases 87 and 99: an item and its task are there together, once, and no more than the window holds.
func fanoutRelease(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout(item("a"), item("b"), item("c"))
	two := store.Window{Most: 2}
	a, claim := b.release(f.ID, two)
	if a.Name != "a" || claim == nil {
		b.Fatalf("released %q, claim %v", a.Name, claim)
	}
	got := b.task(claim.Ref.TaskID)
	b.same(got.DedupeKey, "fanout/"+f.ID+"/0/1")
	b.wantStatus(got.ID(), agentruntime.TaskRunning)
	_, err := b.s.ReleaseItem(b.ctx, store.Release{Item: a, Task: task("a"), Window: two})
	b.is(err, store.ErrItemMoved)
	it, err := b.s.NextItem(b.ctx, f.ID, two)
	b.ok(err)
	// Without a claim it waits for the next claim.
	c, err := b.s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task("b"), Window: two})
	b.ok(err)
	if c != nil {
		b.Fatal("claimed without being asked to")
	}
	if next := b.claim(); next.Task.Record.Source != "b" {
		b.Fatalf("claimed %s", next.Task.Record.Source)
	}
	_, err = b.s.NextItem(b.ctx, f.ID, two)
	b.is(err, store.ErrNoRoom)
	last, err := b.s.FanoutItem(b.ctx, f.ID, 2)
	b.ok(err)
	_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: last, Task: task("c"), Window: two})
	b.is(err, store.ErrNoRoom)
	_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: last, Task: task("c"), Window: three, Owner: "somebody"})
	b.is(err, store.ErrFanoutOwned)
	released, err := b.s.ReleasedItems(b.ctx, f.ID)
	b.ok(err)
	b.same(b.names(released), []string{"a", "b"})
	tasks, err := b.s.Tasks(b.ctx, store.TaskFilter{})
	b.ok(err)
	if len(tasks) != 2 {
		b.Fatalf("there are %d tasks", len(tasks))
	}
	b.audit()
}

// edge case 88: what is exclusive is held by one; what is not, by as many as it has room for.
func fanoutResources(t *testing.T, target Target) {
	b := setup(t, target)
	w := store.Window{Most: 16, Capacity: map[string]int{"backend:x": 2}}
	f := b.fanout(
		item("a", "key:1"), item("b", "key:1", "key:2"), item("c", "key:2"), item("d", "key:1"), item("e"),
		item("f", "backend:x"), item("g", "backend:x"), item("h", "backend:x"), item("i", "backend:x", "key:3"),
	)
	running := map[string]store.FanoutItem{}
	fill := func(want ...string) {
		t.Helper()
		var got []string
		for {
			it, err := b.s.NextItem(b.ctx, f.ID, w)
			if errors.Is(err, store.ErrNothingPending) {
				break
			}
			b.ok(err)
			_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task(it.Name), Window: w})
			b.ok(err)
			running[it.Name] = it
			got = append(got, it.Name)
		}
		b.same(got, want)
	}
	fill("a", "c", "e", "f", "g")
	b.finish(running["a"], true)
	fill("d") // b, before it, needs what c holds
	b.finish(running["f"], true)
	fill("h")
	b.finish(running["d"], true)
	fill()
	b.finish(running["c"], false)
	fill("b")
	b.finish(running["g"], true)
	fill("i")
	for _, n := range []string{"b", "e", "h"} {
		b.finish(running[n], true)
	}
	end := b.finish(running["i"], true)
	if end.Status != store.FanoutFailed || end.Done != 9 || end.Succeeded != 8 || end.Live() {
		b.Fatalf("ended as %+v", end)
	}
}

// However many wait for one resource, they are looked at once.
func fanoutQueueOnOneKey(t *testing.T, target Target) {
	b := setup(t, target)
	var items []store.NewItem
	for _, n := range names(450, "t") {
		items = append(items, item(n, "key:only"))
	}
	items = append(items, item("free"))
	f := b.fanout(items...)
	first, _ := b.release(f.ID, three)
	other, _ := b.release(f.ID, three)
	b.same([]string{first.Name, other.Name}, []string{"t000", "free"})
	list, err := b.s.FanoutItems(b.ctx, f.ID, -1, 1000)
	b.ok(err)
	for _, it := range list {
		if it.State == store.ItemPending && it.WaitsFor == "" {
			b.Fatalf("%s is looked at again and again", it.Name)
		}
	}
	b.finish(first, true)
	next, _ := b.release(f.ID, three)
	b.same(next.Name, "t001")
}

// edge case 99: completing twice keeps the first result.
func fanoutFinish(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout(item("a"), item("b"))
	a, _ := b.release(f.ID, three)
	_, err := b.s.FinishItem(b.ctx, a, nil, true)
	b.is(err, store.ErrInvalid)
	b.finish(a, true)
	_, err = b.s.FinishItem(b.ctx, a, json.RawMessage(`{"second": true}`), false)
	b.is(err, store.ErrItemMoved)
	got, err := b.s.FanoutItem(b.ctx, f.ID, 0)
	b.ok(err)
	b.same(string(got.Record), `{"id": "a"}`)
	rest, err := b.s.FanoutItem(b.ctx, f.ID, 1)
	b.ok(err)
	end := b.finish(rest, false) // one that was never started has a record, too
	if end.Status != store.FanoutFailed || end.Succeeded != 1 || end.Pending != 0 || !end.FinishedAt.Equal(b.clock.Now()) {
		b.Fatalf("ended as %+v", end)
	}
	failed, err := b.s.FailedItems(b.ctx, f.ID, -1, 10)
	b.ok(err)
	b.same(b.names(failed), []string{"b"})
	events, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	for _, want := range []string{store.EventFanoutCreated, store.EventFanoutFinished} {
		if n := len(slices.DeleteFunc(slices.Clone(types), func(s string) bool { return s != want })); n != 1 {
			b.Errorf("%d events %s", n, want)
		}
	}
	list, err := b.s.Fanouts(b.ctx, store.FanoutFilter{Status: store.FanoutFailed})
	b.ok(err)
	if len(list) != 1 {
		b.Errorf("%d failed fanouts", len(list))
	}
	older, err := b.s.Fanouts(b.ctx, store.FanoutFilter{Before: f.ID})
	b.ok(err)
	if len(older) != 0 {
		b.Errorf("%d older ones", len(older))
	}
}

func fanoutAgain(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout(item("a", "key:1"), item("b", "key:1"))
	a, _ := b.release(f.ID, three)
	again := store.ItemRetry{Item: a, Tries: json.RawMessage(`[{"try": 1}]`), Uses: []string{"key:2"}, Counted: true, Most: 1}
	b.ok(b.s.RetryItem(b.ctx, again))
	b.is(b.s.RetryItem(b.ctx, again), store.ErrItemMoved)
	_, err := b.s.FinishItem(b.ctx, a, json.RawMessage(`{}`), true)
	b.is(err, store.ErrItemMoved) // the first try's end comes too late
	second, c := b.release(f.ID, three)
	if second.Name != "a" || second.Try != 2 || string(second.Tries) != `[{"try": 1}]` || !slices.Equal(second.Uses, []string{"key:2"}) {
		b.Fatalf("the second try is %+v", second)
	}
	b.same(b.task(c.Ref.TaskID).DedupeKey, "fanout/"+f.ID+"/0/2")
	b.release(f.ID, three) // b: the key is free
	again.Item = second
	b.is(b.s.RetryItem(b.ctx, again), store.ErrNoRetries)
	again.Counted = false // what was lost is tried again whatever the policy says
	b.ok(b.s.RetryItem(b.ctx, again))
	got, err := b.s.Fanout(b.ctx, f.ID)
	b.ok(err)
	if got.Retries != 1 || got.Pending != 1 || got.Released != 1 {
		b.Fatalf("the fanout is %+v", got)
	}
}

// edge case 98: a live owner refuses a second start, a dead one is succeeded.
func fanoutOwners(t *testing.T, target Target) {
	b := setup(t, target)
	r1, r2 := &store.Runner{ID: "r1"}, &store.Runner{ID: "r2"}
	f, err := b.s.CreateFanout(b.ctx, store.NewFanout{Items: []store.NewItem{item("a")}, Owner: r1})
	b.ok(err)
	b.same(f.Owner, "r1")
	_, err = b.s.OwnFanout(b.ctx, f.ID, r2, nil)
	var owned *store.OwnedError
	if !errors.As(err, &owned) || owned.RunnerID != "r1" {
		b.Fatalf("a second owner: %v", err)
	}
	_, err = b.s.OwnFanout(b.ctx, f.ID, r1, nil)
	b.ok(err)
	_, err = b.s.OwnFanout(b.ctx, f.ID, r2, []string{"r1"})
	b.ok(err)
	it, err := b.s.NextItem(b.ctx, f.ID, three)
	b.ok(err)
	_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task("a"), Window: three, Owner: "r1"})
	b.is(err, store.ErrFanoutOwned) // who comes back from the dead starts nothing
	b.ok(b.s.DropRunner(b.ctx, "r2"))
	f, err = b.s.OwnFanout(b.ctx, f.ID, nil, nil)
	b.ok(err)
	b.same(f.Owner, "")
	_, err = b.s.OwnFanout(b.ctx, f.ID, r1, nil)
	b.ok(err)
	end := b.finish(it, true)
	b.same(end.Owner, "")
	f, err = b.s.OwnFanout(b.ctx, f.ID, r1, nil)
	b.ok(err)
	if f.Live() || f.Owner != "" {
		b.Fatalf("what is over has an owner: %+v", f)
	}
}

// edge cases 96 and 101.
func fanoutCancel(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout(item("a", "key:1"), item("b", "key:1"), item("c"), item("d"))
	a, _ := b.release(f.ID, three)
	c, _ := b.release(f.ID, three)
	b.same(c.Name, "c")
	got, err := b.s.CancelFanout(b.ctx, f.ID, "enough", "me")
	b.ok(err)
	if !got.CancelRequested || got.CancelReason != "enough" || got.CancelBy != "me" {
		b.Fatalf("cancelled as %+v", got)
	}
	got, err = b.s.CancelFanout(b.ctx, f.ID, "again", "you")
	b.ok(err)
	b.same(got.CancelReason, "enough")
	it, err := b.s.NextItem(b.ctx, f.ID, three)
	b.ok(err)
	_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task("d"), Window: three})
	b.is(err, store.ErrItemMoved)
	b.is(b.s.RetryItem(b.ctx, store.ItemRetry{Item: a}), store.ErrItemMoved)
	total := 0
	for {
		n, _, err := b.s.FinishPending(b.ctx, f.ID, 1, func(it store.FanoutItem) (json.RawMessage, error) {
			return json.Marshal(map[string]string{"cancelled": it.Name})
		})
		b.ok(err)
		if total += n; n == 0 {
			break
		}
	}
	if total != 2 {
		b.Fatalf("%d pending items", total)
	}
	b.finish(a, true)
	end := b.finish(c, true) // what was durable wins
	if end.Status != store.FanoutFailed || end.Succeeded != 2 {
		b.Fatalf("ended as %+v", end)
	}
	got, err = b.s.CancelFanout(b.ctx, end.ID, "late", "me")
	b.ok(err)
	b.same(got.CancelReason, "enough")
}

// edge case 94: an item that needs another waits until that one is done.
func fanoutDependencies(t *testing.T, target Target) {
	b := setup(t, target)
	last := int64(2)
	f := b.fanout(store.NewItem{Name: "join", After: &last, Uses: []string{"key:1"}}, item("x"), item("y"), item("z", "key:1"))
	x, _ := b.release(f.ID, three)
	y, _ := b.release(f.ID, three)
	b.same([]string{x.Name, y.Name}, []string{"x", "y"})
	b.finish(y, true)
	join, err := b.s.NextItem(b.ctx, f.ID, three)
	b.ok(err)
	b.same(join.Name, "join")
	parked, err := b.s.ParkItem(b.ctx, join, x.Ordinal)
	b.ok(err)
	if !parked {
		b.Fatal("not parked behind what runs")
	}
	z, _ := b.release(f.ID, three)
	b.same(z.Name, "z")
	b.finish(x, true)
	b.finish(z, true)
	join, _ = b.release(f.ID, three)
	b.same(join.Name, "join")
	parked, err = b.s.ParkItem(b.ctx, join, x.Ordinal)
	b.ok(err)
	if parked {
		b.Fatal("parked behind what is done")
	}
}

// Many processes that advance one fanout release every item once and never more than the window holds.
func fanoutConcurrent(t *testing.T, target Target) {
	b := setup(t, target)
	const n = 40
	var items []store.NewItem
	for i := range n {
		items = append(items, item(fmt.Sprint("t", i), fmt.Sprint("key:", i%4)))
	}
	f := b.fanout(items...)
	var mu sync.Mutex
	seen, held, most := map[int64]int{}, map[string]int{}, 0
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			s := b.s
			if w%2 == 1 {
				s = b.open(store.Options{})
			}
			for range 10_000 {
				it, err := s.NextItem(b.ctx, f.ID, three)
				if errors.Is(err, store.ErrNothingPending) || errors.Is(err, store.ErrNoRoom) {
					got, err := s.Fanout(b.ctx, f.ID)
					if err != nil || !got.Live() {
						return
					}
					continue
				}
				if err == nil {
					_, err = s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task(it.Name), Window: three})
				}
				if errors.Is(err, store.ErrItemMoved) || errors.Is(err, store.ErrNoRoom) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[it.Ordinal]++
				held[it.Uses[0]]++
				if held[it.Uses[0]] > 1 {
					t.Errorf("%s is held twice", it.Uses[0])
				}
				total := 0
				for _, c := range held {
					total += c
				}
				most = max(most, total)
				held[it.Uses[0]]--
				mu.Unlock()
				if _, err := s.FinishItem(b.ctx, it, json.RawMessage(`{}`), true); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	got, err := b.s.Fanout(b.ctx, f.ID)
	b.ok(err)
	if got.Status != store.FanoutCompleted || len(seen) != n || most > 3 {
		b.Fatalf("ended as %+v, %d released, %d at a time", got, len(seen), most)
	}
	for o, times := range seen {
		if times != 1 {
			b.Errorf("item %d was released %d times", o, times)
		}
	}
}

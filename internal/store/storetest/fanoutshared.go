package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// edge case 88: a key is held by one item, whatever fanout it is of.
func fanoutsShareKeys(t *testing.T, target Target) {
	b := setup(t, target)
	one := b.fanout(item("a", "key:db", "own:x"), item("b", "key:db"))
	two := b.fanout(item("c", "key:db"), item("d", "own:x"), item("e", "key:db"))
	a, _ := b.release(one.ID, three)
	d, _ := b.release(two.ID, three) // what is a fanout's own is not shared
	b.same([]string{a.Name, d.Name}, []string{"a", "d"})
	_, err := b.s.NextItem(b.ctx, two.ID, three)
	b.is(err, store.ErrNothingPending)
	waits, err := b.s.SharedWaits(b.ctx, two.ID)
	b.ok(err)
	b.same(waits, []store.SharedWait{{Resource: "key:db", FanoutID: one.ID, TaskID: b.item(a).TaskID}})
	b.wakes(two.ID, false, true)
	b.finish(a, true)
	b.wakes(two.ID, true, false)
	c, _ := b.release(two.ID, three)
	b.same(c.Name, "c")
	// In its own fanout the next one was woken with the end of a, and finds the key taken.
	_, err = b.s.NextItem(b.ctx, one.ID, three)
	b.is(err, store.ErrNothingPending)
	// Whoever saw the key free and was slower takes nothing.
	next := b.item(store.FanoutItem{FanoutID: one.ID, Ordinal: 1})
	_, err = b.s.ReleaseItem(b.ctx, store.Release{Item: next, Task: task("b"), Window: three})
	b.is(err, store.ErrNoRoom)
	b.ok(b.s.RetryItem(b.ctx, store.ItemRetry{Item: c, Uses: c.Uses})) // another try gives the key back, too
	b.wakes(one.ID, true, false)
	last, _ := b.release(one.ID, three)
	b.same(last.Name, "b")
	b.audit()
}

// edge cases 88 and 98: what a dead process held is free once its task is known to be lost, even if its fanout is not resumed; and
// if it is resumed, the key is not taken from its next holder.
func fanoutKeysOfTheDead(t *testing.T, target Target) {
	b := setup(t, target)
	dead := b.fanout(item("a", "key:db"))
	alive := b.fanout(item("b", "key:db"))
	a, claim := b.release(dead.ID, three)
	_, err := b.s.NextItem(b.ctx, alive.ID, three)
	b.is(err, store.ErrNothingPending)
	b.wakes(alive.ID, false, true)
	b.ok(b.s.Settle(b.ctx, claim.Ref, store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskPermanentFailure}))
	b.wakes(alive.ID, true, false)
	held, _ := b.release(alive.ID, three)
	b.same(held.Name, "b")
	b.ok(b.s.RetryItem(b.ctx, store.ItemRetry{Item: a, Uses: a.Uses}))
	_, err = b.s.NextItem(b.ctx, dead.ID, three)
	b.is(err, store.ErrNothingPending)
	b.wakes(dead.ID, false, true)
	b.finish(held, true)
	b.wakes(dead.ID, true, false)
	again, _ := b.release(dead.ID, three)
	b.same(again.Try, 2)
}

// Many processes with a fanout each: a key is never held twice, and every item is released once.
func fanoutsShareConcurrently(t *testing.T, target Target) {
	b := setup(t, target)
	var mu sync.Mutex
	held := map[string]string{}
	var items []store.NewItem
	for i := range 8 {
		items = append(items, item(fmt.Sprint("t", i), fmt.Sprint("key:", i%2), fmt.Sprint("key:", i%3)))
	}
	var fanouts []store.Fanout
	stores := []*store.Store{b.s, b.open(store.Options{}), b.open(store.Options{})}
	for range stores {
		fanouts = append(fanouts, b.fanout(items...))
	}
	var wg sync.WaitGroup
	for w, s := range stores {
		f := fanouts[w]
		wg.Go(func() {
			for range 20_000 {
				it, err := s.NextItem(b.ctx, f.ID, three)
				if errors.Is(err, store.ErrNothingPending) {
					if _, _, err := s.WakeItems(b.ctx, f.ID); err != nil {
						t.Error(err)
						return
					}
					got, err := s.Fanout(b.ctx, f.ID)
					if err != nil || !got.Live() {
						return
					}
					continue
				}
				if err == nil {
					_, err = s.ReleaseItem(b.ctx, store.Release{Item: it, Task: task(it.Name), Window: three})
				}
				if errors.Is(err, store.ErrNoRoom) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, u := range it.Uses {
					if held[u] != "" {
						t.Errorf("%s is held by %s and %s", u, held[u], f.ID)
					}
					held[u] = f.ID
				}
				mu.Unlock()
				mu.Lock()
				for _, u := range it.Uses {
					held[u] = ""
				}
				mu.Unlock()
				if _, err := s.FinishItem(b.ctx, it, json.RawMessage(`{}`), true); err != nil {
					t.Error(err)
					return
				}
			}
			t.Errorf("fanout %s does not come to its end", f.ID)
		})
	}
	wg.Wait()
}

// edge case 87: items that take more or less of one resource.
func fanoutWeights(t *testing.T, target Target) {
	b := setup(t, target)
	w := store.Window{Most: 16, Capacity: map[string]int{"units": 4}}
	f := b.fanout(item("big", store.Weighted("units", 4)), item("a", store.Weighted("units", 1)), item("b", store.Weighted("units", 3)), item("c", "units"), item("d", "units"))
	big, _ := b.release(f.ID, w)
	b.same(big.Name, "big")
	_, err := b.s.NextItem(b.ctx, f.ID, w)
	b.is(err, store.ErrNothingPending)
	b.finish(big, true)
	x, _ := b.release(f.ID, w)
	y, _ := b.release(f.ID, w) // what was freed is more than the first one takes
	b.same([]string{x.Name, y.Name}, []string{"a", "b"})
	_, err = b.s.NextItem(b.ctx, f.ID, w)
	b.is(err, store.ErrNothingPending)
	b.finish(y, true)
	z, _ := b.release(f.ID, w)
	b.same(z.Name, "c")
	b.finish(x, true)
	last, _ := b.release(f.ID, w)
	b.same(last.Name, "d")
}

// A try that is not due waits, and others go before it.
func fanoutTimes(t *testing.T, target Target) {
	b := setup(t, target)
	f := b.fanout(item("a"), item("b"))
	a, _ := b.release(f.ID, three)
	b.ok(b.s.RetryItem(b.ctx, store.ItemRetry{Item: a, NotBefore: b.clock.Now().Add(time.Minute)}))
	other, _ := b.release(f.ID, three)
	b.same(other.Name, "b")
	b.wakes(f.ID, false, true)
	b.clock.Advance(2 * time.Minute)
	b.wakes(f.ID, true, false)
	again, _ := b.release(f.ID, three)
	b.same([]any{again.Name, again.Try}, []any{"a", 2})
}

// edge case 87: what overflows has its record from the start, and who waits for it is not kept waiting.
func fanoutNeverStarts(t *testing.T, target Target) {
	b := setup(t, target)
	record := json.RawMessage(`{"id": "b"}`)
	after := int64(1)
	f, err := b.s.CreateFanout(b.ctx, store.NewFanout{ID: "chosen", Items: []store.NewItem{{Name: "a", After: &after}, {Name: "b", Record: record}}})
	b.ok(err)
	if f.ID != "chosen" || f.Done != 1 || f.Pending != 1 || !f.Live() {
		b.Fatalf("the fanout is %+v", f)
	}
	a, _ := b.release(f.ID, three)
	if end := b.finish(a, true); end.Status != store.FanoutFailed || end.Succeeded != 1 {
		b.Fatalf("ended as %+v", end)
	}
	f, err = b.s.CreateFanout(b.ctx, store.NewFanout{Items: []store.NewItem{{Name: "b", Record: record}}, Owner: &store.Runner{ID: "r1"}})
	b.ok(err)
	if f.Live() || f.Status != store.FanoutFailed || f.Owner != "" {
		b.Fatalf("nothing to start: %+v", f)
	}
	got, err := b.s.FailedItems(b.ctx, f.ID, -1, 10)
	b.ok(err)
	b.same(b.names(got), []string{"b"})
}

func (b *bench) item(it store.FanoutItem) store.FanoutItem {
	b.Helper()
	it, err := b.s.FanoutItem(b.ctx, it.FanoutID, it.Ordinal)
	b.ok(err)
	return it
}

// wakes calls WakeItems and holds what it says against what is expected.
func (b *bench) wakes(id string, woken, waiting bool) {
	b.Helper()
	gotWoken, gotWaiting, err := b.s.WakeItems(b.ctx, id)
	b.ok(err)
	b.same([]bool{gotWoken, gotWaiting}, []bool{woken, waiting})
}

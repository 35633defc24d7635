package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// requestsActOnce begins requests under keys and cuts them short: before they acted they begin again, afterwards they do not.
func requestsActOnce(t *testing.T, target Target) {
	b := setup(t, target)
	terms := store.RequestTerms{Lease: time.Minute, Keep: time.Hour}
	begin := func(key, digest string, fresh bool) store.Request {
		t.Helper()
		seen, got, err := b.s.BeginRequest(b.ctx, store.Request{Key: key, Digest: digest}, terms)
		b.ok(err)
		if got != fresh {
			t.Fatalf("%s begins: %v, want %v (%+v)", key, got, fresh, seen)
		}
		return seen
	}
	ids := b.add(task("a"), task("b"))
	begin("k", "d", true)
	if seen := begin("k", "d", false); seen.Acted || seen.Done {
		t.Errorf("one that is under way is %+v", seen)
	}
	b.clock.Advance(time.Minute)
	begin("k", "other", false)
	begin("k", "d", true) // cut short: nothing had happened

	// A write that fails marks nothing, and neither does one outside the request.
	ctx := store.ForRequest(b.ctx, "k")
	if _, err := b.s.Cancel(ctx, store.NewID(), "", "me"); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := b.s.Cancel(store.OutsideRequest(ctx), ids[0], "", "me")
	b.ok(err)
	if seen := begin("k", "d", false); seen.Acted {
		t.Errorf("marked by a write that was not its own: %+v", seen)
	}
	_, err = b.s.Cancel(ctx, ids[1], "", "me")
	b.ok(err)
	b.clock.Advance(time.Minute)
	if seen := begin("k", "d", false); !seen.Acted || seen.Done {
		t.Errorf("acted, and cut short: %+v", seen)
	}
	b.ok(b.s.DropRequest(b.ctx, "k")) // it has acted: it is not forgotten
	b.ok(b.s.FinishRequest(b.ctx, "k", 200, []byte("yes")))
	b.ok(b.s.FinishRequest(b.ctx, "k", 500, []byte("no")))
	if seen := begin("k", "d", false); !seen.Done || seen.Status != 200 || string(seen.Answer) != "yes" {
		t.Errorf("%+v", seen)
	}

	// Whoever knows that the others are dead waits for no lease. What is past its time is forgotten.
	begin("dead", "d", true)
	terms.Since = b.clock.Now().Add(time.Second)
	begin("dead", "d", true)
	b.ok(b.s.DropRequest(b.ctx, "dead"))
	begin("dead", "other", true)
	b.clock.Advance(2 * time.Hour)
	begin("k", "other", true)
}

// One of many that begin at once has the key, and a request is marked by whatever it writes.
func requestsConcurrently(t *testing.T, target Target) {
	b := setup(t, target)
	terms := store.RequestTerms{Lease: time.Minute, Keep: time.Hour}
	var fresh atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, ok, err := b.s.BeginRequest(b.ctx, store.Request{Key: "k", Digest: "d"}, terms)
			if err != nil {
				t.Error(err)
			}
			if ok {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	b.same(int(fresh.Load()), 1)
	for name, act := range map[string]func(ctx context.Context) error{
		"enqueue": func(ctx context.Context) error { _, err := b.s.Enqueue(ctx, task("x")); return err },
		"intake":  func(ctx context.Context) error { _, err := b.s.TakeIn(ctx, b.seen("1", "a")); return err },
	} {
		_, ok, err := b.s.BeginRequest(b.ctx, store.Request{Key: name, Digest: "d"}, terms)
		b.ok(err)
		b.same(ok, true)
		b.ok(act(store.ForRequest(b.ctx, name)))
		seen, _, err := b.s.BeginRequest(b.ctx, store.Request{Key: name, Digest: "d"}, terms)
		b.ok(err)
		if !seen.Acted {
			t.Errorf("%s marked nothing", name)
		}
	}
}

// A guarded write happens when what it is about is as it was seen, and then once.
func guardedWrites(t *testing.T, target Target) {
	b := setup(t, target)
	id := b.add(task("a"))[0]
	changed := errors.New("changed")
	seen := func(status agentruntime.TaskStatus) func(context.Context) error {
		return func(ctx context.Context) error {
			x, err := b.s.Task(ctx, id)
			if err == nil && x.Record.Status != status {
				err = changed
			}
			return err
		}
	}
	events := func() int {
		list, err := b.s.Events(b.ctx, store.EventFilter{})
		b.ok(err)
		return len(list)
	}
	before := events()
	_, err := b.s.Cancel(store.Guarded(b.ctx, seen(agentruntime.TaskRunning)), id, "", "me")
	b.is(err, changed)
	_, err = b.s.Enqueue(store.Guarded(b.ctx, seen(agentruntime.TaskRunning)), task("x"))
	b.is(err, changed)
	_, err = b.s.TakeIn(store.Guarded(b.ctx, seen(agentruntime.TaskRunning)), b.seen("1", "a"))
	b.is(err, changed)
	if err := b.s.Pause(store.Guarded(b.ctx, func(ctx context.Context) error { return b.s.Pause(ctx, "", "me") }), "", "me"); err == nil {
		t.Error("a condition wrote")
	}
	b.same(events(), before)
	// Of many that saw the same state, one writes, and the others learn that it has changed.
	var done, refused atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := b.s.Cancel(store.Guarded(b.ctx, seen(agentruntime.TaskPending)), id, "", "me")
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, changed):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.same([]int64{done.Load(), refused.Load()}, []int64{1, 7})
	// What follows from the same request is not asked about what the request itself has changed.
	ctx := store.Guarded(b.ctx, seen(agentruntime.TaskOperatorCanceled))
	b.ok(b.s.Retry(ctx, id, "", "me"))
	_, err = b.s.Cancel(ctx, id, "", "me")
	b.ok(err)
}

package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

func (b *bench) enqueue(tasks ...store.NewTask) []store.Enqueued {
	b.Helper()
	out, err := b.s.Enqueue(b.ctx, tasks...)
	b.ok(err)
	return out
}

func dedupeLife(t *testing.T, target Target) {
	b := setup(t, target)
	first := b.enqueue(task("1", key("k")))[0]
	again := func(deduped bool) store.Enqueued {
		t.Helper()
		e := b.enqueue(task("again", key("k")))[0]
		if e.Deduped != deduped || deduped != (e.TaskID == first.TaskID) {
			t.Fatalf("enqueued %+v, first %+v", e, first)
		}
		return e
	}
	again(true) // pending
	b.clock.Advance(1000 * time.Hour)
	c := b.begun()
	again(true) // running
	b.ok(b.s.Settle(b.ctx, c.Ref, retryable(b.clock.Now(), "x")))
	again(true) // waiting
	c = b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, blocked("?")))
	again(true) // blocked
	_, err := b.s.Cancel(b.ctx, first.TaskID, "", "")
	b.ok(err)
	first = again(false)
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, done()))
	first = again(false)
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, permanent("x")))
	again(false)
	if n := len(b.enqueue(task("other", key("other")), task("none"), task("none"))); n != 3 {
		t.Fatal(n)
	}
	b.audit()
}

// With a window, the window alone decides, from the enqueue on.
func dedupeWindow(t *testing.T, target Target) {
	b := setup(t, target)
	const w = 10 * time.Minute
	first := b.enqueue(task("1", key("k"), window(w)))[0]
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, done()))
	b.clock.Advance(w - time.Microsecond)
	if e := b.enqueue(task("2", key("k"), window(w)))[0]; !e.Deduped || e.TaskID != first.TaskID {
		t.Fatalf("inside the window: %+v", e)
	}
	b.clock.Advance(time.Microsecond)
	second := b.enqueue(task("3", key("k"), window(w)))[0]
	if second.Deduped {
		t.Fatal("after the window")
	}
	b.clock.Advance(w)
	third := b.enqueue(task("4", key("k")))[0] // the second one still lives
	if third.Deduped {
		t.Fatal("after the second window")
	}
	b.clock.Advance(w)
	if e := b.enqueue(task("5", key("k")))[0]; !e.Deduped || e.TaskID != third.TaskID {
		t.Fatalf("while the third lives: %+v", e)
	}
	b.enqueue(task("6", key("old"), window(w)))
	b.clock.Advance(w)
	_, err := b.s.Promote(b.ctx, 10)
	b.ok(err)
	b.audit()
}

func dedupeBatch(t *testing.T, target Target) {
	b := setup(t, target)
	held := b.enqueue(task("held", key("h")))[0]
	out := b.enqueue(task("a", key("z")), task("b"), task("c", key("h")), task("d", key("z")), task("e", key("a")))
	if out[0].Deduped || out[1].Deduped || out[4].Deduped {
		t.Fatalf("fresh ones: %+v", out)
	}
	if !out[2].Deduped || out[2].TaskID != held.TaskID || !out[3].Deduped || out[3].TaskID != out[0].TaskID {
		t.Fatalf("taken ones: %+v", out)
	}
	var got []string
	for range 4 {
		got = append(got, b.claim().Task.Record.Source)
	}
	b.same(got, []string{"held", "a", "b", "e"})
	if n, err := b.s.Events(b.ctx, store.EventFilter{Limit: 100}); err != nil || len(n) != 8 {
		t.Fatalf("%d events: %v", len(n), err)
	}
}

// Many enqueue the same keys at once, in batches of different order: each key has one task, and all agree on it.
func dedupeConcurrent(t *testing.T, target Target) {
	b := setup(t, target)
	const keys, workers = 8, 6
	var mu sync.Mutex
	fresh, holders := map[string]int{}, map[string]map[string]bool{}
	var wg sync.WaitGroup
	other := b.open(store.Options{})
	for w := range workers {
		s := b.s
		if w%2 == 1 {
			s = other
		}
		wg.Go(func() {
			var batch []store.NewTask
			for i := range keys {
				k := fmt.Sprint((i*5 + w) % keys)
				batch = append(batch, task(k, key(k)))
			}
			out, err := s.Enqueue(b.ctx, batch...)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i, e := range out {
				k := batch[i].DedupeKey
				if !e.Deduped {
					fresh[k]++
				}
				if holders[k] == nil {
					holders[k] = map[string]bool{}
				}
				holders[k][e.TaskID] = true
			}
		})
	}
	wg.Wait()
	for i := range keys {
		if k := fmt.Sprint(i); fresh[k] != 1 || len(holders[k]) != 1 {
			t.Fatalf("key %s: %d fresh, holders %v", k, fresh[k], holders[k])
		}
	}
	n, err := b.s.Counts(b.ctx)
	b.ok(err)
	if n[agentruntime.TaskPending] != keys {
		t.Fatalf("counts: %v", n)
	}
}

// A task that lives again takes its key again, unless another one has it.
func dedupeRetry(t *testing.T, target Target) {
	b := setup(t, target)
	first := b.enqueue(task("1", key("k")))[0]
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, permanent("x")))
	second := b.enqueue(task("2", key("k")))[0]
	err := b.s.Retry(b.ctx, first.TaskID, "", "")
	b.is(err, store.ErrDuplicate)
	b.wantStatus(first.TaskID, agentruntime.TaskPermanentFailure)
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, done()))
	b.ok(b.s.Retry(b.ctx, first.TaskID, "", ""))
	if e := b.enqueue(task("3", key("k")))[0]; !e.Deduped || e.TaskID != first.TaskID || e.TaskID == second.TaskID {
		t.Fatalf("after the retry: %+v", e)
	}
	b.audit()
}

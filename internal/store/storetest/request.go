package storetest

import (
	"errors"
	"testing"
	"time"

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

	// A write that fails marks nothing, and one beside the request neither.
	ctx := store.ForRequest(b.ctx, "k")
	if _, err := b.s.Cancel(ctx, store.NewID(), "", "me"); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := b.s.Cancel(store.BesideRequest(ctx), ids[0], "", "me")
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

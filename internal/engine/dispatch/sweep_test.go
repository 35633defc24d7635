package dispatch

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/bundle/bundletest"
	"github.com/deedrun/deed/internal/store"
)

// A testBundle is an engine whose clock the test sets.
type testBundle struct {
	*Engine
	now time.Time
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return b.now }
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	key, err := bundle.LoadOrCreateKey(h.Keys())
	if err != nil {
		t.Fatal(err)
	}
	self, err := proc.SelfIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b.Engine = &Engine{
		Home: h, Store: st, Clock: clock, Self: self, Slots: 1, Log: slog.New(slog.DiscardHandler),
		Parts: Parts{Runner: &attempt.Runner{
			Home: h, Store: st, Config: config.Default(), Clock: clock, RunnerID: "me", Lease: time.Minute,
			Drivers: driver.NewSet(script.New()), Key: key,
		}},
	}
	return b
}

func (b *testBundle) claim(t *testing.T) *store.Claim {
	t.Helper()
	c, err := b.Store.EnqueueClaimed(t.Context(), store.NewTask{
		Intent:    agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)},
		ProfileID: config.DefaultProfile, AdapterID: "a", MaxAttempts: 3,
	}, store.ClaimOptions{RunnerID: "me", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A machine that slept must not take its own running attempts for lost.
func TestTheSweepSparesWhatRunsHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, other := b.claim(t), b.claim(t)
	b.own(mine.Ref, true)
	b.now = b.now.Add(time.Hour)
	n, err := b.Sweep(t.Context())
	if err != nil || n != 1 {
		t.Fatalf("Sweep = %d, %v, want the one that nobody runs", n, err)
	}
	for id, live := range map[string]bool{mine.Ref.AttemptID: true, other.Ref.AttemptID: false} {
		at, err := b.Store.Attempt(t.Context(), id)
		if err != nil || at.Live != live {
			t.Errorf("attempt %s is live: %v, %v, want %v", id, at.Live, err, live)
		}
	}
	bundletest.Check(t, b.Home.Bundle(other.Ref.AttemptID))
}

// A process that lives for one task clears away what a dead run left before it begins its own.
func TestTheNextRunClearsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dead := b.claim(t)
	b.now = b.now.Add(time.Hour)
	if err := b.SweepBriefly(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := b.Store.Attempt(t.Context(), dead.Ref.AttemptID)
	if err != nil || at.Live {
		t.Errorf("the attempt is %+v, %v, want it settled", at, err)
	}
	bundletest.Check(t, b.Home.Bundle(dead.Ref.AttemptID))
}

// Two sweepers that take over the same attempt one after the other settle it once, with its evidence.
func TestTwoSweepersSettleOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.claim(t)
	first, err := b.Store.Lost(t.Context(), []string{"me"})
	if err != nil || len(first) != 1 {
		t.Fatalf("Lost = %v, %v", first, err)
	}
	second, err := b.Store.Lost(t.Context(), []string{"me"})
	if err != nil || len(second) != 1 {
		t.Fatalf("Lost again = %v, %v", second, err)
	}
	if _, err := b.Runner.Salvage(t.Context(), first[0]); err == nil {
		t.Error("the first sweeper lost its fence and settled all the same")
	}
	if _, err := b.Runner.Salvage(t.Context(), second[0]); err != nil {
		t.Fatal(err)
	}
	at, err := b.Store.Attempt(t.Context(), c.Ref.AttemptID)
	if err != nil || at.Live || at.BundleDir == "" || at.Class != "lost" {
		t.Errorf("the attempt is %+v, %v, want it settled as lost with its bundle", at, err)
	}
	bundletest.Check(t, b.Home.Bundle(c.Ref.AttemptID))
}

// The event of an empty queue is written once, also by dispatchers that come and go.
func TestIdleIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		b.quiet = false // as a new process
		if err := b.idle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	events, err := b.Store.Events(t.Context(), store.EventFilter{Limit: 100})
	if err != nil || len(events) != 1 {
		t.Errorf("%d events, %v, want one", len(events), err)
	}
}

package feed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// limit is far above what anything here takes; only what is lost reaches it.
const limit = 2 * time.Minute

type bundle struct {
	*testing.T
	ctx  context.Context
	h    *home.Home
	st   *store.Store
	feed *feed.Feed
}

func setup(t *testing.T, dsn string) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if dsn == "" {
		dsn = h.DB()
	}
	b := &bundle{T: t, ctx: ctx, h: h, st: open(t, dsn)}
	b.feed = feed.New(b.st, h, slog.New(slog.DiscardHandler))
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- b.feed.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func open(t *testing.T, dsn string) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func (b *bundle) subscribe(after int64, f feed.Filter) *feed.Subscription {
	b.Helper()
	s, err := b.feed.Subscribe(b.ctx, after, f)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s
}

func (b *bundle) add(st *store.Store, names ...string) {
	b.Helper()
	for _, n := range names {
		if err := st.Append(b.ctx, store.Event{Type: n, TaskID: "task-" + n}); err != nil {
			b.Fatal(err)
		}
	}
}

// take reads until there are n events, and returns their names.
func (b *bundle) take(s *feed.Subscription, n int) (names []string, last *feed.Event) {
	b.Helper()
	for len(names) < n {
		events, err := s.Next(b.ctx)
		if err != nil {
			b.Fatalf("after %v: %v", names, err)
		}
		for _, e := range events {
			names = append(names, e.Event)
			last = e
		}
	}
	return names, last
}

func (b *bundle) want(s *feed.Subscription, names ...string) *feed.Event {
	b.Helper()
	got, last := b.take(s, len(names))
	if fmt.Sprint(got) != fmt.Sprint(names) {
		b.Fatalf("got %v, want %v", got, names)
	}
	return last
}

func TestSubscribersGetWhatComesAndResume(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{store.SQLite, store.Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if engine == store.Postgres {
				dsn = pgtest.DSN(t)
			}
			b := setup(t, dsn)
			b.add(b.st, "before")
			live := b.subscribe(feed.Now, feed.Filter{})
			whole := b.subscribe(0, feed.Filter{})
			b.add(b.st, "a", "b")
			first := b.want(live, "a", "b")
			b.want(whole, "before", "a", "b")
			if live.Position() != first.ID {
				t.Fatalf("position %d, want %d", live.Position(), first.ID)
			}
			again := b.subscribe(first.ID-1, feed.Filter{})
			b.want(again, "b")
			one := b.subscribe(0, feed.Filter{TaskID: "task-a"})
			b.want(one, "a")
			named := b.subscribe(0, feed.Filter{Events: []string{"b", "c"}})
			b.add(b.st, "c")
			b.want(named, "b", "c")
			b.want(live, "c")
		})
	}
}

// Another process on the home commits and signals it; the subscriber does not wait for the safety net.
func TestAnotherProcessWakesIt(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	other := open(t, b.h.DB())
	wakes, err := b.h.Wakes(b.ctx) // the dispatcher's
	if err != nil {
		t.Fatal(err)
	}
	s := b.subscribe(feed.Now, feed.Filter{})
	for i := range 50 {
		name := fmt.Sprint("n", i)
		b.add(other, name)
		b.h.Wake()
		b.want(s, name)
		select {
		case <-wakes: // the feed took none of the dispatcher's wake-ups
		case <-b.ctx.Done():
			t.Fatal("the dispatcher was not woken")
		}
	}
}

// A subscriber that does not read gets one notice, and then everything that it missed.
func TestSlowSubscriberLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	slow, quick := b.subscribe(feed.Now, feed.Filter{}), b.subscribe(feed.Now, feed.Filter{})
	for _, name := range []string{"first", "second"} { // the first may come from the store; from the second on it is in the ring
		b.add(b.st, name)
		b.want(slow, name)
		b.want(quick, name)
	}
	const n = 10_000
	for i := 0; i < n; i += 500 {
		batch := make([]store.Event, 500)
		for k := range batch {
			batch[k] = store.Event{Type: fmt.Sprint("e", i+k)}
		}
		if err := b.st.Append(b.ctx, batch...); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*feed.Subscription{quick, slow} {
		overflows, next := 0, 0
		for next < n {
			events, err := s.Next(b.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Event == feed.Overflow {
					overflows++
					continue
				}
				if e.Event != fmt.Sprint("e", next) {
					t.Fatalf("got %s, want e%d", e.Event, next)
				}
				next++
			}
		}
		if s == slow && overflows == 0 {
			t.Fatal("the slow subscriber was not told")
		}
	}
}

// Many subscribers, woken group by group, miss nothing of a burst.
func TestManySubscribersMissNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	const subscribers, n = 100, 1500
	var readers sync.WaitGroup
	for i := range subscribers {
		s := b.subscribe(feed.Now, feed.Filter{})
		readers.Go(func() {
			for next := 0; next < n; {
				events, err := s.Next(b.ctx)
				if err != nil {
					t.Errorf("subscriber %d after %d: %v", i, next, err)
					return
				}
				for _, e := range events {
					if e.Event == feed.Overflow {
						continue
					}
					if want := fmt.Sprint("e", next); e.Event != want {
						t.Errorf("subscriber %d got %s, want %s", i, e.Event, want)
						return
					}
					next++
				}
			}
		})
	}
	for i := 0; i < n; i += 100 {
		batch := make([]store.Event, 100)
		for k := range batch {
			batch[k] = store.Event{Type: fmt.Sprint("e", i+k)}
		}
		if err := b.st.Append(b.ctx, batch...); err != nil {
			t.Fatal(err)
		}
	}
	readers.Wait()
}

// A name that is more than one line is no field of its own.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event *feed.Event
		want  string
	}{
		{&feed.Event{ID: 7, Event: "x", Source: feed.FromStore, At: time.Unix(0, 0).UTC()}, "id: 7\nevent: x\ndata: {\"id\":\"7\",\"event\":\"x\",\"source\":\"store\",\"at\":\"1970-01-01T00:00:00.000000Z\"}\n\n"},
		{&feed.Event{Event: "x\ndata: forged", Source: feed.FromProgress, At: time.Unix(0, 0).UTC()}, "event: event\ndata: {\"event\":\"x\\ndata: forged\",\"source\":\"progress\",\"at\":\"1970-01-01T00:00:00.000000Z\"}\n\n"},
	} {
		if got := string(c.event.Frame()); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestProgressIsToldAndNotKept(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.feed.Progress(feed.Progress{TaskID: "t", AttemptID: "a", Step: "nobody listens"}, clock.System())
	with, without := b.subscribe(feed.Now, feed.Filter{Progress: true}), b.subscribe(feed.Now, feed.Filter{})
	b.add(b.st, "x")
	b.want(with, "x")
	b.want(without, "x")
	b.feed.Progress(feed.Progress{TaskID: "t", AttemptID: "a", Step: "tool", Tool: "bash", Turn: 3}, clock.System())
	e := b.want(with, feed.ProgressEvent)
	if e.ID != 0 || !strings.Contains(string(e.JSON()), `"detail":{"step":"tool","turn":3,"tool":"bash"}`) || strings.Contains(string(e.JSON()), `"id"`) {
		t.Fatalf("%s", e.JSON())
	}
	b.add(b.st, "y")
	b.want(with, "y")
	b.want(without, "y")
	// Journal entries of an attempt become progress.
	ref := store.Ref{TaskID: "t", AttemptID: "b"}
	note := func(kind, detail string) *feed.Event {
		b.feed.OnEntry(ref, journal.Entry{At: agentruntime.At(clock.System()), Kind: kind, Detail: json.RawMessage(detail)})
		return b.want(with, feed.ProgressEvent)
	}
	note("turn", `{"id":"1","index":2}`)
	note("usage", `{"inputTokens":10,"outputTokens":5,"costMicroUsd":7}`)
	e = note("tool_call", `{"callId":"c","tool":"edit","input":{"a":"<script>"}}`)
	if got := string(e.Detail); got != `{"step":"tool_call","turn":2,"tool":"edit","tool_calls":1,"input_tokens":10,"output_tokens":5,"cost_micro_usd":7}` {
		t.Fatal(got)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	s := b.subscribe(feed.Now, feed.Filter{})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(b.ctx)
	cancel(gone)
	if _, err := s.Next(ctx); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	b.add(b.st, "x")
	b.want(s, "x")
	s.Close()
	s.Close()
	// After the last subscriber has gone the next one continues by its id.
	b.add(b.st, "y", "z")
	b.want(b.subscribe(s.Position(), feed.Filter{}), "y", "z")
}

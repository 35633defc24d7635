package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/store"
)

// A desk is a home with a notifier at work.
type desk struct {
	t  *testing.T
	st *store.Store
	h  *home.Home

	mu   sync.Mutex
	sent []deed.Notification // guarded by mu
	came chan struct{}
	fail int // guarded by mu; so many deliveries fail
	rung int // guarded by mu
	n    *Notifier
}

func sit(t *testing.T, rules ...settings.NotifyRule) *desk {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), h.DB(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, st: st, h: h, came: make(chan struct{}, 100)}
	log := slog.New(slog.DiscardHandler)
	f := feed.New(st, h, log)
	n := &Notifier{Feed: f, Store: st, Ring: d.ring, Clock: clock.System, Log: log, Wait: time.Millisecond}
	d.n = n
	if len(rules) > 0 {
		n.Use(rules, d.post)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	sub, err := f.Subscribe(ctx, feed.Now, feed.Filter{}) // holds the place at which the notifier begins
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { _ = f.Run(ctx) })
	wg.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		sub.Close()
		stop()
		wg.Wait()
		_ = st.Close()
	})
	return d
}

func (d *desk) post(_ context.Context, target, id string, doc any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail > 0 {
		d.fail--
		return errors.New("away")
	}
	note, ok := doc.(deed.Notification)
	if !ok || note.Validate() != nil || note.ID != id || target == "" {
		d.t.Errorf("told %v to %q", doc, target)
	}
	d.sent = append(d.sent, note)
	d.came <- struct{}{}
	return nil
}

func (d *desk) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rung++
	d.came <- struct{}{}
}

// happens records an event until the notifier has begun to listen: the first one is repeated.
func (d *desk) happens(typ string, detail any) {
	d.t.Helper()
	text, err := json.Marshal(detail)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.st.Append(d.t.Context(), store.Event{Type: typ, Detail: text}); err != nil {
		d.t.Fatal(err)
	}
	d.h.Changed()
}

// next waits for one more notification.
func (d *desk) next() {
	d.t.Helper()
	select {
	case <-d.came:
	case <-time.After(30 * time.Second):
		d.t.Fatal("no notification was sent")
	}
}

// begin waits until the notifier listens.
func (d *desk) begin() {
	d.t.Helper()
	for range 600 {
		d.happens(string(agentruntime.EventBootSweepReclaimed), map[string]int{"attempts_reclaimed": 1})
		select {
		case <-d.came:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	d.t.Fatal("the notifier does not listen")
}

func TestAPersonIsTold(t *testing.T) {
	t.Parallel()
	all := settings.NotifyRule{On: deed.NotifyKinds, To: "ops", PerHour: 3600}
	d := sit(t, all, settings.NotifyRule{On: []string{deed.NotifyRunnerLost}, To: "start"})
	d.begin()
	d.mu.Lock()
	d.fail = 2 // a target that is away for a moment
	d.mu.Unlock()
	d.happens(store.EventActionOpened, map[string]string{"action_id": "a1", "kind": "permission", "prompt": "may I\x1b[31m\nrm?"})
	find := func(kind string) deed.Notification {
		t.Helper()
		for {
			d.mu.Lock()
			for _, n := range d.sent {
				if n.Kind == kind {
					d.mu.Unlock()
					return n
				}
			}
			d.mu.Unlock()
			d.next()
		}
	}
	if n := find(deed.NotifyActionOpen); n.Title != "waits for you: may I rm?" || n.Command != "deed action show a1" || n.ActionID != "a1" {
		t.Errorf("told %+v", n)
	}
	d.happens(store.EventActionOpened, map[string]string{"action_id": "a2", "kind": store.ActionBudget, "prompt": "more?"})
	find(deed.NotifyBudgetReached)
	d.happens(string(agentruntime.EventTaskFinished), map[string]any{"status": agentruntime.TaskOperatorCanceled, "class": "canceled"})
	d.happens(string(agentruntime.EventTaskFinished), map[string]any{"status": agentruntime.TaskCompleted, "class": "none"})
	find(deed.NotifyTaskDone)
	d.happens(string(agentruntime.EventTaskFinished), map[string]any{"status": agentruntime.TaskPermanentFailure, "class": "timeout"})
	if n := find(deed.NotifyTaskFailed); !strings.Contains(n.Title, "timeout") || strings.Contains(n.Title, "canceled") {
		t.Errorf("told %+v", n)
	}
	d.happens(store.EventMessageFailed, map[string]any{})
	find(deed.NotifyUndelivered)
}

func TestABellRings(t *testing.T) {
	t.Parallel()
	d := sit(t, settings.NotifyRule{On: []string{deed.NotifyRunnerLost}, To: settings.Bell})
	d.begin()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rung == 0 || len(d.sent) != 0 {
		t.Errorf("rang %d times and told %v", d.rung, d.sent)
	}
}

// A rule sends only so many notifications in an hour; the next one says how many were left out.
func TestARuleKeepsItsRate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	l := newLine(settings.NotifyRule{On: []string{deed.NotifyTaskDone}, To: "x", PerHour: 2}, func() time.Time { return now })
	note := deed.Notification{Kind: deed.NotifyTaskDone}
	for range 5 {
		l.put(note)
		l.put(deed.Notification{Kind: deed.NotifyTaskFailed}) // not of this rule
	}
	if len(l.queue) != 2 || l.more != 3 {
		t.Fatalf("%d wait and %d were left out", len(l.queue), l.more)
	}
	now = now.Add(time.Hour)
	l.put(note)
	for range 2 {
		<-l.queue
	}
	if n := <-l.queue; n.More != 3 || l.more != 0 {
		t.Errorf("the next one tells of %d, %d are left", n.More, l.more)
	}
	// A target that takes nothing.
	l = newLine(settings.NotifyRule{On: []string{deed.NotifyTaskDone}, To: "x", PerHour: 3600}, func() time.Time { return now })
	for range backlog + 7 {
		l.put(note)
	}
	if l.more != 7 {
		t.Errorf("%d were left out, want 7", l.more)
	}
}

// New rules lose nothing of the old ones: the queue of a slow target is sent, events that happen meanwhile are, and a rule that stays
// keeps its count.
func TestNewRulesLoseNothing(t *testing.T) {
	t.Parallel()
	stays := settings.NotifyRule{On: []string{deed.NotifyTaskDone}, To: "stays", PerHour: 3600}
	goes := settings.NotifyRule{On: []string{deed.NotifyTaskDone, deed.NotifyRunnerLost}, To: "goes", PerHour: 3600}
	comes := settings.NotifyRule{On: []string{deed.NotifyTaskDone}, To: "comes", PerHour: 3600}
	d := sit(t)
	var mu sync.Mutex
	sent := map[string]int{} // tasks that are done, by target and way
	slow := make(chan struct{})
	var with atomic.Int32 // so many are with a slow target
	way := func(name string) Post {
		return func(ctx context.Context, target, id string, doc any) error {
			if doc.(deed.Notification).Kind == deed.NotifyTaskDone {
				if name == "old" {
					with.Add(1)
					select {
					case <-slow:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				mu.Lock()
				sent[target+" "+name]++
				mu.Unlock()
			}
			return d.post(ctx, target, id, doc)
		}
	}
	d.n.Use([]settings.NotifyRule{stays, goes}, way("old"))
	d.begin() // this one goes to the old target
	done := func() {
		d.happens(string(agentruntime.EventTaskFinished), map[string]any{"status": agentruntime.TaskCompleted, "class": "none"})
	}
	for range 3 {
		done()
	}
	waiting := func() int {
		d.n.mu.Lock()
		defer d.n.mu.Unlock()
		return len(d.n.lines[0].queue) + len(d.n.lines[1].queue)
	}
	for with.Load() != 2 || waiting() != 4 {
		select {
		case <-t.Context().Done():
			t.Fatal("nothing waits")
		case <-time.After(5 * time.Millisecond):
		}
	}
	d.n.Use([]settings.NotifyRule{stays, comes}, way("new"))
	done()
	close(slow)
	want := map[string]int{"stays old": 1, "stays new": 3, "goes old": 3, "comes new": 1}
	all := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if len(sent) < len(want) {
			return false
		}
		for k, n := range want {
			if sent[k] < n {
				return false
			}
		}
		return true
	}
	for !all() {
		d.next()
	}
	mu.Lock()
	defer mu.Unlock()
	if !maps.Equal(sent, want) {
		t.Errorf("told %v, want %v", sent, want)
	}
}

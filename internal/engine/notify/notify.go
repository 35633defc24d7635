// Package notify owns how people are notified of what happens while deed serves: of which events, in which words, at which
// targets and how often. It follows the stream of events, delays nothing and stores nothing: a notification that could not be
// sent is in the log, and what happened is in the store (`deed report`).
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/store"
)

const (
	perHour = 30 // of a rule that sets no rate
	backlog = 64 // notifications that wait for a slow target
	tries   = 3
)

// A Notifier sends notifications by the rules that it was last given with Use.
type Notifier struct {
	Feed  *feed.Feed
	Store *store.Store
	Ring  func() // rings the bell of the operator's terminal; nil: there is no bell
	Clock clock.Clock
	Log   *slog.Logger
	Wait  time.Duration // before a target is tried again, doubled each time; 0: 2 seconds

	mu    sync.Mutex
	lines []*line       // guarded by mu; the rules in force
	later []*line       // guarded by mu; those that have no worker yet
	fresh chan struct{} // guarded by mu; closed when later has more; nil: no one waits for it
}

// A Post sends a document to a target of the outbox, once; the receiver recognises a repetition by the id.
type Post func(ctx context.Context, target, id string, doc any) error

// Use applies these rules from now on. A rule that stays keeps its rate and the queue of its target. The queue of a rule that is gone is
// still sent, to the old target.
func (n *Notifier) Use(rules []settings.NotifyRule, post Post) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.lines
	n.lines = nil
	for _, r := range rules {
		i := slices.IndexFunc(old, func(l *line) bool { return l != nil && reflect.DeepEqual(l.rule, r) })
		if i >= 0 {
			n.lines, old[i] = append(n.lines, old[i]), nil
			n.lines[len(n.lines)-1].post.Store(&post)
			continue
		}
		l := newLine(r, n.Clock)
		l.post.Store(&post)
		n.lines, n.later = append(n.lines, l), append(n.later, l)
	}
	for _, l := range old {
		if l != nil {
			close(l.queue)
		}
	}
	if n.fresh != nil {
		close(n.fresh)
		n.fresh = nil
	}
}

// takeLines returns the lines that have no worker yet, and a channel that is closed when there are more.
func (n *Notifier) takeLines() (lines []*line, fresh <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines, n.later = n.later, nil
	if n.fresh == nil {
		n.fresh = make(chan struct{})
	}
	return lines, n.fresh
}

// Run sends notifications of what happens from now on, until the context ends. Each rule has a worker of its own, so that a slow
// target delays no other. Without rules it follows nothing.
func (n *Notifier) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines, fresh := n.takeLines()
	for len(lines) == 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-fresh:
		}
		lines, fresh = n.takeLines()
	}
	sub, err := n.Feed.Subscribe(ctx, feed.Now, feed.Filter{Events: events()})
	if err != nil {
		return fmt.Errorf("follow the events to tell of: %w", err)
	}
	defer sub.Close()
	workers.Go(func() {
		for {
			for _, l := range lines {
				workers.Go(func() { n.work(ctx, l) })
			}
			select {
			case <-ctx.Done():
				return
			case <-fresh:
			}
			lines, fresh = n.takeLines()
		}
	})
	for {
		list, err := sub.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			n.Log.Warn("notify", "error", err)
			if !pause(ctx, n.wait()) {
				return nil
			}
			continue
		}
		for _, e := range list {
			if note, ok := n.of(ctx, e); ok {
				n.put(note)
			}
		}
	}
}

func (n *Notifier) put(note deed.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		l.put(note)
	}
}

// work sends what a rule lets through to its target, until the rule ends.
func (n *Notifier) work(ctx context.Context, l *line) {
	for {
		select {
		case <-ctx.Done():
			return
		case note, more := <-l.queue:
			if !more {
				return
			}
			n.deliver(ctx, l, note)
		}
	}
}

func (n *Notifier) deliver(ctx context.Context, l *line, note deed.Notification) {
	to := l.rule.To
	if to == settings.Bell {
		if n.Ring != nil {
			n.Ring()
		}
		return
	}
	wait := n.wait()
	for try := 1; ; try++ {
		err := (*l.post.Load())(ctx, to, note.ID, note)
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == tries {
			n.Log.Warn("notification not sent", "target", to, "kind", note.Kind, "task", note.TaskID, "error", err)
			return
		}
		if !pause(ctx, wait) {
			return
		}
		wait *= 2
	}
}

func (n *Notifier) wait() time.Duration {
	if n.Wait > 0 {
		return n.Wait
	}
	return 2 * time.Second
}

// pause waits, and reports whether it waited the full time.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// A line is one rule at work: the queue of its target, and when it last sent something. The notifier's lock guards all but queue
// and post.
type line struct {
	rule  settings.NotifyRule
	post  atomic.Pointer[Post]
	most  int
	queue chan deed.Notification // closed when the rule is gone
	clock clock.Clock
	sent  []time.Time // within the last hour, oldest first
	more  int         // left out since
}

func newLine(r settings.NotifyRule, c clock.Clock) *line {
	l := &line{rule: r, most: r.PerHour, queue: make(chan deed.Notification, backlog), clock: c}
	if l.most == 0 {
		l.most = perHour
	}
	return l
}

// put queues a notification that the rule is about. Beyond the rate, or when the target does not keep up, the notification is only
// counted, and the next one says how many were left out.
func (l *line) put(note deed.Notification) {
	if !slices.Contains(l.rule.On, note.Kind) {
		return
	}
	now := l.clock()
	l.sent = slices.DeleteFunc(l.sent, func(at time.Time) bool { return now.Sub(at) >= time.Hour || at.After(now) })
	if len(l.sent) >= l.most {
		l.more++
		return
	}
	note.More = l.more
	select {
	case l.queue <- note:
		l.sent = append(l.sent, now)
		l.more = 0
	default:
		l.more++
	}
}

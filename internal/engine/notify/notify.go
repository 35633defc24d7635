// Package notify owns how a person is told of what happens while deed serves: which events are told, in which words, to whom and
// how often. It follows the stream of events, holds up nobody and keeps nothing: what could not be told is in the log, and what
// happened is in the store (`deed report`).
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
	perHour = 30 // of a rule that does not say
	backlog = 64 // notifications that wait for a slow target
	tries   = 3
)

// A Notifier tells people by the rules that it was last told to Use.
type Notifier struct {
	Feed  *feed.Feed
	Store *store.Store
	Ring  func() // rings on the operator's terminal; nil: there is none
	Clock clock.Clock
	Log   *slog.Logger
	Wait  time.Duration // before a target is tried again, doubled each time; 0: 2 seconds

	mu    sync.Mutex
	lines []*line       // guarded by mu; the rules at work
	later []*line       // guarded by mu; those that no worker looks after yet
	fresh chan struct{} // guarded by mu; closed when later has more; nil: nobody waits for it
}

// A Post gives a document to a target of the outbox, once; the id is what a receiver knows a repetition by.
type Post func(ctx context.Context, target, id string, doc any) error

// Use tells by these rules from now on. A rule that stays keeps its rate and what waits for its target; what waits by a rule that is gone
// is still told, to the target as it was.
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

// hire takes the lines that nobody looks after, and what is closed when there are more.
func (n *Notifier) hire() (lines []*line, fresh <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines, n.later = n.later, nil
	if n.fresh == nil {
		n.fresh = make(chan struct{})
	}
	return lines, n.fresh
}

// Run tells of what happens from now on, until the context ends. Each rule has a worker of its own, so that a slow target delays no
// other. Without rules it follows nothing.
func (n *Notifier) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines, fresh := n.hire()
	for len(lines) == 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-fresh:
		}
		lines, fresh = n.hire()
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
			lines, fresh = n.hire()
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

// work hands what a rule lets through to its target, to the end of the rule.
func (n *Notifier) work(ctx context.Context, l *line) {
	for {
		select {
		case <-ctx.Done():
			return
		case note, more := <-l.queue:
			if !more {
				return
			}
			n.tell(ctx, l, note)
		}
	}
}

func (n *Notifier) tell(ctx context.Context, l *line, note deed.Notification) {
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
			n.Log.Warn("nobody was told", "target", to, "kind", note.Kind, "task", note.TaskID, "error", err)
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

// pause waits, and reports whether it waited to the end.
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

// A line is one rule at work: what waits for its target, and when it last told something. The notifier's lock guards it, but for
// the queue and the way to the target.
type line struct {
	rule  settings.NotifyRule
	post  atomic.Pointer[Post]
	most  int
	queue chan deed.Notification // closed when the rule is gone
	clock clock.Clock
	told  []time.Time // within the last hour, oldest first
	more  int         // left out since
}

func newLine(r settings.NotifyRule, c clock.Clock) *line {
	l := &line{rule: r, most: r.PerHour, queue: make(chan deed.Notification, backlog), clock: c}
	if l.most == 0 {
		l.most = perHour
	}
	return l
}

// put queues a notification that the rule is about. Beyond the rate, or when the target does not keep up, it is counted and the next
// one tells how many were left out.
func (l *line) put(note deed.Notification) {
	if !slices.Contains(l.rule.On, note.Kind) {
		return
	}
	now := l.clock()
	l.told = slices.DeleteFunc(l.told, func(at time.Time) bool { return now.Sub(at) >= time.Hour || at.After(now) })
	if len(l.told) >= l.most {
		l.more++
		return
	}
	note.More = l.more
	select {
	case l.queue <- note:
		l.told = append(l.told, now)
		l.more = 0
	default:
		l.more++
	}
}

// Package feed owns the stream of what changes: the store's events, each once, in their order and with none missing, and the
// progress of running attempts. It reads the store once for a process, however many subscribers there are. It keeps nothing and
// decides nothing; who may see an event, and in what form, belongs to its callers.
//
// Events of the store have an id, and a subscriber that comes back with its last id continues after it. Progress has no id: it
// is sent while it happens and not kept.
package feed

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
)

// Now is the position of a subscriber who wants what happens from now on.
const Now int64 = -1

const (
	ringSize  = 4096                     // entries that subscribers may lag behind before they read the store by themselves
	readBatch = 1000                     // events of one look at the store
	looks     = ringSize / 2 / readBatch // how many looks follow each other at most before their events are handed out
	handout   = 256                      // entries that a subscriber gets at once
	safetyNet = 2 * time.Second          // the longest time between two looks while there are subscribers: a wake-up may be lost
	pace      = 10 * time.Millisecond    // the shortest, so that a burst is read in batches
	perClient = 200 * time.Microsecond   // what each subscriber adds to it
	groups    = 64                       // subscribers are woken in so many groups, one after the other
	stallWarn = 10 * time.Second         // how long an undecided event may hold up the stream before it is logged
)

// A Feed hands out what changes. Its zero value is not ready; see New.
type Feed struct {
	store *store.Store
	home  *home.Home // nil: only the store's own wake-ups
	log   *slog.Logger

	kick chan struct{} // wakes the reader

	mu   sync.Mutex
	subs int                  // guarded by mu
	live bool                 // guarded by mu; the ring is what follows base
	base int64                // guarded by mu; the event before the oldest that the ring holds
	last int64                // guarded by mu; the newest event that the ring has held
	ring []*Event             // guarded by mu; entry n is at n % ringSize
	head int64                // guarded by mu; the number of the next entry
	wait [groups]group        // guarded by mu; waiting for new entries
	join int                  // guarded by mu; the group of the next subscriber
	news map[string]*Event    // guarded by mu; the newest progress of attempts
	due  []string             // guarded by mu; attempts whose newest progress is not in the ring yet
	far  map[string]*Progress // guarded by mu; of the attempts that run in this process
}

// A group is woken together. If all subscribers were woken at once, they would be scheduled before everything else in the
// process, so that five hundred of them would hold up its dispatcher for as long as they write.
type group struct {
	subs int
	wake chan struct{} // closed when there are new entries; nil: no subscriber has waited since
	news bool          // there are entries that it was not woken for
}

// New returns a feed of the store. home may be nil. Run reads for it.
func New(st *store.Store, h *home.Home, log *slog.Logger) *Feed {
	return &Feed{store: st, home: h, log: log, kick: make(chan struct{}, 1), ring: make([]*Event, ringSize), news: map[string]*Event{}, far: map[string]*Progress{}}
}

// Run reads the store for the subscribers until the context ends. Without subscribers it does nothing.
func (f *Feed) Run(ctx context.Context) error {
	defer f.store.OnCommit(f.poke)()
	wakes, err := f.listen(ctx)
	if err != nil {
		return err
	}
	timer := time.NewTimer(safetyNet)
	defer timer.Stop()
	for {
		f.read(ctx)
		if !f.handOut(ctx) {
			return nil
		}
		net := timer.C
		if f.idle() {
			net = nil
		}
		timer.Reset(safetyNet)
		select {
		case <-ctx.Done():
			return nil
		case <-f.kick:
		case _, ok := <-wakes:
			if !ok {
				wakes = nil
			}
		case <-net:
		}
	}
}

// listen joins the wake-ups of other processes on this home and of other machines.
func (f *Feed) listen(ctx context.Context) (<-chan struct{}, error) {
	remote, err := f.store.Listen(ctx)
	if err != nil {
		return nil, err
	}
	if f.home == nil {
		return remote, nil
	}
	local, err := f.home.Watch(ctx)
	if err != nil {
		return nil, err
	}
	if remote == nil {
		return local, nil
	}
	go func() { // ends with the context, which closes remote
		for range remote {
			f.poke()
		}
	}()
	return local, nil
}

func (f *Feed) poke() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// handOut wakes one group after the other, each for its share of the time until the next look. It reports false when the context
// ended.
func (f *Feed) handOut(ctx context.Context) bool {
	for i := range groups {
		if n := f.wakeGroup(i); n > 0 && !sleep(ctx, time.Duration(n)*perClient) {
			return false
		}
	}
	return sleep(ctx, pace)
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// wakeGroup wakes a group when there is something new for it, and returns how many subscribers it has then.
func (f *Feed) wakeGroup(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := &f.wait[i]
	if !g.news {
		return 0
	}
	g.wakeLocked()
	return g.subs
}

func (g *group) wakeLocked() {
	g.news = false
	if g.wake != nil {
		close(g.wake)
		g.wake = nil
	}
}

// waitLocked returns what a subscriber of the group waits for.
func (g *group) waitLocked() <-chan struct{} {
	if g.wake == nil {
		g.wake = make(chan struct{})
	}
	return g.wake
}

func (f *Feed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subs == 0
}

// read takes what is new from the store into the ring.
func (f *Feed) read(ctx context.Context) {
	f.mu.Lock()
	subs, live, last := f.subs, f.live, f.last
	if subs == 0 {
		f.live = false // the next subscriber begins with the store
	}
	f.mu.Unlock()
	if subs == 0 {
		return
	}
	slow := time.AfterFunc(stallWarn, func() { f.log.Warn("the event stream waits for a transaction that does not end", "after", last) })
	defer slow.Stop()
	if !live {
		at, err := f.store.EventHorizon(ctx)
		if err != nil {
			f.fault(ctx, err)
			return
		}
		f.begin(at)
		last = at
	}
	for range looks {
		events, err := f.store.SettledEvents(ctx, last, readBatch)
		if err != nil {
			f.fault(ctx, err)
			return
		}
		f.publish(events)
		if len(events) == 0 { // on PostgreSQL a short answer may end before an undecided event
			return
		}
		last = events[len(events)-1].Seq
	}
	f.poke() // there may be more, when these are handed out
}

func (f *Feed) fault(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.log.Error("read events", "error", err)
	}
}

// begin empties the ring, to continue after a position.
func (f *Feed) begin(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live, f.base, f.last = true, at, at
	f.head += ringSize // what a subscriber had not taken yet is not in the ring any more
	clear(f.ring)
	f.newsLocked()
}

// publish puts events, and the newest progress of each attempt, into the ring.
func (f *Feed) publish(events []store.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(events) == 0 && len(f.due) == 0 {
		return
	}
	for i := range events {
		f.putLocked(fromStore(events[i]))
		f.last = events[i].Seq
		f.endedLocked(events[i])
	}
	for _, id := range f.due {
		if e := f.news[id]; e != nil {
			f.putLocked(e)
			delete(f.news, id)
		}
	}
	f.due = f.due[:0]
	f.newsLocked()
}

func (f *Feed) putLocked(e *Event) {
	slot := &f.ring[f.head%ringSize]
	if old := *slot; old != nil && old.ID > 0 {
		f.base = old.ID
	}
	*slot = e
	f.head++
}

func (f *Feed) newsLocked() {
	for i := range f.wait {
		f.wait[i].news = f.wait[i].subs > 0
	}
}

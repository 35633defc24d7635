package feed

import (
	"context"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
)

// A Subscription is one reader of the stream. It is for one goroutine at a time.
type Subscription struct {
	feed   *Feed
	filter Filter
	group  int
	seq    int64 // the newest event that was returned or skipped
	pos    int64 // the next entry of the ring; -1: it reads the store until the ring continues from seq
	closed bool
}

// Subscribe returns a reader of what comes after an event, or of what comes from now on. Close it.
func (f *Feed) Subscribe(ctx context.Context, after int64, filter Filter) (*Subscription, error) {
	if after == Now {
		at, err := f.store.EventHorizon(ctx)
		if err != nil {
			return nil, err
		}
		after = at
	}
	f.mu.Lock()
	group := f.join
	f.join = (f.join + 1) % groups
	f.wait[group].subs++
	f.subs++
	f.mu.Unlock()
	f.poke()
	return &Subscription{feed: f, filter: filter, group: group, seq: after, pos: -1}, nil
}

// Position returns the id of an event such that what is read from the store afterwards shows the effects of all events up to it:
// a client that reads a state after it, and then subscribes from it, misses nothing.
func (f *Feed) Position(ctx context.Context) (int64, error) { return f.store.EventHorizon(ctx) }

// Position returns the id to continue after: all events up to it were returned, or are not of this subscription.
func (s *Subscription) Position() int64 { return s.seq }

// Close ends the subscription.
func (s *Subscription) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.wait[s.group].subs--
	s.feed.subs--
}

// Next waits for events and returns them in their order. A subscriber that lags behind gets one Overflow event and then what it
// missed, from the store. It returns the context's cause when that ends first, or the store's fault; after either the subscription
// continues where it was.
func (s *Subscription) Next(ctx context.Context) ([]*Event, error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		wait, events, until := s.fromRing()
		switch {
		case len(events) > 0:
			return events, nil
		case until > s.seq:
			events, err := s.fromStore(ctx, until)
			if err != nil || len(events) > 0 {
				return events, err
			}
		case wait != nil:
			select {
			case <-ctx.Done():
			case <-wait:
			}
		}
	}
}

// fromRing returns what the ring has for the subscriber, or how far it has to read the store first, or what to wait for.
func (s *Subscription) fromRing() (wait <-chan struct{}, events []*Event, until int64) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := max(f.head-ringSize, 0)
	if s.pos >= 0 && s.pos < oldest {
		s.pos = -1
		return nil, []*Event{{Event: Overflow, Source: FromFeed, At: clock.System()}}, 0
	}
	if s.pos < 0 {
		if !f.live {
			return f.wait[s.group].waitLocked(), nil, 0 // the reader begins at once
		}
		if s.seq < f.base {
			return nil, nil, f.base
		}
		s.pos = f.behindLocked(oldest, s.seq)
	}
	for n := 0; s.pos < f.head && n < handout; n++ {
		e := f.ring[s.pos%ringSize]
		s.pos++
		if e == nil {
			continue
		}
		s.seq = max(s.seq, e.ID)
		if s.filter.takes(e) {
			events = append(events, e)
		}
	}
	if s.pos < f.head {
		return nil, events, 0
	}
	return f.wait[s.group].waitLocked(), events, 0
}

// behindLocked returns the first entry of the ring after an event. Progress that is older than it is skipped too.
func (f *Feed) behindLocked(oldest, seq int64) int64 {
	pos := f.head
	for pos > oldest {
		e := f.ring[(pos-1)%ringSize]
		if e == nil || (e.ID > 0 && e.ID <= seq) {
			break
		}
		pos--
	}
	return pos
}

// fromStore reads on to a position that the stream has passed.
func (s *Subscription) fromStore(ctx context.Context, until int64) ([]*Event, error) {
	list, err := s.feed.store.Events(ctx, store.EventFilter{TaskID: s.filter.TaskID, After: s.seq, Until: until, Limit: handout})
	if err != nil {
		return nil, err
	}
	var out []*Event
	for i := range list {
		e := fromStore(list[i])
		if s.filter.takes(e) {
			out = append(out, e)
		}
		s.seq = e.ID
	}
	if len(list) < handout {
		s.seq = until
	}
	return out, nil
}

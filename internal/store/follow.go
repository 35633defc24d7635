package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// commits tells who wants to know that this process changed the store.
type commits struct {
	mu        sync.Mutex
	next      int            // guarded by mu
	callbacks map[int]func() // guarded by mu
}

// OnCommit calls fn after every commit of this Store, from the goroutine that committed, until the returned function is called.
// fn must not block.
func (s *Store) OnCommit(fn func()) (stop func()) {
	c := &s.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callbacks == nil {
		c.callbacks = map[int]func(){}
	}
	id := c.next
	c.next++
	c.callbacks[id] = fn
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.callbacks, id)
	}
}

// tell passes a result on, and says so when it is a commit.
func (c *commits) tell(err error) error {
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, fn := range c.callbacks {
		fn()
	}
	return nil
}

// SettledEvents returns the events after a given one in their order, and none before which another may still appear: who
// follows the log by it misses nothing. On PostgreSQL two transactions may commit in the other order than they took their
// numbers, so that it waits at a missing number until it is known whether that was rolled back.
func (s *Store) SettledEvents(ctx context.Context, after int64, limit int) ([]Event, error) {
	f := EventFilter{After: after, Limit: limit}
	events, err := s.Events(ctx, f)
	if err != nil || len(events) == 0 || s.eng.dialect() == SQLite {
		return events, err // SQLite has one writer: numbers are in the order of the commits
	}
	if n := dense(after, events); n > 0 {
		return events[:n], nil
	}
	if err := s.eng.settle(ctx); err != nil {
		return nil, fmt.Errorf("events after %d: %w", after, classify(err))
	}
	f.Until = events[len(events)-1].Seq // what was numbered since may be undecided again
	return s.Events(ctx, f)
}

// dense returns how many events follow each other without a missing number.
func dense(after int64, events []Event) int {
	for i := range events {
		if events[i].Seq != after+int64(i)+1 {
			return i
		}
	}
	return len(events)
}

// EventHorizon returns the number of an event up to which the log is decided: all events up to it can be read, and no other
// one will appear there. What is read after the call shows the effects of all of them.
func (s *Store) EventHorizon(ctx context.Context) (int64, error) {
	var last int64
	if err := s.eng.read().row(ctx, `SELECT coalesce(max(seq), 0) FROM events`).Scan(&last); err != nil {
		return 0, fmt.Errorf("newest event: %w", classify(err))
	}
	if err := s.eng.settle(ctx); err != nil {
		return 0, fmt.Errorf("newest event: %w", classify(err))
	}
	return last, nil
}

func (d *sqliteDB) settle(context.Context) error { return nil }

// settle returns when every transaction that may have taken the number of an event by now has ended. Such a one holds a lock
// on the table from before it takes the number until its end, so that the holders are all there are.
func (d *postgresDB) settle(ctx context.Context) error {
	before, err := d.writers(ctx)
	pause := time.Millisecond
	for err == nil && len(before) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*time.Millisecond)
		var now map[string]bool
		now, err = d.writers(ctx)
		for tx := range before {
			if !now[tx] {
				delete(before, tx)
			}
		}
	}
	return err
}

// writers returns the transactions that write, or have written, an event.
func (d *postgresDB) writers(ctx context.Context) (map[string]bool, error) {
	rows, err := d.read().query(ctx, `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted AND mode = 'RowExclusiveLock'
		AND relation = 'events'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	err = eachRow(rows, func() error {
		var tx string
		err := rows.Scan(&tx)
		out[tx] = true
		return err
	})
	return out, err
}

package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// The kinds of what is counted as it ends. The triggers of the migration that brought the tallies spell them in the same words.
const (
	tallyTask     = "task"
	tallyWorkflow = "workflow"
	TallyEnded    = "ended"   // tasks that ended, by status
	TallyAttempt  = "attempt" // attempts that ended, by class
)

// A Tally is how many there are of something, or how many ended in an hour.
type Tally struct {
	Hour time.Time // zero: now
	Kind string
	Key  string // a status, a class
	N    int64
}

// Ended calls fn with what ended since an hour; the same hour and key may come more than once, and are added up. It reads a few rows
// for each hour, however much ended in it.
func (s *Store) Ended(ctx context.Context, since time.Time, fn func(Tally)) error {
	if err := s.eachTally(ctx, `at >= $1`, fn, max(micros(since.Truncate(time.Hour)), 1)); err != nil {
		return fmt.Errorf("what ended: %w", err)
	}
	return nil
}

func (s *Store) eachTally(ctx context.Context, where string, fn func(Tally), args ...any) error {
	rows, err := s.eng.read().query(ctx, `SELECT at, name, n FROM tally WHERE `+where, args...)
	if err != nil {
		return classify(err)
	}
	return classify(eachRow(rows, func() error {
		var at int64
		var name string
		var t Tally
		if err := rows.Scan(&at, &name, &t.N); err != nil {
			return err
		}
		if at > 0 {
			t.Hour = fromMicros(at)
		}
		t.Kind, t.Key, _ = strings.Cut(name, ":")
		fn(t)
		return nil
	}))
}

package store

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// keptCycles is how many cycles the log keeps.
const keptCycles = 10_000

// A Cycle is what a dispatcher did in a stretch of time. One in which it did nothing has no row.
type Cycle struct {
	Seq      int64 // the store's own
	RunnerID string
	BeganAt  time.Time
	EndedAt  time.Time
	CycleWork
	Damaged
}

// CycleWork counts what was done.
type CycleWork struct {
	Reclaimed int            `json:"reclaimed,omitempty"` // attempts without an owner that were settled
	Expired   int            `json:"expired,omitempty"`   // actions that their deadline decided
	Created   map[string]int `json:"created,omitempty"`   // tasks, by what made them: schedules, sensors, workflows
	Settled   map[string]int `json:"settled,omitempty"`   // attempts, by what became of their task
	Delivered int            `json:"delivered,omitempty"` // follow-up tasks
	Sent      int            `json:"sent,omitempty"`      // messages
	Faults    []string       `json:"faults,omitempty"`    // the first ones
	FaultsAll int            `json:"fault_count,omitempty"`
}

// Idle reports whether nothing was done.
func (w CycleWork) Idle() bool {
	return w.Reclaimed+w.Expired+len(w.Created)+len(w.Settled)+w.Delivered+w.Sent+w.FaultsAll == 0
}

// PutCycle adds to the log of cycles and forgets the oldest beyond what it keeps.
func (s *Store) PutCycle(ctx context.Context, c Cycle) error {
	did, err := encode(c.CycleWork)
	if err != nil {
		return fmt.Errorf("put cycle: %w", err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		var seq int64
		if err := t.row(ctx, `INSERT INTO cycles (runner_id, began_at, ended_at, did) VALUES ($1, $2, $3, $4) RETURNING seq`,
			clean(c.RunnerID), micros(c.BeganAt), micros(c.EndedAt), did).Scan(&seq); err != nil {
			return err
		}
		_, err := t.exec(ctx, `DELETE FROM cycles WHERE seq <= $1`, seq-keptCycles)
		return err
	})
	if err != nil {
		return fmt.Errorf("put cycle: %w", err)
	}
	return nil
}

// Cycles returns the newest cycles that ended at an instant or after it, at most limit, newest first.
func (s *Store) Cycles(ctx context.Context, since time.Time, limit int) ([]Cycle, error) {
	from := int64(-1 << 62)
	if !since.IsZero() {
		from = micros(since)
	}
	return every(ctx, s.eng.read(), "cycles", shown(scanCycle), `SELECT seq, runner_id, began_at, ended_at, did FROM cycles WHERE ended_at >= $1
		ORDER BY seq DESC LIMIT $2`, from, limit)
}

func scanCycle(row scanner) (Cycle, error) {
	var c Cycle
	var began, ended int64
	var did string
	if err := row.Scan(&c.Seq, &c.RunnerID, &began, &ended, &did); err != nil {
		return c, err
	}
	c.BeganAt, c.EndedAt = fromMicros(began), fromMicros(ended)
	return c, decodePart("cycle", strconv.FormatInt(c.Seq, 10), "work", did, &c.CycleWork)
}

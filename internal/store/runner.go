package store

import (
	"context"
	"fmt"
	"time"
)

// A Runner is a process that claims tasks. BootID and ProcStart tell a live process from another one that was given
// the same pid.
type Runner struct {
	ID, Host  string
	PID       int
	BootID    string
	ProcStart int64
	StartedAt time.Time
	SeenAt    time.Time
	Version   string
}

// PutRunner records a runner, or that it was seen again.
func (s *Store) PutRunner(ctx context.Context, r Runner) error {
	if r.ID == "" {
		return invalid("put runner: id is empty")
	}
	if err := s.write(ctx, func(ctx context.Context, t tx) error { return s.putRunner(ctx, t, r) }); err != nil {
		return fmt.Errorf("put runner %s: %w", r.ID, err)
	}
	return nil
}

const insertRunner = `INSERT INTO runners (id, host, pid, boot_id, proc_start, started_at, seen_at, version)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (id) DO UPDATE SET host = excluded.host, pid = excluded.pid, boot_id = excluded.boot_id,
	proc_start = excluded.proc_start, started_at = excluded.started_at, seen_at = excluded.seen_at, version = excluded.version`

func (s *Store) putRunner(ctx context.Context, t tx, r Runner) error {
	now := s.now()
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	if r.SeenAt.IsZero() {
		r.SeenAt = now
	}
	_, err := t.exec(ctx, insertRunner, r.ID, r.Host, r.PID, r.BootID, r.ProcStart, micros(r.StartedAt), micros(r.SeenAt), r.Version)
	return err
}

// Runners returns the recorded runners by id.
func (s *Store) Runners(ctx context.Context) ([]Runner, error) {
	rows, err := s.eng.read().query(ctx, `SELECT id, host, pid, boot_id, proc_start, started_at, seen_at, version FROM runners ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("runners: %w", classify(err))
	}
	var out []Runner
	err = eachRow(rows, func() error {
		var r Runner
		var started, seen int64
		err := rows.Scan(&r.ID, &r.Host, &r.PID, &r.BootID, &r.ProcStart, &started, &seen, &r.Version)
		r.StartedAt, r.SeenAt = fromMicros(started), fromMicros(seen)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("runners: %w", classify(err))
	}
	return out, nil
}

const dropRunner = `DELETE FROM runners WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM attempts WHERE live = 1 AND runner_id = $1)
	AND NOT EXISTS (SELECT 1 FROM runs WHERE live = 1 AND runner_id = $1)`

// DropRunner deletes a runner. It is no error if there is none. One that could not settle an attempt or end a run stays on record: whoever
// sees that its process is gone need not wait until the lease has run out, or the run has been silent for long.
func (s *Store) DropRunner(ctx context.Context, id string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, dropRunner, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop runner %s: %w", id, err)
	}
	return nil
}

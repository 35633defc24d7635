package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// ClaimOptions say who claims, for how long, and what.
type ClaimOptions struct {
	RunnerID string
	Lease    time.Duration
	TaskID   string // "": the next one
}

func (o ClaimOptions) check() error {
	if o.RunnerID == "" {
		return invalid("runner id is empty")
	}
	if o.Lease <= 0 {
		return invalid("lease %s is not positive", o.Lease)
	}
	return nil
}

// A Ref is the right to write for an attempt. It is good until a later claim, a sweep or a settlement exists.
type Ref struct {
	TaskID, AttemptID string
	Fence             int64
}

// A Claim is a task that is yours to run until the lease ends.
type Claim struct {
	Task       Task
	Attempt    Attempt
	Ref        Ref
	LeaseUntil time.Time
}

// How many due tasks one claim moves to the ready lane at most, and in how large steps. The work is done once in
// each task's life. Only when more than promoteLimit tasks become due between two claims is the order among them
// that of their due times for a moment, and not that of their priorities.
const (
	promoteStep  = 500
	promoteLimit = 10_000
)

// Claim takes the next due task: the highest priority, then the oldest. It counts the attempt, raises the fence and
// records task_claimed. It returns ErrNoTask when nothing is due.
//
// With a TaskID it takes that task if it is due, whatever its priority: ErrNoTask when it waits or is running,
// ErrTerminal when it has ended, ErrNotFound when there is none.
func (s *Store) Claim(ctx context.Context, o ClaimOptions) (*Claim, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	// A look without a lock first: an idle dispatcher must not write, nor wait for writers.
	if o.TaskID == "" {
		if at, ok, err := s.NextDue(ctx); err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		} else if !ok || at.After(s.now()) {
			return nil, ErrNoTask
		}
	}
	var c *Claim
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		var err error
		if o.TaskID != "" {
			if err = s.claimable(ctx, t, o.TaskID); err != nil {
				return err
			}
		} else if _, err = s.promote(ctx, t, promoteLimit); err != nil {
			return err
		}
		c, err = s.claimOne(ctx, t, o, o.TaskID)
		return err
	})
	if errors.Is(err, ErrNoTask) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return c, nil
}

// claimable refuses a claim by id of a task that is not waiting and due.
func (s *Store) claimable(ctx context.Context, t tx, id string) error {
	var status agentruntime.TaskStatus
	var available int64
	err := t.row(ctx, `SELECT status, available_at FROM tasks WHERE id = $1 `+forUpdate, id).Scan(&status, &available)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("task %s: %w", id, ErrNotFound)
	case err != nil:
		return err
	case state.TaskTerminal(status):
		return &StatusError{TaskID: id, Status: status, Kind: ErrTerminal}
	case !state.TaskClaimable(status):
		return fmt.Errorf("task %s is %s: %w", id, status, ErrNoTask)
	case available > micros(s.now()):
		return fmt.Errorf("task %s is due at %s: %w", id, fromMicros(available).Format(time.RFC3339Nano), ErrNoTask)
	}
	return nil
}

const claimSet = `UPDATE tasks SET status = 'running', lane = 0, attempt_count = attempt_count + 1, fence = fence + 1,
	attempt_id = $1, updated_at = $2, finished_at = NULL, outcome = NULL `

// The inner query is an index walk of one step: tasks_ready holds nothing but ready tasks in claim order.
const (
	claimNext = claimSet + `WHERE seq = (SELECT seq FROM tasks WHERE lane = 1 ORDER BY rank, seq LIMIT 1 ` + skipLocked + `)
		RETURNING ` + taskColumns
	claimID = claimSet + `WHERE id = $3 AND status IN ('pending', 'retryable_failure') RETURNING ` + taskColumns

	insertAttempt = `INSERT INTO attempts (id, task_id, runner_id, fence, live, lease_until, state, started_at)
		VALUES ($1, $2, $3, $4, 1, $5, 'idle', $6)`
)

// claimOne claims the task with the given id, or the first of the ready lane.
func (s *Store) claimOne(ctx context.Context, t tx, o ClaimOptions, id string) (*Claim, error) {
	now := s.now()
	attempt := NewID()
	q, args := claimNext, []any{attempt, micros(now)}
	if id != "" {
		q, args = claimID, append(args, id)
	}
	task, err := oneTask(ctx, t, q, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoTask
	}
	err = listed(&task, err) // its claimer says why it cannot be run: left in the queue, it would stand before all others
	if err != nil {
		return nil, err
	}
	id = task.Record.TaskID
	lease := now.Add(o.Lease).Truncate(time.Microsecond)
	_, err = t.exec(ctx, insertAttempt, attempt, id, o.RunnerID, task.Fence, micros(lease), micros(now))
	if err != nil {
		return nil, err
	}
	detail, err := encode(struct {
		Runner  string `json:"runner_id"`
		Attempt int    `json:"attempt"`
		Fence   int64  `json:"fence"`
	}{o.RunnerID, task.Record.AttemptCount, task.Fence})
	if err != nil {
		return nil, err
	}
	if err := appendEvent(ctx, t, string(agentruntime.EventTaskClaimed), micros(now), id, attempt, detail); err != nil {
		return nil, err
	}
	return &Claim{
		Task: task,
		Attempt: Attempt{
			Record: agentruntime.TaskAttempt{
				AttemptID: attempt, TaskID: id, RunnerID: o.RunnerID, StartedAt: agentruntime.At(now),
			},
			State: string(state.Idle), Fence: task.Fence, Live: true, LeaseUntil: lease,
		},
		Ref:        Ref{TaskID: id, AttemptID: attempt, Fence: task.Fence},
		LeaseUntil: lease,
	}, nil
}

// Promote moves tasks that have become due to the ready lane, at most limit of them, and returns their number. Claim
// does it by itself; Promote lets a dispatcher do it ahead of a burst. It also forgets dedupe keys whose window is
// over.
func (s *Store) Promote(ctx context.Context, limit int) (int, error) {
	var n int
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `DELETE FROM dedupe_keys WHERE dedupe_key `+inSet+`SELECT dedupe_key FROM dedupe_keys
			WHERE expires_at <= $1 ORDER BY expires_at LIMIT 1000 `+skipLocked+endSet, micros(s.now()))
		if err != nil {
			return err
		}
		n, err = s.promote(ctx, t, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("promote: %w", err)
	}
	return n, nil
}

func (s *Store) promote(ctx context.Context, t tx, limit int) (int, error) {
	total := 0
	for now := micros(s.now()); total < limit; {
		step := min(promoteStep, limit-total)
		res, err := t.exec(ctx, `UPDATE tasks SET lane = 1 WHERE seq `+inSet+`SELECT seq FROM tasks
			WHERE lane = 2 AND available_at <= $1 ORDER BY available_at, seq LIMIT $2 `+skipLocked+endSet, now, step)
		if err != nil {
			return total, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return total, err
		}
		total += int(n)
		if int(n) < step {
			break
		}
	}
	return total, nil
}

// NextDue returns the earliest instant at which a waiting task can be claimed, and false when none waits. The
// instant is now or past when a task is ready.
func (s *Store) NextDue(ctx context.Context) (time.Time, bool, error) {
	c := s.eng.read()
	var at int64
	err := c.row(ctx, `SELECT available_at FROM tasks WHERE lane = 1 ORDER BY rank, seq LIMIT 1`).Scan(&at)
	if err == nil { // what was due once stays so, also when the clock was set back: else the first of the queue would hold up all
		at = min(at, micros(s.now()))
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = c.row(ctx, `SELECT available_at FROM tasks WHERE lane = 2 ORDER BY available_at, seq LIMIT 1`).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return time.Time{}, false, nil
		}
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next due task: %w", classify(err))
	}
	return fromMicros(at), true, nil
}

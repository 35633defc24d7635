package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// The kinds of an outbox item.
const (
	OutboxFollowUpTask    = "follow_up_task"
	OutboxExternalMessage = "external_message"
)

// The states of an outbox item.
const (
	OutboxPending   = "pending"
	OutboxDelivered = "delivered"
	OutboxFailed    = "failed" // given up
)

// An OutboxItem is an effect that a settled attempt asked for. It is delivered after the settlement, at least once;
// DeliverTask makes that exactly once for tasks.
type OutboxItem struct {
	ID, TaskID, AttemptID string
	Kind                  string
	Ordinal               int // its place among the items of its kind in the attempt
	Body                  json.RawMessage
	State                 string
	Attempts              int
	NextAt                time.Time // zero in a settlement: now
	LastError             string
	Result                string // of a delivered follow_up_task: the task's id
}

func insertOutbox(ctx context.Context, t tx, ref Ref, items []OutboxItem, now int64) error {
	for i := range items {
		o := &items[i]
		id := o.ID
		if id == "" {
			id = NewID()
		}
		body, err := rawJSON("outbox body", o.Body)
		if err != nil {
			return err
		}
		if body == nil || o.Kind == "" {
			return invalid("outbox item %d has no kind or no body", i)
		}
		next := now
		if !o.NextAt.IsZero() {
			next = micros(o.NextAt)
		}
		_, err = t.exec(ctx, `INSERT INTO outbox (id, task_id, attempt_id, kind, ordinal, body, state, next_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8)`, id, ref.TaskID, ref.AttemptID, o.Kind, o.Ordinal, body, next, now)
		if err != nil {
			return err
		}
	}
	return nil
}

const outboxColumns = `id, task_id, attempt_id, kind, ordinal, body, state, attempts, next_at, last_error, result`

func scanOutbox(row scanner) (OutboxItem, error) {
	var o OutboxItem
	var body string
	var next int64
	var result *string
	err := row.Scan(&o.ID, &o.TaskID, &o.AttemptID, &o.Kind, &o.Ordinal, &body, &o.State, &o.Attempts, &next, &o.LastError, &result)
	o.Body, o.NextAt, o.Result = json.RawMessage(body), fromMicros(next), str(result)
	return o, err
}

func (s *Store) outbox(ctx context.Context, q string, args ...any) ([]OutboxItem, error) {
	rows, err := s.eng.read().query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", classify(err))
	}
	var out []OutboxItem
	err = eachRow(rows, func() error {
		o, err := scanOutbox(rows)
		out = append(out, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", classify(err))
	}
	return out, nil
}

// OutboxDue returns items that are to be delivered now, those that wait longest first.
func (s *Store) OutboxDue(ctx context.Context, limit int) ([]OutboxItem, error) {
	return s.outbox(ctx, `SELECT `+outboxColumns+` FROM outbox WHERE state = 'pending' AND next_at <= $1
		ORDER BY next_at, seq LIMIT $2`, micros(s.now()), limit)
}

// OutboxOf returns all items of a task, oldest first.
func (s *Store) OutboxOf(ctx context.Context, taskID string) ([]OutboxItem, error) {
	return s.outbox(ctx, `SELECT `+outboxColumns+` FROM outbox WHERE task_id = $1 ORDER BY seq`, taskID)
}

// NextOutbox returns the earliest instant at which an item is to be delivered, and false when none waits.
func (s *Store) NextOutbox(ctx context.Context) (time.Time, bool, error) {
	items, err := s.outbox(ctx, `SELECT `+outboxColumns+` FROM outbox WHERE state = 'pending' ORDER BY next_at, seq LIMIT 1`)
	if err != nil || len(items) == 0 {
		return time.Time{}, false, err
	}
	return items[0].NextAt, true, nil
}

// DeliverTask enqueues the task of a follow_up_task item and marks the item delivered, in one transaction. A second
// call returns the same task and makes nothing. A dedupe key that is taken counts as delivered to its holder.
func (s *Store) DeliverTask(ctx context.Context, outboxID string, task NewTask) (Enqueued, error) {
	rows, out, keyed, err := s.taskRows([]NewTask{task})
	if err != nil {
		return Enqueued{}, fmt.Errorf("deliver %s: %w", outboxID, err)
	}
	var got Enqueued
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		o, err := lockOutbox(ctx, t, outboxID)
		if err != nil {
			return err
		}
		if o.State == OutboxDelivered {
			got = Enqueued{TaskID: o.Result, Deduped: true}
			return nil
		}
		if o.State != OutboxPending {
			return fmt.Errorf("it is %s: %w", o.State, ErrClosed)
		}
		out[0] = Enqueued{TaskID: rows[0].id}
		fresh := rows
		if keyed {
			if fresh, err = s.takeKeys(ctx, t, rows, out); err != nil {
				return err
			}
		}
		if err := t.insertTasks(ctx, fresh); err != nil {
			return err
		}
		got = out[0]
		if err := s.closeOutbox(ctx, t, o.ID, OutboxDelivered, got.TaskID, ""); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return Enqueued{}, fmt.Errorf("deliver %s: %w", outboxID, err)
	}
	return got, nil
}

// OutboxDone marks an item that was delivered by other means. A second call changes nothing.
func (s *Store) OutboxDone(ctx context.Context, outboxID, result string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		o, err := lockOutbox(ctx, t, outboxID)
		if err != nil || o.State == OutboxDelivered {
			return err
		}
		if o.State != OutboxPending {
			return fmt.Errorf("it is %s: %w", o.State, ErrClosed)
		}
		return s.closeOutbox(ctx, t, o.ID, OutboxDelivered, clean(result), "")
	})
	if err != nil {
		return fmt.Errorf("outbox %s: %w", outboxID, err)
	}
	return nil
}

// OutboxFail records a delivery that failed: to be tried again at next, or given up when final.
func (s *Store) OutboxFail(ctx context.Context, outboxID, msg string, next time.Time, final bool) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		o, err := lockOutbox(ctx, t, outboxID)
		if err != nil {
			return err
		}
		if o.State != OutboxPending {
			return fmt.Errorf("it is %s: %w", o.State, ErrClosed)
		}
		if final {
			return s.closeOutbox(ctx, t, o.ID, OutboxFailed, "", clean(msg))
		}
		_, err = t.exec(ctx, `UPDATE outbox SET attempts = attempts + 1, next_at = $1, last_error = $2 WHERE id = $3`,
			micros(next), clean(msg), o.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("outbox %s: %w", outboxID, err)
	}
	return nil
}

func lockOutbox(ctx context.Context, t tx, id string) (OutboxItem, error) {
	o, err := scanOutbox(t.row(ctx, `SELECT `+outboxColumns+` FROM outbox WHERE id = $1 `+forUpdate, id))
	if err != nil {
		return o, missing("outbox item", id, err)
	}
	return o, nil
}

func (s *Store) closeOutbox(ctx context.Context, t tx, id, state, result, msg string) error {
	_, err := t.exec(ctx, `UPDATE outbox SET state = $1, attempts = attempts + 1, settled_at = $2, result = $3, last_error = $4
		WHERE id = $5`, state, micros(s.now()), nullable(result), msg, id)
	return err
}

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
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
	OutboxFailed    = "failed"  // given up: a dead letter, until an operator retries or drops it
	OutboxHeld      = "held"    // a person has to agree first
	OutboxDropped   = "dropped" // by a person
)

// An OutboxItem is an effect that a settled attempt asked for. It is delivered after the settlement, at least once;
// DeliverTask makes that exactly once for tasks.
type OutboxItem struct {
	ID, TaskID, AttemptID string
	Kind                  string
	Ordinal               int // its place among the items of its kind in the attempt
	Body                  json.RawMessage
	State                 string // in a settlement: OutboxHeld, else it is pending
	Attempts              int
	NextAt                time.Time // zero in a settlement: now
	CreatedAt             time.Time // the store's own
	LastError             string
	Result                string // of a delivered follow_up_task: the task's id
	Damaged
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
		state := OutboxPending
		if o.State == OutboxHeld {
			state = OutboxHeld
		}
		_, err = t.exec(ctx, `INSERT INTO outbox (id, task_id, attempt_id, kind, ordinal, body, state, next_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, id, ref.TaskID, ref.AttemptID, o.Kind, o.Ordinal, body, state, next, now)
		if err != nil {
			return err
		}
	}
	return nil
}

const outboxColumns = `id, task_id, attempt_id, kind, ordinal, body, state, attempts, next_at, created_at, last_error, result`

func scanOutbox(row scanner) (OutboxItem, error) {
	var o OutboxItem
	var body string
	var next, created int64
	var result *string
	err := row.Scan(&o.ID, &o.TaskID, &o.AttemptID, &o.Kind, &o.Ordinal, &body, &o.State, &o.Attempts, &next, &created, &o.LastError, &result)
	o.Body, o.NextAt, o.CreatedAt, o.Result = json.RawMessage(body), fromMicros(next), fromMicros(created), str(result)
	return o, err
}

func (s *Store) outbox(ctx context.Context, scan func(scanner) (OutboxItem, error), q string, args ...any) ([]OutboxItem, error) {
	return every(ctx, s.eng.read(), "outbox", scan, q, args...)
}

const outboxDue = `SELECT ` + outboxColumns + ` FROM outbox WHERE state = 'pending' AND kind = $1 AND next_at <= $2
	ORDER BY next_at, seq LIMIT $3`

// OutboxDue returns items of a kind that are to be delivered now, those that wait longest first.
func (s *Store) OutboxDue(ctx context.Context, kind string, limit int) ([]OutboxItem, error) {
	return s.outbox(ctx, scanOutbox, outboxDue, kind, micros(s.now()), limit)
}

// OutboxTake is OutboxDue for effects outside the store: no other caller gets the items until the lease has passed. The caller
// reports the result of each within the lease. After a crash the items are due again.
func (s *Store) OutboxTake(ctx context.Context, kind string, limit int, lease time.Duration) ([]OutboxItem, error) {
	due, err := s.OutboxDue(ctx, kind, 1) // a look without a lock: an idle dispatcher must not write
	if err != nil || len(due) == 0 {
		return nil, err
	}
	var out []OutboxItem
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		out = nil
		now := s.now()
		rows, err := t.query(ctx, `UPDATE outbox SET next_at = $1 WHERE id `+inSet+`SELECT id FROM outbox
			WHERE state = 'pending' AND kind = $2 AND next_at <= $3 ORDER BY next_at, seq LIMIT $4 `+skipLocked+endSet+` RETURNING `+outboxColumns,
			micros(now.Add(lease)), kind, micros(now), limit)
		if err != nil {
			return err
		}
		return eachRow(rows, func() error {
			o, err := scanOutbox(rows)
			out = append(out, o)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("take from the outbox: %w", err)
	}
	slices.SortFunc(out, byID)
	return out, nil
}

// An OutboxFilter selects items. The zero value selects the newest ones that were not delivered.
type OutboxFilter struct {
	State  string // "": all but the delivered ones
	TaskID string // of one task; delivered ones too, unless there is a state
	Limit  int    // 0: 100
	Before string // the id of an item: only older ones
}

// Outbox returns the items of the selection, oldest first.
func (s *Store) Outbox(ctx context.Context, f OutboxFilter) ([]OutboxItem, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	before, err := s.seqOf(ctx, "outbox", f.Before, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	const head, tail = `SELECT ` + outboxColumns + ` FROM outbox WHERE seq < $2 AND `, ` ORDER BY seq DESC LIMIT $1`
	var out []OutboxItem
	switch {
	case f.TaskID != "" && f.State != "":
		out, err = s.outbox(ctx, shown(scanOutbox), head+`task_id = $3 AND state = $4`+tail, f.Limit, before, f.TaskID, f.State)
	case f.TaskID != "":
		out, err = s.outbox(ctx, shown(scanOutbox), head+`task_id = $3`+tail, f.Limit, before, f.TaskID)
	default: // each state is an index walk of its own
		states := []string{f.State}
		if f.State == "" {
			states = []string{OutboxPending, OutboxHeld, OutboxFailed, OutboxDropped}
		}
		for _, state := range states {
			q, args := head+`state = $3 AND state <> 'pending'`+tail, []any{f.Limit, before, state}
			if state == OutboxPending {
				q, args = head+`state = 'pending'`+tail, []any{f.Limit, before}
			}
			some, err := s.outbox(ctx, shown(scanOutbox), q, args...)
			if err != nil {
				return nil, err
			}
			out = append(out, some...)
		}
	}
	slices.SortFunc(out, byID)
	return out[max(len(out)-f.Limit, 0):], err
}

// byID sorts items by their time: ids do.
func byID(a, b OutboxItem) int { return strings.Compare(a.ID, b.ID) }

// OutboxItem returns one item, by its id or by a prefix of it.
func (s *Store) OutboxItem(ctx context.Context, id string) (OutboxItem, error) {
	c := s.eng.read()
	full, err := resolve(ctx, c, "outbox", id)
	if err != nil {
		return OutboxItem{}, fmt.Errorf("outbox item %w", err)
	}
	o, err := scanOutbox(c.row(ctx, `SELECT `+outboxColumns+` FROM outbox WHERE id = $1`, full))
	if err != nil {
		return o, missing("outbox item", full, err)
	}
	return o, nil
}

// OutboxRetry makes an item due now that was given up, is held or waits. Its deliveries are counted again from zero.
func (s *Store) OutboxRetry(ctx context.Context, id, by string) error {
	return s.outboxByHand(ctx, id, by, "", EventOutboxRetried, `UPDATE outbox SET state = 'pending', attempts = 0, next_at = $1, settled_at = NULL WHERE id = $2`)
}

// OutboxDrop gives an item up permanently. Its record is kept.
func (s *Store) OutboxDrop(ctx context.Context, id, reason, by string) error {
	return s.outboxByHand(ctx, id, by, reason, EventOutboxDropped, `UPDATE outbox SET state = 'dropped', settled_at = $1 WHERE id = $2`)
}

// outboxByHand is what a person does with an item that was neither delivered nor dropped. set gets the present and the id.
func (s *Store) outboxByHand(ctx context.Context, id, by, reason, event, set string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		o, err := lockOutbox(ctx, t, id)
		if err != nil {
			return err
		}
		if o.State == OutboxDelivered || o.State == OutboxDropped {
			return fmt.Errorf("it is %s: %w", o.State, ErrClosed)
		}
		now := micros(s.now())
		if _, err := t.exec(ctx, set, now, id); err != nil {
			return err
		}
		detail, err := encode(map[string]string{"outbox_id": id, "previous": o.State, "by": clean(by), "reason": clean(reason)})
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, event, now, o.TaskID, o.AttemptID, detail); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return fmt.Errorf("outbox %s: %w", id, err)
	}
	return nil
}

// NextOutbox returns the earliest instant at which an item is to be delivered, and false when none waits.
func (s *Store) NextOutbox(ctx context.Context) (time.Time, bool, error) {
	items, err := s.outbox(ctx, scanOutbox, `SELECT `+outboxColumns+` FROM outbox WHERE state = 'pending' ORDER BY next_at, seq LIMIT 1`)
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
		if err := s.closeOutbox(ctx, t, o, OutboxDelivered, got.TaskID, ""); err != nil {
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
		return s.closeOutbox(ctx, t, o, OutboxDelivered, clean(result), "")
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
			return s.closeOutbox(ctx, t, o, OutboxFailed, "", clean(msg))
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

func (s *Store) closeOutbox(ctx context.Context, t tx, o OutboxItem, state, result, msg string) error {
	now := micros(s.now())
	_, err := t.exec(ctx, `UPDATE outbox SET state = $1, attempts = attempts + 1, settled_at = $2, result = $3, last_error = $4
		WHERE id = $5`, state, now, nullable(result), msg, o.ID)
	if err != nil || o.Kind != OutboxExternalMessage { // a task that was delivered tells of itself
		return err
	}
	event, detail := EventMessageDelivered, map[string]any{"outbox_id": o.ID, "attempts": o.Attempts + 1, "result": result}
	if state == OutboxFailed {
		event, detail = EventMessageFailed, map[string]any{"outbox_id": o.ID, "attempts": o.Attempts + 1, "error": msg}
	}
	text, err := encode(detail)
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, event, now, o.TaskID, o.AttemptID, text)
}

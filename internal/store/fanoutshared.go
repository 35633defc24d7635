package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// SharedResource is how the names of resources begin that are one for all fanouts: whatever two fanouts there are, at most
// one item of both holds it. An item holds it while the task that stands for it has not ended, so that what a dead process
// held is free as soon as its task is known to be lost, even if its fanout is never resumed. All other
// resources are a fanout's own.
const SharedResource = "key:"

// behindShared comes after every name of a shared resource.
const behindShared = "key;"

// liveTask is the condition that a task has not ended.
const liveTask = `status NOT IN ('completed', 'permanent_failure', 'operator_canceled')`

// heldShared returns the first of the used shared resources that is held, or "".
func heldShared(ctx context.Context, c conn, uses []string) (string, error) {
	for _, u := range uses {
		if !strings.HasPrefix(u, SharedResource) {
			continue
		}
		h, err := holder(ctx, c, u)
		if err != nil {
			return "", err
		}
		if h.FanoutID != "" {
			return u, nil
		}
	}
	return "", nil
}

// holder returns the holder of a shared resource; the zero value: it is free.
func holder(ctx context.Context, c conn, resource string) (SharedWait, error) {
	w := SharedWait{Resource: resource}
	err := c.row(ctx, `SELECT k.fanout_id, k.task_id FROM fanout_keys k JOIN tasks t ON t.id = k.task_id AND t.`+liveTask+` WHERE k.resource = $1`, resource).
		Scan(&w.FanoutID, &w.TaskID)
	if errors.Is(err, sql.ErrNoRows) {
		return w, nil
	}
	return w, err
}

// takeShared makes an item the holder of the shared resources that it uses. It returns ErrNoRoom when another one holds
// one of them.
func takeShared(ctx context.Context, t tx, it FanoutItem, taskID string) error {
	for _, u := range it.Uses { // in their order, so that two items never wait for each other
		if !strings.HasPrefix(u, SharedResource) {
			continue
		}
		res, err := t.exec(ctx, `INSERT INTO fanout_keys (resource, fanout_id, ordinal, task_id) VALUES ($1, $2, $3, $4)
			ON CONFLICT (resource) DO UPDATE SET fanout_id = excluded.fanout_id, ordinal = excluded.ordinal, task_id = excluded.task_id
			WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = fanout_keys.task_id AND t.`+liveTask+`)`, u, it.FanoutID, it.Ordinal, taskID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNoRoom)
		}
	}
	return nil
}

// freeResources lets others have what a try held. Items of other fanouts find out by themselves: see WakeItems.
func freeResources(ctx context.Context, t tx, it FanoutItem) error {
	if _, err := t.exec(ctx, `DELETE FROM fanout_keys WHERE fanout_id = $1 AND ordinal = $2`, it.FanoutID, it.Ordinal); err != nil {
		return err
	}
	return wakeWaiters(ctx, t, it.FanoutID, it.Uses)
}

// A SharedWait is a shared resource that items of a fanout wait for, and who holds it.
type SharedWait struct {
	Resource string
	FanoutID string // "": it is free now
	TaskID   string
}

// SharedWaits returns the shared resources that items of a fanout wait for, in the order of their names. There are never
// more than are held at a time.
func (s *Store) SharedWaits(ctx context.Context, id string) ([]SharedWait, error) {
	c := s.eng.read()
	var out []SharedWait
	for after := SharedResource; ; {
		var resource string
		err := c.row(ctx, `SELECT waits_for FROM fanout_items WHERE fanout_id = $1 AND waits_for > $2 AND waits_for < $3 ORDER BY waits_for LIMIT 1`,
			id, after, behindShared).Scan(&resource)
		if errors.Is(err, sql.ErrNoRows) {
			return out, nil
		}
		var w SharedWait
		if err == nil {
			w, err = holder(ctx, c, resource)
		}
		if err != nil {
			return nil, fmt.Errorf("what fanout %s waits for: %w", id, classify(err))
		}
		out, after = append(out, w), resource
	}
}

// untilTime is what an item waits for that is not due; nil: it is.
func untilTime(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return fmt.Sprintf("until:%020d", micros(at))
}

// WakeItems lets items be tried again whose time has come, and those that wait for a shared resource that is free by now.
// It reports whether others are left that wait for a time or for another fanout: the runner of the fanout asks again.
func (s *Store) WakeItems(ctx context.Context, id string) (woken, waiting bool, err error) {
	waits, err := s.SharedWaits(ctx, id)
	if err != nil {
		return false, false, err
	}
	var free []string
	for _, w := range waits {
		if w.FanoutID == "" {
			free = append(free, w.Resource)
		}
	}
	waiting = len(free) < len(waits)
	now := untilTime(s.now())
	var first string
	err = s.eng.read().row(ctx, `SELECT waits_for FROM fanout_items WHERE fanout_id = $1 AND waits_for > 'until:' AND waits_for < 'until;' ORDER BY waits_for LIMIT 1`, id).Scan(&first)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, false, fmt.Errorf("what fanout %s waits for: %w", id, classify(err))
	}
	due := first != "" && first <= now.(string)
	waiting = waiting || first != "" && !due
	if len(free) == 0 && !due {
		return false, waiting, nil
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockFanout(ctx, t, id); err != nil {
			return err
		}
		if err := wakeWaiters(ctx, t, id, free); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE fanout_items SET waits_for = NULL WHERE fanout_id = $1 AND waits_for > 'until:' AND waits_for <= $2`, id, now)
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("wake items of fanout %s: %w", id, err)
	}
	return true, waiting, nil
}

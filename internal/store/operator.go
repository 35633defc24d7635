package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// A CancelResult says what a cancel did.
type CancelResult struct {
	TaskID    string
	Previous  agentruntime.TaskStatus
	Status    agentruntime.TaskStatus // operator_canceled, or running when the cancel is only requested
	Requested bool                    // the attempt that runs will see it at its next renewal
}

// Cancel ends a waiting or blocked task at once, with an outcome. A running one is asked to stop: its runner learns
// it from Renew. A second request changes nothing. For a task that has ended it returns a *StatusError (ErrTerminal).
func (s *Store) Cancel(ctx context.Context, taskID, reason, by string) (CancelResult, error) {
	var out CancelResult
	reason, by = clean(reason), clean(by)
	err := s.operateOn(ctx, taskID, listed[Task], func(ctx context.Context, t tx, task Task, now int64) error { // its status is all that counts
		var err error
		out, err = cancelTask(ctx, t, task, reason, by, now)
		return err
	})
	if err != nil {
		return CancelResult{}, fmt.Errorf("cancel: %w", err)
	}
	return out, nil
}

// cancelTask is Cancel for a task that is locked.
func cancelTask(ctx context.Context, t tx, task Task, reason, by string, now int64) (CancelResult, error) {
	id, status := task.Record.TaskID, task.Record.Status
	out := CancelResult{TaskID: id, Previous: status, Status: agentruntime.TaskOperatorCanceled}
	if state.TaskTerminal(status) {
		return out, &StatusError{TaskID: id, Status: status, Kind: ErrTerminal}
	}
	detail, err := operatorDetail(status, reason, by)
	if err != nil {
		return out, err
	}
	if status == agentruntime.TaskRunning {
		out.Status, out.Requested = status, true
		if task.CancelRequested {
			return out, nil
		}
		_, err := t.exec(ctx, `UPDATE tasks SET cancel_at = $1, cancel_reason = $2, cancel_by = $3, updated_at = $1 WHERE id = $4`,
			now, nullable(reason), nullable(by), id)
		if err != nil {
			return out, err
		}
		if err := appendEvent(ctx, t, EventTaskCancelRequested, now, id, task.AttemptID, detail); err != nil {
			return out, err
		}
		return out, t.notify(ctx)
	}
	if err := state.TaskNext(status, agentruntime.TaskOperatorCanceled); err != nil {
		return out, err
	}
	summary := reason
	if summary == "" {
		summary = "cancelled by the operator"
	}
	outcome, err := encode(agentruntime.TaskOutcome{
		Status: agentruntime.TaskOperatorCanceled, MachineStatus: agentruntime.MachineCanceled, OperatorSummary: summary,
	})
	if err != nil {
		return out, err
	}
	_, err = t.exec(ctx, `UPDATE tasks SET status = 'operator_canceled', lane = 0, updated_at = $1, finished_at = $1, outcome = $2,
		cancel_reason = $3, cancel_by = $4 WHERE id = $5`, now, outcome, nullable(reason), nullable(by), id)
	if err != nil {
		return out, err
	}
	if err := dismissActions(ctx, t, id, by, now); err != nil {
		return out, err
	}
	if err := appendEvent(ctx, t, EventTaskOperatorCanceled, now, id, "", detail); err != nil {
		return out, err
	}
	if err := freeKey(ctx, t, task.DedupeKey, id); err != nil {
		return out, err
	}
	if err := markWorkflow(ctx, t, task.WorkflowID, id, now); err != nil {
		return out, err
	}
	return out, t.notify(ctx)
}

// Retry makes a failed, cancelled, blocked or waiting task due now, with at least one more attempt. It returns a
// *StatusError for a completed (ErrTerminal) or running (ErrRunning) task, and a *DuplicateError when the task's
// dedupe key is held by another task by now.
func (s *Store) Retry(ctx context.Context, taskID, reason, by string) error {
	reason, by = clean(reason), clean(by)
	err := s.operate(ctx, taskID, func(ctx context.Context, t tx, task Task, now int64) error {
		id, status := task.Record.TaskID, task.Record.Status
		switch status {
		case agentruntime.TaskCompleted:
			return &StatusError{TaskID: id, Status: status, Kind: ErrTerminal}
		case agentruntime.TaskRunning:
			return &StatusError{TaskID: id, Status: status, Kind: ErrRunning}
		}
		if err := state.TaskNext(status, agentruntime.TaskPending); err != nil {
			return err
		}
		if state.TaskTerminal(status) && task.DedupeKey != "" {
			if err := retakeKey(ctx, t, task.DedupeKey, id, now); err != nil {
				return err
			}
		}
		if err := wake(ctx, t, id, now); err != nil {
			return err
		}
		if err := dismissActions(ctx, t, id, by, now); err != nil {
			return err
		}
		if err := reviveWorkflow(ctx, t, task.WorkflowID, id, by, now); err != nil {
			return err
		}
		detail, err := operatorDetail(status, reason, by)
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, EventTaskOperatorRetried, now, id, "", detail); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	return nil
}

// retakeKey takes the key again for a task that lives again.
func retakeKey(ctx context.Context, t tx, key, id string, now int64) error {
	holder, err := takeKey(ctx, t, key, id, now, 0)
	if err != nil {
		return err
	}
	if holder != id {
		return &DuplicateError{Key: key, TaskID: holder}
	}
	return nil
}

// wake makes a task pending, due now, with an attempt left.
func wake(ctx context.Context, t tx, id string, now int64) error {
	_, err := t.exec(ctx, `UPDATE tasks SET status = 'pending', lane = 1, available_at = $1, updated_at = $1, finished_at = NULL,
		outcome = NULL, cancel_at = NULL, cancel_reason = NULL, cancel_by = NULL,
		max_attempts = CASE WHEN max_attempts > attempt_count THEN max_attempts ELSE attempt_count + 1 END WHERE id = $2`, now, id)
	return err
}

// operate runs fn on one task, locked, given by id or prefix.
func (s *Store) operate(ctx context.Context, taskID string, fn func(context.Context, tx, Task, int64) error) error {
	return s.operateOn(ctx, taskID, func(_ *Task, err error) error { return err }, fn)
}

// operateOn is operate, where read says what becomes of a task that is damaged.
func (s *Store) operateOn(ctx context.Context, taskID string, read func(*Task, error) error, fn func(context.Context, tx, Task, int64) error) error {
	id, err := resolve(ctx, s.eng.read(), "tasks", taskID)
	if err != nil {
		return fmt.Errorf("task %w", err)
	}
	return s.write(ctx, func(ctx context.Context, t tx) error {
		task, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, id)
		if err = read(&task, err); err != nil {
			return missing("task", id, err)
		}
		return fn(ctx, t, task, micros(s.now()))
	})
}

func operatorDetail(previous agentruntime.TaskStatus, reason, by string) (string, error) {
	return encode(struct {
		Previous agentruntime.TaskStatus `json:"previous_status"`
		Reason   string                  `json:"reason,omitempty"`
		By       string                  `json:"by,omitempty"`
	}{previous, reason, by})
}

// A Pause is a standing order that dispatch claims nothing.
type Pause struct {
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// Pause stops dispatch from claiming, for every runner of this store. A second pause replaces the reason. Claim
// itself does not look at it: a person may still run a task by hand.
func (s *Store) Pause(ctx context.Context, reason, by string) error {
	p := Pause{Reason: clean(reason), By: clean(by), At: s.now()}
	text, err := encode(p)
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if err := putControl(ctx, t, "pause", text, micros(p.At)); err != nil {
			return err
		}
		if err := appendEvent(ctx, t, EventDispatchPaused, micros(p.At), "", "", text); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// Resume ends the pause. It does nothing when there is none.
func (s *Store) Resume(ctx context.Context, by string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		res, err := t.exec(ctx, `DELETE FROM controls WHERE name = 'pause'`)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		detail, err := encode(map[string]string{"by": clean(by)})
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, EventDispatchResumed, micros(s.now()), "", "", detail); err != nil {
			return err
		}
		return t.notify(ctx)
	})
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

// Paused returns the pause, and false when there is none.
func (s *Store) Paused(ctx context.Context) (Pause, bool, error) {
	var text string
	err := s.eng.read().row(ctx, `SELECT value FROM controls WHERE name = 'pause'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return Pause{}, false, nil
	}
	if err != nil {
		return Pause{}, false, fmt.Errorf("read pause: %w", classify(err))
	}
	var p Pause
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Pause{}, true, fmt.Errorf("read pause: %w", err)
	}
	return p, true, nil
}

// Listen returns a channel that gets a value, at most one pending, whenever another process may have made work:
// enqueued, retried, answered, cancelled, paused or resumed. It is closed when ctx or the store ends. On SQLite it returns nil
// and no error: processes on one home wake each other by other means.
func (s *Store) Listen(ctx context.Context) (<-chan struct{}, error) {
	c, err := s.eng.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return c, nil
}

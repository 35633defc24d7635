package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/state"
)

// A NewAction is something that a person must do before a task can go on.
type NewAction struct {
	ID     string // "": made here
	Kind   string
	Prompt string
	Detail json.RawMessage
}

// The states of an action.
const (
	ActionOpen      = "open"
	ActionAnswered  = "answered"
	ActionDismissed = "dismissed" // the task was cancelled or retried without an answer
)

// An Action is a required action.
type Action struct {
	ID, TaskID, AttemptID string
	Kind, Prompt          string
	Detail                json.RawMessage
	State                 string
	Answer                json.RawMessage
	AnsweredBy            string
	OpenedAt              time.Time
	ClosedAt              time.Time // zero while it is open
}

// An ActionFilter selects actions. The zero value selects all.
type ActionFilter struct {
	TaskID string
	State  string
	Limit  int // 0: 100
}

func openAction(ctx context.Context, t tx, ref Ref, a NewAction, now int64) (string, error) {
	if a.ID == "" {
		a.ID = NewID()
	}
	detail, err := rawJSON("action detail", a.Detail)
	if err != nil {
		return "", err
	}
	_, err = t.exec(ctx, `INSERT INTO actions (id, task_id, attempt_id, kind, prompt, detail, state, opened_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'open', $7)`, a.ID, ref.TaskID, ref.AttemptID, clean(a.Kind), clean(a.Prompt), detail, now)
	if err != nil {
		return "", err
	}
	text, err := encode(map[string]string{"action_id": a.ID, "kind": clean(a.Kind), "prompt": clean(a.Prompt)})
	if err != nil {
		return "", err
	}
	return a.ID, appendEvent(ctx, t, EventActionOpened, now, ref.TaskID, ref.AttemptID, text)
}

const actionColumns = `id, task_id, attempt_id, kind, prompt, detail, state, answer, answered_by, opened_at, closed_at`

func scanAction(row scanner) (Action, error) {
	var a Action
	var detail, answer *string
	var opened int64
	var closed *int64
	err := row.Scan(&a.ID, &a.TaskID, &a.AttemptID, &a.Kind, &a.Prompt, &detail, &a.State, &answer, &a.AnsweredBy, &opened, &closed)
	if detail != nil {
		a.Detail = json.RawMessage(*detail)
	}
	if answer != nil {
		a.Answer = json.RawMessage(*answer)
	}
	a.OpenedAt = fromMicros(opened)
	if closed != nil {
		a.ClosedAt = fromMicros(*closed)
	}
	return a, err
}

// Actions returns the actions of the selection, oldest first.
func (s *Store) Actions(ctx context.Context, f ActionFilter) ([]Action, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	q, args := `SELECT `+actionColumns+` FROM actions WHERE seq > 0`, []any{f.Limit}
	switch {
	case f.TaskID != "" && f.State != "":
		q, args = q+` AND task_id = $2 AND state = $3`, append(args, f.TaskID, f.State)
	case f.TaskID != "":
		q, args = q+` AND task_id = $2`, append(args, f.TaskID)
	case f.State != "":
		q, args = q+` AND state = $2`, append(args, f.State)
	}
	rows, err := s.eng.read().query(ctx, q+` ORDER BY seq LIMIT $1`, args...)
	if err != nil {
		return nil, fmt.Errorf("actions: %w", classify(err))
	}
	var out []Action
	err = eachRow(rows, func() error {
		a, err := scanAction(rows)
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("actions: %w", classify(err))
	}
	return out, nil
}

// AnswerAction closes an open action with a JSON answer. When it was the last open one of a blocked task, the task
// becomes pending and due now; going on uses up no attempt. It returns ErrClosed when the action is not open.
func (s *Store) AnswerAction(ctx context.Context, id string, answer json.RawMessage, by string) error {
	text, err := rawJSON("answer", answer)
	if err != nil {
		return fmt.Errorf("answer action %s: %w", id, err)
	}
	full, err := resolve(ctx, s.eng.read(), "actions", id)
	if err != nil {
		return fmt.Errorf("answer action %w", err)
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		var taskID string
		if err := t.row(ctx, `SELECT task_id FROM actions WHERE id = $1`, full).Scan(&taskID); err != nil {
			return missing("action", full, err)
		}
		// The task's row is locked first, here as everywhere, so that two operators cannot wait for each other.
		task, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, taskID)
		if err != nil {
			return missing("task", taskID, err)
		}
		a, err := scanAction(t.row(ctx, `SELECT `+actionColumns+` FROM actions WHERE id = $1`, full))
		if err != nil {
			return err
		}
		if a.State != ActionOpen {
			return fmt.Errorf("it is %s: %w", a.State, ErrClosed)
		}
		now := micros(s.now())
		if err := closeAction(ctx, t, a, text, clean(by), now); err != nil {
			return err
		}
		if task.Record.Status != agentruntime.TaskBlocked {
			return nil
		}
		var open int
		if err := t.row(ctx, `SELECT count(*) FROM actions WHERE task_id = $1 AND state = 'open'`, taskID).Scan(&open); err != nil {
			return err
		}
		if open > 0 {
			return nil
		}
		return wakeAnswered(ctx, t, task, now)
	})
	if err != nil {
		return fmt.Errorf("answer action %s: %w", full, err)
	}
	return nil
}

// closeAction records the answer to an open action.
func closeAction(ctx context.Context, t tx, a Action, answer any, by string, now int64) error {
	_, err := t.exec(ctx, `UPDATE actions SET state = 'answered', answer = $1, answered_by = $2, closed_at = $3 WHERE id = $4`,
		answer, by, now, a.ID)
	if err != nil {
		return err
	}
	detail, err := encode(map[string]string{"action_id": a.ID, "kind": a.Kind, "by": by})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, EventActionAnswered, now, a.TaskID, a.AttemptID, detail)
}

// wakeAnswered makes a blocked task due whose last action was answered.
func wakeAnswered(ctx context.Context, t tx, task Task, now int64) error {
	if err := state.TaskNext(task.Record.Status, agentruntime.TaskPending); err != nil {
		return err
	}
	if err := wake(ctx, t, task.Record.TaskID, now); err != nil {
		return err
	}
	return t.notify(ctx)
}

// dismissActions closes what nobody needs to answer any more.
func dismissActions(ctx context.Context, t tx, taskID, by string, now int64) error {
	res, err := t.exec(ctx, `UPDATE actions SET state = 'dismissed', answered_by = $1, closed_at = $2
		WHERE task_id = $3 AND state = 'open'`, by, now, taskID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	detail, err := encode(map[string]string{"by": by})
	if err != nil {
		return err
	}
	return appendEvent(ctx, t, EventActionDismissed, now, taskID, "", detail)
}

package store

import (
	"context"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/store/state"
)

// ActionBudget is the kind of the action that a task waits for whose budget is used up.
const ActionBudget = "budget"

// A BudgetChange says what SetBudget did.
type BudgetChange struct {
	TaskID   string
	Previous deed.Budget
	Budget   deed.Budget
	Answered []string                // the actions that it answered
	Status   agentruntime.TaskStatus // what the task is now
}

// SetBudget gives a task another budget, with an event, and answers what waits for that: the last answered action of a
// blocked task makes it due now. change gets the present budget. An attempt that runs keeps the budget that it was claimed
// with. For a task that has ended it returns a *StatusError (ErrTerminal).
func (s *Store) SetBudget(ctx context.Context, taskID, by string, change func(deed.Budget) deed.Budget) (BudgetChange, error) {
	var out BudgetChange
	by = clean(by)
	err := s.operate(ctx, taskID, func(ctx context.Context, t tx, task Task, now int64) error {
		id, status := task.Record.TaskID, task.Record.Status
		out = BudgetChange{TaskID: id, Status: status}
		if state.TaskTerminal(status) {
			return &StatusError{TaskID: id, Status: status, Kind: ErrTerminal}
		}
		spec := deed.TaskSpec{}
		if task.Intent.Deed != nil {
			spec = *task.Intent.Deed
		}
		if spec.Budget != nil {
			out.Previous = *spec.Budget
		}
		out.Budget = change(out.Previous)
		if err := out.Budget.Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		spec.Budget = &out.Budget
		task.Intent.Deed = &spec
		if err := replaceIntent(ctx, t, task, now); err != nil {
			return err
		}
		detail, err := encode(struct {
			Previous deed.Budget `json:"previous"`
			Budget   deed.Budget `json:"budget"`
			By       string      `json:"by,omitempty"`
		}{out.Previous, out.Budget, by})
		if err != nil {
			return err
		}
		if err := appendEvent(ctx, t, EventTaskBudgetChanged, now, id, "", detail); err != nil {
			return err
		}
		return s.answerBudget(ctx, t, task, &out, by, now)
	})
	if err != nil {
		return BudgetChange{}, fmt.Errorf("budget: %w", err)
	}
	return out, nil
}

// replaceIntent rewrites a task's intent. The payload is stored separately and does not change.
func replaceIntent(ctx context.Context, t tx, task Task, now int64) error {
	intent := task.Intent
	intent.Payload = nil
	text, err := encode(&intent)
	if err != nil {
		return invalid("intent: %v", err)
	}
	res, err := t.exec(ctx, `UPDATE task_bodies SET intent = $1 WHERE task_id = $2`, text, task.Record.TaskID)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		_, err = t.exec(ctx, `UPDATE tasks SET intent = $1, updated_at = $2 WHERE id = $3`, text, now, task.Record.TaskID)
		return err
	}
	_, err = t.exec(ctx, `UPDATE tasks SET updated_at = $1 WHERE id = $2`, now, task.Record.TaskID)
	return err
}

// answerBudget answers the open actions that wait for another budget.
func (s *Store) answerBudget(ctx context.Context, t tx, task Task, out *BudgetChange, by string, now int64) error {
	rows, err := t.query(ctx, `SELECT `+actionColumns+` FROM actions WHERE task_id = $1 AND state = 'open' ORDER BY seq`, out.TaskID)
	if err != nil {
		return err
	}
	var open []Action
	if err := eachRow(rows, func() error {
		a, err := scanAction(rows)
		open = append(open, a)
		return err
	}); err != nil {
		return err
	}
	answer, err := encode(map[string]deed.Budget{"budget": out.Budget})
	if err != nil {
		return err
	}
	for _, a := range open {
		if a.Kind != ActionBudget {
			continue
		}
		if err := closeAction(ctx, t, a, EventActionAnswered, answer, by, now); err != nil {
			return err
		}
		out.Answered = append(out.Answered, a.ID)
	}
	if len(out.Answered) == 0 || task.Record.Status != agentruntime.TaskBlocked || len(out.Answered) < len(open) {
		return nil
	}
	out.Status = agentruntime.TaskPending
	return wakeAnswered(ctx, t, task, now)
}

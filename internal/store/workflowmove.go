package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store/state"
)

// workflowOwner is the owner of the actions of a workflow.
func workflowOwner(id string) string { return "workflow/" + id }

// A NewWorkflow is an instance that is about to start, with the task or the question of its first state.
type NewWorkflow struct {
	ID          string // "": made here; a caller whose task names the workflow makes it with NewID
	Type        string
	InstanceKey string
	Definition  json.RawMessage
	Hash        string // of the definition
	State       string
	Context     json.RawMessage // an object; nil: none
	Options     json.RawMessage
	Progress    json.RawMessage
	Cause, By   string // who starts it: CauseStart or CauseSensor, and the name
	Task        *NewTask
	Action      *NewAction // instead of a task
}

// A Started says what became of a NewWorkflow.
type Started struct {
	WorkflowID string
	TaskID     string
	Deduped    bool // an instance with the key has not ended: WorkflowID is that one, and nothing was made
}

// StartWorkflow stores an instance, the first transition, its task or question and the events about them in one
// transaction. While an instance of the type with the same key lives, nothing is made.
func (s *Store) StartWorkflow(ctx context.Context, n NewWorkflow) (Started, error) {
	res, err := s.TakeIn(ctx, Intake{Start: &n})
	return res.Started, err
}

// A WorkflowMove is the next step of an instance, decided on the version that its maker saw.
type WorkflowMove struct {
	WorkflowID string
	Version    int64
	Status     agentruntime.WorkflowStatus // afterwards
	Step       *Step                       // nil: it stays in its state and visit
	Task       *NewTask                    // of the visit that the step begins
	Action     *NewAction                  // what a person has to say; instead of a task
	Context    json.RawMessage             // nil: unchanged
	Progress   json.RawMessage             // nil: unchanged
	Iteration  int                         // 0: unchanged
	Reason     string                      // why a person is asked
	Ending     string                      // with completed
}

// A Step is a transition that is about to be recorded.
type Step struct {
	To, Signal, Cause, By, CauseTask, Note string
}

// check refuses a move that would leave an instance that nothing wakes.
func (m *WorkflowMove) check() error {
	switch m.Status {
	case agentruntime.WorkflowActive:
		if (m.Task == nil) == (m.Action == nil) {
			return invalid("an active workflow has a task or waits for one action")
		}
		if m.Task != nil && m.Step == nil {
			return invalid("a task of a workflow begins a visit")
		}
	case agentruntime.WorkflowBlocked:
		if m.Action == nil || m.Task != nil {
			return invalid("a blocked workflow waits for one action, and for no task")
		}
	case agentruntime.WorkflowCompleted:
		if m.Action != nil || m.Task != nil || m.Ending == "" {
			return invalid("a completed workflow says how it ended, and waits for nothing")
		}
	}
	return nil
}

// MoveWorkflow records a step of an instance with everything that follows from it, in one transaction: the transition, the
// task or question of the next state, the events. It returns ErrStale, and changes nothing, when the instance is not as the
// move's maker saw it, so that whatever crashes or runs twice, no step is lost and none is made twice.
func (s *Store) MoveWorkflow(ctx context.Context, m WorkflowMove) (taskID string, err error) {
	res, err := s.TakeIn(ctx, Intake{Move: &m})
	return res.MovedTaskID, err
}

// startWorkflow is StartWorkflow inside a transaction.
func (s *Store) startWorkflow(ctx context.Context, t tx, n NewWorkflow, now int64) (Started, error) {
	if (n.Task == nil) == (n.Action == nil) {
		return Started{}, invalid("workflow %s starts with a task or with an action", n.Type)
	}
	if n.ID == "" {
		n.ID = NewID()
	}
	var texts [4]any
	for i, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"definition", n.Definition}, {"context", n.Context}, {"options", n.Options}, {"progress", n.Progress}} {
		text, err := rawJSON(f.name, f.raw)
		if err != nil {
			return Started{}, err
		}
		texts[i] = text
	}
	if texts[0] == nil || n.Hash == "" || n.Type == "" || n.InstanceKey == "" || n.State == "" {
		return Started{}, invalid("a workflow needs a definition with its hash, a type, an instance key and a state")
	}
	_, err := t.exec(ctx, `INSERT INTO workflow_definitions (hash, workflow_type, body, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (hash) DO NOTHING`, n.Hash, n.Type, texts[0], now)
	if err != nil {
		return Started{}, err
	}
	res, err := t.exec(ctx, `INSERT INTO workflows (id, workflow_type, instance_key, definition, state, status, version, visit, iteration,
		progress, context, options, started_by, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 'active', 1, 0, 1, $6, $7, $8, $9, $10, $10)
		ON CONFLICT (workflow_type, instance_key) WHERE status <> 'completed' DO NOTHING`,
		n.ID, n.Type, n.InstanceKey, n.Hash, n.State, texts[3], texts[1], texts[2], clean(n.By), now)
	if err != nil {
		return Started{}, err
	}
	made, err := res.RowsAffected()
	if err != nil {
		return Started{}, err
	}
	if made == 0 {
		w, err := scanWorkflow(t.row(ctx, liveWorkflow, n.Type, n.InstanceKey))
		if err != nil { // on PostgreSQL it may have ended between the two statements
			return Started{}, fmt.Errorf("workflow %s %q: %w", n.Type, n.InstanceKey, errors.Join(ErrStale, err))
		}
		return Started{WorkflowID: w.ID(), TaskID: w.TaskID, Deduped: true}, nil
	}
	w := Workflow{Version: 1, Iteration: 1, Record: agentruntime.WorkflowRecord{
		WorkflowID: n.ID, WorkflowType: n.Type, InstanceKey: n.InstanceKey, Status: state.WorkflowNew,
	}}
	detail, err := encode(map[string]any{"workflow_id": n.ID, "workflow_type": n.Type, "instance_key": n.InstanceKey, "state": n.State, "definition": n.Hash, "by": clean(n.By)})
	if err != nil {
		return Started{}, err
	}
	if err := appendEvent(ctx, t, EventWorkflowStarted, now, "", "", detail); err != nil {
		return Started{}, err
	}
	id, err := s.moveWorkflow(ctx, t, w, WorkflowMove{
		WorkflowID: n.ID, Version: 1, Status: agentruntime.WorkflowActive, Task: n.Task, Action: n.Action,
		Step: &Step{To: n.State, Cause: n.Cause, By: n.By},
	}, now)
	return Started{WorkflowID: n.ID, TaskID: id}, err
}

// lockWorkflow reads an instance under the lock of the transaction.
func lockWorkflow(ctx context.Context, t tx, id string) (Workflow, error) {
	w, err := scanWorkflow(t.row(ctx, `SELECT `+workflowColumns+` FROM workflows WHERE id = $1 `+forUpdate, id))
	if err != nil {
		return w, missing("workflow", id, err)
	}
	return w, nil
}

// moveWorkflow applies a move to an instance that is locked and has the move's version.
func (s *Store) moveWorkflow(ctx context.Context, t tx, w Workflow, m WorkflowMove, now int64) (string, error) {
	if err := m.check(); err != nil {
		return "", err
	}
	if w.Version != m.Version {
		return "", ErrStale
	}
	if err := state.WorkflowNext(w.Record.Status, m.Status); err != nil {
		return "", err
	}
	if err := dismissOwned(ctx, t, workflowOwner(m.WorkflowID), dismissedByEnd, now); err != nil {
		return "", err
	}
	if m.Iteration == 0 {
		m.Iteration = w.Iteration
	}
	visit, at, task := w.Visit, w.Record.CurrentState, w.TaskID
	if m.Step != nil {
		visit, at, task = w.Visit+1, m.Step.To, ""
		if m.Task != nil {
			id, err := s.visitTask(ctx, t, m.WorkflowID, *m.Task)
			if err != nil {
				return "", err
			}
			task = id
		}
		if err := s.recordStep(ctx, t, w, m, visit, task, now); err != nil {
			return "", err
		}
	}
	action := ""
	if m.Action != nil {
		var err error
		if action, err = openOwned(ctx, t, workflowOwner(m.WorkflowID), *m.Action, now); err != nil {
			return "", err
		}
	}
	if err := updateWorkflow(ctx, t, m, at, visit, task, action, now); err != nil {
		return "", err
	}
	if err := s.moveEvents(ctx, t, w, m, at, visit, task, action, now); err != nil {
		return "", err
	}
	return task, t.notify(ctx)
}

func updateWorkflow(ctx context.Context, t tx, m WorkflowMove, at string, visit int, task, action string, now int64) error {
	content, err := rawJSON("context", m.Context)
	if err != nil {
		return err
	}
	progress, err := rawJSON("progress", m.Progress)
	if err != nil {
		return err
	}
	var completed any
	if m.Status == agentruntime.WorkflowCompleted {
		completed = now
	}
	_, err = t.exec(ctx, `UPDATE workflows SET state = $1, status = $2, version = version + 1, visit = $3, iteration = $4,
		progress = COALESCE($5, progress), context = COALESCE($6, context), task_id = $7, action_id = $8, reason = $9, ending = $10,
		updated_at = $11, completed_at = $12, due_at = NULL WHERE id = $13`,
		clean(at), string(m.Status), visit, m.Iteration, progress, content, nullable(task), nullable(action), clean(m.Reason), m.Ending,
		now, completed, m.WorkflowID)
	return err
}

// visitTask stores the task of a visit. Its dedupe key is the visit's own, and admission keeps such keys from everybody else.
func (s *Store) visitTask(ctx context.Context, t tx, workflowID string, task NewTask) (string, error) {
	rows, out, keyed, err := s.taskRows([]NewTask{task})
	if err != nil {
		return "", err
	}
	if keyed {
		if _, err := s.takeKeys(ctx, t, rows, out); err != nil {
			return "", err
		}
		if out[0].Deduped {
			return "", &DuplicateError{Key: task.DedupeKey, TaskID: out[0].TaskID}
		}
	}
	if err := t.insertTasks(ctx, rows); err != nil {
		return "", err
	}
	_, err = t.exec(ctx, `UPDATE tasks SET workflow_id = $1 WHERE id = $2`, workflowID, rows[0].id)
	return rows[0].id, err
}

func (s *Store) recordStep(ctx context.Context, t tx, w Workflow, m WorkflowMove, visit int, task string, now int64) error {
	_, err := t.exec(ctx, `INSERT INTO workflow_transitions (workflow_id, seq, from_state, to_state, signal, cause, caused_by, cause_task,
		task_id, iteration, note, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		m.WorkflowID, visit, clean(w.Record.CurrentState), clean(m.Step.To), clean(m.Step.Signal), m.Step.Cause, clean(m.Step.By),
		nullable(m.Step.CauseTask), nullable(task), m.Iteration, clean(m.Step.Note), now)
	return err
}

// moveEvents records what a move did: where the workflow went, the task that it made, and how it stands.
func (s *Store) moveEvents(ctx context.Context, t tx, w Workflow, m WorkflowMove, at string, visit int, task, action string, now int64) error {
	say := func(event, taskID string, more map[string]any) error {
		detail := map[string]any{
			"workflow_id": m.WorkflowID, "workflow_type": w.Record.WorkflowType, "instance_key": w.Record.InstanceKey, "state": clean(at), "visit": visit,
		}
		for k, v := range more {
			detail[k] = v
		}
		text, err := encode(detail)
		if err != nil {
			return err
		}
		return appendEvent(ctx, t, event, now, taskID, "", text)
	}
	if m.Step != nil && w.Record.Status != state.WorkflowNew {
		if err := say(string(agentruntime.EventWorkflowTransitioned), m.Step.CauseTask, map[string]any{
			"from": clean(w.Record.CurrentState), "to": clean(at), "signal": clean(m.Step.Signal), "cause": m.Step.Cause, "by": clean(m.Step.By), "iteration": m.Iteration,
		}); err != nil {
			return err
		}
	}
	if m.Task != nil {
		if err := say(string(agentruntime.EventWorkflowTaskCreated), task, map[string]any{"iteration": m.Iteration}); err != nil {
			return err
		}
	}
	switch m.Status {
	case agentruntime.WorkflowBlocked:
		return say(EventWorkflowBlocked, w.TaskID, map[string]any{"reason": clean(m.Reason), "action_id": action})
	case agentruntime.WorkflowCompleted:
		return say(string(agentruntime.EventWorkflowCompleted), "", map[string]any{"ending": m.Ending})
	}
	return nil
}

// markWorkflow notes that the task of a workflow's current visit has ended. The engine looks at what is marked, and at
// nothing else.
func markWorkflow(ctx context.Context, t tx, workflowID, taskID string, now int64) error {
	if workflowID == "" {
		return nil
	}
	_, err := t.exec(ctx, `UPDATE workflows SET due_at = $1, version = version + 1 WHERE id = $2 AND task_id = $3 AND status = 'active'`,
		now, workflowID, taskID)
	return err
}

// reviveWorkflow follows an operator's retry of the task of a workflow's current visit: the workflow waits for it again.
func reviveWorkflow(ctx context.Context, t tx, workflowID, taskID, by string, now int64) error {
	if workflowID == "" {
		return nil
	}
	res, err := t.exec(ctx, `UPDATE workflows SET status = 'active', due_at = NULL, action_id = NULL, reason = '', version = version + 1, updated_at = $1
		WHERE id = $2 AND task_id = $3 AND status <> 'completed'`, now, workflowID, taskID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return dismissOwned(ctx, t, workflowOwner(workflowID), by, now)
}

// DeferWorkflow puts a mark off: the engine could not deal with it now. UnmarkWorkflow takes it away: there was nothing to do.
// Both do nothing when the workflow has changed meanwhile.
func (s *Store) DeferWorkflow(ctx context.Context, w Workflow, until time.Time) error {
	return s.setMark(ctx, w, micros(until))
}

// UnmarkWorkflow is described at DeferWorkflow.
func (s *Store) UnmarkWorkflow(ctx context.Context, w Workflow) error { return s.setMark(ctx, w, nil) }

func (s *Store) setMark(ctx context.Context, w Workflow, due any) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `UPDATE workflows SET due_at = $1 WHERE id = $2 AND version = $3`, due, w.ID(), w.Version)
		return err
	})
	if err != nil {
		return fmt.Errorf("mark workflow %s: %w", w.ID(), err)
	}
	return nil
}

// CancelWorkflow ends an instance, closes what it asked, and cancels the task that it waits for, in one transaction. A task
// that runs is asked to stop. It returns ErrClosed when the instance has ended.
func (s *Store) CancelWorkflow(ctx context.Context, id, reason, by string) (Workflow, error) {
	reason, by = clean(reason), clean(by)
	full, err := resolve(ctx, s.eng.read(), "workflows", id)
	if err != nil {
		return Workflow{}, fmt.Errorf("cancel workflow %w", err)
	}
	for range 10 {
		err = s.write(ctx, func(ctx context.Context, t tx) error { return s.cancelWorkflow(ctx, t, full, reason, by) })
		if !errors.Is(err, ErrStale) {
			break
		}
	}
	if err != nil {
		return Workflow{}, fmt.Errorf("cancel workflow %s: %w", full, err)
	}
	return s.Workflow(ctx, full)
}

func (s *Store) cancelWorkflow(ctx context.Context, t tx, id, reason, by string) error {
	now := micros(s.now())
	seen, err := scanWorkflow(t.row(ctx, `SELECT `+workflowColumns+` FROM workflows WHERE id = $1`, id))
	if err != nil {
		return missing("workflow", id, err)
	}
	// The task's row is locked first, as in a settlement, so that the two cannot wait for each other.
	var task *Task
	if seen.TaskID != "" {
		one, err := oneTask(ctx, t, `SELECT `+taskColumns+` FROM tasks WHERE id = $1 `+forUpdate, seen.TaskID)
		if err != nil {
			return missing("task", seen.TaskID, err)
		}
		task = &one
	}
	w, err := lockWorkflow(ctx, t, id)
	switch {
	case err != nil:
		return err
	case !w.Live():
		return fmt.Errorf("it has ended (%s): %w", w.Ending, ErrClosed)
	case w.Version != seen.Version:
		return ErrStale
	}
	if _, err := s.moveWorkflow(ctx, t, w, WorkflowMove{
		WorkflowID: id, Version: w.Version, Status: agentruntime.WorkflowCompleted, Ending: EndCanceled, Reason: reason,
	}, now); err != nil {
		return err
	}
	if task != nil && !state.TaskTerminal(task.Record.Status) {
		why := "its workflow was cancelled"
		if reason != "" {
			why += ": " + reason
		}
		_, err := cancelTask(ctx, t, *task, why, by, now)
		return err
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
)

// How a workflow ended.
const (
	EndCompleted = "completed" // according to its definition
	EndAbandoned = "abandoned" // a person answered so
	EndCanceled  = "canceled"  // an operator cancelled it
)

// What caused a transition.
const (
	CauseStart    = "start"
	CauseTask     = "task"     // a settled task of the state
	CauseOperator = "operator" // a person's signal
	CauseAnswer   = "answer"   // a person's answer to a required action
	CauseSensor   = "sensor"
)

// A Workflow is one instance of a definition.
type Workflow struct {
	Record     agentruntime.WorkflowRecord
	Definition string          // the hash of the definition that it was started with
	Version    int64           // grows with every change
	Visit      int             // the number of the newest transition
	Iteration  int             // counted by the engine
	Progress   json.RawMessage // the engine's own account of where it has been
	Options    json.RawMessage // the engine's own: what its tasks are made with
	TaskID     string          // of the current visit; "": the state has none
	ActionID   string          // what it waits for; "": nothing of a person
	Reason     string          // why a person is asked
	Ending     string          // how it ended
	StartedBy  string
	DueAt      time.Time // zero: nothing happened that the engine has yet to look at
	Damaged

	seq int64
}

// ID returns the workflow's id.
func (w Workflow) ID() string { return w.Record.WorkflowID }

// Live reports whether it has not ended.
func (w Workflow) Live() bool { return w.Record.Status != agentruntime.WorkflowCompleted }

// A Transition is one recorded step of a workflow.
type Transition struct {
	Seq       int
	From, To  string // From is empty at the start
	Signal    string // empty where a person had a state visited again
	Cause     string
	By        string // the person or sensor
	CauseTask string // the settled task that gave the signal
	TaskID    string // the task of the visit that it began; empty when there is none
	Iteration int
	Note      string
	At        time.Time
}

const workflowColumns = `seq, id, workflow_type, instance_key, definition, state, status, version, visit, iteration, progress, context,
	options, task_id, action_id, reason, ending, started_by, created_at, updated_at, completed_at, due_at`

func scanWorkflow(row scanner) (Workflow, error) {
	var (
		w                                        Workflow
		r                                        = &w.Record
		progress, content, options, task, action *string
		created, updated                         int64
		completed, due                           *int64
	)
	err := row.Scan(&w.seq, &r.WorkflowID, &r.WorkflowType, &r.InstanceKey, &w.Definition, &r.CurrentState, &r.Status, &w.Version, &w.Visit,
		&w.Iteration, &progress, &content, &options, &task, &action, &w.Reason, &w.Ending, &w.StartedBy, &created, &updated, &completed, &due)
	if err != nil {
		return w, err
	}
	r.Context = json.RawMessage("null")
	for to, text := range map[*json.RawMessage]*string{&w.Progress: progress, &r.Context: content, &w.Options: options} {
		if text != nil {
			*to = json.RawMessage(*text)
		}
	}
	w.TaskID, w.ActionID = str(task), str(action)
	r.Schema = agentruntime.SchemaWorkflowRecord
	r.CreatedAt, r.UpdatedAt, r.CompletedAt = stamp(created), stamp(updated), stampPtr(completed)
	if due != nil {
		w.DueAt = fromMicros(*due)
	}
	return w, nil
}

// Workflow returns one instance, by id or by a prefix of it.
func (s *Store) Workflow(ctx context.Context, id string) (Workflow, error) {
	full, err := resolve(ctx, s.eng.read(), "workflows", id)
	if err != nil {
		return Workflow{}, fmt.Errorf("workflow %w", err)
	}
	w, err := scanWorkflow(s.eng.read().row(ctx, `SELECT `+workflowColumns+` FROM workflows WHERE id = $1`, full))
	if err != nil {
		return Workflow{}, fmt.Errorf("workflow: %w", classify(missing("workflow", full, err)))
	}
	return w, nil
}

// LiveWorkflow returns the instance of a type with a key that has not ended, or ErrNotFound.
func (s *Store) LiveWorkflow(ctx context.Context, typ, key string) (Workflow, error) {
	w, err := scanWorkflow(s.eng.read().row(ctx, liveWorkflow, typ, key))
	if errors.Is(err, sql.ErrNoRows) {
		return Workflow{}, fmt.Errorf("workflow %s %q: %w", typ, key, ErrNotFound)
	}
	if err != nil {
		return Workflow{}, fmt.Errorf("workflow %s %q: %w", typ, key, classify(err))
	}
	return w, nil
}

const liveWorkflow = `SELECT ` + workflowColumns + ` FROM workflows WHERE workflow_type = $1 AND instance_key = $2 AND status <> 'completed'`

// WorkflowDefinition returns the definition with a hash, as it was when the first instance was started with it.
func (s *Store) WorkflowDefinition(ctx context.Context, hash string) (json.RawMessage, error) {
	var body string
	err := s.eng.read().row(ctx, `SELECT body FROM workflow_definitions WHERE hash = $1`, hash).Scan(&body)
	if err != nil {
		return nil, fmt.Errorf("workflow definition: %w", classify(missing("definition", hash, err)))
	}
	return json.RawMessage(body), nil
}

// A WorkflowFilter selects workflows. The zero value selects those that have not ended.
type WorkflowFilter struct {
	Type   string
	All    bool   // those that have ended too
	Limit  int    // 0: 100
	Before string // the id of a workflow: only older ones
}

// Workflows returns the workflows of the selection, newest first.
func (s *Store) Workflows(ctx context.Context, f WorkflowFilter) ([]Workflow, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	statuses := []agentruntime.WorkflowStatus{agentruntime.WorkflowActive, agentruntime.WorkflowBlocked}
	if f.All {
		statuses = agentruntime.WorkflowStatuses
	}
	before, err := s.seqOf(ctx, "workflows", f.Before, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	var lists [][]Workflow
	for _, status := range statuses { // one walk of an index for each, so that none reads what has ended
		q, args := `SELECT `+workflowColumns+` FROM workflows WHERE status = $1 AND seq < $3`, []any{string(status), f.Limit, before}
		if f.Type != "" {
			q, args = q+` AND workflow_type = $4`, append(args, f.Type)
		}
		list, err := s.workflows(ctx, shown(scanWorkflow), q+` ORDER BY seq DESC LIMIT $2`, args...)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	var out []Workflow
	for len(out) < f.Limit {
		newest := -1
		for i, l := range lists {
			if len(l) > 0 && (newest < 0 || l[0].seq > lists[newest][0].seq) {
				newest = i
			}
		}
		if newest < 0 {
			break
		}
		out, lists[newest] = append(out, lists[newest][0]), lists[newest][1:]
	}
	return out, nil
}

func (s *Store) workflows(ctx context.Context, scan func(scanner) (Workflow, error), q string, args ...any) ([]Workflow, error) {
	return every(ctx, s.eng.read(), "workflows", scan, q, args...)
}

// WorkflowsDue returns workflows to which something happened that the engine has yet to look at, oldest first. It costs
// nothing for those that only wait.
func (s *Store) WorkflowsDue(ctx context.Context, limit int) ([]Workflow, error) {
	return s.workflows(ctx, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows WHERE due_at IS NOT NULL AND due_at <= $1
		ORDER BY due_at, seq LIMIT $2`, micros(s.now()), limit)
}

// NextWorkflow returns when a workflow is to be looked at, and false when none is.
func (s *Store) NextWorkflow(ctx context.Context) (time.Time, bool, error) {
	var at int64
	err := s.eng.read().row(ctx, `SELECT due_at FROM workflows WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next workflow: %w", classify(err))
	}
	return fromMicros(at), true, nil
}

// Transitions returns the newest steps of a workflow, at most limit (0: 1000), oldest first.
func (s *Store) Transitions(ctx context.Context, workflowID string, limit int) ([]Transition, error) {
	if limit <= 0 {
		limit = 1000
	}
	rows, err := s.eng.read().query(ctx, `SELECT seq, from_state, to_state, signal, cause, caused_by, cause_task, task_id, iteration, note, at
		FROM workflow_transitions WHERE workflow_id = $1 ORDER BY seq DESC LIMIT $2`, workflowID, limit)
	if err != nil {
		return nil, fmt.Errorf("transitions: %w", classify(err))
	}
	var out []Transition
	err = eachRow(rows, func() error {
		var x Transition
		var cause, task *string
		var at int64
		err := rows.Scan(&x.Seq, &x.From, &x.To, &x.Signal, &x.Cause, &x.By, &cause, &task, &x.Iteration, &x.Note, &at)
		x.CauseTask, x.TaskID, x.At = str(cause), str(task), fromMicros(at)
		out = append(out, x)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("transitions: %w", classify(err))
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// A Visit is one stay of a workflow in a state that made a task, with what became of the task.
type Visit struct {
	Seq       int
	State     string
	Iteration int
	TaskID    string
	Status    agentruntime.TaskStatus
	Outcome   *agentruntime.TaskOutcome // nil until the task has one
	AttemptID string                    // the task's newest
	BundleDir string                    // of that attempt, relative to the home
}

// Visits returns all visits of a workflow that made a task, oldest first.
func (s *Store) Visits(ctx context.Context, workflowID string) ([]Visit, error) {
	rows, err := s.eng.read().query(ctx, `SELECT x.seq, x.to_state, x.iteration, x.task_id, t.status, t.outcome, t.attempt_id, a.bundle_dir
		FROM workflow_transitions x JOIN tasks t ON t.id = x.task_id LEFT JOIN attempts a ON a.id = t.attempt_id
		WHERE x.workflow_id = $1 ORDER BY x.seq`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("visits: %w", classify(err))
	}
	var out []Visit
	err = eachRow(rows, func() error {
		var v Visit
		var outcome, attempt, bundle *string
		if err := rows.Scan(&v.Seq, &v.State, &v.Iteration, &v.TaskID, &v.Status, &outcome, &attempt, &bundle); err != nil {
			return err
		}
		v.AttemptID, v.BundleDir = str(attempt), str(bundle)
		if outcome != nil {
			v.Outcome = new(agentruntime.TaskOutcome)
			if err := json.Unmarshal([]byte(*outcome), v.Outcome); err != nil {
				return fmt.Errorf("outcome of task %s: %w", v.TaskID, err)
			}
		}
		out = append(out, v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("visits: %w", classify(err))
	}
	return out, nil
}

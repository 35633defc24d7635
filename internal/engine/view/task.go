package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/store"
)

// SchemaTask is the id of a Task.
const SchemaTask = "deed/task.view/v1"

// A Task is a task with everything that is known of it.
type Task struct {
	Schema          string                        `json:"schema"`
	Task            agentruntime.TaskRecord       `json:"task"`
	Intent          agentruntime.TaskIntent       `json:"intent"`
	Subject         string                        `json:"subject"`
	WorkflowID      string                        `json:"workflow_id"`
	CancelRequested bool                          `json:"cancel_requested"`
	Path            []Step                        `json:"path"`
	Attempts        []Attempt                     `json:"attempts"` // oldest first
	Artifacts       []agentruntime.ArtifactRecord `json:"artifacts"`
	Actions         []Action                      `json:"actions"`
	Outbox          []OutboxItem                  `json:"outbox"`
	Events          []Event                       `json:"events"` // the newest, oldest first
	Usage           store.UsageSum                `json:"usage"`
	Budget          *deed.Budget                  `json:"budget,omitempty"` // the task's own
}

// An OutboxItem is something that is delivered after the settlement.
type OutboxItem struct {
	ID        string          `json:"id"`
	TaskID    string          `json:"task_id"`
	AttemptID string          `json:"attempt_id"`
	Kind      string          `json:"kind"`
	Target    string          `json:"target,omitempty"`
	State     string          `json:"state"`
	Attempts  int             `json:"attempts"`
	NextAt    string          `json:"next_at,omitempty"`
	CreatedAt string          `json:"created_at"`
	LastError string          `json:"last_error,omitempty"`
	Result    string          `json:"result,omitempty"`
	Body      json.RawMessage `json:"body"`
}

// An Event is one thing that the engine did.
type Event struct {
	Seq       int64           `json:"seq"`
	At        string          `json:"at"`
	Type      string          `json:"type"`
	TaskID    string          `json:"task_id,omitempty"`
	AttemptID string          `json:"attempt_id,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// OutboxOf is an item of the store.
func OutboxOf(o store.OutboxItem) OutboxItem {
	return OutboxItem{
		ID: o.ID, TaskID: o.TaskID, AttemptID: o.AttemptID, Kind: o.Kind, Target: deed.TargetOf(o.Body), State: o.State, Attempts: o.Attempts,
		NextAt: stamp(o.NextAt), CreatedAt: stamp(o.CreatedAt), LastError: o.LastError, Result: o.Result, Body: o.Body,
	}
}

// EventOf is an event of the store.
func EventOf(e store.Event) Event {
	return Event{Seq: e.Seq, At: stamp(e.At), Type: e.Type, TaskID: e.TaskID, AttemptID: e.AttemptID, Detail: e.Detail}
}

// maxOfTask bounds each list of a task.
const maxOfTask = 500

// Task reads a task, by its id or an unambiguous beginning of one. It returns store.ErrNotFound or store.ErrAmbiguous.
func (r *Reader) Task(ctx context.Context, id string) (Task, error) {
	t, err := r.src.Store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	out := Task{
		Schema: SchemaTask, Task: t.Record, Intent: t.Intent, Subject: report.Subject(t), WorkflowID: t.WorkflowID, CancelRequested: t.CancelRequested,
		Artifacts: []agentruntime.ArtifactRecord{}, Actions: []Action{}, Outbox: []OutboxItem{}, Events: []Event{},
	}
	if t.Intent.Deed != nil {
		out.Budget = t.Intent.Deed.Budget
	}
	if err := r.attemptsOf(ctx, t, &out); err != nil {
		return Task{}, err
	}
	arts, err := r.src.Store.Artifacts(ctx, t.ID())
	if err != nil {
		return Task{}, err
	}
	out.Artifacts = append(out.Artifacts, arts...)
	acts, err := r.src.Store.Actions(ctx, store.ActionFilter{TaskID: t.ID(), Limit: maxOfTask})
	if err != nil {
		return Task{}, err
	}
	for _, x := range acts {
		out.Actions = append(out.Actions, ActionOf(x))
	}
	items, err := r.src.Store.Outbox(ctx, store.OutboxFilter{TaskID: t.ID(), Limit: maxOfTask})
	if err != nil {
		return Task{}, err
	}
	for _, o := range items {
		out.Outbox = append(out.Outbox, OutboxOf(o))
	}
	events, err := r.src.Store.Events(ctx, store.EventFilter{TaskID: t.ID(), Limit: maxOfTask, Newest: true})
	if err != nil {
		return Task{}, err
	}
	for _, e := range events {
		out.Events = append(out.Events, EventOf(e))
	}
	out.Path = pathOf(&out)
	return out, nil
}

func (r *Reader) attemptsOf(ctx context.Context, t store.Task, out *Task) error {
	list, err := r.src.Store.Attempts(ctx, t.ID())
	if err != nil {
		return err
	}
	rows, err := r.src.Store.UsageOfTask(ctx, t.ID())
	if err != nil {
		return err
	}
	out.Usage = store.SumUsage(rows)
	used := map[string][]store.UsageRow{}
	for _, u := range rows {
		used[u.AttemptID] = append(used[u.AttemptID], u)
	}
	runners, err := r.src.Store.Runners(ctx)
	if err != nil {
		return err
	}
	out.Attempts = make([]Attempt, len(list))
	for i, at := range list {
		a := r.AttemptOf(at)
		a.Number, a.Changes, a.Usage = i+1, r.changes(at), store.SumUsage(used[at.Record.AttemptID])
		if at.Live {
			p, err := r.runningOf(ctx, t, at, runners)
			if err != nil {
				return err
			}
			a.Progress = &p
		}
		out.Attempts[i] = a
	}
	return nil
}

// The states of a Step.
const (
	StepDone    = "done"
	StepNow     = "now"     // the task is here
	StepWaiting = "waiting" // the task is here, and waits for a person or a time
	StepFailed  = "failed"
	StepAhead   = "ahead" // not reached
	StepNone    = "none"  // there is nothing to do in it
)

// A Step is a stage of a task's path, and its state there.
type Step struct {
	Name  string `json:"name"`
	State string `json:"state"`
	At    string `json:"at,omitempty"`
	Note  string `json:"note,omitempty"`
}

// pathOf says where a task stands: intake, queue, dispatch, attempt, gate, settle, delivery. It follows the newest attempt.
func pathOf(t *Task) []Step {
	r := t.Task
	intake := Step{Name: "intake", State: StepDone, At: string(r.CreatedAt), Note: r.Source}
	queue := Step{Name: "queue", State: StepDone}
	dispatch, attempt, gate := Step{Name: "dispatch", State: StepAhead}, Step{Name: "attempt", State: StepAhead}, Step{Name: "gate", State: StepAhead}
	settle, delivery := Step{Name: "settle", State: StepAhead}, Step{Name: "delivery", State: StepAhead}
	if n := len(t.Attempts); n > 0 {
		dispatch, attempt, gate = attemptSteps(t.Attempts[n-1], r)
	}
	switch r.Status {
	case agentruntime.TaskPending:
		queue.State, queue.At = StepNow, string(r.AvailableAt)
		if len(t.Attempts) > 0 {
			queue.Note = fmt.Sprintf("for attempt %d of %d", r.AttemptCount+1, r.MaxAttempts)
		}
	case agentruntime.TaskRetryableFailure:
		queue.State, queue.At, queue.Note = StepWaiting, string(r.AvailableAt), fmt.Sprintf("due again then, for attempt %d of %d", r.AttemptCount+1, r.MaxAttempts)
	case agentruntime.TaskBlocked:
		settle.State, settle.Note = StepWaiting, "a person is asked"
	case agentruntime.TaskCompleted:
		settle.State, settle.At, settle.Note = StepDone, deref(r.FinishedAt), string(r.Status)
	case agentruntime.TaskPermanentFailure, agentruntime.TaskOperatorCanceled:
		settle.State, settle.At, settle.Note = StepFailed, deref(r.FinishedAt), string(r.Status)
		if len(t.Attempts) == 0 {
			queue.State, dispatch.State, attempt.State, gate.State = StepDone, StepNone, StepNone, StepNone
		}
	}
	if settle.State == StepDone || settle.State == StepFailed {
		delivery = deliveryStep(t.Outbox)
	}
	return []Step{intake, queue, dispatch, attempt, gate, settle, delivery}
}

func attemptSteps(at Attempt, r agentruntime.TaskRecord) (dispatch, attempt, gate Step) {
	dispatch = Step{Name: "dispatch", State: StepDone, At: string(at.StartedAt), Note: at.RunnerID}
	attempt = Step{Name: "attempt", State: StepDone, At: string(at.StartedAt), Note: fmt.Sprintf("%d of %d", at.Number, r.MaxAttempts)}
	gate = Step{Name: "gate", State: StepAhead, At: deref(at.EndedAt)}
	if at.Live {
		attempt.State = StepNow
		if p := at.Progress; p != nil {
			switch p.Phase {
			case PhaseWaiting:
				attempt.State, attempt.Note = StepWaiting, "a person is asked"
			case PhaseGone:
				attempt.State, attempt.Note = StepWaiting, "its process is gone; whoever dispatches next settles it"
			case PhaseJudging, PhaseSettling:
				attempt.State, gate.State = StepDone, StepNow
			}
		}
		return dispatch, attempt, gate
	}
	switch v := at.Verdict; {
	case v == nil:
		attempt.State, attempt.Note, gate.State = StepFailed, at.Class, StepNone
		if r.Status == agentruntime.TaskBlocked {
			attempt.State = StepWaiting
		}
	case v.Accepted:
		gate.State, gate.Note = StepDone, "accepted"
		if v.Grade != "" {
			gate.Note += ", " + v.Grade
		}
	default:
		gate.State, gate.Note = StepFailed, fmt.Sprintf("refused: %s", v.Reasons[0].Code)
		if n := len(v.Reasons) - 1; n > 0 {
			gate.Note += fmt.Sprintf(" and %d more", n)
		}
	}
	return dispatch, attempt, gate
}

func deliveryStep(items []OutboxItem) Step {
	s := Step{Name: "delivery", State: StepNone}
	states := map[string]int{}
	for _, o := range items {
		states[o.State]++
	}
	switch {
	case len(items) == 0:
	case states[store.OutboxFailed] > 0:
		s.State, s.Note = StepFailed, fmt.Sprintf("%d given up", states[store.OutboxFailed])
	case states[store.OutboxHeld] > 0:
		s.State, s.Note = StepWaiting, fmt.Sprintf("%d held for a person", states[store.OutboxHeld])
	case states[store.OutboxPending] > 0:
		s.State, s.Note = StepNow, fmt.Sprintf("%d to go", states[store.OutboxPending])
	default:
		s.State, s.Note = StepDone, fmt.Sprintf("%d delivered", len(items))
	}
	return s
}

package agentruntime

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// A WorkflowDefinition is the logic of a workflow as data.
type WorkflowDefinition struct {
	Schema       string          `json:"schema,omitempty"`
	WorkflowType string          `json:"workflow_type" jsonschema:"minLength=1,maxLength=512"`
	InitialState string          `json:"initial_state" jsonschema:"minLength=1,maxLength=512"`
	States       []WorkflowState `json:"states" jsonschema:"minItems=1"`

	Deed *deed.WorkflowSpec `json:"deed,omitempty"` // deed's own fields
}

// A WorkflowState is one state: the task it asks for, and the signals that lead on or end it.
type WorkflowState struct {
	StateID           string               `json:"state_id" jsonschema:"minLength=1,maxLength=512"`
	TaskType          string               `json:"task_type,omitempty" jsonschema:"maxLength=512"`
	DefaultProfileID  string               `json:"default_profile_id,omitempty" jsonschema:"maxLength=512"`
	DefaultSkillIDs   []string             `json:"default_skill_ids,omitempty"`
	Transitions       []WorkflowTransition `json:"transitions,omitempty"`
	CompletionSignals []string             `json:"completion_signals,omitempty"`
	EmitsTaskIntent   bool                 `json:"emits_task_intent,omitempty"`
	Deed              *deed.StateSpec      `json:"deed,omitempty"` // deed's own fields
}

// A WorkflowTransition leads from a state to the next one on a signal.
type WorkflowTransition struct {
	Signal    string `json:"signal" jsonschema:"minLength=1,maxLength=512"`
	NextState string `json:"next_state" jsonschema:"minLength=1,maxLength=512"`
}

// Validate returns every fault of the record: states are unique, the initial state and every next state exist, a
// signal means one thing in a state, and a state that emits a task names its type.
func (w WorkflowDefinition) Validate() error {
	var l fault.List
	schemaIs(&l, w.Schema, SchemaWorkflowDefinition)
	l.Name("$.workflow_type", w.WorkflowType)
	l.Name("$.initial_state", w.InitialState)
	if len(w.States) == 0 {
		l.Add("$.states", fault.Blank, "is empty", "a workflow has at least one state")
	}
	ids := make([]string, len(w.States))
	for i, s := range w.States {
		ids[i] = s.StateID
	}
	known := func(at, state string) {
		if state == "" || slices.Contains(ids, state) {
			return
		}
		remedy := "name one of the states"
		if near := fault.Nearest(state, ids); near != "" {
			remedy = fmt.Sprintf("did you mean %q?", near)
		}
		l.Add(at, fault.Dangling, fmt.Sprintf("%q is not a state of this workflow", clip(state)), remedy)
	}
	known("$.initial_state", w.InitialState)
	if w.Deed != nil {
		l.Within("$.deed", w.Deed.Validate())
	}
	for i, s := range w.States {
		at := fault.Index("$.states", i)
		l.Name(at+".state_id", s.StateID)
		if s.StateID != "" && slices.Contains(ids[:i], s.StateID) {
			l.Add(at+".state_id", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(s.StateID)), "give every state its own id")
		}
		l.OptionalName(at+".task_type", s.TaskType)
		l.OptionalName(at+".default_profile_id", s.DefaultProfileID)
		l.Names(at+".default_skill_ids", s.DefaultSkillIDs)
		if s.EmitsTaskIntent && s.TaskType == "" {
			l.Add(at+".task_type", fault.Conflict, "is absent and emits_task_intent is true", "name the type of the task that the state emits")
		}
		var signals []string
		for j, t := range s.Transitions {
			tat := fault.Index(at+".transitions", j)
			l.Name(tat+".signal", t.Signal)
			if t.Signal != "" && slices.Contains(signals, t.Signal) {
				l.Add(tat+".signal", fault.Duplicate, fmt.Sprintf("%q leads to two states", clip(t.Signal)), "use one transition for each signal")
			}
			signals = append(signals, t.Signal)
			l.Name(tat+".next_state", t.NextState)
			known(tat+".next_state", t.NextState)
		}
		if s.Deed != nil {
			l.Within(at+".deed", s.Deed.Validate())
		}
		l.Names(at+".completion_signals", s.CompletionSignals)
		for j, signal := range s.CompletionSignals {
			if signal != "" && slices.Contains(signals, signal) {
				l.Add(fault.Index(at+".completion_signals", j), fault.Conflict, fmt.Sprintf("%q is also a transition", clip(signal)), "a signal either completes or leads on")
			}
		}
	}
	return l.Err()
}

// WorkflowStatus is the state of a workflow as a whole.
type WorkflowStatus string

// The workflow statuses.
const (
	WorkflowActive    WorkflowStatus = "active"
	WorkflowCompleted WorkflowStatus = "completed"
	WorkflowBlocked   WorkflowStatus = "blocked"
)

// WorkflowStatuses lists every status.
var WorkflowStatuses = []WorkflowStatus{WorkflowActive, WorkflowCompleted, WorkflowBlocked}

// A WorkflowRecord is one running workflow. It moves by recorded signals only.
type WorkflowRecord struct {
	Schema       string          `json:"schema,omitempty"`
	WorkflowID   string          `json:"workflow_id" jsonschema:"minLength=1,maxLength=512"`
	WorkflowType string          `json:"workflow_type" jsonschema:"minLength=1,maxLength=512"`
	InstanceKey  string          `json:"instance_key" jsonschema:"minLength=1,maxLength=512"`
	CurrentState string          `json:"current_state" jsonschema:"minLength=1,maxLength=512"`
	Context      json.RawMessage `json:"context" jsonschema:"nullable"`
	Status       WorkflowStatus  `json:"status"`
	CreatedAt    Timestamp       `json:"created_at"`
	UpdatedAt    Timestamp       `json:"updated_at"`
	CompletedAt  *Timestamp      `json:"completed_at"`
}

// Validate returns every fault of the record.
func (w WorkflowRecord) Validate() error {
	var l fault.List
	schemaIs(&l, w.Schema, SchemaWorkflowRecord)
	l.Name("$.workflow_id", w.WorkflowID)
	l.Name("$.workflow_type", w.WorkflowType)
	l.Name("$.instance_key", w.InstanceKey)
	l.Name("$.current_state", w.CurrentState)
	if string(w.Context) != "null" {
		l.OptionalObject("$.context", w.Context)
	}
	fault.OneOf(&l, "$.status", w.Status, WorkflowStatuses...)
	instant(&l, "$.created_at", w.CreatedAt)
	instant(&l, "$.updated_at", w.UpdatedAt)
	nullableInstant(&l, "$.completed_at", w.CompletedAt)
	switch {
	case w.Status == WorkflowCompleted && w.CompletedAt == nil:
		l.Add("$.completed_at", fault.Conflict, "is null and the status is completed", "a completed workflow says when")
	case (w.Status == WorkflowActive || w.Status == WorkflowBlocked) && w.CompletedAt != nil:
		l.Add("$.completed_at", fault.Conflict, fmt.Sprintf("is set and the status is %s", w.Status), "only a completed workflow has it")
	}
	return l.Err()
}

// A RecurringScheduleRecord enqueues a normal task at every interval. It decides when work should exist and never
// runs any. Missed slots become one task.
type RecurringScheduleRecord struct {
	Schema          string     `json:"schema,omitempty"`
	ScheduleID      string     `json:"schedule_id" jsonschema:"minLength=1,maxLength=512"`
	Name            string     `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Enabled         bool       `json:"enabled"`
	IntervalSeconds int64      `json:"interval_seconds" jsonschema:"minimum=1,maximum=315360000"`
	NextRunAt       Timestamp  `json:"next_run_at"`
	LastRunAt       *Timestamp `json:"last_run_at"`
	Task            TaskIntent `json:"task"`
	CreatedAt       Timestamp  `json:"created_at"`
	UpdatedAt       Timestamp  `json:"updated_at"`
}

// maxIntervalSeconds is ten years.
const maxIntervalSeconds = 10 * 365 * 24 * 3600

// Validate returns every fault of the record, those of its task included: a schedule with a bad task must never
// reach the queue.
func (s RecurringScheduleRecord) Validate() error {
	var l fault.List
	schemaIs(&l, s.Schema, SchemaRecurringSchedule)
	l.Name("$.schedule_id", s.ScheduleID)
	l.Name("$.name", s.Name)
	l.Between("$.interval_seconds", s.IntervalSeconds, 1, maxIntervalSeconds)
	instant(&l, "$.next_run_at", s.NextRunAt)
	nullableInstant(&l, "$.last_run_at", s.LastRunAt)
	l.Within("$.task", s.Task.Validate())
	if s.Task.AvailableAt != "" {
		l.Add("$.task.available_at", fault.Conflict, "is one instant, and the task of a schedule is made many times", "leave it out; the schedule sets it for every run")
	}
	instant(&l, "$.created_at", s.CreatedAt)
	instant(&l, "$.updated_at", s.UpdatedAt)
	return l.Err()
}

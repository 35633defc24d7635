package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaNotification is the id of Notification.
const SchemaNotification = "deed/notification/v1"

// The kinds of a Notification.
const (
	NotifyActionOpen    = "action_open"    // a required action waits for a person
	NotifyTaskDone      = "task_done"      // the gate accepted the work
	NotifyTaskFailed    = "task_failed"    // the task ended without accepted work
	NotifyBudgetReached = "budget_reached" // a budget of a task or of the day is used up
	NotifyRunnerLost    = "runner_lost"    // attempts were taken from a runner that is gone
	NotifyUndelivered   = "undelivered"    // a message was given up
)

// NotifyKinds lists every kind.
var NotifyKinds = []string{NotifyActionOpen, NotifyTaskDone, NotifyTaskFailed, NotifyBudgetReached, NotifyRunnerLost, NotifyUndelivered}

// A Notification tells a person that something happened while deed served. The store has the whole; this is a tap on the shoulder.
type Notification struct {
	Schema    string `json:"schema"`
	ID        string `json:"id" jsonschema:"minLength=1,maxLength=128"`
	Kind      string `json:"kind" jsonschema:"enum=action_open,enum=task_done,enum=task_failed,enum=budget_reached,enum=runner_lost,enum=undelivered"`
	At        string `json:"at" jsonschema:"minLength=1"`
	Title     string `json:"title" jsonschema:"minLength=1"` // one line for a person; parts of it may be an agent's words
	TaskID    string `json:"task_id,omitempty"`
	AttemptID string `json:"attempt_id,omitempty"`
	ActionID  string `json:"action_id,omitempty"`
	Subject   string `json:"subject,omitempty"`                     // of the task
	Command   string `json:"command,omitempty"`                     // that shows or answers it
	More      int    `json:"more,omitempty" jsonschema:"minimum=0"` // others that were left out since the last one, to keep the rule's rate
}

// Validate returns every fault of the notification.
func (n Notification) Validate() error {
	var l fault.List
	if n.Schema != SchemaNotification {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(n.Schema)), fmt.Sprintf("write %q", SchemaNotification))
	}
	l.Name("$.id", n.ID)
	fault.OneOf(&l, "$.kind", n.Kind, NotifyKinds...)
	l.Say("$.at", n.At)
	l.Say("$.title", n.Title)
	if n.More < 0 {
		l.Add("$.more", fault.OutOfRange, fmt.Sprintf("%d is negative", n.More), "count from 0")
	}
	return l.Err()
}

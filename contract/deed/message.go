package deed

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaMessage is the id of Message.
const SchemaMessage = "deed/outbox.message/v1"

// A Message is what a target of the outbox gets: a message that a settled, accepted attempt asked for, and where it is from. It may
// come more than once, after a crash; it has the same id then.
type Message struct {
	Schema    string          `json:"schema"`
	ID        string          `json:"id" jsonschema:"minLength=1,maxLength=128"`
	Target    string          `json:"target" jsonschema:"minLength=1,maxLength=512"`
	TaskID    string          `json:"task_id" jsonschema:"minLength=1,maxLength=128"`
	AttemptID string          `json:"attempt_id" jsonschema:"minLength=1,maxLength=128"`
	TaskType  string          `json:"task_type,omitempty"`
	ProfileID string          `json:"profile_id,omitempty"`
	Subject   string          `json:"subject,omitempty"` // of the task
	CreatedAt string          `json:"created_at" jsonschema:"minLength=1"`
	Delivery  int             `json:"delivery" jsonschema:"minimum=1"` // how often it was tried, this time included
	Body      json.RawMessage `json:"body"`                            // as the agent wrote it
}

// TargetOf returns the name of the target that the body of a message gives; "" when it gives none.
func TargetOf(body json.RawMessage) string {
	var m struct {
		Target string `json:"target"`
	}
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	return m.Target
}

// Validate returns every fault of the message.
func (m Message) Validate() error {
	var l fault.List
	if m.Schema != SchemaMessage {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(m.Schema)), fmt.Sprintf("write %q", SchemaMessage))
	}
	for _, f := range []struct{ name, value string }{{"id", m.ID}, {"target", m.Target}, {"task_id", m.TaskID}, {"attempt_id", m.AttemptID}, {"created_at", m.CreatedAt}} {
		if f.value == "" {
			l.Add("$."+f.name, fault.Blank, "is empty", "say something there")
		}
	}
	if m.Delivery < 1 {
		l.Add("$.delivery", fault.OutOfRange, fmt.Sprintf("%d is not above 0", m.Delivery), "count from 1")
	}
	if len(m.Body) == 0 || m.Body[0] != '{' {
		l.Add("$.body", fault.BadFormat, "is not an object", "write the message as a JSON object")
	}
	return l.Err()
}

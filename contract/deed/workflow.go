package deed

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/fault"
)

// Bounds of the numbers in a workflow definition.
const (
	MaxIterations = 1000
	MaxVisits     = 1000
)

// A WorkflowSpec carries deed's own fields of a workflow definition, in its `deed` object.
type WorkflowSpec struct {
	Schema        string `json:"schema,omitempty"`
	Description   string `json:"description,omitempty"`                                            // for people
	MaxIterations int    `json:"max_iterations,omitempty" jsonschema:"minimum=0,maximum=1000"`     // 0: no bound of its own; a workflow that can go back needs one
	Priority      *int64 `json:"priority,omitempty" jsonschema:"minimum=-1000000,maximum=1000000"` // of its tasks; absent: the usual one
}

// Validate returns every fault of the record.
func (w WorkflowSpec) Validate() error {
	var l fault.List
	schemaIs(&l, w.Schema, SchemaWorkflowSpec)
	l.Between("$.max_iterations", int64(w.MaxIterations), 0, MaxIterations)
	if w.Priority != nil {
		l.Between("$.priority", *w.Priority, -1_000_000, 1_000_000)
	}
	return l.Err()
}

// A StateSpec carries deed's own fields of a state of a workflow, in its `deed` object. In subject and description {name}
// stands for the member of that name in the workflow's context.
type StateSpec struct {
	Schema      string          `json:"schema,omitempty"`
	Subject     string          `json:"subject,omitempty" jsonschema:"maxLength=512"`             // of the state's task
	Description string          `json:"description,omitempty"`                                    // what the agent is asked to do
	Payload     json.RawMessage `json:"payload,omitempty"`                                        // laid over the context, an object
	MaxVisits   int             `json:"max_visits,omitempty" jsonschema:"minimum=0,maximum=1000"` // 0: as often as the iterations allow
	OnCompleted string          `json:"on_completed,omitempty" jsonschema:"maxLength=512"`        // the signal of a completed task that gives none that the state knows; absent: that is a failure
	OnFailure   string          `json:"on_failure,omitempty" jsonschema:"maxLength=512"`          // the signal of a task that failed for good or was cancelled; absent: a person decides
}

// Validate returns every fault of the record. Whether the signals lead somewhere is for the definition as a whole.
func (s StateSpec) Validate() error {
	var l fault.List
	schemaIs(&l, s.Schema, SchemaStateSpec)
	l.OptionalName("$.subject", s.Subject)
	l.OptionalObject("$.payload", s.Payload)
	l.Between("$.max_visits", int64(s.MaxVisits), 0, MaxVisits)
	l.OptionalName("$.on_completed", s.OnCompleted)
	l.OptionalName("$.on_failure", s.OnFailure)
	return l.Err()
}

// A GoalPayload is what the tasks of a goal carry. There may be more in it.
type GoalPayload struct {
	Schema             string          `json:"schema,omitempty"`
	Objective          string          `json:"objective" jsonschema:"minLength=1"` // what is to be reached
	Phase              string          `json:"phase,omitempty" jsonschema:"maxLength=512"`
	Scope              []string        `json:"scope,omitempty"`
	AcceptanceCriteria []string        `json:"acceptance_criteria,omitempty"` // how anybody will see that it is reached
	Workflow           json.RawMessage `json:"workflow,omitempty"`            // where the task stands in its workflow
}

// Validate returns every fault of the record.
func (g GoalPayload) Validate() error {
	var l fault.List
	schemaIs(&l, g.Schema, SchemaGoalPayload)
	l.Text("$.objective", g.Objective)
	l.OptionalName("$.phase", g.Phase)
	l.OptionalObject("$.workflow", g.Workflow)
	return l.Err()
}

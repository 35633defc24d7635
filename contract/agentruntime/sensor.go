package agentruntime

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/fault"
)

// A SensorEvent is what a sensor saw, with the work that it proposes. Its dedupe key is the sensor's own and stable.
type SensorEvent struct {
	Schema            string            `json:"schema,omitempty"`
	SensorID          string            `json:"sensor_id" jsonschema:"minLength=1,maxLength=512"`
	EventID           string            `json:"event_id" jsonschema:"minLength=1,maxLength=512"`
	ObservedAt        Timestamp         `json:"observed_at"`
	SourceRef         string            `json:"source_ref" jsonschema:"minLength=1,maxLength=4096"`
	DedupeKey         string            `json:"dedupe_key" jsonschema:"minLength=1,maxLength=512"`
	FreshnessDeadline Timestamp         `json:"freshness_deadline,omitempty"` // the event is stale from here on
	Payload           json.RawMessage   `json:"payload"`
	ProposedTask      *TaskIntent       `json:"proposed_task,omitempty"`
	ProposedWorkflow  *ProposedWorkflow `json:"proposed_workflow,omitempty"`
}

// A ProposedWorkflow asks for a workflow to be created or woken.
type ProposedWorkflow struct {
	Template    string          `json:"template" jsonschema:"minLength=1,maxLength=512"`
	InstanceKey string          `json:"instance_key" jsonschema:"minLength=1,maxLength=512"`
	State       string          `json:"state,omitempty" jsonschema:"maxLength=512"`
	Context     json.RawMessage `json:"context,omitempty"`
}

// Validate returns every fault of the record.
func (e SensorEvent) Validate() error {
	var l fault.List
	schemaIs(&l, e.Schema, SchemaSensorEvent)
	l.Name("$.sensor_id", e.SensorID)
	l.Name("$.event_id", e.EventID)
	observed, seen := instant(&l, "$.observed_at", e.ObservedAt)
	l.Path("$.source_ref", e.SourceRef)
	l.Name("$.dedupe_key", e.DedupeKey)
	if deadline, ok := optionalInstant(&l, "$.freshness_deadline", e.FreshnessDeadline); ok && seen && !deadline.After(observed) {
		l.Add("$.freshness_deadline", fault.OutOfRange, "is not after observed_at", "an event is fresh for some time after it was observed")
	}
	l.Object("$.payload", e.Payload)
	if e.ProposedTask != nil {
		l.Within("$.proposed_task", e.ProposedTask.Validate())
	}
	if w := e.ProposedWorkflow; w != nil {
		l.Name("$.proposed_workflow.template", w.Template)
		l.Name("$.proposed_workflow.instance_key", w.InstanceKey)
		l.OptionalName("$.proposed_workflow.state", w.State)
		l.OptionalObject("$.proposed_workflow.context", w.Context)
	}
	return l.Err()
}

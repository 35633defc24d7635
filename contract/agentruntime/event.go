package agentruntime

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/fault"
)

// A RuntimeEvent names something that the runtime did. The contract names a minimum; a runtime may record more, in
// the same lower-case words joined by underscores.
type RuntimeEvent string

// The runtime events.
const (
	EventTaskEnqueued           RuntimeEvent = "task_enqueued"
	EventTaskClaimed            RuntimeEvent = "task_claimed"
	EventBundleCompiled         RuntimeEvent = "bundle_compiled"
	EventTaskRetryScheduled     RuntimeEvent = "task_retry_scheduled"
	EventTaskAttemptFinished    RuntimeEvent = "task_attempt_finished"
	EventTaskStarted            RuntimeEvent = "task_started"
	EventTaskFinished           RuntimeEvent = "task_finished"
	EventScheduleUpserted       RuntimeEvent = "schedule_upserted"
	EventScheduleTaskCreated    RuntimeEvent = "schedule_task_created"
	EventSensorEventRecorded    RuntimeEvent = "sensor_event_recorded"
	EventSensorEventDeduped     RuntimeEvent = "sensor_event_deduped"
	EventSensorTaskCreated      RuntimeEvent = "sensor_task_created"
	EventSensorWorkflowCreated  RuntimeEvent = "sensor_workflow_created"
	EventSensorWorkflowDeduped  RuntimeEvent = "sensor_workflow_deduped"
	EventWorkflowTransitioned   RuntimeEvent = "workflow_transitioned"
	EventWorkflowCompleted      RuntimeEvent = "workflow_completed"
	EventWorkflowTaskCreated    RuntimeEvent = "workflow_task_created"
	EventDispatchIdle           RuntimeEvent = "dispatch_idle"
	EventDispatchLocked         RuntimeEvent = "dispatch_locked"
	EventBootSweepReclaimed     RuntimeEvent = "boot_sweep_reclaimed"
	EventDispatchLockStaleClear RuntimeEvent = "dispatch_lock_stale_cleared"
)

// RuntimeEvents lists every event that the contract names, in its order.
var RuntimeEvents = []RuntimeEvent{
	EventTaskEnqueued, EventTaskClaimed, EventBundleCompiled, EventTaskRetryScheduled, EventTaskAttemptFinished,
	EventTaskStarted, EventTaskFinished, EventScheduleUpserted, EventScheduleTaskCreated, EventSensorEventRecorded,
	EventSensorEventDeduped, EventSensorTaskCreated, EventSensorWorkflowCreated, EventSensorWorkflowDeduped,
	EventWorkflowTransitioned, EventWorkflowCompleted, EventWorkflowTaskCreated, EventDispatchIdle,
	EventDispatchLocked, EventBootSweepReclaimed, EventDispatchLockStaleClear,
}

// Named reports whether the contract itself names the event.
func (e RuntimeEvent) Named() bool { return slices.Contains(RuntimeEvents, e) }

// wellFormed reports whether the name matches ^[a-z][a-z0-9]*(_[a-z0-9]+)*$.
func (e RuntimeEvent) wellFormed() bool {
	last := byte('_')
	for i := range len(e) {
		c := e[i]
		switch {
		case c >= 'a' && c <= 'z':
		case c >= '0' && c <= '9' && i > 0:
		case c == '_' && last != '_':
		default:
			return false
		}
		last = c
	}
	return last != '_'
}

// A RuntimeEventRecord is one event with its place in the order, its time and what it was about.
type RuntimeEventRecord struct {
	Schema    string          `json:"schema,omitempty"`
	Seq       int64           `json:"seq,omitempty" jsonschema:"minimum=0"` // grows within one store
	Event     RuntimeEvent    `json:"event"`
	TaskID    string          `json:"task_id,omitempty" jsonschema:"maxLength=512"`
	AttemptID string          `json:"attempt_id,omitempty" jsonschema:"maxLength=512"`
	At        Timestamp       `json:"at"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// Validate returns every fault of the record.
func (r RuntimeEventRecord) Validate() error {
	var l fault.List
	schemaIs(&l, r.Schema, SchemaRuntimeEvent)
	if r.Seq < 0 {
		l.Add("$.seq", fault.OutOfRange, fmt.Sprintf("%d is negative", r.Seq), "count from 1")
	}
	if !r.Event.wellFormed() {
		l.Add("$.event", fault.BadFormat, fmt.Sprintf("%q is not the name of an event", clip(string(r.Event))), "use lower-case words joined by _, as in task_claimed")
	}
	l.OptionalName("$.task_id", r.TaskID)
	l.OptionalName("$.attempt_id", r.AttemptID)
	instant(&l, "$.at", r.At)
	l.OptionalObject("$.detail", r.Detail)
	return l.Err()
}

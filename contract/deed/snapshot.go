package deed

import (
	"fmt"

	"github.com/deedrun/deed/contract/fault"
)

// A Snapshot is how a home stands at one instant, small enough to keep one for every day and to compare two.
type Snapshot struct {
	Schema      string                      `json:"schema"`
	CapturedAt  string                      `json:"captured_at" jsonschema:"minLength=1"`
	Versions    SnapshotVersions            `json:"versions"`
	Paused      bool                        `json:"paused"`
	Tasks       map[string]int64            `json:"tasks"`                   // by status
	TasksByType map[string]map[string]int64 `json:"tasks_by_type,omitempty"` // by type, then status
	Queue       SnapshotQueue               `json:"queue"`
	OpenActions int64                       `json:"open_actions" jsonschema:"minimum=0"`
	Outbox      map[string]int64            `json:"outbox,omitempty"`    // by state, what was not delivered
	Workflows   map[string]int64            `json:"workflows,omitempty"` // by status
	Live        []SnapshotWorkflow          `json:"live_workflows,omitempty"`
	Schedules   []SnapshotSchedule          `json:"schedules,omitempty"`
	Sensors     []SnapshotSensor            `json:"sensors,omitempty"`
	// Truncated names the lists above that are cut: the home has more than they hold.
	Truncated []string      `json:"truncated,omitempty"`
	Usage     SnapshotUsage `json:"usage"`
}

// SnapshotVersions say what wrote the snapshot.
type SnapshotVersions struct {
	Deed  string `json:"deed" jsonschema:"minLength=1"`
	Store string `json:"store" jsonschema:"minLength=1"` // the engine: sqlite or postgres
}

// A SnapshotQueue is how deep the queue is.
type SnapshotQueue struct {
	Ready     int64  `json:"ready" jsonschema:"minimum=0"`
	Later     int64  `json:"later" jsonschema:"minimum=0"` // waits for its time
	HeadSince string `json:"head_since,omitempty"`         // when the task was queued that is claimed next
}

// A SnapshotWorkflow is a workflow that has not ended.
type SnapshotWorkflow struct {
	WorkflowID   string `json:"workflow_id" jsonschema:"minLength=1"`
	WorkflowType string `json:"workflow_type"`
	InstanceKey  string `json:"instance_key"`
	State        string `json:"state"`
	Status       string `json:"status"`
}

// A SnapshotSchedule is a schedule and its counts.
type SnapshotSchedule struct {
	Name      string `json:"name" jsonschema:"minLength=1"`
	Enabled   bool   `json:"enabled"`
	Suspended string `json:"suspended,omitempty"` // why
	NextRunAt string `json:"next_run_at,omitempty"`
	Runs      int64  `json:"runs" jsonschema:"minimum=0"`
	Missed    int64  `json:"missed" jsonschema:"minimum=0"`
	Skipped   int64  `json:"skipped" jsonschema:"minimum=0"`
}

// A SnapshotSensor is a sensor and its counts.
type SnapshotSensor struct {
	SensorID  string `json:"sensor_id" jsonschema:"minLength=1"`
	Disabled  bool   `json:"disabled,omitempty"`
	Accepted  int64  `json:"accepted" jsonschema:"minimum=0"`
	Deduped   int64  `json:"deduped" jsonschema:"minimum=0"`
	Late      int64  `json:"late" jsonschema:"minimum=0"`
	Malformed int64  `json:"malformed" jsonschema:"minimum=0"`
	Failures  int    `json:"failures" jsonschema:"minimum=0"` // in a row
}

// SnapshotUsage is what was used.
type SnapshotUsage struct {
	Today UsageTotals `json:"today"` // the day of the snapshot in UTC
	Total UsageTotals `json:"total"`
}

// Validate returns every fault of the snapshot.
func (s Snapshot) Validate() error {
	var l fault.List
	if s.Schema != SchemaSnapshot {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(s.Schema)), fmt.Sprintf("write %q", SchemaSnapshot))
	}
	wanted(&l, "$.captured_at", s.CapturedAt)
	wanted(&l, "$.versions.deed", s.Versions.Deed)
	wanted(&l, "$.versions.store", s.Versions.Store)
	notNegative(&l, "$.queue.ready", s.Queue.Ready)
	notNegative(&l, "$.queue.later", s.Queue.Later)
	notNegative(&l, "$.open_actions", s.OpenActions)
	for i, w := range s.Live {
		wanted(&l, fault.Index("$.live_workflows", i)+".workflow_id", w.WorkflowID)
	}
	for i, c := range s.Schedules {
		at := fault.Index("$.schedules", i)
		wanted(&l, at+".name", c.Name)
		notNegative(&l, at+".runs", c.Runs)
		notNegative(&l, at+".missed", c.Missed)
		notNegative(&l, at+".skipped", c.Skipped)
	}
	for i, x := range s.Sensors {
		at := fault.Index("$.sensors", i)
		wanted(&l, at+".sensor_id", x.SensorID)
		for _, f := range []struct {
			name string
			n    int64
		}{{"accepted", x.Accepted}, {"deduped", x.Deduped}, {"late", x.Late}, {"malformed", x.Malformed}, {"failures", int64(x.Failures)}} {
			notNegative(&l, at+"."+f.name, f.n)
		}
	}
	s.Usage.Today.check(&l, "$.usage.today")
	s.Usage.Total.check(&l, "$.usage.total")
	return l.Err()
}

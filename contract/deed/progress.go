package deed

import (
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaProgress is the id of Progress.
const SchemaProgress = "deed/progress/v1"

// A Progress is one line of the progress stream of a run. Seq counts every line that the run had to say, so that a gap
// shows lines that were dropped because the reader was slow. A heartbeat says only that the run is alive. The line with
// terminal true is the last one. There is no percentage: nobody knows how long an agent takes.
type Progress struct {
	Schema    string `json:"schema"`
	Seq       int64  `json:"seq" jsonschema:"minimum=1"`
	At        string `json:"at" jsonschema:"minLength=1"`
	RunID     string `json:"run_id" jsonschema:"minLength=1,maxLength=128"`
	TaskID    string `json:"task_id,omitempty"`
	AttemptID string `json:"attempt_id,omitempty"`
	Phase     string `json:"phase"`
	Step      string `json:"step"`
	Text      string `json:"text"`
	Heartbeat bool   `json:"heartbeat"`
	Terminal  bool   `json:"terminal"`
	Status    string `json:"status" jsonschema:"enum=queued,enum=booting,enum=running,enum=collecting_artifacts,enum=succeeded,enum=failed,enum=timed_out,enum=cancelled"`
}

// Validate returns every fault of the line.
func (p Progress) Validate() error {
	var l fault.List
	if p.Schema != SchemaProgress {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", clip(p.Schema)), fmt.Sprintf("write %q", SchemaProgress))
	}
	if _, err := time.Parse(time.RFC3339Nano, p.At); err != nil {
		l.Add("$.at", fault.BadFormat, fmt.Sprintf("%q is not an RFC 3339 timestamp", clip(p.At)), "write an instant such as 2026-01-31T08:00:00Z")
	}
	if p.Heartbeat && p.Terminal {
		l.Add("$.heartbeat", fault.Conflict, "is true on the last line", "the last line says how the run ended")
	}
	switch p.Status {
	case "succeeded", "failed", "timed_out", "cancelled":
	default:
		if p.Terminal {
			l.Add("$.terminal", fault.Conflict, fmt.Sprintf("is true and the run is %q", clip(p.Status)), "the last line carries the status that ended the run")
		}
	}
	return l.Err()
}

package evidence

import (
	"encoding/json"
	"strconv"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of what a task gave.
const (
	SchemaAgentTaskResult    = "wp-codebox/agent-task-result/v1"
	SchemaTerminalResult     = "wp-codebox/agent-terminal-result/v1"
	SchemaStructuredArtifact = "wp-codebox/structured-artifact/v1"
)

// Terminal statuses of a run. Only succeeded and no_op are successes.
const (
	StatusSucceeded     = "succeeded"
	StatusNoOp          = "no_op"
	StatusFailed        = "failed"
	StatusTimeout       = "timeout"
	StatusProviderError = "provider_error"
	StatusUnable        = "unable_to_remediate"
)

// TerminalStatuses lists every terminal status.
var TerminalStatuses = []string{StatusSucceeded, StatusNoOp, StatusFailed, StatusTimeout, StatusProviderError, StatusUnable}

// Success reports whether a terminal status is one.
func Success(status string) bool { return status == StatusSucceeded || status == StatusNoOp }

// Statuses of a session and of an agent's task result. A session can be cancelled, too.
const (
	SessionCompleted = "completed"
	SessionFailed    = "failed"
	SessionCancelled = "cancelled"
)

// StatusCompleted is the status of the envelope of a run that succeeded; every other envelope has its terminal status.
const StatusCompleted = "completed"

// TerminalMaxTurns is the status of a terminal result that ran out of turns; the run's own is timeout.
const (
	TerminalMaxTurns   = "max_turns"
	TerminalIncomplete = "incomplete"
	TerminalUnknown    = "unknown"
)

// An AgentTaskResult is files/agent-task-result.json: what the task gave, as far as it is data.
type AgentTaskResult struct {
	Schema              string               `json:"schema"`
	Success             bool                 `json:"success"`
	Status              string               `json:"status" jsonschema:"enum=completed,enum=failed"`
	Outputs             json.RawMessage      `json:"outputs"`
	StructuredArtifacts []StructuredArtifact `json:"structured_artifacts"`
	TerminalResult      *TerminalResult      `json:"terminal_result,omitempty"`
	Diagnostics         json.RawMessage      `json:"diagnostics"` // runtime, error and adapter, where there is something to say
	Raw                 json.RawMessage      `json:"raw"`         // the agent's own words; claims
}

// A TerminalResult says how the agent's work ended. Its status decides over every other sign.
type TerminalResult struct {
	Schema                string        `json:"schema"`
	Terminal              bool          `json:"terminal"`
	Status                string        `json:"status" jsonschema:"minLength=1"` // a terminal status, or max_turns, incomplete, unknown
	Success               bool          `json:"success"`
	Source                string        `json:"source,omitempty"`
	FailureClassification string        `json:"failure_classification,omitempty"`
	PendingTools          *PendingTools `json:"pending_tools,omitempty"`
	MaxTurns              *TurnLimit    `json:"max_turns,omitempty"`
	EvidenceRefs          []EvidenceRef `json:"evidence_refs"`
	Diagnostics           []Diagnostic  `json:"diagnostics,omitempty"`
}

// PendingTools says that the agent ended with calls that nobody answered.
type PendingTools struct {
	Detected bool     `json:"detected"`
	Count    int      `json:"count,omitempty"`
	Names    []string `json:"names,omitempty"`
}

// A TurnLimit says whether the agent used up its turns.
type TurnLimit struct {
	Reached bool `json:"reached"`
	Current int  `json:"current,omitempty"`
	Max     int  `json:"max,omitempty"`
}

// An EvidenceRef points at evidence: an absolute path or a URL.
type EvidenceRef struct {
	Kind     string          `json:"kind" jsonschema:"minLength=1"`
	URI      string          `json:"uri,omitempty"`
	Label    string          `json:"label,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// A Diagnostic is one thing that a reader should know: a class that programs read and a sentence that people read.
type Diagnostic struct {
	Class   string          `json:"class" jsonschema:"minLength=1"`
	Message string          `json:"message"`
	Path    string          `json:"path,omitempty"` // in the request
	Remedy  string          `json:"remedy,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Classes of diagnostics.
const (
	ClassRunFailed      = "wp-codebox.agent_task_run_failed"
	ClassInvalidRequest = "wp-codebox.invalid_request" // followed by a dot and the fault's code
	ClassGateReason     = "deed.gate"                  // followed by a dot and the reason's code
	ClassEgress         = "deed.egress"                // a connection was refused; followed by a dot and the rule
	ClassLimit          = "deed.limit"                 // a limit ended the run; followed by a dot and its name
)

// Directions of a structured artifact.
const (
	DirectionInput  = "input"
	DirectionOutput = "output"
)

// A StructuredArtifact is a named piece of data that goes into a task or comes out of it.
type StructuredArtifact struct {
	Schema              string              `json:"schema,omitempty"`
	Name                string              `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Type                string              `json:"type" jsonschema:"minLength=1,maxLength=512"`
	PayloadSchema       Value               `json:"payload_schema,omitempty"` // an id or a JSON Schema
	PayloadSchemaAlias  Value               `json:"payloadSchema,omitempty"`  // the same, as the two below
	ArtifactSchema      Value               `json:"artifact_schema,omitempty"`
	ArtifactSchemaAlias Value               `json:"artifactSchema,omitempty"`
	Payload             Value               `json:"payload,omitempty"`
	Metadata            json.RawMessage     `json:"metadata,omitempty"`
	Provenance          *ArtifactProvenance `json:"provenance,omitempty"`
}

// An ArtifactProvenance says where a structured artifact comes from.
type ArtifactProvenance struct {
	Direction string `json:"direction,omitempty" jsonschema:"enum=input,enum=output"`
	Source    string `json:"source,omitempty" jsonschema:"maxLength=512"`
}

// Validate returns every fault of the artifact.
func (a StructuredArtifact) Validate() error {
	var l fault.List
	if a.Schema != "" {
		wantSchema(&l, a.Schema, SchemaStructuredArtifact)
	}
	l.Name("$.name", a.Name)
	l.Name("$.type", a.Type)
	first := ""
	for _, m := range []struct {
		name string
		v    Value
	}{{"payload_schema", a.PayloadSchema}, {"payloadSchema", a.PayloadSchemaAlias}, {"artifact_schema", a.ArtifactSchema}, {"artifactSchema", a.ArtifactSchemaAlias}} {
		switch {
		case m.v.Null():
			continue
		case first != "":
			l.Add("$."+m.name, fault.Conflict, "is set beside "+first+", which means the same", "use "+first+" only")
			continue
		}
		first = m.name
		if s, ok := m.v.Text(); ok {
			l.Name("$."+m.name, s)
		} else if !fault.IsObject(m.v) {
			l.Add("$."+m.name, fault.BadFormat, "is neither an id nor a JSON Schema", "write a string or an object")
		}
	}
	l.OptionalObject("$.metadata", a.Metadata)
	if p := a.Provenance; p != nil {
		l.OptionalName("$.provenance.source", p.Source)
	}
	return l.Err()
}

// Validate returns every contradiction of the result.
func (r TerminalResult) Validate() error {
	var l fault.List
	if r.Success && !Success(r.Status) && r.Status != StatusCompleted {
		l.Add("$.success", fault.Conflict, "is true and the status is "+strconv.Quote(cut(r.Status)), "write false")
	}
	if !r.Success && Success(r.Status) {
		l.Add("$.success", fault.Conflict, "is false and the status is "+strconv.Quote(cut(r.Status)), "write true")
	}
	return l.Err()
}

package evidence

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// An AgentTranscript is files/transcript.json: the agent's executions, in order.
type AgentTranscript struct {
	Schema     string      `json:"schema"`
	Executions []Execution `json:"executions"`
}

// An Execution is one run of the agent's command, with the bounded text that it printed.
type Execution struct {
	ExecutionIndex  int    `json:"executionIndex"`
	Command         string `json:"command"`
	ExitCode        int    `json:"exitCode"`
	RecipePhase     string `json:"recipePhase,omitempty"`
	RecipeStepIndex *int   `json:"recipeStepIndex,omitempty"`
	RecipeCommand   string `json:"recipeCommand,omitempty"`
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	Parsed          any    `json:"parsed,omitempty"`
}

// A ToolCallTranscript is the evidence of tool and command calls, with references to their persisted input and output.
type ToolCallTranscript struct {
	Schema    string         `json:"schema"`
	ToolCalls []ToolCall     `json:"tool_calls"`
	Redaction FileRedaction  `json:"redaction"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// Phases of a tool call. The vocabulary is open.
const (
	PhasePlanning     = "planning"
	PhaseExecution    = "execution"
	PhaseVerification = "verification"
	PhaseFinalization = "finalization"
)

// Statuses of a tool call. The vocabulary is open.
const (
	CallStarted   = "started"
	CallSucceeded = "succeeded"
	CallFailed    = "failed"
	CallCancelled = "cancelled"
	CallTimedOut  = "timed_out"
	CallSkipped   = "skipped"
)

// A ToolCall is one call.
type ToolCall struct {
	CallID          string         `json:"call_id"`
	ToolName        string         `json:"tool_name"`
	ToolType        string         `json:"tool_type"`
	Phase           string         `json:"phase"`
	Status          string         `json:"status"`
	StartedAt       string         `json:"started_at,omitempty"`
	FinishedAt      string         `json:"finished_at,omitempty"`
	InputArtifacts  []ToolArtifact `json:"input_artifacts,omitempty"`
	OutputArtifacts []ToolArtifact `json:"output_artifacts,omitempty"`
	InputDigest     *Digest        `json:"input_digest,omitempty"`
	OutputDigest    *Digest        `json:"output_digest,omitempty"`
	Redaction       FileRedaction  `json:"redaction"`
	Metadata        map[string]any `json:"metadata,omitempty"`
}

// A ToolArtifact names a persisted input or output of a call.
type ToolArtifact struct {
	Path        string  `json:"path"`
	Kind        string  `json:"kind,omitempty"`
	ContentType string  `json:"contentType,omitempty"`
	SHA256      *Digest `json:"sha256,omitempty"`
}

// Validate returns every fault of the transcript beside its structure: calls that share an id, an end before a start, a
// digest that is none, a reference that leaves the bundle or names the kind of the other side.
func (t ToolCallTranscript) Validate() error {
	var l fault.List
	wantSchema(&l, t.Schema, SchemaToolCallTranscript)
	l.Name("$.redaction.policy", t.Redaction.Policy)
	seen := make(map[string]int, len(t.ToolCalls))
	for i, c := range t.ToolCalls {
		at := fault.Index("$.tool_calls", i)
		if first, twice := seen[c.CallID]; twice {
			l.Add(at+".call_id", fault.Duplicate, fmt.Sprintf("%q is the id of tool_calls[%d] too", cut(c.CallID), first), "give every call its own id")
		} else {
			seen[c.CallID] = i
		}
		c.check(&l, at)
	}
	return l.Err()
}

func (c ToolCall) check(l *fault.List, at string) {
	for _, m := range []struct{ name, value string }{
		{"call_id", c.CallID},
		{"tool_name", c.ToolName},
		{"tool_type", c.ToolType},
		{"phase", c.Phase},
		{"status", c.Status},
		{"redaction.policy", c.Redaction.Policy},
	} {
		l.Name(at+"."+m.name, m.value)
	}
	optionalInstant(l, at+".started_at", c.StartedAt)
	if c.FinishedAt != "" {
		end, ok := instant(l, at+".finished_at", c.FinishedAt)
		if start, valid := instant(&fault.List{}, "", c.StartedAt); ok && valid && end.Before(start) {
			l.Add(at+".finished_at", fault.OutOfRange, fmt.Sprintf("%q is before started_at", cut(c.FinishedAt)), "a call ends after it starts")
		}
	}
	digestRule(l, at+".input_digest", c.InputDigest)
	digestRule(l, at+".output_digest", c.OutputDigest)
	for i, a := range c.InputArtifacts {
		a.check(l, fault.Index(at+".input_artifacts", i), KindToolCallInput)
	}
	for i, a := range c.OutputArtifacts {
		a.check(l, fault.Index(at+".output_artifacts", i), KindToolCallOutput)
	}
}

func (a ToolArtifact) check(l *fault.List, at, kind string) {
	l.RelativePath(at+".path", a.Path)
	if a.Kind != "" && a.Kind != kind {
		l.Add(at+".kind", fault.Conflict, fmt.Sprintf("%q is not the kind of this side", cut(a.Kind)), "use "+kind)
	}
	l.OptionalName(at+".contentType", a.ContentType)
	digestRule(l, at+".sha256", a.SHA256)
}

func digestRule(l *fault.List, at string, d *Digest) {
	if d == nil {
		return
	}
	if d.Algorithm != AlgorithmSHA256 {
		l.Add(at+".algorithm", fault.BadFormat, fmt.Sprintf("%q is not the algorithm", cut(d.Algorithm)), "use "+AlgorithmSHA256)
	}
	if len(d.Value) != 64 || strings.Trim(d.Value, "0123456789abcdef") != "" {
		l.Add(at+".value", fault.BadFormat, fmt.Sprintf("%q is not a SHA-256", cut(d.Value)), "write 64 lower-case hexadecimal digits")
	}
}

// ToolName returns the form of a tool's id that any protocol can hold: runs of other characters than letters, digits
// and _ become one _, none at the ends.
func ToolName(id string) string {
	var b strings.Builder
	gap := false
	for _, c := range id {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(c)
			continue
		}
		gap = true
	}
	return strings.Trim(b.String(), "_")
}

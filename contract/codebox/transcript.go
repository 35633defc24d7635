package codebox

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

package codebox

import "github.com/deedrun/deed/contract/evidence"

import "encoding/json"

// An AgentTaskRunResult is a run as an orchestrator reads it: one terminal status, and every piece of evidence in its
// group.
type AgentTaskRunResult struct {
	Schema                string                   `json:"schema"`
	Status                string                   `json:"status" jsonschema:"enum=succeeded,enum=no_op,enum=failed,enum=timeout,enum=provider_error,enum=unable_to_remediate"`
	Success               bool                     `json:"success"`
	Summary               string                   `json:"summary"`
	Artifacts             []ArtifactRef            `json:"artifacts"`
	Refs                  GroupedRefs              `json:"refs"`
	Diagnostics           []evidence.Diagnostic    `json:"diagnostics"`
	Metadata              ResultMetadata           `json:"metadata"`
	TerminalResult        *evidence.TerminalResult `json:"terminal_result,omitempty"`
	NoOp                  NoOp                     `json:"no_op"`
	FailureClassification string                   `json:"failure_classification,omitempty"`
}

// GroupedRefs holds the references of each kind.
type GroupedRefs struct {
	ArtifactBundles []ArtifactRef `json:"artifact_bundles"`
	ChangedFiles    []ArtifactRef `json:"changed_files"`
	Patches         []ArtifactRef `json:"patches"`
	Transcripts     []ArtifactRef `json:"transcripts"`
	Logs            []ArtifactRef `json:"logs"`
	Runtimes        []ArtifactRef `json:"runtimes"`
	EvidenceBundles []ArtifactRef `json:"evidence_bundles"`
}

// A ResultMetadata is what an orchestrator stores beside the status. What is unknown is absent.
type ResultMetadata struct {
	RunID                string             `json:"run_id,omitempty"`
	RunStatus            string             `json:"run_status,omitempty"`
	RuntimeID            string             `json:"runtime_id,omitempty"`
	RuntimeStatus        string             `json:"runtime_status,omitempty"`
	ChangedFilesCount    *int64             `json:"changed_files_count,omitempty"`
	PatchBytes           *int64             `json:"patch_bytes,omitempty"`
	PatchSHA256          string             `json:"patch_sha256,omitempty"`
	NoOpReason           string             `json:"no_op_reason,omitempty"`
	CompletionStatus     string             `json:"completion_status,omitempty"`
	CompletionNextAction string             `json:"completion_next_action,omitempty"`
	Confidence           string             `json:"confidence,omitempty"`
	ProviderError        json.RawMessage    `json:"provider_error,omitempty"`
	Timeout              bool               `json:"timeout,omitempty"`
	ToolObservability    *ToolObservability `json:"tool_observability,omitempty"`
}

// A NoOp says whether a run changed nothing.
type NoOp struct {
	Detected          bool   `json:"detected"`
	Reason            string `json:"reason,omitempty"`
	ChangedFilesCount *int64 `json:"changed_files_count,omitempty"`
	PatchBytes        *int64 `json:"patch_bytes,omitempty"`
}

// Bounds of a ToolObservability.
const (
	ToolObservabilityVersion = 1
	MaxObservedCalls         = 64
	MaxObservedName          = 256
	MaxObservedKeys          = 32
)

// A ToolObservability lists which tools were called, and nothing of what was said to them.
type ToolObservability struct {
	Version int            `json:"version" jsonschema:"minimum=1,maximum=1"`
	Calls   []ObservedCall `json:"calls"`
}

// An ObservedCall is one call by its names.
type ObservedCall struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Status    string             `json:"status,omitempty"`
	Arguments *ObservedArguments `json:"arguments,omitempty"`
}

// ObservedArguments names the arguments of a call. Their values are never there.
type ObservedArguments struct {
	Redacted bool     `json:"redacted"`
	Count    int      `json:"count"`
	Keys     []string `json:"keys"`
}

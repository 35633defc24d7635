package codebox

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/evidence"
)

// Schema ids of what a run answers with.
const (
	SchemaAgentTaskRun       = "wp-codebox/agent-task-run/v1"
	SchemaSandboxSession     = "wp-codebox/sandbox-session/v1"
	SchemaAgentTaskRunResult = "wp-codebox/agent-task-run-result/v1"
	SchemaFailureEvidence    = "wp-codebox/agent-task-run-failure-evidence/v1"
	SchemaCLIFailure         = "wp-codebox/cli-failure/v1"
)

// PersistenceExternal says that the caller keeps what it wants to keep of a session.
const PersistenceExternal = "external-orchestrator"

// An AgentTaskRun is the envelope of one run: the one JSON document that a caller gets.
type AgentTaskRun struct {
	Success             bool                          `json:"success"`
	Schema              string                        `json:"schema"`
	Status              string                        `json:"status" jsonschema:"enum=completed,enum=no_op,enum=failed,enum=timeout,enum=provider_error,enum=unable_to_remediate"`
	Session             SandboxSession                `json:"session"`
	TaskInput           *TaskInput                    `json:"task_input,omitempty"` // absent when the request could not be read
	WP                  string                        `json:"wp,omitempty"`
	Artifacts           string                        `json:"artifacts,omitempty"` // the bundle's directory
	AgentResult         evidence.AgentResult          `json:"agent_result"`
	CompletionOutcome   evidence.CompletionOutcome    `json:"completion_outcome"`
	AgentTaskResult     evidence.AgentTaskResult      `json:"agent_task_result"`
	AgentTaskRunResult  AgentTaskRunResult            `json:"agent_task_run_result"`
	TerminalResult      evidence.TerminalResult       `json:"terminal_result"`
	ComponentContracts  []json.RawMessage             `json:"component_contracts,omitempty"`
	StructuredArtifacts []evidence.StructuredArtifact `json:"structured_artifacts,omitempty"`
	Outputs             json.RawMessage               `json:"outputs,omitempty"`
	RunMetadata         RunMetadata                   `json:"run_metadata"`
	EvidenceRefs        []evidence.EvidenceRef        `json:"evidence_refs"`
	Diagnostics         []evidence.Diagnostic         `json:"diagnostics"`
	FailureEvidence     *FailureEvidence              `json:"failure_evidence,omitempty"`
	Run                 RunRecord                     `json:"run"`
	Metadata            json.RawMessage               `json:"metadata,omitempty"`
}

// A SandboxSession ties a run to the caller's own record of it.
type SandboxSession struct {
	Schema         string            `json:"schema"`
	ID             string            `json:"id"` // the caller's; may be empty
	Status         string            `json:"status" jsonschema:"enum=completed,enum=failed,enum=cancelled"`
	Persistence    string            `json:"persistence"`
	AgentSessionID string            `json:"agent_session_id,omitempty"`
	Artifacts      *SessionArtifacts `json:"artifacts,omitempty"`
	Orchestrator   json.RawMessage   `json:"orchestrator,omitempty"`
	CallbackData   evidence.Value    `json:"callback_data,omitempty"`
}

// SessionArtifacts says where a session's evidence is. What is unknown is empty.
type SessionArtifacts struct {
	Directory  string `json:"directory"`
	BundleID   string `json:"bundle_id"`
	PreviewURL string `json:"preview_url"`
}

// RunMetadata names the run. What is unknown is empty.
type RunMetadata struct {
	RunID               string             `json:"run_id"`
	RunStatus           evidence.RunStatus `json:"run_status"`
	RuntimeID           string             `json:"runtime_id"`
	RuntimeStatus       string             `json:"runtime_status"`
	SandboxSessionID    string             `json:"sandbox_session_id"`
	Orchestrator        json.RawMessage    `json:"orchestrator,omitempty"`
	ParentRequestSchema string             `json:"parent_request_schema,omitempty"`
}

// Kinds of evidence references and of artifact references.
const (
	RefArtifacts           = "codebox-artifacts"
	RefArtifactBundle      = "codebox-artifact-bundle"
	RefManifest            = "codebox-manifest"
	RefReview              = "codebox-review"
	RefChangedFiles        = "codebox-changed-files"
	RefPatch               = "codebox-patch"
	RefTranscript          = "codebox-transcript"
	RefRuntimeLog          = "codebox-runtime-log"
	RefCommandLog          = "codebox-command-log"
	RefRuntime             = "codebox-runtime"
	RefEvidenceBundle      = "codebox-evidence-bundle"
	RefTerminalResult      = "codebox-agent-terminal-result"
	RefTaskFailureEvidence = "codebox-agent-task-failure-evidence"
)

// A RunRecord is the run itself: its times and what it left.
type RunRecord struct {
	RunID        string             `json:"runId,omitempty"`
	Status       evidence.RunStatus `json:"status,omitempty"`
	StartedAt    string             `json:"startedAt,omitempty"`
	FinishedAt   string             `json:"finishedAt,omitempty"`
	DurationMS   int64              `json:"durationMs,omitempty"`
	Isolation    string             `json:"isolation,omitempty"`
	ArtifactRefs []ArtifactRef      `json:"artifactRefs,omitempty"`
}

// An ArtifactRef names a piece of evidence. A path is absolute, or relative to the bundle that the first reference of
// kind codebox-artifact-bundle names.
type ArtifactRef struct {
	ID        string          `json:"id,omitempty"`
	Kind      string          `json:"kind" jsonschema:"minLength=1"`
	Path      string          `json:"path,omitempty"`
	URL       string          `json:"url,omitempty"`
	SHA256    string          `json:"sha256,omitempty"`
	SizeBytes *int64          `json:"size_bytes,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// A FailureEvidence is what a caller keeps of a run that did not succeed. It holds no stack and no secret.
type FailureEvidence struct {
	Schema        string                `json:"schema"`
	Phase         string                `json:"phase" jsonschema:"minLength=1"`
	Command       string                `json:"command"`
	ExitCode      int                   `json:"exit_code"` // of the failed command; never 0
	Message       string                `json:"message"`
	Task          string                `json:"task,omitempty"`
	Runtime       *RuntimeState         `json:"runtime,omitempty"`
	Sandbox       SandboxState          `json:"sandbox"`
	Stdout        *Snippet              `json:"stdout,omitempty"`
	Stderr        *Snippet              `json:"stderr,omitempty"`
	Diagnostics   []evidence.Diagnostic `json:"diagnostics,omitempty"`
	PhaseEvidence json.RawMessage       `json:"phase_evidence,omitempty"`
	Error         SerializedError       `json:"error"`
	WP            string                `json:"wp,omitempty"`
}

// A RuntimeState names a runtime and how it was left.
type RuntimeState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// A SandboxState names a sandbox.
type SandboxState struct {
	SandboxSessionID   string          `json:"sandbox_session_id,omitempty"`
	Orchestrator       json.RawMessage `json:"orchestrator,omitempty"`
	ArtifactsDirectory string          `json:"artifacts_directory"`
	ArtifactBundleID   string          `json:"artifact_bundle_id,omitempty"`
}

// MaxSnippet is how many characters a snippet holds.
const MaxSnippet = 4000

// A Snippet is the end of a stream, redacted.
type Snippet struct {
	Bytes     int64  `json:"bytes"` // of the whole stream
	Truncated bool   `json:"truncated"`
	Value     string `json:"value"`
}

// A SerializedError is an error as data.
type SerializedError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// A CLIFailure is what a command answers with when it did nothing.
type CLIFailure struct {
	Schema      string          `json:"schema"`
	Success     bool            `json:"success"` // always false
	Status      string          `json:"status" jsonschema:"enum=error"`
	Command     string          `json:"command,omitempty"`
	Error       SerializedError `json:"error"`
	Diagnostics []CLIDiagnostic `json:"diagnostics"`
}

// A CLIDiagnostic is one reason of a CLIFailure.
type CLIDiagnostic struct {
	Code    string `json:"code" jsonschema:"minLength=1"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

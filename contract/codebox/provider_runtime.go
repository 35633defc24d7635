package codebox

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the invocation contract and of the generic primitive.
const (
	SchemaProviderRuntime   = "wp-codebox/provider-runtime-invocation-contract/v1"
	SchemaAbilityRunRequest = "wp-codebox/generic-ability-runtime-run-request/v1"
	SchemaAbilityRunResult  = "wp-codebox/generic-ability-runtime-run-result/v1"
)

// ProviderRuntimeVersion is the version of the invocation contract.
const ProviderRuntimeVersion = 1

// A ProviderRuntimeContract gives the stable names of the generic runtime operations, and the schemas of their results.
type ProviderRuntimeContract struct {
	Schema        string                 `json:"schema"`
	Version       int                    `json:"version" jsonschema:"minimum=1,maximum=1"`
	Tasks         ProviderRuntimeNames   `json:"tasks"`
	Abilities     ProviderRuntimeNames   `json:"abilities"`
	ResultSchemas ProviderRuntimeSchemas `json:"result_schemas"`
}

// ProviderRuntimeNames names each operation.
type ProviderRuntimeNames struct {
	WorkspaceCapture         string `json:"workspaceCapture"`
	WorkspaceCommand         string `json:"workspaceCommand"`
	WorkspacePublish         string `json:"workspacePublish"`
	ToolCallTranscriptRecord string `json:"toolCallTranscriptRecord"`
	ArtifactHandoff          string `json:"artifactHandoff"`
}

// ProviderRuntimeSchemas names the schema of each operation's result.
type ProviderRuntimeSchemas struct {
	WorkspaceCapture         string `json:"workspace_capture"`
	WorkspaceCommand         string `json:"workspace_command"`
	WorkspacePublication     string `json:"workspace_publication"`
	ToolCallTranscript       string `json:"tool_call_transcript"`
	EvidenceArtifactEnvelope string `json:"evidence_artifact_envelope"`
}

// ProviderRuntime returns the contract. Preparing a workspace is not part of it: deed has no such operation.
func ProviderRuntime() ProviderRuntimeContract {
	return ProviderRuntimeContract{
		Schema: SchemaProviderRuntime, Version: ProviderRuntimeVersion,
		Tasks: ProviderRuntimeNames{
			WorkspaceCapture: "wp-codebox.runner-workspace.capture", WorkspaceCommand: "wp-codebox.runner-workspace.command",
			WorkspacePublish: "wp-codebox.runner-workspace.publish", ToolCallTranscriptRecord: "wp-codebox.tool-call-transcript.record",
			ArtifactHandoff: "wp-codebox.artifact-handoff",
		},
		Abilities: ProviderRuntimeNames{
			WorkspaceCapture: "wp-codebox/runner-workspace-capture", WorkspaceCommand: "wp-codebox/runner-workspace-command",
			WorkspacePublish: "wp-codebox/runner-workspace-publish", ToolCallTranscriptRecord: "wp-codebox/record-tool-call-transcript",
			ArtifactHandoff: "wp-codebox/handoff-artifacts",
		},
		ResultSchemas: ProviderRuntimeSchemas{
			WorkspaceCapture: SchemaCaptureResult, WorkspaceCommand: SchemaCommandResult, WorkspacePublication: SchemaPublicationResult,
			ToolCallTranscript: SchemaToolCallTranscript, EvidenceArtifactEnvelope: SchemaEvidenceEnvelope,
		},
	}
}

// Validate demands every name.
func (c ProviderRuntimeContract) Validate() error {
	var l fault.List
	for at, n := range map[string]ProviderRuntimeNames{"$.tasks": c.Tasks, "$.abilities": c.Abilities} {
		l.Name(at+".workspaceCapture", n.WorkspaceCapture)
		l.Name(at+".workspaceCommand", n.WorkspaceCommand)
		l.Name(at+".workspacePublish", n.WorkspacePublish)
		l.Name(at+".toolCallTranscriptRecord", n.ToolCallTranscriptRecord)
		l.Name(at+".artifactHandoff", n.ArtifactHandoff)
	}
	return l.Err()
}

// An AbilityRunRequest asks to invoke one named ability of a runtime component in a disposable runtime. The capability
// token is named, never given: its value is a variable of the caller's environment.
type AbilityRunRequest struct {
	Schema               string            `json:"schema"`
	Ability              string            `json:"ability" jsonschema:"minLength=1"`
	Input                json.RawMessage   `json:"input,omitempty"` // an object: task text, structured context
	CapabilityTokenEnv   string            `json:"capability_token_env,omitempty"`
	Principal            map[string]any    `json:"principal,omitempty"`
	SandboxToolPolicy    json.RawMessage   `json:"sandbox_tool_policy,omitempty"`
	ComponentContracts   []json.RawMessage `json:"component_contracts,omitempty"`
	ProviderPluginPaths  []string          `json:"provider_plugin_paths,omitempty"`
	ExpectedResultSchema json.RawMessage   `json:"expected_result_schema,omitempty"` // a JSON Schema
	ArtifactsPath        string            `json:"artifacts_path,omitempty"`
	SandboxSessionID     string            `json:"sandbox_session_id,omitempty"`
	TaskTimeoutSeconds   *int              `json:"task_timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=86400"`
	Context              map[string]any    `json:"context,omitempty"`
}

// Validate returns every fault of the request.
func (r AbilityRunRequest) Validate() error {
	var l fault.List
	l.Name("$.ability", r.Ability)
	l.OptionalObject("$.input", r.Input)
	l.OptionalObject("$.sandbox_tool_policy", r.SandboxToolPolicy)
	l.OptionalObject("$.expected_result_schema", r.ExpectedResultSchema)
	if r.CapabilityTokenEnv != "" {
		l.EnvName("$.capability_token_env", r.CapabilityTokenEnv)
	}
	for i, c := range r.ComponentContracts {
		l.Object(fault.Index("$.component_contracts", i), c)
	}
	for i, p := range r.ProviderPluginPaths {
		l.Path(fault.Index("$.provider_plugin_paths", i), p)
	}
	l.OptionalPath("$.artifacts_path", r.ArtifactsPath)
	l.OptionalName("$.sandbox_session_id", r.SandboxSessionID)
	return l.Err()
}

// An AbilityRunResult is what the ability returned, held against the schema that the caller expected.
type AbilityRunResult struct {
	Schema       string            `json:"schema"`
	Success      bool              `json:"success"`
	Status       string            `json:"status" jsonschema:"enum=completed,enum=failed,enum=unavailable"`
	Ability      string            `json:"ability"`
	Result       json.RawMessage   `json:"result,omitempty"`
	ResultValid  bool              `json:"result_valid"` // against the expected schema; true without one
	ExitCode     *int              `json:"exit_code"`
	Artifact     *EvidenceEnvelope `json:"artifact,omitempty"`
	EvidenceRefs []FileReference   `json:"evidence_refs"`
	Diagnostics  []WorkspaceError  `json:"diagnostics"`
	FailureType  string            `json:"failure_type,omitempty"`
	Error        *WorkspaceError   `json:"error,omitempty"`
}

// Validate demands that success, status, result and error agree.
func (r AbilityRunResult) Validate() error {
	var l fault.List
	l.Name("$.ability", r.Ability)
	coherent(&l, r.Success, r.Status != WorkspaceCompleted, r.FailureType, r.Error)
	if r.Success && !r.ResultValid {
		l.Add("$.result_valid", fault.Conflict, "is false beside success", "a result of another shape is not a success")
	}
	return l.Err()
}

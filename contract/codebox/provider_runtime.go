package codebox

import (
	"encoding/json"

	"github.com/deedrun/deed/contract/evidence"
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
			ToolCallTranscript: evidence.SchemaToolCallTranscript, EvidenceArtifactEnvelope: evidence.SchemaEvidenceEnvelope,
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

// DefaultAbilitySeconds bounds an ability run that names no limit of its own.
const DefaultAbilitySeconds = 5 * 60

// An AbilityRunRequest asks to invoke one named ability of a runtime component in a disposable runtime. The capability
// token is named, never given: its value is a variable of the caller's environment.
type AbilityRunRequest struct {
	Schema               string              `json:"schema"`
	Ability              string              `json:"ability" jsonschema:"minLength=1"`
	Input                json.RawMessage     `json:"input,omitempty"` // an object: task text, structured context
	CapabilityTokenEnv   string              `json:"capability_token_env,omitempty"`
	Principal            json.RawMessage     `json:"principal,omitempty"`           // an object; the ability is told it, and it is recorded
	SandboxToolPolicy    *SandboxToolPolicy  `json:"sandbox_tool_policy,omitempty"` // absent or {}: every tool is denied
	ComponentContracts   []ComponentContract `json:"component_contracts,omitempty"`
	ProviderPluginPaths  []string            `json:"provider_plugin_paths,omitempty"`
	RuntimeStackMounts   []RequestMount      `json:"runtime_stack_mounts,omitempty"`
	RuntimeEnv           map[string]string   `json:"runtime_env,omitempty"`                              // no secrets
	WP                   string              `json:"wp,omitempty" jsonschema:"minLength=1,maxLength=64"` // absent: the installed one, when the ability needs it
	ExpectedResultSchema json.RawMessage     `json:"expected_result_schema,omitempty"`                   // a JSON Schema
	ArtifactsPath        string              `json:"artifacts_path,omitempty"`                           // where the evidence bundle goes; absent: there is none
	SandboxSessionID     string              `json:"sandbox_session_id,omitempty"`                       // the caller's own id, recorded
	TaskTimeoutSeconds   *int                `json:"task_timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=86400"`
	Context              json.RawMessage     `json:"context,omitempty"` // an object, for the record only
}

// TimeoutSeconds is the limit of the whole run.
func (r AbilityRunRequest) TimeoutSeconds() int {
	if r.TaskTimeoutSeconds == nil {
		return DefaultAbilitySeconds
	}
	return *r.TaskTimeoutSeconds
}

// Stack returns what the request wants to have in the runtime.
func (r AbilityRunRequest) Stack() RuntimeStack {
	return RuntimeStack{
		Schema: SchemaRuntimeStack, WordPress: r.WP, ProviderPluginPaths: r.ProviderPluginPaths,
		ComponentContracts: r.ComponentContracts, StackMounts: r.RuntimeStackMounts,
	}
}

// Validate returns every fault of the request.
func (r AbilityRunRequest) Validate() error {
	var l fault.List
	l.Name("$.ability", r.Ability)
	l.OptionalObject("$.input", r.Input)
	l.OptionalObject("$.principal", r.Principal)
	l.OptionalObject("$.context", r.Context)
	l.OptionalObject("$.expected_result_schema", r.ExpectedResultSchema)
	if p := r.SandboxToolPolicy; p != nil && !p.Empty() {
		l.Within("$.sandbox_tool_policy", p.Validate())
	}
	if name := r.CapabilityTokenEnv; name != "" && looksLikeValue(name) {
		l.Add("$.capability_token_env", fault.BadFormat, "is not the name of an environment variable and may be the token itself",
			"write the name only, such as EXAMPLE_CAPABILITY_TOKEN; if it was the token, replace it")
	}
	checkValues(&l, "$.runtime_env", r.RuntimeEnv, map[string]bool{r.CapabilityTokenEnv: true})
	components(&l, "$.component_contracts", r.ComponentContracts)
	for i, p := range r.ProviderPluginPaths {
		absolute(&l, fault.Index("$.provider_plugin_paths", i), p)
	}
	for i, m := range r.RuntimeStackMounts {
		m.check(&l, fault.Index("$.runtime_stack_mounts", i))
	}
	if r.WP != "" && !isVersion(r.WP) {
		l.Add("$.wp", fault.BadFormat, quote(r.WP)+" is not a version", "write latest, or a version such as 6.8.1")
	}
	if r.ArtifactsPath != "" {
		absolute(&l, "$.artifacts_path", r.ArtifactsPath)
	}
	l.OptionalName("$.sandbox_session_id", r.SandboxSessionID)
	return l.Err()
}

// An AbilityRunResult is what the ability returned, held against the schema that the caller expected.
type AbilityRunResult struct {
	Schema       string                     `json:"schema"`
	Success      bool                       `json:"success"`
	Status       string                     `json:"status" jsonschema:"enum=completed,enum=failed,enum=unavailable"`
	Ability      string                     `json:"ability"`
	Result       evidence.Value             `json:"result,omitempty"`
	ResultValid  bool                       `json:"result_valid"` // against the expected schema; true without one
	ExitCode     *int                       `json:"exit_code"`
	RunID        string                     `json:"run_id,omitempty"`    // its record in deed's registry
	Artifacts    string                     `json:"artifacts,omitempty"` // the directory of the evidence bundle
	Artifact     *evidence.EvidenceEnvelope `json:"artifact,omitempty"`
	EvidenceRefs []evidence.FileReference   `json:"evidence_refs"` // below artifacts
	Diagnostics  []WorkspaceError           `json:"diagnostics"`

	ComponentContracts []ComponentContractResult `json:"component_contracts,omitempty"` // what became of the components

	FailureType string          `json:"failure_type,omitempty"`
	Error       *WorkspaceError `json:"error,omitempty"`
}

// Validate demands that success, status, result and error agree.
func (r AbilityRunResult) Validate() error {
	var l fault.List
	if r.Success {
		l.Name("$.ability", r.Ability) // that of a request that could not be read is not known
	}
	coherent(&l, r.Success, r.Status != WorkspaceCompleted, r.FailureType, r.Error)
	if r.Success && !r.ResultValid {
		l.Add("$.result_valid", fault.Conflict, "is false beside success", "a result of another shape is not a success")
	}
	return l.Err()
}

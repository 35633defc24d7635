package codebox

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/evidence"
)

// Schema ids of a request. A file that asks for a run carries SchemaTaskInput, or SchemaRequest when it wraps a task
// input; the JSON Schema of either form is published as SchemaRequest. A headless request is not accepted.
const (
	SchemaTaskInput       = "wp-codebox/task-input/v1"
	SchemaRequest         = "wp-codebox/agent-task-run-request/v1"
	SchemaHeadlessRequest = "wp-codebox/headless-agent-task-request/v1"
)

// TaskInputVersion is the version of a task input; one that names none has this.
const TaskInputVersion = 1

// What a request gets when it says nothing.
const (
	DefaultAgent = "wp-codebox-sandbox"
	DefaultMode  = "sandbox"
	// EnvAgentRuntime is set to "1" for every agent, whatever a request says.
	EnvAgentRuntime = "WP_AGENT_RUNTIME"
)

// Bounds of the numbers in a request.
const (
	MaxTurnsLimit         = 10000
	MaxTaskTimeoutSeconds = 7 * 24 * 3600
)

// CodeRawForbidden is the code of a request that brings code to run instead of a goal.
const CodeRawForbidden = "wp_codebox_raw_code_forbidden"

// A TaskRequest asks for one run of an agent: the task input, and where and with what the agent works. Every source is
// an absolute path on the caller's machine; every target is an absolute path that the agent sees.
type TaskRequest struct {
	Schema              string                        `json:"schema"`
	Version             int                           `json:"version,omitempty" jsonschema:"minimum=1,maximum=1"` // absent: 1
	Goal                string                        `json:"goal" jsonschema:"minLength=1"`
	Target              json.RawMessage               `json:"target,omitempty"` // kind (repo, site, plugin, theme, other), ref, path, url
	AllowedTools        []string                      `json:"allowed_tools,omitempty"`
	ExpectedArtifacts   []string                      `json:"expected_artifacts,omitempty"`
	StructuredArtifacts []evidence.StructuredArtifact `json:"structured_artifacts,omitempty"` // input of the task
	StagedFiles         []StagedFile                  `json:"staged_files,omitempty"`
	StagedFilesAlias    []StagedFile                  `json:"stagedFiles,omitempty"` // the same
	AgentBundles        []AgentBundle                 `json:"agent_bundles,omitempty"`
	AgentBundle         *AgentBundle                  `json:"agent_bundle,omitempty"` // one more, first in order
	ToolBridge          json.RawMessage               `json:"tool_bridge,omitempty"`
	ParentToolBridge    json.RawMessage               `json:"parent_tool_bridge,omitempty"`
	SandboxToolPolicy   *SandboxToolPolicy            `json:"sandbox_tool_policy,omitempty"` // absent or {}: every tool is denied
	Policy              json.RawMessage               `json:"policy,omitempty"`              // approvals, applyBack, sandbox, and what the caller adds
	Context             json.RawMessage               `json:"context,omitempty"`

	Agent    string `json:"agent,omitempty" jsonschema:"minLength=1,maxLength=512"` // absent: wp-codebox-sandbox
	Mode     string `json:"mode,omitempty" jsonschema:"minLength=1,maxLength=512"`  // absent: sandbox
	Provider string `json:"provider,omitempty" jsonschema:"maxLength=512"`
	Model    string `json:"model,omitempty" jsonschema:"maxLength=512"`

	ProviderPluginPaths      []string             `json:"provider_plugin_paths,omitempty"`
	ProviderPlugins          []PluginSource       `json:"provider_plugins,omitempty"`
	ComponentContracts       []ComponentContract  `json:"component_contracts,omitempty"`
	ExtraPlugins             []PluginSource       `json:"extra_plugins,omitempty"`
	RuntimeStackMounts       []RequestMount       `json:"runtime_stack_mounts,omitempty"`
	RuntimeConfigMounts      []RequestMount       `json:"runtime_config_mounts,omitempty"` // after the stack's
	RuntimeConfigMountsAlias []RequestMount       `json:"runtimeConfigMounts,omitempty"`   // the same
	RuntimeStateMounts       []RequestMount       `json:"runtime_state_mounts,omitempty"`  // after the config's
	RuntimeStateMountsAlias  []RequestMount       `json:"runtimeStateMounts,omitempty"`    // the same
	RuntimeOverlays          []RuntimeOverlay     `json:"runtime_overlays,omitempty"`
	RuntimeOverlayProfiles   []string             `json:"runtime_overlay_profiles,omitempty"` // no profile exists: any is refused
	RuntimeEnv               map[string]string    `json:"runtime_env,omitempty"`              // no secrets: those are named in secret_env
	RuntimeEnvAlias          map[string]string    `json:"runtimeEnv,omitempty"`               // the same
	RuntimeProfile           *RuntimeProfile      `json:"runtime_profile,omitempty"`          // its entries come before the request's own
	RuntimeProfileAlias      *RuntimeProfile      `json:"runtimeProfile,omitempty"`           // the same
	RuntimeRequirements      *RuntimeRequirements `json:"runtime_requirements,omitempty"`
	SecretEnv                []string             `json:"secret_env,omitempty"` // names of variables in the caller's environment, never values
	Workspaces               []RequestWorkspace   `json:"workspaces,omitempty"`
	Mounts                   []RequestMount       `json:"mounts,omitempty"`
	DependencyOverlays       []json.RawMessage    `json:"dependency_overlays,omitempty"`
	WorkspacePreloads        []json.RawMessage    `json:"workspace_preloads,omitempty"`
	RuntimeTask              json.RawMessage      `json:"runtime_task,omitempty"`
	VerifySteps              []VerifyStep         `json:"verify_steps,omitempty"` // run in a clean room; all that are not advisory must pass

	TaskTimeoutSeconds int64  `json:"task_timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=604800"`
	MaxTurns           int    `json:"max_turns,omitempty" jsonschema:"minimum=1,maximum=10000"`
	SessionID          string `json:"session_id,omitempty" jsonschema:"minLength=1,maxLength=512"` // the agent's conversation
	SandboxSessionID   string `json:"sandbox_session_id,omitempty" jsonschema:"maxLength=512"`     // the caller's own id, given back
	ArtifactsPath      string `json:"artifacts_path,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	SourcePackageRoot  string `json:"source_package_root,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	WP                 string `json:"wp,omitempty" jsonschema:"minLength=1,maxLength=64"`

	ParentRequest json.RawMessage `json:"parent_request,omitempty"` // correlation only, as the two below
	Orchestrator  json.RawMessage `json:"orchestrator,omitempty"`
	CallbackData  evidence.Value  `json:"callback_data,omitempty"`

	Code     evidence.Value `json:"code,omitempty"`      // refused, unless null or blank
	CodeFile evidence.Value `json:"code_file,omitempty"` // refused, unless null or blank

	Origins Origins `json:"-"` // of what was merged when the request was read
}

// A WrappedRequest is a request around a task input.
type WrappedRequest struct {
	Schema        string         `json:"schema"`
	TaskInput     TaskRequest    `json:"task_input"`
	TaskID        string         `json:"task_id,omitempty" jsonschema:"minLength=1,maxLength=512"` // the sandbox_session_id of a task input without one
	ArtifactsPath string         `json:"artifacts_path,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	CallbackData  evidence.Value `json:"callback_data,omitempty"`
}

// A Request is either form of a request; `schema` tells them apart.
type Request struct {
	Plain   *TaskRequest
	Wrapped *WrappedRequest
}

// MarshalJSON writes the form that is there.
func (r Request) MarshalJSON() ([]byte, error) {
	switch {
	case r.Plain != nil && r.Wrapped == nil:
		return json.Marshal(r.Plain)
	case r.Wrapped != nil && r.Plain == nil:
		return json.Marshal(r.Wrapped)
	}
	return nil, fmt.Errorf("encode %s: exactly one form must be there", SchemaRequest)
}

// UnmarshalJSON reads either form. It is lenient; contract/schema reads strictly.
func (r *Request) UnmarshalJSON(text []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	*r = Request{}
	switch head.Schema {
	case SchemaTaskInput:
		r.Plain = new(TaskRequest)
		return json.Unmarshal(text, r.Plain)
	case SchemaRequest:
		r.Wrapped = new(WrappedRequest)
		return json.Unmarshal(text, r.Wrapped)
	}
	return fmt.Errorf("read a request: schema %q is neither %s nor %s", head.Schema, SchemaTaskInput, SchemaRequest)
}

// A TaskInput is the normalised input of a task, as an envelope gives it back: every member is there.
type TaskInput struct {
	Schema              string                        `json:"schema"`
	Version             int                           `json:"version" jsonschema:"minimum=1,maximum=1"`
	Goal                string                        `json:"goal" jsonschema:"minLength=1"`
	Target              json.RawMessage               `json:"target"`
	AllowedTools        []string                      `json:"allowed_tools"`
	ExpectedArtifacts   []string                      `json:"expected_artifacts"`
	StructuredArtifacts []evidence.StructuredArtifact `json:"structured_artifacts"`
	StagedFiles         []StagedFile                  `json:"staged_files,omitempty"`
	AgentBundles        []AgentBundle                 `json:"agent_bundles,omitempty"`
	ToolBridge          json.RawMessage               `json:"tool_bridge"`
	ParentToolBridge    json.RawMessage               `json:"parent_tool_bridge"`
	SandboxToolPolicy   SandboxToolPolicy             `json:"sandbox_tool_policy"`
	Policy              json.RawMessage               `json:"policy"`
	Context             json.RawMessage               `json:"context"`
}

// A VerifyStep is a command that must pass in a clean room made of the base and the agent's patch. The members below advisory are
// deed's own: what its command line can ask of a check.
type VerifyStep struct {
	Name           string            `json:"name,omitempty" jsonschema:"maxLength=512"`
	Command        string            `json:"command,omitempty" jsonschema:"minLength=1,maxLength=4096"` // a program, or wordpress.run-php
	Args           []string          `json:"args,omitempty"`
	Shell          string            `json:"shell,omitempty" jsonschema:"minLength=1"`  // instead of a command: a line for /bin/sh -c
	Dir            string            `json:"dir,omitempty" jsonschema:"maxLength=4096"` // below the workspace
	Env            map[string]string `json:"env,omitempty"`
	TimeoutSeconds int64             `json:"timeout_seconds,omitempty" jsonschema:"minimum=1,maximum=604800"`
	Advisory       bool              `json:"advisory,omitempty"` // a failure is told and does not count

	Capability      string   `json:"capability,omitempty" jsonschema:"enum=lint,enum=test,enum=build,enum=audit"`     // instead of a command: the project's own, compared with the base
	Inputs          []string `json:"inputs,omitempty"`                                                                // globs of what it judges by; absent: the usual ones
	OnChangedInputs string   `json:"on_changed_inputs,omitempty" jsonschema:"enum=refuse,enum=rerun_pinned,enum=ask"` // absent: rerun_pinned
	RequirePass     *bool    `json:"require_pass,omitempty"`                                                          // true: old failures count too; false: they never do
	Hidden          bool     `json:"hidden,omitempty"`                                                                // the agent is not told of it
	Files           string   `json:"files,omitempty" jsonschema:"minLength=1,maxLength=4096"`                         // with hidden: an absolute directory that is laid over the tree before the step
}

// RunPHP is the one runtime command that a verify step can name: its arguments go to PHP in the WordPress component.
const RunPHP = "wordpress.run-php"

// The keys of AgentBundle.OnConflict.
const (
	ConflictError   = "error"
	ConflictSkip    = "skip"
	ConflictUpgrade = "upgrade"
)

// An AgentBundle is an agent definition to stage into the sandbox, by a directory or in place.
type AgentBundle struct {
	Slug            string           `json:"slug,omitempty" jsonschema:"minLength=1,maxLength=512"`
	Source          string           `json:"source,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	Bundle          json.RawMessage  `json:"bundle,omitempty"`
	OnConflict      string           `json:"on_conflict,omitempty" jsonschema:"enum=error,enum=skip,enum=upgrade"` // absent: upgrade
	OwnerID         int64            `json:"owner_id,omitempty" jsonschema:"minimum=1"`
	TokenEnv        string           `json:"token_env,omitempty" jsonschema:"minLength=1"`
	ImportPrincipal *ImportPrincipal `json:"import_principal,omitempty"`
}

// An ImportPrincipal says on whose behalf a bundle is imported. Its ids are positive numbers, or such numbers as text.
type ImportPrincipal struct {
	AgentID      evidence.Value  `json:"agent_id,omitempty"`
	OwnerID      evidence.Value  `json:"owner_id,omitempty"`
	TokenID      evidence.Value  `json:"token_id,omitempty"`
	Capabilities []string        `json:"capabilities,omitempty"`
	Scope        json.RawMessage `json:"scope,omitempty"`
}

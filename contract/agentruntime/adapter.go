package agentruntime

// The adapter kinds of the agent-runtime contract.
const (
	KindClaudeCode     = "claude-code"
	KindCodex          = "codex"
	KindHermesAgent    = "hermes-agent"
	KindOllamaGenerate = "ollama-generate"
	KindScript         = "script"
)

// The adapter kinds that deed adds to those of the contract.
const (
	KindACP      = "acp"
	KindCommand  = "command"
	KindNative   = "native"
	KindOpencode = "opencode"
	KindPackaged = "packaged"
)

// Kinds lists every adapter kind.
var Kinds = []string{
	KindClaudeCode, KindCodex, KindHermesAgent, KindOllamaGenerate, KindScript,
	KindACP, KindCommand, KindNative, KindOpencode, KindPackaged,
}

// The autonomy profiles. A harness that bypasses its own permission checks declares trusted-vm; a script's commands
// are the runtime's own.
const (
	AutonomyRestricted    = "restricted"
	AutonomyTrustedVM     = "trusted-vm"
	AutonomyRuntimeNative = "runtime-native"
)

// The sandbox modes that a harness can be asked for. The last one lifts its own guards, and is for a declared trusted VM.
const (
	SandboxReadOnly   = "read-only"
	SandboxWorkspace  = "workspace-write"
	SandboxFullAccess = "danger-full-access"
)

// Sandboxes lists the sandbox modes.
var Sandboxes = []string{SandboxReadOnly, SandboxWorkspace, SandboxFullAccess}

// MaxTimeoutMS is the longest time limit of an adapter: seven days.
const MaxTimeoutMS = 7 * 24 * 3600 * 1000

// An AdapterConfig is a union by kind: exactly one member is set. In JSON it is the member itself, told apart by
// its kind. The last five members are deed's own addition to the contract's union.
type AdapterConfig struct {
	ClaudeCode     *ClaudeCodeAdapter
	Codex          *CodexAdapter
	HermesAgent    *HermesAgentAdapter
	OllamaGenerate *OllamaGenerateAdapter
	Script         *ScriptAdapter

	ACP      *ACPAdapter
	Command  *CommandAdapter
	Native   *NativeAdapter
	Opencode *OpencodeAdapter
	Packaged *PackagedAdapter
}

// A ScriptAdapter runs a command, for deterministic work that needs no model.
type ScriptAdapter struct {
	Schema     string            `json:"schema,omitempty"`
	AdapterID  string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string            `json:"kind" jsonschema:"enum=script"`
	Command    string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	EnvFile    string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string `json:"env,omitempty"`
	Autonomy   *ScriptAutonomy   `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// ScriptAutonomy declares the posture of a script adapter.
type ScriptAutonomy struct {
	Profile string `json:"profile" jsonschema:"enum=runtime-native"` // runtime-native
}

// An OllamaGenerateAdapter asks an Ollama endpoint.
type OllamaGenerateAdapter struct {
	Schema    string `json:"schema,omitempty"`
	AdapterID string `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind      string `json:"kind" jsonschema:"enum=ollama-generate"`
	Endpoint  string `json:"endpoint" jsonschema:"minLength=1"`
	Model     string `json:"model" jsonschema:"minLength=1,maxLength=512"`
	TimeoutMS int64  `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
}

// A HarnessAutonomy declares the posture of an agent CLI.
type HarnessAutonomy struct {
	Profile      string   `json:"profile" jsonschema:"enum=restricted,enum=trusted-vm"` // restricted or trusted-vm
	RequiredArgs []string `json:"required_args,omitempty"`
}

// A HermesAgentAdapter runs Hermes Agent, a harness like any other.
type HermesAgentAdapter struct {
	Schema     string            `json:"schema,omitempty"`
	AdapterID  string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string            `json:"kind" jsonschema:"enum=hermes-agent"`
	Command    string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	Sandbox    string            `json:"sandbox,omitempty" jsonschema:"enum=read-only,enum=workspace-write,enum=danger-full-access"`
	EnvFile    string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// A CodexProvider selects a model provider for Codex.
type CodexProvider struct {
	ID                 string `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Name               string `json:"name,omitempty" jsonschema:"maxLength=512"`
	BaseURL            string `json:"base_url,omitempty"`
	WireAPI            string `json:"wire_api,omitempty" jsonschema:"enum=responses"`
	RequiresOpenAIAuth *bool  `json:"requires_openai_auth,omitempty"`
}

// A CodexAdapter runs the Codex CLI.
type CodexAdapter struct {
	Schema     string            `json:"schema,omitempty"`
	AdapterID  string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string            `json:"kind" jsonschema:"enum=codex"`
	Command    string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	Sandbox    string            `json:"sandbox,omitempty" jsonschema:"enum=read-only,enum=workspace-write,enum=danger-full-access"`
	EnvFile    string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Provider   *CodexProvider    `json:"provider,omitempty"`
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// ClaudeCodeAutonomy declares the posture of Claude Code, with the settings files it depends on.
type ClaudeCodeAutonomy struct {
	Profile               string   `json:"profile" jsonschema:"enum=restricted,enum=trusted-vm"`
	RequiredArgs          []string `json:"required_args,omitempty"`
	RequiredSettingsFiles []string `json:"required_settings_files,omitempty"`
}

// A ClaudeCodeAdapter runs the Claude Code CLI.
type ClaudeCodeAdapter struct {
	Schema     string              `json:"schema,omitempty"`
	AdapterID  string              `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string              `json:"kind" jsonschema:"enum=claude-code"`
	Command    string              `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string              `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64               `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	Sandbox    string              `json:"sandbox,omitempty" jsonschema:"enum=read-only,enum=workspace-write,enum=danger-full-access"`
	EnvFile    string              `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string   `json:"env,omitempty"`
	Model      string              `json:"model,omitempty" jsonschema:"maxLength=512"`
	Autonomy   *ClaudeCodeAutonomy `json:"autonomy,omitempty"`
	ExtraArgs  []string            `json:"extra_args,omitempty"`
}

package agentruntime

// The adapter kinds.
const (
	KindClaudeCode     = "claude-code"
	KindCodex          = "codex"
	KindHermesAgent    = "hermes-agent"
	KindOllamaGenerate = "ollama-generate"
	KindScript         = "script"
)

// An AdapterConfig is a union by kind: exactly one member is set.
type AdapterConfig struct {
	ClaudeCode     *ClaudeCodeAdapter
	Codex          *CodexAdapter
	HermesAgent    *HermesAgentAdapter
	OllamaGenerate *OllamaGenerateAdapter
	Script         *ScriptAdapter
}

// A ScriptAdapter runs a command, for deterministic work that needs no model.
type ScriptAdapter struct {
	AdapterID  string            `json:"adapter_id"`
	Kind       string            `json:"kind"`
	Command    string            `json:"command"`
	WorkingDir string            `json:"working_dir,omitempty"`
	TimeoutMS  int64             `json:"timeout_ms"`
	EnvFile    string            `json:"env_file,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Autonomy   *ScriptAutonomy   `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// ScriptAutonomy declares the posture of a script adapter.
type ScriptAutonomy struct {
	Profile string `json:"profile"` // runtime-native
}

// An OllamaGenerateAdapter asks an Ollama endpoint.
type OllamaGenerateAdapter struct {
	AdapterID string `json:"adapter_id"`
	Kind      string `json:"kind"`
	Endpoint  string `json:"endpoint"`
	Model     string `json:"model"`
	TimeoutMS int64  `json:"timeout_ms"`
}

// A HarnessAutonomy declares the posture of an agent CLI.
type HarnessAutonomy struct {
	Profile      string   `json:"profile"` // restricted or trusted-vm
	RequiredArgs []string `json:"required_args,omitempty"`
}

// A HermesAgentAdapter runs Hermes Agent, a harness like any other.
type HermesAgentAdapter struct {
	AdapterID  string            `json:"adapter_id"`
	Kind       string            `json:"kind"`
	Command    string            `json:"command"`
	WorkingDir string            `json:"working_dir,omitempty"`
	TimeoutMS  int64             `json:"timeout_ms"`
	Sandbox    string            `json:"sandbox,omitempty"`
	EnvFile    string            `json:"env_file,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty"`
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// A CodexProvider selects a model provider for Codex.
type CodexProvider struct {
	ID                 string `json:"id"`
	Name               string `json:"name,omitempty"`
	BaseURL            string `json:"base_url,omitempty"`
	WireAPI            string `json:"wire_api,omitempty"`
	RequiresOpenAIAuth *bool  `json:"requires_openai_auth,omitempty"`
}

// A CodexAdapter runs the Codex CLI.
type CodexAdapter struct {
	AdapterID  string            `json:"adapter_id"`
	Kind       string            `json:"kind"`
	Command    string            `json:"command"`
	WorkingDir string            `json:"working_dir,omitempty"`
	TimeoutMS  int64             `json:"timeout_ms"`
	Sandbox    string            `json:"sandbox,omitempty"`
	EnvFile    string            `json:"env_file,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty"`
	Provider   *CodexProvider    `json:"provider,omitempty"`
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// ClaudeCodeAutonomy declares the posture of Claude Code, with the settings files it depends on.
type ClaudeCodeAutonomy struct {
	Profile               string   `json:"profile"`
	RequiredArgs          []string `json:"required_args,omitempty"`
	RequiredSettingsFiles []string `json:"required_settings_files,omitempty"`
}

// A ClaudeCodeAdapter runs the Claude Code CLI.
type ClaudeCodeAdapter struct {
	AdapterID  string              `json:"adapter_id"`
	Kind       string              `json:"kind"`
	Command    string              `json:"command"`
	WorkingDir string              `json:"working_dir,omitempty"`
	TimeoutMS  int64               `json:"timeout_ms"`
	Sandbox    string              `json:"sandbox,omitempty"`
	EnvFile    string              `json:"env_file,omitempty"`
	Env        map[string]string   `json:"env,omitempty"`
	Model      string              `json:"model,omitempty"`
	Autonomy   *ClaudeCodeAutonomy `json:"autonomy,omitempty"`
	ExtraArgs  []string            `json:"extra_args,omitempty"`
}

// ID returns the adapter id of the member that is set.
func (a AdapterConfig) ID() string {
	switch {
	case a.ClaudeCode != nil:
		return a.ClaudeCode.AdapterID
	case a.Codex != nil:
		return a.Codex.AdapterID
	case a.HermesAgent != nil:
		return a.HermesAgent.AdapterID
	case a.OllamaGenerate != nil:
		return a.OllamaGenerate.AdapterID
	case a.Script != nil:
		return a.Script.AdapterID
	}
	return ""
}

// Kind returns the kind of the member that is set.
func (a AdapterConfig) Kind() string {
	switch {
	case a.ClaudeCode != nil:
		return KindClaudeCode
	case a.Codex != nil:
		return KindCodex
	case a.HermesAgent != nil:
		return KindHermesAgent
	case a.OllamaGenerate != nil:
		return KindOllamaGenerate
	case a.Script != nil:
		return KindScript
	}
	return ""
}

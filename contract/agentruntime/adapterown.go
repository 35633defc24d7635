package agentruntime

import "encoding/json"

// The kinds in this file are deed's own addition to the union of the agent-runtime contract.

// An OpencodeProvider selects the model provider of opencode.
type OpencodeProvider struct {
	ID      string `json:"id" jsonschema:"minLength=1,maxLength=512"` // what stands before the slash in opencode's name of a model
	Name    string `json:"name,omitempty" jsonschema:"maxLength=512"`
	BaseURL string `json:"base_url,omitempty"`
	API     string `json:"api,omitempty" jsonschema:"enum=chat,enum=responses,enum=anthropic"` // absent: chat
	KeyEnv  string `json:"key_env,omitempty" jsonschema:"maxLength=512"`                       // the variable that holds the key
}

// An OpencodeAdapter runs the opencode CLI.
type OpencodeAdapter struct {
	Schema     string            `json:"schema,omitempty"`
	AdapterID  string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string            `json:"kind" jsonschema:"enum=opencode"`
	Command    string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	Sandbox    string            `json:"sandbox,omitempty" jsonschema:"enum=read-only,enum=workspace-write,enum=danger-full-access"`
	EnvFile    string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Provider   *OpencodeProvider `json:"provider,omitempty"`
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// An ACPAdapter runs any agent that speaks the Agent Client Protocol on its standard input and output.
type ACPAdapter struct {
	Schema     string            `json:"schema,omitempty"`
	AdapterID  string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind       string            `json:"kind" jsonschema:"enum=acp"`
	Command    string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	WorkingDir string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS  int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	Sandbox    string            `json:"sandbox,omitempty" jsonschema:"enum=read-only,enum=workspace-write,enum=danger-full-access"`
	EnvFile    string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env        map[string]string `json:"env,omitempty"`
	Model      string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Hosts      []string          `json:"hosts,omitempty" jsonschema:"minLength=1,maxLength=512"` // what its model needs, as api.example.com:443
	Autonomy   *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs  []string          `json:"extra_args,omitempty"`
}

// How a CommandAdapter's program is told its prompt. It is never an argument, which every process can read.
const (
	PromptStdin = "stdin"
	PromptFile  = "file"
)

// The streams of events that a CommandAdapter's program may write to its standard output.
const (
	EventsText             = "text" // no events: what it prints is what it says
	EventsClaudeStreamJSON = "claude-stream-json"
	EventsCodexJSON        = "codex-json"
)

// The placeholders in the arguments of a CommandAdapter. Each may stand alone or within an argument.
const (
	PlacePromptFile = "{prompt_file}"
	PlaceWorkspace  = "{workspace}"
	PlaceModel      = "{model}"
	PlaceSession    = "{session}" // in args an id that deed makes up; in resume_args the one of the conversation
)

// Placeholders lists every placeholder.
var Placeholders = []string{PlacePromptFile, PlaceWorkspace, PlaceModel, PlaceSession}

// A CommandAdapter runs any agent CLI that takes a prompt and ends when its answer is there.
type CommandAdapter struct {
	Schema         string            `json:"schema,omitempty"`
	AdapterID      string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind           string            `json:"kind" jsonschema:"enum=command"`
	Command        string            `json:"command" jsonschema:"minLength=1,maxLength=4096"`
	Args           []string          `json:"args,omitempty"`                                                                  // may hold placeholders
	ResumeArgs     []string          `json:"resume_args,omitempty"`                                                           // instead of args, to go on with a conversation; absent: each turn begins anew
	Prompt         string            `json:"prompt,omitempty" jsonschema:"enum=stdin,enum=file"`                              // absent: stdin
	Events         string            `json:"events,omitempty" jsonschema:"enum=text,enum=claude-stream-json,enum=codex-json"` // absent: text
	SessionPattern string            `json:"session_pattern,omitempty" jsonschema:"maxLength=1024"`                           // finds the conversation's id in the output; its first group, else the whole match
	WorkingDir     string            `json:"working_dir,omitempty" jsonschema:"maxLength=4096"`
	TimeoutMS      int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	EnvFile        string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env            map[string]string `json:"env,omitempty"`
	Model          string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Hosts          []string          `json:"hosts,omitempty" jsonschema:"minLength=1,maxLength=512"` // what its model needs, as api.example.com:443
	Autonomy       *HarnessAutonomy  `json:"autonomy,omitempty"`
	ExtraArgs      []string          `json:"extra_args,omitempty"` // after args and after resume_args; taken as they are
}

// The interfaces of models that a NativeAdapter speaks.
const (
	APIAnthropic       = "anthropic"
	APIOpenAIResponses = "openai-responses"
	APIOpenAIChat      = "openai-chat"
	APIOllama          = "ollama"
)

// A NativeProvider says where the model of deed's own agent is.
type NativeProvider struct {
	API     string `json:"api" jsonschema:"enum=anthropic,enum=openai-responses,enum=openai-chat,enum=ollama"`
	BaseURL string `json:"base_url,omitempty"`                           // absent: the provider's own
	KeyEnv  string `json:"key_env,omitempty" jsonschema:"maxLength=512"` // the variable that holds the key; absent: the provider's own
}

// NativeTools lists the tools of deed's own agent.
var NativeTools = []string{
	"read", "list", "search", "edit", "write", "shell", "apply_patch", "todo", "task_complete", "ask", "delegate",
}

// NativeSubagents bounds what deed's own agent may delegate. A zero leaves that bound to deed.
type NativeSubagents struct {
	MaxDepth int `json:"max_depth,omitempty" jsonschema:"minimum=0,maximum=8"`
	MaxCount int `json:"max_count,omitempty" jsonschema:"minimum=0,maximum=256"`   // in the whole attempt
	MaxTurns int `json:"max_turns,omitempty" jsonschema:"minimum=0,maximum=10000"` // of each
}

// Bounds of a NativeAdapter's numbers.
const (
	MaxTokens    = 100_000_000
	MinCompactAt = 0.1
	MaxCompactAt = 0.95
)

// A NativeAdapter runs deed's own agent: no program but deed and a model.
type NativeAdapter struct {
	Schema          string            `json:"schema,omitempty"`
	AdapterID       string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind            string            `json:"kind" jsonschema:"enum=native"`
	Provider        NativeProvider    `json:"provider"`
	Model           string            `json:"model" jsonschema:"minLength=1,maxLength=512"`
	TimeoutMS       int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	ContextTokens   int64             `json:"context_tokens,omitempty" jsonschema:"minimum=0,maximum=100000000"`    // the model's window; absent: what is known of the model
	MaxOutputTokens int64             `json:"max_output_tokens,omitempty" jsonschema:"minimum=0,maximum=100000000"` // of one answer; absent: what is known of the model
	Tools           []string          `json:"tools,omitempty" jsonschema:"enum=read,enum=list,enum=search,enum=edit,enum=write,enum=shell,enum=apply_patch,enum=todo,enum=task_complete,enum=ask,enum=delegate"`
	Subagents       *NativeSubagents  `json:"subagents,omitempty"`
	CompactAt       *float64          `json:"compact_at,omitempty" jsonschema:"minimum=0.1,maximum=0.95"` // the share of the window at which the conversation is shortened
	EnvFile         string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env             map[string]string `json:"env,omitempty"`
}

// A PackagedAdapter runs a provider of a runtime package: one request on its standard input, one outcome on its standard
// output. Which provider that is follows from its backend, which has no default.
type PackagedAdapter struct {
	Schema               string            `json:"schema,omitempty"`
	AdapterID            string            `json:"adapter_id" jsonschema:"minLength=1,maxLength=512"`
	Kind                 string            `json:"kind" jsonschema:"enum=packaged"`
	Backend              string            `json:"backend" jsonschema:"minLength=1,maxLength=512"`
	Selector             string            `json:"selector,omitempty" jsonschema:"maxLength=512"`                  // the provider's id, where several serve the backend
	Runtime              string            `json:"runtime,omitempty" jsonschema:"maxLength=512"`                   // the package's id; absent: any that serves the backend
	RuntimeDirs          []string          `json:"runtime_dirs,omitempty" jsonschema:"minLength=1,maxLength=4096"` // packages, or directories of them, besides those of the home and of the project
	Model                string            `json:"model,omitempty" jsonschema:"maxLength=512"`
	Config               json.RawMessage   `json:"config,omitempty"` // executor.config of the request, an object
	RequiredCapabilities []string          `json:"required_capabilities,omitempty" jsonschema:"minLength=1,maxLength=512"`
	SecretEnv            []string          `json:"secret_env,omitempty" jsonschema:"minLength=1,maxLength=512"` // names of secrets that the provider gets
	Hosts                []string          `json:"hosts,omitempty" jsonschema:"minLength=1,maxLength=512"`      // what its model needs, as api.example.com:443
	TimeoutMS            int64             `json:"timeout_ms" jsonschema:"minimum=1,maximum=604800000"`
	EnvFile              string            `json:"env_file,omitempty" jsonschema:"maxLength=4096"`
	Env                  map[string]string `json:"env,omitempty"`
}

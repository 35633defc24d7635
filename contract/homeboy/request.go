package homeboy

import (
	"fmt"
	"strconv"
	"strings"
)

// A Request is what a provider command reads from its standard input: one task, who runs it, on what and within which
// limits. The members behind Metadata are filled in by the host.
type Request struct {
	Schema                  string                `json:"schema" jsonschema:"minLength=1"`
	TaskID                  string                `json:"task_id" jsonschema:"minLength=1,maxLength=512"`
	GroupKey                string                `json:"group_key,omitempty"`
	ParentPlanID            string                `json:"parent_plan_id,omitempty"`
	Executor                Executor              `json:"executor"`
	Instructions            string                `json:"instructions" jsonschema:"minLength=1"`
	Inputs                  Value                 `json:"inputs,omitempty"`
	SourceRefs              []SourceRef           `json:"source_refs,omitempty"`
	Workspace               *Workspace            `json:"workspace,omitempty"`
	ComponentContracts      []map[string]Value    `json:"component_contracts,omitempty"` // opaque objects
	Policy                  *Policy               `json:"policy,omitempty"`
	Limits                  *Limits               `json:"limits,omitempty"`
	ExpectedArtifacts       []string              `json:"expected_artifacts,omitempty"` // the older form: each is a required declaration
	ArtifactDeclarations    []ArtifactDeclaration `json:"artifact_declarations,omitempty"`
	OutputDeclarations      []OutputDeclaration   `json:"output_declarations,omitempty"`
	RuntimeTools            []RuntimeTool         `json:"runtime_tools,omitempty"`
	Metadata                Value                 `json:"metadata,omitempty"`
	ArtifactsPath           string                `json:"artifacts_path,omitempty"`
	ArtifactsPathProvenance *ArtifactsProvenance  `json:"artifacts_path_provenance,omitempty"`
	ResolvedRuntimeTools    []ResolvedRuntimeTool `json:"resolved_runtime_tools,omitempty"`
	Extra                   Extra                 `json:"-"`
}

// An Executor says who runs a task. There is no default backend.
type Executor struct {
	Backend              string            `json:"backend" jsonschema:"minLength=1,maxLength=512"`
	Selector             string            `json:"selector,omitempty"` // the id of a provider
	Runtime              string            `json:"runtime,omitempty"`  // the id of a package; never an object
	RuntimeSelection     *RuntimeSelection `json:"runtime_selection,omitempty"`
	RequiredCapabilities []string          `json:"required_capabilities,omitempty"`
	SecretEnv            []string          `json:"secret_env,omitempty"` // names, never values
	Model                string            `json:"model,omitempty"`
	Config               map[string]Value  `json:"config"` // always an object: command-line executors demand it
	Extra                Extra             `json:"-"`
}

// A RuntimeSelection says which runtime, provider and model were asked for.
type RuntimeSelection struct {
	RuntimeID          string `json:"runtime_id,omitempty"`
	ExecutorBackend    string `json:"executor_backend,omitempty"`
	ExecutorProviderID string `json:"executor_provider_id,omitempty"`
	AIProviderID       string `json:"ai_provider_id,omitempty"`
	Model              string `json:"model,omitempty"`
	SubstrateRef       string `json:"substrate_ref,omitempty"`
	Extra              Extra  `json:"-"`
}

// A SourceRef points at where a task came from.
type SourceRef struct {
	Kind     string `json:"kind" jsonschema:"minLength=1"`
	URI      string `json:"uri" jsonschema:"minLength=1"`
	Revision string `json:"revision,omitempty"`
	Extra    Extra  `json:"-"`
}

// The modes of a workspace. An absent one is ephemeral.
const (
	WorkspaceEphemeral    = "ephemeral"
	WorkspaceExisting     = "existing"
	WorkspaceMaterialized = "materialized"
)

// WorkspaceModes lists every mode of a workspace.
var WorkspaceModes = []string{WorkspaceEphemeral, WorkspaceExisting, WorkspaceMaterialized}

// WorkspaceComponent is the kind of workspace that is a worktree of a component.
const WorkspaceComponent = "component-worktree"

// A Workspace says where a task works.
type Workspace struct {
	Kind            string            `json:"kind,omitempty"`
	Mode            string            `json:"mode,omitempty" jsonschema:"enum=ephemeral,enum=existing,enum=materialized"`
	Root            string            `json:"root,omitempty"` // becomes the working directory
	Slug            string            `json:"slug,omitempty"`
	ComponentID     string            `json:"component_id,omitempty"`
	Branch          string            `json:"branch,omitempty"`
	BaseRef         string            `json:"base_ref,omitempty"`
	TaskURL         string            `json:"task_url,omitempty"`
	Cleanup         string            `json:"cleanup,omitempty"`
	Attempt         *WorkspaceAttempt `json:"attempt,omitempty"`
	Materialization Value             `json:"materialization,omitempty"`
	Extra           Extra             `json:"-"`
}

// A WorkspaceAttempt identifies the workspace of one attempt. The host fills it in.
type WorkspaceAttempt struct {
	Identity        string    `json:"identity,omitempty"`
	BaseRef         string    `json:"base_ref,omitempty"`
	BaseFingerprint string    `json:"base_fingerprint,omitempty"`
	Adoption        *Adoption `json:"adoption,omitempty"`
	Extra           Extra     `json:"-"`
}

// An Adoption says that an attempt goes on from the work of another.
type Adoption struct {
	SourceAttempt    string `json:"source_attempt,omitempty"`
	PatchPath        string `json:"patch_path,omitempty"`
	PatchFingerprint string `json:"patch_fingerprint,omitempty"`
	ProviderBackend  string `json:"provider_backend,omitempty"`
	ProviderModel    string `json:"provider_model,omitempty"`
	Decision         string `json:"decision,omitempty"`
	Extra            Extra  `json:"-"`
}

// What an absent policy member means.
const (
	ReadWorkspace      = "workspace"
	WriteArtifactsOnly = "artifacts_only"
	ApplyProposeOnly   = "propose_only"
)

// A Policy says what a task may read, write and have applied.
type Policy struct {
	Read  string      `json:"read,omitempty"`
	Write string      `json:"write,omitempty"`
	Apply string      `json:"apply,omitempty"`
	Tools *ToolPolicy `json:"tools,omitempty"`
	Extra Extra       `json:"-"`
}

// The places where a tool runs.
const (
	LocationDisabled     = "disabled"
	LocationRunner       = "runner"
	LocationControlPlane = "control_plane"
)

// Locations lists every place where a tool runs.
var Locations = []string{LocationDisabled, LocationRunner, LocationControlPlane}

// A ToolPolicy says which tools an agent has, and where they run.
type ToolPolicy struct {
	Schema          string              `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-tool-policy/v1"`
	DefaultLocation string              `json:"default_location,omitempty" jsonschema:"enum=disabled,enum=runner,enum=control_plane"`
	Tools           map[string]ToolRule `json:"tools,omitempty"`
	Commands        *CommandPolicy      `json:"commands,omitempty"`
	Extra           Extra               `json:"-"`
}

// A ToolRule is the policy for one tool.
type ToolRule struct {
	ExecutionLocation string `json:"execution_location,omitempty" jsonschema:"enum=disabled,enum=runner,enum=control_plane"`
	TimeoutMS         int64  `json:"timeout_ms,omitempty" jsonschema:"minimum=0"`
	Reason            string `json:"reason,omitempty"`
	Extra             Extra  `json:"-"`
}

// The modes of a command policy: in a deny list an allow entry beats a deny entry, in an allow list the other way round.
const (
	CommandDenyList  = "deny_list"
	CommandAllowList = "allow_list"
)

// CommandModes lists every mode of a command policy.
var CommandModes = []string{CommandDenyList, CommandAllowList}

// A CommandPolicy says which commands may run. An empty one constrains nothing.
type CommandPolicy struct {
	Schema string        `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-command-policy/v1"`
	Mode   string        `json:"mode,omitempty" jsonschema:"enum=deny_list,enum=allow_list"`
	Deny   []CommandRule `json:"deny,omitempty"`
	Allow  []CommandRule `json:"allow,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Extra  Extra         `json:"-"`
}

// A CommandRule matches a command by its words: * within one word, ** over several.
type CommandRule struct {
	Pattern string `json:"pattern" jsonschema:"minLength=1"`
	Reason  string `json:"reason,omitempty"`
	Extra   Extra  `json:"-"`
}

// Limits bound an attempt. Zero is not set; a zero that was written is a fault.
type Limits struct {
	TimeoutMS               int64    `json:"timeout_ms,omitempty" jsonschema:"minimum=1"`
	MaxRuntimeMS            int64    `json:"max_runtime_ms,omitempty" jsonschema:"minimum=1"`
	ExecutionDeadlineUnixMS int64    `json:"execution_deadline_unix_ms,omitempty" jsonschema:"minimum=1"`
	LivenessTimeoutMS       int64    `json:"liveness_timeout_ms,omitempty" jsonschema:"minimum=1"`
	MaxOutputBytes          int64    `json:"max_output_bytes,omitempty" jsonschema:"minimum=1"`
	ExclusiveResourceKeys   []string `json:"exclusive_resource_keys,omitempty"`
	TaskTimeoutSeconds      int64    `json:"task_timeout_seconds,omitempty" jsonschema:"minimum=1"` // older; counts only without a limit in ms
	Extra                   Extra    `json:"-"`
}

// DefaultTimeoutMS is the wall clock of an attempt whose request sets none: 20 minutes.
const DefaultTimeoutMS = 1_200_000

// WallClockMS returns the wall clock limit of an attempt in milliseconds. The absolute deadline is apart from it.
func (l *Limits) WallClockMS() int64 {
	switch {
	case l == nil:
		return DefaultTimeoutMS
	case l.TimeoutMS > 0:
		return l.TimeoutMS
	case l.MaxRuntimeMS > 0:
		return l.MaxRuntimeMS
	case l.TaskTimeoutSeconds > 0 && l.TaskTimeoutSeconds <= maxSeconds:
		return l.TaskTimeoutSeconds * 1000
	}
	return DefaultTimeoutMS
}

// maxSeconds keeps a limit in seconds within what milliseconds can hold.
const maxSeconds = 1 << 50

// An ArtifactDeclaration is a file that a task is to make.
type ArtifactDeclaration struct {
	Schema         string `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-artifact-declaration/v1"`
	Name           string `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Type           string `json:"type,omitempty"`
	ArtifactSchema string `json:"artifact_schema,omitempty"`
	Path           string `json:"path,omitempty"` // below the workspace
	Required       bool   `json:"required,omitempty"`
	Description    string `json:"description,omitempty"`
	Metadata       Value  `json:"metadata,omitempty"`
	Extra          Extra  `json:"-"`
}

// An OutputDeclaration is a structured result that a task is to return under outputs.
type OutputDeclaration struct {
	Name                 string                `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Required             bool                  `json:"required,omitempty"`
	Schema               string                `json:"schema" jsonschema:"minLength=1"` // of the output, not of this record
	StructuralSchema     map[string]Value      `json:"structural_schema,omitempty"`
	MaxBytes             int64                 `json:"max_bytes,omitempty" jsonschema:"minimum=1"`
	EvidenceRelationship *EvidenceRelationship `json:"evidence_relationship,omitempty"`
	Extra                Extra                 `json:"-"`
}

// An EvidenceRelationship ties an output to the evidence that it must come with.
type EvidenceRelationship struct {
	Relationship string      `json:"relationship" jsonschema:"minLength=1"`
	Evidence     EvidenceRef `json:"evidence"`
	Extra        Extra       `json:"-"`
}

// A RuntimeTool is a process that a provider attaches to its agent.
type RuntimeTool struct {
	Schema               string            `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-runtime-tool/v1"`
	ID                   string            `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Transport            string            `json:"transport,omitempty" jsonschema:"enum=stdio"`
	Command              []string          `json:"command" jsonschema:"minItems=1"`
	Env                  map[string]string `json:"env,omitempty"`
	SecretEnv            []string          `json:"secret_env,omitempty"`
	RequiredCapabilities []string          `json:"required_capabilities,omitempty"`
	TimeoutMS            int64             `json:"timeout_ms,omitempty" jsonschema:"minimum=1"`
	Readiness            *ToolReadiness    `json:"readiness,omitempty"`
	Lifecycle            string            `json:"lifecycle,omitempty" jsonschema:"enum=runtime_owned"`
	Extra                Extra             `json:"-"`
}

// TransportStdio and LifecycleRuntime are the only words that a runtime tool has for the two.
const (
	TransportStdio   = "stdio"
	LifecycleRuntime = "runtime_owned"
)

// A ToolReadiness says how a host finds out whether a tool works.
type ToolReadiness struct {
	CommandPrefix   Texts            `json:"command_prefix,omitempty"`
	VersionCommand  []string         `json:"version_command,omitempty"`
	CapabilityProbe *CapabilityProbe `json:"capability_probe,omitempty"`
	Extra           Extra            `json:"-"`
}

// A CapabilityProbe is a command that shows what a tool can do.
type CapabilityProbe struct {
	Argv  []string `json:"argv" jsonschema:"minItems=1"`
	Extra Extra    `json:"-"`
}

// A ResolvedRuntimeTool is what the host made of a RuntimeTool.
type ResolvedRuntimeTool struct {
	Schema          string            `json:"schema,omitempty" jsonschema:"enum=homeboy/resolved-agent-task-runtime-tool/v1"`
	ID              string            `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Transport       string            `json:"transport,omitempty"`
	Executable      string            `json:"executable,omitempty"`
	Argv            []string          `json:"argv,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Version         string            `json:"version,omitempty"`
	Capabilities    []string          `json:"capabilities,omitempty"`
	CapabilityProbe *CapabilityProbe  `json:"capability_probe,omitempty"`
	EnvNames        []string          `json:"env_names,omitempty"`
	SecretEnvNames  []string          `json:"secret_env_names,omitempty"`
	Readiness       *ResolvedState    `json:"readiness,omitempty"`
	Lifecycle       string            `json:"lifecycle,omitempty"`
	Extra           Extra             `json:"-"`
}

// A ResolvedState says whether a tool works, and how that was found out.
type ResolvedState struct {
	Status   string         `json:"status,omitempty"`
	Evidence *ToolReadyMark `json:"evidence,omitempty"`
	Extra    Extra          `json:"-"`
}

// A ToolReadyMark is the evidence that a tool works: version_command, protocol or declared_probe.
type ToolReadyMark struct {
	Kind    string `json:"kind,omitempty"`
	Success bool   `json:"success,omitempty"`
	Extra   Extra  `json:"-"`
}

// ArtifactsProvenance says whose the directory for artifacts is.
type ArtifactsProvenance struct {
	Owner    string `json:"owner,omitempty"`
	Locality string `json:"locality,omitempty"`
	PlanID   string `json:"plan_id,omitempty"`
	RunID    string `json:"run_id,omitempty"`
	TaskID   string `json:"task_id,omitempty"`
	Attempt  int64  `json:"attempt,omitempty"`
	Extra    Extra  `json:"-"`
}

// CapabilityRequirements is the block `capability_requirements` of a request's metadata, the newer way to say what a
// task needs.
type CapabilityRequirements struct {
	Schema        string         `json:"schema,omitempty"`
	Provider      []string       `json:"provider,omitempty"`
	Runner        []string       `json:"runner,omitempty"`
	AttachedTools []AttachedTool `json:"attached_tools,omitempty"`
	Extra         Extra          `json:"-"`
}

// An AttachedTool contributes capabilities if it resolves.
type AttachedTool struct {
	ID          string   `json:"id" jsonschema:"minLength=1"`
	Contributes []string `json:"contributes,omitempty"`
	Extra       Extra    `json:"-"`
}

// ReadRequest reads a request as tolerantly as it can. An absent schema is filled in, and so is an absent config. It
// returns an error only for what is not one JSON object, or for another schema; Validate tells the rest.
func ReadRequest(data []byte) (Request, []Warning, error) {
	var q Request
	r, err := document(data, &q)
	if err != nil {
		return Request{}, nil, fmt.Errorf("read request: %w", err)
	}
	if q.Schema == "" {
		q.Schema = SchemaRequest
		r.warn("$.schema", WarnMissing, "is missing; it is taken as "+SchemaRequest, nil)
	}
	if q.Executor.Config == nil {
		q.Executor.Config = map[string]Value{}
	}
	return q, r.all(), nil
}

// mend takes an object under runtime for the selection that it is, and keeps a string: the JavaScript side means the
// id of a package by it.
func (e *Executor) mend(m *members) {
	if raw := m.raw["runtime"]; !raw.Null() && isObject(raw) {
		m.alias("runtime_selection", "runtime")
		if !m.raw["runtime"].Null() {
			m.r.warn(m.at+".runtime", WarnDropped, "is an object beside runtime_selection, which counts", raw)
		}
		delete(m.raw, "runtime") // command-line executors compare it with a string
	}
	if raw := m.raw["config"]; !raw.Null() && !isObject(raw) {
		m.r.warn(m.at+".config", WarnDropped, "is "+says(raw)+" and should be an object; it is left out", raw)
		delete(m.raw, "config")
	}
}

func isObject(raw Value) bool {
	t := strings.TrimSpace(string(raw))
	return t != "" && t[0] == '{'
}

func (s *RuntimeSelection) mend(m *members) {
	m.alias("executor_backend", "backend")
	m.alias("executor_provider_id", "selector")
	m.alias("ai_provider_id", "provider")
}

func (p *Policy) mend(m *members) { m.alias("tools", "toolPolicy") }

func (s *SourceRef) mend(m *members) { m.alias("uri", "url", "path") }

// widen takes a bare name for a declaration.
func (a *ArtifactDeclaration) widen(raw Value) Value { return wide("name", raw) }

func (l *Limits) mend(m *members) {
	m.alias("task_timeout_seconds", "taskTimeoutSeconds")
	// Seconds may be fractions in JavaScript; a limit is rounded up, never down to nothing.
	raw := m.raw["task_timeout_seconds"]
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f > 0 && f < 1 {
		m.r.warn(m.at+".task_timeout_seconds", WarnForm, "is less than a second; it is rounded up", raw)
		m.raw["task_timeout_seconds"] = Value("1")
	}
}

// Declarations returns the artifact declarations of a request in their canonical form: names trimmed, blanks dropped,
// the first of each name, then each expected artifact that is not declared, as a required one.
func (q Request) Declarations() []ArtifactDeclaration {
	var out []ArtifactDeclaration
	seen := map[string]bool{}
	add := func(d ArtifactDeclaration) {
		d.Name = strings.TrimSpace(d.Name)
		if d.Name == "" || seen[d.Name] {
			return
		}
		seen[d.Name] = true
		out = append(out, d)
	}
	for _, d := range q.ArtifactDeclarations {
		add(d)
	}
	for _, name := range q.ExpectedArtifacts {
		add(ArtifactDeclaration{Name: name, Required: true})
	}
	return out
}

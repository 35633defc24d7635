package homeboy

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/deedrun/deed/contract/fault"
)

// The lifecycle states of a provider. Others are kept; an absent one counts as active.
const (
	StatusActive       = "active"
	StatusAvailable    = "available" // the same as active, in older packages
	StatusExperimental = "experimental"
	StatusDeprecated   = "deprecated"
	StatusDisabled     = "disabled"
)

// ProviderStatusWords lists the lifecycle states of a provider.
var ProviderStatusWords = []string{StatusActive, StatusAvailable, StatusExperimental, StatusDeprecated, StatusDisabled}

// RedactedMetadataKeys are the metadata keys that never show a value, whatever a manifest adds.
var RedactedMetadataKeys = []string{"secret_env_values", "secretEnvValues", "secrets"}

// A RuntimeManifest is the `<id>.json` of a runtime package. In an installed package the name of its directory counts
// in place of ID.
type RuntimeManifest struct {
	Schema                   string             `json:"schema" jsonschema:"minLength=1"`
	ID                       string             `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Name                     string             `json:"name,omitempty"`
	Label                    string             `json:"label,omitempty"`
	Version                  string             `json:"version,omitempty"`
	Description              string             `json:"description,omitempty"`
	AgentTaskExecutors       []ExecutorProvider `json:"agent_task_executors"`
	ContractProducers        []ContractProducer `json:"contract_producers,omitempty"`
	MinimumVersion           string             `json:"minimum_version,omitempty"`
	Requires                 map[string]string  `json:"requires,omitempty"`
	Compatibility            Value              `json:"compatibility,omitempty"`
	ExternalStorageRetention Value              `json:"external_storage_retention,omitempty"`
	CIMaterialization        Value              `json:"ci_materialization,omitempty"`
	Materialization          *Materialization   `json:"materialization,omitempty"`
	Extra                    Extra              `json:"-"`
}

// An ExecutorProvider declares one provider command of a package, and what may be relied on.
type ExecutorProvider struct {
	Schema                 string             `json:"schema,omitempty" jsonschema:"enum=homeboy/agent-task-executor-provider/v1"`
	ID                     string             `json:"id" jsonschema:"minLength=1,maxLength=512"`
	Label                  string             `json:"label,omitempty"`
	Backend                string             `json:"backend" jsonschema:"minLength=1,maxLength=512"`
	Command                string             `json:"command,omitempty"`      // run by a shell after interpolation
	CommandArgv            []string           `json:"command_argv,omitempty"` // run without a shell; wins over Command
	Invocation             *CommandInvocation `json:"invocation,omitempty"`   // wins over both
	ReadinessInvocation    *CommandInvocation `json:"readiness_invocation,omitempty"`
	Runtime                string             `json:"runtime,omitempty"`
	RuntimeID              string             `json:"runtime_id,omitempty"`
	RequestSchema          string             `json:"request_schema,omitempty" jsonschema:"enum=homeboy/agent-task-request/v1"`
	OutcomeSchema          string             `json:"outcome_schema,omitempty" jsonschema:"enum=homeboy/agent-task-outcome/v1"`
	RequestRequiredFields  []string           `json:"request_required_fields,omitempty"`
	OutcomeStatuses        []string           `json:"outcome_statuses,omitempty"`
	FailureClassifications []string           `json:"failure_classifications,omitempty"`
	RedactedMetadataKeys   []string           `json:"redacted_metadata_keys,omitempty"`
	Capabilities           []string           `json:"capabilities,omitempty"`
	RunnerReadiness        []ReadinessCheck   `json:"runner_readiness,omitempty"`
	RoleAliases            *RoleAliases       `json:"role_aliases,omitempty"`

	WorkspaceMaterialization *WorkspaceMaterialization  `json:"workspace_materialization,omitempty"`
	SecretRequirements       []SecretRequirement        `json:"secret_requirements,omitempty"`
	SecretEnvRequirements    []SecretEnvRequirement     `json:"secret_env_requirements,omitempty"`
	ProviderDefaults         map[string]ProviderDefault `json:"provider_defaults,omitempty"` // by AI provider, not by backend
	Diagnostics              *ProviderDiagnostics       `json:"diagnostics,omitempty"`
	Status                   string                     `json:"status,omitempty"`
	IntegrationContract      string                     `json:"integration_contract,omitempty"`
	DefaultBackend           *bool                      `json:"default_backend,omitempty"` // read, and never used to select

	RuntimeExecutionContracts map[string]RuntimeExecutionContract `json:"runtime_execution_contracts,omitempty"`
	ToolPresets               []string                            `json:"tool_presets,omitempty"`
	WorkspaceTools            *WorkspaceTools                     `json:"workspace_tools,omitempty"`
	PublicationTools          []string                            `json:"publication_tools,omitempty"`
	Lifecycle                 *ProviderLifecycle                  `json:"lifecycle,omitempty"`
	ArtifactContract          map[string][]string                 `json:"artifact_contract,omitempty"`
	ProviderPreflight         Value                               `json:"provider_preflight,omitempty"`
	ImmediateFailurePatterns  []FailurePattern                    `json:"immediate_failure_patterns,omitempty"`
	DependencyFailurePatterns []DependencyPattern                 `json:"dependency_failure_patterns,omitempty"`
	TimeoutArtifactDiscovery  *ArtifactDiscovery                  `json:"timeout_artifact_discovery,omitempty"`
	RuntimeContract           Value                               `json:"runtime_contract,omitempty"`
	ResultContract            Value                               `json:"result_contract,omitempty"`
	Extra                     Extra                               `json:"-"`
}

// A CommandInvocation is a command as an argv, run without a shell.
type CommandInvocation struct {
	Schema       string               `json:"schema,omitempty"`
	Argv         []string             `json:"argv,omitempty"`
	Command      string               `json:"command,omitempty"` // with Args, another way to write Argv
	Args         []string             `json:"args,omitempty"`
	Cwd          string               `json:"cwd,omitempty"`
	Env          []InvocationEnv      `json:"env,omitempty"`
	EnvAllowlist []string             `json:"env_allowlist,omitempty"`
	Display      string               `json:"display,omitempty"`
	Redaction    *InvocationRedaction `json:"redaction,omitempty"`
	Stdin        string               `json:"stdin,omitempty"`
	Stdout       string               `json:"stdout,omitempty"`
	Stderr       string               `json:"stderr,omitempty"`
	Extra        Extra                `json:"-"`
}

// The channels of an invocation that says nothing about them.
const (
	StdinRequest  = "request_json"
	StdoutOutcome = "outcome_json"
	StderrInherit = "inherit_on_failure"
)

// Words returns the argv of the invocation, in whichever of the two forms it is written.
func (c CommandInvocation) Words() []string {
	if len(c.Argv) > 0 || c.Command == "" {
		return c.Argv
	}
	return append([]string{c.Command}, c.Args...)
}

// An InvocationEnv is one variable of an invocation.
type InvocationEnv struct {
	Name     string `json:"name" jsonschema:"minLength=1"`
	Source   string `json:"source,omitempty"`
	Value    string `json:"value,omitempty"`
	Required *bool  `json:"required,omitempty"`
	Redacted *bool  `json:"redacted,omitempty"`
	Extra    Extra  `json:"-"`
}

// An InvocationRedaction says what of an invocation is never shown.
type InvocationRedaction struct {
	ArgvIndices []int64  `json:"argv_indices,omitempty"`
	Env         []string `json:"env,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
	Extra       Extra    `json:"-"`
}

// A ReadinessCheck is one thing that must be there before a provider can be dispatched.
type ReadinessCheck struct {
	ID                 string                 `json:"id,omitempty"`
	Label              string                 `json:"label,omitempty"`
	Executable         *ExecutableRequirement `json:"executable,omitempty"`
	EnvPath            *EnvPath               `json:"env_path,omitempty"`
	SecretEnv          Texts                  `json:"secret_env,omitempty"`
	Invocation         *CommandInvocation     `json:"invocation,omitempty"`
	RequiredExtensions []string               `json:"required_extensions,omitempty"`
	Remediation        string                 `json:"remediation,omitempty"`
	Extra              Extra                  `json:"-"`
}

// An ExecutableRequirement names a program: the first variable of Env that is set holds its path, else the first of
// Candidates on the PATH counts.
type ExecutableRequirement struct {
	ID             string `json:"id,omitempty"`
	Label          string `json:"label,omitempty"`
	Env            Texts  `json:"env,omitempty"`
	Candidates     Texts  `json:"candidates,omitempty"`
	VersionCommand Texts  `json:"version_command,omitempty"`
	InstallHint    string `json:"install_hint,omitempty"`
	Extra          Extra  `json:"-"`
}

// An EnvPath is a variable that must hold a path that exists.
type EnvPath struct {
	Env           Texts  `json:"env,omitempty"`
	Revision      string `json:"revision,omitempty"`
	CanonicalPath string `json:"canonical_path,omitempty"`
	Extra         Extra  `json:"-"`
}

// RoleAliases map what a provider calls things to generic roles. Kinds may hold a * that stands for any text.
type RoleAliases struct {
	ArtifactKinds     map[string]Texts `json:"artifact_kinds,omitempty"`
	ArtifactFilenames map[string]Texts `json:"artifact_filenames,omitempty"`
	ArtifactRoles     map[string]Texts `json:"artifact_roles,omitempty"`
	Outputs           map[string]Texts `json:"outputs,omitempty"`
	Metadata          map[string]Texts `json:"metadata,omitempty"`
	Extra             Extra            `json:"-"`
}

// The working directories that a provider can ask for. Others are kept.
const (
	CwdGitCheckout      = "git_checkout"
	CwdRequestWorkspace = "request_workspace"
	CwdRuntimePackage   = "runtime_package"
)

// The scopes that a provider may write to. Others are kept.
const (
	WriteWorkspace = "workspace"
	WriteArtifacts = "artifacts"
	WritePatch     = "patch"
	WriteNone      = "none"
)

// A WorkspaceMaterialization says what a provider expects of its workspace before it starts.
type WorkspaceMaterialization struct {
	Cwd           string           `json:"cwd,omitempty"`
	RequiresGit   *bool            `json:"requires_git,omitempty"`
	WriteScope    string           `json:"write_scope,omitempty"`
	ArtifactPaths []string         `json:"artifact_paths,omitempty"`
	Spec          Value            `json:"spec,omitempty"`
	Mounts        []WorkspaceMount `json:"mounts,omitempty"`
	ApplyBack     *ApplyBack       `json:"apply_back,omitempty"`
	Extra         Extra            `json:"-"`
}

// NeedsGit reports whether the workspace must be a git checkout.
func (w *WorkspaceMaterialization) NeedsGit() bool {
	if w == nil {
		return false
	}
	return w.Cwd == CwdGitCheckout || isTrue(w.RequiresGit) || w.ApplyBack != nil && isTrue(w.ApplyBack.RequiresGitCheckout)
}

func isTrue(b *bool) bool { return b != nil && *b }

// A WorkspaceMount is a further tree that a provider sees.
type WorkspaceMount struct {
	Handle          string `json:"handle,omitempty"`
	Repo            string `json:"repo,omitempty"`
	HostPath        string `json:"host_path,omitempty"`
	TargetPath      string `json:"target_path,omitempty"`
	Mode            string `json:"mode,omitempty"`
	Materialization Value  `json:"materialization,omitempty"`
	Metadata        Value  `json:"metadata,omitempty"`
	Extra           Extra  `json:"-"`
}

// ApplyBack says how what a provider changed comes back.
type ApplyBack struct {
	MutationArtifacts   Texts  `json:"mutation_artifacts,omitempty"`
	RequiresGitCheckout *bool  `json:"requires_git_checkout,omitempty"`
	Strategy            string `json:"strategy,omitempty"`
	Extra               Extra  `json:"-"`
}

// A SecretRequirement names a secret that a provider may need, by Name or by Env.
type SecretRequirement struct {
	Name     string `json:"name,omitempty"`
	Env      Texts  `json:"env,omitempty"`
	Required *bool  `json:"required,omitempty"` // absent is true
	Purpose  string `json:"purpose,omitempty"`
	When     Value  `json:"when,omitempty"`
	Extra    Extra  `json:"-"`
}

// Names returns every environment variable that the requirement names.
func (s SecretRequirement) Names() []string {
	names := append([]string(nil), s.Env...)
	if s.Name != "" {
		for _, n := range names {
			if n == s.Name {
				return names
			}
		}
		names = append([]string{s.Name}, names...)
	}
	return names
}

// A SecretEnvRequirement is a group of secret names that is needed when its condition holds for a request.
type SecretEnvRequirement struct {
	Schema           string                  `json:"schema,omitempty"`
	ID               string                  `json:"id,omitempty"`
	Source           string                  `json:"source,omitempty"`
	Env              Texts                   `json:"env,omitempty"`
	When             *SecretCondition        `json:"when,omitempty"`
	Required         *bool                   `json:"required,omitempty"`
	Purpose          string                  `json:"purpose,omitempty"`
	SecretEnvSources map[string]SecretSource `json:"secret_env_sources,omitempty"`
	Extra            Extra                   `json:"-"`
}

// A SecretCondition is one test of a request, or several. No condition always holds.
type SecretCondition struct {
	Any    []SecretCondition `json:"any,omitempty"`
	All    []SecretCondition `json:"all,omitempty"`
	Path   string            `json:"path,omitempty"`   // dotted; the bare path provider is executor.config.provider
	Equals Value             `json:"equals,omitempty"` // absent: the path must exist
	Extra  Extra             `json:"-"`
}

// A ProviderDefault is what a package chooses for one AI provider when the request does not.
type ProviderDefault struct {
	Model             string                  `json:"model,omitempty"`
	Command           string                  `json:"command,omitempty"`
	CommandArgs       []string                `json:"command_args,omitempty"`
	SecretEnv         Texts                   `json:"secret_env,omitempty"`
	RequiredSecretEnv Texts                   `json:"required_secret_env,omitempty"`
	OptionalSecretEnv Texts                   `json:"optional_secret_env,omitempty"`
	SecretEnvSources  map[string]SecretSource `json:"secret_env_sources,omitempty"`
	Extra             Extra                   `json:"-"`
}

// The sources of a secret.
const (
	SecretFromEnv            = "env"
	SecretFromConfig         = "config"
	SecretFromJSONFile       = "json-file"
	SecretFromJWTExpiration  = "json-file-jwt-expiration"
	SecretFromKeychain       = "keychain"
	SecretFromKeychainBundle = "keychain-bundle"
)

// A SecretSource says where the value of one variable comes from.
type SecretSource struct {
	Source         string   `json:"source,omitempty"`
	EnvVar         string   `json:"env_var,omitempty"`
	Name           string   `json:"name,omitempty"`
	Path           string   `json:"path,omitempty"`
	Field          string   `json:"field,omitempty"`
	FallbackFields []string `json:"fallback_fields,omitempty"`
	Value          *string  `json:"value,omitempty"` // a default that is no secret
	Scope          string   `json:"scope,omitempty"`
	Extra          Extra    `json:"-"`
}

// ProviderDiagnostics says what a provider writes or returns beside its status.
type ProviderDiagnostics struct {
	OutcomeFields []string `json:"outcome_fields,omitempty"`
	ArtifactKinds []string `json:"artifact_kinds,omitempty"`
	Extra         Extra    `json:"-"`
}

// A RuntimeExecutionContract maps a generic kind of execution to the field of a runtime profile that names the
// ability, and to the capabilities that this needs.
type RuntimeExecutionContract struct {
	AbilityField         string   `json:"ability_field" jsonschema:"minLength=1"`
	RequiredCapabilities []string `json:"required_capabilities,omitempty"`
	Extra                Extra    `json:"-"`
}

// WorkspaceTools names the tools that a provider offers its agent.
type WorkspaceTools struct {
	Readonly  []string `json:"readonly,omitempty"`
	Readwrite []string `json:"readwrite,omitempty"`
	Extra     Extra    `json:"-"`
}

// A ProviderLifecycle says how a provider ends.
type ProviderLifecycle struct {
	Completion            string `json:"completion,omitempty"`
	Cancellation          string `json:"cancellation,omitempty"`
	MaxConcurrencyDefault int64  `json:"max_concurrency_default,omitempty"`
	Extra                 Extra  `json:"-"`
}

// A FailurePattern recognises a failure of a provider's service in what the provider said.
type FailurePattern struct {
	ID               string `json:"id,omitempty"`
	ErrorContainsAny Texts  `json:"error_contains_any,omitempty"`
	Retryable        *bool  `json:"retryable,omitempty"`
	ErrorRefPattern  string `json:"error_ref_pattern,omitempty"`
	LogLookup        Value  `json:"log_lookup,omitempty"`
	FallbackAction   Value  `json:"fallback_action,omitempty"`
	Extra            Extra  `json:"-"`
}

// A DependencyPattern recognises a dependency that is not there.
type DependencyPattern struct {
	ID               string `json:"id,omitempty"`
	Label            string `json:"label,omitempty"`
	PathContains     Texts  `json:"path_contains,omitempty"`
	ErrorContainsAny Texts  `json:"error_contains_any,omitempty"`
	Remediation      string `json:"remediation,omitempty"`
	Extra            Extra  `json:"-"`
}

// An ArtifactDiscovery says where to look for artifacts of a run that was ended.
type ArtifactDiscovery struct {
	Paths            []string          `json:"paths,omitempty"`
	MetadataPathKeys []string          `json:"metadata_path_keys,omitempty"`
	ConfigPathKeys   []string          `json:"config_path_keys,omitempty"`
	ArtifactPatterns []ArtifactPattern `json:"artifact_patterns,omitempty"`
	Extra            Extra             `json:"-"`
}

// An ArtifactPattern recognises an artifact by its file name.
type ArtifactPattern struct {
	ID               string `json:"id,omitempty"`
	Kind             string `json:"kind" jsonschema:"minLength=1"`
	FilenamePatterns Texts  `json:"filename_patterns,omitempty"`
	FilenameContains Texts  `json:"filename_contains,omitempty"`
	Extensions       Texts  `json:"extensions,omitempty"`
	Mime             string `json:"mime,omitempty"`
	Metadata         Value  `json:"metadata,omitempty"`
	Extra            Extra  `json:"-"`
}

// A ContractProducer declares a script that makes documents of a package.
type ContractProducer struct {
	ID         string            `json:"id,omitempty"`
	Phase      string            `json:"phase,omitempty"`
	Invocation Value             `json:"invocation,omitempty"`
	Produces   []ProducedContent `json:"produces,omitempty"`
	Extra      Extra             `json:"-"`
}

// A ProducedContent is one document that a contract producer makes.
type ProducedContent struct {
	Kind   string `json:"kind,omitempty"`
	Name   string `json:"name,omitempty"`
	Schema string `json:"schema,omitempty"`
	Extra  Extra  `json:"-"`
}

// A Materialization says what a host prepares before any provider of the package can run.
type Materialization struct {
	SourceRoots            []SourceRoot              `json:"source_roots,omitempty"`
	RuntimeSources         Value                     `json:"runtime_sources,omitempty"`
	Preparation            Value                     `json:"preparation,omitempty"`
	Dependencies           []Dependency              `json:"dependencies,omitempty"`
	ExecutableRequirements []ExecutableRequirement   `json:"executable_requirements,omitempty"`
	ReadinessChecks        []ReadinessCheck          `json:"readiness_checks,omitempty"`
	Diagnostics            Value                     `json:"diagnostics,omitempty"`
	EnvPassthrough         []string                  `json:"env_passthrough,omitempty"`
	Workspace              *WorkspaceMaterialization `json:"workspace,omitempty"`
	Extra                  Extra                     `json:"-"`
}

// A SourceRoot is a source tree that a package stands on.
type SourceRoot struct {
	ID          string `json:"id,omitempty"`
	Label       string `json:"label,omitempty"`
	Path        string `json:"path,omitempty"`
	RemoteURL   string `json:"remote_url,omitempty"`
	GitRef      string `json:"git_ref,omitempty"`
	Remediation string `json:"remediation,omitempty"`
	Extra       Extra  `json:"-"`
}

// A Dependency is something that a source root needs.
type Dependency struct {
	ID          string `json:"id,omitempty"`
	Label       string `json:"label,omitempty"`
	SourceRoot  string `json:"source_root,omitempty"`
	Requirement Value  `json:"requirement,omitempty"`
	Extra       Extra  `json:"-"`
}

// mend knows the older names of a provider's members. Both are read where both stand; the canonical one counts.
func (p *ExecutorProvider) mend(m *members) {
	m.alias("command_argv", "argv")
}

// mend knows the other name that documents give a source, and takes an object in its place for the whole.
func (s *SecretSource) mend(m *members) {
	m.alias("source", "kind")
	var inner map[string]Value
	if raw := m.raw["source"]; fault.IsObject(raw) && json.Unmarshal(raw, &inner) == nil {
		m.r.warn(fault.Field(m.at, "source"), WarnForm, "holds the members of the source itself", raw)
		delete(m.raw, "source")
		for name, v := range inner {
			if m.raw[name].Null() {
				m.raw[name] = v
			}
		}
		m.alias("source", "kind")
	}
}

// mend knows the names that the same members have elsewhere.
func (s *SecretRequirement) mend(m *members) { m.alias("env", "secret_env", "secretEnv") }

// mend knows the names that the same members have elsewhere.
func (s *SecretEnvRequirement) mend(m *members) {
	m.alias("env", "secret_env", "secretEnv")
	mendSources(m)
}

// mend knows the older names of a default's members.
func (p *ProviderDefault) mend(m *members) {
	m.alias("secret_env", "secretEnv")
	m.alias("required_secret_env", "requiredSecretEnv")
	m.alias("optional_secret_env", "optionalSecretEnv")
	mendSources(m)
}

func mendSources(m *members) {
	m.alias("secret_env_sources", "secretEnvSources", "credential_sources", "credentialSources")
}

// widen takes a bare string, the older form, for the name of the field.
func (c *RuntimeExecutionContract) widen(raw Value) Value { return wide("ability_field", raw) }

// widen takes a bare name for the whole requirement.
func (s *SecretRequirement) widen(raw Value) Value { return wide("name", raw) }

// widen takes a bare name, or a list of names, for the whole requirement.
func (s *SecretEnvRequirement) widen(raw Value) Value {
	var names Texts
	if names.UnmarshalJSON(raw) != nil {
		return nil
	}
	return Value(`{"env":` + string(raw) + `}`)
}

// widen takes a bare list for an argv.
func (c *CommandInvocation) widen(raw Value) Value {
	var argv Texts
	if _, one := raw.Text(); one || argv.UnmarshalJSON(raw) != nil {
		return nil // a string would need a shell, which this form does not have
	}
	return Value(`{"argv":` + string(raw) + `}`)
}

// wide returns the object that has a bare string as its one member.
func wide(name string, raw Value) Value {
	if _, ok := raw.Text(); !ok {
		return nil
	}
	return Value(`{` + strconv.Quote(name) + `:` + string(raw) + `}`)
}

// ReadManifest reads the manifest of a package as tolerantly as it can and fills in the schema ids that a provider
// left out. It returns an error only for what is not one JSON object; whether the manifest can be used is Validate's
// question, and what it lacks against the contract is Lint's.
func ReadManifest(data []byte) (RuntimeManifest, []Warning, error) {
	var m RuntimeManifest
	r, err := document(data, &m)
	if err != nil {
		return RuntimeManifest{}, nil, fmt.Errorf("read runtime manifest: %w", err)
	}
	for i := range m.AgentTaskExecutors {
		m.AgentTaskExecutors[i].fill()
	}
	return m, r.all(), nil
}

// ReadProvider reads one provider declaration, as ReadManifest reads those of a package.
func ReadProvider(data []byte) (ExecutorProvider, []Warning, error) {
	var p ExecutorProvider
	r, err := document(data, &p)
	if err != nil {
		return ExecutorProvider{}, nil, fmt.Errorf("read provider declaration: %w", err)
	}
	p.fill()
	return p, r.all(), nil
}

// fill sets what an absent member means.
func (p *ExecutorProvider) fill() {
	for _, f := range []struct {
		field *string
		value string
	}{{&p.Schema, SchemaProvider}, {&p.RequestSchema, SchemaRequest}, {&p.OutcomeSchema, SchemaOutcome}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
}

// Argv returns the command of a provider as an argv, from whichever form counts, or nil when only a shell command is
// declared.
func (p ExecutorProvider) Argv() []string {
	if p.Invocation != nil {
		if argv := p.Invocation.Words(); len(argv) > 0 {
			return argv
		}
	}
	if len(p.CommandArgv) > 0 {
		return p.CommandArgv
	}
	return nil
}

// Validate returns what makes the manifest unusable.
func (m RuntimeManifest) Validate() error {
	var l fault.List
	ownSchema(&l, m.Schema, SchemaManifest)
	l.Name("$.id", m.ID)
	if len(m.AgentTaskExecutors) == 0 {
		l.Add("$.agent_task_executors", fault.Blank, "is empty", "declare at least one provider")
	}
	seen := map[string]bool{}
	for i, p := range m.AgentTaskExecutors {
		at := fault.Index("$.agent_task_executors", i)
		l.Within(at, p.Validate())
		if p.ID != "" && seen[p.ID] {
			l.Add(at+".id", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(p.ID)), "give every provider its own id")
		}
		seen[p.ID] = true
	}
	return l.Err()
}

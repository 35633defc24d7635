package agentruntime

import (
	"slices"

	"github.com/deedrun/deed/contract/fault"
)

// A SubagentProfile says what a pair of agent and skill can do: adapter, skills, prompt framing and result
// policies. It carries no identity and no constitution of its own; those are inherited when the brief is compiled.
type SubagentProfile struct {
	Schema            string            `json:"schema,omitempty"`
	ProfileID         string            `json:"profile_id" jsonschema:"minLength=1,maxLength=512"`
	Style             ProfileStyle      `json:"style"`
	Role              string            `json:"role" jsonschema:"minLength=1"` // the operational role, not an identity
	DefaultAdapterID  string            `json:"default_adapter_id" jsonschema:"minLength=1,maxLength=512"`
	DefaultModel      string            `json:"default_model,omitempty" jsonschema:"maxLength=512"`
	PromptParts       []string          `json:"prompt_parts"` // operational framing, not the content of SOUL.md
	SkillIDs          []string          `json:"skill_ids"`
	ContextPolicy     ContextPolicy     `json:"context_policy"`
	ResultPolicy      ResultPolicy      `json:"result_policy"`
	IntegrationPolicy map[string]string `json:"integration_policy,omitempty"` // by service
}

// ProfileStyle says which family of agent the prompt is framed for.
type ProfileStyle string

// The styles.
const (
	StyleClaude ProfileStyle = "claude-like"
	StyleCodex  ProfileStyle = "codex-like"
	StyleHermes ProfileStyle = "hermes-like"
)

// ProfileStyles lists every style.
var ProfileStyles = []ProfileStyle{StyleClaude, StyleCodex, StyleHermes}

// A ContextPolicy bounds what a brief holds.
type ContextPolicy struct {
	MaxPromptChars      int64 `json:"max_prompt_chars" jsonschema:"minimum=1,maximum=100000000"`
	IncludeRecentMemory bool  `json:"include_recent_memory"`
}

// A ResultPolicy says which side effects an outcome may ask for.
type ResultPolicy struct {
	AllowFollowUpTasks    bool `json:"allow_follow_up_tasks"`
	AllowExternalMessages bool `json:"allow_external_messages"`
}

// What an integration policy may say of a service, which is a target of messages here. The contract leaves the words open; these have an
// effect.
const (
	IntegrationNone       = "none"        // nothing goes there
	IntegrationSupervised = "supervised"  // a person agrees to each message first
	IntegrationBridge     = "bridge-only" // messages leave through the outbox
)

// IntegrationPolicies lists them.
var IntegrationPolicies = []string{IntegrationNone, IntegrationSupervised, IntegrationBridge}

// maxPromptChars is far above any context window and far below what would not fit in memory.
const maxPromptChars = 100_000_000

// Validate returns every fault of the record.
func (p SubagentProfile) Validate() error {
	var l fault.List
	schemaIs(&l, p.Schema, SchemaAgentProfile)
	l.Name("$.profile_id", p.ProfileID)
	fault.OneOf(&l, "$.style", p.Style, ProfileStyles...)
	l.Say("$.role", p.Role)
	l.Name("$.default_adapter_id", p.DefaultAdapterID)
	l.OptionalName("$.default_model", p.DefaultModel)
	if p.PromptParts == nil {
		l.Add("$.prompt_parts", fault.MissingField, "is missing", "use [] for none")
	}
	for i, part := range p.PromptParts {
		l.Say(fault.Index("$.prompt_parts", i), part)
	}
	if p.SkillIDs == nil {
		l.Add("$.skill_ids", fault.MissingField, "is missing", "use [] for none")
	}
	l.Names("$.skill_ids", p.SkillIDs)
	l.Between("$.context_policy.max_prompt_chars", p.ContextPolicy.MaxPromptChars, 1, maxPromptChars)
	services := make([]string, 0, len(p.IntegrationPolicy))
	for service := range p.IntegrationPolicy {
		services = append(services, service)
	}
	slices.Sort(services)
	for _, service := range services {
		at := fault.Field("$.integration_policy", service)
		l.Name(at, service)
		l.Name(at, p.IntegrationPolicy[service])
	}
	return l.Err()
}

// A SkillManifest is an operational capability with assets that can be found: instructions, commands, a sensor.
// Paths are relative to the manifest's directory.
type SkillManifest struct {
	Schema          string       `json:"schema,omitempty"`
	SkillID         string       `json:"skill_id" jsonschema:"minLength=1,maxLength=512"`
	Description     string       `json:"description" jsonschema:"minLength=1"`
	Tags            []string     `json:"tags,omitempty"`
	InstructionPath string       `json:"instruction_path" jsonschema:"minLength=1,maxLength=4096"` // SKILL.md
	SubagentPath    string       `json:"subagent_path,omitempty" jsonschema:"maxLength=4096"`      // AGENT.md
	CLICommands     []CLICommand `json:"cli_commands,omitempty"`
	SensorPath      string       `json:"sensor_path,omitempty" jsonschema:"maxLength=4096"`
	InputSchemaID   string       `json:"input_schema_id,omitempty" jsonschema:"maxLength=512"`
	OutputSchemaID  string       `json:"output_schema_id,omitempty" jsonschema:"maxLength=512"`
}

// A CLICommand is a command that a skill offers.
type CLICommand struct {
	Name        string `json:"name" jsonschema:"minLength=1,maxLength=512"`
	Command     string `json:"command" jsonschema:"minLength=1"`
	Description string `json:"description,omitempty"`
}

// Validate returns every fault of the record.
func (s SkillManifest) Validate() error {
	var l fault.List
	schemaIs(&l, s.Schema, SchemaSkillManifest)
	l.Name("$.skill_id", s.SkillID)
	l.Say("$.description", s.Description)
	l.Names("$.tags", s.Tags)
	l.RelativePath("$.instruction_path", s.InstructionPath)
	l.OptionalRelativePath("$.subagent_path", s.SubagentPath)
	for i, c := range s.CLICommands {
		at := fault.Index("$.cli_commands", i)
		l.Name(at+".name", c.Name)
		if c.Name != "" && slices.ContainsFunc(s.CLICommands[:i], func(o CLICommand) bool { return o.Name == c.Name }) {
			l.Add(at+".name", fault.Duplicate, "is there twice", "give every command its own name")
		}
		l.Say(at+".command", c.Command)
		l.Text(at+".description", c.Description)
	}
	l.OptionalRelativePath("$.sensor_path", s.SensorPath)
	l.OptionalName("$.input_schema_id", s.InputSchemaID)
	l.OptionalName("$.output_schema_id", s.OutputSchemaID)
	return l.Err()
}

package homeboy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Validate returns what makes the provider unusable: an id, a backend or a command that is not there, another schema,
// or a pattern that cannot be trusted.
func (p ExecutorProvider) Validate() error {
	var l fault.List
	optionalSchema(&l, "$", p.Schema, SchemaProvider)
	l.Name("$.id", p.ID)
	l.Name("$.backend", p.Backend)
	if len(p.Argv()) == 0 && strings.TrimSpace(p.Command) == "" {
		l.Add("$.command", fault.Blank, "is missing, and there is no argv either", `write the command, such as "node {{runtime_path}}/provider.js", or invocation.argv`)
	}
	if argv := p.Argv(); len(argv) > 0 && strings.TrimSpace(argv[0]) == "" {
		l.Add("$.command_argv[0]", fault.Blank, "is blank", "name the program")
	}
	l.Text("$.command", p.Command)
	for i, word := range p.Argv() {
		l.Text(fault.Index("$.command_argv", i), word)
	}
	if p.RequestSchema != "" && p.RequestSchema != SchemaRequest {
		l.Add("$.request_schema", fault.WrongSchema, fmt.Sprintf("%q is not a request that deed can write", clip(p.RequestSchema)), fmt.Sprintf("write %q", SchemaRequest))
	}
	if p.OutcomeSchema != "" && p.OutcomeSchema != SchemaOutcome {
		l.Add("$.outcome_schema", fault.WrongSchema, fmt.Sprintf("%q is not an outcome that deed can read", clip(p.OutcomeSchema)), fmt.Sprintf("write %q", SchemaOutcome))
	}
	for i, f := range p.ImmediateFailurePatterns {
		referencePattern(&l, fault.Index("$.immediate_failure_patterns", i)+".error_ref_pattern", f.ErrorRefPattern)
	}
	return l.Err()
}

// maxPattern bounds a regular expression of a manifest, in bytes.
const maxPattern = 512

func referencePattern(l *fault.List, at, pattern string) {
	if pattern == "" {
		return
	}
	if len(pattern) > maxPattern {
		l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d bytes", len(pattern)), fmt.Sprintf("use at most %d", maxPattern))
		return
	}
	re, err := regexp.Compile(pattern)
	switch {
	case err != nil:
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not a regular expression: %v", clip(pattern), err), "use RE2 syntax")
	case re.MatchString(""):
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q matches the empty text", clip(pattern)), "demand at least one character")
	}
}

// Lint returns what the manifest lacks against the contract, and what looks like a slip. Nothing of it keeps the
// package from running: no package in the wild has all that the contract demands.
func (m RuntimeManifest) Lint() fault.Faults {
	var l fault.List
	lacks := lacking(&l, fault.Root)
	lacks("name", m.Name != "" || m.Label != "", "name the runtime for people")
	lacks("version", m.Version != "", "give the version of the package's contract, such as 1.0.0")
	lacks("description", m.Description != "", "say in one sentence what the runtime is")
	for i, p := range m.AgentTaskExecutors {
		l.Within(fault.Index("$.agent_task_executors", i), p.Lint().Err())
	}
	if m.Materialization != nil {
		for i, s := range m.Materialization.SourceRoots {
			if s.GitRef != "" && !isCommit(s.GitRef) {
				l.Add(fault.Index("$.materialization.source_roots", i)+".git_ref", fault.BadFormat,
					fmt.Sprintf("%q can move", clip(s.GitRef)), "pin the full commit hash")
			}
		}
	}
	return l.Faults()
}

func isCommit(ref string) bool {
	if len(ref) != 40 {
		return false
	}
	return strings.Trim(ref, "0123456789abcdef") == ""
}

// lacking returns a function that adds a fault for a member that is not there.
func lacking(l *fault.List, at string) func(name string, there bool, remedy string) {
	return func(name string, there bool, remedy string) {
		if !there {
			l.Add(fault.Field(at, name), fault.MissingField, "is missing", remedy)
		}
	}
}

// Lint returns what the declaration lacks against the contract, and words that the vocabulary does not have.
func (p ExecutorProvider) Lint() fault.Faults {
	var l fault.List
	lacks := lacking(&l, fault.Root)
	lacks("label", p.Label != "", "name the provider for people")
	lacks("command", p.Command != "" || p.Argv() != nil, "write the command")
	lacks("request_required_fields", p.RequestRequiredFields != nil, "list the paths that a request must have, or []")
	lacks("outcome_statuses", p.OutcomeStatuses != nil, "list the statuses that the provider emits")
	lacks("failure_classifications", p.FailureClassifications != nil, "list the failure classes that the provider emits")
	lacks("redacted_metadata_keys", p.RedactedMetadataKeys != nil, "list the metadata keys that hold secrets, or []")
	lacks("capabilities", p.Capabilities != nil, "list what a caller may rely on, or []")
	lacks("runner_readiness", p.RunnerReadiness != nil, "list what must be there before a run, or []")
	lacks("role_aliases", p.RoleAliases != nil, "map the provider's own names to roles, or {}")
	lacks("workspace_materialization", p.WorkspaceMaterialization != nil, "say which workspace the provider expects")
	lacks("secret_requirements", p.SecretRequirements != nil, "list the secrets by name, or []")
	lacks("secret_env_requirements", p.SecretEnvRequirements != nil, "list the groups of secrets, or []")
	lacks("provider_defaults", p.ProviderDefaults != nil, "give the defaults of each AI provider, or {}")
	lacks("diagnostics", p.Diagnostics != nil, "say which diagnostics the provider returns, or {}")
	lacks("status", p.Status != "", "say active, experimental or deprecated")
	lacks("integration_contract", p.IntegrationContract != "", "name the contract that the provider serves")
	if p.Status != "" {
		fault.OneOf(&l, "$.status", p.Status, ProviderStatusWords...)
	}
	for i, s := range p.OutcomeStatuses {
		if !slices.Contains(OutcomeStatuses, OutcomeStatus(s)) {
			fault.OneOf(&l, fault.Index("$.outcome_statuses", i), OutcomeStatus(s), OutcomeStatuses...)
		}
	}
	for i, c := range p.FailureClassifications {
		if c != classRequestValidation && !slices.Contains(FailureClasses, FailureClass(c)) {
			fault.OneOf(&l, fault.Index("$.failure_classifications", i), FailureClass(c), FailureClasses...)
		}
	}
	if w := p.WorkspaceMaterialization; w != nil {
		lintWorkspace(&l, w)
	}
	for i, s := range p.SecretRequirements {
		if len(s.Names()) == 0 {
			l.Add(fault.Index("$.secret_requirements", i)+".name", fault.Blank, "names no secret", "name the environment variable")
		}
	}
	return l.Faults()
}

// lintWorkspace tells words that deed has no meaning for. They are kept: a newer contract may have one.
func lintWorkspace(l *fault.List, w *WorkspaceMaterialization) {
	const at = "$.workspace_materialization"
	if w.Cwd != "" {
		fault.OneOf(l, at+".cwd", w.Cwd, CwdGitCheckout, CwdRequestWorkspace, CwdRuntimePackage)
	}
	if w.WriteScope != "" {
		fault.OneOf(l, at+".write_scope", w.WriteScope, WriteWorkspace, WriteArtifacts, WritePatch, WriteNone)
	}
	for i, p := range w.ArtifactPaths {
		l.RelativePath(fault.Index(at+".artifact_paths", i), p)
	}
}

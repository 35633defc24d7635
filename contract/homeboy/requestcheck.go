package homeboy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Validate returns every fault of the request.
func (q Request) Validate() error {
	var l fault.List
	ownSchema(&l, q.Schema, SchemaRequest)
	l.Name("$.task_id", q.TaskID)
	l.Within("$.executor", q.Executor.Validate())
	l.Say("$.instructions", q.Instructions)
	for i, s := range q.SourceRefs {
		at := fault.Index("$.source_refs", i)
		l.Say(at+".kind", s.Kind)
		l.Say(at+".uri", s.URI)
	}
	if q.Workspace != nil {
		l.Within("$.workspace", q.Workspace.Validate())
	}
	if q.Policy != nil && q.Policy.Tools != nil {
		l.Within("$.policy.tools", q.Policy.Tools.Validate())
	}
	if q.Limits != nil {
		l.Within("$.limits", q.Limits.Validate())
	}
	l.Names("$.expected_artifacts", q.ExpectedArtifacts)
	artifactDeclarations(&l, "$.artifact_declarations", q.ArtifactDeclarations)
	q.outputs(&l)
	q.tools(&l)
	if q.ArtifactsPath != "" && !strings.HasPrefix(q.ArtifactsPath, "/") {
		l.Add("$.artifacts_path", fault.BadFormat, fmt.Sprintf("%q is not absolute", clip(q.ArtifactsPath)), "write it from the root")
	}
	return l.Err()
}

// Validate returns every fault of the executor.
func (e Executor) Validate() error {
	var l fault.List
	l.Name("$.backend", e.Backend)
	l.OptionalName("$.selector", e.Selector)
	l.OptionalName("$.runtime", e.Runtime)
	l.Names("$.required_capabilities", e.RequiredCapabilities)
	for i, name := range e.SecretEnv {
		l.EnvName(fault.Index("$.secret_env", i), name)
	}
	for _, name := range []string{"inherit_env", "inheritEnv"} {
		if strings.TrimSpace(string(e.Config[name])) == "true" {
			l.Add(fault.Field("$.config", name), fault.Conflict, "is true, and a provider never inherits the host's environment", "name what it needs in secret_env")
		}
	}
	return l.Err()
}

// Validate returns every fault of the workspace.
func (w Workspace) Validate() error {
	var l fault.List
	if w.Mode != "" {
		fault.OneOf(&l, "$.mode", w.Mode, WorkspaceModes...)
	}
	if w.Mode == WorkspaceExisting && w.Root == "" {
		l.Add("$.root", fault.Conflict, "is missing and the mode is existing", "name the directory")
	}
	if w.Root != "" {
		l.Path("$.root", w.Root)
		if !strings.HasPrefix(w.Root, "/") {
			l.Add("$.root", fault.BadFormat, fmt.Sprintf("%q is not absolute", clip(w.Root)), "write it from the root")
		}
	}
	if w.Kind == WorkspaceComponent {
		if w.ComponentID == "" {
			l.Add("$.component_id", fault.Conflict, "is missing and the kind is "+WorkspaceComponent, "name the component")
		}
		if w.Branch == "" && w.Root == "" {
			l.Add("$.branch", fault.Conflict, "is missing, and so is root", "name one of the two")
		}
	}
	return l.Err()
}

// Validate returns every fault of the policy.
func (p ToolPolicy) Validate() error {
	var l fault.List
	optionalSchema(&l, "$", p.Schema, SchemaToolPolicy)
	if p.DefaultLocation != "" {
		fault.OneOf(&l, "$.default_location", p.DefaultLocation, Locations...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		at := fault.Field("$.tools", name)
		l.Name(at, name)
		if loc := p.Tools[name].ExecutionLocation; loc != "" {
			fault.OneOf(&l, at+".execution_location", loc, Locations...)
		}
		l.Between(at+".timeout_ms", p.Tools[name].TimeoutMS, 0, maxMillis)
	}
	if c := p.Commands; c != nil {
		optionalSchema(&l, "$.commands", c.Schema, SchemaCommandPolicy)
		if c.Mode != "" {
			fault.OneOf(&l, "$.commands.mode", c.Mode, CommandModes...)
		}
		for i, r := range c.Deny {
			l.Say(fault.Index("$.commands.deny", i)+".pattern", r.Pattern)
		}
		for i, r := range c.Allow {
			l.Say(fault.Index("$.commands.allow", i)+".pattern", r.Pattern)
		}
	}
	return l.Err()
}

// maxMillis keeps a limit within what a duration of nanoseconds can hold.
const maxMillis = 1 << 43

// Validate returns every fault of the limits. Zero is absent.
func (l Limits) Validate() error {
	var f fault.List
	for _, m := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"timeout_ms", l.TimeoutMS, maxMillis},
		{"max_runtime_ms", l.MaxRuntimeMS, maxMillis},
		{"execution_deadline_unix_ms", l.ExecutionDeadlineUnixMS, 1 << 53},
		{"liveness_timeout_ms", l.LivenessTimeoutMS, maxMillis},
		{"max_output_bytes", l.MaxOutputBytes, 1 << 53},
		{"task_timeout_seconds", l.TaskTimeoutSeconds, maxMillis / 1000},
	} {
		f.Between("$."+m.name, m.value, 0, m.most)
	}
	f.Names("$.exclusive_resource_keys", l.ExclusiveResourceKeys)
	return f.Err()
}

func artifactDeclarations(l *fault.List, at string, declared []ArtifactDeclaration) {
	seen := map[string]bool{}
	for i, d := range declared {
		in := fault.Index(at, i)
		optionalSchema(l, in, d.Schema, SchemaArtifactDeclaration)
		l.Name(in+".name", d.Name)
		if d.Name != "" && seen[d.Name] {
			l.Add(in+".name", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(d.Name)), "declare it once")
		}
		seen[d.Name] = true
		l.OptionalRelativePath(in+".path", d.Path)
	}
}

func (q Request) outputs(l *fault.List) {
	seen := map[string]bool{}
	for i, d := range q.OutputDeclarations {
		at := fault.Index("$.output_declarations", i)
		l.Name(at+".name", d.Name)
		if d.Name != "" && seen[d.Name] {
			l.Add(at+".name", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(d.Name)), "declare it once")
		}
		seen[d.Name] = true
		l.Say(at+".schema", d.Schema)
		l.Between(at+".max_bytes", d.MaxBytes, 0, 1<<53)
		if r := d.EvidenceRelationship; r != nil {
			l.Say(at+".evidence_relationship.relationship", r.Relationship)
			evidenceRef(l, at+".evidence_relationship.evidence", r.Evidence)
		}
	}
	if len(q.OutputDeclarations) > 0 && !q.Inputs.Null() && !isObject(q.Inputs) {
		l.Add("$.inputs", fault.Conflict, "is "+says(q.Inputs)+", and outputs are declared, which a provider finds in it", "use an object")
	}
}

func (q Request) tools(l *fault.List) {
	seen := map[string]bool{}
	for i, tool := range q.RuntimeTools {
		at := fault.Index("$.runtime_tools", i)
		optionalSchema(l, at, tool.Schema, SchemaRuntimeTool)
		l.Name(at+".id", tool.ID)
		if tool.ID != "" && seen[tool.ID] {
			l.Add(at+".id", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(tool.ID)), "give every tool its own id")
		}
		seen[tool.ID] = true
		if tool.Transport != "" {
			fault.OneOf(l, at+".transport", tool.Transport, TransportStdio)
		}
		if tool.Lifecycle != "" {
			fault.OneOf(l, at+".lifecycle", tool.Lifecycle, LifecycleRuntime)
		}
		if len(tool.Command) == 0 || strings.TrimSpace(tool.Command[0]) == "" {
			l.Add(at+".command", fault.Blank, "names no program", "write the argv")
		}
		l.Env(at+".env", tool.Env)
		for j, name := range tool.SecretEnv {
			l.EnvName(fault.Index(at+".secret_env", j), name)
		}
		l.Between(at+".timeout_ms", tool.TimeoutMS, 0, maxMillis)
		if len(tool.RequiredCapabilities) > 0 && (tool.Readiness == nil || tool.Readiness.CapabilityProbe == nil) {
			l.Add(at+".readiness.capability_probe", fault.Undeclared, "is missing, and the tool claims capabilities", "say how they can be shown")
		}
	}
}

func evidenceRef(l *fault.List, at string, e EvidenceRef) {
	optionalSchema(l, at, e.Schema, SchemaEvidenceRef)
	l.Say(at+".kind", e.Kind)
	l.Say(at+".uri", e.URI)
}

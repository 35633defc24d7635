package codebox

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
)

// SchemaSandboxToolPolicy is the id of SandboxToolPolicy.
const SchemaSandboxToolPolicy = "wp-codebox/sandbox-tool-policy/v1"

// ToolPolicyVersion is the version of a SandboxToolPolicy.
const ToolPolicyVersion = 1

// SourceDefaultDeny marks the policy of a request that brings none.
const SourceDefaultDeny = "wp-codebox.agent-task-run.default-deny"

// Where a tool runs, and the words of ToolRuntime that go with it.
const (
	LocationSandbox   = "sandbox"
	LocationParent    = "parent"
	ScopeRuntimeLocal = "runtime_local"
	ScopeControlPlane = "control_plane"
)

// Who sees a tool.
const (
	VisibleSandbox = "sandbox"
	VisibleParent  = "parent"
	VisibleBoth    = "both"
	VisibleHidden  = "hidden"
)

// A SandboxToolPolicy lists the tools that an agent may be given. What it does not list is denied. As a member of a
// request the empty object stands for no policy.
type SandboxToolPolicy struct {
	Schema   string          `json:"schema,omitempty"`
	Version  int             `json:"version,omitempty" jsonschema:"minimum=1,maximum=1"`
	Tools    []ToolRule      `json:"tools,omitzero"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// A ToolRule is one tool of a policy.
type ToolRule struct {
	ID                  string          `json:"id" jsonschema:"minLength=1,maxLength=512"`
	RuntimeToolID       string          `json:"runtime_tool_id" jsonschema:"minLength=1,maxLength=512"`
	Aliases             []string        `json:"aliases,omitempty"`
	ExecutionLocation   string          `json:"execution_location" jsonschema:"enum=sandbox,enum=parent"`
	TransportVisibility string          `json:"transport_visibility" jsonschema:"enum=sandbox,enum=parent,enum=both,enum=hidden"`
	Allowed             bool            `json:"allowed"`
	Runtime             ToolRuntime     `json:"runtime"`
	Risk                string          `json:"risk,omitempty" jsonschema:"maxLength=512"`
	Action              string          `json:"action,omitempty" jsonschema:"maxLength=512"`
	Metadata            json.RawMessage `json:"metadata,omitempty"`
}

// A ToolRuntime repeats where a tool runs; both words are runtime_local in the sandbox and control_plane outside.
type ToolRuntime struct {
	Environment     string `json:"environment" jsonschema:"enum=runtime_local,enum=control_plane"`
	CapabilityScope string `json:"capability_scope" jsonschema:"enum=runtime_local,enum=control_plane"`
}

// DefaultDeny is the policy of a request that brings none: no tool at all.
func DefaultDeny() SandboxToolPolicy {
	return SandboxToolPolicy{
		Schema: SchemaSandboxToolPolicy, Version: ToolPolicyVersion, Tools: []ToolRule{},
		Metadata: json.RawMessage(`{"source":"` + SourceDefaultDeny + `"}`),
	}
}

// Empty reports whether the policy says nothing, not even that it is one.
func (p SandboxToolPolicy) Empty() bool {
	return p.Schema == "" && p.Version == 0 && p.Tools == nil && len(p.Metadata) == 0
}

// Validate returns every fault of the policy. An empty one is valid and stands for DefaultDeny.
func (p SandboxToolPolicy) Validate() error {
	if p.Empty() {
		return nil
	}
	var l fault.List
	const add = "a policy that is not empty has schema, version and tools"
	switch {
	case p.Schema == "":
		l.Add("$.schema", fault.MissingField, "is missing", add)
	case p.Schema != SchemaSandboxToolPolicy:
		wrongSchema(&l, p.Schema, SchemaSandboxToolPolicy)
	}
	switch {
	case p.Version == 0:
		l.Add("$.version", fault.MissingField, "is missing", add)
	case p.Version != ToolPolicyVersion:
		l.Between("$.version", int64(p.Version), ToolPolicyVersion, ToolPolicyVersion)
	}
	if p.Tools == nil {
		l.Add("$.tools", fault.MissingField, "is missing", add+"; use [] for none")
	}
	names := map[string]int{} // by how it is called: the tool that has it
	for i, t := range p.Tools {
		at := fault.Index("$.tools", i)
		t.check(&l, at)
		for _, name := range t.called() {
			other, taken := names[name]
			switch {
			case !taken:
				names[name] = i
			case other != i:
				l.Add(at, fault.Duplicate, fmt.Sprintf("answers to %s, as does tools[%d]", quote(name), other), "give every tool its own id, runtime_tool_id and aliases")
			}
		}
	}
	l.OptionalObject("$.metadata", p.Metadata)
	return l.Err()
}

func (t ToolRule) check(l *fault.List, at string) {
	l.Name(at+".id", t.ID)
	l.Name(at+".runtime_tool_id", t.RuntimeToolID)
	l.Names(at+".aliases", t.Aliases)
	fault.OneOf(l, at+".execution_location", t.ExecutionLocation, LocationSandbox, LocationParent)
	fault.OneOf(l, at+".transport_visibility", t.TransportVisibility, VisibleSandbox, VisibleParent, VisibleBoth, VisibleHidden)
	want := ScopeRuntimeLocal
	if t.ExecutionLocation == LocationParent {
		want = ScopeControlPlane
	}
	for _, m := range []struct{ name, value string }{{"environment", t.Runtime.Environment}, {"capability_scope", t.Runtime.CapabilityScope}} {
		at := at + ".runtime." + m.name
		switch m.value {
		case want:
		case ScopeRuntimeLocal, ScopeControlPlane:
			l.Add(at, fault.Conflict, fmt.Sprintf("is %q and the tool runs in the %s", m.value, t.ExecutionLocation), fmt.Sprintf("write %q", want))
		default:
			fault.OneOf(l, at, m.value, ScopeRuntimeLocal, ScopeControlPlane)
		}
	}
	l.OptionalName(at+".risk", t.Risk)
	l.OptionalName(at+".action", t.Action)
	l.OptionalObject(at+".metadata", t.Metadata)
}

// called returns every name that finds the tool, once each: as written, and as a name that an agent's protocol can hold.
func (t ToolRule) called() []string {
	var out []string
	for _, n := range append([]string{t.ID, t.RuntimeToolID}, t.Aliases...) {
		for _, n := range []string{n, evidence.ToolName(n)} {
			if n != "" && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Find returns the tool that a name stands for: its id, its runtime_tool_id, an alias, or one of these as ToolName
// writes it.
func (p SandboxToolPolicy) Find(name string) (ToolRule, bool) {
	for _, t := range p.Tools {
		if slices.Contains(t.called(), name) {
			return t, true
		}
	}
	return ToolRule{}, false
}

// Exposed returns the tools that the agent in the sandbox is given: those that run there, are allowed, and are visible
// there. Where the task names the tools that it allows, it gets no other.
func (p SandboxToolPolicy) Exposed(allowed []string) []ToolRule {
	var out []ToolRule
	for _, t := range p.Tools {
		visible := t.TransportVisibility == VisibleSandbox || t.TransportVisibility == VisibleBoth
		if !t.Allowed || !visible || t.ExecutionLocation != LocationSandbox || t.Runtime.Environment != ScopeRuntimeLocal {
			continue
		}
		if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(n string) bool { return slices.Contains(t.called(), n) }) {
			continue
		}
		out = append(out, t)
	}
	return out
}

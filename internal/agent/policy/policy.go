// Package policy owns the answer to what an agent may do. It enforces nothing itself and does not claim to: the builder of the
// sandbox reports what enforces a decision. It never asks a person: "a person must decide" is one of its answers.
//
// There are two questions. Before a run, Resolve turns a request's allowed_tools and its sandbox tool policy into
// decisions, and into the few facts from which the sandbox is built. During a run, an Engine decides on each tool call and
// on the end of the work, by rules and by the operator's hooks; see Ruleset for how rules are read.
//
// Resolve applies the request in this order. A tool that the policy denies is denied. A policy that lists tools denies all
// others; one that lists none says only that there are no tools outside the sandbox, which is the default. If allowed_tools
// is given, what it does not name is denied. Everything else is allowed. So allowed_tools without workspace.write makes the
// workspace read-only, and a request that says nothing lets the agent do anything inside the sandbox.
package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
)

// Where the decisions come from.
const (
	SourcePolicy       = "sandbox_tool_policy"     // the caller's policy lists tools
	SourceAllowedTools = "allowed_tools"           // derived from the names in the request
	SourceDefaultDeny  = codebox.SourceDefaultDeny // the request says nothing
)

// An Enforcer keeps an agent from using a tool, or keeps its use within bounds.
type Enforcer string

// The enforcers. Only a sandbox has the first two. A driver has the third if its agent can be configured with a list of tools.
const (
	EnforcerMounts  Enforcer = "mounts"  // what is mounted, and how
	EnforcerNetwork Enforcer = "network" // no way out but the egress proxy
	EnforcerDriver  Enforcer = "driver"  // flags of the agent's own program
	EnforcerBridge  Enforcer = "bridge"  // there is no way to call the tool: always in force
)

// How strictly a decision holds.
const (
	HeldEnforced = "enforced" // an enforcer is in force
	HeldDeclared = "declared" // the agent was told, and nothing else stops it
)

// Rules that decide.
const (
	RulePolicyDenies   = "policy-denies"             // the policy lists the tool with allowed false
	RulePolicyOverList = "policy-over-allowed-tools" // the same, and allowed_tools names it
	RuleNotInPolicy    = "not-in-policy"             // the policy lists tools, and not this one
	RuleNotInList      = "not-in-allowed-tools"      // allowed_tools is given and does not name it
	RulePolicyAllows   = "policy-allows"
	RuleInList         = "in-allowed-tools"
	RuleNothingSaid    = "nothing-said"
	RuleDefaultDeny    = "default-deny" // a tool outside the sandbox that is not listed
	RuleNotVisible     = "not-visible"  // the policy allows it, and the agent in the sandbox is not given it
	RuleNoHosts        = "no-hosts"     // it may use a network, and there is none
)

// ParentTools is the id under which the tools outside the sandbox are decided that no policy lists. Those that one lists
// have parent. before their id, once: a tool of the same name inside is another tool.
const (
	ParentTools  = parentPrefix + "*"
	parentPrefix = "parent."
)

// A Tool is one tool and what was decided about it.
type Tool struct {
	ID       string   `json:"id"`
	Allowed  bool     `json:"allowed"`
	Exposed  bool     `json:"exposed"` // the agent in the sandbox is given it
	Enforcer Enforcer `json:"wall,omitempty"`
	Held     string   `json:"held"`
	Rule     string   `json:"rule"`
	Remedy   string   `json:"remedy,omitempty"`
}

// A Decision is the record of one decision, for the journal. Allowed means that the agent has the tool: the record must not
// contradict what the sandbox enforces.
type Decision struct {
	Tool    string `json:"tool"`
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`
	Held    string `json:"held"`
	Remedy  string `json:"remedy,omitempty"`
}

// An Effective is the resolved policy. Its four facts say what it permits; where one is false, the sandbox has to enforce
// that.
type Effective struct {
	Source string `json:"source"`
	Tools  []Tool `json:"tools"`

	// WriteWorkspace: the workspace is writable. Otherwise it is mounted read-only.
	WriteWorkspace bool `json:"write_workspace"`
	// RunCommands: the agent may run commands of its own choice.
	RunCommands bool `json:"run_commands"`
	// TestsRun: the agent may run tests; with RunCommands nothing can keep it from them.
	TestsRun bool `json:"tests_run"`
	// Network: the agent's tools may use the hosts that the task names. Without hosts there is no network either way. The
	// hosts of the model's provider do not depend on this.
	Network bool `json:"network"`
}

// Decisions returns a record of each decision.
func (e Effective) Decisions() []Decision {
	out := make([]Decision, len(e.Tools))
	for i, t := range e.Tools {
		out[i] = Decision{Tool: t.ID, Allowed: t.Exposed, Rule: t.Rule, Held: t.Held, Remedy: t.Remedy}
		if t.Allowed && !t.Exposed {
			out[i].Rule = RuleNotVisible
			out[i].Remedy = cmp.Or(t.Remedy, "give it transport_visibility sandbox or both in sandbox_tool_policy")
		}
	}
	return out
}

// Offline returns the decisions for a run without a network, whatever the policy allows.
func (e Effective) Offline() Effective {
	e.Tools, e.Network = slices.Clone(e.Tools), false
	for i := range e.Tools {
		if t := &e.Tools[i]; t.ID == toolFetch && t.Exposed {
			t.Allowed, t.Exposed = false, false
			t.Rule, t.Remedy = RuleNoHosts, "name the hosts in policy.network.allow"
		}
	}
	return e
}

// EnforcedBy returns the same decisions, with those marked as enforced that one of the enforcers holds. Without enforcers all
// are declared, except that tools outside the sandbox cannot be called at all.
func (e Effective) EnforcedBy(enforcers ...Enforcer) Effective {
	e.Tools = slices.Clone(e.Tools)
	for i := range e.Tools {
		t := &e.Tools[i]
		t.Held = HeldDeclared
		if t.Enforcer == EnforcerBridge || slices.Contains(enforcers, t.Enforcer) {
			t.Held = HeldEnforced
		}
	}
	return e
}

// Resolve decides. p may be nil or empty. mentioned says whether the request has allowed_tools at all, since an empty list
// allows nothing. The error lists every fault of both, at $.sandbox_tool_policy and $.allowed_tools.
func Resolve(p *codebox.SandboxToolPolicy, allowedTools []string, mentioned bool) (Effective, error) {
	r := &resolution{mentioned: mentioned || len(allowedTools) > 0}
	if p != nil {
		r.policy = *p
	}
	var l fault.List
	l.Within("$.sandbox_tool_policy", r.policy.Validate())
	for i, name := range allowedTools {
		if name = strings.TrimSpace(name); name != "" {
			l.Name(fault.Index("$.allowed_tools", i), name)
			r.names = append(r.names, name)
		}
	}
	if err := l.Err(); err != nil {
		return Effective{}, err
	}
	return r.effective().EnforcedBy(), nil
}

type resolution struct {
	policy    codebox.SandboxToolPolicy
	names     []string // of allowed_tools
	mentioned bool
}

func (r *resolution) effective() Effective {
	e := Effective{Source: SourceDefaultDeny}
	switch {
	case len(r.policy.Tools) > 0:
		e.Source = SourcePolicy
	case r.mentioned:
		e.Source = SourceAllowedTools
	}
	exposed := map[string]bool{}
	for _, id := range KnownTools() {
		t := r.known(id)
		exposed[id] = t.Exposed
		e.Tools = append(e.Tools, t)
	}
	e.WriteWorkspace = exposed[toolWrite] || exposed[toolEdit] || exposed[toolDelete]
	e.RunCommands = exposed[toolCommand]
	e.TestsRun = exposed[toolTests] || e.RunCommands
	e.Network = exposed[toolFetch]
	for i := range e.Tools {
		e.Tools[i].Enforcer = e.enforcer(e.Tools[i])
	}
	e.Tools = append(e.Tools, r.others()...)
	return e
}

// known decides on a tool that deed knows. Rules count that name it by any of its names. Rules for tools outside the sandbox
// do not: a tool there that is called workspace.write writes another workspace.
func (r *resolution) known(id string) Tool {
	var rules []codebox.ToolRule
	for _, rule := range r.policy.Tools {
		if rule.ExecutionLocation == codebox.LocationSandbox && slices.Contains(knownAs(rule), id) {
			rules = append(rules, rule)
		}
	}
	named := slices.ContainsFunc(r.names, func(n string) bool {
		rule, listed := r.policy.Find(n)
		return canonical(n) == id || listed && slices.Contains(knownAs(rule), id)
	})
	return r.decide(id, rules, named)
}

// others decides on what only the request names: further tools of the policy, and unknown names.
func (r *resolution) others() []Tool {
	var out []Tool
	for _, rule := range r.policy.Tools {
		if rule.ExecutionLocation == codebox.LocationSandbox && len(knownAs(rule)) > 0 {
			continue
		}
		named := slices.ContainsFunc(r.names, func(n string) bool {
			found, ok := r.policy.Find(n)
			return ok && found.ID == rule.ID
		})
		t := r.decide(rule.ID, []codebox.ToolRule{rule}, named)
		if rule.ExecutionLocation == codebox.LocationParent {
			t.ID, t.Enforcer = parentPrefix+strings.TrimPrefix(rule.ID, parentPrefix), EnforcerBridge
			if t.Allowed {
				t.Remedy = "it runs outside the sandbox, and there is no bridge to it"
			}
		}
		out = append(out, t)
	}
	for i, n := range r.names {
		_, listed := r.policy.Find(n)
		if !listed && canonical(n) == "" && !slices.Contains(r.names[:i], n) {
			out = append(out, r.decide(n, nil, true))
		}
	}
	return append(out, Tool{
		ID: ParentTools, Enforcer: EnforcerBridge, Rule: RuleDefaultDeny, Remedy: "give the agent what it needs in its workspace",
	})
}

// decide applies the rules in their order to one tool.
func (r *resolution) decide(id string, rules []codebox.ToolRule, named bool) Tool {
	t := Tool{ID: id}
	denier := slices.IndexFunc(rules, func(x codebox.ToolRule) bool { return !x.Allowed })
	switch {
	case denier >= 0:
		t.Rule, t.Remedy = RulePolicyDenies, fmt.Sprintf("set allowed to true for %q in sandbox_tool_policy", rules[denier].ID)
		if named {
			t.Rule, t.Remedy = RulePolicyOverList, "allowed_tools names it and the policy denies it: "+t.Remedy
		}
	case len(rules) == 0 && len(r.policy.Tools) > 0:
		t.Rule, t.Remedy = RuleNotInPolicy, fmt.Sprintf("list %q in sandbox_tool_policy with allowed true", id)
	case r.mentioned && !named:
		t.Rule, t.Remedy = RuleNotInList, fmt.Sprintf("add %q to allowed_tools", id)
	case len(rules) > 0:
		t.Allowed, t.Rule = true, RulePolicyAllows
	case named:
		t.Allowed, t.Rule = true, RuleInList
	default:
		t.Allowed, t.Rule = true, RuleNothingSaid
	}
	t.Exposed = t.Allowed && (len(rules) == 0 || slices.ContainsFunc(rules, visible))
	return t
}

func visible(r codebox.ToolRule) bool {
	return r.ExecutionLocation == codebox.LocationSandbox &&
		(r.TransportVisibility == codebox.VisibleSandbox || r.TransportVisibility == codebox.VisibleBoth)
}

package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// A Policy says what agents may do at the tool boundary, and what is asked before they may stop.
type Policy struct {
	Rules []deed.Rule `json:"rules,omitempty"`
	// UnattendedDefault decides on what no rule names. Absent: deny where there are rules, else allow.
	UnattendedDefault string       `json:"unattended_default,omitempty" jsonschema:"enum=deny,enum=allow,enum=ask"`
	Hooks             *PolicyHooks `json:"hooks,omitempty"`
	Ask               *PolicyAsk   `json:"ask,omitempty"`
}

// PolicyRules are rules under a name.
type PolicyRules struct {
	Rules []deed.Rule `json:"rules"`
}

// PolicyHooks are commands of the operator's, in the shape of Claude's settings: they get JSON on their standard input and
// answer on their standard output or by their exit code.
type PolicyHooks struct {
	PreToolUse   []HookMatcher `json:"PreToolUse,omitempty"`   // before a call; may deny it
	PostToolUse  []HookMatcher `json:"PostToolUse,omitempty"`  // after a call; what it says is told to the agent
	Stop         []HookMatcher `json:"Stop,omitempty"`         // when the agent says that it is done; may refuse
	SubagentStop []HookMatcher `json:"SubagentStop,omitempty"` // the same for a subagent
}

// A HookMatcher runs commands for the tools that it matches.
type HookMatcher struct {
	Matcher string `json:"matcher,omitempty" jsonschema:"maxLength=1024"` // a regular expression over the whole name; absent, empty or *: all
	Hooks   []Hook `json:"hooks" jsonschema:"minItems=1"`
}

// A Hook is one command.
type Hook struct {
	Type    string `json:"type" jsonschema:"enum=command"`
	Command string `json:"command" jsonschema:"minLength=1"`                      // a line for /bin/sh -c
	Timeout int    `json:"timeout,omitempty" jsonschema:"minimum=0,maximum=3600"` // seconds; 0: 60
}

// PolicyAsk says how a person is asked.
type PolicyAsk struct {
	// LiveSeconds is how long the agent waits for the answer before its task is set aside. Absent: 120.
	LiveSeconds *int `json:"live_seconds,omitempty" jsonschema:"minimum=0,maximum=86400"`
	// DeadlineSeconds is after how long nobody's answer is a no. Absent: 86400.
	DeadlineSeconds int64 `json:"deadline_seconds,omitempty" jsonschema:"minimum=1,maximum=31536000"`
	// MayAnswer lists who may answer, as the system names them. Absent: any operator.
	MayAnswer []string `json:"may_answer,omitempty"`
}

// Validate returns every fault of the record.
func (p Policy) Validate() error {
	var l fault.List
	deed.Rules(&l, "$.rules", p.Rules)
	if p.UnattendedDefault != "" {
		fault.OneOf(&l, "$.unattended_default", p.UnattendedDefault, deed.RuleDeny, deed.RuleAllow, deed.RuleAsk)
	}
	if p.Hooks != nil {
		for _, e := range []struct {
			name string
			list []HookMatcher
		}{
			{"PreToolUse", p.Hooks.PreToolUse}, {"PostToolUse", p.Hooks.PostToolUse}, {"Stop", p.Hooks.Stop}, {"SubagentStop", p.Hooks.SubagentStop},
		} {
			for i, m := range e.list {
				l.Within(fault.Index("$.hooks."+e.name, i), m.Validate())
			}
		}
	}
	if p.Ask != nil {
		l.Within("$.ask", p.Ask.Validate())
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (p PolicyRules) Validate() error {
	var l fault.List
	deed.Rules(&l, "$.rules", p.Rules)
	return l.Err()
}

// Validate returns every fault of the record.
func (m HookMatcher) Validate() error {
	var l fault.List
	if m.Matcher != "*" {
		if _, err := regexp.Compile("^(?:" + m.Matcher + ")$"); err != nil {
			l.Add("$.matcher", fault.BadFormat, fmt.Sprintf("%q is not a regular expression: %v", m.Matcher, err), "write a tool's name, or several as in Write|Edit")
		}
	}
	for i, h := range m.Hooks {
		l.Within(fault.Index("$.hooks", i), h.Validate())
	}
	return l.Err()
}

// Validate returns every fault of the record.
func (h Hook) Validate() error {
	var l fault.List
	fault.OneOf(&l, "$.type", h.Type, "command")
	l.Say("$.command", h.Command)
	l.Between("$.timeout", int64(h.Timeout), 0, 3600)
	return l.Err()
}

// Validate returns every fault of the record.
func (a PolicyAsk) Validate() error {
	var l fault.List
	if a.LiveSeconds != nil {
		l.Between("$.live_seconds", int64(*a.LiveSeconds), 0, 86400)
	}
	l.Between("$.deadline_seconds", a.DeadlineSeconds, 0, 365*86400)
	l.Names("$.may_answer", a.MayAnswer)
	return l.Err()
}

// validatePolicies adds the faults of what a file says about policy.
func (c Config) validatePolicies(l *fault.List) {
	if c.Policy != nil {
		l.Within("$.policy", c.Policy.Validate())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policies)) {
		at := fault.Field("$.policies", name)
		l.Name(at, name)
		l.Within(at, c.Policies[name].Validate())
	}
}

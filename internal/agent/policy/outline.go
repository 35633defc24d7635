package policy

import (
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
)

// An Outline is what the rules decide about a tool before any call of it is known.
type Outline struct {
	Tool      string         `json:"tool"`
	Rules     []PossibleRule `json:"rules,omitempty"` // those that may match, in their order
	Otherwise string         `json:"otherwise"`       // what decides where none of the operator's does
	By        string         `json:"by"`
}

// A PossibleRule is a rule that may match.
type PossibleRule struct {
	Rule   string   `json:"rule"`
	Effect string   `json:"effect"`
	Only   []string `json:"only,omitempty"` // the globs that narrow it; absent: every call of the tool
	Reason string   `json:"reason,omitempty"`
}

// Outline lists the rules that may match a tool. Rules after one that matches every call are left out.
func (s Ruleset) Outline(tool string) Outline {
	out := Outline{Tool: tool}
	whole := false // the operator's rules decide on every call
	c := Call{Tool: tool, Name: tool, Known: true}
	for _, l := range s.Lists() {
		for i, r := range l.Rules {
			if !mayMatch(r, c) {
				continue
			}
			only := slices.Concat(r.Path, r.Host, r.Command)
			out.Rules = append(out.Rules, PossibleRule{Rule: RuleName(l.Origin, i, r), Effect: r.Effect, Only: only, Reason: r.Reason})
			if len(only) == 0 {
				whole = whole || l.Origin == OriginHome
				break
			}
		}
	}
	if v, ok := s.otherwise(part{}, false, whole); ok {
		out.Otherwise, out.By = string(v.Effect), v.Rule
	}
	return out
}

func mayMatch(r deed.Rule, c Call) bool {
	if len(r.Tool) > 0 && !slices.ContainsFunc(r.Tool, func(g string) bool {
		return c.named(g) || slices.ContainsFunc(agentNames[c.Name], func(n string) bool { return wild(lower(g), n) })
	}) {
		return false
	}
	switch {
	case len(r.Path) > 0:
		return strings.HasPrefix(c.Name, "file.") || c.Name == ToolShell // its redirections
	case len(r.Host) > 0:
		return c.Name == ToolFetch
	case len(r.Command) > 0:
		return c.Name == ToolShell
	}
	return true
}

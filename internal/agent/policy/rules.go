package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Origins of rules, and what decides where no rule does.
const (
	OriginHome    = "home"
	OriginProject = "project"
	OriginTask    = "task"

	RuleDefault  = "default"   // there are rules, and none names the call
	RuleNoPolicy = "no-policy" // there are no rules: only the sandbox restricts the agent
)

// A List is rules of one origin. The first that matches counts.
type List struct {
	Origin string      `json:"origin"`
	Rules  []deed.Rule `json:"rules"`
}

// A Ruleset is every list that holds for a task. Each list is asked by itself and the strictest answer counts: deny, then
// ask, then allow. So the lists of a task and of a project narrow what the operator allows, and never widen it.
//
// A call is decided part by part: each path that it names, each host, each simple command of its command line, and the
// strictest answer counts again. An allow is thereby an allow for all that the call names. Where a part can be read in
// more than one way (a path through a link, a command behind sudo or sh -c), deny and ask count if any reading matches,
// allow only for what would really happen. A part that cannot be read is matched by every deny and ask rule that speaks of
// its kind, and by no allow rule that does.
//
// What no rule names is decided by the operator's default: deny where there are rules. Without any rules all is allowed.
type Ruleset struct {
	Narrow  []List `json:"narrow,omitempty"` // of the task, of lists that it names, of the project
	Home    List   `json:"home"`
	Default string `json:"default,omitempty"` // the operator's own word; empty: deny where there are rules
}

// Assemble joins the operator's policy, which may be nil, with a task's. rules looks a named list up.
func Assemble(home *settings.Policy, task *deed.TaskPolicy, rules func(name string) ([]deed.Rule, error)) (Ruleset, error) {
	set := Ruleset{Home: List{Origin: OriginHome}}
	if home != nil {
		set.Home.Rules, set.Default = home.Rules, home.UnattendedDefault
	}
	if task == nil {
		return set, nil
	}
	add := func(origin string, rules []deed.Rule) {
		if len(rules) > 0 {
			set.Narrow = append(set.Narrow, List{Origin: origin, Rules: rules})
		}
	}
	add(OriginTask, task.Rules)
	for _, name := range task.Use {
		r, err := rules(name)
		if err != nil {
			return set, err
		}
		add("policies."+name, r)
	}
	add(OriginProject, task.Project)
	return set, nil
}

// Empty reports whether there are no rules at all.
func (s Ruleset) Empty() bool { return len(s.Home.Rules) == 0 && len(s.Narrow) == 0 && s.Default == "" }

// Lists returns the lists in the order in which they are asked.
func (s Ruleset) Lists() []List {
	out := slices.Clone(s.Narrow)
	if len(s.Home.Rules) > 0 {
		out = append(out, s.Home)
	}
	return out
}

// Flat returns every rule, for drivers that can only pass rules on to their agent. Those that narrow come first.
func (s Ruleset) Flat() []deed.Rule {
	var out []deed.Rule
	for _, l := range s.Lists() {
		out = append(out, l.Rules...)
	}
	return out
}

// A Verdict is what rules say about a call.
type Verdict struct {
	Effect  agentruntime.PolicyEffect
	Rule    string // origin/name, origin/number, default or no-policy
	Reason  string
	Subject string // the part that decided, or the whole call where it is allowed
}

// Decide asks every list about every part of the call.
func (s Ruleset) Decide(c Call) Verdict {
	out := Verdict{Subject: c.Subject()}
	for _, p := range c.parts {
		v, ok := s.part(c, p)
		if ok && strictness(v.Effect) > strictness(out.Effect) {
			if v.Subject = p.text; v.Effect == agentruntime.PolicyAllow {
				v.Subject = out.Subject
			}
			out = v
		}
	}
	return out
}

func (s Ruleset) part(c Call, p part) (Verdict, bool) {
	var out Verdict
	for _, l := range s.Lists() {
		if v, ok := l.first(c, p); ok && strictness(v.Effect) > strictness(out.Effect) {
			out = v
		}
	}
	if p.shadow {
		return out, out.Effect == agentruntime.PolicyDeny || out.Effect == agentruntime.PolicyAsk
	}
	homeSays := false
	if len(s.Home.Rules) > 0 {
		_, homeSays = s.Home.first(c, p)
	}
	if d, ok := s.otherwise(p, out.Effect != "", homeSays); ok && strictness(d.Effect) > strictness(out.Effect) {
		out = d
	}
	return out, true
}

// otherwise is what counts where the operator's rules do not name a part. named: some other list does.
func (s Ruleset) otherwise(p part, named, homeSays bool) (Verdict, bool) {
	switch {
	case homeSays:
		return Verdict{}, false
	case s.Empty():
		return Verdict{Effect: agentruntime.PolicyAllow, Rule: RuleNoPolicy, Reason: "no policy is configured"}, true
	case s.Default == "" && len(s.Home.Rules) == 0 && named:
		return Verdict{}, false // the operator has no rule, and the narrower rules have decided
	}
	effect := agentruntime.PolicyEffect(s.Default)
	if effect == "" {
		effect = agentruntime.PolicyDeny
	}
	reason := "no rule names it"
	if p.opaque && effect == agentruntime.PolicyAllow {
		effect, reason = agentruntime.PolicyDeny, "it cannot be read: "+p.why
	}
	return Verdict{Effect: effect, Rule: RuleDefault, Reason: reason}, true
}

func (l List) first(c Call, p part) (Verdict, bool) {
	for i, r := range l.Rules {
		if !matches(r, c, p) {
			continue
		}
		v := Verdict{Effect: agentruntime.PolicyEffect(r.Effect), Rule: RuleName(l.Origin, i, r), Reason: r.Reason}
		if v.Reason == "" && p.opaque {
			v.Reason = "it cannot be read: " + p.why
		}
		return v, true
	}
	return Verdict{}, false
}

// RuleName is how a rule is called in records.
func RuleName(origin string, index int, r deed.Rule) string {
	if r.Name != "" {
		return origin + "/" + r.Name
	}
	return fmt.Sprintf("%s/%d", origin, index+1)
}

func strictness(e agentruntime.PolicyEffect) int {
	return 1 + slices.Index([]agentruntime.PolicyEffect{agentruntime.PolicyAllow, agentruntime.PolicyAsk, agentruntime.PolicyDeny}, e)
}

func matches(r deed.Rule, c Call, p part) bool {
	if len(r.Tool) > 0 && !slices.ContainsFunc(r.Tool, func(g string) bool { return c.named(g) || p.tool != "" && wild(lower(g), p.tool) }) {
		return false
	}
	var kind partKind
	var globs []string
	match := wild
	switch {
	case len(r.Path) > 0:
		kind, globs, match = partPath, r.Path, matchPath
	case len(r.Host) > 0:
		kind, globs, match = partHost, r.Host, matchHost
	case len(r.Command) > 0:
		kind, globs = partCommand, r.Command
	default:
		return true
	}
	if p.kind != kind {
		return false
	}
	allow := r.Effect == deed.RuleAllow
	if allow && len(r.Tool) == 0 && !c.Known {
		return false // an unknown tool may do more with a path than the rule's author thinks of
	}
	if p.opaque {
		return !allow
	}
	return slices.ContainsFunc(globs, func(g string) bool {
		if slices.ContainsFunc(p.same, func(t string) bool { return match(g, t) }) || match(g, p.text) {
			return true
		}
		return !allow && slices.ContainsFunc(p.also, func(t string) bool { return match(g, t) })
	})
}

// matchPath matches a relative glob to a path below the workspace, an absolute one to an absolute path.
func matchPath(glob, path string) bool {
	g, absGlob := strings.CutPrefix(glob, "/")
	p, absPath := strings.CutPrefix(path, "/")
	return absGlob == absPath && workspace.Match(g, p)
}

func matchHost(glob, host string) bool { return wild(lower(glob), host) }

func lower(s string) string { return strings.ToLower(s) }

// Named reports whether a rule's glob matches the name of a tool.
func Named(glob, tool string) bool { return wild(lower(glob), lower(tool)) }

// wild matches a whole text: `*` is any text, `?` one character, a backslash takes the next character as it is.
func wild(glob, text string) bool {
	g, t := []rune(glob), []rune(text)
	i, j, again, from := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			i++
			again, from = i, j
			continue
		case i < len(g) && g[i] == '?':
			i, j = i+1, j+1
			continue
		case i < len(g):
			k := i
			if g[k] == '\\' && k+1 < len(g) {
				k++
			}
			if g[k] == t[j] {
				i, j = k+1, j+1
				continue
			}
		}
		if again < 0 {
			return false
		}
		from++
		i, j = again, from
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}

package opencode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/policy"
)

// opencode's own words for what a permission says. It has a third, ask, which is never used: there would be no answer.
const (
	allow = "allow"
	deny  = "deny"
)

// A right is a permission of opencode: the tools that it stands for, by their own and by deed's names, and what the
// patterns below it are matched with.
type right struct {
	name    string
	tools   []string
	subject subject
}

type subject int

const (
	nothing subject = iota
	paths
	commands
)

// rights lists opencode's permissions. The tools that change files share one.
var rights = []right{
	{"read", []string{"read", "file.read"}, paths},
	{"glob", []string{"glob", "file.list"}, nothing},
	{"grep", []string{"grep", "file.search"}, nothing},
	{"list", []string{"list", "file.list"}, nothing},
	{"edit", []string{"edit", "write", "patch", "apply_patch", "multiedit", "file.edit", "file.write", "file.delete", "file.move"}, paths},
	{"bash", []string{"bash", "shell"}, commands},
	{"webfetch", []string{"webfetch", "fetch"}, nothing}, // it takes no patterns, so no hosts
	{"websearch", []string{"websearch", "codesearch", "web.search"}, nothing},
	{"task", []string{"task", "subagent"}, nothing},
	{"skill", []string{"skill"}, nothing},
	{"todowrite", []string{"todowrite", "todoread", "todo"}, nothing},
}

// A pattern is one entry below a permission.
type pattern struct{ glob, action string }

// permissions is opencode's permission table in its order: of the entries that match, the last one counts.
type permissions []struct {
	right    string
	patterns []pattern
}

// MarshalJSON writes the table as the object that opencode reads. It goes by the order of the members.
func (p permissions) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	member := func(i int, key string) {
		if i > 0 {
			b.WriteByte(',')
		}
		text, _ := json.Marshal(key) // of a string, there is no error
		b.Write(text)
		b.WriteByte(':')
	}
	b.WriteByte('{')
	for i, entry := range p {
		member(i, entry.right)
		if len(entry.patterns) == 1 && entry.patterns[0].glob == "*" { // some permissions take no patterns
			fmt.Fprintf(&b, "%q", entry.patterns[0].action)
			continue
		}
		b.WriteByte('{')
		for k, pt := range entry.patterns {
			member(k, pt.glob)
			fmt.Fprintf(&b, "%q", pt.action)
		}
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (p *permissions) set(right string, patterns ...pattern) {
	*p = append(*p, struct {
		right    string
		patterns []pattern
	}{right, patterns})
}

// A ruling says how one of deed's rules is held.
type ruling struct {
	Rule string `json:"rule"`
	Held string `json:"held"` // enforced or declared
	Why  string `json:"why,omitempty"`
}

// permit makes the table of what opencode's model may do.
//
// Without rules everything is allowed but work by subagents, whose tokens are in no event, so that no budget would hold
// them. With rules what no rule allows is denied. A question to a person cannot be asked in the middle of a run: it is
// denied.
func permit(rules []deed.Rule, mode, workspace string, outside []string) (permissions, []ruling) {
	var table permissions
	base := allow
	if len(rules) > 0 {
		base = deny
	}
	table.set("*", pattern{"*", base})
	for _, r := range rights {
		patterns := r.patterns(rules, workspace)
		switch {
		case mode == agentcli.ReadOnly && (r.name == "edit" || r.name == "bash" || r.name == "task"):
			patterns = []pattern{{"*", deny}}
		case patterns == nil && r.name == "task":
			patterns = []pattern{{"*", deny}}
		}
		if patterns != nil {
			table.set(r.name, patterns...)
		}
	}
	table.set("doom_loop", pattern{"*", allow}) // deed looks for repetitions itself
	table.set("question", pattern{"*", deny})
	var dirs []pattern
	for _, dir := range outside {
		dirs = append(dirs, pattern{dir, allow})
	}
	table.set("external_directory", append([]pattern{{"*", deny}}, dirs...)...)
	return table, rulings(rules)
}

// patterns returns what the rules say about a right, weakest first; nil when there are no rules.
//
// The rules come from several lists of which the strictest counts, and opencode takes one list. So a deny counts wherever
// it stands, also behind an allow: that can deny more than the lists do, and never allows more.
func (r right) patterns(rules []deed.Rule, workspace string) []pattern {
	if len(rules) == 0 {
		return nil
	}
	said := map[string][]string{}
	for _, rule := range rules {
		if r.meant(rule) {
			a := action(rule.Effect)
			said[a] = append(said[a], r.globs(rule, workspace)...)
		}
	}
	if slices.Contains(said[deny], "*") {
		return []pattern{{"*", deny}}
	}
	out := []pattern{{"*", deny}}
	if slices.Contains(said[allow], "*") {
		out, said[allow] = []pattern{{"*", allow}}, nil
	}
	for _, a := range []string{allow, deny} {
		for _, glob := range said[a] {
			// A glob that is there already would keep its old place in opencode's table.
			out = slices.DeleteFunc(out, func(p pattern) bool { return p.glob == glob })
			out = append(out, pattern{glob, a})
		}
	}
	return out
}

func action(effect string) string {
	if effect == string(agentruntime.PolicyAllow) {
		return allow
	}
	return deny
}

// meant reports whether a rule speaks of the right at all.
func (r right) meant(rule deed.Rule) bool {
	if len(rule.Tool) == 0 {
		return true
	}
	return slices.ContainsFunc(rule.Tool, func(glob string) bool {
		return slices.ContainsFunc(r.tools, func(tool string) bool { return policy.Named(glob, tool) })
	})
}

// globs returns what a rule says in the form that opencode matches: none when the rule is about something else.
func (r right) globs(rule deed.Rule, workspace string) []string {
	if len(rule.Path)+len(rule.Host)+len(rule.Command) == 0 {
		return []string{"*"}
	}
	var out []string
	switch r.subject {
	case commands:
		out = rule.Command
	case paths:
		// A path is relative to the repository's top, or to / where there is no repository.
		for _, p := range rule.Path {
			p = strings.ReplaceAll(p, "**", "*")
			if rest, abs := strings.CutPrefix(p, "/"); abs {
				out = append(out, p, rest)
				continue
			}
			out = append(out, p, strings.TrimPrefix(workspace, "/")+"/"+p)
		}
	}
	return out
}

// rulings says how each rule is held: one that speaks of whole tools by opencode itself, which takes the tool away; one
// that speaks of paths, hosts or commands only as far as opencode sees them, since a shell can do the same by other words.
func rulings(rules []deed.Rule) []ruling {
	var out []ruling
	for i, rule := range rules {
		r := ruling{Rule: rule.Name, Held: policy.HeldEnforced}
		if r.Rule == "" {
			r.Rule = fmt.Sprintf("rule %d", i+1)
		}
		if len(rule.Path)+len(rule.Host)+len(rule.Command) > 0 {
			r.Held, r.Why = policy.HeldDeclared, "opencode matches what its tools are given; a shell can say the same in other words"
		}
		if rule.Effect == string(agentruntime.PolicyAsk) {
			r.Why = strings.TrimPrefix(r.Why+"; nobody can be asked during a run of opencode: denied", "; ")
		}
		out = append(out, r)
	}
	return out
}

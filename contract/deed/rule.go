package deed

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
)

// The effects of a rule, from the mildest to the strictest.
const (
	RuleAllow = "allow"
	RuleAsk   = "ask"
	RuleDeny  = "deny"
)

// Bounds of rules.
const (
	MaxRules     = 1000 // in one list
	MaxRuleGlobs = 256  // in one member of a rule
)

// A Rule says what an agent may do. Within one list the first one that matches counts. Members that are absent match
// everything; a rule has at most one of path, host and command, since a part of a call is one of them.
//
// In tool, host and command `*` is any text, `?` one character, and a backslash takes the next character as it is; tools
// and hosts are compared without regard to case. In path they are the globs of a workspace: `*` stays within one
// component, `**` is any number of them.
type Rule struct {
	Name    string   `json:"name,omitempty" jsonschema:"maxLength=512"` // for the evidence; absent: its number
	Tool    []string `json:"tool,omitempty"`                            // globs over the tool's name, and over deed's names for known tools
	Path    []string `json:"path,omitempty"`                            // globs over a path below the workspace, or an absolute one
	Host    []string `json:"host,omitempty"`                            // globs over a host name or host:port
	Command []string `json:"command,omitempty"`                         // globs over one simple command; a line is allowed when each of its commands is
	Effect  string   `json:"effect" jsonschema:"enum=allow,enum=deny,enum=ask"`
	Reason  string   `json:"reason,omitempty"`
}

// Validate returns every fault of the rule.
func (r Rule) Validate() error {
	var l fault.List
	l.OptionalName("$.name", r.Name)
	var one []string // of path, host and command
	for _, m := range []struct {
		name  string
		globs []string
		check func(l *fault.List, at, glob string)
	}{
		{"tool", r.Tool, textGlob},
		{"path", r.Path, pathGlob},
		{"host", r.Host, hostGlob},
		{"command", r.Command, textGlob},
	} {
		at := "$." + m.name
		if m.globs != nil && len(m.globs) == 0 {
			l.Add(at, fault.Blank, "is an empty list, which matches nothing", "leave it out to match everything")
		}
		if len(m.globs) > MaxRuleGlobs {
			l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d globs", len(m.globs)), fmt.Sprintf("use at most %d", MaxRuleGlobs))
			continue
		}
		for i, g := range m.globs {
			m.check(&l, fault.Index(at, i), g)
		}
		if len(m.globs) > 0 && m.name != "tool" {
			one = append(one, m.name)
		}
	}
	if len(one) > 1 {
		l.Add("$."+one[1], fault.Conflict, "is set beside "+one[0]+", and no part of a call is both", "write a rule for each")
	}
	fault.OneOf(&l, "$.effect", r.Effect, RuleAllow, RuleDeny, RuleAsk)
	if r.Reason != "" {
		l.Say("$.reason", r.Reason)
	}
	return l.Err()
}

// Rules checks a list of rules.
func Rules(l *fault.List, at string, rules []Rule) {
	if len(rules) > MaxRules {
		l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d rules", len(rules)), fmt.Sprintf("use at most %d", MaxRules))
		return
	}
	names := map[string]bool{}
	for i, r := range rules {
		if err := r.Validate(); err != nil {
			l.Within(fault.Index(at, i), err)
		}
		if r.Name != "" && names[r.Name] {
			l.Add(fault.Index(at, i)+".name", fault.Duplicate, fmt.Sprintf("%q is there twice", clip(r.Name)), "give every rule its own name")
		}
		names[r.Name] = true
	}
}

func textGlob(l *fault.List, at, glob string) {
	switch {
	case strings.TrimSpace(glob) == "":
		l.Add(at, fault.Blank, "is blank", "write * for everything")
	case len(glob) > fault.MaxGlob:
		l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d bytes", len(glob)), fmt.Sprintf("use at most %d", fault.MaxGlob))
	case !utf8.ValidString(glob) || strings.ContainsAny(glob, "\x00\n\r"):
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not one line of text", clip(glob)), "write one line")
	case dangling(glob):
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q ends with a backslash that takes nothing", clip(glob)), "write two for one that is meant")
	}
}

// dangling reports whether an odd number of backslashes ends the text.
func dangling(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

func hostGlob(l *fault.List, at, glob string) {
	textGlob(l, at, glob)
	if strings.ContainsAny(glob, "/@ \t") {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not a host", clip(glob)), "write a host with an optional port, as in *.example.com:443, without a scheme or a path")
	}
}

func pathGlob(l *fault.List, at, glob string) {
	if rest, ok := strings.CutPrefix(glob, "/"); ok && rest != "" {
		glob = rest
	}
	l.Glob(at, glob)
}

package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/policy"
)

// rule writes a tool: "-" before its id denies it, "^" puts it outside the sandbox, "~" hides it.
func rule(text string) codebox.ToolRule {
	r := codebox.ToolRule{
		Allowed: true, ExecutionLocation: codebox.LocationSandbox, TransportVisibility: codebox.VisibleBoth,
		Runtime: codebox.ToolRuntime{Environment: codebox.ScopeRuntimeLocal, CapabilityScope: codebox.ScopeRuntimeLocal},
	}
	for {
		switch text[0] {
		case '-':
			r.Allowed = false
		case '^':
			r.ExecutionLocation = codebox.LocationParent
			r.Runtime = codebox.ToolRuntime{Environment: codebox.ScopeControlPlane, CapabilityScope: codebox.ScopeControlPlane}
		case '~':
			r.TransportVisibility = codebox.VisibleHidden
		default:
			text, aliases, _ := strings.Cut(text, "=")
			r.ID, r.RuntimeToolID = text, evidence.ToolName(text)
			if aliases != "" {
				r.Aliases = strings.Split(aliases, ",")
			}
			return r
		}
		text = text[1:]
	}
}

// tools makes a policy of rules; "none" is no policy, and "" one without tools.
func tools(text string) *codebox.SandboxToolPolicy {
	if text == "none" {
		return nil
	}
	p := codebox.DefaultDeny()
	for _, t := range strings.Fields(text) {
		p.Tools = append(p.Tools, rule(t))
	}
	return &p
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		policy  string
		allowed string // "-" is not mentioned
		source  string
		facts   string // of write, commands, tests, network
		rules   string // some decisions: + allowed and exposed, ~ allowed and not exposed, - denied
	}{
		{"nothing said", "none", "-", policy.SourceDefaultDeny, "write commands tests network", "+workspace.write:nothing-said +command.run:nothing-said -parent.*:default-deny"},
		{"a policy without tools", "", "-", policy.SourceDefaultDeny, "write commands tests network", "+workspace.write:nothing-said -parent.*:default-deny"},
		{"the seed's request", "", "workspace.read workspace.write tests.run", policy.SourceAllowedTools, "write tests", "+workspace.write:in-allowed-tools -workspace.delete:not-in-allowed-tools -command.run:not-in-allowed-tools -network.fetch:not-in-allowed-tools"},
		{"read only", "none", "workspace.read", policy.SourceAllowedTools, "", "+workspace.read:in-allowed-tools -workspace.write:not-in-allowed-tools -workspace.edit:not-in-allowed-tools -workspace.delete:not-in-allowed-tools"},
		{"an empty list", "none", "", policy.SourceAllowedTools, "", "-workspace.read:not-in-allowed-tools -command.run:not-in-allowed-tools"},
		{"derived ids", "none", "workspace_edit command_run", policy.SourceAllowedTools, "write commands tests", "+workspace.edit:in-allowed-tools -workspace.write:not-in-allowed-tools"},
		{"names of agents", "none", "Read Bash WebFetch apply_patch", policy.SourceAllowedTools, "write commands tests network", "+workspace.edit:in-allowed-tools +network.fetch:in-allowed-tools"},
		{"delete alone writes", "none", "workspace.delete", policy.SourceAllowedTools, "write", ""},
		{"unknown name", "none", "workspace.read issues.open", policy.SourceAllowedTools, "", "+issues.open:in-allowed-tools"},

		{"a policy", "workspace.read workspace.write", "-", policy.SourcePolicy, "write", "+workspace.write:policy-allows -command.run:not-in-policy -network.fetch:not-in-policy"},
		{"a policy that denies", "workspace.read -workspace.write", "-", policy.SourcePolicy, "", "+workspace.read:policy-allows -workspace.write:policy-denies -workspace.edit:not-in-policy"},
		{"both", "workspace.read workspace.write command.run", "workspace.read command.run", policy.SourcePolicy, "commands tests", "-workspace.write:not-in-allowed-tools +command.run:policy-allows"},
		{"denied and listed", "workspace.read -workspace.write", "workspace.read workspace.write", policy.SourcePolicy, "", "-workspace.write:policy-over-allowed-tools"},
		{"listed under another name", "-shell=bash", "bash", policy.SourcePolicy, "", "-command.run:policy-over-allowed-tools"},
		{"allowed under an alias of the policy", "editor=workspace.edit,mine", "mine", policy.SourcePolicy, "write", "+workspace.edit:policy-allows"},
		{"not in the policy", "workspace.read", "workspace.read workspace.write", policy.SourcePolicy, "", "-workspace.write:not-in-policy"},
		{"one of two denies", "bash -shell", "-", policy.SourcePolicy, "", "-command.run:policy-denies"},
		{"hidden", "~workspace.write workspace.read", "-", policy.SourcePolicy, "", "~workspace.write:policy-allows"},
		{"hidden beside visible", "~bash terminal", "-", policy.SourcePolicy, "commands tests", "+command.run:policy-allows"},
		{"outside", "^workspace.write workspace.read", "-", policy.SourcePolicy, "", "~parent.workspace.write:policy-allows -workspace.write:not-in-policy"},
		{"outside and called so", "^parent.pr", "-", policy.SourcePolicy, "", "~parent.pr:policy-allows"},
		{"outside and denied", "-^issues.open", "issues.open", policy.SourcePolicy, "", "-parent.issues.open:policy-over-allowed-tools"},
		{"unknown in the policy", "issues.read -issues.open", "-", policy.SourcePolicy, "", "+issues.read:policy-allows -issues.open:policy-denies"},
		{"unknown in neither", "issues.read", "issues.read other.tool", policy.SourcePolicy, "", "+issues.read:policy-allows -other.tool:not-in-policy"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			e, err := policy.Resolve(tools(c.policy), strings.Fields(strings.TrimPrefix(c.allowed, "-")), c.allowed != "-")
			if err != nil {
				t.Fatal(err)
			}
			var facts []string
			for _, f := range []struct {
				name string
				is   bool
			}{{"write", e.WriteWorkspace}, {"commands", e.RunCommands}, {"tests", e.TestsRun}, {"network", e.Network}} {
				if f.is {
					facts = append(facts, f.name)
				}
			}
			if got := strings.Join(facts, " "); got != c.facts || e.Source != c.source {
				t.Errorf("facts are %q from %s, want %q from %s", got, e.Source, c.facts, c.source)
			}
			got := map[string]bool{}
			for _, tool := range e.Tools {
				mark := "-"
				switch {
				case tool.Exposed && !tool.Allowed:
					t.Errorf("exposed and not allowed: %+v", tool)
				case tool.Exposed:
					mark = "+"
				case tool.Allowed:
					mark = "~"
				}
				got[mark+tool.ID+":"+tool.Rule] = true
				if !tool.Allowed && tool.Remedy == "" {
					t.Errorf("denied without a remedy: %+v", tool)
				}
			}
			for _, want := range strings.Fields(c.rules) {
				if !got[want] {
					t.Errorf("no %s in %v", want, got)
				}
			}
		})
	}
}

// TestHeld: a decision without an enforcer is never reported as enforced.
func TestHeld(t *testing.T) {
	t.Parallel()
	every := []policy.Enforcer{policy.EnforcerMounts, policy.EnforcerNetwork, policy.EnforcerDriver}
	for _, c := range []struct {
		name      string
		allowed   string
		enforcers []policy.Enforcer
		want      map[string]string
	}{
		{"no enforcers", "workspace.read", nil, map[string]string{"workspace.write": "declared", "network.fetch": "declared", "command.run": "declared", "parent.*": "enforced"}},
		{"mounts", "workspace.read", []policy.Enforcer{policy.EnforcerMounts}, map[string]string{"workspace.read": "enforced", "workspace.write": "enforced", "workspace.delete": "enforced", "network.fetch": "declared", "command.run": "declared"}},
		{"all enforcers", "workspace.read", every, map[string]string{"workspace.write": "enforced", "network.fetch": "enforced", "command.run": "enforced", "tests.run": "enforced"}},
		{"edit and not delete", "workspace.read workspace.edit", every, map[string]string{"workspace.edit": "enforced", "workspace.write": "declared", "workspace.delete": "declared"}},
		{"commands and not tests", "command.run", every, map[string]string{"command.run": "enforced", "tests.run": "declared", "workspace.read": "declared", "workspace.write": "enforced"}},
		{"unknown", "issues.open", every, map[string]string{"issues.open": "declared"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			e, err := policy.Resolve(nil, strings.Fields(c.allowed), true)
			if err != nil {
				t.Fatal(err)
			}
			held := map[string]string{}
			for _, d := range e.EnforcedBy(c.enforcers...).Decisions() {
				held[d.Tool] = d.Held
			}
			for id, want := range c.want {
				if held[id] != want {
					t.Errorf("%s is %s, want %s", id, held[id], want)
				}
			}
			for _, tool := range e.Tools { // EnforcedBy changed a copy
				if tool.Held == policy.HeldEnforced && tool.Enforcer != policy.EnforcerBridge {
					t.Errorf("%+v without any enforcer", tool)
				}
			}
		})
	}
}

func TestFaultsAreAllNamed(t *testing.T) {
	t.Parallel()
	p := tools("workspace.read")
	p.Version = 2
	p.Tools[0].ExecutionLocation = "external"
	_, err := policy.Resolve(p, []string{" ok ", "", "bad\nname"}, true)
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Path)
	}
	want := []string{"$.sandbox_tool_policy.version", "$.sandbox_tool_policy.tools[0].execution_location", "$.allowed_tools[2]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestDecisionsAreRecords(t *testing.T) {
	t.Parallel()
	e, err := policy.Resolve(tools("-workspace.write"), []string{"workspace.write"}, true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(e.EnforcedBy(policy.EnforcerMounts).Decisions()[1])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tool":"workspace.write","allowed":false,"rule":"policy-over-allowed-tools","held":"enforced","remedy":"allowed_tools names it and the policy denies it: set allowed to true for \"workspace.write\" in sandbox_tool_policy"}`
	if string(b) != want {
		t.Errorf("got %s", b)
	}
}

// TestADecisionSaysWhatTheAgentHas: a tool that is hidden from the sandbox, one outside of it, and the network of a run without
// hosts are not recorded as allowed, whatever the policy says of them.
func TestADecisionSaysWhatTheAgentHas(t *testing.T) {
	t.Parallel()
	e, err := policy.Resolve(tools("workspace.read ~workspace.write ^issues.open network.fetch"), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Network || e.Offline().Network {
		t.Errorf("network %v, without hosts %v", e.Network, e.Offline().Network)
	}
	rules := func(e policy.Effective) map[string]string {
		out := map[string]string{}
		for _, d := range e.Decisions() {
			if (d.Rule == policy.RulePolicyAllows) != d.Allowed || !d.Allowed && d.Remedy == "" {
				t.Errorf("%+v", d)
			}
			out[d.Tool] = d.Rule
		}
		return out
	}
	for id, want := range map[string][2]string{
		"workspace.read":     {policy.RulePolicyAllows, policy.RulePolicyAllows},
		"workspace.write":    {policy.RuleNotVisible, policy.RuleNotVisible},
		"workspace.edit":     {policy.RuleNotInPolicy, policy.RuleNotInPolicy},
		"parent.issues.open": {policy.RuleNotVisible, policy.RuleNotVisible},
		"network.fetch":      {policy.RulePolicyAllows, policy.RuleNoHosts},
	} {
		if got := [2]string{rules(e)[id], rules(e.Offline())[id]}; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// policyDoc is what `deed policy explain --json` prints.
type policyDoc struct {
	Schema    string             `json:"schema"`
	TaskID    string             `json:"task_id,omitempty"`
	AdapterID string             `json:"adapter_id,omitempty"`
	Held      string             `json:"held,omitempty"` // enforced or declared: whether the agent asks before it acts
	Isolation string             `json:"isolation"`
	Network   []string           `json:"network"`
	Budget    *deed.Budget       `json:"budget,omitempty"`
	Lists     []policy.List      `json:"lists"`
	Default   string             `json:"unattended_default,omitempty"`
	Hooks     map[string]int     `json:"hooks,omitempty"`
	Tools     []policy.Outline   `json:"tools,omitempty"`
	Call      *policyCallVerdict `json:"call,omitempty"`
}

type policyCallVerdict struct {
	Tool    string                    `json:"tool"`
	Name    string                    `json:"name"`
	Subject string                    `json:"subject,omitempty"`
	Effect  agentruntime.PolicyEffect `json:"effect"`
	Rule    string                    `json:"rule"`
	Reason  string                    `json:"reason,omitempty"`
}

func (a *app) policyCmd() *cobra.Command {
	var agent, tool, input string
	explain := &cobra.Command{
		Use: "explain [TASK]", Short: "Print what an agent would be allowed, asked about and denied; nothing is run",
		Long: `Print the rules that hold for a task, in the order in which they are asked, and what they come to for each tool.
Without a task: what the settings say by themselves. With --tool and --input: the decision on that one call. Hooks are
listed and not run. Not every agent asks before it acts: with a task or --agent it is said whether its rules are held.`,
		Example: `  deed policy explain --agent claude-code
  deed policy explain --agent claude-code --tool Bash --input '{"command": "git push origin main"}'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			doc, set, err := a.explain(c.Context(), agent, args)
			if err != nil {
				return err
			}
			if tool == "" && input != "" {
				return usage(errors.New("--input needs --tool"))
			}
			if tool != "" {
				if input != "" && !json.Valid([]byte(input)) {
					return usage(fmt.Errorf("--input %q is not JSON (write it as the tool gets it, as in '{\"command\": \"git push\"}')", input))
				}
				call := policy.Read(tool, json.RawMessage(input), policy.Places{Root: "/workspace"})
				v := set.Decide(call)
				doc.Call = &policyCallVerdict{Tool: tool, Name: call.Name, Subject: call.Subject(), Effect: v.Effect, Rule: v.Rule, Reason: v.Reason}
			} else {
				for _, name := range policy.Tools {
					doc.Tools = append(doc.Tools, set.Outline(name))
				}
			}
			if a.json {
				return a.emit(doc)
			}
			a.showPolicy(doc)
			return nil
		},
	}
	fl := explain.Flags()
	fl.StringVar(&agent, "agent", "", "`ADAPTER`, instead of a task")
	fl.StringVar(&tool, "tool", "", "`NAME` of a tool, as the agent or as deed names it")
	fl.StringVar(&input, "input", "", "the tool's input as `JSON`")
	check := &cobra.Command{
		Use: "check", Short: "Read the rules of every settings file, and tell each fault with its line", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			set, err := policy.Assemble(cfg.Policy, &deed.TaskPolicy{Project: cfg.Project}, cfg.Rules)
			if err != nil {
				return err
			}
			rules := len(set.Flat())
			if a.json {
				return a.emit(map[string]any{"schema": "deed/policy-check/v1", "files": cfg.Files, "rules": rules})
			}
			a.printf("%s in %s\n", count(rules, "rule"), count(len(cfg.Files), "file"))
			return nil
		},
	}
	return group("policy", "Explain and check what agents may do", explain, check)
}

// explain gathers what holds, for a task or for the settings alone.
func (a *app) explain(ctx context.Context, agent string, args []string) (policyDoc, policy.Ruleset, error) {
	doc := policyDoc{Schema: "deed/policy-explanation/v1", Network: []string{}}
	spec := &deed.TaskSpec{}
	cfg, err := a.config()
	if err != nil {
		return doc, policy.Ruleset{}, err
	}
	switch {
	case len(args) == 1 && agent != "":
		return doc, policy.Ruleset{}, usage(errors.New("TASK and --agent exclude each other (give one)"))
	case len(args) == 1:
		t, err := a.oneTask(ctx, args[0])
		if err != nil {
			return doc, policy.Ruleset{}, err
		}
		doc.TaskID = t.Record.TaskID
		if t.Record.RequestedAdapterID != nil {
			doc.AdapterID = *t.Record.RequestedAdapterID
		}
		if t.Intent.Deed != nil {
			spec = t.Intent.Deed
		}
	default:
		kind := ""
		if agent != "" {
			c, err := cfg.Adapter(agent)
			if err != nil {
				return doc, policy.Ruleset{}, usage(err)
			}
			doc.AdapterID, kind = agent, c.Kind()
		}
		if spec.Isolation = cfg.Isolation; spec.Isolation == "" {
			spec.Isolation = task.DefaultIsolation(kind)
		}
		spec.Policy = &deed.TaskPolicy{Project: cfg.Project}
	}
	doc.Isolation = spec.Isolation
	if spec.Sandbox != nil {
		doc.Network = append(doc.Network, spec.Sandbox.Network...)
	}
	doc.Budget = spec.Budget
	doc.Held = held(cfg, doc.AdapterID)
	set, err := policy.Assemble(cfg.Policy, spec.Policy, cfg.Rules)
	if err != nil {
		return doc, set, usage(err)
	}
	doc.Lists, doc.Default = set.Lists(), set.Default
	if p := cfg.Policy; p != nil && p.Hooks != nil {
		doc.Hooks = map[string]int{
			policy.EventPreToolUse: len(p.Hooks.PreToolUse), policy.EventPostToolUse: len(p.Hooks.PostToolUse),
			policy.EventStop: len(p.Hooks.Stop), policy.EventSubagentStop: len(p.Hooks.SubagentStop),
		}
	}
	return doc, set, nil
}

// held says whether the agent of an adapter asks before it acts, so that rules are more than words; "" when that is
// unknown.
func held(cfg *config.Config, adapter string) string {
	ad, err := cfg.Adapter(adapter)
	if err != nil {
		return ""
	}
	d, err := drivers(packaged.Options{}).For(ad.Kind())
	if err != nil {
		return ""
	}
	if asks, ok := d.(driver.Asking); ok && asks.AsksFirst() {
		return policy.HeldEnforced
	}
	return policy.HeldDeclared
}

// hintDeclared says that there are rules which the agent of a task is not held to.
func (a *app) hintDeclared(row store.NewTask) {
	if row.Intent.Deed == nil || held(a.cfg, row.AdapterID) != policy.HeldDeclared {
		return
	}
	set, err := policy.Assemble(a.cfg.Policy, row.Intent.Deed.Policy, a.cfg.Rules)
	if err == nil && len(set.Flat()) > 0 {
		a.hint("agent %s does not ask deed before it acts: rules are declared to it, the sandbox and the gate hold", clean(row.AdapterID))
	}
}

func (a *app) showHeld(held string) {
	switch held {
	case policy.HeldEnforced:
		a.printf("held      enforced: the agent asks deed before each call\n")
	case policy.HeldDeclared:
		a.printf("held      %s: the agent does not ask deed before each call (docs/AGENT-CLIS.md); the sandbox and the gate hold\n", a.color.Yellow("declared"))
	}
}

func (a *app) showPolicy(d policyDoc) {
	if c := d.Call; c != nil {
		a.printf("%s  %s %s\n", c.Effect, c.Name, clean(c.Subject))
		a.printf("rule      %s\n", c.Rule)
		if c.Reason != "" {
			a.printf("reason    %s\n", clean(c.Reason))
		}
		a.showHeld(d.Held)
		return
	}
	a.showHeld(d.Held)
	a.printf("isolation %s\n", d.Isolation)
	network := "the machine's"
	switch {
	case len(d.Network) > 0:
		network = strings.Join(d.Network, ", ")
	case d.Isolation == "namespace" || d.Isolation == "container":
		network = "none but the model's"
	}
	a.printf("network   %s\n", clean(network))
	if d.Budget != nil {
		if b, err := json.Marshal(d.Budget); err == nil {
			a.printf("budget    %s\n", b)
		}
	}
	for _, event := range []string{policy.EventPreToolUse, policy.EventPostToolUse, policy.EventStop, policy.EventSubagentStop} {
		if n := d.Hooks[event]; n > 0 {
			a.printf("hooks     %d at %s\n", n, event)
		}
	}
	a.printf("\n")
	var rows [][]string
	for _, t := range d.Tools {
		for _, s := range t.Rules {
			rows = append(rows, []string{t.Tool, s.Effect, clean(strings.Join(s.Only, " ")), s.Rule})
		}
		if t.Otherwise != "" {
			rows = append(rows, []string{t.Tool, t.Otherwise, "", t.By})
		}
	}
	a.table([]string{"TOOL", "EFFECT", "ONLY", "RULE"}, rows)
}

package cli

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/model/scripted"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

//go:embed demo/*.sh demo/model.yaml
var demoAgents embed.FS

// demoCast are the scripts that take part, in the order of the table; demoModel is the agent with a model, which comes last.
var demoCast = []string{"talker", "eraser", "forger", "worker"}

const demoModel = "hasty"

// demoModule is a module with one failing test.
var demoModule = map[string]string{
	"go.mod": "module example.com/stats\n\ngo 1.21\n",
	"stats.go": `package stats

// Mean returns the arithmetic mean of xs, or 0 for none.
func Mean(xs []int) float64 {
	if len(xs) == 0 {
		return 0
	}
	sum := 0
	for _, x := range xs {
		sum += x
	}
	return float64(sum / len(xs))
}
`,
	"stats_test.go": `package stats

import "testing"

func TestMean(t *testing.T) {
	if got := Mean([]int{1, 2}); got != 1.5 {
		t.Errorf("Mean(1, 2) = %v, want 1.5", got)
	}
}
`,
}

type demoAgent struct {
	Name     string        `json:"name"`
	Claim    string        `json:"claim"`
	Verdict  string        `json:"verdict"` // accepted or rejected
	Reasons  []deed.Reason `json:"reasons"`
	Refusals []demoRefusal `json:"refusals,omitempty"`
	bundle   string
}

// A demoRefusal is what an agent claimed, and why that was not enough.
type demoRefusal struct {
	Claim   string   `json:"claim"`
	Reasons []string `json:"reasons"`
	Same    bool     `json:"same_conversation"` // the agent got them in the same conversation
}

type demoReport struct {
	Agents       []demoAgent `json:"agents"`
	Bundle       string      `json:"bundle"`
	TamperCaught bool        `json:"tamper_caught"`
	Violations   []string    `json:"tamper_violations"`
	Home         string      `json:"home"`
}

func (a *app) demoCmd() *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use: "demo", Short: "See agents lie and work, and deed believe only what it sees", Args: cobra.NoArgs,
		Long: `In a temporary home, give the same task (make a failing test pass) to four scripts, three of which lie, and to deed's
own agent with a scripted model, which stops too early, gets the reasons why that is not accepted, and continues. Then show that a
changed bundle is caught. Needs go and git, and no network.`,
		Example: `  deed demo
  deed demo --keep ./shown && deed --home ./shown/home serve`,
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), keep) },
	}
	c.Flags().StringVar(&keep, "keep", "", "a new `DIRECTORY` for all of it (default: a temporary one)")
	return c
}

func (a *app) demo(ctx context.Context, keep string) error {
	for _, tool := range []string{"go", "git"} {
		if _, err := proc.LookPath(tool, a.getenv("PATH"), "/"); err != nil {
			return fmt.Errorf("the demo needs %s, and it is not on PATH (install it)", tool)
		}
	}
	root, err := demoPlace(keep)
	if err != nil {
		return err
	}
	d := &app{
		Stdio: a.Stdio, environ: a.environ, color: a.color, errColor: a.errColor, json: a.json, quiet: a.quiet,
		homeFlag: filepath.Join(root, "home"), cfg: config.Default(),
	}
	defer func() { _ = d.close() }()
	rep := demoReport{Home: d.homeFlag, Agents: []demoAgent{}}
	project := filepath.Join(root, "stats")
	if err := d.demoSetup(ctx, project, filepath.Join(root, "agents")); err != nil {
		return err
	}
	if !a.json {
		a.printf("%s\n\n", a.color.Bold("One failing test, five agents, the same task: make it pass."))
	}
	model, stop, err := demoServer()
	if err != nil {
		return err
	}
	defer stop()
	for _, name := range append(slices.Clone(demoCast), demoModel) {
		adapter := agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
			AdapterID: name, Kind: agentruntime.KindScript, Command: filepath.Join(root, "agents", name+".sh"), TimeoutMS: 60_000,
		}}
		if name == demoModel {
			adapter = model
		}
		ag, err := d.demoRun(ctx, name, project, adapter)
		if err != nil {
			return fmt.Errorf("agent %s: %w", name, err)
		}
		rep.Agents = append(rep.Agents, ag)
		if ag.Verdict == "accepted" && rep.Bundle == "" {
			rep.Bundle = ag.bundle
		}
		if !a.json {
			a.showDemoAgent(ag)
		}
	}
	if !a.json {
		a.showDemoTable(rep.Agents)
	}
	if rep.Bundle == "" {
		return errors.New("no agent was accepted: this is a fault in deed")
	}
	if err := a.demoTamper(&rep, filepath.Join(root, "tampered")); err != nil {
		return err
	}
	if a.json {
		err = a.emit(rep)
	} else {
		a.hint("\nall of it is kept for you in %s\nlook at it in a browser: `deed --home %s serve`, and `deed --home %[2]s open` beside it", root, d.homeFlag)
	}
	if err != nil {
		return err
	}
	if !rep.TamperCaught {
		return errNotDone
	}
	return nil
}

// demoPlace makes the directory of the demo.
func demoPlace(keep string) (string, error) {
	root, err := filepath.Abs(keep)
	switch {
	case err != nil:
	case keep == "":
		root, err = os.MkdirTemp("", "deed-demo-")
	default:
		err = os.Mkdir(root, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", usage(fmt.Errorf("--keep %s is there already (name a directory that is not)", keep))
	case err != nil:
		return "", fmt.Errorf("make a place for the demo: %w", err)
	}
	return filepath.EvalSymlinks(root)
}

// demoSetup writes the module and the agents, and opens the temporary home.
func (a *app) demoSetup(ctx context.Context, project, agents string) error {
	for _, dir := range []string{project, agents} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for name, text := range demoModule {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range demoCast {
		text, err := demoAgents.ReadFile("demo/" + name + ".sh")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(agents, name+".sh"), text, 0o755); err != nil {
			return err
		}
	}
	return a.open(ctx)
}

// demoServer starts the scripted model, and returns an adapter of deed's own agent that asks it.
func demoServer() (agentruntime.AdapterConfig, func(), error) {
	var none agentruntime.AdapterConfig
	text, err := demoAgents.ReadFile("demo/model.yaml")
	if err != nil {
		return none, nil, err
	}
	script, err := scripted.Parse(text)
	if err != nil {
		return none, nil, err
	}
	server := scripted.New(script)
	if _, err := server.Start("127.0.0.1:0"); err != nil {
		return none, nil, fmt.Errorf("start the scripted model: %w", err)
	}
	return agentruntime.AdapterConfig{Native: &agentruntime.NativeAdapter{
		AdapterID: demoModel, Kind: agentruntime.KindNative, Model: "scripted", TimeoutMS: 60_000,
		Provider: agentruntime.NativeProvider{API: agentruntime.APIOllama, BaseURL: server.URL(demoModel)},
	}}, func() { _ = server.Close() }, nil
}

// demoRun gives the task to one agent. It runs as the person who asked for the demo, who may have no bubblewrap.
func (a *app) demoRun(ctx context.Context, name, project string, with agentruntime.AdapterConfig) (demoAgent, error) {
	adapter, err := json.Marshal(with)
	if err != nil {
		return demoAgent{}, err
	}
	check := deed.Check{Name: "go test", Command: []string{"go", "test", "./..."}, TimeoutSeconds: 120}
	if cache := a.goCache(); cache != "" {
		check.Env = map[string]string{"GOCACHE": cache} // a cold cache would compile the standard library first
	}
	show := a.newProgress()
	show.say(name)
	defer show.clear()
	res, err := a.execute(ctx, agentruntime.TaskIntent{
		TaskType: config.TypeAgentTask, Source: "demo", Subject: "Make the failing test pass", Payload: json.RawMessage(`{}`),
		Deed: &deed.TaskSpec{
			MaxAttempts: 1, Adapter: adapter, Isolation: "process", Workspace: &deed.Workspace{Source: project},
			WriteScope: []string{"stats.go"}, ProtectedPaths: []string{"**/*_test.go"}, Checks: []deed.Check{check},
		},
	}, nil)
	if err != nil {
		return demoAgent{}, err
	}
	if res.Verdict == nil {
		return demoAgent{}, fmt.Errorf("no verdict: %s", res.Settlement.LastError)
	}
	ag := demoAgent{Name: name, Verdict: "rejected", Reasons: res.Verdict.Reasons, bundle: res.BundleDir}
	if res.Verdict.Accepted {
		ag.Verdict = "accepted"
	}
	if res.Claim != nil {
		ag.Claim = res.Claim.Summary
	}
	if res.Refusals > 0 {
		ag.Refusals, err = refusals(res.BundleDir)
	}
	return ag, err
}

// refusals reads from a bundle what the agent claimed in vain, and the reasons that it got.
func refusals(dir string) ([]demoRefusal, error) {
	entries, err := journal.Read(filepath.Join(dir, evidence.PathEvents))
	if err != nil {
		return nil, err
	}
	task, same := history.Of(history.Options{}, entries), map[string]bool{}
	for _, r := range task.RecoveryAttempts {
		same[r.CompletionAttemptID] = r.SameConversation
	}
	var out []demoRefusal
	for _, c := range task.CompletionAttempts {
		if c.Decision != nil && !c.Decision.Accepted {
			out = append(out, demoRefusal{c.Claim, c.Decision.Reasons, same[c.ID]})
		}
	}
	return out, nil
}

// goCache is the build cache of the person who runs the demo.
func (a *app) goCache() string {
	if c := a.getenv("GOCACHE"); filepath.IsAbs(c) {
		return c
	}
	dir := a.getenv("XDG_CACHE_HOME")
	if dir == "" && a.getenv("HOME") != "" {
		dir = filepath.Join(a.getenv("HOME"), ".cache")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "go-build")
}

func (a *app) showDemoAgent(ag demoAgent) {
	word := a.color.Red("rejected")
	if ag.Verdict == "accepted" {
		word = a.color.Green("accepted")
	}
	name := a.color.Bold(fmt.Sprintf("%-6s", ag.Name))
	for _, r := range ag.Refusals {
		a.printf("  %s  %s   says “%s”\n", name, a.color.Red("refused"), clean(r.Claim))
		for _, reason := range r.Reasons {
			a.printf("            %s %s\n", a.color.Red("✗"), clean(reason))
		}
		if r.Same {
			a.printf("            … is told so in the same conversation, and goes on\n")
		}
		name = fmt.Sprintf("%-6s", "")
	}
	a.printf("  %s  %s  says “%s”\n", name, word, clean(ag.Claim))
	for _, r := range ag.Reasons {
		a.printf("            %s %-20s %s\n", a.color.Red("✗"), r.Code, clean(r.Message))
	}
	if ag.Verdict == "accepted" {
		a.printf("            %s the change is what it says, inside its scope, and go test passes on a clean copy\n", a.color.Green("✓"))
	}
	a.printf("\n")
}

// showDemoTable sums the verdicts up.
func (a *app) showDemoTable(agents []demoAgent) {
	rows := make([][]string, len(agents))
	for i, ag := range agents {
		word := a.color.Red(ag.Verdict)
		if ag.Verdict == "accepted" {
			word = a.color.Green(ag.Verdict)
		}
		var codes []string
		for _, r := range ag.Reasons {
			if !slices.Contains(codes, r.Code) {
				codes = append(codes, r.Code)
			}
		}
		rows[i] = []string{ag.Name, word, strings.Join(codes, ", ")}
	}
	a.table([]string{"AGENT", "VERDICT", "REASONS"}, rows)
	a.printf("\n")
}

// demoTamper verifies the accepted bundle, then flips one bit of a copy and verifies that.
func (a *app) demoTamper(rep *demoReport, copyDir string) error {
	keys, err := bundle.TrustedKeys(filepath.Join(rep.Home, "keys"))
	if err != nil {
		return err
	}
	o := bundle.VerifyOptions{TrustedKeys: keys, RequireSignature: true}
	good, err := bundle.Verify(rep.Bundle, o)
	if err != nil {
		return err
	}
	if !good.Valid {
		return fmt.Errorf("the accepted bundle does not verify: %v", good.Violations)
	}
	if _, err := workspace.Clone(context.Background(), rep.Bundle, copyDir); err != nil {
		return err
	}
	patch := filepath.Join(copyDir, filepath.FromSlash(evidence.PathPatch))
	text, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	i := bytes.Index(text, []byte("/ float64"))
	if i < 0 {
		return errors.New("the accepted patch is not the one that the demo expects")
	}
	text[i] ^= 0x05 // "/" becomes "*"
	if err := os.WriteFile(patch, text, 0o644); err != nil {
		return err
	}
	bad, err := bundle.Verify(copyDir, o)
	if err != nil {
		return err
	}
	rep.TamperCaught = !bad.Valid
	for _, v := range bad.Violations {
		if !slices.Contains(rep.Violations, v.Code) {
			rep.Violations = append(rep.Violations, v.Code)
		}
	}
	if !a.json {
		a.printf("%s  %s\n", a.color.Green("✓ bundle verified"), rep.Bundle)
		a.printf("             signature %s by %s\n", good.Signature.Status, good.Signature.KeyID)
		if rep.TamperCaught {
			a.printf("%s  one byte of a copy flipped: %s\n", a.color.Green("✓ tampering caught"), strings.Join(rep.Violations, ", "))
		} else {
			a.printf("%s  one byte of a copy flipped, and nobody noticed\n", a.color.Red("✗ tampering missed"))
		}
	}
	return nil
}

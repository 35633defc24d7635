package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/oneshot"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

type runFlags struct {
	specFlags
	agent, script, workspace, taskType, model string
	empty                                     bool
	skills                                    []string
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] GOAL",
		Short: "Run one task here and now, and end with a verdict",
		Long: `Queue a task, run it in this process, also while a dispatcher runs, and end with the verdict, the reasons,
the patch and the bundle. The agent works on a copy of the workspace: nothing in it changes until you apply the patch.
Exit code 0 means that deed found the work done, 1 that it did not, 3 that the machine or deed itself failed.

An agent is an adapter of deed.yaml, or codex, claude-code or opencode when that program is on your PATH. Its key is named
with --secret, or is in the adapter's env_file; what its program has stored in your home is not used.`,
		Example: `  deed run --agent codex --secret OPENAI_API_KEY --check "make test" "make the failing test pass"
  deed run --script ./agent.sh --check "go test ./..." "make the failing test pass"
  deed run --agent fixer --scope 'internal/**' --protect '**/*_test.go' --check "make test" "fix the parser"`,
		Args: some("GOAL"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.checks.requirePass != "" && len(args) > 0 && (args[0] == "true" || args[0] == "false") {
				return usage(fmt.Errorf("--require-pass takes its value with an equals sign: --require-pass=%s", args[0]))
			}
			in, err := a.runIntent(f, strings.Join(args, " "))
			if err != nil {
				return err
			}
			return a.run(c.Context(), in)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.agent, "agent", "", "`ADAPTER` to run: one of deed.yaml, or codex, claude-code or opencode from your PATH")
	fl.StringVar(&f.model, "model", "", "`MODEL` to ask for (default: the adapter's)")
	skillFlag(c, &f.skills)
	fl.StringVar(&f.script, "script", "", "executable `FILE` to run as the agent")
	fl.StringVarP(&f.workspace, "workspace", "w", "", "`DIR` that the agent gets a copy of (default: this one)")
	fl.BoolVar(&f.empty, "no-workspace", false, "start from an empty directory")
	fl.IntVar(&f.attempts, "attempts", 1, "attempts at most")
	fl.StringVar(&f.taskType, "type", config.TypeAgentTask, "task `TYPE`")
	f.register(c)
	return c
}

// defaultScriptTimeout bounds an agent given with --script.
const defaultScriptTimeout = 30 * time.Minute

// runIntent turns the flags into an intent.
func (a *app) runIntent(f runFlags, goal string) (agentruntime.TaskIntent, error) {
	var none agentruntime.TaskIntent
	switch {
	case strings.TrimSpace(goal) == "":
		return none, usage(errors.New("the goal is empty (say what the agent should do)"))
	case f.attempts < 1:
		return none, usage(fmt.Errorf("--attempts %d is less than 1", f.attempts))
	case f.agent != "" && f.script != "":
		return none, usage(errors.New("--agent and --script exclude each other (give one)"))
	case f.workspace != "" && f.empty:
		return none, usage(errors.New("--workspace and --no-workspace exclude each other (give one)"))
	}
	dir := f.workspace
	if dir == "" && !f.empty {
		dir = "."
	}
	spec, err := a.spec(&f.specFlags, dir)
	if err != nil {
		return none, err
	}
	if f.script != "" {
		if spec.Adapter, err = scriptAdapter(f.script); err != nil {
			return none, usage(err)
		}
	}
	payload, err := json.Marshal(map[string]string{"goal": goal})
	if err != nil {
		return none, err
	}
	in := agentruntime.TaskIntent{
		TaskType: f.taskType, Source: "cli:run", Description: goal, RequestedAdapterID: f.agent, RequestedModel: f.model, Payload: payload, Deed: spec,
		EvidenceRequirements: f.evidence(), SkillIDs: f.skills,
	}
	return in, a.refuseSecrets(in)
}

// scriptAdapter makes an adapter of a file.
func scriptAdapter(file string) (json.RawMessage, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("--script: %w", err)
	}
	if !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0 {
		return nil, fmt.Errorf("--script %s is not an executable file (chmod +x it)", file)
	}
	return json.Marshal(agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{
		AdapterID: "script", Kind: agentruntime.KindScript, Command: abs, TimeoutMS: defaultScriptTimeout.Milliseconds(),
	}})
}

// run runs one intent to its end and shows the result.
func (a *app) run(ctx context.Context, in agentruntime.TaskIntent) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	return a.finish(func(step func(attempt.Progress)) (attempt.Result, error) { return a.execute(ctx, in, step) })
}

// finish shows the progress of one task, then its result.
func (a *app) finish(work func(step func(attempt.Progress)) (attempt.Result, error)) error {
	show := a.newProgress()
	defer show.clear()
	if in, ok := a.In.(*os.File); ok && isTerminal(in) && isTerminal(a.Err) && !a.json && !a.quiet {
		a.askInputs = show.askInputs
	}
	res, err := work(show.step)
	show.clear()
	if err != nil {
		return err
	}
	if a.json {
		if err := a.emit(a.runDoc(res)); err != nil {
			return err
		}
	} else {
		a.showRun(res)
	}
	if res.Settlement.Status != agentruntime.TaskCompleted {
		return notDone(failure.Class(res.Settlement.Class))
	}
	return nil
}

// execute admits an intent and runs it under a claim of its own until it is settled.
func (a *app) execute(ctx context.Context, in agentruntime.TaskIntent, observe func(attempt.Progress)) (attempt.Result, error) {
	var none attempt.Result
	row, err := a.admission().Prepare(in, task.Caller{Trusted: true})
	if err != nil {
		return none, err
	}
	a.hintProjectAgent(row)
	a.hintDeclared(row)
	eng, err := a.engine(1)
	if err != nil {
		return none, err
	}
	if err := eng.Runner.Preflight(ctx, row); failure.ClassOf(err) == failure.Isolation {
		return none, err // the machine's fault, not the caller's
	} else if err != nil {
		return none, usage(err)
	}
	return a.untilSettled(ctx, eng, observe, oneshot.New(eng, row))
}

// untilSettled runs attempts of one task until it is settled or blocked.
func (a *app) untilSettled(ctx context.Context, eng *dispatch.Engine, show func(attempt.Progress), claim oneshot.Claim) (attempt.Result, error) {
	r, err := oneshot.Begin(ctx, eng, oneshot.Job{
		Claim: claim, Show: show, UntilSettled: true, Source: a.operator(), Reason: "interrupted at the terminal",
	})
	if err != nil {
		return attempt.Result{}, err
	}
	defer r.Close(ctx)
	return r.Execute(ctx)
}

// hintProjectAgent says that the project brought the agent: the project's command runs, with the secrets that the task names.
func (a *app) hintProjectAgent(row store.NewTask) {
	cfg, err := a.cfg.Adapter(row.AdapterID)
	if err != nil || !cfg.FromProject {
		return
	}
	what := cfg.Common().Command
	if what == "" {
		what = cfg.Kind()
	}
	hosts := cfg.Common().Hosts
	if d, err := a.admission().Drivers.For(cfg.Kind()); err == nil {
		if n, ok := d.(driver.Networked); ok {
			more, _ := n.Hosts(cfg.AdapterConfig) // what is wrong with them is reported when it is started
			hosts = append(slices.Clone(hosts), more...)
		}
	}
	if len(hosts) > 0 {
		what += ", and reaches " + strings.Join(hosts, ", ")
	}
	a.hint("agent %s is the project's own: %s runs %s", clean(cfg.ID()), showPath(a.cfg.Files[len(a.cfg.Files)-1]), clean(what))
}

// runDoc is the result as --json prints it.
func (a *app) runDoc(r attempt.Result) map[string]any {
	files := []string{}
	for _, f := range r.Files {
		files = append(files, f.RelativePath)
	}
	doc := map[string]any{
		"schema": "deed/run/v1", "task_id": r.Ref.TaskID, "attempt_id": r.Ref.AttemptID,
		"status": r.Settlement.Status, "class": r.Settlement.Class, "verdict": r.Verdict, "error": r.Settlement.LastError,
		"changed_files": files, "bundle": r.BundleDir, "bundle_id": r.Settlement.BundleID, "claim": nil,
		"turns": len(r.Exits), "refusals": r.Refusals, "same_conversation": r.Same, "resumed": r.Resumed,
	}
	if r.Claim != nil {
		doc["claim"] = map[string]any{"status": r.Claim.Status, "summary": r.Claim.Summary, "file_changes": r.Claim.FileChanges}
	}
	return doc
}

// refusalsText says how often an agent's work was refused, and how many of these refusals were answered in the same
// conversation.
func refusalsText(refusals, same int) string {
	switch same {
	case refusals:
		return fmt.Sprintf("%d, each answered in the same conversation", refusals)
	case 0:
		return fmt.Sprintf("%d, none answered in the same conversation: the agent could not go on with it", refusals)
	}
	return fmt.Sprintf("%d, %d of them answered in the same conversation", refusals, same)
}

func (a *app) showRun(r attempt.Result) {
	a.field("task", r.Ref.TaskID)
	a.field("attempt", r.Ref.AttemptID)
	if r.Claim != nil {
		a.showClaim(string(r.Claim.Status), r.Claim.Summary)
	}
	if r.Refusals > 0 {
		a.field("refusals", refusalsText(r.Refusals, r.Same))
	}
	switch {
	case r.Verdict != nil:
		a.showVerdict(*r.Verdict)
		a.showStop(r)
	case r.Settlement.Status == agentruntime.TaskBlocked:
		a.field("stopped", a.color.Yellow(r.Settlement.Class)+"  "+clean(r.Settlement.LastError))
	default:
		a.field("failed", a.color.Red(r.Settlement.Class)+"  "+clean(r.Settlement.LastError))
	}
	a.showChanges(r)
	a.field("status", a.status(r.Settlement.Status))
	if r.BundleDir == "" {
		a.field("bundle", "none could be written")
		return
	}
	a.field("bundle", r.BundleDir)
	switch r.Settlement.Status {
	case agentruntime.TaskCompleted:
		a.hint("\nverify it:  deed verify %s", quote(r.BundleDir))
		if len(r.Files) > 0 {
			a.hint("apply it:   deed apply %s", quote(r.BundleDir))
		}
	case agentruntime.TaskBlocked:
		if r.Settlement.Class == string(failure.Budget) {
			a.hint("\nraise it:    deed task budget %s", r.Ref.TaskID)
			a.hint("then go on:  deed task resume %s", r.Ref.TaskID)
			return
		}
		a.hint("\nit waits for you:  deed action list")
		a.hint("then go on:        deed task resume %s", r.Ref.TaskID)
	default:
		a.hint("\nlook closer:  deed attempt show %s", r.Ref.AttemptID)
		a.hint("its output:   deed task logs %s", r.Ref.TaskID)
		a.hint("try again:    deed task retry %s && deed task resume %[1]s", r.Ref.TaskID)
	}
}

// stops explains why deed ended a conversation before its bound of recoveries, where the verdict alone does not say
// it.
var stops = map[string]string{
	string(failure.Stuck): "the agent changed nothing since it was told why its work was refused, so it was not told again",
}

func (a *app) showStop(r attempt.Result) {
	if why := stops[r.Settlement.Class]; why != "" {
		a.field("stopped", a.color.Yellow(r.Settlement.Class)+"  "+why)
	}
}

// quote makes a word safe to paste into a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (a *app) showChanges(r attempt.Result) {
	files := r.Files
	if len(files) == 0 {
		a.field("changes", "none")
		return
	}
	const most = 12
	for i, f := range files {
		name := "changes"
		if i > 0 {
			name = " "
		}
		if i == most {
			a.field(name, fmt.Sprintf("… and %d more", len(files)-most))
			return
		}
		a.field(name, fmt.Sprintf("%-8s %s", f.Status, showPath(f.RelativePath)))
	}
}

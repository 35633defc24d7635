package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// A plan is what was resolved at the claim. It holds for the whole attempt, whatever happens to the files that it was
// read from.
type plan struct {
	adapter  agentruntime.AdapterConfig
	driver   driver.Driver
	profile  agentruntime.SubagentProfile
	model    string
	spec     deed.TaskSpec
	specHash string
	evidence agentruntime.EvidenceRequirements
	parts    []workspace.Part  // the sources of the workspace
	kind     sandbox.Kind      // the containment
	hosts    []string          // hosts that the agent's model needs, if the network is restricted
	secrets  map[string]string // given to the agent by name
	hidden   map[string]string // kept out of every file: the secrets and the adapter's own credentials
	timeout  time.Duration
	agent    *self      // the agent of this runtime; nil: it has none
	fit      driver.Fit // what its driver needs in addition; empty if it does not say
}

// prepare resolves the plan, makes the attempt's directories and takes the first manifest. Nothing of the agent runs
// here.
func (a *run) prepare(ctx context.Context) error {
	p, err := a.resolve(ctx)
	if err != nil {
		return err
	}
	a.plan = p
	a.redactor = redact.New(p.hidden)
	if err := a.openAccount(ctx); err != nil {
		return err
	}
	if err := a.takeOver(ctx); err != nil {
		return err
	}
	if err := a.mkdirs("home", "tmp", "artifacts", "exchange", "run"); err != nil {
		return err
	}
	a.journal, err = journal.Open(a.path("journal.jsonl"), journal.Options{Clock: a.Clock, Redact: func(b []byte) []byte { return a.redactor.Bytes(b) }})
	if err != nil {
		return failure.New(failure.Infra, "open the journal", err, "")
	}
	if a.artifactRoot, err = os.OpenRoot(a.path("artifacts")); err != nil {
		return failure.New(failure.Infra, "open the directory of artifacts", err, "")
	}
	a.note(history.KindClaimed, map[string]any{
		"task_id": a.claim.Ref.TaskID, "attempt_id": a.claim.Ref.AttemptID, "fence": a.claim.Ref.Fence,
		"runner_id": a.RunnerID, "attempt": a.claim.Task.Record.AttemptCount, "max_attempts": a.claim.Task.Record.MaxAttempts,
		"task_type": a.claim.Task.Record.TaskType, "created_at": a.claim.Task.Record.CreatedAt, "profile_id": a.plan.profile.ProfileID,
		"adapter_id": a.plan.adapter.ID(), "adapter_kind": a.plan.adapter.Kind(), "model": a.plan.model, "agent_id": a.plan.agent.id(),
	})
	if a.resumed != nil {
		a.continueWith(a.resumed)
	} else if err := a.seed(ctx); err != nil {
		return err
	}
	if err := a.fit(ctx); err != nil {
		return err
	}
	if err := a.resolveRuntime(ctx); err != nil {
		return err
	}
	if err := a.placeSkills(); err != nil {
		return err
	}
	if err := a.contain(ctx); err != nil {
		return err
	}
	if err := a.baseline(ctx); err != nil {
		return err
	}
	if err := a.keepVersion(ctx); err != nil {
		return err
	}
	if err := a.compileBrief(ctx); err != nil {
		return err
	}
	a.progress(StepPrepared, string(a.main().Kind))
	return nil
}

// instructionFiles are where repositories tell agents how to work in them; the first one found counts.
var instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}

const maxInstructions = 32 << 10

// instructions reads the repository's own instructions to agents, from the base: no agent can have written them.
// Agents do not read such files by themselves here, because some files next to them name commands to run.
func (a *run) instructions() *brief.Instructions {
	if a.plan.adapter.Kind() == agentruntime.KindScript {
		return nil
	}
	root, err := os.OpenRoot(a.workDir(a.untouched()))
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for _, name := range instructionFiles {
		data, err := driver.TakeFile(root, name)
		if err != nil {
			continue
		}
		in := &brief.Instructions{File: name, Cut: len(data) > maxInstructions}
		in.Text = strings.ToValidUTF8(string(data[:min(len(data), maxInstructions)]), "")
		return in
	}
	return nil
}

// Preflight reports why a task cannot be attempted here, as far as that can be known without running anything.
func (r *Runner) Preflight(ctx context.Context, t store.NewTask) error {
	c := &store.Claim{Task: store.Task{Intent: t.Intent}}
	c.Task.Record.RequestedProfileID = t.ProfileID
	c.Task.Record.RequestedAdapterID = &t.AdapterID
	a := &run{Runner: r, claim: c}
	p, err := a.resolve(ctx)
	if err != nil {
		return err
	}
	if err := usage.CheckAdmission(r.Config, p.spec.Budget, p.adapter, t.Model); err != nil {
		return err
	}
	if _, err := sandbox.New(ctx, sandbox.Spec{Kind: p.kind}); err != nil {
		return err
	}
	// Ready treats what an adapter names as the operator's own. An adapter that came with the task is checked by Fit,
	// which knows that.
	if _, fits := p.driver.(driver.Fitted); fits && len(p.spec.Adapter) > 0 {
		return nil
	}
	if rd := p.driver.Ready(ctx, p.adapter); !rd.Ready {
		m := rd.Missing[0]
		return failure.New(failure.Config, "adapter "+p.adapter.ID(), fmt.Errorf("%s: %s", m.Name, m.Reason), m.Remedy)
	}
	return nil
}

// answers lists people's answers to questions of earlier attempts of the task.
func (a *run) answers(ctx context.Context) ([]brief.Answer, error) {
	if a.claim.Task.Record.AttemptCount == 1 && a.claim.Ref.Fence == 1 {
		return nil, nil // there was no earlier attempt that could ask
	}
	acts, err := a.Store.Actions(ctx, store.ActionFilter{TaskID: a.claim.Ref.TaskID, State: store.ActionAnswered})
	if err != nil {
		return nil, err
	}
	var out []brief.Answer
	for _, x := range acts {
		if x.Kind == store.ActionBudget || x.Kind == action.KindPermission {
			continue // deed acts on it, the agent does not
		}
		out = append(out, brief.Answer{Prompt: x.Prompt, Answer: x.Answer})
	}
	return out, nil
}

// resolve makes the plan. What it cannot resolve is a fault of configuration and is not retried.
func (a *run) resolve(ctx context.Context) (plan, error) {
	t := a.claim.Task
	p := plan{}
	if t.Damage != "" {
		return p, failure.New(failure.Config, "read the task", errors.New(t.Damage), "add the task anew")
	}
	if t.Intent.Deed != nil {
		p.spec = *t.Intent.Deed
	}
	if t.Intent.EvidenceRequirements != nil {
		p.evidence = *t.Intent.EvidenceRequirements
	}
	var err error
	if p.specHash, err = canonjson.Hash(p.spec); err != nil {
		return p, failure.New(failure.Config, "hash the task's spec", err, "")
	}
	if p.kind = sandbox.Kind(p.spec.Isolation); p.kind == "" {
		p.kind = sandbox.Process
	}
	if p.adapter, err = a.adapter(t.Record.RequestedAdapterID, p.spec); err != nil {
		return p, failure.New(failure.Config, "resolve the adapter", err, "")
	}
	if p.driver, err = a.Drivers.For(p.adapter.Kind()); err != nil {
		return p, err
	}
	if d, ok := p.driver.(driver.Networked); ok && p.contained() {
		if p.hosts, err = d.Hosts(p.adapter); err != nil {
			return p, failure.New(failure.Config, "find the hosts of the model", err, "")
		}
	}
	if len(p.hosts) > 0 || p.spec.Sandbox != nil && len(p.spec.Sandbox.Network) > 0 {
		if err := sandbox.WayOut(p.kind); err != nil {
			return p, err
		}
	}
	if p.profile, err = a.Config.Profile(t.Record.RequestedProfileID); err != nil {
		return p, failure.New(failure.Config, "resolve the profile", err, "")
	}
	if a.OneShot {
		p.profile.ResultPolicy = agentruntime.ResultPolicy{}
	}
	if p.agent, err = a.self(ctx, identity.Holds); err != nil {
		return p, err
	}
	if t.Record.RequestedModel != nil {
		p.model = *t.Record.RequestedModel
	}
	if err := a.secrets(ctx, &p); err != nil {
		return p, err
	}
	if p.spec.TimeoutSeconds > 0 {
		p.timeout = time.Duration(p.spec.TimeoutSeconds) * time.Second
	}
	p.parts = parts(p, a.Home.Root())
	if err := workspace.CheckParts(p.parts); err != nil {
		return p, failure.New(failure.Config, "read the workspaces of the task", err, "")
	}
	if err := checkUnsandboxed(p); err != nil {
		return p, failure.New(failure.Isolation, "show what the task mounts", err, "ask for isolation namespace")
	}
	if err := a.checkPlaces(p); err != nil {
		return p, failure.New(failure.Config, "place what the task brings", err, "")
	}
	return p, nil
}

func (a *run) adapter(id *string, spec deed.TaskSpec) (agentruntime.AdapterConfig, error) {
	if len(spec.Adapter) > 0 {
		return schema.Decode[agentruntime.AdapterConfig](agentruntime.SchemaAdapterConfig, spec.Adapter)
	}
	if id == nil || *id == "" {
		return agentruntime.AdapterConfig{}, errors.New("the task names no adapter")
	}
	c, err := a.Config.Adapter(*id)
	return c.AdapterConfig, err
}

// parts returns what the workspace starts from: the task's own sources, else an adapter's absolute working_dir. deed
// works on copies either way.
func parts(p plan, home string) []workspace.Part {
	all := p.spec.Workspaces
	switch dir := p.adapter.Common().WorkingDir; {
	case p.spec.Workspace != nil:
		all = []deed.Workspace{*p.spec.Workspace}
	case len(all) == 0 && filepath.IsAbs(dir):
		all = []deed.Workspace{{Source: dir}}
	}
	if len(all) == 0 {
		all = []deed.Workspace{{Type: deed.SeedEmpty}}
	}
	var out []workspace.Part
	for i, w := range all {
		if w.Target == "" {
			w.Target = insideWorkspace
		}
		out = append(out, workspace.Part{
			Source: workspace.Source{
				Kind: workspace.SourceKind(w.Type), Dir: w.Source, Ref: w.Ref, Exclude: w.Exclude, Bundle: w.Bundle, Earlier: w.Earlier, Slug: w.Slug, Name: w.Name, History: w.History, Home: home,
			},
			Target: w.Target, Index: i, SourceMode: w.Mode,
		})
	}
	return out
}

// readOnly reports whether the agent may only read a part of the workspace.
func (p plan) readOnly(part int) bool {
	if p.spec.Workspace != nil {
		return p.spec.Workspace.ReadOnly
	}
	return part < len(p.spec.Workspaces) && p.spec.Workspaces[part].ReadOnly
}

// secrets collects every value that must not reach a file: those that the task names, and the credentials in the
// adapter's own environment.
func (a *run) secrets(ctx context.Context, p *plan) error {
	p.secrets, p.hidden = map[string]string{}, map[string]string{}
	if d, ok := p.driver.(driver.Credentialed); ok {
		found, err := d.Credentials(p.adapter)
		if err != nil {
			return err
		}
		maps.Copy(p.hidden, found)
	}
	_, fits := p.driver.(driver.Fitted) // which may know another source, and refuses what it misses: see fit
	var needs []runtimepkg.SecretNeed
	for _, name := range p.spec.SecretEnv {
		needs = append(needs, runtimepkg.SecretNeed{Name: name, Required: !fits, Asked: []string{"secret_env"}})
	}
	values, _, err := runtimepkg.ResolveSecrets(ctx, needs, "", a.SecretStores()...)
	if err != nil {
		return failure.New(failure.Config, "resolve secrets", err, "set it where `deed` runs")
	}
	maps.Copy(p.secrets, values)
	maps.Copy(p.hidden, values)
	return redactable(p.secrets)
}

// redactable refuses secrets that could not be kept out of what is written. A yes or a no is never a secret: logins
// of agents keep such settings next to their tokens.
func redactable(secrets map[string]string) error {
	if short := Unredactable(secrets); len(short) > 0 {
		return failure.New(failure.Config, "resolve secrets", fmt.Errorf("the value of %s is too short or too plain to be kept out of what is written", strings.Join(short, ", ")), "use a longer one, or pass it in the adapter's env if it is no secret")
	}
	return nil
}

// Unredactable names the secrets whose values could not be kept out of what is written, except a yes or a no.
func Unredactable(secrets map[string]string) []string {
	return slices.DeleteFunc(redact.New(secrets).Unredactable(), func(name string) bool { return secrets[name] == "true" || secrets[name] == "false" })
}

// SecretStores are where the secrets of a task are looked up by name.
func (r *Runner) SecretStores() []runtimepkg.SecretStore {
	if r.Secrets != nil {
		return r.Secrets
	}
	return runtimepkg.OwnStores(r.Environ, r.Config.Secrets)
}

// seed fills the workspace from the source, and takes the base and the manifest that everything later is compared
// with. The agent only ever gets the workspace.
func (a *run) seed(ctx context.Context) error {
	var err error
	a.conversation.first = 1
	if a.fresh != "" {
		a.note("begins_anew", map[string]string{"why": a.fresh})
	}
	work := a.path("workspace")
	var seeder workspace.Seeder
	if a.seeded, err = seeder.SeedAll(ctx, a.plan.parts, work); err != nil {
		return classify(ctx, failure.Config, "prepare the attempt", err)
	}
	if a.base, a.before, err = seeder.TakeBase(ctx, work, a.path(baseDir)); err != nil {
		return classify(ctx, failure.Infra, "take the base", err)
	}
	a.note("seeded", map[string]any{"parts": a.seeded.Parts, "method": a.seeded.Method(), "base_digest": a.before.Digest(), "entries": len(a.before.Entries)})
	crashpoint.Hit(crashpoint.WorkspaceSeeded)
	return nil
}

// baseDir is the name, in the attempt's directory, of the first state of the workspace.
const baseDir = "base"

// untouched returns a tree as it was seeded, for what is read before an agent runs: the workspace, unless the agent
// of an earlier attempt has worked in it.
func (a *run) untouched() string {
	if a.resumed != nil {
		return a.path(baseDir)
	}
	return a.path("workspace")
}

// main is the part that the agent starts in. An unseeded tree has none.
func (a *run) main() workspace.SeededPart {
	parts := a.seeded.Parts
	if len(parts) == 0 {
		return workspace.SeededPart{}
	}
	return parts[Start(len(parts), func(i int) (string, bool) { return parts[i].Target, parts[i].File })]
}

// Start returns which of n parts of a tree the agent starts in: the first directory below /workspace, else the first
// directory, else the first part.
func Start(n int, part func(int) (target string, file bool)) int {
	first := -1
	for i := range n {
		target, file := part(i)
		if file {
			continue
		}
		if workspace.Within(target, insideWorkspace) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return max(first, 0)
}

// workDir is where in a tree the agent and the checks start.
func (a *run) workDir(tree string) string {
	return filepath.Join(tree, filepath.FromSlash(a.workTree()))
}

// workTree is the path of workDir in the tree; "" for its root.
func (a *run) workTree() string {
	m := a.main().Mount
	if m.File {
		m.Tree = path.Dir(m.Tree)
	}
	return m.Tree
}

// classify adds a class to an error, unless it has one or the attempt was cancelled.
func classify(ctx context.Context, c failure.Class, op string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var f *failure.Error
	if errors.As(err, &f) {
		return err
	}
	return failure.New(c, op, err, "")
}

// job returns what the driver gets.
func (a *run) job() driver.Job {
	skills, commands := a.skillDirs()
	return driver.Job{
		TaskID: a.claim.Ref.TaskID, AttemptID: a.claim.Ref.AttemptID, TaskType: a.claim.Task.Record.TaskType,
		Adapter: relativeDir(a.plan.adapter), Guest: len(a.plan.spec.Adapter) > 0, Model: a.plan.model, Payload: a.claim.Task.Record.Payload, Brief: a.brief.Text,
		AcceptEmptyOutput: a.plan.spec.AcceptEmptyOutput != nil && *a.plan.spec.AcceptEmptyOutput,
		Dirs: driver.Dirs{
			Workspace: a.workDir(a.path("workspace")), Home: a.path("home"), Tmp: a.path("tmp"), Artifacts: a.path("artifacts"),
			Exchange: a.path("exchange"), Run: a.path("run"), Skills: skills, Commands: commands,
		},
		Timeout: a.plan.timeout, Redactor: a.redactor, Secrets: a.plan.secrets,
		BaseEnv: a.traced(a.agent.env), Runtime: a.Config.Name, Supervisor: a.sup, Sandbox: a.agent.box,
		Resume: a.conversation.ref, MaxTurns: a.plan.spec.MaxTurns,
		Base:      driver.Base{Tree: baseTree{a}, Digest: a.before.Digest(), Commit: cmp.Or(a.main().Head, a.main().Commit)},
		SecretEnv: a.plan.spec.SecretEnv, Plan: a.plan.fit.Plan, Bundles: a.bundles(),
	}
}

// traced adds the trace context that the agent's own telemetry, if any, continues.
func (a *run) traced(env map[string]string) map[string]string {
	if a.Trace == nil {
		return env
	}
	out := maps.Clone(env)
	if p := a.Trace(a.claim.Ref.TaskID, a.claim.Ref.AttemptID); p != "" {
		out["TRACEPARENT"] = p
	}
	return out
}

// relativeDir removes an absolute working_dir from the adapter: it was the source of the workspace, and the agent
// starts at the root of the workspace.
func relativeDir(c agentruntime.AdapterConfig) agentruntime.AdapterConfig {
	return c.WithPaths(agentruntime.Paths{WorkingDir: func(dir string) string {
		if filepath.IsAbs(dir) {
			return ""
		}
		return dir
	}})
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err)) // only for values that deed builds itself
	}
	return b
}

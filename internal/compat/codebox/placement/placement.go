// Package placement owns the translation of a sandbox request into a task: which adapter runs it, what its workspaces
// start from, what the sandbox holds, which checks judge it. It decides and runs nothing; every field of a request has
// its effect here, or is refused with its path and a remedy.
package placement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/egress"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Source is the source of every task that comes from a request.
const Source = "agent-task-run"

// DefaultTimeoutSeconds bounds a run whose request names no limit, as a whole.
const DefaultTimeoutSeconds = 25 * 60

// Options say what the machine offers.
type Options struct {
	Config    *config.Config
	Contained bool                                  // isolation namespace is available here
	Resumable func(agentruntime.AdapterConfig) bool // whether an adapter can go on with a conversation; nil: none can
}

// A Placed request is a task that can be admitted.
type Placed struct {
	Intent      agentruntime.TaskIntent
	Tools       policy.Effective
	Diagnostics []evidence.Diagnostic
}

// Place translates a request as boundary.Read returned it. An error carries every fault; it is of class failure.Isolation when the request is
// right, and only lacks a machine that can show what it mounts.
func Place(req codebox.TaskRequest, o Options) (Placed, error) {
	p := &placer{req: req, opt: o}
	p.adapter()
	p.isolation()
	p.tools()
	p.workspaces()
	p.mounts()
	p.runtime()
	p.checks()
	p.expected()
	p.network()
	p.limits()
	p.paths()
	p.allowSecrets()
	p.refuse()
	if p.faults.Len() > 0 {
		p.faults.Within("$", p.unshown.Err())
		return Placed{}, p.faults.Err()
	}
	if err := p.unshown.Err(); err != nil {
		return Placed{}, failure.New(failure.Isolation, "show what the request mounts", err, "")
	}
	if err := p.intent(); err != nil {
		return Placed{}, err
	}
	return p.out, nil
}

type placer struct {
	req    codebox.TaskRequest
	opt    Options
	spec   deed.TaskSpec
	box    deed.Sandbox
	faults fault.List
	out    Placed

	guarded []string // policy.protect

	unshown fault.List // what cannot be shown without a sandbox, where there is none
}

func (p *placer) diagnose(class, at, message, remedy string) {
	p.out.Diagnostics = append(p.out.Diagnostics, evidence.Diagnostic{Class: "deed." + class, Message: message, Path: at, Remedy: remedy})
}

// adapter finds who runs the task. The contract's default agent is whatever adapter the operator made the default.
func (p *placer) adapter() {
	id := p.req.Agent
	cfg, err := p.opt.Config.Adapter(id)
	if err != nil && id == codebox.DefaultAgent && p.opt.Config.AdapterID != "" {
		id = p.opt.Config.AdapterID
		p.diagnose("default_agent", "$.agent", fmt.Sprintf("agent %s is adapter %s here", codebox.DefaultAgent, id), "")
		cfg, err = p.opt.Config.Adapter(id)
	}
	if err != nil {
		p.faults.Add("$.agent", fault.Dangling, fmt.Sprintf("no adapter %q is configured", p.req.Agent), "name an adapter of deed.yaml, or set defaults.adapter_id there")
		return
	}
	p.out.Intent.RequestedAdapterID = id
	if p.req.SessionID != "" && (p.opt.Resumable == nil || !p.opt.Resumable(cfg.AdapterConfig)) {
		p.faults.Add("$.session_id", fault.NotAllowed, fmt.Sprintf("adapter %q keeps no conversation to go on with", id), "leave it out: sandbox_session_id is the id for your own records")
	}
}

// tools narrows what the agent can do to what the request allows.
func (p *placer) tools() {
	eff, err := policy.Resolve(p.req.SandboxToolPolicy, p.req.AllowedTools, false)
	if err != nil {
		p.faults.Within("$", err)
		return
	}
	if p.spec.Isolation == string(sandbox.Namespace) {
		eff = eff.EnforcedBy(policy.EnforcerMounts, policy.EnforcerNetwork)
	}
	p.unknown(eff)
	p.out.Tools = eff
	p.box.ReadOnlyWorkspace = !eff.WriteWorkspace
}

// open is what deed reads of the request's open policy object.
type open struct {
	Approvals string `json:"approvals"`
	ApplyBack string `json:"applyBack"`
	Sandbox   string `json:"sandbox"`
}

func (p *placer) policy() (o open) {
	if len(p.req.Policy) > 0 {
		_ = json.Unmarshal(p.req.Policy, &o) // its known members were checked
	}
	return o
}

// isolation is namespace. A request that only prefers a sandbox gets a notice when it gets less.
func (p *placer) isolation() {
	o := p.policy()
	p.spec.Isolation, p.spec.ApplyBack = string(sandbox.Namespace), o.ApplyBack
	if o.Sandbox == "preferred" && !p.opt.Contained {
		p.spec.Isolation = string(sandbox.Process)
		p.diagnose("isolation_degraded", "$.policy.sandbox", "the sandbox was preferred and is not available: the agent ran as deed's user", "run `deed doctor`, or ask for sandbox required")
	}
	if o.Approvals != "" && o.Approvals != "never" {
		p.faults.Add("$.policy.approvals", fault.NotAllowed, fmt.Sprintf("%q needs a person beside the run", o.Approvals), "use never: the change is applied only after its review")
	}
}

// workspaces become parts of the task's tree; what may only be read is a copy too, and is mounted read-only.
func (p *placer) workspaces() {
	for i, w := range p.req.Workspaces {
		p.apart(fault.Index("$.workspaces", i)+".target", w.EffectiveTarget())
		s := w.Seed
		d := deed.Workspace{
			Type: s.Type, Source: s.Source, Ref: s.Ref, Bundle: s.Bundle, Exclude: s.ExcludePaths, History: s.History, Target: w.EffectiveTarget(), Mode: w.SourceMode,
			ReadOnly: w.Mode == codebox.ModeReadonly,
		}
		if s.Type == codebox.SeedPluginScaffold || s.Type == codebox.SeedThemeScaffold {
			d.Slug, d.Name = s.Slug, s.Name
		}
		p.spec.Workspaces = append(p.spec.Workspaces, d)
	}
}

// mounts shows the caller's files. What the agent may write is a copy, captured like a workspace: the original let the
// agent write to the caller's own.
func (p *placer) mounts() {
	for i, m := range p.req.Mounts {
		at := fault.Index("$.mounts", i)
		p.apart(at+".target", m.Target)
		if m.Phase == "post-install" {
			p.faults.Add(at+".phase", fault.NotAllowed, "everything is mounted before anything starts", "leave it out, or use pre-install")
		}
		if m.Mode == codebox.ModeReadonly {
			p.show(at, m.Source, m.Target)
			continue
		}
		if m.CaptureArtifacts != nil && !*m.CaptureArtifacts {
			p.faults.Add(at+".captureArtifacts", fault.NotAllowed, "what the agent changes is always evidence", "mount it readonly, or leave captureArtifacts out")
		}
		kind := deed.SeedDirectory
		if m.Type == "file" {
			kind = deed.SeedFile
		}
		p.spec.Workspaces = append(p.spec.Workspaces, deed.Workspace{Type: kind, Source: m.Source, Target: m.Target})
	}
	p.floor()
	p.uncontained()
	for i, f := range p.req.StagedFiles {
		at := fault.Index("$.staged_files", i)
		p.apart(at+".target", f.Target)
		p.show(at, f.Source, f.Target)
	}
}

// floor gives a run that was given only files a directory to start in, outside of all of them.
func (p *placer) floor() {
	if len(p.spec.Workspaces) == 0 || slices.ContainsFunc(p.spec.Workspaces, func(w deed.Workspace) bool { return w.Type != deed.SeedFile }) {
		return
	}
	target := codebox.WorkspaceRoot
	for n := 1; slices.ContainsFunc(p.spec.Workspaces, func(w deed.Workspace) bool { return strings.HasPrefix(w.Target+"/", target+"/") }); n++ {
		target = fmt.Sprintf("%s-%d", codebox.WorkspaceRoot, n)
	}
	p.spec.Workspaces = append(p.spec.Workspaces, deed.Workspace{Type: deed.SeedEmpty, Target: target})
}

// apart wants a target that covers nothing that deed, or the system, has in every sandbox.
func (p *placer) apart(at, target string) {
	if err := attempt.CheckTarget(target); err != nil {
		p.faults.Add(at, fault.Conflict, fmt.Sprintf("%q %v", target, err), "choose another target")
	}
}

// checks are the verify steps, in a clean room.
func (p *placer) checks() {
	for i, v := range p.req.VerifySteps {
		c := deed.Check{
			Name: cmp.Or(v.Name, fmt.Sprintf("verify step %d", i+1)), Shell: v.Shell, Dir: v.Dir, Env: v.Env, TimeoutSeconds: v.TimeoutSeconds, Advisory: v.Advisory,
			Capability: v.Capability, Inputs: v.Inputs, OnChangedInputs: v.OnChangedInputs, RequirePass: v.RequirePass, Hidden: v.Hidden, Files: v.Files,
		}
		if v.Command != "" {
			c.Command = append([]string{v.Command}, v.Args...)
		}
		if at := fault.Index("$.verify_steps", i); v.Command == codebox.RunPHP {
			if p.opt.Config.WordPress == nil {
				p.faults.Add(at+".command", fault.Dangling, "no WordPress is configured", "set components.wordpress.archive in deed.yaml")
			}
			if _, err := wordpress.ParsePHP(v.Args); err != nil {
				p.faults.Add(at+".args", fault.BadFormat, err.Error(), "write the code, or the path that its file has inside the sandbox")
			}
		}
		p.faults.Within(fault.Index("$.verify_steps", i), c.Validate()) // what members cannot do together
		p.spec.Checks = append(p.spec.Checks, c)
	}
}

// inEveryBundle are the expected artifacts that are no files of the agent's: a patch that has to change something, and what deed writes by
// itself.
var inEveryBundle = []string{"patch", "diff", "changed_files", "changed-files", "review", "transcript", "logs", "result", "agent-result"}

// testNames are the expected artifacts that only tests meet. What they gave is in every bundle, also when there were none.
var testNames = []string{"tests", "test-results", "test_results"}

// expected looks at what is to come out. A name that means nothing here would count as there.
func (p *placer) expected() {
	known := slices.Concat(inEveryBundle, testNames)
	for i, name := range p.req.ExpectedArtifacts {
		at := fault.Index("$.expected_artifacts", i)
		switch {
		case slices.Contains(testNames, name):
			if p.spec.RequireTests = len(p.req.VerifySteps) > 0; !p.spec.RequireTests {
				p.diagnose("expected_artifact", at, fmt.Sprintf("%q is met by tests that ran, and no verify step runs any", name), `add one to verify_steps, as {"capability": "test"}`)
			}
		case slices.Contains(inEveryBundle, name) || len(files([]string{name})) > 0:
		case fault.Nearest(name, known) != "":
			p.faults.Add(at, fault.Dangling, fmt.Sprintf("%q is not known here; did you mean %q?", name, fault.Nearest(name, known)), "rename it; a file of the agent's has an extension or a directory, as out/"+name)
		default:
			p.diagnose("expected_artifact", at, fmt.Sprintf("nothing here is called %q, and nobody looks for it", name), "name a file that the agent leaves in $DEED_ARTIFACTS, with an extension or a directory, as out/"+name)
		}
	}
}

// unknown handles the names in allowed_tools that match nothing that deed can restrict an agent to: they allow nothing, and what the caller
// meant is denied.
func (p *placer) unknown(eff policy.Effective) {
	listed := func(name string) bool {
		if p.req.SandboxToolPolicy == nil {
			return false
		}
		_, ok := p.req.SandboxToolPolicy.Find(name)
		return ok
	}
	for i, name := range p.req.AllowedTools {
		name = strings.TrimSpace(name)
		if name == "" || policy.Known(name) || listed(name) {
			continue
		}
		at := fault.Index("$.allowed_tools", i)
		if near := fault.Nearest(name, policy.KnownTools()); near != "" {
			p.faults.Add(at, fault.Dangling, fmt.Sprintf("%q is not known here; did you mean %q?", name, near), "rename it")
			continue
		}
		message := fmt.Sprintf("nothing here is called %q, so it allows nothing", name)
		if !eff.WriteWorkspace {
			message += "; the workspace is read-only"
		}
		p.diagnose("unknown_tool", at, message, "deed knows "+strings.Join(policy.KnownTools(), ", "))
	}
}

// limits are how much the agent, and each check, may use: policy.limits, in the words of a task's own.
func (p *placer) limits() {
	var policy struct {
		Limits json.RawMessage `json:"limits"`
	}
	_ = json.Unmarshal(p.req.Policy, &policy) // it was checked to be an object
	if len(policy.Limits) == 0 {
		return
	}
	l, err := schema.Decode[deed.Limits]("", policy.Limits)
	p.faults.Within("$.policy.limits", err)
	p.faults.Within("$.policy", deed.Sandbox{Limits: &l}.Validate())
	p.box.Limits = &l
}

// paths are the globs that the agent's change is held to: policy.scope, which may change, and policy.protect, which may not. They
// are below the root of the change, as in a task's own.
func (p *placer) paths() {
	var policy map[string]json.RawMessage
	_ = json.Unmarshal(p.req.Policy, &policy) // it was checked to be an object
	list := func(name string) (globs []string) {
		at := fault.Field("$.policy", name)
		if raw, ok := policy[name]; ok && (json.Unmarshal(raw, &globs) != nil || string(raw) == "null") {
			p.faults.Add(at, fault.WrongType, "is not a list of texts", `list globs, as in ["src/**"]`)
			return nil
		}
		for _, f := range fault.Of(deed.TaskSpec{WriteScope: globs}.Validate()) {
			p.faults.Add(at+strings.TrimPrefix(f.Path, "$.write_scope"), f.Code, f.Message, f.Remedy)
		}
		return globs
	}
	p.spec.WriteScope, p.guarded = list("scope"), list("protect")
}

// hosts are those that the agent may reach: policy.network.allow. deed defined this member, so all its forms are known; a caller's
// network may also be a plain word, which has no meaning here.
func (p *placer) hosts() (allow []string) {
	var policy, network map[string]json.RawMessage
	_ = json.Unmarshal(p.req.Policy, &policy) // it was checked to be an object
	if !fault.IsObject(policy["network"]) || json.Unmarshal(policy["network"], &network) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(network)) {
		if name != "allow" {
			p.faults.Add(fault.Field("$.policy.network", name), fault.UnknownField, "is not known here", "list the hosts in allow")
		}
	}
	if raw, ok := network["allow"]; ok && json.Unmarshal(raw, &allow) != nil {
		p.faults.Add("$.policy.network.allow", fault.WrongType, "is not a list of texts", `list hosts as "name:port"`)
	}
	return allow
}

// network opens the hosts that the caller's policy names, and nothing else.
func (p *placer) network() {
	allow := p.hosts()
	if len(allow) == 0 {
		p.out.Tools = p.out.Tools.Offline()
		return
	}
	if _, err := egress.ParseRules(allow); err != nil {
		p.faults.Within("$.policy.network.allow", err)
		return
	}
	if p.out.Tools.Source != "" && !p.out.Tools.Network {
		p.faults.Add("$.policy.network.allow", fault.Conflict, "hosts are named, and no tool that reaches a network is allowed", "allow network.fetch, or leave the hosts out")
		return
	}
	p.box.Network = allow
}

// refuse names what has no effect here.
func (p *placer) refuse() {
	for _, f := range []struct {
		path, message, remedy string
		set                   bool
	}{
		{"$.dependency_overlays", "dependency overlays are not built here", "mount prepared directories instead", len(p.req.DependencyOverlays) > 0},
		{"$.workspace_preloads", "nothing is preloaded into a workspace", "put the files into the workspace's source", len(p.req.WorkspacePreloads) > 0},
		{"$.parent_tool_bridge", "deed has no way back into the parent for tools", "leave it out", filled(p.req.ParentToolBridge)},
		{"$.tool_bridge", "deed has no tool bridge: the adapter brings its own tools", "leave it out", filled(p.req.ToolBridge)},
		{"$.source_package_root", "copies are prepared in directories of deed's own", "leave it out", p.req.SourcePackageRoot != ""},
	} {
		if f.set {
			p.faults.Add(f.path, fault.NotAllowed, f.message, f.remedy)
		}
	}
}

// filled reports an object with something in it.
func filled(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && len(m) > 0
}

// intent puts the task together.
func (p *placer) intent() error {
	r := p.req
	yes := true
	p.spec.MaxAttempts, p.spec.MaxTurns, p.spec.SecretEnv = 1, r.MaxTurns, r.SecretEnv
	p.spec.TimeoutSeconds = r.TaskTimeoutSeconds // absent: the adapter's own bounds the agent
	p.spec.AcceptEmptyOutput = &yes              // the exit code is claim enough: the gate decides
	wants := slices.Contains(r.ExpectedArtifacts, "patch")
	p.spec.RequireChanges = &wants
	p.spec.ProtectedPaths = p.protected()
	if names := files(r.ExpectedArtifacts); len(names) > 0 {
		p.out.Intent.EvidenceRequirements = &agentruntime.EvidenceRequirements{RequiredArtifacts: names}
	}
	p.box.Env = map[string]string{}
	for k, v := range r.RuntimeEnv {
		p.box.Env[k] = v
	}
	p.box.Env[codebox.EnvAgentRuntime] = "1"
	var err error
	if p.box.Tools, err = json.Marshal(map[string]any{"source": p.out.Tools.Source, "decisions": p.out.Tools.Decisions()}); err != nil {
		return fmt.Errorf("write the decisions on tools: %w", err)
	}
	p.spec.Sandbox = &p.box

	payload, err := json.Marshal(map[string]any{
		"goal": r.Goal, "target": raw(r.Target), "context": raw(r.Context), "allowed_tools": list(r.AllowedTools), "expected_artifacts": list(r.ExpectedArtifacts),
		"structured_artifacts": list(r.StructuredArtifacts), "mode": r.Mode, "provider": r.Provider, "model": r.Model, "max_turns": r.MaxTurns,
		"sandbox_session_id": r.SandboxSessionID, "runtime_task": raw(r.RuntimeTask), "sandbox_tool_policy": r.SandboxToolPolicy, "policy": raw(r.Policy),
	})
	if err != nil {
		return fmt.Errorf("write the payload: %w", err)
	}
	in := &p.out.Intent
	in.TaskType, in.Source, in.Subject, in.Description = config.TypeAgentTask, Source, r.SandboxSessionID, r.Goal
	in.RequestedModel, in.Payload, in.Deed = r.Model, payload, &p.spec
	return nil
}

// protected names what the agent may only read, so that the gate refuses a change of it whatever contains the agent.
func (p *placer) protected() []string {
	if p.box.ReadOnlyWorkspace {
		return []string{"**"}
	}
	out := slices.Clone(p.guarded)
	for _, w := range p.spec.Workspaces {
		switch {
		case !w.ReadOnly:
		case len(p.spec.Workspaces) == 1:
			out = append(out, "**")
		default:
			out = append(out, escape(strings.TrimPrefix(w.Target, "/"))+"/**")
		}
	}
	return out
}

// escape takes their meaning from the signs of a glob.
func escape(p string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(p)
}

// files are the expected artifacts that are files of the agent's own. The others (patch, review, tests, …) are parts of
// every bundle.
func files(expected []string) []string {
	var out []string
	for _, name := range expected {
		if path.Ext(name) != "" || strings.Contains(name, "/") {
			out = append(out, name)
		}
	}
	return out
}

func raw(v json.RawMessage) any {
	if len(v) == 0 {
		return map[string]any{}
	}
	return v
}

func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

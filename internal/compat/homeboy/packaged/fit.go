package packaged

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// Codes of refusals. Programs decide on these.
const (
	CodeRequestInvalid     = "agent_task.request_invalid"
	CodeDeadline           = outcome.CodeDeadline
	CodeExecutableMissing  = "agent_task.provider_executable_missing"
	CodeCommandUnavailable = outcome.CodeCommandUnavailable
	CodeNotReady           = "agent_task.provider_not_ready"
	CodeGitRequired        = "agent_task.workspace_git_required"
	CodeArtifactPath       = "agent_task.artifacts_path_materialization_failed"
	CodeIdentityInvalid    = "agent_task.workspace_identity_invalid"
	CodeIdentityChanged    = "agent_task.workspace_identity_changed"
	CodeOutputInvalid      = "agent_task.output_declaration_invalid"
	CodeToolUnavailable    = runtimepkg.ToolUnavailable
	CodeEncode             = "agent_task.request_encode_failed"
	CodeEnvMissing         = "agent_task.provider_env_missing"
)

// A plan is what Fit found out about a job.
type plan struct {
	selection *runtimepkg.Selection
	trusted   bool
	command   runtimepkg.Command
	request   homeboy.Request // as the provider gets it, without what only a turn knows
	applied   []runtimepkg.Applied
	readiness *runtimepkg.Readiness
	secrets   []runtimepkg.SecretStatus
	env       map[string]string // declared: executables, the invocation's own
	place     place
	tools     []runtimepkg.Tool
	links     string // a directory of programs by their names, as the provider sees it; empty: it needs none
}

const opStart = "start the provider"

// ownProgram is the variable by which readiness checks of shipped packages find deed itself.
const ownProgram = "DEED_BIN"

// invalid refuses a request.
func invalid(code string, err error, remedy string) error {
	return driver.Refuse(opStart, code, string(homeboy.ClassInvalidInput), err, remedy)
}

// Fit selects the provider and looks at everything that can be wrong before it is started. Of the provider itself nothing
// runs; probes of a trusted package do.
func (d *Driver) Fit(ctx context.Context, j driver.Job) (driver.Fit, error) {
	p, values, err := d.plan(ctx, j)
	if err != nil {
		return driver.Fit{}, err
	}
	f := driver.Fit{Secrets: values, ReadOnly: p.place.readOnly, Writable: p.place.artifacts, Plan: p}
	f.Mounts, f.Toolchains = p.sees(d.opt.Environ)
	return f, nil
}

func (d *Driver) plan(ctx context.Context, j driver.Job) (*plan, map[string]string, error) {
	if j.Adapter.Packaged == nil {
		return nil, nil, failure.New(failure.Config, opStart, fmt.Errorf("adapter %q is of kind %q", j.Adapter.ID(), j.Adapter.Kind()), "")
	}
	if err := j.Adapter.Validate(); err != nil {
		return nil, nil, failure.New(failure.Config, "read the adapter", err, "")
	}
	p := &plan{}
	if err := d.choose(j, p); err != nil {
		return nil, nil, err
	}
	if err := d.refusePast(p.request); err != nil {
		return nil, nil, err
	}
	if err := d.attach(p); err != nil {
		return nil, nil, err
	}
	if err := p.place.find(j, p.selection); err != nil {
		return nil, nil, err
	}
	// A draft of the request that it will get: a field that is missing is missing before anything has run.
	draft := turn{job: j, plan: p, timeLimit: d.wallClock(j, p.request)}
	if _, err := draft.request(driver.Input{Turn: 1}); err != nil {
		return nil, nil, err
	}
	if err := d.check(ctx, p); err != nil {
		return nil, nil, err
	}
	values, err := d.resolve(ctx, j, p)
	if err != nil {
		return nil, nil, err
	}
	return p, values, p.place.prepare(j)
}

// choose finds the packages, selects one of their providers and completes the request by its defaults.
func (d *Driver) choose(j driver.Job, p *plan) error {
	q, err := ask(j)
	if err != nil {
		return err
	}
	places, err := d.places(j)
	if err != nil {
		return failure.New(failure.Infra, "find runtime packages", err, "")
	}
	c, err := runtimepkg.Find(places)
	if err != nil {
		return failure.New(failure.Config, "find runtime packages", err, "")
	}
	doc, err := document(q)
	if err != nil {
		return invalid(CodeRequestInvalid, err, "")
	}
	var s *runtimepkg.SelectError
	p.selection, err = c.Select(doc.Ask())
	if errors.As(err, &s) {
		return driver.Refuse(opStart, s.Code, string(s.Class()), errors.New(s.Message), s.Remedy)
	}
	if err != nil {
		return failure.New(failure.Config, "select a provider", err, "")
	}
	p.trusted = d.trusts(p.selection.Package, j.Guest)
	if !p.trusted {
		if err := confined(p.selection.Package); err != nil {
			return driver.Refuse(opStart, runtimepkg.ProviderMissing, string(homeboy.ClassInvalidInput), err, "install the package, or put its files where it is")
		}
		p.selection = Quiet(p.selection)
	}
	doc, p.applied = p.selection.Complete(doc)
	if p.request, err = typed(doc); err != nil {
		return invalid(CodeRequestInvalid, err, "")
	}
	if p.command, err = p.selection.Package.Command(p.selection.Provider); err != nil {
		return driver.Refuse(opStart, CodeCommandUnavailable, string(homeboy.ClassProvider), err, "correct the manifest")
	}
	return nil
}

// places are where packages of a job are looked for: see the package documentation.
func (d *Driver) places(j driver.Job) (runtimepkg.Places, error) {
	p := runtimepkg.Places{Dirs: union(j.Adapter.Packaged.RuntimeDirs, d.opt.Dirs), Home: d.opt.Home, Shipped: d.opt.Shipped}
	own := []string{path.Join(".deed", runtimepkg.PackagesDir), runtimepkg.PackagesDir}
	if !j.Guest || j.Base.Tree == nil || !slices.ContainsFunc(own, j.Base.Tree.Has) {
		return p, nil
	}
	base, err := j.Base.Tree.Dir()
	for _, dir := range own {
		p.Project = append(p.Project, filepath.Join(base, filepath.FromSlash(dir)))
	}
	return p, err
}

// confined refuses a package that is not trusted and that is a link to somewhere else on the machine.
func confined(p *runtimepkg.Package) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(p.Path))
	if err == nil && p.Real != filepath.Join(parent, filepath.Base(p.Path)) {
		err = fmt.Errorf("the runtime package %q of the project is a link", p.ID)
	}
	return err
}

// Quiet returns a selection of an untrusted package without anything that would run outside of its sandbox, or read files
// of the operator's.
func Quiet(s *runtimepkg.Selection) *runtimepkg.Selection {
	out, pkg := *s, *s.Package
	x := &out.Provider
	x.ReadinessInvocation = nil
	x.RunnerReadiness = quietChecks(x.RunnerReadiness)
	x.SecretEnvRequirements = slices.Clone(x.SecretEnvRequirements)
	for i := range x.SecretEnvRequirements {
		x.SecretEnvRequirements[i].SecretEnvSources = nil
	}
	x.ProviderDefaults = maps.Clone(x.ProviderDefaults)
	for name, def := range x.ProviderDefaults {
		def.SecretEnvSources = nil
		x.ProviderDefaults[name] = def
	}
	if m := pkg.Manifest.Materialization; m != nil {
		quieted := *m
		quieted.ReadinessChecks = quietChecks(m.ReadinessChecks)
		quieted.ExecutableRequirements = slices.Clone(m.ExecutableRequirements)
		for i := range quieted.ExecutableRequirements {
			quieted.ExecutableRequirements[i].VersionCommand = nil
		}
		quieted.EnvPassthrough = nil
		pkg.Manifest.Materialization = &quieted
	}
	out.Package = &pkg
	return &out
}

func quietChecks(list []homeboy.ReadinessCheck) []homeboy.ReadinessCheck {
	list = slices.Clone(list)
	for i := range list {
		list[i].Invocation, list[i].EnvPath = nil, nil
		if x := list[i].Executable; x != nil {
			silent := *x
			silent.VersionCommand = nil
			list[i].Executable = &silent
		}
	}
	return list
}

// check looks at the provider's readiness. Missing secrets are reported by resolve, which knows more places.
func (d *Driver) check(ctx context.Context, p *plan) error {
	checker := d.ready
	if !p.trusted { // nothing but what finds programs
		checker = &runtimepkg.Checker{Environ: pick(d.opt.Environ, "PATH", "HOME"), Clock: d.opt.Clock}
	}
	doc, err := document(p.request)
	if err != nil {
		return invalid(CodeRequestInvalid, err, "")
	}
	r, err := checker.Check(ctx, p.selection, doc)
	if err != nil {
		if ctx.Err() != nil {
			return driver.Canceled(opStart, context.Cause(ctx))
		}
		return failure.New(failure.Infra, "look whether the provider is ready", err, "")
	}
	p.readiness = r
	p.command = r.Resolve(p.command) // what was found is what runs
	var why, codes []string
	retryable := true
	for _, c := range r.Checks {
		if c.Status != runtimepkg.CheckFailed || c.Kind == runtimepkg.KindSecret {
			continue
		}
		line := c.ID + ": " + c.Detail
		if c.Remedy != "" {
			line += " (" + c.Remedy + ")"
		}
		why, codes = append(why, line), append(codes, codeOf(c.Kind))
		retryable = retryable && c.Probe != nil && c.Probe.Retryable
	}
	if len(why) == 0 {
		return nil
	}
	class := homeboy.ClassProvider
	if retryable {
		class = homeboy.ClassTransient
	}
	f := driver.Refuse(opStart, codes[0], string(class), fmt.Errorf("provider %s is not ready: %s", p.selection.Provider.ID, strings.Join(why, "; ")), "`deed runtime check` shows all of it")
	if retryable {
		f.Class = failure.Provider
	}
	return f
}

func codeOf(kind string) string {
	switch kind {
	case runtimepkg.KindExecutable:
		return CodeExecutableMissing
	case runtimepkg.KindCommand:
		return CodeCommandUnavailable
	}
	return CodeNotReady
}

func pick(environ []string, names ...string) []string {
	var out []string
	for _, name := range names {
		if v := proc.Getenv(environ, name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// resolve finds every secret that the provider gets, and what else its invocation declares.
func (d *Driver) resolve(ctx context.Context, j driver.Job, p *plan) (map[string]string, error) {
	c, _ := process.Of(j.Adapter)
	own, err := process.Own(c)
	if err != nil {
		return nil, err
	}
	doc, err := document(p.request)
	if err != nil {
		return nil, invalid(CodeRequestInvalid, err, "")
	}
	stores := []runtimepkg.SecretStore{runtimepkg.Values("the task", j.Secrets), runtimepkg.Values("the adapter", own)}
	for _, s := range d.stores() {
		stores = append(stores, d.granted(s, j, p.trusted))
	}
	needs := p.needs(j, doc)
	values, status, err := runtimepkg.ResolveSecrets(ctx, needs, proc.Getenv(d.opt.Environ, "HOME"), stores...)
	p.secrets = status
	var missing *runtimepkg.SecretsMissing
	if errors.As(err, &missing) {
		remedy := ""
		if j.Guest || !p.trusted {
			remedy = "the adapter is the task's or the project's: grant each by name, with --secret"
		}
		return nil, driver.Refuse(opStart, runtimepkg.SecretEnvMissing, string(homeboy.ClassInvalidInput), missing, remedy)
	}
	if err != nil {
		return nil, failure.New(failure.Config, "resolve secrets", err, "")
	}
	literal := map[string]string{}
	for _, s := range status {
		if s.Literal { // redacting a literal of the manifest would redact every word like it
			literal[s.Name] = values[s.Name]
			delete(values, s.Name)
		}
	}
	if values, err = unasked(c, values); err != nil {
		return nil, err
	}
	return values, d.declared(j, p, values, literal)
}

// unasked adds what the provider gets from an env_file without having asked for it by name. People keep credentials in
// such a file, so all of it is treated as secret, except for values that are too short to be distinguished from other
// text.
func unasked(c process.Config, values map[string]string) (map[string]string, error) {
	file, err := process.Own(process.Config{EnvFile: c.EnvFile})
	if err != nil {
		return nil, err
	}
	for name, v := range file {
		if _, over := c.Env[name]; over || values[name] != "" || v == "" || len(redact.New(map[string]string{name: v}).Unredactable()) > 0 {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = v
	}
	return values, nil
}

// needs lists the secrets that the provider gets: those that its request and its manifest ask for, and those that the task
// names. A manifest's statement of where a secret is kept applies only to a secret that the provider may have.
func (p *plan) needs(j driver.Job, doc runtimepkg.Document) []runtimepkg.SecretNeed {
	all := runtimepkg.SecretNeeds(p.selection.Provider, doc)
	if j.Guest {
		closed := runtimepkg.SecretNeeds(Quiet(p.selection).Provider, doc)
		for i, n := range all { // the same names in the same order
			if !slices.Contains(j.SecretEnv, n.Name) {
				all[i] = closed[i]
			}
		}
	}
	for _, name := range j.SecretEnv {
		if !slices.ContainsFunc(all, func(n runtimepkg.SecretNeed) bool { return n.Name == name }) {
			all = append(all, runtimepkg.SecretNeed{Name: name, Required: true, Asked: []string{"the task"}})
		}
	}
	return all
}

// granted narrows one of the operator's stores down to what the task grants, for a package that is not trusted.
func (d *Driver) granted(s runtimepkg.SecretStore, j driver.Job, trusted bool) runtimepkg.SecretStore {
	if trusted && !j.Guest {
		return s
	}
	return runtimepkg.SecretStore{Name: s.Name, Lookup: func(ctx context.Context, name string) (string, bool, error) {
		if !slices.Contains(j.SecretEnv, name) {
			return "", false, nil
		}
		return s.Lookup(ctx, name)
	}}
}

// declared collects the variables that the manifest declares: executables that were found, the invocation's own, and names of
// deed's environment that a trusted package may see. A variable that looks like a secret is treated as one.
func (d *Driver) declared(j driver.Job, p *plan, secrets, literal map[string]string) error {
	p.env = maps.Clone(literal)
	for name, file := range p.readiness.Exports {
		p.env[name] = runtimepkg.Launched(file)
	}
	delete(p.env, ownProgram) // the command is resolved: nothing in it looks for deed by a variable
	host := func(name string) string {
		if !p.trusted || j.Guest && !slices.Contains(j.SecretEnv, name) && redact.LooksSecret(name, proc.Getenv(d.opt.Environ, name)) {
			return ""
		}
		return proc.Getenv(d.opt.Environ, name)
	}
	give := func(name, value string) {
		switch {
		case value == "" || secrets[name] != "":
		case redact.LooksSecret(name, value):
			secrets[name] = value
		default:
			p.env[name] = value
		}
	}
	names := p.command.Allow
	if m := p.selection.Package.Manifest.Materialization; m != nil {
		names = slices.Concat(names, m.EnvPassthrough)
	}
	for _, name := range names {
		give(name, host(name))
	}
	var missing []string
	for _, e := range p.command.Env {
		value := e.Value
		if value == "" && e.Source != "" {
			value = host(strings.TrimPrefix(e.Source, "env:"))
		}
		if value == "" && secrets[e.Name] == "" && e.Required != nil && *e.Required {
			missing = append(missing, e.Name)
		}
		give(e.Name, value)
	}
	for name := range p.env {
		if err := process.Settable(name); err != nil {
			return driver.Refuse(opStart, CodeRequestInvalid, string(homeboy.ClassProvider), err, "correct the manifest")
		}
	}
	if len(missing) > 0 {
		return driver.Refuse(opStart, CodeEnvMissing, string(homeboy.ClassProvider), fmt.Errorf("the invocation of provider %s requires %s", p.selection.Provider.ID, strings.Join(missing, ", ")), "set it where `deed` runs")
	}
	return nil
}

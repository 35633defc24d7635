package providertask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/agent/runtimepkg/shipped"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
)

// A choice is the provider that runs a request, and what follows from that.
type choice struct {
	req       runtimepkg.Request // as the provider will get it: backend and ability filled in
	selection *runtimepkg.Selection
	attached  []runtimepkg.Tool
	ready     *runtimepkg.Readiness
	backend   settings.RuntimeBackend // the operator's settings for it
	from      string                  // the file that named the backend; empty: the request itself
}

// metadataDeed is the member of a request's metadata in which deed keeps its own notes.
const metadataDeed = "deed"

// Default sets the backend of a request that names none: from the caller's own choice, else from the projects that it
// works on, else from the operator's file. Packages have no say. It returns the file, or "".
func Default(req runtimepkg.Request, cfg *config.Config, own string, dirs ...string) (runtimepkg.Request, string, error) {
	if strings.TrimSpace(req.Executor.Backend) != "" {
		return req, "", nil
	}
	from := ""
	backend := own
	if backend == "" {
		if s := req.Executor.RuntimeSelection; s != nil {
			backend = s.ExecutorBackend
		}
	}
	if backend == "" {
		if w := req.Workspace; w != nil && w.Root != "" {
			dirs = append(dirs, w.Root)
		}
		d, err := cfg.DefaultBackend(dirs...)
		if err != nil {
			return req, "", &Refusal{Code: BackendAmbiguous, Class: homeboy.ClassInvalidInput, Message: err.Error()}
		}
		backend, from = d.Backend, d.File
	}
	if backend == "" {
		return req, "", nil // the selection lists the available ones
	}
	q := req.Request
	q.Executor.Backend = backend
	out, err := runtimepkg.RequestOf(q)
	out.Warnings = req.Warnings
	return out, from, err
}

// choose resolves a request before anything is queued. It fails closed, and uses the same rules as list and check.
func (s *Service) choose(ctx context.Context, req runtimepkg.Request) (*choice, error) {
	c := &choice{req: req}
	var err error
	if c.req, c.from, err = Default(req, s.Admission.Config, s.Options.Backend); err != nil {
		return nil, err
	}
	if strings.TrimSpace(c.req.Executor.Backend) == "" { // the selection's error says more than the missing field does
		if _, err := s.selectFor(c.req); err != nil {
			return nil, err
		}
	}
	if err := c.req.Request.Validate(); err != nil {
		return nil, err
	}
	if l := req.Limits; l != nil && l.ExecutionDeadlineUnixMS > 0 {
		if at := time.UnixMilli(l.ExecutionDeadlineUnixMS); !at.After(s.Clock()) {
			return nil, &Refusal{
				Code: packaged.CodeDeadline, Class: homeboy.ClassTimeout, Status: homeboy.Timeout,
				Message: fmt.Sprintf("limits.execution_deadline_unix_ms is %s, which is past", at.UTC().Format(time.RFC3339)), Remedy: "ask again with a later one",
			}
		}
	}
	if c.selection, err = s.selectFor(c.req); err != nil {
		return nil, err
	}
	if err := s.tools(c); err != nil {
		return nil, err
	}
	if c.fromProject() {
		// Settings for a backend are meant for the operator's packages: any repository can give its own package the
		// same name.
		c.selection = packaged.Quiet(c.selection)
		if err := c.refuseImpostor(s.Options); err != nil {
			return nil, err
		}
	} else {
		c.backend = s.Admission.Config.Runtimes.Backends[c.selection.Provider.Backend]
	}
	if err := requirements(c.req, c.attached); err != nil {
		return nil, err
	}
	if err := c.execution(); err != nil {
		return nil, err
	}
	full, _ := c.selection.Complete(c.req.Doc)
	if err := runtimepkg.CheckRequest(c.selection.Provider, full); err != nil {
		return nil, err
	}
	if err := s.readiness(ctx, c, full); err != nil {
		return nil, err
	}
	return c, c.grants()
}

// tools refuses a request whose tools cannot be attached, before anything is queued.
func (s *Service) tools(c *choice) error {
	tools, err := c.selection.Tools(c.req.Request, proc.Getenv(s.Engine.Runner.Environ, "PATH"))
	var bad *runtimepkg.ToolsError
	if errors.As(err, &bad) {
		return &Refusal{Code: bad.Code, Class: bad.Class, Message: bad.Error(), Remedy: bad.Remedy}
	}
	c.attached = tools
	return err
}

// fromProject reports whether the package belongs to a project: its code comes from a repository that may not have
// been reviewed.
func (c *choice) fromProject() bool { return c.selection.Package.From == runtimepkg.FromProject }

// refuseImpostor refuses what a project's package would get by having the name of another one: a whole file of
// secrets, and secrets that a request names for a package that deed ships.
func (c *choice) refuseImpostor(o Options) error {
	p := c.selection.Package
	refuse := func(format string, args ...any) error {
		return &Refusal{
			Code: ProjectPackage, Class: homeboy.ClassPolicyDenied, Message: fmt.Sprintf("the package %s is the project's (%s): ", p.ID, p.Path) + fmt.Sprintf(format, args...),
			Remedy: "look at it, and then `deed runtime install` or `deed runtime link` it",
		}
	}
	own := shipped.IDs()
	switch names := c.req.Executor.SecretEnv; {
	case o.EnvFile != "":
		return refuse("it gets no env_file, only secrets by their names in executor.secret_env")
	case len(names) > 0 && (slices.Contains(own, p.ID) || slices.Contains(own, c.selection.Provider.Backend)):
		return refuse("it stands in the place of one that deed ships, and does not get %s", strings.Join(names, ", "))
	}
	return nil
}

// grants refuses secrets that a project's package asks for and the request does not name: cloning a repository does
// not mean agreeing to what it wants to read.
func (c *choice) grants() error {
	if !c.fromProject() {
		return nil
	}
	var lacks []string
	for _, x := range c.ready.Secrets {
		if x.Required && !slices.Contains(c.req.Executor.SecretEnv, x.Name) {
			lacks = append(lacks, x.Name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return &Refusal{
		Code: runtimepkg.SecretEnvMissing, Class: homeboy.ClassInvalidInput, Status: homeboy.ProviderError,
		Message: fmt.Sprintf("the project's package %s asks for %s, and the request does not grant it", c.selection.Package.ID, strings.Join(lacks, ", ")), Remedy: "name each in executor.secret_env, or install the package",
	}
}

// granted lists the secrets that the provider gets.
func (c *choice) granted() []string {
	var out []string
	for _, x := range c.ready.Secrets {
		if x.Configured && (!c.fromProject() || slices.Contains(c.req.Executor.SecretEnv, x.Name)) {
			out = append(out, x.Name)
		}
	}
	return out
}

func (s *Service) selectFor(req runtimepkg.Request) (*runtimepkg.Selection, error) {
	catalog, err := s.catalog()
	if err != nil {
		return nil, &Refusal{Code: runtimepkg.ProviderMissing, Class: homeboy.ClassInvalidInput, Message: err.Error()}
	}
	return catalog.Select(req.Doc.Ask())
}

// readiness checks whether the provider can run now. The first missing thing gives the code; all are reported.
func (s *Service) readiness(ctx context.Context, c *choice, full runtimepkg.Document) error {
	checker, err := s.checker(c.envFile(s.Options))
	if err != nil {
		return &Refusal{Code: packaged.CodeNotReady, Class: homeboy.ClassInvalidInput, Message: err.Error()}
	}
	if c.ready, err = checker.Check(ctx, c.selection, full); err != nil {
		return err
	}
	if c.ready.Ready {
		return nil
	}
	r := &Refusal{
		Code: packaged.CodeNotReady, Class: homeboy.ClassProvider, Message: fmt.Sprintf("provider %s is not ready: %s", c.selection.Provider.ID, strings.Join(c.ready.Why(), "; ")),
		Remedy: "see `deed runtime check`", Data: map[string]any{"checks": failed(c.ready.Checks)},
	}
	if c.ready.Retryable {
		r.Class = homeboy.ClassTransient
	}
	switch failed(c.ready.Checks)[0].Kind {
	case runtimepkg.KindCommand:
		r.Code = packaged.CodeCommandUnavailable
	case runtimepkg.KindExecutable:
		r.Code = packaged.CodeExecutableMissing
	case runtimepkg.KindSecret:
		r.Code, r.Class, r.Status = runtimepkg.SecretEnvMissing, homeboy.ClassInvalidInput, homeboy.ProviderError
	}
	return r
}

func failed(checks []runtimepkg.Check) []runtimepkg.Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c runtimepkg.Check) bool { return c.Status != runtimepkg.CheckFailed })
}

func (c *choice) envFile(o Options) string {
	if o.EnvFile != "" {
		return o.EnvFile
	}
	return c.backend.EnvFile
}

// checker returns one checker for all requests with the same env_file, so that a fanout probes once.
func (s *Service) checker(envFile string) (*runtimepkg.Checker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.checkers[envFile]; k != nil {
		return k, nil
	}
	r := s.Engine.Runner
	k := &runtimepkg.Checker{Environ: r.Environ, Secrets: slices.Clone(r.SecretStores()), Clock: s.Clock}
	if envFile != "" {
		vars, err := process.Own(process.Config{EnvFile: envFile})
		if err != nil {
			return nil, err
		}
		k.Secrets = append(k.Secrets, runtimepkg.Values("env_file", vars))
	}
	if s.checkers == nil {
		s.checkers = map[string]*runtimepkg.Checker{}
	}
	s.checkers[envFile] = k
	return k, nil
}

// catalog reads the packages once: a later request in the same process gets what the first one got.
func (s *Service) catalog() (*runtimepkg.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		named := slices.Concat(s.Options.RuntimeDirs, s.Admission.Config.Runtimes.Dirs)
		c, err := runtimepkg.Find(runtimepkg.PlacesOf(s.Home, s.Options.Dir, named...))
		if err != nil {
			return nil, err
		}
		s.found = c
	}
	return s.found, nil
}

// runnerCan is what deed itself does for every provider, in the words of the contract.
var runnerCan = []string{"workspace_materialization", "structured_outcome", "diagnostic_artifacts", "patch_artifacts", "verification_artifacts", "artifact_materialization", "run_scoped_scratch"}

// requirements compares what a request demands of its runner and of attached tools with what is available. The
// selection checks the requirements on the provider.
func requirements(req runtimepkg.Request, attached []runtimepkg.Tool) error {
	raw, there := req.Doc.At("metadata.capability_requirements")
	if !there || raw == nil {
		return nil
	}
	text, err := json.Marshal(raw)
	var want homeboy.CapabilityRequirements
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return &Refusal{Code: RequirementsInvalid, Class: homeboy.ClassInvalidInput, Message: "metadata.capability_requirements cannot be read: " + err.Error(), Remedy: "write {provider: [], runner: [], attached_tools: []}"}
	}
	var lacks []string
	for _, name := range want.Runner {
		if !slices.Contains(runnerCan, name) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		return &Refusal{
			Code: RunnerCapability, Class: homeboy.ClassCapabilityMissing, Message: "deed does not do what metadata.capability_requirements.runner asks for: " + strings.Join(lacks, ", "),
			Remedy: "it does: " + strings.Join(runnerCan, ", "), Data: map[string]any{"missing_capabilities": lacks},
		}
	}
	for _, tool := range want.AttachedTools {
		var has []string
		if i := slices.IndexFunc(attached, func(t runtimepkg.Tool) bool { return t.ID == tool.ID }); i >= 0 {
			has = attached[i].Capabilities
		}
		for _, name := range tool.Contributes {
			if !slices.Contains(has, name) {
				lacks = append(lacks, tool.ID+": "+name)
			}
		}
	}
	if len(lacks) > 0 {
		return &Refusal{
			Code: ToolCapability, Class: homeboy.ClassCapabilityMissing, Message: "no tool of runtime_tools shows what metadata.capability_requirements.attached_tools should contribute: " + strings.Join(lacks, ", "),
			Remedy: "name the tool in runtime_tools with those required_capabilities and a capability_probe, or require them of the provider", Data: map[string]any{"missing_capabilities": lacks},
		}
	}
	return nil
}

// execution translates a generic runtime_execution of the request to the ability that the provider knows, in the
// field of its contract. Case 119.
func (c *choice) execution() error {
	raw, there := c.req.Doc.At("runtime_execution")
	if !there || raw == nil {
		return nil
	}
	refuse := func(err error) error {
		return &Refusal{Code: ExecutionUnavailable, Class: homeboy.ClassCapabilityMissing, Message: err.Error(), Remedy: "`deed runtime show` lists what providers declare"}
	}
	descriptor, ok := raw.(map[string]any)
	if !ok {
		return refuse(errors.New("runtime_execution is not an object"))
	}
	x := c.selection.Provider
	e := runtimepkg.ExecutionOf(runtimepkg.Document(descriptor))
	ability, err := runtimepkg.ResolveExecution(x, e, c.profile())
	if err != nil {
		return refuse(err)
	}
	q := c.req.Request
	q.Extra = withMember(q.Extra, "runtime_execution", with(q.Extra["runtime_execution"], map[string]any{"kind": e.Kind, "ability": ability}))
	q.Executor.Config = withMember(q.Executor.Config, x.RuntimeExecutionContracts[e.Kind].AbilityField, mustValue(ability))
	next, err := runtimepkg.RequestOf(q)
	next.Warnings = c.req.Warnings
	c.req = next
	return err
}

// profile is the runtime profile: the request's, else the one that the provider declares.
func (c *choice) profile() runtimepkg.Document {
	for _, path := range []string{"runtime_profile", "executor.config.runtime_profile", "executor.config"} {
		if v, _ := c.req.Doc.At(path); v != nil {
			if m, ok := v.(map[string]any); ok && len(m) > 0 {
				return m
			}
		}
	}
	var m map[string]any
	if raw := c.selection.Provider.Extra["runtime_profile"]; len(raw) > 0 && json.Unmarshal(raw, &m) == nil {
		return m
	}
	return nil
}

func withMember[M ~map[string]homeboy.Value](m M, name string, v homeboy.Value) M {
	out := M{}
	for k, old := range m {
		out[k] = old
	}
	out[name] = v
	return out
}

package runtimepkg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// What a check found.
const (
	CheckOK      = "ok"
	CheckFailed  = "failed"
	CheckSkipped = "skipped" // deed cannot check it, and it does not prevent a run
)

// The kinds of checks.
const (
	KindCommand    = "command"
	KindExecutable = "executable"
	KindEnvPath    = "env_path"
	KindSecret     = "secret"
	KindProbe      = "probe"
	KindExtension  = "extension"
)

// A Check is one thing that was looked at.
type Check struct {
	ID     string `json:"id"`
	Label  string `json:"label,omitempty"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	Probe  *Probe `json:"probe,omitempty"`
}

// A Readiness is whether a provider can be dispatched now. It holds no value of any secret.
type Readiness struct {
	Package   string            `json:"package"`
	Provider  string            `json:"provider"`
	Backend   string            `json:"backend"`
	Ready     bool              `json:"ready"`
	Retryable bool              `json:"retryable,omitempty"` // what failed may pass by itself
	Checks    []Check           `json:"checks"`
	Secrets   []SecretStatus    `json:"secrets,omitempty"`
	Exports   map[string]string `json:"exports,omitempty"` // variables that the provider gets: the executables and paths that were found
	CheckedAt time.Time         `json:"checked_at"`

	hide   *redact.Redactor  // what no check may show
	found  map[string]string // the file of each program that a check names, by every name that it may have on the PATH
	called map[string]string // the same, by the one name that a provider calls it by
}

// Resolve makes a command start the programs that were found: a manifest whose command is a program that its own checks look
// for gets the one that they found, also when a variable names it and the PATH does not have it.
func (r *Readiness) Resolve(c Command) Command {
	if file := r.found[c.Argv[0]]; file != "" && !c.Shell {
		c.Argv = append([]string{file}, c.Argv[1:]...)
	}
	return c
}

// Programs are the files of programs that the checks look for on the PATH, by their names, but for those that every machine
// shows to what it contains.
func (r *Readiness) Programs() map[string]string {
	out := map[string]string{}
	for name, file := range r.called {
		if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Base(name) == name && !toolchain.InSystem(real) {
			out[name] = file
		}
	}
	return out
}

// Why returns what keeps the provider from running, one line each.
func (r *Readiness) Why() []string {
	var out []string
	for _, c := range r.Checks {
		if c.Status == CheckFailed {
			line := c.ID + ": " + c.Detail
			if c.Remedy != "" {
				line += " (" + c.Remedy + ")"
			}
			out = append(out, line)
		}
	}
	return out
}

// Bounds of readiness.
const (
	probeLimit  = 20 * time.Second
	probeOutput = 1 << 20
	readyFor    = 30 * time.Second
	unreadyFor  = 5 * time.Second // somebody fixes it, and tries again
	maxVerdicts = 1000
	sharedTries = 10
)

// A Checker says whether providers are ready. A verdict is kept for a short time, by the content of everything that it
// depends on, so that a fanout probes once. It is safe for concurrent use.
type Checker struct {
	Environ []string      // deed's own; probes see PATH, HOME and what their manifest lists
	Secrets []SecretStore // Environment(Environ) when nil
	Home    string        // the operator's home directory; $HOME of Environ when empty
	Clock   clock.Clock   // clock.System when nil
	Limit   time.Duration // of one probe; probeLimit when zero

	flight singleflight.Group
	mu     sync.Mutex
	kept   map[string]*Readiness // guarded by mu
}

// Check looks at everything that a selected provider needs for a request. A request that only says little is enough for
// what does not depend on it. The error is for what keeps deed from looking; a provider that is not ready is none.
func (c *Checker) Check(ctx context.Context, s *Selection, doc Document) (*Readiness, error) {
	key, err := c.key(s, doc)
	if err == nil {
		err = s.Package.Place()
	}
	if err != nil {
		return nil, fmt.Errorf("check provider %s: %w", s.Provider.ID, err)
	}
	if r := c.recall(key); r != nil {
		return r, nil
	}
	for range sharedTries {
		got, err, _ := c.flight.Do(key, func() (any, error) {
			r := c.look(ctx, s, doc)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx) // what was cut short is no verdict
			}
			c.keep(key, r)
			return r, nil
		})
		switch {
		case err == nil:
			return got.(*Readiness), nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("check provider %s: %w", s.Provider.ID, context.Cause(ctx))
		}
		// Somebody else looked, and was called off: that is not this caller's end.
	}
	return nil, fmt.Errorf("check provider %s: everybody who looked was called off", s.Provider.ID)
}

// key hashes what a verdict depends on. It stays in memory, as values of variables are in it.
func (c *Checker) key(s *Selection, doc Document) (string, error) {
	digest, err := s.Package.Digest()
	if err != nil {
		return "", err
	}
	config, _ := doc.At("executor")
	needs := SecretNeeds(s.Provider, doc) // their conditions can look at any part of the request
	return canonjson.HashIn("deed/runtime-readiness/v1", []any{s.Package.Real, digest, s.Provider.ID, config, needs, c.Environ, c.home()})
}

func (c *Checker) now() time.Time {
	if c.Clock == nil {
		return clock.System()
	}
	return c.Clock()
}

func (c *Checker) recall(key string) *Readiness {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.kept[key]
	if r == nil {
		return nil
	}
	age, most := c.now().Sub(r.CheckedAt), unreadyFor
	if r.Ready {
		most = readyFor
	}
	if age < 0 || age >= most {
		return nil
	}
	return r
}

func (c *Checker) keep(key string, r *Readiness) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxVerdicts {
		c.kept = map[string]*Readiness{}
	}
	c.kept[key] = r
}

func (c *Checker) home() string {
	if c.Home != "" {
		return c.Home
	}
	return proc.Getenv(c.Environ, "HOME")
}

func (c *Checker) stores() []SecretStore {
	if c.Secrets != nil {
		return c.Secrets
	}
	return []SecretStore{Environment(c.Environ)}
}

// look does all checks, so that a user can fix everything at once.
func (c *Checker) look(ctx context.Context, s *Selection, doc Document) *Readiness {
	r := &Readiness{Package: s.Package.ID, Provider: s.Provider.ID, Backend: s.Provider.Backend, Exports: map[string]string{}, CheckedAt: c.now(), found: map[string]string{}, called: map[string]string{}}
	values, secrets, _ := ResolveSecrets(ctx, SecretNeeds(s.Provider, doc), c.home(), c.stores()...) // each is reported below
	r.Secrets, r.hide = secrets, c.hides(values)
	r.find(c, s)
	r.add(c.command(s, r))
	for i, check := range c.declared(s) {
		c.readiness(ctx, s, r, check, i)
	}
	for _, st := range r.Secrets {
		r.add(secretCheck(st))
	}
	if v := s.Provider.ReadinessInvocation; v != nil && len(v.Words()) > 0 {
		r.add(c.readinessProbe(ctx, s, r.given(s.Package.invocation(*v)), doc))
	}
	r.settle()
	return r
}

// find looks for every program that the checks name.
func (r *Readiness) find(c *Checker, s *Selection) {
	for _, d := range c.declared(s) {
		if d.Executable == nil {
			continue
		}
		file, err := c.find(s, *d.Executable)
		if err != nil {
			continue // its own check reports it
		}
		if names := d.Executable.Candidates; slices.Contains(names, filepath.Base(file)) {
			r.called[filepath.Base(file)] = file
		} else if len(names) > 0 {
			r.called[names[0]] = file
		}
		for _, name := range d.Executable.Candidates {
			if r.found[name] == "" {
				r.found[name] = file
			}
		}
	}
}

// hides knows the secrets of the run, and what looks like one in deed's own environment: a manifest can name any variable.
func (c *Checker) hides(values map[string]string) *redact.Redactor {
	all := redact.Secrets(c.Environ)
	maps.Copy(all, values)
	return redact.New(all)
}

// declared are the checks of the provider and of its package.
func (c *Checker) declared(s *Selection) []homeboy.ReadinessCheck {
	list := slices.Clone(s.Provider.RunnerReadiness)
	if m := s.Package.Manifest.Materialization; m != nil {
		for _, x := range m.ExecutableRequirements {
			list = append(list, homeboy.ReadinessCheck{ID: x.ID, Label: x.Label, Executable: &x})
		}
		list = append(list, m.ReadinessChecks...)
	}
	return list
}

// given tells a probe which executables were found.
func (r *Readiness) given(cmd Command) Command {
	for _, name := range slices.Sorted(maps.Keys(r.Exports)) {
		cmd.Env = append(cmd.Env, homeboy.InvocationEnv{Name: name, Value: r.Exports[name]})
	}
	cmd.hide = r.hide
	return cmd
}

// add keeps a check, without what it may not show.
func (r *Readiness) add(c Check) {
	texts := []*string{&c.Detail, &c.Remedy}
	if c.Probe != nil {
		texts = append(texts, &c.Probe.Reason, &c.Probe.Message, &c.Probe.Remediation)
	}
	for _, text := range texts {
		*text = r.hide.String(*text)
	}
	r.Checks = append(r.Checks, c)
}

func (r *Readiness) settle() {
	r.Ready, r.Retryable = true, true
	for _, c := range r.Checks {
		if c.Status == CheckFailed {
			r.Ready = false
			r.Retryable = r.Retryable && c.Probe != nil && c.Probe.Retryable
		}
	}
	r.Retryable = r.Retryable && !r.Ready
}

// command looks for the program of the provider's own command.
func (c *Checker) command(s *Selection, r *Readiness) Check {
	check := Check{ID: "command", Kind: KindCommand, Status: CheckOK, Label: "the provider's command"}
	cmd, err := s.Package.Command(s.Provider)
	if err == nil {
		cmd = r.Resolve(cmd)
		dir := cmd.Dir
		if dir == "" {
			dir = s.Package.Real
		}
		check.Detail, err = proc.LookPath(cmd.Argv[0], proc.Getenv(c.Environ, "PATH"), dir)
	}
	if err != nil {
		check.Status, check.Detail, check.Remedy = CheckFailed, err.Error(), "install it, or correct the manifest"
		return check
	}
	for _, rel := range s.Package.ownFiles(cmd) {
		if _, err := os.Stat(filepath.Join(s.Package.Real, rel)); err != nil {
			check.Status, check.Detail, check.Remedy = CheckFailed, err.Error(), "install the package again"
		}
	}
	return check
}

func (c *Checker) readiness(ctx context.Context, s *Selection, r *Readiness, d homeboy.ReadinessCheck, i int) {
	id := d.ID
	if id == "" {
		id = fault.Index("runner_readiness", i)
	}
	base := Check{ID: id, Label: d.Label, Status: CheckOK, Remedy: d.Remediation}
	if d.Executable != nil {
		r.add(c.executable(ctx, s, r, base, *d.Executable))
	}
	if d.EnvPath != nil {
		r.add(c.envPath(ctx, r, base, *d.EnvPath))
	}
	for _, ext := range d.RequiredExtensions {
		x := base
		x.Kind, x.Status, x.Detail = KindExtension, CheckSkipped, fmt.Sprintf("needs the extension %q, which is the task's component to have", ext)
		r.add(x)
	}
	if d.Invocation != nil && len(d.Invocation.Words()) > 0 {
		r.add(c.probe(ctx, s, base, r.given(s.Package.invocation(*d.Invocation))))
	}
}

// executable finds a program: the first variable that is set holds its path, else the first candidate of the PATH.
func (c *Checker) executable(ctx context.Context, s *Selection, r *Readiness, check Check, x homeboy.ExecutableRequirement) Check {
	check.Kind = KindExecutable
	if check.Remedy == "" {
		check.Remedy = x.InstallHint
	}
	if check.Remedy == "" {
		check.Remedy = "install it"
		if len(x.Env) > 0 {
			check.Remedy += ", or set " + x.Env[0] + " to its path"
		}
	}
	path, err := c.find(s, x)
	if err != nil {
		check.Status, check.Detail = CheckFailed, err.Error()
		return check
	}
	for _, name := range x.Env {
		r.Exports[name] = path
	}
	check.Detail = path
	if len(x.VersionCommand) > 0 {
		check.Detail, err = c.version(ctx, s, r.given(Command{Argv: append([]string{path}, x.VersionCommand...)}))
		if err != nil {
			check.Status, check.Detail = CheckFailed, fmt.Sprintf("%s does not answer %s: %v", path, strings.Join(x.VersionCommand, " "), err)
			return check
		}
		check.Detail = path + ": " + check.Detail
	}
	check.Remedy = ""
	return check
}

func (c *Checker) find(s *Selection, x homeboy.ExecutableRequirement) (string, error) {
	path := proc.Getenv(c.Environ, "PATH")
	for _, name := range x.Env {
		value := proc.Getenv(c.Environ, name)
		if value == "" {
			continue
		}
		if !filepath.IsAbs(value) && strings.Contains(value, "/") {
			return "", fmt.Errorf("%s is %q, and must be an absolute path", name, value)
		}
		found, err := proc.LookPath(value, path, "/")
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		return found, nil
	}
	if len(x.Candidates) == 0 {
		if len(x.Env) == 0 {
			return "", errors.New("the manifest names no program")
		}
		return "", fmt.Errorf("%s is not set", strings.Join(x.Env, " nor "))
	}
	var failed []error
	for _, name := range x.Candidates {
		found, err := proc.LookPath(fill(name, s.Package.Real), path, s.Package.Real)
		if err == nil {
			return found, nil
		}
		failed = append(failed, err)
	}
	return "", errors.Join(failed...)
}

// envPath looks for a variable that holds a path that is there, at a revision where one is asked for.
// The provider gets the variable, and sees the path in its sandbox, because it could not run without it.
func (c *Checker) envPath(ctx context.Context, r *Readiness, check Check, e homeboy.EnvPath) Check {
	check.Kind = KindEnvPath
	fail := func(format string, args ...any) Check {
		check.Status, check.Detail = CheckFailed, fmt.Sprintf(format, args...)
		if check.Remedy == "" {
			check.Remedy = "set " + joinOrNone(e.Env) + " to a path that is there"
		}
		return check
	}
	for _, name := range e.Env {
		value := proc.Getenv(c.Environ, name)
		if value == "" {
			continue
		}
		if _, err := os.Stat(value); err != nil || !filepath.IsAbs(value) {
			return fail("%s is %q, which is no absolute path of something that is there", name, value)
		}
		if e.CanonicalPath != "" {
			real, err := filepath.EvalSymlinks(value)
			if want, werr := filepath.EvalSymlinks(e.CanonicalPath); err != nil || werr != nil || real != want {
				return fail("%s leads to %q and not to %q", name, real, e.CanonicalPath)
			}
		}
		if e.Revision != "" {
			if at, err := Revision(ctx, value, c.Environ); err != nil || at != e.Revision {
				return fail("%s is at the revision %q and not at %q", name, at, e.Revision)
			}
		}
		if c.mountable(name, value) {
			r.Exports[name] = value
		}
		check.Detail, check.Remedy = name+": "+value, ""
		return check
	}
	return fail("%s is not set", strings.Join(e.Env, " nor "))
}

// mountable reports whether the path in a variable may be mounted into a sandbox. Every run has some variables of its own, and a
// path that contains the whole machine, or a person's home, is too much.
func (c *Checker) mountable(name, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	home := proc.Getenv(c.Environ, "HOME")
	return err == nil && real != "/" && !slices.Contains([]string{"HOME", "PATH", "PWD", "TMPDIR"}, name) && (home == "" || !workspace.Within(home, real))
}

func secretCheck(s SecretStatus) Check {
	c := Check{ID: s.Name, Kind: KindSecret, Status: CheckOK, Detail: "from " + s.Source}
	if s.Configured {
		return c
	}
	c.Status, c.Detail = CheckFailed, "it is not set, and "+s.asks()
	if s.Problem != "" {
		c.Detail += ": " + s.Problem
	}
	c.Remedy = "export " + s.Name + ", put it into an env_file, or say under secrets in deed.yaml where it is"
	if !s.Required {
		c.Status, c.Remedy = CheckSkipped, ""
		c.Detail = "it is not set, and " + strings.Join(s.Asked, " and ") + " can do without"
	}
	return c
}

// environment is what a probe sees: no more than it needs to find programs, and what its manifest lists.
func (c *Checker) environment(cmd Command) []string {
	vars := map[string]string{"LANG": "C.UTF-8"}
	for _, name := range append([]string{"PATH", "HOME"}, cmd.Allow...) {
		if v := proc.Getenv(c.Environ, name); v != "" {
			vars[name] = v
		}
	}
	for _, e := range cmd.Env {
		switch {
		case e.Value != "":
			vars[e.Name] = e.Value
		case e.Source != "":
			if v := proc.Getenv(c.Environ, strings.TrimPrefix(e.Source, "env:")); v != "" {
				vars[e.Name] = v
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// Package packaged owns the driver that runs the provider command of a runtime package: which provider it is, the request
// that it reads, the environment and the limits that it runs in, and what follows from how it ended. It does not read
// manifests (runtimepkg), makes no outcome of what a provider printed (outcome) and does not judge what it did (gate).
//
// # Whose package runs
//
// An adapter of the operator's own file uses the operator's packages alone: those of the home, of Options.Dirs and of its
// runtime_dirs. An adapter that came with a task or from a project's file also uses those of the project, as the base has
// them: no agent can have written these. A package is trusted when it is in the home or in Options.Dirs, or when an adapter
// of the operator's names it. Only of a trusted package are probes run on this machine, and only it may say where a secret
// is kept.
//
// # Secrets and the environment
//
// Nothing is inherited from deed. What a provider gets besides the environment of every agent (see package process) is
// declared: the names HOMEBOY_*, executables that its readiness checks found, what its invocation lists, and secrets. An
// adapter of the operator's has every secret that its request and its provider ask for; every other has of these only what the
// task grants by name.
//
// # What follows from an outcome
//
// Whatever a provider says, the gate judges the workspace. How a turn ends:
//
//	succeeded, no_op                                 a completion, for the gate; a refusal is answered by another run
//	no outcome that counts, exit 0                   failure.InvalidWord
//	no such outcome, or a success, with a bad exit   failure.AgentFailed
//	class rate_limited                               failure.RateLimited, with the wait that the provider asks for
//	class timeout or stalled, status timeout         failure.Timeout
//	class invalid_input, capability_missing,
//	policy_denied, provider_*                        failure.Config: no second try helps
//	status provider_error, class transient           failure.Provider
//	everything else, cancelled among it              failure.AskedFail
//
// A failure that immediate_failure_patterns declares not retryable is failure.AskedFail where it would be tried again.
// A limit of deed's that was reached goes before all of these, unless the provider had reported a success that counts before.
package packaged

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/clock"
)

// Options say what no job carries.
type Options struct {
	Home    string                   // the directory of packages that the operator installed; see home.AgentRuntimes
	Shipped string                   // where deed puts the packages that it ships; empty: they do not count
	Dirs    []string                 // further packages, or directories of them, that the operator named
	Environ []string                 // deed's own environment: probes of trusted packages get parts of it
	Secrets []runtimepkg.SecretStore // where secrets of the operator are, in this order; nil: in Environ
	Clock   clock.Clock              // clock.System when nil
}

// A Driver runs providers of runtime packages. What it keeps are verdicts on readiness, so that many runs probe once.
type Driver struct {
	opt   Options
	ready *runtimepkg.Checker
}

var (
	_ driver.Driver       = (*Driver)(nil)
	_ driver.Fitted       = (*Driver)(nil)
	_ driver.Credentialed = (*Driver)(nil)
	_ driver.Networked    = (*Driver)(nil)
	_ driver.Versioned    = (*Driver)(nil)
)

// New makes a Driver.
func New(opt Options) *Driver {
	if opt.Clock == nil {
		opt.Clock = clock.System
	}
	d := &Driver{opt: opt}
	d.ready = &runtimepkg.Checker{Environ: opt.Environ, Secrets: d.stores(), Clock: opt.Clock}
	return d
}

// stores are where secrets of the operator are.
func (d *Driver) stores() []runtimepkg.SecretStore {
	if d.opt.Secrets != nil {
		return d.opt.Secrets
	}
	return runtimepkg.OwnStores(d.opt.Environ, nil)
}

// Kind returns "packaged".
func (*Driver) Kind() string { return agentruntime.KindPackaged }

// Hosts returns what the adapter names.
func (*Driver) Hosts(a agentruntime.AdapterConfig) ([]string, error) { return a.Common().Hosts, nil }

// Credentials returns the variables of the adapter's own environment that look like credentials.
func (*Driver) Credentials(a agentruntime.AdapterConfig) (map[string]string, error) {
	return process.Credentials(a)
}

// Ready looks for the provider among the operator's packages, and at what it needs. Fit reports one that is not there: the
// project may bring it.
func (d *Driver) Ready(ctx context.Context, a agentruntime.AdapterConfig) driver.Readiness {
	m := a.Packaged
	if m == nil {
		return driver.Readiness{Missing: []driver.Missing{{Name: "adapter", Reason: fmt.Sprintf("it is of kind %q", a.Kind()), Remedy: "name an adapter of kind packaged"}}}
	}
	if m.EnvFile != "" {
		c, _ := process.Of(a)
		if _, err := process.Own(c); err != nil {
			return driver.Readiness{Missing: []driver.Missing{driver.MissingFor("env_file", err)}}
		}
	}
	s, err := d.installed(m)
	if err != nil {
		return driver.Readiness{Missing: []driver.Missing{driver.MissingFor("packages", err)}}
	}
	r := driver.Readiness{Ready: true}
	if s == nil {
		return r
	}
	got, err := d.ready.Check(ctx, s, runtimepkg.Document{"executor": map[string]any{"backend": m.Backend}})
	if err != nil {
		return driver.Readiness{Missing: []driver.Missing{driver.MissingFor("readiness", err)}}
	}
	for _, c := range got.Checks {
		if c.Status == runtimepkg.CheckFailed && c.Kind != runtimepkg.KindSecret { // which the task may bring
			r.Ready = false
			r.Missing = append(r.Missing, driver.Missing{Name: c.ID, Reason: c.Detail, Remedy: c.Remedy})
		}
	}
	return r
}

// installed selects among the operator's packages; nil: none of them serves the adapter.
func (d *Driver) installed(m *agentruntime.PackagedAdapter) (*runtimepkg.Selection, error) {
	c, err := runtimepkg.Find(runtimepkg.Places{Dirs: union(m.RuntimeDirs, d.opt.Dirs), Home: d.opt.Home, Shipped: d.opt.Shipped})
	if err != nil {
		return nil, err
	}
	s, err := c.Select(runtimepkg.Ask{Backend: m.Backend, Selector: m.Selector, Runtime: m.Runtime, Capabilities: m.RequiredCapabilities})
	if err != nil {
		return nil, nil //nolint:nilerr // the project may have it, or say more exactly which
	}
	return s, nil
}

// Version returns the version of the package that serves the adapter.
func (d *Driver) Version(_ context.Context, a agentruntime.AdapterConfig) (string, error) {
	if a.Packaged == nil {
		return "", fmt.Errorf("adapter %q is of kind %q", a.ID(), a.Kind())
	}
	s, err := d.installed(a.Packaged)
	switch {
	case err != nil:
		return "", err
	case s == nil:
		return "", fmt.Errorf("no installed package serves the backend %q", a.Packaged.Backend)
	}
	return strings.TrimSpace(s.Package.ID + " " + s.Package.Manifest.Version), nil
}

// trusts reports whether a package is the operator's.
func (d *Driver) trusts(p *runtimepkg.Package, guest bool) bool {
	if p.From == runtimepkg.FromHome || p.From == runtimepkg.FromDeed || p.From == runtimepkg.FromDir && !guest {
		return true
	}
	for _, dir := range append(slices.Clone(d.opt.Dirs), d.opt.Shipped) {
		if dir == "" {
			continue
		}
		if rel, err := filepath.Rel(dir, p.Path); err == nil && filepath.IsLocal(rel) && p.From == runtimepkg.FromDir {
			return true
		}
	}
	return false
}

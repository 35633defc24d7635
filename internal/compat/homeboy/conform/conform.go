// Package conform owns the executable suite of the provider command contract: it runs the commands of a runtime package as a
// host does, with good and with bad requests, and says of each rule whether it is kept. It reads manifests and readiness
// through runtimepkg, changes nothing of the package, and says nothing about how good a provider's work is.
//
// Every run has a workspace of its own (a git repository with one commit), a directory for artifacts, a home and a directory
// for temporary files, an environment of nothing but what the contract gives, and a value planted for every secret that the
// manifest or the request names.
package conform

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// ErrNotPackage says that a directory holds no runtime package, or none with the provider that was asked for.
var ErrNotPackage = errors.New("not a runtime package")

// Options say how a package is looked at. The zero value is what a user gets.
type Options struct {
	Provider string              // the id of the one to look at; empty: all
	Request  runtimepkg.Document // what a valid request is made of; nil: the smallest
	Environ  []string            // deed's own: PATH, and what readiness checks look at
	Limit    time.Duration       // of a run, when the request has none; 0: a minute
	Patience time.Duration       // for what a command does at its end; 0: ten seconds

	// Isolation is what the commands run behind: sandbox.Process or sandbox.Namespace; empty: namespace where this machine
	// has it.
	Isolation sandbox.Kind

	settle time.Duration // before a silent command is asked to end; 0: a second
}

// A suite is one look at one package.
type suite struct {
	opt    Options
	pkg    *runtimepkg.Package
	sup    *proc.Supervisor
	tmp    string
	seed   string // the repository that workspaces are copies of
	checks []deed.ConformCheck
}

// Run runs the suite on the package in a directory. The error is ErrNotPackage, or why this machine could not look.
func Run(ctx context.Context, dir string, opt Options) (deed.ConformReport, error) {
	p, err := runtimepkg.Lint(dir)
	if err != nil {
		return deed.ConformReport{}, fmt.Errorf("%w: %w", ErrNotPackage, err)
	}
	providers := slices.Clone(p.Manifest.AgentTaskExecutors)
	if opt.Provider != "" {
		providers = slices.DeleteFunc(providers, func(x homeboy.ExecutorProvider) bool { return x.ID != opt.Provider })
	}
	if len(providers) == 0 {
		return deed.ConformReport{}, fmt.Errorf("%w: %s declares no provider %q", ErrNotPackage, p.ID, opt.Provider)
	}
	if opt.Limit == 0 {
		opt.Limit = time.Minute
	}
	if opt.Patience == 0 {
		opt.Patience = 10 * time.Second
	}
	if opt.settle == 0 {
		opt.settle = time.Second
	}
	if opt.Isolation, err = isolation(ctx, opt.Isolation); err != nil {
		return deed.ConformReport{}, fmt.Errorf("conform: %w", err)
	}
	tmp, done, err := atomicfile.Scratch("conform")
	if err != nil {
		return deed.ConformReport{}, fmt.Errorf("conform: %w", err)
	}
	defer done()
	if tmp, err = filepath.EvalSymlinks(tmp); err != nil {
		return deed.ConformReport{}, fmt.Errorf("conform: %w", err)
	}
	sup, err := proc.NewSupervisor(ctx, proc.Options{})
	if err != nil {
		return deed.ConformReport{}, fmt.Errorf("conform: %w", err)
	}
	defer func() { _ = sup.Close() }() // no run is under way
	s := &suite{opt: opt, pkg: p, sup: sup, tmp: tmp}
	if err := s.begin(ctx); err != nil {
		return deed.ConformReport{}, fmt.Errorf("conform: %w", err)
	}
	digest, err := p.Digest()
	if err != nil {
		return deed.ConformReport{}, fmt.Errorf("%w: %w", ErrNotPackage, err)
	}
	s.manifest()
	for _, x := range providers {
		if err := s.provider(ctx, x); err != nil {
			return deed.ConformReport{}, fmt.Errorf("conform: provider %s: %w", x.ID, err)
		}
	}
	s.unchanged(digest)
	return s.report(digest), nil
}

func (s *suite) report(digest string) deed.ConformReport {
	r := deed.ConformReport{
		Schema: deed.SchemaConformReport, Package: s.pkg.ID, Path: s.pkg.Path, Version: s.pkg.Manifest.Version, Digest: digest, Walls: string(s.opt.Isolation), Passed: true, Checks: s.checks,
	}
	for _, c := range s.checks {
		r.Totals.Add(c.Result)
		r.Passed = r.Passed && (c.Result != deed.ConformFail || c.Level != deed.ConformMust)
	}
	return r
}

// add records a check. An empty reason is a pass.
func (s *suite) add(provider string, c rule, result, reason, evidence string) {
	if result == "" {
		if result = deed.ConformPass; reason != "" {
			result = deed.ConformFail
		}
	}
	s.checks = append(s.checks, deed.ConformCheck{
		ID: c.id, Provider: provider, Level: c.level, Rule: c.text, Result: result, Reason: reason, Evidence: evidence,
	})
}

// manifest examines the package in its directory.
func (s *suite) manifest() {
	var bad, weak []string
	for _, f := range s.pkg.Findings {
		if f.Severity == runtimepkg.Error {
			bad = append(bad, f.String())
		} else {
			weak = append(weak, f.String())
		}
	}
	s.add("", ruleUsable, "", strings.Join(bad, "\n"), "")
	s.add("", ruleLint, "", strings.Join(weak, "\n"), "")
}

// unchanged looks whether the commands wrote into their package.
func (s *suite) unchanged(before string) {
	after, err := runtimepkg.Lint(s.pkg.Path)
	reason := ""
	if err == nil {
		var digest string
		if digest, err = after.Digest(); err == nil && digest != before {
			reason = "the files of the package are not what they were before its commands ran"
		}
	}
	if err != nil {
		reason = err.Error()
	}
	s.add("", ruleUnchanged, "", reason, "")
}

// provider looks at one command.
func (s *suite) provider(ctx context.Context, x homeboy.ExecutorProvider) error {
	p, err := s.prepare(ctx, x)
	if err != nil {
		return err
	}
	if p == nil {
		return nil // there is no command to run, and that was reported
	}
	for _, check := range []func(*subject, context.Context) error{
		(*subject).declaration, (*subject).minimal, (*subject).refused, (*subject).tolerated, (*subject).stopped, (*subject).limited,
	} {
		if err := check(p, ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// prepare finds the command.
func (s *suite) prepare(ctx context.Context, x homeboy.ExecutorProvider) (*subject, error) {
	p := &subject{suite: s, x: x}
	var err error
	if p.cmd, err = s.pkg.Command(x); err != nil {
		s.add(x.ID, ruleCommand, "", err.Error(), "")
		return nil, nil
	}
	p.base = p.request()
	p.plant()
	checker := &runtimepkg.Checker{Environ: s.opt.Environ, Secrets: []runtimepkg.SecretStore{runtimepkg.Values("planted", p.planted)}}
	ready, err := checker.Check(ctx, &runtimepkg.Selection{Package: s.pkg, Provider: x}, p.base)
	if err != nil {
		return nil, err
	}
	p.exports = ready.Exports
	p.cmd = ready.Resolve(p.cmd)
	for _, c := range ready.Checks {
		if c.Kind == runtimepkg.KindCommand && c.Status == runtimepkg.CheckFailed {
			s.add(x.ID, ruleCommand, "", c.Detail, "")
			return nil, nil
		}
	}
	s.add(x.ID, ruleCommand, "", "", "")
	if why := ready.Why(); len(why) > 0 {
		s.add(x.ID, ruleReady, deed.ConformSkip, "it is not ready on this machine, and is looked at all the same: "+strings.Join(why, "; "), "")
	} else {
		s.add(x.ID, ruleReady, "", "", "")
	}
	return p, nil
}

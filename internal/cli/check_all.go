package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/checks/changed"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/fix"
)

// verifyPhases are the phases of `deed check`, in the order in which they are worth running: quick ones, and those that
// others depend on, come first.
var verifyPhases = []string{runner.PhaseSyntax, runner.PhaseLint, runner.PhaseTypecheck, runner.PhaseAudit, runner.PhaseTest}

// The steps of lint scripts that belong to a phase of their own, by the names that they have in practice.
var phaseSteps = map[string][]string{
	runner.PhaseSyntax:    {"syntax", "parse"},
	runner.PhaseTypecheck: {"typecheck", "type-check", "types", "tsc", "mypy", "pyright", "phpstan", "psalm", "vet"},
}

// stepsOf are the steps of a lint script that a phase has. all says that the script names no steps, and is lint as a whole.
func stepsOf(phase string, named []string) (steps []string, all bool) {
	if len(named) == 0 {
		return nil, phase == runner.PhaseLint
	}
	for _, s := range named {
		of := runner.PhaseLint
		for p, known := range phaseSteps {
			if slices.Contains(known, s) {
				of = p
			}
		}
		if of == phase {
			steps = append(steps, s)
		}
	}
	return steps, false
}

// inPhase leaves the requests of the extensions whose scripts have steps of a phase, and has them run those.
func inPhase(phase string, requests []check.Request, plan extension.Plan) ([]check.Request, extension.Plan) {
	if len(plan.Scripts) > 0 {
		return requests, plan
	}
	if phase == "" {
		return havingSteps(requests, plan)
	}
	var kept []check.Request
	var serving []extension.Extension
	for i, e := range plan.Extensions {
		steps, all := stepsOf(phase, e.Manifest.Lint.Steps)
		if len(steps) == 0 && !all {
			continue
		}
		r := requests[i]
		r.Options.Filter.Only, r.Options.Filter.Any = steps, true
		kept, serving = append(kept, r), append(serving, e)
	}
	plan.Extensions = serving
	return kept, plan
}

// havingSteps keeps the extensions that have a step which the user asked for, where several serve and all name their
// steps. When none has, all run, and report that.
func havingSteps(requests []check.Request, plan extension.Plan) ([]check.Request, extension.Plan) {
	if len(requests) < 2 || len(requests[0].Options.Filter.Only) == 0 {
		return requests, plan
	}
	var kept []check.Request
	var serving []extension.Extension
	for i, e := range plan.Extensions {
		named := e.Steps(requests[i].Capability)
		if len(named) == 0 {
			return requests, plan
		}
		r := requests[i]
		r.Options.Filter.Only = slices.DeleteFunc(slices.Clone(r.Options.Filter.Only), func(s string) bool { return !slices.Contains(named, s) })
		if len(r.Options.Filter.Only) > 0 {
			kept, serving = append(kept, r), append(serving, e)
		}
	}
	if len(kept) == 0 {
		return requests, plan
	}
	plan.Extensions = serving
	return kept, plan
}

// checkAllFlags are the flags of deed check.
type checkAllFlags struct {
	only, skip []string
	failFast   bool
	since      string
	extensions []string
	timeout    time.Duration
}

func (a *app) checkAllCmd() *cobra.Command {
	f := &checkAllFlags{}
	c := &cobra.Command{
		Use: "check [DIR]", Short: "Verify this component: syntax, lint, types, audit, tests",
		Long: `Run every phase of a verification and report the status of each: ` + strings.Join(verifyPhases, ", ") + `.
A phase that nothing here has is skipped. Syntax and types are the steps of that kind of the lint script; where it has
none, deed parses what it can itself, and the extension's own verification command serves for types.

Exit code 0 means that every phase passed or was skipped, 1 findings in one, 3 that one has no result.`,
		Example: `  deed check
  deed check --fail-fast --changed-since main
  deed check --only syntax,lint`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			v, err := a.verifyAll(c.Context(), f, slices.Concat(args, []string{"."})[0])
			return a.reportPhases(v, err)
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.only, "only", nil, "run only these `PHASES`")
	fl.StringSliceVar(&f.skip, "skip", nil, "leave these `PHASES` out")
	fl.BoolVar(&f.failFast, "fail-fast", false, "stop at the first phase that does not pass")
	fl.StringVar(&f.since, "changed-since", "", "only what changed since HEAD parted from this `REF`")
	fl.StringArrayVar(&f.extensions, "extension", nil, "use this extension, an `ID` or the path of its directory; repeatable")
	fl.DurationVar(&f.timeout, "timeout", check.DefaultTimeout, "end each phase after this long")
	return c
}

// phases are those that the user asked for.
func (f *checkAllFlags) phases() ([]string, error) {
	for _, p := range slices.Concat(f.only, f.skip) {
		if !slices.Contains(verifyPhases, p) {
			return nil, usage(fmt.Errorf("there is no phase %q (use %s)", p, strings.Join(verifyPhases, ", ")))
		}
	}
	list := slices.DeleteFunc(slices.Clone(verifyPhases), func(p string) bool {
		return slices.Contains(f.skip, p) || len(f.only) > 0 && !slices.Contains(f.only, p)
	})
	if len(list) == 0 {
		return nil, usage(errors.New("--only and --skip leave no phase"))
	}
	return list, nil
}

// verifyAll runs the phases of a component.
func (a *app) verifyAll(ctx context.Context, f *checkAllFlags, dir string) (runner.Verification, error) {
	phases, err := f.phases()
	if err != nil {
		return runner.Verification{}, err
	}
	c, err := a.component(dir)
	if err != nil {
		return runner.Verification{}, err
	}
	v := runner.Verification{Schema: runner.SchemaVerification, Component: c.ID, ComponentPath: c.Path, Passed: true, Status: runner.StatusPassed}
	for _, name := range phases {
		if f.failFast && !v.Passed {
			v.Phases = append(v.Phases, runner.VerifiedPhase{Phase: name, Status: runner.StatusNotRun, Summary: "an earlier phase did not pass"})
			continue
		}
		start := clock.Start()
		p, err := a.phase(ctx, f, c.Path, name)
		if err != nil {
			return v, err
		}
		p.Phase, p.DurationMS = name, clock.Since(start).Milliseconds()
		v.DurationMS += p.DurationMS
		v.Phases = append(v.Phases, p)
		switch p.Status {
		case runner.StatusError:
			v.Passed, v.Status, v.ExitCode = false, runner.StatusError, ExitInfra
		case runner.StatusFailed:
			if v.Passed = false; v.ExitCode == ExitDone {
				v.Status, v.ExitCode = runner.StatusFailed, ExitNotDone
			}
		}
	}
	return v, nil
}

// phase runs one phase.
func (a *app) phase(ctx context.Context, f *checkAllFlags, dir, name string) (p runner.VerifiedPhase, err error) {
	if name == runner.PhaseAudit {
		r, err := a.auditReport(ctx, &auditFlags{path: dir, since: f.since, format: "human"})
		return verified(r.Phase, nil, &r), err
	}
	cf := &checkFlags{capability: runner.Lint, extensions: f.extensions, timeout: f.timeout, phase: name, changed: changedFlags{since: f.since}}
	if name == runner.PhaseTest {
		cf.capability, cf.phase = runner.Test, ""
	}
	rep, err := a.check(ctx, cf, dir, func(string) bool { return false })
	p = verified(rep.Phase, &rep, nil)
	p.Summary = strings.ReplaceAll(p.Summary, "lint phase", name+" phase") // the steps are the linter's, the phase is not
	if err != nil || rep.Status != runner.StatusSkipped {
		return p, err
	}
	var own runner.Phase
	switch name {
	case runner.PhaseSyntax:
		own, err = a.parsed(ctx, f, dir)
	case runner.PhaseTypecheck:
		own, err = a.typed(ctx, cf, dir)
	}
	if own.Status != "" {
		p = verified(own, nil, nil)
	}
	return p, err
}

func verified(p runner.Phase, rep *runner.Report, audit *runner.AuditReport) runner.VerifiedPhase {
	return runner.VerifiedPhase{Status: p.Status, ExitCode: p.ExitCode, Summary: p.Summary, Report: rep, Audit: audit}
}

// parsed is the syntax of the files that deed parses itself.
func (a *app) parsed(ctx context.Context, f *checkAllFlags, dir string) (runner.Phase, error) {
	var files []string
	if f.since != "" {
		list, err := changed.Since(ctx, dir, f.since)
		if err != nil {
			return runner.Phase{}, err
		}
		for _, x := range list {
			if x.There() {
				files = append(files, x.Path)
			}
		}
	} else if all, err := changed.All(ctx, dir); err == nil { // a directory in no work tree has no list
		files = all
	}
	return fix.Syntax(dir).Run(ctx, slices.DeleteFunc(files, changed.IsFixture))
}

// typed runs the commands by which extensions verify that code still fits together.
func (a *app) typed(ctx context.Context, f *checkFlags, dir string) (runner.Phase, error) {
	c, err := a.component(dir)
	if err != nil {
		return runner.Phase{}, err
	}
	j, err := a.checkJob(f, c, func(string) bool { return false })
	if err != nil {
		return runner.Phase{}, err
	}
	steps, err := a.verifications(j)
	var last runner.Phase
	for _, s := range steps {
		if last, err = s.Run(ctx, nil); err != nil || last.Status != runner.StatusPassed {
			break
		}
	}
	return last, err
}

// reportPhases shows the phases, or the error that kept them from being reported.
func (a *app) reportPhases(v runner.Verification, err error) error {
	if errors.Is(err, context.Canceled) || err != nil && !a.json {
		return err
	}
	code := v.ExitCode
	env := runner.Envelope[runner.Verification]{Success: err == nil && v.Passed}
	if err != nil {
		code = exitCode(err)
		env.Error = envelopeError(err, code)
	} else {
		env.Data = &v
	}
	if a.json {
		if err := finding.WriteJSON(&safeWriter{w: a.Out, json: true}, env); err != nil {
			return err
		}
	} else {
		a.showPhases(v)
	}
	if code != ExitDone {
		return &exitError{code: code, err: errSilent}
	}
	return nil
}

func (a *app) showPhases(v runner.Verification) {
	for _, p := range v.Phases {
		took := (time.Duration(p.DurationMS) * time.Millisecond).Round(10 * time.Millisecond)
		a.printf("%s %-9s  %-7s  %6s  %s\n", a.mark(p.Status), p.Phase, p.Status, took, shorten(clean(p.Summary), 160))
		if p.Report != nil && !p.Report.Passed {
			a.showFindings(slices.DeleteFunc(slices.Clone(p.Report.LintFindings), func(f runner.LintFinding) bool { return f.Known }))
			a.showFailed(p.Report.FailedTests)
		}
		a.showFailedAudit(p.Audit)
		if p.Report != nil {
			for _, w := range p.Report.Warnings {
				a.printf("  %s %s\n", a.color.Yellow("warning:"), clean(w))
			}
		}
	}
}

// showFailedAudit shows the first warnings of an audit that did not pass; its own command shows all, and the
// informational ones.
func (a *app) showFailedAudit(r *runner.AuditReport) {
	if r == nil || r.Passed {
		return
	}
	list := slices.DeleteFunc(slices.Clone(r.Findings), func(x runner.AuditFinding) bool { return x.Known || x.Severity == runner.SeverityInfo })
	for i, x := range list {
		if i == summaryItems {
			a.printf("  … and %d more (deed audit has all)\n", len(list)-i)
			break
		}
		a.printf("  ")
		a.showAuditFinding(x)
	}
}

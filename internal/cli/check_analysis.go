package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/analysis"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// analysisFlags ask what can be read from tests beyond their results.
type analysisFlags struct {
	analyze bool
	drift   bool
	since   string
}

func (f *analysisFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.BoolVar(&f.analyze, "analyze", false, "group the failures by what they have in common")
	fl.BoolVar(&f.drift, "drift", false, "run nothing, and find tests that speak of code that was renamed or removed")
	fl.StringVar(&f.since, "since", "", "with --drift: compare with this `REF` (default "+analysis.DefaultSince+")")
}

// analyze adds the clusters of a test run's failures.
func analyze(rep *runner.Report) {
	failures := rep.Failures
	if len(failures) == 0 {
		for _, c := range rep.TestCases {
			if c.Status == runner.CaseFailed {
				failures = append(failures, runner.TestFailure{TestName: c.ID(), TestFile: c.File, ErrorType: c.Type, Message: c.Message, SourceFile: c.File, SourceLine: c.Line})
			}
		}
	}
	found := analysis.Clusters(rep.Component, failures, rep.TestCounts)
	rep.Analysis = &found
}

// drift is the report of `deed test --drift`. It runs no script, and needs an extension only for what that says of where
// sources and tests are.
func (a *app) drift(ctx context.Context, f *checkFlags, j check.Job) (runner.Report, error) {
	rep := check.New(j.Capability, j.Component.ID, j.Component.Path)
	j.Choice.NoScripts = true
	plan, err := j.Extensions.Resolve(j.Component, j.Capability, j.Choice)
	var none *extension.NotApplicable
	if err != nil && !errors.As(err, &none) {
		return rep, usage(err)
	}
	var serving []extension.Extension
	if serving = plan.Extensions; len(serving) == 0 {
		serving = []extension.Extension{{}}
	}
	for _, e := range serving {
		d, err := analysis.Drift(ctx, driftConfig(j.Component, e, f.analysis.since))
		if errors.Is(err, workspace.ErrSource) || errors.Is(err, workspace.ErrShallow) {
			return rep, usage(err)
		}
		if err != nil {
			return rep, err
		}
		rep.Drift = joinDrift(rep.Drift, d)
	}
	d := rep.Drift
	if n := d.TotalDriftReferences; n > 0 {
		check.Settle(&rep, runner.StatusFailed, "drift", fmt.Sprintf("%d line(s) in %d test file(s) speak of code that changed since %s", n, d.TotalDriftedFiles, d.Since))
		if d.AutoFixable > 0 {
			rep.Hints = append(rep.Hints, runner.Hint{Message: fmt.Sprintf("%d of them have a new name to use", d.AutoFixable)})
		}
		return rep, nil
	}
	check.Settle(&rep, runner.StatusPassed, "", fmt.Sprintf("no test speaks of code that is gone; %d change(s) since %s", len(d.ProductionChanges), d.Since))
	return rep, nil
}

// joinDrift puts the drifts of several languages together.
func joinDrift(all *runner.Drift, d runner.Drift) *runner.Drift {
	if all == nil {
		return &d
	}
	offset := len(all.ProductionChanges)
	all.ProductionChanges = append(all.ProductionChanges, d.ProductionChanges...)
	for _, t := range d.DriftedTests {
		t.ChangeIndex += offset
		all.DriftedTests = append(all.DriftedTests, t)
	}
	all.TotalDriftReferences += d.TotalDriftReferences
	all.TotalDriftedFiles = len(analysis.DriftedFiles(*all))
	all.AutoFixable += d.AutoFixable
	return all
}

// showAnalysis shows people the clusters.
func (a *app) showAnalysis(found *runner.Analysis) {
	if found == nil {
		return
	}
	for i, c := range found.Clusters {
		if i == shownFindings {
			a.printf("  … and %d more (--json has all)\n", len(found.Clusters)-i)
			break
		}
		a.printf("  %s %s  %s\n", a.color.Bold(fmt.Sprintf("%d×", c.Count)), shorten(clean(c.Pattern), 160), a.color.Dim(c.Category))
		if len(c.AffectedFiles) > 0 {
			a.printf("      in %s\n", listed(c.AffectedFiles))
		}
		if c.SuggestedFix != "" {
			a.printf("      %s\n", clean(c.SuggestedFix))
		}
	}
	for _, h := range found.Hints {
		a.hint("  %s", clean(h))
	}
}

// showDrift shows people which lines of tests have to follow.
func (a *app) showDrift(d *runner.Drift) {
	if d == nil {
		return
	}
	for i, t := range d.DriftedTests {
		if i == shownFindings {
			a.printf("  … and %d more (--json has all)\n", len(d.DriftedTests)-i)
			break
		}
		c := d.ProductionChanges[t.ChangeIndex]
		what := c.OldSymbol + " is gone"
		if c.NewSymbol != "" {
			what = c.OldSymbol + " is now " + c.NewSymbol
		}
		a.printf("  %s:%d  %s  %s\n", showPath(t.TestFile), t.Line, shorten(clean(t.Content), 120), a.color.Dim(fmt.Sprintf("%s (%s:%d)", clean(what), showPath(c.File), c.Line)))
	}
}

package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/checks/baseline"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/project"
)

// baselineFlags say what a run has to do with the saved baseline; without any it is compared with it.
type baselineFlags struct {
	save, ratchet, ignore bool
}

func (b *baselineFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.BoolVar(&b.save, "baseline", false, "save what this run tells as the baseline of later ones")
	fl.BoolVar(&b.ratchet, "ratchet", false, "compare with the baseline, and save when something is better and nothing worse")
	fl.BoolVar(&b.ignore, "ignore-baseline", false, "do not compare with the baseline")
}

// contradiction is the error for flags that no run can follow together.
func (b *baselineFlags) contradiction() error {
	if b.save && b.ratchet || b.save && b.ignore || b.ratchet && b.ignore {
		return usage(errors.New("--baseline, --ratchet and --ignore-baseline contradict each other (leave all but one of them out)"))
	}
	return nil
}

// heldAgainst compares a report with the baseline of its component, or saves it as such.
func (a *app) heldAgainst(b baselineFlags, j check.Job, rep *runner.Report) error {
	if b.ignore || rep.Capability == runner.Build || rep.Status == runner.StatusSkipped {
		return nil
	}
	key, err := scopeOf(j).Key(rep.Capability)
	if err != nil {
		return err
	}
	if why := incomparable(rep); why != "" {
		a.notCompared(b, j, key, rep, why)
		return nil
	}
	if b.save {
		saved, err := saveBaseline(j.Component, key, rep)
		if err != nil {
			return err
		}
		baseline.Accept(rep, saved)
		return nil
	}
	raw, ok := j.Component.Baseline(key)
	if !ok {
		if _, whole := j.Component.Baseline(rep.Capability); whole {
			a.hint("this run is narrowed, and is not compared with the baseline of the whole component")
		} else if b.ratchet {
			a.hint("there is no baseline yet (save one: deed %s --baseline)", rep.Capability)
		}
		return nil
	}
	known, err := baseline.Parse(raw)
	if err != nil {
		return usage(fmt.Errorf("%s: baselines.%s: %w", showPath(project.BaselineFile(j.Component.Path)), key, err))
	}
	if err := compare(known, rep); err != nil {
		return usage(err)
	}
	if !b.ratchet || !baseline.Better(*rep.Baseline) {
		return nil
	}
	if _, err := saveBaseline(j.Component, key, rep); err != nil {
		return err
	}
	rep.Baseline.Saved = true
	return nil
}

func compare(known baseline.Baseline, rep *runner.Report) error {
	if rep.Capability == runner.Lint {
		baseline.SettleLint(rep, baseline.Findings(known, rep.LintFindings))
		return nil
	}
	base, err := known.Counts()
	if err != nil {
		return err
	}
	baseline.SettleTests(rep, baseline.Tests(base, *rep.TestCounts))
	return nil
}

func saveBaseline(c project.Component, key string, rep *runner.Report) (b baseline.Baseline, err error) {
	if rep.Capability == runner.Lint {
		b, err = baseline.Lint(c.ID, clock.System(), rep.LintFindings)
	} else {
		b, err = baseline.TestCounts(c.ID, clock.System(), *rep.TestCounts)
	}
	if err != nil {
		return b, err
	}
	return b, project.SaveBaseline(c.Path, key, b)
}

// incomparable says why a report has nothing that could be compared or saved; empty: it has. Taking the silence of a
// runner that broke for resolved findings would empty the baseline.
func incomparable(rep *runner.Report) string {
	switch {
	case baseline.Hard(rep):
		return "the run could not tell what there is"
	case rep.Capability == runner.Lint && rep.Status == runner.StatusFailed && len(rep.LintFindings) == 0:
		return "the runner failed and named no finding"
	case rep.Capability == runner.Test && rep.TestCounts == nil:
		return "the run counted no tests"
	}
	return ""
}

// notCompared says that a report has nothing to do with the baseline, and fails a run that was to save one.
func (a *app) notCompared(b baselineFlags, j check.Job, key string, rep *runner.Report, why string) {
	_, there := j.Component.Baseline(key)
	switch {
	case b.save:
		why += "; no baseline was saved"
	case there:
		why += "; it was not compared with the baseline"
	default:
		return
	}
	rep.Warnings = append(rep.Warnings, why)
	if b.save && rep.Passed {
		rep.Passed, rep.Status, rep.ExitCode = false, runner.StatusError, ExitInfra
		rep.Failure = &runner.Failure{Phase: rep.Capability, Category: runner.CategoryInfrastructure, Summary: why}
	}
}

// scopeOf is what a job is narrowed to.
func scopeOf(j check.Job) baseline.Scope {
	o := j.Options
	s := baseline.Scope{
		Tools: o.Filter.Only, Skipped: o.Filter.Skip, Category: o.Category, ErrorsOnly: o.ErrorsOnly, Sniffs: o.Sniffs, ExcludeSniffs: o.NoSniffs,
		Extensions: j.Choice.Use, Args: o.Args,
	}
	for _, f := range []string{o.File, o.Glob} {
		if f != "" {
			s.Files = append(s.Files, f)
		}
	}
	if o.ChangedSince != "" || len(o.ChangedFiles) > 0 || len(o.ChangedTests) > 0 {
		s.Scope = "changed"
		s.Files = slices.Concat(s.Files, o.ChangedFiles, o.ChangedTests)
	}
	for _, set := range j.Settings {
		s.Settings = append(s.Settings, set.Key+"="+set.Value)
	}
	return s
}

// newFirst puts the findings that the baseline does not know before the others.
func newFirst(x, y runner.LintFinding) int {
	switch {
	case x.Known == y.Known:
		return 0
	case y.Known:
		return -1
	}
	return 1
}

// showBaseline shows people how a run compares to its baseline, and in addition what is new.
func (a *app) showBaseline(capability string, c *runner.BaselineComparison) {
	if c == nil {
		return
	}
	if capability == runner.Lint {
		a.printf("  baseline: %d new, %d gone, %d known\n", len(c.Introduced), len(c.Resolved), c.Unchanged)
	}
	for _, r := range c.Reasons {
		a.printf("  baseline: %s\n", clean(r))
	}
	switch {
	case c.Saved:
		a.printf("  the baseline is saved\n")
	case capability == runner.Lint && len(c.Introduced) == 0 && len(c.Resolved) > 0:
		a.hint("  save what is better: --ratchet")
	}
}

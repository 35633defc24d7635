package baseline

import (
	"fmt"

	"github.com/deedrun/deed/contract/runner"
)

// SettleLint makes a report say what its comparison with the baseline means. Findings that are all known are no failure;
// one that is new is. What could not be told stays so: a runner that broke, and one that failed without saying over what,
// is not excused by a baseline.
func SettleLint(rep *runner.Report, c runner.BaselineComparison) {
	rep.Baseline = &c
	found := len(c.Introduced) + c.Unchanged
	if found == 0 || Hard(rep) {
		return
	}
	if c.DriftIncrease {
		summary := fmt.Sprintf("lint phase reported %s that the baseline does not know, and %d that it knows", count(len(c.Introduced), "finding"), c.Unchanged)
		fail(rep, runner.PhaseLint, fmt.Sprintf("%s new to the baseline", count(len(c.Introduced), "lint finding")), summary)
		return
	}
	pass(rep, fmt.Sprintf("lint phase passed: the baseline knows %s", all(found)))
}

// SettleTests makes a report say what its comparison with the baseline means. A regression fails a run; the absence of one
// does not excuse a test that fails.
func SettleTests(rep *runner.Report, c runner.BaselineComparison) {
	rep.Baseline = &c
	if !c.Regression || Hard(rep) || rep.Status == runner.StatusFailed {
		return
	}
	summary := "test phase fell behind the baseline: " + c.Reasons[0]
	fail(rep, runner.PhaseTest, summary, summary)
}

// Accept makes a report say that its findings are the baseline from now on.
func Accept(rep *runner.Report, saved Baseline) {
	rep.Baseline = &runner.BaselineComparison{Introduced: []runner.BaselineItem{}, Resolved: []string{}, Unchanged: saved.ItemCount, Saved: true}
	for i := range rep.LintFindings {
		rep.LintFindings[i].Known = true
	}
	if len(rep.LintFindings) > 0 && !Hard(rep) {
		pass(rep, fmt.Sprintf("lint phase passed: the baseline knows %s", all(len(rep.LintFindings))))
	}
}

// Hard reports whether a run could not deliver its result.
func Hard(rep *runner.Report) bool {
	return rep.Status != runner.StatusPassed && rep.Status != runner.StatusFailed ||
		rep.Failure != nil && rep.Failure.Category == runner.CategoryInfrastructure
}

func fail(rep *runner.Report, phase, failure, summary string) {
	rep.Passed, rep.Status, rep.ExitCode = false, runner.StatusFailed, 1
	rep.Phase.Status, rep.Phase.Summary = runner.StatusFailed, summary
	rep.Failure = &runner.Failure{Phase: phase, Category: runner.CategoryFindings, Summary: failure}
}

func pass(rep *runner.Report, summary string) {
	rep.Passed, rep.Status, rep.ExitCode, rep.Failure = true, runner.StatusPassed, 0, nil
	rep.Phase.Status, rep.Phase.Summary = runner.StatusPassed, summary
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func all(n int) string {
	if n == 1 {
		return "the 1 finding"
	}
	return fmt.Sprintf("all %d findings", n)
}

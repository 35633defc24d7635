package baseline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

// verdict is what a report says in the end.
type verdict struct {
	Passed  bool
	Status  string
	Exit    int
	Summary string
	Failure string
}

func verdictOf(rep runner.Report) verdict {
	v := verdict{rep.Passed, rep.Status, rep.ExitCode, rep.Phase.Summary, ""}
	if rep.Failure != nil {
		v.Failure = rep.Failure.Category + ": " + rep.Failure.Summary
	}
	return v
}

func lintReport(status string, exit int, failure *runner.Failure) runner.Report {
	return runner.Report{Status: status, ExitCode: exit, Passed: exit == 0, Phase: runner.Phase{Phase: "lint", Status: status, Summary: "as it was"}, Failure: failure}
}

func TestSettleLint(t *testing.T) {
	t.Parallel()
	item := runner.BaselineItem{Fingerprint: "x"}
	findings := &runner.Failure{Phase: "lint", Category: runner.CategoryFindings, Summary: "f"}
	broken := &runner.Failure{Phase: "lint", Category: runner.CategoryInfrastructure, Summary: "b"}
	for name, c := range map[string]struct {
		rep  runner.Report
		cmp  runner.BaselineComparison
		want verdict
	}{
		"all known": {
			lintReport("failed", 1, findings),
			runner.BaselineComparison{Unchanged: 2},
			verdict{true, "passed", 0, "lint phase passed: the baseline knows all 2 findings", ""},
		},
		"one new": { // edge case 7: also when the script ended with 0
			lintReport("passed", 0, nil),
			runner.BaselineComparison{Unchanged: 2, Introduced: []runner.BaselineItem{item}, DriftIncrease: true},
			verdict{false, "failed", 1, "lint phase reported 1 finding that the baseline does not know, and 2 that it knows", "findings: 1 lint finding new to the baseline"},
		},
		"failed, and nobody says over what": { // edge case 8
			lintReport("failed", 1, findings),
			runner.BaselineComparison{Resolved: []string{"a"}},
			verdict{false, "failed", 1, "as it was", "findings: f"},
		},
		"the runner broke":           {lintReport("error", 3, broken), runner.BaselineComparison{Unchanged: 2}, verdict{false, "error", 3, "as it was", "infrastructure: b"}},
		"broke, and called it fails": {lintReport("failed", 1, broken), runner.BaselineComparison{Unchanged: 2}, verdict{false, "failed", 1, "as it was", "infrastructure: b"}},
		"skipped":                    {lintReport("skipped", 0, nil), runner.BaselineComparison{}, verdict{true, "skipped", 0, "as it was", ""}},
		"clean":                      {lintReport("passed", 0, nil), runner.BaselineComparison{Resolved: []string{"a"}}, verdict{true, "passed", 0, "as it was", ""}},
	} {
		rep := c.rep
		SettleLint(&rep, c.cmp)
		if diff := cmp.Diff(c.want, verdictOf(rep)); diff != "" || rep.Baseline == nil {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSettleTests(t *testing.T) {
	t.Parallel()
	worse := runner.BaselineComparison{Regression: true, Reasons: []string{"7 tests passed, 8 in the baseline"}}
	for name, c := range map[string]struct {
		rep  runner.Report
		cmp  runner.BaselineComparison
		want verdict
	}{
		"passed, and fewer": {lintReport("passed", 0, nil), worse, verdict{false, "failed", 1, "test phase fell behind the baseline: 7 tests passed, 8 in the baseline", "findings: test phase fell behind the baseline: 7 tests passed, 8 in the baseline"}},
		"failed, no worse":  {lintReport("failed", 1, nil), runner.BaselineComparison{}, verdict{false, "failed", 1, "as it was", ""}},
		"failed, and worse": {lintReport("failed", 1, nil), worse, verdict{false, "failed", 1, "as it was", ""}},
		"broken":            {lintReport("error", 3, nil), worse, verdict{false, "error", 3, "as it was", ""}},
	} {
		rep := c.rep
		SettleTests(&rep, c.cmp)
		if diff := cmp.Diff(c.want, verdictOf(rep)); diff != "" || rep.Baseline == nil {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	rep := lintReport("failed", 1, nil)
	rep.LintFindings = []runner.LintFinding{{Message: "m"}}
	Accept(&rep, Baseline{ItemCount: 1})
	if v := verdictOf(rep); !v.Passed || v.Summary != "lint phase passed: the baseline knows the 1 finding" || !rep.Baseline.Saved || !rep.LintFindings[0].Known {
		t.Errorf("%+v", v)
	}
}

package gate

import (
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

func TestTestsThatRan(t *testing.T) {
	t.Parallel()
	seen := func(passed, skipped int) deed.CheckResult {
		return deed.CheckResult{Name: "tests", Status: deed.CheckPassed, Comparison: &deed.CheckComparison{After: &runner.TestResults{Total: passed + skipped, Passed: passed, Skipped: skipped}}}
	}
	for name, tc := range map[string]struct {
		wanted  bool
		checks  []deed.CheckResult
		refused bool
	}{
		"nobody asks":        {false, nil, false},
		"no check":           {true, nil, true},
		"an exit code":       {true, []deed.CheckResult{{Name: "true", Status: deed.CheckPassed}}, true},
		"all were skipped":   {true, []deed.CheckResult{seen(0, 2)}, true},
		"one ran":            {true, []deed.CheckResult{{Name: "true", Status: deed.CheckPassed}, seen(1, 0)}, false},
		"nobody asks either": {false, []deed.CheckResult{seen(1, 0)}, false},
	} {
		v := &verdict{checks: tc.checks}
		v.tests(Input{Spec: deed.TaskSpec{RequireTests: tc.wanted}, Changes: workspace.ChangeSet{}})
		if refused := len(v.reasons) == 1 && v.reasons[0].Code == CodeTestsMissing; refused != tc.refused || len(v.reasons) > 1 {
			t.Errorf("%s: %v", name, v.reasons)
		}
	}
}

// A check that runs into its time limit names the tests that it was running then.
func TestHangsAreNamed(t *testing.T) {
	t.Parallel()
	ran := RunResult{Result: deed.CheckResult{Status: deed.CheckTimeout}, Report: &runner.Report{TestCases: []runner.TestCase{
		{Suite: "p", Name: "TestQuick", Status: runner.CasePassed},
		{Suite: "p", Name: "TestHangs", Status: runner.CaseFailed, Type: testreport.TypeUnfinished},
		{Suite: "p", Name: "[suite]", Status: runner.CaseFailed, Type: testreport.TypeUnfinished},
	}}}
	got := ended(ran)
	if len(got) != 1 || got[0].code != CodeCheckTimeout || got[0].message != "ran into its time limit, while it ran p::TestHangs" {
		t.Errorf("%+v", got)
	}
}

package ending

import (
	"encoding/json"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/schema"
)

func TestTestResults(t *testing.T) {
	t.Parallel()
	counted := func(status string, exit, passed, failed, skipped, total int) deed.CheckResult {
		after := &runner.TestResults{Total: total, Passed: passed, Failed: failed, Skipped: skipped}
		return deed.CheckResult{Name: "tests", Status: status, ExitCode: exit, Comparison: &deed.CheckComparison{After: after}}
	}
	plain := func(name, status string, exit int) deed.CheckResult {
		return deed.CheckResult{Name: name, Status: status, ExitCode: exit, Log: "files/checks/x.log"}
	}
	for name, tc := range map[string]struct {
		checks []deed.CheckResult
		status string
		suites []string // status of each
		total  int
		ran    int
	}{
		"nothing":                     {nil, evidence.TestsUnknown, nil, 0, 0},
		"exit codes alone":            {[]deed.CheckResult{plain("a", deed.CheckPassed, 0), plain("b", deed.CheckPassed, 0)}, evidence.TestsUnknown, []string{"passed", "passed"}, 0, 0},
		"one of them fails":           {[]deed.CheckResult{plain("a", deed.CheckPassed, 0), plain("b", deed.CheckFailed, 2)}, evidence.TestsFailed, []string{"passed", "failed"}, 0, 0},
		"one could not be run":        {[]deed.CheckResult{plain("a", deed.CheckError, -1)}, evidence.TestsFailed, []string{"failed"}, 0, 0},
		"tests":                       {[]deed.CheckResult{counted(deed.CheckPassed, 0, 3, 0, 1, 4)}, evidence.TestsPassed, []string{"passed"}, 4, 3},
		"tests and an exit code":      {[]deed.CheckResult{plain("a", deed.CheckPassed, 0), counted(deed.CheckPassed, 0, 3, 0, 0, 3)}, evidence.TestsPassed, []string{"passed", "passed"}, 3, 3},
		"a failing test":              {[]deed.CheckResult{counted(deed.CheckFailed, 1, 2, 1, 0, 3)}, evidence.TestsFailed, []string{"failed"}, 3, 3},
		"an old failure":              {[]deed.CheckResult{counted(deed.CheckPassed, 1, 2, 1, 0, 3)}, evidence.TestsFailed, []string{"failed"}, 3, 3},
		"tests that nobody heard of":  {[]deed.CheckResult{counted(deed.CheckPassed, 0, 1, 0, 0, 2)}, evidence.TestsUnknown, []string{"unknown"}, 2, 1},
		"all skipped":                 {[]deed.CheckResult{counted(deed.CheckPassed, 0, 0, 0, 2, 2)}, evidence.TestsSkipped, []string{"skipped"}, 2, 0},
		"a runner that found nothing": {[]deed.CheckResult{counted(deed.CheckPassed, 0, 0, 0, 0, 0)}, evidence.TestsUnknown, []string{"passed"}, 0, 0},
	} {
		v := &deed.Verdict{Checks: tc.checks}
		got := TestResults(v)
		text, err := json.Marshal(got)
		if err == nil {
			err = schema.Validate(evidence.SchemaTestResults, text)
		}
		if err != nil || got.Status != tc.status || got.Summary.Total != tc.total || len(got.Suites) != len(tc.suites) || TestsRan(v) != tc.ran {
			t.Errorf("%s: %s, %d ran: %v", name, text, TestsRan(v), err)
			continue
		}
		for i, s := range got.Suites {
			if s.Status != tc.suites[i] || s.Name != tc.checks[i].Name || s.ExitCode == nil || *s.ExitCode != tc.checks[i].ExitCode {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if got := TestResults(nil); got.Status != evidence.TestsUnknown || TestsRan(nil) != 0 {
		t.Errorf("%+v", got)
	}
}

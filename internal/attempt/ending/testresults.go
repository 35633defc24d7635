package ending

import (
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// TestResults is what the checks of a verdict gave: one suite for each check. A suite lists tests if they were seen
// by name or number; otherwise it has the exit code. The status is about tests: failed when a suite failed, and
// unknown while no test is known to have run, since an exit code is not a test.
func TestResults(v *deed.Verdict) evidence.TestResults {
	out := evidence.TestResults{
		Schema: evidence.SchemaTestResults, Status: evidence.TestsUnknown, Suites: []evidence.TestSuite{},
		RawLogReferences: []evidence.FileReference{{Path: evidence.PathCommands, Kind: evidence.KindCommands}, {Path: evidence.PathCommandsLog, Kind: evidence.KindLog}},
	}
	if v == nil {
		return out
	}
	failed, sum := false, &out.Summary
	for _, c := range v.Checks {
		s := suite(c)
		failed = failed || s.Status == evidence.TestsFailed
		sum.Total, sum.Passed, sum.Failed, sum.Skipped, sum.Unknown = sum.Total+s.Tests, sum.Passed+s.Passed, sum.Failed+s.Failed, sum.Skipped+s.Skipped, sum.Unknown+s.Unknown
		out.Suites = append(out.Suites, s)
	}
	switch {
	case failed:
		out.Status = evidence.TestsFailed
	case sum.Unknown > 0 || sum.Total == 0:
	case sum.Passed == 0:
		out.Status = evidence.TestsSkipped
	default:
		out.Status = evidence.TestsPassed
	}
	return out
}

// suite is what one check gave.
func suite(c deed.CheckResult) evidence.TestSuite {
	s := evidence.TestSuite{Name: c.Name, Status: evidence.TestsPassed, ExitCode: &c.ExitCode}
	if c.Log != "" {
		s.RawLogReferences = []evidence.FileReference{{Path: c.Log, Kind: bundle.KindCheckLog}}
	}
	if t := testsOf(c); t != nil {
		s.Tests, s.Passed, s.Failed, s.Skipped = t.Total, t.Passed, t.Failed, t.Skipped
		s.Unknown = max(t.Total-t.Passed-t.Failed-t.Skipped, 0)
	}
	switch {
	case c.Status != deed.CheckPassed || s.Failed > 0:
		s.Status = evidence.TestsFailed
	case s.Tests > 0 && s.Skipped == s.Tests:
		s.Status = evidence.TestsSkipped
	case s.Unknown > 0:
		s.Status = evidence.TestsUnknown
	}
	return s
}

// testsOf returns the tests that a check was seen to run after the change; nil: none were seen.
func testsOf(c deed.CheckResult) *runner.TestResults {
	if c.Comparison == nil {
		return nil
	}
	return c.Comparison.After
}

// TestsRan counts the tests that the checks of a verdict were seen to run to the end.
func TestsRan(v *deed.Verdict) int {
	sum := TestResults(v).Summary
	return sum.Passed + sum.Failed
}

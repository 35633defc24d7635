package baseline

import (
	"fmt"

	"github.com/deedrun/deed/contract/runner"
)

// Tests compares the counts of a test run with those of a baseline. It is a regression if fewer tests pass or more fail. Fewer
// tests of which as many pass are no regression, but are reported: a failing test that was deleted looks like one that was fixed.
func Tests(base, now runner.TestResults) runner.BaselineComparison {
	c := runner.BaselineComparison{
		Introduced:     []runner.BaselineItem{},
		Resolved:       []string{},
		BaselineCounts: &base,
		CurrentCounts:  &now,
		PassedDelta:    now.Passed - base.Passed,
		FailedDelta:    now.Failed - base.Failed,
	}
	if c.PassedDelta < 0 {
		c.Reasons = append(c.Reasons, fmt.Sprintf("%s passed, %d in the baseline", tests(now.Passed), base.Passed))
	}
	if c.FailedDelta > 0 {
		c.Reasons = append(c.Reasons, fmt.Sprintf("%s failed, %d in the baseline", tests(now.Failed), base.Failed))
	}
	c.Regression = len(c.Reasons) > 0
	if fewer(c) {
		c.Reasons = append(c.Reasons, fmt.Sprintf("%s in all, %d in the baseline: what became of the others?", tests(now.Total), base.Total))
	}
	if now.Partial != "" {
		c.Reasons = append(c.Reasons, fmt.Sprintf("the counts are not complete (%s)", now.Partial))
	}
	c.DriftIncrease = c.Regression
	return c
}

// fewer reports whether there are fewer tests than the baseline had.
func fewer(c runner.BaselineComparison) bool {
	return c.CurrentCounts.Total < c.BaselineCounts.Total
}

func tests(n int) string { return count(n, "test") }

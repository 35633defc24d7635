package gate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
)

// A Broken says why a check cannot be run on the base, so that no agent's work could be judged by it.
type Broken struct {
	Check  string
	Why    string
	Remedy string
}

// CannotRun reports whether a check could not be run on its base, as opposed to failing there. A failure is fine: it
// may be what the task is about, and a missing program or module of the project may be what the agent is to write.
func CannotRun(c deed.Check, b BaseRun) (Broken, bool) {
	out := Broken{Check: CheckName(c)}
	switch {
	case b.Status == runner.StatusPassed && c.Capability == "" && b.foundNoTests():
		out.Why, out.Remedy = strings.Join(b.Runners, ", ")+" found no test, and ended well", noTestsRemedy
	case b.Status == "" || b.Status == runner.StatusPassed:
	case c.Capability != "":
		out.Why, out.Remedy = unrunnableCapability(c, b)
	default:
		out.Why, out.Remedy = unrunnableCommand(b)
	}
	return out, out.Why != ""
}

// unrunnableCommand reads what a command printed, unless tests ran: those can print anything.
func unrunnableCommand(b BaseRun) (why, remedy string) {
	switch {
	case b.Status == runner.StatusError:
		return cmp.Or(lastLine(b.Tail), "it could not be started"), "give a check that runs here"
	case b.ranTests():
		return "", ""
	case len(b.MissingModules) > 0:
		return "no test could be loaded: not installed: " + strings.Join(b.MissingModules, ", "), "install the dependencies of the project first: a check has no network"
	}
	if kind, line := helper.Absent(b.Tail); kind != "" && !isProjectFile(line) {
		if kind == runner.MissingTool {
			return "a program is missing: " + oneLine(line), "install it, or give another check"
		}
		return "a dependency is missing: " + oneLine(line), "install the dependencies of the project first: a check has no network"
	}
	if line := absentTarget().FindString(b.Tail); line != "" {
		return oneLine(line), "give a check that the project has"
	}
	if b.foundNoTests() {
		return fmt.Sprintf("%s found no test", strings.Join(b.Runners, ", ")), noTestsRemedy
	}
	return "", ""
}

// foundNoTests reports whether test runners were seen and reported that they found nothing to run.
func (b BaseRun) foundNoTests() bool {
	return len(b.Runners) > 0 && !b.named() && len(b.Faults) == 0 && noTests().MatchString(b.Tail)
}

const noTestsRemedy = "give a check that runs the project's tests"

// ranTests reports whether a real test ran on the base, not only a placeholder for tests that could not be loaded.
func (b BaseRun) ranTests() bool {
	return b.named() && slices.ContainsFunc(b.Report.TestCases, func(t runner.TestCase) bool { return !isPlaceholder(t) })
}

// worthKeeping reports whether a run on the base may be remembered. A failure because the machine lacks something
// turns into a pass once that is installed, and no change may get the credit. So a failure is remembered only if the
// tests ran, or if it is about findings.
func worthKeeping(c deed.Check, b BaseRun) bool {
	switch {
	case b.Status == runner.StatusPassed:
		return true
	case b.Status != runner.StatusFailed:
		return false
	case b.named():
		return !slices.ContainsFunc(b.Report.TestCases, isPlaceholder)
	}
	return c.Capability == runner.Lint || c.Capability == runner.Audit
}

// absentTarget matches how make and npm report that they do not know the requested target.
var absentTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(npm (error|ERR!) [Mm]issing script: .*|make: \*\*\* No (rule to make target|targets specified).*)$`)
})

// noTests matches how runners report that there was nothing to run.
var noTests = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)no tests? (ran|found|files? found|executed)|collected 0 items|ran 0 tests`)
})

// ownFile matches a path in what a shell prints about a missing program.
var ownFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: [^ :]*/[^ :]*: (command )?not found$`) })

// isProjectFile reports whether what is missing would be a file of the project: it may be what the agent is to write.
func isProjectFile(line string) bool { return ownFile().MatchString(line) }

// unrunnableCapability reads the report of a capability's runner.
func unrunnableCapability(c deed.Check, b BaseRun) (why, remedy string) {
	if b.Report == nil {
		return cmp.Or(lastLine(b.Tail), "it could not be run"), "give a check that runs here"
	}
	r := b.Report
	if r.Status == runner.StatusSkipped && c.Capability == runner.Test {
		return cmp.Or(r.Phase.Summary, "there is nothing to run"), "give a check that the project has"
	}
	if r.Status != runner.StatusError || r.Failure == nil {
		return "", ""
	}
	switch r.Failure.Cause {
	case runner.CauseTool, runner.CauseDependency, runner.CauseNoTests:
		return r.Failure.Summary, cmp.Or(r.Failure.Remedy, noTestsRemedy)
	case runner.CauseUnloaded:
		if len(r.Missing) > 0 {
			return r.Failure.Summary, cmp.Or(r.Failure.Remedy, r.Missing[0].Remedy, "install the dependencies of the project")
		}
	}
	return "", ""
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return oneLine(text[strings.LastIndexByte(text, '\n')+1:])
}

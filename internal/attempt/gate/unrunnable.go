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

// A Broken says why a check cannot be run on the base, so that nothing that an agent does could be judged by it.
type Broken struct {
	Check  string
	Why    string
	Remedy string
}

// CannotRun reports whether a check could not be run on its base, as opposed to failing there. A failure is no fault: the task may be
// about that, and a program or a module of the project's own may be what is to be written.
func CannotRun(c deed.Check, b BaseRun) (Broken, bool) {
	out := Broken{Check: CheckName(c)}
	switch {
	case b.Status == runner.StatusPassed && c.Capability == "" && b.foundNone():
		out.Why, out.Remedy = strings.Join(b.Runners, ", ")+" found no test, and ended well", noTestsRemedy
	case b.Status == "" || b.Status == runner.StatusPassed:
	case c.Capability != "":
		out.Why, out.Remedy = unrunnableCapability(c, b)
	default:
		out.Why, out.Remedy = unrunnableCommand(b)
	}
	return out, out.Why != ""
}

// unrunnableCommand reads what a command printed. Tests that ran print what they like.
func unrunnableCommand(b BaseRun) (why, remedy string) {
	switch {
	case b.Status == runner.StatusError:
		return cmp.Or(lastLine(b.Tail), "it could not be started"), "give a check that runs here"
	case b.ran():
		return "", ""
	case len(b.Wants) > 0:
		return "no test could be loaded: not installed: " + strings.Join(b.Wants, ", "), "install the dependencies of the project first: a check has no network"
	}
	if kind, line := helper.Absent(b.Tail); kind != "" && !own(line) {
		if kind == runner.MissingTool {
			return "a program is missing: " + oneLine(line), "install it, or give another check"
		}
		return "a dependency is missing: " + oneLine(line), "install the dependencies of the project first: a check has no network"
	}
	if line := absentTarget().FindString(b.Tail); line != "" {
		return oneLine(line), "give a check that the project has"
	}
	if b.foundNone() {
		return fmt.Sprintf("%s found no test", strings.Join(b.Runners, ", ")), noTestsRemedy
	}
	return "", ""
}

// foundNone reports whether test runners were seen, and said that they found nothing to run.
func (b BaseRun) foundNone() bool {
	return len(b.Runners) > 0 && !b.named() && len(b.Faults) == 0 && noTests().MatchString(b.Tail)
}

const noTestsRemedy = "give a check that runs the project's tests"

// ran reports whether a test ran on the base, as opposed to one that stands for those that could not be loaded.
func (b BaseRun) ran() bool {
	return b.named() && slices.ContainsFunc(b.Report.TestCases, func(t runner.TestCase) bool { return !standsIn(t) })
}

// lasting reports whether a run of the base is worth remembering. What fails because the machine lacks something passes once that
// is installed, and no change may be credited with it: so a failure is remembered only where the tests ran, or findings were found.
func lasting(c deed.Check, b BaseRun) bool {
	switch {
	case b.Status == runner.StatusPassed:
		return true
	case b.Status != runner.StatusFailed:
		return false
	case b.named():
		return !slices.ContainsFunc(b.Report.TestCases, standsIn)
	}
	return c.Capability == runner.Lint || c.Capability == runner.Audit
}

// absentTarget is how make and npm say that they do not know what they are asked for.
var absentTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(npm (error|ERR!) [Mm]issing script: .*|make: \*\*\* No (rule to make target|targets specified).*)$`)
})

// noTests is how runners say that there was nothing to run.
var noTests = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)no tests? (ran|found|files? found|executed)|collected 0 items|ran 0 tests`)
})

// ownFile finds a path in what a shell says of a program that is not there.
var ownFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: [^ :]*/[^ :]*: (command )?not found$`) })

// own reports whether what is missing would be a file of the project: it may be what is to be written.
func own(line string) bool { return ownFile().MatchString(line) }

// unrunnableCapability reads what the runner of a capability says of itself.
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

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return oneLine(text[strings.LastIndexByte(text, '\n')+1:])
}

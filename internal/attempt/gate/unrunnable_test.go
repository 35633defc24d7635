package gate

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// A check that cannot be run is distinguished from one that fails.
func TestCannotRun(t *testing.T) {
	t.Parallel()
	shell, test := deed.Check{Shell: "x"}, deed.Check{Capability: runner.Test}
	failed := func(tail string) BaseRun {
		return BaseRun{Status: runner.StatusFailed, ExitCode: 1, Tail: tail}
	}
	cause := func(c string, missing ...runner.Missing) BaseRun {
		return BaseRun{Status: runner.StatusError, Report: &runner.Report{Status: runner.StatusError, Missing: missing, Failure: &runner.Failure{Summary: "s", Cause: c, Remedy: "r"}}}
	}
	ran := failed("sh: 1: tool: not found")
	ran.Report = tests("-a")
	none := failed("no tests ran in 0.01s")
	none.Runners = []string{"pytest"}
	for _, c := range []struct {
		name  string
		check deed.Check
		base  BaseRun
		want  string // begins the reason; empty: it can be run
	}{
		{"not run", shell, BaseRun{}, ""},
		{"passes", shell, BaseRun{Status: runner.StatusPassed, Tail: "sh: 1: x: not found"}, ""},
		{"fails", shell, failed("want 3, got 2"), ""},
		{"a program is missing", shell, failed("sh: 1: pytest: not found"), "a program is missing"},
		{"a program of the project's own is to be written", shell, failed("sh: 1: ./hello.sh: not found"), ""},
		{"a module is missing", shell, failed("/usr/bin/python3: No module named pytest"), "a program is missing"},
		{"a package is missing", shell, failed("Error: Cannot find module 'mocha'"), "a dependency is missing"},
		{"a file of the project's own is to be written", shell, failed("Error: Cannot find module './lib'"), ""},
		{"a target is missing", shell, failed("make: *** No rule to make target 'tset'.  Stop."), "make: "},
		{"a script is missing", shell, failed("npm error Missing script: \"tset\""), "npm error"},
		{"tests that ran print what they like", shell, ran, ""},
		{"no test is found", shell, none, "pytest found no test"},
		{"no test is found, and that is no failure", shell, BaseRun{Status: runner.StatusPassed, Runners: []string{"unittest"}, Tail: "Ran 0 tests in 0.000s\n\nOK"}, "unittest found no test"},
		{"could not be started", shell, BaseRun{Status: runner.StatusError, Tail: "permission denied"}, "permission denied"},
		{"a tool of a capability", test, cause(runner.CauseTool), "s"},
		{"no tests of a capability", test, cause(runner.CauseNoTests), "s"},
		{"nothing loads, and nothing is missing", test, cause(runner.CauseUnloaded), ""},
		{"nothing loads for want of something", test, cause(runner.CauseUnloaded, runner.Missing{Kind: runner.MissingDependency, Name: "x"}), "s"},
		{"a runner that fails without a word", test, cause(""), ""},
		{"nothing to run", test, BaseRun{Status: runner.StatusSkipped, Report: &runner.Report{Status: runner.StatusSkipped}}, "there is nothing to run"},
	} {
		b, broken := CannotRun(c.check, c.base)
		if broken != (c.want != "") || !strings.HasPrefix(b.Why, c.want) || broken && b.Remedy == "" {
			t.Errorf("%s: %v %+v", c.name, broken, b)
		}
	}
}

// What fails for want of a program or a module is not remembered, since it passes when that is there; nor is a bare exit code.
func TestLasting(t *testing.T) {
	t.Parallel()
	shell, failed := deed.Check{Shell: "x"}, BaseRun{Status: runner.StatusFailed}
	named, load := failed, failed
	named.Report, load.Report = tests("-a"), &runner.Report{TestCases: []runner.TestCase{{Suite: "a", Name: "[load]", Status: runner.CaseFailed}}}
	for _, c := range []struct {
		name  string
		check deed.Check
		base  BaseRun
		want  bool
	}{
		{"passed", shell, BaseRun{Status: runner.StatusPassed}, true},
		{"could not tell", shell, BaseRun{Status: runner.StatusError}, false},
		{"a test failed", shell, named, true},
		{"a file of tests could not be loaded", shell, load, false},
		{"an exit code", shell, failed, false},
		{"a build", deed.Check{Capability: runner.Build}, failed, false},
		{"findings", deed.Check{Capability: runner.Lint}, failed, true},
	} {
		if got := worthKeeping(c.check, c.base); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

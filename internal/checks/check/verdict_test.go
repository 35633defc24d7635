package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/sidecar"
)

// TestVerdicts holds the whole table: the exit code, what was written and what was counted, together.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	counts := func(total, passed, failed, skipped int) *runner.TestResults {
		return &runner.TestResults{Total: total, Passed: passed, Failed: failed, Skipped: skipped}
	}
	exit := func(code int) *record { return &record{exit: proc.Exit{Code: code}, limit: time.Minute} }
	malformed := func(name string) sidecar.Set {
		return sidecar.Set{Faults: []sidecar.Fault{{Sidecar: name, Message: "is not JSON"}}}
	}
	tool := []runner.Missing{{Kind: runner.MissingTool, Name: "ruff", Remedy: "pip install ruff"}}
	module := []runner.Missing{{Kind: runner.MissingDependency, Name: "requests", Remedy: "pip install -e ."}}
	load := func(message string) runner.TestCase {
		return runner.TestCase{Name: "[load]", Suite: "a", Status: runner.CaseFailed, Type: "load", Message: message}
	}
	unbuilt := runner.TestCase{Name: "[build]", Suite: "b", Status: runner.CaseFailed, Type: "build", Message: "a.go:3:8: module lookup disabled by GOPROXY=off"}
	for _, c := range []struct {
		name   string
		f      facts
		status string
		mode   string // looked at when not empty
		code   int
	}{
		{"lint clean", facts{capability: runner.Lint, rc: exit(0)}, runner.StatusPassed, "", 0},
		{"7: findings and exit 0", facts{capability: runner.Lint, rc: exit(0), findings: 2}, runner.StatusFailed, "", 1},
		{"findings and exit 1", facts{capability: runner.Lint, rc: exit(1), findings: 2}, runner.StatusFailed, "", 1},
		{"8: exit 1 and an empty list", facts{capability: runner.Lint, rc: exit(1)}, runner.StatusFailed, "", 1},
		{"exit 1 and a missing program", facts{capability: runner.Lint, rc: exit(1), stderr: "sh: 1: eslint: not found\n"}, runner.StatusError, "", 3},
		{"exit 1 and text that calls something an error", facts{capability: runner.Lint, rc: exit(1), stdout: "error: missing documentation\nfatal: two of them\n"}, runner.StatusFailed, "", 1},
		{"exit 1 and a linter that came down", facts{capability: runner.Lint, rc: exit(1), stderr: "Traceback (most recent call last):\n  File\n"}, runner.StatusError, "", 3},
		{"a linter of the project is missing", facts{capability: runner.Lint, rc: exit(0), missing: tool}, runner.StatusError, ModeMissing, 3},
		{"a linter is missing and another has findings", facts{capability: runner.Lint, rc: exit(1), findings: 2, missing: tool}, runner.StatusFailed, "", 1},
		{"exit 2", facts{capability: runner.Lint, rc: exit(2)}, runner.StatusError, "", 3},
		{"exit 2 and findings: the list may be incomplete", facts{capability: runner.Lint, rc: exit(2), findings: 3}, runner.StatusError, "", 3},
		{"9: a command is missing", facts{capability: runner.Lint, rc: exit(127)}, runner.StatusError, "command_missing", 3},
		{"9: not executable", facts{capability: runner.Lint, rc: exit(126)}, runner.StatusError, "command_missing", 3},
		{"9: a child was killed", facts{capability: runner.Lint, rc: exit(137)}, runner.StatusError, "killed", 3},
		{"9: the script was killed", facts{capability: runner.Lint, rc: &record{exit: proc.Exit{Code: 143, Signal: "SIGTERM"}}}, runner.StatusError, "killed", 3},
		{"9: it did not start", facts{capability: runner.Lint, rc: &record{start: errors.New("no such file")}}, runner.StatusError, "not_started", 3},
		{"10: a malformed list does not hide exit 1", facts{capability: runner.Lint, rc: exit(1), set: malformed(sidecar.LintFindings)}, runner.StatusError, "malformed_sidecar", 3},
		{"10: a malformed list is no pass", facts{capability: runner.Lint, rc: exit(0), set: malformed(sidecar.LintFindings)}, runner.StatusError, "malformed_sidecar", 3},
		{"another's malformed sidecar is not decisive", facts{capability: runner.Lint, rc: exit(0), set: malformed(sidecar.TestResults)}, runner.StatusPassed, "", 0},

		{"tests passed", facts{capability: runner.Test, rc: exit(0), counts: counts(3, 2, 0, 1)}, runner.StatusPassed, "", 0},
		{"15: non-zero with no failure", facts{capability: runner.Test, rc: exit(1), counts: counts(3, 3, 0, 0)}, runner.StatusError, "", 3},
		{"16: exit 0 and a failure", facts{capability: runner.Test, rc: exit(0), counts: counts(3, 2, 1, 0)}, runner.StatusFailed, "assertions", 1},
		{"cargo's 101 is a failed test", facts{capability: runner.Test, rc: exit(101), counts: counts(3, 2, 1, 0)}, runner.StatusFailed, "assertions", 1},
		{"101 with nothing counted is not", facts{capability: runner.Test, rc: exit(101)}, runner.StatusError, "", 3},
		{"exit 1 with nothing parsed", facts{capability: runner.Test, rc: exit(1)}, runner.StatusError, "", 3},
		{"files cannot be loaded for want of a dependency", facts{capability: runner.Test, rc: exit(1), counts: counts(2, 1, 1, 0), missing: module, cases: []runner.TestCase{load("No module named 'requests.auth'")}}, runner.StatusError, ModeMissing, 3},
		{"another file cannot be loaded by its own fault", facts{capability: runner.Test, rc: exit(1), counts: counts(2, 0, 2, 0), missing: module, cases: []runner.TestCase{load("No module named 'requests'"), load("SyntaxError: invalid")}}, runner.StatusFailed, "assertions", 1},
		{"a dependency is missing and a test fails", facts{capability: runner.Test, rc: exit(1), counts: counts(2, 0, 2, 0), missing: module, cases: []runner.TestCase{load("No module named 'requests'"), {Name: "x", Status: runner.CaseFailed}}}, runner.StatusFailed, "assertions", 1},
		{"a module cannot be downloaded", facts{capability: runner.Test, rc: exit(1), counts: counts(2, 1, 1, 0), missing: module, cases: []runner.TestCase{unbuilt}}, runner.StatusError, ModeMissing, 3},
		{"no report was left", facts{capability: runner.Test, rc: exit(2), unreported: []string{"pytest"}}, runner.StatusError, ModeNoReport, 3},
		{"one of several left no report", facts{capability: runner.Test, rc: exit(2), counts: counts(1, 1, 0, 0), unreported: []string{"pytest"}}, runner.StatusError, ModeNoReport, 3},
		{"an assertion of a plain script", facts{capability: runner.Test, rc: exit(1), stderr: "AssertionError [ERR_ASSERTION]: 1 == 2\n"}, runner.StatusFailed, "fatal_on_stdout", 1},
		{"exit 127 that says what is missing", facts{capability: runner.Test, rc: exit(127), missing: tool}, runner.StatusError, ModeMissing, 3},
		{"zero tests", facts{capability: runner.Test, rc: exit(0), counts: counts(0, 0, 0, 0)}, runner.StatusError, "zero_tests", 3},
		{"every test skipped", facts{capability: runner.Test, rc: exit(0), counts: counts(4, 0, 0, 4)}, runner.StatusError, "zero_tests", 3},
		{"no counts", facts{capability: runner.Test, rc: exit(0)}, runner.StatusPassed, "", 0},
		{"no counts, and they are required", facts{capability: runner.Test, rc: exit(0), requireCounts: true}, runner.StatusError, "no_report", 3},
		{"a runner that cannot count", facts{capability: runner.Test, rc: exit(0), requireCounts: true, counts: &runner.TestResults{Partial: "unknown-runner"}}, runner.StatusError, "no_report", 3},
		{"malformed results do not pass", facts{capability: runner.Test, rc: exit(0), set: malformed(sidecar.TestResults)}, runner.StatusError, "malformed_sidecar", 3},
		{"49: time limit, whatever was counted", facts{capability: runner.Test, rc: &record{exit: proc.Exit{TimedOut: true}, limit: time.Second}, counts: counts(3, 2, 1, 0)}, runner.StatusError, "timeout", 3},

		{"built", facts{capability: runner.Build, rc: exit(0)}, runner.StatusPassed, "", 0},
		{"not built", facts{capability: runner.Build, rc: exit(1)}, runner.StatusFailed, "", 1},
		{"a build for want of a dependency", facts{capability: runner.Build, rc: exit(1), missing: module}, runner.StatusError, ModeMissing, 3},
		{"101 and an error of the compiler", facts{capability: runner.Build, rc: exit(101), stderr: "error[E0425]: cannot find value `x`\n"}, runner.StatusFailed, "", 1},
		{"build infrastructure", facts{capability: runner.Build, rc: exit(2)}, runner.StatusError, "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rep := runner.Report{Capability: c.f.capability}
			v := judge(c.f)
			v.into(&rep)
			if rep.Status != c.status || rep.ExitCode != c.code {
				t.Errorf("status %s, exit %d; want %s, %d (%s)", rep.Status, rep.ExitCode, c.status, c.code, v.summary)
			}
			if c.mode != "" && v.mode != c.mode {
				t.Errorf("mode %q, want %q", v.mode, c.mode)
			}
			if rep.Passed != (rep.ExitCode == 0) || rep.Passed != (rep.Failure == nil) || rep.Phase.Status != rep.Status || rep.Phase.Summary == "" {
				t.Errorf("the report contradicts itself: %+v", rep)
			}
		})
	}
}

// TestCauses is what the gate asks before it pays for a model: whether a check can be run here at all.
func TestCauses(t *testing.T) {
	t.Parallel()
	exit := func(code int) *record { return &record{exit: proc.Exit{Code: code}, limit: time.Minute} }
	load := runner.TestCase{Name: "[load]", Status: runner.CaseFailed, Type: "load", Message: "No module named 'calc'"}
	good := runner.TestCase{Name: "good", Status: runner.CasePassed}
	one := &runner.TestResults{Total: 1, Failed: 1}
	for _, c := range []struct {
		name, cause, category string
		f                     facts
	}{
		{"a tool", runner.CauseTool, runner.CategoryInfrastructure, facts{capability: runner.Lint, rc: exit(0), missing: []runner.Missing{{Kind: runner.MissingTool, Name: "ruff", Remedy: "r"}}}},
		{"a command", runner.CauseTool, runner.CategoryInfrastructure, facts{capability: runner.Test, rc: exit(127)}},
		{"a dependency", runner.CauseDependency, runner.CategoryInfrastructure, facts{capability: runner.Build, rc: exit(1), missing: []runner.Missing{{Kind: runner.MissingDependency, Name: "x", Remedy: "r"}}}},
		{"nothing is loaded", runner.CauseUnloaded, runner.CategoryFindings, facts{capability: runner.Test, rc: exit(1), counts: one, cases: []runner.TestCase{load}}},
		{"something is", "", runner.CategoryFindings, facts{capability: runner.Test, rc: exit(1), counts: one, cases: []runner.TestCase{load, good}}},
		{"no tests", runner.CauseNoTests, runner.CategoryInfrastructure, facts{capability: runner.Test, rc: exit(2), stdout: "no test files: x\n"}},
		{"zero tests", runner.CauseNoTests, runner.CategoryInfrastructure, facts{capability: runner.Test, rc: exit(0), counts: &runner.TestResults{}}},
		{"no report", runner.CauseNoReport, runner.CategoryInfrastructure, facts{capability: runner.Test, rc: exit(2), unreported: []string{"x"}}},
		{"tests fail", "", runner.CategoryFindings, facts{capability: runner.Test, rc: exit(1), counts: one, cases: []runner.TestCase{{Name: "a", Status: runner.CaseFailed}}}},
		{"findings", "", runner.CategoryFindings, facts{capability: runner.Lint, rc: exit(1), findings: 1}},
		{"nobody knows", "", runner.CategoryInfrastructure, facts{capability: runner.Test, rc: exit(1)}},
	} {
		v := judge(c.f)
		if v.cause != c.cause || v.category != c.category {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, v.category, v.cause, c.category, c.cause)
		}
		if (v.remedy != "") != (len(c.f.missing) > 0) {
			t.Errorf("%s: the remedy is %q", c.name, v.remedy)
		}
	}
}

// A test that runs when the time is over is named, and neither those that wait for their turn nor those that wait for a subtest.
func TestRunning(t *testing.T) {
	t.Parallel()
	f := facts{capability: runner.Test, rc: &record{exit: proc.Exit{TimedOut: true}, limit: time.Second}}
	for _, name := range []string{"TestX", "TestX/sub", "[suite]"} {
		f.cases = append(f.cases, runner.TestCase{Suite: "p", Name: name, Status: runner.CaseFailed, Type: "unfinished"})
	}
	f.cases = append(f.cases, runner.TestCase{Suite: "p", Name: "TestLater", Status: runner.CaseFailed, Type: "waiting"})
	if v := judge(f); !strings.HasSuffix(v.summary, "while it ran p::TestX/sub") {
		t.Errorf("%q", v.summary)
	}
}

func TestFilterIsNormal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []string
		want string
	}{ // edge cases 3 and 4
		{nil, ""}, {[]string{" "}, ""}, {[]string{","}, ""}, {[]string{"lint, test"}, "lint,test"}, {[]string{" lint", "test,,lint"}, "lint,test"}, {[]string{"a b"}, "a b"},
	} {
		o := Options{Filter: NewFilter(c.in, nil)}
		got, set := o.environ("/run", "/c")["HOMEBOY_STEP"]
		if got != c.want || set != (c.want != "") {
			t.Errorf("%q is %q (set %v), want %q", c.in, got, set, c.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	lines := func(n int) string {
		s := ""
		for range n {
			s += "x\n"
		}
		return s
	}
	for _, c := range []struct { // edge case 28
		in   string
		n    int
		more bool
	}{{"", 0, false}, {lines(80), 80, false}, {lines(81), 80, true}, {lines(80) + "y", 80, true}} {
		got, more := lastLines(c.in)
		n := 0
		if got != "" {
			n = 1
			for _, r := range got {
				if r == '\n' {
					n++
				}
			}
		}
		if n != c.n || more != c.more {
			t.Errorf("%d lines, more %v; want %d, %v", n, more, c.n, c.more)
		}
	}
}

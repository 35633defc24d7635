package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/sidecar"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// facts are what a verdict on a run rests on.
type facts struct {
	capability     string
	rc             *record
	set            sidecar.Set
	counts         *runner.TestResults
	cases          []runner.TestCase
	findings       int
	missing        []runner.Missing // tools and dependencies
	unreported     []string         // runners that ended well and left no report
	requireCounts  bool
	fixOnly        bool
	stdout, stderr string
}

// A verdict says how a run ended.
type verdict struct {
	status, category, mode, step, summary string
	cause, remedy                         string // of what could not be run at all
	warning                               string
}

// into puts the verdict into the report, in the place of an earlier one.
func (v verdict) into(rep *runner.Report) {
	rep.Status, rep.Passed = v.status, v.status == runner.StatusPassed || v.status == runner.StatusSkipped
	rep.Phase = runner.Phase{Phase: phaseOf(rep.Capability), Status: v.status, ExitCode: rep.RunnerExit, Summary: v.summary}
	rep.Failure, rep.ExitCode = nil, 0
	if v.warning != "" {
		rep.Warnings = append(rep.Warnings, v.warning)
	}
	if rep.Passed {
		return
	}
	rep.Failure = &runner.Failure{Phase: rep.Phase.Phase, Category: v.category, Mode: v.mode, Step: v.step, Summary: v.summary, Cause: v.cause, Remedy: v.remedy}
	rep.ExitCode = 1
	if v.category == runner.CategoryInfrastructure {
		rep.ExitCode = 3
	}
}

func phaseOf(capability string) string { return capability }

func passed(format string, a ...any) verdict {
	return verdict{status: runner.StatusPassed, summary: fmt.Sprintf(format, a...)}
}

func found(mode, format string, a ...any) verdict {
	return verdict{status: runner.StatusFailed, category: runner.CategoryFindings, mode: mode, summary: fmt.Sprintf(format, a...)}
}

func broken(mode, format string, a ...any) verdict {
	return verdict{status: runner.StatusError, category: runner.CategoryInfrastructure, mode: mode, summary: fmt.Sprintf(format, a...)}
}

// judge decides by the exit code, what was written and what was counted together: real scripts exit 0 with findings,
// 101 with a failed test and 1 because a program is missing.
func judge(f facts) verdict {
	v := f.decide()
	if v.status != runner.StatusPassed {
		var why string
		v.step, why = failedStep(f.stdout)
		if v.mode == "" {
			v.mode = f.class().Mode
		}
		if v.cause = causeOf(v, f); v.mode == ModeMissing || v.mode == "command_missing" {
			v.remedy = remedies(f.missing)
		}
		if v.category == runner.CategoryInfrastructure && v.mode != ModeMissing {
			v.summary = strings.Join(slices.DeleteFunc([]string{v.summary, v.step, why}, func(s string) bool { return s == "" }), ": ")
		}
	}
	return v
}

func (f facts) decide() verdict {
	what, e := f.capability, f.rc.exit
	switch {
	case f.rc.start != nil:
		return broken("not_started", "the %s runner could not be started: %v", what, f.rc.start)
	case e.TimedOut:
		return f.timeout()
	case e.Signal != "":
		return broken("killed", "the %s runner was killed by %s", what, e.Signal)
	case e.Code > 128 && e.Code <= 128+64: // a child of the script's shell
		return broken("killed", "the %s runner was killed (exit %d, which is signal %d)", what, e.Code, e.Code-128)
	case (e.Code == 126 || e.Code == 127) && len(f.missing) > 0:
		return broken(ModeMissing, "the %s runner could not run a command (exit %d): %s", what, e.Code, f.missingText())
	case e.Code == 126 || e.Code == 127:
		return broken("command_missing", "the %s runner could not run a command (exit %d)", what, e.Code)
	}
	if fault := f.decisive(); fault != "" {
		return broken("malformed_sidecar", "the %s runner ended with exit code %d, and its results cannot be read: %s", what, e.Code, fault)
	}
	switch {
	case f.fixOnly && e.Code < 2:
		return passed("the fixers ran (exit %d)", e.Code)
	case f.capability == runner.Lint:
		return f.lint(e.Code)
	case f.capability == runner.Test:
		return f.test(e.Code)
	}
	return f.build(e.Code)
}

// decisive returns the fault of the sidecar that the verdict would rest on, when nothing of it could be read.
func (f facts) decisive() string {
	for _, fault := range f.set.Faults {
		switch fault.Sidecar {
		case sidecar.LintFindings:
			if f.capability == runner.Lint && f.findings == 0 {
				return fault.Error()
			}
		case sidecar.TestResults, sidecar.TestCases, sidecar.TestReports:
			// A report that was cut short tells of failures, never that there are none.
			if r := f.set.Results; f.capability == runner.Test && (r == nil || r.Partial == testreport.Broken && r.Failed == 0) {
				return fault.Error()
			}
		}
	}
	return ""
}

func (f facts) timeout() verdict {
	v := broken("timeout", "the %s runner was ended at its time limit of %s", f.capability, f.rc.limit)
	if names := testreport.Running(f.cases); names != "" {
		v.summary += ", while it ran " + names
	}
	return v
}

// failed reports whether a test is counted as failed.
func (f facts) failed() bool { return f.counts != nil && f.counts.Failed > 0 }

func (f facts) lint(code int) verdict {
	switch {
	case code >= 2 && f.findings > 0 && len(f.missing) > 0:
		return broken(ModeMissing, "the lint runner failed (exit %d) after %d finding(s): %s", code, f.findings, f.missingText())
	case code >= 2 && f.findings > 0:
		return broken("", "the lint runner failed (exit %d) after %d finding(s): the list may be incomplete", code, f.findings)
	case code >= 2 && len(f.missing) == 0:
		return broken("", "lint runner infrastructure failure (exit %d)", code)
	case f.findings > 0:
		v := found("", "lint phase reported %d finding(s)", f.findings)
		if len(f.missing) > 0 {
			v.warning = "not all was looked at, since this is missing: " + wants(f.missing)
		}
		return v
	case len(f.missing) > 0:
		return broken(ModeMissing, "the code was not linted by all that the project asks for: %s", f.missingText())
	case code != 0 && f.brokenBefore():
		return broken("", "lint runner infrastructure failure (exit %d)", code)
	case code != 0:
		return found("", "lint phase reported findings (exit %d)", code)
	}
	return passed("lint phase passed with no findings")
}

func (f facts) test(code int) verdict {
	c := f.counts
	if c != nil && c.Total == 0 && c.Partial != "" {
		c = nil // a runner that does not know how to count says so
	}
	switch {
	case c != nil && c.Failed > 0 && len(f.missing) > 0 && forWant(f.cases, f.missing):
		return broken(ModeMissing, "%d of %d test(s) stand for files that could not be loaded: %s", c.Failed, c.Total, f.missingText())
	case c != nil && c.Failed > 0:
		return found("assertions", "test phase reported %d failure(s) out of %d test(s)", c.Failed, c.Total)
	case code != 0 && len(f.missing) > 0:
		return broken(ModeMissing, "the tests could not be run (exit %d): %s", code, f.missingText())
	case len(f.unreported) > 0:
		return broken(ModeNoReport, "%s left no report of its tests, so something ended it before it was done", strings.Join(f.unreported, ", "))
	case code != 0 && c != nil:
		return broken("", "test runner failed after reporting zero test failures (exit %d)", code)
	case code != 0 && f.class().Mode == helper.ModeSummary:
		return found("", "the tests failed (exit %d), and nothing counts them: %s", code, f.class().Summary)
	case code != 0:
		return broken("", "test phase failed without structured counts (exit %d)", code)
	case c == nil && f.requireCounts:
		return broken(ModeNoReport, "the test runner ended with exit code 0 and reported no test")
	case c == nil:
		v := passed("test phase ended with exit code 0")
		v.warning = "no test was counted: the exit code alone says that the tests passed (have the runner write HOMEBOY_TEST_RESULTS_FILE, or use --require-counts)"
		return v
	case c.Passed == 0:
		return broken("zero_tests", "no test was executed (%d of %d skipped)", c.Skipped, c.Total)
	}
	return passed("test phase passed: %d passed, %d skipped", c.Passed, c.Skipped)
}

func (f facts) build(code int) verdict {
	switch {
	case code == 0:
		return passed("build passed")
	case len(f.missing) > 0:
		return broken(ModeMissing, "the build could not be run (exit %d): %s", code, f.missingText())
	case code == 1 || code == 101 && !f.brokenBefore():
		return found("", "the build failed (exit %d)", code)
	}
	return broken("", "build infrastructure failure (exit %d)", code)
}

// class says what the output tells of a run that did not end well.
func (f facts) class() helper.Outcome {
	return helper.Classify(helper.Evidence{
		Capability: f.capability, Exit: f.rc.exit.Code, Stdout: f.stdout, Stderr: f.stderr, Counts: f.counts, Findings: f.findings,
	})
}

// brokenBefore reports whether the output says that the tool itself did not come to work. That a line calls something an
// error does not: so does a linter.
func (f facts) brokenBefore() bool {
	absent, _ := helper.Absent(f.stdout, f.stderr)
	return absent != "" || f.class().Mode == helper.ModeBootstrap || helper.Crashed(f.stdout, f.stderr)
}

// missingText says what is missing and what to do about it.
func (f facts) missingText() string {
	text := "missing: " + wants(f.missing)
	if r := remedies(f.missing); r != "" {
		text += " (" + r + ")"
	}
	return text
}

// bannerPrefix begins the line by which a script says which step failed.
const bannerPrefix = "BUILD FAILED: "

// detailsLine stands before what the script says about the failure.
const detailsLine = "\nError details:\n"

// maxReason bounds, in bytes, what a summary repeats of it.
const maxReason = 200

// failedStep is the last step that the script's failure banner names, and the first line of what it says about it.
func failedStep(stdout string) (step, why string) {
	i := strings.LastIndex(stdout, "\n"+bannerPrefix)
	if i < 0 {
		return "", ""
	}
	step, rest, _ := strings.Cut(stdout[i+1+len(bannerPrefix):], "\n")
	if _, details, ok := strings.Cut(rest, detailsLine); ok {
		why, _, _ = strings.Cut(strings.TrimLeft(details, "\n"), "\n")
	}
	return strings.TrimSpace(step), truncate.Head(strings.Join(strings.Fields(why), " "), maxReason)
}

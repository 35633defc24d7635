package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// refuseByHook reports a run that a hook kept from happening.
func refuseByHook(rep *runner.Report) {
	hook := rep.Hooks[len(rep.Hooks)-1]
	last := hook.Commands[len(hook.Commands)-1]
	broken("hook", "the hook %q of %s ended with exit code %d, and the %s runner was not started", last.Command, hook.Event, last.ExitCode, rep.Capability).into(rep)
	rep.RawOutput = &runner.RawOutput{StdoutTail: last.Stdout, StderrTail: last.Stderr}
}

// NotApplicable is the report of a capability that nothing here has.
func NotApplicable(capability, id, path, why string) runner.Report {
	rep := runner.Report{Schema: runner.SchemaReport, Capability: capability, Component: id, ComponentPath: path}
	verdict{status: runner.StatusSkipped, summary: why}.into(&rep)
	return rep
}

// severity orders the statuses: the worst of several runs is that of all.
var severity = []string{runner.StatusSkipped, runner.StatusNotRun, runner.StatusPassed, runner.StatusFailed, runner.StatusError}

// Merge makes one report of the runs of several extensions, or of several routes of one.
func Merge(reports []runner.Report) runner.Report {
	if len(reports) == 1 {
		return reports[0]
	}
	skipFiltered(reports)
	out := reports[0]
	out.Phases = nil
	ids := []string{out.Extension}
	var summaries []string
	for i, r := range reports {
		name := r.Extension
		if i > 0 {
			join(&out, r)
			if !slices.Contains(ids, name) {
				ids = append(ids, name)
			}
		}
		summaries = append(summaries, name+": "+r.Phase.Summary)
		out.Phases = append(out.Phases, r.Phase)
	}
	out.Extension = strings.Join(ids, ", ")
	out.Phase.Status = out.Status
	out.Phase.Summary = strings.Join(summaries, "; ")
	out.Phase.ExitCode = out.RunnerExit
	return out
}

// skipFiltered marks a run as skipped if the filter left no step of it and matched a step of another run.
func skipFiltered(reports []runner.Report) {
	none := func(r runner.Report) bool { return r.Failure != nil && r.Failure.Mode == ModeNoStep }
	if !slices.ContainsFunc(reports, func(r runner.Report) bool { return !none(r) && len(r.Steps) > 0 }) {
		return
	}
	for i := range reports {
		if none(reports[i]) {
			verdict{status: runner.StatusSkipped, summary: "the filter leaves no step of it"}.into(&reports[i])
			reports[i].RawOutput = nil
		}
	}
}

// join adds one report to another.
func join(out *runner.Report, r runner.Report) {
	out.DurationMS += r.DurationMS
	out.LintFindings = append(out.LintFindings, r.LintFindings...)
	out.Annotations = append(out.Annotations, r.Annotations...)
	out.TestCases = append(out.TestCases, r.TestCases...)
	out.FailedTests = append(out.FailedTests, r.FailedTests...)
	out.Failures = append(out.Failures, r.Failures...)
	for _, m := range r.Missing {
		out.Missing = add(out.Missing, m)
	}
	out.Hooks = append(out.Hooks, r.Hooks...)
	out.Steps = append(out.Steps, r.Steps...)
	out.Hints = append(out.Hints, r.Hints...)
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s", r.Extension, w))
	}
	out.TestCounts = sum(out.TestCounts, r.TestCounts)
	if out.Coverage == nil {
		out.Coverage = r.Coverage
	}
	out.ExtensionHash = strings.Join(slices.DeleteFunc([]string{out.ExtensionHash, r.ExtensionHash}, func(s string) bool { return s == "" }), " ")
	if out.Build != nil && r.Build != nil {
		out.Build.Command += "; " + r.Build.Command
		out.Build.Artifacts = append(out.Build.Artifacts, r.Build.Artifacts...)
	}
	if out.Autofix != nil && r.Autofix != nil {
		out.Autofix.Fixes = append(out.Autofix.Fixes, r.Autofix.Fixes...)
	}
	if slices.Index(severity, r.Status) > slices.Index(severity, out.Status) {
		out.Status, out.Passed, out.ExitCode, out.RunnerExit, out.Failure, out.RawOutput = r.Status, r.Passed, r.ExitCode, r.RunnerExit, r.Failure, r.RawOutput
	}
}

func sum(a, b *runner.TestResults) *runner.TestResults {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &runner.TestResults{
		Total: a.Total + b.Total, Passed: a.Passed + b.Passed, Failed: a.Failed + b.Failed, Skipped: a.Skipped + b.Skipped,
		Partial: strings.TrimPrefix(strings.TrimSuffix(a.Partial+", "+b.Partial, ", "), ", "),
	}
}

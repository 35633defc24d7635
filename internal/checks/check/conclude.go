package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/checks/sidecar"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// conclude fills the report from how the script ended and what it left.
func (r *Request) conclude(rep *runner.Report, rc *record, set sidecar.Set) {
	if rc.start == nil && !rc.exit.TimedOut && rc.exit.Signal == "" {
		rep.RunnerExit = &rc.exit.Code
	}
	rep.Warnings = append(rep.Warnings, set.Warnings...)
	for _, f := range set.Faults {
		rep.Warnings = append(rep.Warnings, f.Error())
	}
	rep.Annotations = set.Annotations
	switch r.Capability {
	case runner.Lint:
		rep.LintFindings = set.Findings
	case runner.Test:
		r.tests(rep, rc, set)
	case runner.Build:
		rep.Build = r.build(rc)
	}
	if r.Options.FixOnly {
		rep.Autofix = &runner.Autofix{Fixes: slices.Concat(set.Fixes, set.Plan), ChangedFiles: []string{}}
	}
	out, errOut := rc.out.text(), rc.err.text()
	did, err := readSteps(r.RunDir.Host)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		rep.Warnings = append(rep.Warnings, "the list of steps cannot be read: "+err.Error())
	}
	rep.Missing = did.missing
	f := facts{
		capability: r.Capability, rc: rc, set: set, counts: rep.TestCounts, cases: rep.TestCases, findings: len(rep.LintFindings),
		requireCounts: r.Options.RequireCounts, fixOnly: r.Options.FixOnly, stdout: out, stderr: errOut, unreported: did.unreported,
	}
	if rc.exit.Code != 0 || len(did.missing) > 0 || f.failed() {
		f.missing = r.lacking(did, rep.TestCases, out, errOut)
	}
	v := judge(f)
	if v.mode == ModeMissing { // else what the output shows may be what a test is about
		rep.Missing = f.missing
	}
	v.into(rep)
	r.steps(rep, did)
	r.thresholds(rep, set)
	if !rep.Passed {
		so, cut := lastLines(out)
		se, cutErr := lastLines(errOut)
		if so != "" || se != "" {
			rep.RawOutput = &runner.RawOutput{StdoutTail: so, StderrTail: se, Truncated: cut || cutErr}
		}
		rep.Hints = append(rep.Hints, hints(rep)...)
	}
}

// tests finds the counts: what the script left in files, else what it printed.
func (r *Request) tests(rep *runner.Report, rc *record, set sidecar.Set) {
	rep.TestCases, rep.Failures = set.Cases, set.Failures
	rep.TestCounts = set.Results
	if rep.TestCounts == nil {
		if said, ok := testreport.Output(rc.out.text(), r.Parse); ok {
			rep.TestCounts, rep.TestCases, rep.Failures = &said.Results, said.Cases, said.Failures
			rep.Warnings = append(rep.Warnings, said.Warnings...)
		}
	}
	for _, c := range rep.TestCases {
		if c.Status == runner.CaseFailed {
			rep.FailedTests = append(rep.FailedTests, runner.FailedTest{Name: c.ID(), Detail: c.Message, Location: location(c.File, c.Line)})
		}
	}
	if len(rep.FailedTests) == 0 {
		for _, f := range rep.Failures {
			file, line := f.SourceFile, f.SourceLine
			if file == "" {
				file, line = f.TestFile, 0
			}
			rep.FailedTests = append(rep.FailedTests, runner.FailedTest{Name: f.TestName, Detail: f.Message, Location: location(file, line)})
		}
	}
	if rep.TestCounts == nil && len(rep.Failures) > 0 { // a script that lists its failures and counts nothing
		n := len(rep.Failures)
		rep.TestCounts = &runner.TestResults{Total: n, Failed: n, Partial: "failures-only"}
	}
}

func location(file string, line int) string {
	if file == "" || line <= 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// maxSteps bounds what is read of the list of steps.
const maxSteps = 1 << 20

// steps judges which steps the script asked about. A filter that matched none of them must not look like a clean run, and
// neither must a linter that is not installed.
func (r *Request) steps(rep *runner.Report, did stepsDone) {
	rep.Steps = did.ran
	filter := r.Options.Filter
	filtered := len(filter.Only) > 0 || len(filter.Skip) > 0
	idle := len(did.ran) == 0 && rep.Status == runner.StatusPassed
	switch {
	case idle && len(did.without) > 0 && (!filtered || filter.Any || len(did.asked) == 0) && !r.Options.FixOnly:
		verdict{status: runner.StatusSkipped, summary: "nothing was run: " + strings.Join(did.without, "; ")}.into(rep)
	case !filtered:
	case idle && filter.Any:
		verdict{status: runner.StatusSkipped, summary: "the script has no such step here"}.into(rep)
	case len(did.asked) == 0:
		rep.Warnings = append(rep.Warnings, "the script asked about no step: the filter may have had no effect")
	case idle && len(filter.Only) == 0:
		broken(ModeNoStep, "no step ran: the filter leaves out %s, which is all that there is", strings.Join(did.asked, ", ")).into(rep)
	case idle:
		broken(ModeNoStep, "no step ran: the filter matched none of %s", strings.Join(did.asked, ", ")).into(rep)
	case !filter.Any:
		for _, name := range filter.Only {
			if !slices.Contains(did.asked, name) {
				rep.Warnings = append(rep.Warnings, fmt.Sprintf("there is no step %q; the script has %s", name, strings.Join(did.asked, ", ")))
			}
		}
	}
}

// ModeNoStep is the mode of a run whose script had nothing to do, because a person's filter met none of its steps.
const ModeNoStep = "no_step_ran"

// stepsDone are the steps that ran, all that the script asked about, each once, and what it could not run, with the reason;
// what it says is missing; and the runners that left no report.
type stepsDone struct {
	ran, asked, without, unreported []string
	missing                         []runner.Missing
}

// readSteps reads what the helpers wrote about steps.
func readSteps(dir string) (did stepsDone, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return did, err
	}
	defer func() { _ = root.Close() }()
	fi, err := root.Lstat(stepsFile)
	if err != nil {
		return did, err
	}
	if !fi.Mode().IsRegular() {
		return did, fmt.Errorf("%s is not a regular file", stepsFile)
	}
	f, err := root.Open(stepsFile)
	if err != nil {
		return did, err
	}
	defer func() { _ = f.Close() }()
	once := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxSteps))
	for lines.Scan() {
		word, name, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "" {
			continue
		}
		switch word {
		case "without":
			once(&did.without, name)
			continue
		case "unreported":
			once(&did.unreported, name)
			continue
		case runner.MissingTool, runner.MissingDependency:
			what, remedy, _ := strings.Cut(name, ": ")
			did.missing = add(did.missing, runner.Missing{Kind: word, Name: truncate.Head(what, maxReason), Remedy: remedy})
			continue
		case "ran":
			once(&did.ran, name)
		}
		once(&did.asked, name)
	}
	return did, lines.Err()
}

// hints say what to do next.
func hints(rep *runner.Report) []runner.Hint {
	var out []runner.Hint
	add := func(format string, a ...any) { out = append(out, runner.Hint{Message: fmt.Sprintf(format, a...)}) }
	if rep.Capability == runner.Test && rep.TestCounts == nil {
		add("no test is known to have run: see the end of the output")
	}
	if rep.RunnerExit != nil {
		switch *rep.RunnerExit {
		case 126:
			add("exit code 126 means that a file cannot be executed: give the script its executable bit and a first line such as #!/bin/sh")
		case 127:
			add("exit code 127 means that a command was not found: install it, put it on PATH, or correct the first line of the script, which names its interpreter")
		}
	}
	return out
}

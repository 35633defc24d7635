package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/runner"
)

// lockedWriter lets two streams share a writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Bounds of what people are shown of a report; programs get all of it.
const (
	shownFindings = 50
	summaryItems  = 20
)

// shortReport replaces the lists by their numbers and their first items.
func shortReport(rep *runner.Report) {
	s := &runner.Summary{ExitCode: rep.ExitCode}
	switch rep.Capability {
	case runner.Lint:
		s.TotalFindings = len(rep.LintFindings)
		slices.SortStableFunc(rep.LintFindings, newFirst)
		s.Categories = map[string]int{}
		for _, f := range rep.LintFindings {
			s.Categories[f.Category]++
		}
		s.TopFindings = rep.LintFindings[:min(len(rep.LintFindings), summaryItems)]
		rep.LintFindings = nil
	case runner.Test:
		if c := rep.TestCounts; c != nil {
			s.Total, s.Passed, s.Failed, s.Skipped = c.Total, c.Passed, c.Failed, c.Skipped
		}
		s.Failures = rep.FailedTests[:min(len(rep.FailedTests), summaryItems)]
		rep.FailedTests, rep.TestCases, rep.Failures = nil, nil, nil
	}
	rep.Summary = s
}

// showReport shows people how a check ended.
func (a *app) showReport(rep runner.Report) {
	took := (time.Duration(rep.DurationMS) * time.Millisecond).Round(10 * time.Millisecond)
	by := ""
	if rep.Extension != "" {
		by = "  " + a.color.Dim(fmt.Sprintf("%s, %s", rep.Extension, took))
	}
	a.printf("%s %s: %s%s\n", a.mark(rep.Status), a.color.Bold(rep.Capability), clean(rep.Phase.Summary), by)
	findings, failed := rep.LintFindings, rep.FailedTests
	if rep.Summary != nil {
		findings, failed = rep.Summary.TopFindings, rep.Summary.Failures
	}
	a.showFindings(slices.DeleteFunc(slices.Clone(findings), func(f runner.LintFinding) bool { return f.Known }))
	a.showBaseline(rep.Capability, rep.Baseline)
	a.showFailed(failed)
	a.showAnalysis(rep.Analysis)
	a.showDrift(rep.Drift)
	a.showAutofix(rep.Autofix)
	if c := rep.Coverage; c != nil {
		a.printf("  coverage %.2f%% of the lines (%d of %d)\n", c.Lines.Pct, c.Lines.Covered, c.Lines.Total)
		if c.Changed != nil {
			a.printf("  coverage %.2f%% of the changed lines (%d of %d)\n", c.Changed.Pct, c.Changed.Covered, c.Changed.Total)
		}
	}
	if rep.Build != nil {
		for _, art := range rep.Build.Artifacts {
			a.printf("  %s  %d bytes  sha256 %s\n", showPath(art.Path), art.Size, art.SHA256)
		}
	}
	if rep.Failure != nil && rep.Failure.Step != "" && rep.Failure.Category == runner.CategoryFindings {
		a.printf("  failed step: %s\n", clean(rep.Failure.Step)) // the summary says it of the others
	}
	for _, w := range rep.Warnings {
		a.printf("  %s %s\n", a.color.Yellow("warning:"), clean(w))
	}
	for _, h := range rep.Hints {
		a.hint("  %s", clean(h.Message))
	}
	if rep.Log != "" {
		a.hint("  the whole output: %s", rep.Log)
	}
}

func (a *app) mark(status string) string {
	switch status {
	case runner.StatusPassed:
		return a.color.Green("✓")
	case runner.StatusFailed:
		return a.color.Red("✗")
	case runner.StatusError:
		return a.color.Red("!")
	}
	return a.color.Dim("-")
}

func (a *app) showFindings(list []runner.LintFinding) {
	for i, f := range list {
		if i == shownFindings {
			a.printf("  … and %d more (--json has all)\n", len(list)-i)
			break
		}
		where := ""
		if f.File != "" {
			where = place(f)
		}
		rule := strings.TrimSpace(f.Tool + " " + f.Rule)
		a.printf("  %s\n", strings.TrimSpace(fmt.Sprintf("%s  %s  %s", where, shorten(clean(f.Message), 200), a.color.Dim(clean(rule)))))
	}
}

// place is where a finding is, as far as its tool says.
func place(f runner.LintFinding) string {
	where := showPath(f.File)
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
		if f.Column > 0 {
			where += fmt.Sprintf(":%d", f.Column)
		}
	}
	return where
}

func (a *app) showFailed(list []runner.FailedTest) {
	for i, t := range list {
		if i == shownFindings {
			a.printf("  … and %d more (--json has all)\n", len(list)-i)
			break
		}
		where := ""
		if t.Location != "" {
			where = "  " + a.color.Dim(showPath(t.Location))
		}
		a.printf("  %s%s\n", a.color.Bold(clean(t.Name)), where)
		for _, line := range said(t.Detail) {
			a.printf("      %s\n", line)
		}
	}
}

// Bounds of what is shown of a failed test's output: some tests begin with the reason, others end with it.
const (
	saidFirst, saidLast = 5, 2
	saidWidth           = 160
)

// said returns the first and the last lines of a test's output.
func said(text string) []string {
	var lines []string
	for line := range strings.Lines(cleanLines(text)) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, shorten(strings.ReplaceAll(line, "\t", "    "), saidWidth))
		}
	}
	if n := len(lines) - saidFirst - saidLast; n > 1 {
		lines = slices.Concat(lines[:saidFirst], []string{fmt.Sprintf("… %d lines", n)}, lines[saidFirst+n:])
	}
	return lines
}

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// ModeMissing is the mode of a run that did not tell what it was asked because a tool or a dependency is not here.
const ModeMissing = "missing"

// ModeNoReport is the mode of a run whose runner ended well and left no report.
const ModeNoReport = "no_report"

// lacking is what a run needed and did not find: what its script says, else what the output shows.
func (r *Request) lacking(did stepsDone, cases []runner.TestCase, texts ...string) []runner.Missing {
	out := slices.Clone(did.missing)
	for _, c := range cases {
		if line, ok := helper.DownloadFailure(c.Message); ok && c.Type == testreport.TypeBuild {
			out = add(out, runner.Missing{Kind: runner.MissingDependency, Name: truncate.Head(line, maxReason), Remedy: "download the modules with a network, for example with go mod download"})
		}
	}
	if len(out) > 0 || testreport.Count(cases).Failed > 0 {
		return out // tests that ran and failed print what they like
	}
	if kind, line := helper.Absent(texts...); kind != "" {
		remedy := "install it, and put it on PATH"
		if kind == runner.MissingDependency {
			remedy = "install the dependencies of the project"
		}
		out = append(out, runner.Missing{Kind: kind, Name: truncate.Head(line, maxReason), Remedy: remedy})
	}
	return out
}

func add(list []runner.Missing, m runner.Missing) []runner.Missing {
	if slices.ContainsFunc(list, func(o runner.Missing) bool { return o.Kind == m.Kind && o.Name == m.Name }) {
		return list
	}
	return append(list, m)
}

// forWant reports whether every failed test stands for tests that could not be built or loaded because something is missing. A
// failure for another reason is a failure.
func forWant(cases []runner.TestCase, missing []runner.Missing) bool {
	failed := false
	for _, c := range cases {
		if c.Status != runner.CaseFailed {
			continue
		}
		failed = true
		if !unloaded(c) || !isAboutMissing(c, missing) {
			return false
		}
	}
	return failed
}

// unloaded reports whether a case stands for tests that could not be built or loaded.
func unloaded(c runner.TestCase) bool {
	return c.Type == testreport.TypeBuild || c.Type == testreport.TypeLoad
}

// isAboutMissing reports whether the message of a case is about what is missing. A message that only says that a file failed counts
// too.
func isAboutMissing(c runner.TestCase, missing []runner.Missing) bool {
	if c.Type == testreport.TypeBuild {
		_, ok := helper.DownloadFailure(c.Message)
		return ok
	}
	if !strings.Contains(c.Message, "\n") && strings.Contains(c.Message, "test failed") {
		return true
	}
	return slices.ContainsFunc(missing, func(m runner.Missing) bool {
		return slices.ContainsFunc([]string{"'", `"`, "`"}, func(quote string) bool {
			at := quote + m.Name
			return strings.Contains(c.Message, at+quote) || strings.Contains(c.Message, at+".") || strings.Contains(c.Message, at+"/")
		}) || strings.HasSuffix(strings.TrimSpace(c.Message), " "+m.Name)
	})
}

// nothingLoaded reports whether there are tests and not one of their files could be built or loaded.
func nothingLoaded(cases []runner.TestCase) bool {
	return len(cases) > 0 && !slices.ContainsFunc(cases, func(c runner.TestCase) bool { return c.Status != runner.CaseFailed || !unloaded(c) })
}

// wants lists in a few words what is missing.
func wants(missing []runner.Missing) string {
	const most = 3
	var names []string
	for _, m := range missing[:min(most, len(missing))] {
		names = append(names, m.Name)
	}
	if n := len(missing) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// remedies are what to do about what is missing, each once.
func remedies(missing []runner.Missing) string {
	var out []string
	for _, m := range missing {
		if m.Remedy != "" && !slices.Contains(out, m.Remedy) {
			out = append(out, m.Remedy)
		}
	}
	return strings.Join(out, "; ")
}

// causeOf says why a check could not be run at all; empty: it could.
func causeOf(v verdict, f facts) string {
	switch v.mode {
	case ModeMissing, "command_missing":
		for _, m := range f.missing {
			if m.Kind == runner.MissingDependency {
				return runner.CauseDependency
			}
		}
		return runner.CauseTool
	case helper.ModeNoTestFiles, helper.ModeZeroTests, helper.ModeNoOutput, "zero_tests":
		return runner.CauseNoTests
	case ModeNoReport:
		return runner.CauseNoReport
	}
	if f.capability == runner.Test && nothingLoaded(f.cases) {
		return runner.CauseUnloaded
	}
	return ""
}

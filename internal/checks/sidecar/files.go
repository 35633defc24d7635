package sidecar

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The names of the sidecars, as faults and manifests have them.
const (
	LintFindings = "lint.findings"
	TestResults  = "test.results"
	TestFailures = "test.failures"
	TestCases    = "test.cases"   // deed's own: the tests by name
	TestReports  = "test.reports" // deed's own: reports as the tools write them
	Coverage     = "coverage"
	Annotations  = "annotations"
	FixResults   = "fix.results"
	FixPlan      = "fix.plan"
)

// Files are the paths in a run directory: where a script writes, and where deed reads. None of them is there before a
// script writes it, but for the two directories.
type Files struct {
	Dir          string
	LintFindings string
	TestResults  string
	TestFailures string
	TestCases    string
	TestReports  string // a directory
	Coverage     string
	Annotations  string // a directory
	FixResults   string
	FixPlan      string
}

// Paths are the files of a run directory. What sees it under another name, as a sandbox does, gets the paths of that name.
func Paths(dir string) Files {
	return Files{
		Dir:          dir,
		LintFindings: filepath.Join(dir, "lint-findings.json"),
		TestResults:  filepath.Join(dir, "test-results.json"),
		TestFailures: filepath.Join(dir, "test-failures.json"),
		TestCases:    filepath.Join(dir, "test-cases.json"),
		TestReports:  filepath.Join(dir, "reports"),
		Coverage:     filepath.Join(dir, "coverage.json"),
		Annotations:  filepath.Join(dir, "annotations"),
		FixResults:   filepath.Join(dir, "fix-results.json"),
		FixPlan:      filepath.Join(dir, "fix-plan.json"),
	}
}

// Make makes the run directory with its two directories.
func (f Files) Make() error {
	for _, dir := range []string{f.Dir, f.Annotations, f.TestReports} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the run directory: %w", err)
		}
	}
	return nil
}

// Env is how a script finds its files. All variables are set in every run, whatever the capability, even those of files that deed
// does not read: scripts with set -u need them.
func (f Files) Env() map[string]string {
	return map[string]string{
		"HOMEBOY_RUN_DIR":            f.Dir,
		"HOMEBOY_LINT_FINDINGS_FILE": f.LintFindings,
		"HOMEBOY_TEST_RESULTS_FILE":  f.TestResults,
		"HOMEBOY_TEST_FAILURES_FILE": f.TestFailures,
		"HOMEBOY_COVERAGE_FILE":      f.Coverage,
		"HOMEBOY_ANNOTATIONS_DIR":    f.Annotations,
		"HOMEBOY_FIX_RESULTS_FILE":   f.FixResults,
		"HOMEBOY_FIX_PLAN_FILE":      f.FixPlan,
		"DEED_TEST_CASES_FILE":       f.TestCases,
		"DEED_TEST_REPORT_DIR":       f.TestReports,

		"HOMEBOY_LINT_PRODUCERS_FILE": filepath.Join(f.Dir, "lint-producers.json"),
		"HOMEBOY_TEST_DURATIONS_FILE": filepath.Join(f.Dir, "test-durations.json"),
		"HOMEBOY_PHASE_TIMINGS_FILE":  filepath.Join(f.Dir, "phase-timings.json"),
		"HOMEBOY_BENCH_RESULTS_FILE":  filepath.Join(f.Dir, "bench-results.json"),
		"HOMEBOY_TRACE_RESULTS_FILE":  filepath.Join(f.Dir, "trace.json"),
	}
}

// ErrPath is wrapped when a manifest declares a path that is not below the run directory.
var ErrPath = errors.New("a sidecar's path is relative to the run directory and does not leave it")

// Declare gives a sidecar the path that a manifest declares for it.
func (f *Files) Declare(name, path string) error {
	if path == "." || !filepath.IsLocal(path) {
		return fmt.Errorf("sidecar %s: path %q: %w", name, path, ErrPath)
	}
	fields := map[string]*string{
		LintFindings: &f.LintFindings, TestResults: &f.TestResults, TestFailures: &f.TestFailures,
		TestCases: &f.TestCases, TestReports: &f.TestReports, Coverage: &f.Coverage,
		Annotations: &f.Annotations, FixResults: &f.FixResults, FixPlan: &f.FixPlan,
	}
	field := fields[name]
	if field == nil {
		return nil // one that deed does not read
	}
	*field = filepath.Join(f.Dir, path)
	return nil
}

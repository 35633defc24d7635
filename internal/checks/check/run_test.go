package check_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/project"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	os.Exit(m.Run())
}

// A stage is a component with one extension, ready to run.
type stage struct {
	t         *testing.T
	dir       string // of the component; its name has a blank and a quote
	ext       string
	component project.Component
	request   check.Request
}

// script makes a stage whose extension serves a capability with a script.
func script(t *testing.T, capability, text string) *stage {
	t.Helper()
	root := t.TempDir()
	s := &stage{t: t, dir: filepath.Join(root, "it's a component"), ext: filepath.Join(root, "ext dir", "probe")}
	for _, d := range []string{s.dir, s.ext} {
		must(t, os.MkdirAll(d, 0o700))
	}
	must(t, os.WriteFile(filepath.Join(s.ext, "probe.json"), fmt.Appendf(nil, `{"name":"probe","version":"1.0.0",%q:{"extension_script":"run.sh"},"settings":[{"id":"level","default":3}]}`, capability), 0o600))
	must(t, os.WriteFile(filepath.Join(s.ext, "run.sh"), []byte("#!/bin/sh\n"+text), 0o700))
	s.component = project.Component{ID: "it-s-a-component", Path: s.dir}
	return s
}

func (s *stage) job(capability string, o check.Options) check.Job {
	set, err := extension.Find(extension.Places{Extra: []string{s.ext}})
	must(s.t, err)
	return check.Job{Component: s.component, Extensions: set, Capability: capability, Options: o, Choice: extension.Options{Use: []string{"probe"}}}
}

func (s *stage) run(capability string, o check.Options, edit ...func(*check.Request)) runner.Report {
	s.t.Helper()
	requests, _, err := s.job(capability, o).Requests()
	must(s.t, err)
	if len(requests) != 1 {
		s.t.Fatalf("%d requests", len(requests))
	}
	r := requests[0]
	run := filepath.Join(s.t.TempDir(), "run")
	must(s.t, check.NewRunDir(run))
	sup, err := proc.NewSupervisor(s.t.Context(), proc.Options{})
	must(s.t, err)
	defer sup.Close()
	r.RunDir, r.Exec = check.Here(run), sup.Run
	r.Environ = []string{"PATH=/usr/bin:/bin", "HOMEBOY_RUN_DIR=/outer", "HOMEBOY_DEBUG=1", "HOMEBOY_NODE_TEST_COMMAND=x"}
	if r.Helpers, err = helper.Materialise(s.t.TempDir()); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range edit {
		e(&r)
	}
	s.request = r
	rep, err := check.Run(s.t.Context(), r)
	must(s.t, err)
	return rep
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEnvironment holds what a script sees against the contract.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := script(t, runner.Lint, `env > "$HOMEBOY_COMPONENT_PATH/env"; pwd > "$HOMEBOY_COMPONENT_PATH/cwd"; ls "$HOMEBOY_RUN_DIR" > "$HOMEBOY_COMPONENT_PATH/ls"`)
	s.component.Env = map[string]string{"OF_COMPONENT": "yes", "HOMEBOY_COMPONENT_ID": "spoofed"}
	rep := s.run(runner.Lint, check.Options{Filter: check.NewFilter([]string{" a, b"}, nil), File: "x.go", ErrorsOnly: true, ChangedFiles: []string{"a.go", "b c.go"}})
	if !rep.Passed {
		t.Fatalf("%+v", rep)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "env"))
	must(t, err)
	env := map[string]string{}
	for l := range strings.Lines(string(text)) {
		k, v, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "=")
		env[k] = v
	}
	run := s.request.RunDir.Host
	for name, want := range map[string]string{
		"HOMEBOY_EXEC_CONTEXT_VERSION": "2", "HOMEBOY_EXTENSION_ID": "probe", "HOMEBOY_EXTENSION_PATH": s.ext,
		"HOMEBOY_COMPONENT_ID": "it-s-a-component", "HOMEBOY_COMPONENT_PATH": s.dir, "HOMEBOY_PROJECT_PATH": s.dir, "HOMEBOY_SETTINGS_JSON": `{"level":3}`,
		"HOMEBOY_STEP": "a,b", "HOMEBOY_LINT_FILE": "x.go", "HOMEBOY_ERRORS_ONLY": "1", "HOMEBOY_RUN_DIR": run,
		"HOMEBOY_LINT_FINDINGS_FILE": filepath.Join(run, "lint-findings.json"), "HOMEBOY_DEBUG": "1", "HOMEBOY_NODE_TEST_COMMAND": "x", "OF_COMPONENT": "yes",
		"HOMEBOY_LINT_CHANGED_FILES_FILE": filepath.Join(run, "changed-files.txt"), "DEED_STEPS_FILE": filepath.Join(run, "steps.log"),
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for _, name := range []string{"HOMEBOY_SKIP", "HOMEBOY_FIX_ONLY", "HOMEBOY_COVERAGE", "HOMEBOY_SUMMARY_MODE", "HOMEBOY_LINT_GLOB", "HOMEBOY_FIX_PLAN_FILE", "HOMEBOY_PLUGIN_PATH"} {
		if v, ok := env[name]; ok {
			t.Errorf("%s is set, to %q", name, v)
		}
	}
	for name := range s.request.Helpers {
		if _, err := os.Stat(env[name]); err != nil || !strings.HasPrefix(name, "HOMEBOY_RUNTIME_") {
			t.Errorf("%s is %q: %v", name, env[name], err)
		}
	}
	for file, want := range map[string]string{"cwd": s.dir + "\n", "ls": "annotations\nchanged-files.txt\nreports\n"} {
		got, err := os.ReadFile(filepath.Join(s.dir, file))
		must(t, err)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// TestScripts runs scripts that real ones resemble.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, capability, text string
		options                check.Options
		status, want           string // want is in the summary or in a warning
	}{
		{"findings and exit 0", runner.Lint, `echo '[{"id":"a::r::1","message":"m","category":"c","file":"a.go","line":1}]' > "$HOMEBOY_LINT_FINDINGS_FILE"`, check.Options{}, runner.StatusFailed, "1 finding"},
		{"malformed findings", runner.Lint, `echo '[{' > "$HOMEBOY_LINT_FINDINGS_FILE"; exit 1`, check.Options{}, runner.StatusError, "cannot be read"},
		{"an empty sidecar", runner.Lint, `: > "$HOMEBOY_LINT_FINDINGS_FILE"`, check.Options{}, runner.StatusPassed, "no findings"},
		{"counts by the helper", runner.Test, `. "$HOMEBOY_RUNTIME_WRITE_TEST_RESULTS"; homeboy_write_test_results 3 2 0 1`, check.Options{}, runner.StatusPassed, "2 passed, 1 skipped"},
		{"counts in the text", runner.Test, `echo "OK (1 test, 1 assertion)"`, check.Options{}, runner.StatusPassed, "1 passed"},
		{"Jest's line", runner.Test, `echo "Tests:       1 failed, 41 passed, 42 total"; exit 1`, check.Options{}, runner.StatusFailed, "1 failure(s) out of 42"},
		{"tests by name", runner.Test, `echo '[{"name":"a","status":"passed"},{"name":"b","status":"failed","message":"no"}]' > "$DEED_TEST_CASES_FILE"`, check.Options{}, runner.StatusFailed, "1 failure(s) out of 2"},
		{"counts that hide a failed test", runner.Test, `echo '{"total":2,"passed":2,"failed":0,"skipped":0}' > "$HOMEBOY_TEST_RESULTS_FILE"; echo '[{"name":"a","status":"passed"},{"name":"b","status":"failed"}]' > "$DEED_TEST_CASES_FILE"`, check.Options{}, runner.StatusFailed, "1 failure(s) out of 2"},
		{"a report that was cut short", runner.Test, `echo '<testsuite name="s"><testcase name="a"/><testca' > "$DEED_TEST_REPORT_DIR/junit.xml"`, check.Options{}, runner.StatusError, "cannot be read"},
		{"tests by name in the text", runner.Test, `printf '%s\n' 'TAP version 13' 'ok 1 - a' 'not ok 2 - b' '1..2'; exit 1`, check.Options{}, runner.StatusFailed, "1 failure(s) out of 2"},
		{"failures alone", runner.Test, `echo '[{"test_name":"a","message":"no"}]' > "$HOMEBOY_TEST_FAILURES_FILE"; exit 1`, check.Options{}, runner.StatusFailed, "1 failure(s)"},
		{"a filter that matches nothing", runner.Lint, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; if should_run_step phpcs; then echo ran; fi`, check.Options{Filter: check.NewFilter([]string{"phcps"}, nil)}, runner.StatusError, "no step ran"},
		{"a filter with a typo beside a match", runner.Lint, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; if should_run_step phpcs; then echo ran; fi`, check.Options{Filter: check.NewFilter([]string{"phpcs,eslnt"}, nil)}, runner.StatusPassed, `no step "eslnt"`},
		{"a filter that leaves out everything", runner.Lint, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; if should_run_step phpcs; then echo ran; fi`, check.Options{Filter: check.NewFilter(nil, []string{"phpcs"})}, runner.StatusError, "leaves out phpcs"},
		{"steps of the manifest of which none is here", runner.Lint, `. "$HOMEBOY_RUNTIME_RUNNER_STEPS"; if should_run_step phpcs; then echo ran; fi`, check.Options{Filter: check.Filter{Only: []string{"mypy"}, Any: true}}, runner.StatusSkipped, "no such step"},
		{"a linter that is not installed", runner.Lint, `echo "without eslint: it is not installed" >>"$DEED_STEPS_FILE"`, check.Options{}, runner.StatusSkipped, "nothing was run: eslint: it is not installed"},
		{"a linter that the project asks for", runner.Lint, `echo "tool ruff: pip install ruff" >>"$DEED_STEPS_FILE"`, check.Options{}, runner.StatusError, "missing: ruff (pip install ruff)"},
		{"a runner that left no report", runner.Test, `echo "unreported pytest" >>"$DEED_STEPS_FILE"; exit 2`, check.Options{}, runner.StatusError, "pytest left no report"},
		{"a linter that is not installed, and a finding", runner.Lint, `echo "without eslint: it is not installed" >>"$DEED_STEPS_FILE"; echo '[{"message":"m"}]' > "$HOMEBOY_LINT_FINDINGS_FILE"`, check.Options{}, runner.StatusFailed, "1 finding"},
		{"a tool that is missing", runner.Test, `printf '\n==\nBUILD FAILED: npm is missing\n==\n\nError details:\nnpm is not on PATH: install it\nmore\n'; exit 2`, check.Options{}, runner.StatusError, "(exit 2): npm is missing: npm is not on PATH: install it"},
		{"a script that knows no steps", runner.Lint, `exit 0`, check.Options{Filter: check.NewFilter([]string{"phpcs"}, nil)}, runner.StatusPassed, "asked about no step"},
		{"killed by itself", runner.Lint, `kill -KILL $$`, check.Options{}, runner.StatusError, "signal 9"},
		{"an interpreter that is not there", runner.Lint, "no-such-program-at-all\n", check.Options{}, runner.StatusError, "exit 127"},
		{"coverage below the threshold", runner.Test, coverage(79), check.Options{CoverageMin: new(80.0)}, runner.StatusFailed, "79.00% of the lines"},
		{"48: coverage at the threshold", runner.Test, coverage(80), check.Options{CoverageMin: new(80.0)}, runner.StatusPassed, ""},
		{"coverage asked for and not written", runner.Test, `echo "OK (1 test, 1 assertion)"`, check.Options{CoverageMin: new(80.0)}, runner.StatusError, "no report of it"},
		{"arguments are words", runner.Test, `[ "$#" = 2 ] && [ "$2" = "b  \$c" ] && echo "OK (1 test, 1 assertion)"`, check.Options{Args: []string{"a", "b  $c"}}, runner.StatusPassed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rep := script(t, c.capability, c.text).run(c.capability, c.options)
			said := append([]string{rep.Phase.Summary}, rep.Warnings...)
			if rep.Status != c.status || !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, c.want) }) {
				out, _ := json.MarshalIndent(rep, "", " ")
				t.Errorf("want %s and %q in %q\n%s", c.status, c.want, said, out)
			}
		})
	}
}

func coverage(pct int) string {
	return fmt.Sprintf(`echo "OK (1 test, 1 assertion)"; echo '{"totals":{"lines":{"pct":%d,"total":100,"covered":%d},"methods":{"pct":0,"total":0,"covered":0}},"files":[]}' > "$HOMEBOY_COVERAGE_FILE"`, pct, pct)
}

func TestTimeLimitEndsTheTree(t *testing.T) {
	t.Parallel()
	s := script(t, runner.Test, `trap '' TERM; echo started; (while :; do sleep 1; done) & while :; do sleep 1; done`)
	for limit := 300 * time.Millisecond; ; limit *= 4 { // a tree that has not started yet shows nothing
		rep := s.run(runner.Test, check.Options{}, func(r *check.Request) { r.Timeout = limit })
		if rep.Status != runner.StatusError || rep.Failure.Mode != "timeout" || rep.RunnerExit != nil {
			t.Fatalf("%+v %+v", rep, rep.Failure)
		}
		if rep.RawOutput != nil && rep.RawOutput.StdoutTail == "started" {
			return
		}
		if limit > 10*time.Second {
			t.Fatalf("%+v %+v", rep, rep.RawOutput)
		}
	}
}

// TestHooks: edge case 43. A failing hook before the capability ends the run; one after it is only reported.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := script(t, runner.Lint, `touch ran`)
	s.component.Hooks = map[string][]string{"pre:lint": {"echo no >&2; exit 4", "touch second"}}
	rep := s.run(runner.Lint, check.Options{})
	if rep.Status != runner.StatusError || rep.Failure.Mode != "hook" || len(rep.Hooks) != 1 || rep.Hooks[0].Commands[0].ExitCode != 4 || rep.Hooks[0].Commands[0].Stderr != "no\n" {
		t.Errorf("%+v", rep)
	}
	for _, f := range []string{"ran", "second"} {
		if _, err := os.Stat(filepath.Join(s.dir, f)); err == nil {
			t.Errorf("%s was made after a hook had failed", f)
		}
	}
	s.component.Hooks = map[string][]string{"pre:lint": {"echo $DEED_HOOK > first"}, "post:lint": {"exit 5", "touch last"}}
	rep = s.run(runner.Lint, check.Options{})
	if !rep.Passed || len(rep.Hooks) != 2 || rep.Hooks[1].AllSucceeded || len(rep.Warnings) == 0 {
		t.Errorf("%+v", rep)
	}
	for _, f := range []string{"ran", "first", "last"} {
		if _, err := os.Stat(filepath.Join(s.dir, f)); err != nil {
			t.Error(err)
		}
	}
}

// TestBuildTellsWhatItLeft: the newest file that fits, and the versions that targets name.
func TestBuildTellsWhatItLeft(t *testing.T) {
	t.Parallel()
	s := script(t, runner.Build, `mkdir -p dist; echo old > dist/a.zip; touch -d 2001-01-01 dist/a.zip; echo new > dist/b.zip; echo '{"version": "1.2.3"}' > package.json`)
	s.component.BuildArtifact = "dist/*.zip"
	s.component.VersionTargets = []settings.VersionTarget{{File: "package.json"}, {File: "missing.json", Pattern: "(x)"}}
	rep := s.run(runner.Build, check.Options{})
	if !rep.Passed || len(rep.Build.Artifacts) != 1 || rep.Build.Artifacts[0].Path != "dist/b.zip" || rep.Build.Artifacts[0].Size != 4 {
		t.Fatalf("%+v %+v", rep, rep.Build)
	}
	if v := rep.Build.Versions; len(v) != 2 || v[0].Version != "1.2.3" || v[1].Fault == "" {
		t.Errorf("%+v", v)
	}
}

// TestOwnScripts: edge case 45. A component's own commands run one after another, the first failure ends them, and its exit
// code is reported.
func TestOwnScripts(t *testing.T) {
	t.Parallel()
	s := script(t, runner.Test, "")
	s.component.Scripts = map[string][]string{runner.Test: {"echo one", "echo two; exit 7", "touch three"}}
	j := s.job(runner.Test, check.Options{})
	j.Choice.Use = nil
	requests, _, err := j.Requests()
	must(t, err)
	sup, err := proc.NewSupervisor(t.Context(), proc.Options{})
	must(t, err)
	defer sup.Close()
	r := requests[0]
	run := filepath.Join(t.TempDir(), "run")
	must(t, check.NewRunDir(run))
	r.RunDir, r.Exec = check.Here(run), sup.Run
	rep, err := check.Run(t.Context(), r)
	must(t, err)
	if rep.RunnerExit == nil || *rep.RunnerExit != 7 || rep.Extension != check.ScriptExtension || rep.RawOutput.StdoutTail != "one\ntwo" {
		t.Errorf("%+v %+v", rep, rep.RawOutput)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "three")); err == nil {
		t.Error("the third command ran")
	}
}

// TestDeclaredSidecars: edge case 50. A manifest may name another place below the run directory, and no other.
func TestDeclaredSidecars(t *testing.T) {
	t.Parallel()
	declare := func(s *stage, text string) {
		must(t, os.WriteFile(filepath.Join(s.ext, "probe.json"), []byte(`{"name":"probe","version":"1.0.0","test":{"extension_script":"run.sh"},"structured_sidecars":`+text+`}`), 0o600))
	}
	s := script(t, runner.Test, `case "$HOMEBOY_TEST_RESULTS_FILE" in "$HOMEBOY_RUN_DIR/own/counts.json") ;; *) exit 9 ;; esac
mkdir -p "$HOMEBOY_RUN_DIR/own"; echo '{"total":1,"passed":1}' > "$HOMEBOY_RUN_DIR/own/counts.json"`)
	declare(s, `{"test.results":{"path":"own/counts.json"},"lint.findings":true,"of.tomorrow":{"path":"x"}}`)
	if rep := s.run(runner.Test, check.Options{}); !rep.Passed || rep.TestCounts == nil || rep.TestCounts.Passed != 1 {
		t.Errorf("%+v", rep)
	}
	for _, path := range []string{"/abs", "../x", ""} {
		declare(s, fmt.Sprintf(`{"test.results":{"path":%q}}`, path))
		if _, _, err := s.job(runner.Test, check.Options{}).Requests(); err == nil || !strings.Contains(err.Error(), "test.results") {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

func TestMergeTellsTheWorst(t *testing.T) {
	t.Parallel()
	one, two := 1, 0
	got := check.Merge([]runner.Report{
		{Extension: "go", Status: runner.StatusPassed, Passed: true, RunnerExit: &two, TestCounts: &runner.TestResults{Total: 2, Passed: 2}, Phase: runner.Phase{Summary: "fine"}},
		{Extension: "node", Status: runner.StatusFailed, ExitCode: 1, RunnerExit: &one, TestCounts: &runner.TestResults{Total: 3, Passed: 2, Failed: 1}, Warnings: []string{"w"}, Failure: &runner.Failure{Summary: "one failed"}, Phase: runner.Phase{Summary: "one failed"}},
		{Extension: "shell", Status: runner.StatusSkipped, Passed: true},
	})
	if got.Status != runner.StatusFailed || got.Passed || got.ExitCode != 1 || *got.RunnerExit != 1 || got.Failure == nil || got.Extension != "go, node, shell" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(&runner.TestResults{Total: 5, Passed: 4, Failed: 1}, got.TestCounts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"node: w"}, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

// TestMergeTakesIdleRunsForSkipped: a filter that met a step of one script leaves the others nothing to do.
func TestMergeTakesIdleRunsForSkipped(t *testing.T) {
	t.Parallel()
	idle := runner.Report{Extension: "python", Capability: runner.Lint, Status: runner.StatusError, ExitCode: 3, Failure: &runner.Failure{Mode: check.ModeNoStep, Category: runner.CategoryInfrastructure}}
	ran := runner.Report{Extension: "go", Capability: runner.Lint, Status: runner.StatusPassed, Passed: true, Steps: []string{"gofmt"}}
	if got := check.Merge([]runner.Report{idle, ran}); got.Status != runner.StatusPassed || !got.Passed || got.Failure != nil || got.ExitCode != 0 {
		t.Errorf("with one that ran: %+v", got)
	}
	if got := check.Merge([]runner.Report{idle, idle}); got.Status != runner.StatusError || got.ExitCode != 3 {
		t.Errorf("with none that ran: %+v", got)
	}
}

// TestRunDirIsNew: a run directory that is there already could hold another's results.
func TestRunDirIsNew(t *testing.T) {
	t.Parallel()
	if err := check.NewRunDir(t.TempDir()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
}

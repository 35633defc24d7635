package helper

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deedrun/deed/contract/runner"
)

const (
	findings = runner.CategoryFindings
	infra    = runner.CategoryInfrastructure
)

// classified are runs as they happen, and how each is classified.
var classified = []struct {
	name string
	in   Evidence
	want Outcome // Summary and Replay are only held against the shell helper
}{
	// The eight modes of the seed.
	{
		"bootstrap with a stage",
		Evidence{Exit: 3, Log: "STAGE_OK:boot\nSTAGE_FAIL:install:no network\n", Stdout: "FAILURES!"},
		Outcome{Mode: ModeBootstrap, Stage: "install", Step: "tests bootstrap (install stage)", Category: infra, Exit: 3},
	},
	{"bootstrap although it ended with 0", Evidence{Log: "STAGE_FATAL:db"}, Outcome{Mode: ModeBootstrap, Stage: "db", Step: "tests bootstrap (db stage)", Category: infra, Exit: 2}},
	{"bootstrap by its marker", Evidence{Exit: 1, Stderr: "BOOTSTRAP FAILURE: Install: no network"}, Outcome{Mode: ModeBootstrap, Stage: "install", Step: "tests bootstrap (install stage)", Category: infra, Exit: 2}},
	{"a marker of old hosts", Evidence{Exit: 1, Stdout: "Playground PHP crash"}, Outcome{Mode: ModeBootstrap, Step: "tests bootstrap", Category: infra, Exit: 2}},
	{"a marker in a run that passed", Evidence{Stdout: "bootstrap failure: is what this test is about\nok 1 - x"}, Outcome{Mode: ModeClean}},
	{"assertions by the log", Evidence{Log: "SOME TESTS FAILED\n", Exit: 255}, Outcome{Mode: ModeAssertions, Step: "tests", Category: findings, Exit: 1}},
	{"assertions by the counts, exit 101", Evidence{Name: "cargo test", Exit: 101, Counts: &runner.TestResults{Total: 4, Failed: 1}}, Outcome{Mode: ModeAssertions, Step: "cargo test", Category: findings, Exit: 1}},
	{"assertions although it ended with 0", Evidence{Counts: &runner.TestResults{Total: 4, Failed: 1}}, Outcome{Mode: ModeAssertions, Step: "tests", Category: findings, Exit: 1}},
	{"findings of a linter", Evidence{Capability: "lint", Findings: 2, Exit: 1}, Outcome{Mode: ModeAssertions, Step: "lint", Category: findings, Exit: 1}},
	{"PHPUnit's text", Evidence{Exit: 2, Stdout: "FAILURES!\nTests: 3, Assertions: 3, Failures: 1."}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{
		"PHP before the runner",
		Evidence{Name: "PHPUnit", Exit: 255, Stdout: "PHP Parse error:  syntax error in a.php on line 3"},
		Outcome{Mode: ModeFatal, Step: "PHPUnit crash (before the runner took control)", Category: infra, Exit: 255},
	},
	{"nothing says why", Evidence{Exit: 9, Stdout: "hello"}, Outcome{Mode: ModeUnclassified, Step: "tests exited with code 9 (unclassified)", Category: infra, Exit: 9}},
	{"exit 1, nothing parsed", Evidence{Exit: 1}, Outcome{Mode: ModeUnclassified, Step: "tests exited with code 1 (unclassified)", Category: infra, Exit: 2}},
	{"killed", Evidence{Exit: 137, Stdout: "running"}, Outcome{Mode: ModeUnclassified, Step: "tests exited with code 137 (unclassified)", Category: infra, Exit: 137}},
	{"killed, as the host sees it", Evidence{Exit: -1}, Outcome{Mode: ModeUnclassified, Step: "tests exited with code -1 (unclassified)", Category: infra, Exit: 2}},
	{"no output", Evidence{Stdout: " \n\t\n"}, Outcome{Mode: ModeNoOutput, Step: "tests (no output)", Category: infra, Exit: 2}},
	{"no output of a linter", Evidence{Capability: "lint"}, Outcome{Mode: ModeClean}},
	{"no output, but counts", Evidence{Counts: &runner.TestResults{Total: 1, Passed: 1}}, Outcome{Mode: ModeClean}},
	{"no test files by the log", Evidence{Log: "NO_TEST_FILES\n", Stdout: "x"}, Outcome{Mode: ModeNoTestFiles, Step: "tests (no test files)", Category: infra, Exit: 2}},
	{"zero tests of PHPUnit", Evidence{Stdout: "No tests executed!"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"zero by the text", Evidence{Stdout: "OK (0 tests, 0 assertions)"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"zero by the counts", Evidence{Stdout: "fine", Counts: &runner.TestResults{}}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"passed", Evidence{Stdout: "OK (3 tests, 3 assertions)"}, Outcome{Mode: ModeClean}},

	// Go.
	{"go test fails", Evidence{Exit: 1, Stdout: "--- FAIL: TestX (0.00s)\n    panic: no\nFAIL\tx\t0.1s"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{
		"go does not compile",
		Evidence{Exit: 1, Stderr: "# x\n./a.go:3:1: undefined: y", Stdout: "?   \ty\t[no test files]\nFAIL\tx [build failed]\nFAIL"},
		Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2},
	},
	{"go panics in init", Evidence{Exit: 1, Stdout: "panic: at the start\n\ngoroutine 1 [running]:\nFAIL\tx\t0.01s"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},
	{"go has no module", Evidence{Exit: 1, Stderr: "go: cannot find main module, but found .git/config"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},
	{"go has no test files", Evidence{Stdout: "?   \tx\t[no test files]"}, Outcome{Mode: ModeNoTestFiles, Step: "tests (no test files)", Category: infra, Exit: 2}},
	{"go has some", Evidence{Stdout: "?   \tx\t[no test files]\nok  \ty\t0.012s"}, Outcome{Mode: ModeClean}},
	{"go with coverage", Evidence{Stdout: "?   \tx\t[no test files]\nok  \ty\t0.012s\tcoverage: 50.0% of statements"}, Outcome{Mode: ModeClean}},
	{"go ran none", Evidence{Stdout: "testing: warning: no tests to run\nPASS\nok  \tx\t0.07s [no tests to run]"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"go ran none, and one package has none", Evidence{Stdout: "?   \ty\t[no test files]\nok  \tx\t0.07s [no tests to run]"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"go matches nothing", Evidence{Exit: 1, Stderr: "go: warning: \"./...\" matched no packages\nno packages to test"}, Outcome{Mode: ModeNoTestFiles, Step: "tests (no test files)", Category: infra, Exit: 2}},

	// Node.js.
	{"node fails", Evidence{Exit: 1, Stdout: "\x1b[34mℹ tests 3\x1b[39m\n\x1b[34mℹ fail 1\x1b[39m"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"node's TAP", Evidence{Exit: 1, Stdout: "TAP version 13\nnot ok 1 - bad\n# fail 1"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"node passes", Evidence{Stdout: "ℹ tests 3\nℹ fail 0"}, Outcome{Mode: ModeClean}},
	{"node found none", Evidence{Stdout: "ℹ tests 0\nℹ fail 0"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"jest fails", Evidence{Exit: 1, Stderr: "Tests:       1 failed, 41 passed, 42 total"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"jest cannot load", Evidence{Exit: 1, Stderr: "  ● Test suite failed to run\n\n    Cannot find module 'x'\n\nTests:       0 total"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},
	{"jest found none", Evidence{Exit: 1, Stdout: "No tests found, exiting with code 1"}, Outcome{Mode: ModeNoTestFiles, Step: "tests (no test files)", Category: infra, Exit: 2}},
	{"vitest fails", Evidence{Exit: 1, Stdout: "      Tests  1 failed | 2 passed (3)"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"vitest found none", Evidence{Exit: 1, Stderr: "No test files found, exiting with code 1"}, Outcome{Mode: ModeNoTestFiles, Step: "tests (no test files)", Category: infra, Exit: 2}},
	{"a module is missing", Evidence{Exit: 1, Stderr: "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},

	// Python.
	{"pytest fails", Evidence{Exit: 1, Stdout: "===== 1 failed, 1 passed in 0.05s ====="}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"pytest -q fails", Evidence{Exit: 1, Stdout: "1 failed in 0.05s"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{
		"pytest cannot collect",
		Evidence{Exit: 2, Stdout: "collected 0 items / 1 error\nE   ModuleNotFoundError: No module named 'x'\n!!!! Interrupted: 1 error during collection !!!!\n==== 1 error in 0.10s ===="},
		Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2},
	},
	{"pytest found none", Evidence{Exit: 5, Stdout: "collected 0 items\n\n==== no tests ran in 0.01s ===="}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 5}},
	{"unittest fails", Evidence{Exit: 1, Stderr: "Traceback (most recent call last):\nAssertionError: 1 != 2\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"unittest found none", Evidence{Stderr: "Ran 0 tests in 0.000s\n\nOK"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"python crashes", Evidence{Exit: 1, Stderr: "Traceback (most recent call last):\n  File \"x\""}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},

	{"an assertion of a plain script", Evidence{Exit: 1, Stderr: "Traceback (most recent call last):\n  File \"x\"\nAssertionError: 1 != 2"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"an assertion of node", Evidence{Exit: 1, Stderr: "AssertionError [ERR_ASSERTION]: 1 == 2\n    at x"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"a harness of its own", Evidence{Exit: 1, Stdout: "ok\nFAIL: add"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},

	// cargo.
	{"cargo fails", Evidence{Exit: 101, Stdout: "test result: FAILED. 0 passed; 1 failed\nerror: test failed, to rerun pass `--lib`"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"cargo does not compile", Evidence{Exit: 101, Stderr: "error[E0425]: cannot find value `x`\nerror: could not compile `y`"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 101}},
	{"cargo, one binary without tests", Evidence{Stdout: "running 0 tests\ntest result: ok. 0 passed\nrunning 1 test\ntest result: ok. 1 passed"}, Outcome{Mode: ModeClean}},
	{"cargo without tests", Evidence{Stdout: "running 0 tests\ntest result: ok. 0 passed"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},

	// Shells.
	{"a command is missing", Evidence{Exit: 127}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 127}},
	{"a command is no program", Evidence{Exit: 126, Capability: "build"}, Outcome{Mode: ModeFatal, Step: "build crash (before the runner took control)", Category: infra, Exit: 126}},
	{"a command is missing in a script", Evidence{Exit: 1, Stderr: "sh: 1: vitest: not found"}, Outcome{Mode: ModeFatal, Step: "tests crash (before the runner took control)", Category: infra, Exit: 2}},
	{"bats fails", Evidence{Exit: 1, Stdout: "1..1\nnot ok 1 one"}, Outcome{Mode: ModeSummary, Step: "tests", Category: findings, Exit: 1}},
	{"an empty plan", Evidence{Stdout: "1..0"}, Outcome{Mode: ModeZeroTests, Step: "tests (zero tests executed)", Category: infra, Exit: 2}},
	{"a lint that fails without a word", Evidence{Capability: "lint", Exit: 1}, Outcome{Mode: ModeUnclassified, Step: "lint exited with code 1 (unclassified)", Category: infra, Exit: 2}},
}

func TestClassify(t *testing.T) {
	t.Parallel()
	modes := map[string]bool{}
	for _, c := range classified {
		got := Classify(c.in)
		modes[got.Mode] = true
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Outcome{}, "Summary", "Replay")); diff != "" || got.Summary == "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, m := range Modes {
		if !modes[m] {
			t.Errorf("no case for %s", m)
		}
	}
}

// shellClassify asks the shell helper the same.
func shellClassify(t *testing.T, s shell, in Evidence) (Outcome, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"stdout": in.Stdout, "stderr": in.Stderr, "log": in.Log} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := `. "$HOMEBOY_RUNTIME_CLASSIFY_FAILURE"
homeboy_classify_failure --exit "$EXIT" --capability "$CAPABILITY" --name "$NAME" --stdout "$D/stdout" --stderr "$D/stderr" --log "$D/log" --findings "$FINDINGS" $COUNTS
printf '%s\0' "$FAILURE_MODE" "$FAILED_STEP" "$FAILURE_STAGE" "$FAILURE_CATEGORY" "$FAILURE_SUMMARY" "$FAILURE_OUTPUT" "$FAILURE_EXIT" "$FAILURE_REPLAY_MODE"`
	counts := ""
	if in.Counts != nil {
		counts = "--total " + strconv.Itoa(in.Counts.Total) + " --failed " + strconv.Itoa(in.Counts.Failed)
	}
	got := s.run(t, script, "D="+dir, "EXIT="+strconv.Itoa(in.Exit), "CAPABILITY="+in.Capability, "NAME="+in.Name, "FINDINGS="+strconv.Itoa(in.Findings), "COUNTS="+counts)
	f := strings.Split(got.out, "\x00")
	if got.code != 0 || len(f) != 9 {
		t.Fatalf("%+v: %+v", in, got)
	}
	exit, err := strconv.Atoi(f[6])
	if err != nil {
		t.Fatal(err)
	}
	o := Outcome{Mode: f[0], Step: f[1], Stage: f[2], Category: f[3], Summary: f[4], Exit: exit}
	if f[5] != "" {
		o.Replay = strings.Split(f[5], "\n")
	}
	return o, f[7]
}

// The shell helper tells the same of every run.
func TestShellClassifiesTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s shell) {
		if slices.Contains(s.args, "-eu") && s.name != "dash" {
			t.Skip("one shell with these options is enough for a table this long")
		}
		for _, c := range classified {
			got, replay := shellClassify(t, s, c.in)
			if diff := cmp.Diff(Classify(c.in), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
			if want := got.Mode == ModeAssertions || got.Mode == ModeSummary; (replay == "none") != want {
				t.Errorf("%s: replay %q", c.name, replay)
			}
		}
		for _, bad := range []string{"--exit x", "--exit", "--nope 1", "--total ''"} {
			if got := s.run(t, `. "$HOMEBOY_RUNTIME_CLASSIFY_FAILURE"; homeboy_classify_failure `+bad); got.code != 2 {
				t.Errorf("%s: %+v", bad, got)
			}
		}
	})
}

func FuzzClassify(f *testing.F) {
	for _, c := range classified {
		total, failed := -1, 0
		if c.in.Counts != nil {
			total, failed = c.in.Counts.Total, c.in.Counts.Failed
		}
		f.Add(c.in.Capability, c.in.Exit, c.in.Stdout, c.in.Stderr, c.in.Log, total, failed, c.in.Findings)
	}
	f.Fuzz(func(t *testing.T, capability string, exit int, stdout, stderr, log string, total, failed, found int) {
		in := Evidence{Capability: capability, Exit: exit, Stdout: stdout, Stderr: stderr, Log: log, Findings: found}
		if total >= 0 {
			in.Counts = &runner.TestResults{Total: total, Failed: failed}
		}
		got := Classify(in)
		if !slices.Contains(Modes, got.Mode) || got.Summary == "" {
			t.Fatalf("no mode: %+v", got)
		}
		clean := got.Mode == ModeClean
		if clean != (got.Exit == 0) || clean != (got.Category == "") || clean != (got.Step == "") || clean && exit != 0 {
			t.Fatalf("clean and not: %+v", got)
		}
		if got.Category == findings && got.Exit != 1 || got.Category == infra && got.Exit < 2 {
			t.Fatalf("the exit code is not the contract's: %+v", got)
		}
	})
}

// What is not there is known by lines that only a shell, an interpreter or a package manager writes: a linter calls many things an error.
func TestAbsent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, kind string }{
		{"sh: 1: eslint: not found", runner.MissingTool},
		{"/bin/bash: line 3: jest: command not found", runner.MissingTool},
		{"./run tests.sh: 3: x: not found", ""}, // no name of a script that a shell prints: fine, its exit code is 127
		{"./lint.sh: line 3: eslint: command not found", runner.MissingTool},
		{"/usr/bin/python3: No module named flake8", runner.MissingTool},
		{"Error: spawn eslint ENOENT", runner.MissingTool},
		{"a b/x.go:3:8: github.com/a/b@v1.0.0: Get \"https://example.com/\": dial tcp: lookup example.com: no such host", runner.MissingDependency},
		{"go: github.com/a/b@v1.0.0: module lookup disabled by GOPROXY=off", runner.MissingDependency},
		{"a.go:3:8: github.com/a/b@v1.0.0: reading https://example.com/b.zip: 403 Forbidden", runner.MissingDependency},
		{"a.go:3:8: missing go.sum entry for module providing package github.com/a/b; to add:", runner.MissingDependency},
		{"Error: Cannot find module 'left-pad'", runner.MissingDependency},
		{"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /x/a.mjs", runner.MissingDependency},
		{"As a reminder, you're using offline mode (--offline)", runner.MissingDependency},
		{"error: missing documentation", ""},
		{"README.md:3: ./gone.md: not found", ""},
		{"    x_test.go:12: dial tcp 127.0.0.1:80: connection refused", ""},
		{"Error: Cannot find module './lib/gone'", ""},
		{"src/a.ts(1,20): error TS2307: Cannot find module 'x'", ""},
		{"error: failed to get `x` as a dependency of package `y`\n  unable to update /x/gone", ""},
		{"./a.go:3:23: undefined: y", ""},
	} {
		if kind, line := Absent("fine\n"+c.text+"\n", ""); kind != c.kind || (line == "") != (kind == "") {
			t.Errorf("%q is %q (%q), want %q", c.text, kind, line, c.kind)
		}
	}
}

func TestDownloadFailure(t *testing.T) {
	t.Parallel()
	gone := "# example.com/x\na.go:3:8: module lookup disabled by GOPROXY=off\n"
	if line, ok := DownloadFailure(gone); !ok || line != "a.go:3:8: module lookup disabled by GOPROXY=off" {
		t.Errorf("%q, %v", line, ok)
	}
	for _, text := range []string{"", "# example.com/x\n./a.go:3:23: undefined: y\n", gone + "b.go:4:1: expected declaration\n", "a.go:3:8: package nope is not in std\n"} {
		if line, ok := DownloadFailure(text); ok {
			t.Errorf("%q: %q", text, line)
		}
	}
}

func TestCrashed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Traceback (most recent call last):\n  File": true, "TypeError: x\n\nNode.js v20.1.0\n": true, "panic: x\n\ngoroutine 1 [running]:\n": true,
		"error: missing documentation": false, "fatal: no tests here": false, "a.py:3: E999 SyntaxError: invalid": false, "": false,
	} {
		if got := Crashed("ok\n", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

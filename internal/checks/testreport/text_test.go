package testreport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
)

func counts(total, passed, failed, skipped int) runner.TestResults {
	return runner.TestResults{Total: total, Passed: passed, Failed: failed, Skipped: skipped}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     runner.TestResults
	}{
		{"edge case 20: cargo, several programs", "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\nrunning 4 tests\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out\n", counts(7, 5, 1, 1)},
		{"edge case 21: PHPUnit", "FAILURES!\nTests: 12, Assertions: 30, Failures: 2, Errors: 1, Skipped: 3.\n", counts(12, 6, 3, 3)},
		{"edge case 22: one test", "OK (1 test, 2 assertions)\n", counts(1, 1, 0, 0)},
		{"several tests", "OK (42 tests, 99 assertions)\n", counts(42, 42, 0, 0)},
		{"edge case 23: Jest", "Test Suites: 1 failed, 4 passed, 5 total\nTests:       1 failed, 41 passed, 42 total\nSnapshots:   0 total\n", counts(42, 41, 1, 0)},
		{"Jest with skipped and todo", "Tests:       2 failed, 3 skipped, 1 todo, 4 passed, 10 total\n", counts(10, 4, 2, 4)},
		{"Jest in colour", "\x1b[1mTests:\x1b[22m       \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m, \x1b[32m2 passed\x1b[39m, 3 total\n", counts(3, 2, 1, 0)},
		{"Vitest", " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 41 passed | 2 skipped (44)\n   Duration  1.2s\n", counts(44, 41, 1, 2)},
		{"two runs of Jest: the first one's failures count", "Tests:       3 failed, 1 passed, 4 total\nTests:       5 passed, 5 total\n", counts(9, 6, 3, 0)},
		{"PHPUnit, incomplete, risky and warned about", "OK, but incomplete, skipped, or risky tests!\nTests: 10, Assertions: 5, Warnings: 1, Skipped: 2, Incomplete: 3, Risky: 1.\n", counts(10, 3, 0, 7)},
		{"PHPUnit, more warnings than tests", "Tests: 2, Assertions: 5, Failures: 1, Warnings: 9.\n", counts(2, 0, 1, 1)},
		{"PHPUnit, two runs", "OK (3 tests, 3 assertions)\nTests: 4, Assertions: 4, Failures: 1.\n", counts(7, 6, 1, 0)},
		{"the parts on lines of their own", "Tests: 5\nFailures: 1\nErrors: 1\nSkipped: 1\n", counts(5, 2, 2, 1)},
		{"assignments", "done: passed=4 failed=1 skipped=2\n", counts(7, 4, 1, 2)},
		{"assignments without skipped", "passed=4 failed=0", counts(4, 4, 0, 0)},
		{"node, spec reporter", "✔ a (1ms)\nℹ tests 6\nℹ suites 1\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 1\n", counts(6, 2, 2, 2)},
		{"mocha", "\n  3 passing (5ms)\n  1 pending\n  2 failing\n", counts(6, 3, 2, 1)},
		{"unittest", "Ran 6 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1, expected failures=1)\n", counts(6, 2, 2, 2)},
		{"unittest, passed", "Ran 1 test in 0.001s\n\nOK\n", counts(1, 1, 0, 0)},
		{"testdox", "Cart\n ✔ Adds\n ✘ Removes\n ↩ Later\n\nSummary of non-successful tests:\n\nCart\n ✘ Removes\n", runner.TestResults{Total: 3, Passed: 1, Failed: 1, Skipped: 1, Partial: "testdox-fallback"}},
		{"the replay of a failure is not a second run", "Tests: 2, Assertions: 2, Failures: 1.\n\n============================================\nBUILD FAILED: phpunit\n============================================\n\nError details:\nTests: 2, Assertions: 2, Failures: 1.\n", counts(2, 1, 1, 0)},
		{"a tool whose output is only replayed", "\n============================================\nBUILD FAILED: phpunit\n============================================\n\nError details:\nTests: 2, Assertions: 2, Failures: 1.\n", counts(2, 1, 1, 0)},
		{"pytest", "=== 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 61.02s (0:01:01) ===\n", counts(7, 3, 2, 2)},
		{"TAP", "> test\n> node --test\n\nTAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n", counts(2, 1, 1, 0)},
		{"Jest's JSON after the lines of npm", "\n> test\n> jest --json\n\n{\"numTotalTests\":1,\"testResults\":[{\"name\":\"a\",\"assertionResults\":[{\"title\":\"t\",\"status\":\"failed\"}]}]}\n", counts(1, 0, 1, 0)},
		{"lines that only look like TAP and cargo", "ok 1 thing done\nrunning 3 tests\nTests:       3 passed, 3 total\n", counts(3, 3, 0, 0)},
		{"and what comes after them", "ok 1 thing done\nrunning 3 tests\n2 passed in 0.1s\n", counts(2, 2, 0, 0)},
		{"go", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.01s\n", counts(1, 1, 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := testreport.Text(c.in, nil)
			if !ok {
				t.Fatal("no counts")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextWithoutCounts(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "hello", "Tests: 0", "OK (0 tests, 0 assertions)", "No tests executed!", "no tests ran in 0.01s", "Tests:       0 total", "ok  \texample.com/a\t0.01s\n", "Tests: many", "passed= failed=", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"} {
		if got, ok := testreport.Text(in, nil); ok {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec, in string
		want           runner.TestResults
		faults         int
	}{
		{
			"edge case 20: sum over the programs of cargo",
			`{"rules":[{"pattern":"(\\d+) passed;","field":"passed","aggregate":"sum"},{"pattern":"(\\d+) failed;","field":"failed","aggregate":"sum"},{"pattern":"(\\d+) ignored;","field":"skipped","aggregate":"sum"}],"derive":[{"field":"total","expr":"passed + failed + skipped"}]}`,
			"test result: ok. 2 passed; 0 failed; 1 ignored;\ntest result: FAILED. 3 passed; 1 failed; 0 ignored;", counts(7, 5, 1, 1), 0,
		},
		{"edge case 24: an invalid rule is told and left out", `{"rules":[{"pattern":"(","field":"failed"},{"pattern":"n=(\\d+)","field":"total"},{"pattern":"n=(\\d+)","field":"total","group":2},{"pattern":"n","field":"total","aggregate":"mean"},{"pattern":"n","field":""}]}`, "n=3", counts(3, 0, 0, 0), 4},
		{"edge case 25: an unknown name is 0, below 0 is 0", `{"defaults":{"total":5},"derive":[{"field":"passed","expr":"total - nobody"},{"field":"skipped","expr":"1 - total"}]}`, "", counts(5, 5, 0, 0), 0},
		{"from left to right", `{"derive":[{"field":"total","expr":"10 - 3 + 2"}]}`, "", counts(9, 0, 0, 0), 0},
		{"errors are failures, numbers are cut", `{"rules":[{"pattern":"t=([\\d.]+)","field":"total"}],"defaults":{"errors":1.9,"failed":2}}`, "t=7.8", counts(7, 0, 3, 0), 0},
		{"first, last, max, and the last rule of a field", `{"rules":[{"pattern":"a=(\\d+)","field":"total","aggregate":"first"},{"pattern":"a=(\\d+)","field":"passed"},{"pattern":"a=(\\d+)","field":"failed","aggregate":"max"},{"pattern":"b=(\\d+)","field":"skipped"},{"pattern":"a=(\\d+)","field":"skipped"}]}`, "a=4 a=9 a=2 b=7", counts(4, 2, 9, 2), 0},
		{"the whole match, and a group that took no part", `{"rules":[{"pattern":"\\d+","field":"total","group":0},{"pattern":"x(y)?","field":"failed"}]}`, "x 12", counts(12, 0, 0, 0), 0},
		{"without counts of its own the well-known tools are asked", `{"rules":[{"pattern":"never (\\d+)","field":"total"}]}`, "OK (2 tests, 2 assertions)", counts(2, 2, 0, 0), 0},
		{"numbers beyond all bounds", `{"rules":[{"pattern":"t=(\\S+)","field":"total"},{"pattern":"f=(\\S+)","field":"failed"}]}`, "t=1e300 f=NaN", counts(1<<31-1, 0, 0, 0), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var spec testreport.Spec
			if err := json.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			got, ok := testreport.Output(c.in, &spec)
			if !ok {
				t.Fatal("no counts")
			}
			if diff := cmp.Diff(c.want, got.Results); diff != "" {
				t.Error(diff)
			}
			if len(got.Warnings) != c.faults {
				t.Errorf("faults: %q", got.Warnings)
			}
			for _, f := range got.Warnings {
				if !strings.HasPrefix(f, "result_parse.rules[") {
					t.Errorf("no place in %q", f)
				}
			}
		})
	}
	var none *testreport.Spec
	if none.Faults() != nil {
		t.Error("no spec has no faults")
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	a := testreport.Report{Format: "tap", Results: counts(1, 1, 0, 0), Cases: []runner.TestCase{{Name: "x", Status: runner.CasePassed}}}
	b := testreport.Report{Format: "junit", Results: counts(1, 0, 1, 0), Cases: []runner.TestCase{{Name: "x", Status: runner.CaseFailed}}, Warnings: []string{"w"}}
	got := testreport.Join(a, b)
	want := testreport.Report{
		Format: "several", Results: counts(2, 1, 1, 0), Warnings: []string{"w"},
		Cases:    []runner.TestCase{{Name: "x", Status: runner.CasePassed}, {Name: "x#2", Status: runner.CaseFailed}},
		Failures: []runner.TestFailure{{TestName: "x#2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

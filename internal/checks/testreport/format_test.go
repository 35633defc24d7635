package testreport_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/internal/checks/testreport"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"tap 12: no version, descriptions are optional", "1..3\nok\nnot ok 2\nok 3 - third # skip no network\n", `tap: total 3, passed 1, failed 1, skipped 1
passed "" "test 1"
failed "" "test 2"
skipped "" "third" says "no network"
`},
		{"tap 13: todo that fails is no failure, todo that passes is a pass, not ok that says skip is a failure", "TAP version 13\nnot ok 1 - a # TODO later\nok 2 - b # TODO\nnot ok 3 - c # SKIP why\nok 4 - d \\# not a comment\n1..4\n", `tap: total 4, passed 2, failed 1, skipped 1
skipped "" "a" says "later"
passed "" "b"
failed "" "c"
passed "" "d # not a comment"
`},
		{"cargo: a test that runs for long when the program is ended, and one that ended after all", "running 3 tests\ntest slow has been running for over 60 seconds\ntest hangs has been running for over 60 seconds\ntest slow ... ok\n", `cargo: total 3, passed 1, failed 2, skipped 0
passed "" "slow"
failed "" "hangs" type unfinished
failed "" "[suite]" type unfinished says "3 tests were announced, 2 ran, and the program did not sum them up"
`},
		{"tap: a subtest that was announced and that nothing summed up", "TAP version 13\n# Subtest: done\nok 1 - done\n# Subtest: hangs\n", `tap: total 3, passed 1, failed 2, skipped 0
passed "" "done"
failed "" "hangs" type unfinished says "it began and did not end"
failed "" "[plan]" type plan says "there is no plan, and 1 tests: the run may have ended early"
`},
		{"go: a program that ended with 0 before its tests, and one that has none", `{"Action":"start","Package":"m"}
{"Action":"output","Package":"m","Output":"ok  \tm\t0.001s\n"}
{"Action":"pass","Package":"m"}
{"Action":"output","Package":"n","Output":"testing: warning: no tests to run\n"}
{"Action":"output","Package":"n","Output":"PASS\n"}
{"Action":"pass","Package":"n"}
{"Action":"output","Package":"o","Output":"?   \to\t[no test files]\n"}
{"Action":"skip","Package":"o"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p"}
`, `go-json: total 2, passed 1, failed 1, skipped 0
failed "m" "[suite]" type unfinished says "the program ended with exit code 0 before all tests were done: something calls os.Exit, TestMain or an init function perhaps"
passed "p" "TestA"
`},
		{"tap 14: subtests with and without the comment, a plan that is not kept inside", `TAP version 14
1..3
# Subtest: outer
    1..2
    ok 1 - x
    ok 2 - y
ok 1 - outer
    ok 1 - anonymous
    1..2
not ok 2 - second
  ---
  message: "it broke"
  severity: fail
  at: lib/a.js:10:4
  ...
ok 3 - third
`, `tap: total 7, passed 5, failed 2, skipped 0
passed "outer" "x"
passed "outer" "y"
passed "" "outer"
passed "" "anonymous"
failed "" "[plan]" type plan says "2 tests were planned and 1 ran"
failed "" "second" at lib/a.js:10 says "it broke"
passed "" "third"
`},
		{"tap: several documents, the last of which is cut short", "TAP version 13\nok 1 - a\n1..1\n> member test\nTAP version 13\nok 1 - a\nok 2 - b\n1..2\nTAP version 13\nok 1 - c\n", `tap: total 5, passed 4, failed 1, skipped 0
passed "" "a"
passed "" "a#2"
passed "" "b"
passed "" "c"
failed "" "[plan]" type plan says "there is no plan, and 1 tests: the run may have ended early"
`},
		{"tap: fewer than planned", "1..3\nok 1\n", `tap: total 2, passed 1, failed 1, skipped 0
passed "" "test 1"
failed "" "[plan]" type plan says "3 tests were planned and 1 ran"
`},
		{"tap: no plan", "ok 1 - a\nok 2 - b\n", `tap: total 3, passed 2, failed 1, skipped 0
passed "" "a"
passed "" "b"
failed "" "[plan]" type plan says "there is no plan, and 2 tests: the run may have ended early"
`},
		{"tap: the time behind a description is no part of the name", "1..4\nok 1 - a # time=12.5ms\nnot ok 2 b # in 15 ms\nok 3 c # in 1sec\nok 4 - d # in the middle of ms\n", `tap: total 4, passed 3, failed 1, skipped 0
passed "" "a"
failed "" "b"
passed "" "c"
passed "" "d # in the middle of ms"
`},
		{"tap: bail out", "1..4\nok 1 - a\nBail out! no database\nok 2 - b\n", `tap: total 2, passed 1, failed 1, skipped 0
passed "" "a"
failed "" "[bail out]" type bail-out says "no database"
`},
		{"tap: everything skipped", "1..0 # SKIP not on this system\n", `tap: total 0, passed 0, failed 0, skipped 0
warning: nothing was run: SKIP not on this system
`},
		{"tap: text of tests in between, and a YAML block that never ends", "1..2\nsome text\n   oddly indented ok 1\nokay\nok 1 - a\n  ---\n  x: 1\nnot ok 2 - b\n", `tap: total 2, passed 1, failed 1, skipped 0
passed "" "a"
failed "" "b"
`},
		{"go before 1.24: the build's output is no event", "# example.com/p [example.com/p.test]\n./p_test.go:3:1: syntax error\n" + `{"Action":"start","Package":"example.com/p"}
{"Action":"output","Package":"example.com/p","Output":"FAIL\texample.com/p [build failed]\n"}
{"Action":"fail","Package":"example.com/p","Elapsed":0}
`, `go-json: total 1, passed 0, failed 1, skipped 0
failed "example.com/p" "[build]" type build says "# example.com/p [example.com/p.test]"
`},
		{"go: a build that failed and no package that says so", `{"ImportPath":"example.com/dep","Action":"build-output","Output":"boom\n"}
{"ImportPath":"example.com/dep","Action":"build-fail"}
`, `go-json: total 1, passed 0, failed 1, skipped 0
failed "example.com/dep" "[build]" type build says "boom"
`},
		{"go: a test that has no end though its package passed, a timeout, the same test twice", `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":0.1}
{"Action":"run","Package":"q","Test":"TestSlow"}
{"Action":"output","Package":"q","Test":"TestSlow","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Package":"q","Elapsed":1}
{"Action":"pass","Package":"r","Test":"TestB","Elapsed":0.5}
{"Action":"fail","Package":"r","Test":"TestB","Elapsed":0.5}
{"Action":"fail","Package":"r","Elapsed":1}
`, `go-json: total 4, passed 1, failed 3, skipped 0
failed "p" "TestA" type unfinished
failed "q" "TestSlow" type timeout says "panic: test timed out after 1s"
passed "r" "TestB"
failed "r" "TestB#2"
`},
		{"go without -v", "--- FAIL: TestA (0.00s)\n    a_test.go:9: no\nFAIL\nFAIL\texample.com/a\t0.01s\nok  \texample.com/b\t0.02s\nFAIL\n", `go-text: total 1, passed 0, failed 1, skipped 0, partial go-test-without-v
warning: 1 packages passed without naming a test: run go test with -v or -json
failed "example.com/a" "TestA" at a_test.go:9 says "a_test.go:9: no"
`},
		{"jest: every status, a file that could not be loaded", `{"numFailedTests":1,"numTotalTests":5,"success":false,"testResults":[
{"name":"/src/a.test.js","status":"failed","message":"","assertionResults":[
 {"ancestorTitles":["cart","sum"],"title":"adds","fullName":"cart sum adds","status":"passed","duration":3,"failureMessages":[],"location":null},
 {"ancestorTitles":["cart"],"title":"removes","status":"failed","duration":null,"failureMessages":["\u001b[31mAssertionError: 1 is not 2\u001b[39m\n    at a"],"location":{"line":4,"column":3}},
 {"ancestorTitles":[],"title":"later","status":"todo"},
 {"ancestorTitles":[],"title":"off","status":"pending"},
 {"ancestorTitles":[],"title":"odd","status":"unheard-of"}]},
{"name":"/src/b.test.js","status":"failed","message":"Cannot find module 'x'","assertionResults":[]}]}`, `jest: total 6, passed 1, failed 3, skipped 2
passed "/src/a.test.js > cart > sum" "adds" at /src/a.test.js:0
failed "/src/a.test.js > cart" "removes" type AssertionError at /src/a.test.js:4 says "AssertionError: 1 is not 2"
skipped "/src/a.test.js" "later" at /src/a.test.js:0
skipped "/src/a.test.js" "off" at /src/a.test.js:0
failed "/src/a.test.js" "odd" at /src/a.test.js:0
failed "/src/b.test.js" "[load]" type load at /src/b.test.js:0 says "Cannot find module 'x'"
`},
		{"vitest: an error that no test has", `{"numTotalTestSuites":1,"numTotalTests":1,"success":false,"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]}`, `jest: total 2, passed 1, failed 1, skipped 0
passed "a" "t" at a:0
failed "" "[suite]" type suite says "the run did not succeed, though no test failed"
`},
		{"mocha", `{"stats":{"tests":3},"tests":[{"title":"x"}],"pending":[{"title":"c","fullTitle":"s c"}],"failures":[{"title":"b","fullTitle":"s b","file":"/t/b.js","err":{"message":"no","name":"Error","stack":"Error: no\n at b"}}],"passes":[{"title":"a","fullTitle":"s a","duration":2}]}`, `mocha: total 3, passed 1, failed 1, skipped 1
skipped "s" "c"
failed "/t/b.js > s" "b" type Error at /t/b.js:0 says "Error: no"
passed "s" "a"
`},
		{"cargo: a program that was killed in a test, output between a test and its result", "     Running unittests src/lib.rs (target/debug/deps/x-1)\n\nrunning 3 tests\ntest a ... ok\ntest b ... hello\nok\ntest c ... error: test failed\n", `cargo: total 4, passed 2, failed 2, skipped 0
passed "src/lib.rs" "a"
passed "src/lib.rs" "b"
failed "src/lib.rs" "c" type unfinished
failed "src/lib.rs" "[suite]" type unfinished says "3 tests were announced, 3 ran, and the program did not sum them up"
`},
		{"cargo: it does not compile", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\nerror[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\nerror: could not compile `sample` (lib test) due to 1 previous error\n", "cargo: total 1, passed 0, failed 1, skipped 0\nfailed \"\" \"[build]\" type build says \"error[E0425]: cannot find value `x`\"\n"},
		{"cargo: nothing of it compiles", "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\nerror: could not compile `sample` (lib test) due to 1 previous error\n", "cargo: total 1, passed 0, failed 1, skipped 0\nfailed \"\" \"[build]\" type build says \"error[E0425]: cannot find value `x`\"\n"},
		{"pytest: quiet, the counts say more than the names", "..F.s\nFAILED tests/test_a.py::test_x - assert 1 == 2\n=========================== short test summary info ============================\nFAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 3 passed, 1 skipped, 2 warnings in 0.12s\n", `pytest: total 5, passed 3, failed 1, skipped 1
failed "tests/test_a.py" "test_x" type assert 1 == 2 at tests/test_a.py:0 says "assert 1 == 2"
`},
		{"pytest with xdist", "============================= test session starts ==============================\n[gw0] [ 50%] PASSED t.py::test_a \n[gw1] [100%] FAILED t.py::test_b \n========================= 1 failed, 1 passed in 0.5s =========================\n", `pytest: total 2, passed 1, failed 1, skipped 0
passed "t.py" "test_a" at t.py:0
failed "t.py" "test_b" at t.py:0
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := testreport.Parse(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(&r)); diff != "" {
				t.Error(diff)
			}
			colour, err := testreport.ParseAs(r.Format, strings.NewReader(c.in))
			if err != nil || cmp.Diff(r, colour) != "" {
				t.Errorf("asked for by name it is read in another way: %v", err)
			}
		})
	}
}

// TestLocate: the same test has the same name in two copies of a component.
func TestLocate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m // the module\n\ngo 1.26\n", "inner/a_test.go": "package inner", "src/a.test.js": "",
		"go.work": "go 1.26\nuse (\n\t.\n\t./tools // more\n)\n", "tools/go.mod": "module \"example.com/m/tools\"\n", "tools/x/x_test.go": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ in, want string }{
		{`{"Action":"output","Package":"example.com/m/inner","Test":"TestA","Output":"    a_test.go:7: no\n"}
{"Action":"fail","Package":"example.com/m/inner","Test":"TestA"}
{"Action":"fail","Package":"example.com/m/inner"}
{"Action":"output","Package":"example.com/m/tools/x","Test":"TestA","Output":"    x_test.go:8: no\n"}
{"Action":"fail","Package":"example.com/m/tools/x","Test":"TestA"}
{"Action":"fail","Package":"example.com/m/tools/x"}
`, `go-json: total 2, passed 0, failed 2, skipped 0
failed "example.com/m/inner" "TestA" at inner/a_test.go:7 says "a_test.go:7: no"
failed "example.com/m/tools/x" "TestA" at tools/x/x_test.go:8 says "x_test.go:8: no"
`},
		{`{"testResults":[{"name":"` + dir + `/src/a.test.js","assertionResults":[{"ancestorTitles":["s"],"title":"t","status":"passed"}]}]}`, `jest: total 1, passed 1, failed 0, skipped 0
passed "src/a.test.js > s" "t" at src/a.test.js:0
`},
		{`<testsuites><testsuite name="` + dir + `/tests" failures="1"/></testsuites>`, `junit: total 1, passed 0, failed 1, skipped 0
failed "tests" "[suite]" type suite says "the suite tells of 1 failures and lists 0"
`},
		{`{"testResults":[{"name":"/room/src/a.test.js","assertionResults":[{"ancestorTitles":["s"],"title":"t","status":"passed"}]}]}`, `jest: total 1, passed 1, failed 0, skipped 0
passed "src/a.test.js > s" "t" at src/a.test.js:0
`},
	} {
		r, err := testreport.Parse(strings.NewReader(c.in))
		if err != nil {
			t.Fatal(err)
		}
		r.Locate(dir)
		if diff := cmp.Diff(c.want, describe(&r)); diff != "" {
			t.Error(diff)
		}
	}
}

package testreport_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// TestJUnitDialects reads the ways in which its writers differ.
func TestJUnitDialects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{
			"phpunit: nested suites, class, data sets, incomplete as skipped, risky as error, a warning",
			`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="/src/phpunit.xml" tests="6" assertions="4" errors="1" failures="1" skipped="2" time="0.1">
    <testsuite name="Unit" tests="6" errors="1" failures="1" skipped="2">
      <testsuite name="Tests\CartTest" file="/src/tests/CartTest.php" tests="6" errors="1" failures="1" skipped="2">
        <testcase name="testAdd" file="/src/tests/CartTest.php" line="12" class="Tests\CartTest" classname="Tests.CartTest" assertions="1" time="0.002"/>
        <testsuite name="Tests\CartTest::testSum" tests="2" errors="0" failures="1">
          <testcase name="testSum with data set &quot;zero&quot;" file="/src/tests/CartTest.php" line="20" class="Tests\CartTest" classname="Tests.CartTest"/>
          <testcase name="testSum with data set &quot;one&quot;" file="/src/tests/CartTest.php" line="20" class="Tests\CartTest" classname="Tests.CartTest">
            <failure type="PHPUnit\Framework\ExpectationFailedException">Tests\CartTest::testSum with data set "one"
Failed asserting that 2 matches expected 1.

/src/tests/CartTest.php:22</failure>
          </testcase>
        </testsuite>
        <testcase name="testLater" class="Tests\CartTest" classname="Tests.CartTest"><skipped/></testcase>
        <testcase name="testRisky" class="Tests\CartTest" classname="Tests.CartTest"><error type="PHPUnit\Framework\RiskyTestError">This test did not perform any assertions</error></testcase>
        <testcase name="testWarned" class="Tests\CartTest" classname="Tests.CartTest"><warning type="PHPUnit\Framework\Warning">No tests found</warning></testcase>
      </testsuite>
    </testsuite>
  </testsuite>
</testsuites>`,
			`junit: total 6, passed 2, failed 2, skipped 2
passed "Tests\\CartTest" "testAdd" at /src/tests/CartTest.php:12
passed "Tests\\CartTest" "testSum with data set \"zero\"" at /src/tests/CartTest.php:20
failed "Tests\\CartTest" "testSum with data set \"one\"" type PHPUnit\Framework\ExpectationFailedException at /src/tests/CartTest.php:20 says "Tests\\CartTest::testSum with data set \"one\""
skipped "Tests\\CartTest" "testLater" at /src/tests/CartTest.php:0
failed "Tests\\CartTest" "testRisky" type PHPUnit\Framework\RiskyTestError at /src/tests/CartTest.php:0 says "This test did not perform any assertions"
skipped "Tests\\CartTest" "testWarned" at /src/tests/CartTest.php:0 says "No tests found"
`,
		},
		{
			"jest-junit: the class is the name again; a suite that could not be loaded has an error and no test",
			`<testsuites name="jest tests" tests="2" failures="0" errors="1" time="1.2">
  <testsuite name="cart" errors="0" failures="0" skipped="1" tests="2" time="0.5">
    <testcase classname="cart adds" name="cart adds" time="0.003"/>
    <testcase classname="cart removes" name="cart removes" time="0"><skipped/></testcase>
  </testsuite>
  <testsuite name="broken.test.js" errors="1" failures="0" skipped="0" tests="0"/>
</testsuites>`,
			`junit: total 3, passed 1, failed 1, skipped 1
passed "jest tests > cart" "cart adds"
skipped "jest tests > cart" "cart removes"
failed "jest tests > broken.test.js" "[suite]" type suite says "the suite tells of 1 failures and lists 0"
`,
		},
		{
			"gotestsum: counts are there, the class is the package; a package that failed to build is a test of its own",
			`<testsuites tests="3" failures="2" errors="1" time="0.3">
 <testsuite tests="2" failures="1" time="0.1" name="example.com/a" timestamp="2026-11-15T10:00:00Z">
  <properties><property name="go.version" value="go1.26 linux/amd64"></property></properties>
  <testcase classname="example.com/a" name="TestOne" time="0.010"></testcase>
  <testcase classname="example.com/a" name="TestTwo/sub" time="0.000"><failure message="Failed" type="">=== RUN   TestTwo/sub&#xA;    a_test.go:9: no&#xA;</failure></testcase>
 </testsuite>
 <testsuite tests="0" failures="1" time="0" name="example.com/b"><testcase classname="" name="TestMain" time="0"><failure message="Failed" type="">cannot build</failure></testcase></testsuite>
</testsuites>`,
			`junit: total 4, passed 1, failed 3, skipped 0
passed "example.com/a" "TestOne"
failed "example.com/a" "TestTwo/sub" type failure says "Failed"
failed "example.com/b" "TestMain" type failure says "Failed"
failed "" "[suite]" type suite says "the suite tells of 3 failures and lists 2"
`,
		},
		{
			"surefire: a class that could not be set up, reruns, a flaky test, output that is not told",
			`<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.example.CartTest" time="1,234.5" tests="4" errors="1" skipped="0" failures="1">
  <testcase name="" classname="com.example.CartTest" time="0"><error message="no database" type="java.sql.SQLException"><![CDATA[java.sql.SQLException: no database
	at com.example.CartTest.setUp(CartTest.java:14)]]></error></testcase>
  <testcase name="adds" classname="com.example.CartTest" time="1,234.5"><system-out><![CDATA[<failure>not one</failure>]]></system-out></testcase>
  <testcase name="flaky" classname="com.example.CartTest"><flakyFailure message="once" type="x"><stackTrace>at</stackTrace></flakyFailure></testcase>
  <testcase name="bad" classname="com.example.CartTest"><failure message="m" type="T">m</failure><rerunFailure message="m2" type="T">m2</rerunFailure></testcase>
</testsuite>`,
			`junit: total 4, passed 2, failed 2, skipped 0
warning: com.example.CartTest::flaky failed at first and passed when it was run again
failed "com.example.CartTest" "[suite]" type java.sql.SQLException says "java.sql.SQLException: no database"
passed "com.example.CartTest" "adds"
passed "com.example.CartTest" "flaky"
failed "com.example.CartTest" "bad" type T says "m"
`,
		},
		{
			"googletest: a test that was not run, by its attributes",
			`<testsuites tests="2" failures="0" disabled="1"><testsuite name="S"><testcase name="a" status="run" result="completed" classname="S"/><testcase name="b" status="notrun" result="suppressed" classname="S"/></testsuite></testsuites>`,
			`junit: total 2, passed 1, failed 0, skipped 1
passed "S" "a"
skipped "S" "b"
`,
		},
		{
			"nothing but a test, without names or counts",
			`<testsuite><testcase/><testcase/></testsuite>`,
			`junit: total 2, passed 2, failed 0, skipped 0
passed "" "[suite]"
passed "" "[suite]#2"
`,
		},
		{
			"counts that lie in the tool's favour are not believed",
			`<testsuite name="s" tests="1" failures="0"><testcase name="a"><failure/></testcase></testsuite>`,
			`junit: total 1, passed 0, failed 1, skipped 0
failed "s" "a" type failure
`,
		},
		{
			"fewer tests than told, and a failure beside them",
			`<testsuite name="s" tests="9"><error message="out of memory"/><testcase name="a" classname="c"/></testsuite>`,
			`junit: total 2, passed 1, failed 1, skipped 0
warning: suite "s" tells of 9 tests and lists 2
failed "s" "[suite]" type error says "out of memory"
passed "c" "a"
`,
		},
		{
			"the same name three times, and one that is taken",
			`<testsuite name="s"><testcase name="a"/><testcase name="a#2"/><testcase name="a"><failure/></testcase><testcase name="a"/></testsuite>`,
			`junit: total 4, passed 3, failed 1, skipped 0
passed "s" "a"
passed "s" "a#2"
failed "s" "a#3" type failure
passed "s" "a#4"
`,
		},
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
		})
	}
}

// TestBrokenReports: what came before a report breaks off is not lost, and the counts say that they are partial.
func TestBrokenReports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"cut in a test", `<testsuite name="s"><testcase name="a"><failure message="no"/></testcase><testcase name="b"><system-out>`, `junit: total 2, passed 0, failed 2, skipped 0, partial broken-report
failed "s" "a" type failure says "no"
failed "s" "b" type unfinished
`},
		{"cut in a tag", `<testsuite name="s"><testcase name="a"/><testca`, `junit: total 1, passed 1, failed 0, skipped 0, partial broken-report
passed "s" "a"
`},
		{"entities", `<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>`, "junit: total 0, passed 0, failed 0, skipped 0, partial broken-report\n"},
		{"another document", `<html><body/></html>`, "junit: total 0, passed 0, failed 0, skipped 0, partial broken-report\n"},
		{"no document", `<!-- -->`, "junit: total 0, passed 0, failed 0, skipped 0, partial broken-report\n"},
		{"jest cut in a file", `{"numTotalTests":2,"testResults":[{"name":"/a.test.js","assertionResults":[{"title":"x","status":"failed"}]},{"na`, `jest: total 1, passed 0, failed 1, skipped 0, partial broken-report
failed "/a.test.js" "x" at /a.test.js:0
`},
		{"go killed", `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"waiting\n"}
{"Acti`, `go-json: total 3, passed 1, failed 2, skipped 0, partial broken-report
warning: 1 packages began and did not end
passed "p" "TestA"
failed "p" "TestB" type unfinished says "waiting"
failed "p" "[suite]" type unfinished
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := testreport.Parse(strings.NewReader(c.in))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, describe(&r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnknownFormats(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "   \n", "hello", "{}", `{"a":1}`, "[]", "null", "\x00\x01", "ok", "okay 1", "1.x", "{", `{"stats"`} {
		r, err := testreport.Parse(strings.NewReader(in))
		if err == nil || len(r.Cases) > 0 {
			t.Errorf("%q: %+v, %v", in, r, err)
		}
	}
	if _, err := testreport.ParseAs("xunit", strings.NewReader("")); !errors.Is(err, testreport.ErrUnknownFormat) {
		t.Errorf("got %v", err)
	}
}

// TestLargeReports: 100,000 tests are fine, more than MaxCases are not, and texts are cut.
func TestLargeReports(t *testing.T) {
	t.Parallel()
	suite := func(n int, body string) io.Reader {
		pr, pw := io.Pipe()
		go func() {
			w := bufio.NewWriterSize(pw, 64<<10)
			fmt.Fprint(w, "<testsuite>")
			for i := range n {
				fmt.Fprintf(w, `<testcase classname="c" name="t%d">%s</testcase>`, i, body)
			}
			fmt.Fprint(w, "</testsuite>")
			w.Flush()
			pw.Close()
		}()
		t.Cleanup(func() { pr.Close() })
		return pr
	}
	r, err := testreport.Parse(suite(100_000, `<failure>`+strings.Repeat("x", 100)+`</failure>`))
	if err != nil || r.Results.Failed != 100_000 || len(r.Failures) != 100_000 {
		t.Fatalf("%+v, %v", r.Results, err)
	}
	r, err = testreport.Parse(strings.NewReader("1..9\n" + strings.Repeat("ok\n", testreport.MaxCases+10)))
	if !errors.Is(err, testreport.ErrTooLarge) || r.Results.Partial == "" || len(r.Cases) != testreport.MaxCases {
		t.Fatalf("%+v, %v", r.Results, err)
	}
	long := strings.Repeat("é", 4*testreport.MaxMessage)
	name := func(end string) string { return `<testcase name="` + strings.Repeat("n", 3000) + end + `">` }
	r, err = testreport.Parse(strings.NewReader("<testsuite>" + name("1") + "<failure>" + long + "</failure></testcase>" + name("2") + "</testcase></testsuite>"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Cases[0].Message); n > testreport.MaxMessage+len("…") {
		t.Errorf("a message has %d bytes", n)
	}
	if r.Cases[0].Name == r.Cases[1].Name || len(r.Cases[0].Name) > testreport.MaxName+40 {
		t.Errorf("long names: %q", r.Cases[0].Name)
	}
}

func TestWriteJUnit(t *testing.T) {
	t.Parallel()
	in := runner.Report{
		Capability: runner.Test, Component: "shop", Status: runner.StatusFailed, DurationMS: 1500,
		Phase: runner.Phase{Phase: runner.PhaseTest, Summary: "test phase reported 1 failure"},
		TestCases: []runner.TestCase{
			{Suite: "a", Name: "one", Status: runner.CasePassed, DurationMS: 12.5, File: "a_test.go", Line: 3},
			{Suite: "b", Name: "two <&\">", Status: runner.CaseFailed, Type: "T", Message: "line 1\nline \x1b[31m2]]>"},
			{Suite: "a", Name: "three", Status: runner.CaseSkipped, Message: "later"},
		},
	}
	var b strings.Builder
	if err := testreport.WriteJUnit(&b, in); err != nil {
		t.Fatal(err)
	}
	r, err := testreport.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	want := `junit: total 3, passed 1, failed 1, skipped 1
passed "a" "one" at a_test.go:3
skipped "a" "three" says "later"
failed "b" "two <&\">" type T says "line 1"
`
	if diff := cmp.Diff(want, describe(&r)); diff != "" {
		t.Errorf("%s\n%s", diff, b.String())
	}
	if r.Cases[0].DurationMS != 13 && r.Cases[0].DurationMS != 12 {
		t.Errorf("duration %v", r.Cases[0].DurationMS)
	}
}

// TestWriteJUnitNeverLooksClean: a run that reported nothing is an error in the file, too.
func TestWriteJUnitNeverLooksClean(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]runner.Report{
		"infrastructure": {Capability: runner.Test, Status: runner.StatusError, Failure: &runner.Failure{Summary: "no runner"}},
		"nothing named":  {Capability: runner.Test, Status: runner.StatusFailed, Phase: runner.Phase{Summary: "exit 1"}},
		"findings":       {Capability: runner.Lint, Status: runner.StatusFailed, LintFindings: []runner.LintFinding{{File: "a.go", Line: 3, Rule: "r", Message: "m"}}},
		"failures":       {Capability: runner.Test, Status: runner.StatusFailed, Failures: []runner.TestFailure{{TestName: "n", Message: "m"}}},
	} {
		var b strings.Builder
		if err := testreport.WriteJUnit(&b, in); err != nil {
			t.Fatal(err)
		}
		r, err := testreport.Parse(strings.NewReader(b.String()))
		if err != nil || r.Results.Failed != 1 {
			t.Errorf("%s: %+v, %v\n%s", name, r.Results, err, b.String())
		}
	}
	var b strings.Builder
	if err := testreport.WriteJUnit(&b, runner.Report{Capability: runner.Lint, Passed: true, Status: runner.StatusPassed}); err != nil || strings.Contains(b.String(), "<error") {
		t.Errorf("%v: %s", err, b.String())
	}
}

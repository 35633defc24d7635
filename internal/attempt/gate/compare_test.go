package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
)

// tests makes a report: "+a -b ~c" passed, failed, skipped. A leading "." is a test without counts.
func tests(words string) *runner.Report {
	r := &runner.Report{Schema: runner.SchemaReport, Capability: runner.Test, Status: runner.StatusPassed}
	for w := range strings.FieldsSeq(words) {
		status := map[byte]string{'+': runner.CasePassed, '-': runner.CaseFailed, '~': runner.CaseSkipped}[w[0]]
		c := runner.TestCase{Suite: "p", Name: w[1:], Status: status}
		if status == runner.CaseFailed {
			c.Message, r.Status = "got 1\nwant 2", runner.StatusFailed
		}
		r.TestCases = append(r.TestCases, c)
	}
	c := tally(r.TestCases)
	r.TestCounts = &c
	r.Passed = r.Status == runner.StatusPassed
	return r
}

// only makes a report of counts without names.
func only(passed, failed, skipped int) *runner.Report {
	r := tests("")
	r.TestCounts = &runner.TestResults{Total: passed + failed + skipped, Passed: passed, Failed: failed, Skipped: skipped}
	if failed > 0 {
		r.Status = runner.StatusFailed
	}
	return r
}

func status(r *runner.Report, s string) *runner.Report {
	r.Status = s
	return r
}

func broken(r *runner.Report, edit func(*runner.Report)) *runner.Report {
	edit(r)
	return r
}

// said lists grounds in short: the code and the subject, notes in brackets.
func said(list []ground) []string {
	out := []string{}
	for _, g := range list {
		s := strings.TrimSuffix(g.code+" "+strings.TrimPrefix(g.subject, "p::"), " ")
		if g.note {
			s = "(" + s + ")"
		}
		out = append(out, s)
	}
	return out
}

func TestCompareTests(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		name        string
		base, after *runner.Report
		require     *bool
		unstable    []string
		allowed     bool
		want        []string
	}{
		{name: "all pass", base: tests("+a +b"), after: tests("+a +b"), want: []string{}},
		{name: "a new test passes", base: tests("+a"), after: tests("+a +b"), want: []string{}},
		{name: "fixed", base: tests("+a -b"), after: tests("+a +b"), want: []string{}},
		{name: "newly failing", base: tests("+a +b"), after: tests("+a -b"), want: []string{"tests_newly_failing b"}},
		{name: "was skipped, fails now", base: tests("+a ~b"), after: tests("+a -b"), want: []string{"tests_newly_failing b"}},
		{name: "a new test fails", base: tests("+a"), after: tests("+a -b"), want: []string{"tests_newly_failing b"}},
		{name: "nothing fixed", base: tests("+a -b -c"), after: tests("+a -b -c"), want: []string{"tests_still_failing b", "tests_still_failing c"}},
		{name: "one of two fixed", base: tests("+a -b -c"), after: tests("+a +b -c"), want: []string{"(tests_still_failing c)"}},
		{name: "one of two fixed, all must pass", base: tests("+a -b -c"), after: tests("+a +b -c"), require: &yes, want: []string{"tests_still_failing c"}},
		{name: "nothing fixed, old failures never count", base: tests("+a -b"), after: tests("+a -b"), require: &no, want: []string{"(tests_still_failing b)"}},
		{name: "fixed by another failure", base: tests("+a -b"), after: tests("-a +b"), want: []string{"tests_newly_failing a"}},
		{name: "vanished", base: tests("+a +b"), after: tests("+a"), want: []string{"tests_vanished b"}},
		{name: "a failing one vanished", base: tests("+a -b"), after: tests("+a"), want: []string{"tests_vanished b"}},
		{name: "a skipped one vanished", base: tests("+a ~b"), after: tests("+a"), want: []string{"(tests_vanished b)"}},
		{name: "renamed", base: tests("+a +b"), after: tests("+a +c"), want: []string{"tests_vanished b"}},
		{name: "newly skipped", base: tests("+a +b"), after: tests("+a ~b"), want: []string{"tests_newly_skipped b"}},
		{name: "a failing one is skipped", base: tests("+a -b"), after: tests("+a ~b"), want: []string{"tests_newly_skipped b"}},
		{name: "still skipped", base: tests("+a ~b"), after: tests("+a ~b"), want: []string{}},
		{name: "allowed by a person", base: tests("+a +b +c"), after: tests("~a +c"), allowed: true, want: []string{"(tests_newly_skipped a)", "(tests_vanished b)"}},
		{name: "allowed, and fails", base: tests("+a"), after: tests("-a"), allowed: true, want: []string{"tests_newly_failing a"}},
		{name: "parts of a failed test", base: tests("+a +a/x +a/y"), after: tests("-a"), want: []string{"tests_newly_failing a"}},
		{name: "a part is gone", base: tests("+a +a/x +a/y"), after: tests("+a +a/x"), want: []string{"tests_vanished a/y"}},
		{name: "gone with its parts", base: tests("+a +a/x +b"), after: tests("+b"), want: []string{"tests_vanished a"}},
		{name: "skipped with its parts", base: tests("+a +a/x +b"), after: tests("~a +b"), want: []string{"tests_newly_skipped a"}},
		{name: "unstable", base: tests("+a +b"), after: tests("+a -b"), unstable: []string{"p::b"}, want: []string{"(tests_unstable b)"}},
		{name: "unstable and gone", base: tests("+a +b"), after: tests("+a"), unstable: []string{"p::b"}, want: []string{}},
		{name: "of two with one name the worst counts", base: tests("+a +a"), after: tests("+a -a"), want: []string{"tests_newly_failing a"}},
		{name: "no tests", base: tests("+a"), after: tests(""), want: []string{"no_tests"}},
		{name: "no tests on either", base: tests(""), after: tests(""), want: []string{"no_tests"}},
		{name: "the first tests", base: tests(""), after: tests("+a"), want: []string{}},
		{name: "no report", base: tests("+a"), after: broken(tests(""), func(r *runner.Report) { r.TestCounts = nil }), want: []string{"report_missing"}},
		{name: "names are missing", base: tests("+a"), after: only(1, 0, 0), want: []string{"report_missing"}},
		{name: "counts only", base: only(3, 0, 0), after: only(3, 0, 0), want: []string{}},
		{name: "counts shrink", base: only(3, 0, 0), after: only(2, 0, 0), want: []string{"tests_shrank"}},
		{name: "counts fail", base: only(3, 0, 0), after: only(2, 1, 0), want: []string{"tests_newly_failing"}},
		{name: "counts skip", base: only(3, 0, 0), after: only(2, 0, 1), want: []string{"tests_newly_skipped"}},
		{name: "counts fail as before", base: only(2, 1, 0), after: only(2, 1, 0), want: []string{"tests_still_failing"}},
		{name: "counts are fixed in part", base: only(1, 2, 0), after: only(2, 1, 0), want: []string{"(tests_still_failing)"}},
		{name: "counts of nothing known", after: only(2, 1, 0), want: []string{"tests_newly_failing"}},
		{name: "counts pass and it fails", base: only(2, 0, 0), after: status(only(2, 0, 0), runner.StatusFailed), want: []string{"check_failed"}},
		{name: "counts deny a failure", base: tests("+a +b"), after: broken(tests("+a -b"), func(r *runner.Report) { r.TestCounts.Failed, r.TestCounts.Passed = 0, 2 }), want: []string{"report_contradicts"}},
		{name: "counts more than there is", base: tests("+a"), after: broken(tests("+a"), func(r *runner.Report) { r.TestCounts.Passed = 7 }), want: []string{"report_contradicts"}},
		{name: "counts others than it names", base: tests("+a +b"), after: broken(tests("+a +b"), func(r *runner.Report) { r.TestCounts.Total, r.TestCounts.Passed = 5, 5 }), want: []string{"report_contradicts"}},
		{name: "counts in its own way, as on the base", base: broken(tests("+a +b"), func(r *runner.Report) { r.TestCounts.Total, r.TestCounts.Passed = 5, 5 }), after: broken(tests("+a +b"), func(r *runner.Report) { r.TestCounts.Total, r.TestCounts.Passed = 5, 5 }), want: []string{}},
		{name: "negative", base: tests("+a"), after: broken(tests("+a"), func(r *runner.Report) { r.TestCounts.Failed = -1 }), want: []string{"report_contradicts"}},
		{name: "fails outside of tests", base: tests("+a"), after: status(tests("+a"), runner.StatusFailed), want: []string{"check_failed"}},
		{name: "fails outside of tests as before", base: status(tests("+a"), runner.StatusFailed), after: status(tests("+a"), runner.StatusFailed), want: []string{"check_failed"}},
		{name: "the same, and old failures never count", base: status(tests("+a"), runner.StatusFailed), after: status(tests("+a"), runner.StatusFailed), require: &no, want: []string{"(check_failed)"}},
		{name: "the base did not build", base: status(tests(""), runner.StatusError), after: tests("+a"), want: []string{}},
		{name: "the base did not build, and it fails", base: status(tests(""), runner.StatusError), after: tests("-a"), want: []string{"tests_newly_failing a"}},
		{name: "it cannot be told", base: tests("+a"), after: status(tests("+a"), runner.StatusError), want: []string{"check_error"}},
		{name: "not applicable", base: tests("+a"), after: status(tests(""), runner.StatusSkipped), want: []string{"check_not_applicable"}},
		{name: "an unknown status of a test is a failure", base: tests("+a"), after: broken(tests("+a"), func(r *runner.Report) { r.TestCases[0].Status = "great"; r.TestCounts = nil }), want: []string{"tests_newly_failing a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unstable := map[string]bool{}
			for _, id := range c.unstable {
				unstable[id] = true
			}
			_, got := compare(comparer{check: deed.Check{Capability: runner.Test, RequirePass: c.require}, base: c.base, after: c.after, unstable: unstable, allowed: c.allowed})
			if diff := cmp.Diff(c.want, said(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestComparisonNamesAndBounds(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	for i := range 250 {
		fmt.Fprintf(&before, " +t%03d", i)
		fmt.Fprintf(&after, " -t%03d", i)
	}
	got, grounds := compare(comparer{check: deed.Check{Capability: runner.Test}, base: tests(before.String() + " +gone -fixed"), after: tests(after.String() + " +fixed +new")})
	if len(got.NewlyFailing) != perCode || got.Counts["newly_failing"] != 250 || got.NewlyFailing[0] != "p::t000" {
		t.Errorf("%d of %d, first %v", len(got.NewlyFailing), got.Counts["newly_failing"], got.NewlyFailing[:1])
	}
	want := [][]string{{"p::gone"}, {"p::fixed"}, {"p::new"}}
	if diff := cmp.Diff(want, [][]string{got.Vanished, got.Fixed, got.New}); diff != "" {
		t.Error(diff)
	}
	if got.Base.Total != 252 || got.After.Failed != 250 {
		t.Errorf("%+v %+v", got.Base, got.After)
	}
	if m := grounds[0].message; m != "p::t000 fails, and passed on the base: got 1" {
		t.Errorf("%q", m)
	}
	long := tests("-x")
	long.TestCases[0].Name = strings.Repeat("é", 5000) + "\nx"
	_, grounds = compare(comparer{check: deed.Check{Capability: runner.Test}, base: tests("+a"), after: long})
	for _, g := range grounds {
		if len(g.message) > maxLine+4 || strings.Contains(g.message, "\n") {
			t.Errorf("%d bytes", len(g.message))
		}
	}
}

// TestCompareBuildThatFailedAsAWhole: cargo reports no suite if nothing compiles.
func TestCompareBuildThatFailedAsAWhole(t *testing.T) {
	t.Parallel()
	base := &runner.Report{Capability: runner.Test, Status: runner.StatusFailed, TestCases: []runner.TestCase{{Name: "[build]", Status: runner.CaseFailed}}, TestCounts: &runner.TestResults{Total: 1, Failed: 1}}
	if out, got := compare(comparer{check: deed.Check{Capability: runner.Test}, base: base, after: tests("+a +b")}); counted(got) || len(out.Fixed) != 1 {
		t.Errorf("it compiles now: %+v %+v", out, got)
	}
	if _, got := compare(comparer{check: deed.Check{Capability: runner.Test}, base: base, after: base}); !counted(got) {
		t.Errorf("it still does not compile: %+v", got)
	}
}

// TestCompareTestsThatWereLaidOver: the tests that come with a hidden check are what is asked for, so each of them counts.
func TestCompareTestsThatWereLaidOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		require *bool
		counts  bool
	}{{"as it is", nil, true}, {"old failures are said not to count", new(false), false}} {
		_, got := compare(comparer{check: deed.Check{Capability: runner.Test, Hidden: true, Files: "/hidden", RequirePass: c.require}, base: tests("-seen -hidden"), after: tests("+seen -hidden")})
		if len(got) != 1 || got[0].code != CodeTestsStillFailing || got[0].note == c.counts {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestCompareFindings(t *testing.T) {
	t.Parallel()
	yes := true
	lint := func(status string, prints ...string) *runner.Report {
		r := &runner.Report{Capability: runner.Lint, Status: status}
		for i, p := range prints {
			r.LintFindings = append(r.LintFindings, runner.LintFinding{Message: "bad " + p, File: "a.go", Line: i + 1, Rule: "R1", Fingerprint: p})
		}
		return r
	}
	for _, c := range []struct {
		name        string
		base, after *runner.Report
		require     *bool
		want        []string
	}{
		{"clean", lint("passed"), lint("passed"), nil, []string{}},
		{"as before", lint("failed", "a"), lint("failed", "a"), nil, []string{"(lint_unchanged)"}},
		{"as before, all must go", lint("failed", "a"), lint("failed", "a"), &yes, []string{"lint_unchanged"}},
		{"introduced", lint("failed", "a"), lint("failed", "b", "a"), nil, []string{"lint_introduced b", "(lint_unchanged)"}},
		{"resolved", lint("failed", "a", "b"), lint("failed", "b"), nil, []string{"(lint_unchanged)"}},
		{"a second of the same", lint("failed", "a"), lint("failed", "a", "a"), nil, []string{"lint_introduced a", "(lint_unchanged)"}},
		{"fails without a finding", lint("passed"), lint("failed"), nil, []string{"check_failed"}},
		{"fails without a finding as before", lint("failed"), lint("failed"), nil, []string{"(check_failed)"}},
		{"the base could not be told", lint("error", "a"), lint("failed", "a"), nil, []string{"lint_introduced a"}},
		{"no base", nil, lint("failed", "a"), nil, []string{"lint_introduced a"}},
		{"broken", lint("passed"), lint("error"), nil, []string{"check_error"}},
	} {
		_, got := compare(comparer{check: deed.Check{Capability: runner.Lint, RequirePass: c.require}, base: c.base, after: c.after})
		if diff := cmp.Diff(c.want, said(got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	_, got := compare(comparer{check: deed.Check{Capability: runner.Lint}, base: lint("passed"), after: lint("failed", "x")})
	if got[0].message != "a.go:1: bad x (R1)" {
		t.Errorf("%q", got[0].message)
	}
}

func TestCompareBuild(t *testing.T) {
	t.Parallel()
	no := false
	build := func(s string) *runner.Report { return &runner.Report{Capability: runner.Build, Status: s} }
	for _, c := range []struct {
		name        string
		base, after *runner.Report
		require     *bool
		want        []string
	}{
		{"passes", build("failed"), build("passed"), nil, []string{}},
		{"fails", build("passed"), build("failed"), nil, []string{"check_failed"}},
		{"fails as before", build("failed"), build("failed"), nil, []string{"check_failed"}},
		{"fails as before, and that never counts", build("failed"), build("failed"), &no, []string{"(check_failed)"}},
		{"fails anew, although old failures do not count", build("passed"), build("failed"), &no, []string{"check_failed"}},
	} {
		_, got := compare(comparer{check: deed.Check{Capability: runner.Build, RequirePass: c.require}, base: c.base, after: c.after})
		if diff := cmp.Diff(c.want, said(got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestDisagree(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"p::b", "p::x1", "p::x2"}, disagree(tests("+a +b +x1"), tests("+a -b +x2"))); diff != "" {
		t.Error(diff)
	}
}

// What could not be built or loaded on the base is one failure there, which is gone when it can be.
func TestStandInsForTests(t *testing.T) {
	t.Parallel()
	report := func(list ...runner.TestCase) *runner.Report {
		r := tests("")
		r.TestCases = list
		c := tally(list)
		r.TestCounts = &c
		if c.Failed > 0 {
			r.Status = runner.StatusFailed
		}
		return r
	}
	one := func(suite, name, status string) runner.TestCase {
		return runner.TestCase{Suite: suite, Name: name, Status: status}
	}
	build, load := one("p/calc", "[build]", "failed"), one("calc.test.js", "[load]", "failed")
	other := one("p/text", "TestSame", "passed")
	for name, c := range map[string]struct {
		base, after *runner.Report
		want        []string
	}{
		"the tests run":                      {report(build, other), report(one("p/calc", "TestAdd", "passed"), other), []string{}},
		"a part of them":                     {report(build, other), report(one("p/calc", "TestAdd/x", "passed"), other), []string{}},
		"none runs":                          {report(build, other), report(other), []string{"tests_vanished p/calc::[build]"}},
		"others run":                         {report(build, other), report(other, one("p/more", "TestMore", "passed")), []string{"tests_vanished p/calc::[build]"}},
		"a package of a like name":           {report(build, other), report(other, one("p/calculus", "TestMore", "passed")), []string{"tests_vanished p/calc::[build]"}},
		"a package below it":                 {report(build, other), report(other, one("p/calc/text", "TestMore", "passed")), []string{"tests_vanished p/calc::[build]"}},
		"a package of a like path":           {report(build, other), report(other, one("p/calc.v2", "TestMore", "passed")), []string{"tests_vanished p/calc::[build]"}},
		"a describe of the file":             {report(load), report(one("calc.test.js > calc", "adds", "passed")), []string{}},
		"all that run are skipped":           {report(build, other), report(other, one("p/calc", "TestAdd", "skipped")), []string{"tests_vanished p/calc::[build]"}},
		"it still stands":                    {report(build, other), report(build, other), []string{"tests_still_failing p/calc::[build]"}},
		"tests without files run":            {report(load, one("", "ok", "passed")), report(one("", "ok", "passed"), one("", "adds", "passed")), []string{}},
		"tests without files do not":         {report(load, one("", "ok", "passed")), report(one("", "ok", "passed")), []string{"tests_vanished calc.test.js::[load]"}},
		"the file ends before it has a test": {report(load, one("", "ok", "passed")), report(one("", "ok", "passed"), one("", "new", "passed"), one("", "calc.test.js", "passed")), []string{"tests_vanished calc.test.js::[load]"}},
		"modules":                            {report(one("test_calc", "[load]", "failed")), report(one("", "test_calc.Calc.test_add", "passed")), []string{}},
	} {
		_, got := compare(comparer{check: deed.Check{Capability: runner.Test}, base: c.base, after: c.after})
		if diff := cmp.Diff(c.want, said(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A project's code can report as many tests as it likes. What is made of them must take no more than a moment.
func TestReportOfVeryManyTests(t *testing.T) {
	t.Parallel()
	const n = 200_000
	r := tests("")
	for i := range n {
		r.TestCases = append(r.TestCases, runner.TestCase{Suite: "p", Name: fmt.Sprintf("Test%07x%08x", i, i), Status: runner.CaseFailed})
	}
	c := tally(r.TestCases)
	r.TestCounts, r.Status = &c, runner.StatusFailed
	var ws []witness
	for i := range maxSites {
		ws = append(ws, witness{site: fmt.Sprint("0:", i), token: fmt.Sprintf("%016x", i)})
	}
	if seen := takeWitnesses(r, ws, runner.CasePassed); len(seen) != 0 || len(r.TestCases) != n {
		t.Fatalf("%d witnesses seen, %d tests left", len(seen), len(r.TestCases))
	}
	_, grounds := compare(comparer{check: deed.Check{Capability: runner.Test}, base: tests("+a"), after: r})
	k := &evaluation{}
	for _, tree := range []string{treePinned, treeSubmitted} { // compared by pairs this is a matter of minutes
		k.addGrounds(tree, grounds)
	}
	if len(k.grounds) != n+1 { // and one that is gone
		t.Errorf("%d grounds", len(k.grounds))
	}
}

func TestTokensAreFoundWhereverTheyStand(t *testing.T) {
	t.Parallel()
	tokens := map[string]int{"0123456789abcdef": 3}
	for text, want := range map[string]int{
		"TestWitness0123456789abcdef": 3, "0123456789abcdef": 3, "ab0123456789abcdef": 3, "0123456789abcdef0": 3, "x/zz_0123456789abcdef_test.go": 3,
		"": -1, "0123456789abcde": -1, "01234567_89abcdef": -1, "0123456789ABCDEF": -1, "fedcba9876543210": -1,
	} {
		if got := tokenIn(tokens, text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

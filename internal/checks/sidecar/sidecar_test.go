package sidecar_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/sidecar"
)

// run is a run directory in which a script left files.
func run(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := sidecar.Paths(dir).Make(); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, files map[string]string) sidecar.Set {
	t.Helper()
	set, err := sidecar.Read(run(t, files), "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// wantFaults checks that the faults are those of the sidecars, in any order, and that each says something.
func wantFaults(t *testing.T, set sidecar.Set, want ...string) {
	t.Helper()
	var got []string
	for _, f := range set.Faults {
		got = append(got, f.Sidecar)
		if f.Message == "" || f.Path == "" && f.Sidecar != "" {
			t.Errorf("a fault that says nothing: %+v", f)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s\n%v", diff, set.Faults)
	}
}

func TestNothingWritten(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"missing": nil,
		// edge case 11
		"zero bytes":  {"lint-findings.json": "", "test-results.json": "", "test-failures.json": "", "test-cases.json": "", "coverage.json": "", "fix-results.json": "", "fix-plan.json": "", "annotations/a.json": "", "reports/x.xml": ""},
		"white space": {"lint-findings.json": " \n", "test-results.json": "\t\n", "test-failures.json": "  ", "test-cases.json": "\r\n", "coverage.json": "\n", "fix-results.json": " ", "fix-plan.json": " ", "annotations/a.json": " ", "reports/x.xml": "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(sidecar.Set{}, read(t, files), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunDirectoryGone(t *testing.T) {
	t.Parallel()
	if _, err := sidecar.Read(filepath.Join(t.TempDir(), "gone"), ""); err == nil {
		t.Error("no error")
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     *runner.TestResults
		faults   int
	}{
		{"the shape of the contract", `{"total":42,"passed":41,"failed":1,"skipped":0}`, &runner.TestResults{Total: 42, Passed: 41, Failed: 1}, 0},
		{"edge case 17: errors are failures", `{"total":5,"passed":2,"failed":1,"errors":1,"skipped":1}`, &runner.TestResults{Total: 5, Passed: 2, Failed: 2, Skipped: 1}, 0},
		{"edge case 18: a text", `{"total":"5","passed":2}`, &runner.TestResults{Total: 2, Passed: 2}, 1},
		{"edge case 18: below 0", `{"total":3,"failed":-1}`, &runner.TestResults{Total: 3}, 1},
		{"edge case 18: with a point", `{"total":3,"failed":1.5}`, &runner.TestResults{Total: 3}, 1},
		{"beyond all bounds", `{"total":1e400,"failed":99999999999999999999}`, &runner.TestResults{}, 2},
		{"edge case 19: the label stays", `{"total":3,"passed":3,"failed":0,"skipped":0,"partial":"testdox-fallback"}`, &runner.TestResults{Total: 3, Passed: 3, Partial: "testdox-fallback"}, 0},
		{"a label that is none", `{"total":1,"passed":1,"partial":{}}`, &runner.TestResults{Total: 1, Passed: 1}, 1},
		{"no total", `{"passed":1,"failed":2}`, &runner.TestResults{Total: 3, Passed: 1, Failed: 2}, 0},
		{"a total that is too small hides no failure", `{"total":1,"passed":1,"failed":2}`, &runner.TestResults{Total: 3, Passed: 1, Failed: 2}, 0},
		{"zero tests", `{"total":0,"passed":0,"failed":0,"skipped":0}`, &runner.TestResults{}, 0},
		{"no counts at all", `{"status":"crashed","details":{"total":9}}`, nil, 0},
		{"no object", `[1]`, nil, 1},
		{"half an object", `{"total":4,"failed"`, nil, 1},
		{"text", `Total: 4`, nil, 1},
		{"a byte order mark", "\xef\xbb\xbf{\"total\":1,\"passed\":1}", &runner.TestResults{Total: 1, Passed: 1}, 0},
		{"the same count twice: the last one", `{"failed":0,"failed":2}`, &runner.TestResults{Total: 2, Failed: 2}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := read(t, map[string]string{"test-results.json": c.in})
			if diff := cmp.Diff(c.want, set.Results); diff != "" {
				t.Error(diff)
			}
			if len(set.Faults) != c.faults {
				t.Errorf("faults: %v", set.Faults)
			}
		})
	}
}

// edge case 26
func TestFailures(t *testing.T) {
	t.Parallel()
	full := runner.TestFailure{TestName: "CartTest::testAdd", TestFile: "tests/CartTest.php", ErrorType: "E", Message: "no", SourceFile: "src/Cart.php", SourceLine: 12}
	for _, c := range []struct {
		name, in string
		want     []runner.TestFailure
		counts   *runner.TestResults
		faults   int
	}{
		{"an array", `[{"test_name":"CartTest::testAdd","test_file":"tests/CartTest.php","error_type":"E","message":"no","source_file":"src/Cart.php","source_line":12}]`, []runner.TestFailure{full}, nil, 0},
		{"an object", `{"total":3,"passed":1,"failures":[{"test_name":"CartTest::testAdd","test_file":"tests/CartTest.php","error_type":"E","message":"no","source_file":"src/Cart.php","source_line":12}]}`, []runner.TestFailure{full}, &runner.TestResults{Total: 3, Passed: 1, Failed: 1, Skipped: 1, Partial: "test-failures"}, 0},
		{"the other names", `[{"test_id":"CartTest::testAdd","file":"tests/CartTest.php","failure_type":"E","message":"no","source":"src/Cart.php","line":"12"}]`, []runner.TestFailure{full}, nil, 0},
		{"fields are missing, or of another type", `[{"message":"no"},{},{"test_name":5,"message":null,"source_line":{}}]`, []runner.TestFailure{{Message: "no"}, {}, {TestName: "5"}}, nil, 0},
		{"a total of 0 and failures", `{"total":0,"passed":0,"failures":[{},{}]}`, []runner.TestFailure{{}, {}}, &runner.TestResults{Total: 2, Failed: 2, Partial: "test-failures"}, 0},
		{"more passed than there are", `{"total":3,"passed":9,"failures":[{}]}`, []runner.TestFailure{{}}, &runner.TestResults{Total: 3, Passed: 2, Failed: 1, Partial: "test-failures"}, 0},
		{"one that is none hides no other", `[{"message":"a"},"x",{"message":"b"}]`, []runner.TestFailure{{Message: "a"}, {Message: "b"}}, nil, 1},
		{"half an array", `[{"message":"a"},{"mess`, []runner.TestFailure{{Message: "a"}}, nil, 1},
		{"null", `null`, nil, nil, 0},
		{"an object without failures", `{"total":2,"passed":2}`, nil, &runner.TestResults{Total: 2, Passed: 2, Partial: "test-failures"}, 0},
		{"a number", `7`, nil, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := read(t, map[string]string{"test-failures.json": c.in})
			if diff := cmp.Diff(c.want, set.Failures); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.counts, set.Results); diff != "" {
				t.Error(diff)
			}
			if len(set.Faults) != c.faults {
				t.Errorf("faults: %v", set.Faults)
			}
		})
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{"lint-findings.json": `[{"id":"a.php::R::3","message":"m","category":"c","custom":{"k":1}},{"message":"no category"}]`})
	wantFaults(t, set)
	if !set.FindingsWritten || len(set.Findings) != 2 {
		t.Fatalf("%+v", set.Findings)
	}
	if string(set.Findings[0].Extra["custom"]) != `{"k":1}` { // edge case 13
		t.Errorf("extra keys are lost: %+v", set.Findings[0])
	}
	if set.Findings[1].Message != "no category" { // edge case 12
		t.Errorf("%+v", set.Findings[1])
	}
	if set := read(t, map[string]string{"lint-findings.json": `[]`}); !set.FindingsWritten || len(set.Findings) != 0 {
		t.Errorf("an empty array is written: %+v", set)
	}
	// edge case 10: malformed input is a fault, and what could be read is there
	set = read(t, map[string]string{"lint-findings.json": `[{"message":"m"},{"line":`})
	wantFaults(t, set, sidecar.LintFindings)
	if len(set.Findings) != 1 {
		t.Errorf("%+v", set.Findings)
	}
	set = read(t, map[string]string{"lint-findings.json": `oh no`})
	wantFaults(t, set, sidecar.LintFindings)
	if set.FindingsWritten {
		t.Error("what is no array is taken for one")
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{"test-cases.json": `[
{"suite":"s","name":"a","status":"passed","duration_ms":1.5,"file":"./x/../a.go","line":3},
{"suite":"s","name":"a","status":"failed","message":"no","type":"T"},
{"suite":"s","name":"b","status":"unheard-of"},
{"suite":"s","status":"passed"},
7,
{"name":"c","status":"skipped","message":"later"}]`})
	want := []runner.TestCase{
		{Suite: "s", Name: "a", Status: "passed", DurationMS: 1.5, File: "a.go", Line: 3},
		{Suite: "s", Name: "a#2", Status: "failed", Message: "no", Type: "T"},
		{Suite: "s", Name: "b", Status: "failed"},
		{Name: "c", Status: "skipped", Message: "later"},
	}
	if diff := cmp.Diff(want, set.Cases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&runner.TestResults{Total: 4, Passed: 1, Failed: 2, Skipped: 1}, set.Results); diff != "" {
		t.Error(diff)
	}
	wantFaults(t, set, sidecar.TestCases, sidecar.TestCases, sidecar.TestCases)
	if len(set.Failures) != 2 {
		t.Errorf("%+v", set.Failures)
	}
}

const (
	junitOne = `<testsuite name="s"><testcase name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite>`
	tapOne   = "1..1\nok 1 - c\n"
)

func TestReports(t *testing.T) {
	t.Parallel()
	names := func(cases []runner.TestCase) (ids []string) {
		for _, c := range cases {
			ids = append(ids, c.Status+" "+c.ID())
		}
		return ids
	}
	reports := map[string]string{"reports/1.xml": junitOne, "reports/deep/2.tap": tapOne}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(reports)
		maps.Copy(all, more)
		return all
	}
	named := []string{"passed s::a", "failed s::b", "passed c"}
	for _, c := range []struct {
		name   string
		files  map[string]string
		want   *runner.TestResults
		cases  []string
		faults []string
	}{
		{"alone they give the counts", reports, &runner.TestResults{Total: 3, Passed: 2, Failed: 1}, named, nil},
		{"beside counts they give the names", with(map[string]string{"test-results.json": `{"total":3,"passed":2,"failed":1,"partial":"p"}`}), &runner.TestResults{Total: 3, Passed: 2, Failed: 1, Partial: "p"}, named, nil},
		{"counts that are better than the names are not believed", with(map[string]string{"test-results.json": `{"total":3,"passed":3,"failed":0}`}), &runner.TestResults{Total: 3, Passed: 2, Failed: 1}, named, nil},
		{"the file of tests by name comes first", with(map[string]string{"test-cases.json": `[{"name":"z","status":"passed"},{"name":"y","status":"passed"},{"name":"x","status":"passed"}]`}), &runner.TestResults{Total: 4, Passed: 3, Failed: 1}, []string{"passed z", "passed y", "passed x", "failed s::b"}, nil},
		{"and hides no failure that a tool reports", with(map[string]string{"test-cases.json": `[{"suite":"s","name":"b","status":"passed"},{"suite":"s","name":"a","status":"skipped"}]`, "test-results.json": `{"total":2,"passed":2,"failed":0}`}), &runner.TestResults{Total: 2, Passed: 1, Failed: 1}, []string{"failed s::b", "skipped s::a"}, nil},
		{"a broken one hides no other", with(map[string]string{"reports/0.xml": "<testsuite><testcase name='q'><fail", "reports/3.txt": "hello"}), &runner.TestResults{Total: 4, Passed: 2, Failed: 2, Partial: "broken-report"}, []string{"failed q", "passed s::a", "failed s::b", "passed c"}, []string{sidecar.TestReports, sidecar.TestReports}},
		{"one that only counts counts more than it names", map[string]string{"reports/p.txt": "1 failed, 3 passed in 0.1s\n"}, &runner.TestResults{Total: 4, Passed: 3, Failed: 1}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := read(t, c.files)
			if diff := cmp.Diff(c.want, set.Results); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.cases, names(set.Cases)); diff != "" {
				t.Error(diff)
			}
			wantFaults(t, set, c.faults...)
		})
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{"coverage.json": "mode: set\na.go:1.1,1.9 2 1\na.go:2.1,2.9 2 0\n"})
	if set.Coverage == nil || set.CoverageFormat != "go" || set.Coverage.Totals.Lines.Pct != 50 { // edge case 48: exactly 50
		t.Errorf("%+v, %q", set.Coverage, set.CoverageFormat)
	}
	set = read(t, map[string]string{"coverage.json": `{"files":[{"file":"a","line_pct":3}]}`}) // edge case 48: no totals
	wantFaults(t, set, sidecar.Coverage)
	if set.Coverage != nil {
		t.Errorf("%+v", set.Coverage)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{
		"annotations/phpstan.json": `[{"message":"second","file":"a.php","line":"7","source":"other","severity":"error","code":"c","fixable":true}]`,
		"annotations/eslint.json":  `[{"message":"first","line":0,"fixable":"no"},{"file":"x"},{"message":7}]`,
		"annotations/notes.txt":    `not read`,
		"annotations/zzz.json":     `{"no":"array"}`,
	})
	want := []runner.Annotation{
		{Message: "first", Source: "eslint"},
		{Message: "7", Source: "eslint"},
		{Message: "second", File: "a.php", Line: 7, Source: "other", Severity: "error", Code: "c", Fixable: true},
	}
	if diff := cmp.Diff(want, set.Annotations); diff != "" {
		t.Error(diff)
	}
	wantFaults(t, set, sidecar.Annotations, sidecar.Annotations)
}

func TestFixes(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{
		"fix-results.json": `[{"file":"a.php","rule":"r","action":"replace","primitive":"p","confidence":"safe"},{"file":"b.php","rule":"r"},{"file":"c.php"},{"file":"../../etc/passwd","rule":"r"},{"file":"d.php","rule":"r","confidence":"certain"}]`,
		"fix-plan.json":    `[{"file":"e.php","rule":"r","confidence":"advisory"}]`,
	})
	want := []runner.FixResult{
		{File: "a.php", Rule: "r", Action: "replace", Primitive: "p", Confidence: runner.ConfidenceSafe},
		{File: "b.php", Rule: "r", Confidence: runner.ConfidenceGuarded},
		{File: "d.php", Rule: "r", Confidence: runner.ConfidenceAdvisory},
	}
	if diff := cmp.Diff(want, set.Fixes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]runner.FixResult{{File: "e.php", Rule: "r", Confidence: runner.ConfidenceAdvisory}}, set.Plan); diff != "" {
		t.Error(diff)
	}
	wantFaults(t, set, sidecar.FixResults, sidecar.FixResults, sidecar.FixResults)
}

// TestHostileDirectory: what is no regular file is neither followed nor waited for, and hides nothing.
func TestHostileDirectory(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`[{"message":"secret"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := run(t, map[string]string{"test-results.json": `{"total":1,"failed":1}`, "real.json": `[{"message":"x"}]`})
	f := sidecar.Paths(dir)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	link(secret, f.LintFindings)
	link("real.json", f.TestFailures) // also one that stays inside
	if err := syscall.Mkfifo(f.Coverage, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.FixResults, f.TestCases} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(secret, filepath.Join(f.Annotations, "a.json"))
	if err := os.Remove(f.TestReports); err != nil {
		t.Fatal(err)
	}
	link(filepath.Dir(secret), f.TestReports)
	link("/dev/zero", f.FixPlan)
	set, err := sidecar.Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if set.Results == nil || set.Results.Failed != 1 {
		t.Errorf("the good file is lost: %+v", set.Results)
	}
	wantFaults(t, set, sidecar.LintFindings, sidecar.TestFailures, sidecar.Coverage, sidecar.FixResults, sidecar.FixPlan, sidecar.TestCases, sidecar.Annotations, sidecar.TestReports)
	if len(set.Findings)+len(set.Failures)+len(set.Annotations)+len(set.Cases) > 0 {
		t.Errorf("something was followed: %+v", set)
	}
	for _, f := range set.Faults {
		if !strings.Contains(f.Message, "not a ") {
			t.Errorf("%v does not say what it is", f)
		}
	}
}

func TestLargeFiles(t *testing.T) {
	t.Parallel()
	dir := run(t, nil)
	f, err := os.OpenFile(sidecar.Paths(dir).TestResults, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<30), f.Close()); err != nil { // sparse
		t.Fatal(err)
	}
	set, err := sidecar.Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	wantFaults(t, set, sidecar.TestResults)
}

// TestFaultsAreBounded: a script that writes nothing but faults does not fill the report.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	set := read(t, map[string]string{"test-failures.json": "[" + strings.Repeat("1,", 5000) + "1]"})
	if n := len(set.Faults); n > 300 || n < 100 {
		t.Errorf("%d faults", n)
	}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	env := sidecar.Paths("/run/x").Env()
	for name, want := range map[string]string{
		"HOMEBOY_RUN_DIR": "/run/x", "HOMEBOY_LINT_FINDINGS_FILE": "/run/x/lint-findings.json", "HOMEBOY_TEST_RESULTS_FILE": "/run/x/test-results.json",
		"HOMEBOY_TEST_FAILURES_FILE": "/run/x/test-failures.json", "HOMEBOY_COVERAGE_FILE": "/run/x/coverage.json", "HOMEBOY_FIX_RESULTS_FILE": "/run/x/fix-results.json",
		"HOMEBOY_FIX_PLAN_FILE": "/run/x/fix-plan.json", "HOMEBOY_ANNOTATIONS_DIR": "/run/x/annotations", "DEED_TEST_CASES_FILE": "/run/x/test-cases.json", "DEED_TEST_REPORT_DIR": "/run/x/reports",
	} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
}

// edge case 50
func TestDeclare(t *testing.T) {
	t.Parallel()
	f := sidecar.Paths("/run/x")
	for _, path := range []string{"", ".", "/abs", "../x", "a/../../x"} {
		if err := f.Declare(sidecar.TestResults, path); !errors.Is(err, sidecar.ErrPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := errors.Join(f.Declare(sidecar.TestResults, "out/results.json"), f.Declare("bench.results", "b.json")); err != nil {
		t.Fatal(err)
	}
	if f.TestResults != "/run/x/out/results.json" {
		t.Error(f.TestResults)
	}

	dir := run(t, map[string]string{"out/results.json": `{"total":1,"passed":1}`})
	f = sidecar.Paths(dir)
	if err := f.Declare(sidecar.TestResults, "out/results.json"); err != nil {
		t.Fatal(err)
	}
	set, err := f.Read("")
	if err != nil || set.Results == nil {
		t.Errorf("%+v, %v", set, err)
	}
}

// FuzzRead: nothing that a script writes breaks the reading.
func FuzzRead(f *testing.F) {
	f.Add(`{"total":1,"passed":1}`, `[{"test_name":"a"}]`, `[{"message":"m"}]`, `[{"name":"a","status":"passed"}]`, `[{"file":"a","rule":"r"}]`)
	f.Add(`[`, `{"failures":[{}],"total":-1}`, `[1]`, `[{}]`, `null`)
	f.Fuzz(func(t *testing.T, results, failures, annotations, cases, fixes string) {
		dir := t.TempDir()
		p := sidecar.Paths(dir)
		if err := p.Make(); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{p.TestResults: results, p.TestFailures: failures, filepath.Join(p.Annotations, "a.json"): annotations, p.TestCases: cases, p.FixResults: fixes} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := sidecar.Read(dir, dir)
		if err != nil {
			t.Fatal(err)
		}
		if r := set.Results; r != nil && (r.Total < r.Passed+r.Failed+r.Skipped || r.Failed < 0 || r.Passed < 0 || r.Skipped < 0) {
			t.Errorf("%+v", r)
		}
		for _, a := range set.Annotations {
			if a.Message == "" || a.Source == "" {
				t.Errorf("%+v", a)
			}
		}
		for _, x := range set.Fixes {
			if !filepath.IsLocal(x.File) || !slices.Contains(runner.Confidences, x.Confidence) {
				t.Errorf("%+v", x)
			}
		}
	})
}

package finding

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sarif(run string) string { return `{"version":"2.1.0","runs":[` + run + `]}` }

func results(list string) string {
	return sarif(`{"tool":{"driver":{"name":"t"}},"results":[` + list + `]}`)
}

func TestReadSARIF(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []runner.LintFinding
	}{
		"the least":                         {results(`{"message":{"text":"m"}}`), []runner.LintFinding{{ID: "::::0", Message: "m", Tool: "t", Severity: "warning"}}},
		"no results":                        {results(``), nil},
		"null":                              {sarif(`{"tool":{"driver":{"name":"t"}},"results":null}`), nil},
		"a byte order mark, nothing at all": {"\uFEFF \n", nil},
		"a place": {
			results(`{"ruleId":"R1","level":"error","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a%20b.c","uriBaseId":"%SRCROOT%"},"region":{"startLine":3,"startColumn":5}}}],"fixes":[{}]}`),
			[]runner.LintFinding{{ID: "src/a b.c::R1::3", Message: "m", Tool: "t", Rule: "R1", File: "src/a b.c", Line: 3, Column: 5, Severity: "error", Fixable: true}},
		},
		"an absolute place": {
			results(`{"ruleId":"R1","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///srv/site/a.c"}}}]}`),
			[]runner.LintFinding{{ID: "a.c::R1::0", Message: "m", Tool: "t", Rule: "R1", File: "a.c", Severity: "warning"}},
		},
		"bases of bases, and a ring of them": {
			sarif(`{"tool":{"driver":{"name":"t"}},"originalUriBaseIds":{"ROOT":{"uri":"file:///srv/site/"},"SRC":{"uri":"src/","uriBaseId":"ROOT"},"X":{"uri":"x","uriBaseId":"X"}},"results":[
				{"message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.c","uriBaseId":"SRC"}}}]},
				{"message":{"text":"n"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.c","uriBaseId":"X"}}}]}]}`),
			[]runner.LintFinding{
				{ID: "src/a.c::::0", Message: "m", Tool: "t", File: "src/a.c", Severity: "warning"},
				{ID: "x/x/x/x/x/x/x/x/a.c::::0", Message: "n", Tool: "t", File: "x/x/x/x/x/x/x/x/a.c", Severity: "warning"},
			},
		},
		"an artifact by its index, a rule by its": {
			sarif(`{"tool":{"driver":{"name":"t","rules":[{"id":"A"},{"id":"B","helpUri":"https://b","defaultConfiguration":{"level":"note"},"messageStrings":{"default":{"text":"{0} of {1}, {{0}} {9}"}},"properties":{"tags":["x","security"]}}]}},
				"artifacts":[{"location":{"uri":"z.c"}}],"results":[{"ruleIndex":1,"message":{"id":"default","arguments":["one","two"]},"locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]}]}`),
			[]runner.LintFinding{{
				ID: "z.c::B::0", Message: "one of two, {0} {9}", Tool: "t", Rule: "B", File: "z.c", Severity: "note", Category: "security",
				Extra: map[string]json.RawMessage{"help_uri": raw(`"https://b"`)},
			}},
		},
		"a rule of an extension, narrowed": {
			sarif(`{"tool":{"driver":{"name":"t"},"extensions":[{"name":"e","rules":[{"id":"C","defaultConfiguration":{"level":"error"}}]}]},"results":[{"rule":{"id":"C/sub","toolComponent":{"index":0}},"message":{"text":"m"}}]}`),
			[]runner.LintFinding{{ID: "::C/sub::0", Message: "m", Tool: "t", Rule: "C/sub", Severity: "error"}},
		},
		"fingerprints": {
			results(`{"message":{"text":"m"},"fingerprints":{"x/v1":"one","x/v2":"two"},"partialFingerprints":{"primaryLocationLineHash":"h:1"}}`),
			[]runner.LintFinding{{ID: "two", Message: "m", Tool: "t", Severity: "warning", Extra: map[string]json.RawMessage{"partial_fingerprints": raw(`{"primaryLocationLineHash":"h:1"}`)}}},
		},
		"what is no finding": {
			results(`{"kind":"pass","message":{"text":"a"}},{"kind":"notApplicable","message":{"text":"b"}},{"kind":"informational","message":{"text":"c"}},{"baselineState":"absent","message":{"text":"d"}},
				{"suppressions":[{"kind":"inSource"}],"message":{"text":"e"}},{"suppressions":[{"kind":"external","status":"accepted"}],"message":{"text":"f"}},
				{"suppressions":[{"kind":"external","status":"accepted"},{"kind":"external","status":"rejected"}],"message":{"text":"told"}},{"suppressions":[],"kind":"review","message":{"text":"looked at"}}`),
			[]runner.LintFinding{{ID: "::::0", Message: "told", Tool: "t", Severity: "warning"}, {ID: "::::0", Message: "looked at", Tool: "t", Severity: "note"}},
		},
		"indices that lead nowhere": {
			results(`{"ruleIndex":-1,"ruleId":"r","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"index":7},"region":{"startLine":-4}}}]}`),
			[]runner.LintFinding{{ID: "::r::0", Message: "m", Tool: "t", Rule: "r", Severity: "warning"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadSARIF(strings.NewReader(c.text), "/srv/site")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadSARIFMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want string
		kept int
	}{
		{`{}`, `$: is an object, neither an array of findings nor a SARIF log`, 0},
		{`{"runs":[]}`, `$.version: is "", not 2.1.0 (let the tool write SARIF 2.1.0)`, 0},
		{`{"version":"1.0.0","runs":[]}`, `$.version: is "1.0.0", not 2.1.0 (let the tool write SARIF 2.1.0)`, 0},
		{`[]`, `$: is an array, which SARIF does not have there`, 0},
		{results(`{"message":"m"}`), `$.runs[0].results[0].message: is a string, which SARIF does not have there`, 0},
		{results(`{"message":{"text":"m"}},{"message":{"id":"none"}}`), `$.runs[0].results[1].message: says nothing: it has no text, and no message of its rule`, 1},
		{sarif(`{"tool":{"driver":{"name":"scan"}},"invocations":[{"executionSuccessful":false,"toolExecutionNotifications":[{"level":"error","message":{"text":"out of memory"}}]}],"results":[{"message":{"text":"m"}}]}`), `$.runs[0].invocations[0].executionSuccessful: scan says that it did not come to its end: out of memory`, 1},
		{sarif(`{"tool":{"driver":{"name":"t"}},"externalPropertyFileReferences":{"results":[{}]}}`), `$.runs[0].externalPropertyFileReferences.results: leaves the results to other files, which deed does not read (let the tool write one file)`, 0},
	} {
		fs, err := ReadSARIF(strings.NewReader(c.text), "")
		if err == nil || err.Error() != c.want || len(fs) != c.kept {
			t.Errorf("%s: %d kept\n got %v\nwant %s", c.text, len(fs), err, c.want)
		}
	}
	if _, err := ReadSARIF(strings.NewReader(`{"version":`), ""); err == nil || !strings.Contains(err.Error(), "is no JSON") {
		t.Error(err)
	}
	if _, err := readSARIF(&forever{text: []byte(" ")}, "", 2<<20); err == nil || !strings.Contains(err.Error(), "is longer than 2 MiB") {
		t.Error(err)
	}
}

// report has something of everything.
func report() runner.Report {
	exit := 1
	return runner.Report{
		Capability: "lint", Component: "site", Extension: "wordpress", Status: runner.StatusFailed, RunnerExit: &exit, Baseline: &runner.BaselineComparison{},
		LintFindings: []runner.LintFinding{
			{ID: "z.php::B::9", Message: "known", Tool: "phpcs", Rule: "B", File: "z.php", Line: 9, Severity: "error", Fingerprint: "f1", Known: true},
			{ID: "a b.php::A::2", Message: "100% wrong:\r\n::set-output name=x::y, really", Tool: "phpcs", Rule: "A", File: "a b.php", Line: 2, Column: 4, Category: "security", Fingerprint: "f2", Extra: map[string]json.RawMessage{"partial_fingerprints": raw(`{"primaryLocationLineHash":"h:1"}`)}},
			{Message: "no place", Tool: "phpstan", Severity: "info"},
		},
		Annotations: []runner.Annotation{
			{File: "a b.php", Line: 2, Message: "the same by its rule", Source: "phpcs", Code: "A", Severity: "error"},
			{File: "z.php", Line: 9, Message: "known", Source: "x"},
			{File: "c,d:e.php", Line: 1, Message: "", Source: "eslint", Code: "no-var", Severity: "error"},
		},
		Failures:  []runner.TestFailure{{TestName: "T::a", TestFile: "t.php", SourceFile: "src.php", SourceLine: 3, Message: "expected 1"}},
		TestCases: []runner.TestCase{{Suite: "T", Name: "a", Status: "failed"}, {Suite: "T", Name: "b", Status: "failed", File: "t.php", Line: 8}, {Name: "c", Status: "passed"}},
	}
}

const annotationsWant = `::error file=sub/c%2Cd%3Ae.php,line=1,title=eslint%3A no-var::eslint: no-var
::error file=sub/src.php,line=3,title=T%3A%3Aa::expected 1
::error file=sub/t.php,line=8,title=T%3A%3Ab::T::b
::warning file=sub/a b.php,line=2,col=4,title=phpcs%3A A::100%25 wrong:%0D%0A::set-output name=x::y, really
::notice title=phpstan::no place
`

func TestWriteGitHub(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := WriteGitHub(&out, report(), "sub"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(annotationsWant, out.String()); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		rep  runner.Report
		want string
	}{
		"passed":          {runner.Report{Capability: "lint", Status: "passed"}, ""},
		"infrastructure":  {runner.Report{Capability: "test", Failure: &runner.Failure{Category: "infrastructure", Summary: "no\noutput"}}, "::error title=deed test::no%0Aoutput\n"},
		"nothing to show": {runner.Report{Capability: "lint", Failure: &runner.Failure{Category: "findings", Summary: "exit 1"}}, "::error title=deed lint::exit 1\n"},
		"by name only":    {runner.Report{FailedTests: []runner.FailedTest{{Name: "x", Location: "a.go:7:2", Detail: "d"}, {Name: "y", Location: "b.go"}}}, "::error file=a.go,line=7,title=x::d\n::error file=b.go,title=y::y\n"},
	} {
		out.Reset()
		if err := WriteGitHub(&out, c.rep, ""); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	if err := WriteGitHub(failWriter{}, report(), ""); err == nil {
		t.Error("no error from a writer that fails")
	}
}

func TestWriteSARIF(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := WriteSARIF(&out, report(), "sub"); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/report.sarif"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
	again, err := ReadSARIF(&out, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range again {
		got = append(got, f.Tool+" "+f.ID+" "+f.Category)
	}
	if diff := cmp.Diff([]string{"eslint sub/c,d:e.php::no-var::1 ", "phpcs a b.php::A::2 security", "phpcs z.php::B::9 ", "phpstan ::::0 ", "test sub/src.php::test-failure::3 ", "test sub/t.php::test-failure::8 "}, got); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := WriteSARIF(&out, runner.Report{Capability: "lint", Status: runner.StatusError, Failure: &runner.Failure{Summary: "no eslint"}}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSARIF(&out, ""); err == nil || !strings.Contains(err.Error(), "no eslint") {
		t.Errorf("a run that broke is read as a clean one: %v", err)
	}
}

func FuzzReadSARIF(f *testing.F) {
	f.Add([]byte(results(`{"ruleId":"R1","level":"error","message":{"text":"m {0","arguments":["{0}"]},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"%zz","index":0},"region":{"startLine":3}}}]}`)))
	f.Add([]byte(sarif(`{"tool":{"driver":{"rules":[{"id":""}]}},"originalUriBaseIds":{"a":{"uriBaseId":"a"}},"results":[{"message":{"text":"x"}}]}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		fs, _ := ReadSARIF(bytes.NewReader(text), "/srv")
		var out bytes.Buffer
		if err := WriteSARIF(&out, runner.Report{LintFindings: fs}, "sub"); err != nil {
			t.Fatal(err)
		}
		again, err := ReadSARIF(&out, "/srv")
		if err != nil || len(again) != len(fs) {
			t.Fatalf("%d findings are read again as %d: %v", len(fs), len(again), err)
		}
	})
}

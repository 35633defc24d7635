package helper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

// Reports as the tools write them, of a component in /c d.
var lintReports = []struct {
	name, report string
	from         LintReport
	want         []runner.LintFinding
}{
	{"paths", "a.go\n./b c.go\n/c d/x.go\n\n", LintReport{Format: "paths", Tool: "gofmt", Rule: "format", Category: "format", Message: "not formatted", Fixable: true}, []runner.LintFinding{
		{ID: "gofmt:format:a.go:1:0", Message: "not formatted", Category: "format", Tool: "gofmt", Rule: "format", File: "a.go", Line: 1, Severity: "error", Fixable: true},
		{ID: "gofmt:format:b c.go:1:0", Message: "not formatted", Category: "format", Tool: "gofmt", Rule: "format", File: "b c.go", Line: 1, Severity: "error", Fixable: true},
		{ID: "gofmt:format:x.go:1:0", Message: "not formatted", Category: "format", Tool: "gofmt", Rule: "format", File: "x.go", Line: 1, Severity: "error", Fixable: true},
	}},
	{
		"text", "talk\na:b.py:3:7: E501 line too long (90 > 79)\nb.py:4: error: Name \"x\" is not defined  [name-defined]\nb.py:4: note: see here\nb.py:9: warning: old\nc.py:1:\n:3: x\n",
		LintReport{Format: "text", Tool: "t", Rule: "r"},
		[]runner.LintFinding{
			{ID: "t:E501:a:b.py:3:7", Message: "line too long (90 > 79)", Category: "t", Tool: "t", Rule: "E501", File: "a:b.py", Line: 3, Column: 7, Severity: "error"},
			{ID: "t:name-defined:b.py:4:0", Message: `Name "x" is not defined`, Category: "t", Tool: "t", Rule: "name-defined", File: "b.py", Line: 4, Severity: "error"},
			{ID: "t:r:b.py:9:0", Message: "old", Category: "t", Tool: "t", Rule: "r", File: "b.py", Line: 9, Severity: "warning"},
		},
	},
	{
		"go vet", "# x\n{\n\t\"x\": {\n\t\t\"printf\": [\n\t\t\t{\"posn\": \"/c d/a.go:5:28\", \"message\": \"wrong type: string\"}\n\t\t]\n\t}\n}\n# x [x.test]\n{\"x [x.test]\":{\"printf\":[{\"posn\":\"/c d/a.go:5:28\",\"message\":\"wrong type: string\"}],\"buildssa\":{\"error\":\"no\"}}}\n# y\nvet: y/b.go:3:2: undefined: z\n",
		LintReport{Format: "govet", Tool: "vet", Category: "correctness"},
		[]runner.LintFinding{
			{ID: "vet:printf:a.go:5:28", Message: "wrong type: string", Category: "correctness", Tool: "vet", Rule: "printf", File: "a.go", Line: 5, Column: 28, Severity: "error"},
			{ID: "vet:typecheck:y/b.go:3:2", Message: "undefined: z", Category: "correctness", Tool: "vet", Rule: "typecheck", File: "y/b.go", Line: 3, Column: 2, Severity: "error"},
		},
	},
	{
		"golangci-lint", `{"Issues":[{"FromLinter":"revive","Text":"exported: no comment","Severity":"warning","Pos":{"Filename":"a.go","Line":3,"Column":1},"SuggestedFixes":[{}]}],"Report":{}}` + "\n1 issues:\n",
		LintReport{Format: "golangci", Tool: "golangci-lint"},
		[]runner.LintFinding{{ID: "golangci-lint:revive:a.go:3:1", Message: "exported: no comment", Category: "golangci-lint", Tool: "golangci-lint", Rule: "revive", File: "a.go", Line: 3, Column: 1, Severity: "warning", Fixable: true}},
	},
	{"golangci-lint, nothing", `{"Issues":null}`, LintReport{Format: "golangci"}, nil},
	{
		"eslint", `[{"filePath":"/c d/src/a.js","messages":[{"ruleId":"no-var","severity":1,"message":"m","line":1,"column":2,"fix":{"range":[0,1]}},{"ruleId":null,"fatal":true,"severity":2,"message":"Parsing error","line":3,"column":4}]},{"filePath":"/c d/b.js","messages":[]}]`,
		LintReport{Format: "eslint", Tool: "eslint"},
		[]runner.LintFinding{
			{ID: "eslint:no-var:src/a.js:1:2", Message: "m", Category: "eslint", Tool: "eslint", Rule: "no-var", File: "src/a.js", Line: 1, Column: 2, Severity: "warning", Fixable: true},
			{ID: "eslint:syntax:src/a.js:3:4", Message: "Parsing error", Category: "eslint", Tool: "eslint", Rule: "syntax", File: "src/a.js", Line: 3, Column: 4, Severity: "error"},
		},
	},
	{
		"clippy", "    Checking x\n" + `{"reason":"compiler-artifact"}` + "\n" + `{"reason":"compiler-message","message":{"message":"unneeded return","level":"warning","code":{"code":"clippy::needless_return"},"spans":[{"file_name":"src/lib.rs","line_start":2,"column_start":3,"is_primary":true}],"children":[{"spans":[{"suggested_replacement":"1"}]}]}}` + "\n" +
			`{"reason":"compiler-message","message":{"message":"1 warning emitted","level":"warning","code":null,"spans":[],"children":[]}}` + "\n",
		LintReport{Format: "clippy", Tool: "clippy"},
		[]runner.LintFinding{{ID: "clippy:clippy::needless_return:src/lib.rs:2:3", Message: "unneeded return", Category: "clippy", Tool: "clippy", Rule: "clippy::needless_return", File: "src/lib.rs", Line: 2, Column: 3, Severity: "warning", Fixable: true}},
	},
	{
		"shellcheck, two calls", `{"comments":[{"file":"a.sh","line":3,"column":8,"level":"info","code":2086,"message":"quote","fix":null}]}` + "\n" + `{"comments":[]}`,
		LintReport{Format: "shellcheck", Tool: "shellcheck"},
		[]runner.LintFinding{{ID: "shellcheck:SC2086:a.sh:3:8", Message: "quote", Category: "shellcheck", Tool: "shellcheck", Rule: "SC2086", File: "a.sh", Line: 3, Column: 8, Severity: "info"}},
	},
	{
		"ruff", `[{"code":"F401","filename":"/c d/a.py","message":"unused","location":{"row":1,"column":8},"fix":{"edits":[]}},{"code":null,"filename":"b.py","message":"SyntaxError: x","location":{"row":2,"column":1},"fix":null}]`,
		LintReport{Format: "ruff", Tool: "ruff"},
		[]runner.LintFinding{
			{ID: "ruff:F401:a.py:1:8", Message: "unused", Category: "ruff", Tool: "ruff", Rule: "F401", File: "a.py", Line: 1, Column: 8, Severity: "error", Fixable: true},
			{ID: "ruff:syntax:b.py:2:1", Message: "SyntaxError: x", Category: "ruff", Tool: "ruff", Rule: "syntax", File: "b.py", Line: 2, Column: 1, Severity: "error"},
		},
	},
	{
		"phpcs", `{"totals":{},"files":{"/c d/b.php":{"messages":[{"message":"m","source":"PSR12.X","type":"WARNING","line":1,"column":2,"fixable":true}]},"/c d/a.php":{"messages":[]}}}`,
		LintReport{Format: "phpcs", Tool: "phpcs"},
		[]runner.LintFinding{{ID: "phpcs:PSR12.X:b.php:1:2", Message: "m", Category: "phpcs", Tool: "phpcs", Rule: "PSR12.X", File: "b.php", Line: 1, Column: 2, Severity: "warning", Fixable: true}},
	},
	{"phpstan, nothing", `{"totals":{},"files":[],"errors":[]}`, LintReport{Format: "phpstan"}, nil},
	{
		"phpstan", `{"files":{"/c d/a.php":{"messages":[{"message":"m","line":7,"identifier":"return.type"}]}},"errors":[]}`,
		LintReport{Format: "phpstan", Tool: "phpstan", Category: "types"},
		[]runner.LintFinding{{ID: "phpstan:return.type:a.php:7:0", Message: "m", Category: "types", Tool: "phpstan", Rule: "return.type", File: "a.php", Line: 7, Severity: "error"}},
	},
}

func TestReadLintReport(t *testing.T) {
	t.Parallel()
	formats := map[string]bool{}
	for _, c := range lintReports {
		c.from.Root = "/c d"
		formats[c.from.Format] = true
		got, err := ReadLintReport(c.from, strings.NewReader(c.report))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, f := range LintFormats() {
		if !formats[f] {
			t.Errorf("no case for %s", f)
		}
	}
}

func TestReadLintReportFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, report, want string }{
		{"nope", "", `format "nope" is unknown (use one of `},
		{"eslint", "[{", "read the report of t: unexpected EOF"},
		{"eslint", `{"a":1}`, "read the report of t: json: cannot unmarshal"},
		{"govet", "{\n", "read the report of t: "},
		{"shellcheck", "x", "read the report of t: "},
		{"phpstan", `{"files":[],"errors":["no such level"]}`, "read the report of t: no such level"},
	} {
		_, err := ReadLintReport(LintReport{Format: c.format, Tool: "t"}, strings.NewReader(c.report))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s of %q: %v", c.format, c.report, err)
		}
	}
}

func FuzzReadLintReport(f *testing.F) {
	for _, c := range lintReports {
		f.Add(c.from.Format, c.report)
	}
	f.Fuzz(func(t *testing.T, format, report string) {
		fs, err := ReadLintReport(LintReport{Format: format, Tool: "t", Root: "/c d", Message: "m"}, strings.NewReader(report))
		if err != nil {
			return
		}
		for _, finding := range fs {
			if finding.ID == "" || finding.Tool != "t" || finding.Severity == "" || finding.Category == "" {
				t.Fatalf("not complete: %+v", finding)
			}
		}
	})
}

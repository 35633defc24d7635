package finding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestRead(t *testing.T) {
	t.Parallel()
	type extra = map[string]json.RawMessage
	for name, c := range map[string]struct {
		text string
		want runner.LintFinding
	}{
		"first generation": {
			`{"id":"inc/a.php::WordPress.Security.EscapeOutput::42","message":"m","category":"security"}`,
			runner.LintFinding{
				ID: "inc/a.php::WordPress.Security.EscapeOutput::42", Message: "m", Category: "security",
				Tool: "lint", Rule: "WordPress.Security.EscapeOutput", File: "inc/a.php", Line: 42,
			},
		},
		"second generation": {
			`{"message":"m","source":"eslint","code":"no-var","file":"/srv/site/src/a.js","line":3,"column":7,"severity":2,"fixable":true,"fingerprint":"abc"}`,
			runner.LintFinding{
				ID: "abc", Message: "m", Tool: "eslint", Rule: "no-var", File: "src/a.js", Line: 3, Column: 7, Severity: "error", Fixable: true,
				Extra: extra{"source": raw(`"eslint"`), "code": raw(`"no-var"`), "tool_fingerprint": raw(`"abc"`)},
			},
		},
		"a source that is an object": {
			`{"message":"m","source":{"label":1,"kind":"phpstan"},"rule":"r","code":"c"}`,
			runner.LintFinding{
				Message: "m", Tool: "phpstan", Rule: "r",
				Extra: extra{"source": raw(`{"label":1,"kind":"phpstan"}`), "code": raw(`"c"`)},
			},
		},
		"a code and no tool":     {`{"message":"m","code":"E501"}`, runner.LintFinding{Message: "m", Tool: "E501", Rule: "E501", Extra: extra{"code": raw(`"E501"`)}}},
		"nothing but a message":  {`{"message":""}`, runner.LintFinding{Tool: "lint"}}, // edge case 12
		"an id with both":        {`{"id":"i","fingerprint":"f","message":"m"}`, runner.LintFinding{ID: "i", Message: "m", Tool: "lint", Extra: extra{"tool_fingerprint": raw(`"f"`)}}},
		"keys that are not ours": {`{"message":"m","excerpt":{"a":[1,2.50]},"zeta":null}`, runner.LintFinding{Message: "m", Tool: "lint", Extra: extra{"excerpt": raw(`{"a":[1,2.50]}`), "zeta": raw(`null`)}}}, // edge case 13
		"null for absent":        {`{"id":null,"message":"m","file":null,"line":null,"fixable":null,"severity":null}`, runner.LintFinding{Message: "m", Tool: "lint"}},
		"numbers as strings":     {`{"message":"m","line":"12","column":" 3 ","fixable":"true","id":7}`, runner.LintFinding{ID: "7", Message: "m", Tool: "lint", Line: 12, Column: 3, Fixable: true}},
		"the whole file":         {`{"message":"m","file":"./a/../b.go","line":-1,"column":0}`, runner.LintFinding{Message: "m", Tool: "lint", File: "b.go"}},
		"a whole float":          {`{"message":"m","line":1e2}`, runner.LintFinding{Message: "m", Tool: "lint", Line: 100}},
		"other names of a place": {`{"message":"m","file_path":"a.py","start_line":4,"col":2}`, runner.LintFinding{Message: "m", Tool: "lint", File: "a.py", Line: 4, Column: 2, Extra: extra{"file_path": raw(`"a.py"`), "start_line": raw(`4`), "col": raw(`2`)}}},
		"an eslint id":           {`{"id":"eslint:no-var:/srv/site/src/a.js:12:5","message":"m","category":"error"}`, runner.LintFinding{ID: "eslint:no-var:/srv/site/src/a.js:12:5", Message: "m", Category: "error", Tool: "eslint", Rule: "no-var", File: "src/a.js", Line: 12, Column: 5}},
		"a go id":                {`{"id":"go:govet:a/b.go:9:2:x: y","message":"m"}`, runner.LintFinding{ID: "go:govet:a/b.go:9:2:x: y", Message: "m", Tool: "go", Rule: "govet", File: "a/b.go", Line: 9, Column: 2}},
		"a rule with colons":     {`{"id":"src/a.rs::clippy::needless_return::4","message":"m"}`, runner.LintFinding{ID: "src/a.rs::clippy::needless_return::4", Message: "m", Tool: "lint", Rule: "clippy::needless_return", File: "src/a.rs", Line: 4}},
		"an id of another file":  {`{"id":"a.rs::r::4","file":"b.rs","message":"m"}`, runner.LintFinding{ID: "a.rs::r::4", Message: "m", Tool: "lint", Rule: "r", File: "b.rs"}},
		"an id of no form":       {`{"id":"https://x:y","message":"m"}`, runner.LintFinding{ID: "https://x:y", Message: "m", Tool: "lint"}},
		"escapes":                {`{"message":"a\n\"\u00e9","id":"\/"}`, runner.LintFinding{ID: "/", Message: "a\n\"é", Tool: "lint"}},
		"bytes that are no text": {"{\"message\":\"a\xffb\",\"x\":\"\xfe\"}", runner.LintFinding{Message: "a\uFFFDb", Tool: "lint", Extra: extra{"x": raw("\"\uFFFD\"")}}},
		"a name twice":           {`{"message":"a","message":"b","x":1,"x":2}`, runner.LintFinding{Message: "b", Tool: "lint", Extra: extra{"x": raw(`2`)}}},
		"a directory beside":     {`{"message":"m","file":"/srv/site2/a.js"}`, runner.LintFinding{Message: "m", Tool: "lint", File: "/srv/site2/a.js"}},
		"a file URL":             {`{"message":"m","file":"file:///srv/site/a%20b.js"}`, runner.LintFinding{Message: "m", Tool: "lint", File: "a b.js"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(strings.NewReader("["+c.text+"]"), "/srv/site")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]runner.LintFinding{c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A tool may as well write its own SARIF where findings are expected.
func TestReadSARIFAsFindings(t *testing.T) {
	t.Parallel()
	got, err := Read(strings.NewReader("\uFEFF "+results(`{"ruleId":"R1","message":{"text":"m"}}`)), "")
	if err != nil || len(got) != 1 || got[0].Rule != "R1" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Read(strings.NewReader(`{"version":"2.0.0","runs":[]}`), ""); err == nil || !strings.Contains(err.Error(), "not 2.1.0") {
		t.Error(err)
	}
}

// Edge case 11: what is absent or blank is no finding.
func TestReadNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n\t", "[]", "\uFEFF[]", "\uFEFF"} {
		if fs, err := Read(strings.NewReader(text), ""); err != nil || len(fs) != 0 {
			t.Errorf("%q: %v, %v", text, fs, err)
		}
	}
}

// Edge case 10: what is malformed is named, and does not hide the findings that can be read.
func TestReadMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want string
		kept int
	}{
		{`{"message":"m"}`, `$: is an object, neither an array of findings nor a SARIF log`, 0},
		{`null`, `$: is null, not an array of findings`, 0},
		{`[{"message":"m"},{"id":"x"}]`, `$[1].message: is missing (a finding says what is wrong)`, 1},
		{`[{"message":["m"]},"x",7,{"message":"m","line":"twelve"},{"message":"ok"}]`, "$[0].message: is an array, and a string is expected\n$[1]: is a string, and a finding is an object\n$[2]: is a number, and a finding is an object\n$[3].line: is twelve, not a whole number below 2^31", 1},
		{`[{"message":"m","line":3.5}]`, `$[0].line: is 3.5, not a whole number below 2^31`, 0},
		{`[{"message":"m","line":1e99}]`, `$[0].line: is 1e99, not a whole number below 2^31`, 0},
		{`[{"message":"m","column":{}}]`, `$[0].column: is an object, and a whole number is expected`, 0},
		{`[{"message":"m","fixable":"maybe"}]`, `$[0].fixable: is a string, and true or false is expected`, 0},
		{`[{"message":"m"},{"message":`, `$[1]: ends in the middle: the tool that wrote it did not come to its end`, 1},
		{`[{"message":"m"}`, `$[1]: ends in the middle: the tool that wrote it did not come to its end`, 1},
		{`[{"message":"m"}] []`, `$: has more after the array`, 1},
		{`[{"message":"m"},,]`, `$[1]: is no JSON at byte 17: invalid character ',' at start of value`, 1},
		{`Fatal error: out of memory`, `$[0]: is no JSON at byte 0: invalid character 'F' at start of value`, 0},
		{`[{"message":"m","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}]`, `$[0].x: is nested deeper than 200 levels`, 0},
	} {
		fs, err := Read(strings.NewReader(c.text), "")
		if err == nil {
			t.Errorf("%.60s: no error", c.text)
			continue
		}
		if fault.Of(err) == nil || err.Error() != c.want || len(fs) != c.kept {
			t.Errorf("%.60s: %d kept\n got %s\nwant %s", c.text, len(fs), err, c.want)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader("["), &forever{text: []byte(`{"message":"` + strings.Repeat("x", 1<<20) + `"},`)})
	fs, err := read(endless, "", 4<<20, maxFindings)
	if err == nil || !strings.Contains(err.Error(), "is longer than 4 MiB") || len(fs) != 3 {
		t.Errorf("%d findings, %v", len(fs), err)
	}
	_, err = read(io.MultiReader(strings.NewReader("["), &forever{text: []byte(`{"message":""},`)}), "", maxBytes, 7)
	if err == nil || !strings.Contains(err.Error(), "has more than 7 findings") {
		t.Error(err)
	}
	broken := errors.New("disk gone")
	if _, err := Read(io.MultiReader(strings.NewReader("[{"), &failing{broken}), ""); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Error(err)
	}
}

type forever struct {
	text []byte
	at   int
}

func (f *forever) Read(p []byte) (int, error) {
	n := copy(p, f.text[f.at:])
	f.at = (f.at + n) % len(f.text)
	return n, nil
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// What is written is what encoding/json writes.
func TestWriteJSON(t *testing.T) {
	t.Parallel()
	exit := 1
	report := runner.Report{
		Schema: runner.SchemaReport, Capability: "lint", Component: "a<b", RunnerExit: &exit, Status: "failed",
		LintFindings: []runner.LintFinding{
			{},
			{ID: "i", Message: "a\nb<&>\u2028", Category: "c", Tool: "t", Rule: "r", File: "f", Line: 3, Column: 4, Severity: "error", Fixable: true, Fingerprint: "p", Known: true},
			{Message: "m", Extra: map[string]json.RawMessage{"z": raw(`{"b" : [1,2.50], "a":{}}`), "a\"": raw(`"<"`), "m": raw(`null`)}},
		},
		Summary: &runner.Summary{TopFindings: []runner.LintFinding{{Message: "top"}}, Categories: map[string]int{"b": 1, "a": 2}},
	}
	for _, v := range []any{report, &report, runner.Envelope[runner.Report]{Data: &report}, []runner.LintFinding(nil)} {
		want, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := WriteJSON(&got, v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want)+"\n", got.String()); diff != "" {
			t.Error(diff)
		}
	}
	if err := WriteJSON(&failWriter{}, report); err == nil {
		t.Error("no error from a writer that fails")
	}
	if err := WriteJSON(io.Discard, []runner.LintFinding{{Extra: map[string]json.RawMessage{"x": raw(`{`)}}}); err == nil {
		t.Error("no error for a value that is no JSON")
	}
}

type failWriter struct{}

func (failWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func FuzzRead(f *testing.F) {
	for _, s := range []string{`[]`, `[{"message":"m","line":"3","x":{"y":[1]}}]`, `[{"id":"a::b::3","message":"\ud800"}]`, `[{"message":1,"source":{"kind":"k"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fs, err := Read(bytes.NewReader(text), "/srv")
		Identify(fs, "/srv", nil)
		seen := map[string]bool{}
		for i, x := range fs {
			if seen[x.Fingerprint] {
				t.Fatalf("two findings have the fingerprint %s", x.Fingerprint)
			}
			seen[x.Fingerprint] = true
			if x.Line < 0 || x.Column < 0 || x.Tool == "" && x.Message == "" {
				t.Fatalf("finding %d: %+v", i, x)
			}
		}
		if len(fs) == 0 {
			return
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, fs); err != nil {
			t.Fatal(err)
		}
		again, err2 := Read(&out, "/srv")
		if err2 != nil || len(again) != len(fs) {
			t.Fatalf("%v: what was written is read as %d findings, not %d: %v", err, len(again), len(fs), err2)
		}
	})
}

func ExampleRead() {
	fs, err := Read(strings.NewReader(`[{"id":"a.php::Rule::3","message":"m"},{"id":"b.php::Rule::4"}]`), "/srv/site")
	fmt.Println(len(fs), fs[0].File, fs[0].Line)
	fmt.Println(err)
	// Output:
	// 1 a.php 3
	// $[1].message: is missing (a finding says what is wrong)
}

package testreport_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
)

var formats = []string{testreport.JUnit, testreport.GoJSON, testreport.GoText, testreport.TAP, testreport.Jest, testreport.Mocha, testreport.Cargo, testreport.Pytest}

// FuzzParse: no text breaks a reader, and what comes out holds together.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data[:min(len(data), 4000)]))
	}
	f.Add("1..2\nok 1\n    not ok 1 - \\# # TODO x\n  ---\n  a: |-\n")
	f.Add(`{"testResults":[{"assertionResults":[{"status":"passed"}]}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := testreport.Parse(strings.NewReader(in))
		hold(t, &r, err)
		for _, format := range formats {
			r, err := testreport.ParseAs(format, strings.NewReader(in))
			hold(t, &r, err)
		}
		if r, ok := testreport.Output(in, nil); ok && r.Results.Total <= 0 {
			t.Errorf("counts of nothing: %+v", r.Results)
		}
	})
}

// hold says what is true of every report.
func hold(t *testing.T, r *testreport.Report, err error) {
	t.Helper()
	c := r.Results
	if c.Total < c.Passed+c.Failed+c.Skipped || c.Passed < 0 || c.Failed < 0 || c.Skipped < 0 || c.Total < len(r.Cases) {
		t.Errorf("counts do not add up: %+v", c)
	}
	if err != nil && r.Format != "" && c.Partial == "" {
		t.Errorf("%v, and the counts look whole", err)
	}
	seen := map[string]bool{}
	failed := 0
	for _, k := range r.Cases {
		if seen[k.ID()] {
			t.Errorf("two tests are called %q", k.ID())
		}
		seen[k.ID()] = true
		if k.Name == "" || !slices.Contains(runner.CaseStatuses, k.Status) {
			t.Errorf("a test without name or status: %+v", k)
		}
		if !utf8.ValidString(k.Name + k.Suite + k.Message + k.Type + k.File) {
			t.Errorf("text that cannot be written: %+v", k)
		}
		if k.Status == runner.CaseFailed {
			failed++
		}
	}
	if c.Failed < failed || len(r.Failures) != failed {
		t.Errorf("%d tests failed, %d failures, %+v", failed, len(r.Failures), c)
	}
}

// FuzzSpec: no rule and no text breaks the reading of counts.
func FuzzSpec(f *testing.F) {
	f.Add(`{"rules":[{"pattern":"(\\d+)","field":"total","aggregate":"sum"}],"derive":[{"field":"passed","expr":"total-1"}]}`, "1 2")
	f.Fuzz(func(t *testing.T, text, in string) {
		var spec testreport.Spec
		if json.Unmarshal([]byte(text), &spec) != nil {
			return
		}
		if c, ok := testreport.Text(in, &spec); ok && (c.Total <= 0 || c.Passed < 0 || c.Failed < 0 || c.Skipped < 0) {
			t.Errorf("%+v", c)
		}
	})
}

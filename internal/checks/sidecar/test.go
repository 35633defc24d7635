package sidecar

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// results reads the counts. A count that is no whole number of at least 0 is a fault, and counts as 0; the errors of a
// tool are failures. An object that has no count at all has no meaning.
func (r *reader) results() {
	path := r.files.TestResults
	r.with(TestResults, path, func(in io.Reader) error {
		counts := map[string]int{}
		var out runner.TestResults
		err := toolreport.Object(in, func(dec *jsontext.Decoder, name string) error {
			raw, err := dec.ReadValue()
			if err != nil {
				return err
			}
			switch name {
			case "total", "passed", "failed", "errors", "skipped":
				n, err := countOf(raw)
				if err != nil {
					r.fault(TestResults, path, "$.%s: %v", name, err)
				}
				counts[name] = n
			case "partial":
				if out.Partial = (item{name: raw}).text(name); out.Partial == "" && raw.Kind() != 'n' {
					r.fault(TestResults, path, "$.partial: is %s, not a text", raw.Kind())
				}
			}
			return nil
		})
		if err != nil || len(counts) == 0 {
			return err
		}
		out.Passed, out.Failed, out.Skipped = counts["passed"], counts["failed"]+counts["errors"], counts["skipped"]
		sum := out.Passed + out.Failed + out.Skipped
		total, told := counts["total"]
		if told && total < sum {
			r.warn("the total of the tests is told as %d, and the counts add up to %d", total, sum)
		}
		out.Total = max(total, sum)
		r.set.Results = &out
		return nil
	})
}

const maxCount = 1 << 30

func countOf(raw jsontext.Value) (int, error) {
	var n uint64
	if raw.Kind() != '0' || json.Unmarshal(raw, &n) != nil || n > maxCount {
		return 0, fmt.Errorf("%s is not a whole number from 0 to %d: it counts as 0", truncate.Head(string(raw), 60), maxCount)
	}
	return int(n), nil
}

// failures reads an array of failures, or an object that has the array and counts.
func (r *reader) failures() {
	path := r.files.TestFailures
	r.with(TestFailures, path, func(in io.Reader) error {
		dec := jsontext.NewDecoder(in, toolreport.Lenient())
		if dec.PeekKind() != '{' {
			return r.failureItems(dec)
		}
		var counts runner.TestResults
		err := toolreport.Members(dec, func(dec *jsontext.Decoder, name string) error {
			switch name {
			case "failures":
				return r.failureItems(dec)
			case "total", "passed":
				raw, err := dec.ReadValue()
				if err != nil {
					return err
				}
				n, err := countOf(raw)
				if err != nil {
					r.fault(TestFailures, path, "$.%s: %v", name, err)
				}
				if name == "total" {
					counts.Total = n
				} else {
					counts.Passed = n
				}
				return nil
			}
			return dec.SkipValue()
		})
		r.setCounts(counts)
		return err
	})
}

// setCounts keeps the counts that come with failures, for a run that has no others.
func (r *reader) setCounts(c runner.TestResults) {
	c.Failed = len(r.set.Failures)
	c.Total = max(c.Total, c.Failed)
	if c.Total == 0 {
		return
	}
	c.Passed = min(c.Passed, c.Total-c.Failed)
	c.Skipped = c.Total - c.Passed - c.Failed
	c.Partial = "test-failures"
	r.counts = &c
}

func (r *reader) failureItems(dec *jsontext.Decoder) error {
	n := -1
	return toolreport.Items(dec, func(raw jsontext.Value) error {
		n++
		if n >= maxItems {
			return fmt.Errorf("has more than %d failures", maxItems)
		}
		it, err := object(raw)
		if err != nil {
			r.fault(TestFailures, r.files.TestFailures, "$[%d]: %v", n, err)
			return nil
		}
		r.set.Failures = append(r.set.Failures, runner.TestFailure{
			TestName:   it.text("test_name", "test_id", "name", "id"),
			TestFile:   r.paths.Below(it.text("test_file", "file")),
			ErrorType:  it.text("error_type", "failure_type", "type"),
			Message:    it.text("message"),
			SourceFile: r.paths.Below(it.text("source_file", "source")),
			SourceLine: it.line("source_line", "line"),
		})
		return nil
	})
}

var errNoName = errors.New("name is needed: the test's")

// cases reads the tests by name. A test whose status is not in the contract is reported as failed, with a fault: it is not known
// to have passed.
func (r *reader) cases(in io.Reader) error {
	path := r.files.TestCases
	var report testreport.Report
	err := r.items(in, TestCases, path, func(it item) error {
		t := runner.TestCase{
			Suite: it.text("suite"), Name: it.text("name"), Status: it.text("status"),
			File: it.text("file"), Line: it.line("line"), Message: it.text("message"), Type: it.text("type"),
		}
		if t.Name == "" {
			return errNoName
		}
		if v := it["duration_ms"]; v.Kind() == '0' {
			_ = json.Unmarshal(v, &t.DurationMS)
		}
		var fault error
		if !slices.Contains(runner.CaseStatuses, t.Status) {
			fault = fmt.Errorf("status %q is none of %v: %s counts as failed", t.Status, runner.CaseStatuses, t.ID())
			t.Status = runner.CaseFailed
		}
		report.Cases = append(report.Cases, t)
		return fault
	})
	report.Locate(r.component)
	r.set.Cases = report.Cases
	return err
}

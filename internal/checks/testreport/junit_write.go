package testreport

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// WriteJUnit writes a report as JUnit XML: its tests, or its findings as tests that failed, by file. What kept the run
// from telling is an error in a suite of its own, so that a reader of the file alone does not take silence for success.
func WriteJUnit(w io.Writer, r runner.Report) error {
	out := &junitWriter{w: bufio.NewWriter(w)}
	cases := writtenCases(&r)
	counts := Count(cases)
	broken := r.Status == runner.StatusError || !r.Passed && r.Status == runner.StatusFailed && counts.Failed == 0
	errors := 0
	if broken {
		errors = 1
	}
	out.text(xml.Header)
	out.open("testsuites", "name", name(&r), "tests", counts.Total+errors, "failures", counts.Failed, "errors", errors, "skipped", counts.Skipped, "time", seconds(float64(r.DurationMS)))
	for _, suite := range bySuite(cases) {
		out.suite(suite)
	}
	if broken {
		out.open("testsuite", "name", r.Capability, "tests", 1, "failures", 0, "errors", 1, "skipped", 0)
		out.open("testcase", "classname", r.Capability, "name", r.Phase.Phase)
		out.element("error", failureSummary(&r), "message", failureSummary(&r))
		out.close("testcase")
		out.close("testsuite")
	}
	out.close("testsuites")
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("write junit: %w", out.err)
	}
	return nil
}

func name(r *runner.Report) string {
	if r.Component == "" {
		return r.Capability
	}
	return r.Component + " " + r.Capability
}

func failureSummary(r *runner.Report) string {
	if r.Failure != nil && r.Failure.Summary != "" {
		return r.Failure.Summary
	}
	if r.Phase.Summary != "" {
		return r.Phase.Summary
	}
	return "the run did not pass"
}

// writtenCases are the tests of a report, or else what it has instead.
func writtenCases(r *runner.Report) []runner.TestCase {
	if len(r.TestCases) > 0 {
		return r.TestCases
	}
	var cases []runner.TestCase
	for _, f := range r.LintFindings {
		status := runner.CaseFailed
		if f.Known { // the baseline excuses it
			status = runner.CaseSkipped
		}
		cases = append(cases, runner.TestCase{
			Suite: f.File, Name: findingName(&f), Status: status,
			File: f.File, Line: f.Line, Message: f.Message, Type: f.Rule,
		})
	}
	for _, f := range r.Failures {
		cases = append(cases, runner.TestCase{
			Suite: f.TestFile, Name: f.TestName, Status: runner.CaseFailed,
			File: f.SourceFile, Line: f.SourceLine, Message: f.Message, Type: f.ErrorType,
		})
	}
	return cases
}

func findingName(f *runner.LintFinding) string {
	parts := []string{f.Rule}
	if f.Rule == "" {
		parts[0] = f.Tool
	}
	if f.Line > 0 {
		parts = append(parts, "line "+strconv.Itoa(f.Line))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// bySuite groups tests in the order in which their suites come first.
func bySuite(cases []runner.TestCase) [][]runner.TestCase {
	at := map[string]int{}
	var suites [][]runner.TestCase
	for _, c := range cases {
		i, ok := at[c.Suite]
		if !ok {
			i = len(suites)
			at[c.Suite] = i
			suites = append(suites, nil)
		}
		suites[i] = append(suites[i], c)
	}
	return suites
}

// junitWriter writes elements and keeps the first error.
type junitWriter struct {
	w   *bufio.Writer
	err error
}

func (j *junitWriter) suite(cases []runner.TestCase) {
	counts := Count(cases)
	took := 0.0
	for i := range cases {
		took += cases[i].DurationMS
	}
	j.open("testsuite", "name", cases[0].Suite, "tests", counts.Total, "failures", counts.Failed, "errors", 0, "skipped", counts.Skipped, "time", seconds(took))
	for i := range cases {
		c := &cases[i]
		attributes := []any{"classname", c.Suite, "name", c.Name, "time", seconds(c.DurationMS)}
		if c.File != "" {
			attributes = append(attributes, "file", c.File)
		}
		if c.Line > 0 {
			attributes = append(attributes, "line", c.Line)
		}
		j.open("testcase", attributes...)
		switch c.Status {
		case runner.CaseSkipped:
			j.element("skipped", "", "message", c.Message)
		case runner.CasePassed:
		default:
			j.element("failure", c.Message, "message", firstLine(c.Message), "type", c.Type)
		}
		j.close("testcase")
	}
	j.close("testsuite")
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1e3, 'f', 3, 64) }

// open begins an element. Attributes are names and values in turn.
func (j *junitWriter) open(name string, attributes ...any) {
	j.text("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		j.text(fmt.Sprintf(" %s=\"", attributes[i]))
		j.escape(fmt.Sprint(attributes[i+1]))
		j.text(`"`)
	}
	j.text(">")
}

func (j *junitWriter) close(name string) { j.text("</" + name + ">\n") }

func (j *junitWriter) element(name, body string, attributes ...any) {
	j.open(name, attributes...)
	j.escape(body)
	j.close(name)
}

func (j *junitWriter) text(s string) {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
}

func (j *junitWriter) escape(s string) {
	if j.err == nil {
		j.err = xml.EscapeText(j.w, []byte(s))
	}
}

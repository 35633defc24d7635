package testreport

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// junit reads JUnit XML. There is no standard: the elements testsuites, testsuite and testcase nest in any way, counts are
// missing or wrong, and what a test is called depends on its writer. So tests are counted, never the attributes; an
// attribute that tells of more failures than are listed is believed, because a failure must not be lost.
type junit struct {
	*collector
	root   bool
	suites []junitSuite
	test   *junitTest
	// text gathers what stands inside failure, error and skipped; nil: text is not wanted.
	text *strings.Builder
}

type junitSuite struct {
	name     string
	file     string
	declared int // failures and errors, by its attributes
	seen     int // failures and errors inside it
	tests    int // as declared, -1 if not
	listed   int
}

type junitTest struct {
	runner.TestCase
	depth   int // of elements inside it
	failed  bool
	skipped bool
	todo    bool // it is known to fail, and is no failure
	flaky   bool
}

func readJUnit(r io.Reader, c *collector) error {
	j := &junit{collector: c}
	err := toolreport.ReadXML(r, j)
	if err == nil && !j.root {
		err = errors.New("there is no element in it")
	}
	if err != nil && j.test != nil {
		// The report ends in this test, so the test did not end well.
		j.test.failed = true
		j.test.Type = TypeUnfinished
		err = errors.Join(err, j.endTest())
	}
	return err
}

// Begin implements toolreport.XMLVisitor.
func (j *junit) Begin(e xml.StartElement) error {
	name := e.Name.Local
	switch {
	case j.test != nil:
		j.test.depth++
		j.outcome(name, e)
	case name == "testsuite" || name == "testsuites":
		j.suites = append(j.suites, suiteOf(e))
	case name == "testcase":
		j.begin(e)
	case !j.root:
		return fmt.Errorf("<%s> is no report of tests: <testsuites> or <testsuite> is expected", name)
	case name == "failure" || name == "error":
		// Some writers put what broke a suite next to its tests.
		j.fault(e)
	}
	j.root = true
	return nil
}

// Text implements toolreport.XMLVisitor.
func (j *junit) Text(text []byte) {
	if j.text != nil && j.text.Len() < 2*MaxMessage {
		j.text.Write(text)
	}
}

// End implements toolreport.XMLVisitor.
func (j *junit) End(name string) error {
	switch {
	case j.test != nil && j.test.depth > 0:
		j.test.depth--
		j.takeText()
	case j.test != nil:
		return j.endTest()
	case name == "testsuite" || name == "testsuites":
		return j.endSuite()
	}
	return nil
}

func suiteOf(e xml.StartElement) junitSuite {
	count := func(name string) int {
		n, err := strconv.Atoi(toolreport.Attr(e, name))
		if err != nil || n < 0 || n > math.MaxInt32 {
			return 0
		}
		return n
	}
	s := junitSuite{
		name:     toolreport.Attr(e, "name"),
		file:     toolreport.Attr(e, "file"),
		declared: count("failures") + count("errors"),
		tests:    -1,
	}
	if toolreport.Attr(e, "tests") != "" {
		s.tests = count("tests")
	}
	return s
}

// begin takes a test with its attributes.
func (j *junit) begin(e xml.StartElement) {
	t := &junitTest{TestCase: runner.TestCase{Name: toolreport.Attr(e, "name"), File: toolreport.Attr(e, "file")}}
	t.Suite = j.suiteName(e, t.Name)
	if t.Name == "" { // a class that could not be set up
		t.Name = "[" + TypeSuite + "]"
	}
	if t.File == "" && len(j.suites) > 0 {
		t.File = j.suites[len(j.suites)-1].file
	}
	t.Line = integer(toolreport.Attr(e, "line"))
	if seconds, err := strconv.ParseFloat(strings.ReplaceAll(toolreport.Attr(e, "time"), ",", ""), 64); err == nil {
		t.DurationMS = math.Round(seconds*1e6) / 1e3
	}
	for _, a := range []string{"status", "result"} {
		switch strings.ToLower(toolreport.Attr(e, a)) {
		case "notrun", "skipped", "disabled", "suppressed", "ignored", "pending":
			t.skipped = true
		case "failed", "failure", "error":
			t.failed = true
		}
	}
	j.test = t
}

// suiteName is the class of a test as its writer names it. A class that is no name of its own (some writers repeat the
// test's, one always writes "test") gives way to the suites around the test.
func (j *junit) suiteName(e xml.StartElement, test string) string {
	for _, a := range []string{"class", "classname"} {
		if class := toolreport.Attr(e, a); class != "" && class != test && class != "test" {
			return class
		}
	}
	var names []string
	for _, s := range j.suites {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, separator)
}

// outcome takes an element inside a test.
func (j *junit) outcome(name string, e xml.StartElement) {
	t := j.test
	switch name {
	case "failure", "error":
		j.sawFailures(1)
		if t.failed && t.Type != "" { // the first one is reported
			return
		}
		t.failed = true
		t.Type = toolreport.Attr(e, "type")
		if t.Type == "" {
			t.Type = name
		}
		t.Message = toolreport.Attr(e, "message")
	case "skipped", "disabled", "warning":
		t.skipped = true
		t.todo = t.todo || toolreport.Attr(e, "type") == "todo"
		t.Message = toolreport.Attr(e, "message")
	case "flakyFailure", "flakyError":
		t.flaky = true
		return
	default:
		return
	}
	j.text = new(strings.Builder)
}

// takeText ends the element that was wanted.
func (j *junit) takeText() {
	if j.text == nil {
		return
	}
	body := strings.TrimSpace(j.text.String())
	j.text = nil
	t := j.test
	switch {
	case body == "":
	case t.Message == "":
		t.Message = body
	case !strings.Contains(body, t.Message):
		t.Message += "\n" + body
	default:
		t.Message = body
	}
}

func (j *junit) sawFailures(n int) {
	for i := range j.suites {
		j.suites[i].seen += n
	}
}

func (j *junit) endTest() error {
	t := j.test
	j.test, j.text = nil, nil
	for i := range j.suites {
		j.suites[i].listed++
	}
	switch {
	case t.failed && !t.todo:
		t.Status = runner.CaseFailed
	case t.skipped:
		t.Status = runner.CaseSkipped
	default:
		t.Status = runner.CasePassed
		if t.flaky {
			j.warn("%s failed at first and passed when it was run again", shortName(t.ID()))
		}
	}
	return j.add(t.TestCase)
}

// fault takes a failure of a suite itself.
func (j *junit) fault(e xml.StartElement) {
	t := &junitTest{TestCase: runner.TestCase{Name: "[" + TypeSuite + "]"}}
	t.Suite = j.suiteName(xml.StartElement{}, "")
	j.test = t
	j.outcome(e.Name.Local, e)
}

func (j *junit) endSuite() error {
	if len(j.suites) == 0 {
		return nil
	}
	s := j.suites[len(j.suites)-1]
	suite := j.suiteName(xml.StartElement{}, "")
	j.suites = j.suites[:len(j.suites)-1]
	if s.tests > s.listed+s.seen { // one test can be counted for its failure and for an error after it
		j.warn("suite %q tells of %d tests and lists %d", shortName(s.name), s.tests, s.listed)
	}
	missing := s.declared - s.seen
	if missing <= 0 {
		return nil
	}
	j.sawFailures(missing) // the suites around it tell of them too
	return j.add(runner.TestCase{
		Suite: suite, Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: TypeSuite,
		Message: fmt.Sprintf("the suite tells of %d failures and lists %d", s.declared, s.seen),
	})
}

// integer reads a number of a tool; what is none is 0.
func integer(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

package testreport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/truncate"
)

// collector gathers the tests of a report within its bounds.
type collector struct {
	format          string
	cases           []runner.TestCase
	texts           int // bytes of messages so far
	warnings        []string
	droppedWarnings int // warnings that were not kept
	// stated are the sums that the tool wrote, for formats that do not name every test.
	stated *runner.TestResults
}

const maxWarnings = 50

func (c *collector) warn(format string, args ...any) {
	if len(c.warnings) >= maxWarnings {
		c.droppedWarnings++
		return
	}
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// add takes a test. Its error is that there are too many.
func (c *collector) add(t runner.TestCase) error {
	if len(c.cases) >= MaxCases {
		return fmt.Errorf("%w: more than %d tests", ErrTooLarge, MaxCases)
	}
	if t.Name == "" {
		t.Name = "[unnamed]"
	}
	t.Name, t.Suite = shortName(t.Name), shortName(t.Suite)
	t.File = truncate.Head(t.File, MaxName)
	t.Type = truncate.Head(plain(t.Type), MaxName)
	t.Message = truncate.Head(strings.TrimSpace(plain(t.Message)), MaxMessage)
	if c.texts += len(t.Message); c.texts > maxTexts {
		t.Message = ""
	}
	t.Line = max(t.Line, 0)
	if !(t.DurationMS > 0 && t.DurationMS < 1e15) {
		t.DurationMS = 0
	}
	c.cases = append(c.cases, t)
	return nil
}

// shortName bounds a name in such a way that two long names that differ stay different.
func shortName(name string) string {
	name = plain(name)
	if len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return truncate.Head(name, MaxName) + hex.EncodeToString(sum[:8])
}

// plain is a text that can be written anywhere.
func plain(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (c *collector) report() Report {
	if c.texts > maxTexts {
		c.warn("the messages have more than %d bytes: the later ones are left out", maxTexts)
	}
	if c.droppedWarnings > 0 {
		c.warnings = append(c.warnings, fmt.Sprintf("and %d more warnings", c.droppedWarnings))
	}
	number(c.cases)
	r := Report{Format: c.format, Results: Count(c.cases), Cases: c.cases, Failures: Failures(c.cases), Warnings: c.warnings}
	if c.stated != nil {
		r.Results = mergeCounts(*c.stated, r.Results)
	}
	return r
}

// mergeCounts combines a tool's own sums with the tests that it named: nothing that either of them counts is lost.
func mergeCounts(stated, named runner.TestResults) runner.TestResults {
	stated.Failed = max(stated.Failed, named.Failed)
	stated.Passed = max(stated.Passed, named.Passed)
	stated.Skipped = max(stated.Skipped, named.Skipped)
	stated.Total = max(stated.Total, stated.Failed+stated.Passed+stated.Skipped)
	return stated
}

// number makes the names of the tests of a report unique: the second test of a name becomes `name#2`. A test that runs twice, and
// two tests that a tool cannot tell apart, are then two tests, and neither can replace the other.
func number(cases []runner.TestCase) {
	seen := make(map[string]int, len(cases))
	for i := range cases {
		t := &cases[i]
		id := t.ID()
		n := seen[id] + 1
		seen[id] = n
		for name := t.Name; n > 1; n++ {
			t.Name = name + "#" + strconv.Itoa(n)
			if seen[t.ID()] == 0 {
				seen[id], seen[t.ID()] = n, 1
				break
			}
		}
	}
}

// Count sums up tests.
func Count(cases []runner.TestCase) runner.TestResults {
	r := runner.TestResults{Total: len(cases)}
	for i := range cases {
		switch cases[i].Status {
		case runner.CasePassed:
			r.Passed++
		case runner.CaseSkipped:
			r.Skipped++
		default:
			r.Failed++
		}
	}
	return r
}

// Failures returns the tests that failed as failures of the runner contract.
func Failures(cases []runner.TestCase) []runner.TestFailure {
	var out []runner.TestFailure
	for i := range cases {
		t := &cases[i]
		if t.Status != runner.CaseFailed {
			continue
		}
		f := runner.TestFailure{TestName: t.ID(), TestFile: t.File, ErrorType: t.Type, Message: t.Message}
		if t.Line > 0 {
			f.SourceFile, f.SourceLine = t.File, t.Line
		}
		out = append(out, f)
	}
	return out
}

// Join makes one report of several, in their order.
func Join(reports ...Report) Report {
	var all Report
	stated := false
	for i := range reports {
		r := &reports[i]
		all.Cases = append(all.Cases, r.Cases...)
		all.Warnings = append(all.Warnings, r.Warnings...)
		all.Results.Total += r.Results.Total
		all.Results.Passed += r.Results.Passed
		all.Results.Failed += r.Results.Failed
		all.Results.Skipped += r.Results.Skipped
		if r.Results.Partial != "" {
			all.Results.Partial = r.Results.Partial
		}
		if all.Format != "" && all.Format != r.Format {
			stated = true
		}
		all.Format = r.Format
	}
	if stated {
		all.Format = "several"
	}
	all.Cases = slices.Clip(all.Cases)
	number(all.Cases)
	all.Failures = Failures(all.Cases)
	return all
}

package testreport

import (
	"regexp"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"github.com/deedrun/deed/contract/runner"
)

// What Output calls the two sources that are no format of a report.
const (
	ResultParse = "result_parse" // the manifest's rules
	Summary     = "summary"      // the summary lines of well-known tools
)

// Text reads the counts from what a script printed: by the manifest's rules, then by the formats and the summary lines of
// well-known tools. It is false when there are none, or none but zero.
func Text(stdout string, spec *Spec) (runner.TestResults, bool) {
	r, ok := Output(stdout, spec)
	return r.Results, ok
}

// Output is Text with the tests by name, if the output names them. Rules of the spec that cannot be used are listed in Warnings,
// even if the result is false.
func Output(stdout string, spec *Spec) (Report, bool) {
	if strings.Contains(stdout, "\x1b") {
		stdout = ansi.Strip(stdout)
	}
	// What a script prints after its banner is what it printed before, once more. A script that kept its tool quiet
	// prints it there for the first time.
	said, replay := cutReplay(stdout)
	r, ok := output(said, spec)
	if !ok && replay != "" {
		if again, found := output(replay, spec); found {
			r, ok = again, true
		}
	}
	r.Warnings = append(spec.Faults(), r.Warnings...)
	return r, ok
}

func cutReplay(stdout string) (said, replay string) {
	const banner = "============================================\nBUILD FAILED: "
	said, replay, _ = strings.Cut(stdout, banner)
	return said, replay
}

func output(text string, spec *Spec) (Report, bool) {
	named, _ := native(text)
	if spec != nil {
		if counts, ok := spec.count(text); ok {
			named.Format, named.Results = ResultParse, counts
			return named, true
		}
	}
	if named.Results.Total > 0 {
		return named, true
	}
	for _, rule := range summaries {
		if counts := rule(text); counts.Total > 0 {
			return Report{Format: Summary, Results: settle(counts), Warnings: named.Warnings}, true
		}
	}
	return Report{Warnings: named.Warnings}, false
}

// native reads the format that a text shows, if any. The error of a text that ends early is in its partial counts. Scripts
// print what they like, so a single line that looks like TAP or cargo is not enough here: each would be blamed for the end
// that it has not.
func native(text string) (Report, error) {
	format := detectLines(text, map[string]bool{
		TAP:   !hasLine(text, "TAP version ") && !hasLine(text, "1.."),
		Cargo: !hasLine(text, "test result: "),
	})
	if at := jsonStart(text); format == "" && at >= 0 {
		text = text[at:]
		format = detectObject([]byte(text))
	}
	if format == "" {
		return Report{}, ErrUnknownFormat
	}
	return ParseAs(format, strings.NewReader(text))
}

func hasLine(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) || strings.Contains(text, "\n"+prefix)
}

// jsonStart is where a line begins with an object; below 0: nowhere.
func jsonStart(text string) int {
	if strings.HasPrefix(text, "{") {
		return 0
	}
	if at := strings.Index(text, "\n{"); at >= 0 {
		return at + 1
	}
	return -1
}

// settle makes counts add up: what was skipped and what passed is never more than there is.
func settle(r runner.TestResults) runner.TestResults {
	r.Failed = min(r.Failed, r.Total)
	r.Skipped = min(r.Skipped, r.Total-r.Failed)
	r.Passed = min(r.Passed, r.Total-r.Failed-r.Skipped)
	return r
}

// summaries read what tools print at their end. The sums of several runs are added up, so that the last one does not hide
// the failures of an earlier one.
var summaries = []func(text string) runner.TestResults{jestSummary, phpunitSummary, assignments, nodeSummary, mochaSummary, unittestSummary, testdox}

// jestSummary reads `Tests: 1 failed, 41 passed, 42 total` of Jest and `Tests  1 failed | 41 passed (42)` of Vitest.
func jestSummary(text string) runner.TestResults {
	var r runner.TestResults
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Tests")
		if !ok {
			continue
		}
		rest = strings.TrimSpace(strings.TrimPrefix(rest, ":"))
		if i := strings.LastIndexByte(rest, '('); i > 0 && strings.HasSuffix(rest, ")") {
			rest = rest[:i] // the total, which the parts add up to
		}
		var run runner.TestResults
		for part := range strings.FieldsFuncSeq(rest, func(c rune) bool { return c == ',' || c == '|' }) {
			words := strings.Fields(part)
			if len(words) != 2 {
				run = runner.TestResults{}
				break
			}
			n := integer(words[0])
			switch words[1] {
			case "failed":
				run.Failed += n
			case "passed":
				run.Passed += n
			case "skipped", "todo", "pending":
				run.Skipped += n
			}
		}
		r.Failed += run.Failed
		r.Passed += run.Passed
		r.Skipped += run.Skipped
	}
	r.Total = r.Failed + r.Passed + r.Skipped
	return r
}

// phpunitSummary reads `OK (1 test, 2 assertions)` and `Tests: 12, Assertions: 20, Failures: 2, Errors: 1, Skipped: 3.`,
// where the parts may be lines of their own. Tests that are incomplete, risky or warned about have not passed.
func phpunitSummary(text string) runner.TestResults {
	var all, run runner.TestResults
	end := func() {
		run = settle(run)
		run.Passed = run.Total - run.Failed - run.Skipped
		all.Total += run.Total
		all.Passed += run.Passed
		all.Failed += run.Failed
		all.Skipped += run.Skipped
		run = runner.TestResults{}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "OK ("); ok {
			number, what, _ := strings.Cut(rest, " ")
			if strings.HasPrefix(what, "test") {
				end()
				run.Total = integer(number)
				end()
			}
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(line, "."), ", ") {
			label, number, ok := strings.Cut(part, ": ")
			n := integer(number)
			switch {
			case !ok:
			case label == "Tests":
				end()
				run.Total = n
			case label == "Failures" || label == "Errors":
				run.Failed += n
			case label == "Skipped" || label == "Incomplete" || label == "Risky" || label == "Warnings":
				run.Skipped += n
			}
		}
	}
	end()
	return all
}

var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(passed|failed|skipped|errors)=(\d+)\b`)
})

// assignments reads a line with `passed=N failed=N`, and maybe `skipped=N`.
func assignments(text string) runner.TestResults {
	var r runner.TestResults
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "passed=") || !strings.Contains(line, "failed=") {
			continue
		}
		for _, m := range assignment().FindAllStringSubmatch(line, -1) {
			n := integer(m[2])
			switch m[1] {
			case "passed":
				r.Passed += n
			case "failed", "errors":
				r.Failed += n
			case "skipped":
				r.Skipped += n
			}
		}
	}
	r.Total = r.Passed + r.Failed + r.Skipped
	return r
}

// nodeSummary reads the lines `ℹ tests 3`, `ℹ pass 2` and so on of node --test; TAP has # there.
func nodeSummary(text string) runner.TestResults {
	var r runner.TestResults
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "ℹ" && words[0] != "#" {
			continue
		}
		n := integer(words[2])
		switch words[1] {
		case "tests":
			r.Total += n
		case "pass":
			r.Passed += n
		case "fail", "cancelled":
			r.Failed += n
		case "skipped", "todo":
			r.Skipped += n
		}
	}
	return r
}

// mochaSummary reads the lines `3 passing (5ms)`, `1 failing` and `1 pending`.
func mochaSummary(text string) runner.TestResults {
	var r runner.TestResults
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || len(words) > 3 || integer(words[0]) == 0 && words[0] != "0" {
			continue
		}
		n := integer(words[0])
		switch words[1] {
		case "passing":
			r.Passed += n
		case "failing":
			r.Failed += n
		case "pending":
			r.Skipped += n
		}
	}
	r.Total = r.Passed + r.Failed + r.Skipped
	return r
}

// unittestSummary reads `Ran 3 tests in 0.001s` of Python, and what stands in brackets after OK or FAILED.
func unittestSummary(text string) runner.TestResults {
	var r runner.TestResults
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		if len(words) == 5 && words[0] == "Ran" && strings.HasPrefix(words[2], "test") {
			r.Total += integer(words[1])
			continue
		}
		verdict, rest, ok := strings.Cut(line, " (")
		if !ok || verdict != "OK" && verdict != "FAILED" {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ", ") {
			name, number, _ := strings.Cut(part, "=")
			n := integer(number)
			switch name {
			case "failures", "errors", "unexpected successes":
				r.Failed += n
			case "skipped", "expected failures":
				r.Skipped += n
			}
		}
	}
	r.Passed = r.Total
	return r
}

// testdox reads the marks of PHPUnit's list of sentences. It names tests that ran; the list may be incomplete.
func testdox(text string) runner.TestResults {
	r := runner.TestResults{Partial: "testdox-fallback"}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "Summary of non-successful tests"): // they are repeated
			r.Total = r.Passed + r.Failed + r.Skipped
			return r
		case strings.HasPrefix(line, " ✔ "):
			r.Passed++
		case strings.HasPrefix(line, " ✘ "):
			r.Failed++
		case strings.HasPrefix(line, " ↩ "), strings.HasPrefix(line, " ∅ "), strings.HasPrefix(line, " ☢ "):
			r.Skipped++
		}
	}
	r.Total = r.Passed + r.Failed + r.Skipped
	return r
}

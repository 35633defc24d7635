package testreport

import (
	"io"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// pytest reads what pytest prints. With -v every test has a line; without, only the summary names those that failed, and
// the rest are counted in the last line.
type pytest struct {
	*collector
	tests   []runner.TestCase
	byID    map[string]int
	twice   int // passed, and then an error came after it
	summary bool
	counts  *runner.TestResults
}

func readPytest(r io.Reader, c *collector) error {
	p := &pytest{collector: c, byID: map[string]int{}}
	for line, err := range textLines(r) {
		if err != nil {
			return err
		}
		p.line(line)
	}
	for _, t := range p.tests {
		if err := p.add(t); err != nil {
			return err
		}
	}
	if p.counts == nil {
		return io.ErrUnexpectedEOF // it always ends with its counts
	}
	p.counts.Passed = max(0, p.counts.Passed-p.twice)
	p.counts.Total = p.counts.Passed + p.counts.Failed + p.counts.Skipped
	c.stated = p.counts
	return nil
}

func (p *pytest) line(line string) {
	if counts, ok := pytestCounts(line); ok {
		p.counts = &counts
		p.summary = false
		return
	}
	if strings.HasPrefix(line, "=") {
		p.summary = strings.Contains(line, " short test summary info ")
		return
	}
	if p.summary {
		word, rest, _ := strings.Cut(line, " ")
		if status, ok := pytestStatus(word); ok {
			id, message, _ := strings.Cut(rest, " - ")
			p.test(id, status, message, word)
		}
		return
	}
	p.verbose(line)
}

// verbose takes `file.py::Class::test[param] PASSED   [ 10%]`, and `[gw0] [ 10%] PASSED file.py::test` of pytest-xdist.
func (p *pytest) verbose(line string) {
	if strings.HasPrefix(line, "[gw") {
		parts := strings.SplitN(line, "] ", 3)
		if len(parts) == 3 {
			word, id, _ := strings.Cut(strings.TrimSpace(parts[2]), " ")
			if status, ok := pytestStatus(word); ok {
				p.test(strings.TrimSpace(id), status, "", word)
			}
		}
		return
	}
	if !strings.Contains(line, "::") {
		return
	}
	text := strings.TrimRight(line, " ")
	if i := strings.LastIndex(text, " ["); i > 0 && strings.HasSuffix(text, "%]") {
		text = strings.TrimRight(text[:i], " ")
	}
	reason := ""
	if i := strings.LastIndex(text, " ("); i > 0 && strings.HasSuffix(text, ")") {
		if _, ok := pytestStatus(text[strings.LastIndex(text[:i], " ")+1 : i]); ok {
			text, reason = text[:i], text[i+2:len(text)-1]
		}
	}
	i := strings.LastIndex(text, " ")
	if i < 0 {
		return
	}
	if status, ok := pytestStatus(text[i+1:]); ok {
		p.test(text[:i], status, reason, text[i+1:])
	}
}

func pytestStatus(word string) (string, bool) {
	switch word {
	case "PASSED", "XPASS":
		return runner.CasePassed, true
	case "FAILED", "ERROR":
		return runner.CaseFailed, true
	case "SKIPPED", "XFAIL":
		return runner.CaseSkipped, true
	}
	return "", false
}

func (p *pytest) test(id, status, message, word string) {
	if status == runner.CaseSkipped && strings.HasPrefix(id, "[") {
		return // the summary tells where tests were skipped, and not which
	}
	if at, again := p.byID[id]; again {
		t := &p.tests[at]
		if t.Status == runner.CasePassed && status == runner.CaseFailed {
			t.Status = status
			p.twice++
		}
		if t.Status == runner.CaseFailed && t.Message == "" {
			t.Message = message
			t.Type, _, _ = strings.Cut(message, ":")
		}
		return
	}
	t := runner.TestCase{Status: status, Message: message}
	t.Suite, t.Name = splitNode(id)
	t.File, _, _ = strings.Cut(id, "::")
	if t.Name == "" { // a file that could not be collected
		t.Suite, t.Name = id, "["+TypeLoad+"]"
		t.Type = TypeLoad
	} else if status == runner.CaseFailed {
		if t.Type, _, _ = strings.Cut(message, ":"); t.Type == "" && word == "ERROR" {
			t.Type = "error"
		}
	}
	p.byID[id] = len(p.tests)
	p.tests = append(p.tests, t)
}

// splitNode splits the id of a test before its name. What stands in brackets is a parameter and may be anything.
func splitNode(id string) (suite, name string) {
	plain, parameter := id, ""
	if i := strings.IndexByte(id, '['); i >= 0 {
		plain, parameter = id[:i], id[i:]
	}
	i := strings.LastIndex(plain, "::")
	if i < 0 {
		return id, ""
	}
	return plain[:i], plain[i+2:] + parameter
}

// pytestCounts reads the last line: `=== 1 failed, 2 passed in 0.12s ===`, without the signs under -q.
func pytestCounts(line string) (runner.TestResults, bool) {
	text := strings.Trim(line, "= ")
	i := strings.LastIndex(text, " in ")
	if i < 0 {
		return runner.TestResults{}, false
	}
	if took := text[i+len(" in "):]; took == "" || took[0] < '0' || took[0] > '9' || !strings.Contains(took, "s") {
		return runner.TestResults{}, false
	}
	var r runner.TestResults
	if text[:i] == "no tests ran" {
		return r, true
	}
	for part := range strings.SplitSeq(text[:i], ", ") {
		number, word, ok := strings.Cut(part, " ")
		n := integer(number)
		if !ok || n == 0 {
			return runner.TestResults{}, false
		}
		switch word {
		case "passed", "xpassed":
			r.Passed += n
		case "failed", "error", "errors":
			r.Failed += n
		case "skipped", "xfailed":
			r.Skipped += n
		case "deselected", "warning", "warnings", "rerun", "reruns", "subtests passed":
		default:
			return runner.TestResults{}, false
		}
	}
	r.Total = r.Passed + r.Failed + r.Skipped
	return r, true
}

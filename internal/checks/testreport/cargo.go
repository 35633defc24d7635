package testreport

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// cargo reads what cargo test prints: one block for each program of tests, from `running N tests` to `test result:`. The
// lines that name the program go to the other stream, so a block may have no suite.
type cargo struct {
	*collector
	suite     string // of the next block
	open      bool
	announced int
	tests     []runner.TestCase
	byName    map[string]int
	waiting   string   // the test whose result is still to come: it prints, and its result is on a line of its own
	slow      []string // tests of which the program says that they run for long
	noting    *tail    // the output of a failed test that is read
	notes     map[string]*tail
	sums      runner.TestResults
	errors    tail
	broken    bool
}

func readCargo(r io.Reader, c *collector) error {
	g := &cargo{collector: c}
	for line, err := range textLines(r) {
		if err != nil {
			return err
		}
		if err := g.line(line); err != nil {
			return err
		}
	}
	if g.open {
		if err := g.endBlock(false); err != nil {
			return err
		}
	}
	if g.broken {
		if err := g.add(brokenBuild("", g.errors.String())); err != nil {
			return err
		}
	}
	c.stated = &g.sums
	return nil
}

func (g *cargo) line(line string) error {
	text := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(text, "running ") && (strings.HasSuffix(text, " test") || strings.HasSuffix(text, " tests")):
		return g.begin(integer(strings.Fields(text)[1]))
	case strings.HasPrefix(text, "Running ") || strings.HasPrefix(text, "Doc-tests "):
		g.name(text)
	case strings.HasPrefix(line, "error: could not compile ") || strings.HasPrefix(line, "error[E") || strings.HasPrefix(line, "error: aborting "):
		g.broken = true
		g.errors.add(line + "\n")
	case !g.open:
		if g.broken {
			g.errors.add(line + "\n")
		}
	case strings.HasPrefix(line, "test result: "):
		g.sum(line)
		return g.endBlock(true)
	case strings.HasPrefix(line, "---- ") && strings.HasSuffix(line, " ----"):
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "---- "), " ")
		g.noting = new(tail)
		g.notes[name] = g.noting
	case line == "failures:":
		g.noting = nil
	case g.noting != nil:
		g.noting.add(line + "\n")
	case strings.HasPrefix(line, "test "):
		g.test(strings.TrimPrefix(line, "test "))
	case g.waiting != "":
		g.result(g.waiting, text)
	}
	return nil
}

// name takes `Running unittests src/lib.rs (target/debug/deps/x)` and `Doc-tests x`.
func (g *cargo) name(text string) {
	if crate, ok := strings.CutPrefix(text, "Doc-tests "); ok {
		g.suite = "doc-tests " + crate
		return
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "Running "), " (")
	g.suite = strings.TrimPrefix(text, "unittests ")
}

func (g *cargo) begin(n int) error {
	if g.open {
		if err := g.endBlock(false); err != nil {
			return err
		}
	}
	g.open, g.announced = true, n
	g.byName, g.notes = map[string]int{}, map[string]*tail{}
	return nil
}

// test takes `name ... ok`, or the name alone where what the test prints comes between.
func (g *cargo) test(line string) {
	if name, ok := strings.CutSuffix(line, " has been running for over 60 seconds"); ok {
		g.slow = append(g.slow, name)
		return
	}
	name, outcome, ok := strings.Cut(line, " ... ")
	if !ok {
		return
	}
	name = strings.TrimSuffix(name, " - should panic")
	if !g.result(name, outcome) {
		g.waiting = name
	}
}

// result takes how a test ended; false when the text does not say so.
func (g *cargo) result(name, outcome string) bool {
	t := runner.TestCase{Name: name}
	switch {
	case outcome == "ok" || strings.HasSuffix(outcome, "ok") && g.waiting == name || strings.HasPrefix(outcome, "bench: "):
		t.Status = runner.CasePassed
	case outcome == "FAILED" || strings.HasSuffix(outcome, "FAILED") && g.waiting == name:
		t.Status = runner.CaseFailed
	case outcome == "ignored":
		t.Status = runner.CaseSkipped
	case strings.HasPrefix(outcome, "ignored, "):
		t.Status, t.Message = runner.CaseSkipped, strings.TrimPrefix(outcome, "ignored, ")
	default:
		return false
	}
	g.waiting = ""
	if _, again := g.byName[name]; again {
		return true // a test printed it
	}
	g.byName[name] = len(g.tests)
	g.tests = append(g.tests, t)
	return true
}

// sum takes `test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
func (g *cargo) sum(line string) {
	_, counts, _ := strings.Cut(line, ". ")
	for part := range strings.SplitSeq(counts, ";") {
		words := strings.Fields(part)
		if len(words) < 2 {
			continue
		}
		n := integer(words[0])
		switch words[1] {
		case "passed", "measured":
			g.sums.Passed += n
		case "failed":
			g.sums.Failed += n
		case "ignored":
			g.sums.Skipped += n
		default:
			continue
		}
		g.sums.Total += n
	}
}

// endBlock reports the tests of a program. A program that never summed up its tests was killed, or ended by a test.
func (g *cargo) endBlock(summed bool) error {
	for i := range g.tests {
		t := &g.tests[i]
		t.Suite = g.suite
		if note := g.notes[t.Name]; note != nil {
			t.Message = note.String()
			t.File, t.Line = panicPlace(t.Message)
			t.Type = "panic"
		}
		if err := g.add(*t); err != nil {
			return err
		}
	}
	ran, suite := len(g.tests), g.suite
	unended := slices.DeleteFunc(append(g.slow, g.waiting), func(name string) bool {
		_, ended := g.byName[name]
		return ended || name == ""
	})
	g.open, g.tests, g.noting, g.waiting, g.slow, g.suite = false, nil, nil, "", nil, ""
	if summed {
		return nil
	}
	for _, waiting := range slices.Compact(unended) {
		ran++
		if err := g.add(runner.TestCase{Suite: suite, Name: waiting, Status: runner.CaseFailed, Type: TypeUnfinished}); err != nil {
			return err
		}
	}
	return g.add(runner.TestCase{
		Suite: suite, Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: TypeUnfinished,
		Message: fmt.Sprintf("%d tests were announced, %d ran, and the program did not sum them up", g.announced, ran),
	})
}

// panicPlace reads `thread 'x' panicked at src/lib.rs:11:37:`.
func panicPlace(text string) (file string, line int) {
	_, at, ok := strings.Cut(text, " panicked at ")
	if !ok {
		return "", 0
	}
	at = strings.TrimSuffix(firstLine(at), ":")
	if i := strings.LastIndex(at, ", "); i >= 0 { // before 1.73 the message came first
		at = strings.TrimSpace(at[i+2:])
	}
	parts := strings.Split(at, ":")
	if len(parts) < 2 {
		return "", 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return "", 0
	}
	return parts[0], n
}

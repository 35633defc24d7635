package testreport

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// goText reads what go test prints. The package is named after its tests, so they are held until then. Without -v only
// tests that failed are named, and a package that passed is one line: the counts are partial.
type goText struct {
	*collector
	running map[string]*tail // announced by === RUN and not ended
	last    *tail            // of the test that printed last
	ended   []goEnded
	loose   tail
	builds  map[string]*tail // what the builds of packages printed, which comes before all tests
	verbose bool
	silent  int // packages that passed without naming a test
}

// goEnded is a test that ended. What it printed may still come: without -v its log follows, and so does a panic.
type goEnded struct {
	runner.TestCase
	out *tail
}

func readGoText(r io.Reader, c *collector) error {
	g := &goText{collector: c, running: map[string]*tail{}, builds: map[string]*tail{}}
	for line, err := range textLines(r) {
		if err != nil {
			return err
		}
		if err := g.line(line); err != nil {
			return err
		}
	}
	if len(g.running)+len(g.ended) > 0 {
		if err := g.endPackage("", runner.CaseFailed, ""); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	if g.silent > 0 {
		c.stated = &runner.TestResults{Partial: "go-test-without-v"}
		g.warn("%d packages passed without naming a test: run go test with -v or -json", g.silent)
	}
	return nil
}

func (g *goText) line(line string) error {
	if name, ok := strings.CutPrefix(line, "=== RUN   "); ok {
		g.verbose = true
		g.last = new(tail)
		g.running[name] = g.last
		return nil
	}
	if name, ok := strings.CutPrefix(line, "=== CONT  "); ok {
		g.last = g.running[name]
		return nil
	}
	if strings.HasPrefix(line, "=== ") {
		return nil
	}
	if words := strings.Fields(line); len(words) > 1 && words[0] == "#" && len(g.running) == 0 {
		if g.last = g.builds[words[1]]; g.last == nil {
			g.last = new(tail)
			g.builds[words[1]] = g.last
		}
	}
	if g.result(line) {
		return nil
	}
	if done, err := g.packageLine(line); done {
		return err
	}
	if g.last != nil {
		g.last.add(line + "\n")
	} else {
		g.loose.add(line + "\n")
	}
	return nil
}

// goMarks stand before the name of a test that ended.
var goMarks = map[string]string{runner.CasePassed: "--- PASS: ", runner.CaseFailed: "--- FAIL: ", runner.CaseSkipped: "--- SKIP: "}

// result takes a line such as `    --- FAIL: TestX/sub (0.00s)`, which may stand after what a test printed.
func (g *goText) result(line string) bool {
	for _, status := range runner.CaseStatuses {
		mark := goMarks[status]
		at := strings.LastIndex(line, mark)
		if at < 0 {
			continue
		}
		name, took, ok := strings.Cut(line[at+len(mark):], " (")
		if !ok {
			continue
		}
		out, announced := g.running[name]
		if g.verbose && !announced {
			continue // a test printed it
		}
		if !announced {
			if strings.TrimLeft(line[:at], " ") != "" {
				continue
			}
			out = new(tail)
		}
		g.last = out
		delete(g.running, name)
		c := runner.TestCase{Name: name, Status: status}
		if seconds, err := strconv.ParseFloat(strings.TrimSuffix(took, "s)"), 64); err == nil {
			c.DurationMS = seconds * 1e3
		}
		g.ended = append(g.ended, goEnded{c, out})
		return true
	}
	return false
}

// packageLine takes the line that ends a package.
func (g *goText) packageLine(line string) (bool, error) {
	switch {
	case strings.HasPrefix(line, "ok  \t"):
		if len(g.ended) == 0 && !strings.Contains(line, "[no tests to run]") {
			g.silent++
		}
		return true, g.endPackage(field(line, 1), runner.CasePassed, "")
	case strings.HasPrefix(line, "FAIL\t"):
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "FAIL\t"), " ")
		name, _, _ = strings.Cut(name, "\t")
		if rest == "[build failed]" || rest == "[setup failed]" {
			out := g.loose.String()
			if b := g.builds[name]; b != nil {
				out = b.String()
			}
			defer g.reset()
			return true, g.add(brokenBuild(name, out))
		}
		return true, g.endPackage(name, runner.CaseFailed, goFailure(g.loose.String()))
	case strings.HasPrefix(line, "?   \t"):
		return true, nil
	}
	return false, nil
}

func field(line string, i int) string {
	if parts := strings.Split(line, "\t"); i < len(parts) {
		return parts[i]
	}
	return ""
}

func (g *goText) reset() {
	g.ended, g.last, g.loose = nil, nil, tail{}
	clear(g.running)
}

func (g *goText) endPackage(name, status, kind string) error {
	defer g.reset()
	failed := false
	for _, e := range g.ended {
		c := e.TestCase
		c.Suite = name
		if c.Status != runner.CasePassed {
			c.Message = e.out.String()
			c.File, c.Line = goLocation(c.Message)
		}
		if c.Status == runner.CaseFailed {
			failed = true
			c.Type = goFailure(c.Message)
		}
		if err := g.add(c); err != nil {
			return err
		}
	}
	var open []string
	for t := range g.running {
		if !strings.HasPrefix(t, "Benchmark") {
			open = append(open, t)
		}
	}
	slices.Sort(open)
	for _, t := range open {
		failed = true
		out := g.running[t].String()
		c := runner.TestCase{Suite: name, Name: t, Status: runner.CaseFailed, Type: TypeUnfinished, Message: out}
		if k := goFailure(out); k != "" {
			c.Type = k
		}
		c.File, c.Line = goLocation(out)
		if err := g.add(c); err != nil {
			return err
		}
	}
	if status != runner.CaseFailed || failed {
		return nil
	}
	if kind == "" {
		kind = TypeSuite
	}
	return g.add(runner.TestCase{Suite: name, Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: kind, Message: g.loose.String()})
}

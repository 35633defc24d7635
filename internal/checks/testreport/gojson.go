package testreport

import (
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// goEvent is one line of go test -json.
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string // of a build
	FailedBuild string // the build that kept the package from being tested
}

// goStream follows the events of all packages. A test is reported when it ends, so only running tests are kept in memory.
type goStream struct {
	*collector
	packages map[string]*goPackage
	builds   map[string]*tail // what a build printed
	failed   []string         // builds that failed and that no package has named yet
	loose    tail             // lines that are no events: older versions print there what a build says
}

type goPackage struct {
	tests    map[string]*goTest
	output   tail
	failures int
	broken   bool // its tests could not be built
	passed   bool // the testing package says that it ran to its end
	ended    bool
}

type goTest struct {
	output tail
	paused bool // it waits for its turn among parallel tests
}

func readGoJSON(r io.Reader, c *collector) error {
	lenient := toolreport.Lenient()
	s := &goStream{collector: c, packages: map[string]*goPackage{}, builds: map[string]*tail{}}
	for line, err := range toolreport.Lines(r) {
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		var e goEvent
		if line[0] != '{' || json.Unmarshal(line, &e, lenient) != nil || e.Action == "" {
			s.loose.add(string(line) + "\n")
			continue
		}
		if err := s.event(&e); err != nil {
			return err
		}
	}
	return s.end()
}

func (s *goStream) event(e *goEvent) error {
	switch {
	case e.Action == "build-output":
		s.build(e.ImportPath).add(e.Output)
		return nil
	case e.Action == "build-fail":
		s.failed = append(s.failed, e.ImportPath)
		return nil
	case e.Package == "":
		return nil
	}
	p := s.packages[e.Package]
	if p == nil || p.ended {
		p = &goPackage{tests: map[string]*goTest{}}
		s.packages[e.Package] = p
	}
	if e.Test == "" {
		return s.packageEvent(p, e)
	}
	return s.testEvent(p, e)
}

func (s *goStream) build(path string) *tail {
	b := s.builds[path]
	if b == nil {
		b = new(tail)
		s.builds[path] = b
	}
	return b
}

func (s *goStream) testEvent(p *goPackage, e *goEvent) error {
	t := p.tests[e.Test]
	if t == nil {
		t = new(goTest)
		p.tests[e.Test] = t
	}
	switch e.Action {
	case "output":
		if !goFraming(e.Output) {
			t.output.add(e.Output)
		}
	case "pause", "cont":
		t.paused = e.Action == "pause"
	case "pass", "bench":
		return s.endTest(p, e, runner.CasePassed, "")
	case "skip":
		return s.endTest(p, e, runner.CaseSkipped, "")
	case "fail":
		return s.endTest(p, e, runner.CaseFailed, "")
	}
	return nil
}

// goFraming recognizes a line that the testing package prints about a test, and not the test itself.
func goFraming(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
}

func (s *goStream) endTest(p *goPackage, e *goEvent, status, kind string) error {
	out := p.tests[e.Test].output.String()
	delete(p.tests, e.Test)
	c := runner.TestCase{Suite: e.Package, Name: e.Test, Status: status, DurationMS: e.Elapsed * 1e3}
	if status != runner.CasePassed {
		c.Message = out
		c.File, c.Line = goLocation(out)
	}
	if status == runner.CaseFailed {
		p.failures++
		c.Type = kind
		if kind == "" {
			c.Type = goFailure(out)
		}
	}
	return s.add(c)
}

// goFailure names what made a test fail, where its output shows it.
func goFailure(out string) string {
	switch {
	case strings.Contains(out, "panic: test timed out after "):
		return "timeout"
	case strings.Contains(out, "WARNING: DATA RACE"):
		return "race"
	case strings.HasPrefix(out, "panic: ") || strings.Contains(out, "\npanic: "):
		return "panic"
	}
	return ""
}

// goLocation is the first place in a test that the output names: the one of t.Error, or the first line of a test file in
// a stack.
func goLocation(out string) (file string, line int) {
	for text := range strings.Lines(out) {
		text = strings.TrimSpace(text)
		end := strings.Index(text, ".go:")
		if end < 0 || strings.ContainsAny(text[:end], " \t") {
			continue
		}
		name := text[:end+len(".go")]
		if strings.Contains(name, "/") && !strings.HasSuffix(name, "_test.go") {
			continue
		}
		digits := text[end+len(".go:"):]
		if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
			digits = digits[:i]
		}
		if n := integer(digits); n > 0 {
			return name, n
		}
	}
	return "", 0
}

func (s *goStream) packageEvent(p *goPackage, e *goEvent) error {
	switch e.Action {
	case "output":
		if strings.HasPrefix(e.Output, "FAIL\t") && (strings.HasSuffix(e.Output, "[build failed]\n") || strings.HasSuffix(e.Output, "[setup failed]\n")) {
			p.broken = true
		}
		p.passed = p.passed || strings.HasSuffix(e.Output, "PASS\n")
		p.output.add(e.Output)
	case "pass", "skip":
		p.ended = true
		if err := s.unfinished(p, e.Package); err != nil || e.Action == "skip" || p.passed || p.failures > 0 {
			return err
		}
		return s.add(runner.TestCase{
			Suite: e.Package, Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: TypeUnfinished,
			Message: "the program ended with exit code 0 before all tests were done: something calls os.Exit, TestMain or an init function perhaps",
		})
	case "fail":
		p.ended = true
		if err := s.unfinished(p, e.Package); err != nil {
			return err
		}
		switch {
		case e.FailedBuild != "" || p.broken:
			return s.buildFailure(e.Package, e.FailedBuild)
		case p.failures == 0:
			return s.packageFailure(p, e.Package, "")
		}
	}
	return nil
}

// unfinished reports the tests of a package that began and did not end. A benchmark has no end of its own.
func (s *goStream) unfinished(p *goPackage, name string) error {
	names := make([]string, 0, len(p.tests))
	for t := range p.tests {
		names = append(names, t)
	}
	slices.Sort(names)
	for _, t := range names {
		status, kind := runner.CaseFailed, TypeUnfinished
		if strings.HasPrefix(t, "Benchmark") {
			status, kind = runner.CasePassed, ""
		} else if k := goFailure(p.tests[t].output.String()); k != "" {
			kind = k
		} else if p.tests[t].paused {
			kind = TypeWaiting
		}
		if err := s.endTest(p, &goEvent{Package: name, Test: t}, status, kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *goStream) buildFailure(pkg, build string) error {
	if build == "" {
		build = pkg
	}
	out := s.loose.String()
	if b := s.builds[build]; b != nil {
		out = b.String()
	}
	s.failed = slices.DeleteFunc(s.failed, func(f string) bool { return f == build })
	return s.add(brokenBuild(pkg, out))
}

func brokenBuild(suite, out string) runner.TestCase {
	c := runner.TestCase{Suite: suite, Name: "[" + TypeBuild + "]", Status: runner.CaseFailed, Type: TypeBuild, Message: out}
	return c
}

// packageFailure reports a package that failed though no test of it did: its TestMain, an exit, a crash, a race.
func (s *goStream) packageFailure(p *goPackage, name, kind string) error {
	out := p.output.String()
	if kind == "" {
		if kind = goFailure(out); kind == "" {
			kind = TypeSuite
		}
	}
	return s.add(runner.TestCase{Suite: name, Name: "[" + TypeSuite + "]", Status: runner.CaseFailed, Type: kind, Message: out})
}

// end reports what has no end: the stream was cut, or the command killed.
func (s *goStream) end() error {
	names := make([]string, 0, len(s.packages))
	for name, p := range s.packages {
		if !p.ended {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := s.packages[name]
		if err := s.unfinished(p, name); err != nil {
			return err
		}
		if err := s.packageFailure(p, name, TypeUnfinished); err != nil {
			return err
		}
	}
	for _, build := range s.failed {
		if err := s.add(brokenBuild(build, s.build(build).String())); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		s.warn("%d packages began and did not end", len(names))
		return io.ErrUnexpectedEOF
	}
	return nil
}

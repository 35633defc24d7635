package helper

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/runner"
)

// The modes of a run that ended, in the order in which they are tested: the first that fits is reported. ModeClean is the ninth,
// for a run without a failure.
const (
	ModeBootstrap    = "bootstrap"           // a stage before the runner failed, and said which
	ModeAssertions   = "assertions"          // counts, findings or the log say that something failed
	ModeSummary      = "fatal_on_stdout"     // only the text of the runner says so
	ModeFatal        = "fatal_before_runner" // it crashed, or did not compile, before the runner took control
	ModeUnclassified = "unclassified"        // not zero, and nothing says why
	ModeNoOutput     = "no_output"           // there was no output at all
	ModeNoTestFiles  = "no_test_files"       // there was nothing to run
	ModeZeroTests    = "zero_tests_executed" // there was, and it did not run
	ModeClean        = "clean"               // no failure
)

// Modes lists every mode.
var Modes = []string{
	ModeBootstrap, ModeAssertions, ModeSummary, ModeFatal, ModeUnclassified, ModeNoOutput, ModeNoTestFiles, ModeZeroTests, ModeClean,
}

// Evidence is what is left of a run. Of a long stream only the last megabyte is read.
type Evidence struct {
	Capability string // runner.Test when empty
	Name       string // what ran, as people know it: go test
	Exit       int    // negative: killed by a signal
	Stdout     string
	Stderr     string
	Log        string              // lines like STAGE_FAIL:install:no network, NO_TEST_FILES, SOME TESTS FAILED
	Counts     *runner.TestResults // nil: there are no counts
	Findings   int                 // of a linter
}

// An Outcome says how a run ended. Exit is the exit code of the runner contract, which the run's own may not have been.
type Outcome struct {
	Mode     string
	Step     string // for FAILED_STEP; empty when clean
	Stage    string // of ModeBootstrap
	Category string // of contract/runner; empty when clean
	Summary  string
	Replay   []string // the most informative lines
	Exit     int
}

//go:embed include/markers.txt
var markerText string

// markers holds one expression for each kind of marker. The shell helper has the same table and the same order of
// questions, in awk; a test holds one against the other.
var markers = sync.OnceValue(func() map[string]*regexp.Regexp {
	kinds := map[string][]string{}
	for line := range strings.Lines(markerText) {
		if kind, pattern, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			kinds[kind] = append(kinds[kind], pattern)
		}
	}
	out := make(map[string]*regexp.Regexp, len(kinds))
	for kind, patterns := range kinds {
		out[kind] = regexp.MustCompile(strings.Join(patterns, "|"))
	}
	return out
})

const (
	maxEvidence = 1 << 20 // bytes of each stream: a table of expressions is held against every line
	replayFatal = 5       // lines
	replayTail  = 20      // lines
)

// Classify says how a run ended. It never fails: what fits nothing is unclassified.
func Classify(in Evidence) Outcome {
	c := classification{Evidence: in}
	if c.Capability == "" {
		c.Capability = runner.Test
	}
	if c.Name == "" {
		c.Name = c.Capability
		if c.Capability == runner.Test {
			c.Name = "tests"
		}
	}
	c.out, c.log = textLines(in.Stdout, in.Stderr), textLines(in.Log)
	for _, ask := range []func() (Outcome, bool){c.bootstrap, c.assertions, c.summary, c.fatal, c.nothingRan, c.unclassified} {
		if o, ok := ask(); ok {
			return o
		}
	}
	return Outcome{Mode: ModeClean, Summary: c.Name + " ended without a failure"}
}

// A classification is the evidence by line.
type classification struct {
	Evidence
	out, log []string
}

func (c classification) bootstrap() (Outcome, bool) {
	for _, l := range c.log {
		rest, ok := strings.CutPrefix(l, "STAGE_FAIL:")
		if !ok {
			rest, ok = strings.CutPrefix(l, "STAGE_FATAL:")
		}
		if ok {
			stage, _, _ := strings.Cut(rest, ":")
			return c.bootstrapAt(strings.TrimSpace(stage), rest), true
		}
	}
	if c.Exit == 0 {
		return Outcome{}, false
	}
	for _, l := range c.out {
		if lower := asciiLower(l); markers()["bootstrap"].MatchString(lower) {
			stage := ""
			if _, after, ok := strings.Cut(lower, "bootstrap failure:"); ok {
				stage, _, _ = strings.Cut(after, ":")
			}
			return c.bootstrapAt(strings.TrimSpace(stage), l), true
		}
	}
	return Outcome{}, false
}

func (c classification) bootstrapAt(stage, line string) Outcome {
	step := c.Name + " bootstrap"
	if stage != "" {
		step += " (" + stage + " stage)"
	}
	return c.infrastructure(Outcome{Mode: ModeBootstrap, Step: step, Stage: stage, Summary: "the bootstrap failed: " + line, Replay: []string{line}})
}

func (c classification) assertions() (Outcome, bool) {
	switch {
	case c.Counts != nil && c.Counts.Failed > 0:
		return c.found(ModeAssertions, fmt.Sprintf("%d of %d tests failed", c.Counts.Failed, c.Counts.Total)), true
	case c.Findings > 0:
		return c.found(ModeAssertions, fmt.Sprintf("%d findings", c.Findings)), true
	}
	for _, l := range c.log {
		if strings.Contains(l, "SOME TESTS FAILED") {
			return c.found(ModeAssertions, "some tests failed"), true
		}
	}
	return Outcome{}, false
}

func (c classification) summary() (Outcome, bool) {
	if l, ok := c.first("summary"); ok && c.Exit != 0 {
		return c.found(ModeSummary, "the runner reports failures: "+strings.TrimSpace(l)), true
	}
	return Outcome{}, false
}

func (c classification) fatal() (Outcome, bool) {
	if c.Exit == 0 {
		return Outcome{}, false
	}
	m := markers()
	var lines []string
	for _, l := range c.out {
		// Some runners say in such a line only that there was nothing to run.
		if len(lines) < replayFatal && m["fatal"].MatchString(l) && !m["nofiles"].MatchString(l) && !m["zero"].MatchString(l) {
			lines = append(lines, l)
		}
	}
	o := Outcome{Mode: ModeFatal, Step: c.Name + " crash (before the runner took control)", Replay: lines}
	switch {
	case len(lines) > 0:
		o.Summary = "it ended before the runner took control: " + strings.TrimSpace(lines[0])
	case c.Exit == 127:
		o.Summary = "a command was not found (exit 127)"
	case c.Exit == 126:
		o.Summary = "a command could not be run (exit 126)"
	default:
		return Outcome{}, false
	}
	return c.infrastructure(o), true
}

// nothingRan recognizes that no tests ran, whether the runner takes that for a failure or not.
func (c classification) nothingRan() (Outcome, bool) {
	if c.Capability != runner.Test {
		return Outcome{}, false
	}
	if c.Exit == 0 && len(c.out) == 0 && len(c.log) == 0 && c.Counts == nil {
		return c.infrastructure(Outcome{Mode: ModeNoOutput, Step: c.Name + " (no output)", Summary: "it ended with exit 0 and said nothing"}), true
	}
	switch mode := c.nothing(); mode {
	case ModeNoTestFiles:
		l, _ := c.first("nofiles")
		return c.infrastructure(Outcome{Mode: mode, Step: c.Name + " (no test files)", Summary: "there are no test files", Replay: some(l)}), true
	case ModeZeroTests:
		l, _ := c.first("zero")
		return c.infrastructure(Outcome{Mode: mode, Step: c.Name + " (zero tests executed)", Summary: "no test was executed", Replay: some(l)}), true
	}
	return Outcome{}, false
}

// nothing is the mode of tests that did not run, empty if some ran or if it is not known.
func (c classification) nothing() string {
	if c.Capability != runner.Test || c.Counts != nil && c.Counts.Total > 0 {
		return ""
	}
	if _, ok := c.first("ran"); ok && c.Counts == nil {
		return ""
	}
	for _, l := range c.log {
		if strings.HasPrefix(l, "NO_TEST_FILES") {
			return ModeNoTestFiles
		}
	}
	// One package may have no test files while the tests of another were all filtered out.
	_, zero := c.first("zero")
	_, nofiles := c.first("nofiles")
	switch {
	case zero:
		return ModeZeroTests
	case nofiles:
		return ModeNoTestFiles
	case c.Counts != nil && c.Exit == 0:
		return ModeZeroTests
	}
	return ""
}

func (c classification) unclassified() (Outcome, bool) {
	if c.Exit == 0 {
		return Outcome{}, false
	}
	o := Outcome{Mode: ModeUnclassified, Step: fmt.Sprintf("%s exited with code %d (unclassified)", c.Name, c.Exit)}
	o.Summary = fmt.Sprintf("it ended with exit %d, and nothing says why", c.Exit)
	if c.Exit < 0 || c.Exit > 128 && c.Exit < 128+65 {
		o.Summary = fmt.Sprintf("it was killed by a signal (exit %d)", c.Exit)
	}
	o.Replay = c.out[max(0, len(c.out)-replayTail):]
	return c.infrastructure(o), true
}

func (c classification) found(mode, summary string) Outcome {
	return Outcome{Mode: mode, Step: c.Name, Category: runner.CategoryFindings, Summary: summary, Exit: 1}
}

func (c classification) infrastructure(o Outcome) Outcome {
	o.Category, o.Exit = runner.CategoryInfrastructure, max(2, c.Exit)
	return o
}

func (c classification) first(kind string) (string, bool) {
	for _, l := range c.out {
		if markers()[kind].MatchString(l) {
			return l, true
		}
	}
	return "", false
}

// Absent is the first line of some texts that says that a program or a dependency is not there, and its kind, one of those of
// runner.Missing; both are empty when there is none.
func Absent(texts ...string) (kind, line string) {
	for _, l := range textLines(texts...) {
		switch m := markers(); {
		case m["tool"].MatchString(l):
			return runner.MissingTool, strings.TrimSpace(l)
		case m["dependency"].MatchString(l):
			return runner.MissingDependency, strings.TrimSpace(l)
		}
	}
	return "", ""
}

// DownloadFailure returns the first line of go's message about a build that could not begin because modules cannot be downloaded. ok
// is false if there is another error: that one is the fault of the code.
func DownloadFailure(text string) (line string, ok bool) {
	for _, l := range textLines(text) {
		switch {
		case markers()["dependency"].MatchString(l):
			if line == "" {
				line = strings.TrimSpace(l)
			}
		case markers()["goerror"].MatchString(l):
			return "", false
		}
	}
	return line, line != ""
}

// Crashed reports whether some texts show that the tool that wrote them came down by a fault of its own.
func Crashed(texts ...string) bool {
	return slices.ContainsFunc(textLines(texts...), markers()["crash"].MatchString)
}

func some(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

// textLines splits streams into the lines that have text, without colours and carriage returns.
func textLines(streams ...string) (out []string) {
	for _, s := range streams {
		if len(s) > maxEvidence {
			s = s[len(s)-maxEvidence:]
		}
		for l := range strings.SplitSeq(s, "\n") {
			if l = strings.TrimRight(plain(l), " \t\r"); l != "" {
				out = append(out, l)
			}
		}
	}
	return out
}

// plain takes the colours out of a line: ESC, a bracket, digits and semicolons, m.
func plain(l string) string {
	if !strings.Contains(l, "\x1b[") {
		return l
	}
	var b strings.Builder
	for {
		at := strings.Index(l, "\x1b[")
		if at < 0 {
			b.WriteString(l)
			return b.String()
		}
		end := at + 2
		for end < len(l) && (l[end] == ';' || l[end] >= '0' && l[end] <= '9') {
			end++
		}
		if end < len(l) && l[end] == 'm' {
			b.WriteString(l[:at])
			l = l[end+1:]
			continue
		}
		b.WriteString(l[:end])
		l = l[end:]
	}
}

// asciiLower is what every awk does in the C locale.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

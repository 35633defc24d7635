package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// How the reason of a skip begins that an installation would cure, and of one that go test -short asked for.
const (
	missingTool = "missing tool:"
	short       = "short:"
)

// An event is one line of go test -json; see go doc test2json and go help buildjson.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// A result is the end of one test or check.
type result struct {
	Package string
	Test    string
	Reason  string // of a skip
	Elapsed float64
}

func (t result) name() string {
	if t.Package == "" {
		return t.Test
	}
	return t.Package + " " + t.Test
}

// A report follows a run and counts. Subtests count like tests.
type report struct {
	out    io.Writer
	strict bool // a missing tool is a failure, and so is a test that -short leaves out

	mu                   sync.Mutex // held by whoever records or prints: checks end while tests run
	passes, fails, skips []result

	running map[result]*strings.Builder // tests and packages that have not ended, with their output
	build   map[string]*strings.Builder // compiler output by import path
	counts  map[string]int              // ended tests by package
}

func newReport(out io.Writer, strict bool) *report {
	return &report{
		out: out, strict: strict,
		running: map[result]*strings.Builder{},
		build:   map[string]*strings.Builder{},
		counts:  map[string]int{},
	}
}

func (r *report) pass(t result) { r.passes = append(r.passes, t) }
func (r *report) fail(t result) { r.fails = append(r.fails, t) }

// skip reports whether the skip is a failure here.
func (r *report) skip(t result) (failed bool) {
	if r.strict && (strings.HasPrefix(t.Reason, missingTool) || strings.HasPrefix(t.Reason, short)) {
		r.fail(t)
		return true
	}
	r.skips = append(r.skips, t)
	return false
}

// testFailed reports whether a test or a package failed. Checks are no part of go test.
func (r *report) testFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.fails, func(t result) bool { return t.Package != "" })
}

// fault records that the run itself went wrong.
func (r *report) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(result{Test: "testrun"})
	fmt.Fprintf(r.out, "FAIL  %v\n", err)
}

// read consumes the stream of go test -json to its end. A line that is no event is passed through: a program
// under test may write to the standard output that it inherited.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *report) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal([]byte(text), &e) == nil && e.Action != "" {
		r.handle(e)
	} else {
		fmt.Fprint(r.out, text)
	}
}

func (r *report) handle(e event) {
	switch e.Action {
	case "build-output":
		buffer(r.build, e.ImportPath).WriteString(e.Output)
	case "start", "run":
		buffer(r.running, result{Package: e.Package, Test: e.Test})
	case "output":
		buffer(r.running, result{Package: e.Package, Test: e.Test}).WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *report) endTest(e event) {
	key := result{Package: e.Package, Test: e.Test}
	output := buffer(r.running, key).String()
	delete(r.running, key)
	r.counts[e.Package]++

	end := key
	end.Elapsed = e.Elapsed
	switch e.Action {
	case "pass":
		r.pass(end)
	case "skip":
		end.Reason = skipReason(output)
		if r.skip(end) {
			r.printFail(fmt.Sprintf("%s (%.1fs)", end.name(), e.Elapsed), output)
		}
	case "fail":
		r.fail(end)
		r.printFail(fmt.Sprintf("%s (%.1fs)", end.name(), e.Elapsed), output)
	}
}

func (r *report) printFail(what, output string) {
	fmt.Fprintf(r.out, "FAIL  %s\n", what)
	if text := frameless(output); strings.TrimSpace(text) != "" {
		fmt.Fprintln(r.out, indent(text))
	}
}

// endPackage closes a package. A package that failed while none of its tests did could not be built, panicked,
// ran into the time limit or failed in TestMain: then its own output says why.
func (r *report) endPackage(e event) {
	key := result{Package: e.Package}
	output := buffer(r.running, key).String()
	delete(r.running, key)

	failsBefore := len(r.fails)
	for _, t := range r.unfinished(e.Package) {
		text := r.running[t].String()
		delete(r.running, t)
		r.counts[e.Package]++
		r.fail(t)
		r.printFail(t.name()+" did not end", text)
	}
	if e.Action != "fail" {
		if r.counts[e.Package] > 0 {
			fmt.Fprintf(r.out, "ok    %-62s %6.1fs %4d tests\n", e.Package, e.Elapsed, r.counts[e.Package])
		}
		return
	}
	if failsBefore == len(r.fails) && !slices.ContainsFunc(r.fails, func(t result) bool { return t.Package == e.Package }) {
		r.fail(key)
	}
	if b := r.build[e.FailedBuild]; b != nil {
		output = b.String() + output
	}
	r.printFail(fmt.Sprintf("%s (%.1fs)", e.Package, e.Elapsed), output)
}

func (r *report) unfinished(pkg string) []result {
	var open []result
	for t := range r.running {
		if t.Package == pkg && t.Test != "" {
			open = append(open, t)
		}
	}
	sort.Slice(open, func(i, j int) bool { return open[i].Test < open[j].Test })
	return open
}

// finish prints the skips, what failed and the last line, and returns the exit status.
func (r *report) finish() int {
	r.printSlowest()
	printGrouped(r.out, "skipped", r.skips)
	if len(r.fails) > 0 {
		fmt.Fprintln(r.out, "\nfailed:")
		for _, t := range r.fails {
			if t.Reason != "" {
				fmt.Fprintf(r.out, "  %s: %s (with CI=true nothing may be missing or left out)\n", t.name(), t.Reason)
			} else {
				fmt.Fprintf(r.out, "  %s\n", t.name())
			}
		}
	}
	if len(r.passes)+len(r.fails)+len(r.skips) == 0 {
		r.fault(fmt.Errorf("nothing was run"))
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", len(r.passes), len(r.fails), len(r.skips))
	if len(r.fails) > 0 {
		return 1
	}
	return 0
}

// printSlowest names the top-level tests and checks that took longest, when they took long enough to matter.
func (r *report) printSlowest() {
	var slow []result
	for _, t := range r.passes {
		if t.Elapsed >= 5 && !strings.Contains(t.Test, "/") {
			slow = append(slow, t)
		}
	}
	sort.SliceStable(slow, func(i, j int) bool { return slow[i].Elapsed > slow[j].Elapsed })
	if len(slow) > 10 {
		slow = slow[:10]
	}
	for i, t := range slow {
		if i == 0 {
			fmt.Fprintln(r.out, "\nslowest:")
		}
		fmt.Fprintf(r.out, "  %6.1fs %s\n", t.Elapsed, t.name())
	}
}

// printGrouped prints results by their reason, the most frequent first.
func printGrouped(out io.Writer, title string, results []result) {
	byReason := map[string][]string{}
	for _, t := range results {
		byReason[t.Reason] = append(byReason[t.Reason], t.name())
	}
	reasons := make([]string, 0, len(byReason))
	for reason := range byReason {
		reasons = append(reasons, reason)
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := len(byReason[reasons[i]]), len(byReason[reasons[j]])
		return a > b || a == b && reasons[i] < reasons[j]
	})
	for i, reason := range reasons {
		if i == 0 {
			fmt.Fprintf(out, "\n%s:\n", title)
		}
		names := byReason[reason]
		if reason == "" {
			reason = "no reason given"
		}
		fmt.Fprintf(out, "  %d × %s\n", len(names), reason)
		if strings.HasPrefix(reason, short) {
			continue // hundreds of names, which nobody asked for
		}
		for _, name := range names {
			fmt.Fprintf(out, "      %s\n", name)
		}
	}
}

var (
	frame    = regexp.MustCompile(`^\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|SKIP|FAIL):)`)
	location = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)
)

// frameless drops the lines by which go test frames the output of a test.
func frameless(output string) string {
	var kept []string
	for line := range strings.Lines(output) {
		if !frame.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// skipReason returns what a test gave to t.Skip: the first line of its last message, without file and line.
func skipReason(output string) string {
	reason := ""
	for line := range strings.Lines(frameless(output)) {
		if at := location.FindString(line); at != "" {
			reason = strings.TrimSpace(line[len(at):])
		}
	}
	return reason
}

// buffer returns the builder of key, made when it is not there.
func buffer[K comparable](m map[K]*strings.Builder, key K) *strings.Builder {
	if m[key] == nil {
		m[key] = &strings.Builder{}
	}
	return m[key]
}

package sidecar

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/coverage"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/checks/toolreport"
)

// A Set is what a script left in its run directory. Faults lists what is malformed; what could be read of it is kept with the
// rest.
type Set struct {
	Results         *runner.TestResults // nil: there are no counts
	Cases           []runner.TestCase
	Failures        []runner.TestFailure
	Findings        []runner.LintFinding
	FindingsWritten bool // there is an array of findings, though it may be empty
	Coverage        *runner.Coverage
	CoverageFormat  string
	Annotations     []runner.Annotation
	Fixes           []runner.FixResult
	Plan            []runner.FixResult
	Warnings        []string // what is odd: counts that do not add up, reports that contradict themselves
	Faults          []Fault
}

// A Fault is a sidecar, or a part of it, that could not be read.
type Fault struct {
	Sidecar string
	Path    string // below the run directory
	Message string
}

func (f Fault) Error() string { return fmt.Sprintf("%s (%s): %s", f.Sidecar, f.Path, f.Message) }

// Read reads a run directory. Paths in the result are relative to the component. The error means that the directory cannot be
// opened; everything else is a fault.
func Read(dir, componentRoot string) (Set, error) {
	return Paths(dir).Read(componentRoot)
}

// Read reads the files. See the function of the same name.
func (f Files) Read(componentRoot string) (Set, error) {
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return Set{}, fmt.Errorf("read the run directory: %w", err)
	}
	defer root.Close()
	r := &reader{room: &room{dir: f.Dir, root: root}, files: f, component: componentRoot, paths: toolreport.OpenPaths(componentRoot)}
	defer r.paths.Close()
	r.findings()
	r.results()
	r.failures()
	r.tests()
	r.coverage()
	r.annotations()
	r.set.Fixes = r.fixes(FixResults, f.FixResults)
	r.set.Plan = r.fixes(FixPlan, f.FixPlan)
	r.settle()
	return r.set, nil
}

// reader reads one run directory.
type reader struct {
	*room
	files     Files
	component string
	paths     *toolreport.Paths
	set       Set

	tested testreport.Report   // of the reports of tools
	counts *runner.TestResults // counts that came with the failures
	muted  bool
}

// fault takes what could not be read.
func (r *reader) fault(sidecar, path, format string, args ...any) {
	if len(r.set.Faults) >= maxFaults {
		if !r.muted {
			r.muted = true
			r.set.Faults = append(r.set.Faults, Fault{sidecar, "", "there are more faults than are told"})
		}
		return
	}
	name, err := filepath.Rel(r.files.Dir, path)
	if err != nil {
		name = path
	}
	r.set.Faults = append(r.set.Faults, Fault{sidecar, filepath.ToSlash(name), fmt.Sprintf(format, args...)})
}

// warn takes what is odd, and can be read.
func (r *reader) warn(format string, args ...any) {
	r.set.Warnings = append(r.set.Warnings, fmt.Sprintf(format, args...))
}

// with gives the content of a file, if there is any, to a function. Its error is a fault.
func (r *reader) with(sidecar, path string, use func(in io.Reader) error) {
	in, err := r.text(path)
	if err == nil && in != nil {
		err = errors.Join(use(in), in.Close())
	}
	if err != nil {
		r.broken(sidecar, path, err)
	}
}

// broken takes an error, each fault in it by itself.
func (r *reader) broken(sidecar, path string, err error) {
	list := fault.Of(err)
	for _, f := range list {
		r.fault(sidecar, path, "%s", f)
	}
	if list == nil {
		r.fault(sidecar, path, "%s", notJSON(err))
	}
}

// notJSON says in plain words where a text is not JSON. Other errors are returned unchanged.
func notJSON(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		what := "is not JSON"
		if errors.Is(err, io.ErrUnexpectedEOF) {
			what = "ends in the middle of its JSON"
		} else if syntax.Err != nil {
			what += " (" + syntax.Err.Error() + ")"
		}
		if syntax.JSONPointer != "" {
			what += ", at " + string(syntax.JSONPointer)
		}
		return fmt.Sprintf("it %s, after %d bytes", what, syntax.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle of its JSON"
	}
	return err.Error()
}

func (r *reader) findings() {
	r.with(LintFindings, r.files.LintFindings, func(in io.Reader) error {
		var err error
		r.set.Findings, err = finding.Read(in, r.component)
		r.set.FindingsWritten = err == nil || len(r.set.Findings) > 0
		return err
	})
}

func (r *reader) coverage() {
	r.with(Coverage, r.files.Coverage, func(in io.Reader) error {
		c, format, err := coverage.Parse(in, r.component)
		if err == nil {
			r.set.Coverage, r.set.CoverageFormat = &c, format
		}
		return err
	})
}

// tests reads the tests by name: deed's own file, or else the reports of tools.
func (r *reader) tests() {
	written := false
	r.with(TestCases, r.files.TestCases, func(in io.Reader) error {
		written = true
		return r.cases(in)
	})
	r.reports()
	if written {
		r.worse()
	} else {
		r.set.Cases = r.tested.Cases
	}
	if len(r.set.Failures) == 0 {
		r.set.Failures = testreport.Failures(r.set.Cases)
	}
}

// worse tells as failed what a report tells as failed and deed's own file does not. The code under test can find that file
// and write it; a tool writes its report when that code has ended.
func (r *reader) worse() {
	at := make(map[string]int, len(r.set.Cases))
	for i, c := range r.set.Cases {
		at[c.ID()] = i
	}
	n := 0
	for _, c := range r.tested.Cases {
		i, known := at[c.ID()]
		switch {
		case c.Status != runner.CaseFailed || known && r.set.Cases[i].Status == runner.CaseFailed:
			continue
		case known:
			r.set.Cases[i] = c
		default:
			r.set.Cases = append(r.set.Cases, c)
		}
		n++
	}
	if n > 0 {
		r.warn("%d tests failed by the report of a tool, and %s does not say so: they count as failed", n, filepath.Base(r.files.TestCases))
	}
}

// reports reads every file below the directory of reports.
func (r *reader) reports() {
	var all []testreport.Report
	r.walk(r.files.TestReports, 0, func(path string) {
		r.with(TestReports, path, func(in io.Reader) error {
			report, err := testreport.Parse(in)
			for _, w := range report.Warnings {
				r.warn("%s: %s", filepath.Base(path), w)
			}
			report.Locate(r.component)
			all = append(all, report)
			return err
		})
	})
	r.tested = testreport.Join(all...)
}

func (r *reader) walk(dir string, depth int, file func(path string)) {
	entries, err := r.list(dir)
	if err != nil {
		r.fault(TestReports, dir, "%v", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			file(path)
		case depth >= maxDepth:
			r.fault(TestReports, path, "more than %d directories are nested", maxDepth)
		default:
			r.walk(path, depth+1, file)
		}
	}
}

// settle merges what was reported twice. If two reports disagree, the worse one counts, and the disagreement is a fault.
func (r *reader) settle() {
	named := testreport.Count(r.set.Cases)
	switch {
	case r.set.Results != nil:
	case len(r.set.Cases) > 0 && r.tested.Results.Total <= named.Total:
		r.set.Results = &named
	case r.tested.Results.Total > 0:
		counts := r.tested.Results // a report that does not name every test counts more
		r.set.Results = &counts
		return
	case r.counts != nil:
		r.set.Results = r.counts
		return
	default:
		return
	}
	if r.set.Results.Partial == "" {
		r.set.Results.Partial = r.tested.Results.Partial
	}
	if had := r.set.Results.Failed; named.Failed > had {
		r.warn("the counts say that %d tests failed, and %d are told as failed by name: the larger number counts", had, named.Failed)
		r.set.Results.Failed = named.Failed
		r.set.Results.Passed = max(0, min(r.set.Results.Passed, r.set.Results.Total-named.Failed-r.set.Results.Skipped))
		r.set.Results.Total = max(r.set.Results.Total, r.set.Results.Passed+r.set.Results.Failed+r.set.Results.Skipped)
	}
}

// stem is the name of a file without its ending.
func stem(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

package observe

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/checks/testreport"
)

// Seen is what the runners of a check reported.
type Seen struct {
	// Runners are those that were seen to run, sorted: also such as reported no test.
	Runners []string
	// Cases have the names that `deed test` gives the tests of the same project.
	Cases []runner.TestCase
	// Faults say what was reported and could not be read, and which runners did not end their report. That is no pass.
	Faults []string
}

// Bounds of what is read. What a check writes beyond them is a fault.
const (
	maxReports = 2000
	maxFaults  = 50
	maxCwd     = 4 << 10
)

// aRun is one report.
type aRun struct {
	name   string // of its directory
	runner string
	cwd    string // as the check saw it
	began  time.Time
	file   string // of the report; empty: there is none
	ended  bool
}

// Read returns what was reported. tree is the checked tree on this machine and inside where the check saw it: paths are
// relative to it.
func (w *Watch) Read(tree, inside string) (Seen, error) {
	root, err := os.OpenRoot(filepath.Join(w.dir, reportsDir))
	if err != nil {
		return Seen{Faults: []string{"the directory of the reports is gone"}}, nil // the check has removed it
	}
	defer func() { _ = root.Close() }()
	r := reading{root: root, inside: path.Clean(inside), tree: filepath.ToSlash(tree), left: testreport.MaxInput}
	runs, err := r.runs()
	if err != nil {
		return Seen{}, fmt.Errorf("read the reports of test runners: %w", err)
	}
	var reports []testreport.Report
	for _, one := range runs {
		r.seen.Runners = append(r.seen.Runners, one.runner)
		if report, ok := r.report(one); ok {
			report.Locate(tree)
			reports = append(reports, report)
		}
	}
	r.seen.Cases = testreport.Join(reports...).Cases
	slices.Sort(r.seen.Runners)
	r.seen.Runners = slices.Compact(r.seen.Runners)
	return r.seen, nil
}

// reading is one reading of all reports.
type reading struct {
	root   *os.Root
	inside string // where the check saw the tree
	tree   string // where it is
	left   int64  // bytes that may still be read
	seen   Seen
	muted  bool
}

func (r *reading) fault(format string, args ...any) {
	switch {
	case len(r.seen.Faults) < maxFaults:
		r.seen.Faults = append(r.seen.Faults, fmt.Sprintf(format, args...))
	case !r.muted:
		r.muted = true
		r.seen.Faults = append(r.seen.Faults, "and more faults in the reports of test runners")
	}
}

// runs lists the reports by the directory that their runner ran in, then by when it began: names that collide then get the
// same numbers in each run of a check.
func (r *reading) runs() ([]aRun, error) {
	entries, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []aRun
	for _, e := range entries {
		name, _, ok := strings.Cut(e.Name(), ".")
		switch {
		case !e.IsDir() || !ok || name == "":
			r.fault("%q is no report of a test runner", e.Name())
		case len(out) == maxReports:
			r.fault("there are more than %d reports of test runners", maxReports)
			return sorted(out), nil
		default:
			out = append(out, r.run(e.Name(), name))
		}
	}
	return sorted(out), nil
}

func sorted(runs []aRun) []aRun {
	slices.SortStableFunc(runs, func(a, b aRun) int {
		return cmp.Or(strings.Compare(a.cwd, b.cwd), a.began.Compare(b.began), strings.Compare(a.name, b.name))
	})
	return runs
}

func (r *reading) run(dir, runner string) aRun {
	one := aRun{name: dir, runner: runner}
	entries, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil {
		return one // it has no end then, which is reported
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "end":
			one.ended = true
		case name == "cwd":
			if text, err := plainfile.ReadIn(r.root, path.Join(dir, name), maxCwd); err == nil {
				one.cwd = strings.TrimSuffix(string(text), "\n")
			}
			if info, err := e.Info(); err == nil {
				one.began = info.ModTime()
			}
		case strings.HasPrefix(name, "report."):
			one.file = name
		}
	}
	return one
}

// report reads one report; false when nothing of it could be read.
func (r *reading) report(one aRun) (testreport.Report, bool) {
	if !one.ended {
		r.fault("%s began in %s and did not end its report", one.runner, r.where(one))
	}
	if one.file == "" {
		if one.ended {
			r.fault("%s ended in %s and left no report", one.runner, r.where(one))
		}
		return testreport.Report{}, false
	}
	f, err := plainfile.OpenIn(r.root, path.Join(one.name, one.file))
	if err != nil {
		r.fault("the report of %s in %s cannot be read: %v", one.runner, r.where(one), err)
		return testreport.Report{}, false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() > r.left {
		r.fault("the report of %s in %s is too large", one.runner, r.where(one))
		return testreport.Report{}, false
	}
	r.left -= info.Size()
	report, err := testreport.ParseAs(strings.TrimPrefix(one.file, "report."), f)
	if err != nil && one.ended { // one that did not end is reported already
		r.fault("the report of %s in %s cannot be read: %v", one.runner, r.where(one), err)
	}
	for i := range report.Cases {
		c := &report.Cases[i]
		c.Suite, c.Name, c.File = r.moved(c.Suite), r.moved(c.Name), r.moved(c.File)
	}
	return report, true
}

// where is the directory that a runner ran in, for people.
func (r *reading) where(one aRun) string {
	switch rest, below := strings.CutPrefix(one.cwd, r.inside+"/"); {
	case one.cwd == "":
		return "a directory that it did not name"
	case one.cwd == r.inside:
		return "the directory of the check"
	case below:
		return rest
	}
	return one.cwd
}

// moved brings a path at the beginning of a text from where the check saw the tree to where it is.
func (r *reading) moved(text string) string {
	if rest, ok := strings.CutPrefix(text, strings.TrimSuffix(r.inside, "/")+"/"); ok {
		return strings.TrimSuffix(r.tree, "/") + "/" + rest
	}
	return text
}

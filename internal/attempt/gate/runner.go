package gate

import (
	"context"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
)

// A Runner runs checks for a decision: capabilities and commands alike.
type Runner interface {
	// Run runs a check on room/tree, with a runner that the change cannot influence. base says that the tree is the
	// base alone. A room may be used for two runs; the second may then use what the first left outside the tree, such
	// as caches.
	Run(ctx context.Context, c deed.Check, room string, base bool) RunResult
	// Base returns the remembered result of a check on this base, and KeepBase remembers one. A record that somebody
	// else may have written must not be returned.
	Base(ctx context.Context, c deed.Check) (BaseRun, bool)
	KeepBase(ctx context.Context, c deed.Check, b BaseRun)
	// KeepCaches may keep what runs left in a room outside the tree, such as caches: only the base has run in it.
	KeepCaches(room string)
	// Files returns the files of the tree that belong to the check's runner itself, such as the script that a
	// component's command names.
	Files(c deed.Check) []string
	// Keep adds a report to the evidence and returns its path there. kind is "", "base" or "pinned".
	Keep(check int, kind string, r *runner.Report) (string, error)
}

// A RunResult is the outcome of one run of a check.
type RunResult struct {
	Result   deed.CheckResult // never "passed" for a capability without a report
	Report   *runner.Report   // of a capability, or of a command whose test runners were observed
	Runners  []string         // the test runners that were seen to run
	Faults   []string         // runners that began a report and did not finish it
	Programs []string         // files of the base that drove the check
	Executed []string         // files of the tree that were executed, or interpreted
	Traced   bool             // Executed is complete
	Ended    error            // the limit that deed ended it for; nil: it ended by itself
}

// A BaseRun is the result of a check on the base.
type BaseRun struct {
	Status         string         `json:"status"` // the status of the report; for a command passed, failed or error
	ExitCode       int            `json:"exit_code"`
	Report         *runner.Report `json:"report,omitempty"`
	Runners        []string       `json:"runners,omitempty"`
	Faults         []string       `json:"faults,omitempty"`
	Programs       []string       `json:"programs,omitempty"`
	Sites          []string       `json:"sites,omitempty"`    // where a witness was reported as passed
	Control        bool           `json:"control,omitempty"`  // there it was also reported as failed, and the other tests still ran
	Reacts         bool           `json:"reacts,omitempty"`   // the check fails when a witness does
	Unstable       []string       `json:"unstable,omitempty"` // tests about which two runs disagree
	Tail           string         `json:"tail,omitempty"`     // the last lines of its output
	MissingModules []string       `json:"wants,omitempty"`    // declared modules that are not installed, if no test could be loaded

	Remembered bool `json:"-"` // from an earlier attempt
}

// baseOf builds the result on the base from a run.
func baseOf(ran RunResult, sites []string) BaseRun {
	b := BaseRun{
		Status: ran.Result.Status, ExitCode: ran.Result.ExitCode, Report: ran.Report, Runners: ran.Runners, Faults: ran.Faults,
		Programs: ran.Programs, Sites: sites, Tail: ran.Result.Tail,
	}
	switch {
	case ran.Report != nil:
		b.Status = ran.Report.Status
	case b.Status == deed.CheckTimeout:
		b.Status = runner.StatusFailed // the timeout may be what the task is about
	}
	return b
}

// comparable reports whether the run gave a result that a later one can be compared with.
func (b BaseRun) comparable() bool {
	return b.Report != nil && (b.Report.Status == runner.StatusPassed || b.Report.Status == runner.StatusFailed)
}

// named reports whether the tests of the base are known by name.
func (b BaseRun) named() bool { return b.Report != nil && len(b.Report.TestCases) > 0 }

// untested reports whether the base is known to have no tests. A base whose tests could not be run, because it does
// not compile, say, has some: comparing the change with it would not show what an edit takes from them.
func (b BaseRun) untested() bool {
	switch {
	case b.Report == nil:
		return false
	case b.comparable():
		c := counts(b.Report)
		return c == nil || c.Total == 0
	case b.Report.Status == runner.StatusSkipped:
		return true
	}
	f := b.Report.Failure
	return f != nil && (f.Mode == helper.ModeNoTestFiles || f.Mode == helper.ModeZeroTests)
}

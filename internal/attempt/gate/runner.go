package gate

import (
	"context"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
)

// A Runner runs checks for a decision: capabilities and commands alike.
type Runner interface {
	// Run runs a check on room/tree, by a runner that the change has no part in. base says that the tree is the base alone. A
	// room may be run in twice; what the first run left beside the tree, such as caches, may then be used.
	Run(ctx context.Context, c deed.Check, room string, base bool) Ran
	// Base returns what a check gave on this base before, and KeepBase keeps it. A record that somebody else may have
	// written is none.
	Base(ctx context.Context, c deed.Check) (BaseRun, bool)
	KeepBase(ctx context.Context, c deed.Check, b BaseRun)
	// Adopt may keep what runs left beside the tree of a room, such as caches: nothing but the base was run in it.
	Adopt(room string)
	// Files are files of the tree that the runner of a check itself consists of, such as the script that a component's own
	// command names.
	Files(c deed.Check) []string
	// Keep puts a report into the evidence and returns its path there. kind is "", "base" or "pinned".
	Keep(check int, kind string, r *runner.Report) (string, error)
}

// A Ran is one run of a check.
type Ran struct {
	Result   deed.CheckResult // of a capability without a report its status is not passed
	Report   *runner.Report   // of a capability, and of a command whose test runners were observed
	Runners  []string         // the test runners that were seen to run
	Faults   []string         // runners that began a report and did not end it
	Programs []string         // files of the base that drove the check
	Executed []string         // files of the tree that were executed, or interpreted
	Traced   bool             // Executed is complete
	Ended    error            // the limit that it was ended for; nil: it ended by itself
}

// A BaseRun is what a check gave on the base.
type BaseRun struct {
	Status   string         `json:"status"` // as of a report; of a command passed, failed or error
	ExitCode int            `json:"exit_code"`
	Report   *runner.Report `json:"report,omitempty"`
	Runners  []string       `json:"runners,omitempty"`
	Faults   []string       `json:"faults,omitempty"`
	Programs []string       `json:"programs,omitempty"`
	Sites    []string       `json:"sites,omitempty"`    // where a witness is seen to pass
	Control  bool           `json:"control,omitempty"`  // it is seen to fail there as well, and the other tests run all the same
	Reacts   bool           `json:"reacts,omitempty"`   // the check fails when a witness does
	Unstable []string       `json:"unstable,omitempty"` // tests that two runs do not agree on
	Tail     string         `json:"tail,omitempty"`     // the last lines that it printed
	Wants    []string       `json:"wants,omitempty"`    // modules that the project declares and that are not installed, where no test could be loaded

	Remembered bool `json:"-"` // from an earlier attempt
}

// baseOf is what a run on the base says of it.
func baseOf(ran Ran, sites []string) BaseRun {
	b := BaseRun{
		Status: ran.Result.Status, ExitCode: ran.Result.ExitCode, Report: ran.Report, Runners: ran.Runners, Faults: ran.Faults,
		Programs: ran.Programs, Sites: sites, Tail: ran.Result.Tail,
	}
	switch {
	case ran.Report != nil:
		b.Status = ran.Report.Status
	case b.Status == deed.CheckTimeout:
		b.Status = runner.StatusFailed // it may well be what the task is about
	}
	return b
}

// comparable reports whether a run tells something that a later one can be held against.
func (b BaseRun) comparable() bool {
	return b.Report != nil && (b.Report.Status == runner.StatusPassed || b.Report.Status == runner.StatusFailed)
}

// named reports whether the tests of the base are known by name.
func (b BaseRun) named() bool { return b.Report != nil && len(b.Report.TestCases) > 0 }

// untested reports whether the base is known to have no tests. One whose tests could not be run, since it does not
// compile, say, has some: what an edit takes from them is not seen by holding the change against the base.
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

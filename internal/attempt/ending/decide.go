package ending

import (
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/failure"
)

// A Canceller is who cancelled a run.
type Canceller string

// The cancellers.
const (
	NotCancelled Canceller = ""
	ByOperator   Canceller = "operator" // somebody cancelled the run
	ByParent     Canceller = "parent"   // the caller went away
	BySignal     Canceller = "signal"   // deed itself received a signal to stop
)

// A Declared is what the agent reports of its own work when that is not a success.
type Declared string

// The declarations.
const (
	DeclaredNothing Declared = ""
	DeclaredUnable  Declared = "unable"  // it cannot do the work
	DeclaredBlocked Declared = "blocked" // it waits for a person
	DeclaredRetry   Declared = "retry"   // it asks for another try
)

// A Gate is the gate's verdict.
type Gate string

// The verdicts.
const (
	GateNone     Gate = ""
	GateAccepted Gate = "accepted"
	GateRejected Gate = "rejected"
)

// Facts is what deed saw of a run. Only Declared is taken from the agent's word, and it can only make the outcome
// worse.
type Facts struct {
	Refused   bool // the request was not accepted; nothing ran
	Cancelled Canceller
	Deadline  bool // the time limit passed
	Provider  bool // the service or the model behind the agent failed
	Isolation bool // the requested isolation is not available
	Infra     bool // disk, database or another part of deed failed, or its runner was lost
	Budget    bool // the budget of the task or of the day is used up
	Unusable  bool // adapter, workspace source or another thing that the request names cannot be used

	Started    bool   // the agent's process was there
	ExitCode   int    // of the agent
	Signal     string // the signal that ended the agent
	MaxTurns   bool   // the agent used up its turns
	Circles    bool   // the agent repeated itself, or made no progress, until it was ended
	Declared   Declared
	Unreadable bool // the agent left no readable result
	Done       bool // the agent's own part ended well, whatever happened afterwards

	Gate       Gate
	NoOp       bool  // the gate says that the change set is empty
	Files      int   // that the patch changes
	PatchBytes int64 // of the patch
	KeptBack   bool  // the caller wants the change as evidence only
}

// Classifications of a failure.
const (
	ClassInvalidRequest = "invalid_request"
	ClassCancelled      = "cancelled"
	ClassTimeout        = "timeout"
	ClassMaxTurns       = "max_turns"
	ClassBudget         = "budget_exhausted"
	ClassProvider       = "provider"
	ClassIsolation      = "isolation"
	ClassInfrastructure = "infrastructure"
	ClassConfig         = "config"
	ClassRuntime        = "runtime"
	ClassIncomplete     = "incomplete"
	ClassBlocked        = "blocked"
	ClassUnable         = "unable"
	ClassGate           = "gate"
)

// An Ending is how an attempt ended. Every field that describes this, in any vocabulary, is derived from it.
type Ending struct {
	Name           string             // name of the row in the table
	Status         string             // terminal status of the run
	Classification string             // of a failure; empty for a success
	Terminal       string             // status of the terminal result
	Run            evidence.RunStatus // final state of the run
	Outcome        string             // status of the completion outcome
	NextAction     string
	Confidence     string
	Agent          string // status of the agent result: completed only when the agent's own executions ended well
	Exit           int    // exit code of the command
	About          string // in words
}

// Success reports whether the run did what was asked.
func (e Ending) Success() bool { return evidence.Success(e.Status) }

// Refused reports whether the request itself was at fault, not what followed from it.
func (e Ending) Refused() bool { return e.Exit == failure.ExitUsage }

// Actionable reports whether there is an accepted change. NextAction says what may be done with it.
func (e Ending) Actionable() bool { return e.Status == evidence.StatusSucceeded }

// A Row is one line of the table: the first whose condition holds decides.
type Row struct {
	When   string // the condition in words
	Ending Ending
	holds  func(Facts) bool
}

const (
	low    = evidence.ConfidenceLow
	medium = evidence.ConfidenceMedium
	high   = evidence.ConfidenceHigh
)

// Table is every way in which a run can end, by precedence: cancelled, timeout, provider, isolation and infrastructure,
// then the agent's own end, then the gate. It is printed into the docs.
var Table = []Row{
	row("refused", "the request was refused", func(f Facts) bool { return f.Refused },
		evidence.StatusFailed, ClassInvalidRequest, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentUnknown, failure.ExitUsage, "the request was refused; nothing was done"),
	row("cancelled", "cancelled by an operator or the caller", func(f Facts) bool { return f.Cancelled == ByOperator || f.Cancelled == ByParent },
		evidence.StatusFailed, ClassCancelled, evidence.RunCancelled, evidence.OutcomeFailed, evidence.NextReview, low, evidence.AgentFailed, failure.ExitNotDone, "the run was cancelled"),
	row("interrupted", "cancelled by a signal to deed", func(f Facts) bool { return f.Cancelled != NotCancelled },
		evidence.StatusFailed, ClassCancelled, evidence.RunCancelled, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitInterrupted, "deed was told to stop; the run was cancelled"),
	row("timeout", "the time limit passed", func(f Facts) bool { return f.Deadline },
		evidence.StatusTimeout, ClassTimeout, evidence.RunTimedOut, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the time limit passed"),
	row("provider_error", "the service or model behind the agent failed", func(f Facts) bool { return f.Provider },
		evidence.StatusProviderError, ClassProvider, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the service or model behind the agent failed"),
	row("isolation", "the containment asked for is not there", func(f Facts) bool { return f.Isolation },
		evidence.StatusFailed, ClassIsolation, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentFailed, failure.ExitInfra, "the containment asked for is not available here"),
	row("infrastructure", "a part of deed or of the machine failed", func(f Facts) bool { return f.Infra },
		evidence.StatusFailed, ClassInfrastructure, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitInfra, "a part of deed or of the machine failed"),
	row("unusable", "something that the request names cannot be used", func(f Facts) bool { return f.Unusable },
		evidence.StatusFailed, ClassConfig, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentFailed, failure.ExitUsage, "something that the request names cannot be used"),
	row("budget", "the budget is used up", func(f Facts) bool { return f.Budget }, // also when nothing was left to start with
		evidence.StatusFailed, ClassBudget, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentFailed, failure.ExitNotDone, "the budget is used up"),
	row("not_started", "the agent could not be started", func(f Facts) bool { return !f.Started },
		evidence.StatusFailed, ClassRuntime, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentFailed, failure.ExitNotDone, "the agent could not be started"),
	row("max_turns", "the agent used up its turns", func(f Facts) bool { return f.MaxTurns },
		evidence.StatusTimeout, ClassMaxTurns, evidence.RunTimedOut, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the agent used up its turns"),
	row("no_progress", "the agent went in circles", func(f Facts) bool { return f.Circles },
		evidence.StatusFailed, ClassIncomplete, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextReview, low, evidence.AgentFailed, failure.ExitNotDone, "the agent went in circles and was ended"),
	row("blocked", "the agent waits for a person", func(f Facts) bool { return f.Declared == DeclaredBlocked },
		evidence.StatusUnable, ClassBlocked, evidence.RunFailed, evidence.OutcomeBlocked, evidence.NextFixBlocker, low, evidence.AgentFailed, failure.ExitNotDone, "the agent waits for a person"),
	row("unable", "the agent says that it cannot do the work", func(f Facts) bool { return f.Declared == DeclaredUnable },
		evidence.StatusUnable, ClassUnable, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextReview, low, evidence.AgentFailed, failure.ExitNotDone, "the agent says that it cannot do the work"),
	row("asked_retry", "the agent asks for another try", func(f Facts) bool { return f.Declared != DeclaredNothing },
		evidence.StatusFailed, ClassIncomplete, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the agent asks for another try"),
	row("agent_failed", "the agent ended with a code other than 0, or by a signal", func(f Facts) bool { return f.ExitCode != 0 || f.Signal != "" },
		evidence.StatusFailed, ClassRuntime, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the agent failed"),
	row("unreadable", "the agent left no result that can be read", func(f Facts) bool { return f.Unreadable },
		evidence.StatusFailed, ClassRuntime, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentFailed, failure.ExitNotDone, "the agent left no result that can be read"),
	row("rejected", "the gate refused the work", func(f Facts) bool { return f.Gate == GateRejected },
		evidence.StatusFailed, ClassGate, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentCompleted, failure.ExitNotDone, "the gate did not find the work done"),
	row("no_verdict", "there is no verdict", func(f Facts) bool { return f.Gate != GateAccepted },
		evidence.StatusFailed, ClassInfrastructure, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextRetry, low, evidence.AgentCompleted, failure.ExitInfra, "nobody judged the work"),
	row("incoherent", "verdict, change list and patch contradict each other", func(f Facts) bool {
		return (f.Files == 0) != (f.PatchBytes == 0) || f.NoOp && f.Files != 0
	},
		evidence.StatusFailed, ClassInfrastructure, evidence.RunFailed, evidence.OutcomeFailed, evidence.NextReview, low, evidence.AgentCompleted, failure.ExitInfra, "verdict, change list and patch contradict each other"),
	row("no_op", "the gate accepted an empty change set", func(f Facts) bool { return f.Files == 0 },
		evidence.StatusNoOp, "", evidence.RunSucceeded, evidence.OutcomeSucceeded, evidence.NextReview, medium, evidence.AgentCompleted, failure.ExitDone, "accepted; nothing was changed"),
	row("kept_back", "the gate accepted a change that is not to be applied", func(f Facts) bool { return f.KeptBack },
		evidence.StatusSucceeded, "", evidence.RunSucceeded, evidence.OutcomeSucceeded, evidence.NextReview, high, evidence.AgentCompleted, failure.ExitDone, "accepted; it is evidence only (policy.applyBack: disabled)"),
	row("succeeded", "the gate accepted a change", func(Facts) bool { return true },
		evidence.StatusSucceeded, "", evidence.RunSucceeded, evidence.OutcomeSucceeded, evidence.NextPromote, high, evidence.AgentCompleted, failure.ExitDone, "accepted"),
}

func row(name, when string, holds func(Facts) bool, status, class string, run evidence.RunStatus, outcome, next, confidence, agent string, exit int, about string) Row {
	d := Ending{
		Name: name, Status: status, Classification: class, Terminal: status, Run: run, Outcome: outcome, NextAction: next, Confidence: confidence,
		Agent: agent, Exit: exit, About: about,
	}
	if class == ClassMaxTurns {
		d.Terminal = evidence.TerminalMaxTurns
	}
	return Row{When: when, Ending: d, holds: holds}
}

// Decide returns how a run ended: the first row of Table whose condition holds.
func Decide(f Facts) Ending {
	for _, r := range Table {
		if r.holds(f) {
			d := r.Ending
			if d.Run == evidence.RunCancelled {
				d.About += " (by: " + string(f.Cancelled) + ")"
			}
			switch {
			case !f.Started:
				d.Agent = evidence.AgentUnknown // no execution, so there is no status of one
			case f.Done && f.ExitCode == 0 && f.Signal == "" && f.Declared == DeclaredNothing && !f.Unreadable:
				d.Agent = evidence.AgentCompleted // also when the run was ended while its work was judged
			}
			return d
		}
	}
	panic("ending: the last row of the table holds always")
}

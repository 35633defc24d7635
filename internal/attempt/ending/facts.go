package ending

import (
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/failure"
)

// An Exit is how the agent's process ended.
type Exit struct {
	Code   int
	Signal string
}

// An End is how an attempt ended, in its own words.
type End struct {
	Class      failure.Class
	Exit       *Exit // nil: the agent never ran
	Stopped    bool  // it was cancelled because deed had to stop
	MaxTurns   bool  // the agent used up its turns
	Done       bool  // the agent's last turn ended well
	KeptBack   bool  // the caller wants the change as evidence only
	Verdict    *deed.Verdict
	Files      int // that the patch changes
	PatchBytes int64
}

// FactsOf returns the facts behind the end of an attempt. A class that this version does not know is a fault of deed.
func FactsOf(e End) Facts {
	f := Facts{MaxTurns: e.MaxTurns, Done: e.Done, KeptBack: e.KeptBack, Files: e.Files, PatchBytes: e.PatchBytes}
	if e.Exit != nil {
		f.Started, f.ExitCode, f.Signal = true, e.Exit.Code, e.Exit.Signal
	}
	if v := e.Verdict; v != nil {
		f.Gate, f.NoOp = GateRejected, v.NoOp
		if v.Accepted && len(v.Reasons) == 0 {
			f.Gate = GateAccepted
		}
	}
	switch e.Class {
	case failure.None:
	case failure.Timeout:
		f.Deadline = true
	case failure.AgentFailed:
		f.Unreadable = true // also if its exit code is 0, as after a limit on its output
	case failure.InvalidWord:
		f.Unreadable = true
	case failure.Rejected:
		f.Gate = GateRejected
	case failure.AskedRetry:
		f.Declared = DeclaredRetry
	case failure.AskedFail:
		f.Declared = DeclaredUnable
	case failure.Blocked:
		f.Declared = DeclaredBlocked
	case failure.Turns:
		f.MaxTurns = true
	case failure.Loop, failure.Stuck:
		f.Circles = true
	case failure.Budget:
		f.Budget = true
	case failure.Limit:
		f.Unreadable = true // it was ended before it could report anything
	case failure.RateLimited, failure.Provider:
		f.Provider = true
	case failure.Interrupted:
		f.Cancelled = BySignal
	case failure.Canceled:
		f.Cancelled = ByOperator
		if e.Stopped {
			f.Cancelled = BySignal
		}
	case failure.Config:
		f.Unusable = true
	case failure.Isolation:
		f.Isolation = true
	case failure.Spawn:
		f.Started = false
	default: // lost, infrastructure, panic
		f.Infra = true
	}
	return f
}

// OfClass returns the ending of an attempt of which only the class of its failure is known.
func OfClass(c failure.Class) Ending {
	return Decide(FactsOf(End{Class: c, Exit: &Exit{}}))
}

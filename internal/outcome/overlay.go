package outcome

import (
	"github.com/deedrun/deed/contract/homeboy"
)

// A Verdict is what deed found about the change of an attempt, whatever its provider said.
type Verdict struct {
	Request homeboy.Request // what was asked for

	// Ended is how deed ended the attempt, where that is not for the gate to say: cancelled, timeout, provider_error,
	// failed. It goes before the gate. Empty: it ended by itself.
	Ended homeboy.OutcomeStatus
	Class homeboy.FailureClass // of Ended

	Judged   bool // the gate gave a verdict
	Accepted bool // and it was yes
	Reasons  []Reason
	Changed  int    // files that differ from the base
	Patch    *Patch // the change as deed captured it; nil: none
	Base     string // the revision that it applies to

	Attempt string // id of the attempt
	Bundle  string // directory of its evidence
}

// A Reason is one thing that the gate, or deed, had against an attempt.
type Reason struct {
	Code    string
	Message string
	Remedy  string
}

// A Patch is the change of an attempt, as deed captured it.
type Patch struct {
	Path   string
	SHA256 string
	Size   int64
	// ReviewOnly says why the patch cannot be applied as it is: something in it was redacted. Empty: it can be.
	ReviewOnly string
}

// Overlay returns the outcome of a task: what its provider said, and deed's own verdict, which counts. An outcome that
// Overlay returned is not laid over again.
func Overlay(o homeboy.Outcome, v Verdict) homeboy.Outcome {
	return o
}

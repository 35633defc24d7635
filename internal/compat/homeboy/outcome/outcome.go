// Package outcome owns how a provider command's answer becomes one outcome of the contract: from what it printed, how
// its process ended and what it left. It checks what was declared, keeps artifacts by their content and lets no secret
// through. It starts no process, chooses no provider and judges no change: what the gate found is laid over an outcome
// by Overlay, and counts.
package outcome

import (
	"encoding/json"
	"io"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// An End is how a provider's process ended, as deed saw it.
type End string

// The ends of a provider's process.
const (
	Exited            End = "exited"             // by itself, with Facts.Code
	Signalled         End = "signalled"          // by a signal that deed did not send, Facts.Signal
	SpawnFailed       End = "spawn_failed"       // it never ran; Facts.Err says why
	NotStarted        End = "not_started"        // deed did not try to start it; Facts.Err says why
	ContainmentFailed End = "containment_failed" // it could not be held, or not be ended whole
	IOFailed          End = "io_failed"          // its request could not be written, or its answer not be read
	WallTimeout       End = "wall_timeout"       // ended by deed after Facts.Limit
	DeadlinePast      End = "deadline_past"      // not started: the absolute deadline was over
	Stalled           End = "stalled"            // ended by deed: silent for Facts.Limit
	OutputCap         End = "output_cap"         // ended by deed: it printed more than it may
	LimitReached      End = "limit_reached"      // ended by deed or by the system: memory, processor time, files
	Cancelled         End = "cancelled"          // ended by deed because somebody asked for it
)

// Ends lists every end.
var Ends = []End{
	Exited, Signalled, SpawnFailed, NotStarted, ContainmentFailed, IOFailed, WallTimeout, DeadlinePast, Stalled, OutputCap, LimitReached, Cancelled,
}

// Facts are how the provider's process ended, as deed saw it.
type Facts struct {
	End       End
	Code      int    // of an exit
	Signal    string // such as SIGKILL
	Elapsed   time.Duration
	Limit     time.Duration // the limit that was reached
	Err       error
	Survivors int // processes of its tree that outlived its end

	Stdout     io.ReaderAt // what was kept, as it was written; nil is nothing
	StdoutSize int64
	Dropped    int64 // bytes of standard output that were not kept

	StdoutTail, StderrTail string // for people; redacted again here
	Command                string // for people; redacted again here
}

// An Answer is what a provider's answer was made to be.
type Answer struct {
	Outcome  homeboy.Outcome
	Row      string            // the row of Rows that decided
	Said     json.RawMessage   // the document that the provider wrote, redacted; a list of them if it wrote several; nil if none
	Warnings []homeboy.Warning // every liberty that was taken; they are diagnostics of Outcome already

	redactor *redact.Redactor
	paths    []string // of the artifacts, as they were written
}

// Places are where a provider worked, as directories of this machine.
type Places struct {
	Workspace string // what the provider changed; the gate judges it
	Artifacts string // the artifacts_path of the request
	Cwd       string // relative paths of artifacts begin here
	// Host maps an absolute path as the provider sees it to one of this machine; nil: they are the same.
	Host func(inside string) (host string, ok bool)
}

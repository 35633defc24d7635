package evidence

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/fault"
)

// A RunStatus is where a run stands.
type RunStatus string

// The states of a run. The last four end it.
const (
	RunQueued     RunStatus = "queued"
	RunBooting    RunStatus = "booting"
	RunRunning    RunStatus = "running"
	RunCollecting RunStatus = "collecting_artifacts"
	RunSucceeded  RunStatus = "succeeded"
	RunFailed     RunStatus = "failed"
	RunTimedOut   RunStatus = "timed_out"
	RunCancelled  RunStatus = "cancelled"
)

// RunStatuses lists every state in the order of a run.
var RunStatuses = []RunStatus{
	RunQueued, RunBooting, RunRunning, RunCollecting, RunSucceeded, RunFailed, RunTimedOut, RunCancelled,
}

// Terminal reports whether the state ends a run.
func (s RunStatus) Terminal() bool {
	return s == RunSucceeded || s == RunFailed || s == RunTimedOut || s == RunCancelled
}

// Phase returns the coarse phase of a state: pending, active, finalizing or terminal.
func (s RunStatus) Phase() string {
	switch s {
	case RunQueued:
		return PhasePending
	case RunBooting, RunRunning:
		return PhaseActive
	case RunCollecting:
		return PhaseFinalizing
	}
	return PhaseTerminal
}

// Phases of a lifecycle.
const (
	PhasePending    = "pending"
	PhaseActive     = "active"
	PhaseFinalizing = "finalizing"
	PhaseTerminal   = "terminal"
)

// Statuses of a clean-up.
const (
	CleanupNotStarted = "not_started"
	CleanupRunning    = "running"
	CleanupSucceeded  = "succeeded"
	CleanupFailed     = "failed"
)

// CleanupStatuses lists every status of a clean-up.
var CleanupStatuses = []string{CleanupNotStarted, CleanupRunning, CleanupSucceeded, CleanupFailed}

// A RunRegistryEntry is the record of one run.
type RunRegistryEntry struct {
	Schema       string           `json:"schema"`
	RunID        string           `json:"runId" jsonschema:"minLength=1,maxLength=128"`
	Status       RunStatus        `json:"status"`
	Lifecycle    RunLifecycle     `json:"lifecycle"`
	CreatedAt    string           `json:"createdAt" jsonschema:"minLength=1"`
	UpdatedAt    string           `json:"updatedAt" jsonschema:"minLength=1"`
	HeartbeatAt  string           `json:"heartbeatAt" jsonschema:"minLength=1"`
	ArtifactRefs []RunArtifactRef `json:"artifactRefs"`
	Runtime      json.RawMessage  `json:"runtime,omitempty"`
	Preview      json.RawMessage  `json:"preview,omitempty"`
	Metadata     map[string]any   `json:"metadata,omitempty"`
	Result       json.RawMessage  `json:"result,omitempty"`
	Retention    *RunRetention    `json:"retention,omitempty"`
	Replay       *RunReplay       `json:"replay,omitempty"`
	Error        *RunError        `json:"error,omitempty"`
}

// Names in the metadata of a run that deed gives a meaning to.
const (
	MetaResourceEvidence = "runResourceEvidence"
	MetaTaskID           = "task_id"
	MetaAttemptID        = "attempt_id"
	MetaSessionID        = "sandbox_session_id"
	MetaProcess          = "deed_process" // in what is shown, never in what is stored: "gone" when the process that ran it is not there any more
)

// A RunArtifactRef points at something that a run left behind.
type RunArtifactRef struct {
	Kind      string  `json:"kind" jsonschema:"minLength=1"`
	Path      string  `json:"path,omitempty"`
	Directory string  `json:"directory,omitempty"`
	ID        string  `json:"id,omitempty"`
	Digest    *Digest `json:"digest,omitempty"`
}

// A RunRetention says how long what a run left behind is kept. CleanupEligibleAt is an order: before it nothing is
// removed, after it everything may be.
type RunRetention struct {
	CleanupEligibleAt string `json:"cleanupEligibleAt,omitempty"`
	RetainUntil       string `json:"retainUntil,omitempty"`
	Retained          bool   `json:"retained,omitempty"`
	Reason            string `json:"reason,omitempty"`
}

// A RunReplay says how the run could be started again.
type RunReplay struct {
	Command    []string `json:"command"`
	RecipePath string   `json:"recipePath"`
	Ref        string   `json:"ref,omitempty"`
}

// A RunError is why a run did not succeed.
type RunError struct {
	Name    string `json:"name" jsonschema:"minLength=1"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// A RunLifecycle is what follows from a run's status, its cancellation and its clean-up.
type RunLifecycle struct {
	Schema          string           `json:"schema"`
	Status          RunStatus        `json:"status"`
	Phase           string           `json:"phase" jsonschema:"enum=pending,enum=active,enum=finalizing,enum=terminal"`
	Terminal        bool             `json:"terminal"`
	Cancellable     bool             `json:"cancellable"`
	CancelRequested bool             `json:"cancelRequested"`
	Cancellation    *RunCancellation `json:"cancellation,omitempty"`
	Successful      bool             `json:"successful"`
	Failed          bool             `json:"failed"`
	Cancelled       bool             `json:"cancelled"`
	Outcome         RunStatus        `json:"outcome,omitempty"`
	Cleanup         RunCleanup       `json:"cleanup"`
}

// A RunCancellation is the first request to cancel a run.
type RunCancellation struct {
	RequestedAt string `json:"requestedAt" jsonschema:"minLength=1"`
	Reason      string `json:"reason,omitempty"`
}

// A RunCleanup is how far the clean-up of a run came.
type RunCleanup struct {
	Status      string    `json:"status" jsonschema:"enum=not_started,enum=running,enum=succeeded,enum=failed"`
	Attempts    int       `json:"attempts" jsonschema:"minimum=0"`
	StartedAt   string    `json:"startedAt,omitempty"`
	UpdatedAt   string    `json:"updatedAt,omitempty"`
	CompletedAt string    `json:"completedAt,omitempty"`
	Error       *RunError `json:"error,omitempty"`
}

// NewRunLifecycle derives the block from the three facts that it shows.
func NewRunLifecycle(status RunStatus, c *RunCancellation, cleanup RunCleanup) RunLifecycle {
	l := RunLifecycle{
		Schema: SchemaRunLifecycle, Status: status, Phase: status.Phase(), Terminal: status.Terminal(), Cancellable: !status.Terminal(),
		CancelRequested: c != nil, Cancellation: c, Successful: status == RunSucceeded, Failed: status == RunFailed || status == RunTimedOut,
		Cancelled: status == RunCancelled, Cleanup: cleanup,
	}
	if l.Cleanup.Status == "" {
		l.Cleanup.Status = CleanupNotStarted
	}
	if l.Terminal {
		l.Outcome = status
	}
	return l
}

// A RunCancellationRequest answers a request to cancel. A run that had ended already stays as it is: that is no error.
type RunCancellationRequest struct {
	Schema                string           `json:"schema"`
	RunID                 string           `json:"runId" jsonschema:"minLength=1,maxLength=128"`
	Status                RunStatus        `json:"status"`
	CancellationRequested bool             `json:"cancellationRequested"`
	AlreadyRequested      bool             `json:"alreadyRequested"`
	Terminal              bool             `json:"terminal"`
	Record                RunRegistryEntry `json:"record"`
}

// ValidRunID reports whether a text can name a run: it is also the name of a file.
func ValidRunID(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

// Validate returns every fault of the record.
func (e RunRegistryEntry) Validate() error {
	var l fault.List
	wantSchema(&l, e.Schema, SchemaRunRegistryEntry)
	runIDRule(&l, e.RunID)
	fault.OneOf(&l, "$.status", e.Status, RunStatuses...)
	l.Within("$.lifecycle", e.Lifecycle.Validate())
	if e.Lifecycle.Status != e.Status {
		l.Add("$.lifecycle.status", fault.Conflict, fmt.Sprintf("is %q and the run is %q", e.Lifecycle.Status, e.Status), "both say the same")
	}
	created, ok := instant(&l, "$.createdAt", e.CreatedAt)
	for _, f := range [][2]string{{"$.updatedAt", e.UpdatedAt}, {"$.heartbeatAt", e.HeartbeatAt}} {
		if t, valid := instant(&l, f[0], f[1]); valid && ok && t.Before(created) {
			l.Add(f[0], fault.Conflict, "is before createdAt", "time does not run backwards")
		}
	}
	for i, r := range e.ArtifactRefs {
		at := fault.Index("$.artifactRefs", i)
		l.Name(at+".kind", r.Kind)
		l.OptionalPath(at+".path", r.Path)
		l.OptionalPath(at+".directory", r.Directory)
	}
	l.OptionalObject("$.runtime", e.Runtime)
	l.OptionalObject("$.preview", e.Preview)
	l.OptionalObject("$.result", e.Result)
	if e.Retention != nil {
		l.Within("$.retention", e.Retention.Validate())
	}
	if e.Error != nil {
		l.Name("$.error.name", e.Error.Name)
		l.Text("$.error.message", e.Error.Message)
	}
	return l.Err()
}

// Validate returns every fault of the block.
func (r RunRetention) Validate() error {
	var l fault.List
	optionalInstant(&l, "$.cleanupEligibleAt", r.CleanupEligibleAt)
	optionalInstant(&l, "$.retainUntil", r.RetainUntil)
	l.Text("$.reason", r.Reason)
	return l.Err()
}

// Validate returns every fault of the record: what it says twice must agree.
func (c RunLifecycle) Validate() error {
	var l fault.List
	wantSchema(&l, c.Schema, SchemaRunLifecycle)
	fault.OneOf(&l, "$.status", c.Status, RunStatuses...)
	want := NewRunLifecycle(c.Status, c.Cancellation, c.Cleanup)
	for _, f := range []struct {
		at   string
		same bool
	}{
		{"$.phase", c.Phase == want.Phase},
		{"$.terminal", c.Terminal == want.Terminal},
		{"$.cancellable", c.Cancellable == want.Cancellable},
		{"$.cancelRequested", c.CancelRequested == want.CancelRequested},
		{"$.successful", c.Successful == want.Successful},
		{"$.failed", c.Failed == want.Failed},
		{"$.cancelled", c.Cancelled == want.Cancelled},
		{"$.outcome", c.Outcome == want.Outcome},
	} {
		if !f.same {
			l.Add(f.at, fault.Conflict, fmt.Sprintf("contradicts the status %q", c.Status), "it follows from status and cancellation")
		}
	}
	if c.Cancellation != nil {
		instant(&l, "$.cancellation.requestedAt", c.Cancellation.RequestedAt)
	}
	fault.OneOf(&l, "$.cleanup.status", c.Cleanup.Status, CleanupStatuses...)
	l.Between("$.cleanup.attempts", int64(c.Cleanup.Attempts), 0, 1<<31)
	optionalInstant(&l, "$.cleanup.startedAt", c.Cleanup.StartedAt)
	optionalInstant(&l, "$.cleanup.updatedAt", c.Cleanup.UpdatedAt)
	optionalInstant(&l, "$.cleanup.completedAt", c.Cleanup.CompletedAt)
	return l.Err()
}

// Validate returns every fault of the record.
func (c RunCancellationRequest) Validate() error {
	var l fault.List
	wantSchema(&l, c.Schema, SchemaRunCancellationRequest)
	runIDRule(&l, c.RunID)
	if c.Terminal != c.Status.Terminal() {
		l.Add("$.terminal", fault.Conflict, fmt.Sprintf("contradicts the status %q", c.Status), "it follows from status")
	}
	if c.CancellationRequested && c.Terminal {
		l.Add("$.cancellationRequested", fault.Conflict, "is true for a run that has ended", "such a run is left as it is")
	}
	l.Within("$.record", c.Record.Validate())
	return l.Err()
}

func wantSchema(l *fault.List, got, want string) {
	if got != want {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%q is not the schema of this record", cut(got)), fmt.Sprintf("write %q", want))
	}
}

func runIDRule(l *fault.List, id string) {
	if !ValidRunID(id) {
		l.Add("$.runId", fault.BadFormat, fmt.Sprintf("%q is not a run id", cut(id)), "use 1 to 128 letters, digits, _ and -")
	}
}

func instant(l *fault.List, at, text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not an RFC 3339 timestamp", cut(text)), "write an instant such as 2026-01-31T08:00:00Z")
	}
	return t, err == nil
}

func optionalInstant(l *fault.List, at, text string) {
	if text != "" {
		instant(l, at, text)
	}
}

func cut(s string) string {
	if len(s) > 64 {
		return s[:64]
	}
	return s
}

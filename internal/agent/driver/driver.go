// Package driver owns the plug point for agents: what a driver is given, what it hands back, and how the words of
// an agent are read. It decides nothing about whether work is done; an agent's word is a claim.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// ErrLastTurn is returned by Turn when the session has no further turn: a one-turn driver after its first, any
// driver after its agent ended.
var ErrLastTurn = errors.New("the session has no further turn")

// A Driver makes one kind of agent work. A Driver holds no state of a run: its methods may be called from several
// goroutines.
type Driver interface {
	// Kind returns the adapter kind that the driver serves.
	Kind() string
	// Ready says what is missing on this machine, by name and with the remedy, without starting an agent.
	Ready(ctx context.Context, a agentruntime.AdapterConfig) Readiness
	// Start prepares a session and starts nothing that cannot be thrown away. It is cheap to fail: everything that
	// can be known to be wrong beforehand is an error here, of class failure.Config or failure.Spawn, and leaves no
	// process. j.Resume, when set, is the Ref of an earlier session.
	Start(ctx context.Context, j Job) (Session, error)
}

// A Credentialed driver knows which values of an adapter's own environment are credentials. It is an optional
// ability; the values are kept out of everything that deed writes.
type Credentialed interface {
	Credentials(a agentruntime.AdapterConfig) (map[string]string, error)
}

// A Finite session knows before it is asked that it has no further turn. It is an optional ability; another session says so
// with ErrLastTurn.
type Finite interface {
	Done() bool
}

// An Asking driver asks the Guard before its agent carries out a call. Without this ability, or when AsksFirst is false,
// decisions of the guard are declared only. It is an optional ability.
type Asking interface {
	AsksFirst() bool
}

// A Networked driver knows which hosts its agent needs for its model, as host:port. They are the only ones that a
// contained agent may reach besides those that the task names. It is an optional ability.
type Networked interface {
	Hosts(a agentruntime.AdapterConfig) ([]string, error)
}

// A Mounted driver knows what its agent's program consists of. A contained agent sees it, read-only. It is an optional
// ability; without it the adapter's command alone is shown.
type Mounted interface {
	Mounts(a agentruntime.AdapterConfig) ([]sandbox.Mount, error)
}

// A Versioned driver can ask its agent's program for its version. It is an optional ability.
type Versioned interface {
	Version(ctx context.Context, a agentruntime.AdapterConfig) (string, error)
}

// A Session takes turns with one agent. It is used by one goroutine.
//
// No process of the agent is left when Turn returns, whatever it returns: what it did is judged then, by code that it wrote
// too. An agent that lives on between its answers is ended, and goes on with its conversation in the next turn.
type Session interface {
	// Turn gives the agent its input and returns when the agent yields: with a completion attempt, a required action
	// or an end. What it sees goes to sink as it happens. A failure of the agent is a Yield with its class and error;
	// Turn's own error means that there is no account of the turn at all, except ErrLastTurn. When ctx ends, the
	// agent's whole tree is ended and the Yield says why, by the cause of ctx (see ErrCanceled, ErrInterrupted).
	Turn(ctx context.Context, in Input, sink Sink) (Yield, error)
	// Ref is what Start needs to go on with this conversation; empty when that is not possible.
	Ref() string
	// Close ends the session. The whole process tree is gone when it returns. It may be called more than once.
	Close(ctx context.Context) error
}

// Causes that a caller gives to context.WithCancelCause, so that the end of a turn can be classed. Any other cause
// reads as ErrInterrupted.
var (
	// ErrCanceled is the cause when an operator cancelled the task.
	ErrCanceled = errors.New("cancelled by the operator")
	// ErrInterrupted is the cause when deed was asked to stop.
	ErrInterrupted = errors.New("deed was told to stop")
)

// ErrAsked is what a Guard answers when a person has to decide first and did not while the agent could wait. The session
// yields YieldRequiredAction with class failure.Blocked, and what was asked about is not done.
var ErrAsked = errors.New("a person has to decide first")

// A Guard stands at the tool boundary, for drivers whose agent lets it be asked. Its methods may be called from several
// goroutines, and may take as long as a person takes to answer.
type Guard interface {
	// Before decides on a call before it is carried out. The effect is allow or deny; with deny the agent gets the reason and the
	// call is not carried out. An error other than ErrAsked ends the turn.
	Before(ctx context.Context, call agentruntime.ToolCall) (agentruntime.PolicyDecision, error)
	// After gets the result of a call. The agent gets what After returns in addition to the result.
	After(ctx context.Context, call agentruntime.ToolCall, result agentruntime.ToolResult) (feedback string, err error)
	// Ask puts a question of the agent's to a person.
	Ask(ctx context.Context, question string) (answer string, err error)
}

// Dirs are the directories of an attempt, all absolute and existing.
type Dirs struct {
	Workspace string // the agent's working copy
	Home      string // the agent's HOME
	Tmp       string // the agent's TMPDIR
	Artifacts string // where the agent leaves declared artifacts
	Exchange  string // what deed and the agent hand each other: payload, brief, result
	Run       string // deed's own record of the run: output, result; a contained agent does not see it
	Skills    string // a folder for each skill of the task, for reading; empty: it has none
	Commands  string // the commands of those skills, for the end of the PATH; empty: there are none
}

// A Base is what a workspace was made from. No agent can have changed it.
type Base struct {
	Tree   BaseTree // nil: there is none
	Digest string
	Commit string // what HEAD names there; empty without a repository
}

// A BaseTree is the tree of a base. It lies nowhere until its directory is asked for, so whoever only wonders whether
// something is in it asks that.
type BaseTree interface {
	Has(dir string) bool // a directory, by its path in the tree
	Dir() (string, error)
}

// A Job is everything that a driver needs for one attempt.
type Job struct {
	TaskID    string
	AttemptID string
	TaskType  string

	Adapter agentruntime.AdapterConfig // paths in it are already absolute; see the drivers
	Guest   bool                       // the adapter came with the task or from a project's file: it gets nothing from deed's environment
	Model   string                     // as resolved for this attempt; empty: the agent's own default
	Payload json.RawMessage            // the task's payload, as it was written
	Brief   string                     // see package brief

	AcceptEmptyOutput bool // the task type takes exit 0 without output as a result

	Dirs Dirs

	Timeout   time.Duration // of all turns together; 0: the adapter's timeout_ms
	Grace     time.Duration // between SIGTERM and SIGKILL; 0: proc.DefaultGrace
	OutputCap int64         // bytes kept of each output stream; 0: DefaultOutputCap
	Limits    proc.Limits

	Base      Base     // what the workspace was made from
	SecretEnv []string // names of secrets that the task grants; see Guest
	Plan      any      // what the driver's own Fit planned; nil: it was not asked

	Redactor *redact.Redactor  // stands before everything that is written; nil: there are no secrets
	Secrets  map[string]string // by the name of the variable that carries them
	BaseEnv  map[string]string // from the operator's configuration, below the adapter's own; may not set deed's names

	Runtime    string // the name of this installation, for AGENT_RUNTIME_NAME; empty: "deed"
	Supervisor *proc.Supervisor
	Sandbox    *sandbox.Sandbox // contains the agent; nil: it runs as deed does, in a tree of its own
	Resume     string

	MaxTurns int         // answers of the model in one conversation; 0: no bound of the driver's own
	Guard    Guard       // nil: everything is allowed, and questions have no answer
	Rules    []deed.Rule // what the guard decides by, for drivers that can only pass rules on to their agent
	Bundles  string      // the directory of bundles of earlier work that the brief names files of, seen at the same place inside; empty: it names none
}

// Inside is a path as the agent sees it. Every path that the agent gets goes through here. One that the agent does not see is
// returned unchanged: the start then reports it.
func (j Job) Inside(path string) string {
	if j.Sandbox == nil {
		return path
	}
	if inside, ok := j.Sandbox.Inside(path); ok {
		return inside
	}
	return path
}

// Run runs a process of the agent, contained as the job says. Directory, arguments and environment are as the agent
// sees them.
func (j Job) Run(ctx context.Context, s proc.Spec) (sandbox.Exit, error) {
	if j.Sandbox == nil {
		exit, err := j.Supervisor.Run(ctx, s)
		return sandbox.Exit{Exit: exit}, err
	}
	return j.Sandbox.Run(ctx, j.Supervisor, s)
}

// An Input begins a turn. The first one carries nothing that is not in the Job's brief; a later one carries the
// gate's reasons.
type Input struct {
	Turn int    // 1, 2, …
	Text string // for turns after the first
}

// A Sink takes events as they happen. Its method may be called from several goroutines and must not block for long.
type Sink interface {
	Event(kind string, detail any)
}

// SinkFunc makes a Sink of a function.
type SinkFunc func(kind string, detail any)

// Event calls the function.
func (f SinkFunc) Event(kind string, detail any) { f(kind, detail) }

// Discard is a Sink that takes everything and keeps nothing.
var Discard Sink = SinkFunc(func(string, any) {})

// Events that drivers report. Details are given with each.
const (
	EventStarted   = "process_started"    // {"pid": n}
	EventEnded     = "process_ended"      // Ended
	EventTruncated = "output_truncated"   // Truncation
	EventProgress  = "agent_progress"     // Progress
	EventClaim     = "claim"              // {"status", "machine_status", "source"}
	EventDropped   = "claim_part_dropped" // {"what"}
)

// Ended is the detail of EventEnded.
type Ended struct {
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	Canceled   bool   `json:"canceled,omitempty"`
	Limit      string `json:"limit,omitempty"` // the limit of the sandbox for which it was ended
	DurationMS int64  `json:"duration_ms"`
	Killed     int    `json:"killed,omitempty"` // processes that the agent left behind
}

// EndedOf is the detail of EventEnded for how a process of the agent ended.
func EndedOf(exit sandbox.Exit) Ended {
	return Ended{
		ExitCode: exit.Code, Signal: exit.Signal, TimedOut: exit.TimedOut, Canceled: exit.Canceled, Limit: exit.Limit,
		DurationMS: exit.Duration.Milliseconds(), Killed: exit.Killed,
	}
}

// YieldKind says how a turn ended.
type YieldKind string

// The kinds of Yield.
const (
	YieldCompletion     YieldKind = "completion"      // the agent says that it is done; the gate decides
	YieldRequiredAction YieldKind = "required_action" // the agent needs a person
	YieldEnd            YieldKind = "end"             // the agent ended without a completion: see Class
)

// KnownFailure names, in the Diagnostics of a Yield, the failure that the agent's own package has a name for.
const KnownFailure = "immediate_failure"

// A Yield is the result of a turn: the facts that deed saw, and in addition the agent's statement. Everything in it is redacted.
// All paths are absolute, below Dirs.Run, and name regular files that exist, or are empty.
type Yield struct {
	Kind       YieldKind
	ExitStatus agentruntime.ExitStatus
	Class      failure.Class // failure.None for a completion
	Err        error         // why, when Class is not None; a *failure.Error

	Proc  proc.Exit
	Claim *Claim // nil when there is none that can be read

	StdoutPath      string
	StderrPath      string
	ResultPath      string   // the agent's result as deed took it over
	LastMessagePath string   // the agent's last message, as text
	Records         []string // further files that the driver wrote, for the evidence
	Truncated       []Truncation

	Audit       json.RawMessage // the adapter's own account, if the agent left a readable one; see AuditFile
	Diagnostics map[string]any  // "invocation" holds an Invocation; see KnownFailure
	RetryAfter  time.Duration   // what the agent asked for; 0 when it did not
}

// DefaultOutputCap is how much is kept of each output stream when the Job says nothing.
const DefaultOutputCap = 16 << 20

// StdoutFile and StderrFile are the names, in Dirs.Run, under which a driver records the agent's output as it arrives, in
// the first turn. See TurnFile.
const (
	StdoutFile = "stdout.log"
	StderrFile = "stderr.log"
)

// TurnFile is the name under which a turn records what the first turn records under name.
func TurnFile(name string, turn int) string {
	if turn <= 1 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), turn, ext)
}

// AuditFile is the name, in Dirs.Artifacts, under which an agent leaves its own account of what it ran.
const AuditFile = "adapter-audit.json"

// A Truncation says what is missing from a recorded stream.
type Truncation struct {
	Stream  string `json:"stream"`
	Total   int64  `json:"total_bytes"`   // what the agent wrote, after redaction
	Kept    int64  `json:"kept_bytes"`    // of these, head and tail together
	Dropped int64  `json:"dropped_bytes"` // from the middle
}

// An Invocation is the record of what was started. Values are redacted.
type Invocation struct {
	Argv []string          `json:"argv"`
	Path string            `json:"path"` // the file that was executed
	Cwd  string            `json:"cwd"`
	Env  map[string]string `json:"env"`
	PID  int               `json:"pid,omitempty"`
}

// Readiness says whether a driver can work here.
type Readiness struct {
	Ready   bool
	Missing []Missing
}

// Missing is one thing that a driver needs and does not find.
type Missing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// MissingFor is what is missing by an error, with the remedy that a *failure.Error has.
func MissingFor(name string, err error) Missing {
	var f *failure.Error
	if errors.As(err, &f) {
		return Missing{Name: name, Reason: fmt.Sprintf("%s: %v", f.Op, f.Err), Remedy: f.Remedy}
	}
	return Missing{Name: name, Reason: err.Error()}
}

// Package failure owns the closed set of reasons for which an attempt can fail, and what follows from each: may
// it be tried again, does it use up an attempt, how does the attempt's exit read. Everything that decides on a
// failure decides on its class, never on its text.
package failure

import (
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A Class is one member of the closed set.
type Class string

// The classes.
const (
	None        Class = "none"
	Timeout     Class = "timeout"               // the time limit passed and the tree was killed
	AgentFailed Class = "agent_failed"          // the agent ended with a non-zero exit
	InvalidWord Class = "invalid_result"        // no result, an unreadable one, or an unknown status word
	Rejected    Class = "gate_rejected"         // the gate did not find the work done
	AskedRetry  Class = "asked_retry"           // the agent asked for another try
	AskedFail   Class = "declared_failed"       // the agent said that it cannot do the work
	Blocked     Class = "blocked"               // the agent waits for a person; a required action is open
	RateLimited Class = "rate_limited"          // a service asked to wait
	Provider    Class = "provider_error"        // a service or model behind the agent failed
	Turns       Class = "max_turns"             // the agent used up its turns
	Loop        Class = "loop_detected"         // the agent did the same again and again
	Stuck       Class = "no_progress"           // rejected for the same reasons, and nothing changed since
	Budget      Class = "budget_exhausted"      // what the task or the day may use is used up; a required action is open
	Limit       Class = "limit_exceeded"        // the run reached a limit of its sandbox and was ended
	Lost        Class = "lost"                  // the runner died or its lease ran out
	Interrupted Class = "interrupted"           // deed was asked to stop; costs no attempt
	Canceled    Class = "canceled"              // an operator cancelled the task
	Config      Class = "config"                // adapter, environment file, workspace source or task is not usable
	Isolation   Class = "isolation_unavailable" // the containment asked for is not there
	Spawn       Class = "spawn_failed"          // the command cannot be started
	Infra       Class = "infrastructure"        // disk, database or another part of deed failed
	Panic       Class = "panic"                 // a fault in deed itself, caught
)

// A Rule is what follows from a class.
type Rule struct {
	Retry  agentruntime.RetryClass
	Exit   agentruntime.ExitStatus
	Refund bool   // the attempt is given back
	About  string // for the docs and for `deed attempt show`
}

// Rules is the whole table; a test prints it into the docs.
var Rules = map[Class]Rule{
	None:        {agentruntime.RetryNone, agentruntime.ExitOK, false, "the attempt did not fail"},
	Timeout:     {agentruntime.RetryRetryable, agentruntime.ExitTimeout, false, "the time limit passed; the whole process tree was killed"},
	AgentFailed: {agentruntime.RetryRetryable, agentruntime.ExitError, false, "the agent ended with a non-zero exit"},
	InvalidWord: {agentruntime.RetryRetryable, agentruntime.ExitError, false, "no result, an unreadable one, or an unknown status word"},
	Rejected:    {agentruntime.RetryRetryable, agentruntime.ExitOK, false, "the gate did not find the work done"},
	AskedRetry:  {agentruntime.RetryRetryable, agentruntime.ExitOK, false, "the agent asked for another try"},
	AskedFail:   {agentruntime.RetryPermanent, agentruntime.ExitOK, false, "the agent said that it cannot do the work"},
	Blocked:     {agentruntime.RetryNone, agentruntime.ExitOK, true, "the agent waits for a person; a required action is open"},
	RateLimited: {agentruntime.RetryRetryable, agentruntime.ExitError, false, "a service asked to wait; the wait is respected up to a cap"},
	Provider:    {agentruntime.RetryRetryable, agentruntime.ExitError, false, "a service or model behind the agent failed"},
	Turns:       {agentruntime.RetryRetryable, agentruntime.ExitError, false, "the agent used up its turns before it was done"},
	Loop:        {agentruntime.RetryRetryable, agentruntime.ExitError, false, "the agent repeated one tool call with the same result until it was ended"},
	Stuck:       {agentruntime.RetryRetryable, agentruntime.ExitOK, false, "the gate refused twice for the same reasons, and nothing had changed in between"},
	Budget:      {agentruntime.RetryNone, agentruntime.ExitError, true, "the budget of the task or of the day is used up; raising it lets the task go on"},
	Limit:       {agentruntime.RetryRetryable, agentruntime.ExitError, false, "the run reached a limit on memory, processes or disk and was ended"},
	Lost:        {agentruntime.RetryRetryable, agentruntime.ExitError, false, "the runner died or its lease ran out"},
	Interrupted: {agentruntime.RetryRetryable, agentruntime.ExitError, true, "deed was told to stop; costs no attempt"},
	Canceled:    {agentruntime.RetryPermanent, agentruntime.ExitError, false, "an operator cancelled the task"},
	Config:      {agentruntime.RetryPermanent, agentruntime.ExitError, false, "adapter, environment file, workspace source or task is not usable"},
	Isolation:   {agentruntime.RetryPermanent, agentruntime.ExitError, false, "the containment asked for is not available here"},
	Spawn:       {agentruntime.RetryPermanent, agentruntime.ExitError, false, "the command cannot be started"},
	Infra:       {agentruntime.RetryRetryable, agentruntime.ExitError, false, "disk, database or another part of deed failed"},
	Panic:       {agentruntime.RetryRetryable, agentruntime.ExitError, false, "a fault in deed itself, caught and kept as evidence"},
}

// Rule returns what follows from the class. An unknown class is a fault in deed and reads as Infra.
func (c Class) Rule() Rule {
	if r, ok := Rules[c]; ok {
		return r
	}
	return Rules[Infra]
}

// An Error is a failure with its class, and what a person can do about it.
type Error struct {
	Class      Class
	Op         string        // what was being done, in lower case
	Err        error         // what went wrong
	Remedy     string        // what to do about it; may be empty
	RetryAfter time.Duration // for RateLimited; 0 when unknown
}

func (e *Error) Error() string {
	s := e.Op
	if e.Err != nil {
		s = fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an Error.
func New(c Class, op string, err error, remedy string) *Error {
	return &Error{Class: c, Op: op, Err: err, Remedy: remedy}
}

// ClassOf returns the class that an error carries, or Infra for an error without one, or None for nil.
func ClassOf(err error) Class {
	if err == nil {
		return None
	}
	var f *Error
	if errors.As(err, &f) {
		return f.Class
	}
	return Infra
}

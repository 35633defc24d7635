package driver

import (
	"errors"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/failure"
)

// Canceled classes the end of a turn's context by its cause.
func Canceled(op string, cause error) *failure.Error {
	var f *failure.Error
	switch {
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, ErrCanceled):
		return failure.New(failure.Canceled, op, cause, "")
	}
	return failure.New(failure.Interrupted, op, cause, "")
}

// Asked is how a turn ends in which a person has to decide first; err is a Guard's ErrAsked.
func Asked(err error) *failure.Error {
	return failure.New(failure.Blocked, "the agent waits for a person", err, "answer it: `deed action list`")
}

// Outcome is how a turn ends by the agent's own word. The failure is nil for a completion, which the gate decides on.
func (c *Claim) Outcome() (YieldKind, *failure.Error) {
	said := Shorten(c.Summary)
	if said == "" {
		said = "no summary"
	}
	switch c.Status {
	case agentruntime.TaskCompleted:
		return YieldCompletion, nil
	case agentruntime.TaskRetryableFailure:
		class := failure.AskedRetry
		if word, ok := FailureWords[c.Failure]; ok {
			class = word
		}
		f := failure.New(class, "the agent asks for another try", errors.New(said), "")
		f.RetryAfter = c.RetryAfter()
		return YieldEnd, f
	case agentruntime.TaskBlocked:
		return YieldRequiredAction, failure.New(failure.Blocked, "the agent waits for a person", errors.New(said), "")
	}
	return YieldEnd, failure.New(failure.AskedFail, "the agent says that it cannot do the work", errors.New(said), "")
}

// Tell reports a claim to the sink.
func (c *Claim) Tell(sink Sink) {
	sink.Event(EventClaim, map[string]any{"status": c.Status, "machine_status": c.MachineStatus, "source": c.Source})
}

// Shorten keeps what an agent wrote from flooding a message.
func Shorten(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

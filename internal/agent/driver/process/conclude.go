package process

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// Conclude ends the turn. How the run itself ended comes first: the time limit, a cancel, a limit of the sandbox, a program
// that did not start. Otherwise judge says what follows, with Fail, FailExit and Judge.
func (t *Turn) Conclude(judge func()) (driver.Yield, error) {
	if f := t.Fact(); f != nil {
		t.Fail(f)
	} else if t.gatherErr == nil {
		judge()
	}
	return t.Finish()
}

// Finish ends the turn as it stands.
func (t *Turn) Finish() (driver.Yield, error) {
	err := t.gatherErr
	if err == nil {
		err = t.writeMessage()
	}
	if err = errors.Join(err, t.close()); err != nil && t.runErr == nil {
		return driver.Yield{}, failure.New(failure.Infra, "record the run", err, "")
	}
	t.Yield.ExitStatus = t.Yield.Class.Rule().Exit
	return t.Yield, nil
}

// Fact is how the run ended, when that decides.
func (t *Turn) Fact() *failure.Error {
	exit, op := t.Yield.Proc, "run "+t.agent.Name
	var start *proc.StartError
	switch {
	case errors.As(t.runErr, &start):
		return spawnFault(t.agent.Config.Command, start.Err)
	case exit.TimedOut:
		return failure.New(failure.Timeout, op, fmt.Errorf("it ran longer than %v", t.agent.Timeout), "raise timeout_ms, or make the work smaller")
	case exit.Canceled:
		return driver.Canceled(op, exit.Cause)
	case t.Limit != "":
		return failure.New(failure.Limit, op, fmt.Errorf("it was ended: %w", exit.Cause), "raise it (policy.limits of a request, deed.sandbox.limits of a task), or make the work smaller")
	case t.runErr != nil:
		return failure.New(failure.ClassOf(t.runErr), op, t.runErr, "")
	}
	return nil
}

// Fail ends the turn with a failure.
func (t *Turn) Fail(f *failure.Error) {
	t.Yield.Class, t.Yield.Err = f.Class, f
	if f.RetryAfter > 0 {
		t.Yield.RetryAfter = f.RetryAfter
	}
}

// FailExit ends the turn for the exit of its process, whatever the agent says. said is what it said, when that is not in a
// claim.
func (t *Turn) FailExit(said string) {
	exit := t.Yield.Proc
	why := proc.Ending(exit.Code, exit.Signal)
	if c := t.Yield.Claim; c != nil && c.Status == agentruntime.TaskCompleted {
		said = fmt.Sprintf("its result says %s, its exit says otherwise", c.Status)
	}
	if said != "" {
		t.Yield.Diagnostics["contradiction"] = said
		why += "; " + said
	}
	if t.ResultErr != nil {
		t.Yield.Diagnostics["result_error"] = t.ResultErr.Error()
	}
	if t.lastError != "" {
		why += ": " + t.lastError
	}
	t.Fail(failure.New(failure.AgentFailed, "run "+t.agent.Name, errors.New(why), ""))
}

// Err is why the run itself failed: a *proc.StartError, a sandbox that could not be built, a record that could not be written.
func (t *Turn) Err() error { return errors.Join(t.runErr, t.gatherErr) }

// Tails are the ends of what was recorded of both streams, for people.
func (t *Turn) Tails(n int64) (stdout, stderr string) { return t.stdout.Tail(n), t.stderr.Tail(n) }

// LastError is the last line of stderr, redacted and short.
func (t *Turn) LastError() string { return t.lastError }

// Judge ends the turn by the agent's claim, or by there being none: noClaim then says why.
func (t *Turn) Judge(noClaim, remedy string) {
	y := &t.Yield
	if y.Claim == nil {
		err := t.ResultErr
		if err == nil {
			err = errors.New(noClaim)
		}
		if tr, ok := t.stdout.Truncation("stdout"); ok {
			err = fmt.Errorf("%w (%d bytes of stdout were dropped)", err, tr.Dropped)
		}
		t.Fail(failure.New(failure.InvalidWord, "read the result", err, remedy))
		return
	}
	kind, f := y.Claim.Outcome()
	if y.Kind = kind; f == nil {
		y.Class = failure.None
		return
	}
	t.Fail(f)
}

func lastLine(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	return driver.Shorten(s[strings.LastIndexByte(s, '\n')+1:])
}

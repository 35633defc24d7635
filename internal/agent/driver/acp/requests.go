package acp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// request answers a request of the agent, in a goroutine of its own: a person may have to be asked first.
func (t *turn) request(m message) {
	select {
	case t.slots <- struct{}{}:
	default:
		t.abort(failure.New(failure.AgentFailed, op, fmt.Errorf("the agent asked for more than %d things at a time", maxAsked), ""))
		return
	}
	t.asked.Go(func() {
		defer func() { <-t.slots }()
		result, err := t.handle(m)
		_ = t.wire.reply(m.ID, result, err) // an agent that is gone needs no answer
	})
}

// handle carries a request out.
func (t *turn) handle(m message) (any, error) {
	switch m.Method {
	case "session/request_permission":
		return handled(m, t.permission)
	case "fs/read_text_file":
		return handled(m, t.readFile)
	case "fs/write_text_file":
		return handled(m, t.writeFile)
	case "terminal/create":
		return handled(m, t.terminals.create)
	case "terminal/output":
		return handled(m, t.terminals.output)
	case "terminal/wait_for_exit":
		return handled(m, t.terminals.wait)
	case "terminal/kill":
		return handled(m, t.terminals.kill)
	case "terminal/release":
		return handled(m, t.terminals.release)
	}
	return nil, &rpcError{Code: codeMethodNotFound, Message: fmt.Sprintf("%.100q is not something that deed does", m.Method)}
}

func handled[P, R any](m message, do func(P) (R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, &rpcError{Code: codeInvalidParams, Message: err.Error()}
	}
	return do(p)
}

// refused is the answer to what is not allowed.
func refused(format string, args ...any) error {
	return &rpcError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// errStopped is for what is asked when the turn is about to end.
var errStopped = errors.New("the turn is over")

// judge puts a call to the guard. A call that is not allowed has a reason, for the agent. An error ends the turn.
func (t *turn) judge(call agentruntime.ToolCall) (allowed bool, reason string, err error) {
	guard := t.plan.Job.Guard
	if guard == nil {
		if t.plan.Posture.Lifted {
			return true, "", nil
		}
		return false, "nobody is here to allow it (" + t.plan.Posture.Why + ")", nil
	}
	decision, err := guard.Before(t.ctx, call)
	if err != nil {
		t.giveUp(err)
		return false, "", errStopped
	}
	return decision.Effect == agentruntime.PolicyAllow, decision.Reason, nil
}

// giveUp ends the turn because of a guard's answer.
func (t *turn) giveUp(err error) {
	var f *failure.Error
	switch {
	case errors.Is(err, driver.ErrAsked):
		t.abort(driver.Asked(err))
	case errors.As(err, &f):
		t.abort(f)
	case t.ctx.Err() != nil: // the turn is over already, for a reason of its own
	default:
		t.abort(failure.New(failure.Infra, op, fmt.Errorf("ask the guard: %w", err), ""))
	}
}

// permission asks the guard for a tool call of the agent's own.
func (t *turn) permission(p permissionRequest) (permission, error) {
	var out permission
	out.Outcome.Outcome = "cancelled"
	allowed, _, err := t.judge(t.track.asked(p.ToolCall))
	if err != nil || t.ctx.Err() != nil {
		return out, nil //nolint:nilerr // as the protocol wants it when a turn is cancelled
	}
	kinds := []string{"reject_once", "reject_always"}
	if allowed {
		kinds = []string{"allow_once"} // what is allowed now need not be allowed with other arguments
	}
	for _, kind := range kinds {
		for _, o := range p.Options {
			if o.Kind == kind {
				out.Outcome.Outcome, out.Outcome.OptionID = "selected", o.ID
				return out, nil
			}
		}
	}
	t.report.Strange("a permission that could not be given or refused once", nil)
	return out, nil
}

// after tells the guard what came of a call of the agent's own. There is no way to tell the agent what it says to that.
func (t *turn) after(call agentruntime.ToolCall, result agentruntime.ToolResult) {
	select {
	case t.slots <- struct{}{}:
	default:
		return // so many are under way that the turn is about to end
	}
	t.asked.Go(func() {
		defer func() { <-t.slots }()
		if _, err := t.plan.Job.Guard.After(t.ctx, call, result); err != nil {
			t.giveUp(err)
		}
	})
}

// guarded carries out what deed itself does for the agent, when the guard allows it.
func guarded[R any](t *turn, tool string, input any, do func() (R, error)) (R, error) {
	var none R
	raw, err := json.Marshal(input)
	if err != nil {
		return none, err
	}
	call := agentruntime.ToolCall{CallID: fmt.Sprintf("deed-%d", t.terminals.number()), Tool: tool, Input: raw}
	allowed, reason, err := t.judge(call)
	if err != nil {
		return none, err
	}
	if !allowed {
		return none, refused("not allowed: %s", reason)
	}
	out, err := do()
	if t.plan.Job.Guard != nil {
		result := agentruntime.ToolResult{CallID: call.CallID, Status: agentruntime.ToolSuccess}
		if err != nil {
			result.Status, result.Output = agentruntime.ToolFailure, err.Error()
		}
		if _, err := t.plan.Job.Guard.After(t.ctx, call, result); err != nil {
			t.giveUp(err)
		}
	}
	return out, err
}

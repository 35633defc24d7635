package acp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
)

// failing is a guard that fails.
type failing struct {
	never
	err error
}

func (g failing) Before(context.Context, agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	return agentruntime.PolicyDecision{}, g.err
}

// A guard that could not answer because the turn was ended is no internal error: the reason for the end is reported elsewhere.
func TestAGuardWhoseTurnIsOver(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such table")
	for name, tc := range map[string]struct {
		ended error // why the turn is over; nil: it is not
		err   error // what the guard says
		class failure.Class
	}{
		"cancelled by the operator": {driver.ErrCanceled, fmt.Errorf("wait for an answer: %w", driver.ErrCanceled), ""},
		"deed stops":                {driver.ErrInterrupted, driver.ErrInterrupted, ""},
		"no reason":                 {context.Canceled, context.Canceled, ""},
		"it is broken":              {nil, broken, failure.Infra},
		"it asks":                   {nil, driver.ErrAsked, failure.Blocked},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		talks, abort := context.WithCancelCause(t.Context())
		turn := &turn{
			conversation: &conversation{plan: agentcli.Plan{Agent: &process.Agent{Job: driver.Job{Guard: failing{err: tc.err}}}}},
			ctx:          ctx, conversationCtx: talks, abort: abort,
		}
		if tc.ended != nil {
			end(tc.ended)
		}
		if _, _, err := turn.judge(agentruntime.ToolCall{}); err == nil {
			t.Errorf("%s: the call was judged", name)
		}
		var f *failure.Error
		switch cause := context.Cause(talks); {
		case tc.class == "" && cause != nil:
			t.Errorf("%s: the talk was ended: %v", name, cause)
		case tc.class != "" && (!errors.As(cause, &f) || f.Class != tc.class):
			t.Errorf("%s: %v", name, cause)
		}
		end(nil)
		abort(nil)
	}
}

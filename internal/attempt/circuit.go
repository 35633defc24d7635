package attempt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
)

// atOnce is the time within which an agent that did no work ends.
const atOnce = 10 * time.Second

// circuit stops the retries of a task whose agent failed in the previous attempt exactly as now: at once, and in a
// way that its package knows by name. Other tasks, and other agents of this one, are retried as before.
func (a *run) circuit(ctx context.Context, e end) end {
	id := knownFailure(a.yield())
	if id == "" || e.class.Rule().Retry != agentruntime.RetryRetryable {
		return e
	}
	list, err := a.Store.Attempts(ctx, a.claim.Ref.TaskID)
	if err != nil || len(list) < 2 {
		return e // what cannot be read must not block a retry
	}
	var d struct {
		Known string `json:"immediate_failure"`
	}
	before := list[len(list)-2]
	if json.Unmarshal(before.Record.Diagnostics, &d) != nil || d.Known != id || before.Class != string(e.class) || before.Record.AdapterID != a.plan.adapter.ID() {
		return e
	}
	e.class = failure.AskedFail
	e.err = fmt.Errorf("%w (the same failure, %s, at once and for the second time: it is not tried again)", e.err, id)
	return e
}

// knownFailure returns the name that the agent's package has for how the agent ended at once; "" if it did not, or
// has no name.
func knownFailure(y *driver.Yield) string {
	if y == nil || y.Proc.Duration >= atOnce {
		return ""
	}
	id, _ := y.Diagnostics[driver.KnownFailure].(string)
	return id
}

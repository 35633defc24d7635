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

// atOnce is how soon an agent ends that did no work.
const atOnce = 10 * time.Second

// circuit ends the tries of a task whose agent failed in the attempt before as it does now: at once, and in a way that its
// package knows by name. Other tasks, and other agents of this one, are tried as before.
func (a *run) circuit(ctx context.Context, e end) end {
	id := knownFailure(a.yield())
	if id == "" || e.class.Rule().Retry != agentruntime.RetryRetryable {
		return e
	}
	list, err := a.Store.Attempts(ctx, a.claim.Ref.TaskID)
	if err != nil || len(list) < 2 {
		return e // what cannot be read stands in nobody's way
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

// knownFailure is the name that the agent's package has for how the agent ended at once; "": it did not, or there is none.
func knownFailure(y *driver.Yield) string {
	if y == nil || y.Proc.Duration >= atOnce {
		return ""
	}
	id, _ := y.Diagnostics[driver.KnownFailure].(string)
	return id
}

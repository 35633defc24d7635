package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// saveEvery is the shortest time between two writes of a running attempt's usage. A crash loses at most what was used
// since.
const saveEvery = time.Second

// saveWait bounds how long such a write may block the agent's events.
const saveWait = 10 * time.Second

// A ledger counts what the attempt uses, and knows when that was last saved.
type ledger struct {
	*usage.Meter
	day bool // there is a daily budget, so what others use counts

	mu    sync.Mutex // guards saved, and allows one save at a time
	saved time.Time
}

// openAccount starts with what the task and the day used before.
func (a *run) openAccount(ctx context.Context) error {
	if err := usage.CheckAdmission(a.Config, a.plan.spec.Budget, a.plan.adapter, a.plan.model); err != nil {
		return err
	}
	l := usage.LimitsOf(a.Config, a.claim.Ref.TaskID, a.plan.spec.Budget)
	var b usage.Before
	if a.claim.Ref.Fence > 1 {
		rows, err := a.Store.UsageOfTask(ctx, a.claim.Ref.TaskID)
		if err != nil {
			return failure.New(failure.Infra, "read what the task used", err, "")
		}
		b.Task = store.SumUsage(rows)
	}
	a.used.day = !l.Day.IsZero()
	if a.used.day {
		var err error
		b.Today = usage.Day(a.Clock())
		if b.Day, err = a.Store.UsageOfDay(ctx, b.Today, a.claim.Ref.AttemptID); err != nil {
			return failure.New(failure.Infra, "read what the day used", err, "")
		}
	}
	a.used.Meter = usage.NewMeter(usage.ModelOf(a.plan.adapter, a.plan.model), l, b, usage.NewPrices(a.Config.Prices, a.plan.adapter), a.Clock)
	return nil
}

// event counts what the driver reports.
func (c *ledger) event(detail any) *failure.Error {
	switch d := detail.(type) {
	case agentruntime.Usage:
		return budgetFailure(c.Add(d))
	case agentruntime.Turn:
		return budgetFailure(c.Turn())
	case agentruntime.ToolCall:
		return budgetFailure(c.ToolCall())
	}
	return nil
}

// time counts the time of a turn, and stops the turn when the budget is used up. The returned function ends the
// counting.
func (c *ledger) time(stop func(*failure.Error)) func() {
	start, counted := clock.Start(), time.Duration(0)
	var timer *time.Timer
	fired := make(chan struct{})
	if left, bounded := c.Left(); bounded {
		timer = time.AfterFunc(left, func() {
			defer close(fired)
			counted = left
			if f := budgetFailure(c.WallTime(left)); f != nil {
				stop(f)
			}
		})
	}
	return func() {
		if timer != nil && !timer.Stop() {
			<-fired
		}
		_ = c.WallTime(clock.Since(start) - counted) // a limit that it reaches applies from the next turn on
	}
}

// hasNews reports whether anything but time is to be saved; for time, the settlement is soon enough.
func (c *ledger) hasNews() bool {
	t := c.Totals()
	return t.Turns > 0 || t.Tokens() > 0 || t.ReportedMicroUSD != nil
}

// saveUsage writes the usage to the store, now or when it is due, for a cancelled attempt too. With a daily budget it
// also reads what others used.
func (a *run) saveUsage(ctx context.Context, now bool) *failure.Error {
	c := &a.used
	c.mu.Lock()
	defer c.mu.Unlock()
	at := a.Clock()
	if !now && at.Sub(c.saved) < saveEvery || !c.day && !c.hasNews() {
		return nil
	}
	c.saved = at
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveWait)
	defer cancel()
	// What cannot be written now is written at the next turn or with the settlement. A lost claim is detected by the
	// lease.
	if err := a.Store.UpdateUsage(ctx, a.claim.Ref, c.Parts()); err != nil {
		a.note("usage_error", map[string]string{"error": err.Error()})
		return nil
	}
	if !c.day {
		return nil
	}
	today := usage.Day(at)
	others, err := a.Store.UsageOfDay(ctx, today, a.claim.Ref.AttemptID)
	if err != nil {
		a.note("usage_error", map[string]string{"error": err.Error()})
		return nil
	}
	return budgetFailure(c.Others(others, today))
}

func budgetFailure(err error) *failure.Error {
	var f *failure.Error
	errors.As(err, &f)
	return f
}

// budgetDetail is the limit that was reached, for the action that asks for a new budget.
func budgetDetail(err error) json.RawMessage {
	var b *usage.Bound
	if !errors.As(err, &b) {
		return nil
	}
	return mustJSON(b)
}

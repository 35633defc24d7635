// Package outbox owns delivery after settlement: it takes what settled attempts left in the store and turns it
// into effects, each exactly once. It decides nothing about the work; what is in the outbox was accepted.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/task"
)

// batch bounds one pass, so that a full outbox does not hold up the cycle.
const batch = 100

// A Deliverer delivers. Two of them may run at once: each item is delivered in one transaction with the mark that
// says so.
type Deliverer struct {
	Store     *store.Store
	Admission *task.Admission
	Clock     clock.Clock
}

// Deliver handles what is due and returns how many items were delivered. An item that can never be delivered is
// closed with its reason; one that may be delivered later stays.
func (d *Deliverer) Deliver(ctx context.Context) (int, error) {
	items, err := d.Store.OutboxDue(ctx, batch)
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	n := 0
	var faults []error
	for _, it := range items {
		ok, err := d.one(ctx, it)
		if err != nil {
			faults = append(faults, fmt.Errorf("deliver %s: %w", it.ID, err))
			continue
		}
		if ok {
			n++
		}
	}
	return n, errors.Join(faults...)
}

func (d *Deliverer) one(ctx context.Context, it store.OutboxItem) (bool, error) {
	switch it.Kind {
	case store.OutboxFollowUpTask:
		return d.followUp(ctx, it)
	default:
		return false, d.Store.OutboxFail(ctx, it.ID, fmt.Sprintf("there is no handler for items of kind %q", it.Kind), d.Clock(), true)
	}
}

// followUp admits a task that an accepted attempt asked for. An agent is not a trusted caller.
func (d *Deliverer) followUp(ctx context.Context, it store.OutboxItem) (bool, error) {
	intent, err := task.Decode(it.Body)
	if err != nil {
		return false, d.Store.OutboxFail(ctx, it.ID, err.Error(), d.Clock(), true)
	}
	parent, err := d.Store.Task(ctx, it.TaskID)
	if err != nil {
		return false, err
	}
	by := task.Caller{Depth: 1}
	if spec := parent.Intent.Deed; spec != nil {
		by.Depth, by.Isolation = spec.Depth+1, spec.Isolation
	}
	row, err := d.Admission.Prepare(intent, by)
	if err != nil {
		return false, d.Store.OutboxFail(ctx, it.ID, err.Error(), d.Clock(), true)
	}
	crashpoint.Hit(crashpoint.DeliverBefore)
	if _, err := d.Store.DeliverTask(ctx, it.ID, row); err != nil {
		return false, errors.Join(err, d.Store.OutboxFail(ctx, it.ID, err.Error(), d.Clock().Add(retryAfter), false))
	}
	crashpoint.Hit(crashpoint.DeliverCommitted)
	return true, nil
}

// retryAfter is how long an item waits after the store could not take it.
const retryAfter = 10 * time.Second

// Package outbox owns delivery after settlement: it takes what settled attempts left in the store and turns it into effects. A
// follow-up task is made exactly once. A message is sent to a target that the operator named, at least once and always under the
// same id, until the target takes it or the message is given up. It decides nothing about the work: everything in the outbox was
// accepted.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// batch bounds one pass, so that a full outbox does not hold up the cycle.
const batch = 100

// A Deliverer delivers. Two of them may run at once: each task is made in one transaction with the mark that it was made, and
// each message is taken by one of them.
type Deliverer struct {
	Store     *store.Store
	Admission *task.Admission
	Config    *config.Config
	Environ   []string // deed's own: keys of targets are taken from it by name
	Clock     clock.Clock
}

// Deliver makes the follow-up tasks that are due and returns how many. A task that can never be made is closed with its reason;
// one that may be made later stays.
func (d *Deliverer) Deliver(ctx context.Context) (int, error) {
	items, err := d.Store.OutboxDue(ctx, store.OutboxFollowUpTask, batch)
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	n := 0
	var faults []error
	for _, it := range items {
		ok, err := d.followUp(ctx, it)
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

// followUp admits a task that an accepted attempt asked for.
func (d *Deliverer) followUp(ctx context.Context, it store.OutboxItem) (bool, error) {
	intent, err := task.Decode(it.Body)
	if err != nil {
		return false, d.giveUp(ctx, it, err)
	}
	parent, err := d.Store.Task(ctx, it.TaskID)
	if err != nil {
		return false, err
	}
	row, err := d.Admission.Prepare(intent, callerOf(parent))
	if err != nil {
		return false, d.giveUp(ctx, it, err)
	}
	crashpoint.Hit(crashpoint.DeliverBefore)
	if _, err := d.Store.DeliverTask(ctx, it.ID, row); err != nil {
		return false, errors.Join(err, d.Store.OutboxFail(ctx, it.ID, err.Error(), d.Clock().Add(retryAfter), false))
	}
	crashpoint.Hit(crashpoint.DeliverCommitted)
	return true, nil
}

// callerOf is the caller of further work that the result of a task asks for: an agent is not a trusted caller, and what it asks for
// is isolated at least as well as itself.
func callerOf(parent store.Task) task.Caller {
	by := task.Caller{Depth: 1}
	if spec := parent.Intent.Deed; spec != nil {
		by.Depth, by.Isolation = spec.Depth+1, spec.Isolation
	}
	return by
}

func (d *Deliverer) giveUp(ctx context.Context, it store.OutboxItem, why error) error {
	return d.Store.OutboxFail(ctx, it.ID, why.Error(), d.Clock(), true)
}

// retryAfter is how long an item waits after the store could not take it.
const retryAfter = 10 * time.Second

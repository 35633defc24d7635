package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// Once does one cycle under the dispatch lock: everything that comes before a claim, then at most one task for
// each slot, then delivery.
func (e *Engine) Once(ctx context.Context) (Report, error) {
	rep := Report{Status: "idle", Ran: []Ran{}}
	defer e.writeCycle(ctx)
	e.before(ctx, &rep)
	stop, err := e.checkPause(ctx)
	if err != nil || stop {
		rep.Status = "paused"
		return rep, err
	}
	type done struct {
		r   Ran
		err error
	}
	ch := make(chan done)
	started := 0
	for started < max(e.Slots, 1) {
		c, err := e.claim(ctx)
		if errors.Is(err, store.ErrNoTask) {
			break
		}
		if err != nil {
			rep.Faults = append(rep.Faults, err.Error())
			break
		}
		started++
		go func() {
			res, err := e.Execute(ctx, c)
			ch <- done{ran(res), err}
		}()
	}
	for range started {
		d := <-ch
		e.didSettle(d.r, d.err)
		if d.err != nil {
			rep.Faults = append(rep.Faults, d.err.Error())
			continue
		}
		rep.Ran = append(rep.Ran, d.r)
	}
	var after Report
	after.Delivered, err = e.Outbox.Deliver(ctx)
	if err != nil {
		after.Faults = append(after.Faults, err.Error())
	}
	e.didBefore(after, 0, nil)
	rep.Delivered += after.Delivered
	rep.Faults = append(rep.Faults, after.Faults...)
	e.send(ctx)
	if started > 0 {
		rep.Status = "ran"
		e.busy()
		return rep, nil
	}
	return rep, e.idle(ctx)
}

// promoteBatch is how many due tasks one cycle makes ready at most; claiming starts after that.
const promoteBatch = 10_000

// expireBatch is how many actions one cycle decides at most because their deadline passed.
const expireBatch = 1000

// before is the part of a cycle that comes before claiming: sweep, deliver what an earlier process left, decide questions
// whose deadline has passed, then due schedules, sensors and workflows.
func (e *Engine) before(ctx context.Context, rep *Report) {
	n, err := e.Sweep(ctx)
	if err != nil { // a failed sweep must not stop the queue
		rep.Faults = append(rep.Faults, fmt.Sprintf("sweep: %v", err))
	}
	rep.Reclaimed = n
	d, late := e.Outbox.Deliver(ctx)
	if late != nil {
		rep.Faults = append(rep.Faults, late.Error())
	}
	rep.Delivered += d
	expired, err := e.Store.ExpireActions(ctx, expireBatch)
	if err != nil {
		rep.Faults = append(rep.Faults, fmt.Sprintf("decide what nobody answered: %v", err))
	}
	e.rest.note(e.Clock(), errors.Join(late, err))
	if _, err := e.Store.Promote(ctx, promoteBatch); err != nil {
		rep.Faults = append(rep.Faults, fmt.Sprintf("promote due tasks: %v", err))
	}
	var by map[string]int
	for _, h := range e.Hooks {
		wait := e.holdback(h)
		if wait.waits(e.Clock()) {
			continue
		}
		made, err := h.Due(ctx)
		wait.note(e.Clock(), err)
		rep.Created += made
		if made > 0 {
			count(&by, h.Name, made)
		}
		if err != nil {
			rep.Faults = append(rep.Faults, fmt.Sprintf("%s: %v", h.Name, err))
		}
	}
	e.didBefore(*rep, expired, by)
}

// holdback delays a hook after it failed.
func (e *Engine) holdback(h Hook) *backoff {
	if e.hooks == nil {
		e.hooks = map[string]*backoff{}
	}
	if e.hooks[h.Name] == nil {
		e.hooks[h.Name] = &backoff{}
	}
	return e.hooks[h.Name]
}

func (e *Engine) claim(ctx context.Context) (*store.Claim, error) {
	return e.Store.Claim(ctx, store.ClaimOptions{RunnerID: e.Runner.RunnerID, Lease: e.Runner.Lease})
}

// idle records dispatch_idle when the queue becomes empty, not on every look.
func (e *Engine) idle(ctx context.Context) error {
	e.mu.Lock()
	said := e.quiet
	e.quiet = true
	e.mu.Unlock()
	if said {
		return nil
	}
	// A dispatcher that starts, finds nothing and ends, minute by minute, must not write a row each time.
	last, err := e.Store.Events(ctx, store.EventFilter{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(last) == 1 && last[0].Type == string(agentruntime.EventDispatchIdle) {
		return nil
	}
	return e.event(ctx, agentruntime.EventDispatchIdle, nil)
}

func (e *Engine) busy() {
	e.mu.Lock()
	e.quiet = false
	e.mu.Unlock()
}

// checkPause reports whether dispatch is paused.
func (e *Engine) checkPause(ctx context.Context) (bool, error) {
	_, paused, err := e.Store.Paused(ctx)
	return paused, err
}

func mustJSON(v any) json.RawMessage {
	if v == nil {
		return json.RawMessage("{}")
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err)) // only for values that deed builds itself
	}
	return b
}

// Package dispatch owns the cycle: sweep dead runs, let schedules, sensors and workflows make their tasks, claim,
// run, settle, deliver. It holds the home's dispatch lock and the slots in which attempts run; package attempt owns
// what happens inside an attempt.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// A Hook makes due work appear: schedules, sensors and workflows each have one. It returns how many tasks it made. An
// error is recorded and the cycle continues, so that one bad schedule cannot stop the queue.
type Hook struct {
	Name string
	Due  func(ctx context.Context) (int, error)
	Next func(ctx context.Context) (time.Time, bool, error) // when to look again; may be nil
	// Start lets slow work run concurrently with the cycle from here on; the function that it returns ends that work and waits for
	// it. It may be nil. Only a Serve that waits for work calls it: elsewhere Due does its work to the end.
	Start func(ctx context.Context) (stop func())
}

// Parts are what depends on the settings. A Serve replaces them between two turns of its loop; an attempt keeps those that it
// was started with.
type Parts struct {
	Runner *attempt.Runner
	Outbox *outbox.Deliverer
	Hooks  []Hook // schedules, sensors, workflows, in this order
}

// An Engine dispatches in one home.
type Engine struct {
	Parts // guarded by mu once Serve replaces them: code outside of its loop calls parts
	Home  *home.Home
	Store *store.Store
	Clock clock.Clock
	Log   *slog.Logger
	Self  proc.Identity
	Exe   string // the binary that becomes a supervisor
	Slots int

	mu     sync.Mutex
	sender sender               // works while Serve does
	live   map[string]store.Ref // guarded by mu; attempts that run in this process
	supers []*proc.Supervisor   // guarded by mu; idle ones
	deep   time.Time            // guarded by mu; when it last swept deeply
	cycle  cycleLog             // guarded by mu
	quiet  bool                 // guarded by mu; idle was logged
	paused bool                 // guarded by mu; pause was logged

	claims backoff             // of the loop
	rest   backoff             // of the loop: the outbox and the questions without an answer
	hooks  map[string]*backoff // of the loop; by name
}

// A Report is what one cycle did.
type Report struct {
	Status    string   `json:"status"` // ran, idle or paused
	Reclaimed int      `json:"reclaimed"`
	Created   int      `json:"created"`
	Ran       []Ran    `json:"ran"`
	Delivered int      `json:"delivered"`
	Faults    []string `json:"faults,omitempty"`
}

// Add adds another cycle's report to r.
func (r *Report) Add(o Report) {
	r.Reclaimed += o.Reclaimed
	r.Created += o.Created
	r.Delivered += o.Delivered
	r.Ran = append(r.Ran, o.Ran...)
	r.Faults = append(r.Faults, o.Faults...)
	r.Status = o.Status
	if len(r.Ran) > 0 {
		r.Status = "ran"
	}
}

// A Ran is one attempt of a cycle.
type Ran struct {
	TaskID    string                  `json:"task_id"`
	AttemptID string                  `json:"attempt_id"`
	Status    agentruntime.TaskStatus `json:"status"`
	Class     string                  `json:"class"`
	Summary   string                  `json:"summary"`
	Bundle    string                  `json:"bundle,omitempty"`
}

// Lock takes the home's dispatch lock and records what it finds: a dead holder or a live one.
func (e *Engine) Lock(ctx context.Context) (*home.Lock, error) {
	me := home.Holder{PID: e.Self.PID, RunnerID: e.Runner.RunnerID, CreatedAt: e.Clock()}
	l, err := e.Home.Lock(me)
	// A child between fork and exec holds its parent's files for an instant, also when the parent was killed then.
	for i := 0; i < 20 && errors.Is(err, home.ErrLocked) && e.Home.HolderGone(); i++ {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(25 * time.Millisecond):
		}
		l, err = e.Home.Lock(me)
	}
	if errors.Is(err, home.ErrLocked) {
		_ = e.event(ctx, agentruntime.EventDispatchLocked, map[string]any{"reason": err.Error()})
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if l.Stale != nil {
		if err := e.event(ctx, agentruntime.EventDispatchLockStaleClear, map[string]any{
			"reason": "holder_gone", "previous_pid": l.Stale.PID, "previous_runner_id": l.Stale.RunnerID,
		}); err != nil {
			_ = l.Release()
			return nil, err
		}
	}
	return l, nil
}

func (e *Engine) event(ctx context.Context, t agentruntime.RuntimeEvent, detail any) error {
	return e.Store.Append(ctx, store.Event{Type: string(t), At: e.Clock(), Detail: mustJSON(detail)})
}

// Register records who runs here in the store, so that others can see whether this process is alive.
func (e *Engine) Register(ctx context.Context) error {
	return e.Store.PutRunner(ctx, e.Record())
}

// Record is this runner as the store knows it.
func (e *Engine) Record() store.Runner {
	now := e.Clock()
	return store.Runner{
		ID: e.Runner.RunnerID, Host: e.Self.Host, PID: e.Self.PID, BootID: e.Self.BootID + "|" + e.Self.Namespace, ProcStart: int64(e.Self.StartTime),
		StartedAt: now, SeenAt: now, Version: e.Runner.Version,
	}
}

// Close ends the supervisors and takes this runner out of the store.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	supers := e.supers
	e.supers = nil
	e.mu.Unlock()
	errs := []error{e.Store.DropRunner(ctx, e.Runner.RunnerID)} // an entry that stays is recognised as dead
	for _, s := range supers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// parts are the current ones.
func (e *Engine) parts() Parts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Parts
}

// Execute runs one claim in a slot of its own and delivers what it settled.
func (e *Engine) Execute(ctx context.Context, c *store.Claim) (attempt.Result, error) {
	return e.execute(ctx, e.parts().Runner, c)
}

func (e *Engine) execute(ctx context.Context, r *attempt.Runner, c *store.Claim) (attempt.Result, error) {
	sup, err := e.supervisor(c.Task.Intent)
	if err != nil {
		return attempt.Result{Ref: c.Ref}, r.Abort(ctx, c, err)
	}
	e.own(c.Ref, true)
	res, err := r.Run(ctx, sup, c)
	e.own(c.Ref, false)
	e.putBack(sup)
	if err != nil {
		return res, err
	}
	if _, derr := e.parts().Outbox.Deliver(context.WithoutCancel(ctx)); derr != nil {
		e.Log.Error("deliver", "error", derr)
	}
	if !e.sender.wake() {
		e.send(ctx)
	}
	return res, nil
}

// own remembers which attempts run in this process.
func (e *Engine) own(ref store.Ref, runs bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !runs {
		delete(e.live, ref.AttemptID)
		return
	}
	if e.live == nil {
		e.live = map[string]store.Ref{}
	}
	e.live[ref.AttemptID] = ref
}

// supervisor returns a supervisor for a task; its process is starting.
func (e *Engine) supervisor(in agentruntime.TaskIntent) (s *proc.Supervisor, err error) {
	e.mu.Lock()
	if n := len(e.supers); n > 0 {
		s = e.supers[n-1]
		e.supers = e.supers[:n-1]
	}
	e.mu.Unlock()
	if s == nil {
		if s, err = proc.IdleSupervisor(proc.Options{Exe: e.Exe}); err != nil {
			return nil, err
		}
	}
	if err := s.Begin(in.Deed != nil && sandbox.Kind(in.Deed.Isolation) == sandbox.Namespace); err != nil {
		e.putBack(s)
		return nil, err
	}
	return s, nil
}

func (e *Engine) putBack(s *proc.Supervisor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.supers = append(e.supers, s)
}

func ran(r attempt.Result) Ran {
	out := Ran{TaskID: r.Ref.TaskID, AttemptID: r.Ref.AttemptID, Status: r.Settlement.Status, Class: r.Settlement.Class, Bundle: r.BundleDir}
	if o := r.Settlement.Outcome; o != nil {
		out.Summary = o.OperatorSummary
	} else {
		out.Summary = r.Settlement.LastError
	}
	return out
}

func (r Ran) String() string { return fmt.Sprintf("%s %s %s", r.TaskID, r.Status, r.Summary) }

package dispatch

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/gc"
	"github.com/deedrun/deed/internal/store"
)

// deepEvery is how often a running dispatcher also looks for processes, temporary files and what retention gives up.
// The first sweep always does.
const deepEvery = 10 * time.Minute

// Sweep clears away what has no owner any more: attempts whose lease ran out, those of dead processes on this
// machine, and whatever they left behind. It returns how many attempts it settled.
func (e *Engine) Sweep(ctx context.Context) (int, error) {
	e.renewOwn(ctx)
	now := e.Clock()
	e.mu.Lock()
	deep := e.deep.IsZero() || now.Sub(e.deep) >= deepEvery
	if deep {
		e.deep = now
	}
	e.mu.Unlock()
	rep, err := e.Reclaim(ctx, gc.Options{Deep: deep})
	return rep.Settled, err
}

// SweepBriefly is Sweep for a process that lives for one task. It is deep after a crash, and when no such process swept
// deeply for a while. A deep sweep costs more the larger the machine and the home are, and most runs follow one that
// ended well.
func (e *Engine) SweepBriefly(ctx context.Context) error {
	deep := e.Home.Due(sweptMark, e.Clock(), deepEvery)
	_, err := e.Reclaim(ctx, gc.Options{Deep: deep, Wary: true})
	if deep && err == nil {
		err = e.Home.Done(sweptMark, e.Clock())
	}
	return err
}

// sweptMark names the mark of the last deep sweep of a home.
const sweptMark = "swept"

// Reclaim is one sweep with its findings. The caller holds the dispatch lock.
func (e *Engine) Reclaim(ctx context.Context, o gc.Options) (gc.Report, error) {
	r := &gc.Collector{
		Home: e.Home, Store: e.Store, Runner: e.Runner, RunnerID: e.Runner.RunnerID, Self: e.Self, Clock: e.Clock, Log: e.Log,
		Retention: e.Runner.Config.Retention, Temp: os.TempDir(),
	}
	rep, err := r.Sweep(ctx, o)
	if rep.Settled > 0 {
		err = errors.Join(err, e.event(ctx, agentruntime.EventBootSweepReclaimed, map[string]any{
			"tasks_reclaimed": rep.Settled, "attempts_reclaimed": rep.Settled, "bundles_adopted": rep.Adopted, "dead_runners": rep.Dead,
		}))
	}
	return rep, err
}

// renewOwn renews the leases of the attempts in this process. After the machine slept, or its clock jumped, they have
// expired although their owner is here; the sweep must not take them for lost.
func (e *Engine) renewOwn(ctx context.Context) {
	e.mu.Lock()
	refs := slices.Collect(maps.Values(e.live))
	e.mu.Unlock()
	for _, ref := range refs {
		// An attempt that was just settled is still cleaning up, and one that lost its claim notices that itself.
		if _, err := e.Store.Renew(ctx, ref, e.Runner.Lease); err != nil && !errors.Is(err, store.ErrFenced) {
			e.Log.Warn("renew", "attempt", ref.AttemptID, "error", err)
		}
	}
}

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/proc"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/workspace"
)

// killWait bounds how long the sweep waits for processes that a dead runner left.
const killWait = 10 * time.Second

// Sweep settles what has no owner any more: attempts whose lease ran out, and those of processes on this machine
// that are gone. Processes that such an attempt left behind are killed first. It returns how many attempts it
// settled.
//
// Two sweepers at once, here or on other machines, do no harm: taking over a lost attempt raises its fence, so only
// one of them can settle it.
func (e *Engine) Sweep(ctx context.Context) (int, error) {
	e.renewOwn(ctx)
	dead, err := e.deadRunners(ctx)
	if err != nil {
		return 0, err
	}
	lost, err := e.Store.Lost(ctx, dead)
	if err != nil {
		return 0, err
	}
	tasks, adopted := 0, 0
	var faults []error
	for _, l := range lost {
		if err := e.killLeftovers(ctx, l.Ref.AttemptID); err != nil {
			faults = append(faults, err)
			continue // nothing may be settled while its processes live; the next sweep tries again
		}
		kept, err := e.Runner.Salvage(ctx, l)
		if errors.Is(err, store.ErrFenced) {
			continue // another sweeper was faster
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("settle lost attempt %s: %w", l.Ref.AttemptID, err))
			continue
		}
		tasks++
		if kept {
			adopted++
		}
	}
	if tasks > 0 {
		if err := e.event(ctx, agentruntime.EventBootSweepReclaimed, map[string]any{
			"tasks_reclaimed": tasks, "attempts_reclaimed": tasks, "bundles_adopted": adopted, "dead_runners": dead,
		}); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		for _, id := range dead {
			if err := e.Store.DropRunner(ctx, id); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return tasks, errors.Join(append(faults, e.tidy(ctx))...)
}

// renewOwn renews the leases of what runs in this process. After the machine slept, or its clock jumped, they have run
// out although their owner is here; the sweep must not take them for lost.
func (e *Engine) renewOwn(ctx context.Context) {
	e.mu.Lock()
	refs := slices.Collect(maps.Values(e.live))
	e.mu.Unlock()
	for _, ref := range refs {
		if _, err := e.Store.Renew(ctx, ref, e.Runner.Lease); err != nil {
			e.Log.Warn("renew", "attempt", ref.AttemptID, "error", err) // the attempt itself notices a lost fence
		}
	}
}

// deadRunners lists the runners of this machine whose process is gone.
func (e *Engine) deadRunners(ctx context.Context) ([]string, error) {
	runners, err := e.Store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	var dead []string
	for _, r := range runners {
		boot, ns, _ := strings.Cut(r.BootID, "|")
		id := proc.Identity{Host: r.Host, PID: r.PID, BootID: boot, Namespace: ns, StartTime: uint64(r.ProcStart)}
		if r.ID != e.Runner.RunnerID && !proc.Alive(id) {
			dead = append(dead, r.ID)
		}
	}
	return dead, nil
}

func (e *Engine) killLeftovers(ctx context.Context, attemptID string) error {
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	n, err := proc.KillByEnv(ctx, "DEED_ATTEMPT_ID", attemptID)
	if n > 0 {
		e.Log.Warn("killed processes of a lost attempt", "attempt", attemptID, "processes", n)
	}
	if err != nil && !errors.Is(err, proc.ErrUnsupported) {
		return fmt.Errorf("attempt %s: %w", attemptID, err)
	}
	return nil
}

// tidy removes what crashes left on the disk: directories of attempts that are settled, and unfinished bundles.
func (e *Engine) tidy(ctx context.Context) error {
	entries, err := os.ReadDir(e.Home.Attempts())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for left directories: %w", err)
	}
	var faults []error
	for _, d := range entries {
		at, err := e.Store.Attempt(ctx, d.Name())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			faults = append(faults, err)
			continue
		}
		if err == nil && at.Live {
			continue
		}
		faults = append(faults, workspace.Remove(filepath.Join(e.Home.Attempts(), d.Name())))
	}
	rooms, err := filepath.Glob(filepath.Join(e.Home.Tmp(), attempt.RoomPrefix+"*"))
	faults = append(faults, err)
	for _, dir := range rooms {
		id := strings.TrimPrefix(filepath.Base(dir), attempt.RoomPrefix)
		if i := strings.LastIndexByte(id, '-'); i > 0 {
			id = id[:i] // what os.MkdirTemp added
		}
		if at, err := e.Store.Attempt(ctx, id); err == nil && at.Live {
			continue
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			faults = append(faults, err)
			continue
		}
		faults = append(faults, workspace.Remove(dir))
	}
	_, err = bundle.RemoveStale(e.Home.Bundles())
	return errors.Join(append(faults, err)...)
}

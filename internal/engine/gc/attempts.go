package gc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// attemptEnv names the variable by which the processes of an attempt are known.
const attemptEnv = "DEED_ATTEMPT_ID"

// killWait bounds how long the sweep waits for processes that a dead runner left.
const killWait = 10 * time.Second

// attempts settles live attempts without an owner. Their processes are killed first: nothing may be settled while they
// could still write.
func (s *sweep) attempts(ctx context.Context) error {
	if s.DryRun {
		suspects, err := s.Store.Suspects(ctx, s.rep.Dead)
		for _, v := range suspects {
			s.lost[v.AttemptID] = true
			s.do(Finding{Kind: KindAttempt, Owner: v.AttemptID, Reason: why(v.Reason), Action: ActionSettle}, nil)
		}
		return err
	}
	lost, err := s.Store.Lost(ctx, s.rep.Dead)
	if err != nil {
		return err
	}
	for _, l := range lost {
		s.salvage(ctx, l)
	}
	return nil
}

// why says in words why an attempt has no owner.
func why(reason string) string {
	switch reason {
	case store.ReasonRunnerDead:
		return "the process that ran it is dead"
	case store.ReasonLeaseExpired:
		return "its lease ran out, and nobody renewed it"
	}
	return reason
}

func (s *sweep) salvage(ctx context.Context, l store.Lost) {
	f := Finding{Kind: KindAttempt, Owner: l.Ref.AttemptID, Reason: why(l.Reason), Action: ActionSettle}
	// Settling removes the directory, unless the next attempt continues from it, so its size is measured before.
	dir := Finding{Kind: KindDirectory, Path: s.Home.Attempt(l.Ref.AttemptID), Owner: l.Ref.AttemptID, Reason: reasonSettled, Action: ActionRemove}
	_, err := os.Lstat(dir.Path)
	there := err == nil
	if there && s.Deep {
		dir.Bytes, _ = runrecord.Size(dir.Path) // for the report only
	}
	fenced := false
	var killed []int
	done := s.do(f, func() error {
		killed, _ = proc.FindByEnv(attemptEnv, l.Ref.AttemptID) // for the report only
		if err := s.kill(ctx, l.Ref.AttemptID, l.Task); err != nil {
			return err
		}
		kept, err := s.Runner.Salvage(ctx, l)
		if errors.Is(err, store.ErrFenced) {
			fenced = true // another sweeper was faster
			return nil
		}
		if err != nil {
			return fmt.Errorf("settle lost attempt %s: %w", l.Ref.AttemptID, err)
		}
		if kept {
			s.rep.Adopted++
		}
		return nil
	})
	if !done || fenced {
		return
	}
	s.rep.Settled++
	for _, pid := range killed {
		s.did(Finding{Kind: KindProcess, PID: pid, Owner: l.Ref.AttemptID, Reason: reasonSettled, Action: ActionKill})
	}
	if _, err := os.Lstat(dir.Path); there && errors.Is(err, os.ErrNotExist) {
		s.did(dir)
	}
}

// reasonSettled is why what is left of an attempt goes.
const reasonSettled = "its attempt is settled"

// kill ends the processes of an attempt of a task. A container engine is asked only where there may be containers: one that hangs would
// hold up everything else.
func (s *sweep) kill(ctx context.Context, attemptID string, t store.Task) error {
	ctx, cancel := context.WithTimeout(ctx, killWait)
	defer cancel()
	n, err := proc.KillByEnv(ctx, attemptEnv, attemptID)
	if n > 0 {
		s.Log.Warn("killed processes of a lost attempt", "attempt", attemptID, "processes", n)
	}
	if err != nil && !errors.Is(err, proc.ErrUnsupported) {
		return fmt.Errorf("attempt %s: %w", attemptID, err)
	}
	if t.Damage == "" && (t.Intent.Deed == nil || sandbox.Kind(t.Intent.Deed.Isolation) != sandbox.Container) {
		return nil
	}
	return sandbox.Reclaim(ctx, attemptID)
}

// ids finds the id of an attempt or of a run in the name of a file or directory.
var ids = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|run_[0-9a-f]{32}`)
})

// owner returns the id in a name, and whether its owner is alive. An id that the store does not know has no owner here:
// an apply that is being prepared has an id of its own.
func (s *sweep) owner(ctx context.Context, name string) (id string, alive bool, err error) {
	id = ids().FindString(name)
	if id == "" {
		return "", false, nil
	}
	if id[:4] == "run_" {
		r, err := s.Store.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return "", false, nil
		}
		return id, err == nil && r.Live && s.deadRun(r) == "", err
	}
	at, err := s.Store.Attempt(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", false, nil
	}
	return id, err == nil && at.Live && !s.lost[id], err
}

// holder says what keeps a directory: its owner lives, or it cannot be known here that it does not.
func (s *sweep) holder(ctx context.Context, id string) string {
	const alive = "its owner is alive"
	if id[:4] == "run_" {
		if r, err := s.Store.Run(ctx, id); err == nil {
			return s.known(r)
		}
		return alive
	}
	at, err := s.Store.Attempt(ctx, id)
	if err != nil || s.runner[at.Record.RunnerID] == aliveHere {
		return alive
	}
	return fmt.Sprintf("its owner %s cannot be seen from here, and holds it until its lease runs out at %s", at.Record.RunnerID, at.LeaseUntil.Format(time.RFC3339))
}

// waits reports whether the directory of a settled attempt is kept for the next attempt of its task.
func (s *sweep) waits(ctx context.Context, id string) (bool, error) {
	if id == "" || id[:4] == "run_" {
		return false, nil
	}
	at, err := s.Store.Attempt(ctx, id)
	if err != nil || at.Checkpoint == nil {
		return false, err
	}
	t, err := s.Store.Task(ctx, at.Record.TaskID)
	if err != nil || state.TaskTerminal(t.Record.Status) {
		return false, err
	}
	list, err := s.Store.Attempts(ctx, t.ID())
	if err != nil {
		return false, err
	}
	if s.lost[id] { // a dry run: as settling it would leave it
		if _, err := os.Lstat(s.Home.Bundle(id)); err == nil || t.CancelRequested {
			return false, nil // its bundle is adopted, or it ends as canceled
		}
		for i := range list {
			if list[i].Record.AttemptID == id {
				list[i].Live, list[i].Class = false, string(failure.Lost)
			}
		}
	}
	next, ok := attempt.Waiting(list, func(id string) bool {
		_, err := os.Lstat(s.Home.Attempt(id))
		return err == nil
	})
	return ok && next.Record.AttemptID == id, nil
}

// unmount is mounts, once in a sweep and before anything is removed. The list of the kernel is long on some machines, and most sweeps have
// nothing to remove.
func (s *sweep) unmount(ctx context.Context) error {
	if s.unmounted {
		return nil
	}
	s.unmounted = true
	return s.mounts(ctx)
}

// directories removes the directories of attempts that are settled, and the places where their checks ran.
func (s *sweep) directories(ctx context.Context) error {
	var faults []error
	for _, dir := range []string{s.Home.Attempts(), s.Home.Tmp()} {
		faults = append(faults, s.directory(ctx, dir))
	}
	return errors.Join(faults...)
}

func (s *sweep) directory(ctx context.Context, dir string) error {
	f, list, err := s.inside(dir)
	if f == nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, e := range list {
		id, alive, err := s.owner(ctx, e.Name())
		if err != nil {
			s.faults = append(s.faults, err)
			continue
		}
		if id == "" && dir == s.Home.Tmp() {
			continue // see temporaries
		}
		found := Finding{Kind: KindDirectory, Path: filepath.Join(dir, e.Name()), Owner: id, Action: ActionRemove, Reason: reasonSettled}
		if id == "" {
			found.Reason = "no attempt has this name"
		}
		if alive {
			if s.Deep {
				found.Reason = s.holder(ctx, id)
				s.leave(found)
			}
			continue
		}
		if waits, err := s.waits(ctx, id); err != nil {
			s.faults = append(s.faults, err)
			continue
		} else if waits && dir == s.Home.Attempts() { // the places of its checks are not kept
			if s.Deep {
				found.Reason = "its task goes on from it"
				s.leave(found)
			}
			continue
		}
		if err := s.unmount(ctx); err != nil {
			s.faults = append(s.faults, err)
			continue
		}
		if mounted := s.mountedBelow(found.Path); mounted != "" && !s.DryRun {
			// Removing would go into what is mounted there.
			s.do(found, func() error { return fmt.Errorf("remove %s: %s is still mounted (unmount it)", found.Path, mounted) })
			continue
		}
		if s.Deep {
			found.Bytes, _ = runrecord.Size(found.Path) // for the report only
		}
		s.do(found, func() error { return workspace.RemoveAt(f, e.Name()) })
	}
	return nil
}

package gc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// How long the heartbeat of a run may be old before its owner counts as dead. An owner on another machine cannot be
// asked, so it is given longer.
const (
	silentHere      = time.Minute
	silentElsewhere = 10 * time.Minute
)

// runs ends the records of runs whose owner is dead, and updates their files.
func (s *sweep) runs(ctx context.Context) error {
	live, err := s.Store.LiveRuns(ctx)
	if err != nil {
		return err
	}
	reg := &runrecord.Recorder{Store: s.Store, Clock: s.Clock, RunnerID: s.RunnerID, Home: s.Home}
	for _, r := range live {
		f := Finding{Kind: KindRun, Path: runrecord.FilePath(r), Owner: r.ID(), Action: ActionEnd}
		if f.Reason = s.deadRun(r); f.Reason == "" {
			if s.Deep {
				f.Reason = s.known(r)
				s.leave(f)
			}
			continue
		}
		end, ok, err := s.fate(ctx, r)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if s.DryRun {
			s.ending = append(s.ending, r)
		}
		s.do(f, func() error {
			_, err := reg.Bury(ctx, r, end)
			if errors.Is(err, store.ErrRunEnded) || errors.Is(err, store.ErrNotFound) {
				return nil // its owner, or another sweeper, was faster
			}
			return err
		})
	}
	return nil
}

// deadRun says why a run has no owner any more, or "".
func (s *sweep) deadRun(r store.Run) string {
	silent := s.Clock().Sub(r.HeartbeatAt)
	switch live := s.runner[r.RunnerID]; {
	case live == deadRunner:
		return "its runner " + r.RunnerID + " is dead"
	case live == unknownRunner && silent > silentHere:
		return "its runner " + r.RunnerID + " is gone"
	case live == aliveElsewhere && silent > silentElsewhere:
		return fmt.Sprintf("its runner %s has not been heard of for %s", r.RunnerID, silent.Round(time.Second))
	}
	return ""
}

// known says what keeps a run from being ended: its owner lives, or it cannot be known here that it does not.
func (s *sweep) known(r store.Run) string {
	silent := s.Clock().Sub(r.HeartbeatAt).Round(time.Second)
	switch s.runner[r.RunnerID] {
	case aliveHere:
		return "its owner " + r.RunnerID + " is alive"
	case aliveElsewhere:
		return fmt.Sprintf("its owner %s, which cannot be seen from here, was heard of %s ago; it counts as gone after %s without a word", r.RunnerID, silent, silentElsewhere)
	default:
		return fmt.Sprintf("its owner %s is not on record and was heard of %s ago; it counts as gone after %s without a word", r.RunnerID, silent, silentHere)
	}
}

// fate says how a run ended whose owner did not: as its attempt did, when that is settled. It returns false when the
// attempt is still to be settled.
func (s *sweep) fate(ctx context.Context, r store.Run) (runrecord.Outcome, bool, error) {
	o := runrecord.Outcome{
		Status: evidence.RunFailed, Class: evidence.RunFailureUnknown, Code: string(failure.Lost),
		Cleanup: func(context.Context) error { return unfinished(r) },
	}
	why := "the process that ran it died: " + r.RunnerID
	if r.Record.Lifecycle.CancelRequested {
		o.Status, o.Class, o.Code = evidence.RunCancelled, evidence.RunFailureCancelled, ""
	}
	if r.AttemptID != "" {
		at, err := s.Store.Attempt(ctx, r.AttemptID)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return o, false, err
		case at.Live && !s.lost[r.AttemptID]:
			return o, false, nil
		case at.Live:
		default:
			s.asAttempt(&o, r, at)
		}
	}
	if o.Status == evidence.RunCancelled && r.Record.Lifecycle.CancelRequested {
		why = "it was asked to cancel, and " + why
	}
	if o.Status != evidence.RunSucceeded {
		o.Error = &evidence.RunError{Name: "RunLost", Message: why, Code: string(failure.Lost)}
	}
	return o, true, nil
}

// asAttempt takes the end from the run's attempt.
func (s *sweep) asAttempt(o *runrecord.Outcome, r store.Run, at store.Attempt) {
	switch failure.Class(at.Class) {
	case failure.None:
		if state.RunNext(r.Record.Status, evidence.RunSucceeded) == nil {
			o.Status, o.Class, o.Code = evidence.RunSucceeded, evidence.RunFailureNone, ""
		}
	case failure.Timeout:
		o.Status, o.Class, o.Code = evidence.RunTimedOut, evidence.RunFailureTimeout, at.Class
	case failure.Canceled:
		o.Status, o.Class, o.Code = evidence.RunCancelled, evidence.RunFailureCancelled, at.Class
	case failure.Lost:
	default:
		o.Class, o.Code = evidence.RunFailureExecution, at.Class
	}
	if at.BundleDir != "" {
		dir := filepath.Join(s.Home.Root(), at.BundleDir)
		o.Bundle, o.BundleID = dir, at.BundleID
		o.Refs = []evidence.RunArtifactRef{{Kind: evidence.KindArtifactBundle, Directory: dir, ID: at.BundleID}}
	}
}

// unfinished removes what was being written outside of the home when a run's owner died: copies of its file, and its
// bundle. Both have the run's own names.
func unfinished(r store.Run) error {
	if filepath.IsAbs(r.BundleDir) {
		if _, err := bundle.RemoveStaleOf(r.BundleDir); err != nil {
			return err
		}
	}
	if r.Dir == "" {
		return nil
	}
	dir, err := os.Open(r.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for unfinished files: %w", err)
	}
	defer func() { _ = dir.Close() }()
	left, err := filepath.Glob(filepath.Join(escape(r.Dir), "."+r.ID()+".json.*.tmp"))
	if err != nil {
		return fmt.Errorf("look for unfinished files: %w", err)
	}
	var faults []error
	for _, p := range left {
		release, abandoned := atomicfile.Abandoned(dir, filepath.Base(p))
		if !abandoned {
			continue // another sweeper writes the end of the run
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, err)
		}
		release()
	}
	return errors.Join(faults...)
}

// escape makes a path match itself alone.
func escape(path string) string {
	out := make([]rune, 0, len(path))
	for _, c := range path {
		switch c {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}

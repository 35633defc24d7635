package gc

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/store"
)

// How long something without an owner in its name must have been left alone before it counts as left behind. With no
// other runner alive, a file whose writer holds no lock on it has none.
const (
	tempAge    = time.Hour
	writingAge = time.Minute
)

// partials removes bundles whose writers died, as the writer's lock shows.
func (s *sweep) partials(context.Context) error {
	if f, err := s.open(s.Home.Bundles()); f == nil {
		return err
	} else if err := f.Close(); err != nil {
		return err
	}
	stale, err := bundle.Stale(s.Home.Bundles())
	if err != nil || len(stale) == 0 {
		return err
	}
	bytes := make([]int64, len(stale))
	for i, dir := range stale {
		if s.Deep {
			bytes[i], _ = runrecord.Size(dir) // for the report only
		}
	}
	var removed error
	if !s.DryRun {
		_, removed = bundle.RemoveStale(s.Home.Bundles())
	}
	for i, dir := range stale {
		f := Finding{Kind: KindPartial, Path: dir, Owner: ids().FindString(filepath.Base(dir)), Bytes: bytes[i], Reason: "its writer died", Action: ActionRemove}
		s.do(f, func() error {
			if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return removed
		})
	}
	return nil
}

// processes kills what settled attempts of this home left running. What belongs to an attempt that this store does not
// know is another home's.
func (s *sweep) processes(ctx context.Context) error {
	found, err := proc.ListByEnv(attemptEnv)
	if errors.Is(err, proc.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, pid := range slices.Sorted(maps.Keys(found)) {
		at, err := s.Store.Attempt(ctx, found[pid])
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
			continue
		}
		if err != nil {
			return err
		}
		f := Finding{Kind: KindProcess, PID: pid, Owner: at.Record.AttemptID, Reason: reasonSettled, Action: ActionKill}
		if at.Live && !s.lost[at.Record.AttemptID] {
			f.Reason = "its attempt is alive"
			s.leave(f)
			continue
		}
		s.do(f, func() error {
			t, err := s.Store.Task(ctx, at.Record.TaskID)
			return errors.Join(err, s.kill(ctx, at.Record.AttemptID, t))
		})
	}
	return nil
}

// temporaries removes files that were being written when their writer died, and what else has been lying in the
// temporary directory.
func (s *sweep) temporaries(ctx context.Context) error {
	var faults []error
	runs := filepath.Join(s.Home.Root(), "runs")
	for _, dir := range []string{s.Home.Tmp(), s.Home.Root(), s.Home.Keys(), s.Home.Bundles(), s.Home.Workflows(), s.Home.Blobs(), runs} {
		faults = append(faults, s.temporary(ctx, dir))
	}
	return errors.Join(faults...)
}

func (s *sweep) temporary(ctx context.Context, dir string) error {
	f, list, err := s.inside(dir)
	if f == nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, e := range list {
		fi, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		writing := (fi.Mode().IsRegular() || fi.IsDir() && dir == s.Home.Tmp()) && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp")
		if !writing && dir != s.Home.Tmp() {
			continue
		}
		if !writing {
			id, _, err := s.owner(ctx, e.Name())
			if err != nil {
				s.faults = append(s.faults, err)
			}
			if id != "" || err != nil {
				continue // see directories
			}
		}
		age, reason := tempAge, "nobody has changed it for an hour"
		if writing {
			age, reason = writingAge, "its writer died before it was whole"
		}
		release, abandoned := atomicfile.Abandoned(f, e.Name()) // whose it is need not be a runner
		found := Finding{Kind: KindTemp, Path: filepath.Join(dir, e.Name()), Reason: reason, Action: ActionRemove}
		found.Bytes, _ = runrecord.Size(found.Path) // for the report only
		switch {
		case !abandoned:
			found.Reason = "its owner is alive"
			s.leave(found)
		case !s.old(fi, age) && (!s.alone || !writing):
			found.Reason = "it was changed a moment ago, and another process may be writing it"
			s.leave(found)
		default:
			s.do(found, func() error { return workspace.RemoveAt(f, e.Name()) })
		}
		release()
	}
	return nil
}

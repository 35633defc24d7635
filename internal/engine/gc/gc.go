// Package gc owns what dead runs leave behind: it finds attempts, processes, mounts, directories, temporary files,
// half-written bundles and run records without an owner, clears them away, and applies the retention rule to bundles
// and records. It touches only what the home owns and what killed commands left among the system's temporary files,
// spares what belongs to a live process, and reports what it found and did. An apply that was cut short in a directory
// outside of the home is only reported. It does not decide when to sweep: the dispatcher does at its start, and an
// operator with a command.
package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/store"
)

// A Finding is one thing that was found, and what became of it.
type Finding struct {
	Kind   string `json:"kind"`
	Path   string `json:"path,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Owner  string `json:"owner,omitempty"` // the attempt, run or runner that it belongs to
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
	Action string `json:"action"`
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

// Kinds of findings.
const (
	KindAttempt   = "attempt"   // a live attempt without an owner
	KindDirectory = "directory" // of an attempt
	KindTemp      = "temp"      // in the home's temporary directory, or a file that was being written
	KindBundle    = "bundle"
	KindPartial   = "partial_bundle"
	KindProcess   = "process"
	KindMount     = "mount"
	KindRun       = "run"
	KindDocument  = "document" // a version of a skill, or another document that is kept by its content
	KindApply     = "apply"    // of a bundle's change to a directory, that was cut short
)

// Actions of findings.
const (
	ActionSettle  = "settle"
	ActionRemove  = "remove"
	ActionKill    = "kill"
	ActionUnmount = "unmount"
	ActionEnd     = "end" // write the end of a run whose owner is dead
	ActionLeave   = "leave"
)

// Results of findings.
const (
	ResultDone    = "done"
	ResultPlanned = "planned" // it would be done, but for --dry-run
	ResultLeft    = "left"
	ResultFailed  = "failed"
)

// A Report is what one sweep found and did.
type Report struct {
	Findings []Finding `json:"findings"`
	Settled  int       `json:"attempts_settled"`
	Adopted  int       `json:"bundles_adopted"`
	Bytes    int64     `json:"bytes_reclaimed"`
	Planned  int64     `json:"bytes_planned"` // what a sweep that is no dry run would reclaim
	Dead     []string  `json:"dead_runners"`
}

// Options say how far a sweep goes.
type Options struct {
	DryRun bool // look, and change nothing
	Deep   bool // also processes, temporary files and retention, which cost a walk
	Wary   bool // deep only when a runner died: one that ends by itself leaves nothing behind
	Whole  bool // look at every task that has not ended, however many: a person asked, and the queue does not wait
}

// A Collector sweeps one home.
type Collector struct {
	Home      *home.Home
	Store     *store.Store
	Runner    *attempt.Runner // settles lost attempts; may be nil for a dry run
	RunnerID  string          // this process, whose runs and attempts are alive
	Self      proc.Identity
	Clock     clock.Clock
	Log       *slog.Logger
	Retention config.Retention
	Temp      string // the system's directory for temporary files; "" leaves it alone

	MaxWaiting int // how many tasks that have not ended are asked for their documents, unless Whole; 0: 100,000
}

// sweep is one sweep.
type sweep struct {
	*Collector
	Options
	rep    Report
	faults []error
	alone  bool                // no other runner of this home is alive
	runner map[string]liveness // by runner id
	lost   map[string]bool     // attempts that a dry run would settle
	ending []store.Run         // runs that a dry run would end

	unmounted bool // see unmount
}

// liveness is what is known about a runner.
type liveness int

const (
	unknownRunner liveness = iota
	deadRunner
	aliveHere      // a process of this machine
	aliveElsewhere // a process that cannot be seen from here: only its heartbeat shows that it lives
)

// Sweep finds and clears away what has no owner. It continues after a fault, so that one thing that cannot be cleared
// away does not protect the rest; all faults are returned together, and each is in its finding.
//
// Two sweepers at once do no harm: a lost attempt is taken over under its fence, a run by its transition, and what is
// removed twice is gone.
func (r *Collector) Sweep(ctx context.Context, o Options) (Report, error) {
	s := &sweep{Collector: r, Options: o, rep: Report{Findings: []Finding{}, Dead: []string{}}, lost: map[string]bool{}}
	if err := s.runners(ctx); err != nil {
		return s.rep, err
	}
	s.Deep = o.Deep || o.Wary && len(s.rep.Dead) > 0
	steps := []func(context.Context) error{s.attempts, s.directories, s.partials}
	if s.Deep {
		steps = []func(context.Context) error{s.attempts, s.unmount, s.directories, s.partials, s.processes, s.temporaries, s.scratch, s.applies}
	}
	steps = append(steps, s.runs)
	if s.Deep {
		steps = append(steps, s.retention, s.documents, s.sensorEvents)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			s.faults = append(s.faults, err)
		}
	}
	if len(s.faults) == 0 && !o.DryRun {
		for _, id := range s.rep.Dead {
			s.faults = append(s.faults, r.Store.DropRunner(ctx, id))
		}
	}
	return s.rep, errors.Join(s.faults...)
}

// runners finds out which runners live.
func (s *sweep) runners(ctx context.Context) error {
	list, err := s.Store.Runners(ctx)
	if err != nil {
		return err
	}
	s.runner, s.alone = map[string]liveness{s.RunnerID: aliveHere}, true
	for _, r := range list {
		if r.ID == s.RunnerID {
			continue
		}
		boot, ns, _ := strings.Cut(r.BootID, "|")
		id := proc.Identity{Host: r.Host, PID: r.PID, BootID: boot, Namespace: ns, StartTime: uint64(r.ProcStart)}
		switch {
		case !proc.Alive(id):
			s.runner[r.ID] = deadRunner
			s.rep.Dead = append(s.rep.Dead, r.ID)
		case r.Host == s.Self.Host && ns == s.Self.Namespace:
			s.runner[r.ID], s.alone = aliveHere, false
		default:
			s.runner[r.ID], s.alone = aliveElsewhere, false
		}
	}
	slices.Sort(s.rep.Dead)
	return nil
}

// do carries a finding out, or only writes it down.
func (s *sweep) do(f Finding, act func() error) bool {
	if s.DryRun {
		f.Result = ResultPlanned
		if f.Action == ActionRemove {
			s.rep.Planned += f.Bytes
		}
		s.rep.Findings = append(s.rep.Findings, f)
		return false
	}
	f.Result = ResultDone
	if err := act(); err != nil {
		f.Result, f.Error = ResultFailed, err.Error()
		s.faults = append(s.faults, err)
	} else if f.Action == ActionRemove {
		s.rep.Bytes += f.Bytes
	}
	s.rep.Findings = append(s.rep.Findings, f)
	return f.Result == ResultDone
}

// did writes down what another step has done already.
func (s *sweep) did(f Finding) { s.do(f, func() error { return nil }) }

// leave writes down what is spared.
func (s *sweep) leave(f Finding) {
	f.Action, f.Result = ActionLeave, ResultLeft
	s.rep.Findings = append(s.rep.Findings, f)
}

// open opens a directory of the home that must be a directory itself: if a link had taken its place, the sweep would
// clear away what the link points to.
func (s *sweep) open(dir string) (*os.File, error) {
	name, err := s.Home.Rel(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.Home.Root())
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	defer func() { _ = root.Close() }()
	named, err := root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("sweep: %s is not a directory (move it away: nothing in its place is touched)", dir)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if held, err := f.Stat(); err != nil || !os.SameFile(held, named) {
		_ = f.Close()
		return nil, fmt.Errorf("sweep: %s was exchanged while it was looked at", dir)
	}
	return f, nil
}

// inside is open with what is in the directory.
func (s *sweep) inside(dir string) (*os.File, []os.DirEntry, error) {
	f, err := s.open(dir)
	if f == nil {
		return nil, nil, err
	}
	list, err := f.ReadDir(-1)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("sweep: %w", err)
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return f, list, nil
}

// below reports whether a path is inside a directory.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// old reports whether something was last changed so long ago that it is not being written.
func (s *sweep) old(fi os.FileInfo, age time.Duration) bool {
	return s.Clock().Sub(fi.ModTime()) > age
}

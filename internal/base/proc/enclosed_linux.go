package proc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

// An enclosure is deed's view of a run whose Spec is Enclosed.
type enclosure struct {
	*run
	supervisedRun
	guard      *guard
	watched    bool // the guard knows of it
	deliveries chan delivery
	what       string // could not be done, when the main process could not be started
}

// runEnclosed runs a command in a pid namespace that contains all that it starts. When its main process is gone, and also the
// first process of its namespace, which then becomes deed's child, no process of the run is left.
func (s *Supervisor) runEnclosed(ctx context.Context, path string, spec Spec) (Exit, error) {
	r, err := newRun(nil, 0, path, spec, s.slack)
	if err != nil {
		return Exit{}, err
	}
	g, err := s.ensureGuard()
	if err != nil {
		r.discard()
		return Exit{Code: -1}, err
	}
	e := &enclosure{run: r, guard: g, deliveries: make(chan delivery)}
	started := make(chan error, 1)
	go e.hold(started)
	err = <-started
	r.closeFiles()
	if err != nil {
		r.discard()
		if e.watched {
			g.unwatch()
		}
		return Exit{Code: -1}, r.refused(e.what, err)
	}
	if spec.OnStart != nil {
		spec.OnStart(e.main)
	}
	exit, err := r.follow(func() (Exit, error) { return e.wait(ctx, s.quit) })
	if errors.Is(err, ErrSurvivors) {
		s.dropGuard(g)
		g.hangUp()
	} else {
		g.unwatch()
	}
	return exit, err
}

// ensureGuard returns a guard, and starts one if there is none.
func (s *Supervisor) ensureGuard() (*guard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.guard != nil && s.guard.alive() {
		return s.guard, nil
	}
	var err error
	s.guard, err = startGuard()
	return s.guard, err
}

// dropGuard stops using a guard: the next run starts another.
func (s *Supervisor) dropGuard(g *guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == g {
		s.guard = nil
	}
}

// hold starts the main process and reaps the children of the run. The kernel kills the main process when the thread that started
// it ends, so this goroutine owns its thread, and the thread ends with it.
func (e *enclosure) hold(started chan<- error) {
	runtime.LockOSThread()
	err := e.begin()
	started <- err
	if err == nil {
		e.reaper.loop()
		ownProcs.remove(e.main)
	}
}

// begin gives the main process what a supervisor would give it: no descriptors but its own, a file mode mask that belongs to this
// thread alone, and no core dumps.
func (e *enclosure) begin() (err error) {
	e.what = "keep descriptors"
	if err := keepDescriptors(); err != nil {
		return err
	}
	e.what = "set the file mode mask"
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	unix.Umask(0o022)
	req := e.request().Run
	req.Limits = &e.spec.Limits
	from := clock.Start()
	var pid int
	pid, e.what, err = ownProcs.startMain(req, e.files, func(pid int) error {
		e.watched = true
		return e.guard.watch(pid)
	})
	if err != nil {
		return err
	}
	e.supervisedRun = supervisedRun{
		s: &supervise{inbox: e.deliveries}, main: pid, wrapper: true, enclosed: true, start: from, grace: e.run.grace,
		reaper: newReaper(pid, from), tree: &tree{root: pid}, timer: unarmedTimer(),
	}
	e.reaper.group = pid
	return nil
}

// wait brings the run to its end. It waits for the end in the goroutine of the caller, who must learn of it at once; whatever else
// may end the run is waited for concurrently.
func (e *enclosure) wait(ctx context.Context, quit <-chan struct{}) (Exit, error) {
	over := make(chan struct{})
	go e.interrupt(ctx, quit, over)
	e.watch(e.spec.Timeout)
	close(over)
	select {
	case <-quit:
		return Exit{Code: -1}, fmt.Errorf("run %s: %w", e.path, ErrClosed)
	default:
	}
	exit := e.report.exit(ctx)
	switch {
	case len(e.report.Survivors) > 0:
		return exit, fmt.Errorf("run %s: %w: %v", e.path, ErrSurvivors, e.report.Survivors)
	case !e.mainEnded:
		exit.Code = -1 // other code in this process reaped it, and with that took its exit status
		return exit, fmt.Errorf("run %s: %w: nobody saw how it ended", e.path, ErrSupervisorLost)
	}
	return exit, nil
}

// interrupt makes the run end early when it has to. It returns when the run is over.
func (e *enclosure) interrupt(ctx context.Context, quit, over <-chan struct{}) {
	canceled, broken := ctx.Done(), e.broken
	for {
		grace := time.Duration(-1)
		select {
		case <-over:
			return
		case <-canceled:
			canceled = nil
			if !errors.Is(context.Cause(ctx), ErrAtOnce) {
				grace = e.run.grace
			}
		case <-broken:
			broken = nil // finish has it; the run is worth nothing without its record
		case <-quit:
			quit = nil
		}
		select {
		case e.deliveries <- delivery{m: message{Op: opEnd, GraceMS: grace.Milliseconds()}}:
		case <-over:
		}
	}
}

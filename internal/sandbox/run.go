package sandbox

import (
	"context"
	"errors"
	"sync"

	"github.com/deedrun/deed/internal/proc"
)

// Run runs a command to its end behind the walls. Argv, Dir and Env of the Spec are as seen inside. Errors are those
// of proc.Supervisor.Run, a *proc.StartError for a command that is not inside among them; a *failure.Error of class
// Isolation when the walls could not be built, and the command was not run.
//
// A sandbox of kind Namespace or Container reports no Killed, because the kernel ends what the command left behind, and a signal
// that ended the command as a Code of 128+n alone.
func (s *Sandbox) Run(ctx context.Context, sup *proc.Supervisor, p proc.Spec) (Exit, error) {
	p.Limits = s.limits.kernel(p.Limits, s.kind)
	switch s.kind {
	case Namespace:
		return s.runNamespace(ctx, sup, p)
	case Container:
		return s.runContainer(ctx, sup, p)
	}
	return s.watched(ctx, sup, p, monitor{limits: s.limits})
}

// watched runs a command of the host with a monitor beside it.
func (s *Sandbox) watched(ctx context.Context, sup *proc.Supervisor, p proc.Spec, m monitor) (Exit, error) {
	m.watch, m.entries, m.own = s.watch, maxEntries, s.own()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := make(chan struct{})
	onStart := p.OnStart
	root := sup.PID
	p.OnStart = func(pid int) {
		if p.Enclosed {
			root = func() int { return pid }
		}
		close(started) // the calls of a supervisor wait for each other: before, its tree is another's
		if onStart != nil {
			onStart(pid)
		}
	}
	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-started:
			if err := m.run(watching, root); err != nil {
				cancel(err)
			}
		case <-watching.Done():
		}
	})
	exit, err := sup.Run(ctx, p)
	stop()
	wg.Wait()
	out := Exit{Exit: exit}
	var limit *LimitError
	if errors.As(exit.Cause, &limit) {
		out.Limit, out.Canceled = limit.Limit, false
	}
	return out, err
}

// own returns how many processes below the root of a run are the sandbox's own: bwrap inside the wall, and the forwarder;
// podman and what it leaves beside a container.
func (s *Sandbox) own() int {
	switch {
	case s.kind == Container:
		return 2
	case s.kind != Namespace:
		return 0
	case s.egress != "":
		return 2
	default:
		return 1
	}
}

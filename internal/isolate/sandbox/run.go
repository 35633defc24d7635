package sandbox

import (
	"context"
	"errors"

	"github.com/deedrun/deed/internal/base/proc"
)

// Run runs a command to its end in the sandbox. Argv, Dir and Env of the Spec are as seen inside. Errors are those of
// proc.Supervisor.Run, among them a *proc.StartError for a command that is not inside, and a *failure.Error of class
// Isolation if the sandbox could not be built and the command was not run.
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

// watched runs a command of the host and monitors it at the same time.
func (s *Sandbox) watched(ctx context.Context, sup *proc.Supervisor, p proc.Spec, m monitor) (Exit, error) {
	m.watch, m.entries, m.own = s.watch, maxEntries, s.own()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var (
		end     = func() {} // of the monitor; set before the run is waited for, if it starts at all
		onStart = p.OnStart
	)
	// The calls of a supervisor wait for each other: before the command has started, its tree is another's.
	p.OnStart = func(pid int) {
		root := sup.PID
		if p.Enclosed {
			root = func() int { return pid }
		}
		end = m.start(watching, root, cancel)
		if onStart != nil {
			onStart(pid)
		}
	}
	exit, err := sup.Run(ctx, p)
	stop()
	end()
	out := Exit{Exit: exit}
	var limit *LimitError
	if errors.As(exit.Cause, &limit) {
		out.Limit, out.Canceled = limit.Limit, false
	}
	return out, err
}

// own returns how many processes below the root of a run are the sandbox's own: bwrap inside the namespace and the forwarder,
// or podman and what it keeps running for a container.
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

// Package providertask owns one request of the agent-runtime package contract: it becomes an ordinary task with the packaged
// adapter and one attempt, and what the attempt left becomes one outcome. It composes runtimepkg, admission and the engine;
// the provider's word is normalised elsewhere, and the gate judges the work.
package providertask

import (
	"context"
	"sync"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/dispatch"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/evidence/runrecord"
	"github.com/deedrun/deed/internal/store"
)

// A Service makes tasks of requests, and runs them in this process. Prepare is safe for concurrent use.
type Service struct {
	Home      *home.Home
	Store     *store.Store
	Admission *task.Admission
	Engine    *dispatch.Engine // for Run not registered yet; its runner's Observe and OneShot are taken over
	Clock     clock.Clock
	Options   Options
	Streams   []*runrecord.Stream // who hears of the progress of a Run

	mu       sync.Mutex
	found    *runtimepkg.Catalog            // guarded by mu
	checkers map[string]*runtimepkg.Checker // guarded by mu; by env_file
}

// Options are what a caller decides for every request.
type Options struct {
	Dir         string   // the project whose packages count; empty: none
	RuntimeDirs []string // packages, or directories of them, that the caller names
	Backend     string   // for requests that name none
	EnvFile     string   // secrets by name; empty: the one that is configured for the backend
	Isolation   string   // empty: the one that is configured for the backend, else walls where there are any
	Hosts       []string // that a contained provider may reach, besides those that are configured

	Checks                     []deed.Check
	WriteScope, ProtectedPaths []string // globs
}

// Prepare makes the task of a request, ready for Store.Enqueue or EnqueueClaimed. A request that cannot be run has a
// refusal instead, and nothing was started. The error is for what keeps deed from saying either.
func (s *Service) Prepare(ctx context.Context, req runtimepkg.Request) (row store.NewTask, refusal *homeboy.Outcome, err error) {
	row, err = s.prepare(ctx, req)
	if err == nil {
		return row, nil, nil
	}
	if r, ok := refusalOf(err); ok {
		o := r.Outcome(req.TaskID)
		return store.NewTask{}, &o, nil
	}
	return store.NewTask{}, nil, err
}

func (s *Service) prepare(ctx context.Context, req runtimepkg.Request) (store.NewTask, error) {
	c, err := s.choose(ctx, req)
	if err != nil {
		return store.NewTask{}, err
	}
	intent, err := s.place(ctx, c)
	if err != nil {
		return store.NewTask{}, err
	}
	row, err := s.Admission.Prepare(intent, task.Caller{Trusted: true})
	if err != nil {
		return store.NewTask{}, err
	}
	return row, s.Engine.Runner.Preflight(ctx, row)
}

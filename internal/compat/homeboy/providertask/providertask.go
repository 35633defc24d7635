// Package providertask owns one request of the agent-runtime package contract: the request becomes an ordinary task
// with the packaged adapter and one attempt, and what the attempt left becomes one outcome. It composes runtimepkg,
// admission and the engine. The provider's answer is normalised elsewhere, and the gate judges the work.
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

// A Service turns requests into tasks, and runs them in this process. Prepare is safe for concurrent use.
type Service struct {
	Home      *home.Home
	Store     *store.Store
	Admission *task.Admission
	Engine    *dispatch.Engine // for Run: it must not be registered yet; its runner's Observe and OneShot are overwritten
	Clock     clock.Clock
	Options   Options
	Streams   []*runrecord.Stream // listeners for the progress of a Run

	mu       sync.Mutex
	found    *runtimepkg.Catalog            // guarded by mu
	checkers map[string]*runtimepkg.Checker // guarded by mu; by env_file
}

// Options are what a caller decides for every request.
type Options struct {
	Dir         string   // the project whose packages are used; empty: none
	RuntimeDirs []string // packages, or directories of packages, that the caller names
	Backend     string   // for requests that name none
	EnvFile     string   // secrets by name; empty: the file that is configured for the backend
	Isolation   string   // empty: what is configured for the backend, else a sandbox if there is one
	Hosts       []string // hosts that a contained provider may reach, in addition to the configured ones

	Checks                     []deed.Check
	WriteScope, ProtectedPaths []string // globs
}

// Prepare makes the task of a request, ready for Store.Enqueue or EnqueueClaimed. For a request that cannot be run it
// returns a refusal instead, and nothing was started. An error means that deed could determine neither.
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

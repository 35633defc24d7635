// Package providertask owns one request of the agent-runtime package contract: it becomes an ordinary task with the packaged
// adapter and one attempt, and what the attempt left becomes one outcome. It composes runtimepkg, admission and the engine;
// the provider's word is normalised elsewhere, and the gate judges the work.
package providertask

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/clock"
	"github.com/deedrun/deed/internal/dispatch"
	"github.com/deedrun/deed/internal/home"
	"github.com/deedrun/deed/internal/runtimepkg"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/task"
)

// A Service runs requests in this process.
type Service struct {
	Home      *home.Home
	Store     *store.Store
	Admission *task.Admission
	Engine    *dispatch.Engine
	Checker   *runtimepkg.Checker // says whether a provider is ready; shared, it keeps its verdicts for a while
	Clock     clock.Clock
	Options   Options
}

// Options are what a caller decides for every request.
type Options struct {
	Dir         string   // the project whose packages and default backend count; empty: none
	RuntimeDirs []string // packages, or directories of them, that the caller names
}

var errNotBuilt = errors.New("provider tasks do not run yet")

// Prepare makes the task of a request, ready for Store.Enqueue or EnqueueClaimed. A request that cannot be run has a
// refusal instead, and nothing was started. The error is for what keeps deed from saying either.
func (s *Service) Prepare(ctx context.Context, req runtimepkg.Request) (row store.NewTask, refusal *homeboy.Outcome, err error) {
	return row, nil, errNotBuilt
}

// OutcomeOf rebuilds the outcome of a settled attempt of such a task from its bundle and the store alone: whoever asks, and
// whenever, gets the same answer.
func OutcomeOf(ctx context.Context, st *store.Store, h *home.Home, attemptID string) (homeboy.Outcome, error) {
	return homeboy.Outcome{}, errNotBuilt
}

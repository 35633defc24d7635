// Package view owns the read models of an operator: the present state of a home, a task with everything that is known of it, and what
// an attempt did, a page at a time. The page, the HTTP API, the terminal and the tools of MCP show the same models. It reads the
// store, the attempts' directories and their bundles, and changes nothing; how a model looks, and who may see it, is not its
// business.
//
// These models hold an agent's text as it was recorded. The code that shows it must make it harmless for its medium.
package view

import (
	"errors"
	"sync"

	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/store"
)

// A Source is what models are read from.
type Source struct {
	Store  *store.Store
	Home   *home.Home
	Config *config.Config // budgets, timeouts
	Clock  clock.Clock    // nil: clock.System
}

// A Reader reads models. It is safe for concurrent use. It keeps its position in the journals of the running attempts, so that a
// home that is looked at often is not read from the start each time.
type Reader struct {
	src    Source
	staged *apply.Applier

	mu     sync.Mutex
	follow map[string]*follower // guarded by mu; by attempt
}

// New makes a reader of a home.
func New(s Source) *Reader {
	if s.Clock == nil {
		s.Clock = clock.System
	}
	return &Reader{src: s, staged: &apply.Applier{Home: s.Home, Clock: s.Clock}, follow: map[string]*follower{}}
}

// Close gives the journals back.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for id, f := range r.follow {
		errs = append(errs, f.close())
		delete(r.follow, id)
	}
	return errors.Join(errs...)
}

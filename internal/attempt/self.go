package attempt

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// self is the agent of this runtime, pinned for the attempt: a version that is accepted while it runs applies to
// later attempts.
type self struct{ identity.Pinned }

// self reads the agent and one version of its constitution; see identity.Book.Pin.
func (r *Runner) self(ctx context.Context, number int64) (*self, error) {
	name := r.Config.Agent
	if name == "" {
		return nil, nil
	}
	book := identity.Book{Store: r.Store, Home: r.Home}
	p, err := book.Pin(ctx, name, number)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, failure.New(failure.Config, "find the agent of this runtime", fmt.Errorf("deed.yaml says agent: %s, and there is no such agent", name), "write it with `deed agent add "+name+"`, or name another")
	case err != nil:
		return nil, failure.New(failure.Config, "read the agent of this runtime", err, "")
	}
	return &self{*p}, nil
}

// keepVersion keeps a continued conversation at the constitution version that it began with.
func (a *run) keepVersion(ctx context.Context) (err error) {
	if a.plan.agent == nil || a.resumed == nil || a.resumed.Constitution == nil || a.plan.agent.Number == *a.resumed.Constitution {
		return nil
	}
	a.plan.agent, err = a.self(ctx, *a.resumed.Constitution)
	return err
}

func (s *self) id() string {
	if s == nil {
		return ""
	}
	return s.Identity.AgentID
}

func (s *self) version() *int64 {
	if s == nil {
		return nil
	}
	return &s.Number
}

// provenance adds the agent's identity to the provenance of a bundle.
func (s *self) provenance(agent map[string]any) map[string]any {
	if s == nil {
		return agent
	}
	agent["agent_id"] = s.Identity.AgentID
	if c := s.Constitution; c != nil {
		agent["constitution"] = map[string]string{"version": c.Version, "soul_hash": c.SoulHash, "purpose_hash": c.PurposeHash}
	}
	return agent
}

// briefAgent returns what the brief says about the agent.
func (s *self) briefAgent() *brief.Agent {
	if s == nil {
		return nil
	}
	return &brief.Agent{Identity: s.Identity, Constitution: s.Constitution, Soul: s.Documents.Soul, Purpose: s.Documents.Purpose}
}

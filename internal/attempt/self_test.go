package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// revise lets a revision of the agent's soul hold.
func (b *testBundle) revise(soul string, purpose []byte) {
	b.t.Helper()
	book := identity.Book{Store: b.Store, Home: b.Home}
	p, _, err := book.Propose(b.t.Context(), identity.Draft{AgentID: "loom", Soul: []byte(soul), Purpose: purpose, By: "me"})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := book.Decide(b.t.Context(), p.ID, true, "", "operator"); err != nil {
		b.t.Fatal(err)
	}
}

// An attempt works by the version that held when it began, also when another is accepted while it runs.
func TestAnAttemptKeepsItsConstitution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Agent = "loom"
	if _, err := b.Store.AddAgent(t.Context(), agentruntime.AgentIdentity{AgentID: "loom", InternalName: "loom", DisplayName: "Loom"}, "me"); err != nil {
		t.Fatal(err)
	}
	b.revise("first soul", []byte("purpose"))
	prompt := func() string {
		t.Helper()
		res, err := b.Run(t.Context(), b.sup, b.claim(`echo made > new.txt; `+done, nil))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(res.BundleDir, bundle.PathPrompt))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	b.Observe = func(p Progress) {
		if p.Step == StepPrepared {
			b.revise("second soul", nil)
		}
	}
	if text := prompt(); !strings.Contains(text, "first soul") || !strings.Contains(text, "version 1.0.0") {
		t.Errorf("the attempt was told:\n%s", text)
	}
	b.Observe = nil
	if text := prompt(); !strings.Contains(text, "second soul") || !strings.Contains(text, "version 2.0.0") {
		t.Errorf("the next was told:\n%s", text)
	}

	// A conversation that goes on keeps the version that it was begun with.
	for begun, want := range map[int64]string{0: "", 1: "first soul", 2: "second soul"} {
		now, err := b.self(t.Context(), identity.Holds)
		if err != nil {
			t.Fatal(err)
		}
		a := &run{Runner: b.Runner, prepared: prepared{plan: plan{agent: now}, resumed: &resumed{checkpoint: checkpoint{Constitution: &begun}}}}
		if err := a.keepVersion(t.Context()); err != nil || a.plan.agent.Documents.Soul != want {
			t.Errorf("begun with %d: %q, %v", begun, a.plan.agent.Documents.Soul, err)
		}
	}
}

// A runtime that names an agent that is not there fails for its configuration, before anything of the agent runs.
func TestARuntimeWithoutItsAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.Agent = "nobody"
	res, err := b.Run(t.Context(), b.sup, b.claim(`touch "$DEED_ARTIFACTS/ran"; `+done, nil))
	if err != nil {
		t.Fatal(err)
	}
	if s := res.Settlement; s.Class != string(failure.Config) || !strings.Contains(s.LastError, "nobody") || len(s.Artifacts) != 0 {
		t.Errorf("settled as %s: %s", s.Class, s.LastError)
	}
}

package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

// TestRevisionCrash kills the real binary at each step of a revision, asks again, and asserts one proposal, one version, and no
// question that is left open.
func TestRevisionCrash(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{store.SQLite, store.Postgres} {
		for _, p := range crashpoint.OfRevision {
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				crashRevision(t, engine, p)
			})
		}
	}
}

func crashRevision(t *testing.T, engine string, p crashpoint.Point) {
	s := newSite(t, nil)
	if engine == store.Postgres {
		s.dsn = pgtest.DSN(t)
	}
	soul, purpose := filepath.Join(s.dir, "SOUL.md"), filepath.Join(s.dir, "PURPOSE.md")
	writeFile(t, soul, "calm\n")
	writeFile(t, purpose, "weave\n")
	s.ok("agent", "add", "loom")
	arm := []string{"DEED_CRASHPOINT=" + string(p)}
	propose := []string{"agent", "propose", "loom", "--soul", soul, "--purpose", purpose}
	crashed := s.deed(arm, propose...).signal == syscall.SIGKILL
	id := strings.TrimSpace(s.ok(propose...)) // asking again gives the same one
	if !crashed {
		crashed = s.deed(arm, "agent", "accept", id).signal == syscall.SIGKILL
	}
	if !crashed {
		t.Fatalf("the crash point %s was never reached", p)
	}
	again := s.deed(nil, "agent", "accept", id)
	if held := p == crashpoint.RevisionDecided; (again.code == 0) == held {
		t.Fatalf("accepted again: exit %d\n%s", again.code, again.stderr)
	}
	st := s.open()
	list, err := st.Proposals(t.Context(), "loom", 10)
	if err != nil || len(list) != 1 || list[0].State != store.ProposalAccepted || list[0].Number != 1 {
		t.Fatalf("proposals: %+v %v", list, err)
	}
	a, err := st.Agent(t.Context(), "loom")
	if err != nil || a.Constitution != 1 {
		t.Fatalf("agent: %+v %v", a, err)
	}
	if _, err := st.Constitution(t.Context(), "loom", 2); err == nil {
		t.Fatal("there is a second version")
	}
	open, err := st.Actions(t.Context(), store.ActionFilter{State: store.ActionOpen})
	if err != nil || len(open) != 0 {
		t.Fatalf("actions: %+v %v", open, err)
	}
	if doc := s.ok("agent", "show", "loom", "--json"); !strings.Contains(doc, `"version": "1.0.0"`) {
		t.Fatalf("shown as:\n%s", doc)
	}
}

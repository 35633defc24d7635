package brief

import (
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

func agent() *Agent {
	return &Agent{
		Identity: agentruntime.AgentIdentity{
			AgentID: "loom", InternalName: "loom", DisplayName: "Loom", Host: "here",
			ExternalName: &agentruntime.ExternalName{Name: "Trustless Indra"},
		},
		Constitution: &agentruntime.AgentConstitution{Version: "2.0.0", SoulHash: "sha256:aa", PurposeHash: "sha256:bb", RevisedAt: "2026-01-31T08:00:00Z"},
		Soul:         "Calm and kind.\n", Purpose: "Weave.\n",
	}
}

// An agent is in the text, in the document and in the hash; a runtime without one has the brief that it had before.
func TestAgent(t *testing.T) {
	t.Parallel()
	compile := func(edit func(*Input)) Brief {
		t.Helper()
		in := input()
		in.Agent = agent()
		edit(&in)
		b, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := compile(func(*Input) {})
	for _, want := range []string{"You are loom (shown as Loom, registered as Trustless Indra).", "Calm and kind.", "Weave.", "version 2.0.0", "sha256:aa", "sha256:bb"} {
		if !strings.Contains(b.Text, want) {
			t.Errorf("the brief lacks %q:\n%s", want, b.Text)
		}
	}
	for _, want := range []string{`"constitution":{"purpose":"Weave.","purpose_hash":"sha256:bb","soul":"Calm and kind.","soul_hash":"sha256:aa","version":"2.0.0"}`, `"internal_name":"loom"`} {
		if !strings.Contains(string(b.Document), want) {
			t.Errorf("the document lacks %s:\n%s", want, b.Document)
		}
	}
	for name, edit := range map[string]func(*Input){
		"no agent":        func(in *Input) { in.Agent = nil },
		"name":            func(in *Input) { in.Agent.Identity.DisplayName = "L" },
		"soul":            func(in *Input) { in.Agent.Constitution.SoulHash = "sha256:cc" },
		"purpose":         func(in *Input) { in.Agent.Constitution.PurposeHash = "sha256:cc" },
		"no constitution": func(in *Input) { in.Agent.Constitution = nil },
	} {
		if compile(edit).Hash == b.Hash {
			t.Errorf("another %s has the same hash", name)
		}
	}
	for name, edit := range map[string]func(*Input){
		"host":    func(in *Input) { in.Agent.Identity.Host = "there" },
		"instant": func(in *Input) { in.Agent.Constitution.RevisedAt = "2026-02-01T08:00:00Z" },
	} {
		if compile(edit).Hash != b.Hash {
			t.Errorf("the %s changes the hash", name)
		}
	}
	none := compile(func(in *Input) { in.Agent = nil })
	if strings.Contains(string(none.Document), "constitution") || strings.Contains(string(none.Document), "identity") || strings.Contains(none.Text, "You are") {
		t.Errorf("a runtime without an agent is told of one:\n%s", none.Document)
	}
}

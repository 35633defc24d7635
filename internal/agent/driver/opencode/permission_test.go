package opencode

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

func TestRulesBecomePermissions(t *testing.T) {
	t.Parallel()
	const tail = `"doom_loop":"allow","question":"deny","external_directory":{"*":"deny","/x/*":"allow"}}`
	others := `"glob":"deny","grep":"deny","list":"deny",`
	rest := `"webfetch":"deny","websearch":"deny","task":"deny","skill":"deny","todowrite":"deny",`
	for name, tc := range map[string]struct {
		rules []deed.Rule
		mode  string
		want  string
	}{
		"none":      {nil, agentcli.Workspace, `{"*":"allow","task":"deny",` + tail},
		"read only": {nil, agentcli.ReadOnly, `{"*":"allow","edit":"deny","bash":"deny","task":"deny",` + tail},
		"a deny counts wherever it stands": {
			[]deed.Rule{
				{Tool: []string{"shell"}, Command: []string{"git *", "git push*"}, Effect: "allow"},
				{Tool: []string{"bash"}, Command: []string{"git push*"}, Effect: "deny"},
				{Tool: []string{"write"}, Effect: "allow"},
				{Tool: []string{"file.*"}, Effect: "ask"},
			},
			agentcli.Workspace,
			`{"*":"deny","read":"deny",` + others + `"edit":"deny","bash":{"*":"deny","git *":"allow","git push*":"deny"},` + rest + tail,
		},
		"paths": {
			[]deed.Rule{
				{Tool: []string{"write"}, Path: []string{"secret/**", "/etc/*"}, Effect: "deny"},
				{Tool: []string{"file.*"}, Effect: "allow"},
			},
			agentcli.Workspace,
			`{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow",` +
				`"edit":{"*":"allow","secret/*":"deny","w/s/secret/*":"deny","/etc/*":"deny","etc/*":"deny"},"bash":"deny",` + rest + tail,
		},
		"everything": {
			[]deed.Rule{{Effect: "allow"}},
			agentcli.Workspace,
			`{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow","edit":"allow","bash":"allow",` +
				`"webfetch":"allow","websearch":"allow","task":"allow","skill":"allow","todowrite":"allow",` + tail,
		},
		"hosts": {
			[]deed.Rule{{Host: []string{"example.com"}, Effect: "allow"}},
			agentcli.Workspace,
			`{"*":"deny","read":"deny",` + others + `"edit":"deny","bash":"deny",` +
				rest + tail,
		},
	} {
		table, _ := permit(tc.rules, tc.mode, "/w/s", []string{"/x/*"})
		got, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, string(got)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestHowRulesAreHeld(t *testing.T) {
	t.Parallel()
	_, got := permit([]deed.Rule{
		{Name: "no shell", Tool: []string{"bash"}, Effect: "deny"},
		{Path: []string{"a"}, Effect: "allow"},
		{Effect: "ask"},
	}, agentcli.Workspace, "/w", nil)
	want := []string{"no shell enforced", "rule 2 declared", "rule 3 enforced"}
	for i, r := range got {
		if r.Rule+" "+r.Held != want[i] || (i > 0 && r.Why == "") {
			t.Errorf("%d: got %+v", i, r)
		}
	}
}

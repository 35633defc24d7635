package agentruntime

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

func paths(err error) []string {
	var out []string
	for _, f := range fault.Of(err) {
		out = append(out, f.Code+" "+f.Path)
	}
	return out
}

func TestTimestamp(t *testing.T) {
	t.Parallel()
	a := time.Date(2026, 1, 31, 8, 0, 0, 999_999_999, time.FixedZone("", 3600))
	if got := At(a); got != "2026-01-31T07:00:00.999999Z" {
		t.Errorf("%s", got)
	}
	// The texts sort as the instants do, whatever the fraction and the zone.
	instants := []time.Time{a.Add(-time.Hour), a.Truncate(time.Second), a, a.Add(time.Microsecond), a.Add(time.Second)}
	var texts []Timestamp
	for _, i := range instants {
		texts = append(texts, At(i))
	}
	if !slices.IsSorted(texts) {
		t.Errorf("%v", texts)
	}
	for _, good := range []Timestamp{"2026-01-31T08:00:00Z", "2026-01-31T08:00:00.123456789+05:30", "0001-01-01T00:00:00Z", "2024-02-29T23:59:59-23:59"} {
		if v, err := good.Time(); err != nil || v.Location() != time.UTC {
			t.Errorf("%s: %v, %v", good, v, err)
		}
	}
	for _, bad := range []Timestamp{
		"", "2026-01-31", "2026-01-31 08:00:00Z", "2026-01-31T08:00:00", "2026-01-31T8:00:00Z", "2026-01-31T08:00:00,5Z", "2026-01-31T08:00:00+24:00",
		"2026-01-31T08:00:00+05:60", "2026-02-29T00:00:00Z", "26-01-31T08:00:00Z", "2026-01-31T25:00:00Z", "2026-01-31T08:00:00Zx", "2026-01-31t08:00:00z",
	} {
		if v, err := bad.Time(); err == nil {
			t.Errorf("%s is read as %v", bad, v)
		}
	}
}

// What JSON cannot carry can still be built in Go.
func TestIntentRefusesNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, m := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.001, MaxDelayMinutes + 1, math.MaxFloat64} {
		err := TaskIntent{TaskType: "a", Source: "b", Payload: json.RawMessage(`{}`), Schedule: &RelativeSchedule{DelayMinutes: m}}.Validate()
		if got := paths(err); !slices.Equal(got, []string{"out_of_range $.schedule.delay_minutes"}) {
			t.Errorf("%g: %v", m, got)
		}
	}
	for _, m := range []float64{0, 0.001, MaxDelayMinutes} {
		if err := (TaskIntent{TaskType: "a", Source: "b", Payload: json.RawMessage(`{}`), Schedule: &RelativeSchedule{DelayMinutes: m}}).Validate(); err != nil {
			t.Errorf("%g: %v", m, err)
		}
	}
}

func TestIntentWithoutPayload(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"": "missing_field $.payload", "null": "wrong_type $.payload", "[": "wrong_type $.payload", "{": "wrong_type $.payload"} {
		got := paths(TaskIntent{TaskType: "a", Source: "b", Payload: json.RawMessage(raw)}.Validate())
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// Every pair of status and machine status is decided.
func TestOutcomePairs(t *testing.T) {
	t.Parallel()
	valid := 0
	for _, s := range append(slices.Clone(TaskStatuses), "", "success") {
		for _, m := range append(slices.Clone(MachineStatuses), "") {
			if (TaskOutcome{Status: s, MachineStatus: m}).Validate() == nil {
				valid++
				if s.Machine() != m {
					t.Errorf("%s with %s is valid", s, m)
				}
			}
		}
	}
	if valid != len(OutcomeStatuses) {
		t.Errorf("%d pairs are valid", valid)
	}
}

func TestCheckWallet(t *testing.T) {
	t.Parallel()
	agent := AgentIdentity{AgentID: "spark", OnchainIdentity: &OnchainIdentity{Contract: "SP1.registry"}}
	for _, tc := range []struct {
		name   string
		wallet WalletIdentity
		agent  AgentIdentity
		want   []string
	}{
		{"same", WalletIdentity{AgentID: "spark", OnchainIdentityContract: "SP1.registry"}, agent, nil},
		{"not linked", WalletIdentity{AgentID: "spark"}, agent, nil},
		{"another agent's", WalletIdentity{AgentID: "arc"}, agent, []string{"conflict $.agent_id"}},
		{"another contract", WalletIdentity{AgentID: "spark", OnchainIdentityContract: "SP2.registry"}, agent, []string{"conflict $.onchain_identity_contract"}},
		{"no contract", WalletIdentity{AgentID: "spark", OnchainIdentityContract: "SP1.registry"}, AgentIdentity{AgentID: "spark"}, []string{"conflict $.onchain_identity_contract"}},
		{"both", WalletIdentity{AgentID: "arc", OnchainIdentityContract: "SP2.registry"}, agent, []string{"conflict $.agent_id", "conflict $.onchain_identity_contract"}},
	} {
		if diff := cmp.Diff(tc.want, paths(CheckWallet(tc.wallet, tc.agent))); diff != "" {
			t.Errorf("%s:\n%s", tc.name, diff)
		}
	}
}

func TestAdapterUnion(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]AdapterConfig{
		KindClaudeCode:     {ClaudeCode: &ClaudeCodeAdapter{AdapterID: "a", Kind: KindClaudeCode, Command: "c", TimeoutMS: 1}},
		KindCodex:          {Codex: &CodexAdapter{AdapterID: "a", Kind: KindCodex, Command: "c", TimeoutMS: 1}},
		KindHermesAgent:    {HermesAgent: &HermesAgentAdapter{AdapterID: "a", Kind: KindHermesAgent, Command: "c", TimeoutMS: 1}},
		KindOllamaGenerate: {OllamaGenerate: &OllamaGenerateAdapter{AdapterID: "a", Kind: KindOllamaGenerate, Endpoint: "http://h", Model: "m", TimeoutMS: 1}},
		KindScript:         {Script: &ScriptAdapter{AdapterID: "a", Kind: KindScript, Command: "c", TimeoutMS: 1}},
		KindPackaged:       {Packaged: &PackagedAdapter{AdapterID: "a", Kind: KindPackaged, Backend: "b", TimeoutMS: 1}},
	} {
		raw, err := json.Marshal(want)
		if err != nil || !strings.Contains(string(raw), `"kind":"`+kind+`"`) {
			t.Fatalf("%s: %s, %v", kind, raw, err)
		}
		got := AdapterConfig{Script: &ScriptAdapter{}} // what was there before must not stay
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got.Kind() != kind || got.ID() != "a" || got.Validate() != nil {
			t.Errorf("%s: %s, %s, %v", kind, got.Kind(), got.ID(), got.Validate())
		}
	}
	for _, bad := range []AdapterConfig{{}, {Script: &ScriptAdapter{}, Codex: &CodexAdapter{}}} {
		if _, err := json.Marshal(bad); err == nil {
			t.Errorf("%+v is written", bad)
		}
		if got := paths(bad.Validate()); !slices.Equal(got, []string{"conflict $"}) {
			t.Errorf("%v", got)
		}
	}
	for _, bad := range []string{`{}`, `{"kind":"claude"}`, `{"kind":5}`, `[]`, `"script"`} {
		var a AdapterConfig
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s is read as %+v", bad, a)
		}
	}
	// A member under another member's kind.
	if got := paths(AdapterConfig{Script: &ScriptAdapter{AdapterID: "a", Kind: KindCodex, Command: "c", TimeoutMS: 1}}.Validate()); !slices.Equal(got, []string{"not_allowed $.kind"}) {
		t.Errorf("%v", got)
	}
}

func TestHiddenPosture(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--dangerously-skip-permissions"},
		{"--allow-dangerously-skip-permissions"},
		{"--dangerously-bypass-approvals-and-sandbox"},
		{"--yolo"},
		{"--yolo=true"},
		{"--settings", `{"permissions":{"defaultMode":"bypassPermissions"}}`},
		{`--settings={"permissions":{"defaultMode":"bypassPermissions"}}`},
		{"--permission-mode", "bypassPermissions"},
		{"--permission-mode=bypassPermissions"},
		{"--sandbox", "danger-full-access"},
		{"-s", "danger-full-access"},
		{"-sdanger-full-access"},
		{"-c", `sandbox_mode="danger-full-access"`},
		{"--config=sandbox_mode=danger-full-access"},
		{`-csandbox_mode="danger-full-access"`},
	} {
		a := AdapterConfig{Codex: &CodexAdapter{AdapterID: "a", Kind: KindCodex, Command: "c", TimeoutMS: 1, ExtraArgs: args}}
		if got := paths(a.Validate()); !slices.Equal(got, []string{"undeclared $.extra_args[0]"}) {
			t.Errorf("%v: %v", args, got)
		}
		a.Codex.Autonomy = &HarnessAutonomy{Profile: AutonomyRestricted}
		if a.Validate() == nil {
			t.Errorf("%v pass as restricted", args)
		}
		a.Codex.Autonomy.Profile = AutonomyTrustedVM
		if err := a.Validate(); err != nil {
			t.Errorf("%v declared: %v", args, err)
		}
	}
	for _, args := range [][]string{{"--search"}, {"--permission-mode", "plan"}, {"--sandbox", "read-only"}, {"-c", "model=x"}, {"--permission-mode"}, {"yolo"}, {"bypassPermissions"}} {
		if err := (AdapterConfig{HermesAgent: &HermesAgentAdapter{AdapterID: "a", Kind: KindHermesAgent, Command: "c", TimeoutMS: 1, ExtraArgs: args}}).Validate(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestFullAccess asks every kind that has a sandbox for one that lifts its guards.
func TestFullAccess(t *testing.T) {
	t.Parallel()
	with := 0
	for _, kind := range Kinds {
		var a AdapterConfig
		text := `{"schema":"` + SchemaAdapterConfig + `","adapter_id":"a","kind":"` + kind + `","command":"c","timeout_ms":1,"sandbox":"danger-full-access"%s}`
		if err := json.Unmarshal(fmt.Appendf(nil, text, ""), &a); err != nil || a.Common().Sandbox == "" {
			continue // it has no such field
		}
		with++
		if got := paths(a.Validate()); !slices.Equal(got, []string{"undeclared $.sandbox"}) {
			t.Errorf("%s: %v", kind, got)
		}
		if err := json.Unmarshal(fmt.Appendf(nil, text, `,"autonomy":{"profile":"trusted-vm"}`), &a); err != nil {
			t.Fatal(err)
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%s, declared: %v", kind, err)
		}
	}
	if with != 5 {
		t.Errorf("%d kinds have a sandbox, and five do", with)
	}
}

func TestRuntimeEvents(t *testing.T) {
	t.Parallel()
	if len(RuntimeEvents) != 21 {
		t.Errorf("%d events, and the contract names 21", len(RuntimeEvents))
	}
	for _, e := range RuntimeEvents {
		if !e.Named() || (RuntimeEventRecord{Event: e, At: At(time.Unix(0, 0))}).Validate() != nil {
			t.Errorf("%s is refused", e)
		}
	}
	for _, bad := range []RuntimeEvent{"", "_", "a_", "a__b", "_a", "A", "a-b", "1a", "a b", "é"} {
		if (RuntimeEventRecord{Event: bad, At: At(time.Unix(0, 0))}).Validate() == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

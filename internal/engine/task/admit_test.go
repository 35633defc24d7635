package task

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/store"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func admission(t *testing.T, yaml string) *Admission {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load(config.Options{Explicit: writeConfig(t, dir, yaml)})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), filepath.Join(dir, "deed.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &Admission{Store: st, Config: cfg, Clock: func() time.Time { return now }, Drivers: driver.NewSet(script.New())}
}

const settings = `
defaults: {adapter_id: usual}
adapters:
  usual: {kind: script, command: /bin/true, timeout_ms: 1000}
  other: {kind: script, command: /bin/true, timeout_ms: 1000}
  robot: {kind: codex, command: codex, timeout_ms: 1000}
profiles:
  careful: {style: codex-like, role: r, default_adapter_id: other, default_model: m9, prompt_parts: [], skill_ids: [], context_policy: {max_prompt_chars: 1000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}}
task_types:
  strict:
    payload_schema_id: here
    success_policy: {require_artifacts: true, require_adapter_audit: true, verify_claimed_file_changes: true}
    deed:
      require_changes: true
      max_attempts: 7
      protected_paths: [tests/**]
      checks: [{shell: make lint}]
      payload_schema: {type: object, required: [n], properties: {n: {type: integer}}}
`

func intent(edit func(*agentruntime.TaskIntent)) agentruntime.TaskIntent {
	in := agentruntime.TaskIntent{TaskType: config.TypeScript, Source: "t", Payload: json.RawMessage(`{}`)}
	if edit != nil {
		edit(&in)
	}
	return in
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	a := admission(t, settings)
	row, err := a.Prepare(intent(nil), Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if row.AdapterID != "usual" || row.ProfileID != config.DefaultProfile || row.Priority != DefaultPriority || row.MaxAttempts != 3 || !row.AvailableAt.Equal(now) {
		t.Errorf("row is %+v", row)
	}
	if s := row.Intent.Deed; s == nil || s.Isolation != "process" || s.AcceptEmptyOutput == nil || !*s.AcceptEmptyOutput {
		t.Errorf("spec is %+v, want the type's part merged in", row.Intent.Deed)
	}
	row, err = a.Prepare(intent(func(in *agentruntime.TaskIntent) { in.RequestedProfileID = "careful" }), Caller{})
	if err != nil || row.AdapterID != "other" || row.Model != "m9" {
		t.Errorf("with a profile: %+v, %v, want its adapter and model", row, err)
	}
	row, err = a.Prepare(intent(func(in *agentruntime.TaskIntent) {
		in.RequestedProfileID, in.RequestedAdapterID, in.RequestedModel = "careful", "usual", "mine"
	}), Caller{})
	if err != nil || row.AdapterID != "usual" || row.Model != "mine" {
		t.Errorf("with explicit wishes: %+v, %v", row, err)
	}
}

// The configured containment holds for a task that asks for none, and nothing that an agent asks for is contained less
// than the agent itself.
func TestContainment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		configured, asked string
		by                Caller
		want              string
	}{
		{"", "", Caller{}, "process"},
		{"namespace", "", Caller{}, "namespace"},
		{"namespace", "", Caller{Trusted: true}, "namespace"},
		{"namespace", "process", Caller{Trusted: true}, "process"},
		{"none", "", Caller{}, "none"},
		{"", "", Caller{Depth: 1, Isolation: "namespace"}, "namespace"},
		{"none", "", Caller{Depth: 1, Isolation: "namespace"}, "namespace"},
		{"namespace", "", Caller{Depth: 1, Isolation: "none"}, "namespace"},
		{"namespace", "", Caller{Depth: 1, Isolation: "container"}, "container"},
	} {
		text := settings
		if c.configured != "" {
			text = strings.Replace(text, "adapter_id: usual}", "adapter_id: usual, isolation: "+c.configured+"}", 1)
		}
		in := intent(nil)
		if c.asked != "" {
			in.Deed = &deed.TaskSpec{Isolation: c.asked}
		}
		row, err := admission(t, text).Prepare(in, c.by)
		if err != nil {
			t.Fatal(err)
		}
		if got := row.Intent.Deed.Isolation; got != c.want {
			t.Errorf("configured %q, asked for %q by %+v: %q, want %q", c.configured, c.asked, c.by, got, c.want)
		}
	}
}

// An agent is isolated unless the operator says otherwise; a script does what its author wrote.
func TestAgentsAreContainedByDefault(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		agentruntime.KindScript: "process", agentruntime.KindOllamaGenerate: "process", agentruntime.KindCodex: "namespace",
		agentruntime.KindClaudeCode: "namespace", agentruntime.KindNative: "namespace", agentruntime.KindCommand: "namespace", agentruntime.KindACP: "namespace", agentruntime.KindPackaged: "namespace",
	} {
		if got := DefaultIsolation(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// A type's checks and protections hold for every task of it; what the task adds is added.
func TestATypeIsMergedAndPinned(t *testing.T) {
	t.Parallel()
	a := admission(t, settings)
	row, err := a.Prepare(agentruntime.TaskIntent{
		TaskType: "strict", Source: "t", Payload: json.RawMessage(`{"n": 1}`),
		Deed: &deed.TaskSpec{ProtectedPaths: []string{"ci/**"}, Checks: []deed.Check{{Shell: "make test"}}, MaxAttempts: 2},
	}, Caller{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	s, e := row.Intent.Deed, row.Intent.EvidenceRequirements
	if len(s.ProtectedPaths) != 2 || len(s.Checks) != 2 || s.Checks[0].Shell != "make lint" || !*s.RequireChanges || !s.RequireArtifacts || row.MaxAttempts != 2 {
		t.Errorf("spec is %+v", s)
	}
	if e == nil || !e.RequireAdapterAudit || !e.RequireFileChangeVerification {
		t.Errorf("evidence requirements are %+v", e)
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	a := admission(t, settings)
	row, err := a.Prepare(intent(func(in *agentruntime.TaskIntent) { in.Schedule = &agentruntime.RelativeSchedule{DelayMinutes: 1.5} }), Caller{})
	if err != nil || !row.AvailableAt.Equal(now.Add(90*time.Second)) {
		t.Errorf("a delay: %v, %v", row.AvailableAt, err)
	}
	at := agentruntime.Timestamp("2026-03-05T00:00:00.25Z")
	row, err = a.Prepare(intent(func(in *agentruntime.TaskIntent) { in.AvailableAt = at }), Caller{Trusted: true})
	if err != nil || !row.AvailableAt.Equal(time.Date(2026, 3, 5, 0, 0, 0, 250_000_000, time.UTC)) {
		t.Errorf("an instant: %v, %v", row.AvailableAt, err)
	}
	if row.Intent.AvailableAt != "" || row.Intent.Schedule != nil {
		t.Error("the schedule is kept twice")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	a := admission(t, settings)
	yes, no := true, false
	own := json.RawMessage(`{"adapter_id": "x", "kind": "script", "command": "/bin/true", "timeout_ms": 1000}`)
	for _, c := range []struct {
		name string
		in   agentruntime.TaskIntent
		by   Caller
		path string // of a fault
		say  string
	}{
		{"unknown type", intent(func(in *agentruntime.TaskIntent) { in.TaskType = "nope" }), Caller{}, "$.task_type", "agent-task"},
		{"unknown adapter", intent(func(in *agentruntime.TaskIntent) { in.RequestedAdapterID = "nope" }), Caller{}, "$.requested_adapter_id", "usual"},
		{"adapter without a driver", intent(func(in *agentruntime.TaskIntent) { in.RequestedAdapterID = "robot" }), Caller{}, "$.requested_adapter_id", "codex"},
		{"unknown profile", intent(func(in *agentruntime.TaskIntent) { in.RequestedProfileID = "nope" }), Caller{}, "$.requested_profile_id", "careful"},
		{"a skill that does not resolve", intent(func(in *agentruntime.TaskIntent) { in.SkillIDs = []string{"s"} }), Caller{}, "$.skill_ids[0]", "s"},
		{"an instant from a stranger", intent(func(in *agentruntime.TaskIntent) { in.AvailableAt = "2027-01-01T00:00:00Z" }), Caller{}, "$.available_at", "delay_minutes"},
		{"an instant beyond ten years", intent(func(in *agentruntime.TaskIntent) { in.AvailableAt = "2099-01-01T00:00:00Z" }), Caller{Trusted: true}, "$.available_at", "ten years"},
		{"both schedules", intent(func(in *agentruntime.TaskIntent) {
			in.AvailableAt, in.Schedule = "2027-01-01T00:00:00Z", &agentruntime.RelativeSchedule{DelayMinutes: 1}
		}), Caller{Trusted: true}, "$", ""},
		{"a negative delay", intent(func(in *agentruntime.TaskIntent) { in.Schedule = &agentruntime.RelativeSchedule{DelayMinutes: -1} }), Caller{}, "$.schedule.delay_minutes", ""},
		{"no number", intent(func(in *agentruntime.TaskIntent) {
			in.Schedule = &agentruntime.RelativeSchedule{DelayMinutes: math.NaN()}
		}), Caller{}, "$.schedule.delay_minutes", ""},
		{"a stranger's own adapter", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Adapter: own} }), Caller{}, "$.requested_adapter_id", "operators only"},
		{"a stranger's budget", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Budget: &deed.Budget{Turns: 1}} }), Caller{}, "$.deed.budget", "operators only"},
		{"money that cannot be counted", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Budget: &deed.Budget{CostUSD: 1}} }), Caller{Trusted: true}, "$.deed.budget.cost_usd", "wall_seconds"},
		{"money of an adapter of its own", intent(func(in *agentruntime.TaskIntent) {
			in.Deed = &deed.TaskSpec{Budget: &deed.Budget{CostUSD: 1}, Adapter: json.RawMessage(`{"adapter_id": "a", "kind": "script", "command": "/bin/true", "timeout_ms": 1}`)}
		}), Caller{Trusted: true}, "$.deed.budget.cost_usd", "script"},
		{"a budget out of range", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Budget: &deed.Budget{Turns: -1}} }), Caller{Trusted: true}, "$.deed.budget.turns", "-1"},
		{"a stranger's secret", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{SecretEnv: []string{"TOKEN"}} }), Caller{}, "$.deed.secret_env", "operators only"},
		{"a stranger's directory", intent(func(in *agentruntime.TaskIntent) {
			in.Deed = &deed.TaskSpec{Workspace: &deed.Workspace{Source: "/etc"}}
		}), Caller{}, "$.deed.workspace", "operators only"},
		{"a stranger's command", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Checks: []deed.Check{{Shell: "true"}}} }), Caller{}, "$.deed.checks", "operators only"},
		{"a stranger's containment", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Isolation: "none"} }), Caller{}, "$.deed.isolation", "operators only"},
		{"a stranger's own idea of a result", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{AcceptEmptyOutput: &yes} }), Caller{}, "$.deed.accept_empty_output", "operators only"},
		{"a grade that no check can prove", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{RequireGrade: deed.GradeFixed} }), Caller{Trusted: true}, "$.deed.require_grade", "give a check"},
		{"a grade that only advice would prove", intent(func(in *agentruntime.TaskIntent) {
			in.Deed = &deed.TaskSpec{RequireGrade: deed.GradePassing, Checks: []deed.Check{{Shell: "true", Advisory: true}}}
		}), Caller{Trusted: true}, "$.deed.require_grade", "give a check"},
		{"a stranger's secrets", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{AllowSecrets: []string{"**"}} }), Caller{}, "$.deed.allow_secrets", "operators only"},
		{"a stranger's work that changes nothing", intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{RequireChanges: &no} }), Caller{}, "$.deed.require_changes", "operators only"},
		{"a chain without end", intent(nil), Caller{Depth: 17}, "$.deed.depth", "follow-up"},
		{"too long a text", intent(func(in *agentruntime.TaskIntent) { in.Description = strings.Repeat("x", 2<<20) }), Caller{Trusted: true}, "$.description", "bytes"},
		{"payload against its schema", agentruntime.TaskIntent{TaskType: "strict", Source: "t", Payload: json.RawMessage(`{"n": "one"}`)}, Caller{}, "$.payload", ""},
		{"payload is no object", intent(func(in *agentruntime.TaskIntent) { in.Payload = json.RawMessage(`[]`) }), Caller{}, "$.payload", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := a.Prepare(c.in, c.by)
			faults := fault.Of(err)
			if len(faults) == 0 {
				t.Fatalf("Prepare: %v, want faults", err)
			}
			ok := false
			for _, f := range faults {
				ok = ok || strings.HasPrefix(f.Path, c.path) && strings.Contains(f.String(), c.say)
			}
			if !ok {
				t.Errorf("faults %v, want one at %s that says %q", faults, c.path, c.say)
			}
		})
	}
	n, err := a.Store.Counts(t.Context())
	if err != nil || n[agentruntime.TaskPending] != 0 {
		t.Errorf("refused intents left %v, %v", n, err)
	}
	if _, err := a.Prepare(intent(func(in *agentruntime.TaskIntent) { in.Deed = &deed.TaskSpec{Adapter: own} }), Caller{Trusted: true}); err != nil {
		t.Errorf("an operator's own adapter: %v", err)
	}
}

// Either all of a batch is queued or none.
func TestABatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	a := admission(t, settings)
	if _, err := a.Add(t.Context(), Caller{}, intent(nil), intent(func(in *agentruntime.TaskIntent) { in.TaskType = "nope" })); err == nil || !strings.Contains(err.Error(), "intent 2 of 2") {
		t.Errorf("Add: %v, want an error that names the second", err)
	}
	out, err := a.Add(t.Context(), Caller{}, intent(nil), intent(nil))
	if err != nil || len(out) != 2 {
		t.Fatalf("Add: %v, %v", out, err)
	}
	n, err := a.Store.Counts(t.Context())
	if err != nil || n[agentruntime.TaskPending] != 2 {
		t.Errorf("counts are %v, %v, want 2 pending", n, err)
	}
}

// An adapter from a project's file travels with the task: the dispatcher may not see that file.
func TestAProjectAdapterTravels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeConfig(t, dir, settings)
	cfg, err := config.Load(config.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	a := &Admission{Config: cfg, Clock: func() time.Time { return now }, Drivers: driver.NewSet(script.New())}
	row, err := a.Prepare(intent(nil), Caller{})
	if err != nil || !strings.Contains(string(row.Intent.Deed.Adapter), "/bin/true") {
		t.Errorf("the task carries %s, %v", row.Intent.Deed.Adapter, err)
	}
}

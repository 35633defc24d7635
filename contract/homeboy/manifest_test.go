package homeboy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

// minimal is the least that can be used.
const minimal = `{"schema":"homeboy/agent-runtime-manifest/v1","id":"tiny","agent_task_executors":[{"id":"tiny.run","backend":"tiny","command":"sh {{runtime_path}}/run.sh"}]}`

func TestMinimalManifestIsUsableAndLintsWhatItLacks(t *testing.T) {
	t.Parallel()
	m, warnings, err := ReadManifest([]byte(minimal))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if err := m.Validate(); err != nil {
		t.Errorf("a string command is refused: %v", err) // case 3
	}
	p := m.AgentTaskExecutors[0]
	if p.Schema != SchemaProvider || p.RequestSchema != SchemaRequest || p.OutcomeSchema != SchemaOutcome { // case 1
		t.Errorf("the schema ids were not filled in: %q %q %q", p.Schema, p.RequestSchema, p.OutcomeSchema)
	}
	var paths []string
	for _, f := range m.Lint() {
		paths = append(paths, strings.TrimPrefix(f.Path, "$.agent_task_executors[0]."))
		if f.Code != fault.MissingField || f.Remedy == "" {
			t.Errorf("a finding is not whole: %+v", f)
		}
	}
	want := []string{
		"$.name", "$.version", "$.description", "label", "request_required_fields", "outcome_statuses", "failure_classifications",
		"redacted_metadata_keys", "capabilities", "runner_readiness", "role_aliases", "workspace_materialization",
		"secret_requirements", "secret_env_requirements", "provider_defaults", "diagnostics", "status", "integration_contract",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

func TestUnusableManifestsNameEveryFault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"empty": {`{}`, []string{"$.schema", "$.id", "$.agent_task_executors"}}, // case 13
		"provider": {
			`{"schema":"homeboy/agent-runtime-manifest/v1","id":"x","agent_task_executors":[{}, {"id":"a","backend":"b","command":"c","outcome_schema":"other/v9"},{"id":"a","backend":"b","command":"c"}]}`,
			[]string{"$.agent_task_executors[0].id", "$.agent_task_executors[0].backend", "$.agent_task_executors[0].command", "$.agent_task_executors[1].outcome_schema", "$.agent_task_executors[2].id"},
		},
		"schema": {strings.Replace(minimal, "manifest/v1", "manifest/v9", 1), []string{"$.schema"}},
		"patterns": {strings.Replace(minimal, `"backend"`, `"immediate_failure_patterns":[{"error_ref_pattern":"("},{"error_ref_pattern":"a*"},{"error_ref_pattern":"`+strings.Repeat("a", 513)+`"},{"error_ref_pattern":"ref: (\\w+)"}],"backend"`, 1), // case 10
			[]string{"$.agent_task_executors[0].immediate_failure_patterns[0].error_ref_pattern", "$.agent_task_executors[0].immediate_failure_patterns[1].error_ref_pattern", "$.agent_task_executors[0].immediate_failure_patterns[2].error_ref_pattern"}},
	} {
		m, _, err := ReadManifest([]byte(tc.text))
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, f := range fault.Of(m.Validate()) {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestManifestThatIsNoObjectIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "null", `"x"`, "{", minimal + "{}", minimal + "\nlog line"} { // case 11
		if m, _, err := ReadManifest([]byte(text)); err == nil || fault.Of(err) == nil {
			t.Errorf("%q was read as %+v, %v", text, m, err)
		}
	}
}

// Both forms of an argv are read, and the invocation counts.
func TestCommandForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct { // case 2
		members string
		want    []string
	}{
		{`"command":"sh run"`, nil},
		{`"argv":["a","b c"]`, []string{"a", "b c"}},
		{`"command_argv":["c"],"argv":["a"]`, []string{"c"}},
		{`"command_argv":["c"],"invocation":{"argv":["i"]}`, []string{"i"}},
		{`"command_argv":["c"],"invocation":{}`, []string{"c"}},
		{`"invocation":{"command":"node","args":["x"]}`, []string{"node", "x"}},
		{`"invocation":["node","y"]`, []string{"node", "y"}},
	} {
		p, _, err := ReadProvider([]byte(`{"id":"x","backend":"b",` + tc.members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Argv(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.members, got, tc.want)
		}
	}
}

// A broken part is told with its place, and the rest of the package stays (case 12).
func TestBrokenPartsAreToldAndTheRestStays(t *testing.T) {
	t.Parallel()
	m, warnings, err := ReadManifest([]byte(`{"schema":"homeboy/agent-runtime-manifest/v1","id":"x","version":2,"agent_task_executors":[
		"nonsense", null, {"id":"good","backend":"b","command":"c","capabilities":{"a":1},"secret_requirements":["TOKEN",{"env":"OTHER"}],
		"runtime_execution_contracts":{"bundle":"runtime_bundle_ability"},"secret_env_requirements":[["A","B"]],
		"provider_defaults":{"codex":{"secret_env_sources":{"T":{"kind":"env","name":"U"}}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.AgentTaskExecutors) != 1 || m.Version != "2" {
		t.Fatalf("%+v", m)
	}
	p := m.AgentTaskExecutors[0]
	if got := p.SecretRequirements[0].Names(); !slices.Equal(got, []string{"TOKEN"}) {
		t.Errorf("secret names %q", got)
	}
	if got := p.SecretRequirements[1].Names(); !slices.Equal(got, []string{"OTHER"}) {
		t.Errorf("secret names %q", got)
	}
	if p.RuntimeExecutionContracts["bundle"].AbilityField != "runtime_bundle_ability" || !slices.Equal(p.SecretEnvRequirements[0].Env, []string{"A", "B"}) {
		t.Errorf("%+v", p)
	}
	if p.ProviderDefaults["codex"].SecretEnvSources["T"].Source != SecretFromEnv {
		t.Errorf("%+v", p.ProviderDefaults)
	}
	var told []string
	for _, w := range warnings {
		told = append(told, w.Code+" "+w.Path)
	}
	want := []string{
		"dropped $.agent_task_executors[0]", "dropped $.agent_task_executors[1]", "dropped $.agent_task_executors[2].capabilities",
		"alias $.agent_task_executors[2].provider_defaults.codex.secret_env_sources.T.kind",
		"form $.agent_task_executors[2].runtime_execution_contracts.bundle", "form $.agent_task_executors[2].secret_env_requirements[0]",
		"form $.agent_task_executors[2].secret_requirements[0]", "form $.version",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// Secrets are asked for in several spellings, and all of them count.
func TestSpellingsOfSecrets(t *testing.T) {
	t.Parallel()
	m, warnings, err := ReadManifest([]byte(strings.Replace(minimal, `"backend"`, `"secret_requirements":[{"secretEnv":["A"]}],
		"secret_env_requirements":[{"secret_env":"B","secretEnvSources":{"B":{"kind":"env","name":"X"}}}],
		"provider_defaults":{"ai":{"secretEnv":"C","requiredSecretEnv":["D"],"optionalSecretEnv":"E","credentialSources":{"C":{"source":{"kind":"json-file","path":"~/a.json","field":"t"},"value":"v"}}},
		"other":{"secret_env":"F","secretEnv":"not","credential_sources":{"F":{"source":"env","env_var":"Y"}}}},"backend"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	p := m.AgentTaskExecutors[0]
	ai, other := p.ProviderDefaults["ai"], p.ProviderDefaults["other"]
	got := slices.Concat(p.SecretRequirements[0].Names(), p.SecretEnvRequirements[0].Env, ai.SecretEnv, ai.RequiredSecretEnv, ai.OptionalSecretEnv, other.SecretEnv)
	if want := []string{"A", "B", "C", "D", "E", "F"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if s := p.SecretEnvRequirements[0].SecretEnvSources["B"]; s.Source != SecretFromEnv || s.Name != "X" {
		t.Errorf("%+v", s)
	}
	if s := ai.SecretEnvSources["C"]; s.Source != SecretFromJSONFile || s.Path != "~/a.json" || s.Field != "t" || s.Value == nil || *s.Value != "v" {
		t.Errorf("%+v", s)
	}
	if s := other.SecretEnvSources["F"]; s.Source != SecretFromEnv || s.EnvVar != "Y" || other.Extra["secretEnv"] == nil {
		t.Errorf("%+v %v", s, other.Extra)
	}
	var told []string
	for _, w := range warnings {
		told = append(told, w.Code+" "+w.Path[strings.LastIndex(w.Path, ".")+1:])
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{
		"alias credentialSources", "alias credential_sources", "alias kind", "alias kind", "alias optionalSecretEnv", "alias requiredSecretEnv", "alias secretEnv", "alias secretEnv",
		"alias secretEnvSources", "alias secret_env", "form source",
	}, told); diff != "" {
		t.Error(diff)
	}
	stable(t, m, func(text []byte) (RuntimeManifest, error) {
		again, warnings, err := ReadManifest(text)
		for _, w := range warnings {
			t.Errorf("what deed wrote is repaired: %s", w)
		}
		return again, err
	})
}

// What a runtime adds for itself comes back as it was, at every depth (case 4), and words that the contract does not
// have are kept (case 5) and only linted. A reference that can move loads, with a finding (case 14).
func TestUnknownMembersAndWordsSurvive(t *testing.T) {
	t.Parallel()
	text := `{"schema":"homeboy/agent-runtime-manifest/v1","id":"x","agent_task_executors":[{"id":"p","backend":"b","command":"c",` +
		`"capabilities":[],"workspace_materialization":{"cwd":"orbit","write_scope":"moon","odd":[1.50],"apply_back":{"strategy":"teleport","x":1}},"config_preflights":{"n":1e3}}],` +
		`"materialization":{"source_roots":[{"git_ref":"main","z":null}]},"agent_loop":{"deep":{"a":"<b>"}},"tool_profiles":[]}`
	m, warnings, err := ReadManifest([]byte(text))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	m.AgentTaskExecutors[0].Schema, m.AgentTaskExecutors[0].RequestSchema, m.AgentTaskExecutors[0].OutcomeSchema = "", "", ""
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(generic(t, []byte(text)), generic(t, out)); diff != "" {
		t.Error(diff)
	}
	var linted []string
	for _, f := range m.Lint() {
		if f.Code != fault.MissingField {
			linted = append(linted, f.Path)
		}
	}
	want := []string{"$.agent_task_executors[0].workspace_materialization.cwd", "$.agent_task_executors[0].workspace_materialization.write_scope", "$.materialization.source_roots[0].git_ref"}
	if diff := cmp.Diff(want, linted); diff != "" {
		t.Error(diff)
	}
}

func TestNeedsGit(t *testing.T) {
	t.Parallel()
	yes := true
	for _, tc := range []struct {
		w    *WorkspaceMaterialization
		want bool
	}{
		{nil, false},
		{&WorkspaceMaterialization{Cwd: CwdRequestWorkspace}, false},
		{&WorkspaceMaterialization{Cwd: CwdGitCheckout}, true},
		{&WorkspaceMaterialization{RequiresGit: &yes}, true},
		{&WorkspaceMaterialization{ApplyBack: &ApplyBack{RequiresGitCheckout: &yes}}, true},
	} {
		if got := tc.w.NeedsGit(); got != tc.want {
			t.Errorf("%+v: %v", tc.w, got)
		}
	}
}

func FuzzReadManifest(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(`{"agent_task_executors":{"id":3},"requires":[],"materialization":{"source_roots":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := ReadManifest(data)
		if err != nil {
			return
		}
		_ = m.Validate()
		_ = m.Lint()
		stable(t, m, func(text []byte) (RuntimeManifest, error) {
			again, warnings, err := ReadManifest(text)
			for _, w := range warnings {
				t.Errorf("what deed wrote is repaired: %s\n%s", w, text)
			}
			return again, err
		})
	})
}

// stable demands that what is written is canonical: it is read again without repairs, and written the same.
func stable[T any](t *testing.T, v T, read func([]byte) (T, error)) {
	t.Helper()
	once, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	again, err := read(once)
	if err != nil {
		t.Fatalf("read again: %v\n%s", err, once)
	}
	twice, err := json.Marshal(again)
	if err != nil || string(once) != string(twice) {
		t.Fatalf("the round trip is not stable: %v\n%s\n%s", err, once, twice)
	}
}

// generic reads JSON with its numbers as they are written.
func generic(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

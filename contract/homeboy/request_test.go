package homeboy

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

// The least that every package in the wild accepts.
const leastRequest = `{"schema":"homeboy/agent-task-request/v1","task_id":"t1","executor":{"backend":"fake-runtime","config":{}},"instructions":"Say hello","limits":{"timeout_ms":60000}}`

func TestLeastRequestIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	q, warnings, err := ReadRequest([]byte(leastRequest))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if err := q.Validate(); err != nil {
		t.Error(err)
	}
	out, err := json.Marshal(q)
	if err != nil || string(out) != leastRequest {
		t.Errorf("%s, %v", out, err)
	}
}

// What providers rely on is always written: the schema, and config as an object.
func TestRequestIsFilledIn(t *testing.T) {
	t.Parallel()
	q, warnings, err := ReadRequest([]byte(`{"task_id":"t1","executor":{"backend":"b"},"instructions":"x","inputs":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"missing $.schema"}, told(warnings)); diff != "" {
		t.Error(diff)
	}
	out, err := json.Marshal(q)
	if want := `{"schema":"homeboy/agent-task-request/v1","task_id":"t1","executor":{"backend":"b","config":{}},"instructions":"x","inputs":null}`; err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
}

func TestRequestDialects(t *testing.T) {
	t.Parallel()
	q, warnings, err := ReadRequest([]byte(`{"schema":"homeboy/agent-task-request/v1","task_id":7,
		"executor":{"backend":"b","runtime":{"backend":"x","selector":"p","provider":"openai","runtime_id":"r","odd":1},"config":[]},
		"instructions":"x","source_refs":[{"kind":"git","url":"u"}],"policy":{"toolPolicy":{"default_location":"runner"}},
		"limits":{"taskTimeoutSeconds":0.5,"max_output_bytes":1e6},"expected_artifacts":"patch","artifact_declarations":["report"],"workspace_path":"/w"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"alias $.executor.runtime", "alias $.executor.runtime_selection.backend", "alias $.executor.runtime_selection.provider",
		"alias $.executor.runtime_selection.selector", "alias $.limits.taskTimeoutSeconds", "alias $.policy.toolPolicy", "alias $.source_refs[0].url",
		"dropped $.executor.config", "form $.artifact_declarations[0]", "form $.expected_artifacts", "form $.limits.max_output_bytes",
		"form $.limits.task_timeout_seconds", "form $.task_id",
	}
	if diff := cmp.Diff(want, told(warnings)); diff != "" {
		t.Error(diff)
	}
	if err := q.Validate(); err != nil {
		t.Error(err)
	}
	out, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	canonical := `{"schema":"homeboy/agent-task-request/v1","task_id":"7","executor":{"backend":"b","runtime_selection":{"runtime_id":"r","executor_backend":"x","executor_provider_id":"p","ai_provider_id":"openai","odd":1},"config":{}},` +
		`"instructions":"x","source_refs":[{"kind":"git","uri":"u"}],"policy":{"tools":{"default_location":"runner"}},"limits":{"max_output_bytes":1000000,"task_timeout_seconds":1},` +
		`"expected_artifacts":["patch"],"artifact_declarations":[{"name":"report"}],"workspace_path":"/w"}`
	if string(out) != canonical {
		t.Errorf("written as\n%s\nwant\n%s", out, canonical)
	}
}

func TestRuntimeAsStringStays(t *testing.T) {
	t.Parallel()
	q, warnings, err := ReadRequest([]byte(`{"schema":"homeboy/agent-task-request/v1","task_id":"t","executor":{"backend":"b","runtime":"codex"},"instructions":"x"}`))
	if err != nil || len(warnings) > 0 || q.Executor.Runtime != "codex" || q.Executor.RuntimeSelection != nil {
		t.Errorf("%+v %v %v", q.Executor, warnings, err)
	}
}

func TestRequestFaultsAreAllNamed(t *testing.T) {
	t.Parallel()
	q, _, err := ReadRequest([]byte(`{"schema":"other","executor":{"secret_env":["A B"],"config":{"inherit_env":true}},"source_refs":[{}],
		"workspace":{"mode":"existing","kind":"component-worktree"},"policy":{"tools":{"default_location":"moon","commands":{"mode":"maybe","deny":[{}]}}},
		"limits":{"timeout_ms":-1},"artifact_declarations":[{"name":"a","path":"../x"},{"name":"a"}],"output_declarations":[{"name":"o"}],"inputs":[1],
		"runtime_tools":[{"id":"t","transport":"tcp","required_capabilities":["c"]}],"artifacts_path":"rel"}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fault.Of(q.Validate()) {
		got = append(got, f.Path)
	}
	want := []string{
		"$.schema", "$.task_id", "$.executor.backend", "$.executor.secret_env[0]", "$.executor.config.inherit_env", "$.instructions",
		"$.source_refs[0].kind", "$.source_refs[0].uri", "$.workspace.root", "$.workspace.component_id", "$.workspace.branch",
		"$.policy.tools.default_location", "$.policy.tools.commands.mode", "$.policy.tools.commands.deny[0].pattern", "$.limits.timeout_ms",
		"$.artifact_declarations[0].path", "$.artifact_declarations[1].name", "$.output_declarations[0].schema", "$.inputs",
		"$.runtime_tools[0].transport", "$.runtime_tools[0].command", "$.runtime_tools[0].readiness.capability_probe", "$.artifacts_path",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeclarationsAreCanonical(t *testing.T) {
	t.Parallel()
	q := Request{
		ArtifactDeclarations: []ArtifactDeclaration{{Name: " a "}, {Name: ""}, {Name: "a", Required: true}, {Name: "b"}},
		ExpectedArtifacts:    []string{"b", " c", "  ", "c"},
	}
	want := []ArtifactDeclaration{{Name: "a"}, {Name: "b"}, {Name: "c", Required: true}}
	if diff := cmp.Diff(want, q.Declarations()); diff != "" {
		t.Error(diff)
	}
}

func TestWallClock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		l    *Limits
		want int64
	}{
		{nil, 1_200_000},
		{&Limits{}, 1_200_000},
		{&Limits{TimeoutMS: 5, MaxRuntimeMS: 6}, 5},
		{&Limits{MaxRuntimeMS: 6, TaskTimeoutSeconds: 9}, 6},
		{&Limits{TaskTimeoutSeconds: 9}, 9000},
		{&Limits{TaskTimeoutSeconds: 1 << 60}, 1_200_000},
	} {
		if got := tc.l.WallClockMS(); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.l, got, tc.want)
		}
	}
}

// encoding/json takes canonical names only, as they are written.
func TestStrictReadingKeepsOtherSpellings(t *testing.T) {
	t.Parallel()
	var d Diagnostic
	if err := json.Unmarshal([]byte(`{"Class":"x","classification":"y","message":"m"}`), &d); err != nil {
		t.Fatal(err)
	}
	if d.Class != "" || !slices.Equal([]string{string(d.Extra["Class"]), string(d.Extra["classification"])}, []string{`"x"`, `"y"`}) {
		t.Errorf("%+v", d)
	}
	if err := json.Unmarshal([]byte(`{"message":5}`), &d); err == nil {
		t.Error("a number was taken as a message")
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(leastRequest))
	f.Add([]byte(`{"executor":{"runtime":{"selector":1}},"limits":{"taskTimeoutSeconds":0.1},"runtime_tools":{"command":"x"},"component_contracts":[{"path":"p"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, _, err := ReadRequest(data)
		if err != nil {
			return
		}
		_ = q.Validate()
		_ = q.Declarations()
		stable(t, q, func(text []byte) (Request, error) {
			again, warnings, err := ReadRequest(text)
			for _, w := range warnings {
				t.Errorf("what deed wrote is repaired: %s\n%s", w, text)
			}
			return again, err
		})
	})
}

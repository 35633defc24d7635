package boundary

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
)

var update = flag.Bool("update", false, "write the expected faults")

func TestReadSeed(t *testing.T) {
	t.Parallel()
	r := seed(t)
	if r.Version != 1 || r.Agent != "wp-codebox-sandbox" || r.Mode != "sandbox" || r.RuntimeEnv["WP_AGENT_RUNTIME"] != "1" || r.MaxTurns != 8 || r.TaskTimeoutSeconds != 3600 {
		t.Errorf("%s", mustJSON(r))
	}
	if len(r.ComponentContracts) != 3 || r.ComponentContracts[0].LoadAs != codebox.LoadMUPlugin || r.Workspaces[0].Target != "/wordpress/wp-content/plugins/example" {
		t.Errorf("%s", mustJSON(r))
	}
	if err := schema.Validate(codebox.SchemaTaskInput, mustJSON(TaskInput(r))); err != nil {
		t.Error(err)
	}
}

// Each file of near-misses.txtar changes members of the seed's request (null takes one away) and lists the faults.
func TestNearMisses(t *testing.T) {
	t.Parallel()
	const file = "testdata/near-misses.txtar"
	text, err := os.ReadFile("testdata/seed.json")
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range a.Files {
		want[f.Name] = string(f.Data)
	}
	out := txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		name, ok := strings.CutSuffix(f.Name, ".json")
		if !ok {
			continue
		}
		var request, change map[string]json.RawMessage
		if err := json.Unmarshal(text, &request); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(f.Data, &change); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		maps.Copy(request, change)
		maps.DeleteFunc(request, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
		_, err := Read(mustJSON(request))
		var b strings.Builder
		for _, f := range fault.Of(err) {
			fmt.Fprintf(&b, "%s %s\n", f.Code, f)
		}
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
		if strings.Contains(b.String(), "SECRET") || codebox.LooksLikeCredential(b.String()) {
			t.Errorf("%s repeats a secret:\n%s", name, &b)
		}
		if diff := cmp.Diff(want[name+".faults"], b.String()); diff != "" && !*update {
			t.Errorf("%s:\n%s", name, diff)
		}
		out.Files = append(out.Files, f, txtar.File{Name: name + ".faults", Data: []byte(b.String())})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(&out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadNormalises(t *testing.T) {
	t.Parallel()
	r, err := Read([]byte(`{
		"schema": "wp-codebox/agent-task-run-request/v1", "task_id": "t-1", "artifacts_path": "/out", "callback_data": {"n": 1.0},
		"task_input": {
			"schema": "wp-codebox/task-input/v1", "goal": "  fix it\n", "allowed_tools": ["a", "b", "a "], "code": "", "sandbox_tool_policy": {},
			"structured_artifacts": [{"name": "n", "type": "t", "artifactSchema": "x/v1"}],
			"agent_bundle": {"source": "/b1"}, "agent_bundles": [{"bundle": {}, "import_principal": {"agent_id": "12"}}],
			"stagedFiles": [{"source": "/f", "target": "/workspace/f"}],
			"runtimeEnv": {"A": "request", "B": "request"},
			"runtimeProfile": {"env": {"A": "profile", "C": "profile"}, "mu_plugins": [{"source": "/mu"}], "plugins": [{"path": "/pl"}],
				"component_contracts": [{"name": "first", "source": "/c1"}], "runtime_stack_mounts": [{"source": "/m1", "target": "/r/1"}]},
			"runtime_requirements": {"extra_plugins": [{"source": "/last"}]},
			"extra_plugins": [{"source": "/x", "activate": false}],
			"component_contracts": [{"slug": "second", "sourceRoot": "/mono", "sourceSubpath": "packages/c2", "plugin_file": "c2.php"}],
			"runtime_stack_mounts": [{"source": "/m2", "target": "/r/2"}], "runtimeStateMounts": [{"source": "/m3", "target": "/r/3"}],
			"workspaces": [{"seed": {"type": "directory", "source": "/srv/repo"}}], "mounts": [{"source": "/d", "target": "/d"}]
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	deny := codebox.DefaultDeny()
	want := codebox.TaskRequest{
		Schema: codebox.SchemaTaskInput, Version: 1, Goal: "fix it", AllowedTools: []string{"a", "b"}, SandboxToolPolicy: &deny,
		StructuredArtifacts: []evidence.StructuredArtifact{{
			Schema: evidence.SchemaStructuredArtifact, Name: "n", Type: "t", PayloadSchema: evidence.Value(`"x/v1"`), Metadata: json.RawMessage(`{}`),
			Provenance: &evidence.ArtifactProvenance{Direction: "input"},
		}},
		AgentBundles: []codebox.AgentBundle{
			{Source: "/b1", OnConflict: "upgrade"},
			{Bundle: json.RawMessage(`{}`), OnConflict: "upgrade", ImportPrincipal: &codebox.ImportPrincipal{AgentID: evidence.Value(`12`)}},
		},
		StagedFiles: []codebox.StagedFile{{Source: "/f", Target: "/workspace/f"}}, Agent: codebox.DefaultAgent, Mode: codebox.DefaultMode,
		RuntimeEnv: map[string]string{"A": "request", "B": "request", "C": "profile", "WP_AGENT_RUNTIME": "1"},
		ExtraPlugins: []codebox.PluginSource{
			{Source: "/mu", LoadAs: "mu-plugin", Activate: &yes},
			{Source: "/pl", LoadAs: "plugin", Activate: &yes},
			{Source: "/x", LoadAs: "plugin", Activate: &no},
			{Source: "/last", LoadAs: "plugin", Activate: &yes},
		},
		ComponentContracts: []codebox.ComponentContract{
			{Slug: "first", Path: "/c1", LoadAs: "mu-plugin"},
			{Slug: "second", Path: "/mono/packages/c2", SourceRoot: "/mono", SourceSubpath: "packages/c2", PluginFile: "c2.php", LoadAs: "mu-plugin"},
		},
		RuntimeStackMounts: []codebox.RequestMount{
			{Source: "/m1", Target: "/r/1", Mode: "readonly"}, {Source: "/m2", Target: "/r/2", Mode: "readonly"}, {Source: "/m3", Target: "/r/3", Mode: "readonly"},
		},
		Workspaces:       []codebox.RequestWorkspace{{Target: "/workspace/repo", Mode: "readwrite", SourceMode: "repo-backed", Seed: codebox.WorkspaceSeed{Type: "directory", Source: "/srv/repo"}}},
		Mounts:           []codebox.RequestMount{{Source: "/d", Target: "/d", Mode: "readwrite"}},
		SandboxSessionID: "t-1", ArtifactsPath: "/out", CallbackData: evidence.Value(`{"n": 1.0}`),
	}
	if diff := cmp.Diff(string(mustJSON(want)), string(mustJSON(r))); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead demands of any input: no panic, faults that are whole and repeat no credential, and of a request that is
// accepted, that its normal form is a valid request that reads as itself.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/seed.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, name := range []string{"agent-task-run-request", "task-input", "sandbox-tool-policy"} {
		a, err := txtar.ParseFile("../../../../contract/schema/testdata/wp-codebox." + name + ".v1.txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if strings.HasSuffix(file.Name, ".json") {
				f.Add(file.Data)
			}
		}
	}
	for _, s := range []string{`{}`, `[]`, `null`, `{"schema":"wp-codebox/task-input/v1","goal":"g"}x`, `{"sk-0123456789abcdefghij":1}`, "\xff", `{"goal":"a","goal":"b"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			fs := fault.Of(err)
			if len(fs) == 0 || codebox.LooksLikeCredential(err.Error()) {
				t.Fatalf("%d faults: %v", len(fs), err)
			}
			if slices.ContainsFunc(fs, func(f fault.Fault) bool { return !strings.HasPrefix(f.Path, "$") || f.Code == "" || f.Message == "" }) {
				t.Fatalf("half a fault: %+v", fs)
			}
			if env := Refusal(data, err, nil); env.Success || env.Schema != codebox.SchemaAgentTaskRun {
				t.Fatalf("no refusal: %s", mustJSON(env))
			}
			return
		}
		form, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(form)
		if err != nil {
			t.Fatalf("the normal form is refused: %v\n%s", err, form)
		}
		if twice := mustJSON(again); !bytes.Equal(form, twice) {
			t.Fatalf("the normal form is not stable:\n%s\n%s", form, twice)
		}
	})
}

package placement

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
)

// options are those of a machine with a sandbox, two adapters, and what else yaml says.
func options(t *testing.T, yaml string) Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "deed.yaml")
	text := yaml + `
adapters:
  fixer: {adapter_id: fixer, kind: script, command: /bin/true, timeout_ms: 1000}
  other: {adapter_id: other, kind: script, command: /bin/true, timeout_ms: 1000}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Explicit: file})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Config: cfg, Contained: true}
}

const (
	defaults  = "defaults: {adapter_id: other}"
	withPress = defaults + "\ncomponents: {wordpress: {archive: /srv/wp.zip}}"
)

func place(t *testing.T, o Options, request string) (Placed, error) {
	t.Helper()
	if request != "" {
		request = ", " + request
	}
	req, err := boundary.Read([]byte(`{"schema": "wp-codebox/task-input/v1", "goal": "g"` + request + `}`))
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return Place(req, o)
}

func stack(t *testing.T, p Placed) codebox.RuntimeStack {
	t.Helper()
	var s codebox.RuntimeStack
	if raw := p.Intent.Deed.Sandbox.Runtime; len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// The task of a request that says nothing: one attempt, contained, without network, bounded in time.
func TestDefaults(t *testing.T) {
	t.Parallel()
	p, err := place(t, options(t, defaults), "")
	if err != nil {
		t.Fatal(err)
	}
	d := p.Intent.Deed
	if d.Isolation != "namespace" || d.MaxAttempts != 1 || d.TimeoutSeconds != 0 || len(d.Sandbox.Network) != 0 ||
		d.Sandbox.ReadOnlyWorkspace || *d.RequireChanges || !*d.AcceptEmptyOutput || d.Sandbox.Env[codebox.EnvAgentRuntime] != "1" {
		t.Errorf("%+v %+v", d, d.Sandbox)
	}
	if p.Intent.RequestedAdapterID != "other" || len(p.Diagnostics) != 1 || p.Diagnostics[0].Class != "deed.default_agent" {
		t.Errorf("%+v", p)
	}
	if err := p.Intent.Validate(); err != nil {
		t.Error(err)
	}
}

func TestEveryFieldHasItsEffect(t *testing.T) {
	t.Parallel()
	o := options(t, withPress)
	for _, c := range []struct {
		name, request string
		ok            func(Placed) bool
	}{
		{"agent", `"agent": "fixer"`, func(p Placed) bool { return p.Intent.RequestedAdapterID == "fixer" && len(p.Diagnostics) == 0 }},
		{"model", `"model": "m"`, func(p Placed) bool { return p.Intent.RequestedModel == "m" }},
		{"goal", `"context": {"n": 9007199254740993}`, func(p Placed) bool {
			return p.Intent.Description == "g" && strings.Contains(string(p.Intent.Payload), "9007199254740993")
		}},
		{"timeout and turns", `"task_timeout_seconds": 7, "max_turns": 3`, func(p Placed) bool { return p.Intent.Deed.TimeoutSeconds == 7 && p.Intent.Deed.MaxTurns == 3 }},
		{"secrets", `"secret_env": ["API_KEY"]`, func(p Placed) bool { return slices.Equal(p.Intent.Deed.SecretEnv, []string{"API_KEY"}) }},
		{"environment", `"runtime_env": {"MODE": "x"}`, func(p Placed) bool {
			return p.Intent.Deed.Sandbox.Env["MODE"] == "x" && p.Intent.Deed.Sandbox.Env["WP_AGENT_RUNTIME"] == "1"
		}},
		{"a patch is wanted", `"expected_artifacts": ["patch", "report.md"]`, func(p Placed) bool {
			return *p.Intent.Deed.RequireChanges && slices.Equal(p.Intent.EvidenceRequirements.RequiredArtifacts, []string{"report.md"})
		}},
		{"a file without an ending", `"expected_artifacts": ["review", "out/report"]`, func(p Placed) bool {
			return slices.Equal(p.Intent.EvidenceRequirements.RequiredArtifacts, []string{"out/report"})
		}},
		{"read only", `"allowed_tools": ["workspace.read"]`, func(p Placed) bool {
			return p.Intent.Deed.Sandbox.ReadOnlyWorkspace && slices.Equal(p.Intent.Deed.ProtectedPaths, []string{"**"})
		}},
		{"decisions", `"allowed_tools": ["workspace.read"]`, func(p Placed) bool {
			return strings.Contains(string(p.Intent.Deed.Sandbox.Tools), `"held":"enforced"`)
		}},
		{"apply back", `"policy": {"applyBack": "disabled"}`, func(p Placed) bool { return p.Intent.Deed.ApplyBack == deed.ApplyBackDisabled }},
		{"hosts", `"policy": {"network": {"allow": ["api.example.com:443"]}}`, func(p Placed) bool {
			return slices.Equal(p.Intent.Deed.Sandbox.Network, []string{"api.example.com:443"})
		}},
		{"limits", `"policy": {"limits": {"memory_bytes": 8589934592, "processes": -1}}`, func(p Placed) bool {
			return *p.Intent.Deed.Sandbox.Limits == deed.Limits{MemoryBytes: 8 << 30, Processes: -1}
		}},
		{"no hosts in a word", `"policy": {"network": "deny"}`, func(p Placed) bool { return len(p.Intent.Deed.Sandbox.Network) == 0 }},
		{"session", `"sandbox_session_id": "s-1"`, func(p Placed) bool { return p.Intent.Subject == "s-1" }},
		{"checks", `"verify_steps": [{"command": "make", "args": ["test"], "timeout_seconds": 5}, {"name": "n", "shell": "x", "advisory": true}]`, func(p Placed) bool {
			return cmp.Equal(p.Intent.Deed.Checks, []deed.Check{
				{Name: "verify step 1", Command: []string{"make", "test"}, TimeoutSeconds: 5}, {Name: "n", Shell: "x", Advisory: true},
			})
		}},
		{"what a check judges by", `"verify_steps": [{"capability": "test", "inputs": ["*_test.go"], "on_changed_inputs": "refuse", "require_pass": true}, {"shell": "x", "hidden": true, "files": "/srv/hidden"}]`, func(p Placed) bool {
			yes := true
			return cmp.Equal(p.Intent.Deed.Checks, []deed.Check{
				{Name: "verify step 1", Capability: "test", Inputs: []string{"*_test.go"}, OnChangedInputs: "refuse", RequirePass: &yes},
				{Name: "verify step 2", Shell: "x", Hidden: true, Files: "/srv/hidden"},
			}) && !strings.Contains(string(p.Intent.Payload), "/srv/hidden")
		}},
		{"scope and protection", `"policy": {"scope": ["src/**"], "protect": ["src/*_test.go"]}`, func(p Placed) bool {
			return slices.Equal(p.Intent.Deed.WriteScope, []string{"src/**"}) && slices.Equal(p.Intent.Deed.ProtectedPaths, []string{"src/*_test.go"})
		}},
		{"protection beside what is read-only", `"policy": {"protect": ["a/x"]}, "workspaces": [{"target": "/a", "seed": {"type": "empty"}}, {"target": "/b", "mode": "readonly", "seed": {"type": "empty"}}]`, func(p Placed) bool {
			return slices.Equal(p.Intent.Deed.ProtectedPaths, []string{"a/x", "b/**"})
		}},
		{"tests are wanted", `"expected_artifacts": ["tests"], "verify_steps": [{"shell": "make test"}]`, func(p Placed) bool { return p.Intent.Deed.RequireTests }},
		{"no tests are wanted", `"expected_artifacts": ["patch"], "verify_steps": [{"shell": "make test"}]`, func(p Placed) bool { return !p.Intent.Deed.RequireTests }},
		{"wp", `"wp": "6.5"`, func(p Placed) bool { return stack(t, p).WordPress == "6.5" }},
		{"a plugin wants WordPress", `"workspaces": [{"seed": {"type": "plugin_scaffold", "slug": "x"}}]`, func(p Placed) bool {
			return stack(t, p).WordPress == "latest" && p.Intent.Deed.Workspaces[0].Target == codebox.PluginsRoot+"/x"
		}},
		{"components", `"component_contracts": [{"slug": "a", "path": "/srv/a"}], "runtime_stack_mounts": [{"source": "/srv/s", "target": "/runtime/s"}]`, func(p Placed) bool {
			s := stack(t, p)
			return len(s.ComponentContracts) == 1 && len(s.StackMounts) == 1 && s.WordPress == "latest"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := place(t, o, c.request)
			if err != nil {
				t.Fatal(err)
			}
			if !c.ok(p) {
				t.Errorf("%s: %+v\n%+v\n%s", c.request, p.Intent.Deed, p.Intent.Deed.Sandbox, p.Intent.Payload)
			}
		})
	}
}

// What the agent may write is a copy in the task's tree; what it may only read is never written to.
func TestWorkspacesAndMounts(t *testing.T) {
	t.Parallel()
	p, err := place(t, options(t, defaults), `
		"workspaces": [
			{"target": "/workspace/a", "seed": {"type": "git", "source": "/srv/a", "ref": "v1"}},
			{"target": "/workspace/[b]", "mode": "readonly", "seed": {"type": "directory", "source": "/srv/b", "excludePaths": ["tmp/*"]}}],
		"mounts": [
			{"source": "/srv/c", "target": "/c", "mode": "readwrite"}, {"source": "/srv/d.txt", "target": "/d.txt", "type": "file"},
			{"source": "/srv/e", "target": "/e", "mode": "readonly"}],
		"staged_files": [{"source": "/srv/f", "target": "/f"}]`)
	if err != nil {
		t.Fatal(err)
	}
	want := []deed.Workspace{
		{Type: "git", Source: "/srv/a", Ref: "v1", Target: "/workspace/a", Mode: "repo-backed"},
		{Type: "directory", Source: "/srv/b", Exclude: []string{"tmp/*"}, Target: "/workspace/[b]", Mode: "repo-backed", ReadOnly: true},
		{Type: "directory", Source: "/srv/c", Target: "/c"},
		{Type: "file", Source: "/srv/d.txt", Target: "/d.txt"},
	}
	if d := cmp.Diff(want, p.Intent.Deed.Workspaces); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]deed.Mount{{Source: "/srv/e", Target: "/e"}, {Source: "/srv/f", Target: "/f"}}, p.Intent.Deed.Sandbox.Mounts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`workspace/\[b]/**`}, p.Intent.Deed.ProtectedPaths); d != "" {
		t.Error(d)
	}
	if err := p.Intent.Validate(); err != nil {
		t.Error(err)
	}
}

// TestFilesAlone: a run starts in a directory outside of the files that it was given.
func TestFilesAlone(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{"/mnt/a": "/workspace", "/workspace/a": "/workspace-1", "/workspace": "/workspace-1"} {
		p, err := place(t, options(t, defaults), `"mounts": [{"source": "/srv/a", "target": "`+target+`", "type": "file"}]`)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]deed.Workspace{{Type: "file", Source: "/srv/a", Target: target}, {Type: "empty", Target: want}}, p.Intent.Deed.Workspaces); d != "" {
			t.Error(d)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	bare := options(t, "")
	o := options(t, defaults)
	for _, c := range []struct {
		name    string
		opt     Options
		request string
		path    string
	}{
		{"no adapter", bare, "", "$.agent"},
		{"unknown agent", o, `"agent": "nobody"`, "$.agent"},
		{"a conversation", o, `"session_id": "s"`, "$.session_id"},
		{"approvals", o, `"policy": {"approvals": "on-write"}`, "$.policy.approvals"},
		{"WordPress that is not there", o, `"wp": "6.5"`, "$.wp"},
		{"PHP without WordPress", o, `"verify_steps": [{"command": "wordpress.run-php", "args": ["code=1;"]}]`, "$.verify_steps[0].command"},
		{"PHP that is none", options(t, withPress), `"verify_steps": [{"command": "wordpress.run-php", "args": ["echo 1;"]}]`, "$.verify_steps[0].args"},
		{"a component to activate without WordPress", o, `"component_contracts": [{"slug": "a", "path": "/srv/a", "loadAs": "plugin", "activate": true}]`, "$.component_contracts[0].activate"},
		{"a component of a profile", o, `"runtime_profile": {"component_contracts": [{"slug": "a", "path": "/srv/a", "loadAs": "plugin", "activate": true}]}`, "$.runtime_profile.component_contracts[0].activate"},
		{"a token that is nobody's", o, `"secret_env": ["OTHER"], "agent_bundles": [{"source": "/srv/b"}, {"source": "/srv/c", "token_env": "IMPORT_TOKEN"}]`, "$.agent_bundles[1].token_env"},
		{"late mounts", o, `"mounts": [{"source": "/a", "target": "/a", "mode": "readonly", "phase": "post-install"}]`, "$.mounts[0].phase"},
		{"writes that are not evidence", o, `"mounts": [{"source": "/a", "target": "/a", "captureArtifacts": false}]`, "$.mounts[0].captureArtifacts"},
		{"dependency overlays", o, `"dependency_overlays": [{}]`, "$.dependency_overlays"},
		{"preloads", o, `"workspace_preloads": [{}]`, "$.workspace_preloads"},
		{"a bridge", o, `"parent_tool_bridge": {"x": 1}`, "$.parent_tool_bridge"},
		{"a place for copies", o, `"source_package_root": "/srv"`, "$.source_package_root"},
		{"a host that is none", o, `"policy": {"network": {"allow": ["https://x/"]}}`, "$.policy.network.allow[0]"},
		{"a misspelt list of hosts", o, `"policy": {"network": {"alow": ["a.example.com:443"]}}`, "$.policy.network.alow"},
		{"a scope that is no list", o, `"policy": {"scope": "src/**"}`, "$.policy.scope"},
		{"a scope that is no glob", o, `"policy": {"scope": ["src/**", "/abs"]}`, "$.policy.scope[1]"},
		{"nothing to protect", o, `"policy": {"protect": null}`, "$.policy.protect"},
		{"a glob that is none", o, `"verify_steps": [{"capability": "test", "inputs": ["/abs"]}]`, "$.verify_steps[0].inputs[0]"},
		{"hosts that are no list", o, `"policy": {"network": {"allow": "a.example.com:443"}}`, "$.policy.network.allow"},
		{"a limit that is none", o, `"policy": {"limits": {"memory": 1}}`, "$.policy.limits.memory"},
		{"too little memory", o, `"policy": {"limits": {"memory_bytes": 1024}}`, "$.policy.limits.memory_bytes"},
		{"limits that are no object", o, `"policy": {"limits": 7}`, "$.policy.limits"},
		{"a mount on deed's own", o, `"mounts": [{"source": "/srv/x", "target": "/run/deed/exchange", "mode": "readonly"}]`, "$.mounts[0].target"},
		{"a mount over deed's own", o, `"mounts": [{"source": "/srv/x", "target": "/run", "mode": "readonly"}]`, "$.mounts[0].target"},
		{"a copy on the agent's home", o, `"mounts": [{"source": "/srv/x", "target": "/home/agent"}]`, "$.mounts[0].target"},
		{"a mount over the agent's home", o, `"mounts": [{"source": "/srv/x", "target": "/home", "mode": "readonly"}]`, "$.mounts[0].target"},
		{"a mount on the temporary files", o, `"mounts": [{"source": "/srv/x", "target": "/tmp", "mode": "readonly"}]`, "$.mounts[0].target"},
		{"hosts without a tool", o, `"allowed_tools": ["workspace.read"], "policy": {"network": {"allow": ["a.example.com"]}}`, "$.policy.network.allow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := place(t, c.opt, c.request)
			fs := fault.Of(err)
			if len(fs) != 1 || fs[0].Path != c.path || fs[0].Remedy == "" && c.path != "$.policy.network.allow[0]" {
				t.Errorf("%v", err)
			}
		})
	}
}

// A request that only prefers a sandbox gets a notice when there is none; one that does not say so is not run
// without.
func TestIsolationIsNeverDegradedInSilence(t *testing.T) {
	t.Parallel()
	o := options(t, defaults)
	o.Contained = false
	for request, want := range map[string]string{"": "namespace", `"policy": {"sandbox": "required"}`: "namespace", `"policy": {"sandbox": "preferred"}`: "process"} {
		p, err := place(t, o, request)
		if err != nil {
			t.Fatal(err)
		}
		reported := slices.ContainsFunc(p.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == "deed.isolation_degraded" })
		if p.Intent.Deed.Isolation != want || reported != (want == "process") {
			t.Errorf("%s: %s, told: %v", request, p.Intent.Deed.Isolation, reported)
		}
		if slices.ContainsFunc(p.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == "deed.target_not_honoured" }) {
			t.Errorf("%s: targets are told of that nobody asked for", request)
		}
		if want == "process" && strings.Contains(string(p.Intent.Deed.Sandbox.Tools), `"workspace.write","allowed":true,"rule":"nothing-said","held":"enforced"`) {
			t.Error("isolation is claimed that is not there")
		}
	}
}

// Without a sandbox nothing is seen at a target: the answer says where the request's parts are, and what cannot be shown refuses it for want
// of a sandbox.
func TestWhatOnlyASandboxShows(t *testing.T) {
	t.Parallel()
	bare := options(t, defaults)
	bare.Contained = false
	const preferred = `"policy": {"sandbox": "preferred"}, `
	for request, want := range map[string]map[string]string{
		`"workspaces": [{"target": "/workspace/app", "seed": {"type": "empty"}}]`: {"$.workspaces[0].target": "at $DEED_WORKSPACE"},
		`"workspaces": [{"target": "/workspace/app", "seed": {"type": "empty"}}], "mounts": [{"source": "/srv/c", "target": "/data"}, {"source": "/srv/f", "target": "/srv/x/f", "type": "file"}]`: {
			"$.workspaces[0].target": "at $DEED_WORKSPACE", "$.mounts[0].target": "at $DEED_WORKSPACE/../../data", "$.mounts[1].target": "at $DEED_WORKSPACE/../../srv/x/f",
		},
	} {
		p, err := place(t, bare, preferred+request)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, d := range p.Diagnostics {
			if d.Class == "deed.target_not_honoured" {
				got[d.Path] = d.Message[strings.LastIndex(d.Message, "at "):]
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", request, d)
		}
		if p, err := place(t, options(t, defaults), preferred+request); err != nil || slices.ContainsFunc(p.Diagnostics, func(d evidence.Diagnostic) bool { return d.Class == "deed.target_not_honoured" }) {
			t.Errorf("with a sandbox: %v, %+v", err, p.Diagnostics)
		}
	}

	const mounts = `"mounts": [{"source": "/srv/a", "target": "/a", "mode": "readonly"}], "staged_files": [{"source": "/srv/f", "target": "/f"}]`
	_, err := place(t, bare, preferred+mounts)
	if fs := fault.Of(err); failure.ClassOf(err) != failure.Isolation || len(fs) != 2 || fs[0].Path != "$.mounts[0]" || fs[1].Path != "$.staged_files[0]" {
		t.Errorf("%v", err)
	}
	// With a fault of its own it is a faulty request, whatever the machine has.
	_, err = place(t, bare, preferred+mounts+`, "wp": "6.5"`)
	if fs := fault.Of(err); failure.ClassOf(err) == failure.Isolation || len(fs) != 3 {
		t.Errorf("%v", err)
	}
	press := options(t, withPress)
	press.Contained = false
	for path, request := range map[string]string{
		"$.wp": `"wp": "6.5"`, "$.component_contracts[0]": `"component_contracts": [{"slug": "a", "path": "/srv/a"}]`, "$.agent_bundles[0]": `"agent_bundles": [{"source": "/srv/b"}]`,
		"$.runtime_profile.plugins[0]": `"runtime_profile": {"plugins": [{"source": "/srv/c"}]}`, "$.runtime_stack_mounts[0]": `"runtime_stack_mounts": [{"source": "/srv/d", "target": "/runtime/d"}]`,
		"$.workspaces[0]": `"workspaces": [{"target": "/wordpress/wp-content/plugins/f", "seed": {"type": "empty"}}]`,
	} {
		_, err := place(t, press, preferred+request)
		if fs := fault.Of(err); failure.ClassOf(err) != failure.Isolation || len(fs) != 1 || fs[0].Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := place(t, bare, mounts); err != nil { // which asks for a sandbox, and gets the answer that there is none
		t.Error(err)
	}
}

// What only WordPress loads is there as files without it, which is reported where it was asked for. A token that is delivered is no
// fault.
func TestWithoutWordPress(t *testing.T) {
	t.Parallel()
	p, err := place(t, options(t, "defaults: {adapter_id: other}"), `
		"component_contracts": [{"slug": "a", "path": "/srv/a"}, {"slug": "b", "path": "/srv/b", "loadAs": "plugin", "activate": false}],
		"extra_plugins": [{"source": "/srv/c"}], "provider_plugin_paths": ["/srv/d"], "runtime_profile": {"mu_plugins": [{"source": "/srv/e"}]},
		"workspaces": [{"target": "/wordpress/wp-content/plugins/f", "seed": {"type": "empty"}}, {"target": "/workspace/g", "seed": {"type": "empty"}}],
		"secret_env": ["TOKEN"], "runtime_env": {"PLAIN": "1"}, "agent_bundles": [{"source": "/srv/x", "token_env": "TOKEN"}, {"source": "/srv/y", "token_env": "PLAIN"}]`)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range p.Diagnostics {
		if d.Class == "deed.no_wordpress" {
			paths = append(paths, d.Path)
		}
	}
	slices.Sort(paths)
	want := []string{"$.component_contracts[0]", "$.component_contracts[1]", "$.extra_plugins[0]", "$.provider_plugin_paths[0]", "$.runtime_profile.mu_plugins[0]", "$.workspaces[0]"}
	if d := cmp.Diff(want, paths); d != "" {
		t.Error(d)
	}
}

package codebox_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
)

func ask(change func(*codebox.TaskRequest)) codebox.TaskRequest {
	r := codebox.TaskRequest{Schema: codebox.SchemaTaskInput, Goal: "g"}
	change(&r)
	return r
}

func faults(err error) string {
	var out []string
	for _, f := range fault.Of(err) {
		out = append(out, f.Code+" "+f.Path)
	}
	return strings.Join(out, ", ")
}

// What stands where a name belongs must not come back in a message, whatever it is.
func TestSecretsAreNotRepeated(t *testing.T) {
	t.Parallel()
	tokens := []string{
		"sk-0123456789abcdefghij", "ghp_0123456789abcdefABCD", "github_pat_11AAAAAAA0123456789", "xoxb-123456789-abcdef",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "AKIAABCDEFGHIJKLMNOP", "ASIAABCDEFGHIJKLMNOP", "JBSWY3DPEHPK3PXPJBSWY3DP",
	}
	plain := []string{"hunter2", "KEY=value", strings.Repeat("A", 65), "", "1ABC", "a b"}
	for _, secret := range slices.Concat(tokens, plain) {
		r := ask(func(r *codebox.TaskRequest) { r.SecretEnv = []string{secret} })
		if got := faults(r.Validate()); got != "bad_format $.secret_env[0]" {
			t.Errorf("secret_env %q: %q", secret, got)
		} else if err := r.Validate(); secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("repeated: %v", err)
		}
	}
	for _, secret := range tokens[:7] {
		r := ask(func(r *codebox.TaskRequest) {
			r.RuntimeEnv = map[string]string{"TOKEN": "bearer " + secret, secret: "x"}
			r.VerifySteps = []codebox.VerifyStep{{Command: "x", Env: map[string]string{"T": secret}}}
			r.AgentBundles = []codebox.AgentBundle{{Source: "/a", TokenEnv: secret}}
		})
		err := r.Validate()
		if n := len(fault.Of(err)); n != 4 {
			t.Errorf("%q: %d faults: %v", secret, n, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("repeated: %v", err)
		}
		if got := codebox.MaskCredentials("a " + secret + " b"); got != "a [REDACTED] b" {
			t.Errorf("masked: %q", got)
		}
	}
	if err := ask(func(r *codebox.TaskRequest) { r.SecretEnv = []string{"EXAMPLE_AI_API_KEY", "_", "A1"} }).Validate(); err != nil {
		t.Error(err)
	}
}

func TestRawCodeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`null`: "", `""`: "", `" \n"`: "", `"<?php phpinfo();"`: "not_allowed $.code", `{}`: "not_allowed $.code", `0`: "not_allowed $.code", `[]`: "not_allowed $.code",
	} {
		err := ask(func(r *codebox.TaskRequest) { r.Code = evidence.Value(text) }).Validate()
		if got := faults(err); got != want {
			t.Errorf("%s: %q", text, got)
		}
		if err != nil && (!strings.Contains(err.Error(), codebox.CodeRawForbidden) || strings.Contains(err.Error(), "phpinfo")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPlacesLieApart(t *testing.T) {
	t.Parallel()
	dir := func(source, target, mode string) codebox.RequestWorkspace {
		return codebox.RequestWorkspace{Target: target, Mode: mode, Seed: codebox.WorkspaceSeed{Type: codebox.SeedDirectory, Source: source}}
	}
	mount := func(source, target, mode string) codebox.RequestMount {
		return codebox.RequestMount{Source: source, Target: target, Mode: mode}
	}
	for _, tc := range []struct {
		name, want string
		change     func(*codebox.TaskRequest)
	}{
		{"beside each other", "", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "", ""), dir("/s/b", "", "")}
			r.Mounts = []codebox.RequestMount{mount("/s/c", "/workspace/a/data", "readonly"), mount("/s/d", "/workspace/ab", "")}
		}},
		{"default targets collide", "duplicate $.workspaces[1].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "", ""), dir("/t/a", "", "")}
		}},
		{"mount on a workspace", "duplicate $.mounts[0].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "/w", "")}
			r.Mounts = []codebox.RequestMount{mount("/s/b", "/w", "readonly")}
		}},
		{"across kinds of mounts", "duplicate $.runtime_stack_mounts[0].target", func(r *codebox.TaskRequest) {
			r.RuntimeProfile = &codebox.RuntimeProfile{RuntimeStateMounts: []codebox.RequestMount{mount("/s/b", "/w", "")}}
			r.RuntimeStackMounts = []codebox.RequestMount{mount("/s/b", "/w", "")}
		}},
		{"workspace inside a workspace that comes later", "conflict $.workspaces[0].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "/w/a", ""), dir("/s/b", "/w", "")}
		}},
		{"readwrite mount inside a workspace", "conflict $.mounts[0].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "/w", "")}
			r.Mounts = []codebox.RequestMount{mount("/s/b", "/w/b", "")}
		}},
		{"workspace inside a readwrite mount", "conflict $.workspaces[0].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "/w/a", "")}
			r.Mounts = []codebox.RequestMount{mount("/s/b", "/w", "")}
		}},
		{"staged file on a mount", "not_allowed $.staged_files[1].type, duplicate $.staged_files[0].target", func(r *codebox.TaskRequest) {
			r.Mounts = []codebox.RequestMount{mount("/s/b", "/w", "")}
			r.StagedFiles = []codebox.StagedFile{{Source: "/s/c", Target: "/w"}, {Source: "/s/c", Target: "/w/c", Type: "link"}}
		}},
		{"hole in a readonly tree", "conflict $.workspaces[0].target", func(r *codebox.TaskRequest) {
			r.Workspaces = []codebox.RequestWorkspace{dir("/s/a", "/w/a", "")}
			r.RuntimeStackMounts = []codebox.RequestMount{mount("/s/b", "/w", "")}
		}},
		{"readonly inside readonly", "", func(r *codebox.TaskRequest) {
			r.Mounts = []codebox.RequestMount{mount("/s/a", "/w", "readonly"), mount("/s/b", "/w/b", "readonly")}
		}},
		{"artifacts inside a source", "conflict $.artifacts_path", func(r *codebox.TaskRequest) {
			r.ArtifactsPath, r.Workspaces = "/s/a/out", []codebox.RequestWorkspace{dir("/s/a", "", "")}
		}},
		{"artifacts are a source", "conflict $.artifacts_path", func(r *codebox.TaskRequest) {
			r.ArtifactsPath, r.Mounts = "/s/a", []codebox.RequestMount{mount("/s/a", "/w", "")}
		}},
		{"a source inside artifacts", "conflict $.artifacts_path", func(r *codebox.TaskRequest) {
			r.ArtifactsPath, r.ComponentContracts = "/s", []codebox.ComponentContract{{Slug: "c", Path: "/s/c"}}
		}},
		{"a name that only begins alike", "", func(r *codebox.TaskRequest) {
			r.ArtifactsPath, r.ProviderPluginPaths = "/s/a-out", []string{"/s/a"}
		}},
		{"artifacts at the root", "bad_format $.artifacts_path", func(r *codebox.TaskRequest) { r.ArtifactsPath = "/" }},
		{"relative artifacts", "bad_format $.artifacts_path", func(r *codebox.TaskRequest) { r.ArtifactsPath = "out" }},
		{"artifacts with dots", "bad_format $.artifacts_path", func(r *codebox.TaskRequest) { r.ArtifactsPath = "/s/../out" }},
		{"expected artifacts elsewhere", "bad_format $.expected_artifacts[1], bad_format $.expected_artifacts[2], bad_format $.expected_artifacts[3], bad_format $.expected_artifacts[4]", func(r *codebox.TaskRequest) {
			r.ExpectedArtifacts = []string{"out/report", "../x", "/etc/passwd", ".", "a//b"}
		}},
		{"system directories", "bad_format $.mounts[0].target, bad_format $.mounts[1].target, bad_format $.mounts[2].target", func(r *codebox.TaskRequest) {
			r.Mounts = []codebox.RequestMount{mount("/s", "/proc/1", ""), mount("/s", "/usr", ""), mount("/s", `/w\..\x`, "")}
		}},
		{"a line break in a path", "bad_format $.mounts[0].source", func(r *codebox.TaskRequest) {
			r.Mounts = []codebox.RequestMount{mount("/s/a\nb", "/w", "")}
		}},
	} {
		if got := faults(ask(tc.change).Validate()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestEffectiveTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		w    codebox.RequestWorkspace
		want string
	}{
		{codebox.RequestWorkspace{Target: "/x", Seed: codebox.WorkspaceSeed{Type: codebox.SeedEmpty}}, "/x"},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedDirectory, Source: "/s/repo"}}, "/workspace/repo"},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedGit, Source: "/s/repo", Slug: "other"}}, "/workspace/other"},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedDirectory, Source: "/"}}, ""},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedEmpty}}, ""},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedPluginScaffold, Slug: "p"}}, "/wordpress/wp-content/plugins/p"},
		{codebox.RequestWorkspace{Seed: codebox.WorkspaceSeed{Type: codebox.SeedThemeScaffold, Slug: "t"}}, "/wordpress/wp-content/themes/t"},
	} {
		if got := tc.w.EffectiveTarget(); got != tc.want {
			t.Errorf("%+v: %q", tc.w, got)
		}
	}
}

func tool(id string, change func(*codebox.ToolRule)) codebox.ToolRule {
	t := codebox.ToolRule{
		ID: id, RuntimeToolID: evidence.ToolName(id), ExecutionLocation: codebox.LocationSandbox, TransportVisibility: codebox.VisibleSandbox, Allowed: true,
		Runtime: codebox.ToolRuntime{Environment: codebox.ScopeRuntimeLocal, CapabilityScope: codebox.ScopeRuntimeLocal},
	}
	if change != nil {
		change(&t)
	}
	return t
}

func TestToolPolicy(t *testing.T) {
	t.Parallel()
	p := codebox.SandboxToolPolicy{Schema: codebox.SchemaSandboxToolPolicy, Version: 1, Tools: []codebox.ToolRule{
		tool("workspace.read", func(t *codebox.ToolRule) { t.Aliases = []string{"read"} }),
		tool("tests.run", func(t *codebox.ToolRule) { t.TransportVisibility = codebox.VisibleBoth }),
		tool("denied", func(t *codebox.ToolRule) { t.Allowed = false }),
		tool("hidden", func(t *codebox.ToolRule) { t.TransportVisibility = codebox.VisibleHidden }),
		tool("theirs", func(t *codebox.ToolRule) { t.TransportVisibility = codebox.VisibleParent }),
		tool("outside", func(t *codebox.ToolRule) {
			t.ExecutionLocation, t.TransportVisibility = codebox.LocationParent, codebox.VisibleBoth
			t.Runtime = codebox.ToolRuntime{Environment: codebox.ScopeControlPlane, CapabilityScope: codebox.ScopeControlPlane}
		}),
	}}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	ids := func(rules []codebox.ToolRule) string {
		var out []string
		for _, r := range rules {
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	for allowed, want := range map[string]string{
		"": "workspace.read tests.run", "read": "workspace.read", "tests_run denied": "tests.run", "nothing": "", "outside hidden theirs": "",
	} {
		if got := ids(p.Exposed(strings.Fields(allowed))); got != want {
			t.Errorf("allowed %q: %q, want %q", allowed, got, want)
		}
	}
	for _, name := range []string{"workspace.read", "workspace_read", "read"} {
		if r, ok := p.Find(name); !ok || r.ID != "workspace.read" {
			t.Errorf("%q finds %q", name, r.ID)
		}
	}
	deny := codebox.DefaultDeny()
	text, err := json.Marshal(deny)
	if want := `{"schema":"wp-codebox/sandbox-tool-policy/v1","version":1,"tools":[],"metadata":{"source":"wp-codebox.agent-task-run.default-deny"}}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if deny.Validate() != nil || deny.Empty() || len(deny.Exposed(nil)) != 0 || (codebox.SandboxToolPolicy{}).Validate() != nil {
		t.Error("the policy that denies all is not one")
	}
	// Two tools that an agent would call by one name.
	p.Tools = []codebox.ToolRule{tool("a.b", nil), tool("a/b", func(t *codebox.ToolRule) { t.RuntimeToolID = "c" })}
	if got := faults(p.Validate()); got != "duplicate $.tools[1]" {
		t.Errorf("names that collide: %q", got)
	}
	for id, want := range map[string]string{"workspace.read": "workspace_read", "..a--b ": "a_b", "é": "", "__x__": "x", "a_.b": "a__b"} {
		if got := evidence.ToolName(id); got != want {
			t.Errorf("ToolName(%q) = %q, want %q", id, got, want)
		}
	}
}

package agentruntime

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// every returns an adapter of each kind with all that it can share.
func every(t *testing.T) map[string]AdapterConfig {
	t.Helper()
	harness := `"command": "bin/x", "working_dir": "sub", "env_file": "x.env", "env": {"A": "b"}, "model": "m", "autonomy": {"profile": "trusted-vm", "required_args": ["-r"]}, "extra_args": ["-e"]`
	out := map[string]AdapterConfig{}
	for kind, members := range map[string]string{
		KindClaudeCode:     harness + `, "sandbox": "read-only"`,
		KindCodex:          harness + `, "sandbox": "read-only"`,
		KindHermesAgent:    harness + `, "sandbox": "read-only"`,
		KindOpencode:       harness + `, "sandbox": "read-only"`,
		KindACP:            harness + `, "sandbox": "read-only", "hosts": ["a:1"]`,
		KindCommand:        harness + `, "hosts": ["a:1"]`,
		KindScript:         `"command": "bin/x", "working_dir": "sub", "env_file": "x.env", "env": {"A": "b"}, "extra_args": ["-e"], "autonomy": {"profile": "runtime-native"}`,
		KindOllamaGenerate: `"endpoint": "http://a:1", "model": "m"`,
		KindNative:         `"provider": {"api": "ollama"}, "model": "m", "env_file": "x.env", "env": {"A": "b"}`,
		KindPackaged:       `"backend": "b", "selector": "p.b", "runtime": "p", "runtime_dirs": ["dir"], "config": {}, "model": "m", "env_file": "x.env", "env": {"A": "b"}, "hosts": ["a:1"]`,
	} {
		var a AdapterConfig
		if err := json.Unmarshal(fmt.Appendf(nil, `{"adapter_id": "id", "kind": %q, "timeout_ms": 5, %s}`, kind, members), &a); err != nil {
			t.Fatal(err)
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		out[kind] = a
	}
	for _, kind := range Kinds {
		if out[kind].Kind() != kind {
			t.Fatalf("no adapter of kind %s", kind)
		}
	}
	return out
}

func TestCommon(t *testing.T) {
	t.Parallel()
	harness := Common{
		ID: "id", Command: "bin/x", WorkingDir: "sub", TimeoutMS: 5, EnvFile: "x.env", Env: map[string]string{"A": "b"}, ExtraArgs: []string{"-e"},
		Sandbox: "read-only", Model: "m", Profile: AutonomyTrustedVM, RequiredArgs: []string{"-r"},
	}
	command := harness
	command.Sandbox, command.Hosts = "", []string{"a:1"}
	acp := harness
	acp.Hosts = []string{"a:1"}
	want := map[string]Common{
		KindClaudeCode: harness, KindCodex: harness, KindHermesAgent: harness, KindOpencode: harness, KindACP: acp, KindCommand: command,
		KindScript:         {ID: "id", Command: "bin/x", WorkingDir: "sub", TimeoutMS: 5, EnvFile: "x.env", Env: map[string]string{"A": "b"}, ExtraArgs: []string{"-e"}, Profile: AutonomyRuntimeNative},
		KindOllamaGenerate: {ID: "id", TimeoutMS: 5, Model: "m"},
		KindNative:         {ID: "id", TimeoutMS: 5, EnvFile: "x.env", Env: map[string]string{"A": "b"}, Model: "m"},
		KindPackaged:       {ID: "id", TimeoutMS: 5, EnvFile: "x.env", Env: map[string]string{"A": "b"}, Model: "m", Hosts: []string{"a:1"}},
	}
	for kind, a := range every(t) {
		if diff := cmp.Diff(want[kind], a.Common()); diff != "" {
			t.Errorf("%s:\n%s", kind, diff)
		}
	}
	if diff := cmp.Diff(Common{}, AdapterConfig{}.Common()); diff != "" {
		t.Error(diff)
	}
}

func TestWithPaths(t *testing.T) {
	t.Parallel()
	for kind, a := range every(t) {
		before := a.Common()
		want := before
		var changed []string
		change := func(name string) func(string) string {
			return func(p string) string {
				changed = append(changed, name)
				return path.Join("/at", p)
			}
		}
		for _, p := range []*string{&want.Command, &want.WorkingDir, &want.EnvFile} {
			if *p != "" {
				*p = path.Join("/at", *p)
			}
		}
		moved := a.WithPaths(Paths{change("command"), change("dir"), change("file"), change("runtime")})
		if diff := cmp.Diff(want, moved.Common()); diff != "" {
			t.Errorf("%s:\n%s", kind, diff)
		}
		if diff := cmp.Diff(before, a.Common()); diff != "" {
			t.Errorf("%s: the adapter itself changed:\n%s", kind, diff)
		}
		if m, n := moved.Packaged, a.Packaged; m != nil && (m.RuntimeDirs[0] != "/at/dir" || n.RuntimeDirs[0] != "dir") {
			t.Errorf("%s: %v of %v", kind, m.RuntimeDirs, n.RuntimeDirs)
		}
		if len(slices.Compact(changed)) != len(changed) {
			t.Errorf("%s: %v", kind, changed)
		}
		if diff := cmp.Diff(a, a.WithPaths(Paths{})); diff != "" {
			t.Errorf("%s:\n%s", kind, diff)
		}
	}
}

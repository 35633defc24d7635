package packaged_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
)

// attaches lets the provider attach tools, of which the package has one itself.
func attaches(p map[string]any) {
	p["capabilities"] = []string{"structured_outcome", "runtime_tool_attachment"}
	p["runtime_tools"] = []any{map[string]any{"id": "own", "command": []string{"{{runtime_path}}/own-tool", "serve"}, "env": map[string]string{"MODE": "package"}}}
}

func tool(id string, command ...string) map[string]any {
	return map[string]any{"id": id, "command": command}
}

// A tool that cannot be attached is refused before anything starts: every one by its name, with what to do.
func TestToolsThatCannotBeAttached(t *testing.T) {
	t.Parallel()
	off := map[string]any{"tools": map[string]any{"default_location": "runner", "tools": map[string]any{"shell": map[string]any{"execution_location": "disabled", "reason": "no shells here"}}}}
	for name, c := range map[string]struct {
		edit  edit
		tools []any
		more  map[string]any
		code  string
		class homeboy.FailureClass
		says  []string
	}{
		"nobody attaches": {nil, []any{tool("one", "sh"), tool("two", "sh")}, nil, runtimepkg.ToolUnavailable, homeboy.ClassCapabilityMissing, []string{"one, two", "runtime_tool_attachment"}},
		"missing":         {attaches, []any{tool("one", "no-such-program-1"), tool("ok", "sh"), tool("two", "{{runtime_path}}/none")}, nil, runtimepkg.ToolUnavailable, homeboy.ClassCapabilityMissing, []string{"one", "two", "no-such-program-1"}},
		"denied":          {attaches, []any{tool("shell", "sh")}, map[string]any{"policy": off}, runtimepkg.ToolDenied, homeboy.ClassPolicyDenied, []string{"shell", "no shells here", "policy.tools"}},
		"not named":       {attaches, []any{tool("shell", "sh")}, map[string]any{"policy": map[string]any{"tools": map[string]any{"tools": map[string]any{}}}}, runtimepkg.ToolDenied, homeboy.ClassPolicyDenied, []string{"policy.tools disables it"}},
		"a command that is denied": {
			attaches,
			[]any{tool("shell", "sh", "-c", "x")},
			map[string]any{"policy": map[string]any{"tools": map[string]any{"default_location": "runner", "commands": map[string]any{"deny": []any{map[string]any{"pattern": "sh -c"}}}}}},
			runtimepkg.ToolDenied, homeboy.ClassPolicyDenied,
			[]string{"sh -c"},
		},
		"a secret that is not there": {attaches, []any{map[string]any{"id": "x", "command": []string{"sh"}, "secret_env": []string{"NO_SUCH_TOKEN"}}}, nil, runtimepkg.SecretEnvMissing, homeboy.ClassInvalidInput, []string{"NO_SUCH_TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var edits []edit
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			s := play(t, `touch ran; answer succeeded done`, edits...)
			q := map[string]any{"runtime_tools": c.tools}
			for k, v := range c.more {
				q[k] = v
			}
			s.ask(q)
			err := s.look()
			var r *driver.Refusal
			if !errors.As(err, &r) || r.Code != c.code || r.Class != string(c.class) {
				t.Fatalf("%v", err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("it does not say %q: %v", text, err)
				}
			}
			if s.read("ran") != "" {
				t.Error("it was started")
			}
		})
	}
}

// A tool that is found is passed to the provider under the path that the provider sees, after the tool has shown that
// it works.
func TestToolsThatAreAttached(t *testing.T) {
	t.Parallel()
	s := stage(t, map[string]string{
		"run":      sh + `printf %s "$request" >request.json; answer succeeded done` + "\n",
		"own-tool": "#!/bin/sh\necho \"own tool 3.1 $MODE\"\necho more\n",
	}, attaches)
	if err := os.Chmod(filepath.Join(s.pkg, "own-tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.ask(map[string]any{"runtime_tools": []any{
		map[string]any{
			"id": "own", "command": []string{"anything"}, "env": map[string]string{"MODE": "asked"},
			"required_capabilities": []string{"search"},
			"readiness":             map[string]any{"version_command": []string{"--version"}, "capability_probe": map[string]any{"argv": []string{"own-tool", "probe"}}},
		},
		tool("shell", "sh", "-i"),
	}})
	y, o := s.run()
	if o.Status != homeboy.Succeeded {
		s.fatal(y, o, "it was not run")
	}
	var q homeboy.Request
	if err := json.Unmarshal([]byte(s.read("request.json")), &q); err != nil {
		t.Fatal(err)
	}
	if len(q.RuntimeTools) != 0 || len(q.ResolvedRuntimeTools) != 2 {
		t.Fatalf("it is told %+v and %+v", q.RuntimeTools, q.ResolvedRuntimeTools)
	}
	own, shell := q.ResolvedRuntimeTools[0], q.ResolvedRuntimeTools[1]
	if filepath.Base(own.Executable) != "own-tool" || own.Argv[1] != "serve" || own.Version != "own tool 3.1 asked" || own.Env["MODE"] != "asked" || own.Readiness.Status != "ready" || own.Readiness.Evidence.Kind != "declared_probe" || len(own.Capabilities) != 1 {
		t.Errorf("its own: %+v %+v", own, own.Readiness)
	}
	if !filepath.IsAbs(shell.Executable) || shell.Argv[1] != "-i" || shell.Readiness.Status != "found" {
		t.Errorf("of the PATH: %+v", shell)
	}
}

// A tool that is there and does not work ends the turn before the provider is started.
func TestAToolThatDoesNotWork(t *testing.T) {
	t.Parallel()
	s := play(t, `touch ran; answer succeeded done`, attaches)
	s.ask(map[string]any{"runtime_tools": []any{map[string]any{"id": "shell", "command": []string{"sh"}, "readiness": map[string]any{"version_command": []string{"sh", "-c", "echo broken; exit 3"}}}}})
	y, o := s.run()
	if o.Status != homeboy.ProviderError || !strings.Contains(o.Summary+y.Err.Error(), "exit 3: broken") || s.read("ran") != "" {
		s.fatal(y, o, "ran %q", s.read("ran"))
	}
}

package scripted

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// offered makes the tools of an agent: name to schema, "" for one that takes text.
func offered(schemas map[string]string) []tool {
	var out []tool
	for name, schema := range schemas {
		out = append(out, tool{name: name, freeform: schema == "", schema: parseSchema(json.RawMessage(schema))})
	}
	return out
}

func object1(members string) string { return `{"type":"object","properties":{` + members + `}}` }

// TestVocabularies: one script works with every agent, in the words of each.
func TestVocabularies(t *testing.T) {
	t.Parallel()
	const text = `{"type":"string"}`
	agents := map[string]map[string]string{
		"codex": {"exec_command": object1(`"cmd":` + text), "write_stdin": `{}`},
		"codex with patches": {
			"exec_command": object1(`"cmd":` + text), "apply_patch": "",
		},
		"codex in code": {"exec": ""},
		"claude": {
			"Bash":  `{"properties":{"command":` + text + `,"description":` + text + `},"required":["command","description"]}`,
			"Write": object1(`"file_path":` + text + `,"content":` + text), "Read": object1(`"file_path":` + text),
			"Edit": object1(`"file_path":` + text + `,"old_string":` + text + `,"new_string":` + text),
		},
		"opencode": {
			"bash": object1(`"command":` + text), "write": object1(`"filePath":` + text + `,"content":` + text), "read": object1(`"filePath":` + text),
		},
		"gemini": {
			"run_shell_command": object1(`"command":` + text), "write_file": object1(`"file_path":` + text + `,"content":` + text),
			"read_file": object1(`"file_path":` + text),
		},
		"hermes": {"terminal": object1(`"command":` + text), "write_file": object1(`"path":` + text + `,"content":` + text)},
		"deed": {
			"shell": object1(`"command":` + text), "write": object1(`"path":` + text + `,"content":` + text), "read": object1(`"path":` + text),
			"task_complete": object1(`"summary":` + text),
		},
		"argv": {"shell": object1(`"command":{"type":"array"}`)},
	}
	shell := Call{Tool: "shell", Command: "go test"}
	write := Call{Tool: "write", Path: "d/a.go", Content: "it's\n"}
	for _, c := range []struct {
		agent string
		call  Call
		name  string
		args  string
	}{
		{"codex", shell, "exec_command", `{"cmd":"go test"}`},
		{"codex", write, "exec_command", `{"cmd":"mkdir -p 'd' && printf '%s' 'it'\\''s\n' > 'd/a.go'"}`},
		{"codex", Call{Tool: "read", Path: "a b"}, "exec_command", `{"cmd":"cat 'a b'"}`},
		{"codex with patches", write, "apply_patch", "*** Begin Patch\n*** Add File: d/a.go\n+it's\n*** End Patch\n"},
		{"codex with patches", Call{Tool: "apply_patch", Patch: "*** P"}, "apply_patch", "*** P"},
		{"codex in code", shell, "exec", `text(await tools.exec_command({"cmd":"go test"}));`},
		{"claude", shell, "Bash", `{"command":"go test","description":"a step of the script"}`},
		{"claude", write, "Write", `{"content":"it's\n","file_path":"/w/d/a.go"}`},
		{"claude", Call{Tool: "edit", Path: "/x", Old: "a", New: ""}, "Edit", `{"file_path":"/x","new_string":"","old_string":"a"}`},
		{"opencode", write, "write", `{"content":"it's\n","filePath":"/w/d/a.go"}`},
		{"opencode", shell, "bash", `{"command":"go test"}`},
		{"gemini", shell, "run_shell_command", `{"command":"go test"}`},
		{"gemini", Call{Tool: "read", Path: "a"}, "read_file", `{"file_path":"/w/a"}`},
		{"hermes", shell, "terminal", `{"command":"go test"}`},
		{"hermes", Call{Tool: "read", Path: "a"}, "terminal", `{"command":"cat 'a'"}`},
		{"deed", Call{Tool: "complete", Summary: "s", Input: map[string]any{"files": []string{"a"}}}, "task_complete", `{"files":["a"],"summary":"s"}`},
		{"argv", shell, "shell", `{"command":["bash","-lc","go test"]}`},
		{"deed", Call{Tool: "no_such_tool", Input: map[string]any{"a": 1}}, "no_such_tool", `{"a":1}`},
		{"deed", Call{Tool: "shell", Arguments: "{bad"}, "shell", `{bad`},
	} {
		a := &ask{tools: offered(agents[c.agent])}
		got, ok := a.translate(c.call, "/w")
		if !ok || got.name != c.name {
			t.Errorf("%s, %s: %+v", c.agent, c.call.Tool, got)
		}
		if diff := cmp.Diff(c.args, got.arguments); diff != "" {
			t.Errorf("%s, %s: %s", c.agent, c.call.Tool, diff)
		}
	}
	a := &ask{tools: offered(agents["claude"])}
	if got, ok := a.translate(Call{Tool: "complete", Summary: "s"}, ""); ok {
		t.Errorf("claude has no tool for completion, and got %+v", got)
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	a := &ask{tools: []tool{{name: "ping", namespace: "mcp__demo"}}}
	got, ok := a.translate(Call{Tool: "mcp__demo/ping"}, "")
	if !ok || got.name != "ping" || got.namespace != "mcp__demo" || got.arguments != "{}" {
		t.Errorf("%+v", got)
	}
}

func TestWorkdirIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"WORKDIR=/srv/space do it":                                 "/srv/space",
		"<env>\n  Working directory: /home/a/repo\n":               "/home/a/repo",
		"# Environment\n - Primary working directory: /w/x\n - Is": "/w/x",
		"<environment_context>\n  <cwd>/a/b</cwd>":                 "/a/b",
		"nothing of the kind":                                      "",
	} {
		a := &ask{}
		a.note(text)
		if got := a.workdir(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/model/scripted"
)

// The real Claude Code is given `deed mcp` as docs/MCP.md says, calls its tools, and gets what the home has. With the role that is the
// default it is offered nothing that writes.
func TestClaudeCodeUsesMCP(t *testing.T) {
	t.Parallel()
	claude := drivertest.Agent(t, "claude")
	script, err := scripted.Parse([]byte(`
schema: deed/model-script/v1
scenarios:
  look:
    steps:
      - {tool: mcp__deed__task_list, input: {}}
      - {tool: mcp__deed__task_add, input: {task_type: script, source: t, payload: {}}}
      - {text: I looked.}
`))
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(script)
	if _, err := model.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "subject": "water the plants", "payload": map[string]any{}})

	own := s.command(nil, "mcp") // the command that Claude Code starts, with the variables that it needs
	env := map[string]string{}
	for _, kv := range own.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"deed": map[string]any{"command": own.Path, "args": own.Args[1:], "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "servers.json")
	writeFile(t, file, string(servers))
	if err := os.Mkdir(filepath.Join(s.dir, "claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), claude, "-p", "what is queued?", "--model", "claude-sonnet-4-5", "--mcp-config", file, "--strict-mcp-config",
		"--allowedTools", "mcp__deed__task_list,mcp__deed__task_add", "--output-format", "stream-json", "--verbose")
	c.Dir, c.WaitDelay = s.dir, 10*time.Second
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "claude"), "ANTHROPIC_API_KEY=sk-scripted-0f91c7", "ANTHROPIC_BASE_URL=" + model.URL("look"),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1", "MARK=" + s.mark,
	}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var tools, results []string
	for line := range strings.Lines(string(out)) {
		var e struct {
			Type    string   `json:"type"`
			Tools   []string `json:"tools"`
			Message struct {
				Content []json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			continue
		}
		for _, name := range e.Tools {
			if strings.HasPrefix(name, "mcp__deed__") {
				tools = append(tools, name)
			}
		}
		if e.Type == "user" {
			for _, part := range e.Message.Content {
				results = append(results, string(part))
			}
		}
	}
	offered := strings.Join(tools, " ")
	if !strings.Contains(offered, "mcp__deed__task_list") || !strings.Contains(offered, "mcp__deed__bundle_verify") || strings.Contains(offered, "task_add") || strings.Contains(offered, "answer") {
		t.Errorf("Claude Code is offered %s", offered)
	}
	if len(results) != 2 || !strings.Contains(results[0], id) || !strings.Contains(results[0], "water the plants") || !strings.Contains(results[1], "is_error\":true") {
		t.Errorf("the tools answered %q", results)
	}
	if n, err := s.open().Counts(t.Context()); err != nil || n["pending"] != 1 {
		t.Errorf("tasks are %v: %v", n, err)
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official SDK's client on the binary as users get it, over standard input and output.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"honest": `echo fixed > main.txt
echo '{"status": "completed", "machine_status": "ok", "operator_summary": "did it", "file_changes": ["main.txt"]}'`})
	s.ok("pause")
	s.ok("resume")
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: s.command(nil, "mcp", "--role", "admin")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	call := func(name string, args map[string]any) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError {
			t.Fatalf("%s: %s", name, res.Content[0].(*mcp.TextContent).Text)
		}
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var added struct {
		TaskID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(call("task_add", map[string]any{"goal": "fix it", "agent": "honest", "checks": []string{"grep -q fixed main.txt"}})), &added); err != nil {
		t.Fatal(err)
	}
	s.ok("dispatch")
	var waited struct {
		Ended bool `json:"ended"`
		Task  struct {
			Status string `json:"status"`
			Runs   []struct {
				AttemptID string `json:"attempt_id"`
				Accepted  bool   `json:"accepted"`
			} `json:"attempt_list"`
		} `json:"task"`
	}
	text := call("task_wait", map[string]any{"task_id": added.TaskID})
	if err := json.Unmarshal([]byte(text), &waited); err != nil || !waited.Ended || waited.Task.Status != "completed" || len(waited.Task.Runs) != 1 || !waited.Task.Runs[0].Accepted {
		t.Fatalf("%v %s", err, text)
	}
	id := waited.Task.Runs[0].AttemptID
	if diff := call("evidence_read", map[string]any{"attempt_id": id, "what": "diff"}); !strings.Contains(diff, "+fixed") {
		t.Errorf("diff: %s", diff)
	}
	if v := call("bundle_verify", map[string]any{"attempt_id": id}); !strings.Contains(v, `"valid":true`) {
		t.Errorf("verify: %s", v)
	}
	for _, what := range []string{"verdict", "journal", "stdout"} {
		if e := call("evidence_read", map[string]any{"attempt_id": id, "what": what}); !strings.Contains(e, `"untrusted"`) || strings.Contains(e, `"text":""`) {
			t.Errorf("%s: %s", what, e)
		}
	}
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "deed://bundle/" + id + "/manifest.json"})
	if err != nil || !strings.Contains(res.Contents[0].Text, id) && !strings.Contains(res.Contents[0].Text, "files") {
		t.Errorf("manifest: %v %v", res, err)
	}
}

package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/acp"
)

// recorded are the updates of a recorded run that were recorded whole, as lines of the protocol, and the answer to its prompt.
func recorded(t testing.TB, file string) (lines [][]byte, answer []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "update "); ok {
			kind, body, _ := strings.Cut(rest, " ")
			var fields map[string]any
			if json.Unmarshal([]byte(body), &fields) != nil {
				continue // the record has its beginning only
			}
			fields["sessionUpdate"] = kind
			text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": fields}})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, text)
		}
		if _, rest, ok := strings.Cut(line, "session/prompt -> "); ok {
			answer = []byte(rest)
		}
	}
	return lines, answer
}

// TestRecordedStreams reads what real servers said.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]agentruntime.Usage{
		"opencode-acp":         {InputTokens: 1100, CachedInputTokens: 100, OutputTokens: 21, ReasoningTokens: 7},
		"codex-acp-run":        {Model: "fake-model", InputTokens: 3300, CachedInputTokens: 300, OutputTokens: 63, ReasoningTokens: 21},
		"claude-agent-acp-new": {InputTokens: 4520, CachedInputTokens: 400, CacheWriteTokens: 120, OutputTokens: 84},
	} {
		lines, answer := recorded(t, filepath.Join("testdata", file+".jsonl"))
		var usage []agentruntime.Usage
		sink := driver.SinkFunc(func(kind string, detail any) {
			switch kind {
			case driver.EventStrange:
				t.Errorf("%s: strange: %+v", file, detail)
			case driver.EventUsage:
				usage = append(usage, detail.(agentruntime.Usage))
			}
		})
		feed, end := acp.Listen(sink)
		for _, line := range lines {
			feed(line)
		}
		if got := end(); got != "Done: fixed add() in calc.py; test passes." {
			t.Errorf("%s: last message is %q", file, got)
		}
		usage = nil
		if err := acp.Answer(sink, answer); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if d := cmp.Diff([]agentruntime.Usage{want}, usage); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// FuzzFeed reads whatever an agent may print.
func FuzzFeed(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		lines, answer := recorded(f, file)
		for _, line := range append(lines, answer) {
			f.Add(line)
		}
	}
	for _, line := range []string{
		`{"id":1,"method":"session/request_permission","params":{"toolCall":null,"options":[{}]}}`, `{"id":{},"method":"terminal/output","params":{}}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"","rawInput":7,"content":"x","status":"completed"}}}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","cost":{"amount":1e308,"currency":"USD"}}}}`, `null`, `[]`, `{"id":null,"error":{}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		feed, end := acp.Listen(driver.Discard)
		feed(line)
		feed(line)
		end()
		_ = acp.Answer(driver.Discard, line)
	})
}

package drivertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// agents are the real agent command lines, by where scripts/setup.sh puts them below .cache/agents/node_modules.
var agents = map[string]map[string]string{
	"codex": {
		"amd64": "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
		"arm64": "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
	},
	"claude": {
		"amd64": "@anthropic-ai/claude-code-linux-x64/claude",
		"arm64": "@anthropic-ai/claude-code-linux-arm64/claude",
	},
	"opencode":  {"amd64": "opencode-linux-x64/bin/opencode"},
	"codex-acp": {"amd64": "@agentclientprotocol/codex-acp/dist/index.js", "arm64": "@agentclientprotocol/codex-acp/dist/index.js"},
}

// Agent returns the file of a real agent command line: codex, claude, opencode or codex-acp (which needs node). A test that
// needs one that is not installed is skipped.
func Agent(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: runs a real agent")
	}
	missing := func() { t.Skipf("missing tool: %s: make test installs it", name) }
	rel := agents[name][runtime.GOARCH]
	if rel == "" || runtime.GOOS != "linux" {
		missing()
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, ".cache", "agents", "node_modules", filepath.FromSlash(rel)))
	if err != nil {
		missing()
	}
	return file
}

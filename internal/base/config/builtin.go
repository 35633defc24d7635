package config

import (
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/proc"
)

// builtinTimeout is the time limit of an agent that is not configured.
const builtinTimeout = 30 * time.Minute

// builtin returns the adapters of agents that need no configuration, by their names. Keys are no part of them: a task
// names the variables that carry one, as for any secret.
func builtin() map[string]agentruntime.AdapterConfig {
	const ms = int64(builtinTimeout / time.Millisecond)
	return map[string]agentruntime.AdapterConfig{
		"claude-code": {ClaudeCode: &agentruntime.ClaudeCodeAdapter{AdapterID: "claude-code", Kind: agentruntime.KindClaudeCode, Command: "claude", TimeoutMS: ms}},
		"codex":       {Codex: &agentruntime.CodexAdapter{AdapterID: "codex", Kind: agentruntime.KindCodex, Command: "codex", TimeoutMS: ms}},
		"opencode":    {Opencode: &agentruntime.OpencodeAdapter{AdapterID: "opencode", Kind: agentruntime.KindOpencode, Command: "opencode", TimeoutMS: ms}},
	}
}

// addBuiltin gives the agents whose commands are on path their names, unless a file of the operator's uses the name. A project's
// may not: see guest.
func (c *Config) addBuiltin(path string) {
	if path == "" {
		return
	}
	for id, a := range builtin() {
		if _, taken := c.adapters[id]; taken {
			continue
		}
		if _, err := proc.LookPath(a.Common().Command, path, "/"); err == nil {
			c.adapters[id] = Adapter{AdapterConfig: a}
		}
	}
}

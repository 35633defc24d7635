package claudecode_test

import (
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/driver/claudecode"
	"github.com/deedrun/deed/internal/driver/drivertest"
)

func real(t *testing.T) drivertest.Real {
	command := drivertest.Agent(t, "claude")
	return drivertest.Real{
		Driver: claudecode.New(),
		Adapter: func(url string) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{
				AdapterID: "claude", Kind: agentruntime.KindClaudeCode, Command: command, TimeoutMS: 120_000, Model: "claude-sonnet-4-5",
				Env:       map[string]string{"ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789", "ANTHROPIC_BASE_URL": url},
				ExtraArgs: []string{"--allowedTools", "Bash"},
			}}
		},
		Usage:      agentruntime.Usage{InputTokens: 2200, CachedInputTokens: 200, OutputTokens: 42},
		RetryAfter: true,
	}
}

func TestRealClaude(t *testing.T) { drivertest.RunReal(t, real(t)) }

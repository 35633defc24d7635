package codex_test

import (
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/codex"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
)

func TestRealCodex(t *testing.T) {
	command := drivertest.Agent(t, "codex")
	drivertest.RunReal(t, drivertest.Real{
		Driver: codex.New(),
		Adapter: func(url string) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{
				AdapterID: "codex", Kind: agentruntime.KindCodex, Command: command, TimeoutMS: 120_000, Model: "fake-model",
				Provider: &agentruntime.CodexProvider{ID: "scripted", BaseURL: url + "/v1"},
				Env:      map[string]string{"OPENAI_API_KEY": "sk-scripted-0123456789"},
			}}
		},
		Usage: agentruntime.Usage{InputTokens: 2200, CachedInputTokens: 200, OutputTokens: 42, ReasoningTokens: 14},
	})
}

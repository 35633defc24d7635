package opencode_test

import (
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/agent/driver/opencode"
)

func TestRealOpencode(t *testing.T) {
	command := drivertest.Agent(t, "opencode")
	drivertest.RunReal(t, drivertest.Real{
		Driver: opencode.New(),
		Adapter: func(url string) agentruntime.AdapterConfig {
			return agentruntime.AdapterConfig{Opencode: &agentruntime.OpencodeAdapter{
				AdapterID: "opencode", Kind: agentruntime.KindOpencode, Command: command, TimeoutMS: 240_000, Model: "fake-model",
				Provider: &agentruntime.OpencodeProvider{ID: "scripted", BaseURL: url + "/v1", KeyEnv: "SCRIPTED_API_KEY"},
				Env:      map[string]string{"SCRIPTED_API_KEY": "sk-scripted-0123456789"},
			}}
		},
		Usage:      agentruntime.Usage{InputTokens: 2200, CachedInputTokens: 200, OutputTokens: 42, ReasoningTokens: 14},
		RetryAfter: true,
		Heavy:      true,
	})
}

package acp_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/acp"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
)

// real is an ACP server that asks the model at base.
func real(t *testing.T, base, command string, args []string, env map[string]string) agentruntime.AdapterConfig {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return agentruntime.AdapterConfig{ACP: &agentruntime.ACPAdapter{
		AdapterID: "real", Kind: agentruntime.KindACP, Command: command, ExtraArgs: args, TimeoutMS: 240_000, Env: env, Hosts: []string{u.Host},
	}}
}

func settings(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codexAdapter runs codex-acp, which runs Codex's own server. Its settings are in a variable.
func codexAdapter(t *testing.T, base string) agentruntime.AdapterConfig {
	provider := map[string]any{
		"name": "scripted", "base_url": base + "/v1", "wire_api": "responses", "env_key": "OPENAI_API_KEY", "request_max_retries": 1, "stream_max_retries": 1,
	}
	return real(t, base, drivertest.Agent(t, "codex-acp"), nil, map[string]string{
		"OPENAI_API_KEY": "sk-scripted-0123456789", "MODEL_PROVIDER": "scripted", "NO_BROWSER": "1", "INITIAL_AGENT_MODE": "agent-full-access",
		"CODEX_CONFIG": settings(t, map[string]any{
			"model": "fake-model", "model_provider": "scripted", "model_providers": map[string]any{"scripted": provider}, "approval_policy": "never",
			"check_for_update_on_startup": false, "analytics": map[string]any{"enabled": false}, "features": map[string]any{"plugins": false, "apps": false},
		}),
	})
}

func TestRealCodex(t *testing.T) {
	drivertest.Agent(t, "codex-acp")
	drivertest.RunReal(t, drivertest.Real{
		Driver:              acp.New(),
		Adapter:             func(base string) agentruntime.AdapterConfig { return codexAdapter(t, base) },
		Usage:               agentruntime.Usage{InputTokens: 2200, CachedInputTokens: 200, OutputTokens: 42, ReasoningTokens: 14},
		AsksForRefusedHosts: true, // Codex looks for plugins and news
	})
}

func TestRealOpencode(t *testing.T) {
	command := drivertest.Agent(t, "opencode")
	drivertest.RunReal(t, drivertest.Real{
		Driver: acp.New(),
		Adapter: func(base string) agentruntime.AdapterConfig {
			model := map[string]any{"name": "fake", "tool_call": true, "limit": map[string]any{"context": 100000, "output": 8000}, "cost": map[string]any{"input": 1, "output": 2, "cache_read": 0.1}}
			return real(t, base, command, []string{"acp", "--pure"}, map[string]string{
				"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
				"OPENCODE_CONFIG_CONTENT": settings(t, map[string]any{"model": "fake/fake-model", "share": "disabled", "autoupdate": false, "provider": map[string]any{"fake": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": map[string]any{"baseURL": base + "/v1", "apiKey": "sk-scripted-0123456789"},
					"models": map[string]any{"fake-model": model},
				}}}),
			})
		},
		Usage: agentruntime.Usage{InputTokens: 1100, CachedInputTokens: 100, OutputTokens: 21, ReasoningTokens: 7}, // of its last step
		Heavy: true, AsksForRefusedHosts: true, Only: []string{"repairs", "lies and is answered", "cancel"},
	})
}

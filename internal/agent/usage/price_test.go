package usage

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
)

// The shipped list is whole and plausible: a slip by a thousand would make every budget worthless.
func TestShippedPrices(t *testing.T) {
	t.Parallel()
	list := own()
	if _, err := time.Parse(time.DateOnly, list.Date); err != nil || list.Version < 1 {
		t.Errorf("version %d of %q: %v", list.Version, list.Date, err)
	}
	if len(list.byName) != len(list.Models) {
		t.Errorf("%d names for %d models: one is there twice", len(list.byName), len(list.Models))
	}
	for _, m := range list.Models {
		if m.Model != family(m.Model) {
			t.Errorf("%s can never be found: its family is %s", m.Model, family(m.Model))
		}
		rates := []Rate{m.Rate}
		if m.Long != nil {
			rates = append(rates, m.Long.Rate)
			if m.Long.Over < 100_000 || m.Long.Input < m.Input || m.Long.Output < m.Output {
				t.Errorf("%s: %+v", m.Model, m.Long)
			}
		}
		for _, r := range rates {
			if r.Input < 10_000 || r.Input > 100_000_000 || r.CachedInput <= 0 || r.CachedInput > r.Input || r.CacheWrite < r.Input || r.Output < 4*r.Input || r.Output > 10*r.Input {
				t.Errorf("%s: %+v", m.Model, r)
			}
		}
	}
}

func TestPriceOf(t *testing.T) {
	t.Parallel()
	half := 0.5
	p := NewPrices(map[string]settings.Price{
		"claude-opus-4-5": {Input: 1, Output: 2},
		"House/*":         {Input: 3, Output: 4, CachedInput: &half},
		"house/big-*":     {Input: 7, CacheWrite: &half, Output: 8},
		"free":            {},
		"[":               {Input: 99},
	}, agentruntime.AdapterConfig{})
	for _, c := range []struct {
		model string
		input int64
		known bool
	}{
		{"claude-opus-4-5", 1_000_000, true},            // the operator's
		{"claude-opus-4-5-20251101", 5_000_000, true},   // the operator names another
		{"claude-sonnet-4-5-20250929", 3_000_000, true}, // the date is cut off
		{"claude-sonnet-4.5", 3_000_000, true},
		{"anthropic/claude-sonnet-4.5", 3_000_000, true},
		{"claude-3-5-haiku-latest", 800_000, true},
		{"gpt-5-2025-08-07", 1_250_000, true},
		{"openai/gpt-5-mini", 250_000, true},
		{"GPT-5", 1_250_000, true},
		{"gpt-5-turbo", 0, false}, // it only begins like one that is known
		{"gpt-55", 0, false},
		{"claude-sonnet-4-5[1m]", 0, false}, // another price
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 0, false},
		{"sonnet", 0, false},
		{"", 0, false},
		{"free", 0, true},
		{"house/small", 3_000_000, true},
		{"house/big-one", 7_000_000, true}, // the longer glob
		{"house/big/deep", 3_000_000, true},
		{strings.Repeat("x", 1<<20), 0, false},
	} {
		got, ok := p.Of(c.model)
		if ok != c.known || got.Input != c.input {
			t.Errorf("%.40s: %+v %v", c.model, got, ok)
		}
	}
	if v, _ := p.Of("house/small"); v.CachedInput != 500_000 || v.CacheWrite != 3_000_000 {
		t.Errorf("what is left out costs what input costs: %+v", v)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	native := func(api, base string) agentruntime.AdapterConfig {
		return agentruntime.AdapterConfig{Native: &agentruntime.NativeAdapter{Provider: agentruntime.NativeProvider{API: api, BaseURL: base}}}
	}
	codex := func(base string) agentruntime.AdapterConfig {
		return agentruntime.AdapterConfig{Codex: &agentruntime.CodexAdapter{Provider: &agentruntime.CodexProvider{BaseURL: base}}}
	}
	claude := func(base string) agentruntime.AdapterConfig {
		return agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{Env: map[string]string{"ANTHROPIC_BASE_URL": base}}}
	}
	for _, c := range []struct {
		name string
		a    agentruntime.AdapterConfig
		want bool
	}{
		{"ollama", agentruntime.AdapterConfig{OllamaGenerate: &agentruntime.OllamaGenerateAdapter{Endpoint: "http://gpu.example:11434"}}, true},
		{"native ollama", native(agentruntime.APIOllama, ""), true},
		{"native here", native(agentruntime.APIOpenAIChat, "http://127.0.0.1:8000/v1"), true},
		{"native v6", native(agentruntime.APIOpenAIChat, "http://[::1]:8000/v1"), true},
		{"native default", native(agentruntime.APIAnthropic, ""), false},
		{"codex here", codex("http://localhost:1"), true},
		{"codex there", codex("https://api.example.com"), false},
		{"a name that looks like it", codex("http://127.0.0.1.example.com"), false},
		{"a user that looks like it", codex("http://127.0.0.1@example.com"), false},
		{"claude here", claude("http://127.0.0.2:9"), true},
		{"claude there", claude("https://gateway.example"), false},
		{"no address", claude(":"), false},
		{"nothing", agentruntime.AdapterConfig{}, false},
	} {
		if got := Local(c.a); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	p := NewPrices(nil, codex("http://127.0.0.1:1"))
	if v, ok := p.Of("qwen3:8b"); !ok || v != (Price{}) {
		t.Errorf("a model of one's own: %+v %v", v, ok)
	}
	if v, ok := p.Of("gpt-5"); !ok || v.Input != 1_250_000 { // a gateway on the same machine costs what is behind it
		t.Errorf("a known model behind a local address: %+v %v", v, ok)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	p := Price{Rate: Rate{Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}, Long: &LongRate{Over: 1000, Rate: Rate{Input: 6_000_000, Output: 1}}}
	for _, c := range []struct {
		u    agentruntime.Usage
		want int64 // micro-USD
	}{
		{agentruntime.Usage{}, 0},
		{agentruntime.Usage{InputTokens: 1}, 3},
		{agentruntime.Usage{InputTokens: 1000, CachedInputTokens: 600, CacheWriteTokens: 300, OutputTokens: 10}, 100*3 + 180 + 1125 + 150},
		{agentruntime.Usage{InputTokens: 1, CachedInputTokens: 1}, 1},                           // 0.3, rounded up
		{agentruntime.Usage{InputTokens: 10, CachedInputTokens: 100, CacheWriteTokens: 100}, 3}, // no more is cached than there is
		{agentruntime.Usage{InputTokens: 1001}, 6006},
		{agentruntime.Usage{InputTokens: math.MaxInt64}, math.MaxInt64/1_000_000 + 1},
	} {
		if got := dollars(p.pico(c.u)); got != c.want {
			t.Errorf("%+v: %d, want %d", c.u, got, c.want)
		}
	}
}

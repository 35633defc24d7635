package usage

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func at(t *time.Time) func() time.Time { return func() time.Time { return *t } }

func reported(micro int64) *int64 { return &micro }

// Every bound, of the task and of the day: reached, not reached, and the words for it.
func TestBounds(t *testing.T) {
	t.Parallel()
	tokens := func(n int64) func(*Meter) error {
		return func(m *Meter) error { return m.Add(agentruntime.Usage{Model: "gpt-5", InputTokens: n}) }
	}
	for _, c := range []struct {
		name    string
		budget  deed.Budget
		before  store.UsageSum
		fine    []func(*Meter) error
		over    func(*Meter) error
		wantErr []string
	}{
		{"turns", deed.Budget{Turns: 3}, store.UsageSum{Usage: store.Usage{Turns: 1}}, []func(*Meter) error{(*Meter).Turn, (*Meter).Turn}, (*Meter).Turn, []string{"turns 4 of 3", "--turns"}},
		{"tool calls", deed.Budget{ToolCalls: 1}, store.UsageSum{}, []func(*Meter) error{(*Meter).ToolCall}, (*Meter).ToolCall, []string{"tool_calls 2 of 1", "--tool-calls"}},
		{"tokens", deed.Budget{Tokens: 100}, store.UsageSum{Usage: store.Usage{InputTokens: 40, OutputTokens: 9}}, []func(*Meter) error{tokens(50)}, tokens(1), []string{"tokens 100 of 100", "--tokens"}},
		{"money", deed.Budget{CostUSD: 0.0025}, store.UsageSum{CountedMicroUSD: 1249}, []func(*Meter) error{tokens(1000)}, tokens(1), []string{"cost_usd 0.002501 of 0.0025", "--usd"}},
		{
			"time",
			deed.Budget{WallSeconds: 2},
			store.UsageSum{Usage: store.Usage{AgentMS: 1000}},
			[]func(*Meter) error{func(m *Meter) error { return m.WallTime(999 * time.Millisecond) }},
			func(m *Meter) error { return m.WallTime(time.Millisecond) },
			[]string{"wall_seconds 2.000 of 2.000", "--wall"},
		},
	} {
		for _, scope := range []string{"task", "day"} {
			t.Run(c.name+" of the "+scope, func(t *testing.T) {
				t.Parallel()
				l, b := Limits{TaskID: "t1", Task: c.budget}, Before{Task: c.before, Today: "2026-11-15"}
				says := append([]string{"the " + scope, "deed task budget t1"}, c.wantErr...)
				if scope == "day" {
					l, b = Limits{TaskID: "t1", Day: c.budget}, Before{Day: c.before, Today: "2026-11-15"}
					says = []string{"the day", c.wantErr[0], "budgets.day.", "deed task retry t1"}
				}
				m := NewMeter("gpt-5", l, b, Prices{}, at(&noon))
				for i, f := range c.fine {
					if err := f(m); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
				}
				err := c.over(m)
				if failure.ClassOf(err) != failure.Budget {
					t.Fatalf("class %s: %v", failure.ClassOf(err), err)
				}
				for _, w := range says {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%q lacks %q", err, w)
					}
				}
				var bound *Bound
				if !errors.As(err, &bound) || bound.Scope != scope {
					t.Errorf("bound %+v", bound)
				}
				if again := m.Turn(); failure.ClassOf(again) != failure.Budget {
					t.Errorf("afterwards: %v", again)
				}
			})
		}
	}
}

// Before more work begins, an exhausted limit is an error; the remaining time is returned.
func TestCheck(t *testing.T) {
	t.Parallel()
	m := NewMeter("", Limits{Task: deed.Budget{Turns: 2, WallSeconds: 10}, Day: deed.Budget{WallSeconds: 100}}, Before{}, Prices{}, at(&noon))
	for range 2 {
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		if err := m.Turn(); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Check(); failure.ClassOf(err) != failure.Budget {
		t.Errorf("with no turn left: %v", err)
	}
	if err := m.WallTime(4 * time.Second); err != nil {
		t.Fatal(err)
	}
	if d, ok := m.Left(); !ok || d != 6*time.Second {
		t.Errorf("left: %s %v", d, ok)
	}
	if err := m.WallTime(time.Hour); failure.ClassOf(err) != failure.Budget {
		t.Errorf("late: %v", err)
	}
	if d, ok := m.Left(); !ok || d != 0 {
		t.Errorf("left: %s %v", d, ok)
	}
	if _, ok := NewMeter("", Limits{}, Before{}, Prices{}, at(&noon)).Left(); ok {
		t.Error("no bound leaves no time")
	}
}

// The larger one of reported and computed counts; both are kept.
func TestToldAndComputed(t *testing.T) {
	t.Parallel()
	m := NewMeter("gpt-5", Limits{Task: deed.Budget{CostUSD: 1}}, Before{}, Prices{}, at(&noon))
	if err := m.Add(agentruntime.Usage{InputTokens: 1000, CostMicroUSD: reported(900_000)}); err != nil {
		t.Fatal(err)
	}
	got := m.Totals()
	if got.CostMicroUSD != 1250 || *got.ReportedMicroUSD != 900_000 || got.CountedMicroUSD != 900_000 {
		t.Errorf("%+v", got)
	}
	if err := m.Add(agentruntime.Usage{CostMicroUSD: reported(100_000)}); failure.ClassOf(err) != failure.Budget {
		t.Errorf("a dollar was told: %v", err)
	}
	// An agent that tells too little does not get around deed's own sum.
	m = NewMeter("gpt-5", Limits{Task: deed.Budget{CostUSD: 1}}, Before{}, Prices{}, at(&noon))
	if err := m.Add(agentruntime.Usage{InputTokens: 800_000, CostMicroUSD: reported(1)}); failure.ClassOf(err) != failure.Budget {
		t.Errorf("%v", err)
	}
}

// Hostile numbers neither lower the account nor turn it round, and names do not fill the store.
func TestHostileUsage(t *testing.T) {
	t.Parallel()
	m := NewMeter("gpt-5", Limits{}, Before{}, Prices{}, at(&noon))
	if err := m.Add(agentruntime.Usage{InputTokens: 5}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, u := range []agentruntime.Usage{
			{InputTokens: -1e9, OutputTokens: -5, CostMicroUSD: reported(-7)},
			{InputTokens: math.MaxInt64, CachedInputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, CostMicroUSD: reported(math.MaxInt64)},
			{InputTokens: math.MinInt64, CachedInputTokens: math.MinInt64, CacheWriteTokens: math.MinInt64},
		} {
			if err := m.Add(u); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.WallTime(-time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	got := m.Totals()
	if got.InputTokens != 5+3*maxTokens || *got.ReportedMicroUSD != 3*maxReportedUSD || got.CostMicroUSD <= 0 || got.AgentMS != 0 {
		t.Errorf("%+v", got)
	}
	for i := range 1000 {
		if err := m.Add(agentruntime.Usage{Model: strings.Repeat("m", 300+i) + string(rune('a'+i%26))}); err != nil {
			t.Fatal(err)
		}
		if err := m.Add(agentruntime.Usage{Model: "model-" + strings.Repeat("x", i%250) + string(rune('a'+i%26))}); err != nil {
			t.Fatal(err)
		}
	}
	parts := m.Parts()
	if len(parts) > maxModels+2 {
		t.Errorf("%d parts", len(parts))
	}
	for _, p := range parts {
		if len(p.Model) > maxNameSize {
			t.Errorf("a name of %d bytes", len(p.Model))
		}
	}
}

// A model that answers and has no price ends a run that has a budget of money, and no other.
func TestUnknownPriceAtRunTime(t *testing.T) {
	t.Parallel()
	use := agentruntime.Usage{Model: "surprise", InputTokens: 10}
	free := NewMeter("gpt-5", Limits{Task: deed.Budget{Tokens: 1000}}, Before{}, Prices{}, at(&noon))
	if err := free.Add(use); err != nil {
		t.Fatal(err)
	}
	if got := free.Totals(); got.UnpricedTokens != 10 || got.CostMicroUSD != 0 {
		t.Errorf("%+v", got)
	}
	for _, l := range []Limits{{Task: deed.Budget{CostUSD: 5}}, {Day: deed.Budget{CostUSD: 5}}} {
		m := NewMeter("gpt-5", l, Before{}, Prices{}, at(&noon))
		with := use
		with.CostMicroUSD = reported(3)
		if err := m.Add(with); err != nil {
			t.Errorf("its cost was told: %v", err)
		}
		if err := m.Add(use); failure.ClassOf(err) != failure.Budget || !strings.Contains(err.Error(), "surprise") || !strings.Contains(err.Error(), "prices:") {
			t.Errorf("%v", err)
		}
	}
}

// Midnight begins a new day; the task goes on.
func TestMidnight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 23, 59, 0, 0, time.UTC)
	m := NewMeter("a", Limits{Task: deed.Budget{Turns: 5}, Day: deed.Budget{Turns: 3}}, Before{Day: store.UsageSum{Usage: store.Usage{Turns: 2}}, Today: "2026-11-15"}, Prices{}, at(&now))
	if err := m.Turn(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	for i := range 3 {
		if err := m.Turn(); err != nil {
			t.Fatalf("turn %d of the new day: %v", i, err)
		}
	}
	if err := m.Others(store.UsageSum{}, "2026-11-16"); err != nil {
		t.Error(err)
	}
	if err := m.Others(store.UsageSum{Usage: store.Usage{Turns: 1}}, "2026-11-16"); failure.ClassOf(err) != failure.Budget { // somebody else works too
		t.Errorf("%v", err)
	}
	if err := m.Check(); failure.ClassOf(err) != failure.Budget {
		t.Errorf("%v", err)
	}
	parts := m.Parts()
	if len(parts) != 2 || parts[0].Day != "2026-11-15" || parts[0].Turns != 1 || parts[1].Day != "2026-11-16" || parts[1].Turns != 3 {
		t.Errorf("%+v", parts)
	}
}

func TestMeterFromManyGoroutines(t *testing.T) {
	t.Parallel()
	m := NewMeter("gpt-5", Limits{}, Before{}, Prices{}, at(&noon))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_ = m.Turn()
				_ = m.ToolCall()
				_ = m.Add(agentruntime.Usage{InputTokens: 2, OutputTokens: 1})
				_ = m.WallTime(time.Millisecond)
				m.Parts()
			}
		})
	}
	wg.Wait()
	want := store.Usage{Turns: 800, ToolCalls: 800, InputTokens: 1600, OutputTokens: 800, CostMicroUSD: 1600*125/100 + 8000, AgentMS: 800}
	if got := m.Totals(); got.Usage != want {
		t.Errorf("%+v, want %+v", got.Usage, want)
	}
}

func TestCheckAdmission(t *testing.T) {
	t.Parallel()
	claude := func(model string) agentruntime.AdapterConfig {
		return agentruntime.AdapterConfig{ClaudeCode: &agentruntime.ClaudeCodeAdapter{Model: model}}
	}
	script := agentruntime.AdapterConfig{Script: &agentruntime.ScriptAdapter{}}
	ollama := agentruntime.AdapterConfig{OllamaGenerate: &agentruntime.OllamaGenerateAdapter{Model: "qwen"}}
	money := &deed.Budget{CostUSD: 1}
	for _, c := range []struct {
		name      string
		config    func(*config.Config)
		own       *deed.Budget
		adapter   agentruntime.AdapterConfig
		requested string
		wantErr   []string // nothing: it is admitted
	}{
		{"no budget", nil, nil, claude("mystery"), "", nil},
		{"tokens only", nil, &deed.Budget{Tokens: 5}, claude("mystery"), "", nil},
		{"known", nil, money, claude("claude-sonnet-4-5"), "", nil},
		{"the task's model counts", nil, money, claude("mystery"), "gpt-5", nil},
		{"unknown", nil, money, claude("mystery"), "", []string{`"mystery"`, "prices:", "tokens"}},
		{"unknown, of the task", nil, money, claude("gpt-5"), "riddle", []string{`"riddle"`}},
		{"no model", nil, money, claude(""), "", []string{"--model"}},
		{"the operator's default", func(c *config.Config) { c.Budgets.Task.CostUSD = 1 }, nil, claude("mystery"), "", []string{"mystery"}},
		{"the day's", func(c *config.Config) { c.Budgets.Day.CostUSD = 1 }, &deed.Budget{Turns: 1}, claude("mystery"), "", []string{"mystery"}},
		{"the operator's price", func(c *config.Config) { c.Prices["myst*"] = settings.Price{Input: 1, Output: 1} }, money, claude("mystery"), "", nil},
		{"local", nil, money, ollama, "", nil},
		{"a script", nil, money, script, "", []string{"script", "wall_seconds"}},
		{"a script under a default", func(c *config.Config) { c.Budgets.Task.CostUSD = 1 }, nil, script, "", nil},
		{"text of a command", nil, money, agentruntime.AdapterConfig{Command: &agentruntime.CommandAdapter{Model: "gpt-5"}}, "", []string{"command"}},
		{"events of a command", nil, money, agentruntime.AdapterConfig{Command: &agentruntime.CommandAdapter{Model: "gpt-5", Events: agentruntime.EventsCodexJSON}}, "", nil},
	} {
		cfg := config.Default()
		if c.config != nil {
			c.config(cfg)
		}
		err := CheckAdmission(cfg, c.own, c.adapter, c.requested)
		if (err == nil) != (c.wantErr == nil) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err != nil && failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: class %s", c.name, failure.ClassOf(err))
		}
		for _, w := range c.wantErr {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", c.name, err, w)
			}
		}
	}
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for micro, want := range map[int64]string{0: "0.00", 1: "0.000001", 2_500_000: "2.50", 1_234_567: "1.234567", 10_000: "0.01", 1_000_000_000_000: "1000000.00"} {
		if got := USD(micro); got != want {
			t.Errorf("%d: %s, want %s", micro, got, want)
		}
	}
}

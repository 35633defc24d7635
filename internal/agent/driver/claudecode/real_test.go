package claudecode_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/claudecode"
	"github.com/deedrun/deed/internal/agent/driver/drivertest"
	"github.com/deedrun/deed/internal/base/failure"
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

// A guard gives the answers that it was set up with, and remembers what it was asked.
type guard struct {
	mu     sync.Mutex
	effect agentruntime.PolicyEffect
	err    error
	before []agentruntime.ToolCall
	after  []agentruntime.ToolResult
}

func (g *guard) Before(_ context.Context, c agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before = append(g.before, c)
	return agentruntime.PolicyDecision{Effect: g.effect, Rule: "rule-1", Reason: "the rule says so"}, g.err
}

func (g *guard) After(_ context.Context, _ agentruntime.ToolCall, r agentruntime.ToolResult) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after = append(g.after, r)
	return "feedback of the guard", nil
}

func (g *guard) Ask(context.Context, string) (string, error) { return "", driver.ErrAsked }

// The real Claude Code asks deed before and after each call, whatever its own guards would say.
func TestRealClaudeAsksTheGuard(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		guard    *guard
		kind     driver.YieldKind
		class    failure.Class
		repaired bool
		after    int
	}{
		"allow":    {&guard{effect: agentruntime.PolicyAllow}, driver.YieldCompletion, failure.None, true, 1},
		"deny":     {&guard{effect: agentruntime.PolicyDeny}, driver.YieldCompletion, failure.None, false, 0},
		"ask":      {&guard{err: driver.ErrAsked}, driver.YieldRequiredAction, failure.Blocked, false, 0},
		"no words": {&guard{err: failure.New(failure.Infra, "decide", errors.New("disk full"), "")}, driver.YieldEnd, failure.Infra, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := tc.guard
			b, y := real(t).One(t, "fix", func(j *driver.Job) {
				j.Guard = g
				j.Adapter.ClaudeCode.ExtraArgs = nil // its own guards would refuse the command
			})
			if y.Kind != tc.kind || y.Class != tc.class {
				t.Errorf("got %s, %s, %v\n%s", y.Kind, y.Class, y.Err, b.ReadFile(y.StdoutPath))
			}
			repaired := strings.Contains(b.ReadFile(filepath.Join(b.Job.Dirs.Workspace, "calc")), "a + b")
			if repaired != tc.repaired {
				t.Errorf("repaired: %v\n%s", repaired, b.ReadFile(y.StdoutPath))
			}
			if len(g.before) != 1 || g.before[0].Tool != "Bash" || !strings.Contains(string(g.before[0].Input), "sed -i") || g.before[0].CallID == "" {
				t.Errorf("asked before: %+v", g.before)
			}
			if len(g.after) != tc.after {
				t.Errorf("asked after: %+v", g.after)
			}
		})
	}
}

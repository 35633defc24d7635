package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

type guardBench struct {
	st     *store.Store
	ref    store.Ref
	mu     sync.Mutex
	events []any
	states []state.Attempt
}

func (b *guardBench) Event(_ string, d any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, d)
}

// decisions lists the effects that were reported.
func (b *guardBench) decisions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.events {
		if d, ok := e.(agentruntime.PolicyDecision); ok {
			out = append(out, string(d.Effect))
		}
	}
	return out
}

func (b *guardBench) open(t *testing.T, dsn string) {
	t.Helper()
	var err error
	if b.st, err = store.Open(t.Context(), dsn, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.st.Close() })
}

func (b *guardBench) claim(t *testing.T) {
	t.Helper()
	c, err := b.st.Claim(t.Context(), store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	if err == nil {
		err = b.st.Begin(t.Context(), c.Ref, store.Begin{AdapterID: "a", AdapterKind: "script"})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.ref = c.Ref
}

func (b *guardBench) guard(live int) *toolGuard {
	return newGuard(guardOptions{
		Engine: policy.New(policy.Options{
			Rules: policy.Ruleset{Home: policy.List{Origin: policy.OriginHome, Rules: []deed.Rule{
				{Name: "push", Command: []string{"git push*"}, Effect: "ask", Reason: "it leaves the machine"},
				{Command: []string{"git *"}, Effect: "allow"},
			}}},
			Places: policy.Places{Root: "/w"},
		}),
		Store: b.st, Ref: b.ref, Sink: b, Clock: clock.System, Enforced: true, Redactor: redact.New(map[string]string{"TOKEN": "hunter2-hunter2-hunter2"}),
		Ask: &settings.PolicyAsk{LiveSeconds: &live, DeadlineSeconds: 3600, MayAnswer: []string{"ada"}},
		Move: func(_ context.Context, to state.Attempt, _ string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.states = append(b.states, to)
		},
	})
}

func shellCall(line string) agentruntime.ToolCall {
	in, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		panic(err)
	}
	return agentruntime.ToolCall{CallID: "c", Tool: "Bash", Input: in}
}

// A permission that is not given in time sets the task aside; the answer wakes it, and the next attempt does not ask
// again.
func TestGuardAsksOnceAcrossARestart(t *testing.T) {
	t.Parallel()
	dsn := filepath.Join(t.TempDir(), "deed.db")
	b := &guardBench{}
	b.open(t, dsn)
	ctx := t.Context()
	if _, err := b.st.Enqueue(ctx, store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", AdapterID: "a", MaxAttempts: 1,
	}); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	g := b.guard(0)
	if d, err := g.Before(ctx, shellCall("git status")); err != nil || d.Effect != "allow" || d.Held != policy.HeldEnforced || g.Pending() != nil {
		t.Fatalf("%+v %v", d, err)
	}
	if d, err := g.Before(ctx, shellCall("make")); err != nil || d.Effect != "deny" || d.Rule != policy.RuleDefault {
		t.Fatalf("%+v %v", d, err)
	}
	push := shellCall("git push hunter2-hunter2-hunter2")
	if _, err := g.Before(ctx, push); !errors.Is(err, driver.ErrAsked) {
		t.Fatalf("push: %v", err)
	}
	if _, err := g.Before(ctx, push); !errors.Is(err, driver.ErrAsked) {
		t.Fatalf("push again: %v", err)
	}
	if got := strings.Join(b.decisions(), " "); got != "allow deny ask ask" || !slices.Contains(b.states, state.WaitingForPermission) || slices.Contains(b.states, state.Running) {
		t.Errorf("told %s, states %v", got, b.states)
	}
	if err := b.st.Settle(ctx, b.ref, store.Settlement{State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked, Action: g.Pending()}); err != nil {
		t.Fatal(err)
	}
	if err := b.st.Close(); err != nil {
		t.Fatal(err)
	}

	b.open(t, dsn)
	acts, err := b.st.Actions(ctx, store.ActionFilter{})
	if err != nil || len(acts) != 1 {
		t.Fatalf("actions %+v %v", acts, err)
	}
	a := acts[0]
	if a.Rule != "home/push" || a.Why != "it leaves the machine" || a.Deadline.IsZero() || len(a.MayAnswer) != 1 || strings.Contains(a.Prompt+string(a.Subject), "hunter2") {
		t.Fatalf("action %+v", a)
	}
	if err := b.st.AnswerAction(ctx, a.ID, json.RawMessage(`{"decision":"allow","note":"ok"}`), "ada"); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	g = b.guard(0)
	d, err := g.Before(ctx, push)
	if err != nil || d.Effect != "allow" || d.By != "ada" || d.ActionID != a.ID || d.Reason != "allowed by ada: ok" {
		t.Fatalf("%+v %v", d, err)
	}
	if _, err := g.Before(ctx, shellCall("git push elsewhere")); !errors.Is(err, driver.ErrAsked) {
		t.Fatalf("an answer holds for another call: %v", err)
	}
}

// An answer that comes while the agent waits goes on at once; one that holds always is not asked for again.
func TestGuardWaitsLive(t *testing.T) {
	t.Parallel()
	b := &guardBench{}
	b.open(t, filepath.Join(t.TempDir(), "deed.db"))
	ctx := t.Context()
	if _, err := b.st.Enqueue(ctx, store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", AdapterID: "a", MaxAttempts: 1,
	}); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	g := b.guard(600)
	answer := func(text string) {
		for ctx.Err() == nil {
			acts, err := b.st.Actions(ctx, store.ActionFilter{State: store.ActionOpen})
			if err != nil {
				t.Error(err)
				return
			}
			if len(acts) > 0 {
				if err := b.st.AnswerAction(ctx, acts[0].ID, json.RawMessage(text), "ada"); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}
	with := func(in string) agentruntime.ToolCall {
		return agentruntime.ToolCall{CallID: "c", Tool: "Bash", Input: json.RawMessage(in)}
	}
	var wg sync.WaitGroup
	wg.Go(func() { answer(`{"decision":"allow","always":true}`) })
	d, err := g.Before(ctx, with(`{"command":"git push","description":"first"}`))
	wg.Wait()
	if err != nil || d.Effect != "allow" {
		t.Fatalf("%+v %v", d, err)
	}
	if d, err = g.Before(ctx, with(`{"command":"git  push","description":"again"}`)); err != nil || d.Effect != "allow" || d.By != "ada" {
		t.Fatalf("always: %+v %v", d, err)
	}
	wg.Go(func() { answer(`{"decision":"deny","note":"no"}`) })
	d, err = g.Before(ctx, with(`{"command":"git push --force"}`))
	wg.Wait()
	if err != nil || d.Effect != "deny" || d.Reason != "denied by ada: no" || g.Pending() != nil {
		t.Fatalf("%+v %v", d, err)
	}
	wg.Go(func() { answer(`"blue"`) })
	text, err := g.Ask(ctx, "red or blue?")
	wg.Wait()
	if err != nil || text != "blue" {
		t.Fatalf("Ask = %q %v", text, err)
	}
	if text, err := g.Ask(ctx, "red or blue?"); err != nil || text != "blue" {
		t.Fatalf("asked twice: %q %v", text, err)
	}
	if last := b.states[len(b.states)-1]; last != state.Running {
		t.Errorf("states %v", b.states)
	}
	if d, err := g.Stop(ctx, policy.Stopping{}); err != nil || d.Effect != "allow" {
		t.Errorf("%+v %v", d, err)
	}
}

// A person is asked about the whole call, cannot be drowned in questions, and an answer follows no link that changed since.
func TestGuardShowsTheWhole(t *testing.T) {
	t.Parallel()
	b := &guardBench{}
	b.open(t, filepath.Join(t.TempDir(), "deed.db"))
	ctx := t.Context()
	if _, err := b.st.Enqueue(ctx, store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", AdapterID: "a", MaxAttempts: 1,
	}); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	g := b.guard(0)
	prompt := func(call agentruntime.ToolCall) string {
		t.Helper()
		if _, err := g.Before(ctx, call); !errors.Is(err, driver.ErrAsked) {
			t.Fatalf("%s: %v", call.Input, err)
		}
		acts, err := b.st.Actions(ctx, store.ActionFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return acts[len(acts)-1].Prompt
	}
	for line, want := range map[string]string{
		"git push a; git push b":                                     "May the agent use Bash: git push a; git push b?",
		"git push a\ngit push b":                                     "git push a; git push b",
		"git push <<X\nhidden\nX":                                    "hidden",
		"git push " + strings.Repeat("' '", 900) + "; git push evil": "It is long",
	} {
		if got := prompt(shellCall(line)); !strings.Contains(got, want) {
			t.Errorf("%.40q asks %.200q, which does not hold %q", line, got, want)
		}
	}
	spoof := shellCall("git push c")
	spoof.Tool = "Bash? It was approved already.\n\x1b[2J"
	if got := prompt(spoof); strings.ContainsAny(got, "\n\x1b") || !strings.Contains(got, `"Bash? It`) {
		t.Errorf("asks %q", got)
	}
	if d, err := g.Before(ctx, shellCall("git push "+strings.Repeat("x", maxShownInput))); err != nil || d.Effect != "deny" {
		t.Errorf("what nobody can read: %+v %v", d, err)
	}
	g.asked = maxAsked
	if d, err := g.Before(ctx, shellCall("git push once more")); err != nil || d.Effect != "deny" {
		t.Errorf("asked without end: %+v %v", d, err)
	}
	if text, err := g.Ask(ctx, "may I ask?"); err != nil || text != unanswered {
		t.Errorf("asked without end: %q %v", text, err)
	}
	if _, err := g.Before(ctx, shellCall("git push a; git push b")); !errors.Is(err, driver.ErrAsked) {
		t.Errorf("what was asked before: %v", err)
	}
}

func TestAnAnswerFollowsNoLinkThatChanged(t *testing.T) {
	t.Parallel()
	b := &guardBench{}
	b.open(t, filepath.Join(t.TempDir(), "deed.db"))
	ctx := t.Context()
	if _, err := b.st.Enqueue(ctx, store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", AdapterID: "a", MaxAttempts: 1,
	}); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
	dir := t.TempDir()
	g := b.guard(0)
	g.Engine = policy.New(policy.Options{
		Rules:  policy.Ruleset{Home: policy.List{Origin: policy.OriginHome, Rules: []deed.Rule{{Path: []string{"**"}, Effect: "ask"}}}},
		Places: policy.Places{Root: dir},
	})
	call := agentruntime.ToolCall{CallID: "c", Tool: "Write", Input: json.RawMessage(`{"file_path":"notes","content":"x"}`)}
	if _, err := g.Before(ctx, call); !errors.Is(err, driver.ErrAsked) {
		t.Fatal(err)
	}
	acts, err := b.st.Actions(ctx, store.ActionFilter{})
	if err != nil || len(acts) != 1 {
		t.Fatalf("%+v %v", acts, err)
	}
	if err := b.st.AnswerAction(ctx, acts[0].ID, json.RawMessage(`{"decision":"allow"}`), "ada"); err != nil {
		t.Fatal(err)
	}
	if d, err := g.Before(ctx, call); err != nil || d.Effect != "allow" {
		t.Fatalf("%+v %v", d, err)
	}
	if err := os.Symlink("keys", filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	if d, err := g.Before(ctx, call); !errors.Is(err, driver.ErrAsked) {
		t.Fatalf("the answer holds for another file: %+v %v", d, err)
	}
}

// A person is waited for as long as the agent has time, and a task that waits is not ended for that.
func TestPatienceEndsBeforeTheTimeLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ live, left, want time.Duration }{
		{2 * time.Minute, 30 * time.Minute, 2 * time.Minute},
		{2 * time.Minute, time.Minute, 45 * time.Second},
		{2 * time.Minute, 8 * time.Second, 6 * time.Second},
		{0, time.Hour, 0},
		{time.Minute, 0, 0},
	} {
		g := &toolGuard{live: c.live, guardOptions: guardOptions{Left: func() (time.Duration, bool) { return c.left, true }}}
		if got := g.patience(); got != c.want {
			t.Errorf("live %v with %v left: %v, want %v", c.live, c.left, got, c.want)
		}
	}
}

package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// The defaults for asking a person, when the configuration says nothing.
const (
	defaultLiveWait = 2 * time.Minute
	defaultDeadline = 24 * time.Hour
)

// unanswered is what an agent receives when its question was not answered in time.
const unanswered = "Nobody answered before the deadline. Go on without the answer, or say that you cannot."

// guardOptions configure a guard.
type guardOptions struct {
	Engine   *policy.Engine
	Store    *store.Store
	Ref      store.Ref
	Sink     driver.Sink         // takes EventPolicy and EventAction
	Ask      *settings.PolicyAsk // nil: the defaults
	Redactor *redact.Redactor
	Clock    clock.Clock
	Enforced bool // the driver makes no call before it has asked
	// Left returns how much time the agent has, and false if there is no limit; may be nil.
	Left func() (time.Duration, bool)
	// Move shows people that the attempt is waiting; may be nil.
	Move func(ctx context.Context, to state.Attempt, cause string)
}

// A toolGuard decides on the tool calls of one attempt. Each decision goes to the sink. Where a person has to decide,
// it asks once for each call, waits for a while, and then lets the task be set aside: see Pending.
type toolGuard struct {
	guardOptions
	live     time.Duration
	deadline time.Duration

	mu      sync.Mutex
	waiting int
	asked   int    // actions that this attempt opened
	pending string // the first action that was not answered while the agent waited
}

var _ driver.Guard = (*toolGuard)(nil)

func newGuard(o guardOptions) *toolGuard {
	g := &toolGuard{guardOptions: o, live: defaultLiveWait, deadline: defaultDeadline}
	if a := o.Ask; a != nil {
		if a.LiveSeconds != nil {
			g.live = time.Duration(*a.LiveSeconds) * time.Second
		}
		if a.DeadlineSeconds > 0 {
			g.deadline = time.Duration(a.DeadlineSeconds) * time.Second
		}
	}
	if g.Move == nil {
		g.Move = func(context.Context, state.Attempt, string) {}
	}
	return g
}

// Pending is the action that a blocked task waits for, for its settlement; nil if no action is open.
func (g *toolGuard) Pending() *store.NewAction {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending == "" {
		return nil
	}
	return &store.NewAction{ID: g.pending}
}

// Before decides on a call.
func (g *toolGuard) Before(ctx context.Context, call agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	d, err := g.Engine.Decide(ctx, call)
	if err != nil {
		return d, err
	}
	d.Held = policy.HeldDeclared
	if g.Enforced {
		d.Held = policy.HeldEnforced
	}
	if d.Effect == agentruntime.PolicyAsk {
		if d, err = g.person(ctx, call, d); err != nil {
			return d, err
		}
	}
	g.Sink.Event(driver.EventPolicy, d)
	return d, nil
}

// person asks whether the call may be made. An earlier answer for this call, or one that always holds, is used again.
func (g *toolGuard) person(ctx context.Context, call agentruntime.ToolCall, d agentruntime.PolicyDecision) (agentruntime.PolicyDecision, error) {
	c := g.Engine.Read(call)
	scope, err := c.Scope()
	if err != nil {
		return d, fmt.Errorf("name the call: %w", err)
	}
	digest, err := c.Digest(call.InputSHA)
	if err == nil { // the targets of its paths are part of the question: a link may have changed since
		digest, err = canonjson.HashIn("deed/tool-context/v1", []string{digest, scope})
	}
	if err != nil {
		return d, fmt.Errorf("name the call: %w", err)
	}
	if c.Subject() != "" { // a call that names nothing is identified by its whole input
		a, ok, err := action.Always(ctx, g.Store, g.Ref.TaskID, scope)
		if err != nil {
			return d, err
		}
		if ok {
			return answered(d, a), nil
		}
	}
	// The answer is for the whole call, so the whole call is shown, not only what a rule asks about.
	subject := action.Subject{Tool: c.Name, Agent: call.Tool, Subject: c.About(), Input: call.Input, Digest: scope, CallID: call.CallID}
	if !json.Valid(subject.Input) || len(subject.Input) > maxShownInput {
		subject.Input = nil
	}
	if len(subject.Subject) > maxShownInput {
		d.Effect, d.Reason = agentruntime.PolicyDeny, "nobody could read all of it: "+d.Reason
		return d, nil
	}
	a, closed, err := g.ask(ctx, store.NewAction{
		Kind: action.KindPermission, Prompt: permissionPrompt(call.Tool, subject.Subject), Why: d.Reason, Rule: d.Rule, ContextDigest: digest,
		Default: json.RawMessage(`{"decision":"` + deed.RuleDeny + `","note":"nobody answered before the deadline"}`),
	}, &subject, state.WaitingForPermission)
	if errors.Is(err, errAskedTooOften) {
		d.Effect, d.Reason = agentruntime.PolicyDeny, err.Error()
		return d, nil
	}
	if err != nil {
		return d, err
	}
	if d.ActionID = a.ID; !closed {
		g.Sink.Event(driver.EventPolicy, d)
		return d, driver.ErrAsked
	}
	return answered(d, a), nil
}

// Bounds on how much of a call a person is shown. A longer prompt says first that there is more, so that nothing can
// be hidden at its end. A call beyond the second bound is not asked about.
const (
	maxShownPrompt = 1000
	maxShownInput  = 32 << 10
)

// permissionPrompt asks for a call in one line. The name of a tool is chosen by the agent.
func permissionPrompt(tool, about string) string {
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./:-", r))
	}
	if tool == "" || strings.ContainsFunc(tool, odd) {
		tool = strconv.Quote(tool)
	}
	switch {
	case about == "":
		return "May the agent use " + tool + "?"
	case len(about) > maxShownPrompt:
		return fmt.Sprintf("May the agent use %s? It is long (%d bytes): read it whole with `deed action show`. It begins: %s…", tool, len(about), strings.ToValidUTF8(about[:maxShownPrompt], ""))
	}
	return "May the agent use " + tool + ": " + about + "?"
}

// answered turns an "ask" decision into what the person decided.
func answered(d agentruntime.PolicyDecision, a store.Action) agentruntime.PolicyDecision {
	said := action.Read(a)
	d.ActionID, d.By, d.Effect, d.Reason = a.ID, a.AnsweredBy, agentruntime.PolicyDeny, "denied by "+a.AnsweredBy
	if said.Allowed() {
		d.Effect, d.Reason = agentruntime.PolicyAllow, "allowed by "+a.AnsweredBy
	}
	if said.Note != "" {
		d.Reason += ": " + said.Note
	}
	return d
}

// ask opens an action, or finds the one that was opened for the same context, and waits for its answer.
func (g *toolGuard) ask(ctx context.Context, n store.NewAction, subject *action.Subject, to state.Attempt) (store.Action, bool, error) {
	n.Prompt, n.Why = truncate.Head(g.Redactor.String(n.Prompt), maxError), truncate.Head(g.Redactor.String(n.Why), maxError)
	if subject != nil {
		if err := g.Redactor.Value(subject); err != nil {
			return store.Action{}, false, fmt.Errorf("redact a call: %w", err)
		}
		text, err := json.Marshal(subject)
		if err != nil {
			return store.Action{}, false, fmt.Errorf("record a call: %w", err)
		}
		n.Subject = text
	}
	n.Deadline = g.Clock().Add(g.deadline)
	if g.guardOptions.Ask != nil {
		n.MayAnswer = g.guardOptions.Ask.MayAnswer
	}
	if err := g.mayAsk(ctx, n.ContextDigest); err != nil {
		return store.Action{}, false, err
	}
	a, err := g.Store.OpenAction(ctx, g.Ref, n)
	if err != nil {
		return a, false, err
	}
	if a.State != store.ActionOpen {
		return a, true, nil
	}
	g.mu.Lock()
	g.asked++
	g.mu.Unlock()
	g.Sink.Event(driver.EventAction, action.Record(a))
	g.wait(ctx, 1, to)
	defer g.wait(ctx, -1, state.Running)
	got, closed, err := action.Await(ctx, g.Store, a.ID, g.patience())
	switch {
	case err != nil:
		return got, false, err
	case closed:
		g.Sink.Event(driver.EventAction, action.Record(got))
		return got, true, nil
	}
	g.mu.Lock()
	if g.pending == "" {
		g.pending = a.ID
	}
	g.mu.Unlock()
	return got, false, nil
}

// maxAsked bounds how often one attempt may bother people.
const maxAsked = 100

var errAskedTooOften = fmt.Errorf("people were asked %d times already by this attempt", maxAsked)

// mayAsk reports whether people may be asked once more. A question that was answered before does not count.
func (g *toolGuard) mayAsk(ctx context.Context, digest string) error {
	g.mu.Lock()
	asked := g.asked
	g.mu.Unlock()
	if asked < maxAsked {
		return nil
	}
	_, known, err := action.Find(ctx, g.Store, g.Ref.TaskID, digest)
	if err == nil && !known {
		err = errAskedTooOften
	}
	return err
}

// patience returns how long the agent can wait: its time limit keeps running, and must not end a task that only
// waits.
func (g *toolGuard) patience() time.Duration {
	if g.Left == nil {
		return g.live
	}
	left, bounded := g.Left()
	if !bounded {
		return g.live
	}
	return max(min(g.live, left-min(left/4, askMargin)), 0)
}

// askMargin is reserved of an agent's time, so that it can be ended in order.
const askMargin = 15 * time.Second

// wait counts how many calls wait, and shows that the attempt waits.
func (g *toolGuard) wait(ctx context.Context, n int, to state.Attempt) {
	g.mu.Lock()
	g.waiting += n
	first, last := n > 0 && g.waiting == 1, n < 0 && g.waiting == 0 && g.pending == ""
	g.mu.Unlock()
	switch {
	case first:
		g.Move(ctx, to, "a person is asked")
	case last:
		g.Move(ctx, to, "the answer arrived")
	}
}

// After runs what follows a call.
func (g *toolGuard) After(ctx context.Context, call agentruntime.ToolCall, result agentruntime.ToolResult) (string, error) {
	return g.Engine.After(ctx, call, result)
}

// Ask asks a person a question of the agent.
func (g *toolGuard) Ask(ctx context.Context, question string) (string, error) {
	digest, err := canonjson.HashIn("deed/question/v1", question)
	if err != nil {
		return "", fmt.Errorf("name the question: %w", err)
	}
	quoted, err := json.Marshal(unanswered)
	if err != nil {
		return "", err
	}
	a, closed, err := g.ask(ctx, store.NewAction{
		Kind: action.KindQuestion, Prompt: question, Why: "the agent asks", ContextDigest: digest, Default: quoted,
	}, nil, state.WaitingForInput)
	if errors.Is(err, errAskedTooOften) {
		return unanswered, nil
	}
	if err != nil {
		return "", err
	}
	if !closed {
		return "", driver.ErrAsked
	}
	return action.Text(a), nil
}

// Stop asks whether the agent may be done. The effect is allow or deny.
func (g *toolGuard) Stop(ctx context.Context, s policy.Stopping) (agentruntime.PolicyDecision, error) {
	d, err := g.Engine.Stop(ctx, s)
	if err != nil {
		return d, err
	}
	d.Held = policy.HeldEnforced
	g.Sink.Event(driver.EventPolicy, d)
	return d, nil
}

// toolGuard makes the guard of this attempt, and the rules for drivers that can only pass rules on. The job lacks
// only these two. Hooks run where the agent cannot write: in the base.
func (a *run) toolGuard(j driver.Job, sink driver.Sink, enforced bool) (*toolGuard, []deed.Rule, error) {
	rules, err := policy.Assemble(a.Config.Policy, a.plan.spec.Policy, a.Config.Rules)
	if err != nil {
		return nil, nil, failure.New(failure.Config, "read the policy of the task", err, "")
	}
	places, err := placesOf(j)
	if err != nil {
		return nil, nil, failure.New(failure.Infra, "place the guard", err, "")
	}
	o := policy.Options{
		Rules: rules, Places: places, Session: a.claim.Ref.AttemptID, Transcript: a.path("journal.jsonl"),
		Environ: a.Environ, Redactor: a.redactor, Clock: a.Clock, Note: func(kind string, detail any) { a.note(kind, detail) },
	}
	g := guardOptions{Store: a.Store, Ref: a.claim.Ref, Sink: sink, Redactor: a.redactor, Clock: a.Clock, Enforced: enforced, Move: a.move, Left: a.timeLeft}
	if p := a.Config.Policy; p != nil {
		o.Hooks, g.Ask = p.Hooks, p.Ask
	}
	if o.Hooks != nil {
		base, err := a.base.Dir()
		if err != nil {
			return nil, nil, failure.New(failure.Infra, "place the guard", err, "")
		}
		o.ProjectDir = a.workDir(base)
	}
	g.Engine = policy.New(o)
	return newGuard(g), rules.Flat(), nil
}

// guarded adds the guard to a job. Without a policy the guard would allow everything, so agents do without it; deed's
// own agent keeps it, for its questions.
func (a *run) guarded(ctx context.Context, j driver.Job) (driver.Job, error) {
	asks, ok := a.plan.driver.(driver.Asking)
	g, rules, err := a.toolGuard(j, a.sink(ctx), ok && asks.AsksFirst())
	if err != nil {
		return j, err
	}
	a.guard, j.Rules = g, rules
	if len(rules) > 0 || g.Engine.Hooked() || a.plan.adapter.Kind() == agentruntime.KindNative {
		j.Guard = g
	}
	return j, nil
}

// stopReasons asks the stop policy for reasons against ending the work.
func (a *run) stopReasons(ctx context.Context) ([]string, error) {
	if a.guard == nil || !a.guard.Engine.Hooked() {
		return nil, nil
	}
	s := policy.Stopping{Turn: a.watch.turns(), Round: a.conversation.recoveries}
	if c := a.yield().Claim; c != nil {
		s.Claim = c.Summary
	}
	d, err := a.guard.Stop(ctx, s)
	if err != nil || d.Effect == agentruntime.PolicyAllow {
		return nil, err
	}
	return []string{d.Reason + " (" + d.Rule + ")"}, nil
}

// errNoDirs is returned for a job that was not prepared.
var errNoDirs = errors.New("the job has no workspace")

// placesOf returns the directories that the agent's paths can be in: every directory of the run, as the agent sees
// it.
func placesOf(j driver.Job) (policy.Places, error) {
	if j.Dirs.Workspace == "" {
		return policy.Places{}, errNoDirs
	}
	w := policy.Places{Root: j.Inside(j.Dirs.Workspace)}
	if j.Sandbox == nil {
		return w, nil
	}
	for _, dir := range []string{j.Dirs.Workspace, j.Dirs.Home, j.Dirs.Tmp, j.Dirs.Artifacts, j.Dirs.Exchange} {
		if dir != "" {
			w.Places = append(w.Places, policy.Place{Inside: j.Inside(dir), Host: dir})
		}
	}
	return w, nil
}

package policy

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// maxReason bounds what a rule's author or a hook can put into a record and into the agent's conversation.
const maxReason = 4 << 10

// Options make an Engine.
type Options struct {
	Rules  Ruleset
	Hooks  *settings.PolicyHooks // the operator's own; nil: none
	Places Places

	// ProjectDir is CLAUDE_PROJECT_DIR and the working directory of hooks. A hook runs on the machine as deed's user, so this
	// is a directory that the agent cannot write: the base of the workspace, not the workspace.
	ProjectDir string
	Session    string   // the attempt's id: session_id
	Transcript string   // transcript_path; may be empty
	Environ    []string // deed's own; hooks get the few variables that a command needs
	Redactor   *redact.Redactor
	Clock      clock.Clock
	Note       func(kind string, detail any) // takes a HookRun of each hook; may be nil
}

// An Engine decides at the tool boundary and at the stop boundary of one run. It may be used by several goroutines.
type Engine struct{ o Options }

// New makes an engine.
func New(o Options) *Engine {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Note == nil {
		o.Note = func(string, any) {}
	}
	return &Engine{o}
}

// Hooked reports whether the operator has hooks.
func (e *Engine) Hooked() bool { return e.o.Hooks != nil }

// Read takes a call apart as this engine sees it.
func (e *Engine) Read(call agentruntime.ToolCall) Call {
	return Read(call.Tool, call.Input, e.o.Places)
}

// Decide asks the rules and then, unless they deny, the PreToolUse hooks. The strictest answer counts; a hook that allows
// says only that it has no objection. The effect may be ask: then a person has to decide.
func (e *Engine) Decide(ctx context.Context, call agentruntime.ToolCall) (agentruntime.PolicyDecision, error) {
	c := e.Read(call)
	v := e.o.Rules.Decide(c)
	if v.Effect != agentruntime.PolicyDeny && e.o.Hooks != nil {
		h, err := e.hooks(ctx, EventPreToolUse, e.o.Hooks.PreToolUse, c, nil)
		if err != nil {
			return agentruntime.PolicyDecision{}, err
		}
		if strictness(h.Effect) > strictness(v.Effect) {
			h.Subject = v.Subject
			v = h
		}
	}
	d := e.decision(agentruntime.BoundaryTool, v)
	d.Turn, d.CallID, d.Tool = call.Turn, call.CallID, c.Name
	return d, nil
}

func (e *Engine) decision(boundary string, v Verdict) agentruntime.PolicyDecision {
	return agentruntime.PolicyDecision{
		ID: uuid.Must(uuid.NewV7()).String(), Boundary: boundary, Subject: e.text(v.Subject), Effect: v.Effect,
		Rule: v.Rule, Reason: e.text(v.Reason), At: agentruntime.At(e.o.Clock()),
	}
}

// text makes something fit for a record.
func (e *Engine) text(s string) string {
	return truncate.Head(strings.ToValidUTF8(e.o.Redactor.String(s), "�"), maxReason)
}

// After runs the PostToolUse hooks. What they say is for the agent.
func (e *Engine) After(ctx context.Context, call agentruntime.ToolCall, result agentruntime.ToolResult) (feedback string, err error) {
	if e.o.Hooks == nil || len(e.o.Hooks.PostToolUse) == 0 {
		return "", nil
	}
	v, err := e.hooks(ctx, EventPostToolUse, e.o.Hooks.PostToolUse, e.Read(call), map[string]any{
		"tool_response": map[string]any{"status": result.Status, "output": result.Output, "error_type": result.ErrorType},
	})
	return e.text(v.Reason), err
}

// A Stopping is an agent that says it is done.
type Stopping struct {
	Turn     int
	Claim    string // its word
	Round    int    // how often it was sent back before; 0 for the first time
	Subagent *agentruntime.SubagentRun
}

// Stop runs the Stop hooks, or the SubagentStop hooks for a subagent. The effect is allow or deny; with deny the reason is
// what the agent gets to read.
func (e *Engine) Stop(ctx context.Context, s Stopping) (agentruntime.PolicyDecision, error) {
	v := Verdict{Effect: agentruntime.PolicyAllow, Rule: RuleNoPolicy, Reason: "no hook objects"}
	event, list := EventStop, []settings.HookMatcher(nil)
	if e.o.Hooks != nil {
		if list = e.o.Hooks.Stop; s.Subagent != nil {
			event, list = EventSubagentStop, e.o.Hooks.SubagentStop
		}
	}
	if len(list) > 0 {
		more := map[string]any{"stop_hook_active": s.Round > 0, "last_assistant_message": s.Claim}
		if s.Subagent != nil {
			more["agent_id"] = s.Subagent.ID
		}
		h, err := e.hooks(ctx, event, list, Call{}, more)
		if err != nil {
			return agentruntime.PolicyDecision{}, err
		}
		if v.Rule = "hook:" + event; h.Effect == agentruntime.PolicyDeny {
			v = h
		}
	}
	d := e.decision(agentruntime.BoundaryStop, v)
	d.Turn = s.Turn
	return d, nil
}

package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/base/failure"
)

// A control is deed's side of the control protocol: it answers what Claude Code asks, each question in a goroutine of its
// own, because the answer can take as long as a person takes, and the stream must go on.
type control struct {
	run    *run
	guard  driver.Guard
	ctx    context.Context //nolint:containedctx // of the turn; a question that is open at its end has no answer
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // one message at a time
	in     *io.PipeWriter
	closed bool
	asked  error // a person has to decide first; guarded by mu

	open sync.Mutex // guards what follows
	many int        // questions without an answer
	size int        // of these, in bytes
}

// Bounds of the questions that are open at a time. Claude Code asks about the calls of one answer of its model; whoever asks
// more does not wait for answers, and deed's memory is not for it.
const (
	maxQuestions  = 256
	maxQuestioned = 64 << 20
)

// take counts a question that is to be answered, unless there are too many.
func (c *control) take(size int) bool {
	c.open.Lock()
	defer c.open.Unlock()
	if c.many >= maxQuestions || c.size+size > maxQuestioned {
		return false
	}
	c.many, c.size = c.many+1, c.size+size
	return true
}

func (c *control) done(size int) {
	c.open.Lock()
	defer c.open.Unlock()
	c.many, c.size = c.many-1, c.size-size
}

func newControl(ctx context.Context, guard driver.Guard, in *io.PipeWriter) *control {
	c := &control{guard: guard, in: in}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Names of the callbacks under which Claude Code asks.
const (
	before = "before"
	after  = "after"
)

type request struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request any    `json:"request"`
}

type hookMatcher struct {
	Callbacks []string `json:"hookCallbackIds"`
}

// opening is what Claude Code reads first: whether deed wants to be asked, and the prompt.
func (c *control) opening(prompt string) string {
	initialize := map[string]any{"subtype": "initialize"}
	if c.guard != nil {
		initialize["hooks"] = map[string][]hookMatcher{
			"PreToolUse":         {{[]string{before}}},
			"PostToolUse":        {{[]string{after}}},
			"PostToolUseFailure": {{[]string{after}}},
		}
	}
	first, _ := json.Marshal(request{"control_request", "deed-initialize", initialize})
	user, _ := json.Marshal(map[string]any{
		"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": prompt},
	})
	return string(first) + "\n" + string(user) + "\n"
}

// send writes a message, unless the way in is closed.
func (c *control) send(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		_, _ = c.in.Write(append(text, '\n')) // a process that reads no more is noticed by its end
	}
}

// shut closes the way in: Claude Code ends when it has nothing more to do. It does not wait for a writer.
func (c *control) shut() { _ = c.in.Close() }

// close ends what is under way, when the process is gone.
func (c *control) close() {
	c.cancel()
	c.shut()
	c.wg.Wait()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
}

// interruptWait is how long Claude Code is given to end after an interrupt.
const interruptWait = 2 * time.Second

// interrupt asks Claude Code to stop what it does. SIGTERM would end the tool and not the agent.
func (c *control) interrupt() {
	sent := make(chan struct{})
	c.wg.Go(func() {
		defer close(sent)
		c.send(request{"control_request", "deed-interrupt", map[string]string{"subtype": "interrupt"}})
	})
	wait := time.NewTimer(interruptWait)
	defer wait.Stop()
	select {
	case <-sent:
	case <-wait.C:
		return
	}
	select {
	case <-c.run.over:
	case <-wait.C:
	}
}

// A question is a control_request of Claude Code's.
type question struct {
	Subtype  string    `json:"subtype"`
	Callback string    `json:"callback_id"`
	Input    hookInput `json:"input"`
}

type hookInput struct {
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	CallID   string          `json:"tool_use_id"`
	Response json.RawMessage `json:"tool_response"`
	Error    json.RawMessage `json:"error"`
	Event    string          `json:"hook_event_name"`
}

// answer answers a question whose event has size bytes.
func (c *control) answer(id string, q question, size int) {
	if !c.take(size) {
		c.run.stop(failure.New(failure.AgentFailed, "answer the agent", fmt.Errorf("it asked more than %d things at a time, or about more than %d bytes", maxQuestions, maxQuestioned), ""))
		return
	}
	c.wg.Go(func() {
		defer c.done(size)
		reply, err := c.decide(q)
		if err != nil {
			c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": id, "error": err.Error()}})
			return
		}
		c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": id, "response": reply}})
	})
}

func (c *control) decide(q question) (any, error) {
	switch {
	case q.Subtype == "hook_callback" && q.Callback == before:
		return c.before(q.Input), nil
	case q.Subtype == "hook_callback" && q.Callback == after:
		return c.after(q.Input), nil
	case q.Subtype == "can_use_tool": // it was not configured to ask this way: not allowed
		return map[string]any{"behavior": "deny", "message": "deed allows nothing by this way"}, nil
	}
	return nil, errors.New("deed does not know " + q.Subtype)
}

// call is the tool call that a question is about. It is given a name even where Claude Code gave none.
func (q hookInput) call() agentruntime.ToolCall {
	return agentruntime.ToolCall{CallID: q.CallID, Tool: q.Tool, Input: q.Input}
}

// verdict is the answer to PreToolUse. Without a decision Claude Code's own guards decide.
func verdict(decision, reason string) any {
	out := map[string]string{"hookEventName": "PreToolUse"}
	if decision != "" {
		out["permissionDecision"], out["permissionDecisionReason"] = decision, reason
	}
	return map[string]any{"hookSpecificOutput": out}
}

func (c *control) before(in hookInput) any {
	d, err := c.guard.Before(c.ctx, in.call())
	switch {
	case errors.Is(err, driver.ErrAsked):
		c.ask(err)
		return verdict("deny", "A person has to decide first. Stop here.")
	case err != nil:
		c.run.stop(failure.New(failure.ClassOf(err), "ask deed's policy", err, ""))
		return verdict("deny", "deed could not decide")
	case d.Effect != agentruntime.PolicyAllow:
		return verdict("deny", d.Reason)
	case c.run.plan.Posture.Lifted || d.Rule != policy.RuleDefault:
		return verdict("allow", d.Reason)
	}
	return verdict("", "") // not allowed explicitly: the agent's own guards decide
}

// ask ends the turn, because a person was asked.
func (c *control) ask(err error) {
	c.mu.Lock()
	c.asked = err
	c.mu.Unlock()
	c.wg.Go(func() {
		c.interrupt()
		c.shut()
		select { // it should end by itself now, with its conversation saved
		case <-c.ctx.Done():
		case <-time.After(interruptWait):
			c.run.stop(driver.Asked(err))
		}
	})
}

// wasAsked returns why a person was asked, if one was.
func (c *control) wasAsked() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *control) after(in hookInput) any {
	res := agentruntime.ToolResult{CallID: in.CallID, Status: agentruntime.ToolSuccess, Output: string(in.Response)}
	if in.Event == "PostToolUseFailure" {
		res.Status, res.Output = agentruntime.ToolFailure, string(in.Error)
	}
	feedback, err := c.guard.After(c.ctx, in.call(), res)
	switch {
	case errors.Is(err, driver.ErrAsked):
		c.ask(err)
	case err != nil:
		c.run.stop(failure.New(failure.ClassOf(err), "ask deed's policy", err, ""))
	case feedback != "":
		return map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": in.Event, "additionalContext": feedback}}
	}
	return map[string]any{}
}

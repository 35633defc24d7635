package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

// Bounds of what is held of a turn.
const (
	maxMessage = 1 << 20 // of one message
	maxOutput  = 1 << 20 // of what one tool gave
	maxCalls   = 1000    // tool calls that are under way
)

// A tracker assembles what the updates of a session report in pieces. Its methods may be called from several goroutines.
type tracker struct {
	report *agentcli.Reporter
	state  *agentcli.State

	mu    sync.Mutex // guards what follows
	muted bool       // the agent replays the conversation so far
	model string

	id       string          // of the message that is being streamed
	said     strings.Builder // of it
	thinking bool
	last     string // the last message that was complete

	calls map[string]*toolCall // those that are under way
	fault *driver.Fault        // what the service behind the agent last failed with
	down  bool                 // the agent gave up on it
	acted bool                 // a tool gave something since the model's last word: its next word is another answer
	after func(agentruntime.ToolCall, agentruntime.ToolResult)
}

// A toolCall is what is known of one.
type toolCall struct {
	update
	title    string
	output   strings.Builder // of its terminal
	exit     *int
	reported bool
}

func newTracker(report *agentcli.Reporter, s *agentcli.State) *tracker {
	return &tracker{report: report, state: s, calls: map[string]*toolCall{}}
}

// mute ignores updates until unmute.
func (t *tracker) mute() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = true
}

// resetCost forgets the cost of another conversation.
func (t *tracker) resetCost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Cost = 0
}

func (t *tracker) unmute() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.muted = false
}

// served notes the model that answers.
func (t *tracker) served(model string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.model = model
}

// message is the agent's last one.
func (t *tracker) message() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// take reads an update, and reports whether its kind is known.
func (t *tracker) take(u update) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.muted {
		return true
	}
	switch u.Kind {
	case "agent_message_chunk":
		t.say(u, false)
	case "agent_thought_chunk":
		t.say(u, true)
	case "tool_call", "tool_call_update":
		t.flush()
		t.call(u)
	case "plan":
		t.flush()
		t.plan(u)
	case "usage_update":
		t.spend(u)
	case "session_info_update":
		t.service(u.meta())
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update":
	default:
		return false
	}
	return true
}

// say adds to the message that is being streamed.
func (t *tracker) say(u update, thinking bool) {
	if t.said.Len() > 0 && (thinking != t.thinking || u.MessageID != t.id) {
		t.flush()
	}
	t.answer()
	t.id, t.thinking = u.MessageID, thinking
	chunk := words(u.Content)
	t.said.WriteString(chunk[:min(len(chunk), maxMessage-t.said.Len())])
}

// flush reports a message that is complete.
func (t *tracker) flush() {
	text := strings.ToValidUTF8(t.said.String(), "")
	t.said.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	if !t.thinking {
		t.last = text
	}
	t.report.Text(text, t.thinking)
}

// answer tells that an answer of the model is over, when the next one begins. The protocol does not say it: a word that
// follows what a tool gave is taken for another answer.
func (t *tracker) answer() {
	if t.acted {
		t.acted = false
		t.report.Turn("tool_calls")
	}
}

// service notes what Codex says of the service behind it: it ends a turn as if all were well when it gave up.
func (t *tracker) service(m meta) {
	if e := m.Codex.Error; e != nil {
		f := driver.Fault{Status: httpStatus(e.Info), Message: strings.TrimSpace(e.Message + " " + e.Details), Final: !e.WillRetry}
		t.fault = &f
		t.report.Fault(f)
	}
	if s := m.Codex.ThreadStatus; s != nil {
		t.down = s.Type == "systemError"
	}
}

// failed returns what the service behind the agent failed with, when the agent gave up on it.
func (t *tracker) failed() (driver.Fault, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.down {
		return driver.Fault{}, false
	}
	if t.fault == nil {
		return driver.Fault{Message: t.last}, true
	}
	return *t.fault, true
}

func (t *tracker) plan(u update) {
	var b strings.Builder
	b.WriteString("plan:\n")
	for _, e := range u.Entries {
		fmt.Fprintf(&b, "- [%s] %s\n", e.Status, e.Content)
		if b.Len() > maxMessage {
			break
		}
	}
	t.report.Text(b.String(), true)
}

// call merges the updates of a tool call. It reports the call once its input is known, and the result once that is known.
func (t *tracker) call(u update) {
	c := t.calls[u.ToolCallID]
	if c == nil {
		if u.ToolCallID == "" || len(t.calls) >= maxCalls {
			t.report.Strange("a tool call without an id, or one too many", nil)
			return
		}
		t.answer()
		c = &toolCall{}
		t.calls[u.ToolCallID] = c
	}
	c.merge(u)
	if c.Status == callRunning || c.final() || substantial(c.RawInput) {
		t.announce(c)
	}
	if !c.final() {
		return
	}
	delete(t.calls, u.ToolCallID)
	result := c.result()
	t.acted = true
	t.report.Result(result)
	if t.after != nil {
		t.after(c.call(), result)
	}
}

func (t *tracker) announce(c *toolCall) {
	if !c.reported {
		c.reported = true
		t.report.Call(c.call())
	}
}

// asked returns the tool call that a permission is asked for, with all that is known of it, and tells it.
func (t *tracker) asked(u update) agentruntime.ToolCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	c := t.calls[u.ToolCallID]
	if c == nil {
		t.answer()
		c = &toolCall{}
		if u.ToolCallID != "" && len(t.calls) < maxCalls {
			t.calls[u.ToolCallID] = c
		}
	}
	c.merge(u)
	t.announce(c)
	return c.call()
}

// follow has fn called with each call that is over, and what it gave.
func (t *tracker) follow(fn func(agentruntime.ToolCall, agentruntime.ToolResult)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = fn
}

// merge takes over what an update says.
func (c *toolCall) merge(u update) {
	if c.ToolCallID == "" {
		c.ToolCallID = u.ToolCallID
	}
	m := u.meta()
	for _, m := range []struct {
		to   *string
		from string
	}{{&c.Name, u.Name}, {&c.Name, m.ClaudeCode.ToolName}, {&c.ToolKind, u.ToolKind}, {&c.Status, u.Status}} {
		if m.from != "" {
			*m.to = m.from
		}
	}
	if u.Title != nil && c.title == "" { // the first is the tool's name with some agents; later ones tell what it does
		c.title = *u.Title
	}
	if substantial(u.RawInput) {
		c.RawInput = u.RawInput
	}
	for _, m := range []struct{ to, from *json.RawMessage }{{&c.RawOutput, &u.RawOutput}, {&c.Locations, &u.Locations}, {&c.Content, &u.Content}} {
		if substantial(*m.from) {
			*m.to = *m.from
		}
	}
	if out := m.TerminalOutput; out != nil {
		c.output.WriteString(out.Data[:min(len(out.Data), maxOutput-c.output.Len())])
	}
	if exit := m.TerminalExit; exit != nil {
		c.exit = exit.ExitCode
	}
}

func (c *toolCall) final() bool { return c.Status == callCompleted || c.Status == callFailed }

// oneWord is a title that is the name of a tool.
var oneWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`) })

// tool is the tool's name, as far as the agent has one for it; else its kind.
func (c *toolCall) tool() string {
	switch {
	case c.Name != "":
		return c.Name
	case oneWord().MatchString(c.title):
		return c.title
	case c.ToolKind != "":
		return c.ToolKind
	}
	return "other"
}

func (c *toolCall) call() agentruntime.ToolCall {
	input := c.RawInput
	if !substantial(input) {
		about := map[string]any{"title": c.title}
		if substantial(c.Locations) {
			about["locations"] = c.Locations
		}
		input, _ = json.Marshal(about)
	}
	return agentruntime.ToolCall{CallID: c.ToolCallID, Tool: c.tool(), Input: input}
}

func (c *toolCall) result() agentruntime.ToolResult {
	r := agentruntime.ToolResult{CallID: c.ToolCallID, Status: agentruntime.ToolSuccess, Output: words(c.Content)}
	if r.Output == "" {
		r.Output = c.output.String()
	}
	if r.Output == "" && substantial(c.RawOutput) {
		r.Output = text(c.RawOutput)
	}
	if c.Status == callFailed {
		r.Status, r.ErrorType = agentruntime.ToolFailure, callFailed
	}
	if c.exit != nil && *c.exit != 0 {
		r.Status, r.ErrorType = agentruntime.ToolFailure, fmt.Sprintf("exit_%d", *c.exit)
	}
	return r
}

// substantial reports whether a value has content.
func substantial(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "{}", "[]", `""`:
		return false
	}
	return true
}

// spend reports what the session cost since the last time. An agent reports the cost of the whole session; one that starts
// counting again in each process reports less than before.
func (t *tracker) spend(u update) {
	if u.Cost == nil || u.Cost.Currency != "USD" || u.Cost.Amount < 0 || u.Cost.Amount > maxCost {
		return
	}
	total := int64(math.Round(u.Cost.Amount * 1e6))
	delta := total
	if t.state.Cost <= total {
		delta -= t.state.Cost
	}
	t.state.Cost = total
	if delta > 0 {
		t.report.Usage(agentruntime.Usage{Model: t.model, CostMicroUSD: &delta})
	}
}

// maxCost bounds what is believed of a cost, in USD.
const maxCost = 1e6

// over reports the end of the prompt.
func (t *tracker) over(p prompted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	if model := p.model(); model != "" {
		t.model = model
	}
	if u, ok := p.used(); ok {
		t.report.Usage(u.usage(t.model))
	}
	t.acted = false
	t.report.Turn(p.StopReason)
}

// usage counts as deed does. Agents do not agree on whether the tokens of a thought are among those of the output; the
// total tells.
func (u used) usage(model string) agentruntime.Usage {
	for _, n := range []*int64{&u.Input, &u.Output, &u.Thought, &u.CacheRead, &u.CacheWrite} {
		*n = max(0, *n)
	}
	out := agentruntime.Usage{
		Model: model, InputTokens: u.Input + u.CacheRead + u.CacheWrite, CachedInputTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
		OutputTokens: u.Output, ReasoningTokens: u.Thought,
	}
	if out.InputTokens+u.Output+u.Thought == u.Total {
		out.OutputTokens += u.Thought
	}
	out.ReasoningTokens = min(out.ReasoningTokens, out.OutputTokens)
	return out
}

// finish reports what was under way when the agent ended.
func (t *tracker) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		t.announce(t.calls[id])
	}
	clear(t.calls)
}

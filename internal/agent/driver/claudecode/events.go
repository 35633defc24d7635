package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/agent/policy"
	"github.com/deedrun/deed/internal/base/failure"
)

// An Event is a line of Claude Code's stream: all that deed reads of any type.
type Event struct {
	Subtype   string   `json:"subtype"`
	SessionID string   `json:"session_id"`
	Parent    string   `json:"parent_tool_use_id"`
	Message   *message `json:"message"`

	// system/init
	Model   string `json:"model"`
	Version string `json:"claude_code_version"`
	// system/api_retry
	Attempt     int             `json:"attempt"`
	RetryDelay  float64         `json:"retry_delay_ms"`
	ErrorStatus int             `json:"error_status"`
	Error       json.RawMessage `json:"error"`
	// control_request
	RequestID string    `json:"request_id"`
	Request   *question `json:"request"`
	// system/compact_boundary
	Compact *struct {
		Trigger string `json:"trigger"`
		Before  int64  `json:"pre_tokens"`
		After   int64  `json:"post_tokens"`
	} `json:"compact_metadata"`

	result
}

// A result is the event that ends a turn.
type result struct {
	IsError   bool     `json:"is_error"`
	APIStatus int      `json:"api_error_status"`
	Text      string   `json:"result"`
	Errors    []string `json:"errors"`
	Cost      *float64 `json:"total_cost_usd"`
	Usage     *usage   `json:"usage"`
	Models    map[string]struct {
		Cost *float64 `json:"costUSD"`
	} `json:"modelUsage"`
	Denials []struct {
		Tool   string          `json:"tool_name"`
		CallID string          `json:"tool_use_id"`
		Input  json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Terminal string `json:"terminal_reason"`
}

type usage struct {
	Input   int64 `json:"input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
	Cached  int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

// A message is the model's, or the results of its tool calls.
type message struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Content content `json:"content"`
	Usage   *usage  `json:"usage"` // what was known when it began: the output is not
}

// synthetic is the model of messages that Claude Code made up: the service's failure, as if the model had said it.
const synthetic = "<synthetic>"

// content is a list of blocks; a bare text is one block.
type content []block

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

// UnmarshalJSON takes what versions differ in.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return agentcli.Decode(raw, (*[]block)(c))
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		*c = content{{Type: "text", Text: text}}
	}
	return nil
}

// A run reads the stream of one turn.
type run struct {
	plan    agentcli.Plan
	report  *agentcli.Reporter
	stop    func(*failure.Error)
	control *control
	over    chan struct{} // closed when the result is there
	model   string
	resumed bool

	answer   string // the id of the model's answer that is under way
	reported usage  // of the use so far
	served   string
	last     string // message
	retry    time.Duration
	retried  int // the status of the last failure
	end      *Event
}

// A reader is for a turn of another program that speaks as Claude Code does, and asks nothing.
type reader struct{ conversation }

// NewReader makes a reader of one turn of `claude -p --output-format stream-json`, or of a program that prints the same
// events. stop ends the turn.
func NewReader(ctx context.Context, report *agentcli.Reporter, state *agentcli.State, model string, stop func(*failure.Error)) agentcli.Reader {
	_, in := io.Pipe()
	r := &run{plan: agentcli.Plan{State: state}, report: report, stop: stop, model: model, resumed: state.ID != "", control: newControl(ctx, nil, in), over: make(chan struct{})}
	r.control.close() // there is no way in
	return &reader{conversation{run: r}}
}

func (r *reader) Feed(line []byte) {
	if agentcli.TypeOf(line) == "control_request" {
		r.run.report.Strange("a question that nobody answers", line)
		return
	}
	r.run.feed(line)
}

// Feed reads one line.
func (c *conversation) Feed(line []byte) { c.run.feed(line) }

func (r *run) feed(line []byte) {
	kind := agentcli.TypeOf(line)
	switch kind {
	case "system", "assistant", "user", "result", "control_request":
	case "stream_event", "control_response", "control_cancel_request", "keep_alive", "rate_limit_event", "tool_progress", "auth_status":
		return
	case "":
		r.report.Strange("a line that is no event", line)
		return
	default:
		r.report.Strange("an event of an unknown type", line)
		return
	}
	var e Event
	if err := agentcli.Decode(line, &e); err != nil {
		r.report.Strange("an event that cannot be read", line)
		return
	}
	switch kind {
	case "system":
		r.system(&e)
	case "assistant":
		r.assistant(&e)
	case "user":
		r.results(&e)
	case "result":
		r.ended(&e)
	case "control_request":
		if e.Request == nil || e.RequestID == "" {
			r.report.Strange("a question that cannot be read", line)
			return
		}
		r.ask(&e, len(line))
	}
}

// ask answers a question of Claude Code. Without a guard it was not configured to ask.
func (r *run) ask(e *Event, size int) {
	q := *e.Request
	if r.control.guard == nil && q.Subtype == "hook_callback" {
		q.Subtype = "unasked"
	}
	r.control.answer(e.RequestID, q, size)
}

func (r *run) system(e *Event) {
	switch e.Subtype {
	case "init":
		r.served = e.Model
		if !agentcli.GoodID(e.SessionID) {
			r.report.Strange("a session whose id cannot stand on a command line", []byte(e.SessionID))
			return
		}
		r.plan.State.ID = e.SessionID
		r.report.Session(driver.SessionInfo{ID: e.SessionID, Requested: r.model, Served: e.Model, Version: e.Version, Resumed: r.resumed})
	case "api_retry":
		r.failing(e)
	case "compact_boundary":
		c := agentruntime.ContextCompaction{ID: fmt.Sprintf("compaction-%d", r.plan.State.Turns+1), Turn: r.plan.State.Turns, Reason: "agent"}
		if e.Compact != nil {
			c.TokensBefore, c.TokensAfter = max(e.Compact.Before, 0), max(e.Compact.After, 0)
		}
		r.report.Compaction(c)
	}
	// Other subtypes tell of Claude Code's own business: hooks, background tasks, status.
}

// patience is how long Claude Code may wait by itself for a service that asks to. A longer wait is the queue's: an agent
// that sleeps holds its slot, its lease and its time limit.
const patience = time.Minute

func (r *run) failing(e *Event) {
	wait := time.Duration(0)
	if e.RetryDelay > 0 && e.RetryDelay < float64(30*24*time.Hour/time.Millisecond) {
		wait = time.Duration(e.RetryDelay * float64(time.Millisecond))
	}
	reason := string(e.Error)
	var text string
	if json.Unmarshal(e.Error, &text) == nil {
		reason = text
	}
	r.retried, r.retry = e.ErrorStatus, wait
	r.report.Fault(driver.Fault{Status: e.ErrorStatus, Message: reason, RetryAfterMS: wait.Milliseconds(), Attempt: e.Attempt})
	if f := agentcli.ServiceFailure(agentruntime.KindClaudeCode, e.ErrorStatus, reason, wait); wait > patience && f.Class == failure.RateLimited {
		r.stop(f)
	}
}

func (r *run) assistant(e *Event) {
	if e.Message == nil {
		r.report.Strange("an answer without a message", nil)
		return
	}
	if e.Message.Model == synthetic {
		return
	}
	if m := e.Message.Model; m != "" && m != r.served && e.Parent == "" {
		r.served = m
		r.report.Session(driver.SessionInfo{ID: r.plan.State.ID, Requested: r.model, Served: m})
	}
	if e.Message.ID != r.answer && e.Parent == "" {
		r.answered("tool_use")
		r.answer = e.Message.ID
		if u := e.Message.Usage; u != nil { // at once, for a budget that may be reached
			r.used(usage{Input: r.reported.Input + agentcli.Tokens(u.Input), Written: r.reported.Written + agentcli.Tokens(u.Written), Cached: r.reported.Cached + agentcli.Tokens(u.Cached), Output: r.reported.Output}, nil)
		}
	}
	for _, b := range e.Message.Content {
		switch b.Type {
		case "text":
			if e.Parent == "" {
				r.last = b.Text
			}
			r.report.Text(b.Text, false)
		case "thinking":
			r.report.Text(b.Thinking, true)
		case "tool_use", "server_tool_use", "mcp_tool_use":
			r.report.Call(agentruntime.ToolCall{CallID: b.ID, SubagentID: e.Parent, Tool: b.Name, Input: b.Input})
		}
	}
}

// answered ends an answer of the model, if one is under way.
func (r *run) answered(stop string) {
	if r.answer != "" {
		r.answer = ""
		r.report.Turn(stop)
	}
}

func (r *run) results(e *Event) {
	if e.Message == nil {
		return
	}
	for _, b := range e.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		res := agentruntime.ToolResult{CallID: b.CallID, Status: agentruntime.ToolSuccess, Output: flat(b.Content)}
		if b.IsError {
			res.Status, res.ErrorType = agentruntime.ToolFailure, "tool_error"
		}
		r.report.Result(res)
	}
}

// flat is the text of a tool result, which is a text or a list of blocks.
func flat(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	var b strings.Builder
	for _, part := range blocks {
		if part.Type == "text" {
			b.WriteString(part.Text)
		} else {
			fmt.Fprintf(&b, "[%s]", part.Type)
		}
	}
	return b.String()
}

func (r *run) ended(e *Event) {
	r.answered("end_turn")
	if agentcli.GoodID(e.SessionID) {
		r.plan.State.ID = e.SessionID
	}
	if e.Usage != nil {
		r.used(*e.Usage, e.Cost)
	}
	for _, d := range e.Denials[:min(len(e.Denials), maxDenials)] {
		r.denied(d.CallID, d.Tool)
	}
	if r.end == nil {
		close(r.over)
	}
	r.end = e
	r.control.shut()
}

// used reports what was used since the last time, given what was used in the turn so far.
func (r *run) used(now usage, cost *float64) {
	now = usage{agentcli.Tokens(now.Input), agentcli.Tokens(now.Written), agentcli.Tokens(now.Cached), agentcli.Tokens(now.Output)}
	since := func(now, before int64) int64 { return max(now-before, 0) }
	d := usage{since(now.Input, r.reported.Input), since(now.Written, r.reported.Written), since(now.Cached, r.reported.Cached), since(now.Output, r.reported.Output)}
	r.reported = now
	newUsage := agentruntime.Usage{
		Model: r.served, InputTokens: d.Input + d.Written + d.Cached, CachedInputTokens: d.Cached, CacheWriteTokens: d.Written, OutputTokens: d.Output,
	}
	if cost != nil && *cost > 0 && *cost < 1e9 {
		micro := int64(math.Round(*cost * 1e6))
		newUsage.CostMicroUSD = &micro
	}
	r.report.Usage(newUsage)
}

// denied reports a call that Claude Code's own guards refused. What deed's guard refused is reported by the guard.
func (r *run) denied(call, tool string) {
	if r.control.guard == nil {
		r.report.Policy(agentruntime.PolicyDecision{
			ID: fmt.Sprintf("denied-%d-%s", r.plan.State.Runs, call), Boundary: agentruntime.BoundaryTool, CallID: call, Tool: tool, Turn: r.plan.State.Turns,
			Effect: agentruntime.PolicyDeny, Rule: "claude-code's own guards", Reason: "nobody is there to ask", Held: policy.HeldEnforced,
		})
	}
}

// maxDenials bounds how many refused calls are named in the diagnostics.
const maxDenials = 50

// Outcome is the result according to the stream.
func (c *conversation) Outcome() agentcli.Outcome {
	r := c.run
	o := agentcli.Outcome{Message: r.last, Notes: map[string]any{}}
	asked := r.control.wasAsked()
	if e := r.end; e != nil {
		if e.Text != "" && !e.IsError {
			o.Message = e.Text
		}
		o.Succeeded = !e.IsError && e.Subtype == "success" && asked == nil
		var denied []string
		for _, d := range e.Denials[:min(len(e.Denials), maxDenials)] {
			denied = append(denied, driver.Shorten(d.Tool+" "+string(d.Input)))
		}
		if denied != nil {
			o.Notes["permission_denials"] = denied
		}
		if !o.Succeeded {
			o.Failure = r.failure(e)
		}
	}
	if asked != nil {
		o.Failure = driver.Asked(asked)
	}
	return o
}

// failure says what a result that is none stands for.
func (r *run) failure(e *Event) *failure.Error {
	said := e.Text
	if said == "" {
		said = strings.Join(e.Errors, "; ")
	}
	if said == "" && e.APIStatus == 0 {
		said = "its result says " + e.Subtype
	}
	op := "run " + agentruntime.KindClaudeCode
	switch {
	case e.Subtype == "error_max_turns":
		return failure.New(failure.Turns, op, errors.New(driver.Shorten(said)), "raise max_turns, or make the work smaller")
	case e.APIStatus != 0:
		r.report.Fault(driver.Fault{Status: e.APIStatus, Message: said, Final: true})
		wait := time.Duration(0)
		if r.retried == e.APIStatus {
			wait = r.retry
		}
		return agentcli.ServiceFailure(agentruntime.KindClaudeCode, e.APIStatus, said, wait)
	case e.Subtype == "success": // an error without a status: the service could not be reached
		r.report.Fault(driver.Fault{Message: said, Final: true})
		return agentcli.ServiceFailure(agentruntime.KindClaudeCode, agentcli.StatusIn(said), said, agentcli.WaitIn(said))
	}
	return failure.New(failure.AgentFailed, op, errors.New(driver.Shorten(said)), "")
}

package agentcli

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// A Reporter passes on what a dialect reads from its agent's stream: redacted, cut to a bound, and counted. Its methods may be
// called from several goroutines.
type Reporter struct {
	sink     driver.Sink
	redactor *redact.Redactor
	state    *State

	mu      sync.Mutex
	calls   int // guarded by mu: tool calls of the model's answer that is under way
	strange int // guarded by mu
	model   string
}

// NewReporter makes a Reporter for a session.
func NewReporter(sink driver.Sink, r *redact.Redactor, s *State) *Reporter {
	return &Reporter{sink: sink, redactor: r, state: s}
}

// emit redacts a detail and passes it on. What cannot be redacted is not passed on.
func emit[T any](t *Reporter, kind string, detail T) {
	if err := t.redactor.Value(&detail); err != nil {
		t.sink.Event(driver.EventStrange, driver.Strange{What: "an event of kind " + kind + " could not be redacted"})
		return
	}
	t.sink.Event(kind, detail)
}

// Session reports what the agent says about its conversation.
func (t *Reporter) Session(info driver.SessionInfo) {
	t.mu.Lock()
	if info.Served != "" {
		t.model = info.Served
	}
	info.Ref = t.state.ref()
	t.mu.Unlock()
	emit(t, driver.EventSession, info)
}

// Restart reports that the agent has lost its conversation and begins another. It comes before the Session of that one.
func (t *Reporter) Restart(why string) {
	why, _ = driver.Cut(why)
	emit(t, driver.EventRestart, driver.Restart{Why: why})
}

// Text reports what the agent said.
func (t *Reporter) Text(text string, thinking bool) {
	if text == "" {
		return
	}
	text, cut := driver.Cut(t.redactor.String(text))
	t.sink.Event(driver.EventText, driver.Text{Text: text, Thinking: thinking, Cut: cut})
}

// Call reports a tool call of the agent. An input beyond the bound becomes a string with its beginning; its digest is of the
// whole.
func (t *Reporter) Call(c agentruntime.ToolCall) {
	t.mu.Lock()
	t.calls++
	c.Turn = t.state.Turns + 1
	t.mu.Unlock()
	if c.CallID == "" || c.Tool == "" {
		t.Strange("a tool call without id or name", nil)
		return
	}
	if err := t.redactor.Value(&c); err != nil {
		t.Strange("a tool call that cannot be redacted", nil)
		return
	}
	c.CallID, c.Tool = driver.CutName(c.CallID), driver.CutName(c.Tool)
	if len(c.Input) > 0 {
		c.InputSHA = driver.Digest(c.Input)
	}
	if text, cut := driver.Cut(string(c.Input)); cut {
		c.Input, _ = json.Marshal(text)
	}
	t.sink.Event(driver.EventToolCall, c)
}

// Result reports the result of a call.
func (t *Reporter) Result(r agentruntime.ToolResult) {
	if r.CallID == "" {
		t.Strange("a tool result without an id", nil)
		return
	}
	r.CallID = driver.CutName(r.CallID)
	r.Output = t.redactor.String(r.Output)
	r.ErrorType = driver.CutName(t.redactor.String(r.ErrorType))
	if r.Output != "" {
		r.OutputBytes, r.OutputSHA = int64(len(r.Output)), driver.Digest([]byte(r.Output))
		r.Output, _ = driver.Cut(r.Output)
	}
	t.sink.Event(driver.EventToolResult, r)
}

// Usage reports what was used since the last time.
func (t *Reporter) Usage(u agentruntime.Usage) {
	if u == (agentruntime.Usage{Model: u.Model}) {
		return
	}
	u.Model = driver.CutName(u.Model)
	for _, n := range []*int64{&u.InputTokens, &u.CachedInputTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.ReasoningTokens} {
		*n = Tokens(*n)
	}
	if u.CostMicroUSD != nil && *u.CostMicroUSD < 0 {
		u.CostMicroUSD = nil
	}
	emit(t, driver.EventUsage, u)
}

// Tokens bounds a count that an agent reported, so that counts can be added up: none is negative, and none is larger than any
// model can take.
func Tokens(n int64) int64 { return min(max(n, 0), 1e12) }

// Fault reports a failure of the service behind the agent.
func (t *Reporter) Fault(f driver.Fault) {
	f.Message, _ = driver.Cut(f.Message)
	emit(t, driver.EventFault, f)
}

// Turn reports that an answer of the model, with its tool calls, is over.
func (t *Reporter) Turn(stop string) {
	t.mu.Lock()
	t.state.Turns++
	detail := agentruntime.Turn{
		ID: fmt.Sprintf("turn-%d", t.state.Turns), Index: t.state.Turns, Model: driver.CutName(t.model), StopReason: driver.CutName(stop), ToolCalls: t.calls,
	}
	t.calls = 0
	t.mu.Unlock()
	emit(t, driver.EventTurn, detail)
}

// Policy reports a decision.
func (t *Reporter) Policy(d agentruntime.PolicyDecision) { emit(t, driver.EventPolicy, d) }

// Compaction reports that the agent shortened its conversation.
func (t *Reporter) Compaction(c agentruntime.ContextCompaction) { emit(t, driver.EventCompaction, c) }

// Strange reports a line that could not be read, one by one up to a bound.
func (t *Reporter) Strange(what string, line []byte) {
	t.mu.Lock()
	t.strange++
	n := t.strange
	t.mu.Unlock()
	if n > driver.MaxStrange {
		return
	}
	// A cut can leave a part of a secret that no redactor finds: more is redacted than is kept.
	sample := t.redactor.String(strings.ToValidUTF8(string(line[:min(len(line), 64<<10)]), "\ufffd"))
	sample, _ = truncate.Cut(sample, headBytes)
	t.sink.Event(driver.EventStrange, driver.Strange{What: what, Sample: sample})
}

// finish reports how many strange lines were not reported one by one.
func (t *Reporter) finish() {
	if more := t.strange - driver.MaxStrange; more > 0 {
		t.sink.Event(driver.EventStrange, driver.Strange{What: "more of these", Count: more})
	}
}

package codex

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// An Event is a line of Codex's stream: all that deed reads of any type.
type Event struct {
	ThreadID string   `json:"thread_id"`
	Item     *item    `json:"item"`
	Usage    *usage   `json:"usage"`
	Message  string   `json:"message"`
	Error    *message `json:"error"`
}

type message struct {
	Message string `json:"message"`
}

// An item is a part of a turn.
type item struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Status    string          `json:"status"`
	Changes   json.RawMessage `json:"changes"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     json.RawMessage `json:"error"`
	Query     string          `json:"query"`
}

type usage struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"cached_input_tokens"`
	Written   int64 `json:"cache_write_input_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_output_tokens"`
}

// A run reads the stream of one turn.
type run struct {
	report  *agentcli.Reporter
	state   *agentcli.State
	model   string
	resumed bool

	open     map[string]bool // tool calls that began and did not end
	calls    int             // tool calls since the model's last answer
	last     string          // message
	done     bool
	failed   string
	warnings []string
}

// NewReader makes a reader of one turn of `codex exec --json`, or of a program that prints the same events.
func NewReader(report *agentcli.Reporter, state *agentcli.State, model string) agentcli.Reader {
	return &run{report: report, state: state, model: model, resumed: state.ID != "", open: map[string]bool{}}
}

// Bounds of what is kept of a stream: of what Codex says about itself, and of calls whose end did not come.
const (
	maxWarnings = 20
	maxOpen     = 4096
)

// Feed reads one line.
func (r *run) Feed(line []byte) {
	kind := agentcli.TypeOf(line)
	switch kind {
	case "thread.started", "item.started", "item.completed", "turn.completed", "turn.failed", "error":
	case "turn.started", "item.updated":
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
	case "thread.started":
		r.started(e.ThreadID)
	case "item.started", "item.completed":
		if e.Item == nil || e.Item.Type == "" {
			r.report.Strange("an item without a type", line)
			return
		}
		r.item(e.Item, kind == "item.completed", line)
	case "turn.completed":
		r.completed(e.Usage)
	case "turn.failed":
		r.failed = "the turn failed"
		if e.Error != nil && e.Error.Message != "" {
			r.failed = e.Error.Message
		}
		r.report.Fault(fault(r.failed, true))
	case "error":
		r.fault(e.Message)
	}
}

func (r *run) started(id string) {
	if !agentcli.GoodID(id) {
		r.report.Strange("a thread whose id cannot stand on a command line", []byte(id))
		return
	}
	if r.state.ID != id {
		if r.resumed {
			r.report.Restart("codex answers in another thread than " + r.state.ID)
		}
		r.state.ID, r.state.Used, r.resumed = id, agentcli.Totals{}, false
	}
	r.report.Session(driver.SessionInfo{ID: id, Requested: r.model, Resumed: r.resumed})
}

func (r *run) item(it *item, completed bool, line []byte) {
	switch it.Type {
	case "agent_message":
		if completed {
			r.last = it.Text
			r.report.Text(it.Text, false)
		}
	case "reasoning":
		if completed {
			r.report.Text(it.Text, true)
		}
	case "error": // Codex's word about itself, such as a model that it does not know
		if len(r.warnings) < maxWarnings {
			text, _ := driver.Cut(it.Message)
			r.warnings = append(r.warnings, text)
		}
	case "command_execution", "file_change", "mcp_tool_call", "web_search":
		r.tool(it, completed)
	case "todo_list":
	default:
		if completed {
			r.report.Strange("an item of an unknown type", line)
		}
	}
}

// tool reports a call when it begins, or when it ended without a beginning, and its result.
func (r *run) tool(it *item, completed bool) {
	id := it.ID
	if id == "" {
		id = fmt.Sprintf("unnamed_%d", r.calls)
	}
	id = fmt.Sprintf("%d/%s", r.state.Runs, id) // Codex starts counting again in every process
	if !r.open[id] {
		if r.calls++; len(r.open) >= maxOpen {
			clear(r.open)
		}
		r.open[id] = true
		name, input := it.call()
		r.report.Call(agentruntime.ToolCall{CallID: id, Tool: name, Input: input})
	}
	if !completed {
		return
	}
	delete(r.open, id)
	r.report.Result(it.result(id))
	if len(r.open) == 0 {
		r.answered("tool_calls") // the model is asked again
	}
}

// answered ends an answer of the model.
func (r *run) answered(stop string) {
	r.calls = 0
	r.report.Turn(stop)
}

func (it *item) call() (name string, input json.RawMessage) {
	marshal := func(v any) json.RawMessage { text, _ := json.Marshal(v); return text }
	switch it.Type {
	case "command_execution":
		return it.Type, marshal(map[string]string{"command": it.Command})
	case "file_change":
		return it.Type, marshal(map[string]json.RawMessage{"changes": it.Changes})
	case "mcp_tool_call":
		return "mcp__" + it.Server + "__" + it.Tool, it.Arguments
	}
	return it.Type, marshal(map[string]string{"query": it.Query})
}

func (it *item) result(id string) agentruntime.ToolResult {
	res := agentruntime.ToolResult{CallID: id, Status: agentruntime.ToolSuccess, Output: it.Output}
	if it.Type == "mcp_tool_call" {
		if res.Output = string(it.Result); !null(it.Error) {
			res.Output = string(it.Error)
		}
	}
	switch {
	case it.ExitCode != nil && *it.ExitCode != 0:
		res.Status, res.ErrorType = agentruntime.ToolFailure, "exit_"+strconv.Itoa(*it.ExitCode)
	case it.Status == "failed" || it.Status == "declined" || !null(it.Error):
		res.Status, res.ErrorType = agentruntime.ToolFailure, "failed"
	}
	return res
}

func null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (r *run) completed(u *usage) {
	r.answered("completed")
	r.done, r.failed = true, "" // an error before it was overcome
	if u == nil {
		return
	}
	now := agentcli.Totals{Input: agentcli.Tokens(u.Input), Cached: agentcli.Tokens(u.Cached), Written: agentcli.Tokens(u.Written), Output: agentcli.Tokens(u.Output), Reasoning: agentcli.Tokens(u.Reasoning)}
	d := agentcli.Minus(now, r.state.Used)
	r.state.Used = now
	r.report.Usage(agentruntime.Usage{
		Model: r.model, InputTokens: d.Input, CachedInputTokens: d.Cached, CacheWriteTokens: d.Written, OutputTokens: d.Output, ReasoningTokens: d.Reasoning,
	})
}

// retries returns how often Codex tried again, from the words by which it tells of that: Reconnecting... 2/5 (…)
func retries(message string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(message, "Reconnecting")
	if !ok {
		return 0, false
	}
	count, _, _ := strings.Cut(strings.TrimLeft(rest, ". "), "/")
	n, _ = strconv.Atoi(count)
	return n, true
}

func (r *run) fault(message string) {
	if _, again := retries(message); !again {
		r.failed = message // what a turn.failed then repeats; without one, the process was ended
		return
	}
	r.report.Fault(fault(message, false))
}

func fault(message string, final bool) driver.Fault {
	n, _ := retries(message)
	return driver.Fault{Status: agentcli.StatusIn(message), Message: message, RetryAfterMS: agentcli.WaitIn(message).Milliseconds(), Attempt: n, Final: final}
}

// Outcome is the result according to the stream, and says how strictly the rules hold.
func (c *conversation) Outcome() agentcli.Outcome {
	o := c.run.Outcome()
	if c.plan.Job.Guard != nil || len(c.plan.Job.Rules) > 0 {
		o.Notes["rules"] = "declared: codex asks nobody before it acts"
	}
	return o
}

// Outcome is the result according to the stream.
func (r *run) Outcome() agentcli.Outcome {
	o := agentcli.Outcome{Message: r.last, Succeeded: r.done && r.failed == "", Notes: map[string]any{}}
	if len(r.warnings) > 0 {
		o.Notes["warnings"] = r.warnings
	}
	if r.failed != "" {
		o.Failure = r.failure()
	}
	return o
}

func (r *run) failure() *failure.Error {
	return agentcli.ServiceFailure(agentruntime.KindCodex, agentcli.StatusIn(r.failed), r.failed, agentcli.WaitIn(r.failed))
}

package hermes

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
	"github.com/deedrun/deed/internal/base/failure"
)

// An event is one line of `hermes chat --format stream-json`.
type event struct {
	Type      string          `json:"type"` // system, text, tool_use, tool_result, result
	SessionID string          `json:"session_id"`
	Model     string          `json:"model"`
	Text      string          `json:"text"` // a piece of it in text, the whole of the last answer in result
	Name      string          `json:"name"`
	CallID    string          `json:"tool_call_id"`
	Input     json.RawMessage `json:"input"`
	Output    string          `json:"output"`
	Failed    bool            `json:"is_error"`
	Duration  int64           `json:"duration_ms"`
	ExitCode  *int            `json:"exit_code"`
	Error     string          `json:"error"`
	Tokens    tokens          `json:"tokens"`
	Timestamp int64           `json:"timestamp"` // milliseconds
}

// tokens are those of a whole run. The total is that of everything that went in and came out.
type tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Total      int64 `json:"total"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

func (t tokens) usage(model string) agentruntime.Usage {
	n := func(v int64) int64 { return min(max(v, 0), math.MaxInt32) }
	return agentruntime.Usage{
		Model: model, InputTokens: max(n(t.Input), n(t.Total-n(t.Output))), OutputTokens: n(t.Output),
		CachedInputTokens: n(t.CacheRead), CacheWriteTokens: n(t.CacheWrite),
	}
}

// A stream reads the events of one turn.
type stream struct {
	report *agentcli.Reporter
	state  *agentcli.State
	model  string

	sessionReported bool
	text            strings.Builder // pieces of what the model says
	worked          bool            // a tool ended since the model last spoke
	calls           map[string][]string
	count           int
	last            *event // the result
}

// maxText bounds what is kept of a text that comes in pieces.
const maxText = 1 << 20

func (s *stream) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		s.report.Strange("a line that is no event", line)
		return
	}
	s.session(e)
	switch e.Type {
	case "system":
	case "text":
		s.answer()
		if s.text.Len()+len(e.Text) <= maxText {
			s.text.WriteString(e.Text)
		}
	case "tool_use":
		s.answer()
		s.said()
		s.report.Call(agentruntime.ToolCall{CallID: s.begin(e), Tool: e.Name, Input: e.Input, At: agentcli.At(e.Timestamp)})
	case "tool_result":
		s.worked = true
		s.report.Result(s.result(e))
	case "result":
		s.said()
		s.report.Usage(e.Tokens.usage(s.model))
		s.report.Turn("result")
		s.last = &e
	default:
		s.report.Strange("an event of an unknown type", line)
	}
}

// session reports the conversation's id, once; Hermes may change it when it shortens a conversation.
func (s *stream) session(e event) {
	if e.Model != "" {
		s.model = e.Model
	}
	if !agentcli.GoodID(e.SessionID) || s.sessionReported && e.SessionID == s.state.ID {
		return
	}
	info := driver.SessionInfo{ID: e.SessionID, Requested: s.model, Resumed: s.state.ID != ""}
	s.sessionReported, s.state.ID = true, e.SessionID
	s.report.Session(info)
}

// answer notes that the model speaks again, which ends the turn before.
func (s *stream) answer() {
	if s.worked {
		s.worked = false
		s.report.Turn("tool_use")
	}
}

// said reports the text that came in pieces.
func (s *stream) said() {
	s.report.Text(s.text.String(), false)
	s.text.Reset()
}

// begin returns the id of a call. Where Hermes gives none, calls of a name end in the order in which they began.
func (s *stream) begin(e event) string {
	if e.CallID != "" {
		return e.CallID
	}
	if s.calls == nil {
		s.calls = map[string][]string{}
	}
	s.count++
	id := fmt.Sprintf("call-%d-%d", s.state.Turns+1, s.count)
	s.calls[e.Name] = append(s.calls[e.Name], id)
	return id
}

func (s *stream) result(e event) agentruntime.ToolResult {
	id := e.CallID
	if open := s.calls[e.Name]; id == "" && len(open) > 0 {
		id, s.calls[e.Name] = open[0], open[1:]
	}
	r := agentruntime.ToolResult{CallID: id, Status: agentruntime.ToolSuccess, Output: e.Output, DurationMS: max(e.Duration, 0), At: agentcli.At(e.Timestamp)}
	if e.Failed {
		r.Status, r.ErrorType = agentruntime.ToolFailure, "tool_error"
	}
	return r
}

// outcome is the result according to the stream. Success is a result event that reports success and has a text.
func (s *stream) outcome() agentcli.Outcome {
	if s.last == nil {
		return agentcli.Outcome{}
	}
	e := s.last
	o := agentcli.Outcome{Message: e.Text, Succeeded: e.Error == "" && e.ExitCode != nil && *e.ExitCode == 0 && strings.TrimSpace(e.Text) != ""}
	if e.Error != "" {
		o.Failure = failed(e.Error)
		s.report.Fault(driver.Fault{Status: status(e.Error), Message: e.Error, Final: true})
	}
	return o
}

// httpStatus is how Hermes words the status of a provider that failed.
var httpStatus = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bHTTP ([45]\d\d)\b`) })

func status(text string) int {
	if m := httpStatus().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return agentcli.StatusIn(text)
}

// failed classes the error that a run ended with.
func failed(text string) *failure.Error {
	if n := status(text); n != 0 {
		return agentcli.ServiceFailure(agentruntime.KindHermesAgent, n, text, agentcli.WaitIn(text))
	}
	return failure.New(failure.AgentFailed, "run hermes-agent", errors.New(driver.Shorten(text)), "")
}

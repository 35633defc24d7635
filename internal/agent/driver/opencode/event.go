package opencode

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver/agentcli"
)

// An event is one line of `opencode run --format json`. Only what deed needs is in it, and each part is read by itself:
// one that has another shape in another version costs that part and not the line.
type event struct {
	Type      string          `json:"type"`
	Timestamp int64           `json:"timestamp"` // milliseconds
	SessionID string          `json:"sessionID"`
	Part      json.RawMessage `json:"part"`
	Error     json.RawMessage `json:"error"`
}

// The kinds of events.
const (
	typeStepStart  = "step_start"
	typeStepFinish = "step_finish"
	typeTool       = "tool_use" // once, when the tool is done
	typeText       = "text"
	typeReasoning  = "reasoning"
	typeError      = "error"
)

// reasonStop is the reason of a step after which the model wants nothing more.
const reasonStop = "stop"

type textPart struct {
	Text string `json:"text"`
}

type toolPart struct {
	Tool   string    `json:"tool"`
	CallID string    `json:"callID"`
	State  toolState `json:"state"`
}

// rejectedText is what opencode tells its model if it asked for a permission and there was no one to give it.
const rejectedText = "The user rejected permission to use this specific tool call."

// result is what came of the call. A tool that the model named and that is not there ends as completed, under the name
// invalid.
func (p toolPart) result() agentruntime.ToolResult {
	st := p.State
	r := agentruntime.ToolResult{CallID: p.CallID, Status: agentruntime.ToolSuccess, Output: st.Output, At: agentcli.At(st.Time.End)}
	if st.Time.Start > 0 && st.Time.End > st.Time.Start {
		r.DurationMS = st.Time.End - st.Time.Start
	}
	switch {
	case p.Tool == "invalid":
		r.Status, r.ErrorType = agentruntime.ToolFailure, "unknown_tool"
	case st.Error == rejectedText:
		r.Status, r.ErrorType, r.Output = agentruntime.ToolFailure, "permission_rejected", st.Error
	case st.Status != "completed":
		r.Status, r.ErrorType, r.Output = agentruntime.ToolFailure, "tool_error", st.Error
	}
	return r
}

type toolState struct {
	Status string          `json:"status"` // completed or error
	Input  json.RawMessage `json:"input"`
	Output string          `json:"output"`
	Error  string          `json:"error"`
	Time   struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	} `json:"time"`
}

type stepPart struct {
	Reason string  `json:"reason"`
	Cost   float64 `json:"cost"` // in dollars, by the price in the configuration; 0 without one
	Tokens struct {
		Input     int64 `json:"input"` // without what was read from a cache or written to one
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"` // besides the output
		Cache     struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

// usage returns what a step used, as deed counts it.
func (p stepPart) usage(model string) agentruntime.Usage {
	n := func(v int64) int64 { return min(max(v, 0), math.MaxInt32) }
	t := p.Tokens
	u := agentruntime.Usage{
		Model:       model,
		InputTokens: n(t.Input) + n(t.Cache.Read) + n(t.Cache.Write), CachedInputTokens: n(t.Cache.Read), CacheWriteTokens: n(t.Cache.Write),
		OutputTokens: n(t.Output) + n(t.Reasoning), ReasoningTokens: n(t.Reasoning),
	}
	// Without a price opencode says 0, which is not a price.
	if micro := math.Round(p.Cost * 1e6); micro > 0 && micro < math.MaxInt32 {
		cost := int64(micro)
		u.CostMicroUSD = &cost
	}
	return u
}

// A fault is the error that ended a run.
type fault struct {
	Name string `json:"name"`
	Data struct {
		Message    string            `json:"message"`
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"responseHeaders"`
	} `json:"data"`
}

func (f fault) message() string {
	if f.Data.Message != "" {
		return f.Data.Message
	}
	return f.Name
}

// maxRetryAfter is the longest wait that is taken from a service.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter is what the service asked for, in seconds or milliseconds; 0 when it did not.
func (f fault) retryAfter() time.Duration {
	for name, unit := range map[string]time.Duration{"retry-after": time.Second, "retry-after-ms": time.Millisecond} {
		for header, value := range f.Data.Headers {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if strings.EqualFold(header, name) && err == nil && n > 0 && n*float64(unit) < float64(maxRetryAfter) {
				return time.Duration(n * float64(unit))
			}
		}
	}
	return 0
}

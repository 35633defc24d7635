package driver

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/deedrun/deed/internal/base/truncate"
)

// Events that drivers of agents with a conversation report besides those of a process. Texts in them are cut to
// MaxEventText; deed's redactor stands behind the sink.
const (
	EventSession    = "session"            // SessionInfo
	EventTurn       = "turn"               // agentruntime.Turn, when it ended
	EventText       = "agent_text"         // Text
	EventToolCall   = "tool_call"          // agentruntime.ToolCall, before it is done where the agent lets it be seen then
	EventToolResult = "tool_result"        // agentruntime.ToolResult
	EventUsage      = "usage"              // agentruntime.Usage: what was used since the last one, never a running total
	EventPolicy     = "policy_decision"    // agentruntime.PolicyDecision
	EventAction     = "required_action"    // agentruntime.RequiredAction, when it is opened and when it is closed
	EventCompaction = "context_compaction" // agentruntime.ContextCompaction
	EventSubagent   = "subagent_run"       // agentruntime.SubagentRun, at its start and at its end
	EventFault      = "provider_fault"     // Fault: the model's service failed; the agent may try again by itself
	EventRestart    = "begins_anew"        // Restart: the agent has lost its conversation; comes before the session of the new one
	EventStrange    = "strange_event"      // Strange: a line of the agent's stream that could not be read, or is of no known kind
)

// Bounds of what a stream of events leaves in the journal.
const (
	MaxEventText = 32 << 10 // bytes of one text, input or output in an event; the whole is in the recorded stream
	MaxStrange   = 20       // strange events that are reported one by one in a session

	maxName = 512 // bytes of an id, a model or another name
)

// Cut bounds a text of an event, and reports whether something is missing.
func Cut(s string) (string, bool) { return truncate.Cut(s, MaxEventText) }

// CutName bounds a name in an event.
func CutName(s string) string {
	s, _ = truncate.Cut(s, maxName)
	return s
}

// Digest is how records name an input or an output.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SessionInfo is what an agent says about its conversation.
type SessionInfo struct {
	ID        string `json:"id,omitempty"` // by which the agent knows it
	Requested string `json:"requested_model,omitempty"`
	Served    string `json:"served_model,omitempty"`
	Version   string `json:"agent_version,omitempty"`
	Resumed   bool   `json:"resumed,omitempty"`
	Ref       string `json:"-"` // what the session's Ref is from now on; empty: its ID
}

// Progress is what a program says of how far it is, of its own accord.
type Progress struct {
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"` // what else it said
}

// Text is something that an agent said.
type Text struct {
	Text     string `json:"text"`
	Thinking bool   `json:"thinking,omitempty"`
	Cut      bool   `json:"cut,omitempty"`
}

// A Fault is a failure of the service behind an agent.
type Fault struct {
	Status       int    `json:"status,omitempty"` // of HTTP
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	Attempt      int    `json:"attempt,omitempty"` // the agent's own count
	Final        bool   `json:"final,omitempty"`   // the agent gave up
}

// A Restart is a conversation that goes on from its beginning.
type Restart struct {
	Why string `json:"why"`
}

// Strange is a line that a driver could not make sense of.
type Strange struct {
	What   string `json:"what"`
	Sample string `json:"sample,omitempty"` // its beginning
	Count  int    `json:"count,omitempty"`  // for the last one: how many more there were
}

package acp

import (
	"encoding/json"
	"strings"
)

// What deed reads and writes of the protocol. Members that it has no use for are left out: agents and versions that are
// not known yet have others.

const protocolVersion = 1

type initialized struct {
	ProtocolVersion   json.Number `json:"protocolVersion"`
	AgentCapabilities struct {
		LoadSession         json.RawMessage `json:"loadSession"`
		SessionCapabilities struct {
			Resume json.RawMessage `json:"resume"`
			Load   json.RawMessage `json:"load"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	AgentInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	AuthMethods []struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"authMethods"`
}

// Methods by which a conversation goes on.
const (
	methodResume = "session/resume"
	methodLoad   = "session/load"
)

// resumeMethods are the methods by which the agent offers to go on with a conversation, in the order in which they are tried.
func (i initialized) resumeMethods() []string {
	var out []string
	can := i.AgentCapabilities
	if offered(can.SessionCapabilities.Resume) {
		out = append(out, methodResume)
	}
	if offered(can.LoadSession) || offered(can.SessionCapabilities.Load) {
		out = append(out, methodLoad)
	}
	return out
}

// offered reads a capability: true, or an object that says more.
func offered(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "true" || strings.HasPrefix(text, "{")
}

// An opened session is what session/new, session/load and session/resume answer.
type opened struct {
	SessionID     string         `json:"sessionId"`
	ConfigOptions []configOption `json:"configOptions"`
	Models        *struct {
		CurrentModelID  string `json:"currentModelId"`
		AvailableModels []struct {
			ModelID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
}

type configOption struct {
	ID           string          `json:"id"`
	Category     string          `json:"category"`
	CurrentValue json.RawMessage `json:"currentValue"`
}

// modelOption is the option by which a session's model is chosen, if there is one.
func (o opened) modelOption() (c configOption, ok bool) {
	for _, c := range o.ConfigOptions {
		if c.Category == "model" || c.Category == "" && c.ID == "model" {
			return c, true
		}
	}
	return configOption{}, false
}

// model is the session's model, if the agent reports it.
func (o opened) model() string {
	if c, ok := o.modelOption(); ok {
		return text(c.CurrentValue)
	}
	if o.Models != nil {
		return o.Models.CurrentModelID
	}
	return ""
}

type prompted struct {
	StopReason string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage"`
	Meta       json.RawMessage `json:"_meta"`
}

// used is the usage that the answer reports, if it can be read.
func (p prompted) used() (u used, ok bool) {
	return u, substantial(p.Usage) && json.Unmarshal(p.Usage, &u) == nil
}

// model is the one model that was used, if the agent reports it.
func (p prompted) model() string {
	var meta struct {
		Quota struct {
			ModelUsage []struct {
				Model string `json:"model"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	if len(p.Meta) == 0 || json.Unmarshal(p.Meta, &meta) != nil || len(meta.Quota.ModelUsage) != 1 {
		return ""
	}
	return meta.Quota.ModelUsage[0].Model
}

type used struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	Total      int64 `json:"totalTokens"`
	Thought    int64 `json:"thoughtTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
}

// Why a prompt was over.
const (
	stopEnd       = "end_turn"
	stopTokens    = "max_tokens"
	stopRequests  = "max_turn_requests"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
)

// An update is the content of a session/update, of any kind. For a tool call it has only what changed.
type update struct {
	Kind       string          `json:"sessionUpdate"`
	Content    json.RawMessage `json:"content"`
	MessageID  string          `json:"messageId"`
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Title      *string         `json:"title"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  json.RawMessage `json:"locations"`
	Entries    []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta json.RawMessage `json:"_meta"`
}

// A meta is what some agents report in addition to the protocol.
type meta struct {
	ClaudeCode struct {
		ToolName string `json:"toolName"`
	} `json:"claudeCode"`
	TerminalOutput *struct {
		Data string `json:"data"`
	} `json:"terminal_output_delta"`
	TerminalExit *struct {
		ExitCode *int `json:"exit_code"`
	} `json:"terminal_exit"`
	Codex struct {
		Error *struct {
			Message   string          `json:"message"`
			Details   string          `json:"additionalDetails"`
			Info      json.RawMessage `json:"codexErrorInfo"`
			WillRetry bool            `json:"willRetry"`
		} `json:"error"`
		ThreadStatus *struct {
			Type string `json:"type"`
		} `json:"threadStatus"`
	} `json:"codex"`
}

// meta reads what it can.
func (u update) meta() (m meta) {
	if len(u.Meta) > 0 {
		_ = json.Unmarshal(u.Meta, &m)
	}
	return m
}

// httpStatus finds the status that Codex reports, which is part of the kind of the error.
func httpStatus(info json.RawMessage) int {
	var kinds map[string]struct {
		Status *int `json:"httpStatusCode"`
	}
	_ = json.Unmarshal(info, &kinds)
	for _, k := range kinds {
		if k.Status != nil {
			return *k.Status
		}
	}
	return 0
}

// Statuses of a tool call.
const (
	callRunning   = "in_progress"
	callCompleted = "completed"
	callFailed    = "failed"
)

// A block is a part of a message, or of what a tool gave.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // with type content: a block
	Path    string          `json:"path"`    // with type diff
}

// blocks reads one block or a list of them, and skips what is neither.
func blocks(raw json.RawMessage) []block {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []block
	for _, item := range list {
		var b block
		if json.Unmarshal(item, &b) != nil {
			continue
		}
		if b.Type == "content" {
			var inner block
			if json.Unmarshal(b.Content, &inner) != nil {
				continue
			}
			b = inner
		}
		out = append(out, b)
	}
	return out
}

// words joins the texts of blocks.
func words(raw json.RawMessage) string {
	var b strings.Builder
	for _, part := range blocks(raw) {
		switch part.Type {
		case "text":
			b.WriteString(part.Text)
		case "diff":
			b.WriteString("[a change of " + part.Path + "]\n")
		}
	}
	return b.String()
}

// text reads a JSON string; anything else is itself.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

type permissionRequest struct {
	ToolCall update             `json:"toolCall"`
	Options  []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// A permission is the answer to a request for one.
type permission struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected or cancelled
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

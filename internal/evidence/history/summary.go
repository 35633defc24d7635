package history

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/evidence/journal"
)

// subjects are the members of a tool's input that say what it is about, the most specific first. Agents use many names for
// the same thing.
var subjects = []string{
	"command", "cmd", "pattern", "query", "regex", "file_path", "filePath", "filepath", "path", "notebook_path", "url", "prompt", "goal",
	"description", "question", "summary", "name",
}

var patched = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$`) })

// Subject says in a few words what a tool call is about: its command, its path, its pattern. It is the agent's own text.
func Subject(c agentruntime.ToolCall) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(c.Input, &in) != nil {
		return ""
	}
	for _, name := range subjects {
		if s := plain(in[name]); s != "" {
			return s
		}
	}
	for _, name := range []string{"patch", "input", "patchText"} {
		if s := plain(in[name]); s != "" {
			if m := patched().FindStringSubmatch(s); m != nil {
				return m[1]
			}
			return s
		}
	}
	var changes []struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(in["changes"], &changes) == nil && len(changes) > 0 {
		if len(changes) > 1 {
			return fmt.Sprintf("%s and %d more", changes[0].Path, len(changes)-1)
		}
		return changes[0].Path
	}
	if len(in) == 0 {
		return ""
	}
	return string(c.Input)
}

// plain is a text, or a list of texts joined as words.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, " ")
	}
	return ""
}

// Summary says in one line what an entry is about, without its kind. Parts of it are the agent's own text.
func Summary(e journal.Entry) string {
	if word := wordings[e.Kind]; word != nil {
		if s, ok := word(e.Detail); ok {
			return s
		}
	}
	return string(e.Detail)
}

// wordings are how the details of a kind are worded.
var wordings = map[string]func(json.RawMessage) (string, bool){
	KindTurn: worded(func(v agentruntime.Turn) string {
		return words(fmt.Sprintf("turn %d", v.Index), v.Model, v.StopReason, prefix("by subagent ", v.SubagentID), tokens(v.Usage))
	}),
	KindText: worded(func(v struct {
		Text     string `json:"text"`
		Thinking bool   `json:"thinking"`
	},
	) string {
		if v.Thinking {
			return "(thinks) " + v.Text
		}
		return v.Text
	}),
	KindToolCall: worded(func(v agentruntime.ToolCall) string { return words(v.Tool, Subject(v)) }),
	KindToolResult: worded(func(v agentruntime.ToolResult) string {
		return words(string(v.Status), v.ErrorType, millis(v.DurationMS), v.Output)
	}),
	KindUsage:      worded(func(v agentruntime.Usage) string { return words(tokens(&v), v.Model) }),
	KindCompletion: worded(completion),
	KindCheck: worded(func(v struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		Took   int64  `json:"duration_ms"`
	},
	) string {
		return words(v.Name, v.Status, millis(v.Took))
	}),
	KindRecovery: worded(func(v agentruntime.RecoveryAttempt) string {
		how := "in the same conversation"
		if !v.SameConversation {
			how = "in a new conversation"
		}
		return fmt.Sprintf("%d of %d, %s: %s", v.Number, v.Limit, how, strings.Join(v.Reasons, "; "))
	}),
	KindState: worded(func(v agentruntime.AgentStateChange) string {
		return fmt.Sprintf("%s → %s: %s", v.From, v.To, v.Cause)
	}),
	KindAction: worded(func(v agentruntime.RequiredAction) string {
		state := v.State
		if state == "" {
			state = agentruntime.ActionOpen
		}
		return words(state, v.Kind, v.ID, v.Prompt)
	}),
	KindCompaction: worded(func(v agentruntime.ContextCompaction) string {
		return words(v.Reason, fmt.Sprintf("%d → %d tokens", v.TokensBefore, v.TokensAfter))
	}),
	KindSubagent: worded(func(v agentruntime.SubagentRun) string { return words(v.State, v.ID, v.Goal) }),
	KindPolicy: worded(func(v agentruntime.PolicyDecision) string {
		return words(string(v.Effect), v.Tool, v.Subject, "by "+v.Rule, v.Reason)
	}),
	KindBudget: worded(func(v agentruntime.Budget) string {
		out := fmt.Sprintf("%s %d of %d", v.Name, v.Used, v.Limit)
		if v.Exhausted {
			out += ", used up"
		}
		return out
	}),
	KindFault: worded(func(v struct {
		Status  int    `json:"status"`
		Message string `json:"message"`
		Final   bool   `json:"final"`
	},
	) string {
		out := v.Message
		if v.Status != 0 {
			out = fmt.Sprintf("HTTP %d %s", v.Status, out)
		}
		if v.Final {
			out += " (the agent gave up)"
		}
		return out
	}),
	KindStrange: worded(func(v struct {
		What   string `json:"what"`
		Sample string `json:"sample"`
	},
	) string {
		return words(v.What, v.Sample)
	}),
}

// worded reads a detail as far as it can be read and words it.
func worded[T any](word func(T) string) func(json.RawMessage) (string, bool) {
	return func(detail json.RawMessage) (string, bool) {
		var v T
		if json.Unmarshal(detail, &v) != nil {
			return "", false
		}
		return word(v), true
	}
}

func completion(v agentruntime.CompletionAttempt) string {
	out := fmt.Sprintf("%d", v.Number)
	switch {
	case v.Decision == nil:
		return out + ", not decided yet"
	case v.Decision.Accepted:
		return out + " accepted"
	}
	return out + " refused: " + strings.Join(v.Decision.Reasons, "; ")
}

// tokens words what was used.
func tokens(u *agentruntime.Usage) string {
	if u == nil {
		return ""
	}
	out := fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens)
	if u.CostMicroUSD != nil {
		out += fmt.Sprintf(", $%.4f", float64(*u.CostMicroUSD)/1e6)
	}
	return out
}

func millis(n int64) string {
	if n <= 0 {
		return ""
	}
	return (time.Duration(n) * time.Millisecond).String()
}

func prefix(p, s string) string {
	if s == "" {
		return ""
	}
	return p + s
}

// words joins what is not empty.
func words(list ...string) string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "  ")
}

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
)

// A timeline prints the entries of a journal for people, turn by turn. What an agent wrote is shortened and cannot drive the
// terminal.
type timeline struct {
	*app
	live bool // calls are shown before their results are known
	gap  bool // an empty line comes before what is printed next

	results map[string]agentruntime.ToolResult
	turns   map[int]agentruntime.Turn // of the agent itself, by index
	calls   map[string]agentruntime.ToolCall
	header  int // the turn whose header was printed last
	ended   int // the turn that ended last
}

// newTimeline takes what is known beforehand.
func newTimeline(a *app, t agentruntime.RuntimeTask) *timeline {
	l := &timeline{app: a, results: map[string]agentruntime.ToolResult{}, turns: map[int]agentruntime.Turn{}, calls: map[string]agentruntime.ToolCall{}}
	for _, r := range t.ToolResults {
		l.results[r.CallID] = r
	}
	for _, v := range t.Turns {
		if v.SubagentID == "" {
			l.turns[v.Index] = v
		}
	}
	return l
}

// Widths of the columns of a tool call, and of a line of text.
const (
	toolWidth    = 12
	subjectWidth = 64
	textWidth    = 160
)

// entry prints an entry, if it is about the agent's work.
func (l *timeline) entry(e journal.Entry) error {
	switch e.Kind {
	case history.KindTurn:
		detail(e, l.turnEnded)
	case history.KindText:
		detail(e, l.text)
	case history.KindToolCall:
		detail(e, l.call)
	case history.KindToolResult:
		detail(e, l.result)
	case history.KindCompletion:
		detail(e, l.completion)
	case history.KindRecovery:
		l.event("recovery", l.color.Yellow, e)
	case history.KindPolicy:
		detail(e, func(v agentruntime.PolicyDecision) {
			switch {
			case v.Effect == agentruntime.PolicyDeny:
				l.event("policy", l.color.Red, e)
			case v.Effect == agentruntime.PolicyAsk, v.By != "":
				l.event("policy", l.color.Yellow, e)
			}
		})
	case history.KindBudget:
		detail(e, func(v agentruntime.Budget) {
			if v.Exhausted {
				l.event("budget", l.color.Red, e)
			}
		})
	case history.KindBound:
		detail(e, func(v struct {
			Class string `json:"class"`
			Why   string `json:"why"`
		},
		) {
			l.line("bound", l.color.Red, v.Class+": "+v.Why)
		})
	case history.KindResumed:
		detail(e, func(v struct {
			From string `json:"from_attempt"`
			Why  string `json:"why"`
		},
		) {
			l.line("resumed", l.color.Yellow, "from attempt "+v.From+" "+v.Why)
		})
	case history.KindAction:
		l.event("action", l.color.Yellow, e)
	case history.KindCompaction:
		l.event("compaction", l.color.Yellow, e)
	case history.KindSubagent:
		l.event("subagent", l.color.Bold, e)
	case history.KindFault:
		l.event("model", l.color.Red, e)
	case history.KindState:
		l.event("state", l.color.Dim, e)
	case history.KindStrange:
		l.event("strange", l.color.Dim, e)
	}
	return nil
}

// printf prints a line, after the gap if one is due.
func (l *timeline) printf(format string, args ...any) {
	if l.gap {
		l.gap = false
		l.app.printf("\n")
	}
	l.app.printf(format, args...)
}

// detail gives a detail to a function if it can be read.
func detail[T any](e journal.Entry, use func(T)) {
	var v T
	if json.Unmarshal(e.Detail, &v) == nil {
		use(v)
	}
}

// event prints an entry as one line.
func (l *timeline) event(label string, color func(string) string, e journal.Entry) {
	l.line(label, color, history.Summary(e))
}

func (l *timeline) line(label string, color func(string) string, text string) {
	l.printf("%s %s\n", color(fmt.Sprintf("%-10s", label)), shorten(clean(text), textWidth))
}

// within prints the header of a turn before the first that belongs to it.
func (l *timeline) within(turn int) {
	if turn <= 0 {
		turn = l.ended + 1
	}
	if turn == l.header {
		return
	}
	l.header = turn
	title := l.color.Bold(fmt.Sprintf("turn %-5d", turn))
	if v, ok := l.turns[turn]; ok {
		title += " " + l.color.Dim(clean(turnText(v)))
	}
	l.printf("%s\n", strings.TrimRight(title, " "))
}

func turnText(v agentruntime.Turn) string {
	var parts []string
	for _, p := range []string{v.Model, v.StopReason} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	start, serr := v.StartedAt.Time()
	end, eerr := v.EndedAt.Time()
	if serr == nil && eerr == nil {
		parts = append(parts, end.Sub(start).Round(time.Millisecond).String())
	}
	if u := v.Usage; u != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens))
	}
	return strings.Join(parts, "  ")
}

func (l *timeline) turnEnded(v agentruntime.Turn) {
	if v.SubagentID != "" {
		return
	}
	l.within(v.Index)
	l.ended = v.Index
	if text := turnText(v); l.live && text != "" {
		l.printf("           %s\n", l.color.Dim(clean(text)))
	}
}

func (l *timeline) text(v struct {
	Text     string `json:"text"`
	Thinking bool   `json:"thinking"`
},
) {
	text := shorten(clean(v.Text), textWidth)
	if text == "" {
		return
	}
	l.within(0)
	if v.Thinking {
		l.printf("           %s\n", l.color.Dim("("+text+")"))
		return
	}
	l.printf("           “%s”\n", text)
}

func (l *timeline) call(v agentruntime.ToolCall) {
	l.within(v.Turn)
	if l.live {
		l.calls[v.CallID] = agentruntime.ToolCall{Tool: v.Tool, SubagentID: v.SubagentID, Input: input(v)}
		l.tool(l.color.Dim("→"), v, "")
		return
	}
	r, done := l.results[v.CallID]
	if !done {
		l.tool(l.color.Yellow("…"), v, "no result")
		return
	}
	l.tool(l.mark(r), v, callEnd(r))
}

// input is the part of a call that is needed again with its result.
func input(v agentruntime.ToolCall) json.RawMessage {
	b, err := json.Marshal(map[string]string{"command": shorten(clean(history.Subject(v)), subjectWidth)})
	if err != nil {
		return nil
	}
	return b
}

func (l *timeline) result(v agentruntime.ToolResult) {
	if !l.live {
		return // its call showed it
	}
	c, ok := l.calls[v.CallID]
	if !ok {
		c.Tool = v.CallID
	}
	delete(l.calls, v.CallID)
	l.tool(l.mark(v), c, callEnd(v))
}

func (l *timeline) mark(r agentruntime.ToolResult) string {
	if r.Status == agentruntime.ToolSuccess {
		return l.color.Green("✓")
	}
	return l.color.Red("✗")
}

// callEnd words how a call ended.
func callEnd(r agentruntime.ToolResult) string {
	out := string(r.Status)
	if r.ErrorType != "" {
		out += " " + r.ErrorType
	}
	if r.Terminal {
		out += " (terminal)"
	}
	if r.DurationMS > 0 {
		out += " " + (time.Duration(r.DurationMS) * time.Millisecond).String()
	}
	return out
}

// tool prints a call in columns.
func (l *timeline) tool(mark string, c agentruntime.ToolCall, end string) {
	name, subject := shorten(clean(c.Tool), toolWidth*2), shorten(clean(history.Subject(c)), subjectWidth)
	if c.SubagentID != "" {
		name = shorten(clean(c.SubagentID), toolWidth) + "/" + name
	}
	l.printf("           %s %s\n", mark, strings.TrimRight(terminal.Pad(name, toolWidth)+" "+terminal.Pad(subject, subjectWidth)+" "+l.color.Dim(clean(end)), " "))
}

func (l *timeline) completion(v agentruntime.CompletionAttempt) {
	word := l.color.Yellow("not decided yet")
	if d := v.Decision; d != nil {
		word = l.color.Red("refused")
		if d.Accepted {
			word = l.color.Green("accepted")
		}
	}
	claim := ""
	if v.Claim != "" {
		claim = "  “" + shorten(clean(v.Claim), 100) + "”"
	}
	l.printf("%s %d %s%s\n", l.color.Bold(fmt.Sprintf("%-10s", "completion")), v.Number, word, claim)
	if v.Decision != nil {
		for _, r := range v.Decision.Reasons {
			l.printf("           %s %s\n", l.color.Red("✗"), shorten(clean(r), textWidth))
		}
	}
}

package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Bounds of a compaction.
const (
	keepShare     = 0.2 // of the size at which a conversation is shortened, for the messages that stay
	keepMessages  = 8
	maxSummary    = 24_000 // bytes
	summaryTokens = 4000
	shortOutput   = 1500 // bytes of a result that the summarising model gets
	shortestText  = 200  // bytes of one, if there is no summary
)

const summarySystem = `You shorten the record of a coding agent's work, so that the agent can go on from your summary without the record. The task, its requirements, its plan, failed calls and budgets are kept beside it word for word: leave them out. Say what was found out (files, functions, how things are checked), what was changed and where, what was tried and did not work, and what was about to come next. Give exact names and paths. Do not address anybody and do not add anything that is not in the record.`

// compact shortens a conversation. What was agreed stays word for word; the model sums up the rest, and when it cannot, old
// outputs are cut down.
func (t *turn) compact(ctx context.Context, c *Conversation, reason string) error {
	s := c.state
	before := s.tokens
	keep := s.keep(c.cfg.Bounds, reason)
	old := s.messages[:len(s.messages)-keep]
	summary, err := t.summarise(ctx, c, old)
	if err != nil {
		return err
	}
	carried, names := s.carried(c.cfg.Bounds)
	e := compaction{Reason: reason, Head: carried + "\n\n# What was done so far, in short\n\n" + summary, Keep: keep}
	if err := c.append(entry{kind: kindCompact, compaction: &e}, true); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.LoopCompacted)
	t.env.Sink.Event(driver.EventCompaction, agentruntime.ContextCompaction{
		ID: fmt.Sprintf("%s-k%d", s.id, s.compactions), Turn: t.answers, SubagentID: c.subagent, Reason: reason,
		TokensBefore: before, TokensAfter: s.tokens, Carried: names, SummarySHA: driver.Digest([]byte(summary)), At: c.now(),
	})
	t.write("deed", fmt.Sprintf("the conversation was shortened (%s): about %d tokens became %d", reason, before, s.tokens))
	return nil
}

// keep is how many messages at the end stay as they are. They begin with an answer: its calls and their results stay together.
func (s *state) keep(b Bounds, reason string) int {
	room := int64(float64(b.compactTokens()) * keepShare)
	if reason == reasonTooLong {
		room /= 2
	}
	keep := 0
	for n := 1; n <= min(keepMessages, len(s.messages)-1); n++ {
		m := s.messages[len(s.messages)-n]
		if room -= size(m); room < 0 {
			break
		}
		if m.Role == model.RoleAssistant {
			keep = n
		}
	}
	return keep
}

// carried is what goes over word for word, and the names of its parts.
func (s *state) carried(b Bounds) (text string, names []string) {
	var w strings.Builder
	part := func(name, title, body string) {
		if body == "" {
			return
		}
		names = append(names, name)
		if w.Len() > 0 {
			w.WriteString("\n\n")
		}
		fmt.Fprintf(&w, "# %s\n\n%s", title, body)
	}
	part("goal", "The task, word for word", s.goal)
	part("open_requirements", "What you were told last, word for word", s.requirements)
	var plan []string
	for _, item := range s.todo {
		plan = append(plan, fmt.Sprintf("- [%s] %s", item.Status, item.Text))
	}
	part("plan", "Your plan", strings.Join(plan, "\n"))
	var calls []string
	for _, f := range s.failed {
		calls = append(calls, fmt.Sprintf("- %s %s\n  %s: %s", f.Tool, f.Input, f.ErrorType, strings.ReplaceAll(strings.TrimSpace(f.Output), "\n", "\n  ")))
	}
	part("failed_calls", "Calls that failed, and were not made good since", strings.Join(calls, "\n"))
	budget := fmt.Sprintf("%d answers given", s.turns)
	if b.MaxTurns > 0 {
		budget = fmt.Sprintf("%d of %d answers given", s.turns, b.MaxTurns)
	}
	part("budgets", "Budget", fmt.Sprintf("%s; this conversation was shortened %d times.", budget, s.compactions+1))
	return w.String(), names
}

// summarise has the model sum up messages.
func (t *turn) summarise(ctx context.Context, c *Conversation, old []model.Message) (string, error) {
	room := int(c.cfg.Bounds.Window) * bytesPerToken / 2
	text := headTail(render(old, shortOutput), room)
	maxOut := summaryTokens
	if m := c.cfg.Bounds.MaxOutput; m > 0 {
		maxOut = min(maxOut, m)
	}
	resp, err := c.cfg.Client.Stream(ctx, model.Request{
		Model: c.cfg.Model, System: summarySystem, MaxOutput: maxOut,
		Messages: []model.Message{{Role: model.RoleUser, Blocks: []model.Block{{Text: "The record:\n\n" + text}}}},
	}, nil)
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err == nil {
		t.used(c, resp.Usage, resp.Served)
	}
	if summary := strings.TrimSpace(resp.Text()); err == nil && summary != "" {
		return truncate.Head(c.cfg.Redactor.String(summary), maxSummary), nil
	}
	return headTail(render(old, shortestText), maxSummary), nil
}

// render writes messages as text, with results cut down.
func render(messages []model.Message, most int) string {
	var w strings.Builder
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				fmt.Fprintf(&w, "[call] %s %s\n", b.Call.Name, truncate.Head(string(b.Call.Input), most))
			case b.Result != nil && b.Result.Failed:
				fmt.Fprintf(&w, "[failed] %s\n", truncate.Head(b.Result.Output, most))
			case b.Result != nil:
				fmt.Fprintf(&w, "[result] %s\n", truncate.Head(b.Result.Output, most))
			case b.Text != "":
				fmt.Fprintf(&w, "[%s] %s\n", m.Role, truncate.Head(b.Text, 4*most))
			}
		}
	}
	return w.String()
}

// headTail keeps the beginning and, more of it, the end of a text.
func headTail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := truncate.Head(s, most/4)
	return head + "\n[…]\n" + strings.ToValidUTF8(s[len(s)-most*3/4:], "")
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Waits between tries of a request.
const (
	firstWait = time.Second
	mostWait  = 30 * time.Second
)

// noAnswer stands for an answer with nothing in it.
const noAnswer = "(no answer)"

// ask asks the model for its next answer.
func (t *turn) ask(ctx context.Context, c *Conversation) error {
	began := c.now()
	req := model.Request{Model: c.cfg.Model, System: c.system, Messages: c.state.messages, Tools: c.tools, MaxOutput: c.cfg.Bounds.MaxOutput}
	resp, thinking, err := t.stream(ctx, c, req)
	if model.KindOf(err) == model.KindContextTooLong {
		return c.append(entry{kind: kindTooLong}, false)
	}
	if err != nil {
		return err
	}
	a := answered{Blocks: c.distinct(resp.Blocks), Stop: resp.Stop, Usage: resp.Usage, Served: resp.Served}
	// It becomes durable with the first call that changes something, at the latest. Without that it can be asked for again.
	if err := c.append(entry{kind: kindAnswer, answered: &a}, false); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.LoopAnswered)
	t.emitAnswer(c, a, thinking, began)
	return nil
}

// emitAnswer reports an answer.
func (t *turn) emitAnswer(c *Conversation, a answered, thinking string, began agentruntime.Timestamp) {
	t.answers++
	if thinking != "" {
		t.text(c, thinking, true)
	}
	calls := 0
	for _, b := range a.Blocks {
		switch {
		case b.Call != nil:
			calls++
		case b.Text != "":
			t.text(c, b.Text, false)
			t.write(c.who(), b.Text)
		}
	}
	usage := t.used(c, a.Usage, a.Served)
	t.env.Sink.Event(driver.EventTurn, agentruntime.Turn{
		ID: fmt.Sprintf("turn-%d", t.answers), Index: t.answers, SubagentID: c.subagent, StartedAt: began, EndedAt: c.now(),
		Model: driver.CutName(a.Served), StopReason: driver.CutName(a.Stop), ToolCalls: calls, Usage: usage,
	})
}

// used reports what a request cost.
func (t *turn) used(c *Conversation, u agentruntime.Usage, served string) *agentruntime.Usage {
	if u.Model == "" {
		u.Model = served
	}
	if u.Model == "" {
		u.Model = c.cfg.Model
	}
	u.Model = driver.CutName(u.Model)
	if u != (agentruntime.Usage{Model: u.Model}) {
		t.env.Sink.Event(driver.EventUsage, u)
	}
	return &u
}

func (t *turn) text(c *Conversation, s string, thinking bool) {
	s, cut := driver.Cut(c.cfg.Redactor.String(s))
	t.env.Sink.Event(driver.EventText, driver.Text{Text: s, Thinking: thinking, Cut: cut})
}

// distinct leaves out what is empty, and gives every call an id that no other has: services number them as they like, and a result must find its call.
func (c *Conversation) distinct(blocks []model.Block) []model.Block {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool {
		return b.Text == "" && b.Call == nil && b.Result == nil && len(b.Opaque) == 0
	})
	if len(blocks) == 0 { // services refuse a message without content
		blocks = []model.Block{{Text: noAnswer}}
	}
	taken := map[string]bool{}
	for i, b := range blocks {
		if b.Call == nil {
			continue
		}
		call := *b.Call
		if call.ID == "" || len(call.ID) > 256 || c.state.ids[call.ID] || taken[call.ID] {
			call.ID = fmt.Sprintf("call-%d-%d", c.state.turns+1, i)
		}
		taken[call.ID] = true
		blocks[i].Call = &call
	}
	return blocks
}

// stream asks until there is an answer, or no hope of one. The error is a *failure.Error, the cause of ctx, or a
// *model.Error of kind context_too_long.
func (t *turn) stream(ctx context.Context, c *Conversation, req model.Request) (model.Response, string, error) {
	for try := 1; ; try++ {
		var thinking strings.Builder
		resp, err := c.cfg.Client.Stream(ctx, req, func(d model.Delta) { thinking.WriteString(d.Thinking) })
		if err == nil {
			return resp, thinking.String(), nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return resp, "", cause
		}
		var fault *model.Error
		if !errors.As(err, &fault) {
			return resp, "", failure.New(failure.Infra, "ask the model", err, "")
		}
		if fault.Kind == model.KindContextTooLong {
			return resp, "", fault
		}
		wait, final := c.wait(fault, try)
		t.env.Sink.Event(driver.EventFault, driver.Fault{
			Status: fault.Status, Message: truncate.Head(fault.Message, 4<<10), RetryAfterMS: fault.RetryAfter.Milliseconds(), Attempt: try, Final: final != nil,
		})
		if final != nil {
			return resp, "", final
		}
		t.write("deed", fmt.Sprintf("%v; trying again in %v", fault, wait.Round(time.Millisecond)))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return resp, "", context.Cause(ctx)
		}
	}
}

// wait says how long to wait before the next try, or why there is none.
func (c *Conversation) wait(fault *model.Error, try int) (time.Duration, *failure.Error) {
	class, remedy := fault.Class()
	if fault.Kind == model.KindAuth && class == failure.Config {
		remedy += "; the adapter's provider.key_env names the variable"
	}
	give := func(remedy string) *failure.Error {
		f := failure.New(class, "ask the model", fault, remedy)
		f.RetryAfter = fault.RetryAfter
		return f
	}
	switch {
	case !fault.Retryable():
		return 0, give(remedy)
	case fault.RetryAfter > c.cfg.Bounds.MaxWait, try > c.cfg.Bounds.Retries:
		return 0, give("try again later")
	case fault.RetryAfter > 0:
		return fault.RetryAfter, nil
	}
	wait := min(firstWait<<min(try-1, 10), mostWait)
	return wait/2 + rand.N(wait/2), nil
}

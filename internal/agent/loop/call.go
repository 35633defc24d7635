package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/truncate"
)

// Types of failures that the loop itself gives.
const (
	typeInterrupted = "interrupted"
	typeDenied      = "denied"
	typeNoAnswer    = "no_answer"
	typeSubagent    = "subagent_failed"
	typeTooMany     = "too_many_subagents"
)

// An outcome is the result of a call, before the model gets it.
type outcome struct {
	result
	millis int64
}

func failed(f *tool.Failure) outcome {
	return outcome{result: result{Output: f.Message, Failed: true, ErrorType: f.Type, Bytes: int64(len(f.Message))}}
}

// call carries out a call and reports its result to all who need it.
func (t *turn) call(ctx context.Context, c *Conversation, st step) error {
	p := st.call
	rec := agentruntime.ToolCall{
		CallID: p.ID, Turn: t.answers, SubagentID: c.subagent, Tool: driver.CutName(p.Name), Input: p.Input, InputSHA: inputDigest(p.Input), At: c.now(),
	}
	if !p.asked {
		told := rec
		told.Input = shortInput(p.Input)
		t.env.Sink.Event(driver.EventToolCall, told)
		t.write(c.who(), fmt.Sprintf("[%s %s]", p.Name, truncate.Head(string(p.Input), 2<<10)))
	}
	began := clock.Start()
	o, err := t.decide(ctx, c, st, rec)
	if errors.Is(err, driver.ErrAsked) && !p.asked {
		return errors.Join(err, c.append(entry{kind: kindAsked, ref: &callRef{Call: p.ID}}, true))
	}
	if err != nil {
		return err
	}
	o.Call, o.millis = p.ID, clock.Since(began).Milliseconds()
	return t.settle(ctx, c, rec, o)
}

// inputDigest names an input by what it says: the log spells it in another way than the service did, and a person who decided
// on a call is not asked again when it is read from there.
func inputDigest(input json.RawMessage) string {
	if text, err := canonjson.Canonicalize(input); err == nil {
		return driver.Digest(text)
	}
	return driver.Digest(input)
}

// decide refuses a call, or lets the guard decide on it and carries it out.
func (t *turn) decide(ctx context.Context, c *Conversation, st step, rec agentruntime.ToolCall) (outcome, error) {
	p := st.call
	if p.subagent != "" { // it was decided on before, and is under way
		return t.delegated(ctx, c, p)
	}
	if st.refuse != nil {
		return failed(st.refuse), nil //nolint:nilerr // it is for the model
	}
	if f := c.unusable(p); f != nil {
		return failed(f), nil
	}
	if g := t.env.Guard; g != nil {
		d, err := g.Before(ctx, rec)
		if err != nil {
			return outcome{}, err
		}
		if d.Effect != agentruntime.PolicyAllow {
			why := "the policy does not allow it"
			if d.Reason != "" {
				why += ": " + d.Reason
			}
			return failed(tool.Failf(typeDenied, "%s", why)), nil
		}
	}
	return t.carryOut(ctx, c, p)
}

// unusable says why a call cannot even be decided on.
func (c *Conversation) unusable(p pending) *tool.Failure {
	if !c.cfg.Bounds.allows(p.Name) {
		return tool.Failf(tool.TypeUnknown, "there is no tool %q; there are %s", truncate.Head(p.Name, 60), strings.Join(c.cfg.Bounds.Tools, ", "))
	}
	if raw, bad := p.Malformed(); bad {
		return tool.Failf(tool.TypeInput, "the input of %s is not a JSON object: %s", p.Name, truncate.Head(raw, 200))
	}
	var v any
	var f *tool.Failure
	if err := tool.Decode(p.Name, p.Input, &v); errors.As(err, &f) {
		return f
	}
	return nil
}

// carryOut does what a call asks for. Before anything that may change something, it is on the disk that it was begun.
func (t *turn) carryOut(ctx context.Context, c *Conversation, p pending) (outcome, error) {
	spec, _ := tool.Find(p.Name)
	switch p.Name {
	case tool.Todo:
		return c.plan(p), nil
	case tool.Ask:
		return t.question(ctx, p)
	case tool.Delegate:
		return t.beginDelegated(ctx, c, p)
	}
	if spec.Effects {
		if err := c.append(entry{kind: kindStarted, ref: &callRef{Call: p.ID}}, true); err != nil {
			return outcome{}, err
		}
		crashpoint.Hit(crashpoint.LoopStarted)
	}
	out := t.evidence.capture()
	done, err := t.env.Hands.Call(ctx, p.Name, p.Input, out)
	if cerr := out.finish(); err == nil {
		err = cerr
	}
	if err != nil {
		return outcome{}, err
	}
	if spec.Effects {
		crashpoint.Hit(crashpoint.LoopCarriedOut)
	}
	return outcome{result: result{Output: out.text, Failed: done.Failed, ErrorType: done.ErrorType, Ref: out.ref, Bytes: out.total}}, nil
}

// settle adds the notes of deed and the guard to an outcome, makes it durable and reports it.
func (t *turn) settle(ctx context.Context, c *Conversation, rec agentruntime.ToolCall, o outcome) error {
	p := c.state.calls[c.state.find(o.Call)]
	o.Digest = driver.Digest([]byte(o.Output))
	if o.Output == "" {
		o.Output = "(no output)"
	}
	told := agentruntime.ToolResult{
		CallID: o.Call, Status: agentruntime.ToolSuccess, Output: truncate.Head(o.Output, driver.MaxEventText), OutputBytes: o.Bytes, OutputRef: o.Ref,
		OutputSHA: o.Digest, DurationMS: o.millis, At: c.now(),
	}
	if o.Failed {
		told.Status, told.ErrorType = agentruntime.ToolFailure, driver.CutName(o.ErrorType)
	}
	if c.state.repeat(p.Call, o.Digest) == warnRepeats {
		o.Output += fmt.Sprintf("\n[deed: the same call has now given the same result %d times. Do something else; after %d times the work is ended.]", warnRepeats, endRepeats)
	}
	var after error
	if g := t.env.Guard; g != nil {
		var feedback string
		if feedback, after = g.After(ctx, rec, told); feedback != "" {
			o.Output += "\n[" + feedback + "]"
		}
	}
	spec, _ := tool.Find(p.Name)
	if err := c.append(entry{kind: kindResult, result: &o.result}, spec.Effects); err != nil {
		return errors.Join(after, err)
	}
	if spec.Effects {
		crashpoint.Hit(crashpoint.LoopSettled)
	}
	t.env.Sink.Event(driver.EventToolResult, told)
	mark := ""
	if o.Failed {
		mark = " (" + o.ErrorType + ")"
	}
	t.write("result"+mark, truncate.Head(o.Output, 4<<10))
	return after
}

// settleInterrupted answers a call that was started by a process that is gone.
func (t *turn) settleInterrupted(c *Conversation, id string) error {
	text := "it was interrupted, and it is not known whether it took effect; look before you repeat it"
	r := result{Call: id, Output: text, Failed: true, ErrorType: typeInterrupted, Digest: driver.Digest([]byte(text))}
	if err := c.append(entry{kind: kindResult, result: &r}, true); err != nil {
		return err
	}
	retryable := false
	t.env.Sink.Event(driver.EventToolResult, agentruntime.ToolResult{
		CallID: id, Status: agentruntime.ToolFailure, Output: text, ErrorType: typeInterrupted, Retryable: &retryable, At: c.now(),
	})
	t.write("result ("+typeInterrupted+")", text)
	return nil
}

// plan takes a new plan. Open items that are missing in it are reported: work must not vanish because it is not listed.
func (c *Conversation) plan(p pending) outcome {
	var in tool.TodoInput
	if err := tool.Decode(p.Name, p.Input, &in); err != nil {
		return failed(tool.Failf(tool.TypeInput, "%v", err))
	}
	have := map[string]bool{}
	open := 0
	for _, item := range in.Items {
		have[item.Text] = true
		if item.Status != "done" {
			open++
		}
	}
	text := fmt.Sprintf("%d of %d open", open, len(in.Items))
	var gone []string
	for _, item := range c.state.todo {
		if item.Status != "done" && !have[item.Text] {
			gone = append(gone, item.Text)
		}
	}
	if len(gone) > 0 {
		text += "; no longer in the plan although open: " + truncate.Head(strings.Join(gone, "; "), 1000)
	}
	return outcome{result: result{Output: text, Todo: in.Items, Bytes: int64(len(text))}}
}

// question puts a question to a person.
func (t *turn) question(ctx context.Context, p pending) (outcome, error) {
	var in tool.AskInput
	if err := tool.Decode(p.Name, p.Input, &in); err != nil {
		return failed(tool.Failf(tool.TypeInput, "%v", err)), nil
	}
	if t.env.Guard == nil {
		return failed(tool.Failf(typeNoAnswer, "nobody is there to answer; decide by what the task says, and say what you decided")), nil
	}
	answer, err := t.env.Guard.Ask(ctx, in.Question)
	if err != nil {
		return outcome{}, err
	}
	return outcome{result: result{Output: answer, Bytes: int64(len(answer))}}, nil
}

// shortInput is an input as an event has it: whole, or its beginning as a string.
func shortInput(in json.RawMessage) json.RawMessage {
	if len(in) <= driver.MaxEventText {
		return in
	}
	b, err := json.Marshal(truncate.Head(string(in), driver.MaxEventText/2))
	if err != nil {
		return json.RawMessage(`"…"`)
	}
	return b
}

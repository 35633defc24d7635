package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/tool"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
)

// errTime is the cause when a delegated conversation took too long.
var errTime = errors.New("it took too long")

// beginDelegated begins a delegated conversation if the bounds allow it.
func (t *turn) beginDelegated(ctx context.Context, c *Conversation, p pending) (outcome, error) {
	if f := t.overBounds(c, p); f != nil {
		return failed(f), nil
	}
	t.delegate++
	p.subagent = fmt.Sprintf("s%d", t.delegate)
	if err := c.append(entry{kind: kindStarted, ref: &callRef{Call: p.ID, Subagent: p.subagent}}, true); err != nil {
		return outcome{}, err
	}
	return t.delegated(ctx, c, p)
}

func (t *turn) overBounds(c *Conversation, p pending) *tool.Failure {
	b := c.cfg.Bounds
	var in tool.DelegateInput
	if err := tool.Decode(p.Name, p.Input, &in); err != nil {
		return tool.Failf(tool.TypeInput, "%v", err)
	}
	for _, name := range in.Tools {
		if !b.allows(name) {
			return tool.Failf(tool.TypeInput, "tools: %q is not a tool of yours; there are %s", truncate.Head(name, 60), strings.Join(b.Tools, ", "))
		}
	}
	switch {
	case c.depth >= b.Depth:
		return tool.Failf(typeTooMany, "work cannot be delegated any further (depth %d); do it yourself", b.Depth)
	case t.delegate >= b.Delegates:
		return tool.Failf(typeTooMany, "all %d helpers are used up; do it yourself", b.Delegates)
	case b.MaxTurns > 0 && c.state.turns >= b.MaxTurns:
		return tool.Failf(typeTooMany, "there are no turns left for a helper")
	}
	return nil
}

// bounds are those of a delegated conversation: drawn from its parent's, never more.
func (c *Conversation) bounds(in tool.DelegateInput) Bounds {
	b := c.cfg.Bounds
	turns := b.DelegateTurn
	if in.MaxTurns > 0 {
		turns = min(turns, in.MaxTurns)
	}
	if b.MaxTurns > 0 {
		turns = min(turns, b.MaxTurns-c.state.turns)
	}
	b.MaxTurns = turns
	if len(in.Tools) > 0 {
		b.Tools = slices.DeleteFunc(slices.Clone(b.Tools), func(name string) bool { return !slices.Contains(in.Tools, name) })
	}
	b.Tools = slices.DeleteFunc(slices.Clone(b.Tools), func(name string) bool {
		return name == tool.TaskComplete || name == tool.Delegate && c.depth+1 >= b.Depth
	})
	return b
}

// delegated has a conversation of its own do a part of the work, from its beginning or from where it stood.
func (t *turn) delegated(ctx context.Context, c *Conversation, p pending) (outcome, error) {
	var in tool.DelegateInput
	if err := tool.Decode(p.Name, p.Input, &in); err != nil {
		return failed(tool.Failf(tool.TypeInput, "%v", err)), nil
	}
	sub, err := c.openDelegated(p, in)
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = sub.Close() }()
	t.answers += sub.state.turns
	run := agentruntime.SubagentRun{
		ID: p.subagent, ParentID: c.subagent, CallID: p.ID, Goal: truncate.Head(in.Goal, 4<<10), Depth: sub.depth, Tools: sub.cfg.Bounds.Tools,
		MaxTurns: sub.cfg.Bounds.MaxTurns, State: "running", JournalRef: filepath.Join(delegatedDir, p.subagent+".jsonl"), StartedAt: c.now(),
	}
	t.env.Sink.Event(driver.EventSubagent, run)
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.Bounds.DelegateTime, errTime)
	defer cancel()
	y, err := t.run(limited, sub)
	var f *failure.Error
	if err != nil {
		f = classed(limited, err)
		y.Summary = sub.state.last
	}
	run.State, run.Summary, run.Turns, run.Usage, run.EndedAt = "completed", truncate.Head(y.Summary, 4<<10), sub.state.turns, &sub.state.usage, c.now()
	switch {
	case ctx.Err() != nil:
		run.State = "cancelled"
	case f != nil && f.Class == failure.Blocked:
		run.State = "waiting"
	case f != nil:
		run.State = "failed"
	}
	t.env.Sink.Event(driver.EventSubagent, run)
	if f != nil && (ctx.Err() != nil || !ownFault(f, err)) {
		return outcome{}, err
	}
	o := outcome{result: result{Output: y.Summary, Turns: sub.state.turns}}
	if f != nil {
		o.Failed, o.ErrorType = true, typeSubagent
		o.Output = fmt.Sprintf("the helper did not come to an end: %v; the last it said: %s", f, y.Summary)
	}
	o.Bytes = int64(len(o.Output))
	o.Output = truncate.Head(o.Output, maxShownOutput)
	return o, nil
}

// ownFault reports whether a delegated conversation failed for a reason of its own: its parent gets the failure and goes on. Any
// other failure would affect the parent as well.
func ownFault(f *failure.Error, err error) bool {
	switch f.Class {
	case failure.Turns, failure.Loop, failure.AskedFail, failure.Provider:
		return true
	}
	return errors.Is(err, errTime)
}

// openDelegated begins the conversation of a call, or goes on with it.
func (c *Conversation) openDelegated(p pending, in tool.DelegateInput) (*Conversation, error) {
	cfg := c.cfg
	cfg.Bounds = c.bounds(in)
	dir := filepath.Join(cfg.Dir, delegatedDir)
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return nil, failure.New(failure.Infra, "delegate", err, "")
	}
	name := filepath.Join(delegatedDir, p.subagent+".jsonl")
	id := c.state.id + "/" + p.subagent
	sub, err := begin(cfg, name, begun{ID: id, Goal: in.Goal}, p.subagent, c.depth+1)
	if errors.Is(err, fs.ErrExist) {
		return resume(cfg, name, id, p.subagent, c.depth+1)
	}
	return sub, err
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) attemptCmd() *cobra.Command {
	var follow bool
	show := &cobra.Command{
		Use: "show ATTEMPT", Short: "Show what an attempt did, turn by turn, and how it ended; also while it runs", Args: names("ATTEMPT"),
		Long: `Show what an attempt did, turn by turn, and how it ended; also while it runs, from another terminal. ` + "`deed task show TASK`" + `
lists the attempts of a task.`,
		Example: "  deed attempt show 019ad2c4\n  deed attempt show 019ad2c4 --follow",
		RunE: func(c *cobra.Command, args []string) error {
			at, err := a.oneAttempt(c.Context(), args[0])
			switch {
			case err != nil:
				return err
			case follow:
				return a.followAttempt(c.Context(), at)
			case a.json:
				return a.emitAttempt(c.Context(), at)
			}
			return a.attemptStory(at)
		},
	}
	show.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what the agent does; ends when the attempt does")
	return group("attempt", "Show attempts", show)
}

func (a *app) oneAttempt(ctx context.Context, id string) (store.Attempt, error) {
	if err := a.view(ctx); err != nil {
		return store.Attempt{}, err
	}
	at, err := a.st.Attempt(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return at, usage(fmt.Errorf("no attempt %s in %s (`deed task show TASK` lists a task's attempts)", id, a.h.Root()))
	}
	return at, err
}

// eachEntry gives the entries of an attempt's journal to a function, a bounded stretch at a time.
func (a *app) eachEntry(at store.Attempt, use func(journal.Entry) error) error {
	t, err := a.models().OpenJournal(at)
	if err != nil || t == nil {
		return err
	}
	defer func() { _ = t.Close() }()
	return view.Drain(t, use)
}

// maxKept bounds what the first reading keeps of inputs and outputs, none of which it shows.
const maxKept = 64

// emitAttempt writes the attempt with its whole history.
func (a *app) emitAttempt(ctx context.Context, at store.Attempt) error {
	t, err := a.st.Task(ctx, at.Record.TaskID)
	if err != nil {
		return err
	}
	f := history.New(history.Options{TaskID: t.ID(), AttemptID: at.Record.AttemptID, Goal: title(t), Journal: true})
	if err := a.eachEntry(at, func(e journal.Entry) error { f.Add(e); return nil }); err != nil {
		return err
	}
	runtime := f.Task()
	runtime.State = agentruntime.AgentState(at.State)
	return a.emit(struct {
		view.Attempt
		Runtime agentruntime.RuntimeTask `json:"runtime"`
	}{a.models().AttemptOf(at), runtime})
}

// attemptStory prints the attempt. It reads the journal twice, so that a call is shown with its result and nothing
// large is held.
func (a *app) attemptStory(at store.Attempt) error {
	f := history.New(history.Options{AttemptID: at.Record.AttemptID, MaxText: maxKept})
	if err := a.eachEntry(at, func(e journal.Entry) error { f.Add(e); return nil }); err != nil {
		return err
	}
	t := f.Task()
	a.field("task", at.Record.TaskID)
	a.showAttempt(a.models().AttemptOf(at))
	a.showTotals(t, f.Facts())
	l := newTimeline(a, t)
	l.gap = true
	return a.eachEntry(at, l.entry)
}

// showTotals prints what the turns come to.
func (a *app) showTotals(t agentruntime.RuntimeTask, facts history.Facts) {
	a.field("session", clean(strings.TrimSpace(facts.SessionID+" "+facts.AgentVersion)))
	model := facts.ServedModel
	if facts.RequestedModel != "" && model != "" && facts.RequestedModel != model {
		model += " (asked for " + facts.RequestedModel + ")"
	}
	a.field("model", clean(model))
	if n := len(t.Turns); n > 0 || len(t.ToolCalls) > 0 {
		failed := 0
		for _, r := range t.ToolResults {
			if r.Status == agentruntime.ToolFailure {
				failed++
			}
		}
		a.field("turns", fmt.Sprintf("%d, with %s, of which %d failed", n, count(len(t.ToolCalls), "tool call"), failed))
	}
	if u := t.Usage; u != nil {
		text := fmt.Sprintf("%d tokens in (%d from a cache), %d out", u.InputTokens, u.CachedInputTokens, u.OutputTokens)
		if u.ReasoningTokens > 0 {
			text += fmt.Sprintf(" (%d of them reasoning)", u.ReasoningTokens)
		}
		if u.CostMicroUSD != nil {
			text += fmt.Sprintf(", $%.4f", float64(*u.CostMicroUSD)/1e6)
		}
		a.field("usage", text)
	}
	for _, b := range t.Budgets {
		text := fmt.Sprintf("%s %d of %d", clean(b.Name), b.Used, b.Limit)
		if b.Exhausted {
			text += a.color.Red(" used up")
		}
		a.field("budget", text)
	}
	for _, r := range t.OpenRequirements {
		a.field("waits for", a.color.Yellow(clean(r.Kind))+" "+clean(r.ID)+" “"+shorten(clean(r.Prompt), 100)+"”")
	}
	if n := facts.Faults; n > 0 {
		a.field("faults", fmt.Sprintf("%d of the model's service", n))
	}
	if n := facts.Strange; n > 0 {
		a.field("strange", fmt.Sprintf("%d lines of the agent's stream made no sense", n))
	}
	if n := facts.Unread; n > 0 {
		a.field("unread", fmt.Sprintf("%d entries of the journal could not be read by this version", n))
	}
}

// followAttempt prints what the agent does as it does it.
func (a *app) followAttempt(ctx context.Context, at store.Attempt) error {
	l := newTimeline(a, agentruntime.RuntimeTask{})
	l.live = true
	use := l.entry
	if a.json {
		use = a.emitEntry
	} else {
		a.field("attempt", a.color.Bold(at.Record.AttemptID))
		a.field("adapter", at.Record.AdapterID+" ("+at.Record.AdapterKind+")")
	}
	var tail *journal.Tail
	defer func() {
		if tail != nil {
			_ = tail.Close()
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var err error
		if tail == nil {
			if tail, err = a.models().OpenJournal(at); err != nil {
				return err
			}
		}
		if tail != nil {
			if err := view.Drain(tail, use); err != nil {
				return err
			}
		}
		if !at.Live { // it was over before the last look at its journal
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if at, err = a.st.Attempt(ctx, at.Record.AttemptID); err != nil {
			return err
		}
	}
	if !a.json {
		a.field("state", at.State)
		a.field("class", at.Class)
	}
	return nil
}

// emitEntry writes an entry of a journal as one line.
func (a *app) emitEntry(e journal.Entry) error {
	a.lines = true
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	a.printf("%s\n", terminal.SafeJSON(b))
	return nil
}

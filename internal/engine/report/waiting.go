package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/store"
)

// The kinds of what waits for a person.
const (
	WaitingAction   = "action"
	WaitingHeld     = "held_message"
	WaitingDead     = "dead_letter"
	WaitingSchedule = "schedule"
	WaitingWorkflow = "workflow"
)

// waiting lists what does not go on without a person.
func (b *builder) waiting(ctx context.Context, also []deed.ReportWaiting) (err error) {
	b.Waiting, b.Totals.Waiting, err = Waiting(ctx, b.st, also)
	b.Waiting = cut(b, "waiting", b.Waiting, b.Totals.Waiting)
	return err
}

// Waiting lists what cannot continue without a person, as of now; also adds entries that are not in the store. The list is bounded,
// and total is the full count. What an open action asks about is listed once.
func Waiting(ctx context.Context, st *store.Store, also []deed.ReportWaiting) (list []deed.ReportWaiting, total int, err error) {
	now, err := st.Backlog(ctx)
	if err != nil {
		return nil, 0, err
	}
	w := waiting{st: st, total: int(now.OpenActions + now.Outbox[store.OutboxHeld] + now.Outbox[store.OutboxFailed])}
	asked, err := w.askedActions(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, of := range []struct{ kind, state string }{{WaitingHeld, store.OutboxHeld}, {WaitingDead, store.OutboxFailed}} {
		items, err := st.Outbox(ctx, store.OutboxFilter{State: of.state, Limit: maxListed})
		if err != nil {
			return nil, 0, err
		}
		for _, o := range items {
			w.add(of.kind, o.ID, aboutItem(o), "deed outbox retry "+o.ID, o.CreatedAt)
		}
	}
	w.total += len(also)
	w.list = append(w.list, also...)
	flows, err := st.Workflows(ctx, store.WorkflowFilter{Limit: maxListed})
	if err != nil {
		return nil, 0, err
	}
	for _, x := range flows { // a workflow whose action was answered continues by itself; this one has no action
		if x.Record.Status == agentruntime.WorkflowBlocked && x.ActionID == "" && !asked["workflow/"+x.ID()] {
			w.total++
			w.add(WaitingWorkflow, x.ID(), fmt.Sprintf("%s %s: %s", x.Record.WorkflowType, x.Record.InstanceKey, x.Reason), "deed workflow show "+x.ID(), time.Time{})
		}
	}
	return w.list[:min(len(w.list), maxListed)], w.total, nil
}

// A waiting is a list of what waits while it is made.
type waiting struct {
	st    *store.Store
	list  []deed.ReportWaiting
	total int
}

// askedActions lists the open actions, and returns the owners that they belong to.
func (w *waiting) askedActions(ctx context.Context) (map[string]bool, error) {
	open, err := w.st.Actions(ctx, store.ActionFilter{State: store.ActionOpen, Limit: maxListed})
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, x := range open {
		kind, command := WaitingAction, answer(x)
		owner, id, _ := strings.Cut(x.Owner, "/")
		switch owner {
		case store.ScheduleOwner:
			kind = WaitingSchedule
			if sc, err := w.st.Schedule(ctx, id); err == nil {
				command = "deed schedule enable " + sc.Record.Name
			}
		case "workflow":
			kind, command = WaitingWorkflow, "deed action answer "+x.ID+" WORD" // the words are in its prompt
		}
		asked[x.Owner] = true
		w.add(kind, x.ID, cmp.Or(x.Prompt, x.Kind), command, x.OpenedAt)
	}
	return asked, nil
}

// answer is the command that answers an action.
func answer(x store.Action) string {
	switch x.Kind {
	case store.ActionBudget:
		return "deed task budget " + x.TaskID + " --usd DOLLARS"
	case action.KindPermission:
		return "deed action approve " + x.ID
	case action.KindQuestion:
		return "deed action answer " + x.ID + " TEXT"
	}
	return "deed action show " + x.ID // the words that it takes are there
}

func aboutItem(o store.OutboxItem) string {
	about := strings.TrimSpace(strings.ReplaceAll(o.Kind, "_", " ") + " " + deed.TargetOf(o.Body))
	if o.LastError != "" {
		about += ": " + o.LastError
	}
	return about
}

func (w *waiting) add(kind, id, about, command string, since time.Time) {
	one := deed.ReportWaiting{Kind: kind, ID: id, About: about, Command: command}
	if !since.IsZero() {
		one.Since = string(agentruntime.At(since))
	}
	w.list = append(w.list, one)
}

// headline says in one or two sentences how it went.
func headline(r deed.Report) string {
	var parts []string
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprint(n, " ", many))
		}
	}
	t := r.Totals
	say(t.Completed, "task was done", "tasks were done")
	say(t.Failed, "failed", "failed")
	say(t.Canceled, "was cancelled", "were cancelled")
	say(t.Refused, "attempt was refused by the gate", "attempts were refused by the gate")
	if len(parts) == 0 {
		parts = append(parts, "Nothing was finished")
	}
	say(t.Retrying, "task is tried again", "tasks are tried again")
	say(len(r.Sensors)+r.More["sensors"], "sensor fails", "sensors fail")
	text := strings.Join(parts, ", ")
	if c := r.Cost.Total; c.CostMicroUSD > 0 {
		text += ", for $" + usage.USD(c.CostMicroUSD)
	}
	switch {
	case t.Waiting == 1:
		text += ". 1 thing waits for you"
	case t.Waiting > 1:
		text += fmt.Sprintf(". %d things wait for you", t.Waiting)
	default:
		text += ". Nothing waits for you"
	}
	return text + "."
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/store"
)

// outboxDoc is an item of the outbox as --json shows it.
type outboxDoc struct {
	Schema    string          `json:"schema"`
	ID        string          `json:"outbox_id"`
	TaskID    string          `json:"task_id"`
	AttemptID string          `json:"attempt_id"`
	Kind      string          `json:"kind"`
	Target    string          `json:"target,omitempty"`
	State     string          `json:"state"`
	Attempts  int             `json:"attempts"`
	CreatedAt string          `json:"created_at"`
	NextAt    string          `json:"next_at,omitempty"` // while it waits
	LastError string          `json:"last_error,omitempty"`
	Result    string          `json:"result,omitempty"`
	Body      json.RawMessage `json:"body"`
}

func newOutboxDoc(o store.OutboxItem) outboxDoc {
	d := outboxDoc{
		Schema: "deed/outbox.item/v1", ID: o.ID, TaskID: o.TaskID, AttemptID: o.AttemptID, Kind: o.Kind, State: o.State, Attempts: o.Attempts,
		CreatedAt: string(agentruntime.At(o.CreatedAt)), LastError: o.LastError, Result: o.Result, Body: o.Body,
	}
	if o.Kind == store.OutboxExternalMessage {
		d.Target = deed.TargetOf(o.Body)
	}
	if o.State == store.OutboxPending {
		d.NextAt = string(agentruntime.At(o.NextAt))
	}
	return d
}

// outboxStates are what --state takes.
var outboxStates = []string{store.OutboxPending, store.OutboxHeld, store.OutboxFailed, store.OutboxDropped, store.OutboxDelivered}

func (a *app) outboxCmd() *cobra.Command {
	var f store.OutboxFilter
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List what waits to be delivered, is held, or was given up", Args: cobra.NoArgs,
		Example: "  deed outbox list\n  deed outbox list --state failed",
		RunE:    func(c *cobra.Command, _ []string) error { return a.outboxList(c.Context(), f) },
	}
	list.Flags().StringVar(&f.State, "state", "", "only `STATE`: "+strings.Join(outboxStates, ", "))
	list.Flags().StringVar(&f.TaskID, "task", "", "only those of `TASK`, delivered ones too")
	list.Flags().IntVar(&f.Limit, "limit", 100, "at most `N`, the newest")
	show := &cobra.Command{
		Use: "show ITEM", Short: "Show one item with its text and what became of it", Args: names("ITEM"),
		RunE: func(c *cobra.Command, args []string) error { return a.outboxShow(c.Context(), args[0]) },
	}
	retry := &cobra.Command{
		Use: "retry ITEM", Short: "Deliver an item now that was given up, waits, or is held for an agreement", Args: names("ITEM"),
		Example: "  deed outbox retry 019ad2c4",
		RunE: func(c *cobra.Command, args []string) error {
			return a.outboxChange(c.Context(), args[0], "it is due now", func(ctx context.Context, id string) error { return a.st.OutboxRetry(ctx, id, a.operator()) })
		},
	}
	var reason string
	drop := &cobra.Command{
		Use: "drop ITEM", Short: "Give an item up for good; what it was is kept", Args: names("ITEM"),
		Example: "  deed outbox drop 019ad2c4 --reason 'the receiver is gone'",
		RunE: func(c *cobra.Command, args []string) error {
			return a.outboxChange(c.Context(), args[0], "it is dropped", func(ctx context.Context, id string) error {
				return a.st.OutboxDrop(ctx, id, reason, a.operator())
			})
		},
	}
	drop.Flags().StringVar(&reason, "reason", "", "`TEXT` for the record")
	return group("outbox", "See and steer what accepted work wants to tell others", list, show, retry, drop)
}

func (a *app) outboxList(ctx context.Context, f store.OutboxFilter) error {
	if f.State != "" && !slices.Contains(outboxStates, f.State) {
		return usage(fmt.Errorf("--state %q is no state of an item (use %s)", f.State, strings.Join(outboxStates, ", ")))
	}
	if err := a.view(ctx); err != nil {
		return err
	}
	if f.TaskID != "" {
		t, err := a.oneTask(ctx, f.TaskID)
		if err != nil {
			return err
		}
		f.TaskID = t.ID()
	}
	items, err := a.st.Outbox(ctx, f)
	if err != nil {
		return err
	}
	for _, o := range items {
		a.hintDamaged(o.Damage)
	}
	if a.json {
		docs := make([]outboxDoc, len(items))
		for i, o := range items {
			docs[i] = newOutboxDoc(o)
		}
		return a.emit(map[string]any{"schema": "deed/outbox/v1", "items": docs})
	}
	if len(items) == 0 {
		a.hint("nothing waits in the outbox")
		return nil
	}
	rows := make([][]string, len(items))
	for i, o := range items {
		d := newOutboxDoc(o)
		what := d.Target
		if what == "" {
			what = o.Kind
		}
		rows[i] = []string{o.ID, o.TaskID, clean(what), o.State, fmt.Sprint(o.Attempts), shorten(clean(o.LastError), 60)}
	}
	a.table([]string{"ITEM", "TASK", "TO", "STATE", "TRIES", "LAST ERROR"}, rows)
	return nil
}

func (a *app) outboxShow(ctx context.Context, id string) error {
	o, err := a.oneOutbox(ctx, id)
	if err != nil {
		return err
	}
	d := newOutboxDoc(o)
	if a.json {
		return a.emit(d)
	}
	for _, line := range [][2]string{
		{"item", d.ID},
		{"task", d.TaskID},
		{"attempt", d.AttemptID},
		{"kind", d.Kind},
		{"target", clean(d.Target)},
		{"state", d.State},
		{"tries", fmt.Sprint(d.Attempts)},
		{"made", d.CreatedAt},
		{"due", d.NextAt},
		{"error", clean(d.LastError)},
		{"result", clean(d.Result)},
		{"body", clean(string(d.Body))},
	} {
		if line[1] != "" {
			a.printf("%-8s %s\n", line[0], line[1])
		}
	}
	return nil
}

func (a *app) oneOutbox(ctx context.Context, id string) (store.OutboxItem, error) {
	if err := a.view(ctx); err != nil {
		return store.OutboxItem{}, err
	}
	o, err := a.st.OutboxItem(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return o, usage(fmt.Errorf("no item %s in the outbox of %s (`deed outbox list` shows what is there)", id, a.h.Root()))
	}
	return o, err
}

// outboxChange changes an item and wakes the process that delivers.
func (a *app) outboxChange(ctx context.Context, id, done string, change func(context.Context, string) error) error {
	o, err := a.oneOutbox(ctx, id)
	if err != nil {
		return err
	}
	if err := change(ctx, o.ID); err != nil {
		if errors.Is(err, store.ErrClosed) {
			return usage(err)
		}
		return err
	}
	a.h.Wake()
	if o, err = a.st.OutboxItem(ctx, o.ID); err != nil {
		return err
	}
	if a.json {
		return a.emit(newOutboxDoc(o))
	}
	a.hint("%s: %s", o.ID, done)
	return nil
}

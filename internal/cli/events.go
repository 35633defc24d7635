package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

func (a *app) taskEventsCmd() *cobra.Command {
	var (
		follow bool
		limit  int
		since  string
	)
	c := &cobra.Command{
		Use: "events [TASK]", Short: "Print what the runtime and the task's newest agent did, or the runtime events of the whole home", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if limit < 1 {
				return usage(fmt.Errorf("--limit %d is less than 1", limit))
			}
			if err := a.view(ctx); err != nil {
				return err
			}
			f := &follower{app: a, limit: limit}
			var err error
			if f.since, err = instantOrAge(since); err != nil {
				return err
			}
			if len(args) == 1 {
				t, err := a.lookup(ctx, args[0])
				if err != nil {
					return err
				}
				f.task = t.ID()
			}
			defer f.close()
			return f.run(ctx, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with new events; ends when the task does")
	c.Flags().IntVar(&limit, "limit", 200, "begin with the newest ones, at most this many")
	c.Flags().StringVar(&since, "since", "", "only what is not older: an instant such as 2026-01-31T08:00:00Z, or a time such as 10m")
	return c
}

// instantOrAge reads an instant, or how long ago it was.
func instantOrAge(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := agentruntime.Timestamp(text).Time(); err == nil {
		return at, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, usage(fmt.Errorf("--since %q is neither an instant such as 2026-01-31T08:00:00Z nor a time such as 10m", text))
	}
	return clock.System().Add(-d), nil
}

// The places that an event can come from.
const (
	fromStore   = "store"   // what the runtime did with the task
	fromJournal = "journal" // what the attempt recorded about its agent
)

type eventDoc struct {
	Seq       int64                  `json:"seq"` // within its source; a journal counts for its attempt
	Event     string                 `json:"event"`
	Source    string                 `json:"source"`
	TaskID    string                 `json:"task_id,omitempty"`
	AttemptID string                 `json:"attempt_id,omitempty"`
	At        agentruntime.Timestamp `json:"at"`
	Detail    json.RawMessage        `json:"detail,omitempty"`

	at time.Time
}

func storeEvent(e store.Event) eventDoc {
	return eventDoc{Seq: e.Seq, Event: e.Type, Source: fromStore, TaskID: e.TaskID, AttemptID: e.AttemptID, At: agentruntime.At(e.At), Detail: e.Detail, at: e.At}
}

// A follower joins the events of a task in the store with the journal of its newest attempt, in the order of their times.
// Without a task it has the events of the whole home.
type follower struct {
	*app
	task  string
	limit int
	since time.Time

	floor   int64          // events of the store up to here are not shown
	after   int64          // the newest event of the store that was seen
	recent  map[int64]bool // those seen of the last ones, because two writers may commit in the other order
	attempt store.Attempt  // the one whose journal is read
	tail    *journal.Tail
}

// lookBack is how far before the newest event a late one is looked for.
const lookBack = 256

func (f *follower) close() {
	if f.tail != nil {
		_ = f.tail.Close()
		f.tail = nil
	}
}

func (f *follower) run(ctx context.Context, follow bool) error {
	list, err := f.begin(ctx)
	if err != nil {
		return err
	}
	if f.json && !follow {
		return f.emit(map[string]any{"events": list})
	}
	if err := f.show(list...); err != nil || !follow {
		return err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		over, err := f.look(ctx)
		if err != nil || over {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// begin returns the newest events so far.
func (f *follower) begin(ctx context.Context) ([]eventDoc, error) {
	events, err := f.st.Events(ctx, store.EventFilter{TaskID: f.task, Limit: f.limit, Newest: true})
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		f.floor = events[0].Seq - 1
	}
	list := []eventDoc{}
	for _, e := range f.fresh(events) {
		list = append(list, storeEvent(e))
	}
	if f.task != "" {
		if err := f.newest(ctx); err != nil {
			return nil, err
		}
		var last []eventDoc // the newest of the journal, never more than twice as many as are shown
		err = f.entries(func(d eventDoc) error {
			if last = append(last, d); len(last) >= 2*f.limit {
				last = slices.Delete(last, 0, f.limit)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		list = append(list, last...)
	}
	list = slices.DeleteFunc(list, func(d eventDoc) bool { return d.at.Before(f.since) })
	slices.SortStableFunc(list, func(a, b eventDoc) int { return a.at.Compare(b.at) })
	return list[max(0, len(list)-f.limit):], nil
}

// look shows what is new, and reports whether the task has ended and everything was shown.
func (f *follower) look(ctx context.Context) (over bool, err error) {
	var t store.Task
	if f.task != "" {
		if t, err = f.st.Task(ctx, f.task); err != nil {
			return false, err
		}
	}
	// What the store has is read after the task: an end that was seen has all its events there.
	events, err := f.st.Events(ctx, store.EventFilter{TaskID: f.task, After: max(f.floor, f.after-lookBack)})
	if err != nil {
		return false, err
	}
	var control []eventDoc
	for _, e := range f.fresh(events) {
		control = append(control, storeEvent(e))
	}
	merge := func(d eventDoc) error { // what came before an entry is shown before it
		for len(control) > 0 && !control[0].at.After(d.at) {
			if err := f.show(control[0]); err != nil {
				return err
			}
			control = control[1:]
		}
		return f.show(d)
	}
	if f.task != "" {
		if err := f.entries(merge); err != nil {
			return false, err
		}
		if t.AttemptID != f.attempt.Record.AttemptID || f.tail == nil {
			if err := f.advance(ctx, merge); err != nil {
				return false, err
			}
		}
	}
	if err := f.show(control...); err != nil {
		return false, err
	}
	return f.task != "" && state.TaskTerminal(t.Record.Status) && len(events) < maxLook, nil
}

// maxLook is how many events the store returns at once.
const maxLook = 1000

// fresh returns the events that were not seen before, and remembers them.
func (f *follower) fresh(events []store.Event) []store.Event {
	if f.recent == nil {
		f.recent = map[int64]bool{}
	}
	out := slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return e.Seq <= f.floor || f.recent[e.Seq] })
	for _, e := range out {
		f.recent[e.Seq] = true
		f.after = max(f.after, e.Seq)
	}
	for seq := range f.recent {
		if seq <= f.after-2*lookBack {
			delete(f.recent, seq)
		}
	}
	return out
}

// advance gives the journals of the attempts that came meanwhile to a function, up to the newest.
func (f *follower) advance(ctx context.Context, use func(eventDoc) error) error {
	all, err := f.st.Attempts(ctx, f.task)
	if err != nil {
		return err
	}
	for _, at := range all[max(0, slices.IndexFunc(all, func(at store.Attempt) bool { return at.Record.AttemptID == f.attempt.Record.AttemptID })):] {
		if at.Record.AttemptID == f.attempt.Record.AttemptID && f.tail != nil {
			continue // read to its end
		}
		if err := f.turnTo(at); err != nil {
			return err
		}
		if err := f.entries(use); err != nil {
			return err
		}
	}
	return nil
}

// newest goes over to the newest attempt, if there is one.
func (f *follower) newest(ctx context.Context) error {
	t, err := f.st.Task(ctx, f.task)
	if err != nil || t.AttemptID == "" {
		return err
	}
	at, err := f.st.Attempt(ctx, t.AttemptID)
	if err != nil {
		return err
	}
	return f.turnTo(at)
}

// turnTo goes over to the journal of another attempt, or tries again to find it.
func (f *follower) turnTo(at store.Attempt) (err error) {
	f.close()
	f.attempt = at
	f.tail, err = f.models().OpenJournal(at)
	return err
}

// entries gives what is new in the journal to a function.
func (f *follower) entries(use func(eventDoc) error) error {
	if f.tail == nil {
		return nil
	}
	var at time.Time
	return view.Drain(f.tail, func(e journal.Entry) error {
		if v, err := e.At.Time(); err == nil { // else it was when the one before it was
			at = v
		}
		if e.Kind == store.EventAgentState {
			return nil // the store reports it
		}
		return use(eventDoc{
			Seq: e.Seq, Event: e.Kind, Source: fromJournal, TaskID: f.task, AttemptID: f.attempt.Record.AttemptID, At: e.At, Detail: e.Detail, at: at,
		})
	})
}

// show prints events that are not too old.
func (f *follower) show(list ...eventDoc) error {
	for _, d := range list {
		if d.at.Before(f.since) {
			continue
		}
		if f.json {
			f.lines = true
			b, err := json.Marshal(d)
			if err != nil {
				return err
			}
			f.printf("%s\n", terminal.SafeJSON(b))
			continue
		}
		text := string(d.Detail)
		if d.Source == fromJournal || d.Event == store.EventAgentState {
			text = history.Summary(journal.Entry{Kind: d.Event, Detail: d.Detail})
		}
		name := d.Event
		if d.Source == fromStore {
			name = f.color.Bold(name)
		}
		f.printf("%s  %s %s %s\n", d.at.Format("15:04:05.000"), terminal.Pad(name, 24), d.AttemptID, f.color.Dim(shorten(clean(text), 120)))
	}
	return nil
}

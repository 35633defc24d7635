package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/terminal"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

func (a *app) watchCmd() *cobra.Command {
	return &cobra.Command{
		Use: "watch TASK", Short: "Follow a task to its end: turns, tools, the gate's reasons", Args: names("TASK"),
		Long: `Follow a task to its end, attempt by attempt, as the agent works and the gate decides. It ends when the task does, or when it waits
for you, with the exit code that deed run would have: 0 means that deed found the work done. Watching changes nothing: Ctrl-C
leaves the task as it is. With --json every line is one record.`,
		Example: "  deed watch 019ad2c4\n  deed watch 019ad2c4 --json",
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.oneTask(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.watch(c.Context(), t.ID())
		},
	}
}

// A watchLine is one record of deed watch --json.
type watchLine struct {
	Schema    string                  `json:"schema"`
	Event     string                  `json:"event"` // status, attempt, entry, ended, end
	TaskID    string                  `json:"task_id"`
	AttemptID string                  `json:"attempt_id,omitempty"`
	Status    agentruntime.TaskStatus `json:"status,omitempty"`
	Class     string                  `json:"class,omitempty"`
	Verdict   *deed.Verdict           `json:"verdict,omitempty"`
	Entry     *journal.Entry          `json:"entry,omitempty"`
	Error     string                  `json:"error,omitempty"`
	Waiting   []view.Action           `json:"waiting,omitempty"`
}

// A taskWatch follows one task.
type taskWatch struct {
	*app
	id       string
	status   agentruntime.TaskStatus // that was reported last
	reported int                     // attempts whose end was reported
	current  store.Attempt
	tail     *journal.Tail
	line     *timeline
}

func (a *app) watch(ctx context.Context, id string) error {
	w := &taskWatch{app: a, id: id}
	defer w.close()
	ctx, stop := context.WithCancel(ctx)
	var owned sync.WaitGroup
	defer owned.Wait()
	defer stop()
	changes := make(chan struct{}, 1)
	owned.Go(func() { a.changes(ctx, changes) })
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		t, err := w.look(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		if state.TaskTerminal(t.Record.Status) || t.Record.Status == agentruntime.TaskBlocked {
			return w.end(ctx, t)
		}
		journal := tick.C
		if w.tail == nil && !w.current.Live {
			journal = nil // nothing but the store can change
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changes:
		case <-journal:
		}
	}
}

// look reports what is new.
func (w *taskWatch) look(ctx context.Context) (store.Task, error) {
	t, err := w.st.Task(ctx, w.id)
	if err != nil {
		return t, err
	}
	attempts, err := w.st.Attempts(ctx, w.id)
	if err != nil {
		return t, err
	}
	if t.Record.Status != w.status {
		w.status = t.Record.Status
		w.emitStatus(t)
	}
	for w.reported < len(attempts) {
		at := attempts[w.reported]
		if at.Record.AttemptID != w.current.Record.AttemptID {
			w.begin(at, t)
		}
		w.current = at
		if err := w.read(); err != nil || at.Live {
			return t, err
		}
		w.ended(at)
		w.reported++
	}
	return t, nil
}

func (w *taskWatch) emitStatus(t store.Task) {
	if w.json {
		w.emitLine(watchLine{Event: "status", Status: t.Record.Status, Error: deref(t.Record.LastError)})
		return
	}
	text := w.app.status(t.Record.Status)
	switch t.Record.Status {
	case agentruntime.TaskPending:
		text += "  waits for a dispatcher"
	case agentruntime.TaskRetryableFailure:
		text += "  due again at " + string(t.Record.AvailableAt)
	}
	w.field("task", w.color.Bold(w.id)+"  "+clean(report.Subject(t)))
	w.field("status", text)
}

func (w *taskWatch) begin(at store.Attempt, t store.Task) {
	w.close()
	w.line = newTimeline(w.app, agentruntime.RuntimeTask{})
	w.line.live = true
	if w.json {
		w.emitLine(watchLine{Event: "attempt", AttemptID: at.Record.AttemptID})
		return
	}
	w.field("attempt", fmt.Sprintf("%s  %d of %d  %s", w.color.Bold(at.Record.AttemptID), w.reported+1, t.Record.MaxAttempts, clean(at.Record.AdapterID)))
}

// read reports what is new in the journal of the attempt.
func (w *taskWatch) read() (err error) {
	if w.tail == nil {
		if w.tail, err = w.models().OpenJournal(w.current); err != nil || w.tail == nil {
			return err
		}
	}
	return view.Drain(w.tail, func(e journal.Entry) error {
		if w.json {
			w.emitLine(watchLine{Event: "entry", AttemptID: w.current.Record.AttemptID, Entry: &e})
			return nil
		}
		return w.line.entry(e)
	})
}

func (w *taskWatch) ended(at store.Attempt) {
	w.close()
	m := w.models().AttemptOf(at)
	switch {
	case w.json:
		w.emitLine(watchLine{Event: "ended", AttemptID: m.AttemptID, Class: m.Class, Verdict: m.Verdict, Error: m.Error})
	case m.Verdict != nil:
		w.showVerdict(*m.Verdict)
	default:
		w.field("class", m.Class)
		w.field("error", clean(m.Error))
	}
}

// end reports how the task stands, and what it waits for.
func (w *taskWatch) end(ctx context.Context, t store.Task) error {
	var open []view.Action
	if t.Record.Status == agentruntime.TaskBlocked {
		acts, err := w.st.Actions(ctx, store.ActionFilter{TaskID: w.id, State: store.ActionOpen})
		if err != nil {
			return err
		}
		for _, x := range acts {
			open = append(open, view.ActionOf(x))
		}
	}
	if w.json {
		w.emitLine(watchLine{Event: "end", Status: t.Record.Status, Error: deref(t.Record.LastError), Waiting: open})
	}
	for _, x := range open {
		w.hint("%s\n  deed action approve %s, or deny, or answer", clean(x.Prompt), x.ActionID)
	}
	if t.Record.Status != agentruntime.TaskCompleted {
		return notDone(failure.Class(w.models().AttemptOf(w.current).Class))
	}
	return nil
}

func (w *taskWatch) emitLine(l watchLine) {
	l.Schema, l.TaskID, w.lines = "deed/watch/v1", w.id, true
	if b, err := json.Marshal(l); err == nil { // it is made of what was read
		w.printf("%s\n", terminal.SafeJSON(b))
	}
}

func (w *taskWatch) close() {
	if w.tail != nil {
		_ = w.tail.Close()
		w.tail = nil
	}
}

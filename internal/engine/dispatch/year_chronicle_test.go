package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// A chronicle follows a life from outside, through a store handle of its own, and knows what must hold.
type chronicle struct {
	watch *store.Store
	after int64 // the newest event that it has read

	expected map[string]bool     // sensor and key of what was sent and must be there, once
	recorded map[string]int      // how often it was
	follow   map[int64]int       // of sensor events: what followed
	ends     map[string]int      // of tasks: how often they ended
	retried  map[string]int      // of tasks: how often a person had them tried again
	slots    map[string]string   // of schedules: whose task
	moved    map[string]struct{} // workflows that moved since the last look
	files    map[string]struct{} // messages that are in the mail
	sources  map[string]int      // of tasks that were made for an event: how many
	types    map[string]int      // of events: how many
}

func newChronicle(st *store.Store) chronicle {
	return chronicle{
		watch: st, expected: map[string]bool{}, recorded: map[string]int{}, follow: map[int64]int{}, ends: map[string]int{}, retried: map[string]int{},
		slots: map[string]string{}, moved: map[string]struct{}{}, files: map[string]struct{}{}, sources: map[string]int{}, types: map[string]int{},
	}
}

func place(sensorID, key string) string { return sensorID + "/" + key }

// posted expects an event of a letter.
func (c *chronicle) posted(e agentruntime.SensorEvent) {
	if e.FreshnessDeadline == "" {
		c.expected[place(e.SensorID, e.DedupeKey)] = true
	}
}

// answered expects the answer that a sender got.
func (c *chronicle) answered(l *life, e agentruntime.SensorEvent, r sensor.Result) {
	l.Helper()
	if r.Status == sensor.Accepted {
		c.expected[place(e.SensorID, e.DedupeKey)] = true
		if r.TaskID == "" && r.WorkflowID == "" {
			l.fault("event %s was accepted, and made nothing", e.EventID)
		}
	}
}

func (l *life) fault(format string, args ...any) {
	l.Helper()
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	l.Fatalf("seed %d, %s, process %d, last death at %s: %s", l.seed, l.clock().Format(time.DateTime), l.born, last, fmt.Sprintf(format, args...))
}

// check checks all invariants. quiet: the process has just found nothing more to do.
func (l *life) check(quiet bool) {
	l.Helper()
	l.read()
	l.checkTasks(quiet)
	l.checkWorkflows()
	l.checkMoves()
	l.checkMail()
	l.mu.Lock()
	faults := slices.Clone(l.faults)
	l.mu.Unlock()
	for _, s := range faults {
		l.fault("%s", s)
	}
}

// read processes the new events. An event is in one transaction with what it reports, so that none of it may be half there.
func (l *life) read() {
	l.Helper()
	c := &l.seen
	open := map[int64]string{} // sensor events for which no consequence was read yet
	for {
		list, err := c.watch.Events(context.Background(), store.EventFilter{After: c.after, Limit: 1000})
		l.must(err)
		for _, e := range list {
			c.after = e.Seq
			l.fold(e, open)
		}
		if len(list) < 1000 {
			break
		}
	}
	for seq, key := range open {
		l.fault("sensor event %d (%s) was recorded, and nothing followed", seq, key)
	}
}

func (l *life) fold(e store.Event, open map[int64]string) {
	l.Helper()
	c := &l.seen
	var d struct {
		SensorID string `json:"sensor_id"`
		Key      string `json:"dedupe_key"`
		Event    int64  `json:"sensor_event"`

		Dropped json.RawMessage `json:"dropped"` // why an event was only recorded; other events use the name for other things

		ScheduleID string `json:"schedule_id"`
		Slot       string `json:"slot"`
		TaskID     string `json:"task_id"`
		By         string `json:"by"`
		WorkflowID string `json:"workflow_id"`
	}
	if len(e.Detail) > 0 {
		l.must(json.Unmarshal(e.Detail, &d))
	}
	c.types[e.Type]++
	if d.WorkflowID != "" {
		c.moved[d.WorkflowID] = struct{}{}
	}
	switch e.Type {
	case string(agentruntime.EventSensorEventRecorded):
		if len(d.Dropped) > 0 {
			return
		}
		at := place(d.SensorID, d.Key)
		if c.recorded[at]++; c.recorded[at] > 1 && d.SensorID != "windowed" {
			l.fault("event %s was taken %d times", at, c.recorded[at])
		}
		open[d.Event] = at
	case string(agentruntime.EventSensorTaskCreated), string(agentruntime.EventSensorWorkflowCreated), string(agentruntime.EventSensorWorkflowDeduped):
		if e.TaskID != "" {
			if _, err := c.watch.Task(context.Background(), e.TaskID); err != nil {
				l.fault("sensor event %d led to task %s: %v", d.Event, e.TaskID, err)
			}
		}
		delete(open, d.Event)
		if c.follow[d.Event]++; c.follow[d.Event] > 1 {
			l.fault("sensor event %d led to %d things", d.Event, c.follow[d.Event])
		}
	case string(agentruntime.EventScheduleTaskCreated):
		slot := d.ScheduleID + " " + d.Slot
		if was := c.slots[slot]; was != "" && d.By == "" {
			l.fault("slot %s has the tasks %s and %s", slot, was, d.TaskID)
		}
		c.slots[slot] = d.TaskID
	case string(agentruntime.EventTaskEnqueued):
		l.enqueued(e.TaskID)
	case string(agentruntime.EventTaskFinished), store.EventTaskOperatorCanceled:
		if c.ends[e.TaskID]++; c.ends[e.TaskID] > c.retried[e.TaskID]+1 {
			l.fault("task %s ended %d times, and was retried %d times", e.TaskID, c.ends[e.TaskID], c.retried[e.TaskID])
		}
	case store.EventTaskOperatorRetried:
		c.retried[e.TaskID]++
	}
}

// enqueued looks at a new task: a task that an agent asked for comes after the agent's own was verified, and an event has one
// task.
func (l *life) enqueued(id string) {
	l.Helper()
	t, err := l.seen.watch.Task(context.Background(), id)
	l.must(err)
	var p struct {
		Event  string `json:"event"`
		Parent string `json:"parent"`
		Task   string `json:"task"`
		Lie    bool   `json:"lie"`
	}
	l.must(json.Unmarshal(t.Intent.Payload, &p))
	if p.Lie {
		l.fault("task %s came of work that was never accepted", id)
	}
	for _, parent := range []string{p.Parent, p.Task} {
		if why := l.unverified(parent); parent != "" && why != "" {
			l.fault("task %s was asked for by task %s, which %s", id, parent, why)
		}
	}
	if p.Event != "" {
		if l.seen.sources[p.Event]++; l.seen.sources[p.Event] > 1 {
			l.fault("event %s has %d tasks", p.Event, l.seen.sources[p.Event])
		}
	}
}

// unverified says why the effects of a task may not be there.
func (l *life) unverified(taskID string) string {
	if taskID == "" {
		return ""
	}
	ctx := context.Background()
	t, err := l.seen.watch.Task(ctx, taskID)
	if err != nil {
		return err.Error()
	}
	if t.Record.Status != agentruntime.TaskCompleted {
		return "is " + string(t.Record.Status)
	}
	at, err := l.seen.watch.Attempt(ctx, t.AttemptID)
	if err != nil {
		return err.Error()
	}
	var v deed.Verdict
	if err := json.Unmarshal(at.Verdict, &v); err != nil || !v.Accepted || at.Live {
		return fmt.Sprintf("has the verdict %s (%v), live %v", at.Verdict, err, at.Live)
	}
	return ""
}

// checkTasks: every task that has not ended has a wake-up.
func (l *life) checkTasks(quiet bool) {
	l.Helper()
	ctx, c := context.Background(), &l.seen
	list, err := c.watch.Tasks(ctx, store.TaskFilter{Limit: 100_000, Status: []agentruntime.TaskStatus{
		agentruntime.TaskPending, agentruntime.TaskRunning, agentruntime.TaskRetryableFailure, agentruntime.TaskBlocked,
	}})
	l.must(err)
	next, some, err := c.watch.NextDue(ctx)
	l.must(err)
	for _, t := range list {
		switch t.Record.Status {
		case agentruntime.TaskPending, agentruntime.TaskRetryableFailure:
			at, err := t.Record.AvailableAt.Time()
			l.must(err)
			if !some || next.After(at) && next.After(l.clock()) {
				l.fault("task %s is %s from %s on, and the queue has nothing before %s (%v)", t.ID(), t.Record.Status, at, next, some)
			}
			if quiet && !at.After(l.clock()) {
				l.fault("task %s is due since %s, and a cycle found nothing to do", t.ID(), at)
			}
		case agentruntime.TaskRunning:
			a, err := c.watch.Attempt(ctx, t.AttemptID)
			l.must(err)
			if !a.Live || a.LeaseUntil.IsZero() {
				l.fault("task %s runs, and its attempt is %s without a lease", t.ID(), a.State)
			}
			if quiet {
				l.fault("task %s runs, and nobody runs it", t.ID())
			}
		case agentruntime.TaskBlocked:
			open, err := c.watch.Actions(ctx, store.ActionFilter{TaskID: t.ID(), State: store.ActionOpen})
			l.must(err)
			if len(open) == 0 {
				l.fault("task %s is blocked, and nobody is asked", t.ID())
			}
		}
	}
}

// checkWorkflows: none is stuck without a required action.
func (l *life) checkWorkflows() {
	l.Helper()
	ctx, c := context.Background(), &l.seen
	list, err := c.watch.Workflows(ctx, store.WorkflowFilter{Limit: 10_000})
	l.must(err)
	for _, w := range list {
		if !w.DueAt.IsZero() {
			continue // the next cycle looks at it
		}
		open := false
		if w.ActionID != "" {
			x, err := c.watch.Action(ctx, w.ActionID)
			l.must(err)
			open = x.State == store.ActionOpen
		}
		works := false
		if w.TaskID != "" {
			t, err := c.watch.Task(ctx, w.TaskID)
			l.must(err)
			works = !state.TaskTerminal(t.Record.Status)
		}
		switch {
		case open, works && w.Record.Status == agentruntime.WorkflowActive:
		default:
			l.fault("workflow %s is %s in %s: its task %q works %v, its action %q is open %v", w.ID(), w.Record.Status, w.Record.CurrentState, w.TaskID, works, w.ActionID, open)
		}
	}
}

// checkMoves: no transition twice, none left out.
func (l *life) checkMoves() {
	l.Helper()
	for id := range l.seen.moved {
		list, err := l.seen.watch.Transitions(context.Background(), id, 10_000)
		l.must(err)
		causes, tasks := map[string]bool{}, map[string]bool{}
		from := ""
		for i, x := range list {
			if x.Seq != i+1 || x.From != from {
				l.fault("workflow %s: step %d is numbered %d and leads from %q, not %q", id, i+1, x.Seq, x.From, from)
			}
			if from = x.To; x.CauseTask != "" && causes[x.CauseTask] || x.TaskID != "" && tasks[x.TaskID] {
				l.fault("workflow %s: step %d repeats the cause %s or the task %s", id, x.Seq, x.CauseTask, x.TaskID)
			}
			causes[x.CauseTask], tasks[x.TaskID] = true, true
		}
	}
	clear(l.seen.moved)
}

// checkMail: what is in the mail was verified, and it is there once.
func (l *life) checkMail() {
	l.Helper()
	list, err := os.ReadDir(filepath.Join(l.dir, "mail"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	l.must(err)
	for _, f := range list {
		if _, known := l.seen.files[f.Name()]; known || filepath.Ext(f.Name()) != ".json" {
			continue
		}
		l.seen.files[f.Name()] = struct{}{}
		text, err := os.ReadFile(filepath.Join(l.dir, "mail", f.Name()))
		l.must(err)
		if why := l.undeliverable(text); why != "" {
			l.fault("mail %s: %s", f.Name(), why)
		}
	}
}

// undeliverable says why a message should never have left.
func (l *life) undeliverable(text []byte) string {
	var m deed.Message
	var body struct {
		Task string `json:"task"`
		Lie  bool   `json:"lie"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(m.Body, &body); err != nil {
		return err.Error()
	}
	if body.Lie || body.Task != m.TaskID {
		return fmt.Sprintf("message %s of task %s is about work that was never accepted: %s", m.ID, m.TaskID, m.Body)
	}
	if why := l.unverified(m.TaskID); why != "" {
		return fmt.Sprintf("message %s came while its task %s", m.ID, why)
	}
	return ""
}

// receiver is the other end of the webhook: it checks at once that what it receives is verified, and it is not always
// available.
func (l *life) receiver() http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(text); err != nil && err.Error() != "EOF" {
			l.report("webhook: %v", err)
		}
		if why := l.undeliverable(text); why != "" {
			l.report("webhook: %s", why)
		}
		l.mu.Lock()
		n++
		turn, calm := n, l.world.calm
		l.mu.Unlock()
		switch {
		case calm:
		case turn%4 == 0:
			w.WriteHeader(http.StatusInternalServerError)
		case turn%7 == 0:
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusServiceUnavailable)
		case turn%13 == 0:
			w.WriteHeader(http.StatusGone)
		}
	})
}

package view

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/truncate"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/store"
)

// SchemaHome is the id of a Home.
const SchemaHome = "deed/home.view/v1"

// A Home is the state of a home at one moment.
type Home struct {
	Schema   string           `json:"schema"`
	At       string           `json:"at"`
	Paused   *store.Pause     `json:"paused"` // null: dispatch claims
	Counts   map[string]int64 `json:"counts"` // of tasks, by status
	Queue    Queue            `json:"queue"`
	Running  []Running        `json:"running"`
	Waiting  []Waiting        `json:"waiting"`
	Accepted []Accepted       `json:"accepted"` // newest first
	Refused  []Refused        `json:"refused"`  // newest first
	Hours    []Bucket         `json:"hours"`    // the last 24, oldest first; the last is not over
	Days     []Bucket         `json:"days"`     // the last 30
	Today    Spent            `json:"today"`
	Runners  []Runner         `json:"runners"`
	More     map[string]int   `json:"more,omitempty"` // what the lists lack, by their names
}

// A Queue is what waits to be claimed.
type Queue struct {
	Ready     int64  `json:"ready"`
	Later     int64  `json:"later"` // not due yet
	HeadSince string `json:"head_since,omitempty"`
}

// A Waiting is something that does not go on without a person.
type Waiting struct {
	deed.ReportWaiting
	Action *Action `json:"action,omitempty"` // what is asked, where that is an action
}

// An Accepted is a task whose work was accepted, with what proves it.
type Accepted struct {
	deed.ReportTask
	CostMicroUSD int64 `json:"cost_micro_usd"`
}

// A Refused is an attempt that was not accepted, with the first reasons.
type Refused struct {
	TaskID    string        `json:"task_id"`
	AttemptID string        `json:"attempt_id"`
	Subject   string        `json:"subject"`
	TaskType  string        `json:"task_type"`
	Class     string        `json:"class"`
	About     string        `json:"about"`  // what the class means
	Status    string        `json:"status"` // of the task now
	Reasons   []deed.Reason `json:"reasons"`
	MoreWhy   int           `json:"more_reasons,omitempty"`
	Error     string        `json:"error,omitempty"` // where the gate has not decided
	At        string        `json:"at"`
	Command   string        `json:"command"`
}

// A Bucket is what ended in a span of time.
type Bucket struct {
	From      string `json:"from"`
	Completed int64  `json:"completed"` // tasks
	Failed    int64  `json:"failed"`
	Canceled  int64  `json:"canceled"`
	Attempts  int64  `json:"attempts"`
	Refused   int64  `json:"refused"` // attempts, by the gate
}

// A Spent is what was used today, in UTC, against what may be.
type Spent struct {
	Day string `json:"day"`
	store.UsageSum
	Budget         deed.Budget `json:"budget"`
	BudgetMicroUSD int64       `json:"budget_micro_usd"` // 0: none
}

// A Runner is a process that claims tasks.
type Runner struct {
	RunnerID  string `json:"runner_id"`
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
	StartedAt string `json:"started_at"`
	SeenAt    string `json:"seen_at"`
	Alive     bool   `json:"alive"` // as far as can be seen from here
	Running   int    `json:"running"`
}

// The bounds of a Home: it is read in one moment however much there is.
const (
	maxRunning = 100
	maxEnded   = 20  // of each list of what ended
	maxScanned = 500 // events that are walked back for them
	maxFirst   = 3   // reasons of a refused attempt
)

// Home reads the present state of the home. Its cost grows with what runs and waits, not with what has ended.
func (r *Reader) Home(ctx context.Context) (Home, error) {
	now := r.src.Clock()
	h := Home{Schema: SchemaHome, At: stamp(now), Accepted: []Accepted{}, Refused: []Refused{}, More: map[string]int{}}
	for _, step := range []func(context.Context, *Home, time.Time) error{r.readQueue, r.readRunning, r.readWaiting, r.readEnded, r.readRate, r.readSpent, r.readRunners} {
		if err := step(ctx, &h, now); err != nil {
			return Home{}, err
		}
	}
	return h, nil
}

func (r *Reader) readQueue(ctx context.Context, h *Home, _ time.Time) error {
	counts, err := r.src.Store.Counts(ctx)
	if err != nil {
		return err
	}
	h.Counts = map[string]int64{}
	for st, n := range counts {
		h.Counts[string(st)] = n
	}
	b, err := r.src.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	h.Queue = Queue{Ready: b.Ready, Later: b.Later, HeadSince: stamp(b.HeadSince)}
	p, paused, err := r.src.Store.Paused(ctx)
	if paused {
		h.Paused = &p
	}
	return err
}

func (r *Reader) readRunning(ctx context.Context, h *Home, _ time.Time) (err error) {
	h.Running, err = r.running(ctx, maxRunning)
	if n := int(h.Counts[string(agentruntime.TaskRunning)]) - len(h.Running); n > 0 {
		h.More["running"] = n
	}
	return err
}

func (r *Reader) readWaiting(ctx context.Context, h *Home, _ time.Time) error {
	staged, err := r.staged.Pending(false)
	if err != nil {
		return err
	}
	var also []deed.ReportWaiting
	for _, s := range staged {
		also = append(also, deed.ReportWaiting{Kind: KindApply, ID: s.ActionID, About: s.Summary, Command: "deed action approve " + s.ActionID})
	}
	list, total, err := report.Waiting(ctx, r.src.Store, also)
	if err != nil {
		return err
	}
	h.Waiting = make([]Waiting, len(list))
	for i, w := range list {
		h.Waiting[i].ReportWaiting = w
		if w.Kind == report.WaitingHeld || w.Kind == report.WaitingDead || w.Kind == KindApply {
			continue
		}
		x, err := r.src.Store.ListedAction(ctx, w.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // a workflow that waits without an action
		}
		if err != nil {
			return err
		}
		a := ActionOf(x)
		h.Waiting[i].Action = &a
	}
	if n := total - len(list); n > 0 {
		h.More["waiting"] = n
	}
	return nil
}

// readEnded reads back what ended last, and what proves it or contradicts it.
func (r *Reader) readEnded(ctx context.Context, h *Home, now time.Time) error {
	var done, refused []store.Event
	seen := map[string]bool{}
	err := r.src.Store.ReportEvents(ctx, time.Unix(0, 0), now.Add(time.Microsecond), maxScanned, func(e store.Event) {
		var d struct{ Status, Class string }
		if json.Unmarshal(e.Detail, &d) != nil {
			return
		}
		switch e.Type {
		case string(agentruntime.EventTaskFinished):
			if d.Status == string(agentruntime.TaskCompleted) && len(done) < maxEnded {
				done = append(done, e)
			}
		case string(agentruntime.EventTaskAttemptFinished):
			if c := failure.Class(d.Class); c != failure.None && !seen[e.TaskID] && len(refused) < maxEnded {
				refused = append(refused, e)
			}
			seen[e.TaskID] = true // only its newest attempt counts
		}
	})
	if err != nil {
		return err
	}
	for _, e := range done {
		if err := r.accepted(ctx, h, e); err != nil {
			return err
		}
	}
	for _, e := range refused {
		if err := r.refused(ctx, h, e); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) accepted(ctx context.Context, h *Home, e store.Event) error {
	d, err := report.Proof(ctx, r.src.Store, e)
	if errors.Is(err, store.ErrNotFound) {
		return nil // an event may name what was removed
	}
	if err != nil {
		return err
	}
	used, err := r.src.Store.UsageOfTask(ctx, e.TaskID)
	if err != nil {
		return err
	}
	h.Accepted = append(h.Accepted, Accepted{ReportTask: d, CostMicroUSD: store.SumUsage(used).CountedMicroUSD})
	return nil
}

func (r *Reader) refused(ctx context.Context, h *Home, e store.Event) error {
	t, err := r.src.Store.ListedTask(ctx, e.TaskID)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	at, err := r.src.Store.ListedAttempt(ctx, e.AttemptID)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	out := Refused{
		TaskID: t.ID(), AttemptID: e.AttemptID, Subject: report.Subject(t), TaskType: t.Record.TaskType, Class: at.Class,
		About: failure.Class(at.Class).Rule().About, Status: string(t.Record.Status), Reasons: []deed.Reason{}, At: stamp(e.At), Command: "deed attempt show " + e.AttemptID,
	}
	if v := verdictOf(at); v != nil {
		out.Reasons = v.Reasons[:min(len(v.Reasons), maxFirst)]
		out.MoreWhy = len(v.Reasons) - len(out.Reasons)
	}
	if len(out.Reasons) == 0 {
		out.Error = truncate.Head(diagnosticsOf(at).Error, maxSaid)
	}
	h.Refused = append(h.Refused, out)
	return nil
}

func (r *Reader) readSpent(ctx context.Context, h *Home, now time.Time) error {
	day := usage.Day(now)
	sum, err := r.src.Store.UsageOfDay(ctx, day, "")
	h.Today = Spent{Day: day, UsageSum: sum, Budget: r.src.Config.Budgets.Day, BudgetMicroUSD: r.src.Config.Budgets.Day.CostMicroUSD()}
	return err
}

func (r *Reader) readRunners(ctx context.Context, h *Home, _ time.Time) error {
	list, err := r.src.Store.Runners(ctx)
	if err != nil {
		return err
	}
	h.Runners = []Runner{}
	busy := map[string]int{}
	for _, one := range h.Running {
		busy[one.RunnerID]++
	}
	for _, x := range list {
		h.Runners = append(h.Runners, Runner{
			RunnerID: x.ID, Host: x.Host, PID: x.PID, Version: x.Version, StartedAt: stamp(x.StartedAt), SeenAt: stamp(x.SeenAt), Running: busy[x.ID],
			Alive: alive(x),
		})
	}
	return nil
}

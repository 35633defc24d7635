package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// batch bounds one evaluation; what is left is due at once.
const batch = 500

// ActionKind is the kind of the action that a suspended schedule opens.
const ActionKind = "schedule"

// An Engine evaluates schedules.
type Engine struct {
	Store     *store.Store
	Admission *task.Admission
	Clock     clock.Clock
}

// A Plan is how an operator defines a schedule.
type Plan struct {
	Name     string
	Every    time.Duration
	First    time.Time // zero: one interval from now
	Disabled bool
	Overlap  string // store.OverlapSkip when empty
	Task     agentruntime.TaskIntent
}

// Put writes a schedule, and replaces one of the same name. A schedule whose task could not be queued now is refused.
func (e *Engine) Put(ctx context.Context, p Plan, by string) (store.Schedule, bool, error) {
	n, err := e.Check(p)
	if err != nil {
		return store.Schedule{}, false, err
	}
	return e.Store.PutSchedule(ctx, n.Record, n.Overlap, by)
}

// Check returns all faults of a plan, and how it is stored. It writes nothing.
func (e *Engine) Check(p Plan) (store.NewSchedule, error) {
	var l fault.List
	now := e.Clock().UTC()
	if p.First.IsZero() {
		p.First = now.Add(p.Every)
	}
	if p.Overlap == "" {
		p.Overlap = store.OverlapSkip
	}
	fault.OneOf(&l, "$.overlap", p.Overlap, store.OverlapSkip, store.OverlapAllow)
	if p.Every%time.Second != 0 {
		l.Add("$.interval_seconds", fault.BadFormat, fmt.Sprintf("%v is not a whole number of seconds", p.Every), "round it")
	}
	if p.Task.Source == "" {
		p.Task.Source = Source(p.Name)
	}
	r := agentruntime.RecurringScheduleRecord{
		Schema: agentruntime.SchemaRecurringSchedule, ScheduleID: "new", Name: p.Name, Enabled: !p.Disabled, IntervalSeconds: int64(p.Every / time.Second),
		NextRunAt: agentruntime.At(p.First), Task: p.Task, CreatedAt: agentruntime.At(now), UpdatedAt: agentruntime.At(now),
	}
	l.Within("$", r.Validate())
	if l.Len() == 0 {
		if _, err := e.prepare(store.Schedule{Record: r}, p.First); err != nil {
			l.Within("$.task", err)
			if l.Len() == 0 {
				return store.NewSchedule{}, err
			}
		}
	}
	return store.NewSchedule{Record: r, Overlap: p.Overlap}, l.Err()
}

// Source is the source of the tasks of a schedule.
func Source(name string) string { return "schedule:" + name }

// prepare makes the task of a slot. Its dedupe key is the slot's own, so that no slot can have two.
func (e *Engine) prepare(sc store.Schedule, slot time.Time) (store.NewTask, error) {
	if sc.Damage != "" {
		return store.NewTask{}, errors.New(sc.Damage)
	}
	row, err := e.Admission.Prepare(sc.Record.Task, task.Caller{Trusted: true})
	if err != nil {
		return row, err
	}
	if row.DedupeKey == "" {
		row.DedupeKey = "schedule/" + sc.Record.ScheduleID + "/" + string(agentruntime.At(slot))
	}
	row.Intent.Source = sc.Record.Task.Source + ":" + string(agentruntime.At(slot))
	return row, nil
}

// Due makes the tasks of the schedules that are due and returns how many. A fault of one does not affect the others.
func (e *Engine) Due(ctx context.Context) (int, error) {
	list, err := e.Store.DueSchedules(ctx, batch)
	if err != nil {
		return 0, err
	}
	made := 0
	var faults []error
	for _, sc := range list {
		ok, err := e.one(ctx, sc)
		if err != nil {
			faults = append(faults, fmt.Errorf("schedule %s: %w", sc.Record.Name, err))
		}
		if ok {
			made++
		}
	}
	return made, errors.Join(faults...)
}

// Next is when the next schedule is due.
func (e *Engine) Next(ctx context.Context) (time.Time, bool, error) { return e.Store.NextSchedule(ctx) }

// one handles the slot of a schedule that is due.
func (e *Engine) one(ctx context.Context, sc store.Schedule) (bool, error) {
	due, err := time.Parse(time.RFC3339Nano, string(sc.Record.NextRunAt))
	if err != nil {
		return false, err
	}
	now := e.Clock().UTC()
	run := slotAt(due, now, time.Duration(sc.Record.IntervalSeconds)*time.Second)
	run.ID = sc.Record.ScheduleID
	if why, err := e.busy(ctx, sc); err != nil {
		return false, err
	} else if why != "" {
		run.Skipped = why
		_, _, err := e.Store.RunSchedule(ctx, run)
		return false, err
	}
	row, err := e.prepare(sc, run.Newest)
	if err != nil {
		return false, e.suspend(ctx, sc, err)
	}
	run.Task = &row
	crashpoint.Hit(crashpoint.ScheduleDue)
	_, taken, err := e.Store.RunSchedule(ctx, run)
	crashpoint.Hit(crashpoint.ScheduleRun)
	return taken, err
}

// slotAt says what an evaluation at now does with a schedule that was due: one task, for the newest slot, and the next run one interval
// after the evaluation.
func slotAt(due, now time.Time, every time.Duration) store.ScheduleRun {
	missed := int64(0)
	if late := now.Sub(due); late > 0 {
		missed = int64(late / every)
	}
	return store.ScheduleRun{Slot: due, Newest: due.Add(time.Duration(missed) * every), Next: now.Add(every), Missed: missed}
}

// busy says why a slot is skipped, or nothing.
func (e *Engine) busy(ctx context.Context, sc store.Schedule) (string, error) {
	if sc.Overlap != store.OverlapSkip || sc.LastTaskID == "" {
		return "", nil
	}
	t, err := e.Store.Task(ctx, sc.LastTaskID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil || state.TaskTerminal(t.Record.Status) {
		return "", err
	}
	return fmt.Sprintf("task %s of the run before is %s", sc.LastTaskID, t.Record.Status), nil
}

// suspend stops a schedule whose task is refused, and asks a person.
func (e *Engine) suspend(ctx context.Context, sc store.Schedule, why error) error {
	name := sc.Record.Name
	_, err := e.Store.SuspendSchedule(ctx, sc.Record.ScheduleID, why.Error(), store.NewAction{
		Kind:   ActionKind,
		Prompt: fmt.Sprintf("schedule %s is suspended: its task is refused (%s). Mend it, then `deed schedule enable %s`", name, strings.ReplaceAll(why.Error(), "\n", "; "), name),
		Why:    "a schedule whose task cannot be queued would fail at every run",
	})
	return err
}

// RunNow makes a task now, outside of the rhythm, whether the schedule is enabled or not.
func (e *Engine) RunNow(ctx context.Context, sc store.Schedule, by string) (string, error) {
	now := e.Clock().UTC()
	row, err := e.prepare(sc, now)
	if err != nil {
		return "", err
	}
	id, _, err := e.Store.RunSchedule(ctx, store.ScheduleRun{ID: sc.Record.ScheduleID, Slot: now, Newest: now, ByHand: by, Task: &row})
	return id, err
}

// Switch switches a schedule on, with its first run after the given time, or off. Without a time the first run is one interval from
// now.
func (e *Engine) Switch(ctx context.Context, name string, on bool, after time.Duration, by string) (store.Schedule, error) {
	sc, err := e.Store.Schedule(ctx, name)
	if err != nil {
		return sc, err
	}
	if after <= 0 {
		after = time.Duration(sc.Record.IntervalSeconds) * time.Second
	}
	return e.Store.EnableSchedule(ctx, sc.Record.ScheduleID, on, e.Clock().Add(after), by)
}

// Preview lists the next n runs of a schedule, if nothing delays their evaluation.
func Preview(sc store.Schedule, now time.Time, n int) ([]time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, string(sc.Record.NextRunAt))
	if err != nil {
		return nil, err
	}
	if at.Before(now) {
		at = now
	}
	var out []time.Time
	for range n {
		out = append(out, at)
		at = at.Add(time.Duration(sc.Record.IntervalSeconds) * time.Second)
	}
	return out, nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
)

// What happens to a run of a schedule that falls due while the task of the one before has not ended.
const (
	OverlapSkip  = "skip"  // there is no task for it
	OverlapAllow = "allow" // there are two
)

// ScheduleOwner is what the actions of a schedule belong to.
const ScheduleOwner = "schedule"

// A Schedule is a recurring schedule with what only the engine needs.
type Schedule struct {
	Record     agentruntime.RecurringScheduleRecord
	Overlap    string
	Suspended  string    // why it makes no tasks until a person looks at it; "": it makes tasks
	LastSlot   time.Time // the run that the newest task is for; zero: there was none
	LastTaskID string
	Runs       int64 // tasks that it made
	Missed     int64 // slots that passed while no dispatcher ran
	Skipped    int64 // slots that were left out because the task before had not ended
	Damaged
}

// Live reports whether it makes tasks.
func (s Schedule) Live() bool { return s.Record.Enabled && s.Suspended == "" }

// A ScheduleRun is one slot of a schedule that is taken.
type ScheduleRun struct {
	ID      string
	Slot    time.Time // when it was due, as the schedule was seen: when another evaluation was faster, nothing is done
	Newest  time.Time // the newest slot that passed: the task is for it
	Next    time.Time
	Missed  int64    // slots that passed besides that one
	Task    *NewTask // nil: the slot is skipped
	ByHand  string   // who asked for a run now; "": it was due. The rhythm stays as it is then
	Skipped string   // why there is no task
}

// PutSchedule writes a schedule, and replaces one of the same name. A suspended one is checked again. It returns the whole schedule
// and whether it is new.
func (s *Store) PutSchedule(ctx context.Context, r agentruntime.RecurringScheduleRecord, overlap, by string) (out Schedule, fresh bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) (err error) {
		out, fresh, err = s.putScheduleIn(ctx, t, r, overlap, by)
		return err
	})
	if err != nil {
		return Schedule{}, false, fmt.Errorf("schedule %s: %w", r.Name, err)
	}
	return out, fresh, nil
}

func (s *Store) putScheduleIn(ctx context.Context, t tx, r agentruntime.RecurringScheduleRecord, overlap, by string) (out Schedule, fresh bool, err error) {
	task, err := encode(r.Task)
	if err != nil {
		return out, false, err
	}
	next, err := time.Parse(time.RFC3339Nano, string(r.NextRunAt))
	if err != nil {
		return out, false, invalid("next_run_at %q: %v", r.NextRunAt, err)
	}
	now := micros(s.now())
	old, err := scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE name = $1 `+forUpdate, r.Name))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		fresh = true
		_, err = t.exec(ctx, `INSERT INTO schedules (id, name, enabled, interval_seconds, overlap, due_at, next_run_at, task, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
			NewID(), r.Name, boolInt(r.Enabled), r.IntervalSeconds, overlap, micros(next), when(r.Enabled, micros(next)), task, now)
	case err == nil:
		if err = dismissOwned(ctx, t, ScheduleOwner+"/"+old.Record.ScheduleID, clean(by), now); err != nil {
			return out, false, err
		}
		_, err = t.exec(ctx, `UPDATE schedules SET enabled = $1, suspended = '', interval_seconds = $2, overlap = $3, due_at = $4, next_run_at = $5,
			task = $6, updated_at = $7 WHERE id = $8`,
			boolInt(r.Enabled), r.IntervalSeconds, overlap, micros(next), when(r.Enabled, micros(next)), task, now, old.Record.ScheduleID)
	}
	if err != nil {
		return out, false, err
	}
	if out, err = scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE name = $1`, r.Name)); err != nil {
		return out, false, err
	}
	return out, fresh, s.scheduleEvent(ctx, t, string(agentruntime.EventScheduleUpserted), out, map[string]any{"by": by, "new": fresh, "interval_seconds": r.IntervalSeconds, "enabled": r.Enabled})
}

// scheduleEvent records an event about a schedule, and wakes the dispatchers.
func (s *Store) scheduleEvent(ctx context.Context, t tx, event string, sc Schedule, detail map[string]any) error {
	detail["schedule_id"], detail["name"] = sc.Record.ScheduleID, sc.Record.Name
	text, err := encode(detail)
	if err != nil {
		return err
	}
	if err := appendEvent(ctx, t, event, micros(s.now()), "", "", text); err != nil {
		return err
	}
	return t.notify(ctx)
}

// EnableSchedule switches a schedule on, from a given first run, or off. One that was suspended is looked at again.
func (s *Store) EnableSchedule(ctx context.Context, id string, on bool, next time.Time, by string) (Schedule, error) {
	return s.changeSchedule(ctx, id, func(ctx context.Context, t tx, sc Schedule, now int64) error {
		if err := dismissOwned(ctx, t, ScheduleOwner+"/"+sc.Record.ScheduleID, clean(by), now); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE schedules SET enabled = $1, suspended = '', due_at = $2, next_run_at = $3, updated_at = $4 WHERE id = $5`,
			boolInt(on), micros(next), when(on, micros(next)), now, sc.Record.ScheduleID)
		if err != nil {
			return err
		}
		return s.scheduleEvent(ctx, t, string(agentruntime.EventScheduleUpserted), sc, map[string]any{"by": by, "enabled": on})
	})
}

// SuspendSchedule stops a schedule whose task can no longer be made, and asks a person, in one transaction.
func (s *Store) SuspendSchedule(ctx context.Context, id, why string, ask NewAction) (Schedule, error) {
	return s.changeSchedule(ctx, id, func(ctx context.Context, t tx, sc Schedule, now int64) error {
		if !sc.Live() {
			return nil
		}
		if _, err := openOwned(ctx, t, ScheduleOwner+"/"+sc.Record.ScheduleID, ask, now); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE schedules SET suspended = $1, next_run_at = NULL, updated_at = $2 WHERE id = $3`, clean(why), now, sc.Record.ScheduleID)
		return err
	})
}

func (s *Store) changeSchedule(ctx context.Context, id string, change func(ctx context.Context, t tx, sc Schedule, now int64) error) (Schedule, error) {
	var out Schedule
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		sc, err := scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE id = $1 `+forUpdate, id))
		if err != nil {
			return missing("schedule", id, err)
		}
		if err := change(ctx, t, sc, micros(s.now())); err != nil {
			return err
		}
		out, err = scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE id = $1`, id))
		return err
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %s: %w", id, err)
	}
	return out, nil
}

// wakeSchedule makes a suspended schedule be checked again: the action that it had opened was answered.
func wakeSchedule(ctx context.Context, t tx, id string, now int64) error {
	_, err := t.exec(ctx, `UPDATE schedules SET suspended = '', next_run_at = CASE WHEN enabled = 1 THEN due_at END, updated_at = $1
		WHERE id = $2 AND suspended <> ''`, now, id)
	return err
}

// DropSchedule forgets a schedule. Tasks that it made stay.
func (s *Store) DropSchedule(ctx context.Context, id, by string) error {
	err := s.write(ctx, func(ctx context.Context, t tx) error {
		sc, err := scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE id = $1 `+forUpdate, id))
		if err != nil {
			return missing("schedule", id, err)
		}
		if err := dismissOwned(ctx, t, ScheduleOwner+"/"+id, clean(by), micros(s.now())); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `DELETE FROM schedules WHERE id = $1`, id); err != nil {
			return err
		}
		return s.scheduleEvent(ctx, t, EventScheduleDropped, sc, map[string]any{"by": by})
	})
	if err != nil {
		return fmt.Errorf("schedule %s: %w", id, err)
	}
	return nil
}

// RunSchedule takes one slot: the task, the event about it and the next run, in one transaction. It reports false, and changes
// nothing, when the slot was taken already or the schedule does not run any more; concurrent callers make one task together.
func (s *Store) RunSchedule(ctx context.Context, r ScheduleRun) (taskID string, taken bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		taskID, taken = "", false
		sc, err := scanSchedule(t.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE id = $1 `+forUpdate, r.ID))
		if err != nil {
			return missing("schedule", r.ID, err)
		}
		if r.ByHand == "" && (!sc.Live() || string(sc.Record.NextRunAt) != string(agentruntime.At(r.Slot))) {
			return nil
		}
		now := micros(s.now())
		if r.Task == nil {
			_, err := t.exec(ctx, `UPDATE schedules SET due_at = $1, next_run_at = $1, missed = missed + $2, skipped = skipped + 1, updated_at = $3 WHERE id = $4`,
				micros(r.Next), r.Missed, now, r.ID)
			if err != nil {
				return err
			}
			taken = true
			return s.scheduleEvent(ctx, t, EventScheduleSkipped, sc, map[string]any{"slot": agentruntime.At(r.Newest), "missed": r.Missed, "reason": r.Skipped})
		}
		if taskID, err = s.oneTaskIn(ctx, t, *r.Task); err != nil {
			return err
		}
		set, args := `last_run_at = $1, last_slot_at = $2, last_task_id = $3, runs = runs + 1, updated_at = $1`, []any{now, micros(r.Newest), taskID, r.ID}
		if r.ByHand == "" {
			set, args = set+`, due_at = $5, next_run_at = $5, missed = missed + $6`, append(args, micros(r.Next), r.Missed)
		}
		if _, err := t.exec(ctx, `UPDATE schedules SET `+set+` WHERE id = $4`, args...); err != nil {
			return err
		}
		taken = true
		detail := map[string]any{"task_id": taskID, "slot": agentruntime.At(r.Newest), "missed": r.Missed}
		if r.ByHand != "" {
			detail["by"] = r.ByHand
		}
		return s.scheduleEvent(ctx, t, string(agentruntime.EventScheduleTaskCreated), sc, detail)
	})
	if err != nil {
		return "", false, fmt.Errorf("run schedule %s: %w", r.ID, err)
	}
	return taskID, taken, nil
}

// oneTaskIn enqueues one task. A dedupe key that is taken gives the task that holds it.
func (s *Store) oneTaskIn(ctx context.Context, t tx, task NewTask) (string, error) {
	rows, out, _, err := s.taskRows([]NewTask{task})
	if err != nil {
		return "", err
	}
	out[0] = Enqueued{TaskID: rows[0].id}
	fresh, err := s.takeKeys(ctx, t, rows, out)
	if err != nil {
		return "", err
	}
	return out[0].TaskID, t.insertTasks(ctx, fresh)
}

const scheduleColumns = `id, name, enabled, suspended, interval_seconds, overlap, due_at, last_run_at, last_slot_at, last_task_id,
	runs, missed, skipped, task, created_at, updated_at`

// scanSchedule notes in the schedule itself that its task cannot be read, even if only one schedule is read: it can be suspended,
// dropped and rewritten, but makes no task.
func scanSchedule(row scanner) (Schedule, error) {
	var sc Schedule
	var enabled, due, created, updated int64
	var last, slot *int64
	var task string
	var taskID *string
	r := &sc.Record
	err := row.Scan(&r.ScheduleID, &r.Name, &enabled, &sc.Suspended, &r.IntervalSeconds, &sc.Overlap, &due, &last, &slot, &taskID,
		&sc.Runs, &sc.Missed, &sc.Skipped, &task, &created, &updated)
	if err != nil {
		return sc, err
	}
	r.Schema, r.Enabled = agentruntime.SchemaRecurringSchedule, enabled != 0
	r.NextRunAt, r.CreatedAt, r.UpdatedAt = agentruntime.At(fromMicros(due)), agentruntime.At(fromMicros(created)), agentruntime.At(fromMicros(updated))
	if last != nil {
		at := agentruntime.At(fromMicros(*last))
		r.LastRunAt = &at
	}
	if slot != nil {
		sc.LastSlot = fromMicros(*slot)
	}
	sc.LastTaskID = str(taskID)
	return sc, listed(&sc, decodePart("schedule", r.Name, "task", task, &r.Task))
}

// Schedule returns the schedule with this name, with this id, or with this prefix of an id.
func (s *Store) Schedule(ctx context.Context, name string) (Schedule, error) {
	c := s.eng.read()
	sc, err := scanSchedule(c.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE name = $1`, name))
	if !errors.Is(err, sql.ErrNoRows) {
		return sc, classify(err)
	}
	id, err := resolve(ctx, c, "schedules", name)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %w", err)
	}
	if sc, err = scanSchedule(c.row(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE id = $1`, id)); err != nil {
		return Schedule{}, missing("schedule", name, err)
	}
	return sc, nil
}

// Schedules returns all schedules by their names, at most limit after the given one.
func (s *Store) Schedules(ctx context.Context, after string, limit int) ([]Schedule, error) {
	return s.schedules(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE name > $1 ORDER BY name LIMIT $2`, after, limit)
}

// DueSchedules returns schedules whose next run is due, those that wait longest first.
func (s *Store) DueSchedules(ctx context.Context, limit int) ([]Schedule, error) {
	return s.schedules(ctx, `SELECT `+scheduleColumns+` FROM schedules WHERE next_run_at IS NOT NULL AND next_run_at <= $1
		ORDER BY next_run_at, seq LIMIT $2`, micros(s.now()), limit)
}

func (s *Store) schedules(ctx context.Context, q string, args ...any) ([]Schedule, error) {
	return every(ctx, s.eng.read(), "schedules", scanSchedule, q, args...)
}

// NextSchedule returns when the next run of a schedule is due, and false when none will be.
func (s *Store) NextSchedule(ctx context.Context) (time.Time, bool, error) {
	var next int64
	err := s.eng.read().row(ctx, `SELECT next_run_at FROM schedules WHERE next_run_at IS NOT NULL ORDER BY next_run_at, seq LIMIT 1`).Scan(&next)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("next schedule: %w", classify(err))
	}
	return fromMicros(next), true, nil
}

// boolInt is a bool as the tables store it.
func boolInt(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// when is an instant that holds only under a condition.
func when(on bool, at int64) any {
	if on {
		return at
	}
	return nil
}

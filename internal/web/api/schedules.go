package api

import (
	"context"
	"net/http"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

type listQuery struct {
	Limit  int    `query:"limit" default:"100" min:"1" max:"500" doc:"at most so many"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

type named struct {
	Name string `path:"name" doc:"its name"`
}

type previewQuery struct {
	Name  string `path:"name" doc:"of the schedule"`
	Count int    `query:"count" default:"5" min:"1" max:"1000" doc:"how many"`
}

// Schedule is a recurring schedule with what deed knows of it.
type Schedule struct {
	Schedule   agentruntime.RecurringScheduleRecord `json:"schedule"`
	Live       bool                                 `json:"live"`
	Overlap    string                               `json:"overlap"`
	Suspended  string                               `json:"suspended,omitempty"` // why it makes no tasks until somebody looks
	LastSlotAt agentruntime.Timestamp               `json:"last_slot_at,omitempty"`
	LastTaskID string                               `json:"last_task_id,omitempty"`
	Runs       int64                                `json:"runs"`
	Missed     int64                                `json:"missed"`
	Skipped    int64                                `json:"skipped"`
}

func scheduleOf(s store.Schedule) Schedule {
	d := Schedule{Schedule: s.Record, Live: s.Live(), Overlap: s.Overlap, Suspended: s.Suspended, LastTaskID: s.LastTaskID, Runs: s.Runs, Missed: s.Missed, Skipped: s.Skipped}
	if !s.LastSlot.IsZero() {
		d.LastSlotAt = agentruntime.At(s.LastSlot)
	}
	return d
}

// Preview is when the next runs of a schedule are due.
type Preview struct {
	Schema string                   `json:"schema"`
	Name   string                   `json:"name"`
	Live   bool                     `json:"live"`
	Runs   []agentruntime.Timestamp `json:"runs"`
}

// ScheduleRun is the task that was made now.
type ScheduleRun struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	TaskID string `json:"task_id"`
}

// Enable says from when on a schedule runs.
type Enable struct {
	AfterSeconds int64 `json:"after_seconds,omitempty" jsonschema:"minimum=1,maximum=315360000"` // the first run so long from now; absent: one interval
}

func (a *API) schedules() {
	get(a, "/schedules", about{id: "listSchedules", tag: "schedules", summary: "List the schedules by their names", need: access.Read}, a.listSchedules)
	get(a, "/schedules/{name}", about{id: "getSchedule", tag: "schedules", summary: "Show a schedule, its task and its counts", need: access.Read}, func(ctx context.Context, in named) (Schedule, error) {
		s, err := a.Store.Schedule(ctx, in.Name)
		return scheduleOf(s), err
	})
	get(a, "/schedules/{name}/preview", about{id: "previewSchedule", tag: "schedules", summary: "Show when the next runs are due", need: access.Read}, a.preview)
	post(a, "/schedules/{name}/enable", about{id: "enableSchedule", tag: "schedules", summary: "Switch a schedule on, also one that was suspended", need: access.Operate, of: "getSchedule", optional: true, repeatable: true},
		func(ctx context.Context, in named, b Enable) (Schedule, error) {
			return a.switchSchedule(ctx, in.Name, true, time.Duration(b.AfterSeconds)*time.Second)
		})
	post(a, "/schedules/{name}/disable", about{id: "disableSchedule", tag: "schedules", summary: "Let a schedule make no tasks until it is enabled", need: access.Operate, of: "getSchedule", repeatable: true},
		func(ctx context.Context, in named, _ none) (Schedule, error) {
			return a.switchSchedule(ctx, in.Name, false, 0)
		})
	post(a, "/schedules/{name}/run", about{id: "runSchedule", tag: "schedules", summary: "Queue the task of a schedule now, beside its rhythm", need: access.Operate, of: "getSchedule", status: http.StatusCreated, conflicts: true},
		func(ctx context.Context, in named, _ none) (ScheduleRun, error) {
			s, err := a.Store.Schedule(ctx, in.Name)
			if err != nil {
				return ScheduleRun{}, err
			}
			id, err := a.Schedules.RunNow(ctx, s, by(ctx))
			if err != nil {
				if problemOf(err).Status >= http.StatusInternalServerError {
					err = httperror.New(http.StatusUnprocessableEntity, "not_queued", err.Error())
				}
				return ScheduleRun{}, err
			}
			a.changed()
			return ScheduleRun{Schema: "deed/schedule.run/v1", Name: s.Record.Name, TaskID: id}, nil
		})
}

func (a *API) listSchedules(ctx context.Context, in listQuery) (Page[Schedule], error) {
	after, err := readCursor(in.Cursor, "schedules", "")
	if err != nil {
		return Page[Schedule]{}, err
	}
	found, err := a.Store.Schedules(ctx, after, in.Limit+1)
	if err != nil {
		return Page[Schedule]{}, err
	}
	return pageOf("deed/schedules/v1", "schedules", "", in.Limit, found, func(s store.Schedule) string { return s.Record.Name }, scheduleOf), nil
}

func (a *API) preview(ctx context.Context, in previewQuery) (Preview, error) {
	s, err := a.Store.Schedule(ctx, in.Name)
	if err != nil {
		return Preview{}, err
	}
	runs, err := schedule.Preview(s, a.Clock(), in.Count)
	out := Preview{Schema: "deed/schedule.preview/v1", Name: s.Record.Name, Live: s.Live(), Runs: []agentruntime.Timestamp{}}
	for _, r := range runs {
		out.Runs = append(out.Runs, agentruntime.At(r))
	}
	return out, err
}

func (a *API) switchSchedule(ctx context.Context, name string, on bool, after time.Duration) (Schedule, error) {
	s, err := a.Schedules.Switch(ctx, name, on, after, by(ctx))
	if err != nil {
		return Schedule{}, err
	}
	a.changed()
	return scheduleOf(s), nil
}

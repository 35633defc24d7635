package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/store"
)

func (a *app) schedules() *schedule.Engine {
	return &schedule.Engine{Store: a.st, Admission: a.admission(), Clock: clock.System}
}

// scheduleDoc is a schedule as --json shows it: the record of the contract, and what deed adds.
type scheduleDoc struct {
	agentruntime.RecurringScheduleRecord
	Deed scheduleState `json:"deed"`
}

type scheduleState struct {
	Overlap    string `json:"overlap"`
	Suspended  string `json:"suspended,omitempty"`
	LastSlot   string `json:"last_slot_at,omitempty"`
	LastTaskID string `json:"last_task_id,omitempty"`
	Runs       int64  `json:"runs"`
	Missed     int64  `json:"missed"`
	Skipped    int64  `json:"skipped"`
}

func newScheduleDoc(s store.Schedule) scheduleDoc {
	d := scheduleDoc{s.Record, scheduleState{Overlap: s.Overlap, Suspended: s.Suspended, LastTaskID: s.LastTaskID, Runs: s.Runs, Missed: s.Missed, Skipped: s.Skipped}}
	if !s.LastSlot.IsZero() {
		d.Deed.LastSlot = string(agentruntime.At(s.LastSlot))
	}
	return d
}

func (a *app) scheduleCmd() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the schedules and when they are due", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.scheduleList(c.Context()) },
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show a schedule, its task and its counts", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.oneSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.emitSchedule(s)
		},
	}
	disable := &cobra.Command{
		Use: "disable NAME", Short: "Let a schedule make no tasks until it is enabled", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error { return a.scheduleSwitch(c.Context(), args[0], false, 0) },
	}
	remove := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget a schedule; tasks that it made stay", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.oneSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.st.DropSchedule(c.Context(), s.Record.ScheduleID, a.operator()); err != nil {
				return err
			}
			if a.json {
				return a.emit(newScheduleDoc(s))
			}
			a.hint("schedule %s is removed", clean(s.Record.Name))
			return nil
		},
	}
	return group("schedule", "Make the same task again and again", a.scheduleAddCmd(), list, show, a.schedulePreviewCmd(), a.scheduleEnableCmd(), disable, a.scheduleRunCmd(), remove)
}

func (a *app) scheduleAddCmd() *cobra.Command {
	var f intentFlags
	var p schedule.Plan
	var file, first string
	c := &cobra.Command{
		Use: "add NAME --every DURATION [flags]", Short: "Write a schedule, or write the one of the same name anew", Args: names("NAME"),
		Long: `Write a schedule that queues its task at every interval while a dispatcher runs (deed serve, or deed dispatch).

A schedule that nobody looked at for some time makes one task, for the newest of the runs that passed, and goes on from then.
While the task of the run before has not ended, a run is left out (--overlap skip), unless --overlap allow says otherwise. A
task that could not be queued is refused now; one that turns bad later suspends its schedule and asks you.`,
		Example: `  deed schedule add nightly --every 24h --type script --adapter nightly
  deed schedule add triage --every 10m --file intent.json`,
		RunE: func(c *cobra.Command, args []string) error {
			p.Name = args[0]
			if first != "" {
				at, err := time.Parse(time.RFC3339, first)
				if err != nil {
					return usage(fmt.Errorf("--first %q is no instant (write it as 2026-01-31T08:00:00Z)", first))
				}
				p.First = at
			}
			var err error
			if file != "" {
				var intents []agentruntime.TaskIntent
				if intents, err = a.readIntents(file); err == nil && len(intents) != 1 {
					err = usage(fmt.Errorf("%s has %d intents (a schedule has one task)", file, len(intents)))
				}
				if err == nil {
					p.Task = intents[0]
				}
			} else {
				p.Task, err = a.intent(c, &f)
			}
			if err != nil {
				return err
			}
			return a.scheduleAdd(c.Context(), p)
		},
	}
	fl := c.Flags()
	fl.DurationVar(&p.Every, "every", 0, "the interval, for example 10m or 24h")
	fl.StringVar(&first, "first", "", "the first run, an `INSTANT` (RFC 3339; default: one interval from now)")
	fl.StringVar(&p.Overlap, "overlap", store.OverlapSkip, "when the task of the run before has not ended: skip or allow")
	fl.BoolVar(&p.Disabled, "disabled", false, "write it switched off")
	fl.StringVar(&file, "file", "", "`FILE` with the intent of its task, - for standard input")
	f.register(c)
	return c
}

func (a *app) scheduleAdd(ctx context.Context, p schedule.Plan) error {
	if p.Every <= 0 {
		return usage(fmt.Errorf("--every is missing, or %s is no interval (give one such as 1h)", p.Every))
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	if err := a.refuseSecrets(p.Task); err != nil {
		return err
	}
	s, fresh, err := a.schedules().Put(ctx, p, a.operator())
	if err != nil {
		return usage(err)
	}
	a.h.Wake()
	if a.json {
		return a.emit(newScheduleDoc(s))
	}
	word := "added"
	if !fresh {
		word = "written anew"
	}
	a.hint("schedule %s is %s; its next run is at %s", clean(s.Record.Name), word, toSecond(string(s.Record.NextRunAt)))
	return nil
}

func (a *app) schedulePreviewCmd() *cobra.Command {
	var n int
	c := &cobra.Command{
		Use: "preview NAME", Short: "Show when the next runs are due", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.oneSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			if n < 1 || n > 1000 {
				return usage(fmt.Errorf("--count %d is out of range (use 1 to 1000)", n))
			}
			runs, err := schedule.Preview(s, clock.System(), n)
			if err != nil {
				return err
			}
			at := make([]string, len(runs))
			for i, r := range runs {
				at[i] = string(agentruntime.At(r))
			}
			if a.json {
				return a.emit(map[string]any{"schema": "deed/schedule.preview/v1", "name": s.Record.Name, "live": s.Live(), "runs": at})
			}
			if !s.Live() {
				a.hint("schedule %s does not run now", clean(s.Record.Name))
			}
			for _, line := range at {
				a.printf("%s\n", line)
			}
			return nil
		},
	}
	c.Flags().IntVar(&n, "count", 5, "how `MANY`")
	return c
}

func (a *app) scheduleEnableCmd() *cobra.Command {
	var after time.Duration
	c := &cobra.Command{
		Use: "enable NAME", Short: "Switch a schedule on, also one that was suspended", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.scheduleSwitch(c.Context(), args[0], true, after)
		},
	}
	c.Flags().DurationVar(&after, "after", 0, "the first run so long from now (default: one interval)")
	return c
}

func (a *app) scheduleSwitch(ctx context.Context, name string, on bool, after time.Duration) error {
	s, err := a.oneSchedule(ctx, name)
	if err != nil {
		return err
	}
	if s, err = a.schedules().Switch(ctx, s.Record.Name, on, after, a.operator()); err != nil {
		return err
	}
	a.h.Wake()
	return a.emitSchedule(s)
}

func (a *app) scheduleRunCmd() *cobra.Command {
	return &cobra.Command{
		Use: "run NAME", Short: "Queue the task of a schedule now, beside its rhythm", Args: names("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.oneSchedule(c.Context(), args[0])
			if err != nil {
				return err
			}
			id, err := a.schedules().RunNow(c.Context(), s, a.operator())
			if err != nil {
				return usage(err)
			}
			a.h.Wake()
			if a.json {
				return a.emit(map[string]any{"schema": "deed/schedule.run/v1", "name": s.Record.Name, "task_id": id})
			}
			a.printf("%s\n", id)
			return nil
		},
	}
}

func (a *app) oneSchedule(ctx context.Context, name string) (store.Schedule, error) {
	if err := a.open(ctx); err != nil {
		return store.Schedule{}, err
	}
	s, err := a.st.Schedule(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return s, usage(fmt.Errorf("no schedule %q in %s (`deed schedule list` shows them)", name, a.h.Root()))
	}
	return s, err
}

func (a *app) emitSchedule(s store.Schedule) error {
	if a.json {
		return a.emit(newScheduleDoc(s))
	}
	d := newScheduleDoc(s)
	last := "never"
	if s.Record.LastRunAt != nil {
		last = toSecond(string(*s.Record.LastRunAt))
	}
	for _, line := range [][2]string{
		{"schedule", clean(d.Name)},
		{"id", d.ScheduleID},
		{"state", scheduleWord(s)},
		{"why", clean(s.Suspended)},
		{"every", interval(d.IntervalSeconds)},
		{"next", toSecond(string(d.NextRunAt))},
		{"last", last},
		{"task", s.LastTaskID},
		{"makes", clean(d.Task.TaskType + " " + d.Task.Subject)},
		{"overlap", s.Overlap},
		{"counts", fmt.Sprintf("%d tasks, %d missed, %d skipped", s.Runs, s.Missed, s.Skipped)},
	} {
		if line[1] != "" {
			a.printf("%-9s %s\n", line[0], line[1])
		}
	}
	return nil
}

func scheduleWord(s store.Schedule) string {
	switch {
	case !s.Record.Enabled:
		return "disabled"
	case s.Suspended != "":
		return "suspended"
	}
	return "enabled"
}

// scheduleList reads all of them, in portions.
func (a *app) scheduleList(ctx context.Context) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	var all []store.Schedule
	for after := ""; ; {
		some, err := a.st.Schedules(ctx, after, 1000)
		if err != nil {
			return err
		}
		for _, s := range some {
			a.hintDamaged(s.Damage)
		}
		all = append(all, some...)
		if len(some) < 1000 {
			break
		}
		after = some[len(some)-1].Record.Name
	}
	if a.json {
		docs := make([]scheduleDoc, len(all))
		for i, s := range all {
			docs[i] = newScheduleDoc(s)
		}
		return a.emit(map[string]any{"schema": "deed/schedules/v1", "schedules": docs})
	}
	if len(all) == 0 {
		a.hint("there is no schedule (`deed schedule add --help` shows how to write one)")
		return nil
	}
	rows := make([][]string, len(all))
	for i, s := range all {
		next := toSecond(string(s.Record.NextRunAt))
		if !s.Live() {
			next = ""
		}
		rows[i] = []string{clean(s.Record.Name), scheduleWord(s), interval(s.Record.IntervalSeconds), next, fmt.Sprint(s.Runs), clean(s.Record.Task.TaskType)}
	}
	a.table([]string{"SCHEDULE", "STATE", "EVERY", "NEXT", "RUNS", "TASK"}, rows)
	return nil
}

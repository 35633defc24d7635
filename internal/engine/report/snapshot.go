package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/store"
)

// maxSnapshot bounds the lists of a snapshot.
const maxSnapshot = 1000

// The days that all others are between.
const firstDay, lastDay = "0001-01-01", "9999-12-31"

// Take reads the present state of a home.
func Take(ctx context.Context, st *store.Store, now time.Time, version string) (deed.Snapshot, error) {
	s := deed.Snapshot{
		Schema: deed.SchemaSnapshot, CapturedAt: string(agentruntime.At(now)), Versions: deed.SnapshotVersions{Deed: version, Store: st.Dialect()},
		Tasks: map[string]int64{}, TasksByType: map[string]map[string]int64{},
	}
	for _, step := range []func(context.Context, *store.Store, *deed.Snapshot) error{takeTasks, takeWorkflows, takeSchedules, takeSensors} {
		if err := step(ctx, st, &s); err != nil {
			return deed.Snapshot{}, err
		}
	}
	today, err := st.UsageOfDay(ctx, usage.Day(now), "")
	if err != nil {
		return deed.Snapshot{}, err
	}
	total, err := st.UsageTotal(ctx, firstDay, lastDay)
	if err != nil {
		return deed.Snapshot{}, err
	}
	s.Usage = deed.SnapshotUsage{Today: totals(store.UsageGroup{UsageSum: today}), Total: totals(store.UsageGroup{UsageSum: total})}
	return s, nil
}

func takeTasks(ctx context.Context, st *store.Store, s *deed.Snapshot) error {
	types, err := st.TypeCounts(ctx)
	if err != nil {
		return err
	}
	for typ, counts := range types {
		s.TasksByType[typ] = map[string]int64{}
		for status, n := range counts {
			s.TasksByType[typ][string(status)] = n
			s.Tasks[string(status)] += n
		}
	}
	b, err := st.Backlog(ctx)
	if err != nil {
		return err
	}
	s.Queue = deed.SnapshotQueue{Ready: b.Ready, Later: b.Later}
	if !b.HeadSince.IsZero() {
		s.Queue.HeadSince = string(agentruntime.At(b.HeadSince))
	}
	s.OpenActions, s.Outbox, s.Workflows = b.OpenActions, b.Outbox, b.Workflows
	_, s.Paused, err = st.Paused(ctx)
	return err
}

// The names of the lists that may be cut.
const (
	listWorkflows = "live_workflows"
	listSchedules = "schedules"
	listSensors   = "sensors"
)

// part bounds a list of a snapshot; the snapshot records that it was cut.
func part[T any](s *deed.Snapshot, name string, list []T) []T {
	if len(list) <= maxSnapshot {
		return list
	}
	s.Truncated = append(s.Truncated, name)
	return list[:maxSnapshot]
}

func takeWorkflows(ctx context.Context, st *store.Store, s *deed.Snapshot) error {
	live, err := st.Workflows(ctx, store.WorkflowFilter{Limit: maxSnapshot + 1})
	for _, w := range part(s, listWorkflows, live) {
		r := w.Record
		s.Live = append(s.Live, deed.SnapshotWorkflow{WorkflowID: r.WorkflowID, WorkflowType: r.WorkflowType, InstanceKey: r.InstanceKey, State: r.CurrentState, Status: string(r.Status)})
	}
	return err
}

func takeSchedules(ctx context.Context, st *store.Store, s *deed.Snapshot) error {
	list, err := st.Schedules(ctx, "", maxSnapshot+1)
	for _, sc := range part(s, listSchedules, list) {
		one := deed.SnapshotSchedule{Name: sc.Record.Name, Enabled: sc.Record.Enabled, Suspended: sc.Suspended, Runs: sc.Runs, Missed: sc.Missed, Skipped: sc.Skipped}
		if sc.Live() {
			one.NextRunAt = string(sc.Record.NextRunAt)
		}
		s.Schedules = append(s.Schedules, one)
	}
	return err
}

func takeSensors(ctx context.Context, st *store.Store, s *deed.Snapshot) error {
	list, err := st.Sensors(ctx)
	for _, x := range part(s, listSensors, list) {
		s.Sensors = append(s.Sensors, deed.SnapshotSensor{SensorID: x.ID, Disabled: x.Disabled, Accepted: x.Accepted, Deduped: x.Deduped, Late: x.Late, Malformed: x.Malformed, Failures: x.Failures})
	}
	return err
}

// A Comparison is what changed from one snapshot to another.
type Comparison struct {
	Schema    string           `json:"schema"`
	From      string           `json:"from"`
	To        string           `json:"to"`
	Changes   []Change         `json:"changes"`             // of numbers, where they differ
	Workflows []WorkflowChange `json:"workflows,omitempty"` // new, advanced, ended
	Schedules []ScheduleChange `json:"schedules,omitempty"` // new, removed, and in another state
	Truncated []string         `json:"truncated,omitempty"` // lists that are not compared, because a snapshot holds only a part
	Usage     deed.UsageTotals `json:"usage"`               // what was used in between
	EndedIdle bool             `json:"ended_idle"`          // nothing is ready or running at the end
}

// SchemaComparison is the id of a Comparison.
const SchemaComparison = "deed/snapshot.comparison/v1"

// A Change is a number that differs.
type Change struct {
	Name  string `json:"name"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Delta int64  `json:"delta"`
}

// A WorkflowChange is a workflow that is new, went on, or ended.
type WorkflowChange struct {
	deed.SnapshotWorkflow
	Change string `json:"change"` // new, advanced, ended
	Was    string `json:"was,omitempty"`
}

// A ScheduleChange is a schedule that is new, was removed, or is in another state.
type ScheduleChange struct {
	Name   string `json:"name"`
	Change string `json:"change"` // new, removed, enabled, disabled, suspended
}

// Compare says what changed from an older snapshot to a newer one.
func Compare(from, to deed.Snapshot) Comparison {
	c := Comparison{Schema: SchemaComparison, From: from.CapturedAt, To: to.CapturedAt, Changes: []Change{}}
	c.counts("tasks.", from.Tasks, to.Tasks)
	numbers := func(s deed.Snapshot) map[string]int64 {
		return map[string]int64{"ready": s.Queue.Ready, "later": s.Queue.Later}
	}
	c.counts("queue.", numbers(from), numbers(to))
	c.counts("", map[string]int64{"open_actions": from.OpenActions}, map[string]int64{"open_actions": to.OpenActions})
	c.counts("outbox.", from.Outbox, to.Outbox)
	c.counts("workflows.", from.Workflows, to.Workflows)
	// A list that is cut on either side cannot be compared: an entry that it lacks may exist.
	whole := func(name string) bool {
		if slices.Contains(from.Truncated, name) || slices.Contains(to.Truncated, name) {
			c.Truncated = append(c.Truncated, name)
			return false
		}
		return true
	}
	if whole(listWorkflows) {
		c.workflows(from.Live, to.Live)
	}
	if whole(listSchedules) {
		c.counts("schedules.", scheduleCounts(from), scheduleCounts(to))
		c.schedules(from.Schedules, to.Schedules)
	}
	if whole(listSensors) {
		c.counts("sensors.", sensorCounts(from), sensorCounts(to))
	}
	a, b := from.Usage.Total, to.Usage.Total
	c.Usage = deed.UsageTotals{
		Turns: b.Turns - a.Turns, InputTokens: b.InputTokens - a.InputTokens, OutputTokens: b.OutputTokens - a.OutputTokens,
		CostMicroUSD: b.CostMicroUSD - a.CostMicroUSD, UnpricedTokens: b.UnpricedTokens - a.UnpricedTokens, AgentMS: b.AgentMS - a.AgentMS,
	}
	c.EndedIdle = to.Queue.Ready == 0 && to.Tasks[string(agentruntime.TaskRunning)] == 0
	return c
}

func (c *Comparison) counts(prefix string, from, to map[string]int64) {
	names := map[string]bool{}
	for _, m := range []map[string]int64{from, to} {
		for k := range m {
			names[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if from[k] != to[k] {
			c.Changes = append(c.Changes, Change{Name: prefix + k, From: from[k], To: to[k], Delta: to[k] - from[k]})
		}
	}
}

func scheduleCounts(s deed.Snapshot) map[string]int64 {
	out := map[string]int64{}
	for _, x := range s.Schedules {
		out["runs"] += x.Runs
		out["missed"] += x.Missed
		out["skipped"] += x.Skipped
	}
	return out
}

func sensorCounts(s deed.Snapshot) map[string]int64 {
	out := map[string]int64{}
	for _, x := range s.Sensors {
		out["accepted"] += x.Accepted
		out["deduped"] += x.Deduped
		out["late"] += x.Late
		out["malformed"] += x.Malformed
	}
	return out
}

func (c *Comparison) workflows(from, to []deed.SnapshotWorkflow) {
	old := map[string]deed.SnapshotWorkflow{}
	for _, w := range from {
		old[w.WorkflowID] = w
	}
	for _, w := range to {
		was, ok := old[w.WorkflowID]
		delete(old, w.WorkflowID)
		switch {
		case !ok:
			c.Workflows = append(c.Workflows, WorkflowChange{SnapshotWorkflow: w, Change: "new"})
		case was.State != w.State || was.Status != w.Status:
			c.Workflows = append(c.Workflows, WorkflowChange{SnapshotWorkflow: w, Change: "advanced", Was: was.State})
		}
	}
	for _, w := range old {
		c.Workflows = append(c.Workflows, WorkflowChange{SnapshotWorkflow: w, Change: "ended", Was: w.State})
	}
	slices.SortFunc(c.Workflows, func(x, y WorkflowChange) int { return cmp.Compare(x.WorkflowID, y.WorkflowID) })
}

func (c *Comparison) schedules(from, to []deed.SnapshotSchedule) {
	old := map[string]deed.SnapshotSchedule{}
	for _, s := range from {
		old[s.Name] = s
	}
	for _, s := range to {
		was, ok := old[s.Name]
		delete(old, s.Name)
		change := ""
		switch {
		case !ok:
			change = "new"
		case s.Suspended != "" && was.Suspended == "":
			change = "suspended"
		case s.Enabled && s.Suspended == "" && (!was.Enabled || was.Suspended != ""):
			change = "enabled"
		case !s.Enabled && was.Enabled:
			change = "disabled"
		}
		if change != "" {
			c.Schedules = append(c.Schedules, ScheduleChange{s.Name, change})
		}
	}
	for name := range old {
		c.Schedules = append(c.Schedules, ScheduleChange{name, "removed"})
	}
	slices.SortFunc(c.Schedules, func(x, y ScheduleChange) int { return cmp.Compare(x.Name, y.Name) })
}

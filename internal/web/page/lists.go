package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/store"
)

type workflowsBody struct {
	All         bool
	Rows        []store.Workflow
	Definitions []workflow.Definition
	Faults      []error
}

func (s *Site) workflows(r *http.Request) (screen, error) {
	b := workflowsBody{All: r.URL.Query().Get("all") != ""}
	var err error
	if b.Rows, err = s.Store.Workflows(r.Context(), store.WorkflowFilter{All: b.All, Limit: perPage}); err != nil {
		return screen{}, err
	}
	c := s.Desk.Workflows.Catalog()
	b.Definitions, b.Faults = c.List(), c.Faults()
	return screen{template: "workflows", title: "Workflows", nav: "workflows", body: b}, nil
}

type workflowBody struct {
	Flow       *store.Workflow
	Definition workflow.Definition
	Graph      template.HTML // workflow.Drawing's own, with every name in it escaped
	Steps      []store.Transition
	Asked      []asked
}

func (s *Site) workflow(r *http.Request) (screen, error) {
	ctx := r.Context()
	w, err := s.Store.Workflow(ctx, r.PathValue("id"))
	if err != nil {
		return screen{}, err
	}
	d, err := s.Desk.Workflows.Definition(ctx, w)
	if err != nil {
		return screen{}, err
	}
	b := workflowBody{Flow: &w, Definition: d, Graph: drawing(d, w.Record.CurrentState)}
	if b.Steps, err = s.Store.Transitions(ctx, w.ID(), 500); err != nil {
		return screen{}, err
	}
	slices.Reverse(b.Steps)
	if w.ActionID != "" {
		x, err := s.Store.Action(ctx, w.ActionID)
		if err != nil {
			return screen{}, err
		}
		if x.State == store.ActionOpen {
			b.Asked = append(b.Asked, s.asked(r, view.ActionOf(x), "/workflows/"+w.ID()))
		}
	}
	return screen{template: "workflow", title: line(60, w.Record.InstanceKey), nav: "workflows", body: b}, nil
}

func drawing(d workflow.Definition, current string) template.HTML {
	return template.HTML(workflow.Drawing(d, current)) //nolint:gosec // made of numbers and escaped names
}

func (s *Site) definition(r *http.Request) (screen, error) {
	d, err := s.Desk.Workflows.Catalog().Get(r.PathValue("type"))
	if err != nil {
		return screen{}, fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return screen{template: "workflow", title: line(60, d.WorkflowType), nav: "workflows", still: true, body: workflowBody{Definition: d, Graph: drawing(d, "")}}, nil
}

type scheduleRow struct {
	ID, Name, Type, Subject, Every, Suspended, Word, Class string
	Next                                                   []string
	Last, LastTask                                         string
	Runs, Missed, Skipped                                  int64
	Switch, SwitchWord                                     string
}

type schedulesBody struct {
	Rows    []scheduleRow
	Nothing string
}

func (s *Site) schedules(r *http.Request) (screen, error) {
	list, err := s.Store.Schedules(r.Context(), "", 1000)
	if err != nil {
		return screen{}, err
	}
	var b schedulesBody
	for _, x := range list {
		b.Rows = append(b.Rows, scheduleRowOf(x, s.Clock()))
	}
	return screen{template: "schedules", title: "Schedules", nav: "schedules", body: b}, nil
}

func scheduleRowOf(x store.Schedule, now time.Time) scheduleRow {
	c := x.Record
	row := scheduleRow{
		ID: c.ScheduleID, Name: c.Name, Type: c.Task.TaskType, Subject: c.Task.Subject, Every: about(time.Duration(c.IntervalSeconds) * time.Second), Suspended: x.Suspended,
		Runs: x.Runs, Missed: x.Missed, Skipped: x.Skipped, LastTask: x.LastTaskID, Word: "on", Class: "good", Switch: "disable", SwitchWord: "Switch off",
	}
	if c.LastRunAt != nil {
		row.Last = string(*c.LastRunAt)
	}
	switch {
	case !c.Enabled:
		row.Word, row.Class, row.Switch, row.SwitchWord = "off", "", "enable", "Switch on"
	case x.Suspended != "":
		row.Word, row.Class, row.Switch, row.SwitchWord = "suspended", "wait", "enable", "Go on"
	default:
		runs, err := schedule.Preview(x, now, 3)
		if err == nil {
			for _, t := range runs {
				row.Next = append(row.Next, stamp(t))
			}
		}
	}
	return row
}

type sensorRow struct {
	store.Sensor
	Kind, Word, Class string
}

type sensorEvent struct {
	Key, Sensor, Type, EventID, Outcome, At string
	Tasks                                   []string
}

type sensorsBody struct {
	Rows   []sensorRow
	Events []sensorEvent
}

func (s *Site) sensors(r *http.Request) (screen, error) {
	list, err := s.Store.Sensors(r.Context())
	if err != nil {
		return screen{}, err
	}
	known := map[string]sensorRow{}
	for name := range s.Config.Sensors {
		known[name] = sensorRow{Sensor: store.Sensor{ID: name}}
	}
	for _, x := range list {
		known[x.ID] = sensorRow{Sensor: x}
	}
	var b sensorsBody
	for _, name := range slices.Sorted(maps.Keys(known)) {
		row := known[name]
		if c, ok := s.Config.Sensors[name]; ok {
			row.Kind = c.Kind
		} else {
			row.Kind = "sends by itself"
		}
		row.Word, row.Class = health(row.Sensor)
		b.Rows = append(b.Rows, row)
	}
	events, err := s.Store.SensorEvents(r.Context(), store.SensorFilter{Limit: 30})
	if err != nil {
		return screen{}, err
	}
	for _, e := range events {
		x := sensorEvent{Key: fmt.Sprint(e.Seq), Sensor: e.SensorID, Type: e.SourceRef, EventID: e.EventID, Outcome: e.State, At: stamp(e.ReceivedAt)}
		if e.TaskID != "" {
			x.Tasks = []string{e.TaskID}
		}
		b.Events = append(b.Events, x)
	}
	return screen{template: "sensors", title: "Sensors", nav: "sensors", body: b}, nil
}

// health is the state of a sensor, in one word.
func health(x store.Sensor) (word, class string) {
	switch {
	case x.Disabled:
		return "off", ""
	case x.Failures > 0:
		return "failing", "bad"
	case x.OKAt.IsZero() && x.EventAt.IsZero():
		return "not seen yet", ""
	}
	return "well", "good"
}

type outboxBody struct {
	State   string
	Filters []filter
	Rows    []view.OutboxItem
}

func (s *Site) outbox(r *http.Request) (screen, error) {
	b := outboxBody{State: r.URL.Query().Get("state")}
	states := []string{store.OutboxPending, store.OutboxHeld, store.OutboxFailed, store.OutboxDelivered}
	if b.State != "" && !slices.Contains(states, b.State) {
		return screen{}, misuse("there is no state " + b.State + " of the outbox")
	}
	list, err := s.Store.Outbox(r.Context(), store.OutboxFilter{State: b.State, Limit: perPage})
	if err != nil {
		return screen{}, err
	}
	backlog, err := s.Store.Backlog(r.Context())
	if err != nil {
		return screen{}, err
	}
	for _, o := range list {
		b.Rows = append(b.Rows, view.OutboxOf(o))
	}
	b.Filters = []filter{{Name: "Not delivered", Href: "/outbox", On: b.State == ""}}
	for _, st := range states {
		b.Filters = append(b.Filters, filter{Name: st, Href: "/outbox?state=" + st, Count: backlog.Outbox[st], On: b.State == st})
	}
	return screen{template: "outbox", title: "Outbox", nav: "outbox", body: b}, nil
}

type typeRow struct {
	Name   string
	Counts []int64
}

type fleetBody struct {
	Home     view.Home
	Types    []typeRow
	Statuses []agentruntime.TaskStatus
}

func (s *Site) fleet(r *http.Request) (screen, error) {
	h, err := s.View.Home(r.Context())
	if err != nil {
		return screen{}, err
	}
	b := fleetBody{Home: h, Statuses: agentruntime.TaskStatuses}
	if b.Types, err = s.typeRows(r.Context()); err != nil {
		return screen{}, err
	}
	return screen{template: "fleet", title: "Fleet", nav: "fleet", body: b}, nil
}

func (s *Site) typeRows(ctx context.Context) ([]typeRow, error) {
	counts, err := s.Store.TypeCounts(ctx)
	if err != nil {
		return nil, err
	}
	var out []typeRow
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		row := typeRow{Name: name}
		for _, st := range agentruntime.TaskStatuses {
			row.Counts = append(row.Counts, counts[name][st])
		}
		out = append(out, row)
	}
	return out, nil
}

// A usageGroup is a table of what was used.
type usageGroup struct {
	Name string
	Rows []usageLine
}

type usageLine struct {
	store.UsageGroup
	Share gauge
}

type usageBody struct {
	Spans  []filter
	Total  store.UsageSum
	Plot   plot
	Groups []usageGroup
}

func (s *Site) usage(r *http.Request) (screen, error) {
	days := 30
	var b usageBody
	for _, n := range []int{1, 7, 30, 90} {
		name := fmt.Sprintf("%d days", n)
		if n == 1 {
			name = "Today"
		}
		on := r.URL.Query().Get("days") == strconv.Itoa(n) || r.URL.Query().Get("days") == "" && n == days
		if on {
			days = n
		}
		b.Spans = append(b.Spans, filter{Name: name, Href: fmt.Sprintf("/usage?days=%d", n), On: on})
	}
	now := s.Clock()
	var model, agent, profile, day store.UsageGroups
	err := s.Store.EachUsage(r.Context(), usage.Day(now.AddDate(0, 0, 1-days)), usage.Day(now), func(x store.UsageShare) {
		model.Add(x.Model, x.UsageRow)
		agent.Add(x.AdapterID, x.UsageRow)
		profile.Add(x.ProfileID, x.UsageRow)
		day.Add(x.Day, x.UsageRow)
	})
	if err != nil {
		return screen{}, err
	}
	total := model.Total()
	b.Total = store.UsageSum{Usage: total.Usage, CountedMicroUSD: total.CountedMicroUSD}
	b.Plot = costPlot(day.Lines(), now, days)
	for _, g := range []struct {
		name string
		of   store.UsageGroups
	}{{"Model", model}, {"Agent", agent}, {"Profile", profile}} {
		b.Groups = append(b.Groups, usageGroup{g.name, usageLines(g.of.Lines(), total.CountedMicroUSD)})
	}
	return screen{template: "usage", title: "Usage", nav: "usage", body: b}, nil
}

func usageLines(list []store.UsageGroup, all int64) []usageLine {
	slices.SortStableFunc(list, func(a, b store.UsageGroup) int { return cmp.Compare(b.CountedMicroUSD, a.CountedMicroUSD) })
	out := make([]usageLine, len(list))
	for i, g := range list {
		out[i] = usageLine{g, gaugeOf(g.CountedMicroUSD, all, "of the cost")}
		out[i].Share.Class = ""
	}
	return out
}

// costPlot draws what each day cost.
func costPlot(list []store.UsageGroup, now time.Time, days int) plot {
	p := plot{Width: 5 * days, Height: 22, Label: "what each day cost"}
	most := int64(1)
	by := map[string]int64{}
	for _, g := range list {
		by[g.Key] = g.CountedMicroUSD
		most = max(most, g.CountedMicroUSD)
	}
	for i := range days {
		d := usage.Day(now.AddDate(0, 0, 1-days+i))
		if c := by[d]; c > 0 {
			h := max(float64(c)/float64(most)*21, 1)
			p.Bars = append(p.Bars, bar{X: float64(5*i) + 0.5, Y: round(22 - h), W: 4, H: round(h), Title: d + ": " + money(c)})
		}
	}
	return p
}

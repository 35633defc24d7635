// Package report owns what is reported about a span of time and about an instant: the report that a person reads in the morning, the
// snapshot of a home, and what changed between two snapshots. It reads the store and changes nothing; how it looks on a terminal is not
// its business.
package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
)

// The bounds of a report: however busy a day was, a report of it is read in one sitting and made in one moment.
const (
	maxEvents   = 200_000 // of the log, newest first
	maxListed   = 200     // entries of each list
	maxVerdicts = 1000    // refused attempts whose reasons are read
	maxNamed    = 5       // tasks that a failure names
)

// Options say what a report is about.
type Options struct {
	From, To time.Time // To is not included
	Now      time.Time
	Also     []deed.ReportWaiting // what waits for a person and is not in the store
	Sensors  []string             // those in the settings: one that was taken out does not count as failing
}

// Make reads what happened. It costs what happened in the span and what waits now, not what was finished before.
func Make(ctx context.Context, st *store.Store, o Options) (deed.Report, error) {
	if !o.From.Before(o.To) {
		return deed.Report{}, fmt.Errorf("the span ends at %s, which is not after its beginning at %s", agentruntime.At(o.To), agentruntime.At(o.From))
	}
	b := &builder{
		Report: deed.Report{
			Schema: deed.SchemaReport, From: string(agentruntime.At(o.From)), To: string(agentruntime.At(o.To)), CreatedAt: string(agentruntime.At(o.Now)), More: map[string]int{},
		},
		st: st, ended: map[string]bool{}, attempts: map[string]bool{}, failures: map[string]*failed{}, flows: map[string]*deed.ReportWorkflow{}, slots: map[string]*deed.ReportSchedule{},
	}
	n := 0
	err := st.ReportEvents(ctx, o.From, o.To, maxEvents, func(e store.Event) { n++; b.see(e) })
	if err != nil {
		return deed.Report{}, err
	}
	b.Truncated = n == maxEvents
	for _, step := range []func(context.Context) error{b.done, b.failed, b.refusals, func(ctx context.Context) error { return b.waiting(ctx, o.Also) }, b.retries, func(ctx context.Context) error { return b.blind(ctx, o.Sensors) }, func(ctx context.Context) error { return b.cost(ctx, o) }} {
		if err := step(ctx); err != nil {
			return deed.Report{}, err
		}
	}
	b.moved()
	if len(b.More) == 0 {
		b.More = nil
	}
	b.Headline = headline(b.Report)
	return b.Report, nil
}

// A builder is a report while it is made.
type builder struct {
	deed.Report
	st *store.Store

	ended     map[string]bool // tasks whose newest end was seen
	completed []store.Event
	attempts  map[string]bool
	refused   []string // attempts, newest first
	failures  map[string]*failed
	classes   []string // of failures, newest first
	flows     map[string]*deed.ReportWorkflow
	flowOrder []string
	slots     map[string]*deed.ReportSchedule
}

type failed struct {
	tasks []string // newest first, at most maxNamed
	n     int
}

// see takes one event in; they come newest first.
func (b *builder) see(e store.Event) {
	var d struct {
		Status, Class, Name, From, To, Ending, Reason, State string
		Missed                                               int64
		WorkflowID                                           string `json:"workflow_id"`
		WorkflowType                                         string `json:"workflow_type"`
		InstanceKey                                          string `json:"instance_key"`
	}
	if json.Unmarshal(e.Detail, &d) != nil {
		return // the store writes objects; a detail of another form has nothing to count
	}
	switch e.Type {
	case string(agentruntime.EventTaskAttemptFinished):
		b.attempts[e.AttemptID] = true
		b.Totals.Attempts++
		if c := failure.Class(d.Class); c == failure.Rejected || c == failure.Stuck {
			b.Totals.Refused++
			b.refused = append(b.refused, e.AttemptID)
		}
	case string(agentruntime.EventTaskFinished), store.EventTaskOperatorCanceled:
		if !b.ended[e.TaskID] {
			b.ended[e.TaskID] = true
			b.taskEnded(e, agentruntime.TaskStatus(d.Status), d.Class)
		}
	case string(agentruntime.EventScheduleTaskCreated):
		s := b.slot(d.Name)
		s.Ran++
		s.Missed += d.Missed
	case store.EventScheduleSkipped:
		s := b.slot(d.Name)
		s.Skipped++
		s.Missed += d.Missed
	case store.EventMessageDelivered:
		b.Totals.Delivered++
	case store.EventMessageFailed:
		b.Totals.Given++
	case store.EventWorkflowStarted, store.EventWorkflowBlocked, string(agentruntime.EventWorkflowTransitioned), string(agentruntime.EventWorkflowCompleted):
		if d.WorkflowID == "" {
			return
		}
		w := b.flows[d.WorkflowID]
		if w == nil {
			w = &deed.ReportWorkflow{WorkflowID: d.WorkflowID, WorkflowType: d.WorkflowType, InstanceKey: d.InstanceKey, To: d.State}
			b.flows[d.WorkflowID], b.flowOrder = w, append(b.flowOrder, d.WorkflowID)
			if e.Type == store.EventWorkflowBlocked { // the newest event: it is still blocked, or its answer has yet to be looked at
				w.Blocked = cmp.Or(d.Reason, "a person is asked")
			}
		}
		switch e.Type {
		case string(agentruntime.EventWorkflowTransitioned):
			w.Steps++
			w.From = d.From
		case string(agentruntime.EventWorkflowCompleted):
			w.Ending = cmp.Or(w.Ending, d.Ending)
		case store.EventWorkflowStarted:
			w.From = ""
		}
	}
}

func (b *builder) taskEnded(e store.Event, status agentruntime.TaskStatus, class string) {
	switch {
	case e.Type == store.EventTaskOperatorCanceled || status == agentruntime.TaskOperatorCanceled:
		b.Totals.Canceled++
	case status == agentruntime.TaskCompleted:
		b.Totals.Completed++
		if len(b.completed) < maxListed {
			b.completed = append(b.completed, e)
		}
	default:
		b.Totals.Failed++
		class = cmp.Or(class, string(failure.Infra))
		f := b.failures[class]
		if f == nil {
			f = &failed{}
			b.failures[class], b.classes = f, append(b.classes, class)
		}
		if f.n++; len(f.tasks) < maxNamed {
			f.tasks = append(f.tasks, e.TaskID)
		}
	}
}

func (b *builder) slot(name string) *deed.ReportSchedule {
	if b.slots[name] == nil {
		b.slots[name] = &deed.ReportSchedule{Name: cmp.Or(name, "?")}
	}
	return b.slots[name]
}

// cut bounds a list and notes what it lacks.
func cut[T any](b *builder, name string, list []T, all int) []T {
	list = list[:min(len(list), maxListed)]
	if all > len(list) {
		b.More[name] = all - len(list)
	}
	return list
}

// done reads what the completed tasks were about and what proves them.
func (b *builder) done(ctx context.Context) error {
	for _, e := range b.completed {
		d, err := Proof(ctx, b.st, e)
		if errors.Is(err, store.ErrNotFound) {
			continue // an event may name what was removed
		}
		if err != nil {
			return err
		}
		if d.NoOp {
			b.Totals.NoOp++
		}
		b.Done = append(b.Done, d)
	}
	b.Done = cut(b, "done", b.Done, b.Totals.Completed)
	return nil
}

// Proof is what proves a task that an event says is completed.
func Proof(ctx context.Context, st *store.Store, e store.Event) (deed.ReportTask, error) {
	t, err := st.ListedTask(ctx, e.TaskID)
	if err != nil {
		return deed.ReportTask{}, err
	}
	d := deed.ReportTask{
		TaskID: e.TaskID, AttemptID: e.AttemptID, Subject: Subject(t), TaskType: t.Record.TaskType, FinishedAt: string(agentruntime.At(e.At)),
		Command: "deed task show " + e.TaskID,
	}
	if o := t.Record.Outcome; o != nil {
		d.FilesChanged = len(o.FileChanges)
	}
	a, err := st.ListedAttempt(ctx, e.AttemptID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return deed.ReportTask{}, err
	}
	d.BundleID = a.BundleID
	if v, ok := verdictOf(a); ok {
		d.NoOp, d.Grade = v.NoOp, v.Grade
		for _, c := range v.Checks {
			if c.Status == deed.CheckPassed {
				d.ChecksPassed = append(d.ChecksPassed, c.Name)
			}
		}
	}
	return d, nil
}

func verdictOf(a store.Attempt) (v deed.Verdict, ok bool) {
	return v, len(a.Verdict) > 0 && json.Unmarshal(a.Verdict, &v) == nil
}

// Subject is what a task is about, in one line. Where that cannot be read any more it is what is wrong with the task.
func Subject(t store.Task) string {
	text := cmp.Or(strings.TrimSpace(t.Intent.Subject), strings.TrimSpace(t.Intent.Description), t.Damage)
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// failed reads the newest failure of each class.
func (b *builder) failed(ctx context.Context) error {
	for _, class := range b.classes {
		f := b.failures[class]
		out := deed.ReportFailure{Class: class, About: failure.Class(class).Rule().About, Tasks: f.n, TaskIDs: f.tasks}
		t, err := b.st.ListedTask(ctx, f.tasks[0])
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			out.Subject = Subject(t)
			out.LastError, out.Command = next(t)
		}
		b.Failures = append(b.Failures, out)
	}
	slices.SortStableFunc(b.Failures, func(x, y deed.ReportFailure) int { return y.Tasks - x.Tasks })
	b.Failures = cut(b, "failures", b.Failures, len(b.Failures))
	return nil
}

// next is why a task failed, and what to do about it: a task that is running again is only shown.
func next(t store.Task) (why, command string) {
	if t.Record.LastError != nil {
		why = *t.Record.LastError
	}
	if t.Record.Status == agentruntime.TaskPermanentFailure {
		return why, "deed task retry " + t.ID()
	}
	return why, "deed task show " + t.ID()
}

// refusals reads on what grounds the gate did not accept work.
func (b *builder) refusals(ctx context.Context) error {
	at := map[string]int{}
	for _, id := range b.refused[:min(len(b.refused), maxVerdicts)] {
		a, err := b.st.ListedAttempt(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		v, _ := verdictOf(a)
		seen := map[string]bool{}
		for _, r := range v.Reasons {
			if r.Code == "" || seen[r.Code] {
				continue
			}
			seen[r.Code] = true
			i, ok := at[r.Code]
			if !ok {
				i = len(b.Refusals)
				at[r.Code] = i
				b.Refusals = append(b.Refusals, deed.ReportRefusal{Code: r.Code, Message: r.Message, TaskID: a.Record.TaskID, Command: "deed attempt show " + id})
			}
			b.Refusals[i].Attempts++
		}
	}
	if n := len(b.refused) - maxVerdicts; n > 0 {
		b.More["refused_attempts"] = n
	}
	slices.SortStableFunc(b.Refusals, func(x, y deed.ReportRefusal) int { return y.Attempts - x.Attempts })
	b.Refusals = cut(b, "refusals", b.Refusals, len(b.Refusals))
	return nil
}

// retries lists the tasks that failed and will be tried again, as of now. None of them has failed for good or waits for
// a person.
func (b *builder) retries(ctx context.Context) error {
	counts, err := b.st.Counts(ctx)
	if err != nil {
		return err
	}
	list, err := b.st.Tasks(ctx, store.TaskFilter{Status: []agentruntime.TaskStatus{agentruntime.TaskRetryableFailure}, Limit: maxListed})
	if err != nil {
		return err
	}
	for _, t := range list {
		why, command := next(t)
		b.Retries = append(b.Retries, deed.ReportRetry{
			TaskID: t.ID(), Subject: Subject(t), TaskType: t.Record.TaskType, TryAt: string(t.Record.AvailableAt),
			Attempts: t.Record.AttemptCount, MaxAttempts: t.Record.MaxAttempts, LastError: why, Command: command,
		})
	}
	slices.SortStableFunc(b.Retries, func(x, y deed.ReportRetry) int { return strings.Compare(x.TryAt, y.TryAt) })
	b.Totals.Retrying = max(int(counts[agentruntime.TaskRetryableFailure]), len(b.Retries)) // one may come between the two looks
	b.Retries = cut(b, "retries", b.Retries, b.Totals.Retrying)
	return nil
}

// blind lists the sensors that fail, as of now. Until a sensor has failed so long that a person is asked, nothing else reports it.
func (b *builder) blind(ctx context.Context, configured []string) error {
	list, err := b.st.Sensors(ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.Failures > 0 && !x.Disabled && slices.Contains(configured, x.ID) {
			b.Sensors = append(b.Sensors, deed.ReportSensor{
				SensorID: x.ID, Failures: x.Failures, Since: string(agentruntime.At(x.Since)), LastError: x.LastError, Command: "deed sensor show " + x.ID,
			})
		}
	}
	b.Sensors = cut(b, "sensors", b.Sensors, len(b.Sensors))
	return nil
}

// moved lists the workflows and schedules of the span.
func (b *builder) moved() {
	for _, id := range b.flowOrder {
		b.Workflows = append(b.Workflows, *b.flows[id])
	}
	b.Workflows = cut(b, "workflows", b.Workflows, len(b.Workflows))
	for _, s := range b.slots {
		b.Schedules = append(b.Schedules, *s)
	}
	slices.SortFunc(b.Schedules, func(x, y deed.ReportSchedule) int { return strings.Compare(x.Name, y.Name) })
	b.Schedules = cut(b, "schedules", b.Schedules, len(b.Schedules))
}

// cost adds up what the attempts used that ended in the span. Usage is kept by day, so that of an attempt which lasted over midnight the
// day before is read too.
func (b *builder) cost(ctx context.Context, o Options) error {
	var model, profile, adapter store.UsageGroups
	err := b.st.EachUsage(ctx, usage.Day(o.From.AddDate(0, 0, -1)), usage.Day(o.To), func(r store.UsageShare) {
		if !b.attempts[r.AttemptID] {
			return
		}
		model.Add(r.Model, r.UsageRow)
		profile.Add(r.ProfileID, r.UsageRow)
		adapter.Add(r.AdapterID, r.UsageRow)
	})
	if err != nil {
		return err
	}
	b.Cost = deed.ReportCost{Total: totals(model.Total()), ByModel: costLines(model), ByProfile: costLines(profile), ByAdapter: costLines(adapter)}
	b.Cost.ByModel = cut(b, "cost.by_model", b.Cost.ByModel, len(b.Cost.ByModel))
	b.Cost.ByProfile = cut(b, "cost.by_profile", b.Cost.ByProfile, len(b.Cost.ByProfile))
	b.Cost.ByAdapter = cut(b, "cost.by_adapter", b.Cost.ByAdapter, len(b.Cost.ByAdapter))
	return nil
}

func costLines(g store.UsageGroups) []deed.UsageTotals {
	lines := g.Lines()
	slices.SortStableFunc(lines, func(x, y store.UsageGroup) int { return cmp.Compare(y.CountedMicroUSD, x.CountedMicroUSD) })
	var out []deed.UsageTotals
	for _, l := range lines {
		out = append(out, totals(l))
	}
	return out
}

func totals(g store.UsageGroup) deed.UsageTotals {
	return deed.UsageTotals{
		Key: g.Key, Attempts: g.Attempts, Turns: g.Turns, InputTokens: g.InputTokens, OutputTokens: g.OutputTokens,
		CostMicroUSD: g.CountedMicroUSD, UnpricedTokens: g.UnpricedTokens, AgentMS: g.AgentMS,
	}
}

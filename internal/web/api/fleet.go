package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/agent/usage"
	"github.com/deedrun/deed/internal/engine/report"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

type outboxQuery struct {
	State  string `query:"state" enum:"pending,held,failed,dropped,delivered" doc:"only those in this state; absent: all but the delivered ones"`
	Task   string `query:"task" doc:"only those of this task, delivered ones too"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"500" doc:"at most so many"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

type runQuery struct {
	Status []string `query:"status" enum:"queued,booting,running,collecting_artifacts,succeeded,failed,timed_out,cancelled" doc:"only these states"`
	Task   string   `query:"task" doc:"only those of this task"`
	Limit  int      `query:"limit" default:"50" min:"1" max:"500" doc:"at most so many"`
	Cursor string   `query:"cursor" doc:"next_cursor of the page before"`
}

type usageQuery struct {
	Days int    `query:"days" default:"1" min:"1" max:"3660" doc:"so many days, the last one included"`
	To   string `query:"to" doc:"the last day, as 2006-01-02 in UTC; absent: today"`
	By   string `query:"by" enum:"adapter,agent,day,kind,model,profile,task,type" doc:"add up by this"`
}

type reportQuery struct {
	From string `query:"from" format:"date-time" doc:"absent: a day before to"`
	To   string `query:"to" format:"date-time" doc:"absent: now"`
}

type schemaPath struct {
	ID string `path:"id" doc:"the schema's id, such as agent-runtime/task.record/v1"`
}

// Usage is what agents used. Money is in millionths of a dollar.
type Usage struct {
	Schema string                    `json:"schema"`
	From   string                    `json:"from"`
	To     string                    `json:"to"`
	By     string                    `json:"by,omitempty"`
	Lines  []store.UsageLine         `json:"lines,omitempty"`
	Days   map[string]store.UsageSum `json:"days,omitempty"`
	Groups []store.UsageGroup        `json:"groups,omitempty"`
	Total  store.UsageSum            `json:"total"`
	Prices string                    `json:"price_table"`

	Attempts int `json:"attempts"` // in the total: one that used two models is in two lines
}

// TaskUsage is what a task used, by attempt.
type TaskUsage struct {
	Schema string           `json:"schema"`
	TaskID string           `json:"task_id"`
	Rows   []store.UsageRow `json:"rows"`
	Prices string           `json:"price_table"`
}

// Runners is the list of processes that claim tasks.
type Runners struct {
	Schema string        `json:"schema"`
	Items  []view.Runner `json:"items"`
}

// Package is a runtime package.
type Package struct {
	ID        string               `json:"id"`
	Name      string               `json:"name,omitempty"`
	Version   string               `json:"version,omitempty"`
	About     string               `json:"description,omitempty"`
	From      string               `json:"from"`
	Path      string               `json:"path"`
	Providers []PackageProvider    `json:"providers"`
	Findings  []runtimepkg.Finding `json:"findings"`
}

// PackageProvider is a provider of a package.
type PackageProvider struct {
	ID      string `json:"id"`
	Label   string `json:"label,omitempty"`
	Backend string `json:"backend"`
	Status  string `json:"status,omitempty"`
}

// Packages are the runtime packages, and what is wrong with others.
type Packages struct {
	Schema   string               `json:"schema"`
	Items    []Package            `json:"items"`
	Problems []runtimepkg.Problem `json:"problems"`
}

// Schemas are the ids of the published schemas.
type Schemas struct {
	Schema string   `json:"schema"`
	IDs    []string `json:"ids"`
}

// Paused says whether dispatch claims tasks.
type Paused struct {
	Schema string                 `json:"schema"`
	Paused bool                   `json:"paused"`
	Reason string                 `json:"reason,omitempty"`
	By     string                 `json:"by,omitempty"`
	Since  agentruntime.Timestamp `json:"since,omitempty"`
}

func (a *API) fleet() {
	get(a, "/outbox", about{id: "listOutbox", tag: "outbox", summary: "List what waits to be delivered, is held, or was given up, newest first", need: access.Read}, a.listOutbox)
	get(a, "/outbox/{id}", about{id: "getOutboxItem", tag: "outbox", summary: "Show one item with its text and what became of it", need: access.Read}, a.getOutbox)
	change := func(verb, id, summary string, fn func(ctx context.Context, id, reason string) error) {
		post(a, "/outbox/{id}/"+verb, about{id: id, tag: "outbox", summary: summary, need: access.Operate, of: "getOutboxItem", optional: true, conflicts: true},
			func(ctx context.Context, in one, b Reason) (view.OutboxItem, error) {
				o, err := a.Store.OutboxItem(ctx, in.ID)
				if err != nil {
					return view.OutboxItem{}, err
				}
				if err := fn(ctx, o.ID, b.Reason); err != nil {
					return view.OutboxItem{}, err
				}
				a.changed()
				return a.getOutbox(ctx, one{ID: o.ID})
			})
	}
	change("retry", "retryOutboxItem", "Deliver an item now that was given up, waits, or is held", func(ctx context.Context, id, _ string) error {
		return a.Store.OutboxRetry(ctx, id, by(ctx))
	})
	change("drop", "dropOutboxItem", "Give an item up for good; what it was is kept", func(ctx context.Context, id, reason string) error {
		return a.Store.OutboxDrop(ctx, id, reason, by(ctx))
	})
	get(a, "/usage", about{id: "getUsage", tag: "usage", summary: "Show tokens, money, turns and time, by day and model or by another thing", need: access.Read}, a.getUsage)
	get(a, "/tasks/{id}/usage", about{id: "getTaskUsage", tag: "usage", summary: "Show what a task used, by attempt", need: access.Read}, a.getTaskUsage)
	get(a, "/runs", about{id: "listRuns", tag: "runs", summary: "List runs, newest first", need: access.Read}, a.listRuns)
	get(a, "/runs/{id}", about{id: "getRun", tag: "runs", summary: "Show a run", need: access.Read}, func(ctx context.Context, in one) (evidence.RunRegistryEntry, error) {
		r, err := a.Store.Run(ctx, in.ID)
		if err != nil {
			return evidence.RunRegistryEntry{}, err
		}
		gone, err := a.View.GoneRuns(ctx, r)
		return view.RunRecord(r, gone), err
	})
	post(a, "/runs/{id}/cancel", about{id: "cancelRun", tag: "runs", summary: "Ask the owner of a run to end it", need: access.Operate, of: "getRun", optional: true, conflicts: true},
		func(ctx context.Context, in one, b Reason) (evidence.RunCancellationRequest, error) {
			r, err := a.Store.Run(ctx, in.ID)
			if err != nil {
				return evidence.RunCancellationRequest{}, err
			}
			out, err := a.Store.CancelRun(ctx, r.ID(), b.Reason)
			a.changed()
			return out, err
		})
	get(a, "/runners", about{id: "listRunners", tag: "fleet", summary: "List the processes that claim tasks", need: access.Read}, func(ctx context.Context, _ none) (Runners, error) {
		h, err := a.View.Home(ctx)
		if h.Runners == nil {
			h.Runners = []view.Runner{}
		}
		return Runners{Schema: "deed/runners/v1", Items: h.Runners}, err
	})
	get(a, "/packages", about{id: "listPackages", tag: "fleet", summary: "List the runtime packages of this home, and what is wrong with others", need: access.Read}, a.listPackages)
	get(a, "/schemas", about{id: "listSchemas", tag: "meta", summary: "List the published schemas", need: access.Read}, func(context.Context, none) (Schemas, error) {
		return Schemas{Schema: "deed/schemas/v1", IDs: schema.IDs()}, nil
	})
	raw(a, http.MethodGet, "/schemas/{id...}", about{id: "getSchema", tag: "meta", summary: "Read a published JSON Schema", need: access.Read, media: "application/schema+json"},
		func(_ context.Context, w http.ResponseWriter, r *http.Request, in schemaPath) error {
			text, ok := schema.Get(in.ID)
			if !ok {
				return notFound("no schema has this id; /api/v1/schemas lists them")
			}
			return a.writeBytes(w, r, http.StatusOK, "application/schema+json", text)
		})
	get(a, "/snapshot", about{id: "getSnapshot", tag: "home", summary: "How this home stands now, as one document to keep and compare", need: access.Read}, func(ctx context.Context, _ none) (deed.Snapshot, error) {
		return report.Take(ctx, a.Store, a.Clock(), a.Version)
	})
	get(a, "/report", about{id: "getReport", tag: "home", summary: "What happened in a span of time, and what waits for you", need: access.Read}, a.getReport)
	get(a, "/dispatch", about{id: "getDispatch", tag: "fleet", summary: "Show whether dispatch claims tasks", need: access.Read}, a.getPaused)
	post(a, "/dispatch/pause", about{id: "pauseDispatch", tag: "fleet", summary: "Stop claiming tasks; running ones go on", need: access.Admin, of: "getDispatch", optional: true, repeatable: true}, func(ctx context.Context, _ none, b Reason) (Paused, error) {
		if err := a.Store.Pause(ctx, b.Reason, by(ctx)); err != nil {
			return Paused{}, err
		}
		a.changed()
		return a.getPaused(ctx, none{})
	})
	post(a, "/dispatch/resume", about{id: "resumeDispatch", tag: "fleet", summary: "Claim tasks again after a pause", need: access.Admin, of: "getDispatch", repeatable: true}, func(ctx context.Context, _, _ none) (Paused, error) {
		if err := a.Store.Resume(ctx, by(ctx)); err != nil {
			return Paused{}, err
		}
		a.changed()
		return a.getPaused(ctx, none{})
	})
}

func (a *API) getPaused(ctx context.Context, _ none) (Paused, error) {
	p, on, err := a.Store.Paused(ctx)
	out := Paused{Schema: "deed/dispatch/v1", Paused: on}
	if on {
		out.Reason, out.By, out.Since = p.Reason, p.By, agentruntime.At(p.At)
	}
	return out, err
}

func (a *API) getOutbox(ctx context.Context, in one) (view.OutboxItem, error) {
	o, err := a.Store.OutboxItem(ctx, in.ID)
	return view.OutboxOf(o), err
}

func (a *API) listOutbox(ctx context.Context, in outboxQuery) (Page[view.OutboxItem], error) {
	id, err := a.taskID(ctx, in.Task)
	if err != nil {
		return Page[view.OutboxItem]{}, err
	}
	digest := filterDigest(in.State, id)
	before, err := readCursor(in.Cursor, "outbox", digest)
	if err != nil {
		return Page[view.OutboxItem]{}, err
	}
	found, err := a.Store.Outbox(ctx, store.OutboxFilter{State: in.State, TaskID: id, Limit: in.Limit + 1, Before: before})
	if err != nil {
		return Page[view.OutboxItem]{}, gone(before, err)
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return pageOf("deed/outbox/v1", "outbox", digest, in.Limit, found, func(o store.OutboxItem) string { return o.ID }, view.OutboxOf), nil
}

func (a *API) listRuns(ctx context.Context, in runQuery) (Page[evidence.RunRegistryEntry], error) {
	id, err := a.taskID(ctx, in.Task)
	if err != nil {
		return Page[evidence.RunRegistryEntry]{}, err
	}
	digest := filterDigest(in.Status, id)
	before, err := readCursor(in.Cursor, "runs", digest)
	if err != nil {
		return Page[evidence.RunRegistryEntry]{}, err
	}
	f := store.RunFilter{TaskID: id, Limit: in.Limit + 1, Before: before}
	for _, s := range in.Status {
		f.Status = append(f.Status, evidence.RunStatus(s))
	}
	found, err := a.Store.Runs(ctx, f)
	if err != nil {
		return Page[evidence.RunRegistryEntry]{}, gone(before, err)
	}
	lost, err := a.View.GoneRuns(ctx, found...)
	return pageOf("deed/runs/v1", "runs", digest, in.Limit, found, store.Run.ID, func(r store.Run) evidence.RunRegistryEntry { return view.RunRecord(r, lost) }), err
}

func (a *API) getUsage(ctx context.Context, in usageQuery) (Usage, error) {
	to := a.Clock()
	if in.To != "" {
		var err error
		if to, err = time.Parse(time.DateOnly, in.To); err != nil {
			return Usage{}, httperror.New(http.StatusBadRequest, "invalid_parameter", "query.to is not a day such as 2026-01-31")
		}
	}
	out := Usage{Schema: "deed/usage/v1", From: usage.Day(to.AddDate(0, 0, 1-in.Days)), To: usage.Day(to), By: in.By, Prices: usage.TableVersion()}
	if in.By == "" {
		r, err := a.Store.UsageByModel(ctx, out.From, out.To)
		out.Lines, out.Days, out.Total, out.Attempts = r.Lines, r.Days, r.Total, r.Attempts
		return out, err
	}
	var g store.UsageGroups
	key := usage.Keys[in.By]
	err := a.Store.EachUsage(ctx, out.From, out.To, func(r store.UsageShare) { g.Add(key(r), r.UsageRow) })
	total := g.Total()
	out.Groups, out.Total, out.Attempts = g.Lines(), total.UsageSum, total.Attempts
	return out, err
}

func (a *API) getTaskUsage(ctx context.Context, in one) (TaskUsage, error) {
	t, err := a.Store.Task(ctx, in.ID)
	if err != nil {
		return TaskUsage{}, err
	}
	rows, err := a.Store.UsageOfTask(ctx, t.ID())
	if rows == nil {
		rows = []store.UsageRow{}
	}
	return TaskUsage{Schema: "deed/task.usage/v1", TaskID: t.ID(), Rows: rows, Prices: usage.TableVersion()}, err
}

func (a *API) getReport(ctx context.Context, in reportQuery) (deed.Report, error) {
	now := a.Clock()
	to := now
	if in.To != "" {
		to = at(in.To)
	}
	from := to.Add(-24 * time.Hour)
	if in.From != "" {
		from = at(in.From)
	}
	if !from.Before(to) {
		return deed.Report{}, httperror.New(http.StatusBadRequest, "invalid_parameter", "query.from is not before query.to")
	}
	return report.Make(ctx, a.Store, report.Options{From: from, To: to, Now: now, Sensors: slices.Collect(maps.Keys(a.Config.Sensors))})
}

func (a *API) listPackages(context.Context, none) (Packages, error) {
	c, err := runtimepkg.Find(runtimepkg.PlacesOf(a.Home, "", a.Config.Runtimes.Dirs...))
	if err != nil {
		return Packages{}, err
	}
	out := Packages{Schema: "deed/packages/v1", Items: []Package{}, Problems: append([]runtimepkg.Problem{}, c.Problems...)}
	for _, p := range c.Packages {
		m := p.Manifest
		x := Package{ID: p.ID, Name: m.Name, Version: m.Version, About: m.Description, From: p.From, Path: p.Path, Providers: []PackageProvider{}, Findings: append([]runtimepkg.Finding{}, p.Findings...)}
		if x.Name == "" {
			x.Name = m.Label
		}
		for _, e := range m.AgentTaskExecutors {
			x.Providers = append(x.Providers, PackageProvider{ID: e.ID, Label: e.Label, Backend: e.Backend, Status: e.Status})
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}

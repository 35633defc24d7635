package fanout

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// A TaskRequest is one planned task as a provider command reads it.
type TaskRequest struct {
	ID       string
	Request  homeboy.Request
	Warnings []homeboy.Warning // the liberties that reading it took
}

// Defaults are what a caller gives to tasks that do not say it themselves.
type Defaults struct {
	Executor     homeboy.Executor // its members one by one; there is no default backend
	Instructions string
}

// Requests returns every task of a plan as a whole request, in the order of the plan. What the template rendered is the
// request; task_id is the task's name, and parent_plan_id comes from the orchestrator. A runtime_execution that names a
// backend is the executor of a task that has none; one that does not stays a member of the request. Every fault of every
// task is returned at once, below $.task_requests, and then there is no request at all.
func Requests(p homeboy.FanoutPlan, d Defaults) ([]TaskRequest, error) {
	if err := Check(p); err != nil {
		return nil, err
	}
	var l fault.List
	out := make([]TaskRequest, len(p.TaskRequests))
	for i, t := range p.TaskRequests {
		q, warnings, err := request(t, d)
		if err == nil {
			err = q.Validate()
		}
		l.Within(fault.Index("$.task_requests", i), err)
		out[i] = TaskRequest{ID: t.Name(), Request: q, Warnings: warnings}
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

func request(t homeboy.FanoutTask, d Defaults) (homeboy.Request, []homeboy.Warning, error) {
	o := map[string]homeboy.Value{}
	maps.Copy(o, t.Extra)
	delete(o, "depends_on") // it is for the process that runs the plan
	o["task_id"], o["group_key"] = quote(t.Name()), quote(t.GroupKey)
	o["schema"] = quote(homeboy.SchemaRequest) // a template may carry the schema of something else
	if plan := text(t.Orchestrator["plan_id"]); plan != "" && o["parent_plan_id"].Null() {
		o["parent_plan_id"] = quote(plan)
	}
	place(o, "orchestrator", t.Orchestrator)
	if text(t.RuntimeExecution["backend"]) != "" && o["executor"].Null() {
		place(o, "executor", t.RuntimeExecution)
	} else {
		place(o, "runtime_execution", t.RuntimeExecution)
	}
	q, warnings, err := homeboy.ReadRequest(values(o).at(nil))
	if err != nil {
		return homeboy.Request{}, nil, err
	}
	d.fill(&q)
	return q, warnings, nil
}

// place sets a member that says something.
func place(o map[string]homeboy.Value, name string, v map[string]homeboy.Value) {
	if len(v) == 0 {
		return
	}
	if raw, err := json.Marshal(v); err == nil { // of values that were read as JSON: there is no other case
		o[name] = raw
	}
}

// fill gives a request what it does not say.
func (d Defaults) fill(q *homeboy.Request) {
	q.Instructions = or(q.Instructions, d.Instructions)
	e := &q.Executor
	e.Backend = or(e.Backend, d.Executor.Backend)
	e.Selector = or(e.Selector, d.Executor.Selector)
	e.Runtime = or(e.Runtime, d.Executor.Runtime)
	e.Model = or(e.Model, d.Executor.Model)
	for _, c := range d.Executor.RequiredCapabilities {
		if !slices.Contains(e.RequiredCapabilities, c) {
			e.RequiredCapabilities = append(e.RequiredCapabilities, c)
		}
	}
	for _, name := range d.Executor.SecretEnv {
		if !slices.Contains(e.SecretEnv, name) {
			e.SecretEnv = append(e.SecretEnv, name)
		}
	}
	for name, v := range d.Executor.Config {
		if _, there := e.Config[name]; !there {
			e.Config[name] = v
		}
	}
}

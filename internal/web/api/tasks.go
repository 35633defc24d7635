package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// one is the input of an operation about one thing.
type one struct {
	ID string `path:"id" doc:"its id, or an unambiguous beginning of it of at least six characters"`
}

type taskQuery struct {
	Status []string `query:"status" enum:"pending,running,completed,retryable_failure,permanent_failure,blocked,operator_canceled" doc:"only these states"`
	Type   string   `query:"type" doc:"only this task type"`
	Limit  int      `query:"limit" default:"50" min:"1" max:"500" doc:"at most so many"`
	Cursor string   `query:"cursor" doc:"next_cursor of the page before"`
}

// NewTasks is what is added: one intent, or several, all or none.
type NewTasks struct {
	Tasks []agentruntime.TaskIntent `json:"tasks" jsonschema:"minItems=1"`
}

// AddedTask is what became of an intent.
type AddedTask struct {
	TaskID  string `json:"task_id"`
	Deduped bool   `json:"deduped"`
}

// AddedTasks is what became of the intents, in their order.
type AddedTasks struct {
	Schema string      `json:"schema"`
	Tasks  []AddedTask `json:"tasks"`
}

// Reason says why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty" jsonschema:"maxLength=4096"`
}

// TaskState is where a task stands after it was steered.
type TaskState struct {
	Schema    string                  `json:"schema"`
	TaskID    string                  `json:"task_id"`
	Status    agentruntime.TaskStatus `json:"status"`
	Requested bool                    `json:"requested,omitempty"` // a running attempt was asked to stop and has yet to obey
}

// BudgetChange names the bounds that change; those that are left out stay, and 0 leaves a bound to the configured budget.
type BudgetChange struct {
	CostUSD     *float64 `json:"cost_usd,omitempty"`
	Tokens      *int64   `json:"tokens,omitempty"`
	Turns       *int     `json:"turns,omitempty"`
	ToolCalls   *int     `json:"tool_calls,omitempty"`
	WallSeconds *int64   `json:"wall_seconds,omitempty"`
}

// BudgetSet is the budget of a task after a change.
type BudgetSet struct {
	Schema   string                  `json:"schema"`
	TaskID   string                  `json:"task_id"`
	Status   agentruntime.TaskStatus `json:"status"`
	Previous deed.Budget             `json:"previous"`
	Budget   deed.Budget             `json:"budget"`
	Answered int                     `json:"answered"` // required actions that the change answered
}

const maxIntents = 1000 // of one request: they are one transaction

func (a *API) tasks() {
	get(a, "/tasks", about{id: "listTasks", tag: "tasks", summary: "List tasks, newest first", need: access.Read, position: true}, a.listTasks)
	get(a, "/tasks/{id}", about{id: "getTask", tag: "tasks", summary: "Show a task with everything that is known of it", need: access.Read, position: true}, a.getTask)
	get(a, "/tasks/{id}/record", about{id: "getTaskRecord", tag: "tasks", summary: "Show the record of a task alone; its entity tag is what If-Match of a write on the task takes", need: access.Read}, a.getTaskRecord)
	get(a, "/home", about{id: "getHome", tag: "home", summary: "How the home stands now: what runs, waits, was accepted and was refused", need: access.Read, position: true},
		func(ctx context.Context, _ none) (view.Home, error) { return a.View.Home(ctx) })
	get(a, "/counts", about{id: "getCounts", tag: "tasks", summary: "Count the tasks in each state", need: access.Read, position: true}, a.getCounts)
	post(a, "/tasks", about{
		id: "addTasks", tag: "tasks", summary: "Queue tasks, all or none", need: access.Operate, status: http.StatusCreated, repeatable: true, maxBody: 16 << 20, conflicts: true,
		detail: "An intent may name its own dedupe key. One with an Idempotency-Key is queued once even when deed was killed while it answered.",
	}, a.addTasks)
	steer := func(verb, id, summary string, fn func(context.Context, store.Task, Reason) (TaskState, error)) {
		post(a, "/tasks/{id}/"+verb, about{id: id, tag: "tasks", summary: summary, need: access.Operate, of: "getTaskRecord", optional: true, conflicts: true},
			func(ctx context.Context, in one, body Reason) (TaskState, error) {
				t, err := a.Store.Task(ctx, in.ID)
				if err != nil {
					return TaskState{}, err
				}
				out, err := fn(ctx, t, body)
				if err != nil {
					return TaskState{}, err
				}
				a.changed()
				out.Schema, out.TaskID = "deed/task.state/v1", t.ID()
				return out, nil
			})
	}
	steer("cancel", "cancelTask", "Cancel a task; a running one is stopped", func(ctx context.Context, t store.Task, r Reason) (TaskState, error) {
		res, err := a.Store.Cancel(ctx, t.ID(), r.Reason, by(ctx))
		return TaskState{Status: res.Status, Requested: res.Requested}, err
	})
	steer("retry", "retryTask", "Give a failed, cancelled or waiting task another attempt now", func(ctx context.Context, t store.Task, r Reason) (TaskState, error) {
		return TaskState{Status: agentruntime.TaskPending}, a.Store.Retry(ctx, t.ID(), r.Reason, by(ctx))
	})
	steer("resume", "resumeTask", "Let a task that waits go on now; a dispatcher takes it", a.resumeTask)
	post(a, "/tasks/{id}/budget", about{id: "setTaskBudget", tag: "tasks", summary: "Give a task another budget; one that waits for that goes on", need: access.Operate, of: "getTaskRecord", repeatable: true, conflicts: true}, a.setBudget)
}

func (a *API) listTasks(ctx context.Context, in taskQuery) (Page[agentruntime.TaskRecord], error) {
	digest := filterDigest(in.Status, in.Type)
	before, err := readCursor(in.Cursor, "tasks", digest)
	if err != nil {
		return Page[agentruntime.TaskRecord]{}, err
	}
	f := store.TaskFilter{Type: in.Type, Limit: in.Limit + 1, Before: before}
	for _, s := range in.Status {
		f.Status = append(f.Status, agentruntime.TaskStatus(s))
	}
	found, err := a.Store.Tasks(ctx, f)
	if err != nil {
		return Page[agentruntime.TaskRecord]{}, gone(before, err)
	}
	return pageOf("deed/tasks/v1", "tasks", digest, in.Limit, found, store.Task.ID, func(t store.Task) agentruntime.TaskRecord { return t.Record }), nil
}

func (a *API) getTask(ctx context.Context, in one) (view.Task, error) { return a.View.Task(ctx, in.ID) }

func (a *API) getTaskRecord(ctx context.Context, in one) (agentruntime.TaskRecord, error) {
	t, err := a.Store.Task(ctx, in.ID)
	return t.Record, err
}

// Counts is how many tasks there are in each state.
type Counts struct {
	Schema string           `json:"schema"`
	Tasks  map[string]int64 `json:"tasks"`
}

func (a *API) getCounts(ctx context.Context, _ none) (Counts, error) {
	n, err := a.Store.Counts(ctx)
	out := Counts{Schema: "deed/counts/v1", Tasks: map[string]int64{}}
	for _, s := range agentruntime.TaskStatuses {
		out.Tasks[string(s)] = n[s]
	}
	return out, err
}

// trusted reports whether the caller may ask for what an operator at the command line may: secrets, directories of the machine,
// checks and adapters of its own. A token that only operates may not.
func trusted(ctx context.Context) bool {
	p := access.From(ctx)
	return p.How == access.BySocket || p.May(access.Admin)
}

func (a *API) addTasks(ctx context.Context, _ none, body NewTasks) (AddedTasks, error) {
	if len(body.Tasks) == 0 || len(body.Tasks) > maxIntents {
		return AddedTasks{}, invalid("$.tasks", fault.OutOfRange, fmt.Sprintf("%d tasks are not between 1 and %d", len(body.Tasks), maxIntents), "send them in several requests")
	}
	caller := task.Caller{Trusted: trusted(ctx)}
	own := make([]bool, len(body.Tasks))
	var faults fault.List
	for i := range body.Tasks {
		in := &body.Tasks[i]
		place := "$.tasks[" + strconv.Itoa(i) + "]"
		faults.Within(place, task.RefuseSecrets(*in, a.Getenv))
		if _, err := a.Admission.Prepare(*in, caller); err != nil {
			faults.Within(place, err)
		}
		own[i] = a.onceByKey(ctx, in, i)
	}
	if err := faults.Err(); err != nil {
		return AddedTasks{}, err
	}
	added, err := a.Admission.Add(ctx, caller, body.Tasks...)
	if err != nil {
		return AddedTasks{}, err
	}
	a.changed()
	out := AddedTasks{Schema: "deed/tasks.added/v1", Tasks: make([]AddedTask, len(added))}
	for i, e := range added {
		// A task that an earlier, cut short request with the same key queued is this request's own.
		out.Tasks[i] = AddedTask{TaskID: e.TaskID, Deduped: e.Deduped && !own[i]}
	}
	return out, nil
}

// onceByKey gives an intent a dedupe key made of the request's idempotency key, so that the store itself queues it once. It reports
// whether it did: an intent with a key of its own is safe by that.
func (a *API) onceByKey(ctx context.Context, in *agentruntime.TaskIntent, i int) bool {
	key := keyOf(ctx)
	if key == "" || (in.Deed != nil && in.Deed.DedupeKey != "") {
		return false
	}
	var spec deed.TaskSpec
	if in.Deed != nil {
		spec = *in.Deed
	}
	spec.DedupeKey, spec.DedupeWindowSeconds = fmt.Sprintf("api/%s/%d", key, i), int64(keyKeep.Seconds())
	in.Deed = &spec
	return true
}

func (a *API) resumeTask(ctx context.Context, t store.Task, _ Reason) (TaskState, error) {
	if err := task.Resumable(ctx, a.Store, t); err != nil {
		return TaskState{}, err
	}
	if t.Record.Status == agentruntime.TaskRetryableFailure {
		if err := a.Store.Retry(ctx, t.ID(), "resumed", by(ctx)); err != nil {
			return TaskState{}, err
		}
	}
	t, err := a.Store.Task(ctx, t.ID())
	return TaskState{Status: t.Record.Status}, err
}

func (a *API) setBudget(ctx context.Context, in one, b BudgetChange) (BudgetSet, error) {
	if b == (BudgetChange{}) {
		return BudgetSet{}, invalid("$", fault.MissingField, "no bound is named", "name cost_usd, tokens, turns, tool_calls or wall_seconds")
	}
	t, err := a.Store.Task(ctx, in.ID)
	if err != nil {
		return BudgetSet{}, err
	}
	res, err := a.Desk.Budget(ctx, t, by(ctx), func(now deed.Budget) deed.Budget {
		replace(&now.CostUSD, b.CostUSD)
		replace(&now.Tokens, b.Tokens)
		replace(&now.Turns, b.Turns)
		replace(&now.ToolCalls, b.ToolCalls)
		replace(&now.WallSeconds, b.WallSeconds)
		return now
	})
	if err != nil {
		return BudgetSet{}, err
	}
	a.changed()
	return BudgetSet{Schema: "deed/task.budget/v1", TaskID: t.ID(), Status: res.Status, Previous: res.Previous, Budget: res.Budget, Answered: len(res.Answered)}, nil
}

func replace[T any](to, with *T) {
	if with != nil {
		*to = *with
	}
}

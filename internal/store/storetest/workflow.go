package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// flow is a workflow whose first state makes a task.
func flow(key string, change ...func(*store.NewWorkflow)) store.NewWorkflow {
	first := visitOf(key, 1)
	n := store.NewWorkflow{
		Type: "loop", InstanceKey: key, Definition: json.RawMessage(`{"workflow_type":"loop"}`), Hash: "h1", State: "work",
		Context: json.RawMessage(`{"n": 1.10}`), Options: json.RawMessage(`{"o":1}`), Progress: json.RawMessage(`{"visits":{"work":1}}`),
		Cause: store.CauseStart, By: "me", Task: &first,
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func visitOf(key string, n int) store.NewTask {
	return task(fmt.Sprintf("%s/%d", key, n), func(t *store.NewTask) { t.DedupeKey = fmt.Sprintf("workflow/%s/%d", key, n) })
}

func waits(n *store.NewWorkflow) {
	n.Task, n.Action = nil, &store.NewAction{Kind: "workflow", Prompt: "which?"}
}

func (b *bench) start(n store.NewWorkflow) store.Workflow {
	b.Helper()
	out, err := b.s.StartWorkflow(b.ctx, n)
	b.ok(err)
	if out.Deduped {
		b.Fatalf("%s was started before", n.InstanceKey)
	}
	return b.workflow(out.WorkflowID)
}

func (b *bench) workflow(id string) store.Workflow {
	b.Helper()
	w, err := b.s.Workflow(b.ctx, id)
	b.ok(err)
	return w
}

// due lists the ids of the workflows that the engine has to look at.
func (b *bench) due() []string {
	b.Helper()
	list, err := b.s.WorkflowsDue(b.ctx, 100)
	b.ok(err)
	var out []string
	for _, w := range list {
		out = append(out, w.ID())
	}
	_, any, err := b.s.NextWorkflow(b.ctx)
	b.ok(err)
	if any != (len(out) > 0) {
		b.Fatalf("%d are due, and NextWorkflow says %v", len(out), any)
	}
	return out
}

// moveTo moves a workflow to a state with a task.
func moveTo(w store.Workflow, to string) store.WorkflowMove {
	t := visitOf(w.Record.InstanceKey, w.Visit+1)
	return store.WorkflowMove{
		WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowActive, Task: &t, Iteration: 2,
		Step: &store.Step{To: to, Signal: "go", Cause: store.CauseTask, CauseTask: w.TaskID, Note: "n"},
	}
}

func stuck(w store.Workflow) store.WorkflowMove {
	return store.WorkflowMove{
		WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowBlocked, Reason: "no signal",
		Action: &store.NewAction{Kind: "workflow", Prompt: "what now?"},
	}
}

func ended(w store.Workflow) store.WorkflowMove {
	return store.WorkflowMove{
		WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowCompleted, Ending: store.EndCompleted,
		Step: &store.Step{To: "end", Signal: "done", Cause: store.CauseTask, CauseTask: w.TaskID},
	}
}

// A workflow is recorded whole, its task knows it, and everything of a step is there after it.
func workflowSteps(t *testing.T, target Target) {
	b := setup(t, target)
	w := b.start(flow("k"))
	if w.Record.Status != agentruntime.WorkflowActive || w.Record.CurrentState != "work" || w.Visit != 1 || w.Iteration != 1 || w.Definition != "h1" ||
		string(w.Record.Context) != `{"n": 1.10}` || string(w.Options) != `{"o":1}` || w.TaskID == "" || w.StartedBy != "me" || !w.DueAt.IsZero() {
		t.Fatalf("started as %+v", w)
	}
	b.ok(w.Record.Validate())
	if body, err := b.s.WorkflowDefinition(b.ctx, "h1"); err != nil || string(body) != `{"workflow_type":"loop"}` {
		t.Fatalf("definition %s, %v", body, err)
	}
	if got := b.task(w.TaskID); got.WorkflowID != w.ID() || got.DedupeKey != "workflow/k/1" {
		t.Fatalf("task %+v", got)
	}
	b.same(b.types(w.TaskID), []string{"task_enqueued", "workflow_task_created"})
	b.audit()
	if len(b.due()) != 0 {
		t.Fatal("a workflow is due that only waits")
	}

	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	b.same(b.due(), []string{w.ID()})
	b.audit()
	first := w.TaskID
	w = b.workflow(w.ID())
	next, err := b.s.MoveWorkflow(b.ctx, moveTo(w, "look"))
	b.ok(err)
	w = b.workflow(w.ID())
	if w.TaskID != next || next == first || w.Record.CurrentState != "look" || w.Visit != 2 || w.Iteration != 2 || !w.DueAt.IsZero() {
		t.Fatalf("moved to %+v", w)
	}
	if types := b.types(first); !slices.Contains(types, "workflow_transitioned") {
		t.Fatalf("events of the cause: %v", types)
	}
	steps, err := b.s.Transitions(b.ctx, w.ID(), 0)
	b.ok(err)
	at := b.clock.Now()
	b.same(steps, []store.Transition{
		{Seq: 1, To: "work", Cause: "start", By: "me", TaskID: first, Iteration: 1, At: at},
		{Seq: 2, From: "work", To: "look", Signal: "go", Cause: "task", CauseTask: first, TaskID: next, Iteration: 2, Note: "n", At: at},
	})
	visits, err := b.s.Visits(b.ctx, w.ID())
	b.ok(err)
	if len(visits) != 2 || visits[0].Status != agentruntime.TaskCompleted || visits[0].Outcome == nil || visits[0].AttemptID != c.Ref.AttemptID || visits[1].State != "look" || visits[1].Outcome != nil {
		t.Fatalf("visits %+v", visits)
	}

	c = b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	_, err = b.s.MoveWorkflow(b.ctx, ended(b.workflow(w.ID())))
	b.ok(err)
	w = b.workflow(w.ID())
	if w.Live() || w.Ending != store.EndCompleted || w.Record.CompletedAt == nil || w.TaskID != "" {
		t.Fatalf("ended as %+v", w)
	}
	b.ok(w.Record.Validate())
	b.audit()
	var illegal *state.IllegalError
	if _, err := b.s.MoveWorkflow(b.ctx, stuck(w)); !errors.As(err, &illegal) {
		t.Fatalf("an ended workflow moved: %v", err)
	}
}

// A step that was decided on an older state of the workflow changes nothing, however often it comes.
func workflowOnce(t *testing.T, target Target) {
	b := setup(t, target)
	w := b.start(flow("k"))
	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	old := w
	_, err := b.s.MoveWorkflow(b.ctx, moveTo(old, "early")) // decided before the settlement
	b.is(err, store.ErrStale)
	w = b.workflow(w.ID())
	var wins atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch _, err := b.s.MoveWorkflow(b.ctx, moveTo(w, "look")); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, store.ErrStale):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	steps, err := b.s.Transitions(b.ctx, w.ID(), 0)
	b.ok(err)
	n, err := b.s.Counts(b.ctx)
	b.ok(err)
	if wins.Load() != 1 || len(steps) != 2 || n[agentruntime.TaskPending] != 1 {
		t.Fatalf("%d of 8 equal steps were taken, %d transitions, %v", wins.Load(), len(steps), n)
	}
	b.audit()
}

// While an instance with a key lives there is no second one; when it has ended there may be.
func workflowKeys(t *testing.T, target Target) {
	b := setup(t, target)
	var wg sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		wg.Go(func() {
			out, err := b.s.StartWorkflow(b.ctx, flow("k"))
			if err != nil {
				t.Error(err)
			}
			if !out.Deduped {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if n, err := b.s.Counts(b.ctx); made.Load() != 1 || err != nil || n[agentruntime.TaskPending] != 1 {
		t.Fatalf("%d were started, %v %v", made.Load(), n, err)
	}
	w, err := b.s.LiveWorkflow(b.ctx, "loop", "k")
	b.ok(err)
	_, err = b.s.CancelWorkflow(b.ctx, w.ID(), "enough", "me")
	b.ok(err)
	_, err = b.s.LiveWorkflow(b.ctx, "loop", "k")
	b.is(err, store.ErrNotFound)
	again := b.start(flow("k", func(n *store.NewWorkflow) { n.Definition, n.Hash = json.RawMessage(`{"v":2}`), "h2" }))
	b.start(flow("other"))
	if again.ID() == w.ID() {
		t.Fatal("the old instance came back")
	}
	list, err := b.s.Workflows(b.ctx, store.WorkflowFilter{})
	b.ok(err)
	all, err := b.s.Workflows(b.ctx, store.WorkflowFilter{Type: "loop", All: true})
	b.ok(err)
	two, err := b.s.Workflows(b.ctx, store.WorkflowFilter{All: true, Limit: 2})
	b.ok(err)
	if len(list) != 2 || len(all) != 3 || len(two) != 2 || list[0].Record.InstanceKey != "other" || all[2].ID() != w.ID() {
		t.Fatalf("%d live, %d in all, %d of two", len(list), len(all), len(two))
	}
}

// A blocked workflow waits for its answer, and the answer is what the engine looks at.
func workflowAnswers(t *testing.T, target Target) {
	b := setup(t, target)
	w := b.start(flow("k", waits))
	b.audit()
	if w.ActionID == "" || w.TaskID != "" {
		t.Fatalf("a state without a task: %+v", w)
	}
	b.ok(b.s.AnswerAction(b.ctx, w.ActionID, json.RawMessage(`"go"`), "ada"))
	b.is(b.s.AnswerAction(b.ctx, w.ActionID, json.RawMessage(`"go"`), "bob"), store.ErrClosed)
	b.same(b.due(), []string{w.ID()})
	_, err := b.s.MoveWorkflow(b.ctx, moveTo(b.workflow(w.ID()), "work"))
	b.ok(err)

	c := b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	_, err = b.s.MoveWorkflow(b.ctx, stuck(b.workflow(w.ID())))
	b.ok(err)
	b.audit()
	w = b.workflow(w.ID())
	if w.Record.Status != agentruntime.WorkflowBlocked || w.Reason != "no signal" || w.TaskID != c.Ref.TaskID || len(b.due()) != 0 {
		t.Fatalf("blocked as %+v", w)
	}
	open, err := b.s.Actions(b.ctx, store.ActionFilter{Owner: "workflow/" + w.ID(), State: store.ActionOpen})
	b.ok(err)
	if len(open) == 0 || open[len(open)-1].ID != w.ActionID || open[len(open)-1].TaskID != "" {
		t.Fatalf("actions %+v", open)
	}
	b.ok(b.s.AnswerAction(b.ctx, w.ActionID, json.RawMessage(`"retry"`), "ada"))
	w = b.workflow(w.ID())
	_, err = b.s.MoveWorkflow(b.ctx, moveTo(w, "work"))
	b.ok(err)
	b.audit()

	// Putting a mark off and taking it away.
	c = b.begun()
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	w = b.workflow(w.ID())
	b.ok(b.s.DeferWorkflow(b.ctx, w, b.clock.Now().Add(time.Minute)))
	if list, err := b.s.WorkflowsDue(b.ctx, 10); err != nil || len(list) != 0 {
		t.Fatalf("%d are due, %v", len(list), err)
	}
	b.clock.Advance(time.Minute)
	b.same(b.due(), []string{w.ID()})
	b.ok(b.s.UnmarkWorkflow(b.ctx, store.Workflow{Record: w.Record, Version: w.Version - 1})) // seen too early
	b.same(b.due(), []string{w.ID()})
}

// Every end of a workflow's task is seen, and a retry of it wakes the workflow again.
func workflowTasks(t *testing.T, target Target) {
	b := setup(t, target)
	for name, end := range map[string]func(id string){
		"completed": func(string) { b.ok(b.s.Settle(b.ctx, b.begun().Ref, done())) },
		"failed": func(string) {
			b.ok(b.s.Settle(b.ctx, b.begun().Ref, store.Settlement{State: "failed_terminal", Class: "config", Status: agentruntime.TaskPermanentFailure, LastError: "no"}))
		},
		"cancelled": func(id string) { _, err := b.s.Cancel(b.ctx, id, "no", "me"); b.ok(err) },
		"cancelled while it ran": func(id string) {
			c := b.begun()
			_, err := b.s.Cancel(b.ctx, id, "no", "me")
			b.ok(err)
			b.ok(b.s.Settle(b.ctx, c.Ref, retryable(b.clock.Now(), "x")))
		},
	} {
		w := b.start(flow(name))
		end(w.TaskID)
		b.same(b.due(), []string{w.ID()})
		b.audit()
		if name == "completed" {
			_, err := b.s.MoveWorkflow(b.ctx, ended(b.workflow(w.ID())))
			b.ok(err)
			continue
		}
		_, err := b.s.MoveWorkflow(b.ctx, stuck(b.workflow(w.ID())))
		b.ok(err)
		asked := b.workflow(w.ID()).ActionID
		b.ok(b.s.Retry(b.ctx, w.TaskID, "", "me"))
		b.audit()
		w = b.workflow(w.ID())
		if w.Record.Status != agentruntime.WorkflowActive || w.ActionID != "" || len(b.due()) != 0 {
			t.Fatalf("%s: after a retry %+v", name, w)
		}
		if a, err := b.s.Action(b.ctx, asked); err != nil || a.State != store.ActionDismissed {
			t.Fatalf("%s: the question is %+v, %v", name, a, err)
		}
		_, err = b.s.CancelWorkflow(b.ctx, w.ID(), "", "me")
		b.ok(err)
		if len(b.due()) != 0 {
			t.Fatalf("%s: a cancelled workflow is due", name)
		}
		b.wantStatus(w.TaskID, agentruntime.TaskOperatorCanceled)
	}
	// A waiting task, and a blocked one, end nothing.
	w := b.start(flow("waits"))
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, retryable(b.clock.Now(), "x")))
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, blocked("why?")))
	if len(b.due()) != 0 {
		t.Fatal("a workflow is due whose task waits")
	}
	b.audit()
	// Cancelling a workflow asks the task that runs to stop.
	b.ok(b.s.Retry(b.ctx, w.TaskID, "", ""))
	c := b.begun()
	_, err := b.s.CancelWorkflow(b.ctx, w.ID(), "enough", "me")
	b.ok(err)
	if got := b.task(w.TaskID); !got.CancelRequested || got.CancelReason != "its workflow was cancelled: enough" {
		t.Fatalf("task %+v", got)
	}
	b.ok(b.s.Settle(b.ctx, c.Ref, done()))
	if len(b.due()) != 0 {
		t.Fatal("an ended workflow is due")
	}
	_, err = b.s.CancelWorkflow(b.ctx, w.ID(), "", "")
	b.is(err, store.ErrClosed)
	// A task that only names a workflow is none of its.
	other := b.start(flow("named"))
	b.add(task("stranger", priority(9), func(n *store.NewTask) {
		n.Intent.WorkflowRef = &agentruntime.WorkflowRef{WorkflowID: other.ID(), StateID: "work", InstanceKey: "named"}
	}))
	in := done()
	in.Outcome.WorkflowSignal = "go"
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, in))
	if len(b.due()) != 0 {
		t.Fatal("a stranger's task spoke for a workflow")
	}
}

// What cannot be stored whole is not stored at all.
func workflowAtomic(t *testing.T, target Target) {
	b := setup(t, target)
	w := b.start(flow("k"))
	b.ok(b.s.Settle(b.ctx, b.begun().Ref, done()))
	w = b.workflow(w.ID())
	bad := moveTo(w, "look")
	bad.Task.MaxAttempts = 0
	none := moveTo(w, "look")
	none.Task = nil
	open := stuck(w)
	open.Action = nil
	both := moveTo(w, "look")
	both.Action = &store.NewAction{Kind: "workflow"}
	taken := moveTo(w, "look")
	b.add(task("holder", key(taken.Task.DedupeKey)))
	garbled := stuck(w)
	garbled.Context = json.RawMessage(`{`)
	for name, m := range map[string]store.WorkflowMove{"task": bad, "nothing to wake it": none, "no action": open, "two": both, "key": taken, "context": garbled} {
		if _, err := b.s.MoveWorkflow(b.ctx, m); err == nil {
			t.Errorf("%s: was stored", name)
		}
		if !reflect.DeepEqual(b.workflow(w.ID()), w) {
			t.Errorf("%s: it changed to %+v", name, b.workflow(w.ID()))
		}
	}
	steps, err := b.s.Transitions(b.ctx, w.ID(), 0)
	b.ok(err)
	if len(steps) != 1 {
		t.Fatalf("%d transitions", len(steps))
	}
	for _, n := range []store.NewWorkflow{
		flow("x", func(n *store.NewWorkflow) { n.Task = nil }), flow("x", func(n *store.NewWorkflow) { n.Action = &store.NewAction{} }),
		flow("x", func(n *store.NewWorkflow) { n.Definition = nil }), flow("x", func(n *store.NewWorkflow) { n.Hash = "" }),
		flow("", func(*store.NewWorkflow) {}), flow("x", func(n *store.NewWorkflow) { n.Context = json.RawMessage(`x`) }),
		flow("x", func(n *store.NewWorkflow) { n.Task.MaxAttempts = 0 }),
	} {
		if _, err := b.s.StartWorkflow(b.ctx, n); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	_, err = b.s.LiveWorkflow(b.ctx, "loop", "x")
	b.is(err, store.ErrNotFound)
	b.audit()
}

// An intake is one transaction: events, tasks, and a workflow that starts or moves.
func intake(t *testing.T, target Target) {
	b := setup(t, target)
	start := flow("k")
	out, err := b.s.TakeIn(b.ctx, store.Intake{
		Events: []store.Event{{Type: "sensor_event_recorded", Detail: json.RawMessage(`{"n":1}`)}}, Tasks: []store.NewTask{task("t", key("a")), task("t", key("a"))}, Start: &start,
	})
	b.ok(err)
	if len(out.Tasks) != 2 || out.Tasks[0].Deduped || !out.Tasks[1].Deduped || out.Started.TaskID == "" || out.Started.Deduped {
		t.Fatalf("%+v", out)
	}
	before, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	w := b.workflow(out.Started.WorkflowID)
	m := moveTo(w, "look")
	m.Version--
	_, err = b.s.TakeIn(b.ctx, store.Intake{Events: []store.Event{{Type: "sensor_event_recorded"}}, Tasks: []store.NewTask{task("u")}, Move: &m})
	b.is(err, store.ErrStale)
	bad := flow("bad", func(n *store.NewWorkflow) { n.Task.MaxAttempts = 0 })
	_, err = b.s.TakeIn(b.ctx, store.Intake{Events: []store.Event{{Type: "sensor_event_recorded"}}, Tasks: []store.NewTask{task("u")}, Start: &bad})
	b.is(err, store.ErrInvalid)
	after, err := b.s.Events(b.ctx, store.EventFilter{})
	b.ok(err)
	b.same(len(after), len(before))
	m.Version++
	res, err := b.s.TakeIn(b.ctx, store.Intake{Events: []store.Event{{Type: "sensor_event_recorded"}}, Move: &m})
	b.ok(err)
	if got := b.workflow(w.ID()); got.TaskID != res.MovedTaskID || got.Record.CurrentState != "look" {
		t.Fatalf("%+v", got)
	}
	again, err := b.s.TakeIn(b.ctx, store.Intake{Start: &start})
	b.ok(err)
	if !again.Started.Deduped || again.Started.WorkflowID != w.ID() {
		t.Fatalf("%+v", again)
	}
	b.audit()
}

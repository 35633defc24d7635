package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
)

// A rig is an engine on a store of its own, with tasks that end as the test says.
type rig struct {
	t   rapid.TB
	ctx context.Context
	*Engine
}

const rigSettings = `
defaults: {adapter_id: usual}
adapters:
  usual: {kind: script, command: /bin/true, timeout_ms: 1000}
profiles:
  careful: {style: codex-like, role: r, default_adapter_id: usual, prompt_parts: [], skill_ids: [], context_policy: {max_prompt_chars: 1000, include_recent_memory: false}, result_policy: {allow_follow_up_tasks: false, allow_external_messages: false}}
`

func newRig(ctx context.Context, t *testing.T, dir string, defs ...Definition) *rig {
	t.Helper()
	file := filepath.Join(dir, "deed.yaml")
	if err := os.WriteFile(file, []byte(rigSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Explicit: file})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(ctx, filepath.Join(dir, "deed.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cat := Load(Options{})
	for _, d := range defs {
		cat.defs[d.WorkflowType] = d
	}
	return &rig{t: t, ctx: ctx, Engine: &Engine{
		Store: st, Clock: time.Now, Root: dir, Catalog: func() *Catalog { return cat },
		Admission: &task.Admission{Store: st, Config: cfg, Clock: time.Now, Drivers: driver.NewSet(script.New())},
	}}
}

func testRig(t *testing.T, defs ...Definition) *rig {
	t.Helper()
	r := newRig(t.Context(), t, t.TempDir(), defs...)
	t.Cleanup(func() { _ = r.Store.Close() })
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) begin(req StartRequest) store.Workflow {
	r.t.Helper()
	if req.InstanceKey == "" {
		req.InstanceKey = "k"
	}
	out, err := r.Start(r.ctx, req)
	r.ok(err)
	return r.get(out.WorkflowID)
}

func (r *rig) get(id string) store.Workflow {
	r.t.Helper()
	w, err := r.Store.Workflow(r.ctx, id)
	r.ok(err)
	return w
}

func (r *rig) taskOf(id string) store.Task {
	r.t.Helper()
	t, err := r.Store.Task(r.ctx, id)
	r.ok(err)
	return t
}

// settle ends the task of a workflow's visit: completed with a signal, or failed for good.
func (r *rig) settle(w store.Workflow, completed bool, signal string) {
	r.t.Helper()
	c, err := r.Store.Claim(r.ctx, store.ClaimOptions{RunnerID: "r", Lease: time.Minute, TaskID: w.TaskID})
	r.ok(err)
	r.ok(r.Store.Begin(r.ctx, c.Ref, store.Begin{AdapterID: "usual", AdapterKind: "script"}))
	in := store.Settlement{State: "failed_terminal", Class: "declared_failed", Status: agentruntime.TaskPermanentFailure, LastError: "it cannot be done"}
	if completed {
		in = store.Settlement{
			State: "completed", Class: "none", Status: agentruntime.TaskCompleted, BundleDir: "bundles/" + c.Ref.AttemptID,
			Outcome: &agentruntime.TaskOutcome{
				Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "complete, continue, revise_plan", WorkflowSignal: signal,
				FileChanges: []string{"a"}, ArtifactPaths: []string{"bundles/" + c.Ref.AttemptID + "/files/artifacts/r.md"},
			},
		}
	}
	r.ok(r.Store.Settle(r.ctx, c.Ref, in))
}

// cycle is one look of the dispatcher.
func (r *rig) cycle() int {
	r.t.Helper()
	n, err := r.Due(r.ctx)
	r.ok(err)
	return n
}

// onto settles, looks, and returns where the workflow is.
func (r *rig) onto(w store.Workflow, signal string) store.Workflow {
	r.t.Helper()
	r.settle(w, true, signal)
	r.cycle()
	return r.get(w.ID())
}

func goal(r *rig) store.Workflow {
	return r.begin(StartRequest{Type: "goal-loop", Context: json.RawMessage(`{"objective": "every link works", "scope": ["docs"]}`), By: "me"})
}

// Conformance 70 to 76: a state advances by its settled task; verify follows the signal and nothing else; iterations count;
// each visit is a task of its own (pain point 2), which the next state is given the artifacts of.
func TestGoalLoop(t *testing.T) {
	t.Parallel()
	r := testRig(t)
	w := goal(r)
	if r.cycle() != 0 {
		t.Fatal("a workflow that only waits made a task")
	}
	w = r.onto(w, "") // 70, 71
	if w.Record.CurrentState != "execute" || w.Iteration != 1 {
		t.Fatalf("after the plan: %+v", w)
	}
	w = r.onto(w, "execute_ready")
	if w.Record.CurrentState != "verify" {
		t.Fatalf("after execute: %+v", w)
	}
	w = r.onto(w, "continue") // 73
	if w.Record.CurrentState != "execute" || w.Iteration != 2 {
		t.Fatalf("after continue: %+v", w)
	}
	got := r.taskOf(w.TaskID)
	var p struct {
		Objective, Phase string
		Workflow         Note
	}
	r.ok(json.Unmarshal(got.Record.Payload, &p))
	if p.Objective != "every link works" || p.Phase != "execute" || p.Workflow.Visit != 4 || p.Workflow.Iteration != 2 || len(p.Workflow.Earlier) != 3 ||
		p.Workflow.Earlier[2].Signal != "continue" || !strings.HasSuffix(p.Workflow.Earlier[0].Artifacts[0], "/files/artifacts/r.md") || !slices.Equal(p.Workflow.AcceptedSignals, []string{"execute_ready"}) {
		t.Errorf("payload %s", got.Record.Payload)
	}
	if ref := got.Intent.WorkflowRef; ref == nil || ref.WorkflowID != w.ID() || ref.StateID != "execute" || ref.InstanceKey != "k" || got.WorkflowID != w.ID() || got.DedupeKey != "workflow/"+w.ID()+"/4" {
		t.Errorf("task %+v of %s", got.Intent.WorkflowRef, got.WorkflowID)
	}
	if got.Intent.Subject != "Do: every link works" {
		t.Errorf("subject %q", got.Intent.Subject)
	}
	w = r.onto(w, "")
	w = r.onto(w, "revise_plan") // 74
	if w.Record.CurrentState != "plan" {
		t.Fatalf("after revise_plan: %+v", w)
	}
	w = r.onto(r.onto(w, ""), "")
	w = r.onto(w, "complete") // 75, 76: the summary says all three words, and only the signal counts
	if w.Record.Status != agentruntime.WorkflowCompleted || w.Record.CurrentState != "complete" || w.Record.CompletedAt == nil || w.Ending != store.EndCompleted {
		t.Fatalf("after complete: %+v", w)
	}
	visits, err := r.Store.Visits(r.ctx, w.ID())
	r.ok(err)
	seen := map[string]bool{}
	for _, v := range visits {
		if seen[v.TaskID] {
			t.Errorf("task %s stands for two visits", v.TaskID)
		}
		seen[v.TaskID] = true
	}
	if len(visits) != 8 {
		t.Errorf("%d visits", len(visits))
	}
}

// Pain point 3: verify without a signal that it knows is a failure with a reason, asked about once, and never another task.
func TestNoSignal(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "done", "COMPLETE", "complete "} {
		r := testRig(t)
		w := r.onto(r.onto(r.onto(goal(r), ""), ""), said)
		if w.Record.Status != agentruntime.WorkflowBlocked || w.ActionID == "" || !strings.Contains(w.Reason, "complete, continue, revise_plan") {
			t.Fatalf("%q: %+v", said, w)
		}
		before, err := r.Store.Events(r.ctx, store.EventFilter{})
		r.ok(err)
		for range 5 {
			r.cycle()
		}
		after, err := r.Store.Events(r.ctx, store.EventFilter{})
		r.ok(err)
		if len(after) != len(before) { // pain point 28
			t.Errorf("a blocked workflow wrote %d events in idle cycles", len(after)-len(before))
		}
		// The answer lets it continue.
		r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, json.RawMessage(`{"decision": "signal", "signal": "continue"}`), "ada"))
		r.cycle()
		if w = r.get(w.ID()); w.Record.Status != agentruntime.WorkflowActive || w.Record.CurrentState != "execute" || w.ActionID != "" {
			t.Fatalf("after the answer: %+v", w)
		}
	}
}

// Conformance 72, and pain point 32: a failed or cancelled task is not made again by itself; a person retries, signals or ends.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := testRig(t)
	w := goal(r)
	r.settle(w, false, "")
	r.cycle()
	w = r.get(w.ID())
	if w.Record.Status != agentruntime.WorkflowBlocked || !strings.Contains(w.Reason, "it cannot be done") {
		t.Fatalf("%+v", w)
	}
	x, err := r.Store.Action(r.ctx, w.ActionID)
	r.ok(err)
	for _, said := range []string{`"what?"`, `"signal nowhere"`, `5`, `{"decision": "signal"}`} {
		if _, err := ReadAnswer(x, json.RawMessage(said)); err == nil || !strings.Contains(err.Error(), "retry, signal plan_ready, abandon") {
			t.Errorf("%s: %v", said, err)
		}
	}
	// An answer that came past the reader is asked for again.
	r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, json.RawMessage(`"what?"`), "ada"))
	r.cycle()
	w = r.get(w.ID())
	if w.Record.Status != agentruntime.WorkflowBlocked || w.ActionID == x.ID || !strings.Contains(w.Reason, "cannot be followed") {
		t.Fatalf("%+v", w)
	}
	answer, err := ReadAnswer(x, json.RawMessage(`"retry"`))
	r.ok(err)
	r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, answer, "ada"))
	r.cycle()
	if w = r.get(w.ID()); w.Record.CurrentState != "plan" || w.Visit != 2 || w.Iteration != 1 || w.Record.Status != agentruntime.WorkflowActive {
		t.Fatalf("after retry: %+v", w)
	}
	_, err = r.Store.Cancel(r.ctx, w.TaskID, "not now", "ada")
	r.ok(err)
	r.cycle()
	if w = r.get(w.ID()); w.Record.Status != agentruntime.WorkflowBlocked || !strings.Contains(w.Reason, "was cancelled: not now") {
		t.Fatalf("%+v", w)
	}
	r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, json.RawMessage(`"abandon"`), "ada"))
	r.cycle()
	if w = r.get(w.ID()); w.Live() || w.Ending != store.EndAbandoned {
		t.Fatalf("%+v", w)
	}
	// The definition may say what a failure means.
	def := define(t, "workflow_type: f\ninitial_state: work\nstates:\n- {state_id: work, task_type: script, emits_task_intent: true, transitions: [{signal: done, next_state: end}, {signal: broken, next_state: mend}], deed: {on_failure: broken}}\n- {state_id: mend, transitions: [{signal: mended, next_state: end}]}\n- {state_id: end}\n")
	r = testRig(t, def)
	w = r.begin(StartRequest{Type: "f"})
	r.settle(w, false, "")
	r.cycle()
	if w = r.get(w.ID()); w.Record.CurrentState != "mend" || w.Record.Status != agentruntime.WorkflowActive || w.ActionID == "" {
		t.Fatalf("%+v", w)
	}
	if _, err := r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "nope", By: "me"}); !errors.Is(err, ErrSignal) {
		t.Errorf("unknown signal: %v", err)
	}
	w, err = r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "mended", By: "me"})
	r.ok(err)
	if w.Live() {
		t.Fatalf("%+v", w)
	}
	if _, err := r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "mended", By: "me"}); !errors.Is(err, ErrEnded) {
		t.Errorf("signal to an ended workflow: %v", err)
	}
	steps, err := r.Store.Transitions(r.ctx, w.ID(), 0)
	r.ok(err)
	if last := steps[len(steps)-1]; last.Cause != store.CauseOperator || last.By != "me" {
		t.Errorf("%+v", last)
	}
}

func define(t rapid.TB, text string) Definition {
	t.Helper()
	d, err := Parse("test.yaml", []byte(text), Known{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The bound ends in a required action; a person may go on, one round for each answer.
func TestBounds(t *testing.T) {
	t.Parallel()
	def := define(t, "workflow_type: b\ninitial_state: work\nstates:\n- {state_id: work, task_type: script, emits_task_intent: true, transitions: [{signal: again, next_state: work}], completion_signals: [done]}\ndeed: {max_iterations: 3}\n")
	r := testRig(t, def)
	w := r.begin(StartRequest{Type: "b"})
	for range 2 {
		w = r.onto(w, "again")
	}
	if w.Iteration != 3 || w.Record.Status != agentruntime.WorkflowActive {
		t.Fatalf("%+v", w)
	}
	if _, err := r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "again"}); !errors.Is(err, ErrRunning) {
		t.Errorf("signal while the task lives: %v", err)
	}
	w = r.onto(w, "again")
	if w.Record.Status != agentruntime.WorkflowBlocked || !strings.Contains(w.Reason, "max_iterations is 3") || w.Iteration != 3 {
		t.Fatalf("%+v", w)
	}
	w, err := r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "again", By: "me"})
	r.ok(err)
	if w.Iteration != 4 || w.Record.Status != agentruntime.WorkflowActive {
		t.Fatalf("%+v", w)
	}
	if w = r.onto(w, "again"); w.Record.Status != agentruntime.WorkflowBlocked {
		t.Fatalf("%+v", w)
	}
	w, err = r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "done", By: "me"})
	r.ok(err)
	if w.Live() || w.Record.CurrentState != "work" {
		t.Fatalf("%+v", w)
	}
}

// A definition that changes, changes no instance that runs; defaults and options of a state reach its task.
func TestPinnedDefinitionAndDefaults(t *testing.T) {
	t.Parallel()
	text := "workflow_type: d\ninitial_state: one\nstates:\n- {state_id: one, task_type: script, emits_task_intent: true, transitions: [{signal: done, next_state: two}]}\n- {state_id: two, task_type: script, emits_task_intent: true, default_profile_id: careful, completion_signals: [done], deed: {subject: 'for {who}', payload: {a: 2}}}\ndeed: {priority: 3}\n"
	r := testRig(t, define(t, text))
	src := t.TempDir()
	w := r.begin(StartRequest{Type: "d", Context: json.RawMessage(`{"a": 1, "b": 12345678901234567890, "who": "Ada"}`), AdapterID: "usual", Spec: &deed.TaskSpec{Workspace: &deed.Workspace{Source: src}, MaxAttempts: 1}})
	changed := define(t, strings.ReplaceAll(text, "next_state: two}", "next_state: two}, {signal: skip, next_state: two}"))
	r.Catalog().defs["d"] = changed
	w = r.onto(w, "skip") // a signal of the new definition
	if w.Record.Status != agentruntime.WorkflowBlocked {
		t.Fatalf("%+v", w)
	}
	w, err := r.Signal(r.ctx, SignalRequest{WorkflowID: w.ID(), Signal: "done"})
	r.ok(err)
	got := r.taskOf(w.TaskID)
	var p map[string]json.RawMessage
	r.ok(json.Unmarshal(got.Record.Payload, &p))
	if got.Record.RequestedProfileID != "careful" || got.Intent.Subject != "for Ada" || string(p["a"]) != "2" || string(p["b"]) != "12345678901234567890" || got.Record.Priority != 3 || got.Record.MaxAttempts != 1 {
		t.Errorf("task %+v %s", got.Record, got.Record.Payload)
	}
	if ws := got.Intent.Deed.Workspace; ws.Kind() != deed.SeedBundle || ws.Source != src || !strings.HasPrefix(ws.Bundle, r.Root) {
		t.Errorf("workspace %+v", ws)
	}
	if other := r.begin(StartRequest{Type: "d", InstanceKey: "other"}); other.Definition != changed.Hash {
		t.Errorf("a new instance has definition %s", other.Definition)
	}
}

// A task that cannot be made blocks the workflow, and is tried again when a person asks for it; a start like that is
// refused.
func TestTasksThatCannotBeMade(t *testing.T) {
	t.Parallel()
	def := define(t, "workflow_type: m\ninitial_state: one\nstates:\n- {state_id: one, task_type: script, emits_task_intent: true, transitions: [{signal: done, next_state: two}]}\n- {state_id: two, task_type: later, emits_task_intent: true, completion_signals: [done]}\n")
	r := testRig(t, def)
	w := r.onto(r.begin(StartRequest{Type: "m"}), "done")
	if w.Record.Status != agentruntime.WorkflowBlocked || w.Record.CurrentState != "two" || !strings.Contains(w.Reason, `unknown task type "later"`) {
		t.Fatalf("%+v", w)
	}
	r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, json.RawMessage(`"retry"`), "me"))
	r.cycle()
	if again := r.get(w.ID()); again.Record.Status != agentruntime.WorkflowBlocked || again.ActionID == w.ActionID {
		t.Fatalf("%+v", again)
	}
	for _, req := range []StartRequest{
		{Type: "m", InstanceKey: "x", State: "two"},
		{Type: "m", InstanceKey: "x", State: "nowhere"},
		{Type: "none", InstanceKey: "x"},
		{Type: "m"},
		{Type: "m", InstanceKey: "x", Context: json.RawMessage(`[]`)},
		{Type: "m", InstanceKey: "x", Context: json.RawMessage(`{"workflow": 1}`)},
		{Type: "goal-loop", InstanceKey: "x"},
		{Type: "goal-loop", InstanceKey: "x", State: "complete"},
		{Type: "m", InstanceKey: "x", Spec: &deed.TaskSpec{DedupeKey: "k"}},
	} {
		if _, err := r.Start(r.ctx, req); err == nil {
			t.Errorf("%+v was started", req)
		}
	}
	list, err := r.Store.Workflows(r.ctx, store.WorkflowFilter{All: true})
	r.ok(err)
	if len(list) != 1 {
		t.Errorf("%d workflows", len(list))
	}
	// No other task may take the key of a visit.
	in := agentruntime.TaskIntent{TaskType: "script", Source: "x", Payload: json.RawMessage(`{}`), Deed: &deed.TaskSpec{DedupeKey: "workflow/" + w.ID() + "/3"}}
	if _, err := r.Admission.Prepare(in, task.Caller{Trusted: true}); err == nil {
		t.Error("a stranger may take the key of a visit")
	}
}

// A sensor creates an instance, or wakes the instance that waits for it, in one transaction with its event.
func TestWake(t *testing.T) {
	t.Parallel()
	def := define(t, "workflow_type: s\ninitial_state: wait\nstates:\n- {state_id: wait, transitions: [{signal: go, next_state: work}]}\n- {state_id: work, task_type: script, emits_task_intent: true, completion_signals: [done]}\n")
	r := testRig(t, def)
	take := func(p agentruntime.ProposedWorkflow) store.IntakeResult {
		t.Helper()
		start, move, _, err := r.PrepareWake(r.ctx, p, "sensor/mail")
		r.ok(err)
		out, err := r.Store.TakeIn(r.ctx, store.Intake{Events: []store.Event{{Type: "sensor_event_recorded"}}, Start: start, Move: move})
		r.ok(err)
		return out
	}
	first := take(agentruntime.ProposedWorkflow{Template: "s", InstanceKey: "k", Context: json.RawMessage(`{"a": 1}`)})
	id := first.Started.WorkflowID
	if w := r.get(id); w.Record.CurrentState != "wait" || w.ActionID == "" || w.StartedBy != "sensor/mail" {
		t.Fatalf("%+v", w)
	}
	take(agentruntime.ProposedWorkflow{Template: "s", InstanceKey: "k"})
	take(agentruntime.ProposedWorkflow{Template: "s", InstanceKey: "k", State: "wait"})
	if w := r.get(id); w.Visit != 1 {
		t.Fatalf("it moved: %+v", w)
	}
	take(agentruntime.ProposedWorkflow{Template: "s", InstanceKey: "k", State: "work", Context: json.RawMessage(`{"b": 2}`)})
	w := r.get(id)
	if w.Record.CurrentState != "work" || string(w.Record.Context) != `{"a":1,"b":2}` || w.TaskID == "" {
		t.Fatalf("%+v", w)
	}
	if open, err := r.Store.Actions(r.ctx, store.ActionFilter{State: store.ActionOpen}); err != nil || len(open) != 0 {
		t.Errorf("open: %+v %v", open, err)
	}
	take(agentruntime.ProposedWorkflow{Template: "s", InstanceKey: "k", State: "work"}) // its own task decides now
	if again := r.get(id); again.Visit != w.Visit {
		t.Fatalf("%+v", again)
	}
	if _, _, _, err := r.PrepareWake(r.ctx, agentruntime.ProposedWorkflow{Template: "none", InstanceKey: "k"}, "s"); err == nil {
		t.Error("an unknown template was taken")
	}
}

// Whatever definitions, outcomes, answers and crashes come: every instance that has not ended has a live task or an open
// action, no step is taken twice, and what agents alone do is bounded.
func TestEveryInstanceHasAWayOn(t *testing.T) {
	t.Parallel()
	shared := testRig(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		def := randomDefinition(rt, fmt.Sprintf("w%d", n))
		r := &rig{t: rt, ctx: shared.ctx, Engine: shared.Engine}
		r.Catalog().defs[def.WorkflowType] = def
		w := r.begin(StartRequest{Type: def.WorkflowType})
		defer func() { _, _ = r.Store.CancelWorkflow(r.ctx, w.ID(), "", "") }()
		automatic := 0
		for range 15 {
			w = r.get(w.ID())
			if !w.Live() {
				break
			}
			before := w.Visit
			switch open := w.ActionID != ""; {
			case open && rapid.Bool().Draw(rt, "answer"):
				said := rapid.SampledFrom(append([]string{AnswerRetry, "junk"}, def.Signals(w.Record.CurrentState)...)).Draw(rt, "said")
				text, _ := json.Marshal(said)
				r.ok(r.Store.AnswerAction(r.ctx, w.ActionID, text, "ada"))
				automatic = 0
			case open:
			case rapid.IntRange(0, 9).Draw(rt, "cancel") == 0:
				_, err := r.Store.Cancel(r.ctx, w.TaskID, "", "ada")
				r.ok(err)
			default:
				signal := rapid.SampledFrom(append([]string{"", "junk"}, def.Signals(w.Record.CurrentState)...)).Draw(rt, "signal")
				r.settle(w, rapid.IntRange(0, 4).Draw(rt, "fails") > 0, signal)
			}
			// A crash after the step was decided, or a second engine: the same decision is made again, on what was seen.
			stale := r.get(w.ID())
			var twice *store.WorkflowMove
			var err error
			if !stale.DueAt.IsZero() {
				twice, err = r.decide(r.ctx, stale)
				r.ok(err)
			}
			r.cycle()
			if twice != nil {
				if _, err := r.Store.MoveWorkflow(r.ctx, *twice); !errors.Is(err, store.ErrStale) {
					rt.Fatalf("a step was taken twice: %v", err)
				}
			}
			r.cycle()
			w = r.get(w.ID())
			if w.Visit > before+1 {
				rt.Fatalf("%d visits in one step", w.Visit-before)
			}
			if w.ActionID == "" && w.Visit > before {
				automatic++
			}
			if most := def.maxIterations() * len(def.States); automatic > most+1 {
				rt.Fatalf("%d visits without a person, and %d are the most", automatic, most)
			}
			faults, err := r.Store.Audit(r.ctx)
			r.ok(err)
			if len(faults) > 0 {
				rt.Fatalf("audit: %v", faults)
			}
		}
		steps, err := r.Store.Transitions(r.ctx, w.ID(), 0)
		r.ok(err)
		for i, s := range steps {
			if s.Seq != i+1 || i > 0 && s.From != steps[i-1].To {
				rt.Fatalf("transition %d is %+v", i, s)
			}
		}
	})
}

// randomDefinition makes a definition that passes the checks.
func randomDefinition(t *rapid.T, typ string) Definition {
	n := rapid.IntRange(1, 4).Draw(t, "states")
	def := agentruntime.WorkflowDefinition{WorkflowType: typ, InitialState: "s0", Deed: &deed.WorkflowSpec{MaxIterations: rapid.IntRange(1, 3).Draw(t, "iterations")}}
	id := func(i int) string { return fmt.Sprintf("s%d", i) }
	for i := range n {
		s := agentruntime.WorkflowState{StateID: id(i), Deed: &deed.StateSpec{MaxVisits: rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "visits")}}
		to := id(i + 1)
		s.Transitions = append(s.Transitions, agentruntime.WorkflowTransition{Signal: "on", NextState: to})
		if rapid.Bool().Draw(t, "back") {
			s.Transitions = append(s.Transitions, agentruntime.WorkflowTransition{Signal: "back", NextState: id(rapid.IntRange(0, i).Draw(t, "to"))})
		}
		if rapid.IntRange(0, 3).Draw(t, "task") > 0 {
			s.TaskType, s.EmitsTaskIntent = "script", true
			if rapid.Bool().Draw(t, "on_completed") {
				s.Deed.OnCompleted = "on"
			}
			if rapid.Bool().Draw(t, "on_failure") {
				s.Deed.OnFailure = s.Transitions[len(s.Transitions)-1].Signal
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "ends") == 0 {
			s.CompletionSignals = []string{"finish"}
		}
		def.States = append(def.States, s)
	}
	def.States = append(def.States, agentruntime.WorkflowState{StateID: id(n)})
	if err := Check(def, Known{}); err != nil {
		t.Fatal(err)
	}
	d, err := newDefinition(def, "random")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// What a caller may decide on, with errors.Is.
var (
	// ErrRunning: the state's task has not ended; its own signal decides.
	ErrRunning = errors.New("the task of its state has not ended")
	// ErrEnded: the workflow has ended.
	ErrEnded = errors.New("the workflow has ended")
	// ErrSignal: the state does not know the signal.
	ErrSignal = errors.New("not a signal of the state")
)

// batch bounds one cycle, so that very many workflows that move at once do not hold up the claims.
const batch = 200

// retryAfter is how long a workflow waits after the store could not take its step.
const retryAfter = 10 * time.Second

// tries bounds how often a step is decided again because somebody else changed the workflow.
const tries = 10

// An Engine starts workflows and moves them on. Several may run at once.
type Engine struct {
	Store     *store.Store
	Admission *task.Admission
	Catalog   func() *Catalog // reads the definitions; each start reads them again
	Clock     clock.Clock
	Root      string // the home's directory, below which the bundles are

	mu   sync.Mutex
	defs map[string]Definition // guarded by mu; of running instances, by hash
}

// A StartRequest asks for an instance.
type StartRequest struct {
	Type        string
	InstanceKey string
	State       string          // "": the initial one
	Context     json.RawMessage // an object; its members go into every task's payload
	Spec        *deed.TaskSpec  // for every task; from operators only
	AdapterID   string          // for every task
	ProfileID   string          // where a state names none
	Model       string
	Priority    *int64
	By          string // who asks
	Cause       string // store.CauseStart or store.CauseSensor; "": the first
}

// PrepareStart resolves a request without storing it, so that it can join the transaction of what caused it: put it into
// store.Intake.Start. All faults are reported together.
func (e *Engine) PrepareStart(r StartRequest) (store.NewWorkflow, error) {
	def, err := e.Catalog().Get(r.Type)
	if err != nil {
		var l fault.List
		l.Add("$.template", fault.Dangling, err.Error(), "")
		return store.NewWorkflow{}, l.Err()
	}
	var l fault.List
	l.Name("$.instance_key", r.InstanceKey)
	if r.State == "" {
		r.State = def.InitialState
	}
	st, ok := def.state(r.State)
	switch {
	case !ok:
		l.Add("$.state", fault.Dangling, fmt.Sprintf("%q is not a state of workflow %s", clip(r.State), r.Type), "name one of: "+strings.Join(stateIDs(def), ", "))
	case terminal(st):
		l.Add("$.state", fault.Conflict, fmt.Sprintf("state %q is an end", r.State), "start where something is left to do")
	}
	l.OptionalObject("$.context", r.Context)
	fields, err := object(r.Context)
	if _, taken := fields[payloadKey]; err == nil && taken {
		l.Add("$.context."+payloadKey, fault.NotAllowed, "the workflow itself writes this member of every payload", "give it another name")
	}
	if r.Spec != nil {
		l.Within("$.spec", r.Spec.Validate())
		if r.Spec.DedupeKey != "" {
			l.Add("$.spec.dedupe_key", fault.NotAllowed, "every visit of a state has a key of its own", "the instance key keeps a workflow from being started twice")
		}
	}
	if err := l.Err(); err != nil {
		return store.NewWorkflow{}, err
	}
	opts, err := json.Marshal(options{Spec: r.Spec, AdapterID: r.AdapterID, ProfileID: r.ProfileID, Model: r.Model, Priority: r.Priority})
	if err != nil {
		return store.NewWorkflow{}, err
	}
	p := place{}.enter(r.State)
	progress, err := json.Marshal(p)
	if err != nil {
		return store.NewWorkflow{}, err
	}
	n := store.NewWorkflow{
		ID: store.NewID(), Type: r.Type, InstanceKey: r.InstanceKey, Definition: def.Body, Hash: def.Hash, State: r.State,
		Context: r.Context, Options: opts, Progress: progress, Cause: r.Cause, By: r.By,
	}
	if n.Cause == "" {
		n.Cause = store.CauseStart
	}
	if !st.EmitsTaskIntent {
		n.Action = wait(def, st, n.ID, n.InstanceKey)
		return n, nil
	}
	row, err := e.task(def, visit{id: n.ID, key: n.InstanceKey, seq: 1, state: st, place: p, context: n.Context, options: opts})
	if err != nil {
		return store.NewWorkflow{}, err
	}
	n.Task = &row
	return n, nil
}

// Start starts an instance, or returns the one with its key that has not ended.
func (e *Engine) Start(ctx context.Context, r StartRequest) (store.Started, error) {
	n, err := e.PrepareStart(r)
	if err != nil {
		return store.Started{}, err
	}
	crashpoint.Hit(crashpoint.WorkflowPrepared)
	out, err := e.Store.StartWorkflow(ctx, n)
	if err != nil {
		return store.Started{}, err
	}
	crashpoint.Hit(crashpoint.WorkflowMoved)
	return out, nil
}

// Due moves on what has something to move on for, and returns how many tasks it made. It is the dispatcher's hook: what only
// waits is not looked at.
func (e *Engine) Due(ctx context.Context) (int, error) {
	list, err := e.Store.WorkflowsDue(ctx, batch)
	if err != nil {
		return 0, err
	}
	made := 0
	var faults []error
	for _, w := range list {
		ok, err := e.Advance(ctx, w.ID())
		if ok {
			made++
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("workflow %s: %w", w.ID(), err), e.Store.DeferWorkflow(ctx, w, e.Clock().Add(retryAfter)))
		}
	}
	return made, errors.Join(faults...)
}

// Next is when Due has something to do.
func (e *Engine) Next(ctx context.Context) (time.Time, bool, error) { return e.Store.NextWorkflow(ctx) }

// Advance takes the step of one workflow that is due, if there is one: that of a task that ended, or of an answer. It reports
// whether it made a task.
func (e *Engine) Advance(ctx context.Context, id string) (made bool, err error) {
	for range tries {
		w, err := e.Store.Workflow(ctx, id)
		if err != nil {
			return false, err
		}
		if !w.Live() || w.DueAt.IsZero() {
			return false, nil
		}
		m, err := e.decide(ctx, w)
		if err != nil {
			return false, err
		}
		if m == nil {
			return false, e.Store.UnmarkWorkflow(ctx, w)
		}
		crashpoint.Hit(crashpoint.WorkflowPrepared)
		_, err = e.Store.MoveWorkflow(ctx, *m)
		if errors.Is(err, store.ErrStale) {
			continue
		}
		if err != nil {
			return false, err
		}
		crashpoint.Hit(crashpoint.WorkflowMoved)
		return m.Task != nil, nil
	}
	return false, store.ErrStale
}

// decide finds what happened to a workflow, and what follows; nil when nothing did.
func (e *Engine) decide(ctx context.Context, w store.Workflow) (*store.WorkflowMove, error) {
	def, err := e.definition(ctx, w.Definition)
	if err != nil {
		return nil, err
	}
	st, ok := def.state(w.Record.CurrentState)
	if !ok {
		return nil, fmt.Errorf("state %q is not in its definition", w.Record.CurrentState)
	}
	if w.ActionID != "" {
		x, err := e.Store.Action(ctx, w.ActionID)
		if err != nil {
			return nil, err
		}
		if x.State == store.ActionAnswered {
			return e.answered(ctx, def, st, w, x)
		}
		return nil, nil
	}
	if w.TaskID == "" {
		return nil, nil
	}
	t, err := e.Store.Task(ctx, w.TaskID)
	if err != nil {
		return nil, err
	}
	if !state.TaskTerminal(t.Record.Status) {
		return nil, nil // an operator retried it
	}
	v := ofTask(st, t.Record)
	if v.ask != "" {
		return block(def, st, w, v.ask), nil
	}
	return e.follow(ctx, def, st, w, v.signal, &store.Step{Cause: store.CauseTask, CauseTask: w.TaskID, Note: v.note})
}

// answered follows a person's answer. One that cannot be followed is asked for again.
func (e *Engine) answered(ctx context.Context, def Definition, st agentruntime.WorkflowState, w store.Workflow, x store.Action) (*store.WorkflowMove, error) {
	q := question(def, st, w)
	a, err := q.read(x.Answer)
	if err == nil {
		err = q.check(a)
	}
	if err != nil {
		return block(def, st, w, w.Reason+"; the answer cannot be followed: "+err.Error()), nil //nolint:nilerr // the person is asked again
	}
	step := &store.Step{Cause: store.CauseAnswer, By: x.AnsweredBy, CauseTask: w.TaskID, Note: a.Note}
	switch a.Decision {
	case AnswerAbandon:
		return &store.WorkflowMove{WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowCompleted, Ending: store.EndAbandoned, Reason: a.Note}, nil
	case AnswerRetry:
		return e.enter(ctx, def, st.StateID, w, step, nil)
	}
	return e.follow(ctx, def, st, w, a.Signal, step)
}

// follow takes the transition of a signal that the state knows.
func (e *Engine) follow(ctx context.Context, def Definition, st agentruntime.WorkflowState, w store.Workflow, signal string, step *store.Step) (*store.WorkflowMove, error) {
	to, ends, ok := next(st, signal)
	if !ok {
		return nil, fmt.Errorf("%q: %w %s (it knows %s)", signal, ErrSignal, st.StateID, strings.Join(signals(st), ", "))
	}
	step.To, step.Signal = to, signal
	target, _ := def.state(to)
	if ends || terminal(target) {
		return &store.WorkflowMove{WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowCompleted, Ending: store.EndCompleted, Step: step}, nil
	}
	return e.enter(ctx, def, to, w, step, nil)
}

// enter begins a visit of a state: within the definition's bounds, unless a person overrules them.
func (e *Engine) enter(ctx context.Context, def Definition, to string, w store.Workflow, step *store.Step, context json.RawMessage) (*store.WorkflowMove, error) {
	st, ok := def.state(to)
	if !ok {
		return nil, fmt.Errorf("state %q is not in its definition", to)
	}
	before, err := placeOf(w.Iteration, w.Progress)
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", w.ID(), err)
	}
	p := before.enter(to)
	if step.Signal == "" {
		p = before.again(to)
	}
	if step.Cause == store.CauseTask {
		if why := def.beyond(p, to); why != "" {
			at, _ := def.state(w.Record.CurrentState)
			return block(def, at, w, fmt.Sprintf("the signal %s leads to state %s: %s", step.Signal, to, why)), nil
		}
	}
	step.To = to
	progress, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	m := &store.WorkflowMove{
		WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowActive, Step: step, Progress: progress, Iteration: p.iteration, Context: context,
	}
	if !st.EmitsTaskIntent {
		m.Action = wait(def, st, w.ID(), w.Record.InstanceKey)
		return m, nil
	}
	earlier, err := e.Store.Visits(ctx, w.ID())
	if err != nil {
		return nil, err
	}
	if context == nil {
		context = w.Record.Context
	}
	row, err := e.task(def, visit{
		id: w.ID(), key: w.Record.InstanceKey, seq: w.Visit + 1, state: st, place: p, context: context, options: w.Options, earlier: earlier,
	})
	if err != nil { // a person has to fix a task that cannot be admitted: trying it each cycle does not help
		in := w
		in.TaskID = ""
		b := block(def, st, in, fmt.Sprintf("the task of state %s cannot be made: %v", to, err))
		m.Status, m.Action, m.Reason = agentruntime.WorkflowBlocked, b.Action, b.Reason
		return m, nil
	}
	m.Task = &row
	return m, nil
}

// A SignalRequest moves a workflow that waits, or is blocked, on behalf of a person or a sensor.
type SignalRequest struct {
	WorkflowID string
	Signal     string
	By         string
	Note       string
}

// Signal moves a workflow on as if its task had given the signal. It returns ErrRunning while the task of the state lives:
// two words on one visit would be one too many.
func (e *Engine) Signal(ctx context.Context, r SignalRequest) (store.Workflow, error) {
	if _, err := e.Advance(store.OutsideRequest(ctx), r.WorkflowID); err != nil {
		return store.Workflow{}, err
	}
	for range tries {
		w, err := e.Store.Workflow(ctx, r.WorkflowID)
		if err != nil {
			return store.Workflow{}, err
		}
		def, st, err := e.ready(ctx, w)
		if err != nil {
			return w, err
		}
		m, err := e.follow(ctx, def, st, w, r.Signal, &store.Step{Cause: store.CauseOperator, By: r.By, CauseTask: w.TaskID, Note: r.Note})
		if err != nil {
			return w, err
		}
		if _, err := e.Store.MoveWorkflow(ctx, *m); errors.Is(err, store.ErrStale) {
			continue
		} else if err != nil {
			return w, err
		}
		return e.Store.Workflow(ctx, w.ID())
	}
	return store.Workflow{}, store.ErrStale
}

// ready returns the state of a workflow whose next step is a person's or a sensor's.
func (e *Engine) ready(ctx context.Context, w store.Workflow) (Definition, agentruntime.WorkflowState, error) {
	def, err := e.definition(ctx, w.Definition)
	if err != nil {
		return def, agentruntime.WorkflowState{}, err
	}
	st, ok := def.state(w.Record.CurrentState)
	switch {
	case !ok:
		return def, st, fmt.Errorf("state %q is not in its definition", w.Record.CurrentState)
	case !w.Live():
		return def, st, fmt.Errorf("%w (%s)", ErrEnded, w.Ending)
	case w.TaskID != "" && w.ActionID == "":
		return def, st, fmt.Errorf("%w: task %s of state %s (wait for it, or cancel it first)", ErrRunning, w.TaskID, st.StateID)
	}
	return def, st, nil
}

// PrepareWake resolves what a sensor proposes without storing it. Where no instance with the key lives it is a start. Where
// one waits in a state without a task, and a transition leads from there to the proposed state, it is that step, with the
// proposed context laid over the instance's. Otherwise the instance is left alone, and both results are nil. The result goes
// into store.Intake; after ErrStale it is prepared again.
func (e *Engine) PrepareWake(ctx context.Context, p agentruntime.ProposedWorkflow, by string) (*store.NewWorkflow, *store.WorkflowMove, store.Workflow, error) {
	w, err := e.Store.LiveWorkflow(ctx, p.Template, p.InstanceKey)
	if errors.Is(err, store.ErrNotFound) {
		n, err := e.PrepareStart(StartRequest{
			Type: p.Template, InstanceKey: p.InstanceKey, State: p.State, Context: p.Context, By: by, Cause: store.CauseSensor,
		})
		if err != nil {
			return nil, nil, store.Workflow{}, err
		}
		return &n, nil, store.Workflow{}, nil
	}
	if err != nil {
		return nil, nil, w, err
	}
	def, st, err := e.ready(ctx, w)
	if err != nil || p.State == "" || st.EmitsTaskIntent || w.Record.Status != agentruntime.WorkflowActive || !w.DueAt.IsZero() {
		return nil, nil, w, nil //nolint:nilerr // it does not wait for this
	}
	i := slices.IndexFunc(st.Transitions, func(t agentruntime.WorkflowTransition) bool { return t.NextState == p.State })
	if i < 0 {
		return nil, nil, w, nil
	}
	merged, err := merge(w.Record.Context, p.Context)
	if err != nil {
		return nil, nil, w, fmt.Errorf("context: %w", err)
	}
	w.Record.Context = merged
	m, err := e.follow(ctx, def, st, w, st.Transitions[i].Signal, &store.Step{Cause: store.CauseSensor, By: by})
	if err == nil {
		m.Context = merged
	}
	return nil, m, w, err
}

// merge lays the members of one object over another.
func merge(under, over json.RawMessage) (json.RawMessage, error) {
	fields, err := object(under)
	if err != nil {
		return nil, err
	}
	more, err := object(over)
	if err != nil {
		return nil, err
	}
	if _, taken := more[payloadKey]; taken {
		return nil, fmt.Errorf("%q is the workflow's own member", payloadKey)
	}
	for k, v := range more {
		fields[k] = v
	}
	return json.Marshal(fields)
}

// definition returns the definition of a running instance.
func (e *Engine) definition(ctx context.Context, hash string) (Definition, error) {
	e.mu.Lock()
	d, ok := e.defs[hash]
	e.mu.Unlock()
	if ok {
		return d, nil
	}
	body, err := e.Store.WorkflowDefinition(ctx, hash)
	if err != nil {
		return Definition{}, err
	}
	if d, err = stored(hash, body); err != nil {
		return d, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.defs == nil {
		e.defs = map[string]Definition{}
	}
	e.defs[hash] = d
	return d, nil
}

// Definition returns the definition that an instance was started with.
func (e *Engine) Definition(ctx context.Context, w store.Workflow) (Definition, error) {
	return e.definition(ctx, w.Definition)
}

// question is what a workflow asks where it stands.
func question(def Definition, st agentruntime.WorkflowState, w store.Workflow) Question {
	return Question{
		WorkflowID: w.ID(), Type: def.WorkflowType, InstanceKey: w.Record.InstanceKey, State: st.StateID, TaskID: w.TaskID,
		Signals: signals(st), Retry: st.EmitsTaskIntent,
	}
}

// block sets a workflow aside until a person decides.
func block(def Definition, st agentruntime.WorkflowState, w store.Workflow, why string) *store.WorkflowMove {
	why = clip(why)
	q := question(def, st, w)
	return &store.WorkflowMove{
		WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowBlocked, Reason: why,
		Action: ask(q, fmt.Sprintf("Workflow %s (%s) cannot go on: %s. Answer one of: %s", def.WorkflowType, w.Record.InstanceKey, why, q.choices()), why),
	}
}

// wait is what a state without a task waits for.
func wait(def Definition, st agentruntime.WorkflowState, id, key string) *store.NewAction {
	w := store.Workflow{Record: agentruntime.WorkflowRecord{WorkflowID: id, InstanceKey: key}}
	q := question(def, st, w)
	text := fmt.Sprintf("Workflow %s (%s) waits in state %s. Answer one of: %s", def.WorkflowType, key, st.StateID, q.choices())
	if o := own(st); o.Subject != "" {
		text = o.Subject + ". " + text
	}
	return ask(q, text, "the state makes no task: a person or a sensor says how it goes on")
}

func ask(q Question, prompt, why string) *store.NewAction {
	subject, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", q, err)) // texts only
	}
	return &store.NewAction{Kind: ActionKind, Prompt: prompt, Why: why, Subject: subject}
}

func stateIDs(def Definition) []string {
	out := make([]string, len(def.States))
	for i, s := range def.States {
		out[i] = s.StateID
	}
	return out
}

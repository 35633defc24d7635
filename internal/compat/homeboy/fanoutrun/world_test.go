package fanoutrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/store"
)

// A world is a real store, and a queue whose tasks end when the test says so.
type world struct {
	st       *store.Store
	svc      *Service
	attempts map[string]homeboy.Outcome // results of attempts, by id: they survive every crash, as bundles do
	running  []*store.Claim             // of the process that lives now
	ran      map[string][]homeboy.OutcomeStatus
	refuse   func(homeboy.Request) *homeboy.Outcome
	crash    func() bool // asked at each step between two transactions
}

var errCrash = errors.New("the power went")

// newWorld opens a store in dir.
func newWorld(tb testing.TB, dir string) *world {
	tb.Helper()
	st, err := store.Open(tb.Context(), filepath.Join(dir, "deed.db"), store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return worldOn(st)
}

// worldOn is a world on a store that others use, too.
func worldOn(st *store.Store) *world {
	w := &world{st: st, attempts: map[string]homeboy.Outcome{}, ran: map[string][]homeboy.OutcomeStatus{}, crash: func() bool { return false }}
	w.boot()
	return w
}

// boot starts a new process.
func (w *world) boot() {
	w.svc = &Service{
		Store: w.st, Tasks: w, Clock: clock.System, Log: slog.New(slog.DiscardHandler),
		Runner: store.Runner{ID: "runner" + store.NewID()}, Lease: time.Minute,
		Pause: func(int, homeboy.Outcome) time.Duration { return 0 },
	}
}

// Prepare is that of Tasks.
func (w *world) Prepare(_ context.Context, _ json.RawMessage, q homeboy.Request) (row store.NewTask, refusal *homeboy.Outcome, err error) {
	if w.crash() {
		return row, nil, errCrash
	}
	if w.refuse != nil {
		if refusal = w.refuse(q); refusal != nil {
			return row, refusal, nil
		}
	}
	raw, err := json.Marshal(q)
	return store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "t", Source: q.TaskID, Payload: raw}, ProfileID: "p", MaxAttempts: 1}, nil, err
}

// Outcome is that of Tasks.
func (w *world) Outcome(_ context.Context, t store.Task) (homeboy.Outcome, error) {
	if w.crash() {
		return homeboy.Outcome{}, errCrash
	}
	o, ok := w.attempts[t.AttemptID]
	if !ok {
		return o, errors.New("no bundle")
	}
	return o, nil
}

// settle ends a running task.
func (w *world) settle(ctx context.Context, c *store.Claim, o homeboy.Outcome, class string) error {
	o.Schema, o.TaskID = homeboy.SchemaOutcome, c.Task.Record.Source
	w.attempts[c.Ref.AttemptID] = o
	if class != "lost" {
		w.ran[o.TaskID] = append(w.ran[o.TaskID], o.Status)
	}
	in := store.Settlement{State: "failed_terminal", Class: class, Status: agentruntime.TaskPermanentFailure}
	switch {
	case homeboy.IsSuccess(o.Status):
		in = store.Settlement{State: "completed", Class: "none", Status: agentruntime.TaskCompleted, Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK}}
	case o.Status == homeboy.Cancelled:
		in.Status = agentruntime.TaskOperatorCanceled
	}
	if err := w.st.Begin(ctx, c.Ref, store.Begin{}); err != nil {
		return err
	}
	return w.st.Settle(ctx, c.Ref, in)
}

// die ends the process: what ran is lost, as the sweep of the next one finds it.
func (w *world) die(ctx context.Context, id string) error {
	dead := w.svc.Runner.ID
	lost, err := w.st.Lost(ctx, []string{dead})
	if err != nil {
		return err
	}
	for _, l := range lost {
		w.attempts[l.Ref.AttemptID] = homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: l.Task.Record.Source, Status: homeboy.ProviderError}
		if err := w.st.Settle(ctx, l.Ref, store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskPermanentFailure}); err != nil {
			return err
		}
	}
	if err := w.st.DropRunner(ctx, dead); err != nil {
		return err
	}
	w.running = nil
	w.boot()
	_, err = w.svc.Resume(ctx, id, nil)
	return err
}

// end makes an outcome.
func end(status homeboy.OutcomeStatus, class homeboy.FailureClass) homeboy.Outcome {
	return homeboy.Outcome{Status: status, FailureClassification: class, Summary: string(status)}
}

// request is a task of a plan.
func request(id string, keys ...string) homeboy.FanoutTask {
	t := homeboy.FanoutTask{ID: id, GroupKey: "g-" + id, Extra: homeboy.Extra{"instructions": homeboy.Value(`"do it"`), "executor": homeboy.Value(`{"backend": "one", "config": {}}`)}}
	if len(keys) > 0 {
		t.Extra["limits"] = mustJSON(map[string]any{"exclusive_resource_keys": keys})
	}
	return t
}

func planOf(tasks ...homeboy.FanoutTask) homeboy.FanoutPlan {
	return homeboy.FanoutPlan{Schema: homeboy.SchemaFanoutPlan, Orchestrator: map[string]homeboy.Value{"plan_id": homeboy.Value(`"p"`)}, TaskRequests: tasks}
}

// create records a fanout.
func (w *world) create(tb testing.TB, p Plan) store.Fanout {
	tb.Helper()
	f, err := w.svc.Create(tb.Context(), p)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// advance is one step, whose claims run.
func (w *world) advance(tb testing.TB, id string) Step {
	tb.Helper()
	st, err := w.svc.Advance(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	w.running = append(w.running, st.Claims...)
	return st
}

// finish ends the running task of an item.
func (w *world) finish(tb testing.TB, name string, o homeboy.Outcome) {
	tb.Helper()
	for i, c := range w.running {
		if c.Task.Record.Source == name {
			w.running = append(w.running[:i], w.running[i+1:]...)
			if err := w.settle(tb.Context(), c, o, "agent_failed"); err != nil {
				tb.Fatal(err)
			}
			return
		}
	}
	tb.Fatalf("%s does not run; %v do", name, w.names())
}

func (w *world) names() []string {
	out := []string{}
	for _, c := range w.running {
		out = append(out, c.Task.Record.Source)
	}
	return out
}

// document is the run as it is written, read and checked.
func (w *world) document(tb testing.TB, id string) homeboy.FanoutRun {
	tb.Helper()
	var b bytes.Buffer
	if err := w.svc.Write(tb.Context(), id, &b); err != nil {
		tb.Fatal(err)
	}
	var run homeboy.FanoutRun
	if err := json.Unmarshal(b.Bytes(), &run); err != nil {
		tb.Fatalf("%v in %s", err, b.String())
	}
	if err := run.Validate(); err != nil {
		tb.Fatalf("the document is not valid: %v\n%s", err, b.String())
	}
	return run
}

// tries returns what a record says of its tries.
func tries(tb testing.TB, r homeboy.FanoutRecord) (list []Try, spent string) {
	tb.Helper()
	var meta struct {
		Tries []Try  `json:"tries"`
		Spent string `json:"budget_exhausted"`
	}
	if err := json.Unmarshal(r.Extra["metadata"], &meta); err != nil {
		tb.Fatalf("metadata of %s: %v", r.ID, err)
	}
	return meta.Tries, meta.Spent
}

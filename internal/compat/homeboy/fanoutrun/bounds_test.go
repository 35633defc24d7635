package fanoutrun

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/store"
)

// policy reads options as a plan has them.
func policy(t *testing.T, options string) Policy {
	t.Helper()
	p, ignored, err := ReadPolicy("$.options", homeboy.Value(options))
	if err != nil || len(ignored) > 0 {
		t.Fatalf("%s: ignored %v, %v", options, ignored, err)
	}
	return p
}

// Edge case 87: what the queue has no room for, and what can never fit, is blocked before anything starts, and the rest runs.
func TestOverflowIsBlocked(t *testing.T) {
	t.Parallel()
	big := request("big")
	big.Extra["executor"] = homeboy.Value(`{"backend": "one", "model": "huge", "config": {}}`)
	for name, c := range map[string]struct {
		options string
		tasks   []homeboy.FanoutTask
		runs    []string
		why     string
	}{
		"queue depth": {`{"max_queue_depth": 2}`, []homeboy.FanoutTask{request("a"), request("b"), request("c"), request("d")}, []string{"a", "b"}, "max_queue_depth 2"},
		"tasks":       {`{"max_tasks": 1, "max_queue_depth": 9}`, []homeboy.FanoutTask{request("a"), request("b")}, []string{"a"}, "max_tasks 1"},
		"budget": {
			`{"resource_budget": {"max_active_units": 2, "per_model_task_units": {"one:huge": 3}}}`,
			[]homeboy.FanoutTask{request("a"), big, request("c")},
			[]string{"a", "c"},
			"takes 3 units",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: planOf(c.tasks...), Policy: policy(t, c.options)})
			if f.Done != int64(len(c.tasks)-len(c.runs)) {
				t.Errorf("%d are blocked at the start", f.Done)
			}
			w.advance(t, f.ID)
			if d := cmp.Diff(c.runs, w.names()); d != "" {
				t.Errorf("what runs differs (-want +got):\n%s", d)
			}
			for _, n := range c.runs {
				w.finish(t, n, end(homeboy.Succeeded, ""))
			}
			w.advance(t, f.ID)
			run := w.document(t, f.ID)
			if run.Status != homeboy.FanoutFailed || len(run.Records) != len(c.tasks) {
				t.Fatalf("the run is %s with %d records", run.Status, len(run.Records))
			}
			for _, r := range run.Records {
				if r.Status == homeboy.RecordCompleted {
					continue
				}
				var o homeboy.Outcome
				if err := json.Unmarshal(r.Outcome, &o); err != nil {
					t.Fatal(err)
				}
				if o.Status != homeboy.Failed || o.FailureClassification != homeboy.ClassPolicyDenied || o.Diagnostics[0].Class != homeboy.DiagnosticBackpressure || !strings.Contains(o.Summary, c.why) {
					t.Errorf("%s: %+v", r.ID, o)
				}
			}
		})
	}
}

// Edge case 87: the units of what runs never exceed the budget, which goes below the concurrency.
func TestResourceBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	two := request("two")
	two.Extra["executor"] = homeboy.Value(`{"backend": "heavy", "config": {}}`)
	f := w.create(t, Plan{
		Plan:   planOf(request("a"), two, request("b"), request("c")),
		Policy: policy(t, `{"max_concurrency": 4, "resource_budget": {"max_active_units": 3, "per_executor_task_units": {"heavy": 2}}}`),
	})
	w.advance(t, f.ID)
	if d := cmp.Diff([]string{"a", "two"}, w.names()); d != "" {
		t.Fatalf("what runs differs (-want +got):\n%s", d)
	}
	w.finish(t, "two", end(homeboy.Succeeded, ""))
	w.advance(t, f.ID)
	if d := cmp.Diff([]string{"a", "b", "c"}, w.names()); d != "" {
		t.Fatalf("what runs differs (-want +got):\n%s", d)
	}
}

// Edge case 87: the caps of an executor and of a model go below the concurrency, and others are not held up by them.
func TestCapsOfExecutorsAndModels(t *testing.T) {
	t.Parallel()
	on := func(id, executor string) homeboy.FanoutTask {
		r := request(id)
		r.Extra["executor"] = homeboy.Value(executor)
		return r
	}
	const one, other, big = `{"backend": "one", "config": {}}`, `{"backend": "two", "selector": "two.x", "config": {}}`, `{"backend": "three", "model": "big", "config": {}}`
	tasks := []homeboy.FanoutTask{on("a1", one), on("a2", one), on("b1", other), on("b2", other), on("c1", big), on("c2", big), on("c3", big), on("d", `{"backend": "three", "config": {}}`)}
	for options, want := range map[string][]string{
		`{"max_concurrency": 8}`: {"a1", "a2", "b1", "b2", "c1", "c2", "c3", "d"},
		`{"max_concurrency": 8, "per_executor_concurrency": {"one": 1, "two:two.x": 1}}`:                              {"a1", "b1", "c1", "c2", "c3", "d"},
		`{"max_concurrency": 8, "per_model_concurrency": {"big": 1}}`:                                                 {"a1", "a2", "b1", "b2", "c1", "d"},
		`{"max_concurrency": 8, "per_model_concurrency": {"three:big": 2}, "per_executor_concurrency": {"three": 1}}`: {"a1", "a2", "b1", "b2", "c1"},
		`{"max_concurrency": 3, "per_executor_concurrency": {"one": 1}, "per_model_concurrency": {"big": 5}}`:         {"a1", "b1", "b2"},
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: planOf(tasks...), Policy: policy(t, options)})
			w.advance(t, f.ID)
			if d := cmp.Diff(want, w.names()); d != "" {
				t.Fatalf("what runs differs (-want +got):\n%s", d)
			}
			for done := 0; done < len(tasks); done++ { // whatever was held up comes to its turn
				w.finish(t, w.names()[0], end(homeboy.Succeeded, ""))
				w.advance(t, f.ID)
			}
			if run := w.document(t, f.ID); run.Status != homeboy.FanoutCompleted {
				t.Errorf("the run is %s", run.Status)
			}
		})
	}
}

// Edge case 88: who waits for a key, or for room, loses none of its time: a task begins to be one when it is its turn.
func TestWaitingUsesNoTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	timed := func(id string) homeboy.FanoutTask {
		r := request(id)
		r.Extra["limits"] = homeboy.Value(`{"timeout_ms": 1000, "exclusive_resource_keys": ["k"]}`)
		return r
	}
	now := time.Now().Truncate(time.Microsecond)
	w.svc.Clock = func() time.Time { return now }
	f := w.create(t, Plan{Plan: planOf(timed("a"), timed("b"))})
	w.advance(t, f.ID)
	if d := cmp.Diff([]string{"a"}, w.names()); d != "" {
		t.Fatalf("what runs differs (-want +got):\n%s", d)
	}
	if all, err := w.st.Tasks(t.Context(), store.TaskFilter{}); err != nil || len(all) != 1 {
		t.Errorf("%d tasks, %v", len(all), err)
	}
	now = now.Add(time.Hour)
	w.finish(t, "a", end(homeboy.Succeeded, ""))
	w.advance(t, f.ID)
	var q homeboy.Request
	if err := json.Unmarshal(w.running[0].Task.Record.Payload, &q); err != nil || q.TaskID != "b" || q.Limits.TimeoutMS != 1000 || q.Limits.ExecutionDeadlineUnixMS != 0 {
		t.Errorf("after an hour it is asked for %+v, %v", q.Limits, err)
	}
}

// The limits of a plan are for the requests that have none of their own, and its deadline is for all.
func TestLimitsOfThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	own := request("own")
	own.Extra["limits"] = homeboy.Value(`{"max_runtime_ms": 9000, "liveness_timeout_ms": 70, "execution_deadline_unix_ms": 4102444800001}`)
	f := w.create(t, Plan{Plan: planOf(request("none"), own), Policy: policy(t, `{"timeout_ms": 1500, "rotation": {"entries": [{"backend": "two"}], "liveness_timeout_ms": 400},
		"execution_budget": {"deadline_unix_ms": 4102444800000}}`)})
	w.advance(t, f.ID)
	got := map[string]homeboy.Limits{}
	for _, c := range w.running {
		var q homeboy.Request
		if err := json.Unmarshal(c.Task.Record.Payload, &q); err != nil || q.Limits == nil {
			t.Fatalf("%s: %v", c.Task.Record.Payload, err)
		}
		got[q.TaskID] = *q.Limits
	}
	want := map[string]homeboy.Limits{
		"none": {TimeoutMS: 1500, LivenessTimeoutMS: 400, ExecutionDeadlineUnixMS: 4102444800000},
		"own":  {MaxRuntimeMS: 9000, LivenessTimeoutMS: 70, ExecutionDeadlineUnixMS: 4102444800000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("limits differ (-want +got):\n%s", d)
	}
}

// What packages suggest counts where the plan says nothing of a backend.
func TestSuggestedBounds(t *testing.T) {
	t.Parallel()
	p := policy(t, `{"per_executor_concurrency": {"one": 3, "two:fast": 1}}`)
	p.Suggest(map[string]int64{"one": 1, "two": 1, "three": 2, "four": 0})
	if d := cmp.Diff(map[string]int64{"one": 3, "two:fast": 1, "three": 2}, p.PerExecutor); d != "" {
		t.Errorf("bounds differ (-want +got):\n%s", d)
	}
	var none Policy
	none.Suggest(map[string]int64{"one": 1})
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: none})
	w.advance(t, f.ID)
	if d := cmp.Diff([]string{"a"}, w.names()); d != "" {
		t.Errorf("what runs differs (-want +got):\n%s", d)
	}
}

func TestBadBounds(t *testing.T) {
	t.Parallel()
	_, _, err := ReadPolicy("$.options", homeboy.Value(`{"max_queue_depth": -1, "max_tasks": -2, "timeout_ms": -4, "rotation": {"liveness_timeout_ms": -5}, "resource_budget": {"max_active_units": -3, "per_model_task_units": {"m": 0}}}`))
	var got []string
	for _, f := range fault.Of(err) {
		got = append(got, f.Path)
	}
	if d := cmp.Diff([]string{"$.options.max_tasks", "$.options.max_queue_depth", "$.options.timeout_ms", "$.options.resource_budget.max_active_units", "$.options.resource_budget.per_model_task_units.m", "$.options.rotation.liveness_timeout_ms"}, got); d != "" {
		t.Errorf("faults differ (-want +got):\n%s", d)
	}
}

// Edge case 57: a failure that its package knows by name, twice at once, ends the tries with that provider and no others.
func TestCircuit(t *testing.T) {
	t.Parallel()
	gone := end(homeboy.ProviderError, homeboy.ClassTransient)
	gone.Diagnostics = []homeboy.Diagnostic{{Class: homeboy.DiagnosticImmediateFailure, Message: "known", Data: homeboy.Value(`{"id": "gone"}`)}}
	other := end(homeboy.ProviderError, homeboy.ClassTransient)
	other.Diagnostics = []homeboy.Diagnostic{{Class: homeboy.DiagnosticImmediateFailure, Message: "known", Data: homeboy.Value(`{"id": "other"}`)}}
	plain := end(homeboy.ProviderError, homeboy.ClassTransient)
	for name, c := range map[string]struct {
		policy Policy
		ends   []homeboy.Outcome
		tries  int
		open   string
	}{
		"twice the same":   {Policy{Retry: &Retry{MaxAttempts: 5}}, []homeboy.Outcome{gone, gone}, 2, "gone"},
		"two kinds":        {Policy{Retry: &Retry{MaxAttempts: 4}}, []homeboy.Outcome{gone, other, gone, gone}, 4, ""},
		"no known failure": {Policy{Retry: &Retry{MaxAttempts: 3}}, []homeboy.Outcome{plain, plain, plain}, 3, ""},
		"the next provider is asked": {
			Policy{Retry: &Retry{MaxAttempts: 5}, Rotation: &Rotation{Entries: []Entry{{Backend: "two"}}}},
			[]homeboy.Outcome{gone, gone, gone, end(homeboy.Succeeded, "")},
			4, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: c.policy})
			w.advance(t, f.ID)
			w.finish(t, "b", gone) // another task's failure does not count for this one
			for _, o := range c.ends {
				w.advance(t, f.ID)
				w.finish(t, "a", o)
			}
			for range 2 {
				w.advance(t, f.ID)
				if len(w.running) > 0 {
					w.finish(t, "b", end(homeboy.Succeeded, ""))
				}
			}
			rec := w.document(t, f.ID).Records[0]
			list, _ := tries(t, rec)
			var meta struct {
				Open string `json:"circuit_open"`
			}
			if err := json.Unmarshal(rec.Extra["metadata"], &meta); err != nil {
				t.Fatal(err)
			}
			if len(list) != c.tries || meta.Open != c.open {
				t.Errorf("%d tries, open %q: %+v", len(list), meta.Open, list)
			}
		})
	}
}

// Another try with the same provider waits, longer each time, or as long as the provider says.
func TestPauses(t *testing.T) {
	t.Parallel()
	hint := homeboy.Outcome{Metadata: homeboy.Value(`{"retry_hint": {"retry_after_seconds": 90}}`)}
	far := homeboy.Outcome{Metadata: homeboy.Value(`{"retry_hint": {"retry_after_seconds": 90000}}`)}
	for _, c := range []struct {
		same int
		o    homeboy.Outcome
		want time.Duration
	}{
		{1, homeboy.Outcome{}, firstPause},
		{2, homeboy.Outcome{}, 2 * firstPause},
		{3, homeboy.Outcome{}, 4 * firstPause},
		{90, homeboy.Outcome{}, longestPause},
		{1, hint, 90 * time.Second},
		{1, far, longestHint},
	} {
		if got := Pause(c.same, c.o); got != c.want {
			t.Errorf("after %d: %v, want %v", c.same, got, c.want)
		}
	}
	w := newWorld(t, t.TempDir())
	now := time.Now().Truncate(time.Microsecond)
	w.svc.Clock = func() time.Time { return now }
	w.svc.Pause = func(int, homeboy.Outcome) time.Duration { return time.Hour }
	f := w.create(t, Plan{Plan: planOf(request("a")), Policy: Policy{Retry: &Retry{MaxAttempts: 2}}})
	w.advance(t, f.ID)
	w.finish(t, "a", end(homeboy.Failed, ""))
	if st := w.advance(t, f.ID); len(w.running) != 0 || !st.Waits {
		t.Fatalf("it does not wait: %+v", st)
	}
	it, err := w.st.FanoutItem(t.Context(), f.ID, 0)
	if err != nil || !strings.HasPrefix(it.WaitsFor, "until:") {
		t.Errorf("it waits for %q, %v", it.WaitsFor, err)
	}
}

// depends_on of a task makes it wait, and its faults are reported with their place in the plan.
func TestDependsOn(t *testing.T) {
	t.Parallel()
	with := func(id, on string) homeboy.FanoutTask {
		r := request(id)
		r.Extra["depends_on"] = homeboy.Value(on)
		return r
	}
	w := newWorld(t, t.TempDir())
	p := planOf(with("build", `["fetch", "setup"]`), request("fetch"), with("setup", `"fetch"`))
	p.Extra = homeboy.Extra{"output_dependencies": homeboy.Value(`{"build": {"depends_on": ["fetch"]}}`)}
	needs, err := NeedsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	f := w.create(t, Plan{Plan: p, Needs: needs})
	for _, name := range []string{"fetch", "setup", "build"} {
		w.advance(t, f.ID)
		if d := cmp.Diff([]string{name}, w.names()); d != "" {
			t.Fatalf("what runs differs (-want +got):\n%s", d)
		}
		var q map[string]any
		if err := json.Unmarshal(w.running[0].Task.Record.Payload, &q); err != nil || q["depends_on"] != nil {
			t.Errorf("%s is told %v, %v", name, q["depends_on"], err)
		}
		w.finish(t, name, end(homeboy.Failed, "")) // it waits for the end, whatever that is
	}
	w.advance(t, f.ID)
	if run := w.document(t, f.ID); len(run.Records) != 3 {
		t.Errorf("%d records", len(run.Records))
	}
	for name, c := range map[string]struct {
		plan homeboy.FanoutPlan
		path string
	}{
		"no such task": {planOf(request("a"), with("b", `["nope"]`)), "$.task_requests[1].depends_on[0]"},
		"itself":       {planOf(with("a", `["a"]`)), "$.task_requests[0].depends_on[0]"},
		"no list":      {planOf(with("a", `{"b": 1}`)), "$.task_requests[0].depends_on"},
		"circle":       {planOf(with("a", `["b"]`), with("b", `["a"]`)), "$.task_requests[0]"},
		"of the plan":  {homeboy.FanoutPlan{Extra: homeboy.Extra{"depends_on": homeboy.Value(`["a"]`)}}, "$.depends_on"},
	} {
		needs, err := NeedsOf(c.plan)
		if err == nil {
			err = Plan{Plan: c.plan, Needs: needs}.Check()
		}
		faults := fault.Of(err)
		if len(faults) != 1 || faults[0].Path != c.path || faults[0].Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Edge case 100: a fanout that a newer deed recorded is left alone, and so is one whose settings are broken; neither
// blocks the others.
func TestFanoutsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.svc.Runner = store.Runner{} // a dispatcher
	var bad []store.Fanout
	for _, settings := range []string{`{"version": 99, "policy": {}}`, `{"policy": 7}`} {
		f, err := w.st.CreateFanout(t.Context(), store.NewFanout{Settings: json.RawMessage(settings), Items: []store.NewItem{{Name: "x", Work: json.RawMessage(`{}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		bad = append(bad, f)
	}
	good := w.create(t, Plan{Plan: planOf(request("a"))})
	n, err := w.svc.Hook().Due(t.Context())
	if n != 1 || !errors.Is(err, ErrNewer) {
		t.Errorf("made %d, %v", n, err)
	}
	for _, f := range bad {
		got, err := w.st.Fanout(t.Context(), f.ID)
		if err != nil || got.Pending != 1 || !got.UpdatedAt.Equal(f.UpdatedAt) {
			t.Errorf("it was touched: %+v, %v", got, err)
		}
	}
	if list, err := w.st.Fanouts(t.Context(), store.FanoutFilter{}); err != nil || len(list) != 3 {
		t.Errorf("%d are listed, %v", len(list), err)
	}
	if got, err := w.st.Fanout(t.Context(), good.ID); err != nil || got.Released != 1 {
		t.Errorf("the good one: %+v, %v", got, err)
	}
}

// Edge case 100: a record that cannot be read is reported as a failure in its place, in the run and in a matrix, and the others
// are there. A task that needs what it held is skipped.
func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	p := planOf(request("a"), request("b"), request("c"))
	p.Extra = homeboy.Extra{"output_dependencies": homeboy.Value(`{"c": {"depends_on": ["b"], "bindings": {"x": {"task_id": "b", "path": "/outputs/x"}}}}`)}
	needs, err := NeedsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	f := w.create(t, Plan{Plan: p, Needs: needs, Matrix: true})
	w.advance(t, f.ID)
	w.finish(t, "a", end(homeboy.Succeeded, ""))
	items, err := w.st.FanoutItems(t.Context(), f.ID, -1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.st.FinishItem(t.Context(), items[1], json.RawMessage(`["no record"]`), false); err != nil {
		t.Fatal(err)
	}
	w.advance(t, f.ID)
	run := w.document(t, f.ID)
	var got []string
	for _, r := range run.Records {
		got = append(got, r.Name()+" "+string(r.Status))
	}
	if d := cmp.Diff([]string{"a completed", "b failed", "c failed"}, got); d != "" || run.Status != homeboy.FanoutFailed || !strings.Contains(run.Records[1].ErrorMessage, "cannot be read") {
		t.Errorf("the run is %s, %q, records differ (-want +got):\n%s", run.Status, run.Records[1].ErrorMessage, d)
	}
	if m, err := w.svc.Matrix(t.Context(), f.ID); err != nil || len(m.Cells) != 3 {
		t.Errorf("%d cells, %v", len(m.Cells), err)
	}
}

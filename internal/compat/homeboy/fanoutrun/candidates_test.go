package fanoutrun

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/store"
)

// outcomes are the statuses of a run's records, in the order of the plan.
func (w *world) outcomes(t *testing.T, id string) []homeboy.OutcomeStatus {
	t.Helper()
	var out []homeboy.OutcomeStatus
	for _, r := range w.document(t, id).Records {
		var o homeboy.Outcome
		if err := json.Unmarshal(r.Outcome, &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Status)
	}
	return out
}

// asked counts how often a task was asked to end.
func (w *world) asked(t *testing.T, taskID string) (n int) {
	t.Helper()
	events, err := w.st.Events(t.Context(), store.EventFilter{TaskID: taskID})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == store.EventTaskCancelRequested {
			n++
		}
	}
	return n
}

// The first candidate that is completed ends the fanout: what waits is never started, and what runs is asked to end, once.
func TestFirstGreen(t *testing.T) {
	t.Parallel()
	four := planOf(request("a"), request("b"), request("c"), request("d"))
	for name, c := range map[string]struct {
		sibling homeboy.OutcomeStatus // how the other running one ends
		want    []homeboy.OutcomeStatus
	}{
		"obeys":      {homeboy.Cancelled, []homeboy.OutcomeStatus{"failed", "cancelled", "succeeded", "cancelled"}},
		"was faster": {homeboy.Succeeded, []homeboy.OutcomeStatus{"failed", "succeeded", "succeeded", "cancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: four, Policy: policy(t, `{"max_concurrency": 2, "candidate_completion": "first_green"}`)})
			w.advance(t, f.ID)
			w.finish(t, "a", end(homeboy.Failed, homeboy.ClassExecutionFailed)) // a failure decides nothing
			w.advance(t, f.ID)
			if d := cmp.Diff([]string{"b", "c"}, w.names()); d != "" {
				t.Fatalf("what runs differs (-want +got):\n%s", d)
			}
			w.finish(t, "c", end(homeboy.Succeeded, ""))
			if st := w.advance(t, f.ID); st.Fanout.Pending != 0 || st.Fanout.Released != 1 || len(st.Claims) > 0 {
				t.Fatalf("%+v", st.Fanout)
			}
			w.advance(t, f.ID) // it is asked once, however often deed looks
			if n := w.asked(t, w.running[0].Ref.TaskID); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
			w.finish(t, "b", end(c.sibling, ""))
			st := w.advance(t, f.ID)
			if d := cmp.Diff(c.want, w.outcomes(t, f.ID)); d != "" || st.Fanout.Live() || !w.svc.Candidates(t.Context(), f.ID) {
				t.Errorf("live: %v, outcomes differ (-want +got):\n%s", st.Fanout.Live(), d)
			}
			if st.Fanout.CancelBy != supersededBy {
				t.Errorf("cancelled by %q", st.Fanout.CancelBy)
			}
		})
	}
}

// A crash between the record of the winner and the end of the others, or while they end: the next process continues,
// and starts nothing.
func TestFirstGreenAfterACrash(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, w *world, id string){
		"before anybody was asked": func(t *testing.T, w *world, id string) {
			set, err := w.svc.load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			st := &step{Service: w.svc, Step: Step{Fanout: store.Fanout{ID: id}}, set: set}
			if _, err := st.settleReleased(t.Context()); err != nil || st.Moved != 1 {
				t.Fatal(st.Moved, err)
			}
		},
		"after they were asked": func(t *testing.T, w *world, id string) { w.advance(t, id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c")), Policy: Policy{MaxConcurrency: 2, Completion: FirstGreen}})
			w.advance(t, f.ID)
			w.finish(t, "a", end(homeboy.NoOp, ""))
			before(t, w, f.ID)
			if err := w.die(t.Context(), f.ID); err != nil {
				t.Fatal(err)
			}
			var last store.Fanout
			for range 4 {
				st := w.advance(t, f.ID)
				if last = st.Fanout; len(st.Claims) > 0 {
					t.Fatalf("%v was started", w.names())
				}
			}
			if last.Live() || last.Succeeded != 1 || len(w.ran) != 1 {
				t.Errorf("%+v, ran %v", last, w.ran)
			}
		})
	}
}

// Dispatchers end it, too.
func TestFirstGreenOfADetachedFanout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	runner := w.svc.Runner
	w.svc.Runner = store.Runner{}
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c")), Policy: Policy{MaxConcurrency: 2, Completion: FirstGreen}})
	w.advance(t, f.ID)
	c, err := w.st.Claim(t.Context(), store.ClaimOptions{RunnerID: runner.ID, Lease: w.svc.Lease})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.settle(t.Context(), c, end(homeboy.Succeeded, ""), ""); err != nil {
		t.Fatal(err)
	}
	var last store.Fanout
	for range 3 {
		last = w.advance(t, f.ID).Fanout
	}
	if last.Live() || last.Succeeded != 1 {
		t.Errorf("%+v", last)
	}
	if _, err := w.st.Claim(t.Context(), store.ClaimOptions{RunnerID: runner.ID, Lease: w.svc.Lease}); err == nil {
		t.Error("a candidate can still be claimed")
	}
}

// A plan whose tasks build on each other has no candidates.
func TestFirstGreenAndDependencies(t *testing.T) {
	t.Parallel()
	p := planOf(request("a"), request("b"))
	p.TaskRequests[1].Extra["depends_on"] = homeboy.Value(`["a"]`)
	needs, err := NeedsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	err = Plan{Plan: p, Needs: needs, Policy: Policy{Completion: FirstGreen}}.Check()
	if list := fault.Of(err); len(list) != 1 || list[0].Path != "$.options.candidate_completion" {
		t.Errorf("%v", err)
	}
	if err := (Plan{Plan: p, Needs: needs, Policy: Policy{Completion: WaitAll}}).Check(); err != nil {
		t.Error(err)
	}
}

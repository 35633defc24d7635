package fanoutrun

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/store"
)

// Edge case 109: records are in the order of the plan, whatever order tasks end in.
func TestRecordsAreInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "run.json")
	var progress []string
	w.svc.Observe = func(p homeboy.FanoutProgress) { progress = append(progress, p.ID+" "+p.Status) }
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c"), request("d")), Output: file, Policy: Policy{MaxConcurrency: 2}})
	if run := readRun(t, file); run.Status != homeboy.FanoutIncomplete || string(run.CurrentGroup) != "null" || len(run.Records) != 0 {
		t.Errorf("before anything starts the file says %+v", run)
	}
	w.advance(t, f.ID)
	if got := w.names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%v run", got)
	}
	run := w.document(t, f.ID)
	if string(run.CurrentGroup) != `"g-a"` || len(run.CurrentGroups) != 2 {
		t.Errorf("current groups %s of %s", run.CurrentGroup, run.CurrentGroups)
	}
	w.finish(t, "b", end(homeboy.Failed, homeboy.ClassExecutionFailed))
	w.advance(t, f.ID)
	w.finish(t, "c", end(homeboy.NoOp, ""))
	w.advance(t, f.ID)
	w.finish(t, "d", end(homeboy.Succeeded, ""))
	w.finish(t, "a", end(homeboy.Succeeded, ""))
	st := w.advance(t, f.ID)
	if st.Fanout.Live() {
		t.Fatal("it is not over")
	}
	run = readRun(t, file)
	var got []string
	for _, r := range run.Records {
		got = append(got, r.ID+" "+string(r.Status))
	}
	if d := cmp.Diff([]string{"a completed", "b failed", "c completed", "d completed"}, got); d != "" {
		t.Errorf("records differ (-want +got):\n%s", d)
	}
	if b := run.Records[1]; b.ErrorMessage != "failed" || b.GroupKey != "g-b" || run.Records[0].ErrorMessage != "" {
		t.Errorf("the failure is told as %+v", b)
	}
	if run.Status != homeboy.FanoutFailed || len(run.Outcomes) != 4 || !slices.Equal(run.Reconciliation.FailedTaskIDs, []string{"b"}) || run.Reconciliation.SuccessCount != 3 {
		t.Errorf("the run is %s, %d outcomes, %+v", run.Status, len(run.Outcomes), run.Reconciliation)
	}
	if want := []string{"a started", "b started", "b failed", "c started", "c completed", "d started", "a completed", "d completed"}; !slices.Equal(progress, want) {
		t.Errorf("told %v, want %v", progress, want)
	}
}

// Edge case 115: a reader of the run file always sees a complete one while the fanout runs, and never fewer records than
// before.
func TestTheRunFileIsWholeAtAnyTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "run.json")
	var list []homeboy.FanoutTask
	for i := range 12 {
		list = append(list, request(fmt.Sprint("t", i)))
	}
	f := w.create(t, Plan{Plan: planOf(list...), Output: file})
	over, read := make(chan struct{}), make(chan int)
	go func() {
		defer close(read)
		last, most := false, 0
		for n := 0; !last; n++ {
			select {
			case <-over:
				last = true
			default:
			}
			data, err := os.ReadFile(file)
			var run homeboy.FanoutRun
			if err == nil {
				err = json.Unmarshal(data, &run)
			}
			if err != nil || run.Validate() != nil || len(run.Records) < most {
				t.Errorf("reading %d: %v, %v, %d records after %d:\n%s", n, err, run.Validate(), len(run.Records), most, data)
				return
			}
			most = len(run.Records)
		}
		read <- most
	}()
	for range list {
		w.advance(t, f.ID)
		w.finish(t, w.names()[0], end(homeboy.Succeeded, ""))
	}
	w.advance(t, f.ID)
	close(over)
	if n := <-read; n != len(list) {
		t.Errorf("the last file has %d records", n)
	}
}

// readRun reads a run file whole, at any time.
func readRun(t *testing.T, file string) homeboy.FanoutRun {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var run homeboy.FanoutRun
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	return run
}

// Edge case 110.
func TestAnEmptyPlanIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf()})
	if run := w.document(t, f.ID); run.Status != homeboy.FanoutCompleted || f.Live() {
		t.Errorf("it is %s", run.Status)
	}
}

// Edge case 108: every fault at once, and nothing is recorded.
func TestBadPlansStartNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	noExecutor := request("x")
	delete(noExecutor.Extra, "executor")
	for name, p := range map[string]Plan{
		"twice":       {Plan: planOf(request("a"), request("a"))},
		"no id":       {Plan: planOf(homeboy.FanoutTask{})},
		"no executor": {Plan: planOf(noExecutor)},
		"needs":       {Plan: planOf(request("a")), Needs: Needs{"a": {DependsOn: []string{"a"}}, "b": {}}},
		"circle":      {Plan: planOf(request("a"), request("b")), Needs: Needs{"a": {DependsOn: []string{"b"}}, "b": {DependsOn: []string{"a"}}}},
	} {
		if _, err := w.svc.Create(t.Context(), p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if list, err := w.st.Fanouts(t.Context(), store.FanoutFilter{}); err != nil || len(list) != 0 {
		t.Errorf("%d fanouts, %v", len(list), err)
	}
}

// Edge case 91: rotation is recorded in order and stops at the first success; the next provider gets the entry's backend.
func TestRotationIsRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	p := Plan{Plan: planOf(request("a")), Policy: Policy{
		Retry:    &Retry{MaxAttempts: 2, Classes: []homeboy.FailureClass{homeboy.ClassTransient}},
		Rotation: &Rotation{Entries: []Entry{{Backend: "two", Model: "m2"}, {Backend: "three"}}},
	}}
	f := w.create(t, p)
	for _, o := range []homeboy.Outcome{
		end(homeboy.ProviderError, homeboy.ClassTransient), end(homeboy.ProviderError, homeboy.ClassTransient), end(homeboy.Succeeded, ""),
	} {
		w.advance(t, f.ID)
		w.finish(t, "a", o)
	}
	w.advance(t, f.ID)
	run := w.document(t, f.ID)
	list, spent := tries(t, run.Records[0])
	var got []string
	for _, x := range list {
		got = append(got, x.Backend+x.Model+" "+string(x.Status)+" "+x.Then)
	}
	if d := cmp.Diff([]string{"one provider_error retry", "one provider_error rotate", "twom2 succeeded "}, got); d != "" || spent != "" || run.Status != homeboy.FanoutCompleted {
		t.Errorf("%s, spent %q, differs (-want +got):\n%s", run.Status, spent, d)
	}
}

// Edge case 56: a transient failure is tried again and its history is reported; a permanent one is not tried again; one that never
// passed is reported as it was.
func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	broke, denied, wrong := end(homeboy.ProviderError, homeboy.ClassTransient), end(homeboy.Failed, homeboy.ClassPolicyDenied), end(homeboy.Failed, homeboy.ClassInvalidInput)
	only := Policy{Retry: &Retry{MaxAttempts: 3, Classes: []homeboy.FailureClass{homeboy.ClassTransient}}}
	for name, c := range map[string]struct {
		policy Policy
		ends   []homeboy.Outcome
		want   []string
		record homeboy.RecordStatus
	}{
		"it passes":              {only, []homeboy.Outcome{broke, end(homeboy.Succeeded, "")}, []string{"provider_error transient retry", "succeeded  "}, homeboy.RecordCompleted},
		"it never passes":        {only, []homeboy.Outcome{broke, broke, broke}, []string{"provider_error transient retry", "provider_error transient retry", "provider_error transient "}, homeboy.RecordFailed},
		"it is permanent":        {only, []homeboy.Outcome{wrong}, []string{"failed invalid_input "}, homeboy.RecordFailed},
		"denied, whatever is so": {Policy{Retry: &Retry{MaxAttempts: 3}}, []homeboy.Outcome{denied}, []string{"failed policy_denied "}, homeboy.RecordFailed},
		"no policy":              {Policy{}, []homeboy.Outcome{broke}, []string{"provider_error transient "}, homeboy.RecordFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, t.TempDir())
			f := w.create(t, Plan{Plan: planOf(request("a")), Policy: c.policy})
			for _, o := range c.ends {
				w.advance(t, f.ID)
				w.finish(t, "a", o)
			}
			if st := w.advance(t, f.ID); st.Fanout.Live() {
				t.Fatal("it is not over")
			}
			r := w.document(t, f.ID).Records[0]
			list, _ := tries(t, r)
			var got []string
			for _, x := range list {
				got = append(got, strings.Join([]string{string(x.Status), string(x.Class), x.Then}, " "))
			}
			var o homeboy.Outcome
			if err := json.Unmarshal(r.Outcome, &o); err != nil {
				t.Fatal(err)
			}
			last := c.ends[len(c.ends)-1]
			if d := cmp.Diff(c.want, got); d != "" || r.Status != c.record || o.Status != last.Status || o.FailureClassification != last.FailureClassification {
				t.Errorf("%s, %s %s, tries differ (-want +got):\n%s", r.Status, o.Status, o.FailureClassification, d)
			}
		})
	}
}

// A request that cannot be run has its record without a task, or goes to the next provider.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.refuse = func(q homeboy.Request) *homeboy.Outcome {
		if q.Executor.Backend == "two" {
			return nil
		}
		o := end(homeboy.ProviderError, homeboy.ClassProvider)
		o.Schema, o.TaskID = homeboy.SchemaOutcome, q.TaskID
		return &o
	}
	f := w.create(t, Plan{Plan: planOf(request("a"))})
	if st := w.advance(t, f.ID); st.Fanout.Live() || len(w.running) != 0 {
		t.Fatalf("a refused request: %+v", st)
	}
	f = w.create(t, Plan{Plan: planOf(request("b")), Policy: Policy{Rotation: &Rotation{Entries: []Entry{{Backend: "two"}}}}})
	w.advance(t, f.ID)
	w.finish(t, "b", end(homeboy.Succeeded, ""))
	w.advance(t, f.ID)
	if run := w.document(t, f.ID); run.Status != homeboy.FanoutCompleted {
		t.Errorf("the run is %s", run.Status)
	}
	tasks, err := w.st.Tasks(t.Context(), store.TaskFilter{})
	if err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
}

// The retries of the whole fanout are one sum. Edge case 90.
func TestRetriesInTotal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: Policy{Retry: &Retry{MaxAttempts: 3, MaxRetriesTotal: ptr(1)}}})
	fail := end(homeboy.Failed, homeboy.ClassExecutionFailed)
	w.advance(t, f.ID)
	w.finish(t, "a", fail)
	w.finish(t, "b", fail)
	w.advance(t, f.ID)
	w.finish(t, "a", fail)
	w.advance(t, f.ID)
	run := w.document(t, f.ID)
	a, spentA := tries(t, run.Records[0])
	b, spentB := tries(t, run.Records[1])
	if len(a) != 2 || len(b) != 1 || spentA != "max_retries_total" || spentB != "max_retries_total" {
		t.Errorf("a has %d tries (%s), b %d (%s)", len(a), spentA, len(b), spentB)
	}
}

// Edge cases 96 and 101.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c"), request("d")), Policy: Policy{MaxConcurrency: 2, Retry: &Retry{MaxAttempts: 5}}})
	w.advance(t, f.ID)
	yes := func(store.Fanout) bool { return true }
	got, err := w.svc.Cancel(t.Context(), f.ID, "enough", "me", yes)
	if err != nil || got.Result != CancelledRequested || got.Asked != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = w.svc.Cancel(t.Context(), f.ID, "again", "me", yes); err != nil || got.Asked != 2 {
		t.Fatalf("a second time: %+v, %v", got, err)
	}
	for _, c := range w.running {
		events, err := w.st.Events(t.Context(), store.EventFilter{TaskID: c.Ref.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range events {
			if e.Type == store.EventTaskCancelRequested {
				n++
			}
		}
		if n != 1 {
			t.Errorf("it was told %d times", n)
		}
	}
	w.finish(t, "a", end(homeboy.Succeeded, "")) // it was faster
	w.finish(t, "b", end(homeboy.Cancelled, ""))
	w.advance(t, f.ID)
	run := w.document(t, f.ID)
	var words []string
	for _, r := range run.Records {
		var o homeboy.Outcome
		if err := json.Unmarshal(r.Outcome, &o); err != nil {
			t.Fatal(err)
		}
		words = append(words, string(o.Status))
	}
	if d := cmp.Diff([]string{"succeeded", "cancelled", "cancelled", "cancelled"}, words); d != "" || run.Status != homeboy.FanoutFailed {
		t.Errorf("the run is %s, differs (-want +got):\n%s", run.Status, d)
	}
	if got, err = w.svc.Cancel(t.Context(), f.ID, "late", "me", yes); err != nil || got.Result != CancelledTooLate {
		t.Errorf("after the end: %+v, %v", got, err)
	}
}

// A fanout that no process runs is cancelled at once.
func TestCancelOfADetachedFanout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.svc.Runner = store.Runner{}
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c"), request("d"))})
	w.advance(t, f.ID)
	got, err := w.svc.Cancel(t.Context(), f.ID, "", "me", func(store.Fanout) bool { return false })
	if err != nil || got.Result != CancelledDone || got.Fanout.Done != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// Edge case 94: what one task made is in the request of the next; a required value that is not there skips it.
func TestWhatTasksNeedOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	no := false
	join := request("join")
	join.Extra["instructions"] = homeboy.Value(`"use {{outputs.name}} and {{ outputs.late }}; {{other}} stays"`)
	join.Extra["inputs"] = homeboy.Value(`{"list": "{{outputs.list}}", "n": 12345678901234567890, "deep": ["{{outputs.typed}}"]}`)
	needs := Needs{
		"join": {DependsOn: []string{"b"}, Bindings: map[string]Binding{
			"name":  {TaskID: "a", Path: "/outputs/x~1y"},
			"list":  {TaskID: "a", Path: "/outputs/list"},
			"late":  {TaskID: "b", Path: "/outputs/none", Required: &no, Default: homeboy.Value(`"nothing"`)},
			"typed": {TaskID: "b", Artifact: &BindingArtifact{Kind: "report", PayloadPath: "/0/n"}},
		}},
		"skipped": {Bindings: map[string]Binding{"x": {TaskID: "b", Path: "/outputs/none"}}},
	}
	f := w.create(t, Plan{Plan: planOf(join, request("skipped"), request("a"), request("b")), Needs: needs})
	w.advance(t, f.ID)
	if got := w.names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%v run", got)
	}
	a := end(homeboy.Succeeded, "")
	a.Outputs = map[string]homeboy.Value{"x/y": homeboy.Value(`"value"`), "list": homeboy.Value(`[1,2]`)}
	b := end(homeboy.Succeeded, "")
	b.TypedArtifacts = []homeboy.TypedArtifact{{Name: "r", Type: "report", Payload: homeboy.Value(`[{"n": 7}]`)}}
	w.finish(t, "a", a)
	w.advance(t, f.ID)
	w.finish(t, "b", b)
	w.advance(t, f.ID)
	if len(w.running) != 1 {
		t.Fatalf("%v run", w.names())
	}
	var q homeboy.Request
	if err := json.Unmarshal(w.running[0].Task.Intent.Payload, &q); err != nil {
		t.Fatal(err)
	}
	if q.Instructions != "use value and nothing; {{other}} stays" || strings.ReplaceAll(string(q.Inputs), " ", "") != `{"deep":[7],"list":[1,2],"n":12345678901234567890}` {
		t.Errorf("the request has %q and %s", q.Instructions, q.Inputs)
	}
	w.finish(t, "join", end(homeboy.Succeeded, ""))
	w.advance(t, f.ID)
	run := w.document(t, f.ID)
	var o homeboy.Outcome
	if err := json.Unmarshal(run.Records[1].Outcome, &o); err != nil {
		t.Fatal(err)
	}
	if run.Records[0].Status != homeboy.RecordCompleted || len(o.Diagnostics) != 1 || o.Diagnostics[0].Class != homeboy.DiagnosticDependencyMissing {
		t.Errorf("join is %s, skipped is %+v", run.Records[0].Status, o)
	}
}

// An item with which deed dies again and again is ended.
func TestLostTriesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"))})
	for i := 0; ; i++ {
		if i > 2*maxLost {
			t.Fatal("it does not come to an end")
		}
		if st := w.advance(t, f.ID); !st.Fanout.Live() {
			break
		}
		if err := w.die(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := tries(t, w.document(t, f.ID).Records[0])
	if len(list) != maxLost+1 {
		t.Errorf("%d tries", len(list))
	}
}

// Edge case 98: who has lost a fanout to another process starts nothing more.
func TestTheOldOwnerStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"))})
	old := w.svc
	w.boot()
	if _, err := w.svc.Resume(t.Context(), f.ID, nil); !errors.Is(err, store.ErrFanoutOwned) {
		t.Fatalf("a live owner: %v", err)
	}
	if _, err := w.svc.Resume(t.Context(), f.ID, []string{old.Runner.ID}); err != nil {
		t.Fatal(err)
	}
	if st, err := old.Advance(t.Context(), f.ID); !errors.Is(err, store.ErrFanoutOwned) || len(st.Claims) != 0 {
		t.Errorf("the old owner: %+v, %v", st, err)
	}
}

// a fleet runs tasks in this process.
type fleet struct {
	*world
	now, most atomic.Int32
	of        func(name string, try int) homeboy.Outcome
	stop      func() // when set, called in the third execution
	calls     atomic.Int32
	sweep     func(context.Context) error
}

func (x *fleet) Execute(ctx context.Context, c *store.Claim) error {
	n := x.now.Add(1)
	defer x.now.Add(-1)
	for m := x.most.Load(); n > m && !x.most.CompareAndSwap(m, n); m = x.most.Load() {
	}
	if x.calls.Add(1) == 3 && x.stop != nil {
		x.stop()
	}
	bg := context.WithoutCancel(ctx)
	if x.stop != nil && x.calls.Load() >= 3 {
		<-ctx.Done()
		if err := x.st.Begin(bg, c.Ref, store.Begin{}); err != nil {
			return err
		}
		return x.st.Settle(bg, c.Ref, store.Settlement{State: "failed_terminal", Class: "interrupted", Status: agentruntime.TaskRetryableFailure, Refund: true, LastError: "stopped"})
	}
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	return x.settle(bg, c, x.of(c.Task.Record.Source, 0), "agent_failed")
}

func (x *fleet) Beat(context.Context) error { return nil }

func (x *fleet) Sweep(ctx context.Context) error {
	if x.sweep != nil {
		return x.sweep(ctx)
	}
	return nil
}

// Outcome is the world's, without the lock that workers hold.
func (x *fleet) Outcome(ctx context.Context, t store.Task) (homeboy.Outcome, error) {
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	return x.world.Outcome(ctx, t)
}

// A fanout runs in the foreground to its end, is stopped by a signal, and is resumed.
func TestRunAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	var list []homeboy.FanoutTask
	for i := range 20 {
		list = append(list, request("t"+string(rune('a'+i))))
	}
	f := w.create(t, Plan{Plan: planOf(list...), Policy: Policy{MaxConcurrency: 4}})
	ctx, cancel := context.WithCancel(t.Context())
	x := &fleet{world: w, stop: cancel, of: func(string, int) homeboy.Outcome { return end(homeboy.Succeeded, "") }}
	w.svc.Tasks = x
	got, err := w.svc.Run(ctx, f.ID, x)
	if !errors.Is(err, context.Canceled) || !got.Live() {
		t.Fatalf("stopped: %+v, %v", got, err)
	}
	if err := w.st.DropRunner(t.Context(), w.svc.Runner.ID); err != nil {
		t.Fatal(err)
	}
	w.boot()
	y := &fleet{world: w, of: x.of}
	w.svc.Tasks = y
	if _, err := w.svc.Resume(t.Context(), f.ID, nil); err != nil {
		t.Fatal(err)
	}
	got, err = w.svc.Run(t.Context(), f.ID, y)
	if err != nil || got.Status != store.FanoutCompleted {
		t.Fatalf("resumed: %+v, %v", got, err)
	}
	run := w.document(t, f.ID)
	for _, r := range run.Records {
		if list, _ := tries(t, r); len(list) != 1 {
			t.Errorf("%s has %d tries", r.ID, len(list))
		}
	}
	if x.most.Load() > 4 || y.most.Load() > 4 {
		t.Errorf("%d and %d ran at a time", x.most.Load(), y.most.Load())
	}
}

// A fanout that is over was not interrupted, though the signal came before its owner had returned.
func TestRunThatIsOverWasNotStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"))})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &fleet{world: w, of: func(string, int) homeboy.Outcome { return end(homeboy.Succeeded, "") }}
	w.svc.Tasks = x
	w.svc.Observe = func(p homeboy.FanoutProgress) {
		if p.Status != homeboy.ProgressStarted {
			cancel()
		}
	}
	got, err := w.svc.Run(ctx, f.ID, x)
	if err != nil || got.Status != store.FanoutCompleted || ctx.Err() == nil {
		t.Fatalf("it ended as %+v, %v", got, err)
	}
}

// What another runner took over is not this one's fault, also when the fanout is over before this one notices.
func TestRunEndsBesideWhatWasTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: Policy{MaxConcurrency: 2}})
	x := &overtaken{fleet: &fleet{world: w}, claims: make(chan *store.Claim, 1)}
	w.svc.Tasks = x
	got, err := w.svc.Run(t.Context(), f.ID, x)
	if err != nil || got.Status != store.FanoutCompleted {
		t.Fatalf("it ended as %+v, %v", got, err)
	}
}

// An overtaken executor has others settle its tasks, and learns that one of them is not its own any more when the fanout is
// over.
type overtaken struct {
	*fleet
	claims chan *store.Claim
}

func (x *overtaken) Execute(ctx context.Context, c *store.Claim) error {
	if x.calls.Add(1) == 2 {
		x.claims <- c
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			if f, err := x.st.Fanout(ctx, OfTask(c.Task)); err != nil || !f.Live() {
				return errors.Join(err, store.ErrFenced)
			}
			<-tick.C
		}
	}
	x.svc.mu.Lock()
	defer x.svc.mu.Unlock()
	return errors.Join(x.settle(ctx, c, end(homeboy.Succeeded, ""), ""), x.settle(ctx, <-x.claims, end(homeboy.Succeeded, ""), ""))
}

// A task that another process left behind with a lease that has not run out yet is waited for, and swept when it has.
func TestRunSweepsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	w.svc.Lease = 200 * time.Millisecond
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: Policy{MaxConcurrency: 1}})
	w.advance(t, f.ID) // a runs, and its process ends without reporting anything
	old := w.svc.Runner.ID
	w.boot()
	w.svc.Lease = 200 * time.Millisecond
	x := &fleet{world: w, of: func(string, int) homeboy.Outcome { return end(homeboy.Succeeded, "") }}
	x.sweep = func(ctx context.Context) error {
		lost, err := w.st.Lost(ctx, nil)
		for _, l := range lost {
			w.attempts[l.Ref.AttemptID] = homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: l.Task.Record.Source, Status: homeboy.ProviderError}
			err = errors.Join(err, w.st.Settle(ctx, l.Ref, store.Settlement{State: "failed_terminal", Class: "lost", Status: agentruntime.TaskPermanentFailure}))
		}
		return err
	}
	w.svc.Tasks = x
	if _, err := w.svc.Resume(t.Context(), f.ID, []string{old}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := w.svc.Run(ctx, f.ID, x)
	if err != nil || got.Status != store.FanoutCompleted {
		t.Fatalf("it ended as %+v, %v", got, err)
	}
}

// A task that somebody damaged gets a record, and blocks neither the others nor a cancel.
func TestDamagedTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, dir)
	spoil := func() {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, "deed.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE tasks SET intent = '{'"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b"), request("c")), Policy: Policy{MaxConcurrency: 1}})
	w.advance(t, f.ID)
	spoil()
	w.finish(t, "a", end(homeboy.Failed, homeboy.ClassUnknown))
	clear(w.attempts) // its outcome cannot be made without its request
	if st := w.advance(t, f.ID); len(st.Claims) != 1 || st.Claims[0].Task.Record.Source != "b" {
		t.Fatalf("the next one does not run: %+v", st)
	}
	spoil()
	got, err := w.svc.Cancel(t.Context(), f.ID, "enough", "me", func(store.Fanout) bool { return false })
	if err != nil || got.Asked != 1 {
		t.Fatalf("cancel: %+v, %v", got, err)
	}
	if r := w.document(t, f.ID).Records; len(r) != 2 || !strings.Contains(r[0].ErrorMessage, "cannot be read") {
		t.Errorf("records: %+v", r)
	}
}

// A dispatcher advances fanouts without an owner, and leaves the rest alone.
func TestHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	mine := w.create(t, Plan{Plan: planOf(request("mine"))})
	w.boot()
	w.svc.Runner = store.Runner{}
	f := w.create(t, Plan{Plan: planOf(request("a"), request("b")), Policy: Policy{MaxConcurrency: 1}})
	h := w.svc.Hook()
	at, due, err := h.Next(t.Context())
	if err != nil || !due || at.After(time.Now()) {
		t.Fatalf("next %v %v %v", at, due, err)
	}
	if n, err := h.Due(t.Context()); err != nil || n != 1 {
		t.Fatalf("made %d, %v", n, err)
	}
	if at, due, err = h.Next(t.Context()); err != nil || !due || !at.After(time.Now()) {
		t.Fatalf("next %v %v %v", at, due, err)
	}
	for range 2 {
		c, err := w.st.Claim(t.Context(), store.ClaimOptions{RunnerID: "serve", Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if OfTask(c.Task) != f.ID {
			t.Errorf("task %s is of %s", c.Ref.TaskID, OfTask(c.Task))
		}
		if err := w.settle(t.Context(), c, end(homeboy.Succeeded, ""), ""); err != nil {
			t.Fatal(err)
		}
		if err := w.svc.Settled(t.Context(), c.Ref.TaskID); err != nil {
			t.Fatal(err)
		}
	}
	if run := w.document(t, f.ID); run.Status != homeboy.FanoutCompleted {
		t.Errorf("the run is %s", run.Status)
	}
	if got, err := w.st.Fanout(t.Context(), mine.ID); err != nil || got.Released != 0 {
		t.Errorf("what another process owns: %+v, %v", got, err)
	}
}

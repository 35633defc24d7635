package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/state"
)

// run records a run and takes it to a state.
func (b *bench) run(id string, to evidence.RunStatus) store.Run {
	b.Helper()
	r, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: id, Status: evidence.RunQueued, RunnerID: "r1"})
	b.ok(err)
	steps := map[evidence.RunStatus][]evidence.RunStatus{
		evidence.RunBooting: {evidence.RunBooting}, evidence.RunRunning: {evidence.RunRunning},
		evidence.RunCollecting: {evidence.RunCollecting}, evidence.RunSucceeded: {evidence.RunRunning, evidence.RunSucceeded},
		evidence.RunFailed: {evidence.RunFailed}, evidence.RunTimedOut: {evidence.RunTimedOut}, evidence.RunCancelled: {evidence.RunCancelled},
	}
	for _, st := range steps[to] {
		r, err = b.s.UpdateRun(b.ctx, r.ID(), store.RunUpdate{To: st})
		b.ok(err)
	}
	return r
}

// ended is run for one that is over and closed.
func (b *bench) ended(id string, to evidence.RunStatus) store.Run {
	b.Helper()
	b.run(id, to)
	r, err := b.s.UpdateRun(b.ctx, id, store.RunUpdate{Cleanup: evidence.CleanupSucceeded, Close: true})
	b.ok(err)
	return r
}

func (b *bench) getRun(id string) store.Run {
	b.Helper()
	r, err := b.s.Run(b.ctx, id)
	b.ok(err)
	b.ok(r.Record.Validate())
	return r
}

func runsRecorded(t *testing.T, target Target) {
	b := setup(t, target)
	const until = "2027-01-01T00:00:00.000000Z"
	made, err := b.s.InsertRun(b.ctx, store.NewRun{
		Status: evidence.RunBooting, TaskID: "task", AttemptID: "attempt", SessionID: "session", RunnerID: "r1", Dir: "/srv/runs",
		Metadata: map[string]any{"n": json.Number("1.10")}, Retention: &evidence.RunRetention{RetainUntil: until, Retained: true, Reason: "audit"},
		Replay: &evidence.RunReplay{Command: []string{"deed"}, RecipePath: "r"},
	})
	b.ok(err)
	if !strings.HasPrefix(made.ID(), "run_") || len(made.ID()) != 36 {
		t.Fatalf("id %s", made.ID())
	}
	b.clock.Advance(time.Second)
	size := int64(123)
	ms := 1.5
	want, err := b.s.UpdateRun(b.ctx, made.ID(), store.RunUpdate{
		To: evidence.RunRunning, Metadata: map[string]any{"more": true}, Runtime: json.RawMessage(`{"id":"x"}`), Preview: json.RawMessage(`{}`),
		Result: json.RawMessage(`{"ok":1}`), Refs: []evidence.RunArtifactRef{{Kind: "artifact-bundle", Directory: "/d"}},
		Error: &evidence.RunError{Name: "E", Message: "m\x00"}, BundleDir: "bundles/x", ArtifactBytes: &size, Progress: json.RawMessage(`{"seq":1}`),
		Evidence: &evidence.RunResourceEvidence{Schema: evidence.SchemaRunResourceEvidence, Timing: evidence.RunTiming{Startup: evidence.RunMetric{Available: true, Unit: "ms", Value: &ms}}},
	})
	b.ok(err)
	got := b.getRun(made.ID()[:20])
	b.same(got.Record, want.Record)
	if got.TaskID != "task" || got.AttemptID != "attempt" || got.SessionID != "session" || got.RunnerID != "r1" || got.Dir != "/srv/runs" ||
		got.BundleDir != "bundles/x" || got.ArtifactBytes != 123 || !got.Live || !got.Retained || got.RetainUntil.Year() != 2027 {
		t.Fatalf("run: %+v", got)
	}
	if got.Record.Metadata["n"] != json.Number("1.10") || got.Record.Metadata["more"] != true || got.Record.Metadata["task_id"] != "task" {
		t.Fatalf("metadata: %v", got.Record.Metadata)
	}
	if got.Record.UpdatedAt == got.Record.CreatedAt || got.Record.HeartbeatAt != got.Record.UpdatedAt {
		t.Fatalf("times: %+v", got.Record)
	}
}

func runTransitions(t *testing.T, target Target) {
	b := setup(t, target)
	for _, from := range evidence.RunStatuses {
		for _, to := range evidence.RunStatuses {
			id := fmt.Sprintf("run-%s-%s", from, to)
			b.run(id, from)
			r, err := b.s.UpdateRun(b.ctx, id, store.RunUpdate{To: to})
			legal := state.RunNext(from, to) == nil
			if legal != (err == nil) {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			var illegal *state.IllegalError
			switch {
			case legal && (r.Record.Status != to || r.EndedAt.IsZero() == to.Terminal()):
				t.Fatalf("%s to %s: %+v", from, to, r)
			case !legal && from.Terminal():
				b.is(err, store.ErrRunEnded)
			case !legal && !errors.As(err, &illegal):
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			if !legal && b.getRun(id).Record.Status != from {
				t.Fatalf("%s to %s was refused and happened", from, to)
			}
		}
	}
	for _, st := range evidence.RunStatuses {
		_, err := b.s.InsertRun(b.ctx, store.NewRun{Status: st, RunnerID: "r1"})
		if ok := st == evidence.RunQueued || st == evidence.RunBooting; ok != (err == nil) {
			t.Fatalf("new run that is %s: %v", st, err)
		}
	}
}

func runsEnded(t *testing.T, target Target) {
	b := setup(t, target)
	b.run("r", evidence.RunSucceeded)
	for name, u := range map[string]store.RunUpdate{
		"metadata": {Metadata: map[string]any{"a": 1}}, "result": {Result: json.RawMessage(`{}`)},
		"error": {Error: &evidence.RunError{Name: "E"}}, "runtime": {Runtime: json.RawMessage(`{}`)}, "replay": {Replay: &evidence.RunReplay{}},
	} {
		if _, err := b.s.UpdateRun(b.ctx, "r", u); !errors.Is(err, store.ErrRunEnded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	beat := b.getRun("r").HeartbeatAt
	b.clock.Advance(time.Second)
	for i, status := range []string{evidence.CleanupRunning, evidence.CleanupFailed, evidence.CleanupRunning, evidence.CleanupSucceeded} {
		u := store.RunUpdate{To: evidence.RunSucceeded, Cleanup: status, Refs: []evidence.RunArtifactRef{{Kind: "k"}}}
		if status == evidence.CleanupFailed {
			u.CleanupError = &evidence.RunError{Name: "E", Message: "busy"}
		}
		_, err := b.s.UpdateRun(b.ctx, "r", u)
		b.ok(err)
		c := b.getRun("r").Record.Lifecycle.Cleanup
		if c.Status != status || c.Attempts != i/2+1 || (c.Error != nil) != (status == evidence.CleanupFailed) || (c.CompletedAt != "") != (status != evidence.CleanupRunning) {
			t.Fatalf("%d: %+v", i, c)
		}
	}
	r := b.getRun("r")
	if len(r.Record.ArtifactRefs) != 1 || !r.HeartbeatAt.Equal(beat) || !r.Live {
		t.Fatalf("run: %+v", r)
	}
	b.is(b.s.DeleteRun(b.ctx, "r"), store.ErrRunLive)
	b.run("alive", evidence.RunRunning)
	_, err := b.s.UpdateRun(b.ctx, "alive", store.RunUpdate{Close: true})
	b.is(err, store.ErrRunLive)
	b.is(b.s.CloseRun(b.ctx, "alive"), store.ErrRunLive)
	b.is(b.s.CloseRun(b.ctx, "nobody"), store.ErrNotFound)
	before := b.getRun("r").Record
	b.clock.Advance(time.Second)
	b.ok(b.s.CloseRun(b.ctx, "r"))
	b.same(b.getRun("r").Record, before)
	b.ok(b.s.DeleteRun(b.ctx, "r"))
	b.is(b.s.DeleteRun(b.ctx, "r"), store.ErrNotFound)
	_, err = b.s.Run(b.ctx, "r")
	b.is(err, store.ErrNotFound)
}

func runBeats(t *testing.T, target Target) {
	b := setup(t, target)
	first := b.run("r", evidence.RunRunning)
	b.clock.Advance(time.Second)
	got, err := b.s.BeatRun(b.ctx, "r", json.RawMessage(`{"seq": 7}`))
	b.ok(err)
	if got.Status != evidence.RunRunning || got.CancelRequested || got.At != b.getRun("r").Record.HeartbeatAt {
		t.Fatalf("beat: %+v", got)
	}
	r := b.getRun("r")
	if !r.HeartbeatAt.Equal(b.clock.Now()) || r.Record.UpdatedAt != first.Record.UpdatedAt || string(r.Progress) != `{"seq": 7}` {
		t.Fatalf("run: %+v", r)
	}
	_, err = b.s.BeatRun(b.ctx, "r", nil)
	b.ok(err)
	if r := b.getRun("r"); string(r.Progress) != `{"seq": 7}` {
		t.Fatalf("a beat without news took the line away: %s", r.Progress)
	}
	_, err = b.s.UpdateRun(b.ctx, "r", store.RunUpdate{To: evidence.RunFailed})
	b.ok(err)
	ended := b.getRun("r").HeartbeatAt
	b.clock.Advance(time.Second)
	got, err = b.s.BeatRun(b.ctx, "r", nil)
	b.ok(err)
	if got.Status != evidence.RunFailed || !b.getRun("r").HeartbeatAt.Equal(ended) {
		t.Fatalf("a run that has ended beats: %+v", got)
	}
	_, err = b.s.BeatRun(b.ctx, "none", nil)
	b.is(err, store.ErrNotFound)
	_, err = b.s.BeatRun(b.ctx, "r", json.RawMessage(`{`))
	b.is(err, store.ErrInvalid)
}

func runCancel(t *testing.T, target Target) {
	b := setup(t, target)
	b.run("r", evidence.RunRunning)
	got, err := b.s.CancelRun(b.ctx, "r", "first")
	b.ok(err)
	b.ok(got.Validate())
	if !got.CancellationRequested || got.AlreadyRequested || got.Terminal || got.Record.Lifecycle.Cancellation.Reason != "first" {
		t.Fatalf("first: %+v", got)
	}
	b.clock.Advance(time.Second)
	again, err := b.s.CancelRun(b.ctx, "r", "second")
	b.ok(err)
	if !again.CancellationRequested || !again.AlreadyRequested {
		t.Fatalf("second: %+v", again)
	}
	b.same(again.Record.Lifecycle.Cancellation, got.Record.Lifecycle.Cancellation)
	beat, err := b.s.BeatRun(b.ctx, "r", nil)
	b.ok(err)
	if !beat.CancelRequested || beat.CancelReason != "first" || beat.CancelAt != got.Record.Lifecycle.Cancellation.RequestedAt {
		t.Fatalf("beat: %+v", beat)
	}
	// A request that comes while the record is updated is not lost.
	r, err := b.s.UpdateRun(b.ctx, "r", store.RunUpdate{To: evidence.RunCancelled})
	b.ok(err)
	if !r.Record.Lifecycle.CancelRequested || r.Record.Lifecycle.Cancellation.Reason != "first" {
		t.Fatalf("the request is gone: %+v", r.Record.Lifecycle)
	}
	for _, st := range evidence.RunStatuses {
		if !st.Terminal() {
			continue
		}
		before := b.run("end-"+string(st), st)
		got, err := b.s.CancelRun(b.ctx, before.ID(), "late")
		b.ok(err)
		b.ok(got.Validate())
		if got.CancellationRequested || !got.Terminal || got.Status != st {
			t.Fatalf("%s: %+v", st, got)
		}
		b.same(b.getRun(before.ID()).Record, before.Record)
	}
	_, err = b.s.CancelRun(b.ctx, "nowhere", "")
	b.is(err, store.ErrNotFound)

	// Of many requests at once one is the first.
	b.run("many", evidence.RunRunning)
	var wg sync.WaitGroup
	var mu sync.Mutex
	firsts := 0
	for i := range 8 {
		wg.Go(func() {
			got, err := b.s.CancelRun(b.ctx, "many", fmt.Sprint(i))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if !got.AlreadyRequested {
				firsts++
			}
		})
	}
	wg.Wait()
	if firsts != 1 {
		t.Fatalf("%d requests were the first", firsts)
	}
}

func runMetadata(t *testing.T, target Target) {
	b := setup(t, target)
	const secret = "hunter2hunter2"
	r, err := b.s.InsertRun(b.ctx, store.NewRun{Status: evidence.RunQueued, RunnerID: "r1", Metadata: map[string]any{
		"API_KEY": secret, "deep": map[string]any{"list": []any{map[string]any{"authToken": secret, "name": "kept"}}},
	}})
	b.ok(err)
	r, err = b.s.UpdateRun(b.ctx, r.ID(), store.RunUpdate{Metadata: map[string]any{"db-password": secret, "credentials": map[string]any{"a": secret}, "ClientSecret": secret, "api-key": secret}})
	b.ok(err)
	for _, rec := range []evidence.RunRegistryEntry{r.Record, b.getRun(r.ID()).Record} {
		text, err := json.Marshal(rec)
		b.ok(err)
		if strings.Contains(string(text), secret) || strings.Count(string(text), "[redacted]") != 6 || !strings.Contains(string(text), "kept") {
			t.Fatalf("record: %s", text)
		}
	}
}

func runList(t *testing.T, target Target) {
	b := setup(t, target)
	var want []string
	for i := range 7 {
		st := evidence.RunRunning
		if i%2 == 1 {
			st = evidence.RunFailed
		}
		want = append([]string{b.run(fmt.Sprintf("run-list-%d", i), st).ID()}, want...)
	}
	_, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: "of-task", Status: evidence.RunBooting, RunnerID: "r1", TaskID: "t", AttemptID: "a"})
	b.ok(err)
	ids := func(f store.RunFilter) []string {
		t.Helper()
		list, err := b.s.Runs(b.ctx, f)
		b.ok(err)
		out := []string{}
		for _, r := range list {
			out = append(out, r.ID())
		}
		return out
	}
	b.same(ids(store.RunFilter{}), append([]string{"of-task"}, want...))
	var paged []string
	for before := ""; ; {
		page := ids(store.RunFilter{Limit: 3, Before: before})
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		before = page[len(page)-1]
	}
	b.same(paged, append([]string{"of-task"}, want...))
	b.same(ids(store.RunFilter{Status: []evidence.RunStatus{evidence.RunFailed}}), []string{want[1], want[3], want[5]})
	b.same(ids(store.RunFilter{Status: []evidence.RunStatus{evidence.RunFailed, evidence.RunRunning, evidence.RunFailed}, Limit: 2}), want[:2])
	b.same(ids(store.RunFilter{TaskID: "t"}), []string{"of-task"})
	b.same(ids(store.RunFilter{AttemptID: "a"}), []string{"of-task"})
	b.same(ids(store.RunFilter{TaskID: "t", Status: []evidence.RunStatus{evidence.RunRunning}}), []string{})
	// A caller that lost the answer asks by the session that it named; the last of its runs is meant.
	for _, id := range []string{"of-session-1", "of-session-2"} {
		_, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: id, Status: evidence.RunBooting, RunnerID: "r1", SessionID: "job 7"})
		b.ok(err)
	}
	b.same(ids(store.RunFilter{SessionID: "job 7"}), []string{"of-session-2", "of-session-1"})
	b.same(ids(store.RunFilter{SessionID: "job 7", Status: []evidence.RunStatus{evidence.RunBooting}, Limit: 1}), []string{"of-session-2"})
	b.same(ids(store.RunFilter{SessionID: "job 7", Status: []evidence.RunStatus{evidence.RunRunning}}), []string{})
	last, err := b.s.Run(b.ctx, "job 7")
	b.ok(err)
	b.same(last.ID(), "of-session-2")
	canceled, err := b.s.CancelRun(b.ctx, "job 7", "")
	b.ok(err)
	b.same(canceled.RunID, "of-session-2")
	for _, none := range []string{"job", "job 77", " "} {
		_, err = b.s.Run(b.ctx, none)
		b.is(err, store.ErrNotFound)
	}
	_, err = b.s.Run(b.ctx, "run-list")
	b.is(err, store.ErrAmbiguous)
	_, err = b.s.Run(b.ctx, "run-l")
	b.is(err, store.ErrNotFound)
	for _, bad := range []string{"", ".", "..", "../x", "a/b", "run_%", strings.Repeat("a", 129)} {
		_, err = b.s.Run(b.ctx, bad)
		b.is(err, store.ErrNotFound)
	}
}

func runsLive(t *testing.T, target Target) {
	b := setup(t, target)
	for id, runner := range map[string]string{"of-dead": "dead", "of-live": "alive", "of-silent": "silent"} {
		_, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: id, Status: evidence.RunBooting, RunnerID: runner})
		b.ok(err)
	}
	b.ended("over", evidence.RunFailed)
	// One that ended stays until its owner closed it.
	b.run("unclean", evidence.RunSucceeded)
	live, err := b.s.LiveRuns(b.ctx)
	b.ok(err)
	if len(live) != 4 {
		t.Fatalf("%d live runs", len(live))
	}
}

func runRetention(t *testing.T, target Target) {
	b := setup(t, target)
	var want []string
	for i := range 5 {
		if i != 3 { // two end in the same instant
			b.clock.Advance(time.Hour)
		}
		want = append([]string{b.ended(fmt.Sprintf("end-%d", i), evidence.RunSucceeded).ID()}, want...)
	}
	b.run("running", evidence.RunRunning)
	var got []string
	var last store.Run
	for {
		page, err := b.s.EndedRuns(b.ctx, last, 2)
		b.ok(err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			got = append(got, r.ID())
		}
		last = page[len(page)-1]
	}
	b.same(got, want)
	at := "2030-01-01T00:00:00Z"
	_, err := b.s.UpdateRun(b.ctx, "end-0", store.RunUpdate{Retention: &evidence.RunRetention{CleanupEligibleAt: at}})
	b.ok(err)
	if r := b.getRun("end-0"); r.EligibleAt.Year() != 2030 || r.Retained || r.Live {
		t.Fatalf("run: %+v", r)
	}
	for at, want := range map[time.Time]int{b.clock.Now(): 0, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC): 1} {
		list, err := b.s.EligibleRuns(b.ctx, at, 10)
		b.ok(err)
		if len(list) != want {
			t.Fatalf("%d runs may go at %s", len(list), at)
		}
	}
	_, err = b.s.UpdateRun(b.ctx, "end-0", store.RunUpdate{Retention: &evidence.RunRetention{RetainUntil: "soon"}})
	b.is(err, store.ErrInvalid)
}

func runsBad(t *testing.T, target Target) {
	b := setup(t, target)
	for _, id := range []string{".", "..", "a/b", "a b", "a.json", strings.Repeat("x", 129), "ä"} {
		_, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: id, Status: evidence.RunQueued, RunnerID: "r1"})
		b.is(err, store.ErrInvalid)
	}
	_, err := b.s.InsertRun(b.ctx, store.NewRun{RunID: "x", Status: evidence.RunQueued})
	b.is(err, store.ErrInvalid)
	_, err = b.s.InsertRun(b.ctx, store.NewRun{RunID: "x", Status: evidence.RunQueued, RunnerID: "r1", Metadata: map[string]any{"f": func() {}}})
	b.is(err, store.ErrInvalid)
	b.run("x", evidence.RunRunning)
	_, err = b.s.InsertRun(b.ctx, store.NewRun{RunID: "x", Status: evidence.RunQueued, RunnerID: "r1"})
	b.is(err, store.ErrRunExists)
	_, err = b.s.UpdateRun(b.ctx, "x", store.RunUpdate{To: evidence.RunFailed, Result: json.RawMessage(`{`)})
	b.is(err, store.ErrInvalid)
	if r := b.getRun("x"); r.Record.Status != evidence.RunRunning {
		t.Fatalf("a refused update happened: %+v", r)
	}
	_, err = b.s.UpdateRun(b.ctx, "nowhere", store.RunUpdate{To: evidence.RunFailed})
	b.is(err, store.ErrNotFound)
	// A hostile text is stored as something harmless.
	r, err := b.s.UpdateRun(b.ctx, "x", store.RunUpdate{Metadata: map[string]any{"text": "\xff\x00\u2028</script>"}})
	b.ok(err)
	b.same(b.getRun("x").Record, r.Record)
}

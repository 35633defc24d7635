package report

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/storetest"
)

// A night is a real store whose clock moves only when it is set.
type night struct {
	*testing.T
	clock *storetest.Clock
	st    *store.Store
}

func begin(t *testing.T) *night {
	t.Helper()
	n := &night{T: t, clock: storetest.NewClock()}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), store.Options{Clock: n.clock.Now})
	n.ok(err)
	t.Cleanup(func() { _ = st.Close() })
	n.st = st
	return n
}

func (n *night) ok(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// run queues a task and settles its first attempt.
func (n *night) run(subject string, s store.Settlement) string {
	n.Helper()
	ctx := n.Context()
	out, err := n.st.Enqueue(ctx, store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "demo", Source: "t", Subject: subject}, ProfileID: "default", MaxAttempts: 2})
	n.ok(err)
	n.settle(out[0].TaskID, s)
	return out[0].TaskID
}

func (n *night) settle(id string, s store.Settlement) {
	n.Helper()
	ctx := n.Context()
	c, err := n.st.Claim(ctx, store.ClaimOptions{RunnerID: "r", Lease: time.Minute, TaskID: id})
	n.ok(err)
	n.ok(n.st.Begin(ctx, c.Ref, store.Begin{AdapterID: "a", AdapterKind: "script"}))
	n.ok(n.st.Settle(ctx, c.Ref, s))
}

func (n *night) report(back time.Duration) deed.Report {
	n.Helper()
	now := n.clock.Now().Add(time.Microsecond)
	r, err := Make(n.Context(), n.st, Options{From: now.Add(-back), To: now, Now: now})
	n.ok(err)
	n.ok(r.Validate())
	return r
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func done(files ...string) store.Settlement {
	return store.Settlement{
		State: "completed", Status: agentruntime.TaskCompleted, Class: string(failure.None), BundleID: "b1",
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, FileChanges: files},
		Verdict: raw(deed.Verdict{Schema: deed.SchemaVerdict, Accepted: true, NoOp: len(files) == 0, Checks: []deed.CheckResult{{Name: "test", Status: deed.CheckPassed}}}),
		Usage:   []store.UsagePart{{Day: "2026-01-31", Model: "m", Usage: store.Usage{Turns: 2, InputTokens: 90, OutputTokens: 10, CostMicroUSD: 500, AgentMS: 3000}}},
	}
}

func failedAs(c failure.Class, status agentruntime.TaskStatus, why string) store.Settlement {
	s := store.Settlement{State: "failed_terminal", Status: status, Class: string(c), LastError: why}
	if c == failure.Rejected {
		s.Verdict = raw(deed.Verdict{Schema: deed.SchemaVerdict, Reasons: []deed.Reason{{Code: "check_failed", Message: "test: exit 1"}, {Code: "check_failed", Message: "again"}, {Code: "scope", Message: "x"}}})
	}
	return s
}

func TestANight(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.run("before the night", done("old"))
	n.clock.Advance(2 * time.Hour)
	n.run("mend the parser", done("a.go", "b.go"))
	n.run("nothing to do", done())
	refused := n.run("twice", failedAs(failure.Rejected, agentruntime.TaskRetryableFailure, "refused"))
	n.clock.Advance(time.Second)
	n.settle(refused, done("c.go"))
	slow := n.run("too slow", failedAs(failure.Timeout, agentruntime.TaskPermanentFailure, "the first"))
	n.clock.Advance(time.Second)
	slower := n.run("slower", failedAs(failure.Timeout, agentruntime.TaskPermanentFailure, "no answer in 5m (raise timeout_ms)"))
	ask := failedAs(failure.Blocked, agentruntime.TaskBlocked, "")
	ask.State, ask.Action = "resumable", &store.NewAction{Kind: "question", Prompt: "tabs or blanks?"}
	n.run("asks", ask)
	canceled := n.run("unwanted", failedAs(failure.Timeout, agentruntime.TaskRetryableFailure, "x"))
	_, err := n.st.Cancel(t.Context(), canceled, "", "me")
	n.ok(err)

	r := n.report(time.Hour)
	want := deed.ReportTotals{Attempts: 8, Completed: 3, NoOp: 1, Failed: 2, Canceled: 1, Refused: 1, Waiting: 1}
	if d := cmp.Diff(want, r.Totals); d != "" {
		t.Errorf("totals (-want +got):\n%s", d)
	}
	if want := "3 tasks were done, 2 failed, 1 was cancelled, 1 attempt was refused by the gate, for $0.0015. 1 thing waits for you."; r.Headline != want {
		t.Errorf("headline %q", r.Headline)
	}
	var subjects []string
	for _, d := range r.Done {
		subjects = append(subjects, fmt.Sprint(d.Subject, " ", d.FilesChanged, " ", d.ChecksPassed, " ", d.BundleID))
	}
	if d := cmp.Diff([]string{"twice 1 [test] b1", "nothing to do 0 [test] b1", "mend the parser 2 [test] b1"}, subjects); d != "" {
		t.Errorf("done (-want +got):\n%s", d)
	}
	if f := r.Failures; len(f) != 1 || f[0].Class != "timeout" || f[0].Tasks != 2 || f[0].LastError != "no answer in 5m (raise timeout_ms)" || f[0].Command != "deed task retry "+slower ||
		!cmp.Equal(f[0].TaskIDs, []string{slower, slow}) {
		t.Errorf("failures: %+v", f)
	}
	if f := r.Refusals; len(f) != 2 || f[0].Code != "check_failed" || f[0].Attempts != 1 || f[0].Message != "test: exit 1" || f[0].TaskID != refused {
		t.Errorf("refusals: %+v", f)
	}
	if w := r.Waiting; len(w) != 1 || w[0].About != "tabs or blanks?" || w[0].Command != "deed action answer "+w[0].ID+" TEXT" {
		t.Errorf("waiting: %+v", w)
	}
	if c := r.Cost; c.Total.CostMicroUSD != 1500 || c.Total.AgentMS != 9000 || len(c.ByModel) != 1 || c.ByProfile[0].Key != "default" || c.ByAdapter[0].Key != "a" {
		t.Errorf("cost: %+v", c)
	}
	if all := n.report(24 * time.Hour); all.Totals.Completed != 4 {
		t.Errorf("the whole day: %+v", all.Totals)
	}
}

// A task that failed and will be tried again is reported with when and why, the next one first.
func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	n := begin(t)
	later := failedAs(failure.Timeout, agentruntime.TaskRetryableFailure, "no answer in 5m")
	later.AvailableAt = n.clock.Now().Add(time.Hour)
	second := n.run("second", later)
	later.AvailableAt = n.clock.Now().Add(time.Minute)
	first := n.run("first", later)
	r := n.report(time.Hour)
	if want := "Nothing was finished, 2 tasks are tried again. Nothing waits for you."; r.Headline != want {
		t.Errorf("headline %q", r.Headline)
	}
	want := []deed.ReportRetry{
		{TaskID: first, Subject: "first", TaskType: "demo", TryAt: string(agentruntime.At(n.clock.Now().Add(time.Minute))), Attempts: 1, MaxAttempts: 2, LastError: "no answer in 5m", Command: "deed task show " + first},
		{TaskID: second, Subject: "second", TaskType: "demo", TryAt: string(agentruntime.At(n.clock.Now().Add(time.Hour))), Attempts: 1, MaxAttempts: 2, LastError: "no answer in 5m", Command: "deed task show " + second},
	}
	if d := cmp.Diff(want, r.Retries); d != "" || r.Totals.Retrying != 2 || r.Totals.Failed != 0 {
		t.Errorf("retries (-want +got):\n%s%+v", d, r.Totals)
	}
	n.clock.Advance(2 * time.Minute)
	n.settle(first, done("a"))
	if r := n.report(time.Hour); r.Totals.Retrying != 1 || r.Retries[0].TaskID != second {
		t.Errorf("after one was done: %+v", r.Retries)
	}
}

// A failing sensor is reported, unless it is switched off or was taken out of the settings.
func TestSensorsThatFailAreTold(t *testing.T) {
	t.Parallel()
	n := begin(t)
	never := func(store.Sensor) store.NewAction { return store.NewAction{} }
	for _, id := range []string{"off", "old", "wild"} {
		_, err := n.st.SensorFailed(t.Context(), id, "it took longer than 3s", time.Hour, never)
		n.ok(err)
	}
	_, err := n.st.TakeRun(t.Context(), store.SensorRun{SensorID: "well", OK: true})
	n.ok(err)
	_, err = n.st.EnableSensor(t.Context(), "off", false, "me")
	n.ok(err)
	now := n.clock.Now().Add(time.Microsecond)
	r, err := Make(t.Context(), n.st, Options{From: now.Add(-time.Hour), To: now, Now: now, Sensors: []string{"off", "well", "wild"}})
	n.ok(err)
	n.ok(r.Validate())
	want := []deed.ReportSensor{{SensorID: "wild", Failures: 1, Since: string(agentruntime.At(n.clock.Now())), LastError: "it took longer than 3s", Command: "deed sensor show wild"}}
	if d := cmp.Diff(want, r.Sensors); d != "" || r.Headline != "Nothing was finished, 1 sensor fails. Nothing waits for you." {
		t.Errorf("%s (-want +got):\n%s", r.Headline, d)
	}
}

// A task that a person retried is reported once, with its last end.
func TestTheNewestEndCounts(t *testing.T) {
	t.Parallel()
	n := begin(t)
	id := n.run("again", failedAs(failure.Config, agentruntime.TaskPermanentFailure, "no"))
	n.clock.Advance(time.Second)
	n.ok(n.st.Retry(t.Context(), id, "", "me"))
	n.settle(id, done("a"))
	if r := n.report(time.Hour); r.Totals.Failed != 0 || r.Totals.Completed != 1 || len(r.Failures) != 0 {
		t.Errorf("%+v", r.Totals)
	}
}

func TestAnEmptyNight(t *testing.T) {
	t.Parallel()
	n := begin(t)
	r := n.report(time.Hour)
	if r.Headline != "Nothing was finished. Nothing waits for you." || r.More != nil {
		t.Errorf("%+v", r)
	}
	if _, err := Make(t.Context(), n.st, Options{From: n.clock.Now(), To: n.clock.Now()}); err == nil {
		t.Error("an empty span was told")
	}
}

// A busy night is cut, and says by how much.
func TestABusyNightIsCut(t *testing.T) {
	t.Parallel()
	n := begin(t)
	for i := range maxListed + 3 {
		n.run(fmt.Sprint(i), done("a"))
	}
	if r := n.report(time.Hour); len(r.Done) != maxListed || r.More["done"] != 3 || r.Totals.Completed != maxListed+3 || r.Done[0].Subject != fmt.Sprint(maxListed+2) {
		t.Errorf("%d listed, %v, %+v", len(r.Done), r.More, r.Totals)
	}
}

// Steps of workflows and slots of schedules are added up by what they belong to.
func TestWhatMoved(t *testing.T) {
	t.Parallel()
	n := begin(t)
	for _, e := range []store.Event{
		{Type: "workflow_started", Detail: raw(map[string]any{"workflow_id": "w1", "workflow_type": "goal-loop", "instance_key": "k", "state": "plan"})},
		{Type: "workflow_transitioned", Detail: raw(map[string]any{"workflow_id": "w1", "workflow_type": "goal-loop", "from": "plan", "to": "execute", "state": "execute"})},
		{Type: "workflow_transitioned", Detail: raw(map[string]any{"workflow_id": "w2", "from": "execute", "to": "verify", "state": "verify"})},
		{Type: "workflow_blocked", Detail: raw(map[string]any{"workflow_id": "w2", "state": "verify", "reason": "no signal"})},
		{Type: "workflow_transitioned", Detail: raw(map[string]any{"workflow_id": "w1", "workflow_type": "goal-loop", "instance_key": "k", "from": "execute", "to": "end", "state": "end"})},
		{Type: "workflow_completed", Detail: raw(map[string]any{"workflow_id": "w1", "workflow_type": "goal-loop", "instance_key": "k", "state": "end", "ending": "completed"})},
		{Type: "schedule_task_created", Detail: raw(map[string]any{"name": "s", "missed": 3})},
		{Type: "schedule_skipped", Detail: raw(map[string]any{"name": "s", "missed": 1})},
		{Type: "workflow_blocked", Detail: raw([]int{1})}, // of another form
	} {
		n.ok(n.st.Append(t.Context(), e))
		n.clock.Advance(time.Second)
	}
	r := n.report(time.Hour)
	want := []deed.ReportWorkflow{
		{WorkflowID: "w1", WorkflowType: "goal-loop", InstanceKey: "k", To: "end", Steps: 2, Ending: "completed"},
		{WorkflowID: "w2", From: "execute", To: "verify", Steps: 1, Blocked: "no signal"},
	}
	if d := cmp.Diff(want, r.Workflows); d != "" {
		t.Errorf("workflows (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]deed.ReportSchedule{{Name: "s", Ran: 1, Missed: 4, Skipped: 1}}, r.Schedules); d != "" {
		t.Errorf("schedules (-want +got):\n%s", d)
	}
}

// Conformance 77: comparing two snapshots gives what changed in between.
func TestSnapshotsAreCompared(t *testing.T) {
	t.Parallel()
	n := begin(t)
	take := func() deed.Snapshot {
		s, err := Take(context.Background(), n.st, n.clock.Now(), "1")
		n.ok(err)
		n.ok(s.Validate())
		return s
	}
	n.run("old", done("a"))
	before := take()
	n.clock.Advance(time.Hour)
	n.run("new", done("a"))
	n.run("bad", failedAs(failure.Timeout, agentruntime.TaskPermanentFailure, "x"))
	after := take()
	c := Compare(before, after)
	if d := cmp.Diff([]Change{{"tasks.completed", 1, 2, 1}, {"tasks.permanent_failure", 0, 1, 1}}, c.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	if !c.EndedIdle || c.Usage.CostMicroUSD != 500 || after.Usage.Today.CostMicroUSD != 1000 {
		t.Errorf("%+v", c)
	}
	if same := Compare(after, after); len(same.Changes) != 0 || len(same.Workflows) != 0 {
		t.Errorf("%+v", same)
	}
	flow := func(id, state string) deed.SnapshotWorkflow {
		return deed.SnapshotWorkflow{WorkflowID: id, WorkflowType: "t", State: state, Status: "active"}
	}
	c = Compare(
		deed.Snapshot{Live: []deed.SnapshotWorkflow{flow("1", "plan"), flow("2", "plan"), flow("3", "plan")}, Schedules: []deed.SnapshotSchedule{{Name: "a", Enabled: true}, {Name: "b", Enabled: true}, {Name: "c"}, {Name: "gone"}}},
		deed.Snapshot{Live: []deed.SnapshotWorkflow{flow("2", "verify"), flow("3", "plan"), flow("4", "plan")}, Schedules: []deed.SnapshotSchedule{{Name: "a", Enabled: true, Suspended: "x"}, {Name: "b"}, {Name: "c", Enabled: true}, {Name: "d"}}},
	)
	var got []string
	for _, w := range c.Workflows {
		got = append(got, w.WorkflowID+" "+w.Change)
	}
	for _, s := range c.Schedules {
		got = append(got, s.Name+" "+s.Change)
	}
	if d := cmp.Diff("1 ended,2 advanced,4 new,a suspended,b disabled,c enabled,d new,gone removed", strings.Join(got, ",")); d != "" {
		t.Error(d)
	}
}

// A list that is longer than a snapshot holds is cut, marked as cut, and not compared.
func TestASnapshotSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	var s deed.Snapshot
	if got := part(&s, listSensors, make([]int, maxSnapshot)); len(got) != maxSnapshot || len(s.Truncated) != 0 {
		t.Errorf("a list that fits: %d, %v", len(got), s.Truncated)
	}
	if got := part(&s, listSchedules, make([]int, maxSnapshot+1)); len(got) != maxSnapshot || !slices.Equal(s.Truncated, []string{listSchedules}) {
		t.Errorf("a list that does not: %d, %v", len(got), s.Truncated)
	}
	to := deed.Snapshot{Schedules: []deed.SnapshotSchedule{{Name: "new"}}, Sensors: []deed.SnapshotSensor{{SensorID: "s", Accepted: 1}}}
	c := Compare(s, to)
	if len(c.Schedules) != 0 || !slices.Equal(c.Truncated, []string{listSchedules}) || len(c.Changes) != 1 {
		t.Errorf("%+v", c)
	}
}

package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/store/pgtest"
	"github.com/deedrun/deed/internal/store/state"
)

// Every statement that the store runs walks an index: none reads a table from end to end and none sorts. The
// statements are those that a working store really ran, not a list that could grow old.
func TestStatementsWalkIndexes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d := s.eng.(*sqliteDB)
	workload(t, s, 30)
	statements := statementsOf(d)
	if len(statements) < 50 {
		t.Fatalf("the workload ran only %d statements", len(statements))
	}
	scan := regexp.MustCompile(`SCAN (\w+)( USING (COVERING )?INDEX \w+|-ROW VALUES CLAUSE)?`) // rows to be inserted are no table
	bare := regexp.MustCompile(`(?i)(\blimit|=)\s*[$?]`)                                       // compiled again whenever it is bound
	for _, q := range statements {
		if bare.MatchString(toSQLite.Replace(q)) {
			t.Errorf("a bare parameter as limit or after = in %s", q)
		}
		for _, step := range sqlitePlan(t, d, q) {
			if m := scan.FindStringSubmatch(step); m != nil && m[2] == "" && !small[m[1]] {
				t.Errorf("%s\nin %s", step, q)
			}
			if strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\nin %s", step, q)
			}
		}
	}
	// The claim reads its one row out of the index of what is ready.
	plan := strings.Join(sqlitePlan(t, d, claimNext), "\n")
	if !strings.Contains(plan, "USING COVERING INDEX tasks_ready") {
		t.Errorf("claim:\n%s", plan)
	}
}

// small tables may be read whole: they hold a handful of rows.
var small = map[string]bool{"runners": true, "controls": true, "sqlite_master": true, "sensors": true, "schema_migrations": true, "CONSTANT": true, "tasks_made": true}

func statementsOf(d *sqliteDB) []string {
	var out []string
	for q := range d.stmts {
		out = append(out, q)
	}
	d.readers.m.Range(func(q, _ any) bool { out = append(out, q.(string)); return true })
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(q string) bool {
		return q == "BEGIN IMMEDIATE" || q == "COMMIT" || q == "ROLLBACK" || strings.HasPrefix(q, "PRAGMA")
	})
}

func sqlitePlan(t *testing.T, d *sqliteDB, q string) []string {
	t.Helper()
	args := make([]any, params(q))
	if !strings.Contains(q, "$") {
		args = make([]any, strings.Count(q, "?"))
	}
	rows, err := d.reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+toSQLite.Replace(q), args...) //nolint:rowserrcheck // eachRow asks
	if err != nil {
		t.Fatalf("%v\nin %s", err, q)
	}
	var out []string
	if err := eachRow(rows, func() error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		out = append(out, step)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

var param = regexp.MustCompile(`\$(\d+)`)

func params(q string) int {
	most := 0
	for _, m := range param.FindAllStringSubmatch(q, -1) {
		var n int
		_, _ = fmt.Sscan(m[1], &n)
		most = max(most, n)
	}
	return most
}

// The same statements on PostgreSQL, with the plan that it uses for any value.
func TestStatementsWalkIndexesOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	lite, err := Open(t.Context(), filepath.Join(t.TempDir(), "deed.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lite.Close() }()
	workload(t, lite, 1)

	s, err := Open(t.Context(), dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	workload(t, s, 3000) // enough for the planner to prefer an index
	db := s.eng.(*postgresDB).db
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	exec := func(q string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%v\nin %s", err, q)
		}
	}
	// What the planner prefers depends on how much of a table a vacuum has marked as visible to all. A vacuum that runs
	// concurrently with another session's snapshot marks less, so it is repeated a few times.
	for tries, hidden := 0, 1; hidden > 0 && tries < 10; tries++ {
		exec("VACUUM ANALYZE")
		if err := c.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_class
			WHERE relname IN ('tasks', 'attempts', 'events') AND relkind = 'r' AND relallvisible < relpages`).Scan(&hidden); err != nil {
			t.Fatalf("look at what the vacuum did: %v", err)
		}
	}
	exec("SET plan_cache_mode = force_generic_plan")
	for i, q := range statementsOf(lite.eng.(*sqliteDB)) {
		if strings.Contains(q, "?") || strings.Contains(q, "sqlite_master") {
			continue // SQLite's own
		}
		exec(fmt.Sprintf("PREPARE q%d AS %s", i, rewrite(q)))
		call := fmt.Sprintf("EXPLAIN EXECUTE q%d", i)
		if n := params(q); n > 0 {
			call += "(" + strings.TrimSuffix(strings.Repeat("NULL,", n), ",") + ")"
		}
		// What the planner chooses by itself, for the tables that are large here.
		for _, m := range seqScan.FindAllStringSubmatch(pgPlan(t, c, call), -1) {
			if slices.Contains([]string{"tasks", "attempts", "events"}, m[1]) {
				t.Errorf("reads %s from end to end:\n%s", m[1], q)
			}
		}
		// And for the tables that are small here, whether there is another way at all.
		exec("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
		exec("DISCARD PLANS")
		plan := pgPlan(t, c, call)
		exec("SET enable_seqscan = on; SET enable_sort = on; SET enable_bitmapscan = on")
		exec("DISCARD PLANS")
		for _, m := range seqScan.FindAllStringSubmatch(plan, -1) {
			if !small[m[1]] {
				t.Errorf("no index for %s:\n%s\nin %s", m[1], plan, q)
			}
		}
		if strings.Contains(plan, "Sort") {
			t.Errorf("sorts:\n%s\nin %s", plan, q)
		}
	}
}

var seqScan = regexp.MustCompile(`Seq Scan on (\w+)`)

func pgPlan(t *testing.T, c *sql.Conn, call string) string {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), call) //nolint:rowserrcheck // eachRow asks
	if err != nil {
		t.Fatalf("%v\nin %s", err, call)
	}
	var plan []string
	if err := eachRow(rows, func() error {
		var line string
		err := rows.Scan(&line)
		plan = append(plan, line)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// workload calls every method of the store with n tasks behind it.
func workload(t *testing.T, s *Store, n int) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	nt := func(i int) NewTask {
		return NewTask{
			Intent:    agentruntime.TaskIntent{TaskType: fmt.Sprint("t", i%5), Source: "s", Payload: json.RawMessage(`{}`)},
			ProfileID: "p", MaxAttempts: 2, Priority: int64(i % 3),
		}
	}
	var batch []NewTask
	for i := range n {
		v := nt(i)
		if i%3 == 1 {
			v.AvailableAt = s.now().Add(time.Hour)
		}
		batch = append(batch, v)
	}
	_, err := s.Enqueue(ctx, batch...)
	ok(err)
	keyed := nt(0)
	keyed.DedupeKey, keyed.Intent.Payload = "k", json.RawMessage(`"`+strings.Repeat("x", 3000)+`"`)
	_, err = s.Enqueue(ctx, keyed)
	ok(err)
	_, err = s.Enqueue(ctx, keyed)
	ok(err)
	settle := func(c *Claim, in Settlement) {
		t.Helper()
		ok(s.Begin(ctx, c.Ref, Begin{Agent: "a"}))
		_, err := s.Renew(ctx, c.Ref, time.Minute)
		ok(err)
		_, err = s.SetAttemptState(ctx, c.Ref, state.Streaming, "it answers")
		ok(err)
		ok(s.UpdateUsage(ctx, c.Ref, []UsagePart{{Day: "2026-01-31", Model: "m"}}))
		ok(s.Settle(ctx, c.Ref, in))
	}
	finish := Settlement{
		State: "completed", Status: agentruntime.TaskCompleted,
		Outcome:   &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
		Artifacts: []agentruntime.ArtifactRecord{{Role: "output"}},
		Outbox:    []OutboxItem{{Kind: OutboxFollowUpTask, Body: json.RawMessage(`{}`)}, {Kind: OutboxFollowUpTask, Ordinal: 1, Body: json.RawMessage(`{}`)}, {Kind: OutboxFollowUpTask, Ordinal: 2, Body: json.RawMessage(`{}`)}},
	}
	claim := ClaimOptions{RunnerID: "r", Lease: time.Minute}
	var wg sync.WaitGroup // finished ones, several at once so that their commits share the disk
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n/3; i += 8 {
				c, err := s.Claim(ctx, claim)
				if err == nil {
					err = s.Begin(ctx, c.Ref, Begin{Agent: "a"})
				}
				if err == nil {
					err = s.Settle(ctx, c.Ref, finish)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	c, err := s.EnqueueClaimed(ctx, nt(1), claim)
	ok(err)
	settle(c, finish)
	due, err := s.OutboxDue(ctx, OutboxFollowUpTask, 10)
	ok(err)
	_, err = s.DeliverTask(ctx, due[0].ID, nt(2))
	ok(err)
	ok(s.OutboxDone(ctx, due[1].ID, ""))
	ok(s.OutboxFail(ctx, due[2].ID, "", s.now(), false))
	_, err = s.OutboxTake(ctx, OutboxFollowUpTask, 10, time.Minute)
	ok(err)
	ok(s.OutboxRetry(ctx, due[2].ID, "x"))
	ok(s.OutboxDrop(ctx, due[2].ID, "", "x"))
	_, err = s.OutboxItem(ctx, due[2].ID[:20])
	ok(err)
	sched, _, err := s.PutSchedule(ctx, agentruntime.RecurringScheduleRecord{Name: "n", Enabled: true, IntervalSeconds: 1, NextRunAt: agentruntime.At(s.now()), Task: nt(1).Intent}, OverlapSkip, "x")
	ok(err)
	_, err = s.DueSchedules(ctx, 10)
	ok(err)
	_, _, err = s.NextSchedule(ctx)
	ok(err)
	_, err = s.Schedules(ctx, "", 10)
	ok(err)
	row := nt(3)
	_, _, err = s.RunSchedule(ctx, ScheduleRun{ID: sched.Record.ScheduleID, Slot: s.now(), Next: s.now(), ByHand: "x", Task: &row})
	ok(err)
	_, err = s.SuspendSchedule(ctx, sched.Record.ScheduleID, "y", NewAction{Kind: "q"})
	ok(err)
	_, err = s.EnableSchedule(ctx, sched.Record.ScheduleID, true, s.now(), "x")
	ok(err)
	_, err = s.Schedule(ctx, sched.Record.ScheduleID)
	ok(err)
	ok(s.DropSchedule(ctx, sched.Record.ScheduleID, "x"))
	for _, f := range []OutboxFilter{{}, {State: OutboxHeld}, {TaskID: c.Ref.TaskID, State: OutboxFailed}} {
		_, err = s.Outbox(ctx, f)
		ok(err)
	}
	_, err = s.Outbox(ctx, OutboxFilter{TaskID: c.Ref.TaskID})
	ok(err)
	_, _, err = s.NextOutbox(ctx)
	ok(err)
	block := Settlement{State: "resumable", Status: agentruntime.TaskBlocked, Action: &NewAction{Kind: "q"}}
	for range 2 {
		c, err = s.EnqueueClaimed(ctx, nt(1), claim)
		ok(err)
		settle(c, block)
	}
	flows(t, s, nt, func(c *Claim) { settle(c, finish) })
	sensing(t, s, nt)
	being(t, s)
	admitting(t, s)
	_, err = s.Actions(ctx, ActionFilter{})
	ok(err)
	_, err = s.Actions(ctx, ActionFilter{TaskID: c.Ref.TaskID})
	ok(err)
	_, err = s.Actions(ctx, ActionFilter{State: ActionOpen})
	ok(err)
	open, err := s.Actions(ctx, ActionFilter{TaskID: c.Ref.TaskID, State: ActionOpen})
	ok(err)
	_, err = s.SetBudget(ctx, c.Ref.TaskID, "me", func(b deed.Budget) deed.Budget { return b })
	ok(err)
	ok(s.AnswerAction(ctx, open[0].ID, nil, "me"))
	asking, err := s.EnqueueClaimed(ctx, nt(1), claim)
	ok(err)
	asked, err := s.OpenAction(ctx, asking.Ref, NewAction{Kind: "q", ContextDigest: "d", Deadline: s.now(), Default: json.RawMessage("1")})
	ok(err)
	_, err = s.Action(ctx, asked.ID)
	ok(err)
	_, err = s.FindAction(ctx, asked.TaskID, "d")
	ok(err)
	_, _, err = s.NextDeadline(ctx)
	ok(err)
	_, err = s.ExpireActions(ctx, 10)
	ok(err)
	settle(asking, finish)
	_, err = s.Claim(ctx, ClaimOptions{RunnerID: "r", Lease: time.Minute, TaskID: c.Ref.TaskID})
	ok(err)
	_, err = s.Cancel(ctx, c.Ref.TaskID, "", "")
	ok(err)
	lost, err := s.Lost(ctx, []string{"r"})
	ok(err)
	ok(s.Settle(ctx, lost[0].Ref, Settlement{State: "failed_terminal", Status: agentruntime.TaskRetryableFailure, LastError: "x"}))
	ok(s.Retry(ctx, c.Ref.TaskID, "", ""))
	_, err = s.Cancel(ctx, c.Ref.TaskID, "", "")
	ok(err)
	_, err = s.Promote(ctx, 10)
	ok(err)
	for _, f := range []TaskFilter{{}, {Type: "t1"}, {Status: agentruntime.TaskStatuses[:2]}, {Before: c.Ref.TaskID, Type: "t1", Status: agentruntime.TaskStatuses[:1]}} {
		_, err = s.Tasks(ctx, f)
		ok(err)
	}
	for _, f := range []EventFilter{{}, {Newest: true}, {TaskID: c.Ref.TaskID}, {TaskID: c.Ref.TaskID, Newest: true}, {AttemptID: c.Ref.AttemptID}, {AttemptID: c.Ref.AttemptID, TaskID: c.Ref.TaskID}} {
		_, err = s.Events(ctx, f)
		ok(err)
	}
	_, err = s.Task(ctx, c.Ref.TaskID[:34])
	if err != nil && !strings.Contains(err.Error(), "more than one") {
		t.Fatal(err)
	}
	_, err = s.Attempt(ctx, c.Ref.AttemptID)
	ok(err)
	_, err = s.Attempts(ctx, c.Ref.TaskID)
	ok(err)
	_, err = s.Artifacts(ctx, c.Ref.TaskID)
	ok(err)
	_, err = s.Counts(ctx)
	ok(err)
	_, _, err = s.NextDue(ctx)
	ok(err)
	ok(s.Append(ctx, Event{Type: "x"}))
	_, err = s.UsageOfTask(ctx, c.Ref.TaskID)
	ok(err)
	_, err = s.UsageOfDay(ctx, "2026-01-31", "")
	ok(err)
	_, err = s.UsageByModel(ctx, "2026-01-01", "2026-01-31")
	ok(err)
	ok(s.ReportEvents(ctx, time.Time{}, s.now(), 10, func(Event) {}))
	ok(s.EachUsage(ctx, "2026-01-01", "2026-01-31", func(UsageShare) {}))
	_, err = s.UsageTotal(ctx, "2026-01-01", "2026-01-31")
	ok(err)
	ok(s.Ended(ctx, time.Unix(0, 0), func(Tally) {}))
	_, err = s.TypeCounts(ctx)
	ok(err)
	_, err = s.Backlog(ctx)
	ok(err)
	ok(s.PutRunner(ctx, Runner{ID: "r"}))
	_, err = s.Runners(ctx)
	ok(err)
	ok(s.DropRunner(ctx, "r"))
	runs(t, s, c.Ref)
	fanouts(t, s, nt(0))
	ok(s.Pause(ctx, "", ""))
	_, _, err = s.Paused(ctx)
	ok(err)
	ok(s.Resume(ctx, ""))
}

// runs calls every method about runs.
func runs(t *testing.T, s *Store, ref Ref) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.InsertRun(ctx, NewRun{Status: evidence.RunBooting, RunnerID: "r", TaskID: ref.TaskID, AttemptID: ref.AttemptID})
	ok(err)
	_, err = s.BeatRun(ctx, r.ID(), nil)
	ok(err)
	_, err = s.CancelRun(ctx, r.ID(), "")
	ok(err)
	for _, f := range []RunFilter{
		{},
		{Before: r.ID()},
		{TaskID: ref.TaskID},
		{AttemptID: ref.AttemptID},
		{Status: evidence.RunStatuses[:2]},
		{Status: evidence.RunStatuses[:2], TaskID: ref.TaskID},
	} {
		_, err = s.Runs(ctx, f)
		ok(err)
	}
	_, err = s.Run(ctx, r.ID())
	ok(err)
	_, err = s.LiveRuns(ctx)
	ok(err)
	_, err = s.UpdateRun(ctx, r.ID(), RunUpdate{To: evidence.RunFailed, Close: true})
	ok(err)
	ok(s.CloseRun(ctx, r.ID()))
	_, err = s.EndedRuns(ctx, Run{}, 10)
	ok(err)
	_, err = s.EligibleRuns(ctx, s.now(), 10)
	ok(err)
	_, err = s.Suspects(ctx, nil)
	ok(err)
	ok(s.DeleteRun(ctx, r.ID()))
	ok(s.DropBundle(ctx, ref.AttemptID))
}

// fanouts calls every method about fanouts.
func fanouts(t *testing.T, s *Store, task NewTask) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	after := int64(0)
	items := []NewItem{{Name: "a", Uses: []string{"2*k", "key:k"}}, {Name: "b", Uses: []string{"k"}}, {Name: "c", After: &after}, {Name: "d"}}
	for i := range 200 {
		items = append(items, NewItem{Name: fmt.Sprint(i)})
	}
	f, err := s.CreateFanout(ctx, NewFanout{Items: items, Owner: &Runner{ID: "r"}})
	ok(err)
	_, err = s.OwnFanout(ctx, f.ID, nil, []string{"r"})
	ok(err)
	_, err = s.CreateFanout(ctx, NewFanout{Items: items[:2], Owner: &Runner{ID: "r"}})
	ok(err)
	ok(s.DropRunner(ctx, "r"))
	w := Window{Most: 3, Capacity: map[string]int{"k": 2}}
	release := func() FanoutItem {
		t.Helper()
		it, err := s.NextItem(ctx, f.ID, w)
		ok(err)
		_, err = s.ReleaseItem(ctx, Release{Item: it, Task: task, Window: w})
		ok(err)
		return it
	}
	a, d := release(), release()
	ok(s.RetryItem(ctx, ItemRetry{Item: a, NotBefore: s.now().Add(-time.Second), Uses: []string{"key:k"}}))
	_, _, err = s.WakeItems(ctx, f.ID)
	ok(err)
	_, err = s.FinishItem(ctx, d, json.RawMessage("{}"), false)
	ok(err)
	it, err := s.NextItem(ctx, f.ID, w)
	ok(err)
	_, err = s.ParkItem(ctx, it, 7)
	ok(err)
	_, err = s.Fanout(ctx, f.ID)
	ok(err)
	_, err = s.FanoutSettings(ctx, f.ID)
	ok(err)
	for _, filter := range []FanoutFilter{{}, {Status: FanoutFailed}, {Before: f.ID}} {
		_, err = s.Fanouts(ctx, filter)
		ok(err)
	}
	_, err = s.LiveFanouts(ctx)
	ok(err)
	_, err = s.FanoutItems(ctx, f.ID, -1, 10)
	ok(err)
	_, err = s.FailedItems(ctx, f.ID, -1, 10)
	ok(err)
	_, err = s.FanoutItem(ctx, f.ID, 0)
	ok(err)
	_, err = s.ReleasedItems(ctx, f.ID)
	ok(err)
	_, _, err = s.WakeItems(ctx, f.ID)
	ok(err)
	_, err = s.CancelFanout(ctx, f.ID, "", "")
	ok(err)
	for n := 1; n > 0; {
		n, _, err = s.FinishPending(ctx, f.ID, 150, func(FanoutItem) (json.RawMessage, error) { return json.RawMessage("{}"), nil })
		ok(err)
	}
}

// flows calls every method that is about workflows.
func flows(t *testing.T, s *Store, nt func(int) NewTask, finish func(*Claim)) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := nt(0)
	first.DedupeKey, first.Priority = "workflow/1", 99
	start := NewWorkflow{Type: "w", InstanceKey: "k", Definition: json.RawMessage("{}"), Hash: "h", State: "a", Cause: CauseStart, Task: &first}
	out, err := s.StartWorkflow(ctx, start)
	ok(err)
	_, err = s.StartWorkflow(ctx, start)
	ok(err)
	c, err := s.Claim(ctx, ClaimOptions{RunnerID: "r", Lease: time.Minute, TaskID: out.TaskID})
	ok(err)
	finish(c)
	due, err := s.WorkflowsDue(ctx, 10)
	ok(err)
	_, _, err = s.NextWorkflow(ctx)
	ok(err)
	ok(s.DeferWorkflow(ctx, due[0], s.now()))
	block := WorkflowMove{WorkflowID: out.WorkflowID, Version: due[0].Version, Status: agentruntime.WorkflowBlocked, Action: &NewAction{Kind: "workflow"}}
	_, err = s.MoveWorkflow(ctx, block)
	ok(err)
	w, err := s.Workflow(ctx, out.WorkflowID)
	ok(err)
	_, err = s.Actions(ctx, ActionFilter{Owner: workflowOwner(w.ID())})
	ok(err)
	ok(s.AnswerAction(ctx, w.ActionID, json.RawMessage(`"retry"`), "me"))
	w, err = s.LiveWorkflow(ctx, "w", "k")
	ok(err)
	again := nt(0)
	_, err = s.MoveWorkflow(ctx, WorkflowMove{WorkflowID: w.ID(), Version: w.Version, Status: agentruntime.WorkflowActive, Task: &again, Step: &Step{To: "a", Cause: CauseAnswer}})
	ok(err)
	_, err = s.Cancel(ctx, taskOf(t, s, w.ID()), "", "me")
	ok(err)
	ok(s.Retry(ctx, taskOf(t, s, w.ID()), "", "me"))
	_, err = s.CancelWorkflow(ctx, w.ID(), "", "me")
	ok(err)
	_, err = s.WorkflowDefinition(ctx, w.Definition)
	ok(err)
	_, err = s.Transitions(ctx, w.ID(), 0)
	ok(err)
	_, err = s.Visits(ctx, w.ID())
	ok(err)
	for _, f := range []WorkflowFilter{{}, {All: true}, {Type: "w", All: true}} {
		_, err = s.Workflows(ctx, f)
		ok(err)
	}
}

// taskOf is the task of a workflow's current visit.
func taskOf(t *testing.T, s *Store, id string) string {
	t.Helper()
	w, err := s.Workflow(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return w.TaskID
}

// sensing calls every method that is about sensors.
func sensing(t *testing.T, s *Store, nt func(int) NewTask) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	see := func(event, key string) Intake {
		return Intake{
			Sensor: &NewSensorEvent{SensorID: "s", EventID: event, SourceRef: "r", DedupeKey: key, Window: time.Microsecond, ObservedAt: s.now()},
			Tasks:  []NewTask{nt(0)},
		}
	}
	for _, e := range [][2]string{{"1", "k"}, {"1", "k"}, {"2", "k"}} {
		_, err := s.TakeIn(ctx, see(e[0], e[1]))
		ok(err)
	}
	keyed := see("3", "l")
	keyed.Tasks[0].DedupeKey = "sensed"
	_, err := s.TakeRun(ctx, SensorRun{SensorID: "s", Intakes: []Intake{keyed}, Cursor: json.RawMessage("{}"), OK: true, Malformed: 1})
	ok(err)
	keyed.Sensor.EventID, keyed.Sensor.DedupeKey = "4", "m"
	_, err = s.TakeIn(ctx, keyed)
	ok(err)
	var x Sensor
	for range 3 {
		x, err = s.SensorFailed(ctx, "s", "no", 0, func(Sensor) NewAction { return NewAction{Kind: "sensor"} })
		ok(err)
	}
	ok(s.AnswerAction(ctx, x.ActionID, json.RawMessage(`true`), "me"))
	_, err = s.EnableSensor(ctx, "s", false, "me")
	ok(err)
	_, err = s.Sensor(ctx, "s")
	ok(err)
	_, err = s.Sensors(ctx)
	ok(err)
	for _, f := range []SensorFilter{{}, {SensorID: "s"}} {
		_, err = s.SensorEvents(ctx, f)
		ok(err)
	}
}

// being calls every method that is about agents.
func being(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.AddAgent(ctx, agentruntime.AgentIdentity{AgentID: "a", InternalName: "a", DisplayName: "a"}, "me")
	ok(err)
	w, err := s.AddWallet(ctx, agentruntime.WalletIdentity{AgentID: "a", Chain: "c", Address: "x"}, "me")
	ok(err)
	_, err = s.ChangeWallet(ctx, w, "me", func(*agentruntime.WalletIdentity) error { return nil })
	ok(err)
	for _, f := range []WalletFilter{{}, {AgentID: "a"}, {Address: "x"}} {
		_, err = s.Wallets(ctx, f)
		ok(err)
	}
	p, _, err := s.Propose(ctx, NewProposal{ID: NewID(), AgentID: "a", SoulHash: "s", PurposeHash: "p", Ask: NewAction{Kind: "constitution"}})
	ok(err)
	for _, of := range []string{"", "a"} {
		_, err = s.Proposals(ctx, of, 10)
		ok(err)
	}
	_, err = s.Proposal(ctx, p.ID[:13])
	ok(err)
	_, err = s.DecideProposal(ctx, p.ID, true, "", "me")
	ok(err)
	_, err = s.Constitution(ctx, "a", 1)
	ok(err)
	_, err = s.Agent(ctx, "a")
	ok(err)
	_, err = s.Agents(ctx, "", 10)
	ok(err)
	_, err = s.RecentTasks(ctx, "a", 10)
	ok(err)
	ok(s.DropWallet(ctx, w, "me"))
	ok(s.DropAgent(ctx, "a", "me"))
}

// admitting calls every method that is about who is let in.
func admitting(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(s.AddCredential(ctx, Credential{ID: "c", Kind: CredentialToken, Name: "ci", Role: "read"}))
	ok(s.UsedCredential(ctx, "c"))
	_, err := s.Credential(ctx, "c")
	ok(err)
	_, err = s.TokenNamed(ctx, "ci")
	ok(err)
	_, err = s.Credentials(ctx, CredentialToken, 10)
	ok(err)
	ok(s.RevokeCredential(ctx, "c", "me"))
	ok(s.DropSessions(ctx, s.now()))
	seqs, err := s.LogAccess(ctx, AccessEntry{At: s.now(), Name: "ci", Action: "x"})
	ok(err)
	ok(s.EndAccess(ctx, AccessEntry{Seq: seqs[0], Status: 200}))
	for _, f := range []AccessFilter{{}, {Name: "ci"}, {Refused: true}, {Name: "ci", Refused: true}} {
		_, err = s.AccessLog(ctx, f)
		ok(err)
	}
	ok(s.TrimAccessLog(ctx, 1, 1))
}

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/pgtest"
)

const fanoutManifest = `{"schema": "homeboy/agent-runtime-manifest/v1", "id": "chaos", "name": "Chaos", "version": "1", "description": "It misbehaves.",
 "agent_task_executors": [{"schema": "homeboy/agent-task-executor-provider/v1", "id": "chaos.run", "label": "Chaos", "backend": "chaos",
  "command": "sh {{runtime_path}}/run.sh", "request_schema": "homeboy/agent-task-request/v1", "outcome_schema": "homeboy/agent-task-outcome/v1",
  "outcome_statuses": ["succeeded", "no_op", "failed", "provider_error", "timeout"], "failure_classifications": ["provider", "execution_failed", "timeout"], "capabilities": []}]}`

// The provider does what its task's name says: the letters before the first dash.
const fanoutProvider = `
export MARK=%[1]s
id=$(sed 's/.*"task_id": *"\([^"]*\)".*/\1/')
echo "$id" >> %[2]s/ran
say() { printf '{"schema": "homeboy/agent-task-outcome/v1", "task_id": "%%s", "status": "%%s", "summary": "said"}\n' "$id" "$1"; }
case "$id" in
ok-*) (setsid sh -c 'trap "" TERM; while :; do sleep 1; done' >/dev/null 2>&1 &); say no_op ;;
fail-*) printf '{"schema": "homeboy/agent-task-outcome/v1", "task_id": "%%s", "status": "failed", "failure_classification": "execution_failed", "summary": "no"}\n' "$id" ;;
crash-*) exit 3 ;;
wait-*) while [ ! -e %[2]s/go ]; do sleep 0.05; done; say no_op ;;
hang-*) sleep 60; say no_op ;;
garbage-*) case $((${id#garbage-} %% 4)) in
  0) echo 'this is {"not": json'; echo more ;;
  1) head -c 100000 /dev/urandom ;;
  2) say succeeded; say failed ;;
  3) printf '{"schema": "homeboy/agent-task-outcome/v1", "task_id": "ok-0", "status": "succeeded"}' ;;
  esac ;;
flood-*) exec yes '{"status": "succeeded"}' ;;
kill-*) kill -9 $$ ;;
empty-*) ;;
esac
`

// What tasks of each kind come to: the record, and the words of its outcome.
var fanoutEnds = map[string]struct {
	record   homeboy.RecordStatus
	outcomes []homeboy.OutcomeStatus
}{
	"ok":      {homeboy.RecordCompleted, []homeboy.OutcomeStatus{homeboy.NoOp}},
	"fail":    {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.Failed}},
	"crash":   {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.ProviderError}},
	"hang":    {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.Timeout}},
	"garbage": {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.ProviderError}},
	"flood":   {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.ProviderError}},
	"kill":    {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.ProviderError}},
	"wait":    {homeboy.RecordCompleted, []homeboy.OutcomeStatus{homeboy.NoOp}},
	"empty":   {homeboy.RecordFailed, []homeboy.OutcomeStatus{homeboy.ProviderError}},
}

// newFanoutSite is a site with the provider and a plan of the given tasks.
func newFanoutSite(t *testing.T, engine string, tasks []string, options string) *site {
	t.Helper()
	s := newSite(t, nil)
	if engine == store.Postgres {
		s.dsn = pgtest.DSN(t)
	}
	dir := filepath.Join(s.dir, "agent-runtimes", "chaos")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "chaos.json"), fanoutManifest)
	writeFile(t, filepath.Join(dir, "run.sh"), fmt.Sprintf(fanoutProvider, s.mark, s.dir))
	var list []string
	for _, id := range tasks {
		limits := `{"timeout_ms": 60000}`
		switch {
		case strings.HasPrefix(id, "hang"):
			limits = `{"timeout_ms": 5000}` // enough to begin
		case strings.HasPrefix(id, "flood"):
			limits = `{"timeout_ms": 60000, "max_output_bytes": 100000}`
		}
		list = append(list, fmt.Sprintf(`{"id": %q, "group_key": %[1]q, "instructions": "go", "executor": {"backend": "chaos", "config": {}}, "limits": %s}`, id, limits))
	}
	writeFile(t, filepath.Join(s.dir, "plan.json"), `{"schema": "homeboy/fanout-reconcile-plan/v1", "orchestrator": {"plan_id": "p"}, "options": `+options+`, "task_requests": [`+strings.Join(list, ",")+`]}`)
	return s
}

// fanoutID is the one fanout of the site, or "".
func (s *site) fanoutID() string {
	s.t.Helper()
	if _, err := os.Stat(filepath.Join(s.home, "deed.db")); s.dsn == "" && err != nil {
		return "" // it was killed before it began
	}
	list, err := s.open().Fanouts(s.t.Context(), store.FanoutFilter{})
	if err != nil || len(list) > 1 {
		s.t.Fatalf("%d fanouts, %v", len(list), err)
	}
	if len(list) == 0 {
		return ""
	}
	return list[0].ID
}

var fanoutArgs = []string{"fanout", "run", "plan.json", "--isolation", "process", "--output", "run.json"}

// goOn is the command that continues after a kill: it resumes the fanout if it was recorded, else it starts a new
// one.
func (s *site) goOn() []string {
	if id := s.fanoutID(); id != "" {
		return []string{"fanout", "resume", id}
	}
	return fanoutArgs
}

// checkRun compares the run file with the expected result of each task.
func (s *site) checkRun(tasks []string) homeboy.FanoutRun {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "run.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var run homeboy.FanoutRun
	if err := json.Unmarshal(data, &run); err != nil {
		s.t.Fatal(err)
	}
	if err := run.Validate(); err != nil {
		s.t.Fatalf("%v\n%s", err, data)
	}
	if len(run.Records) != len(tasks) {
		s.t.Fatalf("%d records of %d tasks", len(run.Records), len(tasks))
	}
	for i, r := range run.Records {
		kind, _, _ := strings.Cut(r.ID, "-")
		var o homeboy.Outcome
		if err := json.Unmarshal(r.Outcome, &o); err != nil {
			s.t.Fatal(err)
		}
		if want := fanoutEnds[kind]; r.ID != tasks[i] || r.Status != want.record || !slices.Contains(want.outcomes, o.Status) {
			s.t.Errorf("record %d is %s: %s, %s (%s)", i, r.ID, r.Status, o.Status, o.Summary)
		}
	}
	return run
}

// TestFanoutCrash kills the real binary at every step of a fanout and of the tasks in it, resumes it, and asserts that each task
// has its one record and nothing is left, not even a process that left its session and ignores signals. Edge cases 59, 98, 99 and
// 103.
func TestFanoutCrash(t *testing.T) {
	t.Parallel()
	tasks := []string{"ok-1", "fail-1", "ok-2", "crash-1"}
	later := map[crashpoint.Point]int{crashpoint.FanoutReleased: 4, crashpoint.FanoutRecorded: len(tasks)} // the last record is there, and the run file does not have it
	ofTasks := []crashpoint.Point{crashpoint.BeginCommitted, crashpoint.DriverStarted, crashpoint.BundlePublished, crashpoint.SettleCommitted}
	for engine, points := range map[string][]crashpoint.Point{store.SQLite: append(slices.Clone(crashpoint.OfFanout), ofTasks...), store.Postgres: crashpoint.OfFanout} {
		for _, p := range points {
			t.Run(engine+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				fanoutCrashOnce(t, engine, tasks, p, max(later[p], 1))
			})
		}
	}
}

func fanoutCrashOnce(t *testing.T, engine string, tasks []string, p crashpoint.Point, nth int) {
	s := newFanoutSite(t, engine, tasks, `{"retry": {"max_attempts": 2, "retryable_failure_classifications": ["execution_failed", "provider"]}}`)
	o := s.deed([]string{"DEED_CRASHPOINT=" + string(p) + "#" + strconv.Itoa(nth)}, fanoutArgs...)
	if o.signal != syscall.SIGKILL {
		t.Fatalf("the crash point was never reached: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	s.noProcess()
	if o = s.deed(nil, s.goOn()...); o.code != ExitNotDone {
		t.Fatalf("resumed: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	s.noProcess()
	run := s.checkRun(tasks)
	recorded := map[string]int{}
	for _, r := range run.Records {
		tries := triesIn(t, r)
		counted := 0
		for _, x := range tries {
			if x.Then != "lost_again" {
				counted++
			}
		}
		want := 1
		if r.Status != homeboy.RecordCompleted {
			want = 2
		}
		if counted != want || len(tries) > want+1 {
			t.Errorf("%s has %d tries, %d of them counted; want %d", r.ID, len(tries), counted, want)
		}
		recorded[r.ID] = len(tries)
	}
	// What ran is reported, and a try that was lost before the provider began did not run.
	for id, n := range s.executions() {
		if n > recorded[id] {
			t.Errorf("%s ran %d times, and its record tells %d", id, n, recorded[id])
		}
	}
	s.tidy()
}

// executions counts how often the provider really began each task.
func (s *site) executions() map[string]int {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "ran"))
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int{}
	for id := range strings.FieldsSeq(string(data)) {
		out[id]++
	}
	return out
}

type outcomeTry struct {
	Status string `json:"status"`
	Then   string `json:"then"`
}

func triesIn(t *testing.T, r homeboy.FanoutRecord) []outcomeTry {
	t.Helper()
	var meta struct {
		Tries []outcomeTry `json:"tries"`
	}
	if err := json.Unmarshal(r.Extra["metadata"], &meta); err != nil {
		t.Fatal(err)
	}
	return meta.Tries
}

// TestFanoutChaosCrash runs providers that crash, hang, print garbage and too much and kill themselves, and kills deed at random moments
// until it is done: every task ends with its one, exact record. DEED_CHAOS sets how many tasks there are of each kind; make
// soak uses more.
func TestFanoutChaosCrash(t *testing.T) {
	t.Parallel()
	n := 2
	if v, err := strconv.Atoi(os.Getenv("DEED_CHAOS")); err == nil && v > 0 {
		n = v
	}
	for _, engine := range []string{store.SQLite, store.Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fanoutChaos(t, engine, n, rand.Uint64())
		})
	}
}

func fanoutChaos(t *testing.T, engine string, n int, seed uint64) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var tasks []string
	for _, kind := range slices.Sorted(maps.Keys(fanoutEnds)) {
		if kind == "wait" {
			continue
		}
		most := n
		if kind == "garbage" {
			most = max(n, 4) // of each kind
		}
		for i := range most {
			tasks = append(tasks, fmt.Sprint(kind, "-", i))
		}
	}
	r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	s := newFanoutSite(t, engine, tasks, `{"max_concurrency": 4}`)
	kills := 0
	for most := 3 * n; kills < most; kills++ {
		if !s.killed(s.goOn(), time.Duration(100+r.IntN(900))*time.Millisecond) {
			break
		}
		if data, err := os.ReadFile(filepath.Join(s.dir, "run.json")); err == nil && !json.Valid(data) { // edge case 115
			t.Fatalf("a torn run file:\n%s", data)
		}
	}
	if o := s.deed(nil, s.goOn()...); o.code != ExitNotDone {
		t.Fatalf("the last run: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	t.Logf("killed %d times", kills)
	s.noProcess()
	run := s.checkRun(tasks)
	recorded := map[string]int{}
	for _, rec := range run.Records {
		tries := triesIn(t, rec)
		for i, x := range tries {
			if last := i == len(tries)-1; last == (x.Then == "lost_again") {
				t.Errorf("%s: try %d of %d was followed by %q", rec.ID, i+1, len(tries), x.Then)
			}
		}
		recorded[rec.ID] = len(tries)
	}
	ran := s.executions()
	for _, id := range tasks {
		// A try that was lost before the provider began did not run; what ended did, once.
		if ran[id] < 1 || ran[id] > recorded[id] {
			t.Errorf("%s ran %d times, and its record tells %d", id, ran[id], recorded[id])
		}
	}
	if len(ran) != len(tasks) {
		t.Errorf("%d tasks ran, and the plan has %d", len(ran), len(tasks))
	}
	s.reconciled(run, tasks)
	s.tidy()
}

// reconciled compares the counts of a run with its tasks, and has deed reconcile its records once more: the result is the
// same.
func (s *site) reconciled(run homeboy.FanoutRun, tasks []string) {
	s.t.Helper()
	want := homeboy.FanoutReconciliation{
		Schema: homeboy.SchemaFanoutReconciliation, GroupCount: run.Reconciliation.GroupCount, TaskCount: int64(len(tasks)), RecordCount: int64(len(tasks)), OutcomeCount: int64(len(tasks)),
	}
	for _, id := range tasks {
		kind, _, _ := strings.Cut(id, "-")
		if fanoutEnds[kind].record == homeboy.RecordCompleted {
			want.SuccessCount++
		} else {
			want.FailureCount++
			want.FailedTaskIDs = append(want.FailedTaskIDs, id)
		}
	}
	if diff := cmp.Diff(&want, run.Reconciliation); diff != "" || run.Status != homeboy.FanoutFailed || len(run.Outcomes) != len(tasks) {
		s.t.Errorf("the run is %s with %d outcomes, counts differ (-want +got):\n%s", run.Status, len(run.Outcomes), diff)
	}
	o := s.deed(nil, "fanout", "reconcile", "--plan", "plan.json", "--records", "run.json", "--output", "again.json")
	if o.code != ExitNotDone {
		s.t.Fatalf("reconciled: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "again.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var again homeboy.FanoutResult
	if err := json.Unmarshal(data, &again); err != nil {
		s.t.Fatal(err)
	}
	one, err := canonjson.Hash(run.Records)
	if err != nil {
		s.t.Fatal(err)
	}
	if two, err := canonjson.Hash(again.Records); err != nil || one != two || again.Status != run.Status || len(again.UnknownRecords)+len(again.DuplicateRecords) != 0 {
		s.t.Errorf("reconciled again it is %s (%v), with other records:\n%s", again.Status, err, data)
	}
	if diff := cmp.Diff(run.Reconciliation, again.Reconciliation); diff != "" {
		s.t.Errorf("reconciled again, counts differ (-run +again):\n%s", diff)
	}
}

// killed runs a command and kills it with SIGKILL after a while. It reports false when the command ended before.
func (s *site) killed(args []string, after time.Duration) bool {
	s.t.Helper()
	c := s.command(nil, args...)
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
		return c.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	case <-time.After(after):
	}
	_ = c.Process.Kill() // it may have ended this instant
	<-ended
	return c.ProcessState.Sys().(syscall.WaitStatus).Signaled()
}

package fanout_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

func records(t *testing.T, texts ...string) []homeboy.FanoutRecord {
	t.Helper()
	var out []homeboy.FanoutRecord
	for _, text := range texts {
		r, _, err := homeboy.ReadFanoutRecord([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

const threeTasks = `{"orchestrator":{"run_id":"r"},"items":[{"id":"a"},{"id":"b"},{"id":"c"}]}`

func TestReconcile(t *testing.T) {
	t.Parallel()
	p := plan(t, threeTasks)
	for _, tc := range []struct {
		name    string
		records []string
		want    string // the statuses in the order of the plan, that of the run, the reports
	}{
		{"all good, in another order", []string{`{"id":"r-c","status":"completed"}`, `{"task_id":"r-a","status":"succeeded"}`, `{"id":"r-b","success":true}`}, "completed completed completed: completed"},
		{"none came", nil, "missing_record missing_record missing_record: failed"}, // case 110
		{"one is absent", []string{`{"id":"r-a","status":"completed"}`, `{"id":"r-c","status":"completed"}`}, "completed missing_record completed: failed"},
		{"named by the group", []string{`{"group_key":"a","status":"completed"}`, `{"group_key":"b","status":"no_op"}`, `{"group_key":"c","status":"passed"}`}, "completed completed completed: completed"},
		{"one of no task", []string{`{"id":"r-a","status":"completed"}`, `{"id":"zz","status":"completed"}`, `{"status":"failed"}`}, "completed missing_record missing_record: failed, 2 unknown"}, // case 114
		{"two of one task, one failed", []string{`{"id":"r-a","status":"completed"}`, `{"id":"r-a","status":"failed"}`, `{"id":"r-b","status":"completed"}`, `{"id":"r-c","status":"completed"}`}, "failed completed completed: failed, 1 duplicate"},
		{"the same twice", []string{`{"id":"r-a","status":"completed"}`, `{"id":"r-a","status":"completed"}`, `{"id":"r-b","status":"completed"}`, `{"id":"r-c","status":"completed"}`}, "completed completed completed: completed, 1 duplicate"},
		{"one that says that there is none, and one", []string{`{"id":"r-a","status":"missing_record"}`, `{"id":"r-a","status":"completed"}`, `{"id":"r-b","status":"completed"}`, `{"id":"r-c","status":"completed"}`}, "completed completed completed: completed, 1 duplicate"},
		{"a flag against the status", []string{`{"id":"r-a","status":"timeout","success":true}`, `{"id":"r-b","status":"failed","success":true}`, `{"id":"r-c","status":"completed","success":false}`}, "failed failed completed: failed"},
	} {
		res := fanout.Reconcile(p, records(t, tc.records...), fanout.Options{})
		if err := res.Validate(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got := describe(res); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := describe(fanout.Reconcile(plan(t, `{}`), nil, fanout.Options{})); got != ": completed" { // case 110
		t.Errorf("a plan of nothing: %s", got)
	}
}

// A record is no success when the outcome in it is none, whatever other status or flag it has.
func TestAnOutcomeAgainstItsRecord(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		record   string
		statuses []string
		want     homeboy.RecordStatus
	}{
		{`{"status":"completed","outcome":{"status":"failed"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":"provider_error"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":"timeout"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":"cancelled"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":"unable_to_remediate"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":" Failed "}}`, nil, homeboy.RecordFailed},
		{`{"status":"succeeded","outcome":{"status":"failed"}}`, nil, homeboy.RecordFailed},
		{`{"success":true,"outcome":{"status":"failed"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome_status":"failed"}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"schema":"homeboy/agent-task-outcome/v1","status":"splendid"}}`, nil, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"schema":"homeboy/agent-task-outcome/v1"}}`, nil, homeboy.RecordFailed},
		{`{"status":"green","outcome":{"status":"failed"}}`, []string{"green"}, homeboy.RecordFailed},
		{`{"status":"completed","outcome":{"status":"succeeded"}}`, nil, homeboy.RecordCompleted},
		{`{"status":"completed","outcome":{"status":"no_op"}}`, nil, homeboy.RecordCompleted},
		{`{"status":"completed","outcome":{"status":"open"}}`, nil, homeboy.RecordCompleted}, // a caller's own document
		{`{"status":"completed","outcome":"failed"}`, nil, homeboy.RecordCompleted},
		{`{"status":"completed","outcome":{"status":"failed"}}`, []string{"completed", "failed"}, homeboy.RecordCompleted},
	} {
		p := plan(t, `{"items":[{"id":"a"}]}`)
		text := `{"id":"fanout-a",` + tc.record[1:]
		res := fanout.Reconcile(p, records(t, text), fanout.Options{SuccessStatuses: tc.statuses})
		if err := res.Validate(); err != nil {
			t.Errorf("%s: %v", tc.record, err)
		}
		got := res.Records[0]
		if got.Status != tc.want || (tc.want == homeboy.RecordFailed) != strings.HasPrefix(got.ErrorMessage, "its outcome says ") {
			t.Errorf("%s: %s %q, want %s", tc.record, got.Status, got.ErrorMessage, tc.want)
		}
		if again := fanout.Reconcile(p, res.Records, fanout.Options{SuccessStatuses: tc.statuses}); again.Records[0].Status != tc.want {
			t.Errorf("%s, read again: %s", tc.record, again.Records[0].Status)
		}
	}
}

func describe(r homeboy.FanoutResult) string {
	var statuses []string
	for _, rec := range r.Records {
		statuses = append(statuses, string(rec.Status))
	}
	s := strings.Join(statuses, " ") + ": " + string(r.Status)
	if n := len(r.UnknownRecords); n > 0 {
		s += fmt.Sprintf(", %d unknown", n)
	}
	if n := len(r.DuplicateRecords); n > 0 {
		s += fmt.Sprintf(", %d duplicate", n)
	}
	return s
}

func TestResultDocument(t *testing.T) {
	t.Parallel()
	c := config(t, `{"result_schema":"own/result","reconciliation_schema":"own/counts","include_summary":false,"success_statuses":["green"],"outcome_path":"said.result",
		"base_run":{"host":"h","orchestrator":{"more":1}},"items":[{"id":"a"},{"id":"b"}]}`)
	p, err := fanout.Plan(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	res := fanout.Reconcile(p, records(t, `{"id":"fanout-a","status":"green","said":{"result":{"n":1}},"x":2}`, `{"id":"fanout-b","status":"red","success":true,"said":{"result":""}}`, `{"id":"?"}`), fanout.OptionsOf(c))
	want := `{"schema":"own/result","plan_schema":"homeboy/fanout-reconcile-plan/v1","orchestrator":{"more":1},"status":"failed","records":[` +
		`{"id":"fanout-a","group_key":"a","status":"completed","provider_status":"green","said":{"result":{"n":1}},"x":2},` +
		`{"id":"fanout-b","group_key":"b","status":"failed","success":false,"claimed_success":true,"provider_status":"red","said":{"result":""}}],` +
		`"unknown_records":[{"id":"?","status":""}],"outcomes":[{"n":1}],` +
		`"reconciliation":{"schema":"own/counts","group_count":2,"task_count":2,"record_count":2,"success_count":1,"failure_count":1,"outcome_count":1,"failed_task_ids":["fanout-b"],"unknown_record_count":1},"host":"h"}`
	if diff := cmp.Diff(want, written(t, res)); diff != "" {
		t.Error(diff)
	}
}

func TestSuccessStatuses(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"items":[{"id":"a"}]}`)
	for _, tc := range []struct { // case 113
		statuses []string
		record   string
		want     homeboy.FanoutStatus
	}{
		{nil, `{"status":"succeeded"}`, homeboy.FanoutCompleted},
		{nil, `{"status":"green"}`, homeboy.FanoutFailed},
		{[]string{"green"}, `{"status":"green"}`, homeboy.FanoutCompleted},
		{[]string{"green"}, `{"status":"completed"}`, homeboy.FanoutFailed},
		{[]string{"green"}, `{"success":true}`, homeboy.FanoutCompleted},
		{[]string{"no_op"}, `{"status":"completed","outcome":{"status":"no_op"}}`, homeboy.FanoutCompleted},
		{[]string{"no_op"}, `{"status":"completed","outcome":{"status":"succeeded"}}`, homeboy.FanoutFailed},
		{[]string{"failed", "missing_record"}, `{"status":"failed"}`, homeboy.FanoutFailed},
		{[]string{"failed", "missing_record"}, `{"status":" missing_record "}`, homeboy.FanoutFailed},
	} {
		text := strings.Replace(tc.record, "{", `{"id":"fanout-a",`, 1)
		if got := fanout.Reconcile(p, records(t, text), fanout.Options{SuccessStatuses: tc.statuses}).Status; got != tc.want {
			t.Errorf("%v, %s: %s", tc.statuses, tc.record, got)
		}
	}
}

func TestRecordIsTheBridge(t *testing.T) {
	t.Parallel()
	task := homeboy.FanoutTask{ID: "t", GroupKey: "g"}
	for _, s := range homeboy.OutcomeStatuses { // case 113
		want := homeboy.RecordFailed
		if s == homeboy.Succeeded || s == homeboy.NoOp {
			want = homeboy.RecordCompleted
		}
		r := fanout.Record(task, homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: "t", Status: s, Summary: "why"})
		if r.Status != want || r.Name() != "t" || r.GroupKey != "g" || (r.ErrorMessage == "") != (want == homeboy.RecordCompleted) {
			t.Errorf("%s: %s", s, written(t, r))
		}
		p := homeboy.FanoutPlan{TaskRequests: []homeboy.FanoutTask{task}}
		if res := fanout.Reconcile(p, []homeboy.FanoutRecord{r}, fanout.Options{}); len(res.Outcomes) != 1 || (res.Status == homeboy.FanoutCompleted) != (want == homeboy.RecordCompleted) {
			t.Errorf("%s: %s", s, written(t, res))
		}
	}
	// A record that says nothing of a failure gets a description of it all the same (case 109).
	for want, o := range map[string]homeboy.Outcome{
		"it ended as failed": {Status: homeboy.Failed}, "it ended as timeout: stalled": {Status: homeboy.Timeout, FailureClassification: homeboy.ClassStalled},
		"no network": {Status: homeboy.ProviderError, Diagnostics: []homeboy.Diagnostic{{Class: "c", Message: "no network"}}},
	} {
		if r := fanout.Record(task, o); r.ErrorMessage != want {
			t.Errorf("%s: %s", want, written(t, r))
		}
	}
	if r := fanout.Record(task, homeboy.Outcome{Status: "splendid"}); r.Status != homeboy.RecordFailed || r.ErrorMessage == "" {
		t.Errorf("a word that is no status: %s", written(t, r))
	}
}

func TestRunDocument(t *testing.T) {
	t.Parallel()
	p := plan(t, threeTasks)
	some := records(t, `{"id":"r-b","status":"failed","error_message":"it threw"}`, `{"id":"r-a","status":"completed"}`, `{"id":"zz"}`)
	run := fanout.Run(p, some, fanout.Options{}, []string{"c"}, false)
	if err := run.Validate(); err != nil {
		t.Error(err)
	}
	if run.Status != homeboy.FanoutIncomplete || len(run.Records) != 2 || run.Records[0].ID != "r-a" || string(run.CurrentGroup) != `"c"` || run.Extra["unknown_records"] == nil {
		t.Errorf("%s", written(t, run))
	}
	if none := fanout.Run(p, nil, fanout.Options{}, nil, false); !strings.Contains(written(t, none), `"current_group":null`) {
		t.Errorf("%s", written(t, none))
	}
	over := fanout.Run(p, some, fanout.Options{}, nil, true)
	if over.Status != homeboy.FanoutFailed || over.Records[2].Status != homeboy.RecordMissing || over.CurrentGroup != nil || over.Reconciliation.MissingCount != 1 {
		t.Errorf("%s", written(t, over))
	}
}

// TestReconcileProperties: whatever comes back in whatever order, the result is the same, nothing is dropped and the
// counts add up.
func TestReconcileProperties(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "x", "", "fanout-a", "fanout-b", "fanout-c", "fanout-d"}
	words := []homeboy.RecordStatus{"completed", "failed", "missing_record", "succeeded", "odd", ""}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(t, "tasks")
		items := []homeboy.Value{}
		for i := range n {
			items = append(items, homeboy.Value(fmt.Sprintf(`{"id":%q}`, names[i])))
		}
		p, err := fanout.Plan(homeboy.FanoutConfig{}, items)
		if err != nil {
			t.Fatal(err)
		}
		came := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) homeboy.FanoutRecord {
			r := homeboy.FanoutRecord{Status: rapid.SampledFrom(words).Draw(t, "status")}
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				r.ID = name
			case 1:
				r.TaskID = name
			default:
				r.GroupKey = name
			}
			if rapid.Bool().Draw(t, "flag") {
				yes := rapid.Bool().Draw(t, "success")
				r.Success = &yes
			}
			return r
		}), 0, 9).Draw(t, "records")
		o := fanout.Options{SuccessStatuses: rapid.SampledFrom([][]string{nil, {"odd"}, {"failed"}}).Draw(t, "statuses")}
		res := fanout.Reconcile(p, came, o)
		if err := res.Validate(); err != nil {
			t.Fatal(err)
		}
		again := fanout.Reconcile(p, rapid.Permutation(slices.Clone(came)).Draw(t, "order"), o)
		if diff := cmp.Diff(text(t, res), text(t, again)); diff != "" {
			t.Fatal(diff)
		}
		rec := res.Reconciliation
		filled := 0 // records that were not sent
		for i, r := range res.Records {
			if r.Name() != p.TaskRequests[i].Name() {
				t.Fatalf("record %d is of %s", i, r.Name())
			}
			if !slices.ContainsFunc(came, func(c homeboy.FanoutRecord) bool { return c.Name() == r.Name() || c.Name() == r.GroupKey }) {
				filled++
			}
		}
		if got := len(res.Records) - filled + len(res.UnknownRecords) + len(res.DuplicateRecords); got != len(came) {
			t.Fatalf("%d of %d records are in the result", got, len(came))
		}
		if rec.TaskCount != int64(n) || rec.RecordCount != rec.SuccessCount+rec.FailureCount || rec.RecordCount != rec.TaskCount || int(rec.FailureCount) != len(rec.FailedTaskIDs) {
			t.Fatalf("%+v", rec)
		}
		if (res.Status == homeboy.FanoutCompleted) != (rec.FailureCount == 0) {
			t.Fatalf("%s with %d failures", res.Status, rec.FailureCount)
		}
		// The result is a fixed point: its own records lead to it again.
		if once := fanout.Reconcile(p, res.Records, fanout.Options{}); once.Status != res.Status {
			t.Fatalf("%s, and of its own records %s", res.Status, once.Status)
		}
	})
}

func text(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

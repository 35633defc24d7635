package fanout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

func members(t *testing.T, text string) map[string]homeboy.Value {
	t.Helper()
	var out map[string]homeboy.Value
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func axes(t *testing.T, text string) map[string][]homeboy.Value {
	t.Helper()
	var out map[string][]homeboy.Value
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const matrixTask = `{"schema":"homeboy/agent-task-request/v1","task_id":"fix","instructions":"fix it","executor":{"config":{"keep":1}},"custom":2}`

func TestMatrix(t *testing.T) {
	t.Parallel()
	m, err := fanout.Matrix("", axes(t, `{"backend":["x","y"],"executor.config.effort":["low",2]}`), members(t, matrixTask))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range m.Cells {
		got = append(got, fmt.Sprintf("%s %s %s", c.ID, c.Request.Executor.Backend, c.Request.Executor.Config["effort"]))
	}
	want := []string{`fix-x-low x "low"`, `fix-x-2 x 2`, `fix-y-low y "low"`, `fix-y-2 y 2`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p, err := fanout.MatrixTasks(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	requests, err := fanout.Requests(p, fanout.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	q := requests[3].Request
	if q.TaskID != "fix-y-2" || q.ParentPlanID != "fix" || q.Executor.Backend != "y" || string(q.Executor.Config["keep"]) != "1" || string(q.Extra["custom"]) != "2" {
		t.Errorf("%s", written(t, q))
	}
	if again, _, err := homeboy.ReadMatrixPlan([]byte(written(t, m))); err != nil || written(t, again) != written(t, m) {
		t.Errorf("another plan after writing and reading: %v", err)
	}
}

func TestFaultsOfAMatrix(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		axes, task string
		want       []string
	}{
		{`{}`, `{}`, []string{"blank $.plan_id", "blank $.axes"}},
		{`{"speed":["a"],"backend":[],"model":["m","m"],"a..b":[1]}`, `{"task_id":"t"}`, []string{`bad_format $.axes["a..b"]`, "blank $.axes.backend", "duplicate $.axes.model[1]", "bad_format $.axes.speed"}},
		{`{"backend":["x"]}`, `{"task_id":"t"}`, []string{"blank $.cells[0].request.instructions"}},
		{`{"backend":["x"]}`, `{"task_id":"t","executor":5,"instructions":"i"}`, []string{"wrong_type $.cells[0].request.executor"}},
		{`{"backend":[` + strings.Repeat(`"a",`, 99) + `"b"]}`, `{"task_id":"t","instructions":"i"}`, nil},
	} {
		_, err := fanout.Matrix("", axes(t, tc.axes), members(t, tc.task))
		got := faults(err)
		if tc.want == nil {
			if err == nil || !strings.Contains(err.Error(), "more than 64 cells") {
				t.Errorf("%.40s: %v", tc.axes, err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.axes, diff)
		}
	}
}

func cost(n int64) *int64 { return &n }

func outcome(s homeboy.OutcomeStatus) *homeboy.Outcome {
	return &homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: "t", Status: s}
}

func TestBest(t *testing.T) {
	t.Parallel()
	good := outcome(homeboy.Succeeded)
	ok := homeboy.MatrixAccepted
	for _, tc := range []struct {
		name  string
		cells []fanout.Cell
		want  int
		why   string
	}{
		{"none", nil, -1, "no cell was verified"},
		{"a word is no verdict", []fanout.Cell{{Outcome: good, Verdict: homeboy.MatrixNotJudged, ChecksPassed: true}, {Outcome: good, Verdict: homeboy.MatrixRefused}}, -1, "no cell was verified"},
		{"accepted and yet not a success", []fanout.Cell{{Outcome: outcome(homeboy.CandidateRecoverable), Verdict: ok}, {Verdict: ok}}, -1, "no cell was verified"},
		{"the only one", []fanout.Cell{{Outcome: good, Verdict: homeboy.MatrixRefused, ChangeBytes: 1}, {Outcome: good, Verdict: ok, ChangeBytes: 900}}, 1, "it is the only one that was verified"},
		{"checks before size", []fanout.Cell{{ID: "a", Outcome: good, Verdict: ok, ChangeBytes: 1}, {Outcome: good, Verdict: ok, ChangeBytes: 900, ChecksPassed: true}}, 1, "of those that were verified, its checks passed (next: a)"},
		{"a change before none", []fanout.Cell{{ID: "a", Outcome: outcome(homeboy.NoOp), Verdict: ok}, {Outcome: good, Verdict: ok, ChangeBytes: 900}}, 1, "of those that were verified, it made a change (next: a)"},
		{"smaller before cheaper", []fanout.Cell{{ID: "a", Outcome: good, Verdict: ok, ChangeBytes: 9, CostMicroUSD: cost(1)}, {Outcome: good, Verdict: ok, ChangeBytes: 8, CostMicroUSD: cost(5)}}, 1, "of those that were verified, its change is smaller (next: a)"},
		{"cheaper", []fanout.Cell{{ID: "a", Outcome: good, Verdict: ok, ChangeBytes: 9, CostMicroUSD: cost(5)}, {Outcome: good, Verdict: ok, ChangeBytes: 9, CostMicroUSD: cost(4)}}, 1, "of those that were verified, it cost less (next: a)"},
		{"a cost that is known", []fanout.Cell{{ID: "a", Outcome: good, Verdict: ok, ChangeBytes: 9}, {Outcome: good, Verdict: ok, ChangeBytes: 9, CostMicroUSD: cost(4)}}, 1, "of those that were verified, it cost less (next: a)"},
		{"even", []fanout.Cell{{Outcome: good, Verdict: ok, ChangeBytes: 9}, {ID: "b", Outcome: good, Verdict: ok, ChangeBytes: 9}}, 0, "of those that were verified, it comes first in the plan (next: b)"},
	} {
		if got, why := fanout.Best(tc.cells); got != tc.want || why != tc.why {
			t.Errorf("%s: %d, %s", tc.name, got, why)
		}
	}
}

// TestMatrixResultProperties: whatever the cells come to, the aggregate is valid, has every planned cell, and never
// chooses what was not verified.
func TestMatrixResultProperties(t *testing.T) {
	t.Parallel()
	m, err := fanout.Matrix("m", axes(t, `{"backend":["a","b","c"]}`), members(t, matrixTask))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var cells []fanout.Cell
		for _, c := range append(m.Cells, homeboy.MatrixCell{ID: "stranger"}) {
			if rapid.Bool().Draw(t, "came") {
				cells = append(cells, fanout.Cell{
					ID: c.ID, Outcome: outcome(rapid.SampledFrom(homeboy.OutcomeStatuses).Draw(t, "status")),
					Verdict:      rapid.SampledFrom(homeboy.MatrixVerdicts).Draw(t, "verdict"),
					ChecksPassed: rapid.Bool().Draw(t, "checks"), ChangeBytes: rapid.Int64Range(0, 3).Draw(t, "bytes"),
				})
			}
		}
		a := fanout.MatrixResult(m, rapid.Permutation(cells).Draw(t, "order"))
		if len(a.Cells) != 3 {
			t.Fatalf("%d cells", len(a.Cells))
		}
		for _, c := range a.Cells {
			if c.Chosen && (c.Verdict != homeboy.MatrixAccepted || !homeboy.IsSuccess(c.Outcome.Status)) {
				t.Fatalf("%+v was chosen", c)
			}
			if c.Outcome != nil && !homeboy.IsSuccess(c.Outcome.Status) {
				c.Outcome.FailureClassification = homeboy.ClassExecutionFailed
			}
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

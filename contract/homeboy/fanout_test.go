package homeboy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{ // case 107
		`{}`: 3, `{"concurrency":0}`: 3, `{"concurrency":-4}`: 3, `{"concurrency":"NaN"}`: 3, `{"concurrency":"5"}`: 5, `{"concurrency":100}`: 16,
		`{"concurrency":null}`: 3, `{"concurrency":7}`: 7, `{"concurrency":[]}`: 3, `{"concurrency":"-1"}`: 3, `{"concurrency":"99999999999999999999"}`: 3, `{"concurrency":"400"}`: 16,
	} {
		c, _, err := ReadFanoutConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Workers(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s cannot be written: %v", text, err)
		}
	}
}

func TestFanoutConfigDialects(t *testing.T) {
	t.Parallel()
	c, warnings, err := ReadFanoutConfig([]byte(`{"groupBy":"kind","taskRequestTemplate":{"id":"x"},"executor":{"e":1},"runtimeExecution":{"r":1},"planSchema":"p","outcomePath":"o","groups":[{"group_key":"a"},{"id":"b"},{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"homeboy/generic-fanout-reconcile-config/v1","groups":[{"key":"a"},{"key":"b"},{"key":"group-3"}],"group_key_path":"kind","task_request_template":{"id":"x"},"runtime_execution":{"r":1},"plan_schema":"p","outcome_path":"o","executor":{"e":1}}`
	if string(out) != want {
		t.Errorf("written as\n%s\nwant\n%s", out, want)
	}
	if len(warnings) != 9 {
		t.Errorf("%d warnings: %v", len(warnings), told(warnings))
	}
	f, _, err := ReadFindingFanoutConfig([]byte(`{"finding_packets":[{"id":"p"}],"finding_policy":{"group_key_paths":"finding.path"},"runtime":{"a":1},"runtime_execution":{"b":1}}`))
	if err != nil || len(f.Packets) != 1 || f.FindingPolicy.GroupBy[0] != "finding.path" || string(f.RuntimeExecution["a"]) != "1" || f.RuntimeExecution["b"] != nil {
		t.Errorf("%+v, %v", f, err)
	}
	if base := f.Base([]Value{Value("1")}); base.Validate() != nil || len(base.Items) != 1 {
		t.Errorf("%+v", base)
	}
}

func TestPlanNamesItsTasks(t *testing.T) {
	t.Parallel()
	p, _, err := ReadFanoutPlan([]byte(`{"orchestrator":{},"groups":[],"task_requests":[{"id":5},{"task_id":" 5 "},{"group_key":"g"},{"id":" "}]}`)) // case 108
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fault.Of(p.Validate()) {
		got = append(got, f.Code+" "+f.Path)
	}
	if diff := cmp.Diff([]string{"duplicate $.task_requests[1].id", "blank $.task_requests[3].id"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]RecordStatus{
		`{"status":"completed"}`:                              RecordCompleted,
		`{"status":"failed","success":true}`:                  RecordFailed, // a contradiction is no success
		`{"status":"missing_record","success":true}`:          RecordMissing,
		`{"status":"succeeded"}`:                              RecordCompleted,
		`{"status":"no_op"}`:                                  RecordCompleted,
		`{"status":"passed"}`:                                 RecordCompleted,
		`{"status":"timeout","success":true}`:                 RecordFailed,
		`{"success":true}`:                                    RecordCompleted,
		`{"success":"true"}`:                                  RecordFailed,
		`{}`:                                                  RecordFailed,
		`{"outcome":{"status":"succeeded"}}`:                  RecordCompleted,
		`{"outcome":{"status":"failed"},"success":false}`:     RecordFailed,
		`{"provider_status":"accepted"}`:                      RecordCompleted,
		`{"status":"odd","outcome":{"status":"succeeded"}}`:   RecordFailed,
		`{"outcome_status":"error","outcome":{"status":"x"}}`: RecordFailed,
	} {
		r, _, err := ReadFanoutRecord([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Normalised(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if r := (FanoutRecord{Status: "green"}); r.Succeeded(nil) || !r.Succeeded([]string{"green"}) { // case 113
		t.Error("the statuses that a configuration names do not count")
	}
	if r := (FanoutRecord{Status: "succeeded"}); !r.Succeeded(nil) {
		t.Error("succeeded is no success")
	}
}

func TestRunnerSpecMessagesAndTheirOrder(t *testing.T) {
	t.Parallel()
	const id = `"schema":"homeboy/agent-task-runner-spec/v1",`
	for _, tc := range []struct{ text, want string }{ // case 118
		{`[]`, "runner spec must be an object."},
		{`null`, "runner spec must be an object."},
		{`"x"`, "runner spec must be an object."},
		{`nonsense`, "runner spec must be an object."},
		{`{}`, "runner spec schema must be homeboy/agent-task-runner-spec/v1."},
		{`{"schema":"x","executor":1}`, "runner spec schema must be homeboy/agent-task-runner-spec/v1."},
		{`{` + id + `"limits":1}`, "runner spec executor is required."},
		{`{` + id + `"executor":null}`, "runner spec executor is required."},
		{`{` + id + `"executor":{"runtime":1}}`, "runner spec executor.backend is required."},
		{`{` + id + `"executor":{"backend":"  "}}`, "runner spec executor.backend is required."},
		{`{` + id + `"executor":{"backend":"b","runtime":""}}`, "runner spec executor.runtime is required."},
		{`{` + id + `"executor":{"backend":"b","runtime":{}}}`, "runner spec executor.runtime is required."},
		{`{` + id + `"executor":{"backend":"b","secret_env":1}}`, "runner spec executor.config is required."},
		{`{` + id + `"executor":{"backend":"b","config":[]}}`, "runner spec executor.config is required."},
		{`{` + id + `"limits":1,"executor":{"backend":"b","config":{},"secret_env":"A"}}`, "runner spec executor.secret_env must be an array."},
		{`{` + id + `"limits":[],"expected_artifacts":1,"executor":{"backend":"b","config":{}}}`, "runner spec limits must be an object."},
		{`{` + id + `"expected_artifacts":{},"artifact_declarations":1,"executor":{"backend":"b","config":{}}}`, "runner spec expected_artifacts must be an array."},
		{`{` + id + `"artifact_declarations":{},"executor":{"backend":"b","config":{}}}`, "runner spec artifact_declarations must be an array."},
	} {
		err := CheckRunnerSpec([]byte(tc.text))
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.text, err, tc.want)
		}
	}
	if err := CheckRunnerSpec([]byte(`{` + id + `"limits":null,"executor":{"backend":"b","config":{},"runtime":null}}`)); err != nil {
		t.Error(err)
	}
}

func TestProjectionDropsEverythingElse(t *testing.T) {
	t.Parallel()
	p, warnings, err := ProjectRunnerSpec([]byte(`{"schema":"homeboy/agent-task-runner-spec/v1","task_id":"no","limits":{"timeout_ms":5},"odd":1,"executor":{"backend":"b","config":{"a":1}},"expected_artifacts":["x"]}`))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	out, err := json.Marshal(p)
	if want := `{"executor":{"backend":"b","config":{"a":1}},"limits":{"timeout_ms":5},"expected_artifacts":["x"]}`; err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	var q Request
	p.Apply(&q)
	if q.Executor.Backend != "b" || q.Limits.TimeoutMS != 5 || q.ExpectedArtifacts[0] != "x" {
		t.Errorf("%+v", q)
	}
	if _, _, err := ProjectRunnerSpec([]byte(`{}`)); err == nil {
		t.Error("a spec without a schema was projected")
	}
}

func TestBuildRunnerSpec(t *testing.T) {
	t.Parallel()
	if _, err := BuildRunnerSpec(RunnerSpecInput{}); err == nil || err.Error() != "config is required." {
		t.Error(err)
	}
	if _, err := BuildRunnerSpec(RunnerSpecInput{Config: map[string]Value{}}); err == nil || err.Error() != "runner spec executor.backend is required." {
		t.Error(err)
	}
	s, err := BuildRunnerSpec(RunnerSpecInput{
		Config: map[string]Value{}, Backend: "b", SecretEnv: []string{"", " "}, TaskTimeoutSeconds: 90, MaxRuntimeMS: 7,
		ExpectedArtifacts: []string{"", "p"}, ArtifactDeclarations: []ArtifactDeclaration{},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(s)
	want := `{"schema":"homeboy/agent-task-runner-spec/v1","executor":{"backend":"b","config":{}},"limits":{"timeout_ms":90000,"max_runtime_ms":7,"task_timeout_seconds":90},"expected_artifacts":["p"],"artifact_declarations":[]}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzRunnerSpec(f *testing.F) {
	f.Add([]byte(`{"schema":"homeboy/agent-task-runner-spec/v1","executor":{"backend":"b","config":{}}}`))
	f.Add([]byte(`{"executor":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, err := ProjectRunnerSpec(data)
		checked := CheckRunnerSpec(data)
		if (err == nil) != (checked == nil) {
			t.Fatalf("check %v, project %v", checked, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "runner spec ") {
			t.Fatalf("another message: %v", err)
		}
	})
}

func FuzzReadFanout(f *testing.F) {
	f.Add([]byte(`{"concurrency":"x","groups":[{"id":1}],"runtime":{"a":1}}`))
	f.Add([]byte(`{"task_requests":[{"id":"a"}],"status":"done","outcome":{"status":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := ReadFanoutConfig(data)
		if err != nil {
			return
		}
		if n := c.Workers(); n < 1 || n > MaxConcurrency {
			t.Fatal(n)
		}
		stable(t, c, func(text []byte) (FanoutConfig, error) {
			again, _, err := ReadFanoutConfig(text)
			return again, err
		})
		if p, _, err := ReadFanoutPlan(data); err == nil {
			_ = p.Validate()
		}
		if r, _, err := ReadFanoutRecord(data); err == nil {
			_ = r.Normalised()
		}
	})
}

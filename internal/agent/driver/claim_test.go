package driver_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
)

// A small file must not become a large one in the evidence.
func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("1,", 500_000)
	_, dropped, err := driver.ParseClaim([]byte(`{"status": "completed", "file_changes": [` + many + `1]}`))
	if err != nil || len(dropped) > 100 {
		t.Errorf("%d dropped parts are listed, %v", len(dropped), err)
	}
	names := strings.Repeat(`"a",`, 20_000)
	if _, _, err := driver.ParseClaim([]byte(`{"status": "completed", "file_changes": [` + names + `"b"]}`)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("20,001 claimed files: %v", err)
	}
}

func TestParseClaim(t *testing.T) {
	t.Parallel()
	in := `{
		"status": "completed", "machine_status": "ok", "operator_summary": "did it", "summary": "short",
		"file_changes": ["a.go", {"path": "b.go"}, {"file": "c.go"}, 3, "", {"name": "d"}, null, "nul\u0000"],
		"artifact_paths": ["report.md", {"path": "x"}, 7],
		"workflow_signal": "complete",
		"follow_up_tasks": [
			{"task_type": "t", "source": "s", "payload": {"n": 9007199254740993}},
			{"task_type": "t", "payload": {}}, {"task_type": "t", "source": "s"}, {"task_type": "t", "source": "s", "payload": {}, "kind": "x"}, "no"
		],
		"external_messages": [{"to": "x"}, "no", 1, [1]],
		"retry_after_seconds": "soon",
		"Status": "completed", "verdict": "accepted"
	}`
	got, dropped, err := driver.ParseClaim([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := &driver.Claim{
		Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, Summary: "did it",
		FileChanges: []string{"a.go", "b.go", "c.go"}, ArtifactPaths: []string{"report.md"}, WorkflowSignal: "complete",
		FollowUpTasks:    []agentruntime.TaskIntent{{TaskType: "t", Source: "s", Payload: json.RawMessage(`{"n":9007199254740993}`)}},
		ExternalMessages: []json.RawMessage{json.RawMessage(`{"to":"x"}`)},
	}
	var raw, written any
	if err := errors.Join(json.Unmarshal(got.Raw, &raw), json.Unmarshal([]byte(in), &written)); err != nil || !cmp.Equal(raw, written) {
		t.Errorf("raw is %s, %v", got.Raw, err)
	}
	got.Raw = nil
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantDropped := []string{
		"summary: operator_summary is there too and is taken",
		"file_changes[3]: a number, not a path", "file_changes[4]: empty path", "file_changes[5]: an object, not a path",
		"file_changes[6]: null, not a path", "file_changes[7]: a path with a NUL byte",
		"artifact_paths[1]: an object, not a path", "artifact_paths[2]: a number, not a path",
		"follow_up_tasks[1]: task_type and source are needed",
		"follow_up_tasks[2]: payload is nothing, not an object",
		`follow_up_tasks[3]: not a task intent: json: unknown field "kind"`,
		"follow_up_tasks[4]: not a task intent: json: cannot unmarshal string into Go value of type agentruntime.TaskIntent",
		"external_messages[1]: a string, not an object", "external_messages[2]: a number, not an object", "external_messages[3]: a list, not an object",
		`retry_after_seconds: "\"soon\"" is not a number of seconds`,
		`"Status": unknown field`, `"verdict": unknown field`,
	}
	if d := cmp.Diff(wantDropped, dropped); d != "" {
		t.Error(d)
	}
}

func TestStatusWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{`{"status": "completed"}`, "completed ok"},
		{`{"status": "completed", "machine_status": null}`, "completed ok"},
		{`{"machine_status": "ok"}`, "completed ok"},
		{`{"machine_status": "needs_retry"}`, "retryable_failure needs_retry"},
		{`{"status": "permanent_failure", "machine_status": "failed"}`, "permanent_failure failed"},
		{`{"status": "blocked"}`, "blocked blocked"},
		{`{"status": "Completed"}`, `status "Completed" is unknown (known: completed, retryable_failure, permanent_failure, blocked)`},
		{`{"status": "success"}`, `status "success" is unknown`},
		{`{"status": ""}`, `status "" is unknown`},
		{`{"machine_status": "done"}`, `machine_status "done" is unknown (known: ok, needs_retry, failed, blocked)`},
		{`{"status": "completed", "machine_status": "needs_retry"}`, "contradict"},
		{`{"status": "operator_canceled"}`, "only an operator"},
		{`{"machine_status": "canceled"}`, "only an operator"},
		{`{"status": true}`, "status is a boolean, not a word"},
		{`{"status": ["completed"]}`, "status is a list, not a word"},
		{`{}`, "has no status"},
		{`{"operator_summary": "sandbox permission denied, I am blocked."}`, "has no status"},
		{`null`, "null"},
		{`[]`, "not a JSON object"},
		{`"completed"`, "not a JSON object"},
		{`{"status": "completed"`, "not a JSON object"},
		{``, "not a JSON object"},
	} {
		in, want := tc.in, tc.want
		c, _, err := driver.ParseClaim([]byte(in))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = string(c.Status) + " " + string(c.MachineStatus)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if _, _, err := driver.ParseClaim([]byte(`{}`)); !errors.Is(err, driver.ErrNoStatus) {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{`90`: 90, `1.5`: 1.5, `0`: 0, `-1`: 0, `1e300`: 0, `1e999`: 0, `null`: 0, `"9"`: 0, `99999999`: 0} {
		c, dropped, err := driver.ParseClaim([]byte(`{"status": "retryable_failure", "retry_after_seconds": ` + in + `}`))
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if c.RetryAfterSeconds != want {
			t.Errorf("%s: got %v", in, c.RetryAfterSeconds)
		}
		if bad := want == 0 && in != "0" && in != "null"; bad != (len(dropped) == 1) {
			t.Errorf("%s: dropped %v", in, dropped)
		}
	}
}

func FuzzParseClaim(f *testing.F) {
	f.Add([]byte(`{"status": "completed", "file_changes": ["a"], "follow_up_tasks": [{}], "retry_after_seconds": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := driver.ParseClaim(data)
		if (c == nil) == (err == nil) {
			t.Fatal("neither claim nor error, or both")
		}
		if c != nil && (c.Status == agentruntime.TaskCompleted) != (c.MachineStatus == agentruntime.MachineOK) {
			t.Fatalf("got %+v", c)
		}
	})
}

// An agent may say whose fault a failure is, and hand back more than files; neither makes its work done.
func TestParseClaimFailureAndOutputs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"status": "retryable_failure", "failure_class": "provider_error"}`:                         "provider_error",
		`{"status": "retryable_failure", "terminal_result": {"status": "max_turns"}}`:                "max_turns",
		`{"status": "retryable_failure", "terminal_result": {"status": "failed"}}`:                   "",
		`{"status": "retryable_failure", "failure_class": "bad weather"}`:                            "",
		`{"status": "completed", "terminal_result": {"status": "succeeded"}}`:                        "",
		`{"status": "retryable_failure", "failure_class": "rate_limited", "retry_after_seconds": 3}`: "rate_limited",
	} {
		c, _, err := driver.ParseClaim([]byte(in))
		if err != nil || c.Failure != want {
			t.Errorf("%s: %q, %v", in, c.Failure, err)
		}
	}
	if _, _, err := driver.ParseClaim([]byte(`{"status": "completed", "terminal_result": {"status": "provider_error"}}`)); err == nil || !strings.Contains(err.Error(), "contradict") {
		t.Errorf("completed beside provider_error: %v", err)
	}
	c, dropped, err := driver.ParseClaim([]byte(`{"status": "completed", "outputs": {"n": 1}, "structured_artifacts": [{"name": "r", "type": "report"}, {"name": "r"}, 3]}`))
	if err != nil || string(c.Outputs) != `{"n":1}` || len(c.StructuredArtifacts) != 1 || len(dropped) != 2 {
		t.Errorf("%+v %v %v", c, dropped, err)
	}
}

// Parts of a result stand in documents that must be valid, so it is made valid, or refused, whatever the agent wrote.
func TestParseClaimIsTidy(t *testing.T) {
	t.Parallel()
	c, _, err := driver.ParseClaim([]byte("{\"status\": \"completed\", \"outputs\": {\"a\": \"\xff<\\ud800\", \"b\": 1, \"b\": 1e400}}\n"))
	if err != nil || string(c.Outputs) != "{\"a\":\"\ufffd<\ufffd\",\"b\":1e400}" {
		t.Errorf("outputs are %s, %v", c.Outputs, err)
	}
	nested := func(open, inner, end string, n int) string {
		return `{"status": "completed", "outputs": {"a": ` + strings.Repeat(open, n) + inner + strings.Repeat(end, n) + `}}`
	}
	if _, _, err := driver.ParseClaim([]byte(nested("[", "1", "]", 50))); err != nil {
		t.Errorf("50 deep: %v", err)
	}
	for name, in := range map[string]string{
		"lists": nested("[", "1", "]", 5000), "objects": nested(`{"a":`, "1", "}", 5000), "wide and deep": nested("[", strings.Repeat("1,", 1<<20)+"1", "]", 50),
		"two documents": `{"status": "completed"} {"status": "completed"}`,
	} {
		if c, _, err := driver.ParseClaim([]byte(in)); err == nil {
			t.Errorf("%s: taken, with %d bytes", name, len(c.Raw))
		}
	}
}

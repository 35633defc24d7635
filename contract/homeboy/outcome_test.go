package homeboy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

// told returns warnings as "code path", sorted.
func told(warnings []Warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.Code+" "+w.Path)
	}
	slices.Sort(out)
	return out
}

// read reads an outcome of task t1 and demands that it can be written.
func read(t *testing.T, text string) (Outcome, []string) {
	t.Helper()
	o, warnings, err := ReadOutcome([]byte(text), "t1")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Errorf("what was read cannot be written:\n%v\n%s", err, text)
	}
	return o, told(warnings)
}

// The traps of the wild, by their number in the facts.
func TestTraps(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1",`
	yes, no := true, false
	for name, tc := range map[string]struct {
		text      string
		status    OutcomeStatus
		class     FailureClass
		warnings  []string
		retryable *bool
		diag      string // the class of the first diagnostic
	}{
		"trap 1 validation failure without an id or a class": { // case 76
			text:   `{"schema":"homeboy/agent-task-outcome/v1","task_id":null,"status":"provider_error","diagnostics":[{"classification":"request_validation","message":"executor.backend is missing"}]}`,
			status: ProviderError, class: ClassInvalidInput, diag: "request_validation",
			warnings: []string{"alias $.diagnostics[0].classification", "task_id $.task_id"},
		},
		"trap 2 success with classification": { // case 77
			text:   head + `"status":"succeeded","diagnostics":[{"classification":"execution","message":"done","exit_code":0}]}`,
			status: Succeeded, diag: "execution", warnings: []string{"alias $.diagnostics[0].classification"},
		},
		"trap 3 evidence by url": { // case 77
			text:   head + `"status":"no_op","evidence_refs":[{"kind":"preview","url":"http://127.0.0.1/x"}]}`,
			status: NoOp, warnings: []string{"alias $.evidence_refs[0].url"},
		},
		"trap 4 unknown status": { // case 75
			text: head + `"status":"half_done"}`, status: ProviderError, class: ClassProvider, warnings: []string{"unknown_word $.status"},
		},
		"trap 4 unknown class": {
			text: head + `"status":"failed","failure_classification":"gremlins"}`, status: Failed, class: ClassUnknown, warnings: []string{"unknown_word $.failure_classification"},
		},
		"trap 5 cancelled":             {text: head + `"status":"cancelled"}`, status: Cancelled},
		"trap 5 follow up":             {text: head + `"status":"follow_up_issue","follow_up":{"kind":"issue","title":"x"}}`, status: FollowUpIssue},
		"trap 5 candidate recoverable": {text: head + `"status":"candidate_recoverable"}`, status: CandidateRecoverable},
		"trap 6 stand-in id": {
			text: strings.Replace(head, "t1", "unknown-task", 1) + `"status":"succeeded"}`, status: Succeeded, warnings: []string{"task_id $.task_id"},
		},
		"trap 8 a setup fault that calls itself retryable": {
			text:   head + `"status":"provider_error","retryable":true,"diagnostics":[{"class":"agent_task.codex_command_not_found","message":"codex is not there"}]}`,
			status: ProviderError, class: ClassProvider, retryable: &no, diag: "agent_task.codex_command_not_found", warnings: []string{"contradiction $.retryable"},
		},
		"trap 8 the same by its category": {
			text: head + `"status":"provider_error","retryable":true,"failure_category":"provider.auth"}`, status: ProviderError, class: ClassProvider, retryable: &no, warnings: []string{"contradiction $.retryable"},
		},
		"trap 8 a service that may come back": {
			text: head + `"status":"provider_error","retryable":true,"failure_category":"provider.rate_limit"}`, status: ProviderError, class: ClassProvider, retryable: &yes,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, warnings := read(t, tc.text)
			if o.Status != tc.status || o.FailureClassification != tc.class || o.TaskID != "t1" {
				t.Errorf("read %s, %q, task %q; want %s, %q", o.Status, o.FailureClassification, o.TaskID, tc.status, tc.class)
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings:\n%s", diff)
			}
			if diff := cmp.Diff(tc.retryable, o.Retryable); diff != "" {
				t.Errorf("retryable:\n%s", diff)
			}
			if tc.diag != "" && o.Diagnostics[0].Class != tc.diag {
				t.Errorf("the diagnostic is of class %q", o.Diagnostics[0].Class)
			}
		})
	}
}

// Trap 7: both marks of redaction are plain text here, and stay as they are.
func TestRedactionMarksStay(t *testing.T) {
	t.Parallel()
	o, warnings := read(t, `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","summary":"[redacted] and [REDACTED]","metadata":{"token":"[redacted]"}}`)
	if o.Summary != "[redacted] and [REDACTED]" || string(o.Metadata) != `{"token":"[redacted]"}` || warnings != nil {
		t.Errorf("%+v %v", o, warnings)
	}
}

func TestRawWordsAreKept(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, metadata, raw string }{
		{`{"task_id":"t1","status":"weird"}`, `{"raw_status":"weird"}`, `"weird"`},
		{`{"task_id":"t1","status":"weird","metadata":{"n":1.50}}`, `{"n":1.50,"raw_status":"weird"}`, `"weird"`},
		{`{"task_id":"t1","status":"weird","metadata":[1]}`, `[1]`, `"weird"`},
		{`{"task_id":"t1","status":"failed","failure_classification":"odd"}`, `{"raw_failure_classification":"odd"}`, `"odd"`},
		{`{"task_id":"t1","status":"no_op","failure_classification":"odd"}`, `{"raw_failure_classification":"odd"}`, `"odd"`},
		{`{"task_id":"other","status":"succeeded"}`, `{"raw_status":"succeeded"}`, `"succeeded"`},
	} {
		o, warnings, err := ReadOutcome([]byte(tc.text), "t1")
		if err != nil {
			t.Fatal(err)
		}
		if string(o.Metadata) != tc.metadata {
			t.Errorf("%s: metadata %s, want %s", tc.text, o.Metadata, tc.metadata)
		}
		if !slices.ContainsFunc(warnings, func(w Warning) bool { return string(w.Raw) == tc.raw }) {
			t.Errorf("%s: no warning has the raw word: %v", tc.text, warnings)
		}
	}
}

// A success of another task is refused; its failure is a failure all the same.
func TestAnotherTasksOutcome(t *testing.T) {
	t.Parallel()
	for status, want := range map[OutcomeStatus]OutcomeStatus{
		Succeeded: ProviderError, NoOp: ProviderError, Failed: Failed, Timeout: Timeout, Cancelled: Cancelled, CandidateRecoverable: CandidateRecoverable,
	} {
		o, warnings := read(t, `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t2","status":"`+string(status)+`"}`)
		if o.Status != want || o.TaskID != "t1" || !slices.Contains(warnings, "task_id $.task_id") {
			t.Errorf("%s of another task is read as %s of %s: %v", status, o.Status, o.TaskID, warnings)
		}
		if refused := slices.Contains(warnings, "refused $.status"); refused != IsSuccess(status) {
			t.Errorf("%s: refused is %v", status, refused)
		}
	}
}

// A document that says two things is no success, whichever a reader takes.
func TestNamesThatOccurTwice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]OutcomeStatus{
		`{"task_id":"t1","status":"failed","status":"succeeded"}`:                                     ProviderError,
		`{"task_id":"t1","status":"succeeded","status":"failed"}`:                                     Failed,
		`{"task_id":"t2","status":"succeeded","task_id":"t1"}`:                                        ProviderError,
		`{"task_id":"t1","status":"succeeded","summary":"a","summary":"b"}`:                           Succeeded,
		`{"task_id":"t1","status":"succeeded","artifacts":[{"id":"a","id":"b","kind":"log","x":[]}]}`: Succeeded,
	} {
		o, warnings := read(t, text)
		if o.Status != want || !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "contradiction ") }) {
			t.Errorf("%s is read as %s: %v", text, o.Status, warnings)
		}
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status OutcomeStatus
		said   string
		want   FailureClass
	}{
		{ProviderError, "rate_limit", ClassRateLimited},
		{ProviderError, "quota_exceeded", ClassRateLimited},
		{ProviderError, "provider_quota", ClassRateLimited}, // case 70
		{Failed, "max_turns", ClassTimeout},
		{Failed, "runtime", ClassExecutionFailed},
		{Failed, "task", ClassExecutionFailed},
		{Failed, "incomplete", ClassExecutionFailed},
		{Failed, "request_validation", ClassInvalidInput},
		{Failed, "Provider", ClassUnknown},
		{ProviderError, "", ClassProvider},
		{Timeout, "", ClassTimeout},
		{Failed, "", ClassExecutionFailed},
		{UnableToRemediate, "", ClassExecutionFailed},
		{Cancelled, "", ""},
		{FollowUpIssue, "", ""},
		{CandidateRecoverable, "", ""},
		{Succeeded, "", ""},
		{NoOp, "", ""},
		{ProviderError, "provider_billing_blocked", ClassProviderBillingBlocked},
	} {
		text := `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"` + string(tc.status) + `","failure_classification":"` + tc.said + `"}`
		if o, _ := read(t, text); o.FailureClassification != tc.want {
			t.Errorf("%s with %q is of class %q, want %q", tc.status, tc.said, o.FailureClassification, tc.want)
		}
	}
}

// A part that cannot be understood does not take the rest with it.
func TestBrokenMembersAreTold(t *testing.T) {
	t.Parallel()
	o, warnings := read(t, `{"schema":"other/v3","task_id":"t1","status":"failed","summary":["a"],"retryable":"yes","artifacts":{"path":"a.patch","bytes":3.0,"sha256":"sha256:AB"},
		"diagnostics":["plain text",{"code":"E1"},7,{}],"evidence_refs":[{"kind":"log"},"file:///x"],"outputs":[],"workflow":{"steps":[{"status":"odd"}]},"follow_up":"look at it","exit_code":3}`)
	want := []string{
		"alias $.artifacts.bytes", "alias $.diagnostics[1].code", "dropped $.artifacts[0].sha256", "dropped $.diagnostics[2]", "dropped $.evidence_refs", "dropped $.outputs",
		"dropped $.retryable", "dropped $.summary", "form $.artifacts", "form $.artifacts.sha256", "form $.artifacts.size_bytes", "form $.diagnostics[0]",
		"form $.evidence_refs[1]", "form $.follow_up", "missing $.artifacts[0].id", "missing $.artifacts[0].kind", "missing $.diagnostics[0].class",
		"missing $.diagnostics[1].message", "missing $.diagnostics[2].class", "missing $.diagnostics[2].message", "missing $.evidence_refs[0].kind",
		"missing $.follow_up.kind", "missing $.workflow.id", "missing $.workflow.steps[0].id", "schema $.schema", "unknown_word $.workflow.steps[0].status",
	}
	if o.Status != Failed || len(o.Diagnostics) != 3 || o.EvidenceRefs[0].URI != "file:///x" || *o.Artifacts[0].SizeBytes != 3 || string(o.Extra["exit_code"]) != "3" {
		t.Errorf("%+v", o)
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestNotOneObjectIsAnError(t *testing.T) {
	t.Parallel()
	const good = `{"task_id":"t1","status":"succeeded"}`
	for text, code := range map[string]string{ // case 49
		"": fault.InvalidJSON, " \n": fault.InvalidJSON, "{": fault.InvalidJSON, "nonsense": fault.InvalidJSON, "[]": fault.WrongType, "null": fault.WrongType, `"x"`: fault.WrongType,
		good + good: fault.TrailingData, good + "\nbye": fault.TrailingData, "log\n" + good: fault.InvalidJSON,
		strings.Repeat("[", 200_000): fault.InvalidJSON,
	} {
		_, _, err := ReadOutcome([]byte(text), "t1")
		if fs := fault.Of(err); len(fs) != 1 || fs[0].Code != code {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, text := range []string{"\ufeff" + good, strings.Replace(good, "}", ",\"summary\":\"\xff\"}", 1)} {
		if o, warnings, err := ReadOutcome([]byte(text), "t1"); err != nil || o.Status != Succeeded || told(warnings)[0] != "encoding $" {
			t.Errorf("%q: %v %v", text, warnings, err)
		}
	}
}

// Claims that no record can hold are left out, and what they stood beside stays.
func TestImpossibleClaimsAreLeftOut(t *testing.T) {
	t.Parallel()
	o, warnings := read(t, `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"failed","summary":"a\u0000b",
		"artifacts":[{"id":"a\nb","kind":"`+strings.Repeat("k", 600)+`","size_bytes":-1,"path":"`+strings.Repeat("p", 5000)+`"}],
		"workflow":{"id":"w","steps":[{"id":"s","status":"running"},{"id":"s","status":"failed","depends_on":["x"]}]}}`)
	a := o.Artifacts[0]
	if o.Summary != "ab" || a.ID != "a b" || len(a.Kind) != 512 || a.SizeBytes != nil || a.Path != "" || o.Workflow != nil || len(o.Extra["raw_workflow"]) == 0 {
		t.Errorf("%+v", o)
	}
	want := []string{
		"dropped $.artifacts[0].path", "dropped $.artifacts[0].size_bytes", "dropped $.workflow", "form $.artifacts[0].id", "form $.artifacts[0].kind", "form $.summary",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

// A document of faults cannot fill the memory of its reader.
func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	_, warnings, err := ReadOutcome([]byte(`{"task_id":"t1","status":"failed","diagnostics":[`+strings.Repeat("7,", 9999)+`7]}`), "t1")
	if err != nil || len(warnings) != maxWarnings+1 {
		t.Errorf("%d warnings, %v", len(warnings), err)
	}
}

func TestUnknownMembersAreWrittenAgain(t *testing.T) {
	t.Parallel()
	text := `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","artifacts":[{"id":"a","kind":"log","n":1.10,"stream":"stdout"}],` +
		`"diagnostics":[{"class":"c","message":"m","exit_code":0}],"outputs":{"x":null},"custom":{"b":2,"a":[]}}`
	o, warnings := read(t, text)
	if warnings != nil {
		t.Error(warnings)
	}
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != text {
		t.Errorf("written as\n%s\nwant\n%s", out, text)
	}
	// A member of Extra with the name of a field would say two things at once.
	o.Extra["status"] = Value(`"failed"`)
	if out, err = json.Marshal(o); err != nil || strings.Count(string(out), `"status"`) != 1 {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTellMakesDiagnostics(t *testing.T) {
	t.Parallel()
	o, warnings, err := ReadOutcome([]byte(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"t2","status":"failed"}`), "t1")
	if err != nil {
		t.Fatal(err)
	}
	o.Tell(warnings)
	if len(o.Diagnostics) != 1 || o.Diagnostics[0].Class != DiagnosticRepair || string(o.Diagnostics[0].Data) != `{"path":"$.task_id","code":"task_id","message":"\"t2\" is another task than \"t1\"","raw":"t2"}` {
		t.Errorf("%+v", o.Diagnostics)
	}
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAggregateRule(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]AggregateStatus{
		"":                                "failed",
		"succeeded":                       "succeeded",
		"succeeded no_op":                 "succeeded",
		"candidate_recoverable":           "partial_recoverable",
		"succeeded candidate_recoverable": "partial_recoverable",
		"candidate_recoverable failed":    "failed",
		"succeeded failed":                "partial_failure",
		"succeeded timeout candidate_recoverable": "partial_failure",
		"provider_error":                         "failed",
		"succeeded cancelled":                    "cancelled",
		"cancelled candidate_recoverable failed": "cancelled",
	} {
		var outcomes []Outcome
		for _, w := range strings.Fields(words) {
			outcomes = append(outcomes, Outcome{Schema: SchemaOutcome, TaskID: "t", Status: OutcomeStatus(w)})
		}
		a := Aggregated("p", outcomes)
		if a.Status != want {
			t.Errorf("%q gives %s, want %s", words, a.Status, want)
		}
		if err := a.Validate(); err != nil {
			t.Error(err)
		}
		n := a.Totals
		if sum := n.Skipped + n.Blocked + n.Succeeded + n.CandidateRecoverable + n.Failed + n.Cancelled + n.TimedOut; sum != int64(len(outcomes)) {
			t.Errorf("%q: the totals count %d of %d: %+v", words, sum, len(outcomes), n)
		}
	}
}

func TestTotalsTellWhatNeverRan(t *testing.T) {
	t.Parallel()
	a := Aggregated("p", []Outcome{
		{Status: Failed, Diagnostics: []Diagnostic{{Class: "output_dependency_missing", Message: "m"}}},
		{Status: Failed, FailureClassification: ClassPolicyDenied, Diagnostics: []Diagnostic{{Class: "backpressure", Message: "m"}}},
		{Status: Failed, FailureClassification: ClassPolicyDenied},
	})
	if a.Totals.Skipped != 1 || a.Totals.Blocked != 1 || a.Totals.Failed != 1 {
		t.Errorf("%+v", a.Totals)
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	none, some := int64(0), int64(9)
	patch := func(size *int64) []Artifact { return []Artifact{{ID: "p", Kind: "patch", SizeBytes: size}} }
	for i, tc := range []struct {
		o    Outcome
		want Decision
	}{
		{Outcome{Status: NoOp, Artifacts: patch(&some)}, "no_op"},
		{Outcome{Status: Succeeded, Artifacts: patch(&some)}, "apply_candidate"},
		{Outcome{Status: Succeeded, Artifacts: patch(nil)}, "apply_candidate"},
		{Outcome{Status: Succeeded, Artifacts: patch(&none)}, "review_candidate"},
		{Outcome{Status: Succeeded, Artifacts: []Artifact{{ID: "p", Kind: "patch", SizeBytes: &some, Metadata: Value(`{"review_only":true}`)}}}, "review_candidate"},
		{Outcome{Status: FollowUpIssue}, "issue_report_candidate"},
		{Outcome{Status: Failed, Artifacts: []Artifact{{Metadata: Value(`{"false_positive":true}`)}}}, "issue_report_candidate"},
		{Outcome{Status: Failed, Artifacts: []Artifact{{Metadata: Value(`{"false_positive":"true"}`)}}}, "review_candidate"},
		{Outcome{Status: Timeout}, "retry_candidate"},
		{Outcome{Status: Failed, FailureClassification: ClassStalled}, "retry_candidate"},
		{Outcome{Status: Failed, FailureClassification: ClassPolicyDenied}, "review_candidate"},
	} {
		if got := tc.o.Decide(); got != tc.want {
			t.Errorf("%d: %s, want %s", i, got, tc.want)
		}
	}
}

func FuzzReadOutcome(f *testing.F) {
	for _, s := range []string{
		`{"task_id":null,"status":"provider_error","diagnostics":[{"classification":"request_validation"}]}`,
		`{"schema":"x","task_id":7,"status":"weird","artifacts":{"id":1,"bytes":2.0},"evidence_refs":["a",{"url":"b"}],"metadata":[1]}`,
		`{"task_id":"t1","status":"succeeded","outputs":{"a":{}},"workflow":{"steps":[{}]},"follow_up":"x","failure_classification":"odd","retryable":true}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, _, err := ReadOutcome(data, "t1")
		if err != nil {
			if fault.Of(err) == nil {
				t.Fatalf("an error without faults: %v", err)
			}
			return
		}
		if o.TaskID != "t1" || !slices.Contains(OutcomeStatuses, o.Status) {
			t.Fatalf("%+v", o)
		}
		if err := o.Validate(); err != nil {
			t.Fatalf("what was read cannot be written:\n%v\n%s", err, data)
		}
		stable(t, o, func(text []byte) (Outcome, error) {
			again, _, err := ReadOutcome(text, "t1")
			return again, err
		})
	})
}

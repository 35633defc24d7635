package outcome

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

const (
	good = `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","summary":"done","outputs":{"n":1}}`
	bad  = `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"failed","failure_classification":"policy_denied","summary":"may not"}`
)

var (
	provider = homeboy.ExecutorProvider{ID: "hello.run", Backend: "hello"}
	request  = homeboy.Request{Schema: homeboy.SchemaRequest, TaskID: "t1", Instructions: "x"}
)

// printed returns the facts of a command that printed a text and exited.
func printed(text string, code int) Facts {
	return Facts{End: Exited, Code: code, Stdout: strings.NewReader(text), StdoutSize: int64(len(text))}
}

// readIt reads an answer and demands of it what holds for every one.
func readIt(t *testing.T, p homeboy.ExecutorProvider, q homeboy.Request, f Facts, r *redact.Redactor) Answer {
	t.Helper()
	a := Read(p, q, f, r)
	if err := a.Outcome.Validate(); err != nil {
		t.Errorf("what was read cannot be written:\n%v", err)
	}
	if a.Outcome.TaskID != q.TaskID {
		t.Errorf("it is the outcome of %q", a.Outcome.TaskID)
	}
	if !homeboy.IsSuccess(a.Outcome.Status) && a.Outcome.Status != homeboy.Cancelled && a.Outcome.FailureClassification == "" && a.Outcome.Status != homeboy.CandidateRecoverable && a.Outcome.Status != homeboy.FollowUpIssue {
		t.Errorf("%s without a class", a.Outcome.Status)
	}
	return a
}

// member returns a text in a JSON value by a dotted path.
func member(t *testing.T, v homeboy.Value, path string) string {
	t.Helper()
	found, _ := at(v, path)
	if text, ok := found.Text(); ok {
		return text
	}
	return string(found)
}

func diagnostic(o homeboy.Outcome, class string) *homeboy.Diagnostic {
	for i := range o.Diagnostics {
		if o.Diagnostics[i].Class == class {
			return &o.Diagnostics[i]
		}
	}
	return nil
}

// TestEnds goes through the table: what an end and what was printed become. The numbers are the edge cases of the facts.
func TestEnds(t *testing.T) {
	t.Parallel()
	const tail = "\nnot json at all {"
	declared := provider
	declared.OutcomeStatuses = []string{"succeeded", "failed"}
	declared.FailureClassifications = []string{"provider"}
	for name, tc := range map[string]struct {
		f      Facts
		p      homeboy.ExecutorProvider
		row    string
		status homeboy.OutcomeStatus
		class  homeboy.FailureClass
		code   string // of the first diagnostic
		said   string // metadata.provider_status
		phase  Phase
	}{
		"one outcome":                      {f: printed(good, 0), row: "valid", status: homeboy.Succeeded},
		"one outcome with white space":     {f: printed("\n\t "+good+"\r\n\n", 0), row: "valid", status: homeboy.Succeeded},
		"a failure":                        {f: printed(bad, 0), row: "valid", status: homeboy.Failed, class: homeboy.ClassPolicyDenied},
		"48 empty":                         {f: printed("", 3), row: "empty", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeEmpty, phase: PhaseRun},
		"48 blank":                         {f: printed(" \n\xef\xbb\xbf", 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"48 nothing was kept":              {f: Facts{End: Exited}, row: "empty", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeEmpty, phase: PhaseRun},
		"49 malformed":                     {f: printed(`{"task_id":`, 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 two documents":                 {f: printed(good+"\n"+bad, 0), row: "several", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 two documents on a line":       {f: printed(good+bad, 0), row: "several", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 the same twice":                {f: printed(good+"\n"+good, 0), row: "several", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 trailing log line":             {f: printed(good+"\nbye", 0), row: "recovered", status: homeboy.Succeeded, code: CodeRecovered, phase: PhaseRun},
		"49 log line before":               {f: printed("[info] starting\n"+good, 0), row: "recovered", status: homeboy.Succeeded, code: CodeRecovered, phase: PhaseRun},
		"49 JSON log lines around":         {f: printed(`{"level":"info"}`+"\n"+good+"\n"+`{"level":"info"}`, 0), row: "recovered", status: homeboy.Succeeded, code: CodeRecovered, phase: PhaseRun},
		"49 text on the same line":         {f: printed(good+" bye", 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 text before on the same line":  {f: printed("result: "+good, 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 another task among text":       {f: printed("x\n"+strings.Replace(good, "t1", "t2", 1), 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 no schema among text":          {f: printed("x\n"+`{"task_id":"t1","status":"succeeded"}`, 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 inside a list among text":      {f: printed("x\n[\n"+good+"\n]\ny", 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 in a string of a log line":     {f: printed("x\n"+fmt.Sprintf("{\"m\":%q}", good), 0), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 byte order mark":               {f: printed("\xef\xbb\xbf"+good, 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"49 invalid UTF-8":                 {f: printed(strings.Replace(good, "done", "d\xff", 1), 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"49 list":                          {f: printed("["+good+"]", 0), row: "not_object", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 string":                        {f: printed(`"succeeded"`, 0), row: "not_object", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 a gigabyte":                    {f: Facts{End: Exited, Stdout: strings.NewReader(""), StdoutSize: 1 << 30}, row: "too_large", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 deep":                          {f: printed(`{"metadata":`+strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth)+`}`, 0), row: "too_deep", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 very deep":                     {f: printed(strings.Repeat("[", 1<<20), 0), row: "too_deep", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"49 less was kept than was said":   {f: Facts{End: Exited, Stdout: strings.NewReader(good), StdoutSize: 5000}, row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"50 SIGTERM from elsewhere":        {f: with2(printed("", 0), Signalled, "SIGTERM"), row: "signal", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeSignal, phase: PhaseRun},
		"50 SIGKILL in the middle":         {f: with2(printed(good[:30], 0), Signalled, "SIGKILL"), row: "signal", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeSignal, phase: PhaseRun},
		"50 a signal after a success":      {f: with2(printed(good, 0), Signalled, "SIGSEGV"), row: "signal_with_outcome", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeProcess, said: "succeeded", phase: PhaseRun},
		"50 a signal after a failure":      {f: with2(printed(bad, 0), Signalled, "SIGSEGV"), row: "signal_with_outcome", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: CodeProcess, phase: PhaseRun},
		"51 wall timeout":                  {f: with2(printed("", 0), WallTimeout, ""), row: "wall_timeout", status: homeboy.Timeout, class: homeboy.ClassTimeout, code: CodeTimeout, phase: PhaseTimeout},
		"52 success, then a hang":          {f: with2(printed(good, 0), WallTimeout, ""), row: "wall_timeout", status: homeboy.Timeout, class: homeboy.ClassTimeout, code: CodeTimeout, said: "succeeded", phase: PhaseTimeout},
		"52 failure, then a hang":          {f: with2(printed(bad, 0), WallTimeout, ""), row: "wall_timeout", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: CodeTimeout, phase: PhaseTimeout},
		"52 half of an outcome, then hang": {f: with2(printed(good[:40], 0), WallTimeout, ""), row: "wall_timeout", status: homeboy.Timeout, class: homeboy.ClassTimeout, code: CodeTimeout, phase: PhaseTimeout},
		"53 deadline":                      {f: Facts{End: DeadlinePast}, row: "deadline_past", status: homeboy.Timeout, class: homeboy.ClassTimeout, code: CodeDeadline, phase: PhaseTimeout},
		"54 stalled":                       {f: Facts{End: Stalled, Limit: time.Second}, row: "stalled", status: homeboy.Timeout, class: homeboy.ClassStalled, code: CodeStalled, phase: PhaseTimeout},
		"54 stalled after a success":       {f: with2(printed(good, 0), Stalled, ""), row: "stalled", status: homeboy.Timeout, class: homeboy.ClassStalled, code: CodeStalled, said: "succeeded", phase: PhaseTimeout},
		"55 exit 1 with a success":         {f: printed(good, 1), row: "exit_with_outcome", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeProcess, said: "succeeded", phase: PhaseRun},
		"55 exit 1 with a failure":         {f: printed(bad, 1), row: "exit_with_outcome", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: CodeProcess, phase: PhaseRun},
		"55 exit 1 with a success in text": {f: printed("x\n"+good, 1), row: "exit_with_outcome", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeProcess, said: "succeeded", phase: PhaseRun},
		"55 exit 1 with garbage":           {f: printed("Traceback", 1), row: "malformed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"66 output cap":                    {f: with2(printed(good+tail, 0), OutputCap, ""), row: "output_cap", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeOutputCap, said: "succeeded", phase: PhaseRun},
		"66 the rest was dropped":          {f: Facts{End: Exited, Stdout: strings.NewReader(good), StdoutSize: int64(len(good)), Dropped: 1}, row: "output_cut", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeOutputCap, phase: PhaseRun},
		"67 no such command":               {f: Facts{End: SpawnFailed, Err: fmt.Errorf("start: %w", fs.ErrNotExist)}, row: "command_unavailable", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeCommandUnavailable, phase: PhaseSetup},
		"67 not executable":                {f: Facts{End: SpawnFailed, Err: syscall.EACCES}, row: "command_unavailable", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeCommandUnavailable, phase: PhaseSetup},
		"67 no program":                    {f: Facts{End: SpawnFailed, Err: syscall.ENOEXEC}, row: "command_unavailable", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeCommandUnavailable, phase: PhaseSetup},
		"spawn failed":                     {f: Facts{End: SpawnFailed, Err: syscall.EAGAIN}, row: "spawn_failed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeSpawn, phase: PhaseSetup},
		"not started":                      {f: Facts{End: NotStarted, Err: errors.New("no room")}, row: "not_started", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeNotStarted, phase: PhaseSetup},
		"not held":                         {f: with2(printed(bad, 0), ContainmentFailed, ""), row: "containment_failed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContainment, said: "failed", phase: PhaseSetup},
		"I/O":                              {f: with2(printed(good, 0), IOFailed, ""), row: "io_failed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeIO, said: "succeeded", phase: PhaseRun},
		"memory":                           {f: with2(printed(good, 0), LimitReached, ""), row: "limit_reached", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeLimit, said: "succeeded", phase: PhaseRun},
		"cancelled":                        {f: with2(printed(good, 0), Cancelled, ""), row: "cancelled", status: homeboy.Cancelled, code: CodeCancelled, said: "succeeded", phase: PhaseCancel},
		"cancelled after a failure":        {f: with2(printed(bad, 0), Cancelled, ""), row: "cancelled", status: homeboy.Cancelled, code: CodeCancelled, said: "failed", phase: PhaseCancel},
		"an end that is none":              {f: with2(printed(good, 0), "", ""), row: "io_failed", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeIO, said: "succeeded", phase: PhaseRun},
		"75 another schema":                {f: printed(strings.Replace(good, "outcome/v1", "outcome/v2", 1), 0), row: "other_schema", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContract, said: "succeeded", phase: PhaseRun},
		"75 a failure by another schema":   {f: printed(strings.Replace(bad, "outcome/v1", "outcome/v2", 1), 0), row: "valid", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: homeboy.DiagnosticRepair},
		"75 no schema":                     {f: printed(`{"task_id":"t1","status":"succeeded"}`, 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"75 no status":                     {f: printed(`{"task_id":"t1"}`, 0), row: "no_status", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeMalformed, phase: PhaseRun},
		"75 unknown status":                {f: printed(strings.Replace(good, "succeeded", "done", 1), 0), row: "valid", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: homeboy.DiagnosticRepair},
		"75 unknown class":                 {f: printed(strings.Replace(bad, "policy_denied", "gremlins", 1), 0), row: "valid", status: homeboy.Failed, class: homeboy.ClassUnknown, code: homeboy.DiagnosticRepair},
		"76 no task":                       {f: printed(strings.Replace(good, `"t1"`, "null", 1), 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"76 no member for the task":        {f: printed(strings.Replace(good, `"task_id":"t1",`, "", 1), 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"76 a blank task":                  {f: printed(strings.Replace(good, `"t1"`, `" "`, 1), 0), row: "valid", status: homeboy.Succeeded, code: homeboy.DiagnosticRepair},
		"76 another task":                  {f: printed(strings.Replace(good, "t1", "t2", 1), 0), row: "other_task", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContract, said: "succeeded", phase: PhaseRun},
		"76 a failure of another task":     {f: printed(strings.Replace(bad, "t1", "t2", 1), 0), row: "valid", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: homeboy.DiagnosticRepair},
		"76 two statuses":                  {f: printed(`{"task_id":"t1","status":"failed","status":"succeeded"}`, 0), row: "other_task", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContract, said: "succeeded", phase: PhaseRun},
		"78 undeclared":                    {f: printed(strings.Replace(good, "succeeded", "no_op", 1), 0), p: declared, row: "undeclared_status", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContract, said: "no_op", phase: PhaseRun},
		"78 undeclared failure":            {f: printed(strings.Replace(bad, `"failed"`, `"timeout"`, 1), 0), p: declared, row: "undeclared_status", status: homeboy.ProviderError, class: homeboy.ClassProvider, code: CodeContract, said: "timeout", phase: PhaseRun},
		"78 declared":                      {f: printed(good, 0), p: declared, row: "valid", status: homeboy.Succeeded},
		"78 undeclared class":              {f: printed(bad, 0), p: declared, row: "valid", status: homeboy.Failed, class: homeboy.ClassPolicyDenied, code: homeboy.DiagnosticRepair},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.p.ID == "" {
				tc.p = provider
			}
			a := readIt(t, tc.p, request, tc.f, nil)
			o := a.Outcome
			if a.Row != tc.row || o.Status != tc.status || o.FailureClassification != tc.class {
				t.Fatalf("row %s: %s %s; want %s: %s %s", a.Row, o.Status, o.FailureClassification, tc.row, tc.status, tc.class)
			}
			first := ""
			var d homeboy.Diagnostic
			if len(o.Diagnostics) > 0 {
				d = o.Diagnostics[0]
				first = d.Class
			}
			if first != tc.code {
				t.Errorf("the first diagnostic is %q, want %q", first, tc.code)
			}
			if got := member(t, o.Metadata, "provider_status"); got != tc.said {
				t.Errorf("provider_status is %q, want %q", got, tc.said)
			}
			if tc.phase != "" && member(t, d.Data, "phase") != string(tc.phase) {
				t.Errorf("phase of %s", d.Data)
			}
			if o.Summary == "" && tc.code != homeboy.DiagnosticRepair {
				t.Error("no summary")
			}
			ref := homeboy.EvidenceRef{Kind: "agent-task-provider", URI: "homeboy://agent-task/" + tc.code}
			if host := strings.HasPrefix(tc.code, "agent_task.provider_"); host && !slices.ContainsFunc(o.EvidenceRefs, func(e homeboy.EvidenceRef) bool { return e.Kind == ref.Kind && e.URI == ref.URI }) {
				t.Errorf("no reference to %s: %v", ref.URI, o.EvidenceRefs)
			}
		})
	}
}

// with2 gives facts another end.
func with2(f Facts, end End, signal string) Facts {
	f.End, f.Signal = end, signal
	return f
}

// TestEveryEndHasARow tries the table with everything that can be.
func TestEveryEndHasARow(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, end := range append(slices.Clone(Ends), exitedBadly, commandUnavailable) {
		for _, kind := range append(slices.Clone(answers), ReplyNothing, ReplyGarbage, ReplyNotObject, ReplyNoStatus, ReplySeveral, ReplyTooLarge, ReplyTooDeep, ReplyCut) {
			used[rowOf(end, kind).ID] = true
		}
	}
	for _, r := range Rows {
		if !used[r.ID] {
			t.Errorf("nothing ends in the row %s", r.ID)
		}
	}
}

// TestWhatWasSaidStays looks at what is left of an answer that does not count.
func TestWhatWasSaidStays(t *testing.T) {
	t.Parallel()
	a := readIt(t, provider, request, with2(printed(good, 0), WallTimeout, ""), nil) // edge case 52
	if string(a.Outcome.Outputs["n"]) != "1" || member(t, a.Outcome.Metadata, "provider_summary") != "done" || string(a.Said) != good {
		t.Errorf("%+v\n%s", a.Outcome, a.Said)
	}
	a = readIt(t, provider, request, printed(good+"\n"+bad, 0), nil)
	var both []json.RawMessage
	if err := json.Unmarshal(a.Said, &both); err != nil || len(both) != 2 {
		t.Errorf("%s, %v", a.Said, err)
	}
	f := printed(strings.Repeat("x", 40<<10)+"last words", 3) // edge case 48
	f.StderrTail, f.Command, f.Elapsed = strings.Repeat("é", 20<<10), "sh run.sh", 1500*time.Millisecond
	a = readIt(t, provider, request, f, nil)
	d := diagnostic(a.Outcome, CodeMalformed)
	for path, want := range map[string]string{"exit_code": "3", "elapsed_ms": "1500", "command": "sh run.sh", "row": "malformed"} {
		if got := member(t, d.Data, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	out, errs := member(t, d.Data, "stdout_tail"), member(t, d.Data, "stderr_tail")
	if len(out) > maxTail || !strings.HasSuffix(out, "last words") || len(errs) > maxTail || len(errs) < maxTail-4 {
		t.Errorf("%d and %d bytes", len(out), len(errs))
	}
	a = readIt(t, provider, request, with2(Facts{}, Signalled, "SIGKILL"), nil) // edge case 50
	if d := diagnostic(a.Outcome, CodeSignal); d == nil || !strings.Contains(member(t, d.Data, "hint"), "memory") {
		t.Errorf("no hint: %+v", a.Outcome.Diagnostics)
	}
	a = readIt(t, provider, request, Facts{End: Exited, Survivors: 2, Stdout: strings.NewReader(good), StdoutSize: int64(len(good))}, nil) // edge case 60
	if diagnostic(a.Outcome, CodeSurvivors) == nil || a.Outcome.Status != homeboy.Succeeded {
		t.Errorf("%+v", a.Outcome)
	}
}

// TestNoWordOfATextDecides: edge case 58.
func TestNoWordOfATextDecides(t *testing.T) {
	t.Parallel()
	for _, summary := range []string{"raised the timeout to 503 s", "HTTP 429 rate limit quota exceeded", "connection reset, bad gateway"} {
		for _, text := range []string{good, bad} {
			want := readIt(t, provider, request, printed(text, 0), nil).Outcome
			got := readIt(t, provider, request, printed(strings.NewReplacer("done", summary, "may not", summary).Replace(text), 0), nil).Outcome
			got.Summary, want.Summary = "", ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// TestSearchForAnOutcomeIsBounded gives text that asks for more work than there is text.
func TestSearchForAnOutcomeIsBounded(t *testing.T) {
	t.Parallel()
	text := "x\n" + strings.Repeat("{\"a\":\n", MaxDocument/8)
	if s := parseReply([]byte(text), "t1"); s.kind != ReplyGarbage {
		t.Errorf("%+v", s.kind)
	}
	if s := parseReply(bytes.Repeat([]byte("x\n{}\n"), 1<<16), "t1"); s.kind != ReplyGarbage {
		t.Errorf("%+v", s.kind)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		good, bad, good + bad, "log\n" + good + "\nlog", "[" + good + "]", "\xef\xbb\xbf" + good, "{", "null", `{"status":{}}`, "{}\n{}\n[",
		`{"task_id":"t1","status":"succeeded","metadata":{"artifact_provenance":1,"x_status":"failed","token":"hunter2hunter2"},"outputs":{"provider_run_result":{"completed":false}}}`,
		`{"task_id":"t1","status":"provider_error","failure_category":"provider.rate_limit","metadata":[1],"artifacts":[{"id":"a","kind":"native-patch","path":"x/y.patch","role":"r"}],"diagnostics":[{"class":"c","data":{"retry_after":3}}]}`,
		`{"task_id":"hunter2hunter2","status":"succeeded","summary":"hunter2hunter2","follow_up":{"title":"hunter2hunter2"},"workflow":{"id":"w","steps":[{"id":"s","status":"failed"}]}}`,
	} {
		for i := range 3 {
			f.Add([]byte(s), uint8(i*5), i)
		}
	}
	p := provider
	p.OutcomeStatuses = []string{"succeeded", "failed", "provider_error", "no_op"}
	p.RoleAliases = &homeboy.RoleAliases{ArtifactKinds: map[string]homeboy.Texts{"patch": {"native-*"}}, ArtifactRoles: map[string]homeboy.Texts{"q": {"r"}}, Outputs: map[string]homeboy.Texts{"o": {"x"}}, Metadata: map[string]homeboy.Texts{"m": {"token"}}}
	p.RuntimeContract = homeboy.Value(`{"normalization":{"status_path":"result.status","output_artifacts":["x"]}}`)
	p.ResultContract = homeboy.Value(`{"typed_artifact_envelope":{}}`)
	q := request
	q.OutputDeclarations = []homeboy.OutputDeclaration{{Name: "x", Required: true, Schema: "s", MaxBytes: 10, StructuralSchema: map[string]homeboy.Value{"type": homeboy.Value(`"object"`)}}}
	r := redact.New(map[string]string{"PASSWORD": "hunter2hunter2"})
	f.Fuzz(func(t *testing.T, text []byte, end uint8, exit int) {
		facts := Facts{End: Ends[int(end)%len(Ends)], Code: exit, Stdout: bytes.NewReader(text), StdoutSize: int64(len(text))}
		a := Read(p, q, facts, r)
		if err := a.Outcome.Validate(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if a.Outcome.TaskID != "t1" {
			t.Fatalf("task %q", a.Outcome.TaskID)
		}
		if homeboy.IsSuccess(a.Outcome.Status) && (facts.End != Exited || exit != 0) {
			t.Fatalf("a success of %s with %d", facts.End, exit)
		}
		whole := append(value(a.Outcome), a.Said...)
		if r.Contains(whole) || bytes.Contains(whole, []byte("hunter2hunter2")) {
			t.Fatalf("a secret is left: %s", whole)
		}
		if a.Said != nil && !json.Valid(a.Said) {
			t.Fatalf("%s", a.Said)
		}
	})
}

package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt/ending"
	"github.com/deedrun/deed/internal/isolate/redact"
)

const secret = "correct-horse-battery"

func seed(t testing.TB) codebox.TaskRequest {
	t.Helper()
	text, err := os.ReadFile("testdata/seed.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ran is a run in which everything went well.
func ran(change func(*ending.Facts)) ending.Facts {
	f := ending.Facts{Started: true, Gate: ending.GateAccepted, Files: 1, PatchBytes: 10}
	if change != nil {
		change(&f)
	}
	return f
}

// full is a run that brings something for every part of the envelope.
func full(t testing.TB, e ending.Ending) Run {
	started := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	a := ending.Account{
		Ending: e, RuntimeID: "runtime-1", RuntimeStatus: evidence.RuntimeDestroyed, Isolation: "namespace",
		Started: started, Finished: started.Add(1500 * time.Millisecond), BundleDir: "/srv/artifacts/agent-task-123", BundleID: "artifact-bundle-sha256-aa",
		Executions: 1, Command: "agent --run",
		Verdict: &deed.Verdict{Checks: []deed.CheckResult{{Command: []string{"go", "test"}, Status: "passed"}}, Notes: []deed.Reason{{Code: "n", Message: "note"}}},
		Outputs: json.RawMessage(`{"n":12345678901234567890}`), Statement: json.RawMessage(`{"status":"done"}`),
		StructuredArtifacts: []evidence.StructuredArtifact{{Name: "a", Type: "t", Payload: evidence.Value(`[1.0]`)}},
		Components:          []json.RawMessage{json.RawMessage(`{"slug":"a"}`)},
	}
	r := Run{
		Account: a, Request: seed(t), RunID: "run_1", AgentSessionID: "s", Metadata: json.RawMessage(`{}`),
		Refs: []codebox.ArtifactRef{{Kind: "codebox-agent-task-result", Path: evidence.PathAgentTaskResult}},
	}
	if e.Actionable() || e.Name == "rejected" {
		r.Changes = evidence.ChangeSummary{Count: 1, Paths: []string{"/w/a"}, Statuses: map[string]int{"modified": 1}}
		r.Patch = evidence.PatchSummary{Bytes: 10, SHA256: "aa"}
	}
	if !e.Success() {
		r.Message, r.Code = "it went wrong", "some_class"
		r.Stdout, r.Stderr = ending.Tail{Text: "out", Bytes: 3}, ending.Tail{Text: "err", Bytes: 9000, Cut: true}
	}
	return r
}

// Whatever the table says, the envelope passes its own schema and rules, and an orchestrator that normalises it gets
// the decision back.
func TestEnvelopesTellTheEnding(t *testing.T) {
	t.Parallel()
	for _, row := range ending.Table {
		for _, bundle := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", row.Ending.Name, bundle), func(t *testing.T) {
				t.Parallel()
				r := full(t, row.Ending)
				if !bundle {
					r.BundleDir, r.BundleID, r.Refs = "", "", nil
				}
				env, err := Envelope(r)
				if err != nil {
					t.Fatal(err)
				}
				text := mustJSON(env)
				for id, part := range map[string]any{
					codebox.SchemaAgentTaskRun: env, codebox.SchemaSandboxSession: env.Session, codebox.SchemaTaskInput: env.TaskInput, evidence.SchemaAgentResult: env.AgentResult,
					evidence.SchemaCompletionOutcome: env.CompletionOutcome, evidence.SchemaAgentTaskResult: env.AgentTaskResult, codebox.SchemaAgentTaskRunResult: env.AgentTaskRunResult,
					evidence.SchemaTerminalResult: env.TerminalResult,
				} {
					if err := schema.Validate(id, mustJSON(part)); err != nil {
						t.Errorf("%s:\n%v", id, err)
					}
				}
				again, err := Normalise(text, row.Ending.Exit)
				if err != nil {
					t.Fatal(err)
				}
				if again.Status != row.Ending.Status || again.FailureClassification != row.Ending.Classification || again.Success != row.Ending.Success() {
					t.Errorf("normalised to %s %q", again.Status, again.FailureClassification)
				}
				if diff := cmp.Diff(string(mustJSON(env.AgentTaskRunResult)), string(mustJSON(again))); diff != "" {
					t.Errorf("normalising again changes the result:\n%s", diff)
				}
				if bundle {
					g := again.Refs
					for i, refs := range [][]codebox.ArtifactRef{g.ArtifactBundles, g.ChangedFiles, g.Patches, g.Transcripts, g.Runtimes} {
						if len(refs) != 1 {
							t.Errorf("group %d has %d references", i, len(refs))
						}
					}
					if len(g.Logs) != 2 {
						t.Errorf("%d logs", len(g.Logs))
					}
				} else if bytes.Contains(text, []byte(evidence.PathPatch)) {
					t.Error("refers to a bundle that is not there")
				}
				if f := env.FailureEvidence; f != nil {
					if err := schema.Validate(codebox.SchemaFailureEvidence, mustJSON(f)); err != nil {
						t.Error(err)
					}
					if len(env.Diagnostics) == 0 && row.Ending.Name != "refused" {
						t.Error("a failure without a diagnostic")
					}
				}
			})
		}
	}
}

// A session is completed for the successes and cancelled for the runs that were.
func TestSessionStatus(t *testing.T) {
	t.Parallel()
	for _, row := range ending.Table {
		e, got := row.Ending, sessionStatus(row.Ending)
		if (got == evidence.SessionCompleted) != e.Success() || (got == evidence.SessionCancelled) != (e.Run == evidence.RunCancelled) {
			t.Errorf("%s: %s", e.Name, got)
		}
	}
}

// The members of the seed's example come in its order.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	env, err := Envelope(full(t, ending.Decide(ran(nil))))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	dec := json.NewDecoder(bytes.NewReader(mustJSON(env)))
	_, _ = dec.Token()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, key.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"success", "schema", "status", "session", "task_input", "agent_result", "completion_outcome", "agent_task_result", "run_metadata", "evidence_refs", "diagnostics", "run"}
	got = slices.DeleteFunc(got, func(k string) bool { return !slices.Contains(want, k) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if env.Status != "completed" || env.Session.Persistence != "external-orchestrator" || env.Session.ID != "agent-task-123" || env.RunMetadata.RuntimeStatus != "destroyed" || env.RunMetadata.RunStatus != "succeeded" {
		t.Errorf("%s", mustJSON(env))
	}
}

// A secret in any text that comes from outside must not get through, plain, in base64, at the edge of a snippet or in a
// member's name; nor may a token of a known form or a hidden place in what an agent or a tool printed.
func TestEnvelopeHoldsNoSecret(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdefABCDEF"
	r := full(t, ending.Decide(ran(func(f *ending.Facts) { f.ExitCode = 1 })))
	leak := secret + " " + "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5" + " /root/.deed/attempts/1/x.go " + token
	r.Redactor = redact.New(map[string]string{"KEY": secret})
	r.Hide = []Place{{"/root/.deed", "<home>"}, {"/root/.deed/attempts/1", "<attempt>"}}
	r.Message, r.Command = leak, leak
	r.Stdout, r.Stderr = ending.Tail{Text: leak}, ending.Tail{Text: secret + strings.Repeat("é", codebox.MaxSnippet-5), Bytes: 99999, Cut: true}
	r.Verdict = &deed.Verdict{Reasons: []deed.Reason{{Code: "x", Message: leak}}}
	r.Diagnostics = []evidence.Diagnostic{{Class: "c", Message: leak, Data: mustJSON(map[string]string{secret: secret})}}
	r.Outputs = mustJSON(map[string]string{"o": secret})
	r.Statement = json.RawMessage(`{"said":"correct\u002dhorse-battery"}`)
	r.StructuredArtifacts = []evidence.StructuredArtifact{{Name: "a", Type: "t", Payload: evidence.Value(`"` + secret + `"`)}}
	env, err := Envelope(r)
	if err != nil {
		t.Fatal(err)
	}
	text := string(mustJSON(env))
	for _, bad := range []string{secret, "horse", "Y29ycmVjdC", "/root/", token} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%q at …%s…", bad, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	if !strings.Contains(text, "\\u003cattempt\\u003e/x.go") || !strings.Contains(text, "[REDACTED:KEY]") {
		t.Errorf("nothing is said about what was hidden: %s", text)
	}
	s := env.FailureEvidence.Stderr
	if n := len([]rune(s.Value)); n > codebox.MaxSnippet || !s.Truncated || s.Bytes != 99999 {
		t.Errorf("snippet of %d characters: truncated %v, %d bytes", n, s.Truncated, s.Bytes)
	}
	if err := schema.Validate(codebox.SchemaAgentTaskRun, []byte(text)); err != nil {
		t.Error(err)
	}
}

// A weak secret must not take the envelope away: its own words stay, and the secret goes from every other text.
func TestSecretThatIsAWord(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"failed", "timeout", "completed", "succeeded", "codebox", "wp-codebox/agent-task-run/v1", "canonical", "output", "sandbox", "runtime_local"} {
		for _, facts := range []ending.Facts{ran(nil), ran(func(f *ending.Facts) { f.Deadline = true }), {Refused: true}} {
			r := full(t, ending.Decide(facts))
			r.Redactor, r.Message = redact.New(map[string]string{"KEY": word}), "it is "+word
			r.Request.SandboxToolPolicy = &codebox.SandboxToolPolicy{
				Schema: codebox.SchemaSandboxToolPolicy, Version: 1, Metadata: mustJSON(map[string]string{"m": "SEEN " + word}),
				Tools: []codebox.ToolRule{{
					ID: "t", RuntimeToolID: "t", ExecutionLocation: "sandbox", TransportVisibility: "both", Metadata: mustJSON(map[string]string{"m": "SEEN " + word}),
					Runtime: codebox.ToolRuntime{Environment: "runtime_local", CapabilityScope: "runtime_local"},
				}},
			}
			env, err := Envelope(r)
			if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			if err := schema.Validate(codebox.SchemaAgentTaskRun, mustJSON(env)); err != nil {
				t.Errorf("%s: %v", word, err)
			}
			if strings.Contains(env.CompletionOutcome.Summary, word) || bytes.Contains(mustJSON(env), []byte("SEEN "+word)) {
				t.Errorf("%s is in %s", word, mustJSON(env))
			}
		}
		if env := Refusal(json.RawMessage(`{}`), errors.New("x"), redact.New(map[string]string{"KEY": word})); env.Schema != codebox.SchemaAgentTaskRun || env.FailureEvidence == nil {
			t.Errorf("%s: no refusal", word)
		}
	}
}

// Evidence of a failure names what failed: the agent with its own code, or the check that refused the work of an agent that did well.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	said := ending.Tail{Text: "done\n", Bytes: 5}
	for _, c := range []struct {
		name             string
		facts            ending.Facts
		run              ending.Account
		command, stdout  string
		code, agentsCode int
	}{
		{"the agent", ran(func(f *ending.Facts) { f.ExitCode = 7 }), ending.Account{ExitCode: 7, Stdout: said}, "fixer", "done\n", 7, 7},
		{"the agent, by its word", ran(func(f *ending.Facts) { f.Declared = ending.DeclaredUnable }), ending.Account{Stdout: said}, "fixer", "done\n", 1, 0},
		{"a check", ran(func(f *ending.Facts) { f.Gate, f.Done = ending.GateRejected, true }), ending.Account{Stdout: said, Judging: &ending.Step{Command: "make test", ExitCode: 9, Stdout: ending.Tail{Text: "1 failed", Bytes: 900, Cut: true}}}, "make test", "1 failed", 9, -1},
		{"the gate", ran(func(f *ending.Facts) { f.Gate, f.Done = ending.GateRejected, true }), ending.Account{Stdout: said, Judging: &ending.Step{Command: "deed gate"}}, "deed gate", "", 1, -1},
	} {
		r := full(t, ending.Decide(c.facts))
		r.Command, r.ExitCode, r.Stdout, r.Stderr, r.Judging = "fixer", c.run.ExitCode, c.run.Stdout, ending.Tail{}, c.run.Judging
		env, err := Envelope(r)
		if err != nil {
			t.Fatal(err)
		}
		f := env.FailureEvidence
		if f.Command != c.command || f.ExitCode != c.code || (f.Stdout == nil) != (c.stdout == "") || f.Stdout != nil && (f.Stdout.Value != c.stdout || f.Stdout.Truncated != (f.Stdout.Bytes == 900)) {
			t.Errorf("%s: %s", c.name, mustJSON(f))
		}
		if fails := env.AgentResult.Failures; (len(fails) == 0) != (c.agentsCode < 0) || len(fails) > 0 && fails[0].ExitCode != c.agentsCode {
			t.Errorf("%s: %s", c.name, mustJSON(env.AgentResult))
		}
		if data := string(env.Diagnostics[0].Data); !strings.Contains(data, `"command":"`+c.command+`"`) || !strings.Contains(data, fmt.Sprintf(`"exit_code":%d`, c.code)) {
			t.Errorf("%s: %s", c.name, data)
		}
	}
	// Bytes are those that were printed, however they are shown.
	if s := (Run{}).snippet(ending.Tail{Text: "\xff\xfe\xfd", Bytes: 3}); s.Bytes != 3 || s.Truncated {
		t.Errorf("%+v", s)
	}
}

// A fault in deed itself brings its stack along; the reader of an envelope gets the sentence.
func TestNoStack(t *testing.T) {
	t.Parallel()
	r := full(t, ending.Decide(ending.Facts{Infra: true}))
	r.Message = "run attempt: panic: boom\ngoroutine 1 [running]:\nmain.main()\n\t/opt/src/main.go:1 +0x1d"
	env, err := Envelope(r)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(mustJSON(env)); strings.Contains(text, "/opt/src") || env.FailureEvidence.Message != "run attempt: panic: boom" {
		t.Errorf("%s", text)
	}
}

func TestFailureNeverSaysZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agent, want int }{{0, 1}, {7, 7}} {
		r := full(t, ending.Decide(ran(func(f *ending.Facts) { f.MaxTurns = true })))
		r.ExitCode = c.agent
		r.MaxTurns = &evidence.TurnLimit{Reached: true, Current: 8, Max: 8}
		env, err := Envelope(r)
		if err != nil {
			t.Fatal(err)
		}
		if env.FailureEvidence.ExitCode != c.want || env.TerminalResult.Status != "max_turns" || env.Status != "timeout" || env.RunMetadata.RunStatus != "timed_out" {
			t.Errorf("%s", mustJSON(env))
		}
	}
}

// What cannot be written is an error, not half an envelope.
func TestEnvelopeRefusesBrokenParts(t *testing.T) {
	t.Parallel()
	r := full(t, ending.Decide(ran(nil)))
	r.Components = []json.RawMessage{json.RawMessage(`{`)}
	if _, err := Envelope(r); err == nil {
		t.Error("a broken record is written")
	}
	r = full(t, ending.Decide(ran(nil)))
	r.Changes, r.Patch = evidence.ChangeSummary{}, evidence.PatchSummary{} // it claims a success, and nothing changed
	if _, err := Envelope(r); err == nil {
		t.Error("a success without a change is written")
	}
	r = full(t, ending.Decide(ran(nil)))
	r.Outputs, r.Statement = json.RawMessage(`[1]`), json.RawMessage(`nonsense`)
	if env, err := Envelope(r); err != nil || env.Outputs != nil || string(env.AgentTaskResult.Raw) != "{}" {
		t.Errorf("%v", err)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	const token = "sk-0123456789abcdefghij"
	for _, c := range []struct {
		name, request, id string
		goal              bool
		classes           string
	}{
		{"near miss", `{"schema":"wp-codebox/task-input/v1","goal":"do ` + token + `","sandbox_session_id":"s-1","goals":1,"secret_env":["` + token + `"],"orchestrator":{"k":"` + token + `"}}`, "s-1", true, "unknown_field bad_format"},
		{"wrapped", `{"schema":"wp-codebox/agent-task-run-request/v1","task_id":"t-1","task_input":{"schema":"wp-codebox/task-input/v1","goal":"g","x":1}}`, "t-1", true, "unknown_field"},
		{"headless", `{"schema":"wp-codebox/headless-agent-task-request/v1","task_input":{}}`, "", false, "wrong_schema"},
		{"not JSON", `{"goal":`, "", false, "invalid_json"},
		{"array", `[]`, "", false, "wrong_type"},
		{"blank", ``, "", false, "invalid_json"},
		{"two documents", `{"schema":"wp-codebox/task-input/v1","goal":"g"}{}`, "", false, "trailing_data"},
		{"twice", `{"schema":"wp-codebox/task-input/v1","goal":"g","goal":"h"}`, "", true, "duplicate_key"},
		{"wrong types", `{"schema":1,"goal":{},"sandbox_session_id":[],"orchestrator":"x"}`, "", false, "wrong_type wrong_schema wrong_type wrong_type wrong_type"},
	} {
		_, err := Read([]byte(c.request))
		env := Refusal(json.RawMessage(c.request), err, redact.New(map[string]string{"S": secret}))
		text := mustJSON(env)
		if err := schema.Validate(codebox.SchemaAgentTaskRun, text); err != nil {
			t.Errorf("%s:\n%v", c.name, err)
		}
		var classes []string
		for _, d := range env.Diagnostics {
			classes = append(classes, strings.TrimPrefix(d.Class, evidence.ClassInvalidRequest+"."))
		}
		if got := strings.Join(classes, " "); got != c.classes {
			t.Errorf("%s: %s", c.name, got)
		}
		if env.Success || env.Status != "failed" || env.Session.ID != c.id || (env.TaskInput != nil) != c.goal || env.FailureEvidence.Phase != "agent-task-run" ||
			env.AgentTaskRunResult.FailureClassification != ending.ClassInvalidRequest || env.AgentResult.Status != evidence.AgentUnknown {
			t.Errorf("%s: %s", c.name, text)
		}
		if bytes.Contains(text, []byte(token)) {
			t.Errorf("%s repeats a credential: %s", c.name, text)
		}
	}
	env := Refusal(nil, errors.New("read input: no such file "+secret), redact.New(map[string]string{"S": secret}))
	if len(env.Diagnostics) != 1 || strings.Contains(string(mustJSON(env)), secret) {
		t.Errorf("%s", mustJSON(env))
	}
	if env := Refusal(nil, fault.Faults{}.Err(), nil); env.Success {
		t.Error("a refusal without a reason succeeds")
	}
}

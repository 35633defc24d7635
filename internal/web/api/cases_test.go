package api

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// An asked is one request of an operation, and what has to come of it.
type asked struct {
	path    string
	body    string
	headers []string
	want    string // in the answer; of a refusal: its code
}

// A world makes what the requests of the cases are about, each its own, so that no case depends on another.
type world struct {
	*walker
	task, attempt string // that ended, with a bundle
	artifact      string
}

// claimed is a task whose attempt has begun.
func (w *world) claimed() store.Ref {
	w.Helper()
	c, err := w.st.Claim(w.Context(), store.ClaimOptions{RunnerID: "r", Lease: time.Hour, TaskID: w.add(1)[0]})
	w.ok(err)
	w.ok(w.st.Begin(w.Context(), c.Ref, store.Begin{AdapterID: "true", AdapterKind: "script"}))
	return c.Ref
}

// waiting is an action that asks for an answer of a kind.
func (w *world) waiting(kind string) string {
	w.Helper()
	ref := w.claimed()
	subject, err := json.Marshal(action.Subject{Tool: "shell.run", Subject: "git push"})
	w.ok(err)
	w.ok(w.st.Settle(w.Context(), ref, store.Settlement{
		State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked, Action: &store.NewAction{Kind: kind, Prompt: "may I?", Rule: "r", ContextDigest: "d", Subject: subject},
	}))
	acts, err := w.st.Actions(w.Context(), store.ActionFilter{TaskID: ref.TaskID})
	w.ok(err)
	return acts[0].ID
}

// letter is a message in the outbox that a person has to agree to.
func (w *world) letter() string {
	w.Helper()
	ref := w.claimed()
	w.ok(w.st.Settle(w.Context(), ref, store.Settlement{
		State: "completed", Class: "none", Status: agentruntime.TaskCompleted, Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
		Outbox: []store.OutboxItem{{Kind: store.OutboxExternalMessage, Body: json.RawMessage(`{"target":"mail","text":"hello"}`), State: store.OutboxHeld}},
	}))
	list, err := w.st.Outbox(w.Context(), store.OutboxFilter{TaskID: ref.TaskID})
	w.ok(err)
	return list[0].ID
}

// flow is a workflow that waits for a person's answer.
func (w *world) flow() string {
	w.Helper()
	d, err := w.api.Workflows.Catalog().Get("goal-loop")
	w.ok(err)
	out, err := w.st.StartWorkflow(w.Context(), store.NewWorkflow{
		Type: d.WorkflowType, InstanceKey: store.NewID(), Definition: d.Body, Hash: d.Hash, State: d.InitialState, Context: json.RawMessage(`{"objective":"x"}`), Cause: store.CauseStart, By: "me",
		Action: &store.NewAction{Kind: workflow.ActionKind, Prompt: "How does it go on?", Subject: json.RawMessage(`{}`)},
	})
	w.ok(err)
	return out.WorkflowID
}

func (w *world) run() string {
	w.Helper()
	r, err := w.st.InsertRun(w.Context(), store.NewRun{Status: "booting", RunnerID: "r"})
	w.ok(err)
	return r.ID()
}

// signed are the headers by which a sender without a token proves who it is.
func (w *world) signed(body, key string) []string {
	at := strconv.FormatInt(w.api.Clock().Unix(), 10)
	return []string{"Webhook-Id", "m", "Webhook-Timestamp", at, "Webhook-Signature", outbox.Signature(key, "m", at, []byte(body))}
}

func newWorld(p *place) *world {
	p.Helper()
	w := &world{walker: newWalker(p, 1)}
	w.fill()
	w.task, w.attempt = p.settled(map[string]string{
		"files/artifacts/out.html": "<p>", attempt.PathBrief: `{"agent":"deed"}`, bundle.PathPrompt: "do it", bundle.PathStdout: "hello\n",
	})
	list, err := p.st.Artifacts(p.Context(), w.task)
	p.ok(err)
	w.artifact = list[0].ArtifactID
	return w
}

const nobody = "/019aaaaa-0000-7000-8000-000000000000"

// cases gives each operation a request that succeeds and one that is refused.
func (w *world) cases() map[string][2]asked {
	act, at, name := "/actions/", "/attempts/"+w.attempt, "/schedules/nightly"
	// missing is a read of something, and of something that is not there.
	missing := func(path, id, rest, want string) [2]asked {
		return [2]asked{{path: path + "/" + id + rest, want: want}, {path: path + nobody + rest, want: "not_found"}}
	}
	// reading is a read that nothing is wrong with but a parameter that it does not have.
	reading := func(path, want string) [2]asked {
		return [2]asked{{path: path, want: want}, {path: path + "?nonsense=1", want: "invalid_parameter"}}
	}
	ofAttempt := func(rest, want string) [2]asked { return missing("/attempts", w.attempt, rest, want) }
	running := w.claimed().TaskID
	cancelled := w.add(1)[0]
	_, err := w.st.Cancel(w.Context(), cancelled, "no", "me")
	w.ok(err)
	dropped := w.letter()
	w.ok(w.st.OutboxDrop(w.Context(), dropped, "no", "me"))
	closed := w.flow()
	_, err = w.st.CancelWorkflow(w.Context(), closed, "no", "me")
	w.ok(err)
	const start = `{"workflow_type":"goal-loop","instance_key":"new","context":{"objective":"x"}}`
	for _, name := range []string{"gone", "old"} {
		_, _, err := w.api.keeper().IssueToken(w.Context(), name, access.Read, 0, "me")
		w.ok(err)
	}
	_, err = w.api.keeper().Revoke(w.Context(), "gone", "me")
	w.ok(err)
	all := map[string][2]asked{
		"getOpenAPI": reading("/openapi.json", `"openapi"`), "getHealth": reading("/health", `"status":"ok"`), "listSchemas": reading("/schemas", "agent-runtime/"),
		"getSchema": {{path: "/schemas/agent-runtime/task.record/v1", want: "$schema"}, {path: "/schemas/none", want: "not_found"}},
		"getCounts": reading("/counts", `"pending"`), "getHome": reading("/home", `"running"`), "getSnapshot": reading("/snapshot", `"schema"`),
		"getReport": {{path: "/report", want: `"schema"`}, {path: "/report?from=2026-01-31T08:00:00Z&to=2026-01-31T08:00:00Z", want: "invalid_parameter"}},
		"listTasks": {{path: "/tasks?limit=1", want: "next_cursor"}, {path: "/tasks?cursor=x", want: "stale_cursor"}},
		"addTasks":  {{path: "/tasks", body: oneScript, want: "task_id"}, {path: "/tasks", body: `{"tasks":[]}`, want: "invalid"}},
		"getTask":   missing("/tasks", w.task, "", w.attempt), "getTaskRecord": missing("/tasks", w.task, "/record", `"status":"completed"`),
		"cancelTask":    {{path: "/tasks/" + w.add(1)[0] + "/cancel", want: "operator_canceled"}, {path: "/tasks/" + w.task + "/cancel", want: "ended"}},
		"retryTask":     {{path: "/tasks/" + cancelled + "/retry", want: "pending"}, {path: "/tasks/" + running + "/retry", want: "running"}},
		"resumeTask":    {{path: "/tasks/" + w.add(1)[0] + "/resume", want: "pending"}, {path: "/tasks/" + w.task + "/resume", want: "not_resumable"}},
		"setTaskBudget": {{path: "/tasks/" + w.add(1)[0] + "/budget", body: `{"turns":5}`, want: `"turns":5`}, {path: "/tasks/" + w.task + "/budget", body: "{}", want: "invalid"}},
		"getTaskUsage":  missing("/tasks", w.task, "/usage", `"rows"`), "listArtifacts": missing("/tasks", w.task, "/artifacts", w.artifact),
		"getArtifact": {{path: "/tasks/" + w.task + "/artifacts/" + w.artifact, want: "<p>"}, {path: "/tasks/" + w.task + "/artifacts" + nobody, want: "not_found"}},
		"getAttempt":  ofAttempt("", w.task), "getJournal": ofAttempt("/journal", `"items"`), "getVerdict": ofAttempt("/verdict", `"verdict"`), "getChecks": ofAttempt("/checks", `"checks"`),
		"getLog":   {{path: at + "/log?offset=1", want: "ello"}, {path: at + "/log?stream=both", want: "invalid_parameter"}},
		"getClaim": ofAttempt("/claim", `"claim"`), "getBrief": ofAttempt("/brief", `{"agent":"deed"}`), "getPrompt": ofAttempt("/prompt", "do it"),
		"getBundle": ofAttempt("/bundle", bundle.PathPrompt), "verifyBundle": ofAttempt("/verification", `"valid":false`), "getBundleTar": ofAttempt("/bundle.tar", "do it"),
		"getBundleFile": {{path: at + "/bundle/files/" + bundle.PathPrompt, want: "do it"}, {path: at + "/bundle/files/none", want: "not_found"}},
		"listActions":   {{path: "/actions", want: "may I?"}, {path: "/actions?state=lost", want: "invalid_parameter"}},
		"getAction":     missing("/actions", w.waiting(action.KindPermission), "", "may I?"),
		"approveAction": {{path: act + w.waiting(action.KindPermission) + "/approve", body: `{"note":"go on"}`, want: "allow"}, {path: act + w.waiting("question") + "/approve", want: "not_an_answer"}},
		"denyAction":    {{path: act + w.waiting(action.KindPermission) + "/deny", body: `{"reason":"not today"}`, want: "not today"}, {path: act + nobody[1:] + "/deny", want: "not_found"}},
		"answerAction":  {{path: act + w.waiting("question") + "/answer", body: `{"answer":"this"}`, want: "this"}, {path: act + w.waiting(action.KindPermission) + "/answer", body: `{"answer":"this"}`, want: "not_an_answer"}},
		"listSchedules": {{path: "/schedules", want: "nightly"}, {path: "/schedules?limit=501", want: "invalid_parameter"}}, "getSchedule": missing("/schedules", "nightly", "", "nightly"),
		"previewSchedule": {{path: name + "/preview?count=2", want: `"runs":["`}, {path: name + "/preview?count=0", want: "invalid_parameter"}},
		"enableSchedule":  {{path: name + "/enable", body: `{"after_seconds":60}`, want: `"enabled":true`}, {path: name + "/enable", body: `{"after_seconds":-1}`, want: "invalid"}},
		"disableSchedule": {{path: name + "/disable", want: `"enabled":false`}, {path: "/schedules/none/disable", want: "not_found"}},
		"runSchedule":     {{path: name + "/run", want: "task_id"}, {path: "/schedules/none/run", want: "not_found"}},
		"listSensors":     reading("/sensors", "hook"), "getSensor": missing("/sensors", "open", "", "open"), "listSensorEvents": missing("/sensors", "open", "/events", `"items"`),
		"enableSensor":  {{path: "/sensors/open/enable", want: `"enabled":true`}, {path: "/sensors/none/enable", want: "not_found"}},
		"disableSensor": {{path: "/sensors/idle/disable", want: `"enabled":false`}, {path: "/sensors/none/disable", want: "not_found"}},
		"emitEvents":    {{path: "/sensors/open/events", body: event, want: "accepted"}, {path: "/sensors/open/events", want: "invalid"}},
		"hookEvents": {
			{path: "/hooks/hook", body: event, headers: w.signed(event, "hook-secret-0123456789"), want: "accepted"}, {path: "/hooks/hook", body: event, headers: w.signed(event, "guess"), want: "bad_signature"},
		},
		"listWorkflows": reading("/workflows", "goal-loop"), "listWorkflowTypes": reading("/workflow-types", "goal-loop"), "getWorkflow": missing("/workflows", w.flow(), "", "plan_ready"),
		"getWorkflowGraph": {{path: "/workflows/" + closed + "/graph?format=svg", want: `\u003csvg`}, {path: "/workflows/" + closed + "/graph?format=png", want: "invalid_parameter"}},
		"startWorkflow":    {{path: "/workflows", body: start, want: `"deduped":false`}, {path: "/workflows", body: `{"workflow_type":"none","instance_key":"x"}`, want: "invalid"}},
		"signalWorkflow":   {{path: "/workflows/" + w.flow() + "/signal", body: `{"signal":"plan_ready"}`, want: `"current_state":"execute"`}, {path: "/workflows/" + w.flow() + "/signal", body: `{"signal":"none"}`, want: "unknown_signal"}},
		"cancelWorkflow":   {{path: "/workflows/" + w.flow() + "/cancel", body: `{"reason":"no"}`, want: `"reason":"no"`}, {path: "/workflows/" + closed + "/cancel", want: "closed"}},
		"listOutbox":       {{path: "/outbox?state=dropped", want: dropped}, {path: "/outbox?state=lost", want: "invalid_parameter"}}, "getOutboxItem": missing("/outbox", dropped, "", "hello"),
		"retryOutboxItem": {{path: "/outbox/" + w.letter() + "/retry", want: `"state":"pending"`}, {path: "/outbox/" + dropped + "/retry", want: "closed"}},
		"dropOutboxItem":  {{path: "/outbox/" + w.letter() + "/drop", body: `{"reason":"old"}`, want: `"state":"dropped"`}, {path: "/outbox/" + dropped + "/drop", want: "closed"}},
		"getUsage":        {{path: "/usage?by=agent", want: `"total"`}, {path: "/usage?to=monday", want: "invalid_parameter"}},
		"listRuns":        {{path: "/runs", want: "booting"}, {path: "/runs?status=lost", want: "invalid_parameter"}}, "getRun": missing("/runs", w.run(), "", "booting"),
		"cancelRun":   {{path: "/runs/" + w.run() + "/cancel", body: `{"reason":"late"}`, want: `"reason":"late"`}, {path: "/runs" + nobody + "/cancel", want: "not_found"}},
		"listRunners": reading("/runners", `"items"`), "listPackages": reading("/packages", `"items"`), "getDispatch": reading("/dispatch", `"paused"`),
		"pauseDispatch":  {{path: "/dispatch/pause", body: `{"reason":"lunch"}`, want: "lunch"}, {path: "/dispatch/pause", body: `{"why":"lunch"}`, want: "invalid"}},
		"resumeDispatch": {{path: "/dispatch/resume", want: `"paused":false`}, {path: "/dispatch/resume", headers: []string{"If-Match", `"old"`}, want: "changed_meanwhile"}},
		"listTokens":     {{path: "/tokens?all=true", want: "revoked"}, {path: "/tokens?kind=key", want: "invalid_parameter"}},
		"createToken":    {{path: "/tokens", body: `{"name":"ci","role":"read","expires_in_seconds":60}`, want: `"token":"deed_`}, {path: "/tokens", body: `{"name":"old","role":"read"}`, want: "exists"}},
		"revokeToken":    {{path: "/tokens/old/revoke", want: `"state":"revoked"`}, {path: "/tokens/none/revoke", want: "not_found"}},
		"listEvents":     {{path: "/events/log?limit=5", want: "task_enqueued"}, {path: "/events/log?after=x", want: "unknown_event_id"}},
	}
	return all
}

// TestEveryOperation walks the registry: each operation has a request that succeeds, with an answer as the document says, and one that
// is refused with a code. An operation without them fails the test. What streams is followed in a test of its own.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w := newWorld(p)
	cases := w.cases()
	for _, op := range p.api.operations {
		c, ok := cases[op.id]
		delete(cases, op.id)
		if op.stream {
			continue
		}
		if !ok {
			t.Errorf("%s has no case here: add a request that succeeds and one that is refused", op.id)
			continue
		}
		for i, a := range c {
			rec := w.ask(op, a)
			switch good := i == 0; {
			case good && (rec.Code != op.success() || !strings.Contains(rec.Body.String(), a.want)):
				t.Errorf("%s %s: %d %.600s\nwant %d with %s", op.id, a.path, rec.Code, rec.Body, op.success(), a.want)
			case !good && (rec.Code < 400 || rec.Code >= 500 || !strings.Contains(rec.Body.String(), `"code":"`+a.want+`"`)):
				t.Errorf("%s %s: %d %.600s\nwant the refusal %s", op.id, a.path, rec.Code, rec.Body, a.want)
			}
		}
	}
	for id := range maps.Keys(cases) {
		t.Errorf("there is a case for %s, and no such operation", id)
	}
}

// ask sends a request, makes sure that it reaches its operation, and holds the answer against the document.
func (w *world) ask(op *operation, a asked) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), op.method, Prefix+a.path, strings.NewReader(a.body))
	for i := 0; i < len(a.headers); i += 2 {
		r.Header.Set(a.headers[i], a.headers[i+1])
	}
	if _, pattern := w.mux.Handler(r); pattern != op.method+" "+Prefix+op.path {
		w.Errorf("%s: %s leads to %s", op.id, a.path, pattern)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	w.check(op, r, []byte(a.body), rec)
	return rec
}

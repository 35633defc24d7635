package api

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/engine/outbox"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// settled is an attempt that ended with a bundle of these files, whose manifest lists more. A file that begins with -> is a link.
func (p *place) settled(files map[string]string, more ...string) (taskID, attemptID string) {
	p.Helper()
	p.add(1)
	c, err := p.st.Claim(p.Context(), store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	p.ok(err)
	p.ok(p.st.Begin(p.Context(), c.Ref, store.Begin{AdapterID: "true", AdapterKind: "script"}))
	rel := filepath.Join("bundles", c.Ref.AttemptID)
	dir := filepath.Join(p.api.Home.Root(), rel)
	m := evidence.Manifest{Files: []evidence.ManifestFile{}}
	for name, text := range files {
		p.ok(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		media := "text/plain"
		if strings.HasSuffix(name, ".html") {
			media = "text/html"
		}
		m.Files = append(m.Files, evidence.ManifestFile{Path: name, Kind: "artifact", ContentType: media})
		if target, ok := strings.CutPrefix(text, "->"); ok {
			p.ok(os.Symlink(target, filepath.Join(dir, name)))
			continue
		}
		p.ok(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range more {
		m.Files = append(m.Files, evidence.ManifestFile{Path: name, Kind: "artifact", ContentType: "text/plain"})
	}
	text, err := json.Marshal(m)
	p.ok(err)
	p.ok(os.WriteFile(filepath.Join(dir, evidence.PathManifest), text, 0o600))
	p.ok(p.st.Settle(p.Context(), c.Ref, store.Settlement{
		State: "completed", Class: "none", Status: agentruntime.TaskCompleted, BundleDir: rel, BundleID: "b", Attempt: agentruntime.TaskAttempt{StdoutPath: bundle.PathStdout},
		Outcome:   &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK, OperatorSummary: "done"},
		Artifacts: []agentruntime.ArtifactRecord{{Role: agentruntime.RoleOutput, RelativePath: "out.html"}, {Role: agentruntime.RoleOutput, RelativePath: "../../../../deed.yaml"}},
	}))
	return c.Ref.TaskID, c.Ref.AttemptID
}

func TestFilesOfAnAgentAreOnlyFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const page = "<script>alert(1)</script>"
	taskID, id := p.settled(map[string]string{"files/artifacts/out.html": page, "logs/a.log": "line\n", "files/link": "->" + p.api.Home.Config(), "files/attempt/prompt.txt": "do it"}, "../../deed.yaml")
	base := "/attempts/" + id + "/bundle"
	for _, c := range []struct{ path, media, disposition string }{
		{base + "/files/files/artifacts/out.html", "application/octet-stream", "attachment"},
		{base + "/files/logs/a.log", "text/plain; charset=utf-8", "inline"},
		{base + "/files/manifest.json", "application/json", "attachment"},
		{"/attempts/" + id + "/prompt", "text/plain; charset=utf-8", "inline"},
	} {
		w := p.send("GET", c.path, "")
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != c.media || !strings.HasPrefix(h.Get("Content-Disposition"), c.disposition) ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %d %v", c.path, w.Code, h)
		}
	}
	if w := p.send("GET", base+"/files/logs/a.log", "", "Range", "bytes=1-2"); w.Code != http.StatusPartialContent || w.Body.String() != "in" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	p.refused(http.StatusRequestedRangeNotSatisfiable, "range", "GET", base+"/files/logs/a.log", "", "Range", "bytes=99-")
	p.refused(http.StatusPreconditionFailed, "changed_meanwhile", "GET", base+"/files/logs/a.log", "", "If-Match", `"old"`)
	for _, path := range []string{"files/link", "../../deed.yaml", "..%2f..%2fdeed.yaml", "%2e%2e/%2e%2e/deed.yaml", "/etc/passwd", "files", "gone", "", "logs/../logs/a.log", "a%00b"} {
		w := p.send("GET", base+"/files/"+path, "")
		if w.Code < 300 || strings.Contains(w.Body.String(), "adapters") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	list := must[Bundle](p, http.StatusOK, "GET", base, "")
	if len(list.Files) != 5 {
		t.Errorf("%+v", list.Files)
	}
	for _, f := range list.Files {
		if bad := strings.HasPrefix(f.Path, "..") || f.Path == "files/link"; bad != (f.Size < 0) {
			t.Errorf("%+v", f)
		}
	}
	arts := must[Artifacts](p, http.StatusOK, "GET", "/tasks/"+taskID+"/artifacts", "")
	if w := p.send("GET", "/tasks/"+taskID+"/artifacts/"+arts.Items[0].ArtifactID, ""); w.Code != http.StatusOK || w.Body.String() != page || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p.refused(http.StatusNotFound, "not_found", "GET", "/tasks/"+taskID+"/artifacts/"+arts.Items[1].ArtifactID, "")
	p.refused(http.StatusNotFound, "not_found", "GET", "/tasks/"+taskID+"/artifacts/"+store.NewID(), "")
	if v := must[map[string]any](p, http.StatusOK, "GET", "/attempts/"+id+"/verification", ""); v["valid"] != false {
		t.Errorf("a bundle that is made up: %v", v)
	}
}

func TestWholeBundleAsTar(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, id := p.settled(map[string]string{"a.txt": "a"}, "../../deed.yaml")
	// A file that the bundle lists and that cannot be read cuts the answer short.
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("a bundle with a bad path was served: %v", err)
			}
		}()
		p.send("GET", "/attempts/"+id+"/bundle.tar", "")
	}()
	at, err := p.st.Attempt(t.Context(), id)
	p.ok(err)
	file := filepath.Join(p.api.Home.Root(), at.BundleDir, evidence.PathManifest)
	p.ok(os.WriteFile(file, []byte(`{"files":[{"path":"a.txt","kind":"x","contentType":"text/plain"},{"path":"manifest.json"}]}`), 0o600))
	w := p.send("GET", "/attempts/"+id+"/bundle.tar", "")
	tr := tar.NewReader(w.Body)
	var names []string
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		p.ok(err)
		names = append(names, strings.TrimPrefix(h.Name, "bundle-"+id+"/"))
	}
	if strings.Join(names, " ") != "manifest.json a.txt" || w.Header().Get("Content-Type") != "application/x-tar" {
		t.Fatal(names, w.Header())
	}
}

func TestActionsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(1)
	c, err := p.st.Claim(t.Context(), store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	p.ok(err)
	p.ok(p.st.Begin(t.Context(), c.Ref, store.Begin{AdapterID: "true", AdapterKind: "script"}))
	p.ok(p.st.Settle(t.Context(), c.Ref, store.Settlement{State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked, Action: &store.NewAction{Kind: "question", Prompt: "which?", MayAnswer: []string{"op"}}}))
	list := must[Page[view.Action]](p, http.StatusOK, "GET", "/actions", "")
	if len(list.Items) != 1 {
		t.Fatalf("%+v", list)
	}
	path := "/actions/" + list.Items[0].ActionID
	p.refused(http.StatusUnprocessableEntity, "not_an_answer", "POST", path+"/approve", "")
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", path+"/answer", "{}")
	p.refused(http.StatusConflict, "not_resumable", "POST", "/tasks/"+c.Ref.TaskID+"/resume", "")
	p.as.Name = "stranger"
	p.refused(http.StatusForbidden, "may_not_answer", "POST", path+"/answer", `{"answer":"this"}`)
	p.as.Name = "op"
	got := must[Answered](p, http.StatusOK, "POST", path+"/answer", `{"answer":"this"}`, "Idempotency-Key", "a")
	if got.Action.State != store.ActionAnswered || got.Action.By != "op" {
		t.Fatalf("%+v", got.Action)
	}
	if again := must[Answered](p, http.StatusOK, "POST", path+"/answer", `{"answer":"this"}`, "Idempotency-Key", "a"); again.Action.ClosedAt != got.Action.ClosedAt {
		t.Fatalf("%+v", again.Action)
	}
	p.refused(http.StatusConflict, "closed", "POST", path+"/answer", `{"answer":"that"}`)
	if page := must[Page[view.Action]](p, http.StatusOK, "GET", "/actions?state=answered", ""); len(page.Items) != 1 {
		t.Fatalf("%+v", page)
	}
}

func TestWorkflowsAreStartedAndSteered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const start = `{"workflow_type":"goal-loop","instance_key":"k","context":{"objective":"x"}}`
	got := must[WorkflowStarted](p, http.StatusCreated, "POST", "/workflows", start)
	if again := must[WorkflowStarted](p, http.StatusCreated, "POST", "/workflows", start); !again.Deduped || again.Workflow.Workflow.WorkflowID != got.Workflow.Workflow.WorkflowID {
		t.Fatalf("%+v", again)
	}
	id := got.Workflow.Workflow.WorkflowID
	if d := must[WorkflowDetail](p, http.StatusOK, "GET", "/workflows/"+id, ""); len(d.Steps) != 1 || len(d.Signals) == 0 {
		t.Fatalf("%+v", d)
	}
	p.refused(http.StatusConflict, "running", "POST", "/workflows/"+id+"/signal", `{"signal":"done"}`)
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/workflows", `{"workflow_type":"nowhere","instance_key":"k"}`)
	p.as = access.Principal{Name: "op", Role: access.Operate, How: access.ByToken}
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/workflows", strings.Replace(start, `"k"`, `"k2","spec":{}`, 1))
	must[Workflow](p, http.StatusOK, "POST", "/workflows/"+id+"/cancel", "")
	p.refused(http.StatusConflict, "closed", "POST", "/workflows/"+id+"/cancel", "")
	if page := must[Page[Workflow]](p, http.StatusOK, "GET", "/workflows", ""); len(page.Items) != 0 {
		t.Fatalf("%+v", page)
	}
	if page := must[Page[Workflow]](p, http.StatusOK, "GET", "/workflows?all=true", ""); len(page.Items) != 1 {
		t.Fatalf("%+v", page)
	}
}

const event = `{"specversion":"1.0","id":"1","source":"/ci","type":"build.failed","data":{"n":1}}`

func TestCloudEventsInEveryMode(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one := func(body string, headers ...string) Taken {
		t.Helper()
		got := must[Intake](p, http.StatusOK, "POST", "/sensors/open/events", body, headers...)
		if len(got.Events) != 1 {
			t.Fatalf("%+v", got)
		}
		return got.Events[0]
	}
	first := one(event, "Content-Type", cloudEvent)
	if first.Status != "accepted" || first.TaskID == "" {
		t.Fatalf("%+v", first)
	}
	if again := one(event, "Content-Type", cloudEvent); again.Status != "deduped" || again.TaskID != first.TaskID {
		t.Fatalf("%+v", again)
	}
	// The same event in the binary mode is the same event.
	binary := []string{"Ce-Specversion", "1.0", "Ce-Id", "1", "Ce-Source", "%2Fci", "Ce-Type", "build.failed", "Content-Type", "application/json"}
	if same := one(`{"n":1}`, binary...); same.Status != "deduped" || same.TaskID != first.TaskID {
		t.Fatalf("%+v", same)
	}
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/sensors/open/events", `{"n":`, binary...)
	batch := must[Intake](p, http.StatusOK, "POST", "/sensors/open/events", "["+strings.Replace(event, `"1"`, `"2"`, 1)+`,{"specversion":"9"},`+event+"]", "Content-Type", cloudEvents)
	if len(batch.Events) != 3 || batch.Events[0].Status != "accepted" || batch.Events[1].Status != "refused" || batch.Events[2].Status != "deduped" {
		t.Fatalf("%+v", batch)
	}
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/sensors/open/events", "")
	s := must[Sensor](p, http.StatusOK, "GET", "/sensors/open", "")
	if s.Accepted != 2 || s.Malformed == 0 {
		t.Fatalf("%+v", s)
	}
	must[Sensor](p, http.StatusOK, "POST", "/sensors/open/disable", "")
	p.refused(http.StatusConflict, "disabled", "POST", "/sensors/open/events", strings.Replace(event, `"1"`, `"3"`, 1))
	p.refused(http.StatusNotFound, "not_found", "GET", "/sensors/gone", "")
	if page := must[Page[SensedEvent]](p, http.StatusOK, "GET", "/sensors/open/events?limit=1", ""); len(page.Items) != 1 || page.NextCursor == "" {
		t.Fatalf("%+v", page)
	}
}

func TestHooksTakeOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.as = access.Principal{}
	now := strconv.FormatInt(p.api.Clock().Unix(), 10)
	old := strconv.FormatInt(p.api.Clock().Add(-time.Hour).Unix(), 10)
	const key = "hook-secret-0123456789"
	good := outbox.Signature(key, "m1", now, []byte(event))
	for name, c := range map[string]struct{ hook, body, id, at, signature string }{
		"none":             {"hook", event, "", "", ""},
		"another key":      {"hook", event, "m1", now, outbox.Signature("x", "m1", now, []byte(event))},
		"another body":     {"hook", event + " ", "m1", now, good},
		"another id":       {"hook", event, "m2", now, good},
		"old":              {"hook", event, "m1", old, outbox.Signature(key, "m1", old, []byte(event))},
		"no time":          {"hook", event, "m1", "x", outbox.Signature(key, "m1", "x", []byte(event))},
		"without a secret": {"open", event, "m1", now, good},
		"empty key":        {"open", event, "m1", now, outbox.Signature("", "m1", now, []byte(event))},
		"no such hook":     {"gone", event, "m1", now, good},
	} {
		t.Run(name, func(t *testing.T) {
			p.refused(http.StatusUnauthorized, "bad_signature", "POST", "/hooks/"+c.hook, c.body, "Webhook-Id", c.id, "Webhook-Timestamp", c.at, "Webhook-Signature", c.signature)
		})
	}
	got := must[Intake](p, http.StatusOK, "POST", "/hooks/hook", event, "Webhook-Id", "m1", "Webhook-Timestamp", now, "Webhook-Signature", "v1,old "+good)
	if got.Events[0].Status != "accepted" {
		t.Fatalf("%+v", got)
	}
	other := `{"schema":"agent-runtime/sensor.event/v1","sensor_id":"open","event_id":"e","source_ref":"r","observed_at":"2026-01-31T08:00:00Z","dedupe_key":"d","payload":{}}`
	if got := must[Intake](p, http.StatusOK, "POST", "/hooks/hook", other, "Webhook-Id", "m", "Webhook-Timestamp", now, "Webhook-Signature", outbox.Signature(key, "m", now, []byte(other))); got.Events[0].Status != "refused" {
		t.Fatalf("a key of one sensor spoke for another: %+v", got)
	}
	if n, err := p.st.Counts(t.Context()); err != nil || n[agentruntime.TaskPending] != 1 {
		t.Fatal(n, err)
	}
}

// An admin makes tokens, sees them without their secrets, and revokes them. No other role may do any of it, as the need of each
// operation says; package server enforces it.
func TestTokensAreMadeShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, op := range p.api.operations {
		if op.tag == "access" && op.need != access.Admin {
			t.Errorf("%s needs only %s", op.id, op.need)
		}
	}
	made := must[access.Shown](p, http.StatusCreated, "POST", "/tokens", `{"name":"ci","role":"operate","expires_in_seconds":60}`, "Idempotency-Key", "k")
	who, err := p.api.keeper().Token(t.Context(), made.Token)
	if err != nil || who.Name != "ci" || who.Role != access.Operate {
		t.Fatal(who, err)
	}
	p.refused(http.StatusConflict, "exists", "POST", "/tokens", `{"name":"ci","role":"read"}`, "Idempotency-Key", "k") // the answer was not kept
	for _, path := range []string{"/tokens", "/tokens?all=true"} {
		if body := p.send("GET", path, "").Body.String(); !strings.Contains(body, made.ID) || strings.Contains(body, made.Token) || strings.Contains(body, "hash") {
			t.Errorf("%s: %s", path, body)
		}
	}
	bad := p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tokens", `{"name":"a b","role":"root","expires_in_seconds":-5}`)
	if len(bad.Faults) != 2 || bad.Faults[0].Path != "$.role" {
		t.Errorf("%+v", bad.Faults)
	}
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tokens", `{"name":"a b","role":"read"}`)
	must[access.Shown](p, http.StatusOK, "POST", "/tokens/ci/revoke", "", "Idempotency-Key", "r")
	if w := p.send("POST", "/tokens/ci/revoke", "", "Idempotency-Key", "r"); w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p.refused(http.StatusConflict, "closed", "POST", "/tokens/"+made.ID+"/revoke", "")
	if _, err := p.api.keeper().Token(t.Context(), made.Token); !errors.Is(err, access.ErrRevoked) {
		t.Error(err)
	}
	if got := must[Tokens](p, http.StatusOK, "GET", "/tokens", ""); len(got.Tokens) != 0 {
		t.Errorf("%+v", got)
	}
	must[access.Shown](p, http.StatusCreated, "POST", "/tokens", `{"name":"ci","role":"read"}`) // the name is free again
}

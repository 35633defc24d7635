package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

type taskPage = Page[agentruntime.TaskRecord]

func TestTasksArePagedInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ids := p.add(7)
	var got []string
	path := "/tasks?limit=3&status=pending"
	for pages := 0; ; pages++ {
		page := must[taskPage](p, http.StatusOK, "GET", path, "")
		for _, r := range page.Items {
			got = append(got, r.TaskID)
		}
		if page.NextCursor == "" || pages > 5 {
			break
		}
		p.add(1) // what comes meanwhile moves nothing
		path = "/tasks?limit=3&status=pending&cursor=" + page.NextCursor
	}
	want := []string{ids[6], ids[5], ids[4], ids[3], ids[2], ids[1], ids[0]}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.add(3)
	next := must[taskPage](p, http.StatusOK, "GET", "/tasks?limit=1", "").NextCursor
	for name, c := range map[string]struct{ path, code, place string }{
		"limit":        {"/tasks?limit=0", "invalid_parameter", "query.limit"},
		"limit twice":  {"/tasks?limit=1&limit=2", "invalid_parameter", "query.limit"},
		"status":       {"/tasks?status=pending,gone", "invalid_parameter", "query.status"},
		"unknown":      {"/tasks?state=pending", "invalid_parameter", "query.state"},
		"not UTF-8":    {"/tasks?type=%ff", "invalid_parameter", "query.type"},
		"NUL":          {"/tasks?type=a%00b", "invalid_parameter", "query.type"},
		"broken":       {"/tasks?type=%zz", "invalid_parameter", "query"},
		"no cursor":    {"/tasks?cursor=abc", "stale_cursor", ""},
		"not base64":   {"/tasks?cursor=%2B%2B", "stale_cursor", ""},
		"other filter": {"/tasks?limit=1&status=pending&cursor=" + next, "stale_cursor", ""},
		"gone":         {"/tasks?cursor=" + cursor{List: "tasks", Filter: filterDigest([]string(nil), ""), At: store.NewID()}.String(), "stale_cursor", ""},
		"event id":     {"/events/log?after=x", "unknown_event_id", ""},
	} {
		got := p.refused(http.StatusBadRequest, c.code, "GET", c.path, "")
		if c.place != "" && (len(got.Faults) == 0 || got.Faults[0].Path != c.place) {
			t.Errorf("%s: %+v, want a fault at %s", name, got.Faults, c.place)
		}
	}
	p.refused(http.StatusNotFound, "not_found", "GET", "/tasks/"+store.NewID(), "")
	p.refused(http.StatusNotFound, "not_found", "GET", "/tasks/..%2f..%2fetc", "")
}

const oneScript = `{"tasks":[{"task_type":"script","source":"api","payload":{}}]}`

func TestTasksAreAddedAllOrNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := must[AddedTasks](p, http.StatusCreated, "POST", "/tasks", oneScript)
	d := must[view.Task](p, http.StatusOK, "GET", "/tasks/"+got.Tasks[0].TaskID, "")
	if d.Task.Status != agentruntime.TaskPending || d.Task.Source != "api" {
		t.Fatalf("%+v", d.Task)
	}
	bad := p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks", `{"tasks":[{"task_type":"script","source":"api","payload":{}},{"task_type":"nowhere","source":"api","payload":{}},{"task_type":"script","source":"api","payload":{},"requested_adapter_id":"gone"}]}`)
	if len(bad.Faults) != 2 || bad.Faults[0].Path != "$.tasks[1].task_type" || bad.Faults[1].Path != "$.tasks[2].requested_adapter_id" {
		t.Fatalf("%+v", bad.Faults)
	}
	secret := p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks", `{"tasks":[{"task_type":"script","source":"api","payload":{"a":"value-of-the-token-9876"},"deed":{"secret_env":["TOKEN"]}}]}`)
	if secret.Faults[0].Path != "$.tasks[0].payload" || strings.Contains(secret.Faults[0].Message, "9876") {
		t.Fatalf("%+v", secret.Faults)
	}
	for name, body := range map[string]string{
		"empty": "", "no JSON": "{", "two": oneScript + oneScript, "unknown member": `{"tasks":[],"more":1}`, "none": `{"tasks":[]}`, "null": "null", "array": "[]",
		"deep": strings.Repeat(`{"tasks":[`, 5000),
	} {
		if w := p.send("POST", "/tasks", body); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	p.refused(http.StatusUnsupportedMediaType, "content_type", "POST", "/tasks", oneScript, "Content-Type", "text/plain")
	p.refused(http.StatusUnsupportedMediaType, "content_encoding", "POST", "/tasks", oneScript, "Content-Encoding", "gzip")
	p.refused(http.StatusRequestEntityTooLarge, "body_too_large", "POST", "/tasks/"+got.Tasks[0].TaskID+"/cancel", `{"reason":"`+strings.Repeat("x", 1<<20)+`"}`)
	if n, err := p.st.Counts(t.Context()); err != nil || n[agentruntime.TaskPending] != 1 {
		t.Fatalf("%v, %v: something was changed", n, err)
	}
	// A token with the role operate is untrusted on this machine: it cannot bring an adapter of its own.
	p.as = access.Principal{Name: "op", Role: access.Operate, How: access.ByToken}
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks", `{"tasks":[{"task_type":"script","source":"api","payload":{},"deed":{"adapter":{"kind":"script","id":"x","command":"id","timeout_ms":1000}}}]}`)
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.send("POST", "/tasks", oneScript, "Idempotency-Key", "k1")
	again := p.send("POST", "/tasks", oneScript, "Idempotency-Key", "k1")
	if first.Code != http.StatusCreated || again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Fatalf("%d %s\n%d %s", first.Code, first.Body, again.Code, again.Body)
	}
	p.refused(http.StatusUnprocessableEntity, "key_reused", "POST", "/tasks", strings.Replace(oneScript, "{}", `{"n":1}`, 1), "Idempotency-Key", "k1")
	p.refused(http.StatusBadRequest, "bad_key", "POST", "/tasks", oneScript, "Idempotency-Key", "a b")
	p.refused(http.StatusBadRequest, "bad_key", "POST", "/tasks", oneScript, "Idempotency-Key", strings.Repeat("k", 256))
	// A refusal is an answer too: the same key gets the same one.
	bad := strings.Replace(oneScript, "script", "nowhere", 1)
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks", bad, "Idempotency-Key", "k2")
	if w := p.send("POST", "/tasks", bad, "Idempotency-Key", "k2"); w.Header().Get("Idempotency-Replayed") != "true" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	// Another caller's key is another key.
	p.as.Name = "other"
	if w := p.send("POST", "/tasks", oneScript, "Idempotency-Key", "k1"); w.Code != http.StatusCreated || w.Body.String() == first.Body.String() {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if n, err := p.st.Counts(t.Context()); err != nil || n[agentruntime.TaskPending] != 2 {
		t.Fatal(n, err)
	}
}

// deed is killed after the act and before its answer is kept: the next try of the client acts no second time. Where it is killed
// before the act, the next try acts. TestCrashInAWrite does so with the real binary.
func TestKeyOfARequestThatWasCutShort(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx := access.With(t.Context(), p.as)
	cut := func(path, body, key string) context.Context {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, Prefix+path, strings.NewReader(body))
		id := keyID(ctx, key)
		_, fresh, err := p.st.BeginRequest(ctx, store.Request{Key: id, Digest: requestDigest(r, []byte(body))}, store.RequestTerms{Lease: keyLease, Keep: keyKeep})
		if err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		return store.ForRequest(withKey(ctx, id), id)
	}
	// The task was queued, and then came the end.
	of := cut("/tasks", oneScript, "k")
	in := agentruntime.TaskIntent{TaskType: "script", Source: "api", Payload: json.RawMessage(`{}`)}
	if !p.api.onceByKey(of, &in, 0) {
		t.Fatal("no dedupe key")
	}
	made, err := p.api.Admission.Add(ctx, task.Caller{Trusted: true}, in)
	p.ok(err)
	p.refused(http.StatusConflict, "in_progress", "POST", "/tasks", oneScript, "Idempotency-Key", "k")
	p.ahead.Store(int64(keyLease))
	got := must[AddedTasks](p, http.StatusCreated, "POST", "/tasks", oneScript, "Idempotency-Key", "k")
	id := made[0].TaskID
	if got.Tasks[0].TaskID != id || got.Tasks[0].Deduped {
		t.Fatalf("%+v, want %s", got.Tasks, id)
	}
	// An operation that must not be repeated was done: the next try gets that answer at once.
	path := "/tasks/" + id + "/cancel"
	_, err = p.st.Cancel(cut(path, "{}", "c"), id, "", "op")
	p.ok(err)
	if w := p.send("POST", path, "{}", "Idempotency-Key", "c"); w.Code != http.StatusOK || w.Body.String() != itIsDone || w.Header().Get("Idempotency-Replayed") != "true" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	// It was not done. A process that knows that it is the only one does it at once, the others when the lease is over.
	path = "/tasks/" + id + "/retry"
	cut(path, "{}", "r")
	p.refused(http.StatusConflict, "in_progress", "POST", path, "{}", "Idempotency-Key", "r")
	p.api.Since = p.api.Clock().Add(time.Microsecond)
	must[TaskState](p, http.StatusOK, "POST", path, "{}", "Idempotency-Key", "r")
}

func TestEntityTags(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.add(1)[0]
	for _, path := range []string{"/tasks", "/tasks/" + id + "/record", "/openapi.json", "/counts"} {
		w := p.send("GET", path, "")
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || tag == "" {
			t.Fatalf("%s: %d %q", path, w.Code, tag)
		}
		for _, given := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			if w := p.send("GET", path, "", "If-None-Match", given); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
				t.Errorf("%s with %s: %d", path, given, w.Code)
			}
		}
		if w := p.send("GET", path, "", "If-None-Match", `"x"`); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	tag := p.send("GET", "/tasks/"+id+"/record", "").Header().Get("ETag")
	p.refused(http.StatusPreconditionFailed, "changed_meanwhile", "POST", "/tasks/"+id+"/cancel", "", "If-Match", `"old"`)
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+id+"/cancel", `{"reason":"no"}`, "If-Match", tag)
	p.refused(http.StatusPreconditionFailed, "changed_meanwhile", "POST", "/tasks/"+id+"/retry", "", "If-Match", tag)
	p.refused(http.StatusBadRequest, "if_match", "POST", "/tasks", oneScript, "If-Match", tag)
	// Under one key, a request that was refused for its If-Match may be tried again with another, and an operation
	// that was done is reported again.
	p.refused(http.StatusPreconditionFailed, "changed_meanwhile", "POST", "/tasks/"+id+"/retry", "", "If-Match", `"old"`, "Idempotency-Key", "once")
	tag = p.send("GET", "/tasks/"+id+"/record", "").Header().Get("ETag")
	for range 2 {
		must[TaskState](p, http.StatusOK, "POST", "/tasks/"+id+"/retry", "", "If-Match", tag, "Idempotency-Key", "once")
	}
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+id+"/cancel", "")
	p.refused(http.StatusConflict, "ended", "POST", "/tasks/"+id+"/cancel", "")
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+id+"/retry", "")
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+id+"/resume", "")
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks/"+id+"/budget", "{}")
	p.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/tasks/"+id+"/budget", `{"turns":-1}`)
	if got := must[BudgetSet](p, http.StatusOK, "POST", "/tasks/"+id+"/budget", `{"turns":5}`); got.Budget.Turns != 5 {
		t.Fatalf("%+v", got)
	}
}

// follow opens a stream and returns its lines.
func follow(t *testing.T, url string, headers ...string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return bufio.NewScanner(res.Body)
}

// next reads one event of a stream.
func next(t *testing.T, s *bufio.Scanner) (id, name, data string) {
	t.Helper()
	for s.Scan() {
		field, value, _ := strings.Cut(s.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				return id, name, data
			}
		}
	}
	t.Fatalf("the stream ended: %v", s.Err())
	return
}

func TestEventsAreFollowedAndResumed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	srv := httptest.NewServer(p)
	defer srv.Close()
	defer srv.CloseClientConnections()
	url := srv.URL + Prefix + "/events"
	at := p.send("GET", "/tasks", "").Header().Get("Deed-Event-Id")
	ids := p.add(2)
	s := follow(t, url+"?after="+at)
	first, name, data := next(t, s)
	if name != "task_enqueued" || !strings.Contains(data, ids[0]) {
		t.Fatal(name, data)
	}
	second, _, data := next(t, s)
	if !strings.Contains(data, ids[1]) {
		t.Fatal(data)
	}
	if id, _, _ := next(t, follow(t, url, "Last-Event-ID", first)); id != second {
		t.Fatalf("resumed at %s, want %s", id, second)
	}
	one := follow(t, url+"?task="+ids[1])
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+ids[0]+"/cancel", "")
	must[TaskState](p, http.StatusOK, "POST", "/tasks/"+ids[1]+"/cancel", "")
	if _, name, data := next(t, one); name != store.EventTaskOperatorCanceled || !strings.Contains(data, ids[1]) {
		t.Fatal(name, data)
	}
	// An id that the store has not reached is of another store: look again, then go on.
	if _, name, _ := next(t, follow(t, url, "Last-Event-ID", "999999")); name != "overflow" {
		t.Fatal(name)
	}
	for _, bad := range []string{"x", "-1", "1e9"} {
		p.refused(http.StatusBadRequest, "unknown_event_id", "GET", "/events", "", "Last-Event-ID", bad)
	}
	p.refused(http.StatusNotFound, "not_found", "GET", "/events?task="+store.NewID(), "")
}

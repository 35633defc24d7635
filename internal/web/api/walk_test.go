package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/attempt"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A walker sends requests that it makes from the OpenAPI document, good ones and bad ones, and holds every answer against what the
// document says of it.
type walker struct {
	*place
	rnd     *rand.Rand
	doc     map[string]any
	schemas map[string]*schema.Payload
	ids     map[string][]string // that are there, by the beginning of the path
	done    map[string]int      // answers that were a success, by operation
}

func newWalker(p *place, seed uint64) *walker {
	p.Helper()
	w := &walker{place: p, rnd: rand.New(rand.NewPCG(seed, 1)), schemas: map[string]*schema.Payload{}, ids: map[string][]string{}, done: map[string]int{}}
	p.ok(json.Unmarshal(Document(), &w.doc))
	return w
}

// fill puts one of everything into the home.
func (w *walker) fill() {
	w.Helper()
	ctx := w.Context()
	w.ids["tasks"] = w.add(3)
	claim, err := w.st.Claim(ctx, store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	w.ok(err)
	w.ok(w.st.Begin(ctx, claim.Ref, store.Begin{AdapterID: "true", AdapterKind: "script"}))
	w.ids["attempts"] = []string{claim.Ref.AttemptID}
	blocked, err := w.st.Claim(ctx, store.ClaimOptions{RunnerID: "r", Lease: time.Hour})
	w.ok(err)
	w.ok(w.st.Begin(ctx, blocked.Ref, store.Begin{AdapterID: "true", AdapterKind: "script"}))
	w.ok(w.st.Settle(ctx, blocked.Ref, store.Settlement{
		State: "resumable", Class: "blocked", Status: agentruntime.TaskBlocked, Action: &store.NewAction{Kind: "question", Prompt: "<script>which?</script>", Why: "two fit"},
	}))
	w.ids["attempts"] = append(w.ids["attempts"], blocked.Ref.AttemptID)
	task, done := w.settled(map[string]string{"a.txt": "a", attempt.PathBrief: "{}", bundle.PathPrompt: "do it"})
	w.ids["tasks"], w.ids["attempts"] = append(w.ids["tasks"], task), append(w.ids["attempts"], done)
	w.ids["tokens"] = []string{"ci", "cd"}
	acts, err := w.st.Actions(ctx, store.ActionFilter{})
	w.ok(err)
	for _, x := range acts {
		w.ids["actions"] = append(w.ids["actions"], x.ID)
	}
	_, _, err = w.api.Schedules.Put(ctx, schedule.Plan{Name: "nightly", Every: time.Hour, Task: agentruntime.TaskIntent{TaskType: "script", Source: "t", Payload: json.RawMessage(`{}`)}}, "me")
	w.ok(err)
	w.ids["schedules"] = []string{"nightly"}
	w.ids["sensors"], w.ids["hooks"] = []string{"hook", "open"}, []string{"hook", "open"}
	flow, err := w.api.Workflows.Start(ctx, workflow.StartRequest{Type: "goal-loop", InstanceKey: "k", Context: json.RawMessage(`{"objective":"x"}`), By: "me"})
	w.ok(err)
	w.ids["workflows"] = []string{flow.WorkflowID}
	run, err := w.st.InsertRun(ctx, store.NewRun{Status: "booting", RunnerID: "r"})
	w.ok(err)
	w.ids["runs"] = []string{run.ID()}
	w.ids["schemas"] = []string{"agent-runtime/task.record/v1"}
}

// strange are texts that a client should not send.
var strange = []string{
	"..", "../../etc/passwd", "%2e%2e%2f", "\x00", "\xff\xfe", "<script>alert(1)</script>", "' OR 1=1 --", strings.Repeat("a", 3000), "🙂", "-1", "0", "null", "NaN", "\r\nX: y", "\x1b[31m",
	"019aaaaa-0000-7000-8000-000000000000",
}

func (w *walker) pick(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[w.rnd.IntN(len(list))]
}

func (w *walker) one(path string, op *operation) {
	w.Helper()
	query := url.Values{}
	head := http.Header{}
	for _, p := range parameters(op.input) {
		value := w.value(p)
		switch p.in {
		case "path":
			base, _, _ := strings.Cut(strings.TrimPrefix(op.path, "/"), "/")
			if w.rnd.IntN(4) > 0 && p.name != "path" && p.name != "artifact" {
				value = w.pick(w.ids[base])
			} else {
				value = w.pick(strange)
			}
			if strings.HasSuffix(op.path, "...}") && w.rnd.IntN(2) == 0 {
				path = strings.Replace(path, "{"+p.name+"...}", value, 1)
			}
			path = strings.NewReplacer("{"+p.name+"}", url.PathEscape(value), "{"+p.name+"...}", url.PathEscape(value)).Replace(path)
		case "query":
			if w.rnd.IntN(3) > 0 {
				query.Add(p.name, value)
			}
		case "header":
			if w.rnd.IntN(4) == 0 {
				head.Set(p.name, value)
			}
		}
	}
	if w.rnd.IntN(20) == 0 {
		query.Set("nonsense", "1")
	}
	if w.rnd.IntN(8) == 0 {
		head.Set("If-Match", w.pick([]string{"*", `"x"`, "W/"}))
	}
	if w.rnd.IntN(8) == 0 {
		head.Set("Range", w.pick([]string{"bytes=0-0", "bytes=9-1", "bytes=99999-", "lines=1", "bytes=0-0,0-0,0-0"}))
	}
	if op.write() && w.rnd.IntN(3) == 0 {
		head.Set("Idempotency-Key", w.pick([]string{"k1", "k2", "k 3", strings.Repeat("x", 300)}))
	}
	var body []byte
	if op.write() {
		body = w.body(op)
		head.Set("Content-Type", w.pick([]string{"application/json", "application/json", "application/json; charset=utf-8", "text/html", cloudEvent, cloudEvents}))
		if w.rnd.IntN(10) == 0 {
			head.Set("Ce-Specversion", "1.0")
			head.Set("Ce-Id", w.pick(strange))
		}
	}
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	if op.stream {
		cancel()
		ctx, cancel = context.WithTimeout(w.Context(), 5*time.Millisecond)
	}
	defer cancel()
	r := &http.Request{Method: op.method, Header: head, Host: "x", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, URL: &url.URL{RawQuery: query.Encode()}}
	r.Body = http.NoBody
	if body != nil {
		r.Body, r.ContentLength = nopCloser{bytes.NewReader(body)}, int64(len(body))
	}
	full := Prefix + path
	if dec, err := url.PathUnescape(full); err == nil {
		r.URL.Path, r.URL.RawPath = dec, full
	} else {
		return
	}
	rec := httptest.NewRecorder()
	r = r.WithContext(ctx)
	w.ServeHTTP(rec, r)
	w.check(op, r, body, rec)
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// value makes a parameter, good or bad.
func (w *walker) value(p parameter) string {
	if w.rnd.IntN(3) == 0 {
		return w.pick(strange)
	}
	switch {
	case len(p.enum) > 0:
		return w.pick(p.enum)
	case p.name == "limit" || p.name == "count" || p.name == "days":
		return strconv.Itoa(p.min + w.rnd.IntN(20))
	case p.name == "task":
		return w.pick(w.ids["tasks"])
	case p.typ.Kind().String() == "bool":
		return w.pick([]string{"true", "false"})
	case p.format == "date-time":
		return "2026-01-31T08:00:00Z"
	}
	return ""
}

// body makes a document from the schema of the operation, and breaks some.
func (w *walker) body(op *operation) []byte {
	switch w.rnd.IntN(8) {
	case 0:
		return []byte(w.pick([]string{"", "{", "null", "[]", "1", `"x"`, `{"a":`, strings.Repeat("[", 20000), "\xff", `{"a":1,"a":2}`, `{"tasks":null}`}))
	case 1:
		return []byte(`{"specversion":"1.0","id":"` + strconv.Itoa(w.rnd.Int()) + `","source":"/x","type":"t","data":{"n":1}}`)
	}
	if op.body == nil {
		return []byte("{}")
	}
	root, _ := w.lookup("paths", Prefix+op.path, strings.ToLower(op.method), "requestBody", "content", "application/json", "schema").(map[string]any)
	text, err := json.Marshal(w.sample(root, 0))
	w.ok(err)
	return text
}

func (w *walker) lookup(path ...string) any {
	var v any = w.doc
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// sample makes a value of a schema, now and then one that is not.
func (w *walker) sample(s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		s, _ = w.lookup("components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/")).(map[string]any)
	}
	if w.rnd.IntN(25) == 0 {
		return []any{nil, 1, "x", []any{}, map[string]any{}, true}[w.rnd.IntN(6)]
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if list, ok := s[k].([]any); ok {
			one, _ := list[w.rnd.IntN(len(list))].(map[string]any)
			return w.sample(one, depth)
		}
	}
	if list, ok := s["enum"].([]any); ok {
		return list[w.rnd.IntN(len(list))]
	}
	if c, ok := s["const"]; ok {
		return c
	}
	switch s["type"] {
	case "string":
		if s["format"] == "date-time" {
			return "2026-01-31T08:00:00Z"
		}
		return w.pick(append([]string{"x", "script", "goal-loop", "true"}, strange...))
	case "integer":
		return w.rnd.IntN(100) - 2
	case "number":
		return w.rnd.Float64() * 10
	case "boolean":
		return w.rnd.IntN(2) == 0
	case "array":
		items, _ := s["items"].(map[string]any)
		list := []any{}
		for range w.rnd.IntN(3) {
			list = append(list, w.sample(items, depth+1))
		}
		return list
	}
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required := fmt.Sprint(s["required"])
	for name, p := range props {
		if depth < 4 && (strings.Contains(required, name) || w.rnd.IntN(6) == 0) {
			sub, _ := p.(map[string]any)
			out[name] = w.sample(sub, depth+1)
		}
	}
	return out
}

// check holds an answer against the document.
func (w *walker) check(op *operation, r *http.Request, body []byte, rec *httptest.ResponseRecorder) {
	w.Helper()
	say := func(format string, args ...any) {
		w.Helper()
		w.Errorf("%s %s?%s %.300q\n%d %.500s\n%s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, body, rec.Code, rec.Body, fmt.Sprintf(format, args...))
	}
	if rec.Code >= 500 && r.Context().Err() == nil {
		say("deed's own fault")
		return
	}
	if rec.Code >= 300 && rec.Code < 400 || rec.Code == http.StatusPartialContent && r.Header.Get("Range") != "" {
		return // the mux cleans a path, the client has it already, or wants a part of a file
	}
	answers, _ := w.lookup("paths", Prefix+op.path, strings.ToLower(op.method), "responses").(map[string]any)
	media, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
	where := []string{"paths", Prefix + op.path, strings.ToLower(op.method), "responses", strconv.Itoa(rec.Code), "content", "application/json", "schema"}
	switch {
	case rec.Code >= 400:
		if media != httperror.ContentType && rec.Code != http.StatusNotFound && rec.Code != http.StatusMethodNotAllowed {
			say("a refusal is not a problem but %s", media)
			return
		}
		if media != httperror.ContentType {
			return // no operation has the path that came of it
		}
		where = []string{"components", "responses", "Problem", "content", httperror.ContentType, "schema"}
	case answers[strconv.Itoa(rec.Code)] == nil:
		say("the document does not name the status")
		return
	case media != "application/json" || op.answer == nil:
		w.done[op.id]++
		return
	default:
		w.done[op.id]++
	}
	if err := w.compiled(strings.Join(where, "\n"), where).Check(rec.Body.Bytes()); err != nil {
		say("the answer is not as the document says: %v", err)
	}
}

// compiled is a schema of the document, with what it refers to.
func (w *walker) compiled(key string, where []string) *schema.Payload {
	w.Helper()
	if s := w.schemas[key]; s != nil {
		return s
	}
	root, _ := w.lookup(where...).(map[string]any)
	if root == nil {
		w.Fatalf("no schema at %q", where)
	}
	text, err := json.Marshal(map[string]any{"$ref": root["$ref"], "$defs": w.lookup("components", "schemas")})
	w.ok(err)
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	s, err := schema.CompilePayload(text)
	w.ok(err)
	w.schemas[key] = s
	return s
}

// Every operation gets good and bad input made from the document: none is deed's own fault, and every answer is as the document says.
func TestWalkTheDocument(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w := newWalker(p, 7)
	w.fill()
	for round := range 60 {
		for _, op := range p.api.operations {
			if round > 2 && op.stream && w.done[op.id] > 0 {
				continue
			}
			w.one(op.path, op)
		}
	}
	for _, op := range p.api.operations {
		if op.tag == "outbox" || op.tag == "access" || slices.Contains([]string{"getArtifact", "getBundleFile", "addTasks", "answerAction", "approveAction", "denyAction", "startWorkflow", "signalWorkflow", "hookEvents", "resumeTask"}, op.id) {
			continue // succeeds elsewhere: see TestEveryOperation
		}
		// What an operation finds is left to chance: one that has had none yet is given more, and a task that was cancelled.
		for range 500 {
			if w.done[op.id] > 0 {
				break
			}
			for _, o := range p.api.operations {
				if o.id == "cancelTask" || o.id == op.id {
					w.one(o.path, o)
				}
			}
		}
		if w.done[op.id] == 0 {
			t.Errorf("%s never succeeded: the walk does not reach it", op.id)
		}
	}
	if faults, err := p.st.Audit(t.Context()); err != nil || len(faults) > 0 {
		t.Fatalf("the store: %v %v", faults, err)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(42))
	p := newPlace(f)
	w := newWalker(p, 1)
	w.fill()
	f.Fuzz(func(t *testing.T, seed uint64) {
		v := newWalker(&place{TB: t, api: p.api, st: p.st, mux: p.mux, as: p.as}, seed)
		v.ids = w.ids
		for range 20 {
			op := p.api.operations[v.rnd.IntN(len(p.api.operations))]
			v.one(op.path, op)
		}
	})
}

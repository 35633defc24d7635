package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/script"
	"github.com/deedrun/deed/internal/base/clock"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/engine/answer"
	"github.com/deedrun/deed/internal/engine/feed"
	"github.com/deedrun/deed/internal/engine/schedule"
	"github.com/deedrun/deed/internal/engine/sensor"
	"github.com/deedrun/deed/internal/engine/task"
	"github.com/deedrun/deed/internal/engine/view"
	"github.com/deedrun/deed/internal/engine/workflow"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A place is a home with the API over it.
type place struct {
	testing.TB
	api *API
	st  *store.Store
	mux *mux
	as  access.Principal // who asks

	ahead atomic.Int64 // of the system's clock
}

// A mux is what the server does with routes, without its checks.
type mux struct {
	*http.ServeMux
	routes []access.Route
}

func (m *mux) Handle(r access.Route) {
	m.routes = append(m.routes, r)
	m.ServeMux.Handle(r.Pattern, r.Handler)
}

const settingsText = `
adapters: {"true": {kind: script, command: "true", timeout_ms: 1000}}
defaults: {adapter_id: "true"}
sensors:
  hook: {kind: push, secret_env: HOOK_SECRET, task: {task_type: script}}
  open: {kind: push, task: {task_type: script}}
  idle: {kind: push, task: {task_type: script}}
`

func newPlace(t testing.TB) *place {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	p := &place{TB: t, as: access.Principal{Name: "op", Role: access.Admin, How: access.ByToken}}
	p.ok(err)
	now := func() time.Time { return clock.System().Add(time.Duration(p.ahead.Load())) }
	p.ok(os.WriteFile(h.Config(), []byte(settingsText), 0o600))
	cfg, err := config.Load(config.Options{Home: h.Config()})
	p.ok(err)
	p.st, err = store.Open(t.Context(), h.DB(), store.Options{Clock: now})
	p.ok(err)
	t.Cleanup(func() { _ = p.st.Close() })
	adm := &task.Admission{Store: p.st, Config: cfg, Clock: clock.System, Drivers: driver.NewSet(script.New())}
	flows := &workflow.Engine{Store: p.st, Admission: adm, Clock: clock.System, Root: h.Root(), Catalog: func() *workflow.Catalog {
		return workflow.Load(workflow.Options{Home: h.Workflows(), Known: workflow.Known{
			Type:    func(n string) error { _, err := cfg.Type(n); return err },
			Profile: func(n string) error { _, err := cfg.Profile(n); return err },
			Skill:   func(n string) error { return errors.New("no skill " + n) },
		}})
	}}
	log := slog.New(slog.NewTextHandler(testLog{t}, nil))
	v := view.New(view.Source{Store: p.st, Home: h, Config: cfg})
	t.Cleanup(func() { _ = v.Close() })
	fd := feed.New(p.st, h, log)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := fd.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	env := map[string]string{"HOOK_SECRET": "hook-secret-0123456789", "TOKEN": "value-of-the-token-9876"}
	keys := func() ([]bundle.PublicKey, error) { return bundle.TrustedKeys(h.Keys()) }
	p.mux = &mux{ServeMux: http.NewServeMux()}
	p.api = Mount(p.mux, Options{
		Home: h, Store: p.st, Config: cfg, Feed: fd, Clock: now, Log: log, Version: "test", Getenv: func(n string) string { return env[n] },
		Admission: adm, Workflows: flows, Schedules: &schedule.Engine{Store: p.st, Admission: adm, Clock: clock.System},
		Sensors: &sensor.Intake{Store: p.st, Admission: adm, Workflows: flows, Config: cfg, Clock: clock.System}, View: v,
		Desk: &answer.Desk{Store: p.st, Home: h, Config: cfg, Workflows: flows, Applier: &apply.Applier{Home: h, Clock: clock.System, Redact: redact.New(nil)}, Keys: keys},
		Keys: keys,
	})
	return p
}

type testLog struct{ testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

func (p *place) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mux.ServeMux.ServeHTTP(w, r.WithContext(access.With(r.Context(), p.as)))
}

// send sends a request. Headers are pairs of name and value.
func (p *place) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(p.Context(), method, Prefix+path, in)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// must sends a request, wants a status, and reads the answer.
func must[T any](p *place, status int, method, path, body string, headers ...string) T {
	p.Helper()
	w := p.send(method, path, body, headers...)
	if w.Code != status {
		p.Fatalf("%s %s: %d %s; want %d", method, path, w.Code, w.Body, status)
	}
	var v T
	if w.Body.Len() > 0 {
		p.ok(json.Unmarshal(w.Body.Bytes(), &v))
	}
	return v
}

// refused sends a request and wants a problem with a code.
func (p *place) refused(status int, code, method, path, body string, headers ...string) httperror.Problem {
	p.Helper()
	w := p.send(method, path, body, headers...)
	var got httperror.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &got)
	if w.Code != status || got.Code != code || w.Header().Get("Content-Type") != httperror.ContentType {
		p.Fatalf("%s %s: %d %s; want %d %s", method, path, w.Code, w.Body, status, code)
	}
	return got
}

// add queues tasks past the API.
func (p *place) add(n int) []string {
	p.Helper()
	list := make([]store.NewTask, n)
	for i := range list {
		list[i] = store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "script", Source: "test", Payload: json.RawMessage(`{}`)}, ProfileID: "default", AdapterID: "true", MaxAttempts: 3, Priority: 5}
	}
	out, err := p.st.Enqueue(p.Context(), list...)
	p.ok(err)
	ids := make([]string, n)
	for i, e := range out {
		ids[i] = e.TaskID
	}
	return ids
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/store/storetest"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

func TestMain(m *testing.M) {
	if beStranger() {
		return
	}
	goleak.VerifyTestMain(m)
}

// A site is a server on a real listener, with handlers that know whether they were reached.
type site struct {
	*testing.T
	s     *Server
	st    *store.Store
	home  *home.Home
	clock *storetest.Clock
	url   string
	log   *safeBuffer

	reached atomic.Int64  // writes that came to their handler
	release chan struct{} // ends what GET /slow waits for
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newSite(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	v := &site{T: t, home: h, clock: storetest.NewClock(), log: &safeBuffer{}, release: make(chan struct{})}
	if v.st, err = store.Open(t.Context(), h.DB(), store.Options{Clock: v.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.st.Close() })
	o := Options{Home: h, Store: v.st, Clock: v.clock.Now, Listen: "127.0.0.1:0", Log: slog.New(slog.NewTextHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&o)
	}
	if v.s, err = New(o); err != nil {
		t.Fatal(err)
	}
	v.mount()
	if err := v.s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := v.s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	v.url = v.s.URL()
	return v
}

func (v *site) mount() {
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	v.s.Handle(access.Route{Pattern: "GET /api/v1/things", Need: access.Read, Handler: say("things")})
	v.s.Handle(access.Route{Pattern: "GET /api/v1/files/{name...}", Need: access.Read, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "file "+r.PathValue("name"))
	})})
	v.s.Handle(access.Route{Pattern: "POST /api/v1/things", Need: access.Operate, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			httperror.Write(w, r, err)
			return
		}
		v.reached.Add(1)
		access.Did(r.Context(), "thing 7", "of "+access.From(r.Context()).Name)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})})
	v.s.Handle(access.Route{Pattern: "DELETE /api/v1/things", Need: access.Admin, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { v.reached.Add(1) })})
	v.s.Handle(access.Route{Pattern: "POST /api/v1/panic", Need: access.Operate, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })})
	v.s.Handle(access.Route{Pattern: "GET /slow", Need: access.Read, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-v.release:
		case <-r.Context().Done():
			httperror.Write(w, r, httperror.New(http.StatusServiceUnavailable, "late", r.Context().Err().Error()))
		}
	}), Timeout: 20 * time.Millisecond})
	v.s.Handle(access.Route{Pattern: "GET /api/v1/events", Need: access.Read, Stream: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": open\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, _ = io.WriteString(w, "data: "+context.Cause(r.Context()).Error()+"\n\n")
	})})
}

func (v *site) token(role access.Role) string {
	v.Helper()
	text, _, err := v.s.keeper.IssueToken(v.Context(), role.String()+"-"+store.NewID()[24:], role, time.Hour, "test")
	if err != nil {
		v.Fatal(err)
	}
	return text
}

type header map[string]string

// client keeps no connection: nothing of it is left when a test ends.
func client(jar http.CookieJar) *http.Client {
	return &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type answer struct {
	status int
	code   string // of the problem
	body   string
	header http.Header
}

func (v *site) do(c *http.Client, method, path, body string, h header) answer {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	for k, x := range h {
		if k == "Host" {
			req.Host = x
		} else {
			req.Header.Set(k, x)
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		v.Fatalf("%s %s: %v\n%s", method, path, err, v.log)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatalf("%s %s: %v", method, path, err)
	}
	var p httperror.Problem
	if strings.HasPrefix(resp.Header.Get("Content-Type"), httperror.ContentType) {
		if err := json.Unmarshal(text, &p); err != nil || p.Status != resp.StatusCode {
			v.Errorf("%s %s: problem %s: %v", method, path, text, err)
		}
	}
	return answer{status: resp.StatusCode, code: p.Code, body: string(text), header: resp.Header}
}

func (v *site) ask(method, path, body string, h header) answer {
	v.Helper()
	return v.do(client(nil), method, path, body, h)
}

// login makes a browser that is logged in, and returns its CSRF token.
func (v *site) login(role access.Role) (*http.Client, string) {
	v.Helper()
	code, err := v.s.codes.Issue(access.Principal{Name: "ann", Role: role})
	if err != nil {
		v.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		v.Fatal(err)
	}
	c := client(jar)
	if a := v.do(c, "GET", "/login?code="+code, "", nil); a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		v.Fatalf("login: %+v", a)
	}
	var me struct {
		CSRF string `json:"csrf_token"`
	}
	if err := json.Unmarshal([]byte(v.do(c, "GET", "/access/me", "", nil).body), &me); err != nil || me.CSRF == "" {
		v.Fatalf("me: %+v %v", me, err)
	}
	return c, me.CSRF
}

// queueGoesOn takes a task through the same store: what the server refuses does not reach the dispatcher.
func (v *site) queueGoesOn() {
	v.Helper()
	c, err := v.st.EnqueueClaimed(v.Context(), store.NewTask{
		Intent: agentruntime.TaskIntent{TaskType: "t", Source: "s", Payload: json.RawMessage(`{}`)}, ProfileID: "p", MaxAttempts: 1,
	}, store.ClaimOptions{RunnerID: "r", Lease: time.Minute})
	if err == nil {
		err = v.st.Begin(v.Context(), c.Ref, store.Begin{})
	}
	if err == nil {
		err = v.st.Settle(v.Context(), c.Ref, store.Settlement{
			State: "completed", Status: agentruntime.TaskCompleted, Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskCompleted, MachineStatus: agentruntime.MachineOK},
		})
	}
	if err != nil {
		v.Errorf("the queue does not go on: %v", err)
	}
	if a := v.ask("GET", "/healthz", "", nil); a.status != 200 {
		v.Errorf("health: %+v", a)
	}
}

// entries are what the log has; refusals come to it a moment later.
func (v *site) entries(f store.AccessFilter) []store.AccessEntry {
	v.Helper()
	list, err := v.st.AccessLog(v.Context(), f)
	if err != nil {
		v.Fatal(err)
	}
	return list
}

// Other routes take the place of the first under one who stays logged in; the server's own stay, and a mount that fails changes nothing.
func TestRemount(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	browser, _ := v.login(access.Read)
	get := func(path string) int {
		t.Helper()
		return v.do(browser, "GET", path, "", nil).status
	}
	err := v.s.Remount(func(mux access.Mux) error {
		mux.Handle(access.Route{Pattern: "GET /half", Need: access.Read, Handler: say("half")})
		return errors.New("no")
	})
	if err == nil || get("/half") != 404 || get("/api/v1/things") != 200 {
		t.Errorf("a mount that fails: %v, %d, %d", err, get("/half"), get("/api/v1/things"))
	}
	err = v.s.Remount(func(mux access.Mux) error {
		mux.Handle(access.Route{Pattern: "GET /whole", Need: access.Read, Handler: say("whole")})
		mux.Handle(access.Route{Pattern: "GET /admin", Need: access.Admin, Handler: say("admin")})
		return nil
	})
	for path, want := range map[string]int{"/whole": 200, "/api/v1/things": 404, "/admin": 403, "/access/me": 200, "/healthz": 200} {
		if got := get(path); err != nil || got != want {
			t.Errorf("%s: %d, want %d (%v)", path, got, want, err)
		}
	}
	if got := v.ask("GET", "/whole", "", nil).status; got != 401 {
		t.Errorf("a stranger gets %d", got)
	}
}

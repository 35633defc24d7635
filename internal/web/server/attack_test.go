package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// Every request here is refused with a clear error; no handler that writes is reached, and the queue goes on.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	v := newSite(t, func(o *Options) { o.Hosts = []string{"deed.example"} })
	read, operate := v.token(access.Read), v.token(access.Operate)
	expired, revoked := v.token(access.Operate), v.token(access.Operate)
	if _, err := v.s.keeper.Revoke(t.Context(), mustID(t, v, revoked), "me"); err != nil {
		t.Fatal(err)
	}
	browser, csrf := v.login(access.Operate)
	bearer := func(token string, more ...string) header {
		h := header{"Authorization": "Bearer " + token}
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	other := []byte(operate)
	other[20] ^= 1
	for name, c := range map[string]struct {
		browser bool
		h       header
		status  int
		code    string
	}{
		"rebinding name":              {h: bearer(operate, "Host", "evil.example"), status: 421, code: "host"},
		"rebinding name with port":    {h: bearer(operate, "Host", "evil.example:7433"), status: 421, code: "host"},
		"name that begins alike":      {h: bearer(operate, "Host", "localhost.evil.example"), status: 421, code: "host"},
		"name with loopback in front": {h: bearer(operate, "Host", "127.0.0.1.nip.example"), status: 421, code: "host"},
		"another address":             {h: bearer(operate, "Host", "10.0.0.7"), status: 421, code: "host"},
		"the wildcard address":        {h: bearer(operate, "Host", "0.0.0.0"), status: 421, code: "host"},
		"userinfo in host":            {h: bearer(operate, "Host", "localhost@evil.example"), status: 421, code: "host"},
		"foreign origin, bearer":      {h: bearer(operate, "Origin", "https://evil.example"), status: 403, code: "origin"},
		"null origin, bearer":         {h: bearer(operate, "Origin", "null"), status: 403, code: "origin"},
		"origin of another port":      {h: bearer(operate, "Origin", "http://127.0.0.1:1"), status: 403, code: "origin"},
		"fetch from another site":     {h: bearer(operate, "Sec-Fetch-Site", "cross-site"), status: 403, code: "origin"},
		"fetch from another port":     {h: bearer(operate, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), status: 403, code: "origin"},
		"no token":                    {status: 401, code: "unauthorized"},
		"garbage token":               {h: bearer("garbage"), status: 401, code: "unauthorized"},
		"empty token":                 {h: bearer(""), status: 401, code: "unauthorized"},
		"token with a slip":           {h: bearer(string(other)), status: 401, code: "unauthorized"},
		"token in capitals":           {h: bearer(strings.ToUpper(operate)), status: 401, code: "unauthorized"},
		"basic":                       {h: header{"Authorization": "Basic " + operate}, status: 401, code: "unauthorized"},
		"unknown token":               {h: bearer(strangersToken(t)), status: 401, code: "unauthorized"},
		"revoked token":               {h: bearer(revoked), status: 401, code: "unauthorized"},
		"wrong role":                  {h: bearer(read), status: 403, code: "role"},
		"session without CSRF":        {browser: true, status: 403, code: "csrf"},
		"session with a wrong CSRF":   {browser: true, h: header{"X-CSRF-Token": csrf[:31] + "x"}, status: 403, code: "csrf"},
		"session from another origin": {browser: true, h: header{"X-CSRF-Token": csrf, "Origin": "http://evil.example"}, status: 403, code: "origin"},
		"session and a bad token":     {browser: true, h: bearer("garbage", "X-CSRF-Token", csrf), status: 401, code: "unauthorized"},
		"compressed body":             {h: bearer(operate, "Content-Encoding", "gzip"), status: 415, code: "compressed_body"},
		"two encodings":               {h: bearer(operate, "Content-Encoding", "identity, br"), status: 415, code: "compressed_body"},
	} {
		cl := client(nil)
		if c.browser {
			cl = browser
		}
		a := v.do(cl, "POST", "/api/v1/things", "{}", c.h)
		if a.status != c.status || a.code != c.code {
			t.Errorf("%s: %d %s, want %d %s: %s", name, a.status, a.code, c.status, c.code, a.body)
		}
		if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: WWW-Authenticate %q", name, a.header.Get("WWW-Authenticate"))
		}
	}
	v.clock.Advance(2 * time.Hour)
	if a := v.ask("POST", "/api/v1/things", "{}", bearer(expired)); a.status != 401 || !strings.Contains(a.body, "expired") {
		t.Errorf("expired: %+v", a)
	}
	if n := v.reached.Load(); n != 0 {
		t.Errorf("%d writes were done", n)
	}
	v.queueGoesOn()
	fresh := v.token(access.Operate)
	for name, h := range map[string]header{
		"plain": {}, "localhost": {"Host": "localhost:9999"}, "own name": {"Host": "deed.localhost"}, "allowed name": {"Host": "DEED.example."}, "v6": {"Host": "[::1]:7433"},
		"same origin": {"Origin": v.url, "Sec-Fetch-Site": "same-origin"}, "forwarded port": {"Host": "localhost:9000", "Origin": "http://localhost:9000"},
		"proxy with TLS": {"Host": "deed.example", "Origin": "https://deed.example"}, "identity": {"Content-Encoding": "identity"},
	} {
		h["Authorization"] = "Bearer " + fresh
		if a := v.ask("POST", "/api/v1/things", "{}", h); a.status != 201 {
			t.Errorf("%s is refused: %+v", name, a)
		}
	}
	if a := v.do(browser, "GET", "/api/v1/things", "", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}); a.status != 200 {
		t.Errorf("a link that is followed: %+v", a)
	}
	if a := v.do(browser, "GET", "/api/v1/things", "", header{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}); a.status != 403 {
		t.Errorf("a frame of another site: %+v", a)
	}
}

func mustID(t *testing.T, v *site, token string) string {
	t.Helper()
	who, err := v.s.keeper.Token(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return who.ID
}

// strangersToken is a real token of another home.
func strangersToken(t *testing.T) string { return newSite(t).token(access.Admin) }

// Roles, the log of writes, and a panic that ends one request alone.
func TestRolesAndRecord(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	for _, c := range []struct {
		role               access.Role
		get, post, destroy int
	}{{access.Read, 200, 403, 403}, {access.Operate, 200, 201, 403}, {access.Admin, 200, 201, 200}} {
		h := header{"Authorization": "Bearer " + v.token(c.role)}
		for method, want := range map[string]int{"GET": c.get, "POST": c.post, "DELETE": c.destroy} {
			if a := v.ask(method, "/api/v1/things", "", h); a.status != want {
				t.Errorf("%s by %s: %d, want %d", method, c.role, a.status, want)
			}
		}
	}
	writes := v.entries(store.AccessFilter{Limit: 100})
	done := 0
	for _, e := range writes {
		if e.Refused {
			continue
		}
		done++
		if e.Action == "POST /api/v1/things" && (e.Status != 201 || e.Target != "thing 7" || e.Note != "of "+e.Name || e.How != "token" || e.Remote != "127.0.0.1") {
			t.Errorf("entry: %+v", e)
		}
	}
	if done != 3 {
		t.Errorf("%d writes in the log: %+v", done, writes)
	}
	h := header{"Authorization": "Bearer " + v.token(access.Operate)}
	if a := v.ask("POST", "/api/v1/panic", "", h); a.status != 500 || a.code != "internal" || strings.Contains(a.body, "boom") {
		t.Errorf("panic: %+v", a)
	}
	if !strings.Contains(v.log.String(), "boom") {
		t.Error("the panic is not in the log")
	}
	if e := v.entries(store.AccessFilter{Limit: 1}); len(e) != 1 || e[0].Status != 500 {
		t.Errorf("the panic in the record: %+v", e)
	}
	if a := v.ask("GET", "/slow", "", h); a.status != 503 || a.code != "late" {
		t.Errorf("a handler beyond its time: %+v", a)
	}
	v.queueGoesOn()
}

// A write that cannot be recorded is not done.
func TestNoRecordNoWrite(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	h := header{"Authorization": "Bearer " + v.token(access.Operate)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.s.log.Begin(ctx, r, access.Principal{}, "x"); err == nil {
		t.Error("an entry without a store")
	}
	if a := v.ask("POST", "/api/v1/things", "", h); a.status != 201 {
		t.Errorf("with a store: %+v", a)
	}
	if err := v.st.Close(); err != nil {
		t.Fatal(err)
	}
	before := v.reached.Load()
	if a := v.ask("POST", "/api/v1/things", "", h); a.status != 503 {
		t.Errorf("without a store: %+v", a)
	}
	if a := v.ask("GET", "/readyz", "", nil); a.status != 503 {
		t.Errorf("ready without a store: %+v", a)
	}
	if v.reached.Load() != before {
		t.Error("a write without a record was done")
	}
}

// Sizes: of bodies, headers and paths.
func TestSizes(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	h := header{"Authorization": "Bearer " + v.token(access.Operate)}
	if a := v.ask("POST", "/api/v1/things", strings.Repeat("x", maxBody+1), h); a.status != 413 || a.code != "body_too_large" {
		t.Errorf("a large body: %d %s", a.status, a.code)
	}
	// The same without a declared length.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/api/v1/things", io.MultiReader(strings.NewReader(strings.Repeat("x", maxBody)), strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = -1
	req.Header.Set("Authorization", h["Authorization"])
	if resp, err := client(nil).Do(req); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body in chunks: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if v.reached.Load() != 0 {
		t.Error("a large body was taken")
	}
	if a := v.ask("POST", "/api/v1/things", strings.Repeat("x", maxBody), h); a.status != 201 || len(a.body) != maxBody {
		t.Errorf("the largest body: %d", a.status)
	}
	// The server does not read a bomb to its end, so that its answer may be lost on the way.
	for name, bomb := range map[string]string{
		"header":  "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Bomb: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"headers": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Bomb: x\r\n", 8<<10) + "\r\n",
		"path":    "GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		if first, _ := v.raw(bomb); first != "" && !strings.HasPrefix(first, "HTTP/1.1 431") {
			t.Errorf("a bomb of %s: %s", name, first)
		}
	}
	v.queueGoesOn()
}

// What is on the wire, byte for byte: smuggling, protocols that are not spoken, and paths that climb.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	auth := "Authorization: Bearer " + v.token(access.Operate) + "\r\n"
	for name, c := range map[string]struct {
		send string
		want string // the first line begins with
	}{
		"two lengths":            {"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", "HTTP/1.1 400"},
		"length with a sign":     {"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "Content-Length: +4\r\n\r\nabcd", "HTTP/1.1 400"},
		"unknown transfer":       {"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "HTTP/1.1 501"},
		"obscured transfer":      {"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
		"two hosts":              {"GET /api/v1/things HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 400"},
		"no host":                {"GET /api/v1/things HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		"absolute form":          {"GET http://evil.example/api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "\r\n", "HTTP/1.1 421"},
		"proxy":                  {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "HTTP/1.1 421"},
		"trace":                  {"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405"},
		"folded header":          {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", "HTTP/1.1 "},
		"HTTP/2 in clear text":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 "},
		"TLS on the plain port":  {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1."},
		"not HTTP":               {"EHLO there\r\n\r\n", "HTTP/1.1 400"},
		"climbing path":          {"GET /api/v1/files/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n" + auth + "\r\n", "HTTP/1.1 400"},
		"climbing path, encoded": {"GET /api/v1/files/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n" + auth + "\r\n", "HTTP/1.1 400"},
		"NUL in the path":        {"GET /api/v1/files/a\x00b HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 400"},
		"two authorizations":     {"POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + auth + "\r\n", "HTTP/1.1 401"},
	} {
		first, rest := v.raw(strings.Replace(c.send, "\r\nHost:", "\r\nConnection: close\r\nHost:", 1))
		if !strings.HasPrefix(first, c.want) || strings.Contains(rest, "root:") {
			t.Errorf("%s: %q, want %q", name, first, c.want)
		}
		if name == "HTTP/2 in clear text" && strings.HasPrefix(first, "HTTP/1.1 2") {
			t.Errorf("%s was spoken: %q", name, first)
		}
	}
	// Length and chunks together: the chunks count, and what follows them is a request without a session.
	first, rest := v.raw("POST /api/v1/things HTTP/1.1\r\nHost: localhost\r\n" + auth + "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
		"DELETE /api/v1/things HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if strings.Contains(rest, "HTTP/1.1 200") || strings.HasPrefix(first, "HTTP/1.1 200") {
		t.Errorf("smuggled: %q %q", first, rest)
	}
	if n := v.reached.Load(); n > 1 {
		t.Errorf("%d writes were done", n)
	}
	v.queueGoesOn()
}

// raw sends bytes and returns the first line of what comes back, and the rest.
func (v *site) raw(send string) (first, rest string) {
	v.Helper()
	c, err := net.Dial("tcp", v.s.Addr().String())
	if err != nil {
		v.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		v.Fatal(err)
	}
	_, _ = io.WriteString(c, send) // the server may have closed before the end
	r := bufio.NewReader(c)
	first, _ = r.ReadString('\n')
	more, _ := io.ReadAll(io.LimitReader(r, 1<<20))
	return strings.TrimSpace(first), string(more)
}

// Slow clients lose their connection; others are answered meanwhile.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	v := newSite(t, func(o *Options) { o.HeaderTimeout = time.Second })
	token := v.token(access.Operate)
	for name, send := range map[string]string{
		"headers": "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"nothing": "",
	} {
		c, err := net.Dial("tcp", v.s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, send); err != nil {
			t.Fatal(err)
		}
		v.queueGoesOn()
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("slow %s keep their connection: %v", name, err)
		}
		_ = c.Close()
	}
	// A body that does not come holds a place for the time of its route, and no longer.
	v.s.mux.Load().Handle("POST /short", &route{s: v.s, turn: true, Route: access.Route{
		Pattern: "POST /short", Need: access.Operate, Timeout: 50 * time.Millisecond,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				t.Error("the body came")
			}
		}),
	}})
	c, err := net.Dial("tcp", v.s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /short HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\nx", token); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("a slow body keeps its connection: %v", err)
	}
	v.queueGoesOn()
}

// Thousands of connections: a bounded number is held, the others are closed with the reason, the socket and the queue go on, and when
// they have gone there is room again.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	const most, each, tries = 64, 48, 2500
	v := newSite(t, func(o *Options) { o.MaxConns, o.MaxConnsEach = most, each })
	var held []net.Conn
	refused := 0
	for range tries {
		c, err := net.Dial("tcp", v.s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if len(held) < each {
			held = append(held, c)
			// It is held once it has an answer, and stays open.
			if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				t.Fatalf("connection %d: %q %v", len(held), line, err)
			}
			continue
		}
		if refused < 20 { // the others are not waited for: that would be the flood's own patience
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(c)
			if strings.Contains(string(text), "too_many_connections") {
				refused++
			} else if len(text) > 0 {
				t.Fatalf("told: %q", text)
			}
		}
		_ = c.Close()
	}
	if refused < 20 {
		t.Errorf("only %d were told why", refused)
	}
	if n := v.s.tcp.count(); n > each {
		t.Errorf("%d connections are held", n)
	}
	resp, err := Client(v.home).Get("http://deed/healthz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the socket in a flood: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	for _, c := range held {
		_ = c.Close()
	}
	v.eventually("room again", func() bool { return v.s.tcp.count() == 0 })
	v.queueGoesOn()
}

func (l *boundListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

func (v *site) eventually(what string, is func() bool) {
	v.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			v.Fatalf("%s: it never is", what)
		}
		select {
		case <-v.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// The answer to those who are turned away is one that a client can read.
func TestTooManyIsHTTP(t *testing.T) {
	t.Parallel()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(tooMany)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	_, after, _ := strings.Cut(tooMany, "\r\n\r\n")
	if err != nil || string(body) != after || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %q (%d bytes) %v", resp.StatusCode, body, len(after), err)
	}
}

// A flood of refusals costs the store a bounded number of rows, which count it.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				v.ask("GET", "/api/v1/files/"+fmt.Sprint(w, i), "", header{"Host": fmt.Sprintf("h%d.example", i)})
			}
		})
	}
	wg.Wait()
	v.s.log.Close()
	defer func() { v.s.log = access.OpenLog(v.st, v.clock.Now, v.s.o.Log) }() // the server closes it again
	rows, times := v.entries(store.AccessFilter{Refused: true, Limit: 10000}), 0
	for _, e := range rows {
		times += e.Times
	}
	if times != 400 || len(rows) > 40 {
		t.Errorf("%d rows for %d refusals", len(rows), times)
	}
	v.queueGoesOn()
}

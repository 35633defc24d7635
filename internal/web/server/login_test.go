package server

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/access"
)

// A browser comes in by a link once, writes with the CSRF token of its page, and is out after it has logged out.
func TestBrowserSession(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	code, err := v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Operate})
	if err != nil {
		t.Fatal(err)
	}
	a := v.ask("GET", "/login?next=/tasks/1&code="+code, "", nil)
	set := a.header.Get("Set-Cookie")
	if a.status != 303 || a.header.Get("Location") != "/tasks/1" || a.header.Get("Referrer-Policy") != "no-referrer" || strings.Contains(a.body, code) {
		t.Errorf("login: %+v", a)
	}
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="} {
		if !strings.Contains(set, want) {
			t.Errorf("cookie %q lacks %s", set, want)
		}
	}
	if again := v.ask("GET", "/login?code="+code, "", nil); again.status != 401 || again.code != "bad_code" || again.header.Get("Set-Cookie") != "" {
		t.Errorf("a link twice: %+v", again)
	}
	if old, err := v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Operate}); err != nil {
		t.Fatal(err)
	} else if v.clock.Advance(access.CodeLife); v.ask("GET", "/login?code="+old, "", nil).status != 401 {
		t.Error("a link after its minute")
	}

	c, csrf := v.login(access.Operate)
	if a := v.do(c, "POST", "/api/v1/things", "{}", header{"X-CSRF-Token": csrf, "Origin": v.url, "Sec-Fetch-Site": "same-origin"}); a.status != 201 {
		t.Errorf("a write with its token: %+v", a)
	}
	form := header{"Content-Type": "application/x-www-form-urlencoded"}
	if a := v.do(c, "POST", "/api/v1/things", url.Values{"csrf_token": {csrf}, "x": {"y"}}.Encode(), form); a.status != 201 {
		t.Errorf("a form: %+v", a)
	}
	if a := v.do(c, "POST", "/api/v1/things", url.Values{"x": {"y"}}.Encode(), form); a.status != 403 || a.code != "csrf" {
		t.Errorf("a form without a token: %+v", a)
	}
	if _, other := v.login(access.Operate); v.do(c, "POST", "/api/v1/things", "", header{"X-CSRF-Token": other}).status != 403 {
		t.Error("the CSRF token of another session is taken")
	}
	if a := v.do(c, "DELETE", "/api/v1/things", "", header{"X-CSRF-Token": csrf}); a.status != 403 || a.code != "role" {
		t.Errorf("beyond the role: %+v", a)
	}
	if a := v.do(c, "POST", "/logout", "", header{"X-CSRF-Token": csrf}); a.status != 303 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %+v", a)
	}
	keeps := client(nil)
	if a := v.do(keeps, "GET", "/api/v1/things", "", header{"Cookie": strings.Split(set, ";")[0]}); a.status != 200 {
		t.Errorf("another browser of the same person: %+v", a)
	}
	if a := v.do(c, "GET", "/api/v1/things", "", nil); a.status != 401 {
		t.Errorf("after the logout: %+v", a)
	}
	names := map[string]int{}
	for _, e := range v.entries(store.AccessFilter{Name: "ann"}) {
		names[e.Action]++
	}
	if names["login"] != 3 || names["POST /logout"] != 1 || names["POST /api/v1/things"] < 2 {
		t.Errorf("the record: %v", names)
	}
}

// A session ends when it is idle, and at last in any case.
func TestSessionExpiry(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	idle, _ := v.login(access.Read)
	v.clock.Advance(access.SessionIdle)
	if a := v.do(idle, "GET", "/api/v1/things", "", nil); a.status != 401 || !strings.Contains(a.body, "expired") {
		t.Errorf("idle: %+v", a)
	}
	busy, _ := v.login(access.Read)
	for passed := time.Duration(0); passed < access.SessionLife-access.SessionIdle/2; passed += access.SessionIdle / 2 {
		if a := v.do(busy, "GET", "/api/v1/things", "", nil); a.status != 200 {
			t.Fatalf("after %s: %+v", passed, a)
		}
		v.clock.Advance(access.SessionIdle / 2)
	}
	v.clock.Advance(access.SessionIdle / 2)
	if a := v.do(busy, "GET", "/api/v1/things", "", nil); a.status != 401 {
		t.Errorf("after its life: %+v", a)
	}
}

// An attacker cannot give a browser a session, guess a login link, or redirect anyone with one.
func TestLoginAttacks(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	chosen := "deeds_" + strings.Repeat("a", 71)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := url.Parse(v.url)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(here, []*http.Cookie{{Name: v.s.cookie, Value: chosen, Path: "/"}})
	code, err := v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Read})
	if err != nil {
		t.Fatal(err)
	}
	v.do(client(jar), "GET", "/login?code="+code, "", nil)
	if got := jar.Cookies(here); len(got) != 1 || got[0].Value == chosen {
		t.Errorf("the session was fixed: %+v", got)
	}
	if a := v.ask("GET", "/api/v1/things", "", header{"Cookie": v.s.cookie + "=" + chosen}); a.status != 401 {
		t.Errorf("the chosen session: %+v", a)
	}
	if a := v.ask("GET", "/api/v1/things", "", header{"Cookie": v.s.cookie + "=x; " + v.s.cookie + "=y"}); a.status != 401 {
		t.Errorf("two cookies: %+v", a)
	}
	// The second login of a browser ends its first session.
	c, _ := v.login(access.Read)
	first := c.Jar.Cookies(here)[0].Value
	if code, err = v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Read}); err != nil {
		t.Fatal(err)
	}
	v.do(c, "GET", "/login?code="+code, "", nil)
	if a := v.ask("GET", "/api/v1/things", "", header{"Cookie": v.s.cookie + "=" + first}); a.status != 401 {
		t.Errorf("the first session: %+v", a)
	}
	slowed := false
	for range 60 {
		a := v.ask("GET", "/login?code=guess", "", nil)
		if a.status != 401 && a.status != 429 || a.header.Get("Set-Cookie") != "" {
			t.Fatalf("a guess: %+v", a)
		}
		slowed = slowed || a.status == 429
	}
	if !slowed {
		t.Error("guesses are not slowed down")
	}
	v.login(access.Read) // and a client with a login link still gets in
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil", "/a\r\nSet-Cookie: x=y", "javascript:alert(1)"} {
		if got := landing(next); got != "/" {
			t.Errorf("next %q leads to %q", next, got)
		}
	}
	for range 100 {
		_, err = v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Read})
	}
	if err == nil {
		t.Error("codes without end")
	}
	v.queueGoesOn()
}

// Codes are given to who may: a role that is at most the asker's.
func TestCodesOverTheWire(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	for role, want := range map[access.Role]int{access.Read: 403, access.Operate: 403, access.Admin: 200} {
		if a := v.ask("POST", "/access/code", `{"role":"read"}`, header{"Authorization": "Bearer " + v.token(role)}); a.status != want {
			t.Errorf("%s: %+v", role, a)
		}
	}
	for _, bad := range []string{"", "{", `{"role":"root"}`, `{"role":"public"}`, `{"rolle":"read"}`} {
		if a := v.ask("POST", "/access/code", bad, header{"Authorization": "Bearer " + v.token(access.Admin)}); a.status != 400 {
			t.Errorf("%q: %+v", bad, a)
		}
	}
	resp, err := Client(v.home).Post("http://deed/access/code", "application/json", strings.NewReader(`{"role":"admin"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var code CodeAnswer
	if err := json.NewDecoder(resp.Body).Decode(&code); err != nil || code.Code == "" {
		t.Fatalf("%+v %v", code, err)
	}
	if a := v.ask("GET", "/login?code="+code.Code, "", nil); a.status != 303 {
		t.Errorf("login: %+v", a)
	}
}

// A stream ends with what let it in, and with the server.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	token := v.token(access.Read)
	open := func() *bufio.Reader {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client(nil).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		r := bufio.NewReader(resp.Body)
		if line, err := r.ReadString('\n'); err != nil || line != ": open\n" {
			t.Fatalf("%q %v", line, err)
		}
		return r
	}
	stream := open()
	if _, err := v.s.keeper.Revoke(t.Context(), mustID(t, v, token), "me"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(stream); err != nil || !strings.Contains(string(rest), "data: revoked") {
		t.Errorf("after the token was revoked: %q %v", rest, err)
	}
	token = v.token(access.Read)
	stream = open()
	v.s.endOver() // as Shutdown does first
	if rest, err := io.ReadAll(stream); err != nil || !strings.Contains(string(rest), "data: the server ends") {
		t.Errorf("at the end of the server: %q %v", rest, err)
	}
}

// TLS: the cookie is bound to its host, HTTP/2 is spoken, the names of the certificate are the server's, plain text is not answered.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificateFiles(t, "deed.example")
	v := newSite(t, func(o *Options) { o.TLSCert, o.TLSKey = cert, key })
	if !strings.HasPrefix(v.url, "https://127.0.0.1:") {
		t.Fatal(v.url)
	}
	code, err := v.s.codes.Issue(access.Principal{Name: "ann", Role: access.Read})
	if err != nil {
		t.Fatal(err)
	}
	c := client(nil)
	c.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "deed.example"}}
	defer c.CloseIdleConnections()
	a := v.do(c, "GET", "/login?code="+code, "", header{"Host": "deed.example"})
	if set := a.header.Get("Set-Cookie"); a.status != 303 || !strings.HasPrefix(set, "__Host-") || !strings.Contains(set, "Secure") {
		t.Errorf("cookie: %+v", a)
	}
	if a := v.do(c, "GET", "/healthz", "", header{"Host": "evil.example"}); a.status != 421 {
		t.Errorf("another name: %+v", a)
	}
	if a := v.do(c, "GET", "/healthz", "", header{"Host": "deed.example", "Origin": "http://deed.example"}); a.status != 403 {
		t.Errorf("an origin in clear text: %+v", a)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatalf("HTTP/2: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	if first, _ := v.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); !strings.HasPrefix(first, "HTTP/1.0 400") {
		t.Errorf("plain text on the TLS port: %q", first)
	}
}

// A renewed certificate is presented to the next client, without a restart. Half of a renewal, and rubbish, leave the old one.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	cert, key, old := certificateFiles(t, "deed.example")
	newCert, newKey, renewed := certificateFiles(t, "deed.example")
	v := newSite(t, func(o *Options) { o.TLSCert, o.TLSKey = cert, key })
	// shown reports whether a client that trusts only one certificate gets through, after the server has looked at the
	// files.
	shown := func(pool *x509.CertPool) bool {
		t.Helper()
		v.s.cert.mu.Lock()
		v.s.cert.looked = time.Time{}
		v.s.cert.mu.Unlock()
		conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: "deed.example"}}).DialContext(t.Context(), "tcp", v.s.Addr().String())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	replace := func(file, with string) {
		t.Helper()
		text, err := os.ReadFile(with)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil { // a clock may be coarse
			t.Fatal(err)
		}
	}
	if !shown(old) || shown(renewed) {
		t.Fatal("the first certificate is not the one of the file")
	}
	replace(cert, newCert) // with the old key
	if !shown(old) || shown(renewed) {
		t.Error("half of a renewal was taken")
	}
	replace(key, newKey)
	if shown(old) || !shown(renewed) {
		t.Error("the renewed certificate is not shown")
	}
	replace(cert, newKey) // no certificate at all
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if !shown(renewed) {
		t.Error("without files the certificate is gone")
	}
}

func certificateFiles(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name, "*.wild.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(cert, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return cert, key, pool
}

// Settings that would open a door, or cannot work, are refused before anything listens.
func TestSettings(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	cert, key, _ := certificateFiles(t, "deed.example")
	for name, c := range map[string]struct {
		change func(*Options)
		want   string // empty: it is taken
	}{
		"every address":          {func(o *Options) { o.Listen = "0.0.0.0:0" }, "--tls-cert"},
		"every v6 address":       {func(o *Options) { o.Listen = "[::]:0" }, "--tls-cert"},
		"no host":                {func(o *Options) { o.Listen = ":0" }, "--tls-cert"},
		"a name":                 {func(o *Options) { o.Listen = "deed.example:0" }, "--tls-cert"},
		"an address":             {func(o *Options) { o.Listen = "10.0.0.7:0" }, "--tls-cert"},
		"no port":                {func(o *Options) { o.Listen = "127.0.0.1" }, "HOST:PORT"},
		"a certificate alone":    {func(o *Options) { o.TLSCert = cert }, "--tls-key"},
		"a key in its place":     {func(o *Options) { o.TLSCert, o.TLSKey = key, key }, "TLS certificate"},
		"a host with a port":     {func(o *Options) { o.Hosts = []string{"a:1"} }, "--host"},
		"a host with a wildcard": {func(o *Options) { o.Hosts = []string{"*.a"} }, "--host"},
		"insecure, as told":      {func(o *Options) { o.Listen, o.Insecure = "0.0.0.0:0", true }, ""},
		"every address with TLS": {func(o *Options) { o.Listen, o.TLSCert, o.TLSKey = "0.0.0.0:0", cert, key }, ""},
		"v6 loopback":            {func(o *Options) { o.Listen = "[::1]:0" }, ""},
		"another loopback":       {func(o *Options) { o.Listen = "127.0.0.9:0" }, ""},
		"localhost":              {func(o *Options) { o.Listen = "localhost:0" }, ""},
	} {
		o := v.s.o
		o.Listen = "127.0.0.1:0"
		c.change(&o)
		_, err := New(o)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The file says where the server is while it lives.
	at, err := Find(v.home)
	if err != nil || at.URL != v.url || at.PID != os.Getpid() || at.Socket != socketPath(v.home) {
		t.Errorf("found %+v: %v", at, err)
	}
	// Without a route: the error comes in the form that the client reads.
	if a := v.ask("GET", "/api/v1/nothing", "", nil); a.status != 404 || a.code != "not_found" {
		t.Errorf("no route: %+v", a)
	}
	if a := v.ask("PUT", "/api/v1/things", "", nil); a.status != 405 || a.header.Get("Allow") == "" {
		t.Errorf("no method: %+v", a)
	}
	a := v.ask("GET", "/<script>alert(1)</script>", "", header{"Accept": "text/html"})
	if a.status != 404 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || strings.Contains(a.body, "<script") {
		t.Errorf("a page: %+v", a)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := a.header.Get(name); !strings.Contains(got, want) || strings.Contains(got, "unsafe") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

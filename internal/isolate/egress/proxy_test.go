package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/isolate/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a test waits for; it is never reached when all is well.
const patience = 20 * time.Second

// A world is a proxy and what it logged.
type world struct {
	t      testing.TB
	socket string
	proxy  *egress.Proxy
	log    chan egress.Connection
}

func start(t testing.TB, o egress.Options, allow ...string) *world {
	t.Helper()
	rules, err := egress.ParseRules(allow)
	if err != nil {
		t.Fatal(err)
	}
	o.Rules = rules
	return startWith(t, o)
}

func startWith(t testing.TB, o egress.Options) *world {
	t.Helper()
	w := &world{t: t, log: make(chan egress.Connection, 1000)}
	// Below TMPDIR itself: the path of a socket is short, and the name of a test is not.
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.socket = filepath.Join(dir, "s")
	o.Log = func(c egress.Connection) { w.log <- c }
	if w.proxy, err = egress.Listen(w.socket, o); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.proxy.Serve(context.Background()) }()
	t.Cleanup(func() {
		if err := w.proxy.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(w.socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
		close(w.log)
		for c := range w.log {
			t.Errorf("logged and not expected: %+v", c)
		}
	})
	return w
}

func (w *world) dial() *net.UnixConn {
	w.t.Helper()
	c, err := net.Dial("unix", w.socket)
	if err != nil {
		w.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	w.t.Cleanup(func() { c.Close() })
	return c.(*net.UnixConn)
}

// next returns the next record of the log.
func (w *world) next() egress.Connection {
	w.t.Helper()
	select {
	case c := <-w.log:
		return c
	case <-time.After(patience):
		w.t.Fatal("nothing was logged")
		panic("unreachable")
	}
}

// ask sends raw text and returns the answer.
func (w *world) ask(raw string) reply {
	w.t.Helper()
	c := w.dial()
	go io.WriteString(c, raw)
	return response(w.t, bufio.NewReader(c), "GET")
}

// A reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	text   string
}

func response(t testing.TB, br *bufio.Reader, method string) reply {
	t.Helper()
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return reply{resp.StatusCode, resp.Header, text(t, resp)}
}

func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// client is an HTTP client behind the forwarder, as a program in a sandbox is.
func (w *world) client() *http.Client {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- egress.Forward(ctx, w.socket, egress.Door{Listener: l}) }()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})}
	w.t.Cleanup(func() {
		tr.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	return &http.Client{Transport: tr, Timeout: patience}
}

func echo(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Seen", strings.Join([]string{r.Host, r.Method, r.RequestURI, r.Header.Get("X-Mine"), r.Header.Get("X-Secret"), r.Header.Get("Proxy-Authorization"), r.Header.Get("Upgrade")}, "|"))
		fmt.Fprintf(rw, "%d %s", len(b), r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

func host(s *httptest.Server) string { return s.Listener.Addr().String() }

// TestLongSocketPath listens where the address of a socket has no room for the path.
func TestLongSocketPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux names a socket from its directory")
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 200), strings.Repeat("y", 200))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	p, err := egress.Listen(socket, egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(socket); err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := egress.Listen(socket, egress.Options{}); err == nil {
		t.Error("a path that is taken was taken again")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := egress.Listen(filepath.Join(dir, strings.Repeat("z", 120)), egress.Options{}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a long name: %v", err)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	t.Parallel()
	w := start(t, egress.Options{})
	info, err := os.Lstat(w.socket)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if _, err := egress.Listen(w.socket, egress.Options{}); err == nil {
		t.Error("a socket in use was taken")
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	up := echo(t)
	w := start(t, egress.Options{}, host(up))
	resp := w.ask("POST http://" + host(up) + "/a/b?q=1 HTTP/1.1\r\nHost: " + host(up) + "\r\nContent-Length: 3\r\nX-Mine: yes\r\nConnection: close, X-Secret\r\nX-Secret: hop\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\n\r\nabc")
	if got, want := resp.header.Get("X-Seen"), host(up)+"|POST|/a/b?q=1|yes|||"; got != want {
		t.Errorf("the server saw %s, want %s", got, want)
	}
	if resp.text != "3 /a/b" {
		t.Errorf("answer is %+v", resp)
	}
	c := w.next()
	if !c.Allowed || c.Rule != host(up) || c.Address != host(up) || c.Method != http.MethodPost || c.BytesOut == 0 || c.BytesIn == 0 || c.Duration <= 0 || c.Reason != "" || c.At.IsZero() {
		t.Errorf("record is %+v", c)
	}
}

func TestClientsBehindTheForwarder(t *testing.T) {
	t.Parallel()
	plain := echo(t)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprint(rw, len(b))
	}))
	t.Cleanup(secure.Close)
	w := start(t, egress.Options{}, host(plain), host(secure))
	client := w.client()
	client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	for _, size := range []int{0, 1, 100_000, 3 << 20} {
		// A body of unknown length is sent in chunks.
		resp, err := client.Post(plain.URL+"/x", "text/plain", io.MultiReader(strings.NewReader(strings.Repeat("x", size))))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, resp); got != fmt.Sprint(size, " /x") {
			t.Errorf("plain: %s", got)
		}
		resp.Body.Close()
		if c := w.next(); !c.Allowed || c.Reason != "" || c.BytesOut < int64(size) {
			t.Errorf("record is %+v", c)
		}
		resp, err = client.Post(secure.URL, "text/plain", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, resp); got != fmt.Sprint(size) {
			t.Errorf("tunnel: %s", got)
		}
		resp.Body.Close()
	}
	client.CloseIdleConnections()
	if c := w.next(); c.Method != http.MethodConnect || !c.Allowed || c.BytesOut < 3<<20 || c.BytesIn == 0 {
		t.Errorf("record is %+v", c)
	}
	resp, err := client.Get("http://denied.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status is %d", resp.StatusCode)
	}
	if c := w.next(); c.Allowed || c.Host != "denied.example" {
		t.Errorf("record is %+v", c)
	}
	if resp, err := client.Get("https://denied.example/"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		resp.Body.Close()
		t.Errorf("a denied tunnel: %v", err)
	}
	w.next()
}

func TestEachRequestIsJudged(t *testing.T) {
	t.Parallel()
	up, other := echo(t), echo(t)
	w := start(t, egress.Options{}, host(up))
	c := w.dial()
	br := bufio.NewReader(c)
	for i := range 3 {
		// The next request is sent with this one's body, as a client that pipelines does.
		fmt.Fprintf(c, "PUT http://%s/%d HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", host(up), i, host(up))
	}
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\nGET http://%s/ HTTP/1.1\r\n\r\n", host(other), host(other), host(up))
	for i := range 3 {
		if got := response(t, br, "PUT").text; got != fmt.Sprintf("3 /%d", i) {
			t.Errorf("answer %d is %s", i, got)
		}
		if r := w.next(); !r.Allowed {
			t.Errorf("record is %+v", r)
		}
	}
	resp := response(t, br, "GET")
	if resp.status != http.StatusForbidden || !strings.Contains(resp.text, host(other)) {
		t.Errorf("answer is %+v", resp)
	}
	if r := w.next(); r.Allowed || r.Rule != "not-allowed" || r.Remedy == "" || !strings.Contains(r.Reason, host(other)) {
		t.Errorf("record is %+v", r)
	}
	if n, err := br.Read(make([]byte, 1)); n > 0 {
		t.Errorf("more after a refusal: %v", err)
	}
}

func TestHeadAndEmptyAnswers(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			rw.WriteHeader(http.StatusNoContent)
		case "/stream":
			rw.(http.Flusher).Flush()
			io.WriteString(rw, "streamed")
		case "/early":
			rw.WriteHeader(http.StatusEarlyHints)
			io.WriteString(rw, "late")
		}
	}))
	t.Cleanup(up.Close)
	w := start(t, egress.Options{}, host(up))
	c := w.dial()
	br := bufio.NewReader(c)
	for _, x := range []struct{ method, path, body string }{{"HEAD", "/", ""}, {"GET", "/204", ""}, {"GET", "/stream", "streamed"}, {"GET", "/early", "late"}, {"GET", "", ""}} {
		fmt.Fprintf(c, "%s http://%s%s HTTP/1.1\r\nHost: %s\r\n\r\n", x.method, host(up), x.path, host(up))
		if got := response(t, br, x.method).text; got != x.body {
			t.Errorf("%s: %q", x.path, got)
		}
		w.next()
	}
}

// canned is a server that reads a head, says the same to everybody, and closes.
func canned(t testing.TB, reply string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, reply)
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reply string
		status      int
		body        string
		reason      bool // the log says that something went wrong
		cut         bool // the client can tell that the answer is not whole
	}{
		{"hop by hop", "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false, false},
		{"until the end", "HTTP/1.0 200 OK\r\n\r\nall of it", 200, "all of it", false, false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok", false, false},
		{"too short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", 200, "ok", true, true},
		{"cut chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", 200, "ok", true, true},
		{"nothing", "", 502, "", true, false},
		{"nonsense", "SSH-2.0-OpenSSH\r\n", 502, "", true, false},
		{"other protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502, "", true, false},
		{"endless interim", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100), 502, "", true, false},
		{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: yyyyyyyyyyyyyyyyyyyy\r\n", 10_000), 502, "", true, false},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			up := canned(t, c.reply)
			w := start(t, egress.Options{}, up)
			conn := w.dial()
			fmt.Fprintf(conn, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", up, up)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != c.status || c.body != "" && string(body) != c.body || (err != nil) != c.cut {
				t.Errorf("%d %q, %v", resp.StatusCode, body, err)
			}
			for _, name := range []string{"Connection", "X-Hop", "Keep-Alive", "Upgrade"} {
				if c.status == 200 && resp.Header.Get(name) != "" {
					t.Errorf("%s went through", name)
				}
			}
			if r := w.next(); !r.Allowed || (r.Reason != "") != c.reason {
				t.Errorf("record is %+v", r)
			}
		})
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	up := echo(t)
	w := start(t, egress.Options{}, host(up))
	c := w.dial()
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "POST http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n", host(up), host(up))
	if line, err := br.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	br.ReadString('\n')
	io.WriteString(c, "ok")
	if got := response(t, br, "POST").text; got != "2 /" {
		t.Error(got)
	}
	w.next()
}

func TestHTTP10(t *testing.T) {
	t.Parallel()
	up := echo(t)
	w := start(t, egress.Options{}, host(up))
	c := w.dial()
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.0\r\n\r\n", host(up))
	b, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.0 200 OK\r\n")) || !bytes.HasSuffix(b, []byte("\r\n\r\n0 /")) {
		t.Errorf("%q, %v", b, err)
	}
	w.next()
}

// TestMalformedRequests: none of these may reach the server as a whole request.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			reached.Add(1)
		}
	}))
	t.Cleanup(up.Close)
	h := host(up)
	w := start(t, egress.Options{}, h)
	port := h[strings.LastIndex(h, ":"):]
	post := "POST http://" + h + "/ HTTP/1.1\r\nHost: " + h + "\r\n"
	cases := []struct {
		name, raw string
		status    int
		rule      string
	}{
		{"length and chunked", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET", 400, "framing"},
		{"two lengths", post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", 400, "framing"},
		{"list of lengths", post + "Content-Length: 5, 5\r\n\r\nabcde", 400, "framing"},
		{"signed length", post + "Content-Length: +5\r\n\r\nabcde", 400, "framing"},
		{"hexadecimal length", post + "Content-Length: 0x5\r\n\r\nabcde", 400, "framing"},
		{"huge length", post + "Content-Length: 99999999999999999999\r\n\r\n", 400, "framing"},
		{"empty length", post + "Content-Length:\r\n\r\n", 400, "framing"},
		{"two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "framing"},
		{"coding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501, "framing"},
		{"odd coding", post + "Transfer-Encoding: xchunked\r\n\r\n", 501, "framing"},
		{"coding with tab inside", post + "Transfer-Encoding: \x0bchunked\r\n\r\n", 400, "syntax"},
		{"coding in 1.0", "POST http://" + h + "/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "framing"},
		{"bad chunk size", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", 400, ""},
		{"negative chunk", post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", 400, ""},
		{"chunk too long", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", 400, ""},
		{"bare LF in a chunk", post + "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", 400, ""},
		{"trailer", post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n", 400, ""},
		{"folded field", post + "X-A: b\r\n c\r\n\r\n", 400, "syntax"},
		{"folded first field", "GET http://" + h + "/ HTTP/1.1\r\n Host: " + h + "\r\n\r\n", 400, "syntax"},
		{"space before colon", post + "Content-Length : 5\r\n\r\nabcde", 400, "syntax"},
		{"field without colon", post + "nonsense\r\n\r\n", 400, "syntax"},
		{"empty name", post + ": x\r\n\r\n", 400, "syntax"},
		{"control character", post + "X: a\x00b\r\n\r\n", 400, "syntax"},
		{"bare CR", post + "X: a\rb\r\n\r\n", 400, "syntax"},
		{"bare LF", "GET http://" + h + "/ HTTP/1.1\nHost: " + h + "\n\n", 400, "syntax"},
		{"empty line first", "\r\nGET http://" + h + "/ HTTP/1.1\r\n\r\n", 400, "syntax"},
		{"two blanks", "GET  http://" + h + "/ HTTP/1.1\r\n\r\n", 400, "syntax"},
		{"blank in the path", "GET http://" + h + "/a b HTTP/1.1\r\n\r\n", 400, "syntax"},
		{"no version", "GET http://" + h + "/\r\n\r\n", 400, "syntax"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "syntax"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\n", 400, "syntax"},
		{"not a proxy request", "GET / HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "proxy-form"},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "proxy-form"},
		{"https in plain", "GET https://" + h + "/ HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "proxy-form"},
		{"ftp", "GET ftp://" + h + "/ HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "proxy-form"},
		{"user in the URL", "GET http://a@" + h + "/ HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "target"},
		{"fragment", "GET http://" + h + "/#" + " HTTP/1.1\r\nHost: " + h + "\r\n\r\n", 400, "target"},
		{"backslash", `GET http://` + h + `\@evil.example/ HTTP/1.1` + "\r\nHost: " + h + "\r\n\r\n", 400, "target"},
		{"no Host", "GET http://" + h + "/ HTTP/1.1\r\n\r\n", 400, "host-agrees"},
		{"two Hosts", "GET http://" + h + "/ HTTP/1.1\r\nHost: " + h + "\r\nHost: " + h + "\r\n\r\n", 400, "host-agrees"},
		{"another Host", "GET http://" + h + "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400, "host-agrees"},
		{"another port", "GET http://" + h + "/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 400, "host-agrees"},
		{"Host without the port", "GET http://" + h + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400, "host-agrees"},
		{"another Host in CONNECT", "CONNECT " + h + " HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 400, "host-agrees"},
		{"body in CONNECT", "CONNECT " + h + " HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 400, "framing"},
		{"CONNECT without a port", "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT with a URL", "CONNECT http://" + h + "/ HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT short", "CONNECT 127.1" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT octal", "CONNECT 0177.0.0.1" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT hexadecimal", "CONNECT 0x7f.0.0.1" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT one number", "CONNECT 2130706433" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT one hexadecimal number", "CONNECT 0x7f000001" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT padded", "CONNECT 127.000.000.001" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT mapped", "CONNECT [::ffff:127.0.0.1]" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT mapped in hexadecimal", "CONNECT [::ffff:7f00:1]" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"CONNECT zone", "CONNECT [::1%lo]" + port + " HTTP/1.1\r\n\r\n", 400, "target"},
		{"expectation", post + "Expect: miracle\r\nContent-Length: 1\r\n\r\nx", 417, "syntax"},
		{"large head", post + "X: " + strings.Repeat("x", 70_000) + "\r\n\r\n", 431, "limits"},
		{"many fields", post + strings.Repeat("X: y\r\n", 20_000) + "\r\n", 431, "limits"},
		{"cut off", "GET http://" + h, 0, "syntax"},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			conn := w.dial()
			go func() {
				io.WriteString(conn, c.raw)
				if c.status == 0 || c.name == "cut off" {
					conn.CloseWrite()
				}
			}()
			b, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
			if err != nil {
				t.Fatalf("%q: %v", b, err)
			}
			defer resp.Body.Close()
			if c.status != 0 && resp.StatusCode != c.status {
				t.Errorf("status is %d: %s", resp.StatusCode, b)
			}
			if body := text(t, resp); !strings.Contains(body, "remedy: ") {
				t.Errorf("no remedy: %s", body)
			}
			r := w.next()
			if c.rule != "" && (r.Allowed || r.Rule != c.rule) || r.Reason == "" || r.Remedy == "" {
				t.Errorf("record is %+v", r)
			}
		})
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// A fakeResolver answers by name, and counts.
type fakeResolver struct {
	answers map[string][]string
	mu      sync.Mutex
	asked   []string
}

func (f *fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, host)
	var out []netip.Addr
	for _, a := range f.answers[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, nil
}

func TestNames(t *testing.T) {
	t.Parallel()
	up := echo(t)
	res := &fakeResolver{answers: map[string][]string{
		"good.example.": {"93.184.216.34"}, "two.example.": {"93.184.216.35", "2606:2800:220:1::1"}, "a.b.wild.example.": {"93.184.216.36"}, "wild.example.": {"93.184.216.36"},
		"private.example.": {"10.0.0.7"}, "mixed.example.": {"93.184.216.34", "127.0.0.1"}, "meta.example.": {"169.254.169.254"},
		"mapped.example.": {"::ffff:127.0.0.1"}, "nat.example.": {"64:ff9b::7f00:1"},
	}}
	w := start(t, egress.Options{Resolver: res}, "good.example", "two.example:443", "*.wild.example", "private.example", "mixed.example", "meta.example", "mapped.example", "nat.example", "gone.example")
	var dialled []string // requests are one after the other
	w.proxy.SetDial(func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		if address == "93.184.216.35:443" {
			return nil, errors.New("refused")
		}
		var d net.Dialer
		return d.DialContext(ctx, network, host(up))
	})
	for _, c := range []struct {
		target  string
		status  int
		rule    string
		address string
		asked   bool
	}{
		{"good.example:443", 200, "good.example", "93.184.216.34:443", true},
		{"GOOD.example.:80", 200, "good.example", "93.184.216.34:80", true},
		{"good.example:8080", 403, "not-allowed", "", false},
		{"two.example:443", 200, "two.example:443", "[2606:2800:220:1::1]:443", true},
		{"two.example:80", 403, "not-allowed", "", false},
		{"a.b.wild.example:443", 200, "*.wild.example", "93.184.216.36:443", true},
		{"wild.example:443", 403, "not-allowed", "", false},
		{"evilwild.example:443", 403, "not-allowed", "", false},
		{"good.example.evil.example:443", 403, "not-allowed", "", false},
		{"93.184.216.34:443", 403, "not-allowed", "", false},
		{"127.0.0.1:443", 403, "not-allowed", "", false},
		{"[::1]:443", 403, "not-allowed", "", false},
		{"169.254.169.254:80", 403, "not-allowed", "", false},
		{"localhost:443", 403, "not-allowed", "", false},
		{"private.example:443", 403, "address", "10.0.0.7:443", true},
		{"mixed.example:443", 403, "address", "127.0.0.1:443", true},
		{"meta.example:80", 403, "never-allowed", "169.254.169.254:80", true},
		{"mapped.example:443", 403, "address", "[::ffff:127.0.0.1]:443", true},
		{"nat.example:443", 403, "address", "[64:ff9b::7f00:1]:443", true},
		{"gone.example:443", 502, "host-not-reachable", "", true},
	} {
		before, dials := len(res.asked), len(dialled)
		conn := w.dial()
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", c.target, c.target)
		br := bufio.NewReader(conn)
		line, err := br.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
			t.Errorf("%s: %q, %v", c.target, line, err)
		}
		conn.Close()
		r := w.next()
		if r.Allowed != (c.status == 200) || r.Rule != c.rule || r.Address != c.address {
			t.Errorf("%s: record is %+v", c.target, r)
		}
		if asked := len(res.asked) - before; asked > 1 || (asked == 1) != c.asked {
			t.Errorf("%s: the resolver was asked %d times", c.target, asked)
		}
		if c.status == 403 && len(dialled) != dials {
			t.Errorf("%s: %v was dialled", c.target, dialled[dials:])
		}
		if c.status == 200 && dialled[len(dialled)-1] != c.address {
			t.Errorf("%s: dialled %v and logged %s", c.target, dialled, c.address)
		}
	}
}

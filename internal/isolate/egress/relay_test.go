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
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/isolate/egress"
)

// server gives each connection to fn.
func server(t testing.TB, fn func(c *net.TCPConn)) string {
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
			wg.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				fn(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// tunnel opens a tunnel and reads the answer to CONNECT.
func (w *world) tunnel(c net.Conn, target, early string) {
	w.t.Helper()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", target, target, early)
	want := "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		w.t.Fatalf("%q, %v", got, err)
	}
}

// upper reads to the end and only then answers: it needs the end of one direction while the other is open.
func upper(c *net.TCPConn) {
	b, err := io.ReadAll(c)
	if err == nil {
		c.Write(bytes.ToUpper(b))
	}
}

func TestTunnelHalfClose(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	w := start(t, egress.Options{}, up)
	c := w.dial()
	w.tunnel(c, up, "early ") // sent before the answer to CONNECT
	big := strings.Repeat("later", 1<<18)
	go func() {
		io.WriteString(c, big)
		c.CloseWrite()
	}()
	b, err := io.ReadAll(c)
	if want := "EARLY " + strings.ToUpper(big); err != nil || string(b) != want {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if r := w.next(); r.BytesOut != int64(len(b)) || r.BytesIn != int64(len(b)) || r.Reason != "" {
		t.Errorf("record is %+v", r)
	}
}

func TestForwardHalfClose(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	w := start(t, egress.Options{}, up)
	c := w.forwarded()
	w.tunnel(c, up, "")
	io.WriteString(c, "words")
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil || string(b) != "WORDS" {
		t.Errorf("%q, %v", b, err)
	}
	w.next()
}

// forwarded returns a connection to a forwarder.
func (w *world) forwarded() *net.TCPConn {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- egress.Forward(ctx, w.socket, egress.Door{Listener: l}) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	w.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func TestForwardWithoutProxy(t *testing.T) {
	t.Parallel()
	w := start(t, egress.Options{})
	if err := w.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	resp := response(t, bufio.NewReader(w.forwarded()), "GET")
	if resp.status != http.StatusBadGateway || !strings.Contains(resp.text, "the proxy does not answer") {
		t.Errorf("answer is %+v", resp)
	}
}

// TestGoneClient: the idle time is an hour, and yet nothing is left.
func TestGoneClient(t *testing.T) {
	t.Parallel()
	ended, hold := make(chan error, 2), make(chan struct{})
	silent := server(t, func(c *net.TCPConn) {
		_, err := io.Copy(io.Discard, c)
		ended <- err
		<-hold // says nothing, and stays when the client has gone
	})
	t.Cleanup(func() { close(hold) })
	w := start(t, egress.Options{IdleTimeout: time.Hour}, silent)
	c := w.dial()
	w.tunnel(c, silent, "x")
	c.Close()
	if r := w.next(); !strings.Contains(r.Reason, "gone") || r.BytesOut != 1 {
		t.Errorf("record is %+v", r)
	}
	<-ended

	c = w.dial()
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", silent, silent)
	c.Close()
	if r := w.next(); !strings.Contains(r.Reason, "gone") {
		t.Errorf("record is %+v", r)
	}
	<-ended
}

// TestLastBytesOfAGoneClient: what a client sent before it hung up arrives.
func TestLastBytesOfAGoneClient(t *testing.T) {
	t.Parallel()
	got := make(chan int64, 1)
	up := server(t, func(c *net.TCPConn) {
		n, _ := io.Copy(io.Discard, c)
		got <- n
	})
	w := start(t, egress.Options{}, up)
	c := w.dial()
	w.tunnel(c, up, "")
	const size = 2 << 20
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if n := <-got; n != size {
		t.Errorf("%d bytes arrived", n)
	}
	w.next()
}

func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	silent := server(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	w := start(t, egress.Options{IdleTimeout: 500 * time.Millisecond}, silent)
	c := w.dial()
	w.tunnel(c, silent, "")
	if r := w.next(); !strings.Contains(r.Reason, "nothing was sent") {
		t.Errorf("record is %+v", r)
	}
	c = w.dial()
	fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", silent, silent)
	if resp := response(t, bufio.NewReader(c), "GET"); resp.status != http.StatusBadGateway {
		t.Errorf("answer is %+v", resp)
	}
	if r := w.next(); !strings.Contains(r.Reason, "nothing was sent") {
		t.Errorf("record is %+v", r)
	}
}

// TestSlowIsNotIdle: a tunnel on which one direction moves now and then lives on, though the other is silent and each
// pause is many waits long.
func TestSlowIsNotIdle(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	w := start(t, egress.Options{IdleTimeout: 10 * time.Second}, up)
	c := w.dial()
	w.tunnel(c, up, "")
	// Longer than one wait of the relay, which is a second at most: the copy is interrupted and must lose nothing.
	ticks := time.NewTicker(300 * time.Millisecond)
	defer ticks.Stop()
	for range 5 {
		<-ticks.C
		io.WriteString(c, "slowly ")
	}
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil || string(b) != strings.Repeat("SLOWLY ", 5) {
		t.Errorf("%q, %v", b, err)
	}
	w.next()
}

// TestClientThatDoesNotRead: it stops, and the proxy does not wait for it for ever.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	up := server(t, func(c *net.TCPConn) { io.Copy(c, lines{}) })
	w := start(t, egress.Options{IdleTimeout: 2 * time.Second}, up)
	c := w.dial()
	w.tunnel(c, up, "")
	if r := w.next(); r.Reason == "" || r.BytesIn == 0 {
		t.Errorf("record is %+v", r)
	}
}

type lines struct{}

func (lines) Read(p []byte) (int, error) { return copy(p, "line\n"), nil }

func TestHeadTimeout(t *testing.T) {
	t.Parallel()
	w := start(t, egress.Options{HeaderTimeout: 20 * time.Millisecond})
	for _, sent := range []string{"", "GET http://a.example/ HTTP/1.1\r\n"} {
		if resp := w.ask(sent); resp.status != http.StatusRequestTimeout {
			t.Errorf("%q: answer is %+v", sent, resp)
		}
		if r := w.next(); r.Allowed || r.Rule != "limits" || r.Remedy == "" {
			t.Errorf("record is %+v", r)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	w := start(t, egress.Options{MaxConnections: 2}, up)
	one, two := w.dial(), w.dial()
	w.tunnel(one, up, "")
	w.tunnel(two, up, "")
	if resp := response(t, bufio.NewReader(w.dial()), "GET"); resp.status != http.StatusServiceUnavailable {
		t.Errorf("answer is %+v", resp)
	}
	if r := w.next(); r.Allowed || r.Rule != "limits" {
		t.Errorf("record is %+v", r)
	}
	for _, c := range []*net.UnixConn{one, two} {
		c.CloseWrite()
		io.ReadAll(c)
		w.next()
	}
}

func TestEmptyConnectionIsNoRequest(t *testing.T) {
	t.Parallel()
	w := start(t, egress.Options{})
	c := w.dial()
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	silent := server(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	w := start(t, egress.Options{}, silent)
	c := w.dial()
	w.tunnel(c, silent, "")
	half := w.dial()
	io.WriteString(half, "GET http://")
	if err := w.proxy.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the tunnel is open")
	}
	if err := w.proxy.Close(); err != nil {
		t.Error(err)
	}
	if err := w.proxy.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	for len(w.log) > 0 { // the tunnel, and the half request if it was accepted
		<-w.log
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := egress.Listen(dir+"/s", egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("unix", dir+"/s"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	up := server(t, func(c *net.TCPConn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno\n")
	})
	w := start(t, egress.Options{}, up)
	c := w.forwarded()
	go func() {
		fmt.Fprintf(c, "POST http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 100000\r\n\r\n", up, up)
		io.WriteString(c, strings.Repeat("x", 1000)) // and no more
	}()
	if resp := response(t, bufio.NewReader(c), "POST"); resp.status != http.StatusRequestEntityTooLarge {
		t.Errorf("answer is %+v", resp)
	}
	if r := w.next(); !r.Allowed || r.Reason == "" {
		t.Errorf("record is %+v", r)
	}
}

// TestLogHoldsNoContent looks for what was sent in what was logged.
func TestLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	up := echo(t)
	w := start(t, egress.Options{}, host(up))
	w.ask("POST http://" + host(up) + "/hunter2?hunter2 HTTP/1.1\r\nHost: " + host(up) + "\r\nContent-Length: 7\r\nAuthorization: hunter2\r\nConnection: close\r\n\r\nhunter2")
	w.ask("GET http://denied.example/hunter2 HTTP/1.1\r\nHost: denied.example\r\nAuthorization: hunter2\r\n\r\n")
	w.ask("POST http://" + host(up) + "/hunter2 HTTP/1.1\r\nHost: " + host(up) + "\r\nhunter2: x\x00hunter2\r\n\r\n")
	w.ask("POST http://" + host(up) + "/hunter2 HTTP/1.1 hunter2\r\n\r\n")
	w.ask("CONNECT user:hunter2@a.example:443 HTTP/1.1\r\n\r\n")
	for range 5 {
		if r := w.next(); strings.Contains(fmt.Sprintf("%+v", r), "hunter2") {
			t.Errorf("record is %+v", r)
		}
	}
}

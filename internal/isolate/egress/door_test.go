package egress_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/isolate/egress"
)

// door opens doors to targets and returns where they listen.
func (w *world) door(targets ...string) []string {
	w.t.Helper()
	var doors []egress.Door
	var at []string
	for _, target := range targets {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		doors, at = append(doors, egress.Door{Listener: l, Target: target}), append(at, l.Addr().String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- egress.Forward(ctx, w.socket, doors...) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	return at
}

func (w *world) call(address string) *net.TCPConn {
	w.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	w.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// TestDoorsLeadToTheirTarget: each to its own, both ends of a connection end by themselves, and the log has them all.
func TestDoorsLeadToTheirTarget(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	first := server(t, func(c *net.TCPConn) { io.WriteString(c, "I speak first") })
	w := start(t, egress.Options{}, up, first)
	at := w.door(up, first, "")
	big := strings.Repeat("large and slow ", 1<<17)
	c := w.call(at[0])
	go func() {
		io.WriteString(c, big)
		c.CloseWrite()
	}()
	if b, err := io.ReadAll(c); err != nil || string(b) != strings.ToUpper(big) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if r := w.next(); !r.Allowed || r.Rule != up || r.Method != http.MethodConnect || r.BytesIn != int64(len(big)) || r.Reason != "" {
		t.Errorf("record is %+v", r)
	}
	c = w.call(at[1])
	if b, err := io.ReadAll(c); err != nil || string(b) != "I speak first" {
		t.Errorf("%q, %v", b, err)
	}
	c.Close()
	w.next()
	c = w.call(at[2]) // that of the proxy itself
	w.tunnel(c, up, "")
	io.WriteString(c, "words")
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil || string(b) != "WORDS" {
		t.Errorf("%q, %v", b, err)
	}
	w.next()
}

// TestDoorsDoNotLeadElsewhere: what a client says is for the target of the door, even when it is meant for the proxy.
func TestDoorsDoNotLeadElsewhere(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	other := server(t, func(*net.TCPConn) { t.Error("it was reached") })
	w := start(t, egress.Options{}, up)
	for _, text := range []string{
		"CONNECT " + other + " HTTP/1.1\r\nHost: " + other + "\r\n\r\n", "GET http://" + other + "/ HTTP/1.1\r\nHost: " + other + "\r\n\r\n", "\r\n\r\n",
	} {
		c := w.call(w.door(up)[0])
		io.WriteString(c, text)
		c.CloseWrite()
		if b, err := io.ReadAll(c); err != nil || string(b) != strings.ToUpper(text) {
			t.Errorf("%q, %v", b, err)
		}
		if r := w.next(); r.Rule != up {
			t.Errorf("record is %+v", r)
		}
	}
}

// TestDoorsThatAreShut reset a connection: a program must not wait, and must not take an end for an answer.
func TestDoorsThatAreShut(t *testing.T) {
	t.Parallel()
	silent := server(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	gone := server(t, upper)
	w := start(t, egress.Options{MaxConnections: 8}, "127.0.0.1:1")
	refused := func(address string) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err == nil { // it can be shut before it was seen to be open
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			_, err = c.Read(make([]byte, 1))
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	}
	at := w.door(gone, "127.0.0.1:1", "not a target", silent)
	for i, rule := range []string{"not-allowed", "host-not-reachable"} {
		refused(at[i])
		if r := w.next(); r.Allowed || r.Rule != rule {
			t.Errorf("record is %+v", r)
		}
	}
	refused(at[2])
	w.next()
	if err := w.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	refused(at[3])
}

// TestManyAtOnce: more connections than the forwarder carries at a time, each with its own bytes.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	w := start(t, egress.Options{MaxConnections: 1000}, up)
	at := w.door(up)[0]
	var wg sync.WaitGroup
	const many = 600
	for i := range many {
		wg.Go(func() {
			c, err := net.Dial("tcp", at)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			text := strings.Repeat(fmt.Sprint("client ", i, " "), 1000)
			io.WriteString(c, text)
			c.(*net.TCPConn).CloseWrite()
			if b, err := io.ReadAll(c); err != nil || sha256.Sum256(b) != sha256.Sum256([]byte(strings.ToUpper(text))) {
				t.Errorf("client %d: %d bytes, %v", i, len(b), err)
			}
		})
	}
	wg.Wait()
	for range many {
		w.next()
	}
}

// events sends an event, and the next one only when the client has told that it has the last.
func events(t *testing.T) (s *httptest.Server, seen chan<- struct{}) {
	t.Helper()
	got := make(chan struct{})
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-got:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s, got
}

// TestEventsArriveAsTheyAreSent: by a door, and by the proxy in plain HTTP.
func TestEventsArriveAsTheyAreSent(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"door", "proxy"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s, seen := events(t)
			w := start(t, egress.Options{}, host(s))
			url, client := s.URL, w.client()
			if by == "door" {
				url, client = "http://"+w.door(host(s))[0], &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			for i := 0; lines.Scan(); {
				if lines.Text() == "" {
					continue
				}
				if want := fmt.Sprint("data: ", i); lines.Text() != want {
					t.Fatalf("got %q, want %q", lines.Text(), want)
				}
				i++
				seen <- struct{}{}
			}
			if err := lines.Err(); err != nil {
				t.Error(err)
			}
			if r := w.next(); !r.Allowed {
				t.Errorf("record is %+v", r)
			}
		})
	}
}

// TestLocalhost is never looked up, leads to whichever address answers, and says who asked for it.
func TestLocalhost(t *testing.T) {
	t.Parallel()
	up := server(t, upper)
	_, port, _ := net.SplitHostPort(up)
	names := &fakeResolver{}
	rules, err := egress.ParseRules([]string{"a.example"})
	if err == nil {
		rules, err = egress.AddRules(rules, egress.OriginModel, []string{"A.example", "localhost:" + port, "[::1]:9"})
	}
	if err != nil || len(rules) != 3 || rules[0].Origin() != "" || rules[1].Origin() != "model" {
		t.Fatalf("%v, %v", rules, err)
	}
	if got := strings.Join(egress.Loopback(rules), " "); got != "localhost:"+port+" [::1]:9" {
		t.Errorf("loopback is %s", got)
	}
	w := startWith(t, egress.Options{Resolver: names, Rules: rules})
	for _, target := range []string{"localhost:" + port, up} {
		c := w.call(w.door(target)[0])
		io.WriteString(c, "words")
		c.CloseWrite()
		if b, err := io.ReadAll(c); err != nil || string(b) != "WORDS" {
			t.Errorf("%s: %q, %v", target, b, err)
		}
		if r := w.next(); r.Rule != "localhost:"+port || r.Address != up || r.Origin != "model" {
			t.Errorf("record is %+v", r)
		}
	}
	c := w.dial()
	fmt.Fprintf(c, "CONNECT x.localhost:%s HTTP/1.1\r\n\r\n", port)
	if resp := response(t, bufio.NewReader(c), "GET"); resp.status != http.StatusForbidden {
		t.Errorf("answer is %+v", resp)
	}
	w.next()
	if len(names.asked) > 0 {
		t.Errorf("looked up were %v", names.asked)
	}
}

//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/isolate/egress"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// proxy starts deed's proxy with rules and returns its socket and what it logs.
func proxy(t *testing.T, allow ...string) (socket string, log func() []egress.Connection) {
	t.Helper()
	rules, err := egress.ParseRules(allow)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []egress.Connection
	socket = filepath.Join(t.TempDir(), "proxy.sock")
	p, err := egress.Listen(socket, egress.Options{Rules: rules, Log: func(c egress.Connection) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(context.Background()) }()
	stop := sync.OnceFunc(func() {
		if err := errors.Join(p.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return socket, func() []egress.Connection {
		stop()
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// modelServer is a model server in small, on the address: it streams, and a client gets the next event only after it has
// the last one.
func modelServer(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("missing tool: an address %s: give the loopback interface one (%v)", address, err)
	}
	turns := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("GET /seen", func(http.ResponseWriter, *http.Request) { turns <- struct{}{} })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-turns:
			case <-r.Context().Done():
				return
			}
		}
	})
	s := httptest.NewUnstartedServer(mux)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return l.Addr().String()
}

// TestDoors has a process that knows no proxy talk to servers on the loopback interface of the host.
func TestDoors(t *testing.T) {
	t.Parallel()
	f := setup(t)
	four, six, named := modelServer(t, "127.0.0.1:0"), modelServer(t, "[::1]:0"), modelServer(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(named)
	local := "localhost:" + port
	spec := f.spec(sandbox.Namespace)
	var log func() []egress.Connection
	spec.Egress, log = proxy(t, four, six, local)
	spec.Loopback = []string{four, six, local}
	s := f.open(spec)
	p, out := f.command(s, []string{attackMode + "=doors", "VICTIM=" + strings.Join([]string{four, six, local, named, "[::1]:" + port}, " ")}, attacker)
	exit, err := s.Run(t.Context(), f.sup, p)
	if err != nil || exit.Code != 0 || out.String() != "five doors\n" {
		t.Fatalf("%+v, %v\n%s", exit, err, out)
	}
	p, out = f.command(s, nil, "/bin/sh", "-c", "ls /proc/self/fd | tr '\\n' ' '")
	if exit, err := s.Run(t.Context(), f.sup, p); err != nil || exit.Code != 0 || strings.TrimSpace(out.String()) != "0 1 2 3" {
		t.Errorf("%+v, %v, %q", exit, err, out)
	}
	rules := map[string]int{}
	for _, c := range log() {
		if !c.Allowed || c.Method != http.MethodConnect {
			t.Errorf("logged is %+v", c)
		}
		rules[c.Rule]++
	}
	if len(rules) != 3 || rules[four] == 0 || rules[six] == 0 || rules[local] < 3 {
		t.Errorf("logged are %v", rules)
	}
}

// useDoors is the process inside.
func useDoors() (string, error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}} // no proxy, whatever the environment says
	for _, at := range strings.Fields(os.Getenv("VICTIM")) {
		if err := errors.Join(readEvents(client, "http://"+at), echoes(client, "http://"+at)); err != nil {
			return "", fmt.Errorf("%s: %w", at, err)
		}
	}
	return "five doors\n", nil
}

func readEvents(client *http.Client, url string) error {
	resp, err := client.Get(url + "/events")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	events := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if lines.Text() == "" {
			continue
		}
		if want := fmt.Sprint("data: ", events); lines.Text() != want {
			return fmt.Errorf("got %q, want %q", lines.Text(), want)
		}
		events++
		seen, err := client.Get(url + "/seen")
		if err != nil {
			return err
		}
		seen.Body.Close()
	}
	if events != 3 {
		return fmt.Errorf("%d events", events)
	}
	return nil
}

// echoes sends much at once, from many.
func echoes(client *http.Client, url string) error {
	body := strings.Repeat("much", 1<<20)
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			resp, err := client.Post(url+"/echo", "text/plain", strings.NewReader(body))
			if err != nil {
				errs[i] = err
				return
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != body {
				errs[i] = fmt.Errorf("%d bytes: %w", len(got), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestDoorsLeadNowhereElse attacks a sandbox that has a door to one server, with another one on the host.
func TestDoorsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	f := setup(t)
	host := newHost(t)
	_, victimPort, _ := net.SplitHostPort(host.tcp)
	allowed := modelServer(t, "127.0.0.1:0")
	spec := f.spec(sandbox.Namespace)
	var log func() []egress.Connection
	spec.Egress, log = proxy(t, allowed)
	spec.Loopback = []string{allowed}
	for name, victim := range map[string]string{
		"another port":         host.tcp,
		"by another address":   "127.0.0.2:" + victimPort,
		"by the name":          "localhost:" + victimPort,
		"by the other family":  "[::1]:" + victimPort,
		"by a mapped address":  "[::ffff:127.0.0.1]:" + victimPort,
		"by the host's socket": host.path,
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []string{"loopback", "through-door", "through-proxy", "through-socket"} {
				out, exit := f.attack(t, spec, by, "VICTIM="+victim, "DOOR="+allowed)
				if exit.Code != stopped || strings.Contains(out, secret) {
					t.Errorf("%s: exit %d: %s", by, exit.Code, out)
				}
			}
		})
	}
	for _, c := range log() {
		if c.Allowed && c.Rule != allowed {
			t.Errorf("logged is %+v", c)
		}
	}

	// A door to what is not allowed any more resets.
	spec.Egress, _ = proxy(t, "example.com")
	spec.Loopback = []string{host.tcp}
	if out, exit := f.attack(t, spec, "loopback", "VICTIM="+host.tcp); exit.Code != stopped || !strings.Contains(out, syscall.ECONNRESET.Error()) {
		t.Errorf("exit %d: %s", exit.Code, out)
	}
}

// tunnelBy asks the listener at an address for a tunnel to the victim.
func tunnelBy(network, address string) (string, error) {
	c, err := net.DialTimeout(network, address, 10*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	victim := os.Getenv("VICTIM")
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", victim, victim); err != nil {
		return "", err
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	return br.ReadString('\n')
}

func TestDoorsThatCannotBe(t *testing.T) {
	t.Parallel()
	setup(t)
	socket, _ := proxy(t)
	for target, want := range map[string]string{
		"127.0.0.1:3128": "deed's proxy listens", "localhost:3128": "deed's proxy listens", "127.0.0.1:80": "below 1024", "localhost:80": "below 1024",
		"10.0.0.1:8080": "not a loopback address", "example.com:8080": "not a loopback address", "127.0.0.1": "not a loopback address",
		"[::ffff:127.0.0.1]:8080": "not a loopback address", "127.0.0.1:08080": "not a loopback address", "": "not a loopback address",
	} {
		_, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace, Egress: socket, Loopback: []string{"127.0.0.1:8080", target}})
		if failure.ClassOf(err) != failure.Config || !strings.Contains(fmt.Sprint(err), "loopback[1]: ") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, spec := range []sandbox.Spec{
		{Kind: sandbox.Namespace, Loopback: []string{"127.0.0.1:8080"}}, {Kind: sandbox.Process, Loopback: []string{"127.0.0.1:8080"}},
	} {
		if _, err := sandbox.New(t.Context(), spec); failure.ClassOf(err) != failure.Config || !strings.Contains(fmt.Sprint(err), "loopback:") {
			t.Errorf("%s: %v", spec.Kind, err)
		}
	}
	if _, err := sandbox.New(t.Context(), sandbox.Spec{Kind: sandbox.Namespace, Egress: socket, Loopback: []string{"127.0.0.1:8080", "localhost:8080"}}); err != nil {
		t.Error(err)
	}
}

// Package testkit is what the tests share: a clock, golden files, conversations and a listener without a network.
package testkit

import (
	"flag"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Clock moves by hand.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock begins on some day.
func NewClock() *Clock {
	return &Clock{now: time.Date(2024, 5, 17, 9, 30, 0, 0, time.UTC)}
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Golden compares with a file.
func Golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// Talk plays a conversation: what follows > is said, what follows < has to come back, what follows ~ passes on the clock.
func Talk(t *testing.T, path string, clock *Clock, say func(line string) string) {
	t.Helper()
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var heard strings.Builder
	for _, line := range strings.SplitAfter(string(script), "\n") {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "< "):
			continue
		case strings.HasPrefix(text, "~ "):
			d, err := time.ParseDuration(text[2:])
			if err != nil {
				t.Fatal(err)
			}
			clock.Advance(d)
			heard.WriteString(line)
		case strings.HasPrefix(text, "> "):
			heard.WriteString(line)
			heard.WriteString("< " + say(text[2:]) + "\n")
		default:
			heard.WriteString(line)
		}
	}
	Golden(t, path, []byte(heard.String()))
}

// Listener hands out pipes.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewListener makes a listener.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Dial gives the other end of what Accept gives.
func (l *Listener) Dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "testkit", Net: "unix"} }

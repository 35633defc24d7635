package server

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// How many connections there may be. Of one address there may be nearly all: on loopback everybody has the same one.
const (
	defaultConns     = 1024
	defaultConnsEach = 768
	maxFarewells     = 64 // connections that get the reason at a time; the others are just closed
	farewell         = time.Second
)

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 122\r\n\r\n" +
	`{"title":"Service Unavailable","status":503,"code":"too_many_connections","detail":"deed has too many connections open"}  `

// A boundListener accepts a bounded number of connections and refuses the others at once. It leaves none in the queue of the
// kernel, where a client would wait without an answer.
type boundListener struct {
	net.Listener
	most, each int
	speak      bool // the refusal can be read: no TLS

	farewells chan struct{}

	mu   sync.Mutex
	all  int            // guarded by mu
	from map[string]int // by address; guarded by mu
}

func bound(l net.Listener, most, each int, speak bool) *boundListener {
	if most <= 0 {
		most = defaultConns
	}
	if each <= 0 {
		each = defaultConnsEach
	}
	// Files are the dispatcher's too: at most a quarter of what the process may open.
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil && files.Cur > 0 {
		most = min(most, max(16, int(min(files.Cur, 1<<30))/4))
	}
	return &boundListener{Listener: l, most: most, each: min(each, most), speak: speak, farewells: make(chan struct{}, maxFarewells), from: map[string]int{}}
}

// Accept returns the next connection that there is room for.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil {
			from = c.RemoteAddr().String()
		}
		if !l.enter(from) {
			l.turnAway(c)
			continue
		}
		return &boundConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
	}
}

func (l *boundListener) enter(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.from[from] >= l.each {
		return false
	}
	l.all++
	l.from[from]++
	return true
}

func (l *boundListener) leave(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.from[from]--; l.from[from] == 0 {
		delete(l.from, from)
	}
}

// turnAway sends a client the reason and closes. It reads what the client sent, because closing over unread bytes would take the
// answer away from it.
func (l *boundListener) turnAway(c net.Conn) {
	select {
	case l.farewells <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	go func() {
		defer func() { <-l.farewells }()
		defer func() { _ = c.Close() }()
		if !l.speak || c.SetDeadline(clock.System().Add(farewell)) != nil {
			return
		}
		if _, err := c.Write([]byte(tooMany)); err != nil {
			return
		}
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		buf := make([]byte, 4096)
		for total := 0; total < maxHeader; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			total += n
		}
	}()
}

// A boundConn gives its place back when it is closed.
type boundConn struct {
	net.Conn
	leave func()
}

func (c *boundConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// A throttle counts events of a span: it recognises floods, and does not itself decide who gets in.
type throttle struct {
	now  clock.Clock
	most int
	span time.Duration

	mu    sync.Mutex
	since time.Time // guarded by mu
	n     int       // guarded by mu
}

func newThrottle(now clock.Clock, most int, span time.Duration) *throttle {
	return &throttle{now: now, most: most, span: span}
}

// over counts one event and reports whether there were too many in this span.
func (t *throttle) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.since) >= t.span {
		t.since, t.n = now, 0
	}
	t.n++
	return t.n > t.most
}

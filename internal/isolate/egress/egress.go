// Package egress owns the only way out of a sandbox: a proxy for HTTP and CONNECT on a unix socket, the rules that say
// which hosts it reaches, and the forwarder that stands in front of it inside. It does not make the sandbox, and it
// looks at no content: what it judges and logs is where a connection goes.
//
//	program ── loopback TCP ──► Forward ── unix socket ──► Proxy ──► name allowed? ──► resolve ──► public? ──► dial
//	         (inside, no network)          (mounted)       (outside)
//
// An allowed loopback address has a door of its own inside, at the same address and port: a program that knows no proxy
// connects to it as it would outside, and Forward asks the proxy for it by CONNECT, under the same rules and in the same log.
//
// A name is resolved only when a rule allows it, every address that it has must be public, and the dial goes to an
// address that was checked: there is no second look-up that could answer otherwise. A tunnel shows its host in the
// CONNECT line only; what a client then says inside it, such as another name in its TLS hello, is not seen.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// A Resolver finds the addresses of a name. It is asked only for names that a rule allows, with a final dot, so that no
// search list is used. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what a Proxy works with. Zero values have defaults.
type Options struct {
	// Rules are what may be reached. Without any, nothing may.
	Rules []Rule
	// Log is given each request once, when it has ended, allowed or not; one call at a time. It must not block for long.
	Log func(Connection)
	// Resolver is the system's by default.
	Resolver Resolver
	// MaxConnections is how many clients are served at a time; one more is refused. 256 by default.
	MaxConnections int
	// HeaderTimeout is how long a client may take for the head of a request. 30 seconds by default.
	HeaderTimeout time.Duration
	// IdleTimeout ends a connection on which nothing moves in either direction. 5 minutes by default.
	IdleTimeout time.Duration
	// DialTimeout bounds looking up a name and connecting. 30 seconds by default.
	DialTimeout time.Duration
	// Clock gives the instants of the log; the system's by default.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = func(Connection) {}
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 256
	}
	for _, d := range []struct {
		value     *time.Duration
		otherwise time.Duration
	}{
		{&o.HeaderTimeout, 30 * time.Second}, {&o.IdleTimeout, 5 * time.Minute}, {&o.DialTimeout, 30 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.otherwise
		}
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	return o
}

// A Connection is what the log says of one request: a tunnel, or one exchange in plain HTTP. Nothing of its content is in
// it, not even a path.
type Connection struct {
	At     time.Time `json:"at"`
	Host   string    `json:"host"` // as asked for, normalised; empty when the request could not be read
	Port   int       `json:"port"`
	Method string    `json:"method"`
	// Address is the address that was dialled, or that made the proxy refuse.
	Address string `json:"address,omitempty"`
	Allowed bool   `json:"allowed"`
	// Rule is the rule that allowed it, as written by Rule.String, or the rule of the proxy's own that refused it.
	Rule string `json:"rule"`
	// Origin says who asked for the rule that allowed it; empty: the task.
	Origin string `json:"origin,omitempty"`
	// Reason says why it was refused, or how an allowed connection failed; empty when it ended well.
	Reason string `json:"reason,omitempty"`
	// Remedy says what to do about a refusal.
	Remedy string `json:"remedy,omitempty"`
	// BytesOut went to the host, BytesIn came from it.
	BytesOut int64         `json:"bytes_out"`
	BytesIn  int64         `json:"bytes_in"`
	Duration time.Duration `json:"duration_ns"`
}

// A Proxy serves clients on a unix socket.
type Proxy struct {
	o       Options
	l       *net.UnixListener
	socket  string
	serving sync.WaitGroup // calls of Serve
	clients sync.WaitGroup
	logged  sync.Mutex // held while Log runs
	// dial connects to an address that was checked. Tests stand in for the internet here.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	conns  map[net.Conn]bool  // guarded by mu
	cancel context.CancelFunc // of Serve, guarded by mu
	closed bool               // guarded by mu
}

// closeTime is how long Close waits for what it has ended.
const closeTime = 10 * time.Second

// Listen makes the socket, with mode 0600. The path must be free: a socket that is there may have an owner. On Linux it
// may be as long as that of any file.
func Listen(socket string, o Options) (*Proxy, error) {
	l, err := bind(socket)
	if err != nil {
		return nil, fmt.Errorf("listen for egress: %w", err)
	}
	p := &Proxy{o: o.withDefaults(), l: l, socket: socket, conns: map[net.Conn]bool{}, dial: new(net.Dialer).DialContext}
	l.SetUnlinkOnClose(false) // the listener may know the socket by another path
	if err := os.Chmod(socket, 0o600); err != nil {
		p.shut()
		return nil, fmt.Errorf("listen for egress: %w", err)
	}
	return p, nil
}

// Serve takes clients until ctx ends or Close is called, ends what is open then, waits for it, and returns nil. Another
// error is one of the socket.
func (p *Proxy) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !p.begin(cancel) {
		return nil
	}
	defer p.serving.Done()
	defer context.AfterFunc(ctx, p.shut)()
	slots := make(chan struct{}, p.o.MaxConnections)
	err := accept(ctx, p.l, func(c net.Conn) {
		select {
		case slots <- struct{}{}:
		default:
			p.turnAway(c)
			return
		}
		if !p.track(c) {
			_ = c.Close()
			<-slots
			return
		}
		go func() {
			defer func() { <-slots }()
			defer p.untrack(c)
			p.serve(ctx, c.(*net.UnixConn))
		}()
	})
	p.shut()
	waitFor(&p.clients, closeTime)
	return err
}

// begin registers Serve, so that Close ends it and waits for it.
func (p *Proxy) begin(cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.cancel = cancel
	p.serving.Add(1)
	return true
}

// track registers a client before its goroutine starts; after shut there are no new ones.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = true
	p.clients.Add(1)
	return true
}

func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	p.clients.Done()
}

// shut ends everything and waits for nothing.
func (p *Proxy) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	_ = p.l.Close()
	_ = os.Remove(p.socket)
	if p.cancel != nil {
		p.cancel()
	}
	for c := range p.conns {
		_ = c.Close()
	}
}

// Close removes the socket, ends every connection and waits for the goroutines of the proxy, for a bounded time. Calling
// it again does nothing.
func (p *Proxy) Close() error {
	p.shut()
	if !waitFor(&p.clients, closeTime) || !waitFor(&p.serving, closeTime) {
		return fmt.Errorf("close egress proxy: connections are still open after %s", closeTime)
	}
	return nil
}

// waitFor waits for a group for a bounded time.
func waitFor(wg *sync.WaitGroup, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// accept passes connections to fn until the listener is closed. It waits a little when the process has no file descriptors left:
// connections that close free some.
func accept(ctx context.Context, l net.Listener, fn func(net.Conn)) error {
	for ctx.Err() == nil {
		c, err := l.Accept()
		switch {
		case err == nil:
			fn(c)
		case errors.Is(err, net.ErrClosed):
			return nil
		case exhausted(err):
			pause(ctx, 50*time.Millisecond)
		default:
			return fmt.Errorf("accept: %w", err)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// log reports one request.
func (p *Proxy) log(c Connection) {
	p.logged.Lock()
	defer p.logged.Unlock()
	p.o.Log(c)
}

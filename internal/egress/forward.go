package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/clock"
)

// Bounds of the forwarder. The proxy behind it has the rules and the shorter idle time.
const (
	maxForwarded    = 512
	forwardIdle     = time.Hour
	forwardDialTime = 10 * time.Second
)

// Forward is the half inside the sandbox: it takes connections from l, which listens on loopback, and carries each to the
// unix socket of a Proxy. It returns nil when ctx ends or l is closed, after everything that it started has ended. l is
// closed then. It carries so many connections at a time; more wait.
func Forward(ctx context.Context, l net.Listener, socket string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxForwarded)
	err := accept(ctx, l, func(c net.Conn) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			_ = c.Close()
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			carry(ctx, c, socket)
		})
	})
	cancel()
	wg.Wait()
	return err
}

// carry moves one connection until it ends.
func carry(ctx context.Context, c net.Conn, socket string) {
	defer c.Close()
	inside, ok := c.(halfConn)
	if !ok {
		return
	}
	d := net.Dialer{Timeout: forwardDialTime}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		r := &refusal{http.StatusBadGateway, ruleUnreached, fmt.Sprintf("the proxy does not answer: %s", plain(err)), "the run has no network any more"}
		_ = c.SetWriteDeadline(clock.Start().Add(time.Second))
		_, _ = c.Write(answer(r))
		return
	}
	defer context.AfterFunc(ctx, func() {
		_ = c.Close()
		_ = conn.Close()
	})()
	// The client of the relay is the proxy here: when it hangs up, nothing can be carried any more.
	_, _, _ = relay(conn.(*net.UnixConn), inside, newPulse(conn, forwardIdle))
}

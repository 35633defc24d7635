package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// Bounds of the forwarder. The proxy behind it has the rules and the shorter idle time.
const (
	maxForwarded    = 512
	forwardIdle     = time.Hour
	forwardDialTime = 10 * time.Second
)

// A Door is a place inside the sandbox that leads to the proxy.
type Door struct {
	Listener net.Listener // on loopback
	// Target is where every connection through the door goes, as host:port: the program behind it knows nothing of a
	// proxy. Empty: the program speaks to the proxy itself.
	Target string
}

// Forward is the half inside the sandbox: it takes connections from doors and carries each to the unix socket of a
// Proxy. It returns when ctx ends or all doors are closed, after everything that it started has ended: with nil, or with
// what doors failed for. All doors are closed then. It carries so many connections at a time; more wait.
func Forward(ctx context.Context, socket string, doors ...Door) error {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() {
		for _, d := range doors {
			_ = d.Listener.Close()
		}
	})()
	var open, carried sync.WaitGroup
	slots := make(chan struct{}, maxForwarded)
	errs := make([]error, len(doors))
	for i, d := range doors {
		open.Go(func() {
			errs[i] = accept(ctx, d.Listener, func(c net.Conn) {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					_ = c.Close()
					return
				}
				carried.Go(func() {
					defer func() { <-slots }()
					relayConn(ctx, c, socket, d.Target)
				})
			})
		})
	}
	open.Wait()
	cancel()
	carried.Wait()
	return errors.Join(errs...)
}

// relayConn relays one connection until it ends.
func relayConn(ctx context.Context, c net.Conn, socket, target string) {
	defer c.Close()
	inside, ok := c.(halfConn)
	if !ok {
		return
	}
	d := net.Dialer{Timeout: forwardDialTime}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		if target != "" {
			reset(c)
			return
		}
		r := &refusal{http.StatusBadGateway, ruleUnreached, fmt.Sprintf("the proxy does not answer: %s", plain(err)), "the run has no network any more"}
		_ = c.SetWriteDeadline(clock.Start().Add(time.Second))
		_, _ = c.Write(answer(r))
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() {
		_ = c.Close()
		_ = conn.Close()
	})()
	if target != "" && enter(c, conn, target) != nil {
		reset(c)
		return
	}
	// The client of the relay is the proxy here: when it hangs up, nothing can be carried any more.
	_, _, _ = relay(conn.(*net.UnixConn), inside, newPulse(conn, forwardIdle))
}

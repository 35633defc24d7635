package egress

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

var (
	errIdle = errors.New("nothing was sent in either direction for too long")
	errGone = errors.New("the client is gone")
	errLate = errors.New("the client took too long")
)

// A pulse knows when something last moved on a connection through the proxy, in either direction.
type pulse struct {
	idle    time.Duration
	start   time.Time
	last    atomic.Int64 // nanoseconds since start
	client  net.Conn     // whose end ends everything
	drained atomic.Bool  // everything that the client sent was read: when it hangs up now, nothing is lost
}

func newPulse(client net.Conn, idle time.Duration) *pulse {
	return &pulse{idle: idle, start: clock.Start(), client: client}
}

func (p *pulse) beat() { p.last.Store(int64(clock.Since(p.start))) }

// fault says why waiting must end, or returns nil.
func (p *pulse) fault() error {
	if clock.Since(p.start)-time.Duration(p.last.Load()) >= p.idle {
		return errIdle
	}
	if p.drained.Load() && peerClosed(p.client) {
		return errGone
	}
	return nil
}

// tick is how long one wait may last before fault is asked again.
func (p *pulse) tick() time.Duration { return max(min(p.idle/4, time.Second), time.Millisecond) }

// A pulsedConn is a connection on which each wait is bounded by the pulse that it shares with its peer.
type pulsedConn struct {
	net.Conn
	pulse   *pulse
	limit   atomic.Pointer[time.Time] // reading ends then, whatever moves; nil: never
	in, out atomic.Int64
}

// Read waits for bytes until the pulse or the limit says otherwise.
func (c *pulsedConn) Read(p []byte) (int, error) {
	for {
		until := clock.Start().Add(c.pulse.tick())
		limit := c.limit.Load()
		if limit != nil && limit.Before(until) {
			until = *limit
		}
		if err := c.SetReadDeadline(until); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if n > 0 {
			c.in.Add(int64(n))
			c.pulse.beat()
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if limit != nil { // it is the bound, and may be longer than the idle time
			if !clock.Start().Before(*limit) {
				return 0, errLate
			}
			continue
		}
		if err := c.pulse.fault(); err != nil {
			return 0, err
		}
	}
}

// Write gives a peer that does not read as long as one that does not write.
func (c *pulsedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(clock.Start().Add(c.pulse.idle)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.out.Add(int64(n))
		c.pulse.beat()
	}
	return n, err
}

// within bounds all reading from now on; zero takes the bound away.
func (c *pulsedConn) within(d time.Duration) {
	if d == 0 {
		c.limit.Store(nil)
		return
	}
	t := clock.Start().Add(d)
	c.limit.Store(&t)
}

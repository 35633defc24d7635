package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"github.com/deedrun/deed/internal/base/clock"
)

// A halfConn can end one direction and keep the other.
type halfConn interface {
	net.Conn
	CloseWrite() error
}

// relay copies in both directions until both have ended, one fails, or the pulse stops, and closes both. The copies are
// between the sockets themselves, so that the kernel can move the bytes without showing them to us: no buffer, and no
// wrapper, may stand between. Waits are bounded by deadlines for reading: they come between two moves, when nothing is
// in flight, so that the copy can simply go on. A deadline for writing could lose bytes, and is given only to a peer
// that takes none for the whole idle time.
func relay(a, b halfConn, p *pulse) (ab, ba int64, err error) {
	p.beat()
	var wg sync.WaitGroup
	var once sync.Once
	fail := func(e error) {
		once.Do(func() { err = e })
		_ = a.Close()
		_ = b.Close()
	}
	one := func(dst, src halfConn, moved *int64) {
		var e error
		if *moved, e = copyDirection(dst, src, p); e != nil {
			fail(e)
		}
	}
	wg.Go(func() { one(b, a, &ab) })
	wg.Go(func() { one(a, b, &ba) })
	wg.Wait()
	_ = a.Close()
	_ = b.Close()
	return ab, ba, err
}

// copyDirection copies one direction to its end and passes the end on.
func copyDirection(dst, src halfConn, p *pulse) (total int64, err error) {
	for {
		now := clock.Start()
		if err := errors.Join(src.SetReadDeadline(now.Add(p.tick())), dst.SetWriteDeadline(now.Add(p.tick()+p.idle))); err != nil {
			return total, err
		}
		n, err := io.Copy(dst, src)
		if n > 0 {
			total += n
			p.beat()
		}
		switch {
		case err == nil:
			if src == p.client {
				p.drained.Store(true)
			}
			return total, dst.CloseWrite()
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return total, err
		case clock.Since(now) >= p.tick()+p.idle: // it was the deadline for writing
			return total, errIdle
		}
		if err := p.fault(); err != nil {
			return total, err
		}
	}
}

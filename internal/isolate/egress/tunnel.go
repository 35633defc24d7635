package egress

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// Bounds of the answer to CONNECT: the proxy looks up and dials before it comes.
const (
	enterTime = time.Minute
	maxAnswer = 4 << 10
)

// enter opens a tunnel through the proxy for a program that knows nothing of one. What the host said right behind the
// proxy's answer is handed on.
func enter(inside, proxy net.Conn, target string) error {
	if err := proxy.SetDeadline(clock.Start().Add(enterTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(proxy, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	early, err := readEntered(proxy)
	if err != nil {
		return err
	}
	if len(early) > 0 {
		if err := inside.SetWriteDeadline(clock.Start().Add(enterTime)); err != nil {
			return err
		}
		if _, err := inside.Write(early); err != nil {
			return err
		}
	}
	return proxy.SetDeadline(time.Time{})
}

// readEntered reads the answer to CONNECT and returns what came behind it.
func readEntered(proxy net.Conn) (early []byte, err error) {
	buf := make([]byte, maxAnswer)
	for n := 0; n < len(buf); {
		m, err := proxy.Read(buf[n:])
		n += m
		if head, rest, ok := bytes.Cut(buf[:n], []byte("\r\n\r\n")); ok {
			if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
				return nil, errRefused
			}
			return rest, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errRefused
}

var errRefused = errors.New("the proxy refuses the connection")

// reset ends a connection so that the program sees an error, and not the end of an answer that was never given.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

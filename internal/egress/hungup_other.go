//go:build !linux

package egress

import (
	"net"
	"syscall"
)

// hungUp cannot be told from a half-closed connection here; the idle time ends what it misses.
func hungUp(net.Conn) bool { return false }

// restrict has no way to set the mode of a socket that has no name yet; Listen sets it afterwards.
func restrict(string, string, syscall.RawConn) error { return nil }

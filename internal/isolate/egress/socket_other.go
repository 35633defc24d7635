//go:build !linux

package egress

import "net"

// peerClosed cannot be told from a half-closed connection here; the idle time ends what it misses.
func peerClosed(net.Conn) bool { return false }

// bind has no way to set the mode of a socket that has no name yet; Listen sets it afterwards.
func bind(socket string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
}

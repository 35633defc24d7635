//go:build !linux

package egress

import "net"

// peerClosed cannot distinguish a closed connection from a half-closed one here; the idle timeout ends what it misses.
func peerClosed(net.Conn) bool { return false }

// bind has no way to set the mode of a socket that has no name yet; Listen sets it afterwards.
func bind(socket string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
}

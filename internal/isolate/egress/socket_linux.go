package egress

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerClosed reports whether the peer closed both directions, which the end of the input alone does not say: a client may
// send all it has and still wait for the answer.
func peerClosed(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	hup := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		hup = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && hup
}

// maxSocketPath is how long the path of a socket may be in the address that the kernel takes.
const maxSocketPath = 107

// bind makes the socket. A path that is too long for an address is named from its directory, which is open meanwhile.
func bind(socket string) (*net.UnixListener, error) {
	name := socket
	if len(socket) > maxSocketPath {
		dir, err := os.OpenFile(filepath.Dir(socket), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		if name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)); len(name) > maxSocketPath {
			return nil, fmt.Errorf("the name %s of a socket is too long", filepath.Base(socket))
		}
	}
	lc := net.ListenConfig{Control: restrict}
	l, err := lc.Listen(context.Background(), "unix", name)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// restrict gives a socket its mode before it has a name, so that no one can connect in between.
func restrict(_, _ string, c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) }); err != nil {
		return err
	}
	return failed
}

package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// throughDescriptors: /proc/self/fd/N stands for what the descriptor has open.
const throughDescriptors = true

// peerUID asks the kernel for the account of a socket's peer, as it was when it connected.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil {
		return -1, cerr
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// throughDescriptors: /proc/self/fd/N is the directory that the descriptor has open.
const throughDescriptors = true

// peerID asks the kernel for the account and the process of a socket's peer, as they were when it connected.
func peerID(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, 0, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil {
		return -1, 0, cerr
	}
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}

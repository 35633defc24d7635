package server

import (
	"net"

	"golang.org/x/sys/unix"
)

const throughDescriptors = false

// peerUID asks the kernel for the account of a socket's peer, as it was when it connected.
func peerUID(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Xucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if cerr != nil {
		return -1, cerr
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

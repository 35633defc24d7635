package server

import (
	"net"

	"golang.org/x/sys/unix"
)

const throughDescriptors = false

// peerID asks the kernel for the account of a socket's peer, as it was when it connected. Its process is not asked for.
func peerID(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, 0, err
	}
	var cred *unix.Xucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if cerr != nil {
		return -1, 0, cerr
	}
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), 0, nil
}

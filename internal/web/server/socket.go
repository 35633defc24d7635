package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/web/access"
	"github.com/deedrun/deed/internal/web/httperror"
)

// socketName is that of the socket in the home.
const socketName = "deed.sock"

// maxSocketPath is what every system takes for the path of a socket.
const maxSocketPath = 100

// maxSocketConns bounds the connections of the socket, apart from those of the address: a flood there keeps no operator out.
const maxSocketConns = 256

func socketPath(h *home.Home) string { return filepath.Join(h.Root(), socketName) }

// reach returns a path by which the socket of a home can be bound and dialled, and a function that gives it back. The path of a
// home has no bound and that of a socket has: a long one is reached through a descriptor of its directory.
func reach(h *home.Home) (path string, release func(), err error) {
	path = socketPath(h)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	if !throughDescriptors {
		return "", nil, fmt.Errorf("the path of the socket %s has %d bytes, and this system takes %d (choose a home with a shorter path)", path, len(path), maxSocketPath)
	}
	dir, err := os.Open(h.Root())
	if err != nil {
		return "", nil, fmt.Errorf("open the home: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), func() { _ = dir.Close() }, nil
}

// listenSocket listens on the home's socket. One that a live process answers on is respected; one that a dead process left is
// replaced. Only its owner may connect, and who that is is asked of the kernel besides.
func listenSocket(ctx context.Context, h *home.Home) (net.Listener, error) {
	path, release, err := reach(h)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := clearSocket(ctx, path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", socketPath(h), err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", socketPath(h), err)
	}
	l.SetUnlinkOnClose(false)                     // it would use the path through the descriptor; see ownSocket
	if err := os.Chmod(path, 0o600); err != nil { // until here the home's own mode kept others out
		return nil, errors.Join(fmt.Errorf("socket %s: %w", socketPath(h), err), l.Close())
	}
	return &ownSocket{Listener: bound(l, maxSocketConns, maxSocketConns, true), file: socketPath(h)}, nil
}

// An ownSocket removes its file when it is closed.
type ownSocket struct {
	net.Listener
	file string
}

func (s *ownSocket) Close() error {
	err := s.Listener.Close()
	if rerr := os.Remove(s.file); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// errAnswered says that the socket is in use.
var errAnswered = errors.New("another process answers on it (two dispatchers in one home?)")

// clearSocket removes a socket that no server answers on.
func clearSocket(ctx context.Context, path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return errors.New("a file that is no socket is in its place (move it away)")
	}
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return errAnswered
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("ask whether it is in use: %w", err)
	}
	return os.Remove(path)
}

// A peer is who is at the other end of the socket.
type peer struct {
	who     access.Principal
	problem *httperror.Problem
}

type peerKey struct{}

// peerOf returns nil for a connection that did not come over the socket.
func peerOf(ctx context.Context) *peer {
	p, _ := ctx.Value(peerKey{}).(*peer)
	return p
}

// withPeer asks the kernel who has connected.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	b, ok := c.(*boundConn)
	if !ok {
		return ctx
	}
	u, ok := b.Conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, recognisePeer(u))
}

// recognisePeer lets in the account that deed runs as. Every other account is refused, root too: root can become this account if
// it wants to. A process that deed itself started is refused as well: an agent without isolation has the same account, and must
// not answer its own questions here.
func recognisePeer(c *net.UnixConn) *peer {
	uid, pid, err := peerID(c)
	if err != nil {
		return &peer{problem: httperror.New(http.StatusForbidden, "peer", "deed cannot find out which account is at the other end of the socket")}
	}
	if uid != os.Getuid() {
		return &peer{problem: httperror.New(http.StatusForbidden, "peer",
			fmt.Sprintf("the socket is for the account that deed runs as (uid %d), and you are uid %d (run the command as that account, or use a token)", os.Getuid(), uid))}
	}
	if below, err := proc.Below(pid, os.Getpid()); err != nil || below {
		return &peer{problem: httperror.New(http.StatusForbidden, "peer", "the socket is for people: what this deed has started, an agent or a check, does not use it")}
	}
	return &peer{who: access.Principal{Name: accountName(uid), Role: access.Admin, How: access.BySocket}}
}

func accountName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid:" + strconv.Itoa(uid)
}

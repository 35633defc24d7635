package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/home"
)

// An Address says where the server of a home is.
type Address struct {
	PID    int    `json:"pid"`
	URL    string `json:"url,omitempty"` // empty: it listens on no address
	Socket string `json:"socket"`
}

func addressPath(h *home.Home) string { return filepath.Join(h.Root(), "server.json") }

// An announcement is the file that says where the server is. The server holds a kernel lock on it, which ends with its process
// whatever way that ends: a file without the lock is what a dead server left.
type announcement struct {
	f *os.File
}

func announce(h *home.Home, at Address) (*announcement, error) {
	at.PID = os.Getpid()
	f, err := os.OpenFile(addressPath(h), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("say where the server is: %w", err)
	}
	text, err := json.Marshal(at)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("say where the server is: %w", err), f.Close())
	}
	return &announcement{f: f}, nil
}

func (a *announcement) withdraw() error {
	return errors.Join(a.f.Truncate(0), atomicfile.Unlock(a.f))
}

// ErrNoServer says that no server runs for a home.
var ErrNoServer = errors.New("no server runs for this home (start one: `deed serve`)")

// maxAddress bounds the file that is read.
const maxAddress = 64 << 10

// Find says where the server of a home is. It returns ErrNoServer when none lives.
func Find(h *home.Home) (Address, error) {
	var at Address
	f, err := os.OpenFile(addressPath(h), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return at, ErrNoServer
	}
	if err != nil {
		return at, fmt.Errorf("find the server: %w", err)
	}
	defer func() { _ = f.Close() }()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // see atomicfile.Unlock: otherwise it could be taken for a running server's
		return at, ErrNoServer                    // its owner is dead
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return at, fmt.Errorf("find the server: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxAddress))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil {
		return at, fmt.Errorf("find the server: %s: %w", addressPath(h), err)
	}
	return at, nil
}

// dialTimeout bounds the connection to a server on the same machine.
const dialTimeout = 5 * time.Second

// Client returns a client that talks to the server of a home over its socket, as the account that runs it. Requests go to
// http://deed/…; the host means nothing.
func Client(h *home.Home) *http.Client {
	d := net.Dialer{Timeout: dialTimeout}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				path, release, err := reach(h)
				if err != nil {
					return nil, err
				}
				defer release()
				c, err := d.DialContext(ctx, "unix", path)
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
					return nil, ErrNoServer
				}
				return c, err
			},
		},
	}
}

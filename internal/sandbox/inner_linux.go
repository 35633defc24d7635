//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/egress"
	"github.com/deedrun/deed/internal/proc"
)

// The inner half is this binary inside a sandbox that has a way out. It listens on the loopback interface, starts a
// forwarder as its sibling, and becomes the command.
//
//	pid 1 ─┬─ inner half ── exec ──► command
//	       └─ forwarder: 127.0.0.1:3128 ──► egressPath ═══► deed's proxy, outside
//
// All of this stands behind the same walls as the command, which can end the forwarder: it then has no network.
const (
	innerCommand   = "__inside"
	forwardCommand = "__forward"
	// listenerFD is where the forwarder finds its listener.
	listenerFD = 3
)

// egress adds the binary and the socket to a call.
func (c *call) egress(socket string) error {
	f, err := openSource(unix.AT_FDCWD, socket, os.ModeSocket)
	if err != nil {
		return fmt.Errorf("open egress socket %s: %w", socket, err)
	}
	c.add("--ro-bind-fd", c.hand(f), egressPath)
	link, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("open own binary: %w", err)
	}
	if strings.HasSuffix(link, " (deleted)") { // replaced while deed runs: what is gone cannot be mounted
		c.add("--perms", "0555", "--file", c.hand(exe), innerPath)
	} else {
		c.add("--ro-bind-fd", c.hand(exe), innerPath)
	}
	return nil
}

// IsInner reports whether the arguments of the process, with its name in front, ask it to be the inner half of a
// sandbox. The main function of every binary that makes a Sandbox with egress, or a container, asks this first.
func IsInner(args []string) bool {
	return len(args) > 1 && (args[1] == innerCommand || args[1] == forwardCommand || args[1] == enterCommand)
}

// InnerMain is the life of the inner half, or of the entry of a container, which end as the command, or of a forwarder. It returns the exit code.
func InnerMain(args []string) int {
	var err error
	switch args[1] {
	case forwardCommand:
		err = forward()
	case enterCommand:
		err = enter(args[2:])
	default:
		err = becomeCommand(args[2:])
	}
	fmt.Fprintf(os.Stderr, "deed %s: %v\n", args[1], err)
	return 126
}

func becomeCommand(argv []string) error {
	if len(argv) == 0 {
		return errors.New("no command (this is for deed's own use)")
	}
	l, err := net.Listen("tcp", egressAddress)
	if err != nil {
		return err
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := proc.StartSibling([]string{innerPath, forwardCommand}, []string{"GOMAXPROCS=2"}, null, null, null, f); err != nil {
		return err
	}
	return proc.Become(argv, os.Environ())
}

// forward passes connections on to deed's proxy until the sandbox ends. It outlives a command that is asked to end,
// because that may have something to say.
func forward() error {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	l, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		return err
	}
	return egress.Forward(context.Background(), l, egressPath)
}

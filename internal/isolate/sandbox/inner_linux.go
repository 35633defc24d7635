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

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/egress"
)

// The inner half is this binary inside a sandbox that has a way out. It listens on the loopback interface, starts a
// forwarder as its sibling, and becomes the command.
//
//	pid 1 ─┬─ inner half ── exec ──► command
//	       └─ forwarder: 127.0.0.1:3128, doors ──► egressPath ═══► deed's proxy, outside
//
// All of this runs in the same isolation as the command, which can kill the forwarder: it then has no network.
const (
	innerCommand   = "__inside"
	forwardCommand = "__forward"
	// listenerFD is where the forwarder finds its first listener, that of the proxy; those of the doors follow.
	listenerFD = 3
)

// egress adds the socket to a call.
func (c *call) egress(socket string) error {
	f, err := openSource(unix.AT_FDCWD, socket, os.ModeSocket)
	if err != nil {
		return fmt.Errorf("open egress socket %s: %w", socket, err)
	}
	c.add("--ro-bind-fd", c.hand(f), egressPath)
	return nil
}

// ownBinary shows the running binary at innerPath.
func (c *call) ownBinary() error {
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

// A binary that links this package becomes an inner half here, as it becomes a supervisor in package proc: the agent
// waits for it, and it needs none of the packages that are set up later.
func init() {
	if IsInner(os.Args) {
		os.Exit(InnerMain(os.Args))
	}
}

// IsInner reports whether the arguments of the process, with its name in front, ask it to be the inner half of a
// sandbox. No main function has to ask: a process that is one never comes to it.
func IsInner(args []string) bool {
	return len(args) > 1 && (args[1] == innerCommand || args[1] == forwardCommand || args[1] == enterCommand)
}

// InnerMain is the life of the inner half, or of the entry of a container, which end as the command, or of a forwarder. It returns the exit code.
func InnerMain(args []string) int {
	var err error
	switch args[1] {
	case forwardCommand:
		err = forward(args[2:])
	case enterCommand:
		err = enter(args[2:])
	default:
		err = becomeCommand(args[2:])
	}
	fmt.Fprintf(os.Stderr, "deed %s: %v\n", args[1], err)
	return 126
}

// becomeCommand takes the doors and the command.
func becomeCommand(args []string) error {
	if len(args) < 2 {
		return errors.New("no command (this is for deed's own use)")
	}
	doors, err := parseDoors(args[0])
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	files := []*os.File{null, null, null}
	forwarder := []string{innerPath, forwardCommand}
	for _, d := range append([]door{{At: egressAddress}}, doors...) {
		f, err := listen(d.At)
		if d.Optional && (errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT)) {
			continue // the machine has no such address
		}
		if err != nil {
			return err
		}
		files = append(files, f)
		forwarder = append(forwarder, d.Target)
	}
	if err := proc.StartSibling(forwarder, []string{"GOMAXPROCS=2"}, files...); err != nil {
		return err
	}
	return proc.Become(args[1:], os.Environ())
}

// listen returns a listener as a file, which the command does not inherit.
func listen(address string) (*os.File, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener).File()
}

// forward passes connections on to deed's proxy until the sandbox ends. It outlives a command that is asked to end,
// because that may have something to say. The targets are those of its listeners.
func forward(targets []string) error {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	var doors []egress.Door
	for i, target := range targets {
		l, err := net.FileListener(os.NewFile(uintptr(listenerFD+i), "listener"))
		if err != nil {
			return err
		}
		doors = append(doors, egress.Door{Listener: l, Target: target})
	}
	return egress.Forward(context.Background(), egressPath, doors...)
}

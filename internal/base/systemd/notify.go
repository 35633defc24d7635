// Package systemd owns how deed is a service of the machine: the unit that systemd reads, and what the running service tells its
// manager. It starts nothing; installing and asking systemd is the command line's business.
package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/base/clock"
)

// patience is how long one word to the manager may take.
const patience = time.Second

// Variables are those by which a manager says where and how often it wants notifications. They are removed from the environment before anything
// is started, so that no agent can speak for the service.
var Variables = []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}

// A Notifier tells the service manager how the service is. The nil Notifier does nothing; it is used without a manager.
type Notifier struct {
	conn  *net.UnixConn
	every time.Duration
}

// Listener finds the manager that waits for word, and returns nil without one. A socket whose name begins with @ is abstract.
func Listener(getenv func(string) string) (*Notifier, error) {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil //nolint:nilnil // no manager listens, which is no error
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") {
		return nil, fmt.Errorf("NOTIFY_SOCKET %q is neither a path nor an abstract name (let systemd set it)", name)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("reach the service manager: %w", err)
	}
	return &Notifier{conn: conn, every: watchdog(getenv)}, nil
}

// watchdog is the time after which silence means death; 0: it never does.
func watchdog(getenv func(string) string) time.Duration {
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0 // meant for another process
	}
	us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 || us > int64(time.Hour*24*365/time.Microsecond) {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// Every is how often Alive must be called at least, with room to spare; 0: never.
func (n *Notifier) Every() time.Duration {
	if n == nil {
		return 0
	}
	return n.every / 3
}

// Ready tells systemd that the service does its work.
func (n *Notifier) Ready(status string) error { return n.send("READY=1", "STATUS="+line(status)) }

// Status tells systemd in one line what the service does.
func (n *Notifier) Status(status string) error { return n.send("STATUS=" + line(status)) }

// Reloading tells systemd that the service reloads its settings; Ready tells it that this is done.
func (n *Notifier) Reloading(status string) error {
	return n.send("RELOADING=1", "STATUS="+line(status))
}

// Alive tells the watchdog that the main loop is running. Only that loop may call it.
func (n *Notifier) Alive() error {
	if n == nil || n.every == 0 {
		return nil
	}
	return n.send("WATCHDOG=1")
}

// Stopping tells systemd that the service ends.
func (n *Notifier) Stopping(status string) error { return n.send("STOPPING=1", "STATUS="+line(status)) }

// Close lets the manager go.
func (n *Notifier) Close() error {
	if n == nil {
		return nil
	}
	return n.conn.Close()
}

func (n *Notifier) send(lines ...string) error {
	if n == nil {
		return nil
	}
	// A manager that does not read must not hold up the loop that it watches.
	if err := n.conn.SetWriteDeadline(clock.System().Add(patience)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	if _, err := n.conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// line makes one line of a text: another line would be another assignment.
func line(s string) string { return strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(s) }

package systemd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
)

// manager is a real socket of a service manager.
func manager(t *testing.T, name string) func() string {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func env(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }

func TestTheManagerIsTold(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "n") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{filepath.Join(dir, "s"), fmt.Sprintf("@deed-test-%d", os.Getpid())} {
		if strings.HasPrefix(name, "@") && !abstract {
			continue
		}
		heard := manager(t, name)
		n, err := Listener(env(map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": fmt.Sprint(os.Getpid())}))
		if err != nil {
			t.Fatal(err)
		}
		if n.Every() != 10*time.Second {
			t.Errorf("every %s", n.Every())
		}
		var got []string
		for _, say := range []error{n.Ready("up"), n.Alive(), n.Status("one\nREADY=0\x00"), n.Reloading("again"), n.Stopping("bye")} {
			if say != nil {
				t.Fatal(say)
			}
			got = append(got, heard())
		}
		if d := cmp.Diff([]string{"READY=1\nSTATUS=up", "WATCHDOG=1", "STATUS=one READY=0 ", "RELOADING=1\nSTATUS=again", "STOPPING=1\nSTATUS=bye"}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Without a manager nothing is sent, and what is not a socket is refused.
func TestNoManager(t *testing.T) {
	t.Parallel()
	n, err := Listener(env(nil))
	if n != nil || err != nil {
		t.Fatal(n, err)
	}
	for _, err := range []error{n.Ready(""), n.Alive(), n.Status(""), n.Stopping(""), n.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if n.Every() != 0 {
		t.Error(n.Every())
	}
	for _, bad := range []string{"relative", "vsock:2:1", filepath.Join(t.TempDir(), "missing")} {
		if _, err := Listener(env(map[string]string{"NOTIFY_SOCKET": bad})); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, c := range []map[string]string{{"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "-1"}, {"WATCHDOG_USEC": "9223372036854775807"}, {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}} {
		if got := watchdog(env(c)); got != 0 {
			t.Errorf("%v: %s", c, got)
		}
	}
}

func TestUnitFaults(t *testing.T) {
	t.Parallel()
	err := Unit{Exe: "deed$x", Home: "/h\nExecStart=/bin/evil", Secrets: "/s", User: true, As: "a b"}.Validate()
	var at []string
	for _, f := range fault.Of(err) {
		at = append(at, f.Path)
	}
	if d := cmp.Diff([]string{"$.exe", "$.home", "$.exe", "$.as", "$.as"}, at); d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// systemd itself reads the unit, with names that try to break out of their place.
func TestSystemdReadsTheUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("missing tool: systemd-analyze: apt-get install systemd")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "de ed%n")
	if err := os.WriteFile(exe, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, u := range map[string]Unit{
		"machine": {Exe: exe, Home: `/var/lib/a "b" %h`, As: "root", Path: "/usr/bin:/bin", Secrets: "/etc/deed/%s.env", Concurrency: 3},
		"user":    {Exe: exe, Home: "/home/x/.deed", User: true, Secrets: "/home/x/secrets.env"},
	} {
		if err := u.Validate(); err != nil {
			t.Fatal(err)
		}
		if !Ours(u.String()) {
			t.Error("deed does not know its own unit")
		}
		path := filepath.Join(dir, name, Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(u.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"verify", "--man=no", "--recursive-errors=no", path}
		if u.User {
			args = append([]string{"--user"}, args...)
		}
		cmd := exec.CommandContext(t.Context(), analyze, args...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), path) || strings.Contains(string(out), "Unknown") {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, u)
		}
	}
}

package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deedrun/deed/internal/base/home"
)

// strangerSocket makes the test binary a process of another account that asks at a socket.
const strangerSocket = "DEED_TEST_STRANGER_SOCKET"

func beStranger() bool {
	path := os.Getenv(strangerSocket)
	if path == "" {
		return false
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("cannot connect:", err)
		return true
	}
	_, _ = io.WriteString(c, "POST /access/code HTTP/1.1\r\nHost: deed\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{\"role\":\"admin\"}")
	_, _ = io.Copy(os.Stdout, c)
	return true
}

// Another account cannot connect to the socket; if it could, it would be refused for what the kernel says about it.
func TestSocketOfAnotherAccount(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("missing tool: root: run the test as root to be another account")
	}
	v := newSite(t)
	ask := func() string {
		t.Helper()
		exe := filepath.Join(os.TempDir(), fmt.Sprintf("deed-stranger-%d", os.Getpid()))
		// By another process: one that this one just starts elsewhere would hold what it has open for writing.
		if out, err := exec.CommandContext(t.Context(), "cp", fmt.Sprintf("/proc/%d/exe", os.Getpid()), exe).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		defer func() { _ = os.Remove(exe) }()
		c := exec.CommandContext(t.Context(), exe)
		c.Env = []string{strangerSocket + "=" + socketPath(v.home)}
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if fi, err := os.Stat(socketPath(v.home)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("mode of the socket: %v %v", fi, err)
	}
	if got := ask(); !strings.Contains(got, "permission denied") {
		t.Errorf("another account: %s", got)
	}
	// Somebody opened every door.
	for dir := filepath.Dir(v.home.Root()); strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(v.home.Root(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socketPath(v.home), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := ask(); !strings.Contains(got, "403 Forbidden") || !strings.Contains(got, "uid 65534") || strings.Contains(got, `"code":"deed`) {
		t.Errorf("another account through open doors: %s", got)
	}
	v.queueGoesOn()
}

// A home with a long path has its socket all the same, a stale socket is replaced, and one that is answered is respected.
func TestSocketPlaces(t *testing.T) {
	t.Parallel()
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("path", 20))
	h, err := home.Open(long)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := listenSocket(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenSocket(t.Context(), h); err == nil || !strings.Contains(err.Error(), "answers on it") {
		t.Errorf("a live socket: %v", err)
	}
	if _, err := Find(h); err == nil {
		t.Error("a server was found that is none")
	}
	own, ok := stale.(*ownSocket)
	if !ok {
		t.Fatalf("%T", stale)
	}
	_ = own.Listener.Close() // as a kill would: the file stays
	if _, err := os.Lstat(socketPath(h)); err != nil {
		t.Fatalf("the stale socket: %v", err)
	}
	l, err := listenSocket(t.Context(), h)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		_ = c.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://deed/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Client(h).Do(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("dial a long path: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	<-served
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socketPath(h)); err == nil {
		t.Error("the socket is left behind")
	}
	if err := os.WriteFile(socketPath(h), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenSocket(context.WithoutCancel(t.Context()), h); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file in its place: %v", err)
	}
}

// What deed has started is of its account, and is refused at the socket all the same: however it forks, it stays below deed.
func TestSocketOfAnAgent(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{exe}, {"/bin/sh", "-c", `"$0"; :`, exe}} {
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Env = []string{strangerSocket + "=" + socketPath(v.home)}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(string(out), "403 Forbidden") || !strings.Contains(string(out), "has started") {
			t.Errorf("%v: %s", argv, out)
		}
	}
}

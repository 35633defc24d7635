package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// A tty is a real terminal with a command on it. It keeps what the command wrote.
type tty struct {
	t    *testing.T
	main *os.File
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

// on starts a command of a site on a terminal of a size.
func (s *site) on(cols, rows uint16, args ...string) *tty {
	s.t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.t.Skipf("missing tool: pty: %v", err)
	}
	fd := int(main.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		s.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		s.t.Fatal(err)
	}
	end, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	// A child of this process in a session of its own is what deed takes for an orphan of a supervisor that died, and other tests let
	// supervisors die here: a shell between keeps it from being one.
	c := s.command(nil, args...)
	sh := exec.Command("/bin/sh", append([]string{"-c", `setsid -c "$0" "$@"; exit $?`}, c.Args...)...)
	sh.Dir, sh.Env = c.Dir, c.Env
	y := &tty{t: s.t, main: main, cmd: sh, done: make(chan struct{})}
	y.size(cols, rows)
	y.cmd.Env = append(y.cmd.Env, "TERM=xterm")
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = end, end, end
	if err := y.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = end.Close()
	go func() {
		defer close(y.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := main.Read(buf)
			y.mu.Lock()
			y.text.Write(buf[:n])
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	s.t.Cleanup(func() {
		_ = y.cmd.Process.Kill()
		_ = main.Close()
	})
	return y
}

func (y *tty) size(cols, rows uint16) {
	y.t.Helper()
	if err := unix.IoctlSetWinsize(int(y.main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows}); err != nil {
		y.t.Fatal(err)
	}
}

// raw is everything that was written since a place, and the next place.
func (y *tty) raw(from int) (string, int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	s := y.text.String()
	return s[min(from, len(s)):], len(s)
}

// press types keys and waits until the screen says something; it returns what was written since.
func (y *tty) press(keys, want string) string {
	y.t.Helper()
	_, from := y.raw(0)
	if _, err := y.main.WriteString(keys); err != nil {
		y.t.Fatal(err)
	}
	return y.await(from, want)
}

func (y *tty) await(from int, want string) string {
	y.t.Helper()
	var text string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		text, _ = y.raw(from)
		if strings.Contains(ansi.Strip(text), want) {
			return text
		}
		<-time.After(10 * time.Millisecond)
	}
	y.t.Fatalf("the screen does not say %q:\n%q", want, text)
	return ""
}

// end waits for the command's end.
func (y *tty) end() int {
	y.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- y.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		y.t.Fatal("it does not end")
	}
	return y.cmd.ProcessState.ExitCode()
}

func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"liar": `echo '{"status": "completed", "machine_status": "ok", "operator_summary": "did it", "file_changes": ["x"]}'`})
	id := s.add(map[string]any{"task_type": "agent-task", "source": "test", "subject": "mend \x1b]0;owned\x07\x1b[2J\u202eit", "requested_adapter_id": "liar", "payload": map[string]any{"goal": "x"}})
	s.ok("dispatch")
	y := s.on(80, 24, "top")
	first := y.await(0, "REFUSED")
	if !strings.HasPrefix(first, "\x1b[?1049h") {
		t.Errorf("the first page of the terminal was drawn on: %.60q", first)
	}
	for _, bad := range []string{"owned", "\x1b]0", "\u202e"} {
		if strings.Contains(first, bad) {
			t.Errorf("what an agent wrote drives the terminal: %q", bad)
		}
	}
	y.press("\r", "intake")           // enter looks at the task
	y.press("\x1b", "RUNNING")        // and back
	y.press("?", "Any key goes back") // help
	y.press("x", "RUNNING")
	y.press("p", "dispatch is paused")
	if out := s.ok("top", "--json"); !strings.Contains(out, `"by": `) {
		t.Errorf("the pause is not in the store:\n%s", out)
	}
	y.press("p", "dispatch goes on")
	y.press("c", "Cancel ")
	y.press("n", "left as it is")
	_, from := y.raw(0)
	y.press("r", "another attempt is due now")
	y.await(from, "1 queued")
	// It is redrawn when another process changes something, and when the terminal gets another size.
	_, from = y.raw(0)
	s.ok("task", "cancel", id)
	y.await(from, "0 queued")
	_, from = y.raw(0)
	y.size(50, 10)
	y.await(from, "deed")
	if _, err := y.main.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if code := y.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	select {
	case <-y.done:
	case <-time.After(20 * time.Second):
		t.Fatal("something still holds the terminal")
	}
	if all, _ := y.raw(0); !strings.Contains(all, "\x1b[?1049l") || !strings.Contains(all, "\x1b[?25h") {
		t.Error("the terminal was not given back")
	}
}

// Answers are given in place: a question is answered with a text, and the task that waited continues.
func TestTopAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"asks": `echo '{"status": "blocked", "machine_status": "blocked", "operator_summary": "tabs or spaces?"}'`})
	id := s.add(map[string]any{"task_type": "agent-task", "source": "test", "subject": "format", "requested_adapter_id": "asks", "payload": map[string]any{"goal": "x"}})
	s.ok("dispatch", "--once")
	y := s.on(100, 30, "top")
	y.await(0, "WAITS FOR YOU")
	y.press("a", "Answer: ")
	y.press("tabz\x7fs, please", "tabs, please")
	y.press("\r", "answered")
	if out := s.ok("task", "show", id, "--json"); !strings.Contains(out, "tabs, please") {
		t.Errorf("the answer is not in the store:\n%s", out)
	}
	if _, err := y.main.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := y.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

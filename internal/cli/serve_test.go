package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
	deedserver "github.com/deedrun/deed/internal/web/server"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A served is a running `deed serve`.
type served struct {
	*site
	cmd   *exec.Cmd
	ended chan struct{} // closed when all of its output was read

	mu  sync.Mutex
	log bytes.Buffer // guarded by mu
}

func (s *site) serve(args ...string) *served {
	s.t.Helper()
	v := &served{site: s, cmd: s.command(nil, append([]string{"serve"}, args...)...), ended: make(chan struct{})}
	pipe, err := v.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(v.ended)
		sc := bufio.NewScanner(pipe)
		for first := true; sc.Scan(); {
			v.mu.Lock()
			v.log.WriteString(sc.Text() + "\n")
			v.mu.Unlock()
			if first && strings.Contains(sc.Text(), "serving") {
				first = false
				close(ready)
			}
		}
	}()
	s.t.Cleanup(func() {
		_ = v.cmd.Process.Kill()
		<-v.ended
	})
	select {
	case <-ready:
	case <-time.After(time.Minute):
		s.t.Fatal("serve does not start")
	}
	return v
}

func (v *served) said() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.log.String()
}

func (v *served) signal(sig syscall.Signal) {
	v.t.Helper()
	if err := v.cmd.Process.Signal(sig); err != nil {
		v.t.Fatal(err)
	}
}

// wait returns the exit code.
func (v *served) wait() int {
	v.t.Helper()
	done := make(chan struct{})
	go func() {
		<-v.ended // to wait for the process closes the pipe, with what was not read of it
		_ = v.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		v.t.Fatalf("serve does not end:\n%s", v.said())
	}
	return v.cmd.ProcessState.ExitCode()
}

func TestServeWakesDrainsAndLocks(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"quiet": "exit 0",
		"gated": `echo up > "$OUT/up"; while [ ! -e "$OUT/go" ]; do sleep 0.05; done; exit 0`,
	})
	v := s.serve("--concurrency", "2")
	st := s.open()

	// Work that arrives while the loop sleeps is done at once, not at the next tick of a timer.
	for range 3 {
		id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}})
		start := time.Now()
		s.until("the task is completed", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("a waking dispatcher took %s", took)
		}
	}

	// A second dispatcher is refused; `deed run` works at the same time as the first.
	if o := s.deed(nil, "dispatch"); o.code != ExitLocked || !strings.Contains(o.stderr, "another process") {
		t.Errorf("a second dispatcher: exit %d, %s", o.code, o.stderr)
	}
	events, err := st.Events(t.Context(), store.EventFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range events {
		seen[e.Type]++
	}
	if seen["dispatch_locked"] != 1 || seen["dispatch_idle"] == 0 || seen["dispatch_idle"] > 8 {
		t.Errorf("events are %v, want dispatch_locked once, and dispatch_idle at transitions only", seen)
	}
	if o := s.deed(nil, "run", "--no-workspace", "--agent", "quiet", "--type", "script", "beside"); o.code != 0 {
		t.Errorf("run beside serve: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}

	// SIGTERM drains: the running attempt ends by itself, and what is queued stays.
	running := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "gated", "payload": map[string]any{}})
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	v.signal(syscall.SIGTERM)
	s.until("draining is said", func() bool { return strings.Contains(v.said(), "draining") })
	waiting := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}})
	writeFile(t, filepath.Join(s.dir, "go"), "")
	if code := v.wait(); code != 0 {
		t.Errorf("serve ended with %d after draining:\n%s", code, v.said())
	}
	if got := status(t, st, running); got != agentruntime.TaskCompleted {
		t.Errorf("the drained task is %s, want completed", got)
	}
	if got := status(t, st, waiting); got != agentruntime.TaskPending {
		t.Errorf("a task that came during the drain is %s, want pending", got)
	}
	s.noProcess()
	s.tidy()
}

func TestServeStopsHardAndLosesNoAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"stubborn": `trap "" TERM INT; (setsid sh -c 'trap "" TERM; sleep 1000' &) ; echo up > "$OUT/up"; while :; do sleep 0.05; done`,
	})
	v := s.serve()
	st := s.open()
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "stubborn", "payload": map[string]any{}, "deed": map[string]any{"max_attempts": 1}})
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	v.signal(syscall.SIGTERM)
	s.until("draining is said", func() bool { return strings.Contains(v.said(), "draining") })
	v.signal(syscall.SIGTERM)
	if code := v.wait(); code != 0 {
		t.Errorf("serve ended with %d:\n%s", code, v.said())
	}
	s.noProcess()
	task, err := st.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if task.Record.Status != agentruntime.TaskRetryableFailure || task.Record.AttemptCount != 0 {
		t.Errorf("the stopped task is %s with %d attempts used, want it waiting with none", task.Record.Status, task.Record.AttemptCount)
	}
	s.tidy()
}

func TestCancelStopsARunningAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"slow": `echo up > "$OUT/up"; while :; do sleep 0.05; done`})
	v := s.serve()
	st := s.open()
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "slow", "payload": map[string]any{}})
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	s.ok("task", "cancel", id, "--reason", "changed my mind")
	s.until("the task is cancelled", func() bool { return status(t, st, id) == agentruntime.TaskOperatorCanceled })
	task, err := st.Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if o := task.Record.Outcome; o == nil || !strings.Contains(o.OperatorSummary, "changed my mind") || o.MachineStatus != agentruntime.MachineCanceled {
		t.Errorf("outcome is %+v", o)
	}
	v.signal(syscall.SIGTERM)
	v.wait()
	s.noProcess()
	s.tidy()
}

// A killed dispatcher leaves a lock file; the next one says so, reclaims at once and continues.
func TestServeTakesOverFromAKilledOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"once": `if [ -e "$OUT/up" ]; then exit 0; fi; echo up > "$OUT/up"; while :; do sleep 0.05; done`})
	v := s.serve()
	st := s.open()
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "once", "payload": map[string]any{}})
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	v.signal(syscall.SIGKILL)
	v.wait()
	s.noProcess()
	w := s.serve()
	s.until("the task is completed", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
	w.signal(syscall.SIGTERM)
	w.wait()
	events, err := st.Events(t.Context(), store.EventFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range events {
		seen[e.Type]++
	}
	// The lost attempt keeps its own runner's name, and the one who swept it keeps its own.
	attempts, err := st.Attempts(t.Context(), id)
	if err != nil || len(attempts) != 2 || attempts[0].Record.RunnerID == attempts[1].Record.RunnerID {
		t.Errorf("attempts are %+v, %v, want two by two runners", attempts, err)
	}
	if seen["dispatch_lock_stale_cleared"] != 1 || seen["boot_sweep_reclaimed"] != 1 {
		t.Errorf("events are %v, want dispatch_lock_stale_cleared and boot_sweep_reclaimed once", seen)
	}
	s.tidy()
}

// A task whose last attempt dies with its runner ends, with evidence.
func TestALostLastAttemptIsPermanent(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"slow": `echo up > "$OUT/up"; while :; do sleep 0.05; done`})
	v := s.serve()
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "slow", "payload": map[string]any{}, "deed": map[string]any{"max_attempts": 1}})
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	v.signal(syscall.SIGKILL)
	v.wait()
	s.ok("dispatch")
	s.noProcess()
	var doc struct {
		Task     agentruntime.TaskRecord `json:"task"`
		Attempts []struct {
			Class  string `json:"class"`
			Bundle string `json:"bundle"`
		} `json:"attempts"`
	}
	if err := json.Unmarshal([]byte(s.ok("--json", "task", "show", id)), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Task.Status != agentruntime.TaskPermanentFailure || doc.Task.LastError == nil || !strings.Contains(*doc.Task.LastError, "lost") {
		t.Errorf("the task is %s (%v), want permanent_failure, lost", doc.Task.Status, doc.Task.LastError)
	}
	if len(doc.Attempts) != 1 || doc.Attempts[0].Class != "lost" || doc.Attempts[0].Bundle == "" {
		t.Errorf("attempts are %+v, want one, lost, with a bundle", doc.Attempts)
	}
	s.tidy()
}

// A dispatcher whose home is removed or moved must not go on in a directory that cannot be reached.
func TestServeEndsWhenItsHomeIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0"})
	v := s.serve()
	// The wake-up is made before it is opened: only one that somebody listens on belongs to a dispatcher at work.
	var fifo *os.File
	s.until("somebody listens", func() bool {
		var err error
		fifo, err = os.OpenFile(filepath.Join(s.home, "wake"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	// The home goes away; the wake-up of the old one is still open.
	if err := os.Rename(s.home, s.home+"-moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := fifo.Write([]byte("w")); err != nil {
		t.Fatal(err)
	}
	if err := fifo.Close(); err != nil {
		t.Fatal(err)
	}
	if code := v.wait(); code != ExitInfra || !strings.Contains(v.said(), "the home is gone") {
		t.Errorf("serve ended with %d:\n%s", code, v.said())
	}
	if _, err := os.Stat(s.home); err == nil {
		t.Error("the old dispatcher made the home anew")
	}
}

// A run that is tried again while a dispatcher runs ends with its task, whoever makes the next attempt.
func TestRunIsTriedAgainBesideServe(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"third": `echo x >> "$OUT/tries"; [ $(wc -l < "$OUT/tries") -ge 3 ] || exit 1; echo '{"status": "completed", "machine_status": "ok", "operator_summary": "at last"}'`})
	s.serve()
	o := s.deed(nil, "run", "--no-workspace", "--allow-empty", "--agent", "third", "--attempts", "5", "try")
	if o.code != 0 || !strings.Contains(o.stdout, "completed") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// One bad task never stops the queue.
func TestABadTaskStopsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"quiet": "exit 0", "gone": "exit 0"})
	bad := s.add(map[string]any{"task_type": "script", "source": "t", "priority": 9, "requested_adapter_id": "gone", "payload": map[string]any{}})
	worse := s.add(map[string]any{
		"task_type": "script", "source": "t", "priority": 8, "requested_adapter_id": "quiet", "payload": map[string]any{},
		"deed": map[string]any{"workspace": map[string]any{"source": filepath.Join(s.dir, "no-such-directory")}},
	})
	good := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "quiet", "payload": map[string]any{}})
	if err := os.Remove(filepath.Join(s.dir, "gone.sh")); err != nil {
		t.Fatal(err)
	}
	s.ok("dispatch")
	st := s.open()
	for id, want := range map[string]agentruntime.TaskStatus{bad: agentruntime.TaskPermanentFailure, worse: agentruntime.TaskPermanentFailure, good: agentruntime.TaskCompleted} {
		if got := status(t, st, id); got != want {
			t.Errorf("task %s is %s, want %s", id, got, want)
		}
	}
	s.tidy()
}

func TestRunIsCancelledByAnInterrupt(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"slow": `echo up > "$OUT/up"; while :; do sleep 0.05; done`})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := s.command(nil, "run", "--no-workspace", "--agent", "slow", "wait")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	s.until("the agent runs", func() bool { _, err := os.Stat(filepath.Join(s.dir, "up")); return err == nil })
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != ExitNotDone {
		t.Errorf("an interrupted run: %v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "operator_canceled") {
		t.Errorf("output:\n%s", out.String())
	}
	s.noProcess()
	s.tidy()
}

// A manager is notified that serve is ready, that its loop runs, and that it stops; no process that it starts can speak to the
// manager.
func TestServeTellsItsManager(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"curious": `if env | grep -E 'NOTIFY_SOCKET|WATCHDOG'; then exit 1; fi`})
	dir, err := os.MkdirTemp("", "n") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	until := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		for range 1000 {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
		t.Fatalf("the manager never heard %s", want)
	}
	s.env = append(s.env, "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=300000")
	v := s.serve()
	until("READY=1")
	for range 5 { // an idle loop sleeps for half a minute when no one watches it
		until("WATCHDOG=1")
	}
	st := s.open()
	id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "curious", "payload": map[string]any{}})
	until("STATUS=1 of 2 attempts run")
	until("STATUS=0 of 2 attempts run")
	if got := status(t, st, id); got != agentruntime.TaskCompleted {
		t.Errorf("an agent that looks for the manager is %s", got)
	}
	v.signal(syscall.SIGTERM)
	until("STOPPING=1")
	if code := v.wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, v.said())
	}
}

// A flood at the HTTP server does not disturb the dispatcher: a task that is added meanwhile is done, a kill leaves a socket and a file
// that the next server replaces.
func TestServeUnderAFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"good": "true\n"})
	v := s.serve()
	at, err := deedserver.Find(home.At(s.home))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(at.URL, "http://")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var held []net.Conn
		defer func() {
			for _, c := range held {
				_ = c.Close()
			}
		}()
		for range 3000 {
			select {
			case <-stop:
				return
			default:
			}
			c, err := net.Dial("tcp", address)
			if err != nil {
				continue
			}
			_, _ = c.Write([]byte("POST /api/v1/tasks HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\n{"))
			if held = append(held, c); len(held) > 1500 {
				_ = held[0].Close()
				held = held[1:]
			}
		}
	}()
	st := s.open()
	for range 3 {
		id := s.add(map[string]any{"task_type": "script", "source": "t", "requested_adapter_id": "good", "payload": map[string]any{}})
		s.until("the task is completed in a flood", func() bool { return status(t, st, id) == agentruntime.TaskCompleted })
	}
	close(stop)
	<-ended
	_ = v.cmd.Process.Kill()
	v.wait()
	if _, err := deedserver.Find(home.At(s.home)); err == nil {
		t.Error("a dead server is found")
	}
	again := s.serve()
	if at, err = deedserver.Find(home.At(s.home)); err != nil || at.PID != again.cmd.Process.Pid {
		t.Errorf("after the kill: %+v %v", at, err)
	}
	if link := s.ok("open"); !strings.HasPrefix(link, at.URL+"/login?code=") {
		t.Errorf("link %q", link)
	}
	again.signal(syscall.SIGTERM)
	if code := again.wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, again.said())
	}
}

//go:build linux

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/internal/base/proc"
)

func itoa(n int) string { return strconv.Itoa(n) }

const threeDaemons = `for i in 1 2 3; do setsid sh -c 'trap "" TERM HUP; (setsid sh -c "trap \"\" TERM HUP; while :; do sleep 1000; done" >/dev/null 2>&1 </dev/null &)'; done; echo ready; exec sleep 1000`

// startParent starts a helper process that runs a script under a supervisor, and returns when the script is ready.
func startParent(t *testing.T, mark, script string) (parent *exec.Cmd, supervisor int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperMode+"="+script, marker+"="+mark)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		if pid, ok := strings.CutPrefix(sc.Text(), "supervisor "); ok {
			supervisor, _ = strconv.Atoi(pid)
		}
		if sc.Text() == "ready" {
			return cmd, supervisor
		}
	}
	t.Fatal("the helper did not get ready")
	return nil, 0
}

func TestSIGKILLOfTheParentLeavesNothing(t *testing.T) {
	t.Parallel()
	for range 5 {
		mark := uuid.NewString()
		parent, supervisor := startParent(t, mark, threeDaemons)
		if pids := pollMarked(t, mark, func(p []int) bool { return len(p) >= 5 }); len(pids) < 5 {
			t.Fatalf("the tree did not stand: %v", pids)
		}
		_ = parent.Process.Kill()
		_ = parent.Wait()
		waitGone(t, mark)
		waitExit(t, supervisor)
	}
}

// waitExit waits for the end of a process that is nobody's child here.
func waitExit(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("process %d is still there: %s", pid, stat)
			return
		}
	}
}

func TestSweepFindsWhatADoubleKillLeft(t *testing.T) {
	// Not parallel: what is left becomes the child of this process, and a supervisor of another test that ends would have it
	// killed before the sweep comes.
	mark := uuid.NewString()
	parent, supervisor := startParent(t, mark, threeDaemons)
	pollMarked(t, mark, func(p []int) bool { return len(p) >= 5 })
	// Stopped, the supervisor cannot act on the death of its parent; then it dies itself.
	_ = syscall.Kill(supervisor, syscall.SIGSTOP)
	_ = parent.Process.Kill()
	_ = parent.Wait()
	_ = syscall.Kill(supervisor, syscall.SIGKILL)
	waitExit(t, supervisor)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := proc.KillByEnv(ctx, marker, mark)
	if err != nil || n < 3 {
		t.Errorf("killed %d, %v", n, err)
	}
	waitGone(t, mark)
}

// Processes that come back as fast as they are killed do not block the killer forever.
func TestKillByEnvEndsWithItsContext(t *testing.T) {
	t.Parallel()
	mark := uuid.NewString()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = []string{marker + "=" + mark}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proc.KillByEnv(ctx, marker, mark); !errors.Is(err, proc.ErrSurvivors) {
		t.Errorf("with an ended context: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestKillTreeTakesWhatIsBelow(t *testing.T) {
	t.Parallel()
	mark := uuid.NewString()
	cmd := exec.Command("/bin/sh", "-c", `trap '' TERM; (setsid env -u `+marker+` sleep 1000 & sleep 1000 & echo ready; wait)`)
	cmd.Env = append(os.Environ(), marker+"="+mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	if !sc.Scan() {
		t.Fatal("no output")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := proc.KillTree(ctx, []int{cmd.Process.Pid, 1 << 30, os.Getpid()}); err != nil {
		t.Error(err)
	}
	for sc.Scan() { // the pipe ends only when the process without the marker is gone, too
	}
	_ = cmd.Wait()
	waitGone(t, mark)
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	self, err := proc.SelfIdentity()
	if err != nil || self.PID != os.Getpid() || self.BootID == "" || self.StartTime == 0 {
		t.Fatalf("got %+v, %v", self, err)
	}
	cmd := exec.Command("/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*proc.Identity)
		alive  bool
	}{
		"self":         {func(*proc.Identity) {}, true},
		"pid reused":   {func(id *proc.Identity) { id.StartTime-- }, false},
		"ended":        {func(id *proc.Identity) { id.PID = cmd.Process.Pid }, false},
		"older boot":   {func(id *proc.Identity) { id.BootID = "x" }, false},
		"other host":   {func(id *proc.Identity) { id.Host = "x"; id.PID = cmd.Process.Pid }, true},
		"other pid ns": {func(id *proc.Identity) { id.Namespace = "x"; id.PID = cmd.Process.Pid }, true},
	} {
		id := self
		tc.change(&id)
		if proc.Alive(id) != tc.alive {
			t.Errorf("%s: alive is %v", name, !tc.alive)
		}
	}
}

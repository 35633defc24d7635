package proc_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deedrun/deed/internal/base/proc"
)

const (
	helperMode     = "PROC_TEST_HELPER"
	helperEnclosed = "PROC_TEST_ENCLOSED" // of a helper that runs its script in a namespace
	helperTool     = "PROC_TEST_TOOL"     // of a helper that runs its script as a tool: held or guarded
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.SupervisorMain(os.Args))
	}
	if script := os.Getenv(helperMode); script != "" {
		os.Exit(helperParent(script))
	}
	goleak.VerifyTestMain(m)
}

// helperParent is a deed in small: it runs a script under a supervisor, or enclosed, until it is killed.
func helperParent(script string) int {
	if os.Getenv(helperEnclosed) != "" {
		return helperEncloser(script)
	}
	if how := os.Getenv(helperTool); how != "" {
		run := proc.Tool
		if how == "held" {
			run = proc.SupervisedTool
		}
		_, err := run(context.Background(), proc.ToolSpec{
			Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Guarded: how == "guarded", Stdout: os.Stdout,
			Env: []string{"PATH=/usr/bin:/bin", marker + "=" + os.Getenv(marker)},
		})
		fmt.Fprintln(os.Stderr, "run ended:", err)
		return 1
	}
	sup, err := proc.NewSupervisor(context.Background(), proc.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("supervisor %d\n", sup.PID())
	_, err = sup.Run(context.Background(), proc.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: "/",
		Env:    []string{"PATH=/usr/bin:/bin", marker + "=" + os.Getenv(marker)},
		Stdout: os.Stdout, Stderr: os.Stderr,
	})
	fmt.Fprintln(os.Stderr, "run ended:", err)
	return 1
}

// walled is a command in a pid namespace of its own, by bubblewrap.
func walled(script string) []string {
	return []string{
		"bwrap", "--unshare-user", "--unshare-pid", "--uid", "1000", "--gid", "1000", "--disable-userns", "--die-with-parent",
		"--bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", script,
	}
}

// helperEncloser is a deed in small that runs a script enclosed.
func helperEncloser(script string) int {
	sup, err := proc.IdleSupervisor(proc.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	_, err = sup.Run(context.Background(), proc.Spec{
		Argv: walled(script), Dir: "/", Enclosed: true,
		Env: []string{"PATH=" + os.Getenv("PATH"), marker + "=" + os.Getenv(marker)},
	})
	fmt.Fprintln(os.Stderr, "run ended:", err)
	return 1
}

const marker = "PROC_TEST_MARKER"

// waitGone waits until no process carries the marker, and fails the test if that takes too long. The processes are
// foreign ones that nobody here can wait for.
func waitGone(t *testing.T, value string) {
	t.Helper()
	if left := pollMarked(t, value, func(pids []int) bool { return len(pids) == 0 }); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// mustBeGone asserts that no process carries the marker now.
func mustBeGone(t *testing.T, value string) {
	t.Helper()
	left, err := proc.FindByEnv(marker, value)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range left {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		t.Errorf("process left: %d %q %s", pid, cmdline, stat)
	}
}

func pollMarked(t *testing.T, value string, ok func([]int) bool) []int {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		pids, err := proc.FindByEnv(marker, value)
		if err != nil {
			t.Fatal(err)
		}
		if ok(pids) {
			return pids
		}
		select {
		case <-tick.C:
		case <-deadline:
			return pids
		}
	}
}

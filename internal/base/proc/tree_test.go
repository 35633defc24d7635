//go:build linux

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
)

// The shapes of process trees that a group kill does not end. Each prints "ready" when it is complete, and then stays.
var escapingTrees = map[string]string{
	"ignores SIGTERM":            `trap '' TERM; echo ready; while :; do sleep 1000; done`,
	"child that ignores SIGTERM": `sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done'; :`,
	"grandchild holds the pipe":  `(sleep 1000 & sleep 1000 & echo ready; wait)`,
	"daemonised":                 `setsid sh -c 'trap "" TERM; (setsid sh -c "trap \"\" TERM; echo ready; while :; do sleep 1000; done" &) ; exit' ; while :; do sleep 1000; done`,
	"stopped":                    `(kill -STOP $(exec sh -c 'echo $PPID')) & sleep 1000 & kill -STOP $!; echo ready; wait`,
	"forks on and on":            `trap '' TERM; echo ready; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); sleep 1000 & sleep 0.001; done; sleep 1000`,
	"deep":                       `f() { if [ $1 -gt 0 ]; then (trap '' TERM; f $(($1-1)); :); else echo ready; while :; do sleep 1000; done; fi; }; f 30; :`,
}

func TestTimeoutLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, script := range escapingTrees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for limit := 300 * time.Millisecond; ; limit *= 4 { // a tree that does not stand yet shows nothing
				spec := b.shell(script)
				spec.Timeout, spec.Grace = limit, 50*time.Millisecond
				var out bytes.Buffer
				spec.Stdout = &out
				exit, err := b.sup.Run(t.Context(), spec)
				if err != nil || !exit.TimedOut || exit.Canceled || !errors.Is(exit.Cause, proc.ErrTimeout) {
					t.Errorf("got %+v, %v", exit, err)
				}
				mustBeGone(t, b.marker)
				if strings.Contains(out.String(), "ready") || t.Failed() {
					return
				}
				if limit > 10*time.Second {
					t.Fatalf("the tree did not stand: %q", out.String())
				}
			}
		})
	}
}

func TestCancelLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, script := range escapingTrees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			why := errors.New("the operator said so")
			ctx, cancel := context.WithCancelCause(t.Context())
			spec := b.shell(script)
			spec.Grace = 50 * time.Millisecond
			spec.Stdout = &lineWriter{text: "ready", call: func() { cancel(why) }}
			exit, err := b.sup.Run(ctx, spec)
			if err != nil || exit.TimedOut || !exit.Canceled || !errors.Is(exit.Cause, why) {
				t.Errorf("got %+v, %v", exit, err)
			}
			mustBeGone(t, b.marker)
			if exit, err := b.sup.Run(t.Context(), b.shell("exit 3")); err != nil || exit.Code != 3 {
				t.Errorf("the next run: %+v, %v", exit, err)
			}
		})
	}
}

func TestEndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"background":            `sleep 1000 & exit 5`,
		"ignores SIGTERM":       `sh -c 'trap "" TERM; echo ready; while :; do sleep 1000; done' & while ! [ -e up ]; do touch up; done; exit 5`,
		"daemonised":            `setsid sh -c '(setsid sh -c "sleep 1000" &)'; exit 5`,
		"daemonised, no pipes":  `setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 &'; exit 5`,
		"emptied environment":   `setsid env -i /bin/sleep 1000 & exit 5`,
		"forks while it is hit": `setsid sh -c 'trap "" TERM; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); sleep 1000 & sleep 0.001; done; sleep 1000' & exit 5`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spec := b.shell(script)
			spec.Stdout, spec.Grace = &bytes.Buffer{}, time.Minute
			start := time.Now()
			exit, err := b.sup.Run(t.Context(), spec)
			if err != nil || exit.Code != 5 || exit.TimedOut || exit.Canceled || exit.Killed < 1 {
				t.Errorf("got %+v, %v", exit, err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("what was left delayed the end by %v", took)
			}
			mustBeGone(t, b.marker)
			if kids := childrenOf(t, b.sup.PID()); kids != "" {
				t.Errorf("the supervisor still has children: %s", kids)
			}
		})
	}
}

func childrenOf(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cat /proc/$0/task/*/children`, itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// What forks as fast as it can, in the three ways that a listing of processes falls behind of. What accumulates is
// bounded, so that a fault in deed fails the test and not the machine.
func TestGrowthIsCaught(t *testing.T) {
	t.Parallel()
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Skip("missing tool: perl: apt-get install perl")
	}
	for name, script := range map[string]string{
		"hopper: a new process in a new session every time": `if (fork()) { exit 5 } while (1) { POSIX::setsid(); if (fork()) { POSIX::_exit(0) } }`,
		"many hoppers":            `for (1..5) { fork() } while (1) { if (fork()) { POSIX::_exit(0) } POSIX::setsid() if rand() < 0.5; select(undef, undef, undef, 0.001) }`,
		"a chain whose end grows": `for (1..3000) { if (fork()) { while (1) { sleep 1000 } } } while (1) { sleep 1000 }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spec := b.shell("")
			spec.Argv = []string{perl, "-MPOSIX", "-e", `$SIG{TERM} = "IGNORE"; ` + script}
			spec.Timeout, spec.Grace = 100*time.Millisecond, 5*time.Millisecond
			exit, err := b.sup.Run(t.Context(), spec)
			if err != nil {
				t.Errorf("got %+v, %v", exit, err)
			}
			mustBeGone(t, b.marker)
		})
	}
}

func TestGraceLetsAnAgentFinish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	spec := b.shell(`trap 'echo saved; exit 9' TERM; echo ready; while :; do sleep 1000 & wait; done`)
	out := &lineWriter{text: "ready", call: cancel}
	spec.Stdout, spec.Grace = out, time.Minute
	exit, err := b.sup.Run(ctx, spec)
	if err != nil || exit.Code != 9 || !exit.Canceled || !strings.Contains(out.buf.String(), "saved") {
		t.Errorf("got %+v, %v, %q", exit, err, out.buf.String())
	}
}

func TestAgentThatKillsItsSupervisor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.sup.PID()
	spec := b.shell(`setsid sh -c 'trap "" TERM; setsid sleep 1000 </dev/null >/dev/null 2>&1 & exec sleep 1000' & kill -KILL ` + itoa(old) + `; exec sleep 1000`)
	spec.Stdout = &bytes.Buffer{}
	exit, err := b.sup.Run(t.Context(), spec)
	if !errors.Is(err, proc.ErrSupervisorLost) || errors.Is(err, proc.ErrSurvivors) {
		t.Errorf("got %+v, %v", exit, err)
	}
	mustBeGone(t, b.marker)
	if exit, err := b.sup.Run(t.Context(), b.shell("exit 3")); err != nil || exit.Code != 3 {
		t.Errorf("the next run: %+v, %v", exit, err)
	}
	if b.sup.PID() == old {
		t.Error("the supervisor is still the old one")
	}
}

func TestSupervisorThatDiesBetweenRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, err := os.FindProcess(b.sup.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		exit, err := b.sup.Run(t.Context(), b.shell("exit 3"))
		if errors.Is(err, proc.ErrSupervisorLost) {
			continue // the request can have reached the socket of a dying process
		}
		if err != nil || exit.Code != 3 {
			t.Errorf("got %+v, %v", exit, err)
		}
		return
	}
	t.Error("no run succeeded")
}

func TestAgentThatStopsItsSupervisor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sup.SetWatchdogSlack(100 * time.Millisecond)
	for limit := 100 * time.Millisecond; ; limit *= 4 { // an agent that did not come to it shows nothing
		spec := b.shell(`setsid sleep 1000 & echo now; kill -STOP $PPID; exec sleep 1000`)
		var out bytes.Buffer
		spec.Stdout, spec.Timeout, spec.Grace = &out, limit, time.Millisecond
		exit, err := b.sup.Run(t.Context(), spec)
		mustBeGone(t, b.marker)
		if early := out.String() == "" || err == nil && exit.TimedOut; early && limit < 10*time.Second {
			continue
		}
		if !errors.Is(err, proc.ErrSupervisorLost) || !exit.TimedOut {
			t.Errorf("got %+v, %v", exit, err)
		}
		return
	}
}

// Tools run while supervisors die: the search for orphans must not take them for orphans.
func TestToolsSurviveTheHuntForOrphans(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := proc.Tool(ctx, proc.ToolSpec{
			Argv:   []string{"/bin/sh", "-c", "echo ready; exec sleep 1000"},
			Stdout: &lineWriter{text: "ready", call: func() { close(ready) }},
		})
		done <- err
	}()
	<-ready
	for range 5 {
		b := setup(t)
		_, err := b.sup.Run(t.Context(), b.shell(`kill -KILL $PPID; exec sleep 1000`))
		if !errors.Is(err, proc.ErrSupervisorLost) {
			t.Errorf("got %v", err)
		}
	}
	select {
	case err := <-done:
		t.Errorf("the tool ended: %v", err)
	default:
	}
	cancel()
	<-done
}

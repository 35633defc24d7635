package proc

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

// orphanDeadline bounds the search for orphans.
const orphanDeadline = killDeadline

// ownProcs records which children this process started itself. Every other child of deed that is in another session and younger
// than the first supervisor was orphaned by a supervisor that died. Tools that deed starts are in deed's session; an agent's
// process never is, because a process cannot join a session.
var ownProcs = &ownChildren{own: map[int]bool{}}

type ownChildren struct {
	mu    sync.Mutex   // held while one of them starts, so that it is never taken for an orphan
	own   map[int]bool // guarded by mu; supervisors, guards, and what these guard
	since uint64       // guarded by mu; when deed became a subreaper, in clock ticks since boot; 0: it is none

	sweepMu sync.Mutex // serializes killOrphans
}

// BecomeSubreaper makes this process the parent of everything that its descendants orphan, for the rest of its
// life. NewSupervisor does it, too; calling it again does nothing.
func BecomeSubreaper() error {
	ownProcs.mu.Lock()
	defer ownProcs.mu.Unlock()
	if ownProcs.since > 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	// The kernel gives start times to user space in hundredths of a second on every architecture that Go knows.
	ownProcs.since = max(uint64(now.Nano())/uint64(10*time.Millisecond), 1)
	return nil
}

func (k *ownChildren) start(cmd *exec.Cmd) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	k.own[cmd.Process.Pid] = true
	return nil
}

// fork starts a process that only its owner waits for.
func (k *ownChildren) fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err == nil {
		k.own[pid] = true
	}
	return pid, err
}

// startMain starts the main process of a run that has no supervisor.
func (k *ownChildren) startMain(req *runRequest, files []int, before func(pid int) error) (pid int, what string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if pid, what, err = startMain(req, files, before); err == nil {
		k.own[pid] = true
	}
	return pid, what, err
}

func (k *ownChildren) remove(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.own, pid)
}

// killOrphans kills and reaps every orphan and its descendants. It returns ErrSurvivors when some do not die.
func (k *ownChildren) killOrphans() error {
	k.sweepMu.Lock()
	defer k.sweepMu.Unlock()
	session, err := unix.Getsid(0)
	if err != nil {
		return fmt.Errorf("kill orphans: %w", err)
	}
	start := clock.Start()
	pause := time.Millisecond
	empty := 0 // looks in a row: the kernel may leave a child out of the list while another one is reaped
	for {
		// The lock keeps a supervisor that is being started out of the walk.
		k.mu.Lock()
		orphans := map[int]bool{} // kill walks more than once
		t := &tree{root: os.Getpid(), skip: func(st procStat) bool {
			mine := k.own[st.pid] || st.sid == session || st.start < k.since
			if !mine {
				orphans[st.pid] = true
			}
			return mine
		}}
		t.kill()
		k.mu.Unlock()
		if len(orphans) == 0 {
			if empty++; empty == 2 {
				return nil
			}
			continue
		}
		empty = 0
		left := 0
		for pid := range orphans {
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil); err == nil && got == 0 {
				left++
			}
		}
		if left == 0 {
			continue // their children may be ours now
		}
		if clock.Since(start) > orphanDeadline {
			return fmt.Errorf("%w: %v", ErrSurvivors, slices.Sorted(maps.Keys(orphans)))
		}
		<-time.After(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

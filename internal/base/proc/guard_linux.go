package proc

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardShell is the program of a guard, and guardScript what it does: it reads the number of a process group when a run starts,
// and a word when the run is over. If its input ends before that word, deed is dead, and the guard kills the group. It ignores
// the signals of a terminal or of a service manager.
const (
	guardShell  = "/bin/sh"
	guardScript = `trap '' TERM INT HUP QUIT; while read -r group; do read -r over || { kill -s KILL -- "-$group"; exit; }; done`
)

// A guard is a process that outlives deed by a moment, for runs that have no supervisor to do so. It is a shell, because a shell
// starts in a fifth of the time that another deed takes, and with a tenth of the memory.
//
// It is not enough that the kernel kills the main process with deed. bubblewrap makes the kernel kill the first process of the
// namespace in turn, but only once the sandbox is complete: deed can die in the milliseconds before, and leave an agent behind.
type guard struct {
	pid int // it is reaped by alive and close alone

	mu   sync.Mutex
	pipe int // guarded by mu; -1 when closed. Its end is deed's, whatever ends deed.
}

func startGuard() (*guard, error) {
	return startGuardShell(guardScript, &syscall.SysProcAttr{Setsid: true}) // no signal of a terminal reaches it
}

// groupScript is what the guard of its own process group does: if its input ends before the word, it kills the group and so itself.
const groupScript = `trap '' TERM INT HUP QUIT; read -r over || kill -s KILL 0`

// startGroupGuard starts a guard that leads a process group. What is started in that group is guarded from its first instruction on: a
// guard that had to be told the group would come too late for a deed that dies in between.
func startGroupGuard() (*guard, error) {
	return startGuardShell(groupScript, &syscall.SysProcAttr{Setpgid: true})
}

func startGuardShell(script string, sys *syscall.SysProcAttr) (_ *guard, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start guard: %w", err)
		}
	}()
	null, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(fds[0])
	g := &guard{pipe: fds[1]}
	// A guard that was stopped by a signal reads nothing: the write must fail, not block.
	if err = unix.SetNonblock(g.pipe, true); err == nil {
		g.pid, err = ownProcs.fork(guardShell, []string{"sh", "-c", script}, &syscall.ProcAttr{
			Dir: "/", Files: []uintptr{uintptr(fds[0]), uintptr(null), uintptr(null)}, Sys: sys,
		})
	}
	if err != nil {
		unix.Close(g.pipe)
		return nil, err
	}
	return g, nil
}

// alive reports whether the guard still runs. It closes one that does not.
func (g *guard) alive() bool {
	if pid, err := unix.Wait4(g.pid, nil, unix.WNOHANG, nil); pid == 0 && err == nil {
		return true
	}
	g.hangUp()
	ownProcs.remove(g.pid)
	return false
}

// watch puts a process group under guard.
func (g *guard) watch(group int) error {
	if err := g.say(strconv.Itoa(group)); err != nil {
		return fmt.Errorf("put it under guard: %w", err)
	}
	return nil
}

// unwatch stops watching a group of which nothing is left.
func (g *guard) unwatch() { _ = g.say("over") }

func (g *guard) say(word string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe < 0 {
		return os.ErrClosed
	}
	_, err := unix.Write(g.pipe, []byte(word+"\n"))
	return err
}

// hangUp closes the pipe: the guard then kills the group that it watches, and ends itself.
func (g *guard) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe >= 0 {
		unix.Close(g.pipe)
		g.pipe = -1
	}
}

// close ends the guard when it has nothing left to guard.
func (g *guard) close() {
	g.hangUp()
	_ = unix.Kill(g.pid, unix.SIGKILL)
	_, _ = unix.Wait4(g.pid, nil, 0, nil)
	ownProcs.remove(g.pid)
}

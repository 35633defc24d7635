package proc

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardShell is the program of a guard, and guardScript what it does: it reads the number of a process group when a run
// starts, and a word when the run is over. When the word does not come, deed is dead, and the group is killed. The signals
// of a terminal or of a service manager are not for it.
const (
	guardShell  = "/bin/sh"
	guardScript = `trap '' TERM INT HUP QUIT; while read -r group; do read -r over || { kill -s KILL -- "-$group"; exit; }; done`
)

// A guard is a process that outlives deed by a moment, for runs that have no supervisor to do so. It is a shell, because
// one is there in a fifth of the time that another deed takes, and in a tenth of the memory.
//
// That the kernel kills the main process with deed is not enough. bubblewrap has it kill the first process of the
// namespace in turn, but only once all walls stand: deed can die in the milliseconds before, and leave an agent behind.
type guard struct {
	pid int // it is reaped by alive and close alone

	mu   sync.Mutex
	pipe int // guarded by mu; -1 when closed. Its end is deed's, whatever ends deed.
}

func startGuard() (_ *guard, err error) {
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
	// A guard that somebody stopped reads nothing: that is found out, not waited for.
	if err = unix.SetNonblock(g.pipe, true); err == nil {
		g.pid, err = ownProcs.fork(guardShell, []string{"sh", "-c", guardScript}, &syscall.ProcAttr{
			Dir: "/", Files: []uintptr{uintptr(fds[0]), uintptr(null), uintptr(null)},
			Sys: &syscall.SysProcAttr{Setsid: true}, // no signal of a terminal reaches it
		})
	}
	if err != nil {
		unix.Close(g.pipe)
		return nil, err
	}
	return g, nil
}

// alive reports whether the guard is there. One that is not is closed.
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

// unwatch ends the watch over a group of which nothing is left.
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

// hangUp ends the conversation: the guard kills what it watches over, and ends itself.
func (g *guard) hangUp() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe >= 0 {
		unix.Close(g.pipe)
		g.pipe = -1
	}
}

// close ends the guard, which has nothing to guard any more.
func (g *guard) close() {
	g.hangUp()
	_ = unix.Kill(g.pid, unix.SIGKILL)
	_, _ = unix.Wait4(g.pid, nil, 0, nil)
	ownProcs.remove(g.pid)
}

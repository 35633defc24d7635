package proc

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readyDeadline bounds the start of a supervisor process. A binary without this package never gets ready.
	readyDeadline = 20 * time.Second
	// closeDeadline bounds how long a closed supervisor may take to end its tree by itself.
	closeDeadline = killDeadline + time.Second
)

// A supervisorProcess is one living supervisor, and deed's end of the conversation with it.
type supervisorProcess struct {
	cmd    *exec.Cmd
	ch     *channel
	msgs   chan message  // closed when the conversation is over
	gone   chan struct{} // closed when the process is gone and so is everything that it held
	begun  chan struct{} // closed when the process is ready for a run, or never will be
	quit   chan struct{} // closed by close
	once   sync.Once     // for quit
	stderr *headBuffer   // of the process, read only after gone

	startErr  error // set before begun is closed
	orphanErr error // set before gone is closed
}

// startSupervisor starts a supervisor process. It is not ready yet: await waits until it is.
func startSupervisor(opt Options) (*supervisorProcess, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	p := &supervisorProcess{
		ch:     &channel{conn: conn.(*net.UnixConn)},
		msgs:   make(chan message),
		gone:   make(chan struct{}),
		begun:  make(chan struct{}),
		quit:   make(chan struct{}),
		stderr: &headBuffer{max: 16 << 10},
	}
	p.cmd = exec.Command(opt.Exe, opt.Args...)
	p.cmd.Args[0] = "deed"
	p.cmd.Dir = "/"
	// Nothing of deed's environment: an agent can read that of its ancestors. Few threads: it waits, mostly.
	p.cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=single"}
	p.cmd.ExtraFiles = []*os.File{theirs}
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	// A session of its own: no signal of a terminal reaches it, and its session identifies what it leaves behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := ownProcs.start(p.cmd); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	go p.reapAndKillOrphans()
	go p.listen()
	go p.begin(opt.Exe)
	return p, nil
}

// begin waits until the process says that it is ready.
func (p *supervisorProcess) begin(exe string) {
	defer close(p.begun)
	late := time.NewTimer(readyDeadline)
	defer late.Stop()
	select {
	case m, ok := <-p.msgs:
		if ok && m.Op == opReady {
			return
		}
		p.kill()
		<-p.gone
		p.startErr = fmt.Errorf("start supervisor: %s", p.exitDescription())
	case <-late.C:
		p.kill()
		<-p.gone
		p.startErr = fmt.Errorf("start supervisor: %s was not ready within %v (is it deed?)", exe, readyDeadline)
	}
}

// await returns when the process is ready for a run. One that is not when ctx ends is ended.
func (p *supervisorProcess) await(ctx context.Context) error {
	select {
	case <-p.begun:
		return p.startErr
	case <-ctx.Done():
		p.kill()
		<-p.begun
		<-p.gone
		return fmt.Errorf("start supervisor: %w", context.Cause(ctx))
	}
}

// listen passes on what the supervisor says.
func (p *supervisorProcess) listen() {
	defer close(p.msgs)
	for {
		m, files, err := p.ch.receive()
		if err != nil {
			return
		}
		closeAll(files)
		select {
		case p.msgs <- m:
		case <-p.gone:
			return
		case <-p.quit:
			return
		}
	}
}

// reapAndKillOrphans waits for the end of the process and then kills what it left behind: its orphans are deed's children by then.
func (p *supervisorProcess) reapAndKillOrphans() {
	_ = p.cmd.Wait()
	ownProcs.remove(p.cmd.Process.Pid)
	p.orphanErr = ownProcs.killOrphans()
	p.ch.conn.Close()
	close(p.gone)
}

// kill ends the process at once; reapAndKillOrphans does the rest.
func (p *supervisorProcess) kill() { _ = p.cmd.Process.Kill() }

// close ends the conversation, upon which the process ends its tree and itself, and waits for that.
func (p *supervisorProcess) close() error {
	p.once.Do(func() { close(p.quit) })
	p.ch.conn.Close()
	select {
	case <-p.gone:
	case <-time.After(closeDeadline):
		p.kill()
		<-p.gone
	}
	if p.orphanErr != nil {
		return fmt.Errorf("close supervisor: %w", p.orphanErr)
	}
	return nil
}

// exitDescription describes how the process ended. It is called after gone is closed.
func (p *supervisorProcess) exitDescription() string {
	how := "it ended"
	if p.cmd.ProcessState != nil {
		how = p.cmd.ProcessState.String()
	}
	if msg := strings.TrimSpace(string(p.stderr.buf)); msg != "" {
		how += ": " + msg
	}
	return how
}

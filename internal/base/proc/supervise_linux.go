package proc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

// superviseCommand is the hidden argument that makes the binary a supervisor.
const superviseCommand = "__supervise"

// controlFD is where a supervisor finds its socket.
const controlFD = 3

// dyingTime is what the kernel gets to end the processes of a namespace whose first one is gone.
const dyingTime = 5 * time.Millisecond

// killDeadline bounds how long a supervisor tries to end a tree before it names the survivors.
const killDeadline = 10 * time.Second

// A binary that links this package becomes a supervisor here, before the packages that are set up later: schemas,
// database and user interface cost a start two thirds of its time, and a supervisor needs none of them.
func init() {
	if IsSupervisor(os.Args) {
		os.Exit(SupervisorMain(os.Args))
	}
}

// IsSupervisor reports whether the arguments of the process, with its name in front, ask it to be a supervisor. No main
// function has to ask: a process that is one never comes to it.
func IsSupervisor(args []string) bool { return len(args) > 1 && args[1] == superviseCommand }

// SupervisorMain is the life of a supervisor process: it takes run requests from deed, one after the other, until
// deed closes the socket or dies, and leaves no process behind. It returns the exit code.
func SupervisorMain([]string) int {
	// The kernel ties parent-death signals and tracing to the thread that forked.
	runtime.LockOSThread()
	s, err := newSupervise()
	if err != nil {
		fmt.Fprintf(os.Stderr, "deed %s: %v (this command is for deed's own use)\n", superviseCommand, err)
		return 2
	}
	if err := s.ch.send(message{Op: opReady}); err != nil {
		return 3
	}
	for {
		select {
		case in, ok := <-s.inbox:
			if !ok {
				return 0
			}
			if in.m.Op != opRun || in.m.Run == nil || len(in.files) < stdDescriptors || len(in.files) != in.m.Run.Files {
				closeAll(in.files) // an end that came after its run was over
				continue
			}
			if !s.run(in) {
				return 0
			}
		case <-s.orphaned:
			return 0
		}
	}
}

// KeepPrivate keeps other processes of the same user from this one's memory, environment and descriptors, as far as they are
// not root's.
func KeepPrivate() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// A supervise is the state of a supervisor process.
type supervise struct {
	ch       *channel
	inbox    chan delivery // closed when deed is gone
	orphaned chan struct{} // gets a token when the kernel says that deed is gone
}

type delivery struct {
	m     message
	files []int
}

func newSupervise() (*supervise, error) {
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	f := os.NewFile(controlFD, "control")
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("no control socket: %w", err)
	}
	f.Close()
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("the control socket is of another kind")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become child subreaper: %w", err)
	}
	// An agent of the same user shall not trace this process or read its memory. exec makes the agent's own
	// process readable again.
	KeepPrivate()
	// For itself and all that it starts; see limitAndRelease.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	unix.Umask(0o022)

	s := &supervise{ch: &channel{conn: uc}, inbox: make(chan delivery), orphaned: make(chan struct{}, 1)}
	s.watchParent()
	go s.receive()
	return s, nil
}

// keepDescriptors keeps what this process inherited from being inherited on. Whoever started deed may have left
// descriptors open in it, and one of a directory would lead an agent out of any sandbox.
func keepDescriptors() error {
	err := unix.CloseRange(controlFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	fds, err := numbers("/proc/self/fd") // a kernel before 5.11
	if err != nil {
		return fmt.Errorf("list inherited descriptors: %w", err)
	}
	for _, fd := range fds {
		if fd >= controlFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// watchParent is the second line behind the socket: the kernel signals the death of the thread that started this
// process, which is the death of deed when the parent is another one afterwards. The signals of a terminal or of a
// service manager are taken and dropped; deed decides when a run ends.
func (s *supervise) watchParent() {
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, unix.SIGUSR1, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	parent := os.Getppid()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGUSR1), 0, 0, 0)
	go func() {
		for range sigs {
			if os.Getppid() != parent {
				select {
				case s.orphaned <- struct{}{}:
				default:
				}
			}
		}
	}()
}

func (s *supervise) receive() {
	defer close(s.inbox)
	for {
		m, files, err := s.ch.receive()
		if err != nil {
			return
		}
		s.inbox <- delivery{m, files}
	}
}

// run makes one run and reports whether deed is still there.
func (s *supervise) run(in delivery) bool {
	req := in.m.Run
	start := clock.Start()
	pid, what, err := startMain(req, in.files, nil)
	closeAll(in.files)
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return s.ch.send(message{Op: opRefused, Seq: in.m.Seq, Errno: int(errno), What: what}) == nil
	}
	r := &supervisedRun{
		s: s, seq: in.m.Seq, main: pid, wrapper: req.Wrapper, start: start, grace: time.Duration(req.GraceNS),
		reaper: newReaper(pid, start), tree: &tree{root: os.Getpid()}, timer: unarmedTimer(),
	}
	if err := s.ch.send(message{Op: opStarted, Seq: in.m.Seq, PID: pid}); err != nil {
		r.abandon()
	}
	go r.reaper.loop()
	r.watch(time.Duration(req.TimeoutNS))
	if r.abandoned {
		return false
	}
	return s.ch.send(message{Op: opDone, Seq: in.m.Seq, Done: &r.report}) == nil
}

// startMain starts the main process of a run in a session of its own. ForkExec and not package os, which would
// reserve the right to wait for it. With limits, before is called when it has not run an instruction yet; it may be nil.
func startMain(req *runRequest, files []int, before func(pid int) error) (pid int, what string, err error) {
	attr := &syscall.ProcAttr{
		Dir:   string(req.Dir),
		Env:   stringsOf(req.Env),
		Files: make([]uintptr, len(files)),
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Ptrace: req.Limits != nil},
	}
	for i, fd := range files {
		attr.Files[i] = uintptr(fd)
	}
	err = whileBusy(context.Background(), func() (err error) {
		pid, err = syscall.ForkExec(string(req.Path), stringsOf(req.Argv), attr)
		return err
	})
	if err != nil {
		return 0, "execute", err
	}
	if req.Limits != nil {
		if err := limitAndRelease(pid, *req.Limits, before); err != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
			return 0, "set resource limits", err
		}
	}
	return pid, "", nil
}

// A supervisedRun is one run from the start of its main process until nothing is left of it. Its fields belong to
// the goroutine of watch.
type supervisedRun struct {
	s       *supervise
	seq     uint64
	main    int
	wrapper bool // main gets no SIGTERM

	enclosed bool // main builds the sandbox of a namespace, and is the root of the tree
	start    time.Time
	grace    time.Duration

	reaper    *reaper
	tree      *tree
	mainEnded bool
	leftover  bool // what outlived the main process was asked to end
	ending    bool // SIGTERM was sent
	killing   bool // SIGKILL was sent
	abandoned bool // deed is gone
	timer     *time.Timer
	until     time.Time // when timer fires, while ending
	killStart time.Time // when SIGKILL was sent first
	rounds    int       // of SIGKILL
	report    doneReport
}

// unarmedTimer is a timer that does not fire before it is reset.
func unarmedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// watch waits for the end of the run and brings it about. It returns when there is no process left: wait4 has no
// child to wait for, and every process of the run has an ancestor that is a child of this process, since orphans
// become its children.
func (r *supervisedRun) watch(timeout time.Duration) {
	defer r.timer.Stop() // not before: an abandoned run has armed it

	var timedOut <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(max(timeout-clock.Since(r.start), 0))
		defer t.Stop()
		timedOut = t.C
	}
	inbox, orphaned := r.s.inbox, r.s.orphaned
	for {
		select {
		case <-r.reaper.news:
			if none := r.look(); none {
				return
			}
			if r.mainEnded && !r.leftover {
				r.leftover = true
				if r.wrapper {
					r.expect(dyingTime) // the kernel is killing what was below it
				} else {
					r.end(min(r.grace, leftoverGrace))
				}
			}
		case <-timedOut:
			timedOut = nil
			if !r.mainEnded && !r.ending {
				r.report.TimedOut = true
				r.end(r.grace)
			}
		case <-r.timer.C:
			if !r.kill() {
				return // the reaper waits on; deed ends this process
			}
		case in, ok := <-inbox:
			switch {
			case !ok:
				inbox = nil
				r.abandon()
			case in.m.Op == opEnd && in.m.Seq == r.seq:
				if !r.mainEnded && !r.report.TimedOut {
					r.report.Canceled = true
				}
				r.end(time.Duration(in.m.GraceMS) * time.Millisecond)
			default:
				closeAll(in.files)
			}
		case <-orphaned:
			orphaned = nil
			r.abandon()
		}
	}
}

func (r *supervisedRun) abandon() {
	r.abandoned = true
	r.end(-1)
}

// expect begins the end of a tree that is dying by itself: what is left of it after so long is killed. To kill it at once
// takes the processor from its death.
func (r *supervisedRun) expect(within time.Duration) {
	until := clock.Start().Add(within)
	if r.killing || r.ending && !until.Before(r.until) {
		return
	}
	r.ending, r.until = true, until
	r.timer.Reset(within)
}

// end begins the end of the tree, or shortens one that has begun.
func (r *supervisedRun) end(grace time.Duration) {
	if r.killing {
		return
	}
	until := clock.Start().Add(max(grace, 0))
	if r.ending && !until.Before(r.until) {
		return
	}
	r.ending, r.until = true, until
	if grace > 0 {
		spare := 0
		if r.wrapper {
			spare = r.main
		}
		heard := false
		r.tree.terminate(spare, func(st procStat) {
			r.note(st.pid)
			heard = heard || st.ppid != r.main
		})
		if r.enclosed && !heard {
			// The sandbox is still being built, and the first process inside gets no SIGTERM: what it starts next would have the whole grace
			// without having been asked to end.
			grace, r.until = 0, clock.Start()
		}
	}
	r.timer.Reset(max(grace, 0))
}

// kill makes one round of SIGKILL and arms the next. It reports false when the deadline has passed: what is left
// then cannot be killed.
func (r *supervisedRun) kill() bool {
	if !r.killing {
		r.killing = true
		r.killStart = clock.Start()
	}
	r.rounds++
	r.reaper.kill()
	// The slow way is for what grows below a living parent. Against what only changes its number it wins nothing.
	if r.rounds%4 == 0 {
		r.tree.kill()
	}
	if clock.Since(r.killStart) > killDeadline {
		r.tree.seen = map[int]bool{}
		r.tree.walk(func(st procStat) { r.report.Survivors = append(r.report.Survivors, st.pid) })
		if r.reaper.group > 0 && len(r.report.Survivors) == 0 {
			r.report.Survivors = []int{r.main} // what hides behind it is its own affair
		}
		if len(r.report.Survivors) > 0 {
			return false
		}
	}
	r.timer.Reset(min(time.Duration(r.rounds)*time.Millisecond, 20*time.Millisecond))
	return true
}

// note counts a process that outlived the main process.
func (r *supervisedRun) note(pid int) {
	if r.mainEnded && pid != r.main {
		r.reaper.mu.Lock()
		r.reaper.killed[pid] = true
		r.reaper.mu.Unlock()
	}
}

// look takes over what the reaper knows, and reports whether there is no process left.
func (r *supervisedRun) look() (none bool) {
	r.reaper.mu.Lock()
	defer r.reaper.mu.Unlock()
	r.mainEnded = r.reaper.ended
	r.report.Status = uint32(r.reaper.status)
	r.report.DurationNS = int64(r.reaper.endedAt)
	r.report.UserNS, r.report.SystemNS, r.report.MaxRSSKiB = r.reaper.user, r.reaper.system, r.reaper.maxRSS
	r.report.Killed = len(r.reaper.killed)
	return r.reaper.none
}

func stringsOf(bs [][]byte) []string {
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = string(b)
	}
	return out
}

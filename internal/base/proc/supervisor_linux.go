package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogSlack is what a supervisor may need beyond its grace to end a tree and say so. After that it counts as
// lost: an agent can stop it.
const watchdogSlack = killDeadline + 5*time.Second

// A Supervisor runs commands one after the other below a small process of its own, which holds everything that they
// start: also what leaves its process group and session, also what its parent no longer knows. When deed dies, by
// SIGKILL too, that process kills what runs and ends.
//
// Should the supervisor process itself be killed, what it held becomes deed's child and is killed by deed; the next
// Run starts another supervisor process. Run may be called from several goroutines; the calls wait for each other.
type Supervisor struct {
	opt   Options
	slot  chan struct{} // holds a token while a Run is under way
	slack time.Duration // watchdogSlack, but for tests

	mu     sync.Mutex
	proc   *supervisorProcess // guarded by mu; nil when the next Run that needs one has to start it
	closed bool               // guarded by mu
	quit   chan struct{}      // closed with closed
	guard  *guard             // guarded by mu; nil when the next enclosed Run has to start one
	seq    uint64             // guarded by mu
}

// NewSupervisor starts a supervisor process and returns when it is ready for a run; ctx bounds only that. It makes
// deed's process a child subreaper (see BecomeSubreaper).
func NewSupervisor(ctx context.Context, opt Options) (*Supervisor, error) {
	s, err := BeginSupervisor(opt)
	if err != nil {
		return nil, err
	}
	if err := s.proc.await(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// BeginSupervisor is NewSupervisor without the wait: the first Run waits until the process is ready, and returns why it
// is not. What comes before that run happens meanwhile.
func BeginSupervisor(opt Options) (*Supervisor, error) {
	s, err := IdleSupervisor(opt)
	if err != nil {
		return nil, err
	}
	return s, s.Begin(false)
}

// IdleSupervisor is a Supervisor that has no process until the first Run that needs one. A run of a Spec that is Enclosed
// needs none.
func IdleSupervisor(opt Options) (*Supervisor, error) {
	if opt.Exe == "" {
		opt.Exe = "/proc/self/exe"
	}
	if opt.Args == nil {
		opt.Args = []string{superviseCommand}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if err := BecomeSubreaper(); err != nil {
		return nil, err
	}
	return &Supervisor{opt: opt, slot: make(chan struct{}, 1), slack: watchdogSlack, quit: make(chan struct{})}, nil
}

// Begin starts the process that the next Run needs, of a Spec that is Enclosed or of another, and does not wait until it is
// ready: Run returns why it is not.
func (s *Supervisor) Begin(enclosed bool) error {
	if enclosed {
		go func() { _, _ = s.ensureGuard() }() // the caller would wait until the shell is loaded; the run tries again
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return s.startLocked()
}

// startLocked starts the supervisor process if there is none.
func (s *Supervisor) startLocked() error {
	if s.proc != nil {
		return nil
	}
	p, err := startSupervisor(s.opt)
	if err == nil {
		s.proc = p
	}
	return err
}

// PID returns the process id of the supervisor process, or 0 when there is none.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// Close ends the supervisor process and everything that is run. A Run under way returns ErrClosed. A second call
// does nothing.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	p, g := s.proc, s.guard
	if !s.closed {
		close(s.quit)
	}
	s.proc, s.guard, s.closed = nil, nil, true
	s.mu.Unlock()
	var err error
	if p != nil {
		err = p.close()
	}
	if g == nil {
		return err
	}
	select { // an enclosed run has the slot until it has ended
	case s.slot <- struct{}{}:
		<-s.slot
		g.close()
		return err
	case <-time.After(closeDeadline):
		g.hangUp()
		return errors.Join(err, fmt.Errorf("close supervisor: %w", ErrSurvivors))
	}
}

// Run runs a command to its end. An Exit without an error means that the command ended, by itself, at its timeout
// or because ctx ended, and that no process of it is left. Errors: a *StartError when the command could not be
// started; ErrSupervisorLost, with what is known in Exit; ErrSurvivors; ErrClosed; the error of a writer.
func (s *Supervisor) Run(ctx context.Context, spec Spec) (Exit, error) {
	path, err := resolve(spec)
	if err != nil {
		return Exit{}, err
	}
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return canceled(ctx), nil
	}
	if spec.Enclosed {
		return s.runEnclosed(ctx, path, spec)
	}
	var (
		p    *supervisorProcess
		exit Exit
	)
	for range 2 { // a supervisor can die while it is idle; what could not be sent to it was not run
		var seq uint64
		if p, seq, err = s.ready(ctx); err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			return canceled(ctx), nil
		} else if err != nil {
			return Exit{}, err
		}
		var r *run
		if r, err = newRun(p, seq, path, spec, s.slack); err != nil {
			return Exit{}, err
		}
		var sent bool
		if exit, sent, err = r.drive(ctx); sent {
			break
		}
	}
	if errors.Is(err, ErrSupervisorLost) || errors.Is(err, ErrSurvivors) {
		s.mu.Lock()
		closed := s.closed
		if s.proc == p {
			s.proc = nil
		}
		s.mu.Unlock()
		if closed {
			return exit, fmt.Errorf("run %s: %w", path, ErrClosed)
		}
		s.opt.Log.Warn("supervisor lost", "pid", p.cmd.Process.Pid, "err", err)
	}
	return exit, err
}

// canceled is the end of a command that was not begun when ctx ended.
func canceled(ctx context.Context) Exit {
	return Exit{Code: -1, Canceled: true, Cause: context.Cause(ctx)}
}

// ready returns a living supervisor process, starting one if the last one was lost.
func (s *Supervisor) ready(ctx context.Context) (*supervisorProcess, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, ErrClosed
	}
	if s.proc != nil {
		select {
		case <-s.proc.gone: // it died while idle
			if s.proc.await(ctx) == nil {
				s.proc = nil
			}
		default:
		}
	}
	if err := s.startLocked(); err != nil {
		return nil, 0, err
	}
	if err := s.proc.await(ctx); err != nil {
		s.proc = nil
		return nil, 0, err
	}
	s.seq++
	return s.proc, s.seq, nil
}

// resolve finds the file to execute, and checks what the kernel would report less clearly.
func resolve(spec Spec) (string, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return "", errors.New("run: argv is empty (give the command as its first item)")
	}
	for _, list := range [][]string{spec.Argv, spec.Env, {spec.Dir}} {
		for _, v := range list {
			if strings.IndexByte(v, 0) >= 0 {
				return "", fmt.Errorf("run %s: an argument, a variable or the directory holds a NUL byte", spec.Argv[0])
			}
		}
	}
	if len(spec.Files) > MaxFiles {
		return "", fmt.Errorf("run %s: %d files to hand over (at most %d)", spec.Argv[0], len(spec.Files), MaxFiles)
	}
	if !filepath.IsAbs(spec.Dir) {
		return "", fmt.Errorf("run %s: working directory %q is not an absolute path", spec.Argv[0], spec.Dir)
	}
	if st, err := os.Stat(spec.Dir); err != nil {
		return "", &StartError{Path: spec.Argv[0], Err: fmt.Errorf("working directory: %w", err)}
	} else if !st.IsDir() {
		return "", &StartError{Path: spec.Argv[0], Err: fmt.Errorf("working directory %s: %w", spec.Dir, syscall.ENOTDIR)}
	}
	path, err := LookPath(spec.Argv[0], Getenv(spec.Env, "PATH"), spec.Dir)
	if err != nil {
		return "", &StartError{Path: spec.Argv[0], Err: err}
	}
	return path, nil
}

// A run is one run as deed sees it.
type run struct {
	p     *supervisorProcess
	seq   uint64
	path  string
	spec  Spec
	grace time.Duration
	slack time.Duration

	out, err *pump
	in       *feeder
	files    []int      // the child's, from descriptor 0 up; -1 when closed
	broken   chan error // a writer's first error
}

func newRun(p *supervisorProcess, seq uint64, path string, spec Spec, slack time.Duration) (*run, error) {
	r := &run{p: p, seq: seq, path: path, spec: spec, grace: spec.Grace, slack: slack, files: []int{-1, -1, -1}, broken: make(chan error, 2)}
	if r.grace == 0 {
		r.grace = DefaultGrace
	}
	var err error
	if r.in, r.files[0], err = newFeeder(spec.Stdin); err == nil {
		if r.out, r.files[1], err = newPump(spec.Stdout, r.broken); err == nil {
			r.err, r.files[2], err = newPump(spec.Stderr, r.broken)
		}
	}
	for _, f := range spec.Files {
		if err != nil {
			break
		}
		var fd int
		if fd, err = duplicate(f); err == nil {
			r.files = append(r.files, fd)
		}
	}
	if err != nil {
		r.discard()
		return nil, fmt.Errorf("run %s: make pipes: %w", path, err)
	}
	return r, nil
}

// discard closes what newRun opened.
func (r *run) discard() {
	r.closeFiles()
	r.in.close()
	r.out.close()
	r.err.close()
}

func (r *run) closeFiles() {
	for i, fd := range r.files {
		if fd >= 0 {
			_ = unix.Close(fd)
			r.files[i] = -1
		}
	}
}

func (r *run) request() message {
	req := &runRequest{
		Path: []byte(r.path), Argv: bytesOf(r.spec.Argv), Env: bytesOf(r.spec.Env), Dir: []byte(r.spec.Dir),
		TimeoutNS: int64(r.spec.Timeout), GraceNS: int64(r.grace), Wrapper: r.spec.Wrapper, Files: len(r.files),
	}
	if r.spec.Limits != (Limits{}) {
		req.Limits = &r.spec.Limits
	}
	return message{Op: opRun, Seq: r.seq, Run: req}
}

// drive sends the request, and follows the run to its end. With sent false nothing was run, and
// the supervisor is gone.
func (r *run) drive(ctx context.Context) (exit Exit, sent bool, err error) {
	err = r.p.ch.send(r.request(), r.files...)
	r.closeFiles()
	if err != nil {
		r.discard()
		r.p.kill()
		<-r.p.gone
		return Exit{Code: -1}, false, errors.Join(r.lost(), err)
	}
	exit, err = r.follow(func() (Exit, error) { return r.wait(ctx) })
	return exit, true, err
}

// follow feeds and empties the pipes while a command that was started runs.
func (r *run) follow(wait func() (Exit, error)) (Exit, error) {
	r.in.start()
	r.out.start()
	r.err.start()

	exit, err := wait()

	r.in.close()
	werr := errors.Join(r.out.finish(), r.err.finish())
	if err == nil && werr != nil {
		err = fmt.Errorf("run %s: write output: %w", r.path, werr)
	}
	return exit, err
}

// wait follows the conversation to its last message. The watchdog starts with the end of the run's time, however
// that comes, because a supervisor that an agent stopped would never say anything again.
func (r *run) wait(ctx context.Context) (Exit, error) {
	var (
		exit     = Exit{Code: -1}
		canceled = ctx.Done()
		broken   = r.broken
		watchdog = unarmedTimer()
		armed    bool
	)
	defer watchdog.Stop()
	if r.spec.Timeout > 0 {
		watchdog.Reset(r.spec.Timeout + max(r.grace, 0) + r.slack)
	}
	end := func(grace time.Duration) {
		_ = r.p.ch.send(message{Op: opEnd, Seq: r.seq, GraceMS: grace.Milliseconds()})
		if !armed {
			armed = true
			watchdog.Reset(max(grace, 0) + r.slack)
		}
	}
	for {
		select {
		case m, ok := <-r.p.msgs:
			if !ok {
				r.p.kill()
				<-r.p.gone
				return exit, r.lost()
			}
			if m.Seq != r.seq {
				continue
			}
			switch m.Op {
			case opStarted:
				if r.spec.OnStart != nil {
					r.spec.OnStart(m.PID)
				}
			case opRefused:
				return exit, r.refused(m.What, syscall.Errno(m.Errno))
			case opDone:
				return r.done(ctx, m.Done)
			}
		case <-canceled:
			canceled = nil
			exit.Canceled, exit.Cause = true, context.Cause(ctx)
			if errors.Is(exit.Cause, ErrAtOnce) {
				end(-1)
			} else {
				end(r.grace)
			}
		case <-broken:
			broken = nil // finish has it; the run is worth nothing without its record
			end(-1)
		case <-watchdog.C:
			if !exit.Canceled && !armed {
				exit.TimedOut, exit.Cause = true, ErrTimeout
			}
			r.p.kill()
		}
	}
}

// lost makes the error for a supervisor process that is gone.
func (r *run) lost() error {
	err := fmt.Errorf("run %s: %w: %s", r.path, ErrSupervisorLost, r.p.exitDescription())
	if r.p.orphanErr != nil {
		err = errors.Join(err, r.p.orphanErr)
	}
	return err
}

// refused is the error of a command that could not be started, with what could not be done.
func (r *run) refused(what string, err error) error {
	if what != "execute" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return &StartError{Path: r.path, Err: err}
}

func (r *run) done(ctx context.Context, d *doneReport) (Exit, error) {
	exit := d.exit(ctx)
	if len(d.Survivors) > 0 {
		// Without the supervisor they are deed's children, and deed tries once more. The next Run starts another one.
		r.p.kill()
		<-r.p.gone
		if r.p.orphanErr != nil {
			return exit, fmt.Errorf("run %s: %w", r.path, r.p.orphanErr)
		}
	}
	return exit, nil
}

// exit says how a run ended.
func (d *doneReport) exit(ctx context.Context) Exit {
	ws := syscall.WaitStatus(d.Status)
	exit := Exit{
		Code:       ws.ExitStatus(),
		TimedOut:   d.TimedOut,
		Canceled:   d.Canceled && ctx.Err() != nil,
		Duration:   time.Duration(d.DurationNS),
		Killed:     d.Killed,
		MaxRSS:     d.MaxRSSKiB << 10,
		UserTime:   time.Duration(d.UserNS),
		SystemTime: time.Duration(d.SystemNS),
	}
	if ws.Signaled() {
		exit.Code = 128 + int(ws.Signal())
		exit.Signal = unix.SignalName(ws.Signal())
	}
	switch {
	case exit.TimedOut:
		exit.Cause = ErrTimeout
	case exit.Canceled:
		exit.Cause = context.Cause(ctx)
	}
	return exit
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

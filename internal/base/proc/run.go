package proc

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// Defaults of a Spec.
const (
	DefaultGrace = 5 * time.Second
	// leftoverGrace is the most that processes left behind by a main process that ended by itself are given
	// between SIGTERM and SIGKILL: the run is over, and nothing may delay its end.
	leftoverGrace = 250 * time.Millisecond
)

var (
	// ErrTimeout is the Cause of an Exit whose Spec.Timeout passed.
	ErrTimeout = errors.New("time limit passed")
	// ErrSupervisorLost reports that the supervisor process died or stopped answering during a run: killed by the
	// agent, by the kernel's memory killer, or by a person. Its tree was killed; how the agent would have ended is
	// unknown. The next Run starts a new supervisor.
	ErrSupervisorLost = errors.New("supervisor process lost")
	// ErrSurvivors reports processes that could not be killed: another user's, or stuck in the kernel. The error
	// text names them. Nothing may touch the attempt's directories while they live.
	ErrSurvivors = errors.New("processes could not be killed")
	// ErrClosed reports a Run on a Supervisor that was closed, before or during it.
	ErrClosed = errors.New("supervisor closed")
	// ErrAtOnce in the cause of a context that ends has Run send SIGKILL at once, whatever the grace of the Spec: for
	// a run that harms the machine with every moment it goes on.
	ErrAtOnce = errors.New("ended at once")
	// ErrUnsupported reports an operation that this operating system has no means for.
	// It is errors.ErrUnsupported.
	ErrUnsupported = fmt.Errorf("on this operating system: %w", errors.ErrUnsupported)
)

// A StartError reports that the command of a Spec could not be started. Nothing was run.
type StartError struct {
	Path string // what was to be executed
	Err  error  // usually a syscall.Errno
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Path, e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// Options configure a Supervisor. The zero value re-executes the running binary with the argument that
// IsSupervisor recognises.
type Options struct {
	Exe  string   // empty: the running binary, even if its file was replaced
	Args []string // after argv[0]; nil: the hidden supervisor command
	Log  *slog.Logger
}

// Limits are resource limits of the main process and of everything it starts, set before its first instruction,
// soft and hard. Zero leaves a limit as it is. Processes counts all processes of the user, and the kernel does not
// hold root to it.
type Limits struct {
	CPU       time.Duration // processor time per process, rounded up to seconds
	FileSize  int64         // bytes per file
	OpenFiles uint64
	Processes uint64
	// OOMScore is added to what the kernel's memory killer thinks of the processes, 1 to 1000: it takes them before
	// others. Without root, a process can take it back.
	OOMScore int
}

// MaxFiles is how many Files a Spec can have: the kernel passes 253 descriptors at a time.
const MaxFiles = maxDescriptors - stdDescriptors

const (
	maxDescriptors = 253
	stdDescriptors = 3
)

// A Spec describes one run.
type Spec struct {
	// Argv is the command. Argv[0] with a slash is a path (a relative one is taken from Dir); without one it is
	// looked up on the PATH of Env, never on deed's own.
	Argv []string
	Dir  string   // absolute
	Env  []string // complete; nothing is inherited

	// Stdin is the null device when nil. An *os.File is handed to the child as it is; any other reader is copied
	// through a pipe, and should not block for ever: it is left behind when the run is over.
	Stdin io.Reader
	// Stdout and Stderr get the output as it arrives, each from one goroutine; nil discards. A slow writer slows
	// the agent, nothing is buffered beyond the pipe. A writer's error ends the run.
	Stdout, Stderr io.Writer
	// Files are handed to the child as descriptors 3 and up, in this order. They stay the caller's to close. The
	// child gets no other descriptor.
	Files []*os.File

	// Wrapper says that the main process is a trusted one that stands for the command, and whose end is the end of
	// everything below it, such as that of a sandbox. It is not sent the SIGTERM that begins an orderly end.
	Wrapper bool
	// Enclosed says that the main process is a Wrapper with a pid namespace of its own, whose first process the kernel ends
	// when the main process ends, and that both stay in the process group in which the main process is started. Nothing
	// can leave such a namespace: it is run below deed itself, with no supervisor between.
	Enclosed bool

	Timeout time.Duration // from the start of the main process; 0: none
	Grace   time.Duration // between SIGTERM and SIGKILL at timeout and cancel; 0: DefaultGrace, negative: SIGKILL at once
	Limits  Limits
	OnStart func(pid int) // called once, before Run waits
}

// An Exit says how a run ended. When Run returns one without an error, no process of the run is left.
type Exit struct {
	Code     int    // of the main process; 128+n when signal n ended it
	Signal   string // "SIGKILL" and so on, when one ended the main process
	TimedOut bool   // Spec.Timeout passed before the main process ended
	Canceled bool   // the context ended before the main process did
	Cause    error  // ErrTimeout, or the context's cause; nil when the main process ended by itself

	Duration   time.Duration // from start to the end of the main process
	Killed     int           // processes that outlived the main process and had to be ended
	MaxRSS     int64         // bytes, the largest process of the run; 0: none was larger than deed itself, and how large is not known
	UserTime   time.Duration // of all processes of the run that ended
	SystemTime time.Duration
}

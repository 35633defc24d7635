//go:build amd64 || arm64

package exectrace

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/proc"
)

// traceCommand is the hidden argument that makes the binary a tracer.
const traceCommand = "__exec-trace"

// A binary that links this package becomes a tracer here, before the packages that are set up later, as it becomes a
// supervisor in package proc: the command waits for it.
func init() {
	if IsTracer(os.Args) {
		os.Exit(TracerMain(os.Args))
	}
}

// Argv returns the command line that runs a command under observation. self is the path of this binary as the command sees
// it (sandbox.Sandbox.Self); out is where the trace is written, as the command sees it, in a directory that is there and
// can be written to. The command behaves as without, but for its signal: when one ends it, the tracer ends by the same
// one, or with 128+n where it is the first process of a container. Where nothing can be observed, argv is returned.
func Argv(self, out string, argv []string) []string {
	return append([]string{self, traceCommand, out, "--"}, argv...)
}

// IsTracer reports whether the arguments of the process, with its name in front, ask it to be a tracer. No main function
// has to ask: a process that is one never comes to it.
func IsTracer(args []string) bool { return len(args) > 1 && args[1] == traceCommand }

// TracerMain is the life of a tracer. It returns the exit code: that of the command.
func TracerMain(args []string) int {
	if len(args) < 5 || args[3] != "--" {
		fmt.Fprintf(os.Stderr, "deed %s: no command (this is for deed's own use)\n", traceCommand)
		return 2
	}
	code, err := trace(args[2], args[4:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "deed %s: %v\n", traceCommand, err)
	}
	return code
}

// The exit codes of a shell for a command that cannot be executed, and one that is not there.
const (
	notExecutable = 126
	notFound      = 127
)

func trace(out string, argv []string) (code int, err error) {
	dir, _ := os.Getwd() // needed for a relative path only
	path, err := proc.LookPath(argv[0], os.Getenv("PATH"), dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound, err
	case err != nil:
		return notExecutable, err
	}
	file, err := createTrace(out)
	if err != nil { // without a trace, the run does not count as observed
		return notExecutable, proc.Become(append([]string{path}, argv[1:]...), os.Environ())
	}
	t := &tracer{file: file, last: map[int]program{}}
	// The filter is this thread's, and so is the command that it starts.
	runtime.LockOSThread()
	if t.listener, t.confined, err = observeThread(); err != nil {
		file.fail(err)
		return notExecutable, proc.Become(append([]string{path}, argv[1:]...), os.Environ())
	}
	pid, err := t.start(path, argv)
	if err != nil {
		file.fail(err)
		return notExecutable, err
	}
	return t.follow(pid)
}

// A tracer records what a command executes.
type tracer struct {
	listener int
	confined bool // the command cannot gain privileges, and could without us

	mu   sync.Mutex // held while a report is dealt with
	file *traceFile
	ids  int
	last map[int]program // by process: what it executed last
}

type program struct {
	id    int
	start uint64 // of the process
}

// start starts the command. While this thread waits for the program to be executed, it holds a processor of the runtime, and
// the program waits for another thread: there must be a second processor, and nothing that stops all of them.
func (t *tracer) start(path string, argv []string) (int, error) {
	// What ends a run signals all of its processes (package proc). The tracer has to outlive them.
	ignored := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) { // the command inherits that
			signal.Notify(ignored, sig)
		}
	}
	runtime.GOMAXPROCS(2)
	debug.SetMemoryLimit(math.MaxInt64)
	percent := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(percent)
	go t.listen()
	return proc.StartChild(path, argv)
}

// follow waits for the end of the command, and ends the trace. As the first process of a container the tracer inherits
// whoever loses its parent.
func (t *tracer) follow(pid int) (int, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && got != pid:
			continue
		case err != nil:
			return notExecutable, fmt.Errorf("wait for the command: %w", err)
		}
		t.mu.Lock() // never unlocked: what is executed from here on is not the command's
		t.file.write(record{End: true})
		if status.Signaled() {
			endBy(status.Signal())
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
}

// listen deals with reports until the process ends.
func (t *tracer) listen() {
	for {
		n, err := receive(t.listener)
		if err != nil { // never seen: what is executed from now on waits for ever, so let it fail
			t.mu.Lock()
			t.file.fail(fmt.Errorf("hear of executed programs: %w", err))
			unix.Close(t.listener)
			t.mu.Unlock()
			return
		}
		t.handle(&n)
	}
}

// handle records a program before it is executed. What was not executed after all is not recorded.
func (t *tracer) handle(n *notification) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, process, err := t.look(n)
	if release(t.listener, n.id) != nil {
		return
	}
	switch {
	case err != nil:
		t.file.fail(fmt.Errorf("look at what process %d executes: %w", n.pid, err))
	case r != nil:
		t.ids++
		r.ID = t.ids
		t.last[r.PID] = program{r.ID, process.start}
		t.file.write(*r)
	}
}

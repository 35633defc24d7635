package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultToolOutput bounds what a tool may write to stdout when ToolSpec.MaxOutput is zero.
const DefaultToolOutput = 64 << 20

// toolStderr is how much of a tool's stderr is kept: enough for every message of a tool that deed runs itself.
const toolStderr = 64 << 10

// toolWaitDelay bounds how long a tool that was killed, or a child of it that holds a pipe, can delay the end.
const toolWaitDelay = 2 * time.Second

// ErrOutputLimit reports that a tool wrote more to stdout than ToolSpec.MaxOutput. The tool was killed, and what it
// wrote up to then is not a result.
var ErrOutputLimit = errors.New("output limit reached")

// A ToolSpec describes a trusted command: a short one such as git for Tool, or an operator's own for SupervisedTool. Agents never run through it.
type ToolSpec struct {
	Argv      []string   // Argv[0] without a slash is looked up on deed's own PATH
	Dir       string     // empty: deed's working directory
	Env       []string   // the complete environment; nil is an empty one, nothing is inherited
	Stdin     io.Reader  // nil: the null device
	Stdout    io.Writer  // where stdout goes instead of ToolResult.Stdout
	Files     []*os.File // descriptors 3 and up of the tool
	MaxOutput int64      // bytes of stdout; 0: DefaultToolOutput, negative: no bound (only sensible with Stdout)
	// Guarded has Tool's process group end with deed, whatever ends deed: the kernel does so for the tool alone. What leaves the group
	// stays, as the daemon of a keychain has to. It costs the start of a shell.
	Guarded bool
}

// A ToolResult is what a tool left behind.
type ToolResult struct {
	ExitCode int    // 128+n when signal n ended it
	Signal   string // "SIGKILL" and so on, when one ended it
	Stdout   []byte // empty when ToolSpec.Stdout was set
	Stderr   []byte // the first 64 KiB
	name     string
}

// A ToolError is a tool's non-zero exit, with the end of what it said.
type ToolError struct {
	Name     string
	ExitCode int
	Signal   string // "SIGKILL" and so on, when one ended it
	Stderr   string
}

func (e *ToolError) Error() string {
	msg := strings.TrimSpace(e.Stderr)
	if len(msg) > 2000 {
		msg = "… " + msg[len(msg)-2000:]
	}
	if msg == "" {
		return fmt.Sprintf("%s: %s", e.Name, Ending(e.ExitCode, e.Signal))
	}
	return fmt.Sprintf("%s: %s: %s", e.Name, Ending(e.ExitCode, e.Signal), msg)
}

// Ending says how a process ended: "exit 3", "ended by SIGSEGV (139)" for one that a signal ended, and "exit 139 (SIGSEGV)" for a wrapper or a
// shell that says so of what it ran. The number is what is on record.
func Ending(code int, signal string) string {
	if signal != "" {
		return fmt.Sprintf("ended by %s (%d)", signal, code)
	}
	if name := unix.SignalName(syscall.Signal(code - 128)); code > 128 && name != "" {
		return fmt.Sprintf("exit %d (%s)", code, name)
	}
	return fmt.Sprintf("exit %d", code)
}

// Check returns nil for exit 0 and a *ToolError otherwise, for callers to whom every other exit is a failure.
func (r ToolResult) Check() error {
	if r.ExitCode == 0 {
		return nil
	}
	return &ToolError{Name: r.name, ExitCode: r.ExitCode, Signal: r.Signal, Stderr: string(r.Stderr)}
}

// Tool runs a command to its end in a process group of its own. The group is killed when ctx ends, and then the
// error is ctx's cause. A non-zero exit is not an error (git speaks through exit codes): see ToolResult.Check. An
// error means that there is no exit code to speak of: the command could not start, was killed for ctx, or wrote
// more than MaxOutput (ErrOutputLimit).
func Tool(ctx context.Context, spec ToolSpec) (ToolResult, error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return ToolResult{}, errors.New("run tool: argv is empty (give the command as its first item)")
	}
	res := ToolResult{name: spec.Argv[0]}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	limit := spec.MaxOutput
	if limit == 0 {
		limit = DefaultToolOutput
	}
	var captured bytes.Buffer
	out := spec.Stdout
	if out == nil {
		out = &captured
	}
	if limit > 0 {
		out = &limitWriter{w: out, left: limit, exceeded: func() { cancel(ErrOutputLimit) }}
	}
	stderr := &headBuffer{max: toolStderr}

	group := 0 // its own
	if spec.Guarded {
		var release func()
		var err error
		if group, release, err = guardGroup(); err != nil {
			return res, fmt.Errorf("run %s: %w", res.name, err)
		}
		defer release()
	}
	var cmd *exec.Cmd
	err := whileBusy(ctx, func() error {
		cmd = exec.CommandContext(ctx, spec.Argv[0], spec.Argv[1:]...)
		cmd.Dir = spec.Dir
		cmd.Env = append([]string{}, spec.Env...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Stdin, out, stderr
		cmd.ExtraFiles = spec.Files
		cmd.SysProcAttr = groupAttr(group)
		cmd.Cancel = func() error { return syscall.Kill(-cmp.Or(group, cmd.Process.Pid), syscall.SIGKILL) }
		cmd.WaitDelay = toolWaitDelay
		return cmd.Start()
	})
	if err == nil {
		err = cmd.Wait()
	}
	res.Stdout, res.Stderr = captured.Bytes(), stderr.buf
	if cause := context.Cause(ctx); cause != nil {
		return res, fmt.Errorf("run %s: %w", res.name, cause)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &exit):
		res.ExitCode = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			res.ExitCode, res.Signal = 128+int(ws.Signal()), unix.SignalName(ws.Signal())
		}
		return res, nil
	default:
		return res, fmt.Errorf("run %s: %w", res.name, err)
	}
}

// limitWriter passes on at most left bytes, then reports once and refuses the rest.
type limitWriter struct {
	w        io.Writer
	left     int64
	exceeded func()
}

func (l *limitWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		l.exceeded()
		return 0, ErrOutputLimit
	}
	n, err := l.w.Write(p)
	l.left -= int64(n)
	return n, err
}

// headBuffer keeps the first max bytes and swallows the rest, so that a talkative tool is never blocked.
type headBuffer struct {
	buf []byte
	max int
}

func (h *headBuffer) Write(p []byte) (int, error) {
	if room := h.max - len(h.buf); room > 0 {
		h.buf = append(h.buf, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

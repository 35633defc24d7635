package component

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// How much of a command's output a Runner of Inside keeps: the beginning and the end, because the result comes last.
const (
	keepStdout = 8 << 20
	keepStderr = 256 << 10
)

// Bound returns mounts as a sandbox takes them.
func Bound(mounts []Mount) []sandbox.Mount {
	out := make([]sandbox.Mount, len(mounts))
	for i, m := range mounts {
		out[i] = sandbox.Mount{Source: m.Source, Target: m.Target, Writable: !m.ReadOnly}
	}
	return out
}

// Inside returns a Runner that runs commands in a sandbox, each for at most the given time. When it comes back, no
// process of the command is left.
func Inside(sb *sandbox.Sandbox, sup *proc.Supervisor, timeout time.Duration) Runner {
	return func(ctx context.Context, c Command) (Output, error) {
		stdout, stderr := &ends{max: keepStdout}, &ends{max: keepStderr}
		dir := c.Dir
		if dir == "" {
			dir = "/"
		}
		exit, err := sb.Run(ctx, sup, proc.Spec{
			Argv: c.Argv, Dir: dir, Env: c.Env, Stdin: bytes.NewReader(c.Stdin),
			Stdout: stdout, Stderr: stderr, Timeout: timeout,
		})
		out := Output{
			ExitCode: exit.Code, TimedOut: exit.TimedOut, Truncated: stdout.cut > 0, Limit: exit.Limit,
			Stdout: stdout.bytes(), Stderr: stderr.bytes(),
		}
		if err == nil && exit.Canceled {
			err = fmt.Errorf("run %s: %w", c.Argv[0], exit.Cause)
		}
		return out, err
	}
}

// ends keeps the first and the last bytes that are written to it, max together.
type ends struct {
	max  int
	head []byte
	tail []byte // at most twice as much as is kept, so that it is moved seldom
	cut  int    // dropped bytes between the two
}

func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	half := e.max / 2
	if room := half - len(e.head); room > 0 {
		k := min(room, len(p))
		e.head = append(e.head, p[:k]...)
		p = p[k:]
	}
	e.tail = append(e.tail, p...)
	if over := len(e.tail) - half; over > half {
		e.tail = append(e.tail[:0], e.tail[over:]...)
		e.cut += over
	}
	return n, nil
}

// bytes returns what is kept, with a line that says what was dropped.
func (e *ends) bytes() []byte {
	if over := len(e.tail) - e.max/2; over > 0 {
		e.tail = e.tail[over:]
		e.cut += over
	}
	if e.cut == 0 {
		return append(e.head, e.tail...)
	}
	return append(fmt.Appendf(e.head, "\n… %d bytes left out …\n", e.cut), e.tail...)
}

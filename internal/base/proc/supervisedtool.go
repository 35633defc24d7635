package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// supervisedToolGrace is the time between SIGTERM and SIGKILL when ctx ends.
const supervisedToolGrace = time.Second

// SupervisedTool is Tool for a command that deed does not know and that may take its time: a hook, a target of messages. It runs below a
// supervisor of its own. So none of its processes outlives deed, whatever ends deed, and none is left when SupervisedTool returns, not even
// one that left its process group. Its result is Tool's. Argv[0] without a slash is looked up on the PATH of Env.
//
// On a system without supervisors it is Tool: the command still has to run there.
func SupervisedTool(ctx context.Context, spec ToolSpec) (res ToolResult, err error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return ToolResult{}, errors.New("run tool: argv is empty (give the command as its first item)")
	}
	sup, err := IdleSupervisor(Options{})
	if errors.Is(err, ErrUnsupported) {
		return Tool(ctx, spec)
	}
	res.name = spec.Argv[0]
	if err != nil {
		return res, fmt.Errorf("run %s: %w", res.name, err)
	}
	defer func() { _ = sup.Close() }() // the run is over, and nothing of it is left
	dir := spec.Dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return res, fmt.Errorf("run %s: %w", res.name, err)
		}
	}
	var captured bytes.Buffer
	out := spec.Stdout
	if out == nil {
		out = &captured
	}
	limit := spec.MaxOutput
	if limit == 0 {
		limit = DefaultToolOutput
	}
	if limit > 0 {
		out = &limitWriter{w: out, left: limit, exceeded: func() {}} // the supervisor ends a run whose writer fails
	}
	stderr := &headBuffer{max: toolStderr}
	exit, err := sup.Run(ctx, Spec{
		Argv: spec.Argv, Dir: dir, Env: spec.Env, Stdin: spec.Stdin, Stdout: out, Stderr: stderr, Files: spec.Files, Grace: supervisedToolGrace,
	})
	res.ExitCode, res.Signal, res.Stdout, res.Stderr = exit.Code, exit.Signal, captured.Bytes(), stderr.buf
	switch {
	case errors.Is(err, ErrOutputLimit): // as Tool has it, without where it was found
		return res, fmt.Errorf("run %s: %w", res.name, ErrOutputLimit)
	case ctx.Err() != nil:
		return res, fmt.Errorf("run %s: %w", res.name, context.Cause(ctx))
	}
	return res, err
}

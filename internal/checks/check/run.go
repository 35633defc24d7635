package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/sidecar"
)

// NewRunDir makes an empty run directory at path, which must not exist. Only the directories that scripts drop files into
// are there: that a file is absent says that it was not written.
func NewRunDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("make the run directory: %w", err)
	}
	return sidecar.Paths(path).Make()
}

// Run runs the capability and reports what deed saw. An error means that deed could not even try (a full disk, a
// cancelled context); a script that cannot be started, is killed or breaks the contract is a report.
func Run(ctx context.Context, r Request) (runner.Report, error) {
	if err := r.writeChanged(); err != nil {
		return runner.Report{}, err
	}
	rep := runner.Report{
		Schema: runner.SchemaReport, Capability: r.Capability, Component: r.ComponentID, ComponentPath: r.Component.Host,
		Extension: r.ExtensionID, ExtensionHash: r.Digest,
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, proc.ErrTimeout)
	defer cancel()
	rc := &record{out: tail{next: r.Stdout}, err: tail{next: r.Stderr}, limit: timeout}
	env := r.environ()
	ok, err := r.hooks(ctx, "pre:"+r.Capability, r.Hooks.Pre, env, &rep)
	if err != nil {
		return rep, err
	}
	if !ok {
		refuseByHook(&rep)
		return rep, nil
	}
	if err := r.commands(ctx, env, rc); err != nil {
		return rep, err
	}
	rep.DurationMS = rc.exit.Duration.Milliseconds()
	set, err := r.files(r.RunDir.Host).Read(r.Component.Host)
	if err != nil {
		return rep, err
	}
	r.conclude(&rep, rc, set)
	if _, err := r.hooks(ctx, "post:"+r.Capability, r.Hooks.Post, env, &rep); err != nil {
		return rep, err
	}
	return rep, nil
}

// A record is how the script ended and what it said.
type record struct {
	out, err tail
	exit     proc.Exit
	start    error // it could not be started
	limit    time.Duration
	command  string // the one that ended the run
}

// commands runs the lines one after another until one does not end with 0.
func (r *Request) commands(ctx context.Context, env []string, rc *record) error {
	for i, line := range r.Commands {
		if i == len(r.Commands)-1 {
			for _, a := range r.Options.Args {
				line += " " + extension.Quote(a)
			}
		}
		rc.command = line
		e, err := r.Exec(ctx, proc.Spec{
			Argv: []string{"/bin/sh", "-c", line}, Dir: r.Component.Inside, Env: env, Stdout: &rc.out, Stderr: &rc.err, Grace: 2 * time.Second,
		})
		took := rc.exit.Duration + e.Duration
		rc.exit = e
		rc.exit.Duration = took
		var start *proc.StartError
		switch {
		case errors.As(err, &start):
			rc.start = err
			return nil
		case err != nil && errors.Is(context.Cause(ctx), proc.ErrTimeout):
			rc.exit.TimedOut = true
			return nil
		case err != nil:
			return fmt.Errorf("run %s: %w", r.Capability, err)
		}
		if e.Canceled && errors.Is(context.Cause(ctx), proc.ErrTimeout) {
			rc.exit.TimedOut, rc.exit.Canceled = true, false
		}
		if e.Canceled && !rc.exit.TimedOut {
			return fmt.Errorf("run %s: %w", r.Capability, context.Cause(ctx))
		}
		if e.Code != 0 || e.Signal != "" || rc.exit.TimedOut {
			return nil
		}
	}
	return nil
}

// writeChanged writes the list of changed files for the script.
func (r *Request) writeChanged() error {
	if len(r.Options.ChangedFiles) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(r.RunDir.Host, changedFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the list of changed files: %w", err)
	}
	_, err = io.WriteString(f, strings.Join(r.Options.ChangedFiles, "\n")+"\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the list of changed files: %w", err)
	}
	return nil
}

// hookOutput bounds what is kept of a hook's output.
const hookOutput = 64 << 10

// hooks runs the lines of one event. Those before the capability stop at the first that fails, and false says that one did.
func (r *Request) hooks(ctx context.Context, event string, lines, env []string, rep *runner.Report) (bool, error) {
	if len(lines) == 0 {
		return true, nil
	}
	res := runner.HookResult{Event: event, Commands: []runner.HookCommand{}, AllSucceeded: true}
	defer func() { rep.Hooks = append(rep.Hooks, res) }()
	for _, line := range lines {
		out, errOut := &bounded{left: hookOutput}, &bounded{left: hookOutput}
		e, err := r.Exec(ctx, proc.Spec{
			Argv: []string{"/bin/sh", "-c", line}, Dir: r.Component.Inside, Env: append(env, "DEED_HOOK="+event), Stdout: out, Stderr: errOut, Grace: 2 * time.Second,
		})
		var start *proc.StartError
		if err != nil && !errors.As(err, &start) {
			return false, fmt.Errorf("run the hook %s: %w", event, err)
		}
		ok := err == nil && e.Code == 0 && e.Signal == "" && !e.Canceled
		if err != nil {
			e.Code = 127
			_, _ = io.WriteString(errOut, err.Error())
		}
		res.Commands = append(res.Commands, runner.HookCommand{Command: line, Success: ok, Stdout: out.String(), Stderr: errOut.String(), ExitCode: e.Code})
		if !ok {
			res.AllSucceeded = false
			if strings.HasPrefix(event, "pre:") {
				return false, nil
			}
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("the hook %q of %s ended with exit code %d", line, event, e.Code))
		}
	}
	return true, nil
}

// bounded keeps the first bytes and discards the rest.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	_, _ = b.Buffer.Write(p[:n])
	return len(p), nil
}

func (b *bounded) String() string { return strings.ToValidUTF8(b.Buffer.String(), "\uFFFD") }

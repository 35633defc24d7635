package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// A Call is one start of an agent's program.
type Call struct {
	Turn   int       // names the files of the record; see driver.TurnFile
	Args   []string  // after the program, as the agent sees them
	Vars   Vars      // nil: the agent's own
	Stdin  io.Reader // nil: the null device
	Stdout io.Writer // gets what the agent wrote as it wrote it, besides the record; nil: nobody
	Stderr io.Writer // the same
	// Answers says that the agent answers on its standard output alone: a result file is no result.
	Answers bool
	Timeout time.Duration
}

// A Turn is what one run left. Conclude makes a Yield of it.
type Turn struct {
	Yield   driver.Yield
	Message string // the agent's last message, where its driver knows it
	// NoResult says that the agent left no result file. ResultErr says why there is no claim although there is a result.
	NoResult  bool
	ResultErr error
	Limit     string // the limit that ended the run, if one did
	Ended     bool   // deed ended the process although it had done all it was asked to: its exit status means nothing

	agent          *Agent
	call           Call
	sink           driver.Sink
	stdout, stderr *driver.Recorder
	runErr         error
	gatherErr      error
	lastError      string // the end of stderr
}

// Run runs the program to its end and takes over what it left. An error means that there is no account of the run at all.
func (a *Agent) Run(ctx context.Context, c Call, sink driver.Sink) (*Turn, error) {
	if c.Vars == nil {
		c.Vars = a.Vars
	}
	if sink == nil {
		sink = driver.Discard
	}
	t := &Turn{agent: a, call: c, sink: sink, Yield: driver.Yield{Kind: driver.YieldEnd, Diagnostics: map[string]any{}}}
	if err := t.record(); err != nil {
		_ = t.close()
		return nil, failure.New(failure.Infra, "run "+a.Name, err, "")
	}
	t.start(ctx)
	if errors.Is(t.runErr, proc.ErrSurvivors) {
		// What still runs can change whatever would be read now.
		_ = t.close()
		return nil, failure.New(failure.Infra, "run "+a.Name, t.runErr, "")
	}
	t.gatherErr = t.gather()
	return t, nil
}

// record opens the record of the output.
func (t *Turn) record() (err error) {
	a := t.agent
	if t.stdout, err = driver.NewRecorder(a.run, driver.TurnFile(driver.StdoutFile, t.call.Turn), a.Job.OutputCap, a.Job.Redactor); err != nil {
		return err
	}
	t.stderr, err = driver.NewRecorder(a.run, driver.TurnFile(driver.StderrFile, t.call.Turn), a.Job.OutputCap, a.Job.Redactor)
	return err
}

func (t *Turn) start(ctx context.Context) {
	a := t.agent
	var stdout io.Writer = t.stdout
	if t.call.Stdout != nil {
		stdout = io.MultiWriter(t.stdout, t.call.Stdout)
	}
	var stderr io.Writer = t.stderr
	if t.call.Stderr != nil {
		stderr = io.MultiWriter(t.stderr, t.call.Stderr)
	}
	invocation := t.invocation()
	exit, err := a.Job.Run(ctx, proc.Spec{
		Argv: append([]string{a.program()}, t.call.Args...), Dir: a.Job.Inside(a.Dir), Env: t.call.Vars.List(),
		Stdin: t.call.Stdin, Stdout: stdout, Stderr: stderr,
		Timeout: t.call.Timeout, Grace: a.Job.Grace, Limits: a.Job.Limits,
		OnStart: func(pid int) {
			invocation.PID = pid
			t.sink.Event(driver.EventStarted, map[string]any{"pid": pid})
		},
	})
	t.runErr, t.Limit, t.Yield.Proc = err, exit.Limit, exit.Exit
	t.Yield.Diagnostics["invocation"] = invocation
	t.sink.Event(driver.EventEnded, driver.EndedOf(exit))
}

// program is the command as the agent sees it: links are resolved, because what was mounted is what they lead to.
func (a *Agent) program() string {
	if a.Direct {
		return a.Job.Inside(a.Program)
	}
	if real, err := filepath.EvalSymlinks(a.Program); err == nil && a.Job.Sandbox != nil {
		return a.Job.Inside(real)
	}
	return a.Program
}

// invocation is the record of what is started.
func (t *Turn) invocation() driver.Invocation {
	a, r := t.agent, t.agent.Job.Redactor
	inv := driver.Invocation{Argv: []string{r.String(a.Config.Command)}, Path: a.program(), Cwd: a.Job.Inside(a.Dir), Env: t.call.Vars.Recorded(r)}
	for _, arg := range t.call.Args {
		inv.Argv = append(inv.Argv, r.String(arg))
	}
	return inv
}

// gather takes over what the agent left: output, result, its own account.
func (t *Turn) gather() error {
	if err := errors.Join(t.stdout.Finish(), t.stderr.Finish()); err != nil {
		return err
	}
	dir := t.agent.Job.Dirs.Run
	t.Yield.StdoutPath = filepath.Join(dir, driver.TurnFile(driver.StdoutFile, t.call.Turn))
	t.Yield.StderrPath = filepath.Join(dir, driver.TurnFile(driver.StderrFile, t.call.Turn))
	for _, r := range []struct {
		stream string
		rec    *driver.Recorder
	}{{"stdout", t.stdout}, {"stderr", t.stderr}} {
		if tr, ok := r.rec.Truncation(r.stream); ok {
			t.Yield.Truncated = append(t.Yield.Truncated, tr)
			t.sink.Event(driver.EventTruncated, tr)
		}
	}
	t.lastError = lastLine(t.stderr.Tail(maxMessage))
	t.readAudit()
	if t.call.Answers {
		t.NoResult = true
		return nil
	}
	return t.readResult()
}

// readResult takes the agent's result file, if there is one.
func (t *Turn) readResult() error {
	a := t.agent
	data, err := driver.TakeFile(a.exchange, resultFile)
	// As the agent wrote it, the result may hold secrets.
	if rerr := a.exchange.RemoveAll(resultFile); rerr != nil {
		return rerr
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.NoResult = true
		return nil
	case err != nil:
		t.ResultErr = fmt.Errorf("the result file: %w", err)
		return nil
	}
	return t.take(data, driver.SourceResultFile)
}

// LookInStdout takes the last JSON object on stdout as the result, when there is no result file.
func (t *Turn) LookInStdout() {
	if !t.NoResult || t.gatherErr != nil {
		return
	}
	data, err := driver.LastJSON(t.stdout.File())
	if err == nil && data != nil {
		t.NoResult = false
		err = t.take(data, driver.SourceStdout)
	}
	t.gatherErr = err
}

// take reads a result as the agent's claim. A result that cannot be read is ResultErr; the error is deed's own.
func (t *Turn) take(data []byte, source string) error {
	a := t.agent
	data = a.Job.Redactor.Bytes(data)
	name := driver.TurnFile(resultFile, t.call.Turn)
	if err := driver.WriteFile(a.run, name, data); err != nil {
		return err
	}
	t.Yield.ResultPath = filepath.Join(a.Job.Dirs.Run, name)
	claim, dropped, err := driver.ParseClaim(data)
	if err != nil {
		t.NoResult = source == driver.SourceStdout && errors.Is(err, driver.ErrNoStatus)
		t.ResultErr = fmt.Errorf("the result from %s: %w", strings.ReplaceAll(source, "_", " "), err)
		return nil
	}
	claim.Source = source
	t.Claim(claim)
	if len(dropped) > 0 {
		t.Yield.Diagnostics["dropped"] = dropped
		for _, what := range dropped {
			t.sink.Event(driver.EventDropped, map[string]any{"what": what})
		}
	}
	return nil
}

// Claim sets the agent's word. Its texts are redacted.
func (t *Turn) Claim(c *driver.Claim) {
	t.Yield.Claim = c
	t.Yield.RetryAfter = c.RetryAfter()
	c.Tell(t.sink)
}

// maxMessage bounds the last message when it is taken from the end of stdout.
const maxMessage = 4 << 10

// writeMessage keeps the agent's last message: its summary, what its driver knows, else the end of its output.
func (t *Turn) writeMessage() error {
	text := t.Message
	if t.Yield.Claim != nil && t.Yield.Claim.Summary != "" {
		text = t.Yield.Claim.Summary
	}
	if text == "" {
		text = strings.ToValidUTF8(t.stdout.Tail(maxMessage), "\ufffd")
	}
	if text == "" {
		return nil
	}
	name := driver.TurnFile(messageFile, t.call.Turn)
	t.Yield.LastMessagePath = filepath.Join(t.agent.Job.Dirs.Run, name)
	return driver.WriteFile(t.agent.run, name, []byte(text))
}

// readAudit takes the agent's own account, if there is a readable one; whether there must be is the gate's business.
func (t *Turn) readAudit() {
	data, err := driver.TakeFile(t.agent.artifacts, driver.AuditFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if data = t.agent.Job.Redactor.Bytes(data); err == nil && !json.Valid(data) {
		err = errors.New("it is not JSON")
	}
	if err != nil {
		t.Yield.Diagnostics["audit_error"] = err.Error()
		return
	}
	t.Yield.Audit = data
}

func (t *Turn) close() error {
	var errs []error
	for _, r := range []*driver.Recorder{t.stdout, t.stderr} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

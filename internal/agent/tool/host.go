package tool

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// MaxStarts is how many times a host is started in one turn. A host that dies more often than that is killed on purpose.
const MaxStarts = 5

// Waits for a host. callSlack is what a call may take beyond its own timeout, closeWait how long a host may take to end.
const (
	fileCallTime = 2 * time.Minute
	callSlack    = 30 * time.Second
	closeWait    = 5 * time.Second
)

// A HostConfig says how the process of a Host is started.
type HostConfig struct {
	// Run runs a process of the agent to its end, contained as the agent is.
	Run       func(ctx context.Context, s proc.Spec) (sandbox.Exit, error)
	Self      string // this binary, as the process sees it
	Workspace string // the workspace, as the process sees it
	Env       []string
	Limits    proc.Limits
	Grace     time.Duration
	OnStart   func(pid int)
	OnEnd     func(sandbox.Exit, error)
}

// A Host is this side of the process that carries out calls. The process is started by the first call. It is used by
// one goroutine.
type Host struct {
	start  func() *hostRun
	run    *hostRun // nil: there is none
	starts int
	killed int                 // processes that commands left running
	limit  *sandbox.LimitError // for which the last one was ended
}

// A hostRun is one life of the process.
type hostRun struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	wire   *wire
	key    []byte         // for the host; nil when it has it
	outEnd *io.PipeReader // under out
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when no process is left; then exit and err are set
	exit   sandbox.Exit
	err    error
	stderr tail
}

// errOver is what a pipe gives when the process is gone.
var errOver = errors.New("the host of the tools is gone")

// Open makes a Host. ctx is that of the turn: when it ends, so does the process.
func Open(ctx context.Context, c HostConfig) *Host {
	return &Host{start: func() *hostRun { return begin(ctx, c) }}
}

func begin(ctx context.Context, c HostConfig) *hostRun {
	ctx, cancel := context.WithCancelCause(ctx)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	r := &hostRun{in: inW, out: bufio.NewReaderSize(outR, outputChunk+headSize+sealSize), outEnd: outR, cancel: cancel, done: make(chan struct{})}
	r.key = make([]byte, keySize)
	_, _ = rand.Read(r.key) // it never fails
	r.wire = newWire(r.key, sideDeed)
	go func() {
		r.exit, r.err = c.Run(ctx, proc.Spec{
			Argv: []string{c.Self, hostCommand, c.Workspace}, Dir: c.Workspace, Env: c.Env,
			Stdin: inR, Stdout: outW, Stderr: &r.stderr, Grace: c.Grace, Limits: c.Limits, OnStart: c.OnStart,
		})
		_ = inR.CloseWithError(errOver)
		_ = outW.CloseWithError(errOver)
		cancel(nil)
		if c.OnEnd != nil {
			c.OnEnd(r.exit, r.err)
		}
		close(r.done)
	}()
	return r
}

// Call carries out a call. Its output, or why it failed, is written to out as it comes; an error of out ends the call and
// the process. The error is a *failure.Error when no tool can be used any more, or the cause of ctx. A process that is lost
// is an Outcome of type TypeHostLost, or TypeLimit: it is not known how far the call came. The next call starts another.
func (h *Host) Call(ctx context.Context, name string, input json.RawMessage, out io.Writer) (Outcome, error) {
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	frame, err := json.Marshal(wireCall{Tool: name, Input: input})
	if err != nil || len(frame) > maxCallFrame {
		return refuse(out, Failf(TypeTooLarge, "the input has %d bytes (at most %d)", len(input), maxCallFrame))
	}
	if h.gone() {
		if h.starts == MaxStarts {
			return Outcome{}, h.exhausted()
		}
		h.starts++
		h.run = h.start()
	}
	r := h.run
	limit := callTime(name, input)
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(callCtx, func() { r.cancel(proc.ErrAtOnce) })
	o, err := r.call(frame, out)
	h.killed += o.Killed
	if stop() && err == nil {
		return o, nil
	}
	return h.lost(ctx, limit, out, err)
}

// Killed is how many processes the commands left running when they were over, and were ended then. What is ended with the
// host itself is in its exit.
func (h *Host) Killed() int { return h.killed }

// gone reports whether there is no process to talk to. One that died while nothing was asked of it took no call with it.
func (h *Host) gone() bool {
	if h.run != nil {
		select {
		case <-h.run.done:
			h.run = nil
		default:
		}
	}
	return h.run == nil
}

func (r *hostRun) call(frame []byte, out io.Writer) (Outcome, error) {
	if r.key != nil {
		if _, err := r.in.Write(r.key); err != nil {
			return Outcome{}, err
		}
		r.key = nil
	}
	if err := r.wire.writeFrame(r.in, frameCall, frame); err != nil {
		return Outcome{}, err
	}
	for {
		kind, payload, err := r.wire.readFrame(r.out, maxFrame)
		if err != nil {
			return Outcome{}, err
		}
		switch kind {
		case frameOutput:
			if _, err := out.Write(payload); err != nil {
				return Outcome{}, &outputError{err}
			}
		case frameDone:
			var o Outcome
			d := json.NewDecoder(bytes.NewReader(payload))
			if err := d.Decode(&o); err != nil {
				return o, fmt.Errorf("%w: %w", errFrame, err)
			}
			return o, nil
		default:
			return Outcome{}, errFrame
		}
	}
}

// kill ends the process and returns when none is left.
func (r *hostRun) kill() {
	r.cancel(proc.ErrAtOnce)
	_ = r.outEnd.CloseWithError(errOver)
	<-r.done
}

// An outputError is a fault of the writer that takes the output.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// lost ends the process of a call that did not end as it should, and says what became of it.
func (h *Host) lost(ctx context.Context, limit time.Duration, out io.Writer, err error) (Outcome, error) {
	r := h.run
	h.run = nil
	r.kill()
	var output *outputError
	var f *failure.Error
	var start *proc.StartError
	var reached *sandbox.LimitError
	switch {
	case ctx.Err() != nil:
		return Outcome{}, context.Cause(ctx)
	case errors.As(err, &output):
		return Outcome{}, output.err
	case errors.As(r.err, &f):
		return Outcome{}, r.err
	case errors.As(r.err, &start), errors.Is(r.err, proc.ErrSurvivors), errors.Is(r.err, proc.ErrClosed):
		return Outcome{}, failure.New(failure.Infra, "start the host of the tools", r.err, "")
	case errors.Is(r.err, proc.ErrSupervisorLost): // a command that gets at it is no mishap of the agent's
		return Outcome{}, failure.New(failure.Infra, "watch over the host of the tools", r.err, "")
	case errors.As(r.exit.Cause, &reached):
		h.limit = reached
		return refuse(out, Failf(TypeLimit, "\n[%v; everything that ran was ended]", reached))
	case errors.Is(err, errFrame):
		return refuse(out, Failf(TypeHostLost, "\n[the host of the tools wrote what is no answer: %v; everything that ran was ended]", err))
	case r.exit.Canceled:
		return refuse(out, Failf(TypeHostLost, "\n[no answer of the host of the tools after %v; everything that ran was ended]", limit))
	}
	why := proc.Ending(r.exit.Code, r.exit.Signal)
	if s := r.stderr.String(); s != "" {
		why += ": " + s
	}
	return refuse(out, Failf(TypeHostLost, "\n[the host of the tools died (%s); it is not known how far the call came]", why))
}

func refuse(out io.Writer, f *Failure) (Outcome, error) {
	_, err := io.WriteString(out, f.Message+"\n")
	return Outcome{Failed: true, ErrorType: f.Type}, err
}

func (h *Host) exhausted() error {
	if h.limit != nil {
		return failure.New(failure.Limit, "start the host of the tools", h.limit, "raise it (policy.limits of a request, deed.sandbox.limits of a task), or make the work smaller")
	}
	return failure.New(failure.AgentFailed, "start the host of the tools", fmt.Errorf("it died %d times", MaxStarts), "look at the last commands of the agent: they may kill it")
}

// callTime bounds a call from outside, should the host not hold it to its own timeout.
func callTime(name string, input json.RawMessage) time.Duration {
	if name != Shell {
		return fileCallTime
	}
	var in struct {
		TimeoutMS json.Number `json:"timeout_ms"`
	}
	limit := defaultTimeout
	if json.Unmarshal(input, &in) == nil {
		if ms, err := in.TimeoutMS.Int64(); err == nil && ms > 0 && ms <= int64(time.Hour/time.Millisecond) {
			limit = time.Duration(ms) * time.Millisecond
		}
	}
	return limit + callSlack
}

// Close ends the process. None is left when it returns without an error; the error is proc.ErrSurvivors or another that
// says that there may be. It may be called more than once.
func (h *Host) Close() error {
	r := h.run
	if r == nil {
		return nil
	}
	h.run = nil
	_ = r.in.Close()
	_ = r.outEnd.CloseWithError(errOver) // there is no reader any more
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		r.kill()
	}
	if errors.Is(r.err, proc.ErrSurvivors) {
		return r.err
	}
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct{ b []byte }

const maxStderrTail = 400

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p[max(0, len(p)-maxStderrTail):]...)
	t.b = t.b[max(0, len(t.b)-maxStderrTail):]
	return len(p), nil
}

// String is read when the process is gone.
func (t *tail) String() string {
	return string(bytes.TrimSpace(bytes.ToValidUTF8(t.b, []byte("\ufffd"))))
}

package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
)

// Bounds of the terminals of a turn.
const (
	maxTerminals  = 16      // that run at a time
	maxKept       = 4 << 20 // bytes that are kept of the output of one
	defaultKept   = 1 << 20
	maxRemembered = 256 // terminals that were not released
)

// terminals are the terminals of a turn.
type terminals struct {
	turn  *turn
	count atomic.Int64

	mu      sync.Mutex
	open    map[string]*terminal // guarded by mu
	running int                  // guarded by mu
	closed  bool                 // guarded by mu
	wg      sync.WaitGroup
}

// A terminal is one command and its output.
type terminal struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the command is over

	mu      sync.Mutex
	kept    []byte // guarded by mu: the end of the output
	limit   int
	dropped bool // guarded by mu

	exit exitStatus // written before done is closed
}

type exitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

func newTerminals(t *turn) *terminals { return &terminals{turn: t, open: map[string]*terminal{}} }

// number returns a new one.
func (r *terminals) number() int64 { return r.count.Add(1) }

type createRequest struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Cwd             string `json:"cwd"`
	OutputByteLimit *int   `json:"outputByteLimit"`
}

// argv is the command line. A command without arguments is a line for the shell, as agents have it.
func (c createRequest) argv() []string {
	if len(c.Args) == 0 {
		return []string{"/bin/sh", "-c", c.Command}
	}
	return append([]string{c.Command}, c.Args...)
}

type terminalRequest struct {
	TerminalID string `json:"terminalId"`
}

// create is terminal/create.
func (r *terminals) create(c createRequest) (map[string]string, error) {
	spec, err := r.spec(c)
	if err != nil {
		return nil, err
	}
	input := map[string]any{"command": c.Command, "cwd": spec.Dir}
	if len(c.Args) > 0 {
		input["args"] = c.Args
	}
	if len(c.Env) > 0 { // it can change what the command does, as PATH
		input["env"] = c.Env
	}
	return guarded(r.turn, "terminal/create", input, func() (map[string]string, error) {
		id, err := r.start(spec, c.OutputByteLimit)
		return map[string]string{"terminalId": id}, err
	})
}

// spec is the command as it is run: with the agent's own environment, where the agent says.
func (r *terminals) spec(c createRequest) (proc.Spec, error) {
	plan := r.turn.plan
	if c.Command == "" {
		return proc.Spec{}, refused("there is no command")
	}
	more := map[string]string{}
	for _, v := range c.Env {
		if err := process.Settable(v.Name); err != nil {
			return proc.Spec{}, refused("env: %v", err)
		}
		more[v.Name] = v.Value
	}
	dir := c.Cwd
	if dir == "" {
		dir = plan.Job.Inside(plan.Dir)
	}
	if !filepath.IsAbs(dir) {
		return proc.Spec{}, refused("cwd: %.200q is not an absolute path", dir)
	}
	argv := c.argv()
	for _, text := range append(append([]string{dir}, argv...), plan.Vars.With(more).List()...) {
		if strings.IndexByte(text, 0) >= 0 {
			return proc.Spec{}, refused("there is a NUL byte in the command")
		}
	}
	return proc.Spec{Argv: argv, Dir: dir, Env: plan.Vars.With(more).List(), Grace: plan.Job.Grace, Limits: plan.Job.Limits}, nil
}

// start runs a command under a supervisor of its own: that of the job has the agent.
func (r *terminals) start(spec proc.Spec, limit *int) (string, error) {
	t := &terminal{done: make(chan struct{}), limit: defaultKept}
	if limit != nil {
		t.limit = min(max(*limit, 0), maxKept)
	}
	spec.Stdout, spec.Stderr = t, t
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return "", errStopped
	case r.running >= maxTerminals:
		return "", refused("%d commands run already: wait for one, or end one", maxTerminals)
	case len(r.open) >= maxRemembered:
		return "", refused("%d terminals are not released yet", maxRemembered)
	}
	sup, err := proc.BeginSupervisor(proc.Options{})
	if err != nil {
		return "", err
	}
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(r.turn.ctx)
	id := "term-" + strconv.FormatInt(r.number(), 10)
	r.open[id] = t
	r.running++
	r.wg.Go(func() { r.run(ctx, t, sup, spec) })
	return id, nil
}

func (r *terminals) run(ctx context.Context, t *terminal, sup *proc.Supervisor, spec proc.Spec) {
	defer close(t.done)
	defer t.cancel()
	j := r.turn.plan.Job
	j.Supervisor = sup
	exit, err := j.Run(ctx, spec)
	if err := errors.Join(err, sup.Close()); errors.Is(err, proc.ErrSurvivors) {
		r.turn.abort(failure.New(failure.Infra, op, fmt.Errorf("end a command: %w", err), ""))
	}
	if err != nil {
		_, _ = fmt.Fprintf(t, "deed: %v\n", err)
	}
	switch {
	case exit.Signal != "":
		t.exit.Signal = &exit.Signal
	default:
		t.exit.ExitCode = &exit.Code
	}
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
}

// Write keeps the end of the output.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > t.limit+(64<<10) { // seldom, so that little is copied
		t.kept = append([]byte(nil), t.kept[over:]...)
		t.dropped = true
	}
	return len(p), nil
}

// text is what is kept of the output, and whether it is all.
func (t *terminal) text() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, dropped := t.kept, t.dropped
	if over := len(kept) - t.limit; over > 0 {
		kept, dropped = kept[over:], true
		for len(kept) > 0 && !utf8.RuneStart(kept[0]) {
			kept = kept[1:]
		}
	}
	return strings.ToValidUTF8(string(kept), "\ufffd"), dropped
}

func (r *terminals) find(id string) (*terminal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.open[id]; t != nil {
		return t, nil
	}
	return nil, refused("there is no terminal %.60q", id)
}

// output is terminal/output.
func (r *terminals) output(q terminalRequest) (map[string]any, error) {
	t, err := r.find(q.TerminalID)
	if err != nil {
		return nil, err
	}
	text, cut := t.text()
	out := map[string]any{"output": text, "truncated": cut}
	select {
	case <-t.done:
		out["exitStatus"] = t.exit
	default:
	}
	return out, nil
}

// wait is terminal/wait_for_exit. A command ends with the turn at the latest.
func (r *terminals) wait(q terminalRequest) (exitStatus, error) {
	t, err := r.find(q.TerminalID)
	if err != nil {
		return exitStatus{}, err
	}
	<-t.done
	return t.exit, nil
}

// kill is terminal/kill: what the command printed can still be asked for.
func (r *terminals) kill(q terminalRequest) (map[string]string, error) {
	t, err := r.find(q.TerminalID)
	if err == nil {
		t.cancel()
	}
	return map[string]string{}, err
}

// release is terminal/release.
func (r *terminals) release(q terminalRequest) (map[string]string, error) {
	out, err := r.kill(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, q.TerminalID)
	return out, err
}

// close ends every command and waits for it.
func (r *terminals) close() {
	r.mu.Lock()
	r.closed = true
	for _, t := range r.open {
		t.cancel()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
)

// ContractFlag has a provider command print its declaration and end: hosts use it to see that the command loads.
const ContractFlag = "--provider-contract"

// RequestVariable holds the request of a host that leaves standard input empty.
const RequestVariable = "HOMEBOY_AGENT_TASK_REQUEST"

// Bounds of a command.
const (
	maxRequest = 64 << 20
	patience   = time.Second // for a function whose context has ended; hosts wait about twice that
	headroom   = 250 * time.Millisecond
)

// A Provider is what a command says of itself.
type Provider struct {
	ID      string // of the provider; with a manifest of one provider it can be left out
	Backend string // what executor.backend must say; empty: as the manifest has it
	// Manifest is the manifest of the package, best embedded. What it declares is held: required fields, statuses, names
	// of secrets. Without it the provider has an id and a backend and declares nothing else.
	Manifest []byte
}

// A Handler does the work of one request. The context ends at the request's time limit and when the host asks the command
// to stop.
type Handler func(ctx context.Context, q Request, r *Run) (Outcome, error)

// Stdio is what a command is given by its host.
type Stdio struct {
	Args    []string // without the program's name
	Environ []string // NAME=value
	Dir     string   // the working directory, absolute
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
}

// Main serves one request and ends the process.
func Main(p Provider, h Handler) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	code := Serve(ctx, p, h, Stdio{Args: os.Args[1:], Environ: os.Environ(), Dir: dir, In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// Serve is Main for a program that has its own ideas of signals and standard streams, and for tests. It returns the exit
// code. Should the handler not return soon after its context ended, it is left behind.
func Serve(ctx context.Context, p Provider, h Handler, std Stdio) int {
	declared, err := p.Declaration()
	if err != nil {
		fmt.Fprintf(std.Err, "%v\n", err)
		return 1
	}
	if slices.Contains(std.Args, ContractFlag) {
		return write(std, declared)
	}
	r := newRun(declared, std)
	o := r.serve(ctx, h)
	return write(std, json.RawMessage(r.encode(o)))
}

// Declaration is the provider as its manifest has it.
func (p Provider) Declaration() (homeboy.ExecutorProvider, error) {
	if len(p.Manifest) == 0 {
		x := homeboy.ExecutorProvider{
			Schema: homeboy.SchemaProvider, ID: p.ID, Label: p.ID, Backend: p.Backend,
			RequestSchema: homeboy.SchemaRequest, OutcomeSchema: homeboy.SchemaOutcome,
		}
		if p.ID == "" || p.Backend == "" {
			return x, errors.New("provider: neither a manifest nor both ID and Backend are given (embed the package's manifest)")
		}
		return x, nil
	}
	m, _, err := homeboy.ReadManifest(p.Manifest)
	if err != nil {
		return homeboy.ExecutorProvider{}, fmt.Errorf("provider: the manifest: %w", err)
	}
	var ids []string
	for _, x := range m.AgentTaskExecutors {
		ids = append(ids, x.ID)
		if x.ID != p.ID && (p.ID != "" || len(m.AgentTaskExecutors) > 1) {
			continue
		}
		if p.Backend != "" && p.Backend != x.Backend {
			return x, fmt.Errorf("provider: %s has the backend %q in the manifest and %q here (leave one of them out)", x.ID, x.Backend, p.Backend)
		}
		return x, nil
	}
	return homeboy.ExecutorProvider{}, fmt.Errorf("provider: the manifest has no provider %q (it has: %s)", p.ID, strings.Join(ids, ", "))
}

// write puts one document on standard output.
func write(std Stdio, doc any) int {
	text, err := json.Marshal(doc)
	if err == nil {
		_, err = std.Out.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintf(std.Err, "provider: write to standard output: %v\n", err)
		return 1
	}
	return 0
}

// result is what the handler handed back.
type result struct {
	outcome Outcome
	err     error
}

// serve makes one outcome, whatever happens.
func (r *Run) serve(ctx context.Context, h Handler) Outcome {
	data, err := readRequest(ctx, r.std)
	if err != nil {
		return r.settle(ctx, result{err: err})
	}
	if err := r.take(data); err != nil {
		return r.settle(ctx, result{err: err})
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(r.Stderr(), "panic: %v\n%s", p, debug.Stack())
				done <- result{err: &Failure{Status: homeboy.ProviderError, Class: homeboy.ClassProvider, Diagnostic: DiagnosticPanic, Err: fmt.Errorf("the provider panicked: %v", p)}}
			}
		}()
		o, err := h(ctx, r.request, r)
		done <- result{o, err}
	}()
	select {
	case got := <-done:
		return r.settle(ctx, got)
	case <-ctx.Done():
	}
	wait := time.NewTimer(r.patience())
	defer wait.Stop()
	select {
	case got := <-done:
		return r.settle(ctx, got)
	case <-wait.C:
		return r.settle(ctx, result{err: context.Cause(ctx)})
	}
}

// limit gives the context the limits of the request. A host has no patience beyond an absolute deadline.
func (r *Run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	l := r.request.Limits
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.WallClockMS())*time.Millisecond)
	if l == nil || l.ExecutionDeadlineUnixMS == 0 {
		return ctx, cancel
	}
	ctx, cancel2 := context.WithDeadline(ctx, time.UnixMilli(l.ExecutionDeadlineUnixMS).Add(-headroom))
	return ctx, func() { cancel2(); cancel() }
}

// patience is how long an ended function may take to return: hosts wait a tenth of the limit before they kill.
func (r *Run) patience() time.Duration {
	tenth := time.Duration(r.request.Limits.WallClockMS()) * time.Millisecond / 20
	return min(max(tenth, headroom/5), patience)
}

// readRequest reads standard input to its end, else the variable.
func readRequest(ctx context.Context, std Stdio) ([]byte, error) {
	type reading struct {
		data []byte
		err  error
	}
	done := make(chan reading, 1)
	go func() { // a read cannot be called off
		data, err := io.ReadAll(io.LimitReader(std.In, maxRequest+1))
		done <- reading{data, err}
	}()
	var got reading
	select {
	case got = <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	data := bytes.TrimSpace(got.data)
	switch {
	case len(got.data) > maxRequest:
		return nil, Invalid(fmt.Errorf("the request has more than %d bytes", maxRequest))
	case len(data) > 0:
		return data, got.err
	}
	if text := strings.TrimSpace(getenv(std.Environ, RequestVariable)); text != "" {
		return []byte(text), nil
	}
	return nil, Invalid(errors.New("there is no request: standard input is empty (write one JSON object to it)"))
}

// getenv returns the last entry of a name.
func getenv(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

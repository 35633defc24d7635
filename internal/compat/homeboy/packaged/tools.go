package packaged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/driver/process"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/compat/homeboy/outcome"
)

// toolLimit is how long a tool has to show that it works.
const toolLimit = 20 * time.Second

// attach finds the tools that the request wants, and has their secrets resolved with the others.
func (d *Driver) attach(p *plan) error {
	tools, err := p.selection.Tools(p.request, proc.Getenv(d.opt.Environ, "PATH"))
	var bad *runtimepkg.ToolsError
	if errors.As(err, &bad) {
		return driver.Refuse(opStart, bad.Code, string(bad.Class), bad, bad.Remedy)
	}
	p.tools = tools
	for _, t := range tools {
		for name := range t.Env {
			if err := process.Settable(name); err != nil {
				return invalid(CodeRequestInvalid, fmt.Errorf("runtime_tools: %s: %w", t.ID, err), "give it another name")
			}
		}
		p.request.Executor.SecretEnv = union(p.request.Executor.SecretEnv, t.SecretEnvNames)
	}
	return err
}

// tools replaces, in the provider's request, what was asked for by what was found.
func (t *turn) tools(q *homeboy.Request) {
	q.RuntimeTools, q.ResolvedRuntimeTools = nil, nil
	for _, found := range t.plan.tools {
		tool := found.ResolvedRuntimeTool
		tool.Executable = t.job.Inside(tool.Executable)
		tool.Argv = append([]string{tool.Executable}, tool.Argv[1:]...)
		q.ResolvedRuntimeTools = append(q.ResolvedRuntimeTools, tool)
	}
}

// probeTools lets each tool show that it works, where it will run: in the provider's sandbox, with its environment. What a
// request names is never run outside of the sandbox. Every tool that does not work is named.
func (s *session) probeTools(ctx context.Context, vars process.Vars) error {
	var faults []string
	for i, tool := range s.plan.tools {
		state := &homeboy.ResolvedState{Status: "ready"}
		for _, c := range []struct {
			kind string
			argv []string
		}{{"version_command", tool.VersionCommand}, {"declared_probe", tool.Probe}} {
			if len(c.argv) == 0 {
				continue
			}
			said, err := s.probe(ctx, tool, c.argv, vars)
			if err != nil {
				faults = append(faults, fmt.Sprintf("the tool %s does not work: %s: %v", tool.ID, strings.Join(c.argv, " "), err))
				continue
			}
			state.Evidence = &homeboy.ToolReadyMark{Kind: c.kind, Success: true}
			if c.kind == "version_command" {
				s.plan.tools[i].Version = said
			}
		}
		if state.Evidence != nil {
			s.plan.tools[i].Readiness = state
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// withTools is the request with what the tools showed.
func (s *session) withTools(ctx context.Context, t *turn, in driver.Input) ([]byte, error) {
	vars, err := t.vars(s.agent.Vars)
	if err == nil {
		err = s.probeTools(ctx, vars)
	}
	if err != nil {
		return nil, err
	}
	return t.request(in)
}

// probe runs one command of a tool, and returns the first line that it says.
func (s *session) probe(ctx context.Context, tool runtimepkg.Tool, argv []string, vars process.Vars) (string, error) {
	var said firstWords
	argv = slices.Clone(argv)
	argv[0] = s.job.Inside(argv[0])
	exit, err := s.job.Run(ctx, proc.Spec{
		Argv: argv, Dir: s.job.Inside(s.job.Dirs.Workspace), Env: vars.With(tool.Env).List(), Stdout: &said, Stderr: &said, Timeout: toolLimit, Limits: s.job.Limits,
	})
	first, _, _ := strings.Cut(strings.TrimSpace(s.job.Redactor.String(said.text())), "\n")
	switch {
	case err != nil:
		return "", err
	case exit.TimedOut:
		return "", fmt.Errorf("it took more than %v", toolLimit)
	case exit.Code != 0:
		return "", fmt.Errorf("%s: %s", proc.Ending(exit.Code, exit.Signal), first)
	}
	return first, nil
}

// toolsFail ends a turn in which nothing was started because a tool does not work.
func (s *session) toolsFail(ctx context.Context, t *turn, err error) (driver.Yield, error) {
	s.over = true
	return s.unstarted(ctx, t, outcome.NotStarted, failure.Config, &driver.Refusal{Code: runtimepkg.ToolUnavailable, Class: string(homeboy.ClassCapabilityMissing), Err: err})
}

// firstWords keeps the beginning of what is written to it, from both streams of a process.
type firstWords struct {
	mu   sync.Mutex
	kept []byte // guarded by mu
}

func (w *firstWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p[:min(len(p), maxTail-len(w.kept))]...)
	return len(p), nil
}

func (w *firstWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.kept)
}

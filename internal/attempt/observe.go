package attempt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/observe"
	"github.com/deedrun/deed/internal/isolate/exectrace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// insideWatch is where a contained check sees the files of its observer.
const insideWatch = "/run/deed/watch"

// An observer watches one run of a command: the test runners that it starts, and the programs of the tree that it
// executes. It reports what happened and changes nothing.
type observer struct {
	dir    string         // in the room, new for each run
	watch  *observe.Watch // nil: the command is not observed
	inside string         // dir, as the check sees it
	traced bool
}

// traceFile is the file of the trace, in the observer's directory.
const traceFile = "trace"

// observer makes the observer of a run. PHP that runs inside WordPress is not a command of the project.
func (a *run) observer(room string, c deed.Check, traced bool) (*observer, error) {
	if argv := gate.Argv(c); len(argv) > 0 && argv[0] == codebox.RunPHP {
		return &observer{}, nil
	}
	top, err := os.MkdirTemp(room, "watch-")
	if err != nil {
		return nil, err
	}
	o := &observer{dir: filepath.Join(top, "files"), traced: traced}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, err
	}
	o.inside = o.dir
	if a.plan.contained() {
		o.inside = insideWatch
	}
	o.watch, err = observe.New(o.dir, o.inside)
	return o, err
}

func (o *observer) mounts() []sandbox.Mount {
	if o.watch == nil || o.inside != insideWatch {
		return nil
	}
	return []sandbox.Mount{{Source: o.dir, Target: insideWatch, Writable: true}}
}

// around adds the observation to a command: its environment and its arguments.
func (o *observer) around(in cell, s proc.Spec) (env, argv []string) {
	if o.watch == nil {
		return s.Env, s.Argv
	}
	if argv = s.Argv; o.traced {
		argv = exectrace.Argv(in.box.Self(), filepath.Join(o.inside, traceFile), argv)
	}
	vars := map[string]string{}
	for _, kv := range s.Env {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return environ(o.watch.Env(vars)), argv
}

// observed adds to a run what was observed, and reports whether observing changed its behaviour. What cannot be read
// counts as not observed.
func (a *run) observed(o *observer, in cell, room string, ran *gate.RunResult) (disturbed bool) {
	if o.watch == nil {
		return false
	}
	tree := a.workDir(gate.Tree(room))
	inside, ok := in.box.Inside(tree)
	if !ok {
		inside = tree
	}
	seen, err := o.watch.Read(tree, inside)
	if err != nil || a.redactor.Value(&seen) != nil {
		a.note("not_observed", map[string]string{"check": ran.Result.Name, "why": "the reports of its runners cannot be read"})
		return false
	}
	ran.Runners, ran.Faults = seen.Runners, seen.Faults
	slices.Sort(ran.Runners)
	if len(seen.Cases) > 0 {
		ran.Report = observedReport(ran.Result, seen.Cases)
	}
	if !o.traced {
		return false
	}
	t, err := exectrace.Read(filepath.Join(o.dir, traceFile), inside)
	if err != nil || !t.Complete {
		a.note("not_traced", map[string]any{"check": ran.Result.Name, "why": t.Why})
	}
	for _, p := range gate.Drivers(t.Programs, seen.Runners) {
		if p = a.inWorkspace(p); a.before.Find(p) != nil && !slices.Contains(ran.Programs, p) {
			ran.Programs = append(ran.Programs, p)
		}
	}
	ran.Traced = err == nil && t.Complete
	for _, p := range t.Programs {
		if name := a.inWorkspace(p.Path); !slices.Contains(ran.Executed, name) {
			ran.Executed = append(ran.Executed, name)
		}
	}
	return t.Disturbed != ""
}

// inWorkspace returns the path in the workspace of a path relative to a check's directory.
func (a *run) inWorkspace(p string) string {
	return filepath.ToSlash(filepath.Join(a.workTree(), filepath.FromSlash(p)))
}

// observedReport is the report of a command whose tests were seen by name. Its status follows from the exit code.
func observedReport(r deed.CheckResult, cases []runner.TestCase) *runner.Report {
	out := &runner.Report{Schema: runner.SchemaReport, Capability: runner.Test, Status: runner.StatusFailed, TestCases: cases, DurationMS: r.DurationMS}
	if r.Status == deed.CheckPassed {
		out.Status, out.Passed = runner.StatusPassed, true
	}
	out.Phase.Summary = lastLine(r.Tail)
	return out
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/checks/check"
	"github.com/deedrun/deed/internal/checks/extension"
	"github.com/deedrun/deed/internal/checks/finding"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/project"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A checker runs checks for the gate.
type checker struct{ *run }

var _ gate.Runner = checker{}

// Where a contained script sees what it works with.
const (
	insideRunDir = "/run/deed/check"
	insideDeed   = "/run/deed/bin/deed"
)

// checkJob resolves a check by capability. The project's own settings, and the extensions that it brings, come from
// the base: a change to them has no effect on what judges it.
func (a *run) checkJob(c deed.Check, tree string) (check.Job, error) {
	first, err := a.base.Dir()
	if err != nil {
		return check.Job{}, err
	}
	base, err := checkDir(a.workDir(first), c.Dir)
	if err != nil {
		return check.Job{}, err
	}
	comp, err := project.Load(base)
	if err != nil {
		return check.Job{}, err
	}
	places := extension.PlacesOf(a.Home, "")
	places.Project = []string{filepath.Join(base, extension.ProjectDir), filepath.Join(a.workDir(first), extension.ProjectDir)}
	set, err := extension.Find(places)
	if err != nil {
		return check.Job{}, err
	}
	dir, err := checkDir(a.workDir(tree), c.Dir)
	if err != nil {
		return check.Job{}, err
	}
	j := check.Job{
		Component: comp.At(dir), Extensions: set, Capability: c.Capability, Choice: extension.Options{Version: a.Version},
		Options: check.Options{Filter: check.NewFilter(c.Steps, c.Skip)},
	}
	if c.Extension != "" {
		j.Choice.Use = []string{c.Extension}
	}
	var settings map[string]json.RawMessage
	if len(c.Settings) > 0 {
		if err := json.Unmarshal(c.Settings, &settings); err != nil {
			return j, fmt.Errorf("settings: %w", err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		j.Settings = append(j.Settings, extension.Setting{Key: strings.ReplaceAll(k, ".", `\.`), Value: string(settings[k]), JSON: true})
	}
	return j, nil
}

// runners lists who serves a check, so that two runs can be compared. A command serves itself.
func (a *run) runners(c deed.Check) ([]map[string]any, error) {
	if c.Capability == runner.Audit || c.Capability == "" {
		return nil, nil
	}
	j, err := a.checkJob(c, a.path(baseDir))
	if err != nil {
		return nil, err
	}
	requests, plan, err := j.Requests()
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, r := range requests {
		out = append(out, map[string]any{"extension": r.ExtensionID, "digest": r.Digest, "settings": r.Settings, "env": r.Env})
	}
	return append(out, map[string]any{"scripts": plan.Scripts}), nil
}

// Run runs a check in a room, for the gate.
func (a checker) Run(ctx context.Context, c deed.Check, room string, base bool) gate.RunResult {
	switch {
	case c.Capability != "":
		return a.capability(ctx, c, room)
	case a.around != nil:
		return a.around(ctx, c, room, base)
	}
	return a.runCheck(ctx, c, room)
}

// capability runs a capability in a room.
func (a *run) capability(ctx context.Context, c deed.Check, room string) (ran gate.RunResult) {
	ran = gate.RunResult{Result: deed.CheckResult{Name: gate.CheckName(c), Command: gate.Argv(c), Status: deed.CheckError, ExitCode: -1}}
	a.progress(StepCheck, ran.Result.Name)
	defer a.checked(&ran.Result, a.Clock())
	if err := a.runCapability(ctx, c, room, &ran); err != nil {
		r := &ran.Result
		r.Status, ran.Report = deed.CheckError, nil
		if ctx.Err() != nil {
			a.interrupt(ctx, r)
		} else {
			r.Tail = a.redactor.String(err.Error())
		}
	}
	return ran
}

func (a *run) runCapability(ctx context.Context, c deed.Check, room string, ran *gate.RunResult) error {
	tree := gate.Tree(room)
	j, err := a.checkJob(c, tree)
	if err != nil {
		return err
	}
	if c.Capability == runner.Audit {
		return a.runAudit(ctx, c, j, ran)
	}
	requests, _, err := j.Requests()
	if err != nil {
		return err
	}
	out, done, err := a.openLog(ctx, room)
	if err != nil {
		return err
	}
	defer done()
	both := &locked{w: out}
	exit := exitSeen{}
	var reports []runner.Report
	for _, r := range requests {
		rep, err := a.runRequest(ctx, c, r, room, both, &exit, ran)
		if err != nil {
			if lerr := a.logCapability(c, &ran.Result, exit, out); lerr != nil {
				return lerr
			}
			return err
		}
		reports = append(reports, rep)
	}
	rep := check.Merge(reports)
	rep.ComponentPath, rep.Log = "", ""
	if err := finding.IdentifyIn(rep.LintFindings, j.Component.Path); err != nil {
		return err
	}
	if err := a.redactor.Value(&rep); err != nil {
		return err
	}
	r := &ran.Result
	r.Extension, r.ExtensionDigest, r.DurationMS = rep.Extension, rep.ExtensionHash, rep.DurationMS
	r.ExitCode = exit.code
	if err := a.logCapability(c, r, exit, out); err != nil {
		return err
	}
	ran.Report = &rep
	switch {
	case exit.timedOut:
		r.Status = deed.CheckTimeout
	case exit.limited.Limit != "":
		r.Status, ran.Report = deed.CheckFailed, nil
		ran.Ended = a.limit(r, exit.limited)
	case rep.Status == runner.StatusPassed:
		r.Status = deed.CheckPassed
	case rep.Status == runner.StatusFailed:
		r.Status = deed.CheckFailed
	}
	return nil
}

// logCapability keeps what the commands of a check printed and how they ended.
func (a *run) logCapability(c deed.Check, r *deed.CheckResult, exit exitSeen, out *driver.Recorder) (err error) {
	if r.Log, r.Tail, err = a.keepLog(out); err != nil {
		return err
	}
	r.ExitCode = cmp.Or(exit.code, r.ExitCode)
	a.commands = append(a.commands, command{
		Role: "check", Name: r.Name, Argv: r.Command, Cwd: filepath.Join("room", c.Dir), ExitCode: exit.code, TimedOut: exit.timedOut, Limit: exit.limited.Limit,
		DurationMS: r.DurationMS, Stdout: r.Log, Signal: exit.signal, KilledLeft: exit.killed, Env: []string{},
	})
	return nil
}

// An exitSeen is how the commands of a check ended, all together.
type exitSeen struct {
	code     int
	signal   string
	limited  sandbox.Exit // the first that was ended by a limit
	timedOut bool
	killed   int
}

func (e *exitSeen) add(x sandbox.Exit) {
	if x.Code != 0 || x.Signal != "" {
		e.code, e.signal = x.Code, x.Signal
	}
	e.killed += x.Killed
	if x.Limit != "" && e.limited.Limit == "" {
		e.limited = x
	}
}

// runRequest runs one extension in a cell of its own.
func (a *run) runRequest(ctx context.Context, c deed.Check, r check.Request, room string, printed io.Writer, exit *exitSeen, ran *gate.RunResult) (runner.Report, error) {
	var rep runner.Report
	helpers, err := helper.Materialise(a.Home.Runtime())
	if err != nil {
		return rep, err
	}
	self, err := os.Executable()
	if err != nil {
		return rep, fmt.Errorf("find this binary: %w", err)
	}
	runDir, err := newRunDir(room)
	if err != nil {
		return rep, err
	}
	seen, err := a.observer(room, c, false)
	if err != nil {
		return rep, err
	}
	more := []sandbox.Mount{{Source: runDir, Target: insideRunDir, Writable: true}, {Source: self, Target: insideDeed}}
	for _, file := range helpers {
		more = append(more, sandbox.Mount{Source: filepath.Dir(file), Target: filepath.Dir(file)})
		break // they are in the same directory
	}
	if r.ExtensionID != check.ScriptExtension {
		real, err := filepath.EvalSymlinks(r.Extension)
		if err != nil {
			return rep, fmt.Errorf("extension %s: %w", r.ExtensionID, err)
		}
		more = append(more, sandbox.Mount{Source: real, Target: r.Extension})
	}
	in, dir, err := a.enter(ctx, room, c.Dir, append(more, seen.mounts()...)...)
	if err != nil {
		return rep, err
	}
	r.RunDir, r.DeedBin = check.Here(runDir), self
	if a.plan.contained() {
		r.RunDir.Inside, r.DeedBin = insideRunDir, insideDeed
	}
	r.Component.Inside, r.Helpers = dir, helpers
	r.Environ, _ = seen.around(in, proc.Spec{Env: environ(a.checkEnv(in, c))})
	if r.ExtensionID == check.ScriptExtension {
		r.Extension = dir
	}
	r.Stdout, r.Stderr, r.Timeout = printed, printed, defaultCheckTimeout
	if c.TimeoutSeconds > 0 {
		r.Timeout = time.Duration(c.TimeoutSeconds) * time.Second
	}
	r.Exec = func(ctx context.Context, s proc.Spec) (proc.Exit, error) {
		x, err := in.box.Run(ctx, a.sup, s)
		exit.add(x)
		exit.timedOut = exit.timedOut || x.TimedOut || errors.Is(context.Cause(ctx), proc.ErrTimeout)
		return x.Exit, err
	}
	if rep, err = check.Run(ctx, r); err != nil || c.Capability != runner.Test {
		return rep, err
	}
	var out gate.RunResult
	a.observed(seen, in, room, &out)
	ran.Runners = union(ran.Runners, out.Runners)
	if out.Report != nil && len(rep.TestCases) == 0 && rep.Status != runner.StatusSkipped {
		rep = named(rep, out)
	}
	return rep, nil
}

// named replaces the counts of a report whose script named no test by the tests that were observed. Their results and
// the exit code decide, since a script reads its counts from text that anybody may have printed.
func named(rep runner.Report, seen gate.RunResult) runner.Report {
	rep.TestCases, rep.TestCounts = seen.Report.TestCases, nil
	if rep.Status == runner.StatusError && len(seen.Faults) == 0 {
		rep.Status, rep.Failure = runner.StatusFailed, nil
	}
	return rep
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// newRunDir creates the run directory of a script: a new one in the room for every run.
func newRunDir(room string) (string, error) {
	top, err := os.MkdirTemp(room, "run-")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(top, "files")
	return dir, check.NewRunDir(dir)
}

// keepLog adds the output of a check to the evidence and returns its path there and its end.
func (a *run) keepLog(out *driver.Recorder) (path, tail string, err error) {
	if err := out.Finish(); err != nil {
		return "", "", err
	}
	tail = strings.ToValidUTF8(strings.TrimRight(out.Tail(tailSize), "\n"), "\uFFFD")
	if _, err := out.File().Seek(0, io.SeekStart); err != nil {
		return "", "", err
	}
	path = fmt.Sprintf("files/checks/%d.log", len(a.commands))
	if a.evidence == nil {
		return "", tail, nil // a check that is only repeated
	}
	return path, tail, a.evidence.AddReader(path, bundle.KindCheckLog, evidence.TypeText, out.File())
}

// Files returns the files of the base that the component's own commands name, as far as the words of the commands
// show it.
func (a checker) Files(c deed.Check) []string {
	if c.Capability == runner.Audit || c.Capability == "" {
		return nil
	}
	j, err := a.checkJob(c, a.path(baseDir))
	if err != nil {
		return nil
	}
	_, plan, err := j.Requests()
	if err != nil {
		return nil
	}
	top, err := filepath.Rel(a.path(baseDir), j.Component.Path)
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range plan.Scripts {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'();&|<>=`+"`", r) }) {
			if !filepath.IsLocal(word) {
				continue
			}
			if e := a.before.Find(filepath.ToSlash(filepath.Join(top, word))); e != nil && e.Kind == workspace.KindFile {
				out = append(out, e.Path)
			}
		}
	}
	return out
}

// Keep adds a report to the evidence.
func (a checker) Keep(n int, kind string, r *runner.Report) (string, error) {
	name := fmt.Sprintf("files/checks/%d.report.json", n)
	if kind != "" {
		name = fmt.Sprintf("files/checks/%d.%s.report.json", n, kind)
	}
	if a.evidence == nil {
		return "", nil
	}
	return name, a.evidence.AddJSON(name, bundle.KindCheckReport, r)
}

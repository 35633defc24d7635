package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/attempt/wordpress"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// defaultCheckTimeout bounds a check that names no limit of its own.
const defaultCheckTimeout = 10 * time.Minute

// checkLogCap bounds how much of a check's output is kept, and tailSize how much of it the verdict repeats.
const (
	checkLogCap = 4 << 20
	tailSize    = 2 << 10
)

// runCheck runs one check in a room of its own, under the same supervisor as the agent, whose processes are all gone
// by now. Home and temporary directory are new as well, so no check finds what another left behind. Caches are copies
// of what runs on the base left; one that agent code could have written to is never used again.
func (a *run) runCheck(ctx context.Context, c deed.Check, room string) gate.RunResult {
	ran, disturbed := a.runOnce(ctx, c, room, true)
	if !disturbed {
		return ran
	}
	again, _ := a.runOnce(ctx, c, room, false)
	again.Programs = ran.Programs
	return again
}

// runOnce runs a check. disturbed says that tracing changed its behaviour, so that the way it ended means nothing.
func (a *run) runOnce(ctx context.Context, c deed.Check, room string, traced bool) (ran gate.RunResult, disturbed bool) {
	ran.Result = deed.CheckResult{Name: gate.CheckName(c), Command: gate.Argv(c), Status: deed.CheckError, ExitCode: -1}
	r := &ran.Result
	a.progress(StepCheck, r.Name)
	defer a.checked(r, a.Clock())
	n := len(a.commands)
	out, done, err := a.openLog(ctx, room)
	if err != nil {
		r.Tail = err.Error()
		return ran, false
	}
	defer done()
	seen, err := a.observer(room, c, traced)
	if err != nil {
		r.Tail = err.Error()
		return ran, false
	}
	in, dir, err := a.enter(ctx, room, c.Dir, seen.mounts()...)
	if err != nil {
		r.Tail = err.Error()
		return ran, false
	}
	spec, answered, err := a.checkSpec(in, c, dir)
	if err != nil {
		r.Tail = err.Error()
		return ran, false
	}
	spec.Env, spec.Argv = seen.around(in, spec)
	both := &locked{w: out}
	if a.listener != nil {
		both.w = io.MultiWriter(out, a.listener)
	}
	spec.Stdout, spec.Stderr = both, both
	exit, err := in.box.Run(ctx, a.sup, spec)
	cerr := out.Finish()
	r.ExitCode, r.DurationMS = exit.Code, exit.Duration.Milliseconds()
	r.Tail = strings.ToValidUTF8(strings.TrimRight(out.Tail(tailSize), "\n"), "\uFFFD")
	if cerr == nil {
		_, cerr = out.File().Seek(0, io.SeekStart)
	}
	if cerr == nil && a.evidence != nil { // the recorded file, whatever its path refers to by now
		r.Log = fmt.Sprintf("files/checks/%d.log", n)
		cerr = a.evidence.AddReader(r.Log, bundle.KindCheckLog, evidence.TypeText, out.File())
	}
	a.commands = append(a.commands, command{
		Role: "check", Name: r.Name, Argv: r.Command, Cwd: filepath.Join("room", c.Dir), Env: names(spec.Env), ExitCode: exit.Code, Signal: exit.Signal,
		TimedOut: exit.TimedOut, Limit: exit.Limit, DurationMS: r.DurationMS, Stdout: r.Log, KilledLeft: exit.Killed,
	})
	switch {
	case ctx.Err() != nil && (err != nil || exit.Canceled):
		a.interrupt(ctx, r)
	case err != nil:
		r.Tail = err.Error()
	case cerr != nil:
		r.Tail = cerr.Error()
	case exit.TimedOut:
		r.Status = deed.CheckTimeout
	case exit.Limit != "":
		r.Status = deed.CheckFailed
		ran.Ended = a.limit(r, exit)
	case exit.Code == 0 && exit.Signal == "" && answered(out.Tail(tailSize*32)):
		r.Status = deed.CheckPassed
	default:
		r.Status = deed.CheckFailed
	}
	return ran, r.Status != deed.CheckError && a.observed(seen, in, room, &ran)
}

// interrupt marks a check that ended together with the run: by the run's time limit, or because it was cancelled. Its
// output stays.
func (a *run) interrupt(ctx context.Context, r *deed.CheckResult) {
	cause, why := context.Cause(ctx), "cancelled"
	if failure.ClassOf(cause) == failure.Timeout {
		r.Status, why = deed.CheckTimeout, "it was ended: "+a.redactor.String(cause.Error())
	}
	r.Tail = appendNote(r.Tail, why)
}

// limit records which limit of the sandbox ended a check, below the check's output and for the report.
func (a *run) limit(r *deed.CheckResult, exit sandbox.Exit) error {
	err := exit.Cause
	if err == nil {
		err = errors.New("limit on " + exit.Limit + " passed")
	}
	r.Tail = appendNote(r.Tail, "it was ended: "+err.Error())
	l := checkLimit{check: r.Name}
	if errors.As(err, &l.LimitError) && !slices.ContainsFunc(a.limits, func(o checkLimit) bool { return o.check == l.check && o.Limit == l.Limit }) {
		a.limits = append(a.limits, l) // once, no matter on how many trees
	}
	return err
}

// A checkLimit is a limit that ended a check.
type checkLimit struct {
	check string
	*sandbox.LimitError
}

// appendNote puts a line of deed below a check's output.
func appendNote(tail, word string) string {
	if tail == "" {
		return word
	}
	return tail + "\n" + word
}

// checked notes the end of a check, with its total time.
func (a *run) checked(r *deed.CheckResult, began time.Time) {
	a.note(history.KindCheck, map[string]any{
		"name": r.Name, "status": r.Status, "exit_code": r.ExitCode, "started_at": agentruntime.At(began), "duration_ms": a.Clock().Sub(began).Milliseconds(),
	})
}

// checkSpec returns what a check runs. For PHP code the output is verified as well: an exit code of 0 proves nothing
// if the code itself ended the process.
func (a *run) checkSpec(in cell, c deed.Check, dir string) (proc.Spec, func(output string) bool, error) {
	env := a.checkEnv(in, c)
	s := proc.Spec{Argv: gate.Argv(c), Dir: dir, Env: environ(env), Timeout: defaultCheckTimeout, Grace: 2 * time.Second}
	if c.TimeoutSeconds > 0 {
		s.Timeout = time.Duration(c.TimeoutSeconds) * time.Second
	}
	if s.Argv[0] != codebox.RunPHP {
		return s, func(string) bool { return true }, nil
	}
	if in.site == nil {
		return s, nil, errors.New(codebox.RunPHP + " needs WordPress, and the task has none")
	}
	php, err := wordpress.ParsePHP(s.Argv[1:])
	if err != nil {
		return s, nil, err
	}
	inv := in.site.Check(php)
	for _, kv := range inv.Command.Env {
		if name, value, _ := strings.Cut(kv, "="); env[name] == "" {
			env[name] = value
		}
	}
	s.Argv, s.Dir, s.Env, s.Stdin = inv.Command.Argv, inv.Command.Dir, environ(env), bytes.NewReader(inv.Command.Stdin)
	return s, func(output string) bool {
		return inv.Read(component.Output{Stdout: []byte(output)}).Status == wordpress.StatusOK
	}, nil
}

// enter builds the cell of a check and returns its working directory.
func (a *run) enter(ctx context.Context, room, sub string, more ...sandbox.Mount) (cell, string, error) {
	tree := gate.Tree(room)
	dir, err := checkDir(a.workDir(tree), sub)
	if err != nil {
		return cell{}, "", err
	}
	in, err := a.cell(ctx, place{
		tree: tree, home: filepath.Join(room, "home"), tmp: filepath.Join(room, "tmp"), cache: filepath.Join(room, "cache"),
		site: filepath.Join(room, "site"), more: more,
	})
	if err != nil {
		return cell{}, "", err
	}
	// The records belong to the agent's runtime; this one is built from the same parts.
	if _, err := a.boot(ctx, in, slices.Clone(a.runtime.resolved.Components)); err != nil {
		return cell{}, "", err
	}
	inside, ok := in.box.Inside(dir)
	if !ok {
		return cell{}, "", fmt.Errorf("the check's directory %s is not in the sandbox", sub)
	}
	return in, inside, nil
}

// checkEnv returns the environment of a check: what its cell needs, then its own, then the marks by which the sweep
// finds what is left of it.
func (a *run) checkEnv(in cell, c deed.Check) map[string]string {
	env := map[string]string{
		"HOME": in.home, "TMPDIR": in.tmp, "LANG": "C.UTF-8", "TZ": "UTC",
		"USER": proc.Getenv(a.Environ, "USER"), "SHELL": "/bin/sh", "CI": "true",
	}
	maps.Copy(env, in.env)
	maps.Copy(env, c.Env)
	for _, kv := range a.marks() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	env["DEED_CHECK"] = gate.CheckName(c)
	return env
}

// marks are the variables by which a sweep finds the processes of an attempt.
func (a *run) marks() []string {
	return []string{"DEED_TASK_ID=" + a.claim.Ref.TaskID, "DEED_ATTEMPT_ID=" + a.claim.Ref.AttemptID}
}

// openLog creates the directories of a check, unless an earlier run in the same room did, and its log, which is new
// for every run. The returned function closes it.
func (a *run) openLog(ctx context.Context, room string) (*driver.Recorder, func(), error) {
	for _, d := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(room, d), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
	}
	if err := a.warm(ctx, a.roomCache(room)); err != nil {
		return nil, nil, err
	}
	log, err := os.MkdirTemp(room, "log-")
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(log)
	if err != nil {
		return nil, nil, err
	}
	rec, err := driver.NewRecorder(root, "output.log", checkLogCap, a.redactor)
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return rec, func() { _, _ = rec.Close(), root.Close() }, nil
}

// checkDir resolves the directory of a check below the tree. A link that leads out of it is refused.
func checkDir(tree, dir string) (string, error) {
	if dir == "" {
		return tree, nil
	}
	root, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, dir))
	if err != nil {
		return "", fmt.Errorf("the check's directory %s: %w", dir, err)
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("the check's directory %s leads out of the tree", dir)
	}
	return real, nil
}

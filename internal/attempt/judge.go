package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/canonjson"
	"github.com/deedrun/deed/internal/crashpoint"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/failure"
	"github.com/deedrun/deed/internal/gate"
	"github.com/deedrun/deed/internal/proc"
	"github.com/deedrun/deed/internal/workspace"
)

// judge computes what changed and, when the agent claims completion, asks the gate. A failed agent's changes are
// evidence too, so they are captured either way.
func (a *run) judge(ctx context.Context) error {
	if err := a.capture(ctx); err != nil {
		return err
	}
	if a.yield.Class != failure.None {
		return a.yield.Err
	}
	if a.yield.Kind != driver.YieldCompletion {
		return failure.New(failure.InvalidWord, "read the result", errors.New("the agent ended without a completion"), "")
	}
	a.progress(StepJudging, fmt.Sprintf("%d changed", len(a.changes.Files())))
	v, err := gate.Decide(ctx, gate.Input{
		Claim: a.yield.Claim, Spec: a.plan.spec, Evidence: a.plan.evidence,
		Changes: a.changes, Base: a.path("base"), Manifest: a.before, After: a.after, Patch: a.patch,
		RoomDir: a.path("room"), SecretHit: a.secret, PinFault: a.pinFault(),
		Artifacts: a.path("artifacts"), Audit: &gate.AuditFacts{ExitCode: a.yield.Proc.Code},
		RunCheck: a.runCheck,
	})
	if err != nil {
		return classify(ctx, failure.Infra, "judge the attempt", err)
	}
	a.redactVerdict(&v)
	a.verdict = &v
	a.note("verdict", v)
	crashpoint.Hit(crashpoint.GateDecided)
	if !v.Accepted {
		a.progress(StepVerdict, "rejected")
		return failure.New(failure.Rejected, "judge the attempt", errors.New(reasons(v)), "")
	}
	a.progress(StepVerdict, "accepted")
	return nil
}

// maxArtifacts keeps the manifest within what every verifier reads, and maxArtifactBytes the disk within reason.
const (
	maxArtifacts     = 1000
	maxArtifactBytes = 1 << 30
)

// capture takes the second manifest, the change set and the patch.
func (a *run) capture(ctx context.Context) error {
	var err error
	work := a.path("workspace")
	if a.after, a.changes, err = workspace.Capture(ctx, a.path("base"), work, a.before); err != nil {
		return classify(ctx, captureClass(err), "compare the workspace with its first manifest", err)
	}
	names, size, err := gate.ListArtifacts(a.path("artifacts"))
	if err == nil && (len(names) > maxArtifacts || size > maxArtifactBytes) {
		err = fmt.Errorf("the agent left %d artifacts of %d bytes; a bundle takes %d of %d bytes", len(names), size, maxArtifacts, maxArtifactBytes)
	}
	if err != nil {
		return failure.New(failure.AgentFailed, "list the artifacts", err, "")
	}
	a.artifacts = names
	path := a.path("run", "patch.diff") // an empty change has an empty patch
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return failure.New(failure.Infra, "write the patch", err, "")
	}
	err = workspace.WritePatch(ctx, a.path("base"), work, a.changes, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return classify(ctx, captureClass(err), "write the patch", err)
	}
	a.patch = path
	if a.secret, err = a.holdsSecret(path); err != nil {
		return failure.New(failure.Infra, "search the patch for secrets", err, "")
	}
	return nil
}

// captureClass tells what the agent did to its directory from what failed in deed.
func captureClass(err error) failure.Class {
	for _, code := range []workspace.Code{workspace.ErrRoot, workspace.ErrTreeTooLarge, workspace.ErrChangedDuringCapture, workspace.ErrPatchTooLarge} {
		if errors.Is(err, code) {
			return failure.AgentFailed
		}
	}
	return failure.Infra
}

// holdsSecret looks into the changed files themselves, because a binary patch is compressed, and into the patch,
// which also has the old lines and the names.
func (a *run) holdsSecret(patch string) (bool, error) {
	if !a.redactor.Active() {
		return false, nil
	}
	root, err := os.OpenRoot(a.path("workspace"))
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	for _, c := range a.changes.Of(workspace.ClassTracked) {
		if c.After == nil || c.After.Kind != workspace.KindFile {
			continue
		}
		if hit, err := a.search(root.Open(c.Path)); hit || err != nil {
			return hit, err
		}
	}
	return a.search(os.Open(patch))
}

func (a *run) search(f *os.File, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	n, err := a.redactor.Find(f)
	return n.Total() > 0, err
}

// pinFault says what of the pinned inputs is not what it was. The plan is in memory, out of the agent's reach; the
// base's digest is checked by the clean room.
func (a *run) pinFault() string {
	h, err := canonjson.Hash(a.plan.spec)
	if err != nil || h != a.plan.specHash {
		return "the task's spec is not the one that was pinned at the claim"
	}
	return ""
}

// A command is one process that deed started for the attempt, for commands.jsonl.
type command struct {
	Role       string   `json:"role"` // agent or check
	Name       string   `json:"name,omitempty"`
	Argv       []string `json:"argv"`
	Cwd        string   `json:"cwd"`
	Env        []string `json:"env"` // names only
	ExitCode   int      `json:"exit_code"`
	Signal     string   `json:"signal,omitempty"`
	TimedOut   bool     `json:"timed_out,omitempty"`
	DurationMS int64    `json:"duration_ms"`
	Stdout     string   `json:"stdout,omitempty"` // bundle paths
	Stderr     string   `json:"stderr,omitempty"`
	KilledLeft int      `json:"killed_after_end,omitempty"`
	log        string   // where the output is now
}

// defaultCheckTimeout bounds a check that names no limit of its own.
const defaultCheckTimeout = 10 * time.Minute

const checkLogCap = 4 << 20

// runCheck runs one check in the clean room, under the same supervisor as the agent did, whose processes are all
// gone by now.
func (a *run) runCheck(ctx context.Context, c deed.Check, room string) deed.CheckResult {
	r := deed.CheckResult{Name: gate.CheckName(c), Command: gate.Argv(c), Status: "error", ExitCode: -1}
	a.progress(StepCheck, r.Name)
	n := len(a.commands)
	log := a.path("run", fmt.Sprintf("check-%d.log", n))
	bundleLog := fmt.Sprintf("files/checks/%d.log", n)
	dir := room
	if c.Dir != "" {
		dir = filepath.Join(room, c.Dir)
	}
	for _, d := range []string{a.path("check-home"), a.path("check-tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			r.Tail = err.Error()
			return r
		}
	}
	env := toolchain(a.Environ, filepath.Join(a.Home.Cache(), "checks"))
	for k, v := range map[string]string{
		"HOME": a.path("check-home"), "TMPDIR": a.path("check-tmp"), "LANG": "C.UTF-8", "TZ": "UTC",
		"USER": proc.Getenv(a.Environ, "USER"), "SHELL": "/bin/sh", "CI": "true",
		"DEED_TASK_ID": a.claim.Ref.TaskID, "DEED_ATTEMPT_ID": a.claim.Ref.AttemptID, "DEED_CHECK": r.Name,
	} {
		env[k] = v
	}
	for k, v := range c.Env {
		env[k] = v
	}
	argv := gate.Argv(c)
	out, err := newCapped(log, checkLogCap)
	if err != nil {
		r.Tail = err.Error()
		return r
	}
	w := a.redactor.Writer(out)
	limit := defaultCheckTimeout
	if c.TimeoutSeconds > 0 {
		limit = time.Duration(c.TimeoutSeconds) * time.Second
	}
	both := &locked{w: w}
	exit, err := a.sup.Run(ctx, proc.Spec{
		Argv: argv, Dir: dir, Env: environ(env), Stdout: both, Stderr: both, Timeout: limit, Grace: 2 * time.Second,
	})
	cerr := errors.Join(w.Close(), out.Close())
	r.ExitCode, r.DurationMS, r.Log = exit.Code, exit.Duration.Milliseconds(), bundleLog
	r.Tail = tail(log)
	a.commands = append(a.commands, command{
		Role: "check", Name: r.Name, Argv: r.Command, Cwd: filepath.Join("room", c.Dir), Env: names(env), ExitCode: exit.Code, Signal: exit.Signal,
		TimedOut: exit.TimedOut, DurationMS: r.DurationMS, Stdout: bundleLog, KilledLeft: exit.Killed, log: log,
	})
	switch {
	case err != nil:
		r.Tail = err.Error()
	case cerr != nil:
		r.Tail = cerr.Error()
	case exit.TimedOut:
		r.Status = "timeout"
	case exit.Canceled:
		r.Tail = "cancelled"
	case exit.Code == 0 && exit.Signal == "":
		r.Status = "passed"
	default:
		r.Status = "failed"
	}
	return r
}

func (a *run) redactVerdict(v *deed.Verdict) {
	for i := range v.Reasons {
		v.Reasons[i].Message = a.redactor.String(v.Reasons[i].Message)
	}
}

// reasons joins the messages of a rejection into one line.
func reasons(v deed.Verdict) string {
	parts := make([]string, len(v.Reasons))
	for i, r := range v.Reasons {
		parts[i] = r.Message
	}
	return strings.Join(parts, "; ")
}

// tail returns the last lines of a log, at most two kilobytes.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const n = 2048
	if fi, err := f.Stat(); err == nil && fi.Size() > n {
		if _, err := f.Seek(-n, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, n))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimRight(string(b), "\n"), "\uFFFD")
}

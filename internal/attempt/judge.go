package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// judge computes what changed and, if the agent claims completion, asks the gate. A failed agent's changes are
// evidence too, so they are captured either way.
func (a *run) judge(ctx context.Context) error {
	if err := a.capture(ctx); err != nil {
		return err
	}
	if a.yield().Class != failure.None {
		return a.yield().Err
	}
	if a.yield().Kind != driver.YieldCompletion {
		return failure.New(failure.InvalidWord, "read the result", errors.New("the agent ended without a completion"), "")
	}
	a.conversation.completions++
	// From here on, code that the agent wrote may run, as a check. So the evidence is collected first.
	if err := a.collect(); err != nil {
		return failure.New(failure.Infra, "collect the evidence", err, "")
	}
	var rooms string
	if len(a.plan.spec.Checks) > 0 {
		var err error
		var clear func()
		if rooms, clear, err = a.makeRooms(); err != nil {
			return err
		}
		defer clear()
	}
	a.phase = PhaseJudge
	a.note(history.KindJudging, map[string]any{"changed": len(a.changes.Files())})
	a.progress(StepJudging, fmt.Sprintf("%d changed", len(a.changes.Files())))
	v, err := gate.Decide(ctx, gate.Input{
		Claim: a.yield().Claim, Spec: a.plan.spec, Evidence: a.plan.evidence,
		View: a.view(), Changes: a.changes, Base: a.base, Manifest: a.before, After: a.after, Patch: a.patch,
		Rooms: rooms, SecretHit: a.secret, Leaks: a.leaks.report, PinFault: a.pinFault(), ReadOnly: a.plan.fit.ReadOnly,
		Artifacts: a.artifactRoot, Listed: a.artifacts, Audit: a.auditFacts(),
		Stop: a.stopReasons, Runner: checker{a}, Bases: a.bases, Ask: a.askInputs,
	})
	if errors.Is(err, driver.ErrAsked) {
		return driver.Asked(driver.ErrAsked)
	}
	if err != nil {
		if a.redactor.Value(&v.Checks) == nil {
			a.checks = v.Checks
		}
		return classify(ctx, failure.Infra, "judge the attempt", err)
	}
	if err := a.redactor.Value(&v); err != nil {
		return failure.New(failure.Infra, "redact the verdict", err, "")
	}
	a.verdict = &v
	a.note(history.KindVerdict, v)
	a.decided(v)
	if !v.Accepted {
		return failure.New(failure.Rejected, "judge the attempt", errors.New(reasons(v)), "")
	}
	a.progress(StepVerdict, Accepted)
	return nil
}

// view returns how the agent sees the file system, for the paths in its claims.
func (a *run) view() gate.View {
	tree := a.path("workspace")
	start := a.workDir(tree)
	if dir := a.plan.adapter.Common().WorkingDir; !filepath.IsAbs(dir) {
		start = filepath.Join(start, dir)
	}
	v := gate.View{Start: a.seen(start), Artifacts: a.seen(a.path("artifacts"))}
	if a.plan.contained() {
		v.Parts = a.seeded.Layout
		return v
	}
	// Nothing is mounted elsewhere. The system may report the directory to the agent under another name than deed
	// uses.
	v.Parts.Mounts = []workspace.Mount{{Target: tree}, {Target: workspace.TruePath(tree)}}
	return v
}

// seen is a path as the agent sees it.
func (a *run) seen(host string) string {
	if inside, ok := a.agent.box.Inside(host); ok {
		return inside
	}
	return host
}

// maxChangedFiles bounds the list of a change, so that readers of a bundle accept it and deed's memory suffices: an
// agent can create millions of empty files in a moment.
const maxChangedFiles = 200_000

// maxChangedPaths bounds the bytes of all paths of a change, as JSON encodes them. The list of the change has each
// path twice, and should stay near the 32 MiB of a document that are read at once; the patch and deed's own lists
// have the paths again.
const maxChangedPaths = 16 << 20

func tooManyFiles(files []workspace.ChangedFile) error {
	if n := len(files); n > maxChangedFiles {
		return fmt.Errorf("the agent changed %d files; a bundle takes %d", n, maxChangedFiles)
	}
	size := 0
	for i := range files {
		text, err := json.Marshal(files[i].RelativePath)
		if err != nil {
			return err
		}
		size += len(text)
	}
	if size > maxChangedPaths {
		return fmt.Errorf("the paths of the %d files that the agent changed have %d bytes together; a bundle takes %d", len(files), size, maxChangedPaths)
	}
	return nil
}

// maxArtifacts keeps the manifest within what every verifier reads, and maxArtifactBytes limits the use of disk.
const (
	maxArtifacts     = 1000
	maxArtifactBytes = 1 << 30
)

// auditFacts is what deed saw of the agent's own process.
func (a *run) auditFacts() *gate.AuditFacts {
	f := &gate.AuditFacts{ExitCode: a.yield().Proc.Code}
	if inv, ok := a.yield().Diagnostics["invocation"].(driver.Invocation); ok {
		f.Argv = inv.Argv
	}
	return f
}

// capture takes the second manifest, the change set and the patch.
func (a *run) capture(ctx context.Context) error {
	defer func() { a.dirty = a.dirty && ctx.Err() != nil }()
	a.beginLeaks()
	var err error
	work := a.path("workspace")
	if a.after, a.changes, err = workspace.Capture(ctx, a.base, work, a.before); err != nil {
		return classify(ctx, captureClass(err), "compare the workspace with its first manifest", err)
	}
	if err := tooManyFiles(a.changes.Files()); err != nil {
		a.changes = workspace.ChangeSet{}
		return failure.New(failure.AgentFailed, "list the change", err, "have what is generated ignored, or make the work smaller")
	}
	if a.artifacts, err = gate.ListArtifacts(a.artifactRoot); err == nil && (len(a.artifacts.Names) > maxArtifacts || a.artifacts.Size > maxArtifactBytes) {
		err = fmt.Errorf("the agent left %d artifacts of %d bytes; a bundle takes %d of %d bytes", len(a.artifacts.Names), a.artifacts.Size, maxArtifacts, maxArtifactBytes)
	}
	if err != nil {
		a.artifacts = gate.Listing{}
		return failure.New(failure.AgentFailed, "list the artifacts", err, "")
	}
	a.artifacts.Names = slices.DeleteFunc(a.artifacts.Names, func(p string) bool {
		hit := a.redactor.Contains([]byte(p))
		if hit {
			a.artifacts.Bad = append(a.artifacts.Bad, p)
		}
		return hit
	})
	path := a.path("run", driver.TurnFile("patch.diff", a.conversation.turn()-1)) // an empty change has an empty patch
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {    // of the attempt that this one continues
		return failure.New(failure.Infra, "write the patch", err, "")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return failure.New(failure.Infra, "write the patch", err, "")
	}
	if err = errors.Join(a.writePatch(ctx, work, f), f.Close()); err != nil {
		return classify(ctx, captureClass(err), "write the patch", err)
	}
	a.patch = path
	if a.secret, err = a.holdsSecret(path); err != nil {
		return failure.New(failure.Infra, "search the patch for secrets", err, "")
	}
	if err := a.findLeaks(ctx); err != nil {
		return classify(ctx, failure.Infra, "search the change for secrets", err)
	}
	return nil
}

// lookTime bounds the capture of what an interrupted agent left.
const lookTime = time.Minute

// captureOnce captures what an agent left when its turn was cut short by a time limit, a signal or an operator. Its
// processes are gone. The evidence must not claim that nothing changed just because nothing was captured; if the
// capture fails, the evidence says so.
func (a *run) captureOnce(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer stop()
	if err := guard(func() error { return a.capture(ctx) }); err != nil {
		a.after, a.changes, a.artifacts, a.patch = nil, workspace.ChangeSet{}, gate.Listing{}, ""
		a.note("not_captured", map[string]string{"why": err.Error()})
	}
}

// writePatch writes the patch of the change. An empty change has an empty one, and needs no base.
func (a *run) writePatch(ctx context.Context, work string, w io.Writer) error {
	if a.changes.Empty() {
		return nil
	}
	base, err := a.base.Dir()
	if err != nil {
		return err
	}
	return workspace.WritePatch(ctx, base, work, a.changes, w)
}

// roomPrefix begins the names, in the home's temporary directory, of the places where checks run. The attempt's id
// follows, so that the sweep can tell whose they are.
const roomPrefix = "rooms-"

// captureClass separates what the agent did to its directory from what failed in deed.
func captureClass(err error) failure.Class {
	for _, code := range []workspace.Code{workspace.ErrRoot, workspace.ErrTreeTooLarge, workspace.ErrChangedDuringCapture, workspace.ErrPatchTooLarge} {
		if errors.Is(err, code) {
			return failure.AgentFailed
		}
	}
	return failure.Infra
}

// holdsSecret searches the changed files themselves, because a binary patch is compressed, and the patch, which also
// has the old lines and the names.
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

// pinFault says which pinned input changed. The plan is in memory, out of the agent's reach; the clean room verifies
// the base's digest.
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
	Limit      string   `json:"limit,omitempty"` // the limit of the sandbox that ended it
	DurationMS int64    `json:"duration_ms"`
	Stdout     string   `json:"stdout,omitempty"` // bundle paths
	Stderr     string   `json:"stderr,omitempty"`
	KilledLeft int      `json:"killed_after_end,omitempty"`
}

// reasons joins the messages of a rejection into one line.
func reasons(v deed.Verdict) string {
	parts := make([]string, len(v.Reasons))
	for i, r := range v.Reasons {
		parts[i] = r.Message
	}
	return strings.Join(parts, "; ")
}

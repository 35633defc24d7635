package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt/gate"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/store"
)

// A Rerun is what a bundle records of its checks, and where to get its base.
type Rerun struct {
	Spec    deed.TaskSpec // with the sources of its workspaces
	Base    string        // the digest that the base must have; empty: any that its sources give
	Commit  string        // the commit that it was made from; may be empty
	Patch   string        // a file with the verified patch
	Verdict deed.Verdict  // as recorded
	Kind    sandbox.Kind

	// Around is called for each run of a check by command, on the base and on the change, and may call run; nil: run is always
	// called. The check's unredacted output also goes to the writer.
	Around func(ctx context.Context, c deed.Check, base bool, run func(ctx context.Context, w io.Writer) deed.CheckResult) deed.CheckResult
}

// ErrBase says that the base of a bundle cannot be rebuilt.
var ErrBase = errors.New("the base of the bundle cannot be rebuilt")

// A Repeated is the outcome of a rerun.
type Repeated struct {
	Same    bool            `json:"same"`
	Base    string          `json:"base_digest"`
	Verdict deed.Verdict    `json:"verdict"` // of the checks alone
	Checks  []RepeatedCheck `json:"checks"`
}

// A RepeatedCheck compares one check with its record in the bundle.
type RepeatedCheck struct {
	Name        string   `json:"name"`
	Recorded    string   `json:"recorded"` // its status
	Now         string   `json:"now"`
	Same        bool     `json:"same"`
	Differences []string `json:"differences,omitempty"`
}

// Rerun rebuilds base and change of a bundle in a temporary directory, runs the checks again without any remembered
// result, and reports whether the outcome is the same. It leaves nothing behind.
func (r *Runner) Rerun(ctx context.Context, sup *proc.Supervisor, in Rerun) (out Repeated, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return out, fmt.Errorf("name the rerun: %w", err)
	}
	dir, release, err := atomicfile.TempDir(r.Home.Tmp(), "rerun-")
	if err != nil {
		return out, fmt.Errorf("make a place for the rerun: %w", err)
	}
	defer func() {
		err = errors.Join(err, workspace.Remove(dir))
		release()
	}()
	own := *r
	own.Key = nil // neither remembered results on the base nor its caches are used
	a := &run{Runner: &own, sup: sup, dir: dir, redactor: redact.New(nil), claim: &store.Claim{Ref: store.Ref{TaskID: id.String(), AttemptID: id.String()}}}
	a.caches = a.path("builds")
	a.plan = plan{spec: in.Spec, kind: in.Kind}
	if err := a.checkPlaces(a.plan); err != nil {
		return out, failure.New(failure.Config, "repeat the checks", err, "")
	}
	if s := in.Spec.Sandbox; s != nil && len(s.Runtime) > 0 {
		return out, failure.New(failure.Config, "repeat the checks", errors.New("they ran beside a runtime of their own (deed.sandbox.runtime), and that is not rebuilt"), "")
	}
	if err := a.rebuild(ctx, in); err != nil {
		return out, err
	}
	a.around = a.watched(in)
	rooms := filepath.Join(a.path("rooms"), a.projectName())
	if err := os.MkdirAll(rooms, 0o700); err != nil {
		return out, err
	}
	v, err := gate.Checks(ctx, gate.Input{
		Spec: in.Spec, Changes: a.changes, Base: a.base, Manifest: a.before, After: a.after, Patch: in.Patch, Rooms: rooms,
		Runner: checker{a}, Ask: asRecorded(in.Verdict),
	})
	if err != nil {
		return out, classify(ctx, failure.Infra, "repeat the checks", err)
	}
	out = compareVerdicts(in.Verdict, v)
	out.Base = a.before.Digest()
	return out, nil
}

// watched returns how commands are run; nil: as usual.
func (a *run) watched(in Rerun) func(context.Context, deed.Check, string, bool) gate.RunResult {
	if in.Around == nil {
		return nil
	}
	return func(ctx context.Context, c deed.Check, room string, base bool) (ran gate.RunResult) {
		ran.Result = in.Around(ctx, c, base, func(ctx context.Context, w io.Writer) deed.CheckResult {
			a.listener = w
			defer func() { a.listener = nil }()
			ran = a.runCheck(ctx, c, room)
			return ran.Result
		})
		return ran
	}
}

// asRecorded repeats the answers that the person gave then.
func asRecorded(v deed.Verdict) func(context.Context, deed.Check, gate.Question) (bool, string, error) {
	return func(_ context.Context, c deed.Check, q gate.Question) (bool, string, error) {
		name := gate.CheckName(c)
		allowed := q.Kind != gate.AskInputs && v.Accepted || slices.ContainsFunc(v.Notes, func(r deed.Reason) bool { return r.Code == gate.CodeInputsChanged && r.Check == name })
		return allowed, "whoever was asked then", nil
	}
}

// rebuild creates the base and the patched tree. The source may have changed since: then the commit that the bundle
// names is tried.
func (a *run) rebuild(ctx context.Context, in Rerun) error {
	tries := []deed.TaskSpec{in.Spec}
	if w := in.Spec.Workspace; w != nil && w.Source != "" && w.Ref == "" && in.Commit != "" && (w.Type == "" || w.Type == deed.SeedGit) {
		at := *w
		at.Ref = in.Commit
		spec := in.Spec
		spec.Workspace = &at
		tries = append(tries, spec)
	}
	var found []string
	var last error
	for _, spec := range tries {
		if err := workspace.Remove(a.path(baseDir)); err != nil {
			return err
		}
		seeded, err := workspace.SeedAll(ctx, parts(plan{spec: spec}, a.Home.Root()), a.path(baseDir))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			last = err
			continue
		}
		a.seeded, a.base = seeded, workspace.BaseAt(a.path(baseDir))
		if a.before, err = workspace.Snapshot(ctx, a.path(baseDir), nil); err != nil {
			return classify(ctx, failure.Infra, "look at the base", err)
		}
		if in.Base == "" || a.before.Digest() == in.Base {
			return a.change(ctx, in.Patch)
		}
		found = append(found, a.before.Digest())
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: its digest is %s, and the source gives %s", ErrBase, in.Base, found[len(found)-1])
	}
	return fmt.Errorf("%w: %w", ErrBase, last)
}

func (a *run) change(ctx context.Context, patch string) error {
	work := a.path("workspace")
	if _, err := workspace.Clone(ctx, a.path(baseDir), work); err != nil {
		return classify(ctx, failure.Infra, "copy the base", err)
	}
	if err := workspace.Apply(ctx, work, patch); err != nil {
		return classify(ctx, failure.Config, "apply the patch", err)
	}
	var err error
	if a.after, a.changes, err = workspace.Capture(ctx, a.base, work, a.before); err != nil {
		return classify(ctx, failure.Infra, "compare with the base", err)
	}
	return nil
}

// compareVerdicts compares two verdicts by their checks, one by one: two checks may have the same name.
func compareVerdicts(recorded, now deed.Verdict) Repeated {
	out := Repeated{Same: true, Verdict: now, Checks: []RepeatedCheck{}}
	at := func(v deed.Verdict, i int) (c deed.CheckResult) {
		if i < len(v.Checks) {
			c = v.Checks[i]
		}
		return c
	}
	for i := range max(len(recorded.Checks), len(now.Checks)) {
		o, n := at(recorded, i), at(now, i)
		c := RepeatedCheck{Name: cmp.Or(n.Name, o.Name), Recorded: cmp.Or(o.Status, "not run"), Now: cmp.Or(n.Status, "not run")}
		c.Differences = differences(o, n, codesOf(recorded, o.Name), codesOf(now, n.Name))
		c.Same = c.Recorded == c.Now && len(c.Differences) == 0
		out.Same = out.Same && c.Same
		out.Checks = append(out.Checks, c)
	}
	return out
}

func codesOf(v deed.Verdict, check string) map[string]bool {
	m := map[string]bool{}
	for _, r := range v.Reasons {
		if r.Check == check {
			m[r.Code] = true
		}
	}
	return m
}

// differences describes what the two runs of a check disagree about.
func differences(o, n deed.CheckResult, was, is map[string]bool) []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if o.Name != n.Name {
		add("the check was %q, and is %q", o.Name, n.Name)
	}
	for _, code := range slices.Sorted(maps.Keys(was)) {
		if !is[code] {
			add("%s was a reason, and is none now", code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(is)) {
		if !was[code] {
			add("%s is a reason now, and was none", code)
		}
	}
	if o.Grade != "" && o.Grade != n.Grade {
		add("it proved %q, and now %q", o.Grade, n.Grade)
	}
	if o.Extension != n.Extension || o.ExtensionDigest != n.ExtensionDigest {
		add("it was run by extension %q (%s), and now by %q (%s)", o.Extension, o.ExtensionDigest, n.Extension, n.ExtensionDigest)
	}
	a, b := o.Comparison, n.Comparison
	if a == nil {
		a = &deed.CheckComparison{}
	}
	if b == nil {
		b = &deed.CheckComparison{}
	}
	for _, l := range []struct {
		what     string
		was, now []string
	}{
		{"newly failing", a.NewlyFailing, b.NewlyFailing},
		{"still failing", a.StillFailing, b.StillFailing},
		{"fixed", a.Fixed, b.Fixed},
		{"gone", a.Vanished, b.Vanished},
		{"newly skipped", a.NewlySkipped, b.NewlySkipped},
		{"introduced", a.Introduced, b.Introduced},
	} {
		for _, id := range l.was {
			if !slices.Contains(l.now, id) {
				add("%s was %s, and is not now", id, l.what)
			}
		}
		for _, id := range l.now {
			if !slices.Contains(l.was, id) {
				add("%s is %s now, and was not", id, l.what)
			}
		}
	}
	return out
}

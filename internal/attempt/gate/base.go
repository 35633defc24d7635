package gate

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bases runs every check of the spec on the base, which no agent has touched. It needs of the input what the rooms are made
// of: Spec, Base, Manifest, Rooms and Runner. An error means that deed could not find out.
func Bases(ctx context.Context, in Input) ([]BaseRun, error) {
	out := make([]BaseRun, len(in.Spec.Checks))
	for i, c := range in.Spec.Checks {
		k := &checking{Input: in, check: c, index: i, result: unrun(c)}
		err := k.findBase(ctx)
		if rerr := k.clear(); err == nil {
			err = rerr
		}
		if errors.Is(err, errFiles) {
			continue // the decision says so
		}
		if err != nil {
			return nil, err
		}
		out[i] = k.base
	}
	return out, nil
}

// runBase finds out what the check gives on the base, unless that is known already, and keeps its report.
func (k *checking) runBase(ctx context.Context) error {
	if k.index < len(k.Bases) && k.Bases[k.index].Status != "" {
		k.base = k.Bases[k.index]
	} else if err := k.findBase(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	r := &k.result
	r.BaseStatus, r.BaseCached, r.Runners, r.Programs = k.base.Status, k.base.Remembered, k.base.Runners, k.base.Programs
	return k.keep(treeBase, Ran{Report: k.base.Report})
}

// findBase looks the base up, or runs the check on it.
func (k *checking) findBase(ctx context.Context) error {
	b, ok := k.Runner.Base(ctx, k.check)
	if ok {
		b.Remembered = true
		k.base = b
		return nil
	}
	b, err := k.measure(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if b, err = k.again(ctx, b); err != nil || ctx.Err() != nil {
		return err
	}
	if b.Wants, err = k.wants(b); err != nil {
		return err
	}
	if !k.check.Hidden && k.check.Files == "" { // what a hidden check compiled is hidden too
		k.Runner.Adopt(k.roomPath(treeBase))
	}
	if lasting(k.check, b) {
		k.Runner.KeepBase(ctx, k.check, b)
	}
	k.base = b
	return nil
}

// measure runs the check on the base, with a witness wherever one can stand. One that is not seen, or that makes the check
// end in another way, is left out.
func (k *checking) measure(ctx context.Context) (BaseRun, error) {
	places := k.places()
	if len(places) > 0 && k.check.Capability == "" {
		return k.measureLine(ctx, places)
	}
	for try := 0; ; try++ {
		ran, ws, err := k.runOnBase(ctx, places)
		if err != nil {
			return BaseRun{}, err
		}
		seen := testify(ran.Report, ws, runner.CasePassed)
		if len(seen) < len(places) {
			if places = seen; try > 0 {
				places = nil
			}
			continue
		}
		return k.controlled(ctx, baseOf(ran, places))
	}
}

// measureLine runs a command without witnesses first: what it does is not known, and the presence of a file may change it. Only
// where tests were seen by name it is run with them.
func (k *checking) measureLine(ctx context.Context, places []string) (BaseRun, error) {
	plain, _, err := k.runOnBase(ctx, nil)
	if err != nil {
		return BaseRun{}, err
	}
	b := baseOf(plain, nil)
	if !b.named() || len(b.Faults) > 0 {
		return b, nil
	}
	ran, ws, err := k.runOnBase(ctx, places)
	if err != nil {
		return BaseRun{}, err
	}
	seen := testify(ran.Report, ws, runner.CasePassed)
	with := baseOf(ran, seen)
	if len(seen) == 0 || with.Status != b.Status || with.ExitCode != b.ExitCode {
		b.Unstable = disagree(b.Report, with.Report)
		return b, nil
	}
	b.Sites, b.Unstable = seen, disagree(b.Report, with.Report)
	unstable := b.Unstable
	if b, err = k.controlled(ctx, b); err != nil {
		return b, err
	}
	b.Unstable = union(b.Unstable, unstable)
	return b, nil
}

// again runs a check that failed on the base once more, where no witness has had it run twice: a test that passes then proves
// nothing when it passes on the change.
func (k *checking) again(ctx context.Context, b BaseRun) (BaseRun, error) {
	if b.Status != runner.StatusFailed || !b.named() || len(b.Sites) > 0 || len(b.Unstable) > 0 {
		return b, nil
	}
	ran, _, err := k.runOnBase(ctx, nil)
	if err != nil {
		return b, err
	}
	b.Unstable = disagree(b.Report, ran.Report)
	return b, nil
}

// places are where the base has tests that a witness can stand beside.
func (k *checking) places() []string {
	if k.check.Capability != runner.Test && k.check.Capability != "" {
		return nil
	}
	return sites(k.Manifest)
}

// runOnBase runs the check on the base in a new room, with witnesses that pass.
func (k *checking) runOnBase(ctx context.Context, places []string) (Ran, []witness, error) {
	if err := workspace.Remove(Tree(k.roomPath(treeBase))); err != nil {
		return Ran{}, nil, err
	}
	room, err := k.room(ctx, treeBase, nil)
	if err != nil {
		return Ran{}, nil, err
	}
	ws, err := plant(Tree(room), places, false)
	if err != nil {
		return Ran{}, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, true)
	if ctx.Err() != nil {
		k.take(ran.Result, nil)
		return ran, ws, context.Cause(ctx)
	}
	return ran, ws, nil
}

// controlled runs the check on the base once more with witnesses that fail. A runner that stops at the first failure shows
// less of the others than the run before it: nothing can be told from that.
func (k *checking) controlled(ctx context.Context, b BaseRun) (BaseRun, error) {
	if len(b.Sites) == 0 {
		return b, nil
	}
	k.base = b
	control, ws, failed, err := k.fail(ctx, treeBase, nil)
	if err != nil {
		return BaseRun{}, err
	}
	if len(failed) == len(ws) && control.Report != nil && len(control.Report.TestCases) >= len(b.Report.TestCases) {
		b.Control, b.Unstable = true, disagree(b.Report, control.Report)
		b.Reacts = control.Result.Status == deed.CheckFailed
	}
	return b, nil
}

func union(a, b []string) []string {
	all := map[string]bool{}
	for _, s := range append(append([]string{}, a...), b...) {
		all[s] = true
	}
	return sorted(all)
}

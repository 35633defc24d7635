package gate

import (
	"context"
	"errors"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// Bases runs every check of the spec on the base, which no agent has touched. Of the input it needs only Spec, Base,
// Manifest, Rooms and Runner. An error means that deed could not find out.
func Bases(ctx context.Context, in Input) ([]BaseRun, error) {
	out := make([]BaseRun, len(in.Spec.Checks))
	for i, c := range in.Spec.Checks {
		k := &evaluation{Input: in, check: c, index: i, result: notRun(c)}
		err := k.findBase(ctx)
		if rerr := k.clear(); err == nil {
			err = rerr
		}
		if errors.Is(err, errFiles) {
			continue // Decide reports it
		}
		if err != nil {
			return nil, err
		}
		out[i] = k.base
	}
	return out, nil
}

// runBase gets the result of the check on the base, from the input if it is there, and keeps its report as evidence.
func (k *evaluation) runBase(ctx context.Context) error {
	if k.index < len(k.Bases) && k.Bases[k.index].Status != "" {
		k.base = k.Bases[k.index]
	} else if err := k.findBase(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	r := &k.result
	r.BaseStatus, r.BaseCached, r.Runners, r.Programs = k.base.Status, k.base.Remembered, k.base.Runners, k.base.Programs
	return k.keep(treeBase, RunResult{Report: k.base.Report})
}

// findBase looks the result on the base up, or runs the check there.
func (k *evaluation) findBase(ctx context.Context) error {
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
	if b, err = k.rerunFailed(ctx, b); err != nil || ctx.Err() != nil {
		return err
	}
	if b.MissingModules, err = k.missingModules(b); err != nil {
		return err
	}
	if !k.check.Hidden && k.check.Files == "" { // what a hidden check compiled must stay hidden too
		k.Runner.KeepCaches(k.roomPath(treeBase))
	}
	if worthKeeping(k.check, b) {
		k.Runner.KeepBase(ctx, k.check, b)
	}
	k.base = b
	return nil
}

// measure runs the check on the base, with a witness wherever one fits. A witness that is not reported is left out. If the
// second attempt still misses one, all are left out.
func (k *evaluation) measure(ctx context.Context) (BaseRun, error) {
	places := k.witnessSites()
	if len(places) > 0 && k.check.Capability == "" {
		return k.measureCommand(ctx, places)
	}
	for try := 0; ; try++ {
		ran, ws, err := k.runOnBase(ctx, places)
		if err != nil {
			return BaseRun{}, err
		}
		seen := takeWitnesses(ran.Report, ws, runner.CasePassed)
		if len(seen) < len(places) {
			if places = seen; try > 0 {
				places = nil
			}
			continue
		}
		return k.runBaseControl(ctx, baseOf(ran, places))
	}
}

// measureCommand runs a command without witnesses first: its behaviour is unknown, and an extra file may change it.
// Only if tests were seen by name does it run again with witnesses. If those change how the check ends, all are left
// out.
func (k *evaluation) measureCommand(ctx context.Context, places []string) (BaseRun, error) {
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
	seen := takeWitnesses(ran.Report, ws, runner.CasePassed)
	with := baseOf(ran, seen)
	if len(seen) == 0 || with.Status != b.Status || with.ExitCode != b.ExitCode {
		b.Unstable = disagree(b.Report, with.Report)
		return b, nil
	}
	b.Sites, b.Unstable = seen, disagree(b.Report, with.Report)
	unstable := b.Unstable
	if b, err = k.runBaseControl(ctx, b); err != nil {
		return b, err
	}
	b.Unstable = union(b.Unstable, unstable)
	return b, nil
}

// rerunFailed runs a check that failed on the base a second time, unless witnesses already made it run twice. A test
// that passes in the second run is unstable: it proves nothing when it passes on the change.
func (k *evaluation) rerunFailed(ctx context.Context, b BaseRun) (BaseRun, error) {
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

// witnessSites returns where the base has tests that a witness can be placed next to.
func (k *evaluation) witnessSites() []string {
	if k.check.Capability != runner.Test && k.check.Capability != "" {
		return nil
	}
	return sites(k.Manifest)
}

// runOnBase runs the check on the base in a fresh room, with witnesses that pass.
func (k *evaluation) runOnBase(ctx context.Context, places []string) (RunResult, []witness, error) {
	if err := workspace.Remove(Tree(k.roomPath(treeBase))); err != nil {
		return RunResult{}, nil, err
	}
	room, err := k.makeRoom(ctx, treeBase, nil)
	if err != nil {
		return RunResult{}, nil, err
	}
	ws, err := plant(Tree(room), places, false)
	if err != nil {
		return RunResult{}, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, true)
	if ctx.Err() != nil {
		k.mergeResult(ran.Result, nil)
		return ran, ws, context.Cause(ctx)
	}
	return ran, ws, nil
}

// runBaseControl runs the check on the base once more with witnesses that fail. A runner that stops at the first
// failure reports fewer of the other tests than the run before; such a control proves nothing and is not used.
func (k *evaluation) runBaseControl(ctx context.Context, b BaseRun) (BaseRun, error) {
	if len(b.Sites) == 0 {
		return b, nil
	}
	k.base = b
	control, ws, failed, err := k.runFailing(ctx, treeBase, nil)
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

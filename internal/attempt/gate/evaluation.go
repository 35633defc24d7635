package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/testreport"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// The trees that a check runs on.
const (
	treeBase      = "base"
	treePinned    = "pinned" // the change, with the inputs of the check restored from the base
	treeSubmitted = ""       // the change as the agent submitted it
)

// An evaluation takes one check to its result: it runs the check on the trees that are needed and collects the
// grounds.
type evaluation struct {
	Input
	check deed.Check
	index int
	base  BaseRun

	supportFiles []string // changed files outside the usual test paths that, on the base, served tests
	addedTests   []string // new tests that share a process with old ones, and so could make those pass
	innerTests   []string // changed sources whose inline tests the change edits
	editsMore    bool     // the change also edits such a source outside its inline tests

	pinned  *runner.Report // the report of the pinned tree, once it has run
	result  deed.CheckResult
	grounds []ground
	decided bool // a run did not pass: the result keeps the details of that run
	rooms   []string
}

func notRun(c deed.Check) deed.CheckResult {
	return deed.CheckResult{Name: CheckName(c), Command: Argv(c), Status: deed.CheckError, ExitCode: -1, Capability: c.Capability, Hidden: c.Hidden, Advisory: c.Advisory}
}

// clear removes the rooms of the check.
func (k *evaluation) clear() (err error) {
	for _, r := range k.rooms {
		err = errors.Join(err, workspace.Remove(r))
	}
	k.rooms = nil
	return err
}

// check evaluates one check and adds its result, reasons and notes to the verdict.
func (v *verdict) check(ctx context.Context, in Input, i int, c deed.Check) (err error) {
	k := &evaluation{Input: in, check: c, index: i, result: notRun(c)}
	k.Refused = len(v.reasons) > 0
	defer func() { err = errors.Join(err, k.clear()) }()
	err = k.run(ctx)
	switch {
	case ctx.Err() != nil:
		if err != nil && k.result.Status == deed.CheckPassed {
			k.result.Status = deed.CheckError // it passed on some trees, and not all were run
		}
		v.checks = append(v.checks, k.result)
		return context.Cause(ctx)
	case errors.Is(err, errFiles):
		k.result.Status = deed.CheckError
		k.reject(CodePinnedInput, "", "could not be run: %v", err)
	case err != nil:
		return err
	case k.refused() && k.result.Status == deed.CheckPassed:
		k.result.Status = deed.CheckFailed
	}
	k.grade()
	v.checks = append(v.checks, k.result)
	for _, g := range k.grounds {
		r := deed.Reason{Code: g.code, Check: k.result.Name, Message: fmt.Sprintf("check %q %s", k.result.Name, g.message)}
		if g.subject != "" {
			r.Message = fmt.Sprintf("check %q: %s", k.result.Name, g.message)
		}
		if g.code == CodeInputsChanged {
			r.Path = g.subject
		}
		if g.note || c.Advisory {
			v.notes = append(v.notes, r)
		} else {
			v.reasons = append(v.reasons, r)
		}
	}
	return nil
}

func (k *evaluation) run(ctx context.Context) error {
	if k.Runner == nil {
		k.reject(CodeCheckError, "", "could not be run: nothing here runs checks")
		return nil
	}
	if err := k.runBase(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	var err error
	if k.check.Capability == "" || k.check.Capability == runner.Test {
		if k.supportFiles, err = k.support(); err != nil {
			return err
		}
		if len(k.check.Inputs) == 0 {
			if k.innerTests, err = k.findInnerTests(); err != nil {
				return err
			}
		}
	}
	if k.result.ChangedInputs, err = changedInputs(k.check, k.inputs(), k.unprotectedChanges(), k.Patch, baseFiles{k.readBase, func(path string) bool { return k.Manifest.Find(path) != nil }}); err != nil {
		return err
	}
	k.result.ChangedInputs = append(k.result.ChangedInputs, k.changedInner()...)
	k.addedTests = k.newTests()
	trees, allowed, err := k.trees(ctx)
	if err != nil {
		return err
	}
	k.result.Status = deed.CheckPassed
	found := map[string][]ground{}
	for _, tree := range trees {
		r, grounds, err := k.runOn(ctx, tree, allowed)
		k.mergeResult(r, grounds)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		found[tree] = grounds
	}
	submitted, ran := found[treeSubmitted]
	if ran && !counted(submitted) {
		if submitted, err = k.control(ctx); err != nil {
			return err
		}
		found[treeSubmitted] = append(found[treeSubmitted], submitted...)
	}
	return k.weigh(ctx, trees, found)
}

// unprotectedChanges are the changes that reach the trees at all: protected files are restored from the base in each
// of them.
func (k *evaluation) unprotectedChanges() workspace.ChangeSet {
	return workspace.ChangeSet{Changes: slices.DeleteFunc(slices.Clone(k.Changes.Changes), func(c workspace.Change) bool { return matchAny(k.Spec.ProtectedPaths, c.Path) })}
}

func (k *evaluation) refused() bool { return counted(k.grounds) }

func (k *evaluation) reject(code, subject, format string, a ...any) {
	k.grounds = append(k.grounds, ground{code: code, subject: subject, message: fmt.Sprintf(format, a...)})
}

// runOn runs the check on one changed tree and compares the outcome with the base.
func (k *evaluation) runOn(ctx context.Context, tree string, allowed bool) (deed.CheckResult, []ground, error) {
	room, err := k.makeRoom(ctx, tree, k.pins(tree))
	if err != nil {
		return k.result, nil, err
	}
	ws, err := plant(Tree(room), k.base.Sites, false)
	if err != nil {
		return k.result, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, false)
	seen := takeWitnesses(ran.Report, ws, runner.CasePassed)
	if err := k.keep(tree, ran); err != nil {
		return ran.Result, nil, err
	}
	r := ran.Result
	if ctx.Err() != nil {
		return r, k.byExit(ran), context.Cause(ctx)
	}
	also, err := k.programsNotRun(tree, ran)
	if err != nil {
		return r, nil, err
	}
	rewritten, err := k.rewritten(ctx, tree)
	if err != nil {
		return r, nil, err
	}
	also = append(also, rewritten...)
	if r.Status == deed.CheckTimeout || !k.hasReport(ran) {
		return r, append(k.byExit(ran), also...), nil
	}
	m := comparer{check: k.check, base: k.base.Report, pinned: k.pinned, after: ran.Report, unstable: setOf(k.base.Unstable), allowed: allowed}
	comparison, grounds := compare(m)
	for range maxRepeats {
		again := newlyFailing(comparison, grounds)
		if len(again) == 0 {
			break
		}
		flaky, err := k.repeat(ctx, tree, again)
		if err != nil || ctx.Err() != nil {
			return r, grounds, err
		}
		for _, id := range flaky {
			m.unstable[id] = true
		}
		if len(flaky) > 0 {
			comparison, grounds = compare(m)
		}
	}
	if tree == treePinned {
		k.pinned = ran.Report
	}
	grounds = append(append(grounds, k.unfinished(ran)...), also...)
	r.Comparison, r.Witnesses = &comparison, len(ws)
	if !counted(grounds) && len(seen) < len(ws) {
		grounds = append(grounds, witnessGround(ws, seen, "reported as passed"))
	}
	r.Status = deed.CheckPassed // the comparison decides: old failures may not count
	if counted(grounds) {
		r.Status = deed.CheckFailed
		if ran.Report.Status == runner.StatusError || ran.Report.Status == runner.StatusSkipped {
			r.Status = deed.CheckError
		}
	}
	return r, grounds, nil
}

// hasReport reports whether a run has a report that can be compared with the base. A command has one if tests were
// seen by name.
func (k *evaluation) hasReport(ran RunResult) bool {
	return ran.Report != nil && (k.check.Capability != "" || len(ran.Report.TestCases) > 0)
}

// byExit judges a run without a usable report by how it ended. A command that showed tests on the base and shows none
// now did not run them, whatever its exit code.
func (k *evaluation) byExit(ran RunResult) []ground {
	list := ended(ran)
	switch {
	case len(list) == 0 && k.check.Capability == "" && k.base.named():
		list = append(list, ground{code: CodeReportMissing, message: fmt.Sprintf("ended with exit code 0 and no test was seen to run, and on the base it ran %d", len(k.base.Report.TestCases))})
	case ran.Result.Status == deed.CheckFailed && ran.Ended == nil && k.base.Status == runner.StatusFailed && k.check.RequirePass != nil && !*k.check.RequirePass:
		list = notes(list) // it failed on the base too, and the check asks to ignore that
	}
	return append(list, k.unfinished(ran)...)
}

// unfinished are the test runners that began a report and did not finish it, though on the base all did: some code
// ended the process early.
func (k *evaluation) unfinished(ran RunResult) []ground {
	if k.check.Capability != "" || len(k.base.Faults) > 0 || ran.Result.Status == deed.CheckFailed {
		return nil
	}
	var out []ground
	for _, f := range ran.Faults {
		out = append(out, ground{code: CodeReportMissing, message: "did not run to its end: " + oneLine(f)})
	}
	return out
}

func setOf(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

// A check is run again for at most maxRepeated new failures, and at most maxRepeats times. Without this, a test that
// fails once in five runs would reject one honest change in twenty-five.
const (
	maxRepeated = 10
	maxRepeats  = 2
)

// newlyFailing returns the new failures if nothing else counts against the work; nil if something else does, or if
// there are too many.
func newlyFailing(c deed.CheckComparison, grounds []ground) []string {
	var out []string
	for _, g := range grounds {
		switch {
		case g.note:
		case g.code != CodeTestsNewlyFailing || !slices.Contains(c.NewlyFailing, g.subject):
			return nil
		default:
			out = append(out, g.subject)
		}
	}
	if len(out) > maxRepeated {
		return nil
	}
	return out
}

// repeat runs the check once more and returns which of the tests pass now. A test that fails once and passes once
// proves nothing.
func (k *evaluation) repeat(ctx context.Context, tree string, ids []string) ([]string, error) {
	at := Tree(k.roomPath(tree))
	if err := workspace.Remove(at); err != nil {
		return nil, err
	}
	if err := k.fill(ctx, tree, k.pins(tree), at); err != nil {
		return nil, err
	}
	ran := k.Runner.Run(ctx, k.check, k.roomPath(tree), false)
	k.result.DurationMS += ran.Result.DurationMS
	if ran.Report == nil {
		return nil, nil
	}
	now := index(ran.Report.TestCases)
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now[id].Status != runner.CasePassed }), nil
}

// grade sets what a check that passed proves.
func (k *evaluation) grade() {
	r := &k.result
	r.Observed = deed.ObservedExitCode
	switch {
	case r.Comparison != nil && (k.check.Capability == runner.Lint || k.check.Capability == runner.Audit):
		r.Observed = deed.ObservedFindings
	case r.Comparison != nil && r.Comparison.After != nil:
		r.Observed = deed.ObservedTests
	}
	if r.Status != deed.CheckPassed {
		return
	}
	r.Grade = deed.GradePassing
	if c := r.Comparison; c != nil && c.Counts["fixed"] > 0 {
		r.Grade = deed.GradeFixed
		return
	}
	passes := r.Comparison == nil || r.Comparison.Counts["still_failing"]+r.Comparison.Counts["unchanged"] == 0
	failuresNamed := k.base.named() && tally(k.base.Report.TestCases).Failed > 0 // failures were seen by name, and none of them is fixed
	if k.base.Status == runner.StatusFailed && passes && !failuresNamed && !k.excused() {
		r.Grade = deed.GradeFixed
	}
}

// excused reports whether a failure was found and did not count.
func (k *evaluation) excused() bool {
	return slices.ContainsFunc(k.grounds, func(g ground) bool { return g.note && (g.code == CodeCheckFailed || g.code == CodeTestsUnstable) })
}

// mergeResult takes over how a run ended. The first run that did not pass keeps its place in the result.
func (k *evaluation) mergeResult(r deed.CheckResult, grounds []ground) {
	to := &k.result
	to.DurationMS += r.DurationMS
	if !k.decided {
		to.Status, to.ExitCode, to.Log, to.Tail = r.Status, r.ExitCode, r.Log, r.Tail
		to.Comparison, to.Witnesses = r.Comparison, r.Witnesses
		to.Extension, to.ExtensionDigest = r.Extension, r.ExtensionDigest
		if len(r.Command) > 0 {
			to.Command = r.Command
		}
	}
	k.decided = k.decided || counted(grounds)
}

// counted reports whether any ground counts against the work.
func counted(list []ground) bool {
	return slices.ContainsFunc(list, func(g ground) bool { return !g.note })
}

// ended judges a run without a report by how it ended.
func ended(ran RunResult) []ground {
	r := ran.Result
	switch r.Status {
	case deed.CheckPassed:
		return nil
	case deed.CheckTimeout:
		g := ground{code: CodeCheckTimeout, message: "ran into its time limit"}
		if ran.Report != nil {
			if names := testreport.Running(ran.Report.TestCases); names != "" {
				g.message += ", while it ran " + names
			}
		}
		return []ground{g}
	case deed.CheckFailed:
		g := ground{code: CodeCheckFailed, message: fmt.Sprintf("ended with exit code %d in the clean room", r.ExitCode)}
		if ran.Ended != nil {
			g.message += fmt.Sprintf(": it was ended: %v", ran.Ended)
		}
		return []ground{g}
	}
	return []ground{{code: CodeCheckError, message: "could not be run: " + r.Tail}}
}

// addGrounds adds the grounds of one tree. What the pinned tree showed already is not repeated for the submitted one.
func (k *evaluation) addGrounds(tree string, list []ground) {
	type said struct {
		code, subject string
		note          bool
	}
	have := map[said]bool{} // there may be a ground for each of a million tests
	for _, g := range k.grounds {
		have[said{g.code, g.subject, g.note}] = true
	}
	for _, g := range list {
		if have[said{g.code, g.subject, false}] || g.note && have[said{g.code, g.subject, true}] {
			continue
		}
		have[said{g.code, g.subject, g.note}] = true
		switch {
		case tree != treePinned:
		case len(k.result.ChangedInputs) == 0:
			g.message += " (without the tests that the change adds)"
		default:
			g.message += " (with the files that the check judges by as they were)"
		}
		k.grounds = append(k.grounds, g)
	}
}

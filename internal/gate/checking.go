package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/workspace"
)

// The trees that a check is run on.
const (
	treeBase   = "base"
	treePinned = "pinned" // the change with the inputs of the check as they were
	treeLeft   = ""       // the change as the agent left it
)

// A checking is one check on its way to a result.
type checking struct {
	Input
	check deed.Check
	index int
	base  BaseRun

	supports []string // changed files that supported tests, as they were
	inner    []string // changed sources of which the change edits the tests in them
	besides  bool     // it edits more of one of them than that

	pinned  *runner.Report // of the change with the inputs of the check as they were, once that has been run
	result  deed.CheckResult
	grounds []ground
	decided bool // a run did not pass: what it left is the result's
	rooms   []string
}

func unrun(c deed.Check) deed.CheckResult {
	return deed.CheckResult{Name: CheckName(c), Command: Argv(c), Status: deed.CheckError, ExitCode: -1, Capability: c.Capability, Hidden: c.Hidden, Advisory: c.Advisory}
}

// clear removes the rooms of the check.
func (k *checking) clear() (err error) {
	for _, r := range k.rooms {
		err = errors.Join(err, workspace.Remove(r))
	}
	k.rooms = nil
	return err
}

// check runs one check on every tree that it needs and adds what follows.
func (v *verdict) check(ctx context.Context, in Input, i int, c deed.Check) (err error) {
	k := &checking{Input: in, check: c, index: i, result: unrun(c)}
	k.Refused = len(v.reasons) > 0
	defer func() { err = errors.Join(err, k.clear()) }()
	err = k.run(ctx)
	switch {
	case ctx.Err() != nil:
		if err != nil && k.result.Status == deed.CheckPassed {
			k.result.Status = deed.CheckError // on some trees, and not on all
		}
		v.checks = append(v.checks, k.result)
		return context.Cause(ctx)
	case errors.Is(err, errFiles):
		k.result.Status = deed.CheckError
		k.against(CodePinnedInput, "", "could not be run: %v", err)
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

func (k *checking) run(ctx context.Context) error {
	if k.Runner == nil {
		k.against(CodeCheckError, "", "could not be run: nothing here runs checks")
		return nil
	}
	if err := k.runBase(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	var err error
	if k.check.Capability == "" || k.check.Capability == runner.Test {
		if k.supports, err = k.support(); err != nil {
			return err
		}
		if len(k.check.Inputs) == 0 {
			if k.inner, err = k.inline(); err != nil {
				return err
			}
		}
	}
	if k.result.ChangedInputs, err = changedInputs(k.check, k.inputs(), k.open(), k.Patch, k.asItWas); err != nil {
		return err
	}
	k.result.ChangedInputs = append(k.result.ChangedInputs, k.changedInner()...)
	trees, allowed, err := k.trees(ctx)
	if err != nil {
		return err
	}
	k.result.Status = deed.CheckPassed
	found := map[string][]ground{}
	for _, tree := range trees {
		r, grounds, err := k.on(ctx, tree, allowed)
		k.take(r, grounds)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		found[tree] = grounds
	}
	left, ran := found[treeLeft]
	if ran && !counted(left) {
		if left, err = k.control(ctx); err != nil {
			return err
		}
		found[treeLeft] = append(found[treeLeft], left...)
	}
	return k.weigh(ctx, trees, found)
}

// open are the changes that have an effect on some tree: what is protected is as it was on all.
func (k *checking) open() workspace.ChangeSet {
	return workspace.ChangeSet{Changes: slices.DeleteFunc(slices.Clone(k.Changes.Changes), func(c workspace.Change) bool { return matchAny(k.Spec.ProtectedPaths, c.Path) })}
}

func (k *checking) refused() bool { return counted(k.grounds) }

func (k *checking) against(code, subject, format string, a ...any) {
	k.grounds = append(k.grounds, ground{code: code, subject: subject, message: fmt.Sprintf(format, a...)})
}

// trees says which trees the check runs on, by its policy on changed inputs. What a person allowed is told, and what is gone
// with it does not count. A hidden check is run with all test support as it was, whatever the policy: it asks what the code does.
func (k *checking) trees(ctx context.Context) (trees []string, allowed bool, err error) {
	changed := k.result.ChangedInputs
	switch {
	case len(changed) == 0:
		return []string{treeLeft}, false, nil
	case k.check.Hidden:
		return []string{treePinned}, false, nil
	}
	switch k.check.Policy() {
	case deed.InputsRefuse:
		for _, c := range changed {
			k.against(CodeInputsChanged, c.Path, "%s was %s, and the check judges by it", quotePath(c.Path), c.Status)
		}
		return []string{treePinned}, false, nil
	case deed.InputsAsk:
		allowed, by, err := k.person(ctx, Question{Changed: changed})
		if err != nil {
			return nil, false, err
		}
		for _, c := range changed {
			k.grounds = append(k.grounds, ground{
				code: CodeInputsChanged, subject: c.Path, note: allowed,
				message: fmt.Sprintf("%s was %s, and the check judges by it: %s by %s", quotePath(c.Path), c.Status, map[bool]string{true: "allowed", false: "not allowed"}[allowed], by),
			})
		}
		if allowed {
			return []string{treeLeft}, true, nil
		}
		return []string{treePinned}, false, nil
	}
	if k.check.Capability == runner.Test && k.base.untested() {
		return []string{treeLeft}, false, nil // the base has no test that an edit could have weakened
	}
	return []string{treePinned, treeLeft}, false, nil
}

// person asks whether the inputs may have been changed.
func (k *checking) person(ctx context.Context, q Question) (allowed bool, by string, err error) {
	if k.Ask == nil {
		return false, "nobody", nil
	}
	return k.Ask(ctx, k.check, q)
}

// weigh decides what the runs on the trees say together. Where the check passes as the agent left it and fails with its inputs
// as they were, no run can tell whether the change of the inputs is honest: a person can.
func (k *checking) weigh(ctx context.Context, trees []string, found map[string][]ground) error {
	changed := k.result.ChangedInputs
	pinned, left := found[treePinned], found[treeLeft]
	_, both := found[treeLeft]
	only := k.onlyInputs()
	open := both && soft(left) && len(changed) > 0 && !k.refused() && !k.Refused && k.check.OnChangedInputs == ""
	open = open && (counted(pinned) || counted(left) || only && k.steered())
	undone := only && k.base.Status == runner.StatusFailed && counted(pinned) // the work is not done, and what says so was changed
	allowed, by := false, ""
	doubt := AskInputs
	if !open {
		doubt = k.doubt(pinned, left)
	}
	if doubt != AskInputs {
		var err error
		if allowed, by, err = k.person(ctx, Question{Changed: changedFiles(k.Changes), Failing: messages(left), Soft: true, Kind: doubt}); err != nil {
			return err
		}
	}
	if open {
		q := Question{Changed: changed, Failing: append(messages(pinned), messages(left)...), Soft: true, Undone: undone}
		var err error
		if allowed, by, err = k.person(ctx, q); err != nil {
			return err
		}
	}
	if allowed {
		pinned, left = notes(pinned), notes(left)
		k.decided, k.result.Status = false, deed.CheckPassed
	}
	k.add(treePinned, pinned)
	k.add(treeLeft, left)
	if doubt != AskInputs && !allowed {
		k.grounds = append(k.grounds, ground{code: CodeNeedsPerson, message: map[AskKind]string{
			AskUnfinished: "has some of the tests that failed together fixed, and not all: only a person can say whether the others are part of the work",
			AskUnrun:      "passes, and did not run all that it ran on the base: only a person can say whether that is right",
		}[doubt]})
	}
	if len(changed) == 0 || k.check.Policy() != deed.InputsRerunPinned {
		return nil
	}
	if open && !allowed && !(undone && nobody(by)) {
		k.grounds = append(k.grounds, ground{code: CodeNeedsPerson, message: needsPerson(by)})
	}
	how := "and the check passes with and without that"
	switch {
	case allowed:
		how = "and the check judges by it: allowed by " + by
	case k.refused():
		how = "and the check judges by it"
	case k.check.Hidden:
		how = "and the check was run with it as it was"
	case !slices.Contains(trees, treePinned):
		how = "and the base has nothing that it could have weakened"
	}
	refused := k.refused()
	for _, c := range changed {
		k.grounds = append(k.grounds, ground{code: CodeInputsChanged, subject: c.Path, note: !refused, message: fmt.Sprintf("%s was %s, %s", quotePath(c.Path), c.Status, how)})
	}
	return nil
}

// doubt is what a person has to be asked about, where nothing stands against the work but what a run cannot judge; else AskInputs.
func (k *checking) doubt(pinned, left []ground) AskKind {
	kind := AskInputs
	for _, g := range slices.Concat(pinned, left) {
		switch {
		case g.note:
		case g.doubt == AskInputs:
			return AskInputs
		default:
			kind = g.doubt
		}
	}
	if !counted(left) || k.refused() || k.Refused || k.check.OnChangedInputs != "" {
		return AskInputs
	}
	return kind
}

// unrun are the programs of the tree that drove the check on the base and were not executed now, though they are there and the check
// passed. A target of make that is held to be up to date is one way to that.
func (k *checking) unrun(tree string, ran Ran) ([]ground, error) {
	if !ran.Traced || k.check.Capability != "" || ran.Result.Status != deed.CheckPassed {
		return nil, nil
	}
	root, err := os.OpenRoot(Tree(k.roomPath(tree)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []ground
	for _, p := range k.base.Programs {
		if slices.Contains(ran.Executed, p) {
			continue
		}
		if info, err := root.Lstat(filepath.FromSlash(p)); err == nil && info.Mode().IsRegular() {
			out = append(out, ground{code: CodeUnrun, subject: p, doubt: AskUnrun, message: fmt.Sprintf("%s ran on the base, and did not run now", quotePath(p))})
		}
	}
	return out, nil
}

// changedFiles lists what the patch changes.
func changedFiles(changes workspace.ChangeSet) []deed.ChangedInput {
	var out []deed.ChangedInput
	for _, c := range changes.Of(workspace.ClassTracked) {
		out = append(out, deed.ChangedInput{Path: workspace.TextPath(c.Path), Status: string(c.Status)})
	}
	return out
}

// soft reports whether nothing stands against a run but that tests are gone or skipped, which may be what the task asks for.
func soft(list []ground) bool {
	return !slices.ContainsFunc(list, func(g ground) bool {
		return !g.note && g.code != CodeTestsVanished && g.code != CodeTestsNewlySkipped && g.code != CodeTestsShrank
	})
}

func nobody(by string) bool { return by == "" || strings.HasPrefix(by, "nobody") }

func needsPerson(by string) string {
	if nobody(by) {
		return "holds only with what it judges by as the agent left it: a person has to look at that (run it at a terminal, or with --on-changed-inputs ask)"
	}
	return "holds only with what it judges by as the agent left it, and that was not allowed by " + by
}

// onlyInputs reports whether the change touches nothing but what the check judges by.
func (k *checking) onlyInputs() bool {
	if k.besides {
		return false
	}
	inputs := map[string]bool{}
	for _, c := range k.result.ChangedInputs {
		inputs[c.Path] = true
	}
	for _, c := range k.Changes.Of(workspace.ClassTracked) {
		if !inputs[workspace.TextPath(c.Path)] && !matchAny(testFiles, c.Path) {
			return false
		}
	}
	return true
}

// steered reports whether what steers the check was changed, and not its tests and what they share alone: a configuration, a script, a
// limit. A new workflow of a build machine steers nothing here.
func (k *checking) steered() bool {
	return slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool {
		name := workspace.FromTextPath(c.Path)
		if matchAny(testFiles, name) && !matchAny(steers, name) && !slices.Contains(k.base.Programs, name) {
			return false
		}
		return !slices.Contains(k.inner, name) && !(c.Status == string(workspace.Added) && matchAny(ciFiles, name))
	})
}

// messages are the grounds that count, for a person.
func messages(list []ground) []string {
	var out []string
	for _, g := range list {
		if !g.note {
			out = append(out, g.message)
		}
	}
	return out
}

// notes turns grounds into what is only told.
func notes(list []ground) []ground {
	out := slices.Clone(list)
	for i := range out {
		out[i].note = true
	}
	return out
}

// on runs the check on one tree of base and patch and holds it against the base.
func (k *checking) on(ctx context.Context, tree string, allowed bool) (deed.CheckResult, []ground, error) {
	room, err := k.room(ctx, tree, k.pins(tree))
	if err != nil {
		return k.result, nil, err
	}
	ws, err := plant(Tree(room), k.base.Sites, false)
	if err != nil {
		return k.result, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, false)
	seen := testify(ran.Report, ws, runner.CasePassed)
	if err := k.keep(tree, ran); err != nil {
		return ran.Result, nil, err
	}
	r := ran.Result
	if ctx.Err() != nil {
		return r, k.byExit(ran), context.Cause(ctx)
	}
	unrun, err := k.unrun(tree, ran)
	if err != nil {
		return r, nil, err
	}
	if r.Status == deed.CheckTimeout || !k.tells(ran) {
		return r, append(k.byExit(ran), unrun...), nil
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
	grounds = append(append(grounds, k.unfinished(ran)...), unrun...)
	r.Comparison, r.Witnesses = &comparison, len(ws)
	if !counted(grounds) && len(seen) < len(ws) {
		grounds = append(grounds, unseen(ws, seen, "reported as passed"))
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

// tells reports whether a run has a report to be held against the base. A command has one when tests were seen by name.
func (k *checking) tells(ran Ran) bool {
	return ran.Report != nil && (k.check.Capability != "" || len(ran.Report.TestCases) > 0)
}

// byExit judges a run that has no report by how it ended. A command that showed tests on the base and shows none now has not run
// them, whatever it ended with.
func (k *checking) byExit(ran Ran) []ground {
	list := ended(ran)
	switch {
	case len(list) == 0 && k.check.Capability == "" && k.base.named():
		list = append(list, ground{code: CodeReportMissing, message: fmt.Sprintf("ended with exit code 0 and no test was seen to run, and on the base it ran %d", len(k.base.Report.TestCases))})
	case ran.Result.Status == deed.CheckFailed && ran.Ended == nil && k.base.Status == runner.StatusFailed && k.check.RequirePass != nil && !*k.check.RequirePass:
		list = notes(list) // as on the base, and that is nobody's business here
	}
	return append(list, k.unfinished(ran)...)
}

// unfinished are the runners that began a report and did not end it, where they did on the base: code ended the process.
func (k *checking) unfinished(ran Ran) []ground {
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

// maxRepeated bounds for how many failures a check is run again, and maxRepeats how often: a test that fails once in five runs would
// else refuse one honest change in twenty-five.
const (
	maxRepeated = 10
	maxRepeats  = 2
)

// newlyFailing names the tests that alone stand against the work; nil where something else does, or where they are many.
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

// repeat runs the check once more and returns which of the tests pass now: what fails once and passes once proves nothing.
func (k *checking) repeat(ctx context.Context, tree string, ids []string) ([]string, error) {
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

// grade says what a check that passed proves.
func (k *checking) grade() {
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
	told := k.base.named() && tally(k.base.Report.TestCases).Failed > 0 // by name, and none of them is fixed
	if k.base.Status == runner.StatusFailed && passes && !told && !k.excused() {
		r.Grade = deed.GradeFixed
	}
}

// excused reports whether the check failed and that did not count.
func (k *checking) excused() bool {
	return slices.ContainsFunc(k.grounds, func(g ground) bool { return g.note && (g.code == CodeCheckFailed || g.code == CodeTestsUnstable) })
}

// take takes over how a run ended. That of the first that did not pass stays.
func (k *checking) take(r deed.CheckResult, grounds []ground) {
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

// counted reports whether there is a ground against the work.
func counted(list []ground) bool {
	return slices.ContainsFunc(list, func(g ground) bool { return !g.note })
}

// ended judges a run that has no report by how it ended.
func ended(ran Ran) []ground {
	r := ran.Result
	switch r.Status {
	case deed.CheckPassed:
		return nil
	case deed.CheckTimeout:
		return []ground{{code: CodeCheckTimeout, message: "ran into its time limit"}}
	case deed.CheckFailed:
		g := ground{code: CodeCheckFailed, message: fmt.Sprintf("ended with exit code %d in the clean room", r.ExitCode)}
		if ran.Ended != nil {
			g.message += fmt.Sprintf(": it was ended: %v", ran.Ended)
		}
		return []ground{g}
	}
	return []ground{{code: CodeCheckError, message: "could not be run: " + r.Tail}}
}

// add adds the grounds of one tree. What was found with the inputs as they were is not said again of the tree as it was left.
func (k *checking) add(tree string, list []ground) {
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
		if tree == treePinned {
			g.message += " (with the files that the check judges by as they were)"
		}
		k.grounds = append(k.grounds, g)
	}
}

// unseen says which witnesses were not seen as they had to be.
func unseen(ws []witness, seen []string, as string) ground {
	var dirs []string
	for _, w := range ws {
		if !slices.Contains(seen, w.site) {
			_, dir, _ := strings.Cut(w.site, ":")
			dirs = append(dirs, quotePath(dir))
		}
	}
	more := ""
	if len(dirs) > 3 {
		more = fmt.Sprintf(" and %d more", len(dirs)-3)
		dirs = dirs[:3]
	}
	return ground{code: CodeWitness, message: fmt.Sprintf("cannot be believed: deed's own test in %s%s is not %s, so what is reported is not what the tests did", strings.Join(dirs, ", "), more, as)}
}

// control runs the tests once more with witnesses that fail. A runner that says they passed says so of everything.
func (k *checking) control(ctx context.Context) ([]ground, error) {
	if !k.base.Control || k.result.Witnesses == 0 {
		return nil, nil
	}
	ran, ws, seen, err := k.fail(ctx, treeLeft, k.pins(treeLeft))
	switch {
	case err != nil || ctx.Err() != nil:
		return nil, err
	case len(seen) < len(ws):
		return []ground{unseen(ws, seen, "reported as failed where it fails")}, nil
	case k.base.Reacts && len(ws) > 0 && k.check.Capability == "" && ran.Result.Status == deed.CheckPassed:
		return []ground{{code: CodeWitness, message: "cannot be believed: it ends well also when deed's own test fails, which it did not on the base"}}, nil
	}
	return nil, nil
}

// fail makes the tree of a room again, with witnesses that fail, and runs the check on it.
func (k *checking) fail(ctx context.Context, tree string, pins []string) (Ran, []witness, []string, error) {
	room := k.roomPath(tree)
	at := Tree(room)
	if err := workspace.Remove(at); err != nil {
		return Ran{}, nil, nil, err
	}
	if err := k.fill(ctx, tree, pins, at); err != nil {
		return Ran{}, nil, nil, err
	}
	ws, err := plant(at, k.base.Sites, true)
	if err != nil {
		return Ran{}, nil, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, tree == treeBase)
	if ctx.Err() != nil {
		k.take(ran.Result, nil)
		return ran, ws, nil, context.Cause(ctx)
	}
	k.result.DurationMS += ran.Result.DurationMS
	return ran, ws, testify(ran.Report, ws, runner.CaseFailed), nil
}

// keep puts a report into the evidence.
func (k *checking) keep(tree string, ran Ran) error {
	if ran.Report == nil {
		return nil
	}
	at, err := k.Runner.Keep(k.index, tree, ran.Report)
	if err != nil {
		return fmt.Errorf("keep a report: %w", err)
	}
	switch tree {
	case treeBase:
		k.result.BaseReport = at
	case treePinned:
		k.result.PinnedReport = at
	default:
		k.result.Report = at
	}
	return nil
}

// inputs are the globs of what the check judges by, and where it does not name them itself what its runner consists of.
func (k *checking) inputs() []string {
	globs := Inputs(k.check)
	if len(k.check.Inputs) > 0 {
		return globs
	}
	files := slices.Concat(k.Runner.Files(k.check), k.base.Programs)
	for _, p := range k.base.Programs { // and what is called like it: lint.json beside lint.js
		globs = append(globs, strings.TrimSuffix(p, path.Ext(p))+".json", strings.TrimSuffix(p, path.Ext(p))+".y*ml", strings.TrimSuffix(p, path.Ext(p))+".toml")
	}
	return slices.Concat(globs, k.supports, slices.DeleteFunc(files, func(p string) bool { return !literal(p) }))
}

// pins are the globs that are as they were in a tree.
func (k *checking) pins(tree string) []string {
	if tree != treePinned {
		return k.Spec.ProtectedPaths
	}
	pins := slices.Concat(k.Spec.ProtectedPaths, k.inputs())
	if slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool { return path.Base(c.Path) == moduleFile }) {
		pins = append(pins, "**/"+moduleFile)
	}
	return pins
}

func (k *checking) roomPath(tree string) string {
	name := strconv.Itoa(k.index)
	if tree != treeLeft {
		name += "-" + tree
	}
	return filepath.Join(k.Rooms, name)
}

// room makes a room with one of the trees.
func (k *checking) room(ctx context.Context, tree string, pins []string) (string, error) {
	room := k.roomPath(tree)
	if !slices.Contains(k.rooms, room) {
		if err := errors.Join(os.Mkdir(room, 0o700), os.Mkdir(filepath.Join(room, treeDir), 0o700)); err != nil {
			return "", fmt.Errorf("make the clean room: %w", err)
		}
		k.rooms = append(k.rooms, room)
	}
	return room, k.fill(ctx, tree, pins, Tree(room))
}

func (k *checking) fill(ctx context.Context, tree string, pins []string, at string) error {
	patch := k.Patch
	if tree == treeBase {
		patch = ""
	} else if now, err := hashFile(patch); err != nil || now != k.pin {
		return errors.Join(errPatch, err)
	}
	base, err := k.Base.Dir()
	if err != nil {
		return err
	}
	if err := workspace.CleanRoom(ctx, base, k.Manifest, patch, pins, at); err != nil {
		return err
	}
	if tree == treePinned {
		if err := k.putBack(at); err != nil {
			return err
		}
	}
	return overlay(ctx, k.check, at)
}

// errPatch says that the patch is not the one that was proven.
var errPatch = errors.New("the patch was changed after it was proven")

// errFiles is what a hidden check brings with it that is not what was admitted.
var errFiles = errors.New("the files of a check are not those that were pinned when the task was admitted")

// overlay lays the files of a hidden check over the tree.
func overlay(ctx context.Context, c deed.Check, tree string) error {
	switch {
	case c.Files == "" && c.FilesDigest == "":
		return nil
	case c.Files == "":
		return fmt.Errorf("%w: they are not here", errFiles)
	}
	m, err := workspace.Snapshot(ctx, c.Files, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errFiles, err)
	}
	if m.Digest() != c.FilesDigest {
		return errFiles
	}
	return workspace.Overlay(c.Files, m, tree)
}

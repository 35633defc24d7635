package gate

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// trees chooses the trees that the check runs on, by its policy on changed inputs. If a person allows the change, it
// is only noted, and tests that vanished with it do not count. A hidden check always runs with the inputs of the
// base: it asks what the code does.
func (k *evaluation) trees(ctx context.Context) (trees []string, allowed bool, err error) {
	changed := k.result.ChangedInputs
	switch {
	case len(changed) == 0 && len(k.addedTests) == 0, k.unrunnable():
		return []string{treeSubmitted}, false, nil
	case len(changed) == 0:
		return []string{treePinned, treeSubmitted}, false, nil
	case k.check.Hidden:
		return []string{treePinned}, false, nil
	}
	switch k.check.Policy() {
	case deed.InputsRefuse:
		for _, c := range changed {
			k.reject(CodeInputsChanged, c.Path, "%s was %s, and the check judges by it", quotePath(c.Path), c.Status)
		}
		return []string{treePinned}, false, nil
	case deed.InputsAsk:
		allowed, by, err := k.askPerson(ctx, Question{Changed: changed})
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
			return []string{treeSubmitted}, true, nil
		}
		return []string{treePinned}, false, nil
	}
	if k.check.Capability == runner.Test && k.base.untested() {
		return []string{treeSubmitted}, false, nil // the base has no test that an edit could have weakened
	}
	return []string{treePinned, treeSubmitted}, false, nil
}

// unrunnable reports whether the check cannot be run on the base and the task accepts that: then nothing on the base
// can judge the change.
func (k *evaluation) unrunnable() bool {
	_, broken := CannotRun(k.check, k.base)
	return broken && k.Spec.AllowBrokenBase && k.check.OnChangedInputs == "" && !k.check.Hidden
}

// perFileRunners are the test runners that isolate each file of tests in a process or a context of its own.
var perFileRunners = []string{"node", "jest", "vitest", "ava", "tap", "bats", "cargo", "nextest"}

// newTests returns the test files that the change adds and that could affect the tests of the base.
func (k *evaluation) newTests() []string {
	if k.check.Hidden || len(k.check.Inputs) > 0 || k.check.Capability != "" && k.check.Capability != runner.Test || k.base.untested() {
		return nil
	}
	if len(k.base.Runners) > 0 && !slices.ContainsFunc(k.base.Runners, func(r string) bool { return !slices.Contains(perFileRunners, r) }) {
		return nil
	}
	var out []string
	for _, c := range k.unprotectedChanges().Of(workspace.ClassTracked) {
		if c.Status == workspace.Added && matchAny(testFiles, c.Path) && slices.Contains(codeExts, path.Ext(c.Path)) && literal(c.Path) {
			out = append(out, c.Path)
		}
	}
	return out
}

// askPerson asks whether the inputs may have been changed.
func (k *evaluation) askPerson(ctx context.Context, q Question) (allowed bool, by string, err error) {
	if k.Ask == nil {
		return false, "nobody", nil
	}
	return k.Ask(ctx, k.check, q)
}

// weigh decides what the runs on the trees mean together, and asks a person where they cannot decide.
func (k *evaluation) weigh(ctx context.Context, trees []string, found map[string][]ground) error {
	pinned, submitted := found[treePinned], found[treeSubmitted]
	_, both := found[treeSubmitted]
	q := k.question(both, pinned, submitted)
	allowed, by := false, ""
	if q != nil {
		var err error
		if allowed, by, err = k.askPerson(ctx, *q); err != nil {
			return err
		}
	}
	if allowed {
		pinned, submitted = notes(pinned), notes(submitted)
		k.decided, k.result.Status = false, deed.CheckPassed
	}
	k.addGrounds(treePinned, pinned)
	k.addGrounds(treeSubmitted, submitted)
	if q != nil && !allowed && !(q.NoWorkDone && nobody(by)) {
		k.grounds = append(k.grounds, ground{code: CodeNeedsPerson, message: needsPerson(*q, by)})
	}
	if k.check.Policy() == deed.InputsRerunPinned {
		k.reportInputs(trees, allowed, by)
	}
	return nil
}

// question returns what a person has to be asked; nil if the runs are enough. If the check passes with the agent's
// inputs and fails with those of the base, no run can tell whether the change of the inputs is honest.
func (k *evaluation) question(both bool, pinned, submitted []ground) *Question {
	if k.refused() || k.Refused || k.check.OnChangedInputs != "" {
		return nil
	}
	changed, only := k.result.ChangedInputs, k.onlyInputs()
	if both && onlyMissingTests(submitted) && len(changed) > 0 && (counted(pinned) || counted(submitted) || only && k.steered()) {
		undone := only && k.base.Status == runner.StatusFailed && counted(pinned) // the work is not done, and the inputs that show this were changed
		return &Question{Changed: changed, Failing: append(messages(pinned), messages(submitted)...), Optional: true, NoWorkDone: undone, OnlySteering: !counted(pinned) && !counted(submitted)}
	}
	if kind := questionKind(pinned, submitted); counted(submitted) && kind != notAsked {
		return &Question{Changed: changedFiles(k.Changes), Failing: messages(submitted), Optional: true, Kind: kind}
	}
	return nil
}

// reportInputs adds a ground for each changed input that says what became of it.
func (k *evaluation) reportInputs(trees []string, allowed bool, by string) {
	refused := k.refused()
	how := "and the check passes with and without that"
	switch {
	case allowed:
		how = "and the check judges by it: allowed by " + by
	case refused:
		how = "and the check judges by it"
	case k.check.Hidden:
		how = "and the check was run with it as it was"
	case !slices.Contains(trees, treePinned):
		how = "and the base has nothing that it could have weakened"
	}
	for _, c := range k.result.ChangedInputs {
		k.grounds = append(k.grounds, ground{code: CodeInputsChanged, subject: c.Path, note: !refused, message: fmt.Sprintf("%s was %s, %s", quotePath(c.Path), c.Status, how)})
	}
}

// notAsked marks a ground that no person can excuse. It shares its value with AskInputs, because questions about
// inputs come from comparing two runs and never from a single ground.
const notAsked = AskInputs

// questionKind returns the question to ask if every ground that counts is one that a person may excuse; else
// notAsked.
func questionKind(pinned, submitted []ground) AskKind {
	kind := notAsked
	for _, g := range slices.Concat(pinned, submitted) {
		switch {
		case g.note:
		case g.ask == notAsked:
			return notAsked
		default:
			kind = g.ask
		}
	}
	return kind
}

// programsNotRun returns a ground for each program of the tree that drove the check on the base and did not run now,
// though it still exists and the check passed. A make target that was made to look up to date is one way to achieve
// that.
func (k *evaluation) programsNotRun(tree string, ran RunResult) ([]ground, error) {
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
			out = append(out, ground{code: CodeUnrun, subject: p, ask: AskUnrun, message: fmt.Sprintf("%s ran on the base, and did not run now", quotePath(p))})
		}
	}
	return out, nil
}

// changedFiles lists the files that the patch changes.
func changedFiles(changes workspace.ChangeSet) []deed.ChangedInput {
	var out []deed.ChangedInput
	for _, c := range changes.Of(workspace.ClassTracked) {
		out = append(out, deed.ChangedInput{Path: workspace.TextPath(c.Path), Status: string(c.Status)})
	}
	return out
}

// onlyMissingTests reports whether nothing counts against a run except tests that vanished or are skipped, which may
// be what the task asks for.
func onlyMissingTests(list []ground) bool {
	return !slices.ContainsFunc(list, func(g ground) bool {
		return !g.note && g.code != CodeTestsVanished && g.code != CodeTestsNewlySkipped && g.code != CodeTestsShrank
	})
}

func nobody(by string) bool { return by == "" || strings.HasPrefix(by, "nobody") }

// needsPerson says why a person has to look, or that one looked and refused.
func needsPerson(q Question, by string) string {
	why, remedy := "holds only with what it judges by as the agent left it", ""
	switch {
	case q.Kind == AskUnfinished:
		why, remedy = "has some of the tests that failed together fixed, and not all", ", or say with --require-pass=false that the others are nobody's business here"
	case q.Kind == AskUnrun:
		why = "passes, and did not run all that it ran on the base"
	case q.OnlySteering:
		why = "passes with and without the change, which is of nothing but what steers it"
	}
	if nobody(by) {
		return why + ": a person has to look at that (run it at a terminal, or queue it with deed task add, which asks" + remedy + ")"
	}
	return why + ", and that was not allowed by " + by
}

// onlyInputs reports whether the change touches nothing but inputs of the check.
func (k *evaluation) onlyInputs() bool {
	if k.editsMore {
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

// steered reports whether the change touches what steers the check (a configuration, a script, a limit), not only its
// tests and what they share. A new workflow for a CI system steers nothing here, and neither does
// the configuration of a formatter.
func (k *evaluation) steered() bool {
	return slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool {
		name := workspace.FromTextPath(c.Path)
		if test := matchAny(testNames, name) || matchAny(testFiles, name) && !slices.Contains(k.base.Programs, name); test && !matchAny(steeringFiles, name) {
			return false // also one that the check runs as a program: python3 test_x.py
		}
		if k.check.Capability != runner.Lint && matchAny(formatFiles, name) {
			return false
		}
		return !slices.Contains(k.innerTests, name) && !(c.Status == string(workspace.Added) && matchAny(ciFiles, name))
	})
}

// messages returns the texts of the grounds that count, to show to a person.
func messages(list []ground) []string {
	var out []string
	for _, g := range list {
		if !g.note {
			out = append(out, g.message)
		}
	}
	return out
}

// notes turns grounds into mere notes.
func notes(list []ground) []ground {
	out := slices.Clone(list)
	for i := range out {
		out[i].note = true
	}
	return out
}

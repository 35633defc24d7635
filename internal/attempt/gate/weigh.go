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

// trees says which trees the check runs on, by its policy on changed inputs. What a person allowed is told, and what is gone
// with it does not count. A hidden check is run with all test support as it was, whatever the policy: it asks what the code does.
func (k *checking) trees(ctx context.Context) (trees []string, allowed bool, err error) {
	changed := k.result.ChangedInputs
	switch {
	case len(changed) == 0 && len(k.added) == 0, k.unrunnable():
		return []string{treeLeft}, false, nil
	case len(changed) == 0:
		return []string{treePinned, treeLeft}, false, nil
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

// unrunnable reports whether the task is about a base on which the check cannot be run: nothing there judges.
func (k *checking) unrunnable() bool {
	_, broken := CannotRun(k.check, k.base)
	return broken && k.Spec.AllowBrokenBase && k.check.OnChangedInputs == "" && !k.check.Hidden
}

// apart are the runners that give each file of tests a process, or a world, of its own.
var apart = []string{"node", "jest", "vitest", "ava", "tap", "bats", "cargo", "nextest"}

// newTests names the tests that the change adds and that could change what other tests see.
func (k *checking) newTests() []string {
	if k.check.Hidden || len(k.check.Inputs) > 0 || k.check.Capability != "" && k.check.Capability != runner.Test || k.base.untested() {
		return nil
	}
	if len(k.base.Runners) > 0 && !slices.ContainsFunc(k.base.Runners, func(r string) bool { return !slices.Contains(apart, r) }) {
		return nil
	}
	var out []string
	for _, c := range k.open().Of(workspace.ClassTracked) {
		if c.Status == workspace.Added && matchAny(testFiles, c.Path) && slices.Contains(codeEnds, path.Ext(c.Path)) && literal(c.Path) {
			out = append(out, c.Path)
		}
	}
	return out
}

// person asks whether the inputs may have been changed.
func (k *checking) person(ctx context.Context, q Question) (allowed bool, by string, err error) {
	if k.Ask == nil {
		return false, "nobody", nil
	}
	return k.Ask(ctx, k.check, q)
}

// weigh decides what the runs on the trees say together, and asks a person where they cannot say it.
func (k *checking) weigh(ctx context.Context, trees []string, found map[string][]ground) error {
	pinned, left := found[treePinned], found[treeLeft]
	_, both := found[treeLeft]
	q := k.question(both, pinned, left)
	allowed, by := false, ""
	if q != nil {
		var err error
		if allowed, by, err = k.person(ctx, *q); err != nil {
			return err
		}
	}
	if allowed {
		pinned, left = notes(pinned), notes(left)
		k.decided, k.result.Status = false, deed.CheckPassed
	}
	k.add(treePinned, pinned)
	k.add(treeLeft, left)
	if q != nil && !allowed && !(q.Undone && nobody(by)) {
		k.grounds = append(k.grounds, ground{code: CodeNeedsPerson, message: needsPerson(*q, by)})
	}
	if k.check.Policy() == deed.InputsRerunPinned {
		k.tellInputs(trees, allowed, by)
	}
	return nil
}

// question is what a person is asked; nil: the runs tell enough. Where the check passes as the agent left it and fails with its inputs
// as they were, no run can tell whether the change of the inputs is honest.
func (k *checking) question(both bool, pinned, left []ground) *Question {
	if k.refused() || k.Refused || k.check.OnChangedInputs != "" {
		return nil
	}
	changed, only := k.result.ChangedInputs, k.onlyInputs()
	if both && soft(left) && len(changed) > 0 && (counted(pinned) || counted(left) || only && k.steered()) {
		undone := only && k.base.Status == runner.StatusFailed && counted(pinned) // the work is not done, and what says so was changed
		return &Question{Changed: changed, Failing: append(messages(pinned), messages(left)...), Soft: true, Undone: undone, Steers: !counted(pinned) && !counted(left)}
	}
	if kind := doubt(pinned, left); counted(left) && kind != noDoubt {
		return &Question{Changed: changedFiles(k.Changes), Failing: messages(left), Soft: true, Kind: kind}
	}
	return nil
}

// tellInputs says of each changed input what became of it.
func (k *checking) tellInputs(trees []string, allowed bool, by string) {
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

// noDoubt is the kind of a ground that stands as it is. Inputs are asked about for what two runs say together, and not for a ground.
const noDoubt = AskInputs

// doubt is what a person has to be asked about, where nothing stands against the work but what a run cannot judge.
func doubt(pinned, left []ground) AskKind {
	kind := noDoubt
	for _, g := range slices.Concat(pinned, left) {
		switch {
		case g.note:
		case g.doubt == noDoubt:
			return noDoubt
		default:
			kind = g.doubt
		}
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

// needsPerson says why a person has to look, or that one did.
func needsPerson(q Question, by string) string {
	why, remedy := "holds only with what it judges by as the agent left it", ""
	switch {
	case q.Kind == AskUnfinished:
		why, remedy = "has some of the tests that failed together fixed, and not all", ", or say with --require-pass=false that the others are nobody's business here"
	case q.Kind == AskUnrun:
		why = "passes, and did not run all that it ran on the base"
	case q.Steers:
		why = "passes with and without the change, which is of nothing but what steers it"
	}
	if nobody(by) {
		return why + ": a person has to look at that (run it at a terminal, or queue it with deed task add, which asks" + remedy + ")"
	}
	return why + ", and that was not allowed by " + by
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
// limit. A new workflow of a build machine steers nothing here, and how sources are formatted steers no tests.
func (k *checking) steered() bool {
	return slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool {
		name := workspace.FromTextPath(c.Path)
		if matchAny(testFiles, name) && !matchAny(steers, name) && !slices.Contains(k.base.Programs, name) {
			return false
		}
		if k.check.Capability != runner.Lint && matchAny(formatFiles, name) {
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

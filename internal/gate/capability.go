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
	"github.com/deedrun/deed/internal/helper"
	"github.com/deedrun/deed/internal/workspace"
)

// Capabilities runs checks by capability for a decision.
type Capabilities interface {
	// Run runs the capability of a check on room/tree, by a runner that the change has no part in. A room may be run in
	// twice; what the first run left beside the tree, such as caches, may then be used.
	Run(ctx context.Context, c deed.Check, room string) Ran
	// Base returns what a check gave on this base before, and KeepBase keeps it. A record that somebody else may have
	// written is none.
	Base(ctx context.Context, c deed.Check) (BaseRun, bool)
	KeepBase(ctx context.Context, c deed.Check, b BaseRun)
	// Adopt may keep what runs left beside the tree of a room, such as caches: nothing but the base was run in it.
	Adopt(room string)
	// Files are files of the tree that the runner of a check itself consists of, such as the script that a component's own
	// command names.
	Files(c deed.Check) []string
	// Keep puts a report into the evidence and returns its path there. kind is "", "base" or "pinned".
	Keep(check int, kind string, r *runner.Report) (string, error)
}

// A Ran is one run of a check.
type Ran struct {
	Result deed.CheckResult // of a capability without a report its status is not passed
	Report *runner.Report   // of a capability
	Ended  error            // the limit that it was ended for; nil: it ended by itself
}

// A BaseRun is what a capability gave on the base.
type BaseRun struct {
	Status   string         `json:"status"`
	Report   *runner.Report `json:"report"`
	Sites    []string       `json:"sites,omitempty"`    // where a witness is seen to pass
	Control  bool           `json:"control,omitempty"`  // it is seen to fail there as well, and the other tests run all the same
	Unstable []string       `json:"unstable,omitempty"` // tests that two runs do not agree on
}

// comparable reports whether a run tells something that a later one can be held against.
func (b BaseRun) comparable() bool {
	return b.Report != nil && (b.Report.Status == runner.StatusPassed || b.Report.Status == runner.StatusFailed)
}

// untested reports whether the base is known to have no tests. One whose tests could not be run, since it does not
// compile, say, has some: what an edit takes from them is not seen by holding the change against the base.
func (b BaseRun) untested() bool {
	switch {
	case b.Report == nil:
		return false
	case b.comparable():
		c := counts(b.Report)
		return c == nil || c.Total == 0
	case b.Report.Status == runner.StatusSkipped:
		return true
	}
	f := b.Report.Failure
	return f != nil && (f.Mode == helper.ModeNoTestFiles || f.Mode == helper.ModeZeroTests)
}

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

	pinned  *runner.Report // of the change with the inputs of the check as they were, once that has been run
	result  deed.CheckResult
	grounds []ground
	decided bool // a run did not pass: what it left is the result's
	rooms   []string
}

func unrun(c deed.Check) deed.CheckResult {
	return deed.CheckResult{Name: CheckName(c), Command: Argv(c), Status: deed.CheckError, ExitCode: -1, Capability: c.Capability, Hidden: c.Hidden, Advisory: c.Advisory}
}

// check runs one check on every tree that it needs and adds what follows.
func (v *verdict) check(ctx context.Context, in Input, i int, c deed.Check) (err error) {
	k := &checking{Input: in, check: c, index: i, result: unrun(c)}
	defer func() {
		for _, r := range k.rooms {
			err = errors.Join(err, workspace.Remove(r))
		}
	}()
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
	if k.check.Capability != "" && k.Capabilities == nil {
		k.against(CodeCheckError, "", "could not be run: nothing here runs capabilities")
		return nil
	}
	if k.check.Capability != "" {
		if err := k.runBase(ctx); err != nil {
			return err
		}
	}
	var err error
	if k.result.ChangedInputs, err = changedInputs(k.check, k.inputs(), k.Changes, func(path string) (bool, error) { return redirected(k.Patch, path) }); err != nil {
		return err
	}
	trees, allowed, err := k.trees(ctx)
	if err != nil {
		return err
	}
	k.result.Status = deed.CheckPassed
	for _, tree := range trees {
		if err := k.on(ctx, tree, allowed); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if !k.refused() {
		if err := k.control(ctx); err != nil {
			return err
		}
	}
	k.judgeInputs(trees)
	return nil
}

func (k *checking) refused() bool { return counted(k.grounds) }

func (k *checking) against(code, subject, format string, a ...any) {
	k.grounds = append(k.grounds, ground{code: code, subject: subject, message: fmt.Sprintf(format, a...)})
}

// trees says which trees the check runs on, by its policy on changed inputs. What a person allowed is told, and what is gone
// with it does not count.
func (k *checking) trees(ctx context.Context) (trees []string, allowed bool, err error) {
	changed := k.result.ChangedInputs
	if len(changed) == 0 {
		return []string{treeLeft}, false, nil
	}
	switch k.check.Policy() {
	case deed.InputsRefuse:
		for _, c := range changed {
			k.against(CodeInputsChanged, c.Path, "%s was %s, and the check judges by it", quotePath(c.Path), c.Status)
		}
		return []string{treePinned}, false, nil
	case deed.InputsAsk:
		by := "nobody"
		if k.Ask != nil {
			if allowed, by, err = k.Ask(ctx, k.check, changed); err != nil {
				return nil, false, err
			}
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

// judgeInputs tells which inputs were changed where the policy is to run twice: against the work when the check does not
// bear it, else for whoever reviews it.
func (k *checking) judgeInputs(trees []string) {
	if len(k.result.ChangedInputs) == 0 || k.check.Policy() != deed.InputsRerunPinned {
		return
	}
	refused, how := k.refused(), "and the check passes with and without that"
	switch {
	case refused:
		how = "and the check judges by it"
	case !slices.Contains(trees, treePinned):
		how = "and the base has nothing that it could have weakened"
	}
	for _, c := range k.result.ChangedInputs {
		k.grounds = append(k.grounds, ground{code: CodeInputsChanged, subject: c.Path, note: !refused, message: fmt.Sprintf("%s was %s, %s", quotePath(c.Path), c.Status, how)})
	}
}

// on runs the check on one tree of base and patch and holds it against the base.
func (k *checking) on(ctx context.Context, tree string, allowed bool) error {
	room, err := k.room(ctx, tree, k.pins(tree))
	if err != nil {
		return err
	}
	if k.check.Capability == "" {
		ran := k.RunCheck(ctx, k.check, room)
		k.take(tree, ran.Result, ended(ran))
		return nil
	}
	ws, err := plant(filepath.Join(room, TreeDir), k.base.Sites, false)
	if err != nil {
		return err
	}
	ran := k.Capabilities.Run(ctx, k.check, room)
	seen := testify(ran.Report, ws, runner.CasePassed)
	if err := k.keep(tree, ran); err != nil {
		return err
	}
	r := ran.Result
	if ran.Report == nil || r.Status == deed.CheckTimeout {
		k.take(tree, r, ended(ran))
		return nil
	}
	unstable := map[string]bool{}
	for _, id := range k.base.Unstable {
		unstable[id] = true
	}
	comparison, grounds := compare(comparer{check: k.check, base: k.base.Report, pinned: k.pinned, after: ran.Report, unstable: unstable, allowed: allowed})
	if tree == treePinned {
		k.pinned = ran.Report
	}
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
	k.take(tree, r, grounds)
	return nil
}

// take takes over how a run ended. That of the first that did not pass stays.
func (k *checking) take(tree string, r deed.CheckResult, grounds []ground) {
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
	k.add(tree, grounds)
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
func (k *checking) control(ctx context.Context) error {
	if !k.base.Control || k.result.Witnesses == 0 {
		return nil
	}
	_, ws, seen, err := k.fail(ctx, treeLeft, k.pins(treeLeft))
	if err != nil || ctx.Err() != nil {
		return err
	}
	if len(seen) < len(ws) {
		k.grounds = append(k.grounds, unseen(ws, seen, "reported as failed where it fails"))
	}
	return nil
}

// fail makes the tree of a room anew, with witnesses that fail, and runs the check on it.
func (k *checking) fail(ctx context.Context, tree string, pins []string) (Ran, []witness, []string, error) {
	room := k.roomPath(tree)
	at := filepath.Join(room, TreeDir)
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
	ran := k.Capabilities.Run(ctx, k.check, room)
	if ctx.Err() != nil {
		k.take(tree, ran.Result, nil)
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
	at, err := k.Capabilities.Keep(k.index, tree, ran.Report)
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
	if k.check.Capability == "" || len(k.check.Inputs) > 0 {
		return globs
	}
	return slices.Concat(globs, slices.DeleteFunc(slices.Clone(k.Capabilities.Files(k.check)), func(p string) bool { return strings.ContainsAny(p, `*?[]{}\`) }))
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
	if err := os.Mkdir(room, 0o700); err != nil {
		return "", fmt.Errorf("make the clean room: %w", err)
	}
	k.rooms = append(k.rooms, room)
	return room, k.fill(ctx, tree, pins, filepath.Join(room, TreeDir))
}

func (k *checking) fill(ctx context.Context, tree string, pins []string, at string) error {
	patch := k.Patch
	if tree == treeBase {
		patch = ""
	}
	base, err := k.Base.Dir()
	if err != nil {
		return err
	}
	if err := workspace.CleanRoom(ctx, base, k.Manifest, patch, pins, at); err != nil {
		return err
	}
	return overlay(ctx, k.check, at)
}

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

// runBase finds out what the capability gives on the base, which no agent has touched, and whether witnesses are seen there.
func (k *checking) runBase(ctx context.Context) error {
	b, ok := k.Capabilities.Base(ctx, k.check)
	if !ok {
		var err error
		if b, err = k.measure(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		if !k.check.Hidden && k.check.Files == "" { // what a hidden check compiled is hidden too
			k.Capabilities.Adopt(k.roomPath(treeBase))
		}
		if b.Report != nil && b.Report.Status != runner.StatusError {
			k.Capabilities.KeepBase(ctx, k.check, b)
		}
	}
	k.base = b
	k.result.BaseStatus, k.result.BaseCached = b.Status, ok
	return k.keep(treeBase, Ran{Report: b.Report})
}

func (k *checking) measure(ctx context.Context) (BaseRun, error) {
	var places []string
	if k.check.Capability == runner.Test {
		places = sites(k.Manifest)
	}
	// A witness that is not seen may stand in the way of the tests beside it: then it is left out.
	for try := 0; ; try++ {
		if try > 0 {
			if err := workspace.Remove(k.roomPath(treeBase)); err != nil {
				return BaseRun{}, err
			}
		}
		room, err := k.room(ctx, treeBase, nil)
		if err != nil {
			return BaseRun{}, err
		}
		ws, err := plant(filepath.Join(room, TreeDir), places, false)
		if err != nil {
			return BaseRun{}, err
		}
		ran := k.Capabilities.Run(ctx, k.check, room)
		seen := testify(ran.Report, ws, runner.CasePassed)
		if ctx.Err() != nil {
			k.take(treeBase, ran.Result, nil)
			return BaseRun{}, context.Cause(ctx)
		}
		if len(seen) < len(places) {
			if places = seen; try > 0 {
				places = nil
			}
			continue
		}
		b := BaseRun{Status: ran.Result.Status, Report: ran.Report, Sites: places}
		if ran.Report != nil {
			b.Status = ran.Report.Status
		}
		if len(places) == 0 {
			return b, nil
		}
		k.base = b
		control, ws, failed, err := k.fail(ctx, treeBase, nil)
		if err != nil {
			return BaseRun{}, err
		}
		// A runner that stops at the first failure shows less of the others than the run before it: nothing can be told from
		// that.
		if len(failed) == len(ws) && control.Report != nil && len(control.Report.TestCases) >= len(b.Report.TestCases) {
			b.Control, b.Unstable = true, disagree(b.Report, control.Report)
		}
		return b, nil
	}
}

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
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// witnessGround names the witnesses that were not reported as they had to be.
func witnessGround(ws []witness, seen []string, as string) ground {
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

// control runs the tests once more with witnesses that fail. A runner that reports those as passed would report
// anything as passed.
func (k *evaluation) control(ctx context.Context) ([]ground, error) {
	if !k.base.Control || k.result.Witnesses == 0 {
		return nil, nil
	}
	ran, ws, seen, err := k.runFailing(ctx, treeSubmitted, k.pins(treeSubmitted))
	switch {
	case err != nil || ctx.Err() != nil:
		return nil, err
	case len(seen) < len(ws):
		return []ground{witnessGround(ws, seen, "reported as failed where it fails")}, nil
	case k.base.Reacts && len(ws) > 0 && k.check.Capability == "" && ran.Result.Status == deed.CheckPassed:
		return []ground{{code: CodeWitness, message: "cannot be believed: it ends well also when deed's own test fails, which it did not on the base"}}, nil
	}
	return nil, nil
}

// runFailing creates the tree of a room again, with witnesses that fail, and runs the check on it.
func (k *evaluation) runFailing(ctx context.Context, tree string, pins []string) (RunResult, []witness, []string, error) {
	room := k.roomPath(tree)
	at := Tree(room)
	if err := workspace.Remove(at); err != nil {
		return RunResult{}, nil, nil, err
	}
	if err := k.fill(ctx, tree, pins, at); err != nil {
		return RunResult{}, nil, nil, err
	}
	ws, err := plant(at, k.base.Sites, true)
	if err != nil {
		return RunResult{}, nil, nil, err
	}
	ran := k.Runner.Run(ctx, k.check, room, tree == treeBase)
	if ctx.Err() != nil {
		k.mergeResult(ran.Result, nil)
		return ran, ws, nil, context.Cause(ctx)
	}
	k.result.DurationMS += ran.Result.DurationMS
	return ran, ws, takeWitnesses(ran.Report, ws, runner.CaseFailed), nil
}

// keep adds a report to the evidence.
func (k *evaluation) keep(tree string, ran RunResult) error {
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

// inputs returns the globs of the check's inputs. Unless the check names them itself, this includes the files of its
// runner.
func (k *evaluation) inputs() []string {
	globs := Inputs(k.check)
	if len(k.check.Inputs) > 0 {
		return globs
	}
	files := slices.Concat(k.Runner.Files(k.check), k.base.Programs)
	for _, p := range k.base.Programs { // and configuration of the same name: lint.json next to lint.js
		globs = append(globs, strings.TrimSuffix(p, path.Ext(p))+".json", strings.TrimSuffix(p, path.Ext(p))+".y*ml", strings.TrimSuffix(p, path.Ext(p))+".toml")
	}
	return slices.Concat(globs, k.supportFiles, slices.DeleteFunc(files, func(p string) bool { return !literal(p) }))
}

// pins returns the globs of the files that a tree takes from the base.
func (k *evaluation) pins(tree string) []string {
	if tree != treePinned {
		return k.Spec.ProtectedPaths
	}
	if len(k.result.ChangedInputs) == 0 {
		return slices.Concat(k.Spec.ProtectedPaths, k.addedTests) // the tree without the new tests
	}
	pins := slices.Concat(k.Spec.ProtectedPaths, k.inputs())
	if slices.ContainsFunc(k.result.ChangedInputs, func(c deed.ChangedInput) bool { return path.Base(c.Path) == moduleFile }) {
		pins = append(pins, "**/"+moduleFile)
	}
	return pins
}

func (k *evaluation) roomPath(tree string) string {
	name := strconv.Itoa(k.index)
	if tree != treeSubmitted {
		name += "-" + tree
	}
	return filepath.Join(k.Rooms, name)
}

// makeRoom creates a room with one of the trees.
func (k *evaluation) makeRoom(ctx context.Context, tree string, pins []string) (string, error) {
	room := k.roomPath(tree)
	if !slices.Contains(k.rooms, room) {
		if err := errors.Join(os.Mkdir(room, 0o700), os.Mkdir(filepath.Join(room, treeDir), 0o700)); err != nil {
			return "", fmt.Errorf("make the clean room: %w", err)
		}
		k.rooms = append(k.rooms, room)
	}
	return room, k.fill(ctx, tree, pins, Tree(room))
}

func (k *evaluation) fill(ctx context.Context, tree string, pins []string, at string) error {
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
		if err := k.restoreInnerTests(at); err != nil {
			return err
		}
	}
	return overlay(ctx, k.check, at)
}

// errPatch: the patch is not the one that was proven.
var errPatch = errors.New("the patch was changed after it was proven")

// errFiles: the files that a hidden check brings are not those that were admitted.
var errFiles = errors.New("the files of a check are not those that were pinned when the task was admitted")

// overlay copies the files of a hidden check over the tree.
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

package gate

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A check runs the agent's code before its tests and next to them: a build step, a module that is loaded early. Such code can edit a
// test while it waits to run. So the tests of the base are compared with what a run left of them. A run that rewrites one that
// the base's own run leaves alone is not believed.

// rewritten returns a ground for the tests that a run on a tree changed or removed.
func (k *evaluation) rewritten(ctx context.Context, tree string) ([]ground, error) {
	if k.check.Capability != "" && k.check.Capability != runner.Test {
		return nil, nil
	}
	pins := k.pins(tree)
	changed := map[string]bool{} // by the agent; a file that the tree takes from the base is there as it was
	for _, c := range k.Changes.Changes {
		changed[c.Path] = !matchAny(pins, c.Path)
	}
	names, err := k.differing(k.roomPath(tree), func(name string) bool { return !changed[name] })
	if err != nil || len(names) == 0 {
		return nil, err
	}
	// Tests that write themselves, such as inline snapshots, do so on the base as well.
	if _, _, err := k.runOnBase(ctx, nil); err != nil {
		return nil, err
	}
	usual, err := k.differing(k.roomPath(treeBase), func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		return nil, err
	}
	var out []ground
	for _, name := range names {
		if !slices.Contains(usual, name) {
			at := workspace.TextPath(name)
			out = append(out, ground{code: CodeInputsChanged, subject: at, message: at + " was rewritten while the check ran, and the check judges by it"})
		}
	}
	return out, nil
}

// differing lists the tests of the base that are in a room with other content, or not at all. Files that a hidden check
// brings stand in the place of those of the base.
func (k *evaluation) differing(room string, asked func(name string) bool) ([]string, error) {
	root, err := os.OpenRoot(Tree(room))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []string
	for _, e := range k.Manifest.Entries {
		if e.Kind != workspace.KindFile || e.Unreadable || !matchAny(testNames, e.Path) || !asked(e.Path) || k.overlaid(e.Path) {
			continue
		}
		if !sameContent(root, e) {
			out = append(out, e.Path)
		}
	}
	return out, nil
}

// overlaid reports whether a hidden check brings a file of its own for a path.
func (k *evaluation) overlaid(name string) bool {
	if k.check.Files == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(k.check.Files, filepath.FromSlash(name)))
	return err == nil
}

// sameContent reports whether a file in a room is the file of an entry. What cannot be read any more is not.
func sameContent(root *os.Root, e workspace.Entry) bool {
	name := filepath.FromSlash(e.Path)
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() || st.Size() != e.Size {
		return false
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	sum, err := hash(f)
	return err == nil && workspace.Hash(sum) == e.SHA256
}

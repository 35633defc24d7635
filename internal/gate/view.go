package gate

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/workspace"
)

// A View is the world as the agent sees it. The paths of a claim are understood in it, as whoever wrote them had it before his eyes, and
// by their letters alone: a link is the agent's to make, and must not decide on what a claim means.
type View struct {
	Start     string           // the directory that it starts in, absolute; "": the top of the tree
	Parts     workspace.Layout // where it sees the parts of the tree
	Artifacts string           // where it sees the directory of artifacts; "": as deed does
}

// readings are the files of the tree that a path in a claim can stand for, the likeliest first: an absolute path for what is seen there, a
// relative one for what is seen from where the agent starts, else for a path from the top of the tree, which is how the patch has it.
func (w View) readings(said string) []string {
	said = strings.TrimSpace(said)
	var out []string
	add := func(tree string, ok bool) {
		if ok && tree != "" && tree != "." {
			out = append(out, tree)
		}
	}
	switch {
	case said == "":
	case path.IsAbs(said):
		add(w.Parts.Find(path.Clean(said)))
	default:
		if w.Start != "" {
			add(w.Parts.Find(path.Join(w.Start, said)))
		}
		tree := path.Clean(said)
		add(tree, filepath.IsLocal(tree))
	}
	return out
}

// changed are the files that changed, also those that no patch carries.
func (in Input) changed() map[string]bool {
	out := map[string]bool{}
	for _, c := range in.Changes.Changes {
		if c.Class != workspace.ClassGit {
			out[c.Path] = true
		}
	}
	return out
}

// named is the path in the tree that a claim is about: the first of its readings that changed, else the first that was there before, else the
// first. A claim of something that is not in the tree stays as the agent wrote it, and is no path of the tree.
func (in Input) named(said string, changed map[string]bool) string {
	list := in.View.readings(said)
	for _, p := range list {
		if changed[p] {
			return p
		}
	}
	for _, p := range list {
		if in.Manifest.Find(p) != nil {
			return p
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return said
}

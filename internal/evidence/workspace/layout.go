package workspace

import (
	"errors"
	"path"
	"strings"
)

// A Mount is the place of one part of a tree, in the tree and as the agent sees it.
type Mount struct {
	Index  int    `json:"index"`          // among all mounts of the request
	Target string `json:"target"`         // absolute, inside
	Tree   string `json:"tree,omitempty"` // slash-separated path in the tree; "" for the tree's root
	File   bool   `json:"file,omitempty"` // the part is one file
}

// A Layout maps the paths of a tree to mounts. The zero Layout knows none.
type Layout struct {
	Mounts []Mount `json:"mounts"`
}

// A Place is a path of a tree as a changed-files document names it. Path is always the target, a slash and the
// relative path.
type Place struct {
	Path         string
	RelativePath string
	MountIndex   int
	MountTarget  string
}

// Locate finds the mount that a path of the tree belongs to. ok is false for a path outside of all mounts, which an
// agent can only have made where nothing confines it to them; it is then named from the root, with no mount's index
// (-1).
//
// The mount of a single file is named by the directory that the file is in, so that a path is composed in one way.
func (l Layout) Locate(treePath string) (p Place, ok bool) {
	for _, m := range l.Mounts {
		switch {
		case m.File && treePath == m.Tree:
			dir, name := path.Split(m.Target)
			return place(path.Clean(dir), name, m.Index), true
		case m.File:
		case m.Tree == "":
			return place(m.Target, treePath, m.Index), true
		case strings.HasPrefix(treePath, m.Tree+"/"):
			return place(m.Target, treePath[len(m.Tree)+1:], m.Index), true
		}
	}
	return place("/", treePath, -1), false
}

// Find is the inverse: the path in the tree of what is seen at an absolute path, "" for the whole tree. It compares the text of the path
// only, so that no link leads it elsewhere. ok is false outside of all mounts.
func (l Layout) Find(seen string) (treePath string, ok bool) {
	best := -1
	for _, m := range l.Mounts {
		rest, below := strings.CutPrefix(seen, strings.TrimSuffix(m.Target, "/")+"/")
		switch {
		case len(m.Target) <= best:
		case seen == m.Target:
			treePath, best = m.Tree, len(m.Target)
		case below && !m.File:
			treePath, best = path.Join(m.Tree, rest), len(m.Target)
		}
	}
	return treePath, best >= 0
}

func place(target, rel string, index int) Place {
	rel = TextPath(rel)
	return Place{Path: strings.TrimSuffix(target, "/") + "/" + rel, RelativePath: rel, MountIndex: index, MountTarget: target}
}

// CleanTarget normalises the spelling of a mount's target: absolute, slashes only and no two in a row. A target that
// is relative, is the root itself, has a "." or ".." component or one that git reserves is refused.
func CleanTarget(target string) (string, error) {
	t := strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(t, "/") {
		return "", errors.New("is not absolute")
	}
	var parts []string
	for c := range strings.SplitSeq(t, "/") {
		switch {
		case c == "":
			continue
		case c == "." || c == "..":
			return "", errors.New("has a " + c + " component")
		case strings.IndexByte(c, 0) >= 0:
			return "", errors.New("has a NUL byte")
		case reservedByGit(c, KindDir):
			return "", errors.New("has the component " + quotePath(c) + ", which git keeps for itself")
		}
		parts = append(parts, c)
	}
	if len(parts) == 0 {
		return "", errors.New("is the root")
	}
	return "/" + strings.Join(parts, "/"), nil
}

package gate

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A View is the file system as the agent sees it. Paths in a claim are resolved in it, because the agent wrote what
// it saw. They are resolved by their text alone: the agent can create links, and those must not decide what a claim
// means.
type View struct {
	Start     string           // the directory that it starts in, absolute; "": the root of the tree
	Parts     workspace.Layout // where it sees the parts of the tree
	Artifacts string           // where it sees the directory of artifacts; "": at deed's own path
}

// readings returns the files of the tree that a path in a claim can mean, the likeliest first: the path as written,
// then decoded from the form in which documents write a file name that is not text.
func (w View) readings(said string) []string {
	out := w.places(said)
	if isProjectFile := workspace.FromTextPath(said); isProjectFile != said {
		out = append(out, w.places(isProjectFile)...)
	}
	return out
}

// places returns the files of the tree that a path can mean. An absolute path is looked up in what the agent sees. A
// relative one is resolved from where the agent starts, then from the root of the tree, which is how the patch has
// it.
func (w View) places(said string) []string {
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

// changed returns the files that changed, including those that no patch carries.
func (in Input) changed() map[string]bool {
	out := map[string]bool{}
	for _, c := range in.Changes.Changes {
		if c.Class != workspace.ClassGit {
			out[c.Path] = true
		}
	}
	return out
}

// named returns the paths in the tree that a list of claims is about. Each claim is about one file: the first of its
// readings that changed and that no other claim is about. Claims with only one possible file are settled first, so
// that the order of the list does not matter. Where the others compete, as many files as possible are named. Claims
// with the same readings are one claim.
//
// A claim without a changed reading is about the first reading that the base has, else about the first. A claim about
// something outside the tree stays as the agent wrote it, and is no path of the tree.
func (in Input) named(claims []string, changed map[string]bool) map[string]bool {
	out := map[string]bool{}
	open := map[string][]string{} // claims that can be about several files, by those files
	for _, said := range claims {
		p, list := in.read(said, changed)
		if len(list) > 1 {
			open[strings.Join(list, "\x00")] = list
		} else {
			out[p] = true
		}
	}
	m := pairing{open: open, fixed: maps.Clone(out), by: map[string]string{}}
	for _, key := range sorted(open) {
		m.seen = map[string]bool{}
		m.find(key)
	}
	for p := range m.by {
		out[p] = true
	}
	return out
}

// read returns what one claim is about by itself, and all changed files that it can be about. Surrounding space is
// part of a path, unless no such file exists or existed.
func (in Input) read(said string, changed map[string]bool) (string, []string) {
	first := ""
	for _, text := range []string{said, strings.TrimSpace(said)} {
		list := in.View.readings(text)
		var did []string
		for _, p := range list {
			if changed[p] && !slices.Contains(did, p) {
				did = append(did, p)
			}
		}
		if len(did) > 0 {
			return did[0], did
		}
		for _, p := range list {
			if in.Manifest.Find(p) != nil {
				return p, nil
			}
		}
		if first == "" && len(list) > 0 {
			first = list[0]
		}
	}
	return cmp.Or(first, said), nil
}

// A pairing assigns a file to each claim that can be about several.
type pairing struct {
	open  map[string][]string
	fixed map[string]bool   // files that another claim is about in any case
	by    map[string]string // the claim that a file is assigned to
	seen  map[string]bool   // files that were tried for the current claim
}

// find assigns a file to a claim. If needed, it moves another claim to its next file.
func (m *pairing) find(key string) bool {
	for _, p := range m.open[key] {
		if m.fixed[p] || m.seen[p] {
			continue
		}
		m.seen[p] = true
		if by, taken := m.by[p]; !taken || m.find(by) {
			m.by[p] = key
			return true
		}
	}
	return false
}

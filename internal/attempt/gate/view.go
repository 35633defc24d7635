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

// A View is the world as the agent sees it. The paths of a claim are understood in it, as whoever wrote them had it before his eyes, and
// by their letters alone: a link is the agent's to make, and must not decide on what a claim means.
type View struct {
	Start     string           // the directory that it starts in, absolute; "": the top of the tree
	Parts     workspace.Layout // where it sees the parts of the tree
	Artifacts string           // where it sees the directory of artifacts; "": as deed does
}

// readings are the files of the tree that a path in a claim can stand for, the likeliest first: as it is written, then as documents name a
// file that is not text.
func (w View) readings(said string) []string {
	out := w.places(said)
	if own := workspace.FromTextPath(said); own != said {
		out = append(out, w.places(own)...)
	}
	return out
}

// places are the files of the tree that a path can stand for: an absolute one for what is seen there, a relative one for what is seen from
// where the agent starts, else for a path from the top of the tree, which is how the patch has it.
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

// named are the paths in the tree that claims are about, all of them together. A claim is about one file: the first of its readings that
// changed and that no other claim is about. Those that can be about one file only come first, so that the order of the list says nothing;
// where the others contend, as many files are named as there can be. Claims that can be read alike are one claim.
//
// A claim without a reading that changed is about the first that was there before, else about the first. One of something that is not in the
// tree stays as the agent wrote it, and is no path of the tree.
func (in Input) named(claims []string, changed map[string]bool) map[string]bool {
	out := map[string]bool{}
	open := map[string][]string{} // claims that can be about several files, by what they are about
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

// read returns what one claim is about by itself, and all files that changed and that it can be about. Space around a path counts, unless
// nothing is, or was, called so.
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

// A pairing finds a file for each claim that can be about several.
type pairing struct {
	open  map[string][]string
	fixed map[string]bool   // files that a claim is about in any case
	by    map[string]string // the claim that is about a file
	seen  map[string]bool   // files that were tried for the claim at hand
}

// find finds a file for a claim, if need be by having another claim take its next.
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

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/failure"
)

// ModeReadwrite is the one mode of a part: read-only parts are mounted where they are, or where Seed put them, and
// never enter the tree that is compared.
const ModeReadwrite = "readwrite"

// A Part is one of the directories that an agent works in.
type Part struct {
	Source
	Target     string // absolute, where the agent sees it
	Index      int    // its place among all mounts of the request, read-only ones included
	Mode       string // "" or ModeReadwrite
	SourceMode string // repo-backed or site-backed; recorded only
}

// A SeededPart is one part as it was seeded.
type SeededPart struct {
	Mount
	Seeded
	SourceMode string `json:"source_mode,omitempty"`
}

// A SeededTree is what SeedAll made.
type SeededTree struct {
	Parts  []SeededPart `json:"parts"`
	Layout Layout       `json:"layout"`
}

// Method is how the files of the parts got there: MethodCopy as soon as one of them was copied, or two got there in different ways.
func (t SeededTree) Method() Method {
	var m Method
	for i := range t.Parts {
		m = m.and(t.Parts[i].Method)
	}
	return m
}

// CheckParts reports every fault of a list of parts that can be found without looking at the disk, with paths such as
// $[1].target: an unclean target, two parts on one target or one inside another, and sources that contradict
// themselves.
func CheckParts(parts []Part) error {
	_, err := layOut(parts)
	return err
}

// layOut gives each part its place. A sole part is the root of the tree, with the history of its repository. Several
// parts are put at their targets below the root, so that no path of one can be taken for a path of another.
func layOut(parts []Part) (Layout, error) {
	var l fault.List
	out := Layout{Mounts: make([]Mount, 0, len(parts))}
	for i := range parts {
		p, at := &parts[i], fault.Index(fault.Root, i)
		if p.Mode != "" && p.Mode != ModeReadwrite {
			l.Add(at+".mode", fault.NotAllowed, fmt.Sprintf("%q is not %s", p.Mode, ModeReadwrite), "mount what is only read beside the tree")
		}
		if err := p.check(); err != nil {
			l.Add(at+".seed", fault.BadFormat, err.Error(), "")
		}
		target, err := CleanTarget(p.Target)
		if err != nil {
			l.Add(at+".target", fault.BadFormat, fmt.Sprintf("%q %v", shorten(p.Target), err), "give an absolute path without . or ..")
		}
		m := Mount{Index: p.Index, Target: target, File: p.Kind == SourceFile}
		switch {
		case len(parts) > 1:
			m.Tree = strings.TrimPrefix(target, "/")
		case m.File:
			m.Tree = path.Base(target)
		}
		for j, o := range out.Mounts {
			switch {
			case target == "" || o.Target == "":
			case target == o.Target:
				l.Add(at+".target", fault.Duplicate, fmt.Sprintf("%q is the target of [%d] too", target, j), "give each part a target of its own")
			case Within(target, o.Target) || Within(o.Target, target):
				l.Add(at+".target", fault.Conflict, fmt.Sprintf("%q and %q of [%d] lie in one another", target, o.Target, j), "give each part a place of its own")
			}
		}
		out.Mounts = append(out.Mounts, m)
	}
	return out, l.Err()
}

// SeedAll makes one tree at base, which must be absent or empty, of any number of parts; of none it is empty. The
// sources are left untouched. Manifests, change sets, patches and clean rooms see one tree, and the layout says which
// of its paths belongs to which mount.
//
// Faults of the parts are fault.Faults, of class failure.Config, all at once; an unusable source is ErrSource. On any
// error base is removed.
func SeedAll(ctx context.Context, parts []Part, base string) (SeededTree, error) {
	return seedParts(ctx, parts, base, nil)
}

func seedParts(ctx context.Context, parts []Part, base string, wrote *written) (t SeededTree, err error) {
	t.Layout, err = layOut(parts)
	if err != nil {
		return SeededTree{}, failure.New(failure.Config, "seed workspaces", err, "")
	}
	if len(parts) == 1 && !t.Layout.Mounts[0].File {
		s, err := seedOne(ctx, parts[0].Source, base, wrote)
		if err != nil {
			return SeededTree{}, err
		}
		t.add(0, parts, s)
		return t, nil
	}
	// The content of base belongs to the caller until it is known to be empty.
	if err := prepare(base); err != nil {
		return SeededTree{}, fmt.Errorf("seed workspaces: %w", err)
	}
	defer func() {
		if err != nil {
			t, err = SeededTree{}, errors.Join(err, Remove(base))
		}
	}()
	for i := range parts {
		s, err := seedBelow(ctx, parts[i].Source, base, t.Layout.Mounts[i].Tree, wrote)
		if err != nil {
			return t, fmt.Errorf("part %d at %s: %w", i, quotePath(parts[i].Target), err)
		}
		t.add(i, parts, s)
	}
	return t, nil
}

func (t *SeededTree) add(i int, parts []Part, s Seeded) {
	t.Parts = append(t.Parts, SeededPart{Mount: t.Layout.Mounts[i], Seeded: s, SourceMode: parts[i].SourceMode})
}

// seedBelow seeds one of several parts. A repository would be one inside another there: its history stays behind.
func seedBelow(ctx context.Context, src Source, base, tree string, wrote *written) (Seeded, error) {
	dst := filepath.Join(base, filepath.FromSlash(tree))
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return Seeded{}, err
	}
	s, err := seedOne(ctx, src, dst, wrote)
	if err != nil {
		return s, err
	}
	repo := filepath.Join(dst, ".git")
	if _, err := os.Lstat(repo); errors.Is(err, fs.ErrNotExist) || s.Kind == SourceFile {
		return s, nil
	}
	if err := Remove(repo); err != nil {
		return Seeded{}, err
	}
	s.Head = ""
	s.Notes = slices.DeleteFunc(s.Notes, func(n Note) bool { return n.Code == NoteHistory })
	s.Notes = sortNotes(append(s.Notes, Note{".git", NoteNestedRepository, "its files are copied, its history is not: the tree has several parts"}))
	return s, nil
}

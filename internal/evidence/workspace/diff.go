package workspace

import (
	"context"
	"sort"
	"strings"
)

// Capture records what a workspace holds now and what changed in it: Snapshot, LoadIgnore and Diff in one. before is
// the snapshot of work that was taken before the agent had it; base is deed's own copy of that state.
func Capture(ctx context.Context, base *Base, work string, before *Manifest) (*Manifest, ChangeSet, error) {
	after, err := Snapshot(ctx, work, before)
	if err != nil {
		return nil, ChangeSet{}, err
	}
	var ig Ignore
	if len(differing(before, after)) > 0 {
		dir, err := base.Dir()
		if err == nil {
			ig, err = LoadIgnore(ctx, dir, before, after)
		}
		if err != nil {
			return nil, ChangeSet{}, err
		}
	}
	return after, Diff(before, after, ig), nil
}

// Diff lists what separates two manifests. It has every difference: what the patch carries and, as separate changes,
// what it does not. Directories are implied by their content: only one that is empty, or whose mode changed, is
// listed. The permission bits of an added file are not compared with anything; those of a changed one are.
func Diff(before, after *Manifest, ig Ignore) ChangeSet {
	d := &differ{before: before, after: after, ig: ig, beforeFull: fullDirs(before), afterFull: fullDirs(after), dark: map[string]bool{}}
	for _, m := range []*Manifest{before, after} {
		for i := range m.Entries {
			if e := &m.Entries[i]; e.Kind == KindDir && e.Unreadable {
				d.dark[e.Path] = true
			}
		}
	}
	eachPair(before.Entries, after.Entries, d.pair)
	d.repositories()
	sort.SliceStable(d.out, func(i, j int) bool { return d.out[i].Path < d.out[j].Path })
	return ChangeSet{Changes: d.out}
}

type differ struct {
	before, after         *Manifest
	ig                    Ignore
	beforeFull, afterFull map[string]struct{} // directories with anything but directories below them
	dark                  map[string]bool     // directories that could not be read, before or after
	out                   []Change
}

func fullDirs(m *Manifest) map[string]struct{} {
	full := map[string]struct{}{}
	for i := range m.Entries {
		if m.Entries[i].Kind == KindDir {
			continue
		}
		for p := parentOf(m.Entries[i].Path); p != ""; p = parentOf(p) {
			if _, ok := full[p]; ok {
				break
			}
			full[p] = struct{}{}
		}
	}
	return full
}

func (d *differ) pair(b, a *Entry) {
	switch {
	case b == nil:
		d.added(a)
	case a == nil:
		d.deleted(b)
	case b.Kind != a.Kind:
		d.retyped(b, a)
	case b.Kind == KindFile:
		d.file(b, a)
	case b.Kind == KindSymlink:
		if b.Target != a.Target {
			d.carry(Modified, b, a)
		}
		d.owner(b, a)
	default:
		d.bits(b, a, b.Mode^a.Mode)
		if a.Unreadable != b.Unreadable {
			d.lose(Modified, b, a, ReasonUnreadable)
		}
		d.owner(b, a)
	}
}

func (d *differ) added(a *Entry) {
	switch {
	case a.Kind == KindDir:
		if _, full := d.afterFull[a.Path]; !full {
			d.lose(Added, nil, a, ReasonEmptyDirectory)
		}
	case a.Kind.carried():
		d.carry(Added, nil, a)
	default:
		d.lose(Added, nil, a, ReasonSpecialFile)
	}
	if a.Mode&0o7000 != 0 {
		d.lose(Added, nil, a, ReasonSpecialBits)
	}
	if a.Unreadable && a.Kind == KindDir {
		d.lose(Added, nil, a, ReasonUnreadable)
	}
}

func (d *differ) deleted(b *Entry) {
	switch {
	case b.Kind == KindDir:
		if _, full := d.beforeFull[b.Path]; !full {
			d.lose(Deleted, b, nil, ReasonEmptyDirectory)
		}
	case b.Kind.carried():
		d.carry(Deleted, b, nil)
	default:
		d.lose(Deleted, b, nil, ReasonSpecialFile)
	}
}

// retyped handles a path that became another kind of thing. The patch carries those sides that are files or links.
func (d *differ) retyped(b, a *Entry) {
	switch {
	case !b.Kind.carried() && b.Kind != KindDir, !b.Kind.carried() && !a.Kind.carried():
		d.lose(TypeChanged, b, a, ReasonSpecialFile)
		return
	case a.Kind.carried() && b.Kind == KindDir && d.inTheWay(b.Path):
		d.lose(TypeChanged, b, a, ReasonInTheWay)
	default:
		d.carry(TypeChanged, b, a)
	}
	_, full := d.afterFull[a.Path]
	switch {
	case a.Kind.carried():
	case a.Kind != KindDir:
		d.lose(Added, nil, a, ReasonSpecialFile)
	case a.Unreadable:
		d.lose(Added, nil, a, ReasonUnreadable)
	case !full:
		d.lose(Added, nil, a, ReasonEmptyDirectory)
	}
	if a.Mode&0o7000 != 0 {
		d.lose(Added, nil, a, ReasonSpecialBits)
	}
}

func (d *differ) file(b, a *Entry) {
	exec := (b.Mode ^ a.Mode) & 0o100
	switch {
	case a.Unreadable || b.Unreadable:
		if a.Unreadable != b.Unreadable || a.id != b.id || a.Size != b.Size {
			d.lose(Modified, b, a, unread(b, a))
		}
	case b.SHA256 != a.SHA256 || b.Size != a.Size:
		d.carry(Modified, b, a)
	case exec != 0:
		d.carry(ModeChanged, b, a)
	}
	other := b.Mode ^ a.Mode
	if exec != 0 {
		other &^= 0o111 // git's one bit covers all three
	}
	d.bits(b, a, other)
	d.owner(b, a)
}

// bits reports changed permission bits that git does not record.
func (d *differ) bits(b, a *Entry, changed uint32) {
	if changed&0o7000 != 0 {
		d.lose(ModeChanged, b, a, ReasonSpecialBits)
	}
	if changed&0o777 != 0 {
		d.lose(ModeChanged, b, a, ReasonModeBits)
	}
}

func (d *differ) owner(b, a *Entry) {
	if b.UID != a.UID || b.GID != a.GID {
		d.lose(ModeChanged, b, a, ReasonOwnership)
	}
}

// carry files a change under the class that its path has.
func (d *differ) carry(s Status, b, a *Entry) {
	p := b
	if p == nil {
		p = a
	}
	ch := Change{Path: p.Path, Status: s, Class: ClassTracked, Before: b, After: a}
	switch {
	case d.inDark(p.Path):
		ch.Class, ch.Reason = ClassUnrepresentable, ReasonUnreadable
	case unread(b, a) == ReasonUnreadable:
		ch.Class, ch.Reason = ClassUnrepresentable, ReasonUnreadable
	case d.ig.Ignored(p.Path) && !d.forced(b, a):
		ch.Class = ClassIgnored
	case unread(b, a) != "":
		ch.Class, ch.Reason = ClassUnrepresentable, unread(b, a)
	case unfit(b) != "":
		ch.Class, ch.Reason = ClassUnrepresentable, unfit(b)
	case unfit(a) != "":
		ch.Class, ch.Reason = ClassUnrepresentable, unfit(a)
	}
	d.out = append(d.out, ch)
}

// lose files what no patch can carry. At an ignored path nothing would have been carried anyway.
func (d *differ) lose(s Status, b, a *Entry, r Reason) {
	p := b
	if p == nil {
		p = a
	}
	ch := Change{Path: p.Path, Status: s, Class: ClassUnrepresentable, Reason: r, Before: b, After: a}
	if d.ig.Ignored(p.Path) && r != ReasonSpecialBits {
		ch.Class, ch.Reason = ClassIgnored, ""
	}
	d.out = append(d.out, ch)
}

// unread says why there is no digest of one of the two; "" when there is.
func unread(b, a *Entry) (r Reason) {
	for _, e := range []*Entry{b, a} {
		switch {
		case e == nil || !e.Unreadable:
		case e.Kind == KindFile && e.Size > MaxPatchFile:
			r = ReasonTooLarge
		default:
			return ReasonUnreadable
		}
	}
	return r
}

// unfit says why git would not take a file or link; "" when it would.
func unfit(e *Entry) Reason {
	switch {
	case e == nil || !e.Kind.carried():
		return ""
	case reservedByGit(e.Path, e.Kind):
		return ReasonReservedName
	case e.Size > MaxPatchFile:
		return ReasonTooLarge
	}
	return ""
}

// inDark reports whether the path lies in a directory that could not be read, so that nothing is known of it.
func (d *differ) inDark(path string) bool {
	if len(d.dark) == 0 {
		return false
	}
	for p := parentOf(path); p != ""; p = parentOf(p) {
		if d.dark[p] {
			return true
		}
	}
	return false
}

// forced reports whether a change at an ignored path has to be carried all the same, because a carried change cannot
// be made without it: the directory it was in is a file now, or it is itself a directory with such changes.
func (d *differ) forced(b, a *Entry) bool {
	if b == nil {
		return false
	}
	if a == nil {
		for p := parentOf(b.Path); p != ""; p = parentOf(p) {
			if e := d.after.Find(p); e != nil && e.Kind != KindDir {
				return e.Kind.carried() && !d.ig.Ignored(p)
			}
		}
		return false
	}
	if b.Kind.carried() && a.Kind == KindDir {
		for _, e := range below(d.after, a.Path) {
			if e.Kind.carried() && !d.ig.Ignored(e.Path) {
				return true
			}
		}
	}
	return false
}

// inTheWay reports whether a directory of the base cannot be cleared away by deleting its files.
func (d *differ) inTheWay(dir string) bool {
	for _, e := range below(d.before, dir) {
		if e.Kind == KindDir {
			if _, full := d.beforeFull[e.Path]; !full {
				return true
			}
			continue
		}
		if !e.Kind.carried() || e.Unreadable || unfit(&e) != "" {
			return true
		}
	}
	for _, g := range d.before.Git {
		if strings.HasPrefix(g.Path, dir+"/") {
			return true
		}
	}
	return false
}

// below returns the entries under a directory.
func below(m *Manifest, dir string) []Entry {
	prefix := dir + "/"
	i := sort.Search(len(m.Entries), func(i int) bool { return m.Entries[i].Path >= prefix })
	j := i
	for j < len(m.Entries) && strings.HasPrefix(m.Entries[j].Path, prefix) {
		j++
	}
	return m.Entries[i:j]
}

func (d *differ) repositories() {
	b, a := d.before.Git, d.after.Git
	for len(b) > 0 || len(a) > 0 {
		ch := Change{Class: ClassGit}
		switch {
		case len(a) == 0 || len(b) > 0 && b[0].Path < a[0].Path:
			ch.Path, ch.Status, ch.BeforeGit = b[0].Path, Deleted, &b[0]
			b = b[1:]
		case len(b) == 0 || a[0].Path < b[0].Path:
			ch.Path, ch.Status, ch.AfterGit = a[0].Path, Added, &a[0]
			a = a[1:]
		default:
			ch.Path, ch.Status, ch.BeforeGit, ch.AfterGit = b[0].Path, Modified, &b[0], &a[0]
			same := b[0].SHA256 == a[0].SHA256 && b[0].Kind == a[0].Kind
			if b[0].Kind != a[0].Kind {
				ch.Status = TypeChanged
			}
			b, a = b[1:], a[1:]
			if same {
				continue
			}
		}
		d.out = append(d.out, ch)
	}
}

package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/clock"
)

// The margins below which a file counts as written "while" a snapshot began. With the file system's own time the
// grain of the kernel's clock is all there is (10 ms at most); without it, two clocks may differ, and some file
// systems keep whole or even seconds. A file system whose times have no grain needs none: it gives a file whose time
// somebody has asked for another one at the next change, however soon that comes.
const (
	noMargin     = int64(-1)
	fineMargin   = int64(20 * time.Millisecond)
	coarseMargin = int64(3 * time.Second)
)

const (
	// attemptsPerFile is how often a file that changes under the reader is read before the snapshot gives up.
	attemptsPerFile = 3
	// A directory's files are read in batches that several workers can share.
	batchFiles = 128
	batchBytes = 4 << 20
)

// Snapshot records what is below root: every file, symbolic link, directory and special file, untracked and ignored
// ones too, with mode, size and SHA-256. What is in a `.git`, at any depth, has a digest of its own instead. Nothing
// is followed and no special file is opened. What deed may not read is listed as unreadable.
//
// prev, when given, is an earlier snapshot of the same root: a file with the same device, inode, size, mode, ctime and mtime is not read
// again, unless it was written so close to the start of prev that a change could be missed. A ctime cannot be set by a program, so an
// agent cannot hide a change from this without control of the machine's clock.
//
// With prev, a file beyond MaxPatchFile that prev does not know as it is now is listed with its size and not read: the patch could not
// carry it anyway, and ten gigabytes of holes are made in an instant.
//
// With prev, the paths may have maxGrownPaths bytes more than those of prev: what a program made of the tree since must not fill deed's
// memory.
//
// A file that vanishes meanwhile is left out; one that keeps changing is ErrChangedDuringCapture. A tree beyond the
// limits of this package is ErrTreeTooLarge. A root that cannot be opened as a directory is ErrRoot.
func Snapshot(ctx context.Context, root string, prev *Manifest) (*Manifest, error) {
	return snapshotOf(ctx, root, snapshotOptions{prev: prev})
}

// snapshotOptions are what a snapshot may know in advance, and what it is to keep. All fields may be nil.
type snapshotOptions struct {
	prev  *Manifest // an earlier one of the same root
	wrote *written  // what was copied there just now
	hold  *held     // gets what the files hold
}

func snapshotOf(ctx context.Context, root string, opt snapshotOptions) (*Manifest, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, &Error{Code: ErrRoot, Op: "snapshot", Err: err}
	}
	defer t.close()
	m := &Manifest{}
	m.fsStart, m.margin = startOf(root)
	if m.margin != noMargin {
		opt.wrote = nil
	}
	s := &snapshot{tree: t, snapshotOptions: opt, flaws: map[string]flaw{}, maxPaths: opt.prev.room()}
	workers, err := runPool(ctx, func(p *pool, w *worker) error {
		s.pool = p
		return s.dir(w, "", false)
	})
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	n := 0
	for _, w := range workers {
		n += len(w.entries)
	}
	all := make([]Entry, 0, n)
	for _, w := range workers {
		all = append(all, w.entries...)
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	m.fill(s.settle(all), s.flaws)
	return m, nil
}

// room is how many bytes of paths the next snapshot may have.
func (m *Manifest) room() int64 {
	if m == nil {
		return maxPaths
	}
	n := int64(maxGrownPaths)
	for _, list := range [][]Entry{m.Entries, m.gitEntries} {
		for i := range list {
			n += int64(len(list[i].Path)) + 1
		}
	}
	return min(n, maxPaths)
}

func startOf(root string) (start, margin int64) {
	ns, grained, ok := fsClock(root)
	switch {
	case !ok:
		return clock.System().UnixNano(), coarseMargin
	case !grained:
		return ns, noMargin
	case ns%int64(time.Second) == 0:
		return ns, coarseMargin
	default:
		return ns, fineMargin
	}
}

type snapshot struct {
	snapshotOptions
	tree *tree
	pool *pool

	maxPaths int64
	paths    atomic.Int64 // bytes
	entries  atomic.Int64
	bytes    atomic.Int64
	holes    atomic.Int64

	mu    sync.Mutex
	flaws map[string]flaw // guarded by mu; directories that could not be listed
}

type flaw int

const (
	flawGone flaw = iota + 1
	flawUnreadable
)

// dir lists one directory. Subdirectories and full batches of files become jobs; the rest is read here, while the
// directory is open.
func (s *snapshot) dir(w *worker, rel string, inGit bool) error {
	fd, err := s.tree.openDir(rel)
	if err != nil {
		return s.dirFlaw(rel, err)
	}
	defer unix.Close(fd)
	list, err := names(fd)
	if err != nil {
		return s.dirFlaw(rel, err)
	}
	if s.entries.Add(int64(len(list))) > maxEntries {
		return &Error{Code: ErrTreeTooLarge, Op: "list", Path: shorten(rel), Err: fmt.Errorf("the tree has more than %d entries", maxEntries)}
	}
	if s.paths.Add(pathsIn(rel, list)) > s.maxPaths {
		return tooManyPaths("list", rel, s.maxPaths)
	}
	var batch []string
	var size int64
	for _, name := range list {
		if err := checkName("list", rel, name); err != nil {
			return err
		}
		e, err := s.stat(fd, rel, name)
		if gone(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("stat %s: %w", quotePath(join(rel, name)), err)
		}
		switch e.Kind {
		case KindDir:
			w.entries = append(w.entries, e)
			below := inGit || gitMeta(name)
			s.pool.push(func(w *worker) error { return s.dir(w, e.Path, below) })
		case KindFile:
			if s.bytes.Add(e.Size) > maxBytes {
				return &Error{Code: ErrTreeTooLarge, Op: "list", Path: shorten(e.Path), Err: fmt.Errorf("the tree has more than %d bytes", int64(maxBytes))}
			}
			if s.reuse(&e, inGit || gitMeta(name)) || s.recall(&e) {
				w.entries = append(w.entries, e)
				continue
			}
			if s.prev != nil && e.Size > MaxPatchFile && !s.known(&e, inGit || gitMeta(name)) {
				e.Unreadable = true
				w.entries = append(w.entries, e)
				continue
			}
			batch = append(batch, name)
			size += e.Size
			if len(batch) == batchFiles || size >= batchBytes {
				full := batch
				batch, size = nil, 0
				s.pool.push(func(w *worker) error { return s.batch(w, rel, full) })
			}
		default:
			w.entries = append(w.entries, e)
		}
	}
	return s.readAll(w, fd, rel, batch)
}

func (s *snapshot) dirFlaw(rel string, err error) error {
	switch {
	case rel == "":
		return fmt.Errorf("open the root: %w", err)
	case gone(err):
		s.setFlaw(rel, flawGone)
		return nil
	case denied(err):
		s.setFlaw(rel, flawUnreadable)
		return nil
	case swapped(err):
		return &Error{Code: ErrChangedDuringCapture, Op: "list", Path: rel, Err: err}
	}
	return fmt.Errorf("list %s: %w", quotePath(rel), err)
}

func (s *snapshot) setFlaw(rel string, f flaw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flaws[rel] = f
}

func (s *snapshot) batch(w *worker, rel string, list []string) error {
	fd, err := s.tree.openDir(rel)
	if err != nil {
		return s.dirFlaw(rel, err)
	}
	defer unix.Close(fd)
	return s.readAll(w, fd, rel, list)
}

func (s *snapshot) readAll(w *worker, fd int, rel string, list []string) error {
	for _, name := range list {
		e, err := s.file(w, fd, rel, name)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		w.entries = append(w.entries, e)
	}
	return nil
}

// stat makes an entry from what the directory says. Links are read at once.
func (s *snapshot) stat(fd int, rel, name string) (Entry, error) {
	var st unix.Stat_t
	if err := lstatAt(fd, name, &st); err != nil {
		return Entry{}, err
	}
	e := entryOf(join(rel, name), &st)
	if e.Kind == KindSymlink {
		target, err := readlinkAt(fd, name, st.Size)
		if err != nil {
			return Entry{}, err
		}
		e.Target, e.Size, e.SHA256 = target, int64(len(target)), sha256.Sum256([]byte(target))
	}
	return e, nil
}

func entryOf(path string, st *unix.Stat_t) Entry {
	e := Entry{Path: path, Kind: kindOf(st), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid, id: identityOf(st)}
	switch e.Kind {
	case KindFile:
		e.Size = st.Size
	case KindSymlink:
		e.Mode = 0
	}
	return e
}

// earlier finds the entry of a file in the earlier snapshot, if it was the same file as now.
func (s *snapshot) earlier(e *Entry, inGit bool) *Entry {
	if s.prev == nil {
		return nil
	}
	list := s.prev.Entries
	if inGit {
		list = s.prev.gitEntries
	}
	i, ok := slices.BinarySearchFunc(list, e.Path, func(a Entry, p string) int { return strings.Compare(a.Path, p) })
	if !ok {
		return nil
	}
	if old := &list[i]; old.Kind == KindFile && old.id == e.id && old.Size == e.Size && old.Mode == e.Mode {
		return old
	}
	return nil
}

// known reports whether the file was read before and, as far as its times show, has not changed since.
func (s *snapshot) known(e *Entry, inGit bool) bool {
	old := s.earlier(e, inGit)
	return old != nil && !old.Unreadable
}

// reuse takes the digest from the earlier snapshot where that is safe.
func (s *snapshot) reuse(e *Entry, inGit bool) bool {
	old := s.earlier(e, inGit)
	if old == nil || !s.prev.trusted(old) {
		return false
	}
	e.SHA256 = old.SHA256
	return true
}

// recall takes the digest of a file that was written just now, and its content where that is asked for.
func (s *snapshot) recall(e *Entry) bool {
	c, ok := s.wrote.find(e)
	if !ok || c.data == nil && c.size > 0 && !s.hold.full() {
		return false
	}
	e.SHA256 = c.sum
	s.hold.put(e.Path, c.data)
	return true
}

// file reads one regular file. It is read again when it changed meanwhile, and taken as what it has become when it
// is no longer a file.
func (s *snapshot) file(w *worker, fd int, rel, name string) (Entry, error) {
	for range attemptsPerFile {
		e, ok, err := s.readFile(w, fd, join(rel, name), name)
		switch {
		case err == nil && ok:
			return e, nil
		case err == nil: // it changed under the reader
		case swapped(err):
			e, err := s.stat(fd, rel, name)
			if err != nil || (e.Kind != KindFile && e.Kind != KindDir) {
				return e, err
			}
			if e.Kind == KindDir {
				return Entry{}, &Error{Code: ErrChangedDuringCapture, Op: "read", Path: e.Path}
			}
		case denied(err):
			e, err := s.stat(fd, rel, name)
			e.Unreadable = err == nil && e.Kind == KindFile
			return e, err
		case gone(err):
			return Entry{}, err
		default:
			return Entry{}, fmt.Errorf("read %s: %w", quotePath(join(rel, name)), err)
		}
	}
	return Entry{}, &Error{Code: ErrChangedDuringCapture, Op: "read", Path: join(rel, name)}
}

// readFile digests a file once; ok says that it was the same file, unchanged, from beginning to end.
func (s *snapshot) readFile(w *worker, dir int, path, name string) (e Entry, ok bool, err error) {
	var before, after unix.Stat_t
	fd, err := openFileAt(dir, name, &before)
	if err != nil {
		return Entry{}, false, err
	}
	defer unix.Close(fd)
	if s.holes.Add(holesIn(fd, &before)) > maxHoles {
		return Entry{}, false, tooManyHoles("read", path)
	}
	sum, n, err := digest(s.pool.ctx, fd, before.Size, w.buf)
	if err != nil {
		return Entry{}, false, err
	}
	if err := fstat(fd, &after); err != nil {
		return Entry{}, false, err
	}
	e = entryOf(path, &after)
	e.SHA256 = sum
	ok = n == after.Size && before.Size == after.Size && identityOf(&before) == e.id && before.Mode == after.Mode
	if ok && n <= int64(len(w.buf)) && !s.hold.full() {
		s.hold.put(path, slices.Clone(w.buf[:n]))
	}
	return e, ok, nil
}

// digest reads size bytes, or what there is of them.
func digest(ctx context.Context, fd int, size int64, buf []byte) (sum Hash, total int64, err error) {
	if size <= int64(len(buf)) {
		// One call for most files; the rest of the loop is for signals and odd file systems.
		for total < size {
			n, err := read(fd, buf[total:size])
			if err != nil {
				return Hash{}, 0, err
			}
			if n == 0 {
				break
			}
			total += int64(n)
		}
		return sha256.Sum256(buf[:total]), total, nil
	}
	h := sha256.New()
	for total < size {
		if err := ended(ctx); err != nil {
			return Hash{}, 0, err
		}
		n, err := read(fd, buf)
		if err != nil {
			return Hash{}, 0, err
		}
		if n == 0 {
			break
		}
		h.Write(buf[:n])
		total += int64(n)
	}
	h.Sum(sum[:0])
	return sum, total, nil
}

// settle removes what was gone by the time it was opened and marks what could not be listed.
func (s *snapshot) settle(all []Entry) []Entry {
	if len(s.flaws) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Kind == KindDir && s.flaws[e.Path] == flawGone })
}

// fill splits the ordered list into the tree and its repositories.
func (m *Manifest) fill(all []Entry, flaws map[string]flaw) {
	type repository struct {
		at int // index in m.Git
		h  hash.Hash
	}
	repos := map[string]*repository{}
	m.Entries = make([]Entry, 0, len(all))
	for i := range all {
		e := &all[i]
		e.Unreadable = e.Unreadable || e.Kind == KindDir && flaws[e.Path] == flawUnreadable
		root, ok := gitRoot(e.Path)
		if !ok {
			m.Entries = append(m.Entries, *e)
			continue
		}
		m.gitEntries = append(m.gitEntries, *e)
		r := repos[root]
		if r == nil { // the .git itself: its path is the shortest, so it comes first
			r = &repository{at: len(m.Git), h: sha256.New()}
			repos[root] = r
			m.Git = append(m.Git, GitDir{Path: root, Kind: e.Kind})
		}
		if e.Kind.carried() {
			m.Git[r.at].Files++
		}
		inside := *e
		inside.Path = e.Path[len(root):]
		r.h.Write(appendEntry(nil, &inside))
	}
	for _, r := range repos {
		r.h.Sum(m.Git[r.at].SHA256[:0])
	}
}

// gitRoot returns the path of the outermost .git that a path is, or is in.
func gitRoot(p string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(p[from:], ".git")
		if i < 0 {
			return "", false
		}
		i += from
		end := i + len(".git")
		if (i == 0 || p[i-1] == '/') && (end == len(p) || p[end] == '/') {
			return p[:end], true
		}
		from = end
	}
}

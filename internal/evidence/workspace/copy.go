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
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Clone copies a tree that only deed writes, repositories included, to a directory that must be absent or empty. Files
// keep their content, permission bits and modification time, links stay links; set-user-id, set-group-id and sticky
// bits are dropped. Data blocks are shared where the file system can (reflink), holes stay holes; the method is
// returned. A special file is an error. When it fails, what it copied is removed again.
func Clone(ctx context.Context, from, to string) (m Method, err error) {
	if err := prepare(to); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(to))
		}
	}()
	done, err := copyTree(ctx, from, to, copyOptions{strict: true})
	if err != nil {
		return "", fmt.Errorf("clone: %w", err)
	}
	return done.method, nil
}

// A Method says how files were made. All methods give files that share nothing with others. Hard links are never used,
// since a write through one name is seen through all. Neither is an overlay file system: an ordinary user can mount it
// only in a user namespace, out of sight of the deed that has to read the result.
type Method string

// The methods, cheapest first. "" means that there was nothing to copy.
const (
	MethodReflink  Method = "reflink"      // the blocks are shared until one side writes
	MethodCopy     Method = "copy"         // the bytes were copied, of one file at least
	MethodCheckout Method = "git-checkout" // git wrote them, as a commit has them
)

// and is the method of two trees together: of different ones the bytes were copied, of one file at least.
func (m Method) and(o Method) Method {
	switch {
	case o == "" || m == o:
		return m
	case m == "":
		return o
	}
	return MethodCopy
}

// CopyFiles copies a caller's directory, which it never writes to, to a directory that must be absent or empty. Every
// .git stays behind, and every entry with one of the names in without, at any depth; so do special files. The notes say
// what a reader should know. When it fails, what it copied is removed again.
func CopyFiles(ctx context.Context, from, to string, without ...string) (_ []Note, err error) {
	if err := prepare(to); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(to))
		}
	}()
	done, err := copyTree(ctx, from, to, copyOptions{skipGit: true, without: without})
	if err != nil {
		return nil, fmt.Errorf("copy files: %w", err)
	}
	return sortNotes(done.notes), nil
}

// prepare makes a destination, or makes sure that it is an empty directory.
func prepare(dst string) error {
	err := os.Mkdir(dst, 0o755)
	if err == nil {
		return os.Chmod(dst, 0o755)
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", quotePath(dst), err)
	}
	t, err := openTree(dst)
	if err == nil {
		defer t.close()
		var list []string
		if list, err = names(t.fd); err == nil && len(list) == 0 {
			return nil
		}
	}
	return &Error{Code: ErrDestination, Op: "copy to", Path: dst, Err: err, Remedy: "give a directory that is absent or empty"}
}

type copyOptions struct {
	strict  bool     // a special file is an error instead of a note
	skipGit bool     // leave out every .git
	without []string // leave out every entry of one of these names
	exclude *excluder
	wrote   *written // gets what was written; nil: not needed
}

// copied is what copyTree did: how, and what it left out or what a reader should know.
type copied struct {
	method Method
	notes  []Note
}

// copyTree copies what is below from into the empty directory to.
func copyTree(ctx context.Context, from, to string, opt copyOptions) (copied, error) {
	src, err := openTree(from)
	if err != nil {
		return copied{}, err
	}
	defer src.close()
	dst, err := openTree(to)
	if err != nil {
		return copied{}, err
	}
	defer dst.close()
	if _, grained, ok := fsClock(to); opt.wrote != nil && (grained || !ok) {
		opt.wrote = nil // it could not be trusted
	}
	c := &copier{src: src, dst: dst, opt: opt}
	if _, err := runPool(ctx, func(p *pool, w *worker) error {
		c.pool = p
		return c.dir(w, "", 0)
	}); err != nil {
		return copied{}, err
	}
	// A directory that its owner may not write to could not have been filled: such modes come last, deepest first.
	for i := len(c.late) - 1; i >= 0; i-- {
		fd, err := dst.openDir(c.late[i].rel)
		if err != nil {
			return copied{}, err
		}
		err = unix.Fchmod(fd, c.late[i].mode)
		_ = unix.Close(fd)
		if err != nil {
			return copied{}, err
		}
	}
	return copied{c.method(), c.notes}, nil
}

// copyOne copies one file to a path that is absent.
func copyOne(ctx context.Context, from, to string) (Method, error) {
	src, err := openTree(filepath.Dir(from))
	if err != nil {
		return "", err
	}
	defer src.close()
	dst, err := openTree(filepath.Dir(to))
	if err != nil {
		return "", err
	}
	defer dst.close()
	c := &copier{src: src, dst: dst, opt: copyOptions{strict: true}, pool: &pool{ctx: ctx}}
	w := &worker{buf: make([]byte, readBuffer)}
	if err := c.file(w, src.fd, dst.fd, filepath.Base(from), filepath.Base(to)); err != nil {
		return "", fmt.Errorf("copy %s: %w", quotePath(from), err)
	}
	return c.method(), nil
}

type copier struct {
	src, dst *tree
	opt      copyOptions
	pool     *pool
	count    atomic.Int64
	paths    atomic.Int64 // bytes
	bytes    atomic.Int64
	holes    atomic.Int64
	cloned   atomic.Bool // a file's blocks are shared
	noClone  atomic.Bool // the file system cannot share blocks
	noRange  atomic.Bool // nor copy within the kernel

	mu    sync.Mutex
	notes []Note     // guarded by mu
	late  []lateMode // guarded by mu; parents before children
}

func (c *copier) method() Method {
	switch {
	case c.noClone.Load():
		return MethodCopy
	case c.cloned.Load():
		return MethodReflink
	}
	return ""
}

type lateMode struct {
	rel  string
	mode uint32
}

func (c *copier) note(path, code, detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, Note{TextPath(path), code, detail})
}

// dir copies one directory into the empty one that was made for it. mode is 0 for the root, which keeps its own, and
// for a directory whose mode has to wait.
func (c *copier) dir(w *worker, rel string, mode uint32) error {
	from, err := c.src.openDir(rel)
	if err != nil {
		return fmt.Errorf("open %s: %w", quotePath(rel), err)
	}
	defer unix.Close(from)
	to, err := c.dst.openDir(rel)
	if err != nil {
		return fmt.Errorf("open the copy of %s: %w", quotePath(rel), err)
	}
	defer unix.Close(to)
	if mode != 0 {
		if err := unix.Fchmod(to, mode); err != nil {
			return fmt.Errorf("set the mode of %s: %w", quotePath(rel), err)
		}
	}
	list, err := names(from)
	if err != nil {
		return fmt.Errorf("list %s: %w", quotePath(rel), err)
	}
	if c.count.Add(int64(len(list))) > maxEntries {
		return &Error{Code: ErrTreeTooLarge, Op: "copy", Path: shorten(rel), Err: fmt.Errorf("the tree has more than %d entries", maxEntries)}
	}
	if c.paths.Add(pathsIn(rel, list)) > maxPaths {
		return tooManyPaths("copy", rel, maxPaths)
	}
	var batch []string
	var size int64
	for _, name := range list {
		if err := checkName("copy", rel, name); err != nil {
			return err
		}
		if c.opt.exclude.out(join(rel, name)) {
			continue
		}
		var st unix.Stat_t
		if err := lstatAt(from, name, &st); gone(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("stat %s: %w", quotePath(join(rel, name)), err)
		}
		if slices.Contains(c.opt.without, name) {
			continue
		}
		if c.opt.skipGit && gitMeta(name) {
			if rel != "" {
				c.note(join(rel, name), NoteNestedRepository, "its files are copied, its history is not")
			}
			continue
		}
		if kindOf(&st) == KindFile {
			if c.bytes.Add(st.Size) > maxBytes {
				return &Error{Code: ErrTreeTooLarge, Op: "copy", Path: shorten(join(rel, name)), Err: fmt.Errorf("the tree has more than %d bytes", int64(maxBytes))}
			}
			batch = append(batch, name)
			if size += st.Size; len(batch) == batchFiles || size >= batchBytes {
				full := batch
				batch, size = nil, 0
				c.pool.push(func(w *worker) error { return c.batch(w, rel, full) })
			}
			continue
		}
		if err := c.other(from, to, rel, name, &st); err != nil {
			return fmt.Errorf("copy %s: %w", quotePath(join(rel, name)), err)
		}
	}
	return c.files(w, from, to, rel, batch)
}

func (c *copier) other(from, to int, rel, name string, st *unix.Stat_t) error {
	p := join(rel, name)
	switch k := kindOf(st); k {
	case KindDir:
		if err := unix.Mkdirat(to, name, 0o700); err != nil {
			return err
		}
		mode := uint32(st.Mode) & 0o777
		if mode&0o700 != 0o700 {
			c.mu.Lock()
			c.late = append(c.late, lateMode{p, mode})
			c.mu.Unlock()
			mode = 0
		}
		c.pool.push(func(w *worker) error { return c.dir(w, p, mode) })
	case KindSymlink:
		target, err := readlinkAt(from, name, st.Size)
		if err != nil {
			return err
		}
		if !c.opt.strict && leavesTree(rel, target) {
			c.note(p, NoteLinkOutside, "points to "+quotePath(target))
		}
		return unix.Symlinkat(target, to, name)
	default:
		if c.opt.strict {
			return fmt.Errorf("it is a %s", k)
		}
		c.note(p, NoteSpecialFile, "a "+string(k)+" is not copied")
	}
	return nil
}

// leavesTree reports whether the target of a link in directory rel is outside the tree, judged by its text.
func leavesTree(rel, target string) bool {
	if path.IsAbs(target) {
		return true
	}
	p := path.Join(rel, target)
	return p == ".." || strings.HasPrefix(p, "../")
}

// LeavesTree reports whether the link at a path of a tree leads out of the tree, judged by the text of its target.
func LeavesTree(link, target string) bool { return leavesTree(path.Dir(link), target) }

func (c *copier) batch(w *worker, rel string, list []string) error {
	from, err := c.src.openDir(rel)
	if err != nil {
		return fmt.Errorf("open %s: %w", quotePath(rel), err)
	}
	defer unix.Close(from)
	to, err := c.dst.openDir(rel)
	if err != nil {
		return fmt.Errorf("open the copy of %s: %w", quotePath(rel), err)
	}
	defer unix.Close(to)
	return c.files(w, from, to, rel, list)
}

func (c *copier) files(w *worker, from, to int, rel string, list []string) error {
	for _, name := range list {
		if err := ended(c.pool.ctx); err != nil {
			return err
		}
		if err := c.file(w, from, to, name, name); err != nil && !gone(err) {
			if swapped(err) || errors.Is(err, errContent) {
				return &Error{Code: ErrChangedDuringCapture, Op: "copy", Path: join(rel, name), Remedy: "let nothing write to the source while it is copied"}
			}
			return fmt.Errorf("copy %s: %w", quotePath(join(rel, name)), err)
		}
	}
	return nil
}

// file copies one file, again if it changed meanwhile.
func (c *copier) file(w *worker, from, to int, name, as string) error {
	for range attemptsPerFile {
		ok, err := c.once(w, from, to, name, as)
		if ok || err != nil {
			return err
		}
		if err := unix.Unlinkat(to, as, 0); err != nil {
			return err
		}
	}
	return errContent
}

func (c *copier) once(w *worker, from, to int, name, as string) (ok bool, err error) {
	var before, after unix.Stat_t
	in, err := openFileAt(from, name, &before)
	if err != nil {
		return false, err
	}
	defer unix.Close(in)
	if c.holes.Add(holesIn(in, &before)) > maxHoles {
		return false, tooManyHoles("copy", name)
	}
	mode := uint32(before.Mode) & 0o777
	out, err := retryFD(func() (int, error) {
		return unix.Openat(to, as, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unix.Close(out)) }()
	if err := c.data(w, in, out, &before); err != nil {
		return false, err
	}
	if mode&umask() != 0 { // the kernel took these away
		if err := unix.Fchmod(out, mode); err != nil {
			return false, err
		}
	}
	if err := setMtime(to, as, &before); err != nil {
		return false, err
	}
	if err := fstat(in, &after); err != nil {
		return false, err
	}
	if identityOf(&before) != identityOf(&after) || before.Size != after.Size {
		return false, nil
	}
	if w.whole && c.opt.wrote != nil {
		err = c.opt.wrote.put(out, w.buf[:before.Size])
	}
	return err == nil, err
}

// data copies the bytes, sharing blocks where possible and leaving holes where there are holes.
func (c *copier) data(w *worker, in, out int, st *unix.Stat_t) error {
	if w.whole = st.Size == 0; w.whole {
		return nil
	}
	if !c.noClone.Load() {
		if err := cloneFile(in, out); err == nil {
			c.cloned.Store(true)
			return nil
		}
		c.noClone.Store(true)
	}
	if st.Blocks*512 < st.Size && st.Size > 4096 {
		if done, err := c.sparse(w, in, out, st.Size); done || err != nil {
			return err
		}
	}
	return c.span(w, in, out, 0, st.Size)
}

// span copies [off, end), or as much of it as there is. Small files cost less by way of a buffer.
func (c *copier) span(w *worker, in, out int, off, end int64) error {
	for start := off; off < end; {
		if err := ended(c.pool.ctx); err != nil {
			return err
		}
		if end-off > int64(len(w.buf)) && !c.noRange.Load() {
			n, err := copyRange(in, out, off, min(end-off, 64<<20))
			if err == nil && n > 0 {
				off += int64(n)
				continue
			}
			if err == nil {
				return nil // shorter than it was: the caller finds out
			}
			c.noRange.Store(true)
		}
		n, err := pread(in, w.buf[:min(end-off, int64(len(w.buf)))], off)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if err := pwriteAll(out, w.buf[:n], off); err != nil {
			return err
		}
		w.whole = start == 0 && int64(n) == end
		off += int64(n)
	}
	return nil
}

func pread(fd int, p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(fd, p, off)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func pwriteAll(fd int, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, off)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			p, off = p[n:], off+int64(n)
		}
	}
	return nil
}

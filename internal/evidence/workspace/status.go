package workspace

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/proc"
)

// StatusOptions narrow what StatusOf and DiffOf look at.
type StatusOptions struct {
	Paths   []string // only these: a file, or a directory with all below it; none is all
	Exclude []string // and none of these, by the rules of Source.Exclude
	// MaxBytes bounds a diff; 0 is DefaultDiffBytes. A larger one is ErrPatchTooLarge, never a part of it.
	MaxBytes int64
}

// DefaultDiffBytes is how large a diff may be unless the caller says otherwise.
const DefaultDiffBytes = 64 << 20

// A StatusFile is a path of a work tree that differs from its commit.
type StatusFile struct {
	Path   string `json:"path"` // in the form of EncodePath only when it is not valid UTF-8
	Status Status `json:"status"`

	path string
}

// A TreeStatus says where a work tree stands. What is staged does not count: files are compared with the commit.
type TreeStatus struct {
	Branch string       `json:"branch,omitempty"` // "" when HEAD is detached
	Commit string       `json:"commit,omitempty"` // "" before the first one
	Remote string       `json:"remote,omitempty"` // the address of origin, without credentials
	Dirty  int          `json:"dirty"`            // the number of files
	Files  []StatusFile `json:"files"`
	Notes  []Note       `json:"notes,omitempty"` // what was not looked into: special files, submodules and other repositories inside, files beyond MaxPatchFile
}

// NoteTooLarge is the code of a note about a file that was not read because of its size.
const NoteTooLarge = "too_large"

// StatusOf compares the work tree at dir with its HEAD: changed, deleted and untracked files, but for what its ignore
// rules leave out. The directory may be hostile: its configuration, hooks, filters and monitors have no effect, nothing
// in it is written, special files are not opened, and a .git that leads to the repository of someone else is ErrSource.
//
// A submodule that is at another commit than HEAD names, or whose directory is gone, counts as a file that differs; its
// content is not looked at, and a note says so.
func StatusOf(ctx context.Context, dir string, opt StatusOptions) (TreeStatus, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return TreeStatus{}, fmt.Errorf("status: %w", err)
	}
	defer m.close()
	st := TreeStatus{Branch: m.from.branch, Commit: m.from.commit}
	found, err := m.changes(ctx, m.from.commit, opt)
	if err != nil {
		return TreeStatus{}, fmt.Errorf("status: %w", err)
	}
	modules, err := m.submodules(ctx, m.from.commit, opt)
	if err != nil {
		return TreeStatus{}, fmt.Errorf("status: %w", err)
	}
	found.noteSubmodules(modules)
	for _, sub := range modules {
		if sub.Status != "" {
			found.files = append(found.files, StatusFile{Path: sub.Path, Status: sub.Status, path: sub.path})
		}
	}
	st.Files, st.Notes, st.Dirty = found.files, found.notes, len(found.files)
	remote, _, err := m.from.ask(ctx, "config", "--no-includes", "--get", "remote.origin.url")
	if err != nil {
		return TreeStatus{}, fmt.Errorf("status: %w", err)
	}
	st.Remote = withoutCredentials(remote)
	return st, nil
}

// DiffOf returns a git patch from one commit to another, or to the present work tree when to is "". An empty from is
// HEAD. It is as hermetic as StatusOf, and leaves submodules out.
func DiffOf(ctx context.Context, dir, from, to string, opt StatusOptions) ([]byte, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	defer m.close()
	if from == "" {
		from = "HEAD"
	}
	start, _, err := m.from.resolve(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	specs, err := pathspecs(opt)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	args := []string{"diff-tree"}
	if to == "" {
		args = []string{"diff-index"}
		found, err := m.changes(ctx, m.from.commit, opt)
		if err == nil {
			err = m.announce(ctx, found.files)
		}
		if err != nil {
			return nil, fmt.Errorf("diff: %w", err)
		}
		specs = found.specs
	}
	args = append(args, "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", start)
	if to != "" {
		end, _, err := m.from.resolve(ctx, to)
		if err != nil {
			return nil, fmt.Errorf("diff: %w", err)
		}
		args = append(args, end)
	}
	c := m.call(append(append(args, "--"), specs...))
	if c.max = opt.MaxBytes; c.max == 0 {
		c.max = DefaultDiffBytes
	}
	text, err := m.run(ctx, c)
	if errors.Is(err, proc.ErrOutputLimit) {
		err = &Error{Code: ErrPatchTooLarge, Op: "diff", Err: fmt.Errorf("more than %d bytes", c.max), Remedy: "name the paths that matter, or exclude those that do not"}
	}
	return []byte(text), err
}

// openWorkTree makes a borrower of the repository at dir, with another work tree if the caller wants. Refs and HEAD are
// those of the repository.
func openWorkTree(ctx context.Context, dir, workTree string) (*borrower, error) {
	real, err := filepath.EvalSymlinks(absolute(dir))
	if err != nil {
		return nil, &Error{Code: ErrSource, Op: "open repository", Path: dir, Err: err}
	}
	if workTree == dir {
		workTree = real
	}
	g, err := newGit("")
	if err != nil {
		return nil, err
	}
	r, err := g.readRepository(ctx, real)
	if err == nil {
		err = r.own()
	}
	m := &borrower{git: g, from: r, gitDir: filepath.Join(g.home, "borrower"), workTree: workTree}
	if err == nil {
		err = r.write(m.gitDir, r.commit, r.branch)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return m, nil
}

// own makes sure that the repository is the directory's own: a .git that an agent replaced by a link, or by a file that
// names another one, would show it what is in that. A work tree that git itself linked is known to its repository.
func (r *repository) own() error {
	for _, p := range []string{r.gitDir, filepath.Join(r.common, "objects"), filepath.Join(r.common, "refs")} {
		if st, err := os.Lstat(p); err != nil || !st.IsDir() {
			return r.fault(fmt.Errorf("%s is not a directory of its own", filepath.Base(p)))
		}
	}
	if r.gitDir == r.dir || r.gitDir == r.common && r.gitDir == filepath.Join(r.dir, ".git") {
		return nil
	}
	back, err := readSmall(r.gitDir, "gitdir", maxLooseRef)
	if err != nil {
		return r.fault(err)
	}
	if filepath.Dir(r.gitDir) == filepath.Join(r.common, "worktrees") && strings.TrimRight(string(back), "\r\n") == filepath.Join(r.dir, ".git") {
		return nil
	}
	return r.fault(errors.New("its .git leads to a repository that does not know this directory"))
}

// treeChanges is what changes found, and the pathspecs that git was given.
type treeChanges struct {
	files []StatusFile
	notes []Note
	specs []string
}

// changes lists what differs between the borrower's HEAD, which is commit, and the work tree. The index is that of HEAD
// afterwards.
func (s *borrower) changes(ctx context.Context, commit string, opt StatusOptions) (found treeChanges, err error) {
	exclude, err := newExcluder(opt.Exclude)
	if err != nil {
		return found, err
	}
	specs, err := pathspecs(opt)
	if err != nil {
		return found, err
	}
	notes, err := unfitPaths(ctx, s.workTree, exclude)
	if err != nil {
		return found, err
	}
	for _, n := range notes {
		specs = append(specs, ":(top,exclude,literal)"+n.Path)
	}
	if len(specs) > 0 && len(opt.Paths) == 0 {
		specs = append(specs, ":(top)")
	}
	if commit != "" {
		if _, err := s.in(ctx, "read-tree", "HEAD"); err != nil {
			return found, err
		}
		if err := s.sparse(ctx); err != nil {
			return found, err
		}
	}
	c := s.call(append([]string{"status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all", "--"}, specs...))
	c.locks = true // the index is deed's own, and it learns there which files are as they were
	out, err := s.run(ctx, c)
	if err != nil {
		return found, err
	}
	files := []StatusFile{}
	for line := range strings.SplitSeq(out, "\x00") {
		if len(line) < 4 || exclude.out(line[3:]) {
			continue
		}
		f := StatusFile{Path: TextPath(line[3:]), Status: Modified, path: line[3:]}
		switch line[:2] {
		case "??":
			f.Status = Added
		case " D":
			f.Status = Deleted
		case " T":
			f.Status = TypeChanged
		}
		files = append(files, f)
	}
	notes = slices.DeleteFunc(notes, func(n Note) bool { return !concerns(n.Path, opt.Paths) })
	for i := range notes {
		notes[i].Path = TextPath(notes[i].Path)
	}
	return treeChanges{files, sortNotes(notes), specs}, nil
}

// announce adds to the index the files that it does not have, without storing them: git then reads them where they
// are. The index records empty content for them, and that object has to be there: otherwise git would touch the one
// that the caller's repository may have.
func (s *borrower) announce(ctx context.Context, files []StatusFile) error {
	var added []StatusFile
	for _, f := range files {
		if f.Status == Added {
			added = append(added, f)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if _, err := s.run(ctx, gitCall{args: []string{"hash-object", "-w", "--stdin"}, gitDir: s.gitDir}); err != nil {
		return err
	}
	return s.add(ctx, added, "--intent-to-add")
}

// add brings files of the work tree, or their absence, into the index.
func (s *borrower) add(ctx context.Context, files []StatusFile, flag string) error {
	if len(files) == 0 {
		return nil
	}
	var in strings.Builder
	for _, f := range files {
		in.WriteString(":(top,literal)" + f.path + "\x00")
	}
	c := s.call([]string{"add", flag, "--force", "--pathspec-from-file=-", "--pathspec-file-nul"})
	c.stdin = strings.NewReader(in.String())
	_, err := s.run(ctx, c)
	return err
}

// pathspecs turns the options into what git understands, taking every character as it is.
func pathspecs(opt StatusOptions) ([]string, error) {
	var out []string
	for _, p := range opt.Paths {
		p = strings.TrimSuffix(p, "/")
		if err := validRelative(p); err != nil {
			return nil, &Error{Code: ErrGlob, Op: "read path", Path: p, Err: err, Remedy: "give a path below the directory"}
		}
		out = append(out, ":(top,literal)"+p)
	}
	x, err := newExcluder(opt.Exclude)
	if err != nil || x == nil {
		return out, err
	}
	if len(out) == 0 {
		out = append(out, ":(top)")
	}
	return append(out, x.specs(",exclude")...), nil
}

// maxUnfit is how many paths git can be given to exclude.
const maxUnfit = 1000

// unfitPaths walks a work tree without opening a file and lists what git must not be let near: special files, files
// that are too large to be read in passing, and repositories inside. Paths are as they are on the disk.
func unfitPaths(ctx context.Context, dir string, exclude *excluder) ([]Note, error) {
	t, err := openTree(dir)
	if err != nil {
		return nil, &Error{Code: ErrRoot, Op: "walk", Err: err}
	}
	defer t.close()
	var notes []Note
	count := 0
	todo := []string{""}
	for len(todo) > 0 {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		rel := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		found, below, n, err := unfitIn(t, rel, exclude)
		if err != nil {
			return nil, err
		}
		count += n
		notes = append(notes, found...)
		todo = append(todo, below...)
		if count > maxEntries || len(notes) > maxUnfit {
			return nil, &Error{Code: ErrTreeTooLarge, Op: "walk", Path: dir, Err: fmt.Errorf("more than %d entries, or more than %d that git cannot have", maxEntries, maxUnfit), Remedy: "exclude the directories that they are in"}
		}
	}
	return notes, nil
}

func unfitIn(t *tree, rel string, exclude *excluder) (notes []Note, below []string, n int, err error) {
	fd, err := t.openDir(rel)
	if gone(err) || denied(err) || swapped(err) {
		return nil, nil, 0, nil // git says what it cannot read
	}
	if err != nil {
		return nil, nil, 0, fmt.Errorf("open %s: %w", quotePath(rel), err)
	}
	defer unix.Close(fd)
	list, err := names(fd)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("list %s: %w", quotePath(rel), err)
	}
	for _, name := range list {
		if err := checkName("walk", rel, name); err != nil {
			return nil, nil, 0, err
		}
		p := join(rel, name)
		if gitMeta(name) {
			if rel != "" {
				return []Note{{rel, NoteNestedRepository, "a repository inside is not looked into"}}, nil, len(list), nil
			}
			continue
		}
		var st unix.Stat_t
		if lstatAt(fd, name, &st) != nil || exclude.out(p) {
			continue
		}
		switch k := kindOf(&st); {
		case k == KindDir:
			below = append(below, p)
		case k == KindFile && st.Size > MaxPatchFile:
			notes = append(notes, Note{p, NoteTooLarge, fmt.Sprintf("a file of %d bytes is not read", st.Size)})
		case !k.carried() && k != KindDir:
			notes = append(notes, Note{p, NoteSpecialFile, "a " + string(k) + " is not opened"})
		}
	}
	return notes, below, len(list), nil
}

// withoutCredentials takes user and password out of an address.
func withoutCredentials(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return remote
	}
	if u.Scheme == "ssh" && u.User != nil {
		u.User = url.User(u.User.Username())
		return u.String()
	}
	u.User = nil
	return u.String()
}

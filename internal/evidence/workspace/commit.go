package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deedrun/deed/internal/base/crashpoint"
)

// ErrNothingToCommit means that the state to commit is that of the parent.
const ErrNothingToCommit Code = "nothing_to_commit"

// ErrUnexpected means that a commit would change other files than CommitSpec.Expect lists.
const ErrUnexpected Code = "unexpected_files"

// ErrBranchExists means that the branch is there already; nothing was changed.
const ErrBranchExists Code = "branch_exists"

// ErrSubmodule means that CommitSpec.Paths names something of a submodule that a commit cannot have.
const ErrSubmodule Code = "submodule"

// A Signature says who made a commit, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// A Trailer is a line at the end of a commit's message, such as "Deed-Attempt: …".
type Trailer struct {
	Key, Value string
}

// A CommitSpec says what CommitTree commits.
type CommitSpec struct {
	Repo   string // a work tree or a bare repository
	Parent string // a commit, branch or tag; "" is HEAD
	Branch string // short name of the branch to make, which must not exist unless Old is given
	Old    string // the commit that the branch is at now, to move it on

	// The state to commit: a directory, which can be Repo itself, or a patch on the parent. Exactly one is given.
	Dir   string
	Patch string

	Paths     []string // of Dir: only these; none is all
	Exclude   []string // of Dir, by the rules of Source.Exclude
	Author    Signature
	Committer Signature // the author when zero
	Message   string
	Trailers  []Trailer

	// Expect lists the files that the commit must change, all of them and no other; nil is any. A commit that does
	// something else is ErrUnexpected, and the branch stays as it is.
	Expect []string
}

// A Commit is what CommitTree made.
type Commit struct {
	ID     string       `json:"sha"`
	Parent string       `json:"parent_sha"`
	Tree   string       `json:"tree_sha"`
	Branch string       `json:"branch"`
	Files  []StatusFile `json:"files,omitempty"` // of a directory
}

// CommitTree makes a commit on a new branch, or advances one that is not checked out. In the repository it writes objects and that one branch: not the index,
// the work tree, the configuration or HEAD; none of its hooks or filters runs. The commit is made elsewhere and brought in when it is complete, the branch
// last, so that a crash leaves at most unreferenced objects.
//
// Faults of the spec are ErrSource, all at once. A file that cannot be committed as it is (a special file, one beyond
// MaxPatchFile, a repository inside) refuses the whole, unless it is ignored, excluded or none of Paths. Submodules stay as
// the parent has them; Paths that name something in one, or one that is at another commit, are ErrSubmodule.
func CommitTree(ctx context.Context, spec CommitSpec) (c Commit, err error) {
	defer func() {
		if err != nil {
			c, err = Commit{}, fmt.Errorf("commit: %w", err)
		}
	}()
	if err := spec.check(); err != nil {
		return c, err
	}
	m, err := openWorkTree(ctx, spec.Repo, spec.Dir)
	if err != nil {
		return c, err
	}
	defer m.close()
	c.Branch = spec.Branch
	ref := "refs/heads/" + spec.Branch
	if m.from.refs[ref] != spec.Old || spec.Old != "" && spec.Branch == m.from.branch {
		return c, &Error{Code: ErrBranchExists, Op: "make branch", Path: spec.Branch, Remedy: "give another name"}
	}
	parent := spec.Parent
	if parent == "" {
		parent = "HEAD"
	}
	if c.Parent, _, err = m.from.resolve(ctx, parent); err != nil {
		return c, err
	}
	if err := os.WriteFile(filepath.Join(m.gitDir, "HEAD"), []byte(c.Parent+"\n"), 0o600); err != nil {
		return c, err
	}
	if spec.Dir != "" {
		c.Files, err = m.stageDir(ctx, spec, c.Parent)
	} else {
		err = m.stagePatch(ctx, spec.Patch)
	}
	if err != nil {
		return c, err
	}
	if err := m.commit(ctx, spec, &c); err != nil {
		return c, err
	}
	if err := bringIn(filepath.Join(m.gitDir, "objects"), m.from.objects()); err != nil {
		return c, fmt.Errorf("bring the objects in: %w", err)
	}
	crashpoint.Hit(crashpoint.CommitObjects)
	order := "create " + ref + " " + c.ID + "\n"
	if spec.Old != "" {
		order = "update " + ref + " " + c.ID + " " + spec.Old + "\n"
	}
	_, err = m.run(ctx, gitCall{args: []string{"update-ref", "--stdin"}, gitDir: m.from.common, stdin: strings.NewReader(order)})
	return c, err
}

var trailerKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`) })

func (s CommitSpec) check() error {
	var errs []error
	fail := func(field, why string) {
		errs = append(errs, &Error{Code: ErrSource, Op: "check", Err: errors.New(field + " " + why)})
	}
	if (s.Dir == "") == (s.Patch == "") {
		fail("dir and patch:", "give exactly one")
	}
	if !validRef("refs/heads/"+s.Branch) || strings.HasPrefix(s.Branch, "-") || s.Branch == "HEAD" {
		fail("branch", fmt.Sprintf("%q is no name of a branch", shorten(s.Branch)))
	}
	if strings.TrimSpace(s.Message) == "" || strings.IndexByte(s.Message, 0) >= 0 {
		fail("message", "is empty, or has a NUL byte")
	}
	if s.Author.Name == "" || s.Author.Email == "" || s.Author.When.IsZero() {
		fail("author", "needs a name, an address and a time")
	}
	for _, who := range []Signature{s.Author, s.Committer} {
		if strings.ContainsAny(who.Name+who.Email, "<>\n\x00") {
			fail("author or committer", "has a character that a commit cannot hold")
		}
	}
	for _, t := range s.Trailers {
		if !trailerKey().MatchString(t.Key) || strings.ContainsAny(t.Value, "\n\r\x00") || strings.TrimSpace(t.Value) == "" {
			fail("trailer", fmt.Sprintf("%q is not a word and a line", shorten(t.Key)))
		}
	}
	return errors.Join(errs...)
}

func (s *borrower) stageDir(ctx context.Context, spec CommitSpec, parent string) ([]StatusFile, error) {
	s.workTree = TruePath(spec.Dir)
	found, err := s.changes(ctx, parent, StatusOptions{Paths: spec.Paths, Exclude: spec.Exclude})
	if err != nil {
		return nil, err
	}
	modules, err := s.submodules(ctx, parent, StatusOptions{Paths: spec.Paths, Exclude: spec.Exclude})
	if err != nil {
		return nil, err
	}
	if err := RefuseSubmodules(modules, spec.Paths); err != nil {
		return nil, err
	}
	found.noteSubmodules(modules)
	if err := s.refuseUnfit(ctx, found.notes); err != nil {
		return nil, err
	}
	return found.files, s.add(ctx, found.files, "--all")
}

// refuseUnfit lets pass what is ignored anyway, and submodules: they stay as the parent has them.
func (s *borrower) refuseUnfit(ctx context.Context, notes []Note) error {
	notes = slices.DeleteFunc(slices.Clone(notes), func(n Note) bool { return n.Code == NoteSubmodule })
	if len(notes) == 0 {
		return nil
	}
	ask := make([]string, len(notes))
	for i, n := range notes {
		ask[i] = n.Path
	}
	ig, err := s.checkIgnore(ctx, s.gitDir, s.workTree, ask)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range notes {
		if !ig.Ignored(n.Path) {
			errs = append(errs, &Error{Code: ErrSource, Op: "commit", Path: n.Path, Err: errors.New(n.Detail), Remedy: "exclude it or take it away"})
		}
	}
	return errors.Join(errs...)
}

func (s *borrower) stagePatch(ctx context.Context, patch string) error {
	s.workTree = filepath.Join(s.home, "work") // git wants one, and nothing is in it
	if err := os.Mkdir(s.workTree, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.gitDir, "info", "attributes"), []byte(neutralAttributes), 0o600); err != nil {
		return err
	}
	if _, err := s.in(ctx, "read-tree", "HEAD"); err != nil {
		return err
	}
	st, err := os.Stat(patch)
	if err != nil || st.Size() == 0 {
		return err
	}
	res, err := s.try(ctx, s.call([]string{"apply", "--cached", "--whitespace=nowarn", "--", absolute(patch)}))
	if err == nil && res.ExitCode != 0 {
		err = &Error{Code: ErrApply, Op: "apply patch", Err: gitMessage(res)}
	}
	return err
}

// commit makes the tree and the commit of what is in the index.
func (s *borrower) commit(ctx context.Context, spec CommitSpec, c *Commit) error {
	out, err := s.in(ctx, "write-tree")
	if err != nil {
		return err
	}
	c.Tree = strings.TrimSpace(out)
	before, err := s.in(ctx, "rev-parse", "--verify", c.Parent+"^{tree}")
	if err != nil {
		return err
	}
	if c.Tree == strings.TrimSpace(before) {
		return &Error{Code: ErrNothingToCommit, Op: "make tree"}
	}
	if err := s.expected(ctx, spec.Expect, c); err != nil {
		return err
	}
	who := spec.Committer
	if who == (Signature{}) {
		who = spec.Author
	}
	call := s.call([]string{"commit-tree", "--no-gpg-sign", "-p", c.Parent, c.Tree})
	call.env = append(identify("AUTHOR", spec.Author), identify("COMMITTER", who)...)
	call.stdin = strings.NewReader(spec.text())
	out, err = s.run(ctx, call)
	c.ID = strings.TrimSpace(out)
	return err
}

// expected compares the tree with the files that it must change.
func (s *borrower) expected(ctx context.Context, want []string, c *Commit) error {
	if want == nil {
		return nil
	}
	out, err := s.in(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", c.Parent, c.Tree)
	if err != nil {
		return err
	}
	have := slices.Sorted(strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00"))
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(have, want) {
		return &Error{Code: ErrUnexpected, Op: "make tree", Err: fmt.Errorf("it changes %q, and should change %q", shorten(strings.Join(have, " ")), shorten(strings.Join(want, " ")))}
	}
	return nil
}

func identify(role string, s Signature) []string {
	return []string{
		"GIT_" + role + "_NAME=" + s.Name, "GIT_" + role + "_EMAIL=" + s.Email,
		fmt.Sprintf("GIT_%s_DATE=%d %s", role, s.When.Unix(), s.When.Format("-0700")),
	}
}

// text is the message with its trailers as the last paragraph.
func (s CommitSpec) text() string {
	text := strings.TrimSpace(s.Message) + "\n"
	for i, t := range s.Trailers {
		if i == 0 {
			text += "\n"
		}
		text += t.Key + ": " + strings.TrimSpace(t.Value) + "\n"
	}
	return text
}

// bringIn copies loose objects into a repository, as git does: under another name first. An object that is there is the
// same, since its name is its digest.
func bringIn(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	return fs.WalkDir(src.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == "pack" || p == "info":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if _, err := dst.Lstat(p); err == nil {
			return nil
		}
		text, err := src.ReadFile(p)
		if err != nil {
			return err
		}
		if err := dst.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		// git gc removes such a file when it is old. Each name is unique: what a killed deed left stays there and may be read-only, and another
		// process may be writing the same object.
		tmp := filepath.Join(filepath.Dir(p), "tmp_obj_deed_"+rand.Text())
		f, err := dst.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return errors.Join(err, dst.Remove(tmp))
		}
		crashpoint.Hit(crashpoint.CommitHalf)
		return dst.Rename(tmp, p)
	})
}

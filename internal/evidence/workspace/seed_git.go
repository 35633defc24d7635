package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/failure"
)

// seedGit makes a private repository and its work tree. It takes three processes of git, since the objects are packed
// while the files are copied; tags and exclusions take more.
func seedGit(ctx context.Context, src Source, dst string, exclude *excluder, wrote *written) (Seeded, error) {
	g, err := newGit(filepath.Dir(absolute(dst)))
	if err != nil {
		return Seeded{}, err
	}
	defer g.close()
	out := Seeded{Kind: SourceGit}
	r, err := g.readRepository(ctx, src.Dir)
	if err == nil {
		out.Commit, out.Branch, err = r.resolve(ctx, src.Ref)
	}
	if err != nil {
		return Seeded{}, failure.New(failure.Config, "read repository", err, "")
	}
	s := &borrower{git: g, from: r, workTree: absolute(dst), gitDir: filepath.Join(absolute(dst), ".git")}
	head, err := s.begin(ctx, src.History, exclude, &out)
	if err != nil {
		return Seeded{}, err
	}
	if src.Ref != "" {
		var empty []Submodule
		err := together(ctx,
			func(ctx context.Context) error { return s.pack(ctx, head) },
			func(ctx context.Context) (err error) {
				empty, err = s.gitlinks(ctx, head)
				return err
			},
			func(ctx context.Context) error {
				if _, err := s.in(ctx, "read-tree", "--reset", "-u", "HEAD"); err != nil { // git reset would leave an ORIG_HEAD
					return err
				}
				return s.leaveOut(ctx, exclude, true)
			})
		for _, m := range empty {
			if !exclude.out(m.path) {
				out.Notes = append(out.Notes, Note{m.Path, NoteSubmodule, "a submodule is left empty: a commit has its name, and none of its files"})
			}
		}
		sortNotes(out.Notes)
		out.Method = MethodCheckout
		return out, err
	}
	var done copied
	err = together(ctx,
		func(ctx context.Context) error { return s.pack(ctx, head) },
		func(ctx context.Context) error {
			err := together(ctx,
				func(ctx context.Context) (err error) {
					done, err = copyTree(ctx, src.Dir, s.workTree, copyOptions{skipGit: true, exclude: exclude, wrote: wrote})
					return err
				},
				func(ctx context.Context) error { return s.index(ctx, head) })
			if err == nil {
				err = s.leaveOut(ctx, exclude, false)
			}
			if err == nil {
				out.Dirty, err = s.differs(ctx)
			}
			return err
		})
	out.Method, out.Notes = done.method, sortNotes(append(out.Notes, done.notes...))
	return out, err
}

// CheckGit reports by ErrSource why a directory is no repository, or has no such commit, before anything is made of it; field is the one of
// the two that is at fault. What git needs for itself it makes in tmp.
func CheckGit(ctx context.Context, dir, ref, tmp string) (field string, err error) {
	g, err := newGit(tmp)
	if err != nil {
		return "source", err
	}
	defer g.close()
	r, err := g.readRepository(ctx, dir)
	if err != nil {
		return "source", err
	}
	_, _, err = r.resolve(ctx, ref)
	return "ref", err
}

// together runs its jobs at the same time and waits for all of them. The first error ends the others.
func together(ctx context.Context, jobs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error)
	for _, job := range jobs {
		go func() { ended <- job(ctx) }()
	}
	var first error
	for range jobs {
		if err := <-ended; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	return first
}

// reached lists, a line each, where the history of a workspace ends: the commit and the tags.
func (s *borrower) reached(commit string) string {
	if commit == "" {
		return ""
	}
	var in strings.Builder
	in.WriteString(commit + "\n")
	for _, id := range s.from.refs {
		in.WriteString(id + "\n")
	}
	return in.String()
}

// pack brings the objects over as one pack of what the commit and the tags reach: nothing of the caller's other branches,
// stash or of work that was thrown away comes along. Deltas are taken as they are and none is looked for.
func (s *borrower) pack(ctx context.Context, commit string) error {
	ids := s.reached(commit)
	if ids == "" {
		return nil
	}
	c := s.call([]string{"pack-objects", "--quiet", "--revs", "--delta-base-offset", "--window=0", filepath.Join(s.gitDir, "objects", "pack", "pack")})
	c.stdin = strings.NewReader(ids)
	res, err := s.try(ctx, c)
	if err != nil {
		return &Error{Code: ErrGit, Op: "git pack-objects", Err: err}
	}
	if res.ExitCode != 0 {
		return s.from.fault(gitMessage(res))
	}
	return nil
}

// index sets the index to HEAD and keeps the paths that a sparse checkout leaves out marked as such.
func (s *borrower) index(ctx context.Context, commit string) error {
	if commit == "" {
		return nil
	}
	if _, err := s.in(ctx, "read-tree", "HEAD"); err != nil {
		return err
	}
	return s.sparse(ctx)
}

// differs asks whether the work tree differs from HEAD. The answer refreshes the index on the way, so that the agent's
// first git status is quick.
func (s *borrower) differs(ctx context.Context) (bool, error) {
	c := s.call([]string{"status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=all"})
	c.locks = true
	status, err := s.run(ctx, c)
	return status != "", err
}

func (s *borrower) sparse(ctx context.Context) error {
	if !s.from.sparse {
		return nil
	}
	list, _, err := s.from.ask(ctx, "ls-files", "-z", "-t", "--cached")
	if err != nil {
		return err
	}
	var in bytes.Buffer
	for line := range strings.SplitSeq(list, "\x00") {
		if p, ok := strings.CutPrefix(line, "S "); ok {
			in.WriteString(p + "\x00")
		}
	}
	return s.skipWorktree(ctx, &in)
}

// leaveOut marks in the index what is excluded, and takes it out of a work tree that was checked out.
func (s *borrower) leaveOut(ctx context.Context, exclude *excluder, checkedOut bool) error {
	if exclude == nil {
		return nil
	}
	list, err := s.in(ctx, "ls-files", "-z", "--cached")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.workTree)
	if err != nil {
		return err
	}
	defer root.Close()
	var in bytes.Buffer
	for p := range strings.SplitSeq(list, "\x00") {
		if p == "" || !exclude.out(p) {
			continue
		}
		in.WriteString(p + "\x00")
		if !checkedOut {
			continue
		}
		if err := root.Remove(filepath.FromSlash(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("leave out %s: %w", quotePath(p), err)
		}
		for d := parentOf(p); d != "" && root.Remove(filepath.FromSlash(d)) == nil; d = parentOf(d) {
			continue // a directory that nothing is left in goes too
		}
	}
	return s.skipWorktree(ctx, &in)
}

// skipWorktree marks paths of the index as not in the work tree on purpose. Paths that the index does not have make
// git complain, and are of no interest.
func (s *borrower) skipWorktree(ctx context.Context, in *bytes.Buffer) error {
	if in.Len() == 0 {
		return nil
	}
	c := s.call([]string{"update-index", "-q", "--skip-worktree", "-z", "--stdin"})
	c.stdin = in
	res, err := s.try(ctx, c)
	if err == nil && res.ExitCode != 0 {
		err = gitMessage(res)
	}
	if err != nil {
		return fmt.Errorf("mark paths that are left out: %w", err)
	}
	return nil
}

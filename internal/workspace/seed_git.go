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

	"github.com/deedrun/deed/internal/failure"
)

// copiedConfig are the settings of a repository without which its own work tree would look changed.
var copiedConfig = []string{"core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"}

// seedGit makes the repository first and the work tree second.
func seedGit(ctx context.Context, dir, ref, dst string) (Seeded, error) {
	g, err := newGit("")
	if err != nil {
		return Seeded{}, err
	}
	defer g.close()
	s := &gitSeed{git: g, src: dir, dst: absolute(dst)}
	if isBare(dir) && ref == "" {
		ref = "HEAD"
	}
	out := Seeded{Kind: SourceGit}
	if out.Commit, out.Branch, err = s.head(ctx, ref); err != nil {
		return Seeded{}, failure.New(failure.Config, "read repository", err, "")
	}
	if err := s.repository(ctx, out.Commit, out.Branch); err != nil {
		return Seeded{}, err
	}
	if ref != "" {
		_, err := s.in(ctx, "reset", "--hard", "--quiet", "HEAD")
		return out, err
	}
	if out.Notes, err = copyTree(ctx, dir, s.dst, copyOptions{skipGit: true}); err != nil {
		return Seeded{}, err
	}
	sortNotes(out.Notes)
	out.Dirty, err = s.index(ctx, out.Commit)
	return out, err
}

type gitSeed struct {
	*git
	src, dst string
}

// ask runs git in the source, of which it only reads.
func (s *gitSeed) ask(ctx context.Context, args ...string) (string, bool, error) {
	res, err := s.try(ctx, gitCall{args: args, dir: s.src})
	if err != nil {
		return "", false, &Error{Code: ErrGit, Op: "git " + args[0], Err: err}
	}
	if res.ExitCode > 1 {
		return "", false, &Error{Code: ErrSource, Op: "read repository", Path: s.src, Err: gitSays(res)}
	}
	return strings.TrimSuffix(string(res.Stdout), "\n"), res.ExitCode == 0, nil
}

// in runs git in the new repository.
func (s *gitSeed) in(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, gitCall{args: args, dir: s.dst, gitDir: filepath.Join(s.dst, ".git"), workTree: s.dst, max: 1 << 30})
}

// head finds the commit to start from and the branch to be on.
func (s *gitSeed) head(ctx context.Context, ref string) (commit, branch string, err error) {
	if ref == "" {
		ref = "HEAD"
	}
	full, ok, err := s.ask(ctx, "rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", ref)
	if err != nil {
		return "", "", err
	}
	if ok && ref == "HEAD" {
		full, _, err = s.ask(ctx, "symbolic-ref", "--quiet", "HEAD")
		if err != nil {
			return "", "", err
		}
	}
	branch, isBranch := strings.CutPrefix(full, "refs/heads/")
	if !isBranch {
		branch = ""
	}
	commit, ok, err = s.ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", "", err
	}
	if !ok && ref != "HEAD" {
		return "", "", &Error{Code: ErrSource, Op: "find ref", Path: ref, Err: errors.New("the repository has no such commit"), Remedy: "give a commit, branch or tag of " + s.src}
	}
	if !ok { // before the first commit
		full, _, err := s.ask(ctx, "symbolic-ref", "--quiet", "HEAD")
		branch, _ = strings.CutPrefix(full, "refs/heads/")
		return "", branch, err
	}
	return commit, branch, nil
}

// repository makes the new one and brings branches, tags and the commit over. The objects travel as one pack of what
// is reachable: nothing of the caller's stash or of work that was thrown away comes along.
func (s *gitSeed) repository(ctx context.Context, commit, branch string) error {
	format, _, err := s.ask(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, gitCall{args: []string{"init", "--quiet", "--template=", "--object-format=" + format, s.dst}}); err != nil {
		return err
	}
	if err := s.settings(ctx); err != nil {
		return err
	}
	if branch != "" {
		if _, err := s.in(ctx, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
			return err
		}
	}
	if commit == "" {
		return nil
	}
	const arrived = "refs/deed/seed"
	if _, err := s.in(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-head-ok",
		"--update-shallow", "--no-recurse-submodules", "--end-of-options", s.src,
		"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+"+commit+":"+arrived); err != nil {
		return err
	}
	if branch == "" {
		if _, err := s.in(ctx, "update-ref", "--no-deref", "HEAD", commit); err != nil {
			return err
		}
	} else if _, err := s.in(ctx, "update-ref", "refs/heads/"+branch, commit); err != nil {
		return err
	}
	_, err = s.in(ctx, "update-ref", "-d", arrived)
	return err
}

// settings copies what the work tree depends on: the list of copiedConfig, and the repository's own exclude file.
func (s *gitSeed) settings(ctx context.Context) error {
	list, _, err := s.ask(ctx, "config", "--local", "--includes", "-z", "--list")
	if err != nil {
		return err
	}
	for kv := range strings.SplitSeq(list, "\x00") {
		k, v, ok := strings.Cut(kv, "\n")
		for _, want := range copiedConfig {
			if k == want && ok {
				if _, err := s.in(ctx, "config", "--local", k, v); err != nil {
					return err
				}
			}
		}
	}
	common, _, err := s.ask(ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(s.src, common)
	}
	exclude, err := readSmall(filepath.Join(common, "info"), "exclude")
	if err != nil || len(exclude) == 0 {
		return err
	}
	info := filepath.Join(s.dst, ".git", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "exclude"), exclude, 0o644)
}

// readSmall reads a regular file of at most maxIgnoreFile bytes; what is absent or something else is empty.
func readSmall(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	st, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() > maxIgnoreFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(name)
}

// index sets the index to HEAD, keeps the paths that a sparse checkout leaves out marked as such, and asks whether the
// work tree differs.
func (s *gitSeed) index(ctx context.Context, commit string) (dirty bool, err error) {
	if commit != "" {
		if _, err := s.in(ctx, "read-tree", "HEAD"); err != nil {
			return false, err
		}
		if err := s.sparse(ctx); err != nil {
			return false, err
		}
		// Exit 1 says that something needs an update, which is no error here.
		if _, err := s.try(ctx, gitCall{args: []string{"update-index", "-q", "--refresh"}, dir: s.dst}); err != nil {
			return false, &Error{Code: ErrGit, Op: "git update-index", Err: err}
		}
	}
	status, err := s.in(ctx, "status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=all")
	return status != "", err
}

func (s *gitSeed) sparse(ctx context.Context) error {
	on, _, err := s.ask(ctx, "config", "--bool", "core.sparseCheckout")
	if err != nil || on != "true" {
		return err
	}
	res, err := s.try(ctx, gitCall{args: []string{"ls-files", "-z", "-t", "--cached"}, dir: s.src, max: 1 << 30})
	if err != nil {
		return &Error{Code: ErrGit, Op: "git ls-files", Err: err}
	}
	var in bytes.Buffer
	for line := range strings.SplitSeq(string(res.Stdout), "\x00") {
		if p, ok := strings.CutPrefix(line, "S "); ok {
			in.WriteString(p + "\x00")
		}
	}
	if in.Len() == 0 {
		return nil
	}
	// Paths that HEAD does not have make git complain, and are of no interest.
	res, err = s.try(ctx, gitCall{
		args: []string{"update-index", "-q", "--skip-worktree", "-z", "--stdin"}, dir: s.dst,
		gitDir: filepath.Join(s.dst, ".git"), workTree: s.dst, stdin: &in,
	})
	if err == nil && res.ExitCode != 0 {
		err = gitSays(res)
	}
	if err != nil {
		return fmt.Errorf("mark the paths of a sparse checkout: %w", err)
	}
	return nil
}

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/failure"
)

// copiedConfig are the settings of a repository without which its own work tree would look changed.
var copiedConfig = []string{"core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"}

// seedGit makes the repository first and the work tree second.
func seedGit(ctx context.Context, dir, ref, dst string, exclude *excluder) (Seeded, error) {
	g, err := newGit("")
	if err != nil {
		return Seeded{}, err
	}
	defer g.close()
	s := &gitSeed{git: g, src: dir, dst: absolute(dst), exclude: exclude}
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
		if _, err := s.in(ctx, "reset", "--hard", "--quiet", "HEAD"); err != nil {
			return Seeded{}, err
		}
		return out, s.leaveOut(ctx)
	}
	done, err := copyTree(ctx, dir, s.dst, copyOptions{skipGit: true, exclude: exclude})
	if err != nil {
		return Seeded{}, err
	}
	out.Method, out.Notes = done.method, sortNotes(done.notes)
	out.Dirty, err = s.index(ctx, out.Commit)
	return out, err
}

type gitSeed struct {
	*git
	src, dst string
	exclude  *excluder
	isSparse bool
}

// ask runs git in the source, of which it only reads.
func (s *gitSeed) ask(ctx context.Context, args ...string) (string, bool, error) {
	res, err := s.try(ctx, s.source(args))
	if err != nil {
		return "", false, &Error{Code: ErrGit, Op: "git " + args[0], Err: err}
	}
	if res.ExitCode > 1 {
		return "", false, &Error{Code: ErrSource, Op: "read repository", Path: s.src, Err: gitSays(res)}
	}
	return strings.TrimSuffix(string(res.Stdout), "\n"), res.ExitCode == 0, nil
}

// source is a call in the source. Its repository is named, so that git does not go looking for another one above it.
func (s *gitSeed) source(args []string) gitCall {
	if isBare(s.src) {
		return gitCall{args: args, dir: s.src, gitDir: s.src}
	}
	return gitCall{args: args, dir: s.src, gitDir: filepath.Join(s.src, ".git"), workTree: s.src, max: 1 << 30}
}

// in runs git in the new repository.
func (s *gitSeed) in(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, gitCall{args: args, dir: s.dst, gitDir: s.path(), workTree: s.dst, max: 1 << 30})
}

// head finds the commit to start from and the branch to be on.
func (s *gitSeed) head(ctx context.Context, ref string) (commit, branch string, err error) {
	// symbolic-ref knows the branch of a HEAD that has no commit yet, too.
	ask := []string{"symbolic-ref", "--quiet", "HEAD"}
	if ref == "" {
		ref = "HEAD"
	}
	if ref != "HEAD" {
		ask = []string{"rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", ref}
	}
	full, _, err := s.ask(ctx, ask...)
	if err != nil {
		return "", "", err
	}
	branch, isBranch := strings.CutPrefix(full, "refs/heads/")
	if !isBranch {
		branch = ""
	}
	commit, ok, err := s.ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err == nil && !ok && ref != "HEAD" {
		err = &Error{Code: ErrSource, Op: "find ref", Path: ref, Err: errors.New("the repository has no such commit"), Remedy: "give a commit, branch or tag of " + s.src}
	}
	return commit, branch, err
}

// repository makes the new one and brings branches, tags and the commit over. The objects travel as one pack of what
// is reachable: nothing of the caller's stash or of work that was thrown away comes along.
func (s *gitSeed) repository(ctx context.Context, commit, branch string) error {
	if err := s.settings(ctx); err != nil {
		return err
	}
	head := commit + "\n"
	if branch != "" {
		head = "ref: refs/heads/" + branch + "\n"
	}
	if commit == "" {
		return s.put("HEAD", head)
	}
	// git takes a directory without a HEAD for no repository, and one with a HEAD that it lacks for a damaged one.
	if err := s.put("HEAD", "ref: refs/heads/"+arriving+"\n"); err != nil {
		return err
	}
	if _, err := s.in(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-head-ok",
		"--update-shallow", "--no-recurse-submodules", "--end-of-options", s.src,
		"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+"+commit+":refs/deed/"+arriving); err != nil {
		return err
	}
	if err := s.put("HEAD", head); err != nil {
		return err
	}
	orders := "delete refs/deed/" + arriving + "\n"
	if branch != "" { // which may have moved on since it was looked at
		orders = "update refs/heads/" + branch + " " + commit + "\n" + orders
	}
	_, err := s.run(ctx, gitCall{args: []string{"update-ref", "--stdin"}, gitDir: s.path(), stdin: strings.NewReader(orders)})
	return err
}

// arriving names what is not there yet.
const arriving = "deed-seed"

func (s *gitSeed) path(name ...string) string {
	return filepath.Join(append([]string{s.dst, ".git"}, name...)...)
}

func (s *gitSeed) put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.path(name), []byte(text), 0o644)
}

// settings makes the empty repository with what the work tree depends on: the object format, the list of
// copiedConfig, and the repository's own exclude file.
func (s *gitSeed) settings(ctx context.Context) error {
	found, ok, err := s.ask(ctx, "rev-parse", "--show-object-format", "--git-common-dir")
	format, common, both := strings.Cut(found, "\n")
	if err == nil && (!ok || !both) {
		err = fmt.Errorf("git rev-parse printed %q", found)
	}
	if err != nil {
		return err
	}
	list, _, err := s.ask(ctx, "config", "--includes", "-z", "--list")
	if err != nil {
		return err
	}
	conf := map[string]string{"core.filemode": "true"}
	for kv := range strings.SplitSeq(list, "\x00") {
		k, v, ok := strings.Cut(kv, "\n")
		if !ok {
			v = "true" // a key alone
		}
		if slices.Contains(copiedConfig, k) && plainValue(v) {
			conf[k] = v
		}
		if k == "core.sparsecheckout" {
			s.isSparse = strings.EqualFold(v, "true") || v == "1"
		}
	}
	text := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if format != "sha1" {
		text = "[extensions]\n\tobjectformat = " + format + "\n[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
	}
	for _, k := range copiedConfig {
		if v, ok := conf[k]; ok {
			text += "\t" + strings.TrimPrefix(k, "core.") + " = " + v + "\n"
		}
	}
	for _, d := range []string{"objects", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return err
		}
	}
	if err := s.put("config", text); err != nil {
		return err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(s.src, common)
	}
	exclude, err := readSmall(filepath.Join(common, "info"), "exclude")
	if err != nil || len(exclude) == 0 {
		return err
	}
	return s.put("info/exclude", string(exclude))
}

// plainValue reports whether a value can stand in a configuration file as it is; all that copiedConfig can have do.
func plainValue(v string) bool {
	return v != "" && strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
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
// work tree differs. The answer refreshes the index on the way, so that the agent's first git status is quick.
func (s *gitSeed) index(ctx context.Context, commit string) (dirty bool, err error) {
	if commit != "" {
		if _, err := s.in(ctx, "read-tree", "HEAD"); err != nil {
			return false, err
		}
		if err := s.sparse(ctx); err != nil {
			return false, err
		}
		if err := s.leaveOut(ctx); err != nil {
			return false, err
		}
	}
	status, err := s.run(ctx, gitCall{
		args: []string{"status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=all"},
		dir:  s.dst, gitDir: s.path(), workTree: s.dst, max: 1 << 30, locks: true,
	})
	return status != "", err
}

func (s *gitSeed) sparse(ctx context.Context) error {
	if !s.isSparse {
		return nil
	}
	res, err := s.try(ctx, s.source([]string{"ls-files", "-z", "-t", "--cached"}))
	if err != nil {
		return &Error{Code: ErrGit, Op: "git ls-files", Err: err}
	}
	var in bytes.Buffer
	for line := range strings.SplitSeq(string(res.Stdout), "\x00") {
		if p, ok := strings.CutPrefix(line, "S "); ok {
			in.WriteString(p + "\x00")
		}
	}
	return s.skipWorktree(ctx, &in)
}

// leaveOut takes what is excluded out of a work tree that was checked out, and marks it in the index.
func (s *gitSeed) leaveOut(ctx context.Context) error {
	if s.exclude == nil {
		return nil
	}
	list, err := s.in(ctx, "ls-files", "-z", "--cached")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dst)
	if err != nil {
		return err
	}
	defer root.Close()
	var in bytes.Buffer
	for p := range strings.SplitSeq(list, "\x00") {
		if p == "" || !s.exclude.out(p) {
			continue
		}
		in.WriteString(p + "\x00")
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
func (s *gitSeed) skipWorktree(ctx context.Context, in *bytes.Buffer) error {
	if in.Len() == 0 {
		return nil
	}
	res, err := s.try(ctx, gitCall{
		args: []string{"update-index", "-q", "--skip-worktree", "-z", "--stdin"}, dir: s.dst,
		gitDir: s.path(), workTree: s.dst, stdin: in,
	})
	if err == nil && res.ExitCode != 0 {
		err = gitSays(res)
	}
	if err != nil {
		return fmt.Errorf("mark paths that are left out: %w", err)
	}
	return nil
}

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hide makes sure that nothing excluded can be had from the repository of a workspace, and returns what its HEAD names.
// A history that has some of it is left behind for one commit: what the source's has, without what is excluded. The
// same source gives the same commit.
func (s *borrower) hide(ctx context.Context, exclude *excluder, out *Seeded) (head string, err error) {
	if exclude == nil {
		return out.Commit, nil
	}
	held, err := s.holds(ctx, out.Commit, exclude)
	if err != nil || !held {
		return out.Commit, err
	}
	if out.Commit != "" { // else HEAD is on a branch without a commit, and the history on others
		if out.Head, err = s.alone(ctx, out.Commit, exclude); err != nil {
			return "", fmt.Errorf("leave the history behind: %w", err)
		}
	}
	for _, name := range []string{"packed-refs", "shallow"} {
		if err := os.RemoveAll(filepath.Join(s.gitDir, name)); err != nil {
			return "", err
		}
	}
	from := *s.from
	from.refs, from.shallow = nil, nil
	s.from = &from
	out.Notes = append(out.Notes, Note{".git", NoteHistory, "the history has paths that are excluded, and is left behind: the repository begins with one commit of its own"})
	return out.Head, s.from.write(s.gitDir, out.Head, out.Branch, branchOrTag)
}

// holds reports whether some commit that comes along has changed a path that is excluded: also one that took it away has it in its past. A
// tag of a tree or of a file has no paths to ask for, and counts as if it had.
func (s *borrower) holds(ctx context.Context, commit string, exclude *excluder) (bool, error) {
	ids := s.reached(commit)
	if ids == "" {
		return false, nil
	}
	c := s.call([]string{"cat-file", "--batch-check=%(objecttype)"})
	c.stdin = strings.NewReader(strings.ReplaceAll(ids, "\n", "^{commit}\n"))
	types, err := s.run(ctx, c)
	if err != nil || strings.TrimSpace(strings.ReplaceAll(types, "commit\n", "")) != "" {
		return err == nil, err
	}
	c = s.call(append([]string{"rev-list", "--max-count=1", "--full-history", "--stdin", "--"}, exclude.specs("")...))
	c.stdin = strings.NewReader(ids)
	res, err := s.try(ctx, c)
	if err != nil {
		return false, &Error{Code: ErrGit, Op: "git rev-list", Err: err}
	}
	if res.ExitCode != 0 {
		return false, s.from.fault(gitSays(res))
	}
	return len(bytes.TrimSpace(res.Stdout)) > 0, nil
}

// alone makes a commit without a parent of what another one has, but for what is excluded.
func (s *borrower) alone(ctx context.Context, commit string, exclude *excluder) (string, error) {
	if _, err := s.in(ctx, "read-tree", commit); err != nil {
		return "", err
	}
	list, err := s.in(ctx, "ls-files", "-z", "--cached")
	if err != nil {
		return "", err
	}
	var in bytes.Buffer
	for p := range strings.SplitSeq(list, "\x00") {
		if p != "" && exclude.out(p) {
			in.WriteString(p + "\x00")
		}
	}
	c := s.call([]string{"update-index", "--force-remove", "-z", "--stdin"})
	c.stdin = &in
	if _, err := s.run(ctx, c); err != nil {
		return "", err
	}
	tree, err := s.in(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	text, err := s.in(ctx, "log", "-1", "--no-show-signature", "--format=%ct", commit, "--")
	if err != nil {
		return "", err
	}
	sec, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || sec < 0 {
		sec = 0 // a commit can have any date
	}
	who := Signature{Name: "deed", Email: "deed@localhost", When: time.Unix(sec, 0).UTC()}
	c = s.call([]string{"commit-tree", "--no-gpg-sign", strings.TrimSpace(tree)})
	c.env = append(identify("AUTHOR", who), identify("COMMITTER", who)...)
	c.stdin = strings.NewReader("Begin without what is excluded\n\nThis is " + commit + " without its history.\n")
	id, err := s.run(ctx, c)
	return strings.TrimSpace(id), err
}

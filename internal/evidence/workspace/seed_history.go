package workspace

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// begin makes the repository of a workspace, as yet without objects, and returns what its HEAD names: the commit that the
// workspace begins at, with the tags of its history, or a commit of its own where there is to be no history. That is so
// when none is wanted, and when it has some of what is excluded. The same source gives the same commit.
func (s *borrower) begin(ctx context.Context, history string, exclude *excluder, out *Seeded) (head string, err error) {
	if history == HistoryNone {
		return s.beginWithoutHistory(ctx, exclude, out, "Begin without a history\n", "the history is left behind, as was asked: the repository has one commit of its own")
	}
	if err := s.narrow(ctx, out); err != nil {
		return "", fmt.Errorf("find the tags of the history: %w", err)
	}
	if exclude == nil {
		return out.Commit, nil
	}
	if held, err := s.holds(ctx, out.Commit, exclude); err != nil || !held {
		return out.Commit, err
	}
	return s.beginWithoutHistory(ctx, exclude, out, "Begin without what is excluded\n\nThis is "+out.Commit+" without its history.\n",
		"the history has paths that are excluded, and is left behind: the repository begins with one commit of its own")
}

// beginWithoutHistory makes the repository with one commit: what the source's has, without what is excluded and without a history.
func (s *borrower) beginWithoutHistory(ctx context.Context, exclude *excluder, out *Seeded, message, why string) (head string, err error) {
	if err := s.rewrite(out.Commit, out.Branch, nil, s.from.shallow); err != nil || out.Commit == "" { // HEAD is on a branch without a commit
		return "", err
	}
	if out.Head, err = s.alone(ctx, out.Commit, exclude, message); err != nil {
		return "", fmt.Errorf("leave the history behind: %w", err)
	}
	out.Notes = append(out.Notes, Note{".git", NoteHistory, why})
	return out.Head, s.rewrite(out.Head, out.Branch, nil, nil)
}

// narrow makes the repository with the commit and, of the source's refs, the tags that are in its history.
func (s *borrower) narrow(ctx context.Context, out *Seeded) error {
	tags := map[string]string{}
	for name, id := range s.from.refs {
		if strings.HasPrefix(name, "refs/tags/") && out.Commit != "" {
			tags[name] = id
		}
	}
	shallow := s.from.shallow
	if out.Commit == "" {
		shallow = nil
	}
	if err := s.rewrite(out.Commit, out.Branch, tags, shallow); err != nil || len(tags) == 0 && len(shallow) == 0 {
		return err
	}
	if len(tags) > 0 {
		list, err := s.in(ctx, "for-each-ref", "--merged="+out.Commit, "--format=%(refname)", "refs/tags/")
		if err != nil {
			return err
		}
		maps.DeleteFunc(tags, func(name, _ string) bool { return !strings.Contains("\n"+list, "\n"+name+"\n") })
	}
	if len(shallow) > 0 { // it names commits: only the ends of this history may be there
		roots, err := s.in(ctx, "rev-list", "--max-parents=0", out.Commit)
		if err != nil {
			return err
		}
		var kept []byte
		for line := range bytes.Lines(shallow) {
			if strings.Contains(roots, strings.TrimSpace(string(line))) {
				kept = append(kept, line...)
			}
		}
		shallow = kept
	}
	return s.rewrite(out.Commit, out.Branch, tags, shallow)
}

// rewrite writes the repository with these refs, in place of what was written before.
func (s *borrower) rewrite(commit, branch string, refs map[string]string, shallow []byte) error {
	for _, name := range []string{"packed-refs", "shallow"} {
		if err := os.RemoveAll(filepath.Join(s.gitDir, name)); err != nil {
			return err
		}
	}
	from := *s.from
	from.refs, from.shallow = refs, shallow
	s.from = &from
	return from.write(s.gitDir, commit, branch)
}

// holds reports whether some commit of the copied history has changed an excluded path: a commit that removed it also has it in its
// past.
func (s *borrower) holds(ctx context.Context, commit string, exclude *excluder) (bool, error) {
	if commit == "" {
		return false, nil
	}
	c := s.call(append([]string{"rev-list", "--max-count=1", "--full-history", commit, "--"}, exclude.specs("")...))
	res, err := s.try(ctx, c)
	if err != nil {
		return false, &Error{Code: ErrGit, Op: "git rev-list", Err: err}
	}
	if res.ExitCode != 0 {
		return false, s.from.fault(gitMessage(res))
	}
	return len(bytes.TrimSpace(res.Stdout)) > 0, nil
}

// alone makes a commit without a parent, with the content of another commit except for what is excluded.
func (s *borrower) alone(ctx context.Context, commit string, exclude *excluder, message string) (string, error) {
	tree, err := s.treeWithout(ctx, commit, exclude)
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
	c := s.call([]string{"commit-tree", "--no-gpg-sign", strings.TrimSpace(tree)})
	c.env = append(identify("AUTHOR", who), identify("COMMITTER", who)...)
	c.stdin = strings.NewReader(message)
	id, err := s.run(ctx, c)
	return strings.TrimSpace(id), err
}

// treeWithout is the tree of a commit without what is excluded.
func (s *borrower) treeWithout(ctx context.Context, commit string, exclude *excluder) (string, error) {
	if exclude == nil {
		return commit + "^{tree}", nil
	}
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
	return s.in(ctx, "write-tree")
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Branch is a branch of a repository that may be hostile.
type Branch struct {
	Tip     string // the commit; "" when there is no such branch
	Parent  string // of the commit, the first one; "" when it has none
	Message string // of the commit
	InUse   bool   // some work tree of the repository has it checked out: moving it would break that work tree
}

// BranchOf looks a branch up. It is as hermetic as StatusOf.
func BranchOf(ctx context.Context, dir, name string) (Branch, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return Branch{}, fmt.Errorf("find branch: %w", err)
	}
	defer m.close()
	b := Branch{Tip: m.from.refs["refs/heads/"+name]}
	if b.Tip == "" {
		return b, nil
	}
	if b.InUse, err = m.from.inUse(name); err != nil {
		return Branch{}, fmt.Errorf("find branch: %w", err)
	}
	out, err := m.in(ctx, "log", "-1", "--no-show-signature", "--format=%P%x00%B", b.Tip, "--")
	parents, message, _ := strings.Cut(out, "\x00")
	b.Parent, _, _ = strings.Cut(parents, " ")
	b.Message = message
	return b, err
}

// TakeBack undoes what CommitTree did to a branch: it is put back to its previous commit, or removed when there was none. A
// branch that is at another commit by now, or that is checked out somewhere, is ErrBranchExists and stays. The objects stay
// too, unreferenced.
func TakeBack(ctx context.Context, repo string, made Commit, before string) error {
	m, err := openWorkTree(ctx, repo, repo)
	if err != nil {
		return fmt.Errorf("take back branch: %w", err)
	}
	defer m.close()
	ref := "refs/heads/" + made.Branch
	used, err := m.from.inUse(made.Branch)
	if err != nil {
		return fmt.Errorf("take back branch: %w", err)
	}
	if used || m.from.refs[ref] != made.ID {
		return &Error{Code: ErrBranchExists, Op: "take back branch", Path: made.Branch, Err: errors.New("somebody uses it by now")}
	}
	order := "delete " + ref + " " + made.ID + "\n" // which git does only if it still is at that commit
	if before != "" {
		order = "update " + ref + " " + before + " " + made.ID + "\n"
	}
	_, err = m.run(ctx, gitCall{args: []string{"update-ref", "--stdin"}, gitDir: m.from.common, stdin: strings.NewReader(order)})
	return err
}

// inUse reports whether the main work tree or a linked one has a branch checked out.
func (r *repository) inUse(branch string) (bool, error) {
	linked := filepath.Join(r.common, "worktrees")
	list, err := os.ReadDir(linked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	places := []string{r.common}
	for _, e := range list {
		if e.IsDir() {
			places = append(places, filepath.Join(linked, e.Name()))
		}
	}
	for _, dir := range places {
		head, err := readSmall(dir, "HEAD", maxLooseRef)
		if err != nil {
			return false, err
		}
		if strings.TrimSpace(string(head)) == "ref: refs/heads/"+branch {
			return true, nil
		}
	}
	return false, nil
}

// MergeBase returns the commit at which HEAD parted from another commit, branch or tag; that of HEAD when name is "".
func MergeBase(ctx context.Context, dir, name string) (string, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return "", fmt.Errorf("find base: %w", err)
	}
	defer m.close()
	commit, _, err := m.from.resolve(ctx, name)
	if err == nil && commit == "" {
		err = m.from.unknown("HEAD")
	}
	if err != nil || name == "" {
		return commit, err
	}
	out, err := m.in(ctx, "merge-base", commit, m.from.commit)
	return strings.TrimSpace(out), err
}

// Resolve returns the commit that a name of the repository refers to. It is as hermetic as StatusOf.
func Resolve(ctx context.Context, dir, name string) (string, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return "", fmt.Errorf("find commit: %w", err)
	}
	defer m.close()
	if name == "" {
		name = "HEAD"
	}
	commit, _, err := m.from.resolve(ctx, name)
	return commit, err
}

// IsAncestor reports whether one commit is reached from another, or is it. It is as hermetic as StatusOf.
func IsAncestor(ctx context.Context, dir, older, newer string) (bool, error) {
	m, err := openWorkTree(ctx, dir, dir)
	if err != nil {
		return false, fmt.Errorf("compare commits: %w", err)
	}
	defer m.close()
	res, err := m.try(ctx, m.call([]string{"merge-base", "--is-ancestor", older, newer}))
	switch {
	case err != nil:
		return false, fmt.Errorf("compare commits: %w", err)
	case res.ExitCode > 1:
		return false, &Error{Code: ErrGit, Op: "compare commits", Err: gitMessage(res)}
	}
	return res.ExitCode == 0, nil
}

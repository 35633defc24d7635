package promote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// protected are the branches that no one promotes to by accident. The branch that is checked out is protected
// separately.
var protected = []string{"main", "master", "trunk", "develop", "production", "HEAD"}

// A checklist gathers the checks before the apply. All are made, so that a refusal names every reason at once.
type checklist struct {
	reasons []evidence.ApplyReason
	failed  map[string]string // check to what failed first
	skipped map[string]string
}

func (c *checklist) fail(check string, r *apply.Refusal) {
	c.reasons = append(c.reasons, r.Reasons...)
	if c.failed[check] == "" {
		c.failed[check] = r.Reasons[0].Message
	}
}

func (c *checklist) results() []homeboy.PromotionCheck {
	out := []homeboy.PromotionCheck{}
	for _, name := range homeboy.PreflightChecks {
		check := homeboy.PromotionCheck{Check: name, Status: homeboy.PreflightPassed}
		if why, ok := c.skipped[name]; ok {
			check.Status, check.Detail = homeboy.PreflightSkipped, why
		}
		if why, ok := c.failed[name]; ok {
			check.Status, check.Detail = homeboy.PreflightFailed, why
		}
		out = append(out, check)
	}
	return out
}

// checkOf is the check that a reason of package apply belongs to.
func checkOf(code string) string {
	switch code {
	case apply.ReasonDrift:
		return homeboy.PreflightDrift
	case apply.ReasonSurprise:
		return homeboy.PreflightStaged
	case apply.ReasonPatchPaths, apply.ReasonChangeList, apply.ReasonUnapproved:
		return homeboy.PreflightApproval
	}
	return homeboy.PreflightConfinement
}

// preflight looks whether the change can go where it is meant to go.
func (j *job) preflight(ctx context.Context) error {
	c := &checklist{failed: map[string]string{}, skipped: map[string]string{}}
	head, err := j.worktree(ctx, c)
	if err != nil {
		return err
	}
	if err := j.base(ctx, c); err != nil {
		return err
	}
	if len(c.failed) == 0 || c.failed[homeboy.PreflightDrift] == "" {
		if err := j.rehearse(ctx, c); err != nil {
			return err
		}
	} else {
		for _, name := range []string{homeboy.PreflightConfinement, homeboy.PreflightStaged} {
			c.skipped[name] = "the base is not known"
		}
	}
	if err := j.branch(ctx, c, head); err != nil {
		return err
	}
	j.report.Preflight = c.results()
	for i := range j.report.Preflight {
		j.report.Preflight[i].Detail = j.Redact.String(j.report.Preflight[i].Detail)
	}
	if len(c.reasons) > 0 {
		return &apply.Refusal{Reasons: c.reasons}
	}
	return nil
}

// worktree demands that the target has no uncommitted work, and returns the branch that is checked out. deed does not touch
// that work, but the person who promotes should know that the files they see are not the base.
func (j *job) worktree(ctx context.Context, c *checklist) (branch string, err error) {
	if _, err := os.Lstat(filepath.Join(j.repo, ".git")); errors.Is(err, os.ErrNotExist) {
		c.skipped[homeboy.PreflightCleanWorktree] = "the repository has no work tree"
		return "", nil
	}
	st, err := workspace.StatusOf(ctx, j.repo, workspace.StatusOptions{})
	if err != nil {
		return "", err
	}
	switch {
	case st.Dirty > 0 && j.Dirty:
		c.skipped[homeboy.PreflightCleanWorktree] = "uncommitted work is allowed"
	case st.Dirty > 0:
		c.fail(homeboy.PreflightCleanWorktree, refuse(ReasonDirty, st.Files[0].Path, "%s not committed (commit or stash it, or use --allow-dirty: it is not touched)", andMore(st.Dirty-1)))
	}
	return st.Branch, nil
}

// base finds the base of the change: the commit that the agent began with, or with --base a descendant of it.
func (j *job) base(ctx context.Context, c *checklist) error {
	recorded := j.report.Base.Recorded
	commit, err := workspace.Resolve(ctx, j.repo, j.Base)
	if err != nil {
		return err
	}
	j.report.Base.Commit = commit
	fail := func(code, format string, args ...any) error {
		c.fail(homeboy.PreflightDrift, refuse(code, "", format, args...))
		return nil
	}
	switch {
	case recorded == commit:
		return nil
	case recorded == "" && j.Base == "":
		return fail(ReasonBaseUnknown, "the bundle names no commit that the agent began with (say with --base what the change is to stand on)")
	case recorded == "":
		return nil
	}
	if _, err := workspace.Resolve(ctx, j.repo, recorded); err != nil {
		return fail(ReasonBaseMoved, "the agent began with commit %s, which is not in this repository", recorded)
	}
	if j.Base == "" {
		return fail(ReasonBaseMoved, "HEAD is %s, and the agent began with %s (use --base %s, or --base HEAD to stand on what is new)", commit, recorded, recorded)
	}
	ok, err := workspace.IsAncestor(ctx, j.repo, recorded, commit)
	if err == nil && !ok {
		return fail(ReasonBaseMoved, "%s does not come of %s, which the agent began with", commit, recorded)
	}
	return err
}

// rehearse makes the base in a private directory and goes through the apply there without changing anything: every
// file as the agent found it, no path that leads elsewhere, and the recorded content as the result.
func (j *job) rehearse(ctx context.Context, c *checklist) error {
	dir := j.tree()
	if _, err := workspace.Seed(ctx, workspace.Source{Dir: j.repo, Ref: j.report.Base.Commit}, dir); err != nil {
		return err
	}
	if len(j.files) == 0 {
		return nil
	}
	a := apply.Applier{Home: j.Home, Clock: j.Clock, Redact: j.Redact}
	res, err := a.Apply(ctx, apply.Request{Bundle: j.offer.Dir, To: dir, By: j.By, Keys: j.Keys, DryRun: true})
	if res.ArtifactID != j.report.Candidate.Bundle {
		return refuse(apply.ReasonBundleChanged, "", "the bundle changed while it was looked at")
	}
	var r *apply.Refusal
	if !errors.As(err, &r) {
		return err
	}
	for _, reason := range r.Reasons {
		c.fail(checkOf(reason.Code), &apply.Refusal{Reasons: []evidence.ApplyReason{reason}})
	}
	return nil
}

// tree is where the base is.
func (j *job) tree() string { return filepath.Join(j.dir, "base") }

// branch demands a branch that is new, that is at the base, or that has this very change.
func (j *job) branch(ctx context.Context, c *checklist, checkedOut string) error {
	fail := func(code, format string, args ...any) error {
		c.fail(homeboy.PreflightProtectedBranch, refuse(code, j.Branch, format, args...))
		return nil
	}
	switch first, _, _ := strings.Cut(j.Branch, "/"); {
	case j.Branch == "@" || first == "refs" || first == "heads" && j.Branch != "heads":
		// git would take it for another branch, or for HEAD: refs/heads/main below refs/heads.
		return fail(ReasonBranchName, "would be taken for another branch (give the name alone, as in feature/x)")
	case strings.EqualFold(j.Branch, checkedOut): // one file, where the file system says so
		return fail(ReasonProtected, "is checked out in the target (choose another branch)")
	}
	if slices.ContainsFunc(protected, func(name string) bool { return strings.EqualFold(name, j.Branch) }) && !slices.Contains(j.Allow, j.Branch) {
		return fail(ReasonProtected, "is a protected branch (choose another, or use --allow-branch %s)", j.Branch)
	}
	b, err := workspace.BranchOf(ctx, j.repo, j.Branch)
	switch {
	case err != nil:
		return err
	case b.Tip == "":
		return nil
	case b.InUse && b.Tip == j.report.Base.Commit:
		return fail(ReasonProtected, "is checked out in a work tree of the target (choose another branch)")
	case b.Tip == j.report.Base.Commit:
		j.old = b.Tip
		return nil
	}
	same, err := j.has(ctx, b)
	if err != nil || !same {
		return errors.Join(err, fail(ReasonBranch, "is there with other work (choose another branch)"))
	}
	j.report.Reused, j.report.Commit = true, b.Tip
	return nil
}

// has reports whether a branch is what this promotion would make of it: deed's commit for this bundle, with the same tree.
func (j *job) has(ctx context.Context, b workspace.Branch) (bool, error) {
	for _, t := range j.trailers() {
		if !strings.Contains("\n"+b.Message+"\n", fmt.Sprintf("\n%s: %s\n", t.Key, t.Value)) {
			return false, nil
		}
	}
	want, have := filepath.Join(j.dir, "want"), filepath.Join(j.dir, "have")
	if _, err := workspace.Seed(ctx, workspace.Source{Dir: j.repo, Ref: j.report.Base.Commit}, want); err != nil {
		return false, err
	}
	if err := workspace.Apply(ctx, want, j.patch); err != nil {
		return false, nil //nolint:nilerr // then the branch cannot be a descendant of it
	}
	if _, err := workspace.Seed(ctx, workspace.Source{Dir: j.repo, Ref: b.Tip}, have); err != nil {
		return false, err
	}
	first, err := workspace.Snapshot(ctx, want, nil)
	if err != nil {
		return false, err
	}
	second, err := workspace.Snapshot(ctx, have, nil)
	return err == nil && len(workspace.Compare(first, second)) == 0, err
}

// andMore completes a message that names the first of several files.
func andMore(n int) string {
	if n == 0 {
		return "is"
	}
	return fmt.Sprintf("and %d more are", n)
}

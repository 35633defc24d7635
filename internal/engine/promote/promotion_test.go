package promote

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/evidence/apply"
)

func TestPromote(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Hooks and configuration of the repository have no effect.
	hook := filepath.Join(r.repo, ".git/hooks/reference-transaction")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("init", "-q", "--bare", bare)
	r.checks = []deed.Check{{Command: []string{"grep", "-q", "two", "a.txt"}}}
	dir := r.bundle(r.simple())
	req := r.request(dir)
	req.Gates, req.Push, req.Message = []Gate{{Command: "test ! -e sub/b.txt && cat sub/new.txt"}}, bare, "mend it\n\nby hand"
	rep := r.promote(req)
	if rep.Status != homeboy.PromotionApplied || len(rep.Gates) != 2 || !rep.Gates[0].Recorded || rep.Gates[1].Tail != "n\n" {
		t.Errorf("the report is %+v", rep)
	}
	for i, name := range homeboy.PreflightChecks {
		if c := rep.Preflight[i]; c.Check != name || c.Status != homeboy.PreflightPassed {
			t.Errorf("preflight %d is %+v", i, c)
		}
	}
	if got := r.in("rev-parse", "deed/fix^"); got != r.commit {
		t.Errorf("the parent is %s", got)
	}
	if got := r.in("diff", "--name-status", "main", "deed/fix"); got != "M\ta.txt\nD\tsub/b.txt\nA\tsub/new.txt" {
		t.Errorf("the commit changes %q", got)
	}
	want := fmt.Sprintf("mend it\n\nby hand\n\nDeed-Attempt: attempt-1\nDeed-Bundle: %s\nDeed-Verdict: accepted", rep.Candidate.Bundle)
	if diff := cmp.Diff(want, r.in("log", "-1", "--format=%B", "deed/fix")); diff != "" {
		t.Errorf("the message (-want +got):\n%s", diff)
	}
	if got := r.in("status", "--porcelain") + r.in("rev-parse", "--abbrev-ref", "HEAD"); got != "main" {
		t.Errorf("the work tree is touched: %q", got)
	}
	if got := r.git("-C", bare, "rev-parse", "deed/fix"); got != rep.Commit || rep.Push == nil || rep.Push.Commit != rep.Commit {
		t.Errorf("pushed %s, %+v", got, rep.Push)
	}

	// Again, it changes nothing.
	before := everything(t, r.repo)
	again := r.promote(req)
	if !again.Reused || again.Commit != rep.Commit || again.Status != homeboy.PromotionApplied {
		t.Errorf("the second report is %+v", again)
	}
	if diff := cmp.Diff(before, everything(t, r.repo)); diff != "" {
		t.Errorf("the repository changed:\n%s", diff)
	}
	if diff := cmp.Diff([]string{evidence.ApplyApplied, evidence.ApplyNoOp}, r.audited()); diff != "" {
		t.Error(diff)
	}
	r.tidy()
}

// edge case 104: empty patch, traversal path, sha mismatch, ambiguous candidates, moved base and protected branch are refused,
// and nothing is changed; the same for a bundle that no trusted key signed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const quiet = "diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n"
	const sumX = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac" // of "x\n"
	adds := func(c *change, name string) {
		c.patch = fmt.Appendf(nil, quiet, name)
		c.files = []evidence.ChangedFile{{Path: "/workspace/" + name, RelativePath: name, Status: "added", AfterSHA256: sumX, AfterMode: "100644", MountTarget: "/workspace", PatchPath: evidence.PathPatch}}
	}
	for _, tc := range []struct {
		name   string
		change func(*change)
		bundle func(dir string)
		repo   func(*rig)
		req    func(*rig, *Request)
		want   []string
		failed string // check of the preflight
	}{
		{name: "empty patch", change: func(c *change) { c.patch, c.files = nil, nil }, want: []string{ReasonEmpty}},
		{name: "traversal path", change: func(c *change) { adds(c, "../out") }, want: []string{apply.ReasonPath}, failed: homeboy.PreflightConfinement},
		{name: "path of git", change: func(c *change) { adds(c, ".git/hooks/post-commit") }, want: []string{apply.ReasonPath}, failed: homeboy.PreflightConfinement},
		{name: "hash mismatch", req: func(_ *rig, r *Request) { r.Patch = strings.Repeat("ab", 32) }, want: []string{ReasonHash}},
		{name: "hash of the bundle", bundle: func(dir string) {
			_ = os.WriteFile(filepath.Join(dir, evidence.PathPatch), []byte("diff --git a/x b/x\n"), 0o600)
		}, want: []string{apply.ReasonBundleInvalid}},
		{name: "ambiguous candidates", req: func(r *rig, q *Request) {
			q.Bundles = append(q.Bundles, r.bundle(r.change(tree{"a.txt": "three\n"})))
		}, want: []string{ReasonAmbiguous}},
		{name: "moved base", repo: func(r *rig) { r.commitAll(tree{"other.txt": "mine\n"}) }, want: []string{ReasonBaseMoved}, failed: homeboy.PreflightDrift},
		{name: "moved base with touched files", repo: func(r *rig) { r.commitAll(tree{"a.txt": "mine\n"}) }, req: func(_ *rig, q *Request) { q.Base = "HEAD" }, want: []string{apply.ReasonDrift}, failed: homeboy.PreflightDrift},
		{name: "another line of work", repo: func(r *rig) {
			r.in("checkout", "-q", "--orphan", "apart")
			r.commitAll(tree{"x": "x\n"})
		}, req: func(_ *rig, q *Request) { q.Base = "HEAD" }, want: []string{ReasonBaseMoved}, failed: homeboy.PreflightDrift},
		{name: "base of another repository", change: func(c *change) { c.commit = strings.Repeat("12", 20) }, want: []string{ReasonBaseMoved}, failed: homeboy.PreflightDrift},
		{name: "no base", change: func(c *change) { c.commit = "" }, want: []string{ReasonBaseUnknown}, failed: homeboy.PreflightDrift},
		{name: "protected branch", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "main" }, want: []string{ReasonProtected}, failed: homeboy.PreflightProtectedBranch},
		{name: "protected branch in other letters", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "Main" }, want: []string{ReasonProtected}, failed: homeboy.PreflightProtectedBranch},
		{name: "checked out in other letters", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "WORK" }, want: []string{ReasonProtected}, failed: homeboy.PreflightProtectedBranch},
		{name: "a whole reference", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "refs/heads/main" }, want: []string{ReasonBranchName}, failed: homeboy.PreflightProtectedBranch},
		{name: "half a reference", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "heads/main" }, want: []string{ReasonBranchName}, failed: homeboy.PreflightProtectedBranch},
		{name: "another name of HEAD", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch = "@" }, want: []string{ReasonBranchName}, failed: homeboy.PreflightProtectedBranch},
		{name: "current branch", repo: func(r *rig) { r.in("checkout", "-q", "-b", "work") }, req: func(_ *rig, q *Request) { q.Branch, q.Allow = "work", []string{"work"} }, want: []string{ReasonProtected}, failed: homeboy.PreflightProtectedBranch},
		{name: "branch of another work tree", repo: func(r *rig) {
			r.in("worktree", "add", "-q", "-b", "deed/fix", filepath.Join(r.t.TempDir(), "linked"))
		}, want: []string{ReasonProtected}, failed: homeboy.PreflightProtectedBranch},
		{name: "branch with other work", repo: func(r *rig) {
			r.in("checkout", "-q", "-b", "deed/fix")
			r.commitAll(tree{"x": "x\n"})
			r.in("checkout", "-q", "main")
		}, want: []string{ReasonBranch}, failed: homeboy.PreflightProtectedBranch},
		{name: "dirty work tree", repo: func(r *rig) { tree{"other.txt": "dirty\n"}.write(r.t, r.repo) }, want: []string{ReasonDirty}, failed: homeboy.PreflightCleanWorktree},
		{name: "several at once", repo: func(r *rig) {
			r.commitAll(tree{"a.txt": "mine\n"})
			tree{"untracked": "dirty\n"}.write(r.t, r.repo)
		}, req: func(_ *rig, q *Request) { q.Base, q.Branch = "HEAD", "main" }, want: []string{ReasonDirty, apply.ReasonDrift, ReasonProtected}, failed: homeboy.PreflightCleanWorktree},
		{name: "other content than recorded", change: func(c *change) { c.files[0].AfterSHA256 = sumX }, want: []string{apply.ReasonSurprise}, failed: homeboy.PreflightStaged},
		{name: "more files than recorded", change: func(c *change) { c.patch = append(c.patch, fmt.Sprintf(quiet, "extra")...) }, want: []string{apply.ReasonPatchPaths}},
		{name: "untrusted key", req: func(_ *rig, q *Request) { q.Keys = nil }, want: []string{apply.ReasonSignature}},
		{name: "unsigned", change: func(c *change) { c.key = nil }, want: []string{apply.ReasonSignature}},
		{name: "rejected work", change: func(c *change) { c.verdict = "rejected" }, want: []string{apply.ReasonNotAccepted}},
		{name: "claimed patch", req: func(_ *rig, q *Request) {
			q.Claims = []homeboy.Artifact{{ID: "p", Kind: homeboy.KindPatch, Path: "/etc/passwd", SHA256: sumX}}
		}, want: []string{ReasonReviewOnly}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.simple()
			if tc.change != nil {
				tc.change(c)
			}
			dir := r.bundle(c)
			if tc.bundle != nil {
				tc.bundle(dir)
			}
			if tc.repo != nil {
				tc.repo(r)
			}
			req := r.request(dir)
			if tc.req != nil {
				tc.req(r, &req)
			}
			req.Gates = []Gate{{Command: "false"}} // it is never reached
			before := everything(t, r.repo)
			for _, req.DryRun = range []bool{true, false} {
				_, err := r.Promote(t.Context(), req)
				r := refusal(t, err)
				if diff := cmp.Diff(tc.want, codes(r)); diff != "" {
					t.Errorf("dry run %v (-want +got):\n%s\n%v", req.DryRun, diff, err)
				}
				if tc.failed != "" && !slices.ContainsFunc(r.Preflight, func(c homeboy.PromotionCheck) bool {
					return c.Check == tc.failed && c.Status == homeboy.PreflightFailed && c.Detail != ""
				}) {
					t.Errorf("%s did not fail in %+v", tc.failed, r.Preflight)
				}
			}
			if diff := cmp.Diff(before, everything(t, r.repo)); diff != "" {
				t.Errorf("the repository changed:\n%s", diff)
			}
			if diff := cmp.Diff([]string{evidence.ApplyRefused}, r.audited()); diff != "" {
				t.Error(diff)
			}
			r.tidy()
		})
	}
}

// A patch that is asked for by its hash is taken among several, and bundles with the same patch are no choice.
func TestChoice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.simple(), r.simple()
	b.attempt = "attempt-2"
	other := r.bundle(r.change(tree{"a.txt": "three\n"}))
	req := r.request(r.bundle(a), r.bundle(b))
	req.DryRun = true
	rep := r.promote(req)
	if rep.Candidate.AttemptID != "attempt-2" {
		t.Errorf("of two with the same patch the candidate is %+v", rep.Candidate)
	}
	req.Bundles, req.Patch = append(req.Bundles, other), rep.Candidate.SHA256
	if again := r.promote(req); again.Candidate.SHA256 != rep.Candidate.SHA256 {
		t.Errorf("the candidate is %+v", again.Candidate)
	}
	// Work that was not accepted is no candidate when accepted work is there.
	c := r.change(tree{"a.txt": "four\n"})
	c.verdict = "rejected"
	req.Bundles, req.Patch = []string{r.bundle(c), other}, ""
	if got := r.promote(req); got.Candidate.Bundle == "" || !slices.Equal(got.Candidate.Files, []string{"a.txt"}) {
		t.Errorf("the candidate is %+v", got.Candidate)
	}
}

// If the request names it, the base may have moved on as long as none of the files was touched; then the new base is what
// is judged.
func TestMovedBaseByName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.simple())
	head := r.commitAll(tree{"other.txt": "newer\n"})
	req := r.request(dir)
	req.Base, req.Gates = "HEAD", []Gate{{Command: "cat other.txt a.txt"}}
	rep := r.promote(req)
	if rep.Base.Commit != head || rep.Base.Recorded != r.commit || rep.Gates[0].Tail != "newer\ntwo\n" || r.in("rev-parse", "deed/fix^") != head {
		t.Errorf("the report is %+v", rep)
	}
	// What the agent began with is a base too, wherever HEAD is.
	req.Base, req.Branch = r.commit, "deed/old"
	if rep := r.promote(req); rep.Gates[0].Tail != "o\ntwo\n" {
		t.Errorf("the report is %+v", rep)
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.in("checkout", "-q", "-b", "work")
	r.in("branch", "deed/fix")
	dir := r.bundle(r.simple())
	if rep := r.promote(r.request(dir)); rep.Status != homeboy.PromotionVerificationPending || r.in("rev-parse", "deed/fix^") != r.commit {
		t.Errorf("a branch at the base: %+v", rep)
	}
	req := r.request(dir)
	req.Branch, req.Allow = "main", []string{"main"}
	if rep := r.promote(req); r.in("rev-parse", "main") != rep.Commit {
		t.Errorf("a protected branch that is allowed: %+v", rep)
	}
	tree{"other.txt": "dirty\n"}.write(t, r.repo)
	req.Branch, req.Dirty = "third", true
	r.promote(req)
	if text, _ := os.ReadFile(filepath.Join(r.repo, "other.txt")); string(text) != "dirty\n" {
		t.Errorf("other.txt is %q", text)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("clone", "-q", "--bare", r.repo, bare)
	r.git("-C", bare, "symbolic-ref", "HEAD", "refs/heads/work")
	req = r.request(dir)
	req.To, req.Branch = bare, "fresh"
	if rep := r.promote(req); r.git("-C", bare, "rev-parse", "fresh") != rep.Commit {
		t.Errorf("a bare repository: %+v", rep)
	}
	if _, err := r.Promote(t.Context(), Request{Branch: "x y", Patch: "zz", Gates: []Gate{{}}}); err == nil || strings.Count(err.Error(), "\n") < 2 {
		t.Errorf("a bad request: %v", err)
	}
}

// edge case 105: a dry run changes nothing, not a byte of the repository, the bundle or the home.
func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := r.bundle(r.simple())
	req := r.request(dir)
	req.DryRun, req.Gates, req.Push, req.Verifier = true, []Gate{{Command: "false"}}, "/nowhere", "false"
	before := everything(t, r.repo, dir, r.Home.Root())
	rep := r.promote(req)
	if rep.Status != homeboy.PromotionDryRun || rep.Commit != "" || len(rep.Gates) != 0 || rep.Candidate.SizeBytes == 0 {
		t.Errorf("the report is %+v", rep)
	}
	if diff := cmp.Diff(before, everything(t, r.repo, dir, r.Home.Root())); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

func TestNoChanges(t *testing.T) {
	t.Parallel()
	for gate, want := range map[string]homeboy.PromotionStatus{
		"": homeboy.PromotionNoChanges, "true": homeboy.PromotionVerifiedNoChanges, "false": homeboy.PromotionNoChangesGateFailed,
	} {
		t.Run("gate "+gate, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.change(nil)
			c.noOp = true
			req := r.request(r.bundle(c))
			if gate != "" {
				req.Gates = []Gate{{Command: gate}}
			}
			rep := r.promote(req)
			if rep.Status != want || rep.Commit != "" || r.in("branch", "--list", "deed/*") != "" {
				t.Errorf("the report is %+v", rep)
			}
		})
	}
}

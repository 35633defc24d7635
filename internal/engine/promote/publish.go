package promote

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// trailers tie the commit to its evidence.
func (j *job) trailers() []workspace.Trailer {
	c := j.report.Candidate
	return []workspace.Trailer{{Key: "Deed-Attempt", Value: c.AttemptID}, {Key: "Deed-Bundle", Value: c.Bundle}, {Key: "Deed-Verdict", Value: c.Verdict}}
}

// commit makes one commit of the patch on the base, and the branch with it.
func (j *job) commit(ctx context.Context) error {
	message := j.Message
	if message == "" {
		message = fmt.Sprintf("Promote the accepted change of attempt %s", j.report.Candidate.AttemptID)
	}
	expect := make([]string, len(j.files))
	for i, f := range j.files {
		expect[i] = f.Path
	}
	c, err := workspace.CommitTree(ctx, workspace.CommitSpec{
		Repo: j.repo, Parent: j.report.Base.Commit, Branch: j.Branch, Old: j.old, Patch: j.patch, Expect: expect,
		Message: message, Trailers: j.trailers(), Author: workspace.Signature{Name: "deed", Email: "deed@localhost", When: j.Clock()},
	})
	switch {
	case err == nil:
		j.report.Commit = c.ID
		return nil
	case errors.Is(err, workspace.ErrApply):
		return refuse(apply.ReasonPatch, "", "%v", err)
	case errors.Is(err, workspace.ErrUnexpected):
		return refuse(apply.ReasonSurprise, "", "%v", err)
	}
	// Somebody may have made the branch meanwhile: another promotion of the same, or not.
	b, berr := workspace.BranchOf(ctx, j.repo, j.Branch)
	if berr != nil || b.Tip == j.old {
		return err
	}
	same, serr := j.has(ctx, b)
	if serr != nil || !same {
		return errors.Join(serr, refuse(ReasonBranch, j.Branch, "was written by somebody else meanwhile (choose another branch)"))
	}
	j.report.Commit, j.report.Reused = b.Tip, true
	return nil
}

// audit writes a line, whatever the result is.
func (j *job) audit(failed error) error {
	line := evidence.ApplyAudit{
		Operation: evidence.AuditApply, Status: evidence.ApplyApplied, ArtifactID: j.report.Candidate.Bundle, Approver: j.By, PatchSHA256: j.report.Candidate.SHA256,
		Target: evidence.ApplyTarget{Directory: j.repo + "#" + j.Branch}, ApprovedFiles: j.report.Candidate.Files, Bundle: j.Bundles[0],
	}
	if j.offer != nil {
		line.Bundle = j.offer.Dir
	}
	if abs, err := filepath.Abs(line.Bundle); err == nil {
		line.Bundle = abs
	}
	var refusal *Refusal
	switch {
	case errors.As(failed, &refusal):
		line.Status = evidence.ApplyRefused
	case failed != nil:
		line.Status = evidence.ApplyFailed
	case !j.report.Status.Passed():
		line.Status, failed = evidence.ApplyRefused, refuse(string(j.report.Status), "", "%s", j.blame())
	case j.report.Commit == "" || j.report.Reused:
		line.Status = evidence.ApplyNoOp
	}
	if line.Status != evidence.ApplyApplied {
		line.ApprovedFiles = nil
	}
	a := apply.Applier{Home: j.Home, Clock: j.Clock, Redact: j.Redact}
	ref, err := a.Audit(line, failed)
	if err == nil {
		j.report.AuditReference = ref
	}
	return err
}

// blame names what did not let the change pass.
func (j *job) blame() string {
	for _, g := range j.report.Gates {
		if g.Status == homeboy.GateFailed {
			return fmt.Sprintf("gate %s failed", g.ID)
		}
	}
	return "the verifier did not accept the change"
}

// push sends the branch to the remote that the request names.
func (j *job) push(ctx context.Context) error {
	if j.Push == "" {
		return nil
	}
	p, err := workspace.Push(ctx, j.repo, j.Push, j.Branch+":"+j.Branch, workspace.PushOptions{Env: workspace.ReachEnv(j.Environ)})
	if err != nil {
		return fmt.Errorf("the branch %s has the change, and the remote has not: %w", j.Branch, err)
	}
	j.report.Push = &homeboy.PromotionPush{Remote: p.Remote, Ref: p.Ref, Commit: p.ID}
	return nil
}

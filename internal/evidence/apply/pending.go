package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

// ErrNotStaged is wrapped when no staged apply has the id.
var ErrNotStaged = errors.New("no such staged apply")

// ErrResolved is wrapped when somebody has decided on a staged apply already.
var ErrResolved = errors.New("it was decided already")

// Stage makes an apply wait for a person. It rehearses the apply first, so that what cannot be applied is refused now, and
// pins the bundle by the hash of its manifest. A staged apply is a file in the home and no row of the store: bundle and
// directory are paths of this machine, and a bundle that somebody else made belongs to no task here.
func (a *Applier) Stage(ctx context.Context, r Request) (evidence.PendingApplyPreview, error) {
	r.DryRun = true
	res, err := a.Apply(ctx, r)
	if err != nil {
		return evidence.PendingApplyPreview{}, errors.Join(err, a.close(&res, evidence.ApplyAudit{Operation: evidence.AuditStage, Bundle: absolute(r.Bundle)}))
	}
	o, err := Read(r.Bundle, bundle.VerifyOptions{TrustedKeys: r.Keys})
	if err != nil {
		return evidence.PendingApplyPreview{}, err
	}
	defer o.Close()
	files, err := o.Select(r.Workspace, r.Approve)
	if err != nil {
		return evidence.PendingApplyPreview{}, err
	}
	m := o.Verification.Manifest
	p := evidence.PendingApplyPreview{
		Schema: evidence.SchemaPendingApplyPreview, ActionID: uuid.Must(uuid.NewV7()).String(), Status: evidence.PendingOpen,
		CreatedAt: a.Clock().Format(time.RFC3339Nano), ArtifactID: m.ID,
		Summary: fmt.Sprintf("apply %s to %s", fileCount(len(files)), Shown(res.Target.Directory)), Files: []evidence.PendingApplyFile{},
		ApplyInput: evidence.PendingApplyInput{
			ArtifactID: m.ID, ArtifactsPath: absolute(r.Bundle), ManifestSHA256: manifestHash(m), ApprovedFiles: names(files),
			Approver: r.By, ApplyTarget: res.Target, Force: r.Force,
		},
	}
	for _, f := range files {
		p.Files = append(p.Files, evidence.PendingApplyFile{Path: f.Name, Status: f.Status})
	}
	if err := atomicfile.MkdirAll(a.stagedDir(), 0o700); err != nil {
		return p, err
	}
	if err := a.writePending(p); err != nil {
		return p, err
	}
	res.Status, res.ApplyID = evidence.ApplyStaged, p.ActionID
	return p, a.close(&res, evidence.ApplyAudit{Operation: evidence.AuditStage, Bundle: p.ApplyInput.ArtifactsPath, ApprovedFiles: names(files)})
}

func (a *Applier) pendingFile(id string) string { return filepath.Join(a.stagedDir(), id+".json") }

func (a *Applier) writePending(p evidence.PendingApplyPreview) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return atomicfile.WriteFile(a.pendingFile(p.ActionID), text, 0o600)
}

// Pending returns the staged applies, oldest first; all, or only the undecided ones.
func (a *Applier) Pending(all bool) ([]evidence.PendingApplyPreview, error) {
	list, err := os.ReadDir(a.stagedDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("staged applies: %w", err)
	}
	var out []evidence.PendingApplyPreview
	for _, e := range list {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		p, err := a.readPending(id)
		if err != nil {
			return nil, err
		}
		if all || p.Status == evidence.PendingOpen {
			out = append(out, p)
		}
	}
	return out, nil
}

func (a *Applier) readPending(id string) (evidence.PendingApplyPreview, error) {
	text, err := os.ReadFile(a.pendingFile(id))
	if err != nil {
		return evidence.PendingApplyPreview{}, fmt.Errorf("staged apply %s: %w", id, err)
	}
	p, err := schema.Decode[evidence.PendingApplyPreview](evidence.SchemaPendingApplyPreview, text)
	if err != nil {
		return p, fmt.Errorf("staged apply %s: %w", id, err)
	}
	return p, nil
}

// Staged returns the staged apply with an id, or with a unique beginning of it, whether it is decided or not.
func (a *Applier) Staged(id string) (evidence.PendingApplyPreview, error) {
	list, err := a.Pending(true)
	if err != nil {
		return evidence.PendingApplyPreview{}, err
	}
	list = slices.DeleteFunc(list, func(p evidence.PendingApplyPreview) bool { return id == "" || !strings.HasPrefix(p.ActionID, id) })
	if len(list) != 1 {
		return evidence.PendingApplyPreview{}, fmt.Errorf("%s: %w", Shown(id), ErrNotStaged)
	}
	return list[0], nil
}

// A Resolution is what a person decided on a staged apply.
type Resolution struct {
	Approve bool
	By      string
	Note    string             // why, for the record
	Keys    []bundle.PublicKey // whose signature counts
}

// Resolve answers a staged apply. Approving runs the whole apply, from the verification on, with the bundle pinned to the
// one that was staged; when that is refused the apply stays open. The apply bears the action's id: when a crash came
// between the apply and the answer, the answer is all that is made up for.
func (a *Applier) Resolve(ctx context.Context, id string, r Resolution) (evidence.ArtifactApply, error) {
	p, err := a.Staged(id)
	if err != nil {
		return evidence.ArtifactApply{}, err
	}
	in := p.ApplyInput
	out := evidence.ArtifactApply{
		Schema: evidence.SchemaArtifactApply, ArtifactID: p.ArtifactID, ApprovedFiles: in.ApprovedFiles, Approver: r.By, ApplyTarget: in.ApplyTarget,
		ArtifactContentDigest: strings.TrimPrefix(p.ArtifactID, evidence.BundleIDPrefix),
	}
	if p.Status != evidence.PendingOpen {
		return out, fmt.Errorf("%s is %s: %w", p.ActionID, p.Status, ErrResolved)
	}
	r.Note = a.Redact.String(r.Note)
	p.ResolvedBy, p.ResolvedAt, p.Note = r.By, a.Clock().Format(time.RFC3339Nano), r.Note
	if !r.Approve {
		p.Status = evidence.PendingRejected
		out.Result = evidence.ApplyResult{
			Schema: evidence.SchemaApplyResult, Adapter: Adapter, Status: evidence.ApplyRejected, Target: in.ApplyTarget,
			AppliedFiles: []string{}, ArtifactID: p.ArtifactID, Approver: r.By,
		}
		line := evidence.ApplyAudit{Operation: evidence.AuditReject, Bundle: in.ArtifactsPath, ApprovedFiles: in.ApprovedFiles, Note: r.Note}
		return out, errors.Join(a.writePending(p), a.close(&out.Result, line))
	}
	if out.Result, err = a.approve(ctx, p, r); err != nil {
		return out, err
	}
	out.Success, out.PatchSHA256 = true, out.Result.PatchSHA256
	p.Status = evidence.PendingApproved
	return out, a.writePending(p)
}

func (a *Applier) approve(ctx context.Context, p evidence.PendingApplyPreview, r Resolution) (evidence.ApplyResult, error) {
	if _, err := a.Recover(ctx); err != nil {
		return evidence.ApplyResult{}, err
	}
	if j, err := readJournal(filepath.Join(a.doneDir(), p.ActionID)); err == nil {
		return evidence.ApplyResult{
			Schema: evidence.SchemaApplyResult, Adapter: Adapter, Status: evidence.ApplyApplied, Target: j.Target, AppliedFiles: j.names(),
			ApplyID: j.ID, ArtifactID: j.ArtifactID, Approver: j.Approver, PatchSHA256: j.PatchSHA,
		}, nil
	}
	in := p.ApplyInput
	return a.Apply(ctx, Request{
		Bundle: in.ArtifactsPath, To: in.ApplyTarget.Directory, Workspace: in.ApplyTarget.Workspace, Approve: in.ApprovedFiles,
		By: r.By, Keys: r.Keys, Force: in.Force, note: r.Note, id: p.ActionID, manifest: in.ManifestSHA256,
	})
}

func fileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

package runnerworkspace

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// maxDiff is how large a difference may be to be answered: it is one string of a JSON document.
const maxDiff = 16 << 20

// Capture says what is checked out in a workspace, which files differ from that, and the difference between two commits
// or between a commit and the files. It changes nothing in the workspace. What it does not look into is in the diagnostics:
// submodules and other repositories, special files, large ones.
func (r *Runner) Capture(ctx context.Context, req codebox.CaptureRequest) codebox.CaptureResult {
	res := codebox.CaptureResult{Schema: codebox.SchemaCaptureResult, Backend: Backend, Workspace: named(req.Identity())}
	if err := r.capture(ctx, req, &res); err != nil {
		kind := kindOf(err)
		res.Changed, res.Diff, res.Diagnostics, res.Status = false, nil, nil, codebox.WorkspaceFailed
		if kind == codebox.FailureBackendUnavailable {
			res.Status = codebox.WorkspaceUnavailable
		}
		res.FailureType, res.Error = r.failed("capture", kind, err)
		return res
	}
	res.Success = true
	return res
}

func (r *Runner) capture(ctx context.Context, req codebox.CaptureRequest, res *codebox.CaptureResult) error {
	dir, err := r.directory(res.Workspace)
	if err != nil {
		return err
	}
	o := workspace.StatusOptions{Exclude: req.ExcludePaths, MaxBytes: maxDiff}
	if req.Path != "" {
		o.Paths = []string{req.Path}
	}
	st, err := workspace.StatusOf(ctx, dir, o)
	if err != nil {
		return err
	}
	ws := res.Workspace
	status := codebox.CaptureStatus{
		Handle: ws.Handle, Name: path.Base(ws.Handle), Repo: ws.Repo, TargetRepo: ws.TargetRepo, RepoSlug: ws.RepoSlug, Path: ws.Path,
		Branch: st.Branch, Remote: r.Redact.String(st.Remote), Commit: st.Commit, Dirty: st.Dirty, Files: []codebox.CaptureFile{}, Backend: Backend,
	}
	for _, f := range st.Files {
		status.Files = append(status.Files, codebox.CaptureFile{Path: r.Redact.String(f.Path), Status: string(f.Status)})
	}
	res.Status, res.Changed = status, st.Dirty > 0
	for _, n := range st.Notes {
		res.Diagnostics = append(res.Diagnostics, r.diagnostic(n.Code, n.Path, n.Detail, nil))
	}
	if req.IncludeDiff != nil && !*req.IncludeDiff {
		return nil
	}
	if err := commits(ctx, dir, [2]string{"$.from", req.From}, [2]string{"$.to", req.To}); errors.Is(err, errNoCommit) {
		return fmt.Errorf("%w, or ask without the diff (include_diff: false)", err)
	} else if err != nil {
		return err
	}
	diff, err := workspace.DiffOf(ctx, dir, req.From, req.To, o)
	if err != nil {
		return err
	}
	res.Changed = res.Changed || len(diff) > 0
	text := r.Redact.Bytes(diff)
	res.Diff = &codebox.CaptureDiff{Name: status.Name, Diff: string(text), Encoding: evidence.PatchUTF8, Backend: Backend}
	if !utf8.Valid(text) {
		res.Diff.Diff, res.Diff.Encoding = base64.StdEncoding.EncodeToString(text), evidence.PatchBase64
	}
	return nil
}

package runnerworkspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// hookTimeout is how long the hook may take to open a pull request.
const hookTimeout = 2 * time.Minute

// maxAnswer is how many bytes the answer of the hook may have.
const maxAnswer = 1 << 20

// trailerWorkspace marks every commit that deed publishes: a branch whose last commit lacks it is somebody else's. Its value is the
// caller's name of the workspace, and never its path: the commit would disclose where the runner keeps its files.
const trailerWorkspace = "Deed-Workspace"

// errForeign: a branch that deed did not write is never overwritten.
var errForeign = errors.New("the branch is there with other work")

// errSecret: a secret must not be published.
var errSecret = errors.New("the change holds the value of a secret")

// errEmpty: there is nothing to publish.
var errEmpty = errors.New("the workspace has no change to publish")

// Publish writes the change of a workspace as one commit on a branch, in the workspace's own repository or in the remote
// that the request names, and asks the hook for a pull request. The same content published again reuses the branch, and
// no commit is made. Without a hook the branch is written and the result says that there is no pull request.
func (r *Runner) Publish(ctx context.Context, req codebox.PublicationRequest) codebox.PublicationResult {
	p := req.Resolve()
	p.Workspace = named(p.Workspace)
	p.Head = strings.TrimPrefix(p.Head, "refs/heads/") // its whole name is meant, not a branch of that name
	if p.Head == "" {
		p.Head = "deed/" + slug(p.Workspace.Handle)
	}
	res := codebox.PublicationResult{
		Schema: codebox.SchemaPublicationResult, Backend: Backend, Workspace: p.Workspace, Evidence: p.Evidence, Artifacts: p.Artifacts,
		Status: codebox.WorkspacePublished,
	}
	fail := func(status, kind string, err error) codebox.PublicationResult {
		res.Status = status
		res.FailureType, res.Error = r.failed("publication", kind, err)
		return res
	}
	if err := r.write(ctx, p, &res); err != nil {
		kind := kindOf(err)
		if errors.Is(err, errForeign) || errors.Is(err, errSecret) || errors.Is(err, errEmpty) || errors.Is(err, workspace.ErrBranchExists) || errors.Is(err, workspace.ErrSubmodule) || errors.Is(err, workspace.ErrPush) {
			kind = codebox.FailureBackendFailed
		}
		if kind == codebox.FailureInvalidRequest {
			return fail(codebox.WorkspaceWriteWithoutPR, kind, err) // as the contract has it
		}
		return fail(codebox.WorkspaceFailed, kind, err)
	}
	if len(r.PullRequest) == 0 {
		return fail(codebox.WorkspaceWriteWithoutPR, codebox.FailurePublicationUnavailable,
			errors.New("the branch is written, and no hook is configured to open a pull request (publish.pull_request.command in deed.yaml)"))
	}
	pr, kind, err := r.pullRequest(ctx, p, &res)
	if err != nil {
		return fail(codebox.WorkspaceWriteWithoutPR, kind, err)
	}
	crashpoint.Hit(crashpoint.PublishOpened)
	res.PullRequest, res.Reused, res.Opened, res.Success = &pr, pr.Reused, pr.Opened, true
	return res
}

// slug is the part of a branch's name that a workspace gives.
func slug(handle string) string {
	s := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(filepath.Base(handle))), "-")
	if s == "" {
		return "work"
	}
	return s
}

func (r *Runner) write(ctx context.Context, p codebox.Publication, res *codebox.PublicationResult) error {
	dir, err := r.directory(p.Workspace)
	if err != nil {
		return err
	}
	if err := reachable(p.Remote); err != nil {
		return err
	}
	if err := commits(ctx, dir, [2]string{"$.base", p.Base}); err != nil {
		return err
	}
	base, err := workspace.MergeBase(ctx, dir, p.Base)
	if err != nil {
		return err
	}
	o := workspace.StatusOptions{Paths: p.Paths}
	change, err := workspace.DiffOf(ctx, dir, base, "", o)
	if err != nil {
		return err
	}
	modules, err := r.submodules(ctx, dir, base, o, res)
	if err != nil {
		return err
	}
	if len(change) == 0 && len(modules) > 0 {
		return fmt.Errorf("%w but for submodules, which stay as they are in the base: %s (commit them by hand)", errEmpty, strings.Join(modules, ", "))
	}
	if len(change) == 0 && len(p.Paths) > 0 {
		return fmt.Errorf("%w in paths: %s (leave paths out to publish all that differs)", errEmpty, strings.Join(p.Paths, ", "))
	}
	if len(change) == 0 {
		return errEmpty
	}
	if _, found := r.Redact.Redact(change); found.Total() > 0 {
		return fmt.Errorf("%w: %s", errSecret, strings.Join(found.Names(), ", "))
	}
	res.Branch = &codebox.PublicationBranch{Base: p.Base, BaseSHA: base, Head: p.Head, Name: p.Head}
	w, err := r.commit(ctx, dir, base, p, o)
	if err != nil {
		return err
	}
	res.Commit = &codebox.PublicationCommit{SHA: w.commit.ID, ParentSHA: w.commit.Parent, Message: r.Redact.String(w.message)}
	res.Branch.Reused = w.reused
	crashpoint.Hit(crashpoint.PublishCommitted)
	if p.Remote == "" {
		return nil
	}
	pushed, err := workspace.Push(ctx, dir, p.Remote, p.Head+":"+p.Head, workspace.PushOptions{Env: workspace.ReachEnv(r.Environ)})
	if err != nil && !w.reused {
		pushed, err = r.takeBack(ctx, dir, p, w, err)
	}
	if err != nil {
		res.Commit, res.Branch.Reused = nil, false
	} else {
		crashpoint.Hit(crashpoint.PublishPushed)
	}
	res.Branch.Remote = pushed.Remote
	return err
}

// reachable makes sure that a remote on this machine exists. For a remote on another machine, only the push shows it.
func reachable(remote string) error {
	if remote == "" {
		return nil
	}
	err := workspace.CheckRemote(remote)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wrong("$.remote", fault.Dangling, fmt.Sprintf("there is no %q; nothing is written", remote), "name a repository that is there, or make one: git init --bare")
	case errors.Is(err, syscall.ENOTDIR):
		return wrong("$.remote", fault.BadFormat, fmt.Sprintf("%q is not a directory; nothing is written", remote), "name the directory of a repository")
	}
	return err
}

// A written is a branch with the content of the workspace.
type written struct {
	commit  workspace.Commit
	message string // of the commit, without deed's trailers
	before  string // where the branch was; "" when there was none
	reused  bool   // it had the content
}

// takeBackTimeout bounds what is done about a push that failed.
const takeBackTimeout = 30 * time.Second

// takeBack leaves the workspace's repository as it was before a push that failed. A push also fails when its answer is lost: the remote is
// asked once more, and what arrived there is published. If it does not answer, the branch stays, as it does when deed is killed after the
// commit: the same publication then finds its content there, and pushes that commit.
func (r *Runner) takeBack(ctx context.Context, dir string, p codebox.Publication, w written, why error) (workspace.Pushed, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTimeout)
	defer cancel()
	there, err := workspace.Push(ctx, dir, p.Remote, w.commit.ID+":"+p.Head, workspace.PushOptions{DryRun: true, Timeout: takeBackTimeout / 2, Env: workspace.ReachEnv(r.Environ)})
	switch {
	case err == nil && there.Had:
		return there, nil
	case err != nil && !errors.Is(err, workspace.ErrPushRejected):
		return workspace.Pushed{}, fmt.Errorf("%w (whether it arrived is not known: the branch %s is kept here, publish again)", why, p.Head)
	}
	return workspace.Pushed{}, errors.Join(why, workspace.TakeBack(ctx, dir, w.commit, w.before))
}

// submodules reports how those of the base stand, which are published as they are there, and returns the ones that are known to differ. A
// path of the request that names something of theirs is refused.
func (r *Runner) submodules(ctx context.Context, dir, base string, o workspace.StatusOptions, res *codebox.PublicationResult) (changed []string, err error) {
	list, err := workspace.Submodules(ctx, dir, base, o)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Status != "" {
			changed = append(changed, m.Path)
		}
		if m.Detail == "" {
			continue
		}
		res.Diagnostics = append(res.Diagnostics, r.diagnostic(workspace.NoteSubmodule, m.Path, m.Detail+"; it is published as it is in the base", map[string]string{"commit": m.Commit, "head": m.Head}))
	}
	return changed, workspace.RefuseSubmodules(list, o.Paths)
}

// commit makes the commit on its branch, in the workspace's own repository. A branch that has the content already is
// reused; one that deed wrote before is advanced; any other is somebody's work and refused. The remote is asked whether
// it accepts the branch before anything is written.
func (r *Runner) commit(ctx context.Context, dir, base string, p codebox.Publication, o workspace.StatusOptions) (w written, err error) {
	b, err := workspace.BranchOf(ctx, dir, p.Head)
	if err != nil {
		return w, err
	}
	spec := workspace.CommitSpec{
		Repo: dir, Dir: dir, Paths: p.Paths, Parent: base, Branch: p.Head, Message: p.Message, Trailers: trailers(p),
		Author: workspace.Signature{Name: "deed", Email: "deed@localhost", When: r.Clock()},
	}
	if b.Tip != "" {
		change, err := workspace.DiffOf(ctx, dir, b.Tip, "", o)
		if err != nil {
			return w, err
		}
		if len(change) == 0 {
			return written{commit: workspace.Commit{ID: b.Tip, Parent: b.Parent, Branch: p.Head}, message: withoutTrailers(b.Message), reused: true}, nil
		}
		if !strings.Contains(b.Message, "\n"+trailerWorkspace+": ") {
			return w, fmt.Errorf("%w: the last commit of %s is not deed's (choose another head)", errForeign, p.Head)
		}
		spec.Old, spec.Parent = b.Tip, b.Tip
	}
	if p.Remote != "" { // it takes the commit if it takes the one before
		if _, err := workspace.Push(ctx, dir, p.Remote, spec.Parent+":"+p.Head, workspace.PushOptions{DryRun: true, Env: workspace.ReachEnv(r.Environ)}); err != nil {
			return w, fmt.Errorf("nothing is written: %w", err)
		}
	}
	crashpoint.Hit(crashpoint.PublishChecked)
	w.before, w.message = b.Tip, p.Message
	w.commit, err = workspace.CommitTree(ctx, spec)
	return w, err
}

// label is what a workspace is called in public: its handle, or the last part of it when that is a place.
func label(w codebox.RunnerWorkspace) string {
	name := strings.Join(strings.Fields(w.Handle), " ")
	if isPlace(name) {
		name = path.Base(filepath.ToSlash(name))
	}
	if strings.Trim(name, "/. ") == "" {
		return "work"
	}
	return name
}

// isPlace reports whether a text is a path on a machine.
func isPlace(s string) bool {
	return filepath.IsAbs(s) || strings.HasPrefix(s, "~") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "file:")
}

// trailers tie a commit to the evidence of the work, and mark it as deed's. Evidence that is named by its place has no name in public.
func trailers(p codebox.Publication) []workspace.Trailer {
	find := func(keys ...string) string {
		for _, from := range []map[string]any{p.Artifacts, p.Evidence} {
			for _, k := range keys {
				if v, ok := from[k].(string); ok && strings.TrimSpace(v) != "" && !isPlace(strings.TrimSpace(v)) {
					return strings.Join(strings.Fields(v), " ") // one line, so that it begins no other trailer
				}
			}
		}
		return ""
	}
	var out []workspace.Trailer
	for _, t := range []workspace.Trailer{
		{Key: "Deed-Bundle", Value: find("artifact_id", "bundle_id", "bundle")},
		{Key: "Deed-Attempt", Value: find("attempt_id", "attempt")},
		{Key: trailerWorkspace, Value: label(p.Workspace)},
	} {
		if t.Value != "" {
			out = append(out, t)
		}
	}
	return out
}

// withoutTrailers is the message that a commit of deed's was asked for. Any other stays as it is.
func withoutTrailers(message string) string {
	message = strings.TrimSpace(message)
	if text, last, ok := cutLast(message, "\n\n"); ok && strings.Contains("\n"+last, "\n"+trailerWorkspace+": ") {
		return text
	}
	return message
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// pullRequest runs the hook: the request, with every alias resolved, on its standard input; where the change is in its
// environment (DEED_BRANCH, DEED_COMMIT, DEED_BASE_SHA, DEED_REMOTE); and the answer, {number, url, reused, opened}, from
// its standard output. Nothing of the hook outlives deed, whatever ends deed.
func (r *Runner) pullRequest(ctx context.Context, p codebox.Publication, res *codebox.PublicationResult) (codebox.PublicationPullRequest, string, error) {
	var none codebox.PublicationPullRequest
	modify := p.MaintainerCanModify
	in, err := json.Marshal(codebox.PublicationRequest{
		Schema: codebox.SchemaPublicationRequest, Workspace: p.Workspace.Handle, WorkspacePath: p.Workspace.Path, WorkspaceBackend: p.Workspace.Backend,
		Repo: p.Workspace.Repo, TargetRepo: p.Workspace.TargetRepo, Base: p.Base, Head: p.Head, Remote: res.Branch.Remote,
		CommitMessage: p.Message, Title: p.Title, Body: p.Body, Labels: p.Labels, Draft: p.Draft, MaintainerCanModify: &modify,
		Paths: p.Paths, EvidenceContext: p.Evidence, ArtifactContext: p.Artifacts,
	})
	if err != nil {
		return none, codebox.FailureBackendError, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, hookTimeout, fmt.Errorf("the hook took longer than %s", hookTimeout))
	defer cancel()
	env := append(append([]string{}, r.Environ...), "DEED_BRANCH="+p.Head, "DEED_COMMIT="+res.Commit.SHA, "DEED_BASE_SHA="+res.Branch.BaseSHA, "DEED_REMOTE="+res.Branch.Remote)
	out, err := proc.SupervisedTool(ctx, proc.ToolSpec{Argv: r.PullRequest, Dir: "/", Env: env, Stdin: bytes.NewReader(in), MaxOutput: maxAnswer})
	if errors.Is(err, context.Canceled) {
		return none, codebox.FailureCancelled, fmt.Errorf("pull request hook: %w", err)
	}
	if errors.Is(err, proc.ErrOutputLimit) {
		return none, codebox.FailureBackendInvalidResponse, fmt.Errorf("pull request hook: its answer has more than %d bytes (print the answer alone, and talk on standard error)", maxAnswer)
	}
	if err != nil {
		return none, codebox.FailureBackendUnavailable, fmt.Errorf("pull request hook: %w", err)
	}
	if err := out.Check(); err != nil {
		return none, codebox.FailureBackendFailed, fmt.Errorf("pull request hook: %w", err)
	}
	pr, err := schema.Decode[codebox.PublicationPullRequest]("", out.Stdout)
	if err != nil {
		return none, codebox.FailureBackendInvalidResponse, fmt.Errorf("pull request hook: %w", err)
	}
	return pr, "", nil
}

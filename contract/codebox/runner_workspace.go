package codebox

import "github.com/deedrun/deed/contract/evidence"

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Schema ids of the operations on a runner's workspace.
const (
	SchemaCaptureRequest     = "wp-codebox/runner-workspace-capture-request/v1"
	SchemaCaptureResult      = "wp-codebox/runner-workspace-capture-result/v1"
	SchemaCommandRequest     = "wp-codebox/runner-workspace-command-request/v1"
	SchemaCommandResult      = "wp-codebox/runner-workspace-command-result/v1"
	SchemaPublicationRequest = "wp-codebox/runner-workspace-publication-request/v1"
	SchemaPublicationResult  = "wp-codebox/runner-workspace-publication-result/v1"
)

// Failure types of these operations. The vocabulary is open.
const (
	FailureInvalidRequest         = "invalid_request"
	FailurePublicationUnavailable = "publication_unavailable"
	FailureBackendError           = "backend_error"
	FailureBackendInvalidResponse = "backend_invalid_response"
	FailureBackendFailed          = "backend_failed"
	FailureBackendUnavailable     = "backend_unavailable"
	FailureIsolationUnavailable   = "isolation_unavailable"
	FailureTimeout                = "timeout"
	FailureCommandFailed          = "command_failed"
	FailureCancelled              = "cancelled" // the caller ended it
)

// Statuses of these operations.
const (
	WorkspaceCompleted      = "completed"
	WorkspaceFailed         = "failed"
	WorkspaceUnavailable    = "unavailable"
	WorkspacePublished      = "published"
	WorkspaceWriteWithoutPR = "write_without_pr" // there is no pull request; a branch may have been written
)

// A RunnerWorkspaceRef is the older, nested way to name a workspace.
type RunnerWorkspaceRef struct {
	Handle  string `json:"handle,omitempty"`
	Name    string `json:"name,omitempty"`
	Path    string `json:"path,omitempty"`
	Backend string `json:"backend,omitempty"`
	Repo    string `json:"repo,omitempty"`
}

// A RunnerWorkspace is a workspace by its one canonical identity, whatever aliases named it.
type RunnerWorkspace struct {
	Handle     string `json:"handle"`
	Path       string `json:"path,omitempty"`
	Backend    string `json:"backend,omitempty"`
	Repo       string `json:"repo,omitempty"`
	TargetRepo string `json:"target_repo,omitempty"`
	RepoSlug   string `json:"repo_slug,omitempty"`
}

// workspaceNames are the members that name a workspace, in all three requests.
type workspaceNames struct {
	workspace, workspaceHandle, handle, path, backend, repo, targetRepo string
	nested                                                              *RunnerWorkspaceRef
}

// identity resolves the aliases. Two of them that differ are a conflict.
func (n workspaceNames) identity(l *fault.List) RunnerWorkspace {
	nested := RunnerWorkspaceRef{}
	if n.nested != nil {
		nested = *n.nested
	}
	repo := repoName(one(l, "$.repo", n.repo, nested.Repo))
	w := RunnerWorkspace{
		Handle:  one(l, "$.workspace", n.workspace, n.workspaceHandle, n.handle, nested.Handle, nested.Name),
		Path:    one(l, "$.workspace_path", n.path, nested.Path),
		Backend: one(l, "$.workspace_backend", n.backend, nested.Backend),
		Repo:    repo, TargetRepo: repoName(n.targetRepo), RepoSlug: repoSlug(repo),
	}
	if w.TargetRepo == "" {
		w.TargetRepo = repo
	}
	l.OptionalName("$.workspace", w.Handle)
	if w.Path != "" {
		l.Path("$.workspace_path", w.Path)
		if !filepath.IsAbs(w.Path) {
			l.Add("$.workspace_path", fault.BadFormat, fmt.Sprintf("%q is not absolute", w.Path), "write the whole path")
		}
	}
	return w
}

// one returns the value that several aliases agree on.
func one(l *fault.List, at string, values ...string) string {
	value := ""
	for _, v := range values {
		v = strings.TrimSpace(v)
		switch {
		case v == "" || v == value:
		case value == "":
			value = v
		default:
			l.Add(at, fault.Conflict, fmt.Sprintf("is both %q and %q under different names", value, v), "give it once")
		}
	}
	return value
}

// repoName takes the host and the suffix off a GitHub address.
func repoName(repo string) string {
	for _, prefix := range []string{"https://github.com/", "http://github.com/", "ssh://git@github.com/", "git@github.com:", "github.com/"} {
		if rest, ok := strings.CutPrefix(repo, prefix); ok {
			return strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git")
		}
	}
	return strings.TrimSuffix(repo, ".git")
}

// repoSlug is the last part of a repository's name in lower case, with a dash for all that is not a letter or digit.
func repoSlug(repo string) string {
	if repo == "" {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, strings.ToLower(path.Base(repo)))
}

func namesWorkspace(l *fault.List, w RunnerWorkspace) {
	if w.Handle == "" && w.Path == "" {
		l.Add("$.workspace", fault.Blank, "is missing", "name the workspace by workspace or workspace_path")
	}
}

// A CaptureRequest asks for the state of a workspace: what is checked out, what differs, and the difference.
type CaptureRequest struct {
	Schema           string              `json:"schema"`
	Workspace        string              `json:"workspace,omitempty"`
	WorkspaceHandle  string              `json:"workspace_handle,omitempty"`
	Handle           string              `json:"handle,omitempty"`
	WorkspacePath    string              `json:"workspace_path,omitempty"`
	WorkspaceBackend string              `json:"workspace_backend,omitempty"`
	RunnerWorkspace  *RunnerWorkspaceRef `json:"runner_workspace,omitempty"`
	Repo             string              `json:"repo,omitempty"`
	TargetRepo       string              `json:"target_repo,omitempty"`
	From             string              `json:"from,omitempty"` // a commit; absent: what is checked out
	To               string              `json:"to,omitempty"`   // a commit; absent: the files as they are
	Path             string              `json:"path,omitempty"` // only below this one
	ExcludePaths     []string            `json:"exclude_paths,omitempty"`
	IncludeDiff      *bool               `json:"include_diff,omitempty"` // absent: true
}

// Identity returns the workspace that the request means.
func (r CaptureRequest) Identity() RunnerWorkspace { return r.identity(&fault.List{}) }

func (r CaptureRequest) identity(l *fault.List) RunnerWorkspace {
	return workspaceNames{r.Workspace, r.WorkspaceHandle, r.Handle, r.WorkspacePath, r.WorkspaceBackend, r.Repo, r.TargetRepo, r.RunnerWorkspace}.identity(l)
}

// Validate returns every fault of the request.
func (r CaptureRequest) Validate() error {
	var l fault.List
	namesWorkspace(&l, r.identity(&l))
	revision(&l, "$.from", r.From)
	revision(&l, "$.to", r.To)
	l.OptionalRelativePath("$.path", r.Path)
	for i, p := range r.ExcludePaths {
		l.Glob(fault.Index("$.exclude_paths", i), p)
	}
	return l.Err()
}

// revision demands a name of a commit that git cannot take for an option.
func revision(l *fault.List, at, name string) {
	if name == "" {
		return
	}
	l.Name(at, name)
	if notPlain(name) {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not the plain name of a commit", name), "use a branch, a tag or a hash")
	}
}

// notPlain reports whether git would read more into a name than a name.
func notPlain(name string) bool {
	return strings.HasPrefix(name, "-") || strings.ContainsAny(name, " :?*[\\^~") || strings.Contains(name, "..") || strings.Contains(name, "@{")
}

// branch demands a name that git takes for a branch, which may be one that is still to be made.
func branch(l *fault.List, at, name string) {
	if name == "" {
		return
	}
	l.Name(at, name)
	short := strings.TrimPrefix(name, "refs/heads/")
	bad := notPlain(name) || short == "HEAD" || short == "@"
	for part := range strings.SplitSeq(short, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		l.Add(at, fault.BadFormat, fmt.Sprintf("%q is not the name of a branch, which is what is written", short), "use letters, digits, dashes and slashes, such as deed/fix-1")
	}
}

// remote demands a place that is the same wherever deed is started: neither a path from there, nor a name of the workspace's configuration, which is
// the agent's.
func remote(l *fault.List, at, place string) {
	if place == "" {
		return
	}
	host, _, isAddress := strings.Cut(place, ":")
	switch {
	case strings.HasPrefix(place, "-"), strings.Contains(place, "::"):
	case filepath.IsAbs(place), strings.HasPrefix(place, "https://"), strings.HasPrefix(place, "ssh://"), strings.HasPrefix(place, "file:///"):
		return
	case isAddress && host != "" && !strings.Contains(host, "/") && !strings.Contains(place, "://"):
		return // git@host:path
	}
	l.Add(at, fault.BadFormat, "is not an absolute path or a URL", "use an absolute path, or an https:// or ssh:// address; the names of remotes, such as origin, are not looked up")
}

// A WorkspaceError says what went wrong.
type WorkspaceError struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Missing []string `json:"missing,omitempty"` // members of the request that were not given
}

// A CaptureResult is the state of a workspace. Status is a CaptureStatus, or the word failed or unavailable.
type CaptureResult struct {
	Schema      string                `json:"schema"`
	Success     bool                  `json:"success"`
	Backend     string                `json:"backend"`
	Changed     bool                  `json:"changed"` // a file differs from what is checked out, or the diff has something: with to they are two questions
	Workspace   RunnerWorkspace       `json:"workspace"`
	Status      any                   `json:"status"`
	Diff        *CaptureDiff          `json:"diff,omitempty"`
	FailureType string                `json:"failure_type,omitempty"`
	Error       *WorkspaceError       `json:"error,omitempty"`
	Diagnostics []evidence.Diagnostic `json:"diagnostics,omitempty"` // deed: what was not looked into
}

// Validate demands that success, status and error agree.
func (r CaptureResult) Validate() error {
	var l fault.List
	word, isWord := r.Status.(string)
	if isWord && word != WorkspaceFailed && word != WorkspaceUnavailable {
		l.Add("$.status", fault.BadFormat, fmt.Sprintf("%q is not a status", word), "use an object, or failed or unavailable")
	}
	coherent(&l, r.Success, isWord, r.FailureType, r.Error)
	return l.Err()
}

func coherent(l *fault.List, success, failed bool, kind string, err *WorkspaceError) {
	switch {
	case success && (failed || kind != "" || err != nil):
		l.Add("$.success", fault.Conflict, "is true beside a failure", "a failure is not a success")
	case !success && (kind == "" || err == nil):
		l.Add("$.success", fault.Conflict, "is false without failure_type and error", "say what failed")
	}
}

// A CaptureStatus is what is checked out in a workspace and which files differ.
type CaptureStatus struct {
	Handle     string        `json:"handle"`
	Name       string        `json:"name"`
	Repo       string        `json:"repo,omitempty"`
	TargetRepo string        `json:"target_repo,omitempty"`
	RepoSlug   string        `json:"repo_slug,omitempty"`
	Path       string        `json:"path"`
	Branch     string        `json:"branch"` // empty: no branch is checked out
	Remote     string        `json:"remote,omitempty"`
	Commit     string        `json:"commit"`
	Dirty      int           `json:"dirty"` // how many files differ
	Files      []CaptureFile `json:"files"`
	Backend    string        `json:"backend"`
}

// A CaptureFile is one file that differs.
type CaptureFile struct {
	Path   string `json:"path"`
	Status string `json:"status"` // added, modified, deleted or type_changed
}

// A CaptureDiff is the difference as a git patch.
type CaptureDiff struct {
	Name     string `json:"name"`
	Diff     string `json:"diff"`
	Encoding string `json:"encoding"` // utf-8 or base64
	Backend  string `json:"backend"`
}

// Bounds of a command's time.
const (
	CommandTimeoutDefault = 120
	CommandTimeoutMin     = 1
	CommandTimeoutMax     = 600
)

// A CommandRequest asks for one bounded command in a workspace.
type CommandRequest struct {
	Schema           string              `json:"schema"`
	Workspace        string              `json:"workspace,omitempty"`
	WorkspaceHandle  string              `json:"workspace_handle,omitempty"`
	Handle           string              `json:"handle,omitempty"`
	WorkspacePath    string              `json:"workspace_path,omitempty"`
	WorkspaceBackend string              `json:"workspace_backend,omitempty"`
	RunnerWorkspace  *RunnerWorkspaceRef `json:"runner_workspace,omitempty"`
	Repo             string              `json:"repo,omitempty"`
	TargetRepo       string              `json:"target_repo,omitempty"`
	Command          string              `json:"command" jsonschema:"minLength=1"` // for a shell
	Description      string              `json:"description,omitempty"`
	TimeoutSeconds   *int                `json:"timeout_seconds,omitempty"` // 1 to 600, cut to these; absent: 120
	Env              map[string]string   `json:"env,omitempty"`
	SecretEnv        []string            `json:"secret_env,omitempty"` // deed: variables of the caller, by name
	Isolation        string              `json:"isolation,omitempty" jsonschema:"enum=process,enum=namespace"`
	Context          map[string]any      `json:"context,omitempty"`
}

// Identity returns the workspace that the request means.
func (r CommandRequest) Identity() RunnerWorkspace { return r.identity(&fault.List{}) }

func (r CommandRequest) identity(l *fault.List) RunnerWorkspace {
	return workspaceNames{r.Workspace, r.WorkspaceHandle, r.Handle, r.WorkspacePath, r.WorkspaceBackend, r.Repo, r.TargetRepo, r.RunnerWorkspace}.identity(l)
}

// Timeout returns the time limit in seconds, within its bounds.
func (r CommandRequest) Timeout() int {
	if r.TimeoutSeconds == nil {
		return CommandTimeoutDefault
	}
	return min(max(*r.TimeoutSeconds, CommandTimeoutMin), CommandTimeoutMax)
}

// Validate returns every fault of the request.
func (r CommandRequest) Validate() error {
	var l fault.List
	namesWorkspace(&l, r.identity(&l))
	l.Say("$.command", r.Command)
	l.Text("$.description", r.Description)
	l.Env("$.env", r.Env)
	for i, name := range r.SecretEnv {
		l.EnvName(fault.Index("$.secret_env", i), name)
		if _, twice := r.Env[name]; twice {
			l.Add(fault.Index("$.secret_env", i), fault.Conflict, fmt.Sprintf("%q is in env too", name), "give it once")
		}
	}
	return l.Err()
}

// A CommandResult is what came of a command. Its output is redacted and cut.
type CommandResult struct {
	Schema      string          `json:"schema"`
	Success     bool            `json:"success"`
	Status      string          `json:"status" jsonschema:"enum=completed,enum=failed,enum=unavailable"`
	Command     string          `json:"command"`
	Description string          `json:"description,omitempty"`
	ExitCode    *int            `json:"exit_code"` // null when nothing ran to an end
	Stdout      string          `json:"stdout"`
	Stderr      string          `json:"stderr"`
	Truncated   bool            `json:"truncated,omitempty"`
	ElapsedMS   int64           `json:"elapsed_ms" jsonschema:"minimum=0"`
	Backend     string          `json:"backend"`
	Isolation   string          `json:"isolation,omitempty"`
	Workspace   RunnerWorkspace `json:"workspace"`
	FailureType string          `json:"failure_type,omitempty"`
	Error       *WorkspaceError `json:"error,omitempty"`
}

// Validate demands that success, status and error agree.
func (r CommandResult) Validate() error {
	var l fault.List
	coherent(&l, r.Success, r.Status != WorkspaceCompleted, r.FailureType, r.Error)
	return l.Err()
}

// A PublicationRequest asks for a branch with the change of a workspace, and a pull request for it.
type PublicationRequest struct {
	Schema              string              `json:"schema"`
	Workspace           string              `json:"workspace,omitempty"`
	WorkspaceHandle     string              `json:"workspace_handle,omitempty"`
	Handle              string              `json:"handle,omitempty"`
	WorkspacePath       string              `json:"workspace_path,omitempty"`
	WorkspaceBackend    string              `json:"workspace_backend,omitempty"`
	RunnerWorkspace     *RunnerWorkspaceRef `json:"runner_workspace,omitempty"`
	Repo                string              `json:"repo,omitempty"`
	TargetRepo          string              `json:"target_repo,omitempty"`
	Base                string              `json:"base,omitempty"`
	BaseBranch          string              `json:"base_branch,omitempty"`
	Head                string              `json:"head,omitempty"`
	HeadBranch          string              `json:"head_branch,omitempty"`
	Remote              string              `json:"remote,omitempty"` // deed: an absolute path or a URL to push to; absent: the workspace's own repository
	CommitMessage       string              `json:"commit_message,omitempty"`
	Title               string              `json:"title,omitempty"`
	PRTitle             string              `json:"pr_title,omitempty"`
	Body                string              `json:"body,omitempty"`
	PRBody              string              `json:"pr_body,omitempty"`
	Labels              []string            `json:"labels,omitempty"`
	Draft               bool                `json:"draft,omitempty"`
	MaintainerCanModify *bool               `json:"maintainer_can_modify,omitempty"` // absent: true
	Paths               []string            `json:"paths,omitempty"`                 // only these; absent: all that differs
	ChangedPaths        []string            `json:"changed_paths,omitempty"`
	EvidenceContext     map[string]any      `json:"evidence_context,omitempty"` // absent: context
	ArtifactContext     map[string]any      `json:"artifact_context,omitempty"`
	Context             map[string]any      `json:"context,omitempty"`
}

// A Publication is a request with its aliases resolved.
type Publication struct {
	Workspace           RunnerWorkspace
	Base, Head, Remote  string
	Message             string
	Title, Body         string
	Labels              []string
	Draft               bool
	MaintainerCanModify bool
	Paths               []string
	Evidence, Artifacts map[string]any
}

// Resolve returns what the request means.
func (r PublicationRequest) Resolve() Publication { return r.resolve(&fault.List{}) }

func (r PublicationRequest) resolve(l *fault.List) Publication {
	p := Publication{
		Workspace: workspaceNames{r.Workspace, r.WorkspaceHandle, r.Handle, r.WorkspacePath, r.WorkspaceBackend, r.Repo, r.TargetRepo, r.RunnerWorkspace}.identity(l),
		Base:      one(l, "$.base", r.Base, r.BaseBranch), Head: one(l, "$.head", r.Head, r.HeadBranch), Remote: r.Remote,
		Message: r.CommitMessage, Title: one(l, "$.title", r.Title, r.PRTitle), Body: one(l, "$.body", r.Body, r.PRBody),
		Labels: r.Labels, Draft: r.Draft, MaintainerCanModify: r.MaintainerCanModify == nil || *r.MaintainerCanModify,
		Paths: r.Paths, Evidence: r.EvidenceContext, Artifacts: r.ArtifactContext,
	}
	if len(p.Paths) == 0 {
		p.Paths = r.ChangedPaths
	}
	if p.Evidence == nil {
		p.Evidence = r.Context
	}
	return p
}

// Missing lists the members that a publication cannot do without and that the request does not have.
func (r PublicationRequest) Missing() []string {
	p := r.Resolve()
	var missing []string
	for _, f := range []struct{ name, value string }{
		{"workspace", p.Workspace.Handle + p.Workspace.Path}, {"repo", p.Workspace.Repo}, {"commit_message", p.Message}, {"title", p.Title}, {"body", p.Body},
	} {
		if strings.TrimSpace(f.value) == "" {
			missing = append(missing, f.name)
		}
	}
	return missing
}

// Validate returns every fault of the request.
func (r PublicationRequest) Validate() error {
	var l fault.List
	p := r.resolve(&l)
	for _, name := range r.Missing() {
		l.Add("$."+name, fault.Blank, "is missing", "a publication needs workspace, repo, commit_message, title and body")
	}
	revision(&l, "$.base", p.Base)
	branch(&l, "$.head", p.Head)
	l.Text("$.commit_message", p.Message)
	l.Text("$.body", p.Body)
	l.OptionalName("$.title", p.Title)
	l.OptionalPath("$.remote", p.Remote)
	remote(&l, "$.remote", p.Remote)
	l.Names("$.labels", p.Labels)
	for i, f := range p.Paths {
		l.RelativePath(fault.Index("$.paths", i), f)
	}
	return l.Err()
}

// A PublicationResult says which branch, commit and pull request hold the change.
type PublicationResult struct {
	Schema      string                  `json:"schema"`
	Success     bool                    `json:"success"`
	Status      string                  `json:"status" jsonschema:"enum=published,enum=failed,enum=write_without_pr"`
	FailureType string                  `json:"failure_type,omitempty"`
	Error       *WorkspaceError         `json:"error,omitempty"`
	Backend     string                  `json:"backend"`
	Workspace   RunnerWorkspace         `json:"workspace"`
	Branch      *PublicationBranch      `json:"branch,omitempty"`
	Commit      *PublicationCommit      `json:"commit,omitempty"`
	PullRequest *PublicationPullRequest `json:"pull_request,omitempty"`
	Reused      bool                    `json:"reused"` // the pull request was there before, as pull_request says; branch has a reused of its own
	Opened      bool                    `json:"opened"` // it was opened now; without a pull request both are false
	Evidence    map[string]any          `json:"evidence,omitempty"`
	Artifacts   map[string]any          `json:"artifacts,omitempty"`
	Diagnostics []evidence.Diagnostic   `json:"diagnostics,omitempty"` // deed: what differs and is not published
}

// Validate demands that success, status, error and pull request agree.
func (r PublicationResult) Validate() error {
	var l fault.List
	coherent(&l, r.Success, r.Status != WorkspacePublished, r.FailureType, r.Error)
	if r.Status == WorkspacePublished && r.PullRequest == nil {
		l.Add("$.pull_request", fault.Conflict, "is missing and the status is published", "name the pull request")
	}
	var pr PublicationPullRequest
	if r.PullRequest != nil {
		pr = *r.PullRequest
		l.Within("$.pull_request", pr.Validate())
	}
	if r.Opened != pr.Opened {
		l.Add("$.opened", fault.Conflict, "says something else than the pull request", "it repeats pull_request.opened")
	}
	if r.Reused != pr.Reused {
		l.Add("$.reused", fault.Conflict, "says something else than the pull request", "it repeats pull_request.reused; branch.reused is about the branch")
	}
	return l.Err()
}

// A PublicationBranch is where the change was written.
type PublicationBranch struct {
	Base    string `json:"base,omitempty"`
	BaseSHA string `json:"base_sha"`
	Head    string `json:"head"`
	Name    string `json:"name"`
	Remote  string `json:"remote,omitempty"` // without credentials
	Reused  bool   `json:"reused,omitempty"` // deed: it had this very content already, and no commit was made
}

// A PublicationCommit is what was written.
type PublicationCommit struct {
	SHA       string `json:"sha"`
	ParentSHA string `json:"parent_sha"`
	Message   string `json:"message"`
}

// A PublicationPullRequest is what the pull-request hook answered. It is also the hook's own answer.
type PublicationPullRequest struct {
	Number int    `json:"number" jsonschema:"minimum=0"`
	URL    string `json:"url"`
	Reused bool   `json:"reused"`
	Opened bool   `json:"opened"`
}

// Validate demands an address, and that a pull request was not both opened and reused.
func (p PublicationPullRequest) Validate() error {
	var l fault.List
	l.HTTPURL("$.url", p.URL)
	if p.Reused && p.Opened {
		l.Add("$.opened", fault.Conflict, "is true beside reused", "one of them")
	}
	return l.Err()
}

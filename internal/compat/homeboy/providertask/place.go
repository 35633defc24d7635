package providertask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/compat/homeboy/packaged"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// Source is the source of every task that comes from a request.
const Source = "runtime-run"

// place makes the task of a request whose provider was chosen.
func (s *Service) place(ctx context.Context, c *choice) (agentruntime.TaskIntent, error) {
	no, zero := false, 0
	spec := deed.TaskSpec{
		MaxAttempts: 1, MaxRecoveries: &zero, RequireChanges: &no, // no_op is a status of the contract, and the outcome reports it
		Checks: s.Options.Checks, WriteScope: s.Options.WriteScope, ProtectedPaths: s.Options.ProtectedPaths,
		Isolation: s.isolation(ctx, c),
	}
	var err error
	if spec.Workspace, err = seed(ctx, c.req.Workspace); err != nil {
		return agentruntime.TaskIntent{}, err
	}
	spec.SecretEnv = c.granted()
	box := &deed.Sandbox{Network: slices.Concat(c.backend.Hosts, s.Options.Hosts)}
	policy(c.req.Policy, &spec, box)
	if len(box.Network) > 0 || box.ReadOnlyWorkspace {
		spec.Sandbox = box
	}
	adapter, err := json.Marshal(s.adapter(c))
	if err != nil {
		return agentruntime.TaskIntent{}, fmt.Errorf("write the adapter: %w", err)
	}
	spec.Adapter = adapter
	payload, err := json.Marshal(c.note())
	if err != nil {
		return agentruntime.TaskIntent{}, fmt.Errorf("write the request: %w", err)
	}
	if err := s.holdsNone(ctx, spec.SecretEnv, payload); err != nil {
		return agentruntime.TaskIntent{}, err
	}
	return agentruntime.TaskIntent{
		TaskType: config.TypeAgentTask, Source: Source, Subject: c.req.TaskID, Description: c.req.Instructions,
		RequestedModel: c.req.Executor.Model, Payload: payload, Deed: &spec,
	}, nil
}

// holdsNone refuses a request whose own text contains the value of a secret that it gets: the queue stores that text.
func (s *Service) holdsNone(ctx context.Context, names []string, payload []byte) error {
	var needs []runtimepkg.SecretNeed
	for _, name := range names {
		needs = append(needs, runtimepkg.SecretNeed{Name: name})
	}
	values, _, err := runtimepkg.ResolveSecrets(ctx, needs, "", s.Engine.Runner.SecretStores()...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if v := values[name]; v != "" && redact.New(map[string]string{name: v}).String(string(payload)) != string(payload) {
			return &Refusal{Code: packaged.CodeRequestInvalid, Class: homeboy.ClassInvalidInput, Message: "the request holds the value of the secret " + name, Remedy: "leave it out: the provider gets it as $" + name}
		}
	}
	return nil
}

// adapter pins what was selected. A package of the home, or deed's own, can be found again by name. Any other is
// pinned by its directory, because the process that runs the task may have another working directory.
func (s *Service) adapter(c *choice) agentruntime.AdapterConfig {
	p, x := c.selection.Package, c.selection.Provider
	a := &agentruntime.PackagedAdapter{
		AdapterID: x.ID, Kind: agentruntime.KindPackaged, Backend: c.req.Executor.Backend, Selector: x.ID, Runtime: p.ID,
		TimeoutMS: min(c.req.Limits.WallClockMS(), agentruntime.MaxTimeoutMS), EnvFile: c.envFile(s.Options),
	}
	if p.From == runtimepkg.FromDir || p.From == runtimepkg.FromProject {
		a.RuntimeDirs = []string{p.Path}
	}
	return agentruntime.AdapterConfig{Packaged: a}
}

// isolation returns the kind that the caller asks for, else the one that the operator configured, else a sandbox if
// this machine has one.
func (s *Service) isolation(ctx context.Context, c *choice) string {
	if kind := cmp.Or(s.Options.Isolation, c.backend.Isolation, s.Admission.Config.Isolation); kind != "" {
		return kind
	}
	if _, err := sandbox.New(ctx, sandbox.Spec{Kind: sandbox.Namespace}); err != nil {
		return string(sandbox.Process)
	}
	return string(sandbox.Namespace)
}

// note returns the request with deed's own notes in its metadata, if there is space for them.
func (c *choice) note() homeboy.Request {
	q := c.req.Request
	if c.from == "" {
		return q
	}
	q.Metadata = with(q.Metadata, map[string]any{metadataDeed: map[string]string{"backend_from": c.from}})
	return q
}

// The words of policy.write and policy.apply that deed knows. A provider only ever changes a copy, and the change
// comes back as a patch, so all but the last of the first group mean the same here.
var (
	writesACopy  = []string{"", homeboy.WriteArtifactsOnly, "artifacts", "workspace"}
	writesNone   = []string{"none", "read_only", "readonly"}
	appliesLater = []string{"", homeboy.ApplyProposeOnly, "reviewed"}
	appliesNever = []string{"none", "never", "disabled"}
)

// policy restricts the task to what the request allows. Unknown words are reported; see remarks.
func policy(p *homeboy.Policy, spec *deed.TaskSpec, box *deed.Sandbox) {
	if p == nil {
		return
	}
	if slices.Contains(writesNone, p.Write) {
		box.ReadOnlyWorkspace = true
		spec.ProtectedPaths = []string{"**"}
	}
	if slices.Contains(appliesNever, p.Apply) {
		spec.ApplyBack = deed.ApplyBackDisabled
	}
}

// seed returns the source of the workspace. The caller's own directory is never worked in.
func seed(ctx context.Context, w *homeboy.Workspace) (*deed.Workspace, error) {
	if w == nil || w.Root == "" {
		if w != nil && (w.Kind == homeboy.WorkspaceComponent || w.Branch != "" || w.BaseRef != "") {
			return nil, unavailable("$.workspace.root", "is missing: deed does not know where a component or a branch is checked out", "name the directory of the repository in workspace.root")
		}
		return &deed.Workspace{Type: deed.SeedEmpty}, nil
	}
	root, err := filepath.EvalSymlinks(w.Root)
	if err != nil {
		return nil, unavailable("$.workspace.root", fmt.Sprintf("%q: %v", w.Root, component.Plain(err)), "name a directory that is there")
	}
	if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
		return nil, unavailable("$.workspace.root", fmt.Sprintf("%q is not a directory", w.Root), "name a directory that is there")
	}
	top, rel, err := workspace.TopOf(root)
	switch {
	case err != nil && w.BaseRef != "":
		return nil, unavailable("$.workspace.base_ref", fmt.Sprintf("is %q, and %q lies in no git work tree", w.BaseRef, w.Root), "leave it out, or make the directory a repository")
	case err != nil:
		return &deed.Workspace{Type: deed.SeedDirectory, Source: root}, nil //nolint:nilerr // it is not in a repository, and is taken as it is
	case rel != "":
		return nil, unavailable("$.workspace.root", fmt.Sprintf("%q lies in the repository %q, and a workspace is a whole one", w.Root, top), "name its top directory")
	}
	if err := clean(ctx, root); err != nil {
		return nil, err
	}
	ref := cmp.Or(w.BaseRef, "HEAD")
	if _, err := workspace.Resolve(ctx, root, ref); err != nil {
		return nil, unavailable("$.workspace.base_ref", fmt.Sprintf("%q is no commit of %q", ref, w.Root), "name a commit, branch or tag that is there")
	}
	return &deed.Workspace{Type: deed.SeedGit, Source: root, Ref: ref}, nil
}

// clean refuses a checkout with uncommitted work: the provider would not see it, and a reader of its patch would
// think that it had. Case 92.
func clean(ctx context.Context, root string) error {
	st, err := workspace.StatusOf(ctx, root, workspace.StatusOptions{Exclude: []string{".homeboy/runner-workspace.json", ".homeboy/lab-at-files"}})
	if err != nil {
		return unavailable("$.workspace.root", fmt.Sprintf("%q: %v", root, err), "name a repository that git can read")
	}
	if st.Commit == "" {
		return unavailable("$.workspace.root", fmt.Sprintf("%q has no commit yet", root), "commit something")
	}
	if st.Dirty == 0 {
		return nil
	}
	var names []string
	for i, f := range st.Files {
		if i == maxDirtyFilesNamed {
			names = append(names, fmt.Sprintf("and %d more", st.Dirty-i))
			break
		}
		names = append(names, f.Path)
	}
	r := unavailable("$.workspace.root", fmt.Sprintf("%q has changes that are in no commit: %s", root, strings.Join(names, ", ")), "commit or stash them")
	r.Code = WorkspaceDirty
	r.Data = map[string]any{"files": names}
	return r
}

func unavailable(path, message, remedy string) *Refusal {
	return &Refusal{Code: WorkspaceUnavailable, Class: homeboy.ClassInvalidInput, Message: path + " " + message, Remedy: remedy}
}

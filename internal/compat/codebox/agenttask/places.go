package agenttask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/attempt/component"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/compat/codebox/boundary"
	"github.com/deedrun/deed/internal/compat/codebox/placement"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/redact"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A Machine is what a request is checked against.
type Machine struct {
	Home    *home.Home
	Config  *config.Config
	Secrets []runtimepkg.SecretStore
}

// Refused answers a request that cannot be read. Whoever corrects it wants to see all faults at once, so the answer also has those
// that this machine finds in the rest of the request. Nothing is made.
func Refused(ctx context.Context, data []byte, err error, m Machine) codebox.AgentTaskRun {
	hide := Hide(ctx, data, m.Secrets)
	s, ok := boundary.ValidPart(data)
	if !ok {
		return boundary.Refusal(data, err, hide)
	}
	_, _, found := look(ctx, s.Request, m, true)
	without := s.Without
	if s.Lacks("$.allowed_tools") || s.Lacks("$.sandbox_tool_policy") { // hosts are checked against them
		without = append(without, s.Place("$.policy.network"))
	}
	for i := range s.Request.AgentBundles { // which are checked against the secrets
		if s.Lacks("$.secret_env") {
			without = append(without, s.Place(s.Request.Origins.At("agent_bundles", i)+".token_env"))
		}
	}
	faults := slices.Clone(fault.Of(err))
	for _, f := range fault.Of(found) {
		f.Path = s.Place(f.Path)
		if !slices.ContainsFunc(without, func(at string) bool { return boundary.Below(f.Path, at) }) {
			faults = append(faults, f)
		}
	}
	return boundary.Refusal(data, faults, hide)
}

// look checks a request against the machine and makes a task of it. An error carries every fault, at the place where the caller wrote it,
// and the class of placement's where nothing else is at fault.
func look(ctx context.Context, req codebox.TaskRequest, m Machine, contained bool) (placement.Placed, *redact.Redactor, error) {
	hide, places := checkPlaces(ctx, req, m.Home, m.Secrets)
	placed, lack := placement.Place(settled(req), placement.Options{Config: m.Config, Contained: contained})
	err := lack
	if fs := fault.Of(lack); places != nil || fs != nil {
		fs = append(slices.Clone(fault.Of(places)), fs...)
		for i := range fs {
			fs[i].Path = req.Origins.Place(fs[i].Path)
		}
		var f *failure.Error
		if err = fs; places == nil && errors.As(lack, &f) {
			err = failure.New(f.Class, f.Op, fs, f.Remedy)
		}
	}
	for i := range placed.Diagnostics {
		d := &placed.Diagnostics[i]
		d.Path = req.Origins.Place(d.Path)
	}
	return placed, hide, err
}

// checkPlaces checks the places that a request names on this machine, before anything is made: every source exists and
// exposes nothing of deed's own, the bundle has a free place apart from all of them, and every secret has a value that
// stands nowhere else in the request. It returns what hides these values in the answer to a refused request. Links count
// as what they lead to.
func checkPlaces(ctx context.Context, req codebox.TaskRequest, h *home.Home, stores []runtimepkg.SecretStore) (*redact.Redactor, error) {
	var l fault.List
	root := workspace.TruePath(h.Root())
	var sources []string
	source := func(at, dir string) {
		if dir == "" {
			return
		}
		dir, err := filepath.EvalSymlinks(dir)
		switch {
		case err != nil:
			l.Add(at, fault.Dangling, plain(err), "name what is there and can be read")
		case workspace.Within(dir, root), workspace.Within(root, dir):
			l.Add(at, fault.NotAllowed, fmt.Sprintf("%q shows deed's home, with its database and its signing key", dir), "use another source")
		default:
			sources = append(sources, dir)
			if err := sandbox.CheckSource(dir); err != nil {
				l.Add(at, fault.NotAllowed, fmt.Sprintf("%q %v", dir, err), "use another source")
			}
		}
	}
	for i, w := range req.Workspaces {
		at := fault.Index("$.workspaces", i) + ".seed"
		source(at+".source", w.Seed.Source)
		if w.Seed.Bundle != "" {
			source(at+".bundle", w.Seed.Bundle)
			checkBundle(&l, at+".bundle", w.Seed.Bundle)
		}
		if fi, err := os.Stat(w.Seed.Source); err != nil {
			continue
		} else if !fi.IsDir() {
			l.Add(at+".source", fault.Conflict, fmt.Sprintf("%q is not a directory", w.Seed.Source), "give a project directory of its own")
		} else if w.Seed.Type == codebox.SeedGit {
			if field, err := checkGit(ctx, w.Seed, h); errors.Is(err, workspace.ErrSource) { // the seeding reports any other error
				l.Add(at+"."+field, fault.Dangling, err.Error(), "")
			}
		}
	}
	for i, m := range req.Mounts {
		at := fault.Index("$.mounts", i)
		source(at+".source", m.Source)
		checkType(&l, at+".type", m.Source, m.Type)
	}
	for i, f := range req.StagedFiles {
		at := fault.Index("$.staged_files", i)
		source(at+".source", f.Source)
		checkType(&l, at+".type", f.Source, f.Type)
	}
	seen := slices.Clone(sources) // by the agent
	for i, v := range req.VerifySteps {
		at := fault.Index("$.verify_steps", i) + ".files"
		source(at, v.Files)
		checkHidden(&l, at, v.Files, seen)
	}
	checkNested(&l, req)
	for i, m := range req.RuntimeStackMounts {
		checkType(&l, req.Origins.At("runtime_stack_mounts", i)+".type", m.Source, m.Type)
	}
	l.Within("$", checkComponents(req, h))
	hide := checkSecrets(ctx, &l, req, stores)
	l.Within("$", PlaceArtifacts(req.ArtifactsPath, append(sources, root)...))
	return hide, l.Err()
}

// checkHidden wants a directory of hidden files that is apart from everything that the agent is given.
func checkHidden(l *fault.List, at, dir string, seen []string) {
	if dir == "" {
		return
	}
	if typeOf(dir) == "file" {
		l.Add(at, fault.Conflict, fmt.Sprintf("%q is not a directory", dir), "give the directory that has the files")
	}
	real := workspace.TruePath(dir)
	for _, s := range seen {
		if workspace.Within(real, s) || workspace.Within(s, real) {
			l.Add(at, fault.Conflict, fmt.Sprintf("%q and %q, which the agent is given, lie in each other", dir, s), "keep hidden files apart from every source")
			return
		}
	}
}

// checkComponents wants components that can be copied and have a place. They are looked at again when they are.
func checkComponents(req codebox.TaskRequest, h *home.Home) error {
	stack := placement.Stack(req)
	if stack.Empty() {
		return nil
	}
	parts := component.RequestOf(stack)
	parts.Home = h.Root()
	for _, w := range req.Workspaces {
		parts.Taken = append(parts.Taken, w.EffectiveTarget())
	}
	for _, m := range req.Mounts {
		parts.Taken = append(parts.Taken, m.Target)
	}
	for _, f := range req.StagedFiles {
		parts.Taken = append(parts.Taken, f.Target)
	}
	return component.Check(parts)
}

// checkBundle wants a bundle that verifies. That its change fits the source is seen when it is put there.
func checkBundle(l *fault.List, at, dir string) {
	if fi, err := os.Stat(dir); err != nil {
		return // which is reported
	} else if !fi.IsDir() {
		l.Add(at, fault.Conflict, fmt.Sprintf("%q is not a directory", dir), "give the directory of a bundle")
		return
	}
	if err := workspace.CheckBundle(dir); err != nil {
		l.Add(at, fault.Dangling, fmt.Sprintf("%q: %v", dir, err), "give a bundle that verifies: see `deed artifacts verify`")
	}
}

// typeOf is what a source is, in the words of a mount's type, or "" when it cannot be looked at.
func typeOf(source string) string {
	fi, err := os.Stat(source)
	switch {
	case err != nil:
		return ""
	case fi.IsDir():
		return "directory"
	}
	return "file"
}

// checkType wants a source to be what its type says, if anything.
func checkType(l *fault.List, at, source, want string) {
	if is := typeOf(source); want != "" && is != "" && is != want {
		l.Add(at, fault.Conflict, fmt.Sprintf("is %s, and %q is a %s", want, source, is), "use "+is+", or leave it out")
	}
}

// checkNested wants a place for what is shown inside something else of the caller's: deed makes places in its own copies, and none in
// what it only shows.
func checkNested(l *fault.List, req codebox.TaskRequest) {
	type shown struct{ at, source, target, kind string }
	var inner, outer []shown
	for i, m := range req.Mounts {
		if m.Mode == codebox.ModeReadonly {
			inner = append(inner, shown{fault.Index("$.mounts", i), m.Source, m.Target, typeOf(m.Source)})
		}
	}
	for i, f := range req.StagedFiles {
		inner = append(inner, shown{fault.Index("$.staged_files", i), f.Source, f.Target, typeOf(f.Source)})
	}
	outer = slices.Clone(inner)
	for i, w := range req.Workspaces {
		if w.Seed.Type == codebox.SeedDirectory { // what others will have is not known yet
			outer = append(outer, shown{at: fault.Index("$.workspaces", i), source: w.Seed.Source, target: w.EffectiveTarget()})
		}
	}
	for _, in := range inner {
		for _, out := range outer {
			rest, below := strings.CutPrefix(in.target, out.target+"/")
			if !below || in.kind == "" {
				continue
			}
			switch place := typeOf(filepath.Join(out.source, filepath.FromSlash(rest))); {
			case place == "" && out.kind != "":
				l.Add(in.at+".target", fault.Dangling, fmt.Sprintf("%q is not in %q, which is shown there as it is", rest, out.source), "make it there, or choose a target apart from "+out.target)
			case place != "" && place != in.kind:
				l.Add(in.at+".target", fault.Conflict, fmt.Sprintf("%q is a %s, and %q in %q is a %s", in.source, in.kind, rest, out.source, place), "choose another target")
			}
		}
	}
}

// settled returns a request with what it leaves to the machine: what a mount is, where that follows from its source, and where links
// lead to. A source is looked at again when it is mounted, and then it may not be a link.
func settled(req codebox.TaskRequest) codebox.TaskRequest {
	lead := func(source string) string {
		if real, err := filepath.EvalSymlinks(source); err == nil {
			return real
		}
		return source // which is reported
	}
	req.Mounts, req.StagedFiles = slices.Clone(req.Mounts), slices.Clone(req.StagedFiles)
	for i := range req.Mounts {
		m := &req.Mounts[i]
		m.Source, m.Type = lead(m.Source), cmp.Or(m.Type, typeOf(m.Source))
	}
	for i := range req.StagedFiles {
		req.StagedFiles[i].Source = lead(req.StagedFiles[i].Source)
	}
	req.VerifySteps = slices.Clone(req.VerifySteps)
	for i := range req.VerifySteps {
		if files := &req.VerifySteps[i].Files; *files != "" {
			*files = lead(*files)
		}
	}
	return req
}

// checkGit wants a repository with the commit that is asked for.
func checkGit(ctx context.Context, s codebox.WorkspaceSeed, h *home.Home) (field string, err error) {
	tmp, release, err := atomicfile.TempDir(h.Tmp(), ".git-*.tmp")
	if err != nil {
		return "source", err
	}
	defer func() {
		_ = os.RemoveAll(tmp)
		release()
	}()
	return workspace.CheckGit(ctx, s.Source, s.Ref, tmp)
}

// PlaceArtifacts wants a free place for a bundle, apart from sources and home. An empty name asks for none.
func PlaceArtifacts(dir string, apart ...string) error {
	var l fault.List
	l.Within("$", free(dir))
	if dir != "" {
		to := workspace.TruePath(dir)
		for _, s := range apart {
			if s := workspace.TruePath(s); workspace.Within(to, s) || workspace.Within(s, to) {
				l.Add("$.artifacts_path", fault.Conflict, fmt.Sprintf("%q and %q lie in each other", dir, s), "keep artifacts apart from every source and from deed's home")
			}
		}
	}
	return l.Err()
}

// free wants a directory that is empty or absent.
func free(dir string) error {
	if dir == "" {
		return nil
	}
	bad := func(why string) error {
		return badArtifacts(dir, why, "name a directory that is empty or not there yet")
	}
	fi, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return bad("cannot be used: " + plain(err))
	case !fi.IsDir():
		return bad("is not a directory")
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return bad("cannot be used: " + plain(err))
	}
	if len(list) > 0 {
		return bad(fmt.Sprintf("is not empty: it holds %q", list[0].Name()))
	}
	return nil
}

// MakeParent makes the directory that the bundle and the run's record go into, so that a place that cannot be used is
// noticed before there is a run.
func MakeParent(dir string) error {
	if dir == "" {
		return nil
	}
	parent := filepath.Dir(dir)
	err := os.MkdirAll(parent, 0o755)
	if err == nil {
		err = tryMake(dir)
	}
	if err != nil {
		return badArtifacts(dir, "cannot be made: "+plain(err), "name a directory that deed can make")
	}
	return nil
}

// tryMake makes, next to a bundle, the directory that its copy is made in, and takes it away again. Permissions prove nothing: no one can make
// anything in /proc, and root may write anywhere. What a crash leaves is cleared away with unfinished bundles.
func tryMake(final string) error {
	tmp, release, err := bundle.Temp(final)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) { // whose name means nothing to the caller
			return &os.PathError{Op: pe.Op, Path: filepath.Dir(final), Err: pe.Err}
		}
		return err
	}
	return errors.Join(os.Remove(tmp), release())
}

func badArtifacts(dir, why, remedy string) error {
	return fault.Faults{{Path: "$.artifacts_path", Code: fault.Conflict, Message: fmt.Sprintf("%q %s", dir, why), Remedy: remedy}}
}

// plain says what is wrong with a path without the name of the system call.
func plain(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%q: %v", pe.Path, pe.Err)
	}
	return err.Error()
}

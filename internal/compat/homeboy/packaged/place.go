package packaged

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// A place is where a provider works, as its manifest asks for it.
type place struct {
	dir       string      // where it starts, on this machine
	identity  fs.FileInfo // of dir, when it was looked at
	readOnly  string      // why nothing of the workspace may be changed; empty: it may
	artifacts []string    // directories of the workspace for artifacts, as slash paths
}

// find works out the place, and refuses one that cannot be used.
func (p *place) find(j driver.Job, s *runtimepkg.Selection) error {
	w := s.Provider.WorkspaceMaterialization
	if m := s.Package.Manifest.Materialization; w == nil && m != nil {
		w = m.Workspace
	}
	if w == nil {
		w = &homeboy.WorkspaceMaterialization{}
	}
	p.dir = j.Dirs.Workspace
	if w.Cwd == homeboy.CwdRuntimePackage {
		p.dir = s.Package.Real
	}
	var err error
	if p.identity, err = os.Lstat(p.dir); err != nil || !p.identity.IsDir() {
		return driver.Refuse(opStart, CodeIdentityInvalid, string(homeboy.ClassInvalidInput), fmt.Errorf("%s is not a directory", p.dir), "")
	}
	if w.NeedsGit() && !isRepository(j.Dirs.Workspace) {
		return driver.Refuse(opStart, CodeGitRequired, string(homeboy.ClassInvalidInput),
			fmt.Errorf("provider %s works in a git checkout, and the workspace is none", s.Provider.ID), "give the task a repository as its workspace")
	}
	switch w.WriteScope {
	case homeboy.WriteArtifacts, homeboy.WritePatch, homeboy.WriteNone:
		p.readOnly = fmt.Sprintf("provider %s declares the write_scope %q", s.Provider.ID, w.WriteScope)
	}
	for i, dir := range w.ArtifactPaths {
		clean := path.Clean(filepath.ToSlash(strings.TrimSpace(dir)))
		if !filepath.IsLocal(filepath.FromSlash(clean)) || clean == "." || clean == ".git" || strings.HasPrefix(clean, ".git/") {
			return driver.Refuse(opStart, CodeArtifactPath, string(homeboy.ClassProvider),
				fmt.Errorf("workspace_materialization.artifact_paths[%d] is %q, which is no directory below the workspace", i, dir), "correct the manifest")
		}
		p.artifacts = append(p.artifacts, clean)
	}
	slices.Sort(p.artifacts)
	p.artifacts = slices.Compact(p.artifacts)
	// A directory inside another one belongs to that one.
	p.artifacts = slices.DeleteFunc(p.artifacts, func(dir string) bool {
		return slices.ContainsFunc(p.artifacts, func(o string) bool { return strings.HasPrefix(dir, o+"/") })
	})
	return nil
}

// isRepository reports whether a workspace has a repository of its own: deed's copies have one, and no link to another.
func isRepository(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && st.IsDir()
}

// prepare makes the directories for artifacts, before a run. A link on the way leads nowhere.
func (p *place) prepare(j driver.Job) error {
	if len(p.artifacts) == 0 {
		return nil
	}
	root, err := os.OpenRoot(j.Dirs.Workspace)
	if err == nil {
		defer func() { _ = root.Close() }() // only directories were made
		for _, dir := range p.artifacts {
			if err == nil {
				err = root.MkdirAll(filepath.FromSlash(dir), 0o755)
			}
			if err == nil && !plain(root, dir) {
				err = fmt.Errorf("a link is on the way to %s", dir)
			}
		}
	}
	if err != nil {
		return driver.Refuse(opStart, CodeArtifactPath, string(homeboy.ClassProvider), err, "remove what is in its place")
	}
	return nil
}

// plain reports whether a path is a directory, and every part of it one too: no link leads out of it.
func plain(root *os.Root, dir string) bool {
	at := ""
	for _, name := range strings.Split(dir, "/") {
		at = filepath.Join(at, name)
		if st, err := root.Lstat(at); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

// same reports whether the directory is still the one that was examined (edge case 65).
func (p *place) same() error {
	now, err := os.Lstat(p.dir)
	if err != nil || !os.SameFile(p.identity, now) {
		return fmt.Errorf("the directory %s is not the one that was looked at", filepath.Base(p.dir))
	}
	return nil
}

// ArtifactTree is where, in the attempt's directory for artifacts, what a provider left in its workspace for artifacts goes.
const ArtifactTree = "workspace"

// collect takes what the provider left in its directories for artifacts out of the workspace, and puts back what the base has
// there: it is no part of the change. Call it when no process is left. A link in the place of a directory stays for the gate
// to see.
func (p *place) collect(ctx context.Context, j driver.Job) error {
	root, err := os.OpenRoot(j.Dirs.Workspace)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	for _, dir := range p.artifacts {
		if !plain(root, dir) {
			continue
		}
		from, to := filepath.Join(j.Dirs.Workspace, filepath.FromSlash(dir)), filepath.Join(j.Dirs.Artifacts, ArtifactTree, filepath.FromSlash(dir))
		if err := take(from, to, j.Dirs.Artifacts); err != nil {
			return err
		}
		if err := p.restore(ctx, j, root, dir); err != nil {
			return err
		}
	}
	return nil
}

// take moves a directory; an empty one is only removed.
func take(from, to, below string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return os.Remove(from)
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	rel, err := filepath.Rel(below, to)
	if err != nil {
		return err
	}
	if err := root.RemoveAll(rel); err != nil { // of an earlier turn, or what the provider put into its way
		return err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	if !plain(root, filepath.ToSlash(filepath.Dir(rel))) {
		return fmt.Errorf("a link is on the way to %s", rel)
	}
	return os.Rename(from, to)
}

// restore puts back what the base has in a directory, and removes parents that were only made for it.
func (p *place) restore(ctx context.Context, j driver.Job, root *os.Root, dir string) error {
	inBase := func(dir string) bool { return j.Base.Tree != nil && j.Base.Tree.Has(dir) }
	if inBase(dir) {
		base, err := j.Base.Tree.Dir()
		if err == nil {
			_, err = workspace.Clone(ctx, filepath.Join(base, filepath.FromSlash(dir)), filepath.Join(j.Dirs.Workspace, filepath.FromSlash(dir)))
		}
		return err
	}
	empty := func(dir string) bool { return root.Remove(filepath.FromSlash(dir)) == nil } // else something is in it
	for parent := path.Dir(dir); parent != "." && !inBase(parent) && empty(parent); parent = path.Dir(parent) {
	}
	return nil
}

// sees lists what of this machine a contained provider needs: its package, the executables and tools that were found for it,
// and the toolchain of its command.
func (p *plan) sees(environ []string) ([]sandbox.Mount, []string) {
	files := slices.AppendSeq(slices.Collect(maps.Values(p.readiness.Exports)), maps.Values(p.readiness.Programs()))
	slices.Sort(files)
	for _, t := range p.tools {
		files = append(files, t.Executable)
	}
	return p.selection.Package.Shown(p.command, files, environ, p.trusted)
}

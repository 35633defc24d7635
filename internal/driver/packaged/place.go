package packaged

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/driver"
	"github.com/deedrun/deed/internal/proc"
	"github.com/deedrun/deed/internal/runtimepkg"
	"github.com/deedrun/deed/internal/sandbox"
	"github.com/deedrun/deed/internal/toolchain"
	"github.com/deedrun/deed/internal/workspace"
)

// A place is where a provider works, as its manifest asks for it.
type place struct {
	dir       string      // where it starts, on this machine
	identity  fs.FileInfo // of dir, when it was looked at
	readOnly  string      // why nothing of the workspace may be changed; empty: it may
	artifacts []string    // directories of the workspace for artifacts, as slash paths
}

// find works out the place, and refuses what cannot be had.
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
	// One that lies in another is that one's already.
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

// same reports whether the directory is still the one that was looked at (edge case 65).
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

// take moves a directory; one that is empty is only removed.
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
	if base := filepath.Join(j.Base.Dir, filepath.FromSlash(dir)); j.Base.Dir != "" && isDir(base) {
		_, err := workspace.Clone(ctx, base, filepath.Join(j.Dirs.Workspace, filepath.FromSlash(dir)))
		return err
	}
	inBase := func(dir string) bool {
		return j.Base.Dir != "" && isDir(filepath.Join(j.Base.Dir, filepath.FromSlash(dir)))
	}
	empty := func(dir string) bool { return root.Remove(filepath.FromSlash(dir)) == nil } // else something is in it
	for parent := path.Dir(dir); parent != "." && !inBase(parent) && empty(parent); parent = path.Dir(parent) {
	}
	return nil
}

func isDir(dir string) bool {
	st, err := os.Lstat(dir)
	return err == nil && st.IsDir()
}

// interpreters are the toolchains of programs that commands of packages begin with.
var interpreters = map[string]string{
	"node": "node", "npm": "node", "npx": "node", "python": "python", "python3": "python", "go": "go", "php": "php",
}

// sees lists what of this machine a contained provider needs: its package, the executables that were found for it, and the
// toolchain of its command. All are seen where they are, and none can be written to.
func (p *plan) sees(environ []string) ([]sandbox.Mount, []string) {
	var mounts []sandbox.Mount
	show := func(file string) {
		real, err := filepath.EvalSymlinks(file)
		if err != nil || toolchain.InSystem(real) || !p.trusted && !workspace.Within(real, repository(p.selection.Package)) {
			return // a package that nobody trusts does not choose what of the machine is shown
		}
		for _, at := range []string{real, filepath.Clean(file)} { // under the name by which it is called, too
			if toolchain.InSystem(at) || slices.ContainsFunc(mounts, func(m sandbox.Mount) bool { return m.Target == at }) {
				continue
			}
			mounts = append(mounts, sandbox.Mount{Source: real, Target: at})
		}
	}
	for _, dir := range tree(p.selection.Package) {
		show(dir)
	}
	for _, file := range p.readiness.Exports {
		show(program(file))
	}
	for _, t := range p.tools {
		show(program(t.Executable))
	}
	var tools []string
	for _, arg := range p.command.Argv {
		for _, word := range strings.Fields(arg) {
			if name, ok := interpreters[path.Base(word)]; ok && !slices.Contains(tools, name) {
				tools = append(tools, name)
			}
		}
	}
	if first := p.command.Argv[0]; !p.command.Shell && interpreters[path.Base(first)] == "" && !strings.Contains(first, "/") {
		if file, err := proc.LookPath(first, proc.Getenv(environ, "PATH"), "/"); err == nil {
			show(program(file))
		}
	}
	return mounts, tools
}

// program returns what an executable consists of: the packages beside a script that npm installed, which may be only the
// launcher of one of them, else the file itself.
func program(file string) string {
	if before, _, ok := strings.Cut(launched(file), "/"+npmPackages+"/"); ok {
		return filepath.Join(before, npmPackages)
	}
	return file
}

const npmPackages = "node_modules"

// launched is the name by which a program is called behind walls. npm puts a link to it on the PATH, and what a script asks
// for lies beside the script.
func launched(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil && strings.Contains(real, "/"+npmPackages+"/") {
		return real
	}
	return file
}

// repository is the tree that a package may be part of.
func repository(p *runtimepkg.Package) string {
	dir := filepath.Dir(p.Real)
	if filepath.Base(dir) == runtimepkg.PackagesDir {
		return filepath.Dir(dir)
	}
	return dir
}

// rootFile is where a repository of packages lists what they share.
const rootFile = "homeboy-extension-root.json"

// tree is what a package consists of: its directory, and for one that lies in a repository of packages their whole directory
// and what the repository lists as shared. Packages of the wild require files of their neighbours. An installed package
// lies alone.
func tree(p *runtimepkg.Package) []string {
	dir := filepath.Dir(p.Real)
	if filepath.Base(dir) != runtimepkg.PackagesDir || p.From == runtimepkg.FromHome && !p.Linked {
		return []string{p.Real}
	}
	out := []string{dir}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(dir), rootFile))
	if err != nil {
		return out
	}
	var list struct {
		Shared []json.RawMessage `json:"shared_assets"`
	}
	if json.Unmarshal(data, &list) != nil {
		return out
	}
	for _, raw := range list.Shared {
		var asset struct {
			Path string `json:"path"`
		}
		if json.Unmarshal(raw, &asset.Path) != nil {
			_ = json.Unmarshal(raw, &asset) // neither form: an empty path
		}
		if rel := filepath.Clean(filepath.FromSlash(asset.Path)); asset.Path != "" && rel != "." && filepath.IsLocal(rel) {
			full := filepath.Join(filepath.Dir(dir), rel)
			if real, err := filepath.EvalSymlinks(full); err == nil && workspace.Within(real, filepath.Dir(dir)) { // no link leads out of the repository
				out = append(out, full)
			}
		}
	}
	return out
}

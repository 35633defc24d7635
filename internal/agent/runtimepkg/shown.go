package runtimepkg

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/proc"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
	"github.com/deedrun/deed/internal/isolate/toolchain"
)

// interpreters are the toolchains of programs that commands of packages begin with.
var interpreters = map[string]string{
	"node": "node", "npm": "node", "npx": "node", "python": "python", "python3": "python", "go": "go", "php": "php",
}

// Shown lists what of this machine a contained command of the package needs: the package, files that were found for it, and
// its program and toolchain. All are seen where they are, and none can be written to. A package that nobody trusts does not
// choose what of the machine is shown.
func (p *Package) Shown(c Command, files, environ []string, trusted bool) (mounts []sandbox.Mount, toolchains []string) {
	show := func(file string) {
		real, err := filepath.EvalSymlinks(file)
		if err != nil || toolchain.InSystem(real) || !trusted && !workspace.Within(real, p.repository()) {
			return
		}
		for _, at := range []string{real, filepath.Clean(file)} { // under the name by which it is called, too
			if toolchain.InSystem(at) || slices.ContainsFunc(mounts, func(m sandbox.Mount) bool { return m.Target == at }) {
				continue
			}
			mounts = append(mounts, sandbox.Mount{Source: real, Target: at})
		}
	}
	for _, dir := range p.tree() {
		show(dir)
	}
	for _, file := range files {
		show(program(file))
	}
	for _, arg := range c.Argv {
		for _, word := range strings.Fields(arg) {
			if name, ok := interpreters[path.Base(word)]; ok && !slices.Contains(toolchains, name) {
				toolchains = append(toolchains, name)
			}
		}
	}
	if first := c.Argv[0]; !c.Shell && interpreters[path.Base(first)] == "" && !strings.HasPrefix(first, p.Real+"/") {
		if file, err := proc.LookPath(first, proc.Getenv(environ, "PATH"), p.Real); err == nil {
			show(program(file))
		}
	}
	return mounts, toolchains
}

// program returns what an executable consists of: the packages next to a script that npm installed, which may be only the
// launcher of one of them, or else the file itself.
func program(file string) string {
	if before, _, ok := strings.Cut(Launched(file), "/"+npmPackages+"/"); ok {
		return filepath.Join(before, npmPackages)
	}
	return file
}

const npmPackages = "node_modules"

// Launched is the name by which a program is called in a sandbox. npm puts a link to it on the PATH, and what a script loads
// lies next to the script.
func Launched(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil && strings.Contains(real, "/"+npmPackages+"/") {
		return real
	}
	return file
}

// repository is the tree that a package may be part of.
func (p *Package) repository() string {
	dir := filepath.Dir(p.Real)
	if filepath.Base(dir) == PackagesDir {
		return filepath.Dir(dir)
	}
	return dir
}

// rootFile is where a repository of packages lists what they share.
const rootFile = "homeboy-extension-root.json"

// tree is what a package consists of: its directory, and for one that lies in a repository of packages their whole directory
// and what the repository lists as shared. Packages of the wild require files of their neighbours. An installed package
// lies alone.
func (p *Package) tree() []string {
	dir := filepath.Dir(p.Real)
	if filepath.Base(dir) != PackagesDir || p.From == FromHome && !p.Linked {
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

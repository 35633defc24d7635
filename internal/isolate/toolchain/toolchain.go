// Package toolchain owns what real builds need to find in a sandbox: which directories of the machine a compiler or an
// interpreter lives in, which caches it may read, and the variables that keep it off the network. It mounts nothing
// itself and starts nothing.
//
// A profile shows programs and downloaded sources read-only. What a build writes goes below a cache directory of the run. No
// profile contains files with credentials, neither from the operator's home (.npmrc, .netrc, a cargo credentials file) nor from
// a toolchain (etc/npmrc of a node, pip.conf of a python): of a directory with such files only the parts that builds read are
// shown.
package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/base/proc"
)

// A Profile is what the asked-for toolchains come to on this machine.
type Profile struct {
	Names  []string          // the toolchains in it, sorted
	Mounts []deed.Mount      // seen inside at the same path, or at Target
	Env    map[string]string // PATH among them
}

// marks are the files at the top of a project that call for a toolchain.
var marks = map[string][]string{
	"go":     {"go.mod", "go.work"},
	"node":   {"package.json"},
	"php":    {"composer.json", "*.php"},
	"python": {"pyproject.toml", "setup.py", "requirements.txt", "*.py"},
	"rust":   {"Cargo.toml"},
}

// Detect names the toolchains that the files at the top of a directory call for.
func Detect(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for name, patterns := range marks {
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return slices.ContainsFunc(patterns, func(p string) bool {
				ok, _ := filepath.Match(p, e.Name())
				return ok && e.Type().IsRegular()
			})
		}) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// systemDirs are in every sandbox; see package sandbox.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"}

// InSystem reports whether a path is in every sandbox.
func InSystem(path string) bool { return under(filepath.Clean(path), systemDirs) }

// Find resolves profiles by name on this machine. environ is deed's own environment, and cache is the directory,
// as seen inside, that builds may write to. What is not installed is left out: the build then says so itself.
func Find(environ, names []string, cache string) Profile {
	f := &finder{environ: environ, home: proc.Getenv(environ, "HOME"), cache: cache, p: Profile{Env: map[string]string{"XDG_CACHE_HOME": filepath.Join(cache, "xdg")}}}
	for _, dir := range filepath.SplitList(proc.Getenv(environ, "PATH")) {
		if filepath.IsAbs(dir) && under(dir, systemDirs) {
			f.path = append(f.path, dir)
		}
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if profile, ok := profiles[name]; ok {
			profile(f)
			f.p.Names = append(f.p.Names, name)
		}
	}
	if len(f.path) == 0 {
		f.path = []string{"/usr/local/bin", "/usr/bin", "/bin"}
	}
	f.p.Env["PATH"] = strings.Join(slices.Compact(f.path), string(filepath.ListSeparator))
	return f.p
}

// A finder gathers one Profile.
type finder struct {
	environ     []string
	home, cache string
	path        []string
	p           Profile
}

var profiles = map[string]func(*finder){"go": goProfile, "node": nodeProfile, "php": phpProfile, "python": pythonProfile, "rust": rustProfile}

// goProfile shows the module cache. The build cache is the run's own: what agent code wrote to it is never used again.
func goProfile(f *finder) {
	f.program("go", "bin", "go.env", "lib", "misc", "pkg", "src", "VERSION")
	gopath := proc.Getenv(f.environ, "GOPATH")
	if gopath == "" && f.home != "" {
		gopath = filepath.Join(f.home, "go")
	}
	modules := proc.Getenv(f.environ, "GOMODCACHE")
	if first := filepath.SplitList(gopath); modules == "" && len(first) > 0 {
		modules = filepath.Join(first[0], "pkg", "mod")
	}
	f.set("GOCACHE", filepath.Join(f.cache, "go-build"))
	f.set("GOPATH", filepath.Join(f.cache, "gopath"))
	if f.show(modules) {
		f.set("GOMODCACHE", modules)
	}
	f.set("GOPROXY", "off")
	f.set("GOSUMDB", "off")
	f.set("GOTOOLCHAIN", "local")
	f.set("GOTELEMETRY", "off")
	f.pass("GOFLAGS", "GOEXPERIMENT")
}

// nodeProfile shows a node that was installed below the operator's home. npm cannot read a cache that it may not
// write, so dependencies come with the workspace or by a mount of their own.
func nodeProfile(f *finder) {
	f.program("node", "bin", "include/node", "lib/node_modules")
	f.set("npm_config_cache", filepath.Join(f.cache, "npm"))
	f.set("npm_config_offline", "true")
	f.set("npm_config_update_notifier", "false")
	f.set("npm_config_fund", "false")
	f.set("npm_config_audit", "false")
}

// phpConfig is where Debian's PHP finds which extensions to load.
const phpConfig = "/etc/php"

func phpProfile(f *finder) {
	f.program("php", "bin", "etc/php.ini", "etc/conf.d", "lib")
	f.show(phpConfig)
	f.set("COMPOSER_HOME", filepath.Join(f.cache, "composer"))
	f.set("COMPOSER_DISABLE_NETWORK", "1")
}

// pythonProfile shows all versions of a pyenv: which of them is used, a file of the project may say.
func pythonProfile(f *finder) {
	root := proc.Getenv(f.environ, "PYENV_ROOT")
	if dir, isShim := strings.CutSuffix(filepath.Dir(f.lookup("python3")), "/shims"); root == "" && isShim {
		root = dir
	}
	if root != "" && f.show(filepath.Join(root, "shims")) {
		f.parts(root, "bin", "libexec", "plugins", "pyenv.d", "version")
		versions, _ := filepath.Glob(filepath.Join(root, "versions", "*"))
		for _, v := range versions {
			f.parts(v, "bin", "include", "lib", "pyvenv.cfg")
		}
		f.prefer(filepath.Join(root, "shims"), filepath.Join(root, "bin"))
		f.set("PYENV_ROOT", root)
		f.pass("PYENV_VERSION")
	} else {
		f.program("python3", "bin", "include", "lib")
	}
	f.set("PIP_CACHE_DIR", filepath.Join(f.cache, "pip"))
	f.set("PIP_NO_INDEX", "1")
	// Bytecode is taken for current by the second and the size of its source: too coarse for a build after a quick change. None
	// is written, and what lies in the tree is not looked at.
	f.set("PYTHONPYCACHEPREFIX", filepath.Join(f.cache, "pycache"))
	f.set("PYTHONDONTWRITEBYTECODE", "1")
}

// rustProfile gives cargo a home of its own to lock and write, with the downloaded crates in it read-only.
func rustProfile(f *finder) {
	cargo := proc.Getenv(f.environ, "CARGO_HOME")
	if cargo == "" && f.home != "" {
		cargo = filepath.Join(f.home, ".cargo")
	}
	rustup := proc.Getenv(f.environ, "RUSTUP_HOME")
	if rustup == "" && f.home != "" {
		rustup = filepath.Join(f.home, ".rustup")
	}
	own := filepath.Join(f.cache, "cargo")
	f.set("CARGO_HOME", own)
	f.set("CARGO_NET_OFFLINE", "true")
	for _, part := range []string{"registry", "git"} {
		if cargo != "" {
			f.mount(filepath.Join(cargo, part), filepath.Join(own, part))
		}
	}
	if bin := filepath.Join(cargo, "bin"); cargo != "" && f.show(bin) {
		f.prefer(bin)
	}
	if f.show(rustup) {
		f.set("RUSTUP_HOME", rustup)
		f.set("RUSTUP_AUTO_INSTALL", "0")
		f.pass("RUSTUP_TOOLCHAIN")
	}
}

// lookup finds the program behind a name, with its links resolved.
func (f *finder) lookup(name string) string {
	exe, err := proc.LookPath(name, proc.Getenv(f.environ, "PATH"), "/")
	if err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return ""
	}
	return real
}

// program puts the directory of a program on the PATH. Where the sandbox does not have it anyway, these parts of the
// directory above are shown.
func (f *finder) program(name string, parts ...string) {
	exe := f.lookup(name)
	if exe == "" {
		return
	}
	bin := filepath.Dir(exe)
	if root := filepath.Dir(bin); !under(bin, systemDirs) {
		if !f.holdsHome(root) { // a src or lib there is the operator's own
			f.parts(root, parts...)
		}
		if !slices.ContainsFunc(f.p.Mounts, func(m deed.Mount) bool { return m.Target == bin }) && !f.show(bin) {
			return
		}
	}
	f.prefer(bin)
}

func (f *finder) parts(root string, names ...string) {
	for _, name := range names {
		f.show(filepath.Join(root, name))
	}
}

// prefer puts directories before the others of the PATH: the operator's PATH has them there, or nowhere.
func (f *finder) prefer(dirs ...string) {
	for _, dir := range slices.Backward(dirs) {
		if !slices.Contains(f.path, dir) {
			f.path = slices.Insert(f.path, 0, dir)
		}
	}
}

// show mounts a file or directory at its own path, and reports whether it is seen inside.
func (f *finder) show(path string) bool {
	if filepath.IsAbs(path) && under(filepath.Clean(path), systemDirs) {
		_, err := os.Stat(path)
		return err == nil
	}
	return f.mount(path, path)
}

// mount shows a file or directory elsewhere. One that is or holds the operator's home is not shown.
func (f *finder) mount(path, target string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) || real == "/" || f.holdsHome(real) {
		return false
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() && !fi.Mode().IsRegular() {
		return false
	}
	f.p.Mounts = append(f.p.Mounts, deed.Mount{Source: real, Target: filepath.Clean(target)})
	return true
}

// holdsHome reports whether a directory is the operator's home or above it.
func (f *finder) holdsHome(dir string) bool {
	if f.home == "" {
		return false
	}
	real, err := filepath.EvalSymlinks(f.home)
	return under(filepath.Clean(f.home), []string{dir}) || err == nil && under(real, []string{dir})
}

func (f *finder) set(name, value string) { f.p.Env[name] = value }

func (f *finder) pass(names ...string) {
	for _, n := range names {
		if v := proc.Getenv(f.environ, n); v != "" {
			f.set(n, v)
		}
	}
}

// under reports whether a path is one of the directories or below one.
func under(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, d+"/") })
}

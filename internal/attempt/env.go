package attempt

import (
	"os"
	"path/filepath"
	"strings"
)

// inherited is the environment of processes that see the machine's own file system. It has the variables with which
// ordinary toolchains find what is installed on this machine, although HOME is a fresh directory. Builds read what
// they name. What builds write goes to caches of deed, one for agents and one for checks, so that an agent cannot
// prepare the cache from which a check builds.
//
//	PATH              as deed has it
//	GOMODCACHE, GOPROXY, GONOSUMDB, GONOSUMCHECK, GOPRIVATE, GOFLAGS, GOTOOLCHAIN   passed on when set
//	GOMODCACHE        else the module cache of the operator's home, when there is one
//	CARGO_HOME, RUSTUP_HOME, PYENV_ROOT, NVM_DIR, JAVA_HOME   passed on, or the usual place in the operator's home
//	GOCACHE, npm_config_cache, PIP_CACHE_DIR, XDG_CACHE_HOME   below the given cache directory
func inherited(environ []string, cache string) map[string]string {
	have := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && v != "" {
			have[k] = v
		}
	}
	out := map[string]string{
		"PATH":             have["PATH"],
		"GOCACHE":          filepath.Join(cache, "go-build"),
		"npm_config_cache": filepath.Join(cache, "npm"),
		"PIP_CACHE_DIR":    filepath.Join(cache, "pip"),
		"XDG_CACHE_HOME":   filepath.Join(cache, "xdg"),
	}
	for _, k := range []string{
		"GOMODCACHE", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GOFLAGS", "GOTOOLCHAIN", "GOSUMDB",
		"CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME",
	} {
		if v, ok := have[k]; ok {
			out[k] = v
		}
	}
	if out["PATH"] == "" {
		delete(out, "PATH")
	}
	home := have["HOME"]
	if _, ok := out["GOMODCACHE"]; !ok {
		gopath := have["GOPATH"]
		if gopath == "" && home != "" {
			gopath = filepath.Join(home, "go")
		}
		if first := filepath.SplitList(gopath); len(first) > 0 {
			if dir := filepath.Join(first[0], "pkg", "mod"); isDir(dir) {
				out["GOMODCACHE"] = dir
			}
		}
	}
	for k, rel := range map[string]string{"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm"} {
		if _, ok := out[k]; !ok && home != "" && isDir(filepath.Join(home, rel)) {
			out[k] = filepath.Join(home, rel)
		}
	}
	return out
}

func isDir(p string) bool {
	fi, err := os.Stat(p)
	return err == nil && fi.IsDir()
}

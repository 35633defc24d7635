package coverage

import (
	"path"
	"strings"

	"github.com/deedrun/deed/internal/checks/toolreport"
)

// Modules knows where the packages of a component's Go modules are.
type Modules struct {
	modules []goModule
}

type goModule struct {
	path string
	dir  string // below the component; empty: the component itself
}

const maxGoMod = 1 << 20

// GoModules reads the go.mod of a component, and those that its go.work names.
func GoModules(paths *toolreport.Paths) Modules {
	var m Modules
	dirs := []string{""}
	for line := range strings.Lines(string(paths.ReadFile("go.work", maxGoMod))) {
		// `use ./a` and the lines of a block look the same, as far as a path is concerned.
		line, _, _ = strings.Cut(line, "//")
		word := strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "use ")), `"`)
		if strings.HasPrefix(word, "./") && len(dirs) < 1000 {
			dirs = append(dirs, path.Clean(word))
		}
	}
	for _, dir := range dirs {
		if name := moduleName(paths.ReadFile(path.Join(dir, "go.mod"), maxGoMod)); name != "" {
			m.modules = append(m.modules, goModule{name, dir})
		}
	}
	return m
}

func moduleName(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		line, _, _ = strings.Cut(line, "//")
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return ""
}

// Dir is the directory of a package below the component. The module with the longest name that fits has it.
func (m Modules) Dir(pkg string) (string, bool) {
	best, dir := -1, ""
	for _, mod := range m.modules {
		rest, ok := strings.CutPrefix(pkg, mod.path)
		if !ok || rest != "" && rest[0] != '/' || len(mod.path) <= best {
			continue
		}
		best, dir = len(mod.path), path.Join(mod.dir, rest)
		dir = strings.TrimPrefix(dir, "/")
	}
	return dir, best >= 0
}

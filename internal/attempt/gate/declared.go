package gate

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// missingModules lists the modules whose absence kept every test of a command from loading on the base, if the
// project declares them: nothing that the agent does installs them. A module that the project does not declare may be
// the one to be written.
func (k *evaluation) missingModules(b BaseRun) ([]string, error) {
	if k.check.Capability != "" || b.Status != runner.StatusFailed || !b.named() || b.ranTests() {
		return nil, nil
	}
	text := b.Tail
	for _, c := range b.Report.TestCases {
		text += "\n" + c.Message
	}
	var out []string
	for _, m := range absentModule().FindAllStringSubmatch(text, -1) {
		name, of := m[1], declaresPython
		if name == "" {
			name, of = m[2], declaresNode
		}
		if slices.Contains(out, name) || k.hasModule(name) {
			continue
		}
		declared, err := k.declares(name, of)
		if err != nil {
			return nil, err
		}
		if declared {
			out = append(out, name)
		}
	}
	return out, nil
}

// absentModule matches how Python and node name a module that they did not find. The group is the top-level package.
var absentModule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`No module named '(\w+)[\w.]*'|Cannot find (?:module|package) '((?:@[\w.-]+/)?[A-Za-z0-9][\w.-]*)[^']*'`)
})

// hasModule reports whether the tree has a module of that name, so that the missing one is the project's own.
func (k *evaluation) hasModule(name string) bool {
	return slices.ContainsFunc(k.Manifest.Entries, func(e workspace.Entry) bool {
		base := path.Base(e.Path)
		return base == name || base == name+".py"
	})
}

// manifests are the files in which projects declare their dependencies.
var manifests = []string{"**/*requirements*.txt", "**/requirements/*.txt", "**/pyproject.toml", "**/package.json"}

// declares reports whether a file of the base declares a module as a dependency.
func (k *evaluation) declares(name string, by func(file string, text []byte, name string) bool) (bool, error) {
	for _, e := range k.Manifest.Entries {
		file := e.Path
		if e.Kind != workspace.KindFile || !matchAny(manifests, file) || strings.Contains("/"+file, "/node_modules/") {
			continue
		}
		text, err := k.readBase(file)
		if err != nil {
			return false, err
		}
		if by(path.Base(file), text, name) {
			return true, nil
		}
	}
	return false, nil
}

// declaresPython finds a requirement of that name. A distribution named differently from its module is not found:
// then the check counts as one that fails.
func declaresPython(file string, text []byte, name string) bool {
	spelled := strings.ReplaceAll(regexp.QuoteMeta(name), "_", "[-_.]")
	const end = `\s*($|["'\[;<>=!~# ])`
	switch file {
	case "package.json":
		return false
	case "pyproject.toml":
		quoted, key := regexp.MustCompile(`(?i)["']`+spelled+end), regexp.MustCompile(`(?i)^\s*`+spelled+`\s*=`)
		return slices.ContainsFunc(dependencyLines(string(text)), func(l tomlLine) bool {
			return quoted.MatchString(l.text) || strings.Contains(l.section, "poetry") && key.MatchString(l.text)
		})
	}
	return regexp.MustCompile(`(?im)^\s*` + spelled + end).Match(text)
}

// A tomlLine is a line together with the table that it is in.
type tomlLine struct{ section, text string }

// dependencyLines returns the lines of a pyproject.toml that list dependencies. Names elsewhere in the file are not
// dependencies.
func dependencyLines(text string) []tomlLine {
	var out []tomlLine
	section, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok && !inside && strings.HasSuffix(head, "]") {
			section = strings.Trim(head, "[]")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		begins := section == "project" && strings.TrimSpace(key) == "dependencies"
		if begins || inside || strings.Contains(section, "dependencies") || strings.Contains(section, "dependency-groups") {
			out = append(out, tomlLine{section, line})
		}
		switch {
		case begins:
			inside = !strings.Contains(value, "]")
		case inside:
			inside = !strings.HasPrefix(line, "]")
		}
	}
	return out
}

// declaresNode finds a package among the dependencies of a package.json.
func declaresNode(file string, text []byte, name string) bool {
	var m struct {
		Dependencies    map[string]any `json:"dependencies"`
		DevDependencies map[string]any `json:"devDependencies"`
	}
	if file != "package.json" || json.Unmarshal(text, &m) != nil {
		return false
	}
	_, run := m.Dependencies[name]
	_, dev := m.DevDependencies[name]
	return run || dev
}

// Package scaffold owns the files that a new runtime package begins with, in each language that deed knows: a manifest
// that declares everything, a command that keeps the contract, tests and notes. From there on they are the author's.
package scaffold

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed templates
var templates embed.FS

// A language is how a package in it is started, tried and named.
type language struct {
	command   string // of the manifest
	file      string // where the author works
	try       string // commands for the notes
	needs     string
	readiness string // JSON
}

var languages = map[string]language{
	"go": {
		command: "sh {{runtime_path}}/run.sh", file: "main.go", needs: "Go, to build it",
		try:       "go build -o bin/@NAME@ . && go test ./...",
		readiness: `{"id": "built", "label": "the built command", "invocation": {"argv": ["test", "-x", "{{runtime_path}}/bin/@NAME@"]}, "remediation": "run go build -o bin/@NAME@ . in the package"}`,
	},
	"node": {
		command: "node {{runtime_path}}/provider.mjs", file: "provider.mjs", needs: "Node.js 20 or later", try: "node --test",
		readiness: `{"id": "node", "label": "Node.js", "executable": {"candidates": ["node"], "version_command": ["--version"]}, "remediation": "install Node.js 20 or later"}`,
	},
	"python": {
		command: "python3 {{runtime_path}}/provider.py", file: "provider.py", needs: "Python 3.9 or later", try: "python3 -m unittest",
		readiness: `{"id": "python", "label": "Python", "executable": {"candidates": ["python3"], "version_command": ["--version"]}, "remediation": "install Python 3.9 or later"}`,
	},
	"sh": {
		command: "sh {{runtime_path}}/provider.sh", file: "provider.sh", needs: "a POSIX shell and jq", try: "sh test.sh",
		readiness: `{"id": "jq", "label": "jq", "executable": {"candidates": ["jq"], "version_command": ["--version"]}, "remediation": "install jq"}`,
	},
}

// Languages lists them.
func Languages() []string { return []string{"go", "node", "python", "sh"} }

// ErrRefused says that what was asked for cannot be made. Nothing was written.
var ErrRefused = errors.New("no package is made")

// Options say what is made.
type Options struct {
	Name     string // of the package: its directory, its id and its backend
	Language string
	Dir      string // the directory is made in it
	Version  string // of deed's module, for Go; empty: none was released, and Replace is needed
	Replace  string // a directory with deed's module, for Go; empty: it is downloaded
}

// New writes a package into a new directory and returns its path. It is there whole, or not at all.
func New(o Options) (string, error) {
	lang, ok := languages[o.Language]
	if !ok {
		return "", fmt.Errorf("%w: %q is no language that deed knows (use one of %s)", ErrRefused, o.Language, strings.Join(Languages(), ", "))
	}
	if err := goodName(o.Name); err != nil {
		return "", err
	}
	words, err := o.words(lang)
	if err != nil {
		return "", err
	}
	parent, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("make a package: %w", err)
	}
	dir := filepath.Join(parent, o.Name)
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("%w: %s is there already (choose another name, or another --dir)", ErrRefused, dir)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("make a package: %w", err)
	}
	tmp, err := os.MkdirTemp(parent, "."+o.Name+"-")
	if err != nil {
		return "", fmt.Errorf("make a package: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // does not exist any more once it has its name
	if err := errors.Join(fill(tmp, "common", o.Name, words), fill(tmp, o.Language, o.Name, words), os.Chmod(tmp, 0o755)); err != nil {
		return "", fmt.Errorf("make a package: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", fmt.Errorf("make a package: %w", err)
	}
	return dir, nil
}

// words are what replaces the marks in the templates.
func (o Options) words(lang language) (*strings.Replacer, error) {
	version, replace := o.Version, ""
	if o.Language != "go" && o.Replace != "" {
		return nil, fmt.Errorf("%w: --replace is for packages in Go", ErrRefused)
	}
	if o.Language == "go" {
		if o.Replace != "" {
			dir, err := filepath.Abs(o.Replace)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrRefused, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "provider", "provider.go")); err != nil {
				return nil, fmt.Errorf("%w: %s does not hold deed's module: %w (name a checkout of it)", ErrRefused, dir, err)
			}
			quoted, _ := json.Marshal(dir) // a string can always be written
			replace = "\nreplace github.com/deedrun/deed => " + string(quoted) + "\n"
		}
		switch {
		case version == "" && replace == "":
			return nil, fmt.Errorf("%w: this deed is no released version, and a package in Go needs one (name a checkout of deed with --replace)", ErrRefused)
		case version == "":
			version = "v0.0.0"
		}
	}
	env := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(o.Name))
	if env[0] >= '0' && env[0] <= '9' {
		env = "P" + env
	}
	name := strings.NewReplacer("@NAME@", o.Name)
	return strings.NewReplacer("@NAME@", o.Name, "@ENV@", env, "@COMMAND@", lang.command, "@FILE@", lang.file, "@NEEDS@", lang.needs,
		"@TRY@", name.Replace(lang.try), "@READINESS@", name.Replace(lang.readiness), "@VERSION@", version, "@REPLACE@", replace), nil
}

// fill writes the templates of a directory. A name that ends in .txt would be taken for something else without it.
func fill(dir, from, name string, words *strings.Replacer) error {
	list, err := fs.ReadDir(templates, path.Join("templates", from))
	if err != nil {
		return err
	}
	for _, e := range list {
		text, err := templates.ReadFile(path.Join("templates", from, e.Name()))
		if err != nil {
			return err
		}
		file := strings.TrimSuffix(e.Name(), ".txt")
		switch file {
		case "manifest.json":
			file = name + ".json"
		case "gitignore":
			file = ".gitignore"
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(string(text), "#!") {
			mode = 0o755
		}
		out := strings.TrimRight(words.Replace(string(text)), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(out), mode); err != nil {
			return err
		}
	}
	return nil
}

// maxName bounds a name: it becomes the name of directories, programs and variables.
const maxName = 64

// goodName refuses a name that could not be a directory, an id, a backend and a module at once.
func goodName(name string) error {
	bad := func(why string) error {
		return fmt.Errorf("%w: %q is not the name of a package: %s (use small letters, digits and -, as in my-agent)", ErrRefused, name, why)
	}
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxName:
		return bad(fmt.Sprintf("it has more than %d characters", maxName))
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return bad("it begins or ends with -")
	}
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return bad(fmt.Sprintf("it holds %q", c))
		}
	}
	if slices.Contains([]string{"test", "provider", "main", "internal", "vendor", "cmd", "go", "std", "codebox"}, name) {
		return bad("the word means something else")
	}
	return nil
}

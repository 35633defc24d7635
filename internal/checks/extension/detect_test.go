package extension

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/project"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files []string
		want  []string
	}{
		"nothing":          {[]string{"README.md"}, nil},
		"go":               {[]string{"go.mod", "main.go"}, []string{"go"}},
		"a go workspace":   {[]string{"go.work"}, []string{"go"}},
		"node":             {[]string{"package.json"}, []string{"node"}},
		"python":           {[]string{"pyproject.toml"}, []string{"python"}},
		"python, old":      {[]string{"setup.py"}, []string{"python"}},
		"python tests":     {[]string{"tests/test_x.py"}, []string{"python"}},
		"rust":             {[]string{"Cargo.toml"}, []string{"rust"}},
		"php":              {[]string{"composer.json"}, []string{"php"}},
		"php tests":        {[]string{"phpunit.xml.dist"}, []string{"php"}},
		"shell":            {[]string{"install.sh"}, []string{"shell"}},
		"bats":             {[]string{"test/a.bats"}, []string{"shell"}},
		"several":          {[]string{"go.mod", "package.json", "Cargo.toml"}, []string{"go", "node", "rust"}},
		"a helper script":  {[]string{"go.mod", "scripts/release.sh"}, []string{"go"}},
		"further down":     {[]string{"web/package.json"}, nil},
		"names like globs": {[]string{"[a]/x.sh"}, nil},
	} {
		dir := filepath.Join(t.TempDir(), "a [dir] *")
		list := map[string]string{}
		for _, f := range tc.files {
			list[f] = ""
		}
		files(t, dir, list)
		got, err := find(t, Places{BuiltIn: t.TempDir()}).Detect(dir)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if got, err := find(t, Places{}).Detect(files(t, t.TempDir(), map[string]string{"go.mod": ""})); got != nil || err != nil {
		t.Errorf("without built-in ones: %v, %v", got, err)
	}
}

// The tests of a Go module do not fail for a package.json that only formats its documents.
func TestDetectOfTests(t *testing.T) {
	t.Parallel()
	const placeholder = `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one of two has tests":     {map[string]string{"go.mod": "", "a/b/x_test.go": "", "package.json": placeholder}, []string{"go"}},
		"both have":                {map[string]string{"go.mod": "", "x_test.go": "", "package.json": `{"scripts": {"test": "vitest"}}`}, []string{"go", "node"}},
		"by its files":             {map[string]string{"go.mod": "", "x_test.go": "", "package.json": "{}", "src/a.test.ts": ""}, []string{"go", "node"}},
		"not by those of others":   {map[string]string{"go.mod": "", "x_test.go": "", "package.json": "{", "node_modules/a/a.test.js": ""}, []string{"go"}},
		"none has: both say so":    {map[string]string{"go.mod": "", "package.json": "{}"}, []string{"go", "node"}},
		"alone it runs in any way": {map[string]string{"package.json": "{}"}, []string{"node"}},
		"python beside go":         {map[string]string{"go.mod": "", "x_test.go": "", "requirements.txt": "", "setup.py": ""}, []string{"go"}},
		"php beside node":          {map[string]string{"package.json": `{}`, "composer.json": "{}", "tests/unit/XTest.php": ""}, []string{"php"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, t.TempDir(), tc.files)
			s := find(t, Places{BuiltIn: t.TempDir()})
			called, err := s.Detect(dir)
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.having(called, runner.Test)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 1 {
				list = withTests([]string{dir}, list)
			}
			if diff := cmp.Diff(tc.want, ids(Plan{Extensions: list})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A change can call for one more extension, and cannot get rid of one, nor of its tests.
func TestDetectKeepsWhatTheBaseCallsFor(t *testing.T) {
	t.Parallel()
	base := component(t, map[string]string{"go.mod": "", "x_test.go": "", "package.json": "{}"})
	s := find(t, Places{BuiltIn: t.TempDir()})
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"all is gone":             {map[string]string{"README.md": ""}, []string{"go"}},
		"tests of another":        {map[string]string{"a.test.js": ""}, []string{"go", "node"}},
		"a language more":         {map[string]string{"go.mod": "", "Cargo.toml": "", "src/lib.rs": ""}, []string{"go", "rust"}},
		"scripts in its place":    {map[string]string{"x.sh": "", "test/a.bats": ""}, []string{"go", "shell"}},
		"the same, at that place": {map[string]string{"go.mod": "", "x_test.go": "", "package.json": "{}"}, []string{"go"}},
	} {
		p, err := s.Resolve(base.At(files(t, t.TempDir(), tc.files)), runner.Test, Options{})
		if diff := cmp.Diff(tc.want, ids(p)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// Tests of commands are run in addition to those of the component's language, but not those of bats itself, and not twice.
func TestDetectBeside(t *testing.T) {
	t.Parallel()
	s := find(t, Places{BuiltIn: t.TempDir()})
	tested := `{"scripts":{"test":"node --test"}}`
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"bats":                  {map[string]string{"package.json": tested, "test/a.bats": ""}, []string{"node", "shell"}},
		"deep":                  {map[string]string{"go.mod": "", "x_test.go": "", "cmd/x/deep/a.bats": ""}, []string{"go", "shell"}},
		"a script of deed's":    {map[string]string{"package.json": tested, "total.test.sh": ""}, []string{"node", "shell"}},
		"scripts of any name":   {map[string]string{"go.mod": "", "x_test.go": "", "hack/e2e_test.sh": ""}, []string{"go"}},
		"npm runs them":         {map[string]string{"package.json": `{"scripts":{"test":"bats test"}}`, "test/a.bats": ""}, []string{"node"}},
		"the language has none": {map[string]string{"package.json": "{}", "a.bats": ""}, []string{"shell"}},
		"a library of bats":     {map[string]string{"package.json": tested, "test/bats-assert/test/a.bats": ""}, []string{"node"}},
		"bats itself":           {map[string]string{"package.json": tested, "test/bats/libexec/bats-core/bats": "", "test/bats/test/a.bats": ""}, []string{"node"}},
		"a module of git":       {map[string]string{"package.json": tested, "lib/x/.git": "", "lib/x/a.bats": ""}, []string{"node"}},
	} {
		p, err := s.Resolve(component(t, tc.files), runner.Test, Options{})
		if diff := cmp.Diff(tc.want, ids(p)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if p, err := s.Resolve(component(t, tc.files), runner.Lint, Options{}); err == nil && slices.Contains(ids(p), "shell") && len(ids(p)) > 1 {
			t.Errorf("%s: lint by %v", name, ids(p))
		}
	}
}

// Every built-in extension has scripts that can be run for what its manifest says, from wherever it is unpacked.
func TestBuiltInServes(t *testing.T) {
	t.Parallel()
	s := find(t, Places{BuiltIn: filepath.Join(t.TempDir(), "with a blank")})
	c := component(t, map[string]string{"go.mod": "", "package.json": "{}"})
	for _, id := range builtInIDs() {
		e, err := s.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if !e.BuiltIn || e.From != FromBuiltIn || e.Manifest.Detect == nil {
			t.Errorf("%s = %+v", id, e)
		}
		for _, capability := range e.Manifest.Capabilities() {
			if _, err := e.Command(c, capability, nil); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if len(e.Steps(capability)) == 0 {
				t.Errorf("%s does not name the steps of %s", id, capability)
			}
		}
	}
	p, err := s.Resolve(c, runner.Lint, Options{})
	if err != nil || !slices.Equal(ids(p), []string{"go", "node"}) || !p.Detected || p.Why == "" {
		t.Errorf("plan = %v %v, %v", ids(p), p.Detected, err)
	}
	var none *NotApplicable
	if _, err := s.Resolve(component(t, map[string]string{"x.sh": ""}), runner.Build, Options{}); !errors.As(err, &none) || !strings.Contains(err.Error(), "shell") {
		t.Errorf("a build of shell scripts: %v", err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	top := files(t, t.TempDir(), map[string]string{
		".git/HEAD": "", "a/homeboy.json": "{}", "a/b/c/f": "", "web/package.json": "{}", "web/src/deep/f": "", "docs/f": "", "tools/run.sh": "", "p/deed.yaml": "", "p/q/f": "",
	})
	for in, want := range map[string]string{
		"a/b/c": "a", "a": "a", "web/src/deep": "web", "docs": "docs", "tools": "tools", "p/q": "p", "": "",
	} {
		if got := Locate(filepath.Join(top, in)); got != filepath.Join(top, want) {
			t.Errorf("Locate(%s) = %s", in, got)
		}
	}
	loose := files(t, t.TempDir(), map[string]string{"go.mod": "", "a/f": ""})
	if got := Locate(filepath.Join(loose, "a")); got != filepath.Join(loose, "a") {
		t.Errorf("outside of any work tree: %s", got)
	}
	files(t, top, map[string]string{"go.mod": ""})
	if got := Locate(filepath.Join(top, "docs")); got != top {
		t.Errorf("below a module: %s", got)
	}
	if c, err := project.Load(Locate(filepath.Join(top, "a/b"))); err != nil || c.Path != filepath.Join(top, "a") {
		t.Errorf("Load = %+v, %v", c, err)
	}
}

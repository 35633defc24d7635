package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	wire "github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/cli/binarytest"
)

// deed runs a check of the component as a person types it, and returns its exit code and its report.
func (c *component) deed(env []string, args ...string) (int, wire.Report) {
	c.t.Helper()
	bin := binarytest.Deed(c.t)
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append([]string{"--home", filepath.Join(c.t.TempDir(), "home")}, append(args, "--json")...)...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{"PATH=" + c.path, "HOME=" + os.Getenv("HOME"), "GOPROXY=off", "CARGO_NET_OFFLINE=true"}, env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	var envelope wire.Envelope[wire.Report]
	if err := json.Unmarshal(out, &envelope); err != nil || envelope.Data == nil {
		c.t.Fatalf("deed %v: %v\n%s\n%s", args, err, out, exit.Stderr)
	}
	if err := envelope.Data.Validate(); err != nil {
		c.t.Error(err)
	}
	return cmd.ProcessState.ExitCode(), *envelope.Data
}

// A layout is a project, and how one check of it ends.
type layout struct {
	files   map[string]string
	env     []string
	args    []string // test, when there are none
	code    int
	cause   string
	summary string   // a part of it
	failed  []string // parts of the names of the tests that failed, in order
	missing string   // the names, with blanks between
}

func (l layout) hold(t *testing.T) {
	t.Helper()
	c := newComponent(t, l.files)
	if len(l.args) == 0 {
		l.args = []string{"test"}
	}
	code, rep := c.deed(l.env, l.args...)
	cause := ""
	if rep.Failure != nil {
		cause = rep.Failure.Cause
	}
	var names, missing []string
	for _, f := range rep.FailedTests {
		names = append(names, f.Name)
	}
	for _, m := range rep.Missing {
		missing = append(missing, m.Name)
		if m.Remedy == "" {
			t.Errorf("%s has no remedy", m.Name)
		}
	}
	if code != l.code || cause != l.cause || !strings.Contains(rep.Phase.Summary, l.summary) || strings.Join(missing, " ") != l.missing {
		t.Errorf("exit %d, cause %q, missing %q: %s; want %d, %q, %q: %s", code, cause, missing, rep.Phase.Summary, l.code, l.cause, l.missing, l.summary)
	}
	if len(names) != len(l.failed) {
		t.Fatalf("failed %q, want %q", names, l.failed)
	}
	for i, part := range l.failed {
		if !strings.Contains(names[i], part) {
			t.Errorf("failed %q, want %q", names, l.failed)
		}
	}
}

const goTest = "package x\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n"

func TestLayoutsGo(t *testing.T) {
	t.Parallel()
	mod := "module example.com/x\n\ngo 1.24\n"
	missing := map[string]string{
		"go.mod": mod + "\nrequire example.com/gone v1.0.0\n", "a.go": "package x\n\nimport _ \"example.com/gone\"\n", "a_test.go": goTest, "b/b_test.go": goTest,
		"go.sum": "example.com/gone v1.0.0 h1:wk8382ETsv4JYUZwIsn6YpYiWiBsYLSJiTsyBybVuN8=\nexample.com/gone v1.0.0/go.mod h1:pXiqmnSA92OHEEa9HXL2W4E7lf9JzCmGVUdgjX3N/iU=\n",
	}
	broken := map[string]string{"go.mod": mod, "a.go": "package x\n\nfunc F() int { return y }\n", "a_test.go": goTest}
	early := "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\nfunc TestBad(t *testing.T) { t.Fatal() }\n"
	hangs := "package x\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestLater(t *testing.T) { t.Parallel() }\nfunc TestHang(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { time.Sleep(time.Hour) }) }\n"
	work := map[string]string{
		"go.work": "go 1.24\n\nuse (\n\t./a\n\t\"./b c\"\n)\n", "a/go.mod": "module example.com/a\n\ngo 1.24\n", "a/a_test.go": goTest,
		"b c/go.mod": "module example.com/b\n\ngo 1.24\n", "b c/b.go": "package x\n\nfunc F() int {return 1}\n", "b c/b_test.go": "package x\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal() }\n",
	}
	for name, l := range map[string]layout{
		"a module cannot be downloaded":        {files: missing, code: 3, cause: wire.CauseDependency, summary: "1 of 2 test(s) stand for files", failed: []string{"[build]"}, missing: "a.go:3:8: module lookup disabled by GOPROXY=off"},
		"the same, of a build":                 {files: missing, args: []string{"build"}, code: 3, cause: wire.CauseDependency, missing: "a.go:3:8 module lookup disabled by GOPROXY=off"},
		"the same, of a lint":                  {files: missing, args: []string{"lint"}, code: 3, cause: wire.CauseDependency, missing: "a.go:3:8 module lookup disabled by GOPROXY=off"},
		"it does not compile":                  {files: broken, code: 1, cause: wire.CauseUnloaded, failed: []string{"[build]"}},
		"an exit before the tests":             {files: map[string]string{"go.mod": mod, "a/a_test.go": early, "b/b_test.go": goTest}, code: 1, failed: []string{"x/a::[suite]"}},
		"a test that hangs":                    {files: map[string]string{"go.mod": mod, "a_test.go": hangs}, args: []string{"test", "--timeout", "25s"}, code: 3, summary: "while it ran example.com/x::TestHang/sub", failed: []string{"TestHang", "TestHang/sub", "TestLater", "[suite]"}},
		"a work space without a module":        {files: work, code: 1, failed: []string{"example.com/b::TestBad"}},
		"a build of it":                        {files: work, args: []string{"build"}},
		"a lint of it":                         {files: work, args: []string{"lint"}, code: 1, summary: "1 finding"},
		"a linter of the project is not here":  {files: map[string]string{"go.mod": mod, "a.go": "package x\n", ".golangci.yml": "version: \"2\"\n"}, env: withoutLinters(t), args: []string{"lint"}, code: 3, cause: wire.CauseTool, missing: "golangci-lint"},
		"the same, and it is not asked for":    {files: map[string]string{"go.mod": mod, "a.go": "package x\n", ".golangci.yml": ""}, env: withoutLinters(t), args: []string{"lint", "--skip", "golangci-lint"}},
		"the same, and another has a finding":  {files: map[string]string{"go.mod": mod, "a.go": "package x\nfunc f()  {}\n", ".golangci.yml": ""}, env: withoutLinters(t), args: []string{"lint"}, code: 1, missing: "golangci-lint"},
		"the same, and the finding goes again": {files: map[string]string{"go.mod": mod, "a.go": "package x\nfunc F()  {}\n", ".golangci.yml": ""}, env: withoutLinters(t), args: []string{"refactor", "--write"}, code: 3, cause: wire.CauseTool, missing: "golangci-lint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.hold(t)
		})
	}
}

// withoutLinters is a PATH with the tools of a small system and go.
func withoutLinters(t *testing.T) []string {
	t.Helper()
	c := &component{t: t}
	c.only("go", "gofmt", "git")
	return []string{"PATH=" + c.path}
}

// A good fix is kept though a linter that the project asks for is not here: that it is missing is as before.
func TestFixIsKeptWithoutALinter(t *testing.T) {
	t.Parallel()
	c := newComponent(t, map[string]string{"go.mod": "module example.com/x\n\ngo 1.24\n", "a.go": "package x\n\nfunc F()  {}\n", ".golangci.yml": ""})
	code, rep := c.deed(withoutLinters(t), "refactor", "--write")
	text, err := os.ReadFile(filepath.Join(c.dir, "a.go"))
	if err != nil {
		t.Fatal(err)
	}
	if code != 3 || rep.Autofix == nil || rep.Autofix.Reverted || string(text) != "package x\n\nfunc F() {}\n" {
		t.Errorf("exit %d, %+v\n%s", code, rep.Autofix, text)
	}
}

func TestLayoutsNode(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install npm")
	good := "require('node:test').test('good', () => {})\n"
	bad := "require('node:test').test('bad', () => { throw new Error('no') })\n"
	script := `{"name":"m","scripts":{"test":"node --test"}}`
	members := func(root, member string) map[string]string {
		return map[string]string{"package.json": root, "test/r.test.js": good, "packages/my pkg/package.json": member, "packages/my pkg/a.test.js": bad, "packages/none/package.json": `{"name":"none"}`}
	}
	for name, l := range map[string]layout{
		"a lint script that calls something an error":      {files: map[string]string{"package.json": `{"scripts":{"lint":"echo 'error: missing documentation'; exit 1"}}`}, args: []string{"lint"}, code: 1},
		"a lint script without its linter":                 {files: map[string]string{"package.json": `{"scripts":{"lint":"nosuchlinter ."}}`}, args: []string{"lint"}, code: 3, cause: wire.CauseTool, missing: "nosuchlinter"},
		"a linter of the project is not here":              {files: map[string]string{"package.json": `{}`, "eslint.config.js": ""}, args: []string{"lint"}, code: 3, cause: wire.CauseTool, missing: "eslint"},
		"an exit before the tests":                         {files: map[string]string{"package.json": script, "a.test.js": "const test = require('node:test')\ntest('a', () => {})\ntest('b', () => process.exit(0))\ntest('c', () => { throw 1 })\n", "b.test.js": good}, code: 1, failed: []string{"a.test.js"}},
		"a helper without tests":                           {files: map[string]string{"package.json": script, "test/help.js": "const {mock} = require('node:test')\nexports.m = mock\n", "b.test.js": good}},
		"a test that hangs":                                {files: map[string]string{"package.json": script, "a.test.js": good + "require('node:test').test('hangs', () => new Promise((r) => setTimeout(r, 1e6)))\n"}, args: []string{"test", "--timeout", "20s"}, code: 3, summary: "while it ran a.test.js > hangs", failed: []string{"hangs"}},
		"a dependency is not installed":                    {files: map[string]string{"package.json": `{"scripts":{"test":"node --test"},"dependencies":{"left-pad":"1"}}`, "node_modules/x": "", "a.test.js": "require('left-pad')\n" + good}, code: 3, cause: wire.CauseDependency, failed: []string{"[load]"}, missing: "left-pad"},
		"a module that nobody asked for":                   {files: map[string]string{"package.json": script, "a.test.js": "require('left-pad')\n" + good}, code: 1, cause: wire.CauseUnloaded, failed: []string{"[load]"}},
		"a runner is not installed":                        {files: map[string]string{"package.json": `{"scripts":{"test":"nosuchrunner"},"devDependencies":{"nosuchrunner":"1"}}`, "node_modules/x": ""}, code: 3, cause: wire.CauseTool, missing: "nosuchrunner"},
		"a member of a workspace that the root leaves out": {files: members(`{"workspaces":["packages/*"],"scripts":{"test":"node --test test"}}`, script), code: 1, failed: []string{"bad"}},
		"a root without a script":                          {files: members(`{"workspaces":{"packages":["packages/*"]}}`, script), code: 1, failed: []string{"bad"}},
		"a root that runs all by itself":                   {files: members(`{"workspaces":["packages/*"],"scripts":{"test":"node --test"}}`, script), code: 1, failed: []string{"bad"}},
		"a member that is left out of the workspace":       {files: members(`{"workspaces":["packages/*","!packages/my pkg"],"scripts":{"test":"node --test test"}}`, script)},
		"a member whose lint fails":                        {files: members(`{"workspaces":["packages/*"]}`, `{"scripts":{"lint":"node lint.js"}}`), args: []string{"lint"}, code: 1},
		"bats beside it":                                   {files: map[string]string{"package.json": script, "a.test.js": good, "test/x.bats": "@test \"bad\" { false; }\n"}, code: 1, failed: []string{"bad"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch {
			case strings.HasPrefix(name, "bats"):
				need(t, "bats", "apt-get install bats")
			case strings.Contains(name, "member whose lint"):
				l.files["packages/my pkg/lint.js"] = "process.exit(1)\n"
			}
			l.hold(t)
		})
	}
}

// pnpm names its members in a file of its own.
func TestLayoutsPnpm(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install npm")
	c := newComponent(t, map[string]string{
		"package.json": `{"name":"root","scripts":{"test":"node root.js"}}`, "root.js": "console.log('1 passing')\n", "pnpm-lock.yaml": "",
		"pnpm-workspace.yaml": "packages:\n  - 'apps/**'\n  - \"!**/skipped\"\n\ncatalog:\n  - none\n", "apps/a/package.json": `{"name":"a","scripts":{"test":"node a.js"},"dependencies":{}}`,
		"apps/deep/b/package.json": `{"name":"b","scripts":{"test":"node b.js"}}`, "apps/skipped/package.json": `{"name":"s","scripts":{"test":"node s.js"}}`,
		"apps/a/a.js": "console.log('1 passing')\n", "apps/deep/b/b.js": "console.log('FAIL: b'); process.exit(1)\n",
	})
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "pnpm"), []byte("#!/bin/sh\n[ \"$1\" = run ] && echo \"pnpm $2 in ${PWD##*/}\" && exec npm run --silent \"$2\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.path = bin + string(filepath.ListSeparator) + c.path
	r := c.script("node", "test", nil)
	r.want(t, 1, `pnpm test in a project\n`, `pnpm test in a\n`, `pnpm test in b\n`, `FAIL: b`)
	if strings.Contains(r.out, "in skipped") {
		t.Errorf("a directory that the workspace leaves out is run\n%s", r.out)
	}
}

func TestLayoutsPython(t *testing.T) {
	t.Parallel()
	need(t, "python3", "apt-get install python3")
	unit := func(lines string) string {
		return "import os, time, unittest\n\n\nclass T(unittest.TestCase):\n" + lines
	}
	src := func(more map[string]string) map[string]string {
		files := map[string]string{"src/thing/__init__.py": "ONE = 1\n", "tests/test_thing.py": "from thing import ONE\n" + unit("    def test_one(self):\n        self.assertEqual(ONE, 1)\n")}
		for name, text := range more {
			files[name] = text
		}
		return files
	}
	cfg := map[string]string{"setup.cfg": "[options]\npackage_dir =\n    =lib dir\n", "lib dir/other.py": "TWO = 2\n", "tests/test_other.py": "import other\n" + unit("    def test_two(self):\n        self.assertEqual(other.TWO, 2)\n")}
	for name, l := range map[string]layout{
		"src":                               {files: src(map[string]string{"pyproject.toml": "[project]\nname = \"thing\"\nversion = \"1\"\n"})},
		"a directory of setup.cfg":          {files: cfg},
		"src with a name of the library":    {files: map[string]string{"src/queue.py": "", "src/a.py": "ONE = 1\n", "tests/test_a.py": "import queue\nfrom src.a import ONE\n" + unit("    def test_one(self):\n        queue.Queue()\n")}},
		"a dependency is not installed":     {files: src(map[string]string{"pyproject.toml": "[project]\nname = \"thing\"\nversion = \"1\"\ndependencies = [\"deed-nosuch>=1\"]\n", "src/thing/__init__.py": "import deed_nosuch\nONE = 1\n"}), code: 3, cause: wire.CauseDependency, failed: []string{"[load]"}, missing: "deed_nosuch"},
		"a module that is not written yet":  {files: map[string]string{"test_calc.py": "from calc import add\n" + unit("    def test_add(self):\n        add()\n")}, code: 1, cause: wire.CauseUnloaded, failed: []string{"[load]"}},
		"an exit in a test":                 {files: map[string]string{"test_a.py": unit("    def test_a(self):\n        pass\n\n    def test_b(self):\n        os._exit(0)\n")}, code: 1, failed: []string{"test_b", "[plan]"}},
		"a test that hangs":                 {files: map[string]string{"test_a.py": unit("    def test_a(self):\n        pass\n\n    def test_b(self):\n        time.sleep(1e6)\n")}, args: []string{"test", "--timeout", "20s"}, code: 3, summary: "while it ran test_a.T.test_b", failed: []string{"test_b", "[plan]"}},
		"a subtest that fails":              {files: map[string]string{"test_a.py": unit("    def test_a(self):\n        for i in range(3):\n            with self.subTest(i=i):\n                self.assertEqual(i, 1)\n")}, code: 1, failed: []string{"test_a.T.test_a"}},
		"tests that only pytest sees":       {files: map[string]string{"test_a.py": "def test_a():\n    pass\n"}, code: 3, cause: wire.CauseDependency, missing: "pytest"},
		"linters of the project: not here":  {files: map[string]string{"a.py": "", "pyproject.toml": "[tool.ruff]\n[tool.mypy]\n", ".flake8": "[flake8]\n"}, args: []string{"lint"}, code: 3, cause: wire.CauseTool, missing: "ruff flake8 mypy"},
		"linters that nobody asks for":      {files: map[string]string{"a.py": "", "pyproject.toml": ""}, args: []string{"lint"}},
		"linters of the project: left out":  {files: map[string]string{"a.py": "", "pyproject.toml": "[tool.ruff]\n"}, args: []string{"lint", "--skip", "ruff"}},
		"a declared one and one of its own": {files: src(map[string]string{"requirements.txt": "deed-nosuch\n", "src/thing/__init__.py": "import thing.gone\n"}), code: 1, cause: wire.CauseUnloaded, failed: []string{"[load]"}},
	} {
		l.env = []string{"PATH=" + bare(t)}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.hold(t)
		})
	}
}

// bare is a PATH whose python3 has nothing but its standard library, and no tool of Python.
func bare(t *testing.T) string {
	t.Helper()
	c := &component{t: t}
	c.only("git")
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\nexec " + strings.TrimSpace(string(python)) + " -S \"$@\"\n"
	if err := os.WriteFile(filepath.Join(c.path, "python3"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return c.path
}

func TestLayoutsPytest(t *testing.T) {
	t.Parallel()
	path := withPytest(t)
	if path == "" {
		t.Skip("missing tool: pytest: apt-get install python3-pytest")
	}
	for name, l := range map[string]layout{
		"src":               {files: map[string]string{"pyproject.toml": "[build-system]\nrequires = []\n", "src/thing.py": "ONE = 1\n", "tests/test_a.py": "from thing import ONE\n\n\ndef test_a():\n    assert ONE\n"}},
		"an exit in a test": {files: map[string]string{"test_a.py": "import os\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    os._exit(0)\n"}, code: 1, failed: []string{"test_a.py::test_b"}},
		"a test that hangs": {files: map[string]string{"test_a.py": "import time\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    time.sleep(1e6)\n"}, args: []string{"test", "--timeout", "20s"}, code: 3, summary: "while it ran test_a.py::test_b", failed: []string{"test_b"}},
		"no plugin for it":  {files: map[string]string{"pytest.ini": "[pytest]\naddopts = --nosuch-option\n", "test_a.py": "def test_a():\n    pass\n"}, code: 3, cause: wire.CauseDependency, missing: "a plugin of pytest for --nosuch-option"},
	} {
		l.env = []string{"PATH=" + path}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.hold(t)
		})
	}
}

func TestLayoutsRust(t *testing.T) {
	t.Parallel()
	needCargo(t)
	crate := func(name, more string) string {
		return "[package]\nname = \"" + name + "\"\nversion = \"0.1.0\"\nedition = \"2021\"\n" + more
	}
	members := map[string]string{
		"Cargo.toml": crate("top", "\n[workspace]\nmembers = [\"m\"]\n"), "src/lib.rs": "#[test]\nfn good() {}\n",
		"m/Cargo.toml": crate("m", ""), "m/src/lib.rs": "#[test]\nfn bad() {\n    panic!()\n}\n",
	}
	gone := map[string]string{"Cargo.toml": crate("top", "\n[dependencies]\ndeed-nosuch = \"1\"\n"), "src/lib.rs": "#[test]\nfn good() {}\n"}
	chosen := map[string]string{"Cargo.toml": strings.Replace(members["Cargo.toml"], "[workspace]\n", "[workspace]\ndefault-members = [\".\"]\n", 1)}
	for name, text := range members {
		if chosen[name] == "" {
			chosen[name] = text
		}
	}
	for name, l := range map[string]layout{
		"a member that fails":                {files: members, code: 1, failed: []string{"bad"}},
		"members that the workspace chooses": {files: chosen},
		"a dependency cannot be downloaded":  {files: gone, code: 3, cause: wire.CauseDependency, missing: "no matching package named `deed-nosuch` found"},
		"the same, of a build":               {files: gone, args: []string{"build"}, code: 3, cause: wire.CauseDependency, missing: "no matching package named `deed-nosuch` found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l.hold(t)
		})
	}
}

func TestLayoutsShell(t *testing.T) {
	t.Parallel()
	c := &component{t: t}
	c.only("git")
	layout{
		files: map[string]string{"a.sh": "", ".shellcheckrc": ""}, env: []string{"PATH=" + c.path}, args: []string{"lint"},
		code: 3, cause: wire.CauseTool, missing: "shellcheck",
	}.hold(t)
	layout{
		files: map[string]string{"a.test.sh": "true\n", "b.test.sh": "sleep 1000\n"}, args: []string{"test", "--timeout", "10s"},
		code: 3, summary: "while it ran b.test.sh", failed: []string{"[plan]", "b.test.sh"},
	}.hold(t)
}

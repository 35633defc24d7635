package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	wire "github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/helper"
	"github.com/deedrun/deed/internal/checks/helper/helpertest"
	"github.com/deedrun/deed/internal/cli/binarytest"
)

// A component is a small project, and a run directory, for the script of a built-in extension. It is run with the
// environment that the runner contract names and nothing of deed's around it.
type component struct {
	t    *testing.T
	dir  string
	run  string
	path string // PATH
}

// newComponent writes a project into a directory with a blank in its name.
func newComponent(t *testing.T, files map[string]string) *component {
	t.Helper()
	c := &component{t: t, dir: filepath.Join(t.TempDir(), "a project"), path: os.Getenv("PATH")}
	c.write(files)
	return c
}

func (c *component) write(files map[string]string) {
	c.t.Helper()
	for name, text := range files {
		file := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
}

// A scriptRun is what a script left.
type scriptRun struct {
	out      string
	code     int
	findings []string // tool rule file:line
	fixes    []wire.FixResult
	steps    string
	reports  map[string]string
	coverage string
}

// script runs a capability of a built-in extension. env is added; args are given on.
func (c *component) script(id, capability string, env []string, args ...string) scriptRun {
	c.t.Helper()
	bin := binarytest.Deed(c.t)
	helpers, err := helper.Materialise(filepath.Join(c.t.TempDir(), "helpers"))
	if err != nil {
		c.t.Fatal(err)
	}
	ext, err := filepath.Abs(filepath.Join("..", "checks", "extension", "builtin", id))
	if err != nil {
		c.t.Fatal(err)
	}
	c.run = filepath.Join(c.t.TempDir(), "run dir")
	if err := os.MkdirAll(filepath.Join(c.run, "annotations"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(ext, "scripts", capability+".sh")}, args...)...)
	cmd.Dir = c.dir
	tmp := c.t.TempDir()
	cmd.Env = []string{
		"PATH=" + c.path, "HOME=" + os.Getenv("HOME"), "TMPDIR=" + tmp, "GOFLAGS=-mod=mod", "GOPROXY=off", "CARGO_NET_OFFLINE=true",
		"HOMEBOY_EXEC_CONTEXT_VERSION=2", "HOMEBOY_EXTENSION_ID=" + id, "HOMEBOY_EXTENSION_PATH=" + ext, "HOMEBOY_SETTINGS_JSON={}",
		"HOMEBOY_COMPONENT_ID=x", "HOMEBOY_COMPONENT_PATH=" + c.dir, "HOMEBOY_RUN_DIR=" + c.run,
		"HOMEBOY_LINT_FINDINGS_FILE=" + c.run + "/lint-findings.json", "HOMEBOY_TEST_RESULTS_FILE=" + c.run + "/test-results.json",
		"HOMEBOY_TEST_FAILURES_FILE=" + c.run + "/test-failures.json", "HOMEBOY_COVERAGE_FILE=" + c.run + "/coverage.json",
		"HOMEBOY_FIX_RESULTS_FILE=" + c.run + "/fix-results.json", "HOMEBOY_ANNOTATIONS_DIR=" + c.run + "/annotations",
		"DEED_TEST_REPORT_DIR=" + c.run + "/reports", "DEED_STEPS_FILE=" + c.run + "/steps", "DEED_BIN=" + bin,
	}
	for name, path := range helpers {
		cmd.Env = append(cmd.Env, name+"="+path)
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "deed-runner-") }) {
		c.t.Errorf("left behind in TMPDIR: %v, %v", left, err)
	}
	return c.read(string(out), cmd.ProcessState.ExitCode())
}

func (c *component) read(out string, code int) scriptRun {
	c.t.Helper()
	r := scriptRun{out: out, code: code, reports: map[string]string{}}
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(c.run, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			c.t.Fatal(err)
		}
		return string(b)
	}
	r.steps, r.coverage = text("steps"), text("coverage.json")
	var fs []wire.LintFinding
	for name, into := range map[string]any{"lint-findings.json": &fs, "fix-results.json": &r.fixes} {
		if s := text(name); s != "" {
			if err := json.Unmarshal([]byte(s), into); err != nil {
				c.t.Fatalf("%s: %v\n%s", name, err, s)
			}
		}
	}
	for _, f := range fs {
		r.findings = append(r.findings, f.Tool+" "+f.Rule+" "+f.File)
	}
	slices.Sort(r.findings)
	entries, err := os.ReadDir(filepath.Join(c.run, "reports"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		r.reports[e.Name()] = text("reports/" + e.Name())
	}
	return r
}

// want compares a run with its exit code and patterns of its output.
func (r scriptRun) want(t *testing.T, code int, patterns ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit %d, want %d\n%s", r.code, code, r.out)
	}
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(r.out) {
			t.Errorf("no %s in\n%s", p, r.out)
		}
	}
}

func (r scriptRun) found(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.findings); diff != "" {
		t.Errorf("findings: %s\n%s", diff, r.out)
	}
}

// reported matches the one report against a pattern.
func (r scriptRun) reported(t *testing.T, name string, patterns ...string) {
	t.Helper()
	if names := slices.Collect(maps.Keys(r.reports)); len(names) != 1 || names[0] != name {
		t.Errorf("reports: %v\n%s", names, r.out)
	}
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(r.reports[name]) {
			t.Errorf("no %s in the report\n%s", p, r.reports[name])
		}
	}
}

func need(t *testing.T, tool, remedy string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("missing tool: %s: %s", tool, remedy)
	}
}

// needCargo runs cargo: the name alone may be rustup's stand-in without a toolchain.
func needCargo(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs cargo")
	}
	if err := exec.Command("cargo", "--version").Run(); err != nil {
		t.Skipf("missing tool: cargo: apt-get install cargo rustc, or rustup default stable (%v)", err)
	}
}

// only makes a PATH with these tools and those of a small system, so that a test can take one away.
func (c *component) only(tools ...string) {
	c.t.Helper()
	dir := c.t.TempDir()
	small := strings.Fields("awk basename cat chmod cksum cp cut dirname env find grep head mkdir mktemp mv od pwd rm sed sh sha1sum sha256sum sort tail tee tr uname xargs")
	for _, name := range append(small, tools...) {
		file, err := exec.LookPath(name)
		if err != nil {
			c.t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			c.t.Fatal(err)
		}
	}
	c.path = dir
}

const untoldGo = `package x

import (
	"os"
	"strings"
	"testing"
)

func TestUntold(t *testing.T) {
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "HOMEBOY_") || strings.HasPrefix(e, "DEED_") {
			t.Error(e)
		}
	}
}
`

func TestBuiltInGo(t *testing.T) {
	t.Parallel()
	c := newComponent(t, map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.24\n", "a.go": "package x\n\n// F is one.\nfunc F() int { return 1 }\n", "a_test.go": untoldGo,
		"sub/b.go": "package sub\n", "testdata/broken.go": "package", "vendor.txt": "",
	})
	c.script("go", "lint", nil).want(t, 0)
	r := c.script("go", "test", []string{"HOMEBOY_COVERAGE=1"})
	r.want(t, 0, `ok  \texample.com/x\t`)
	r.reported(t, "go-test.jsonl", `"Action":"pass".*"Test":"TestUntold"`)
	if !strings.HasPrefix(r.coverage, "mode: set\nexample.com/x/a.go:") || r.steps != "ran test\n" {
		t.Errorf("coverage %q, steps %q", r.coverage, r.steps)
	}
	c.script("go", "build", nil).want(t, 0)

	c.write(map[string]string{
		"a_test.go": "package x\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestBad(t *testing.T) { t.Error(\"a < b\") }\n",
	})
	c.script("go", "test", nil).want(t, 1, `a < b`, `--- FAIL: TestBad`, `BUILD FAILED: go test\n`)
	c.script("go", "test", nil, "-run", "TestGood").want(t, 0) // edge case 46: arguments reach the tool
	c.script("go", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=sub/b_test.go"}).want(t, 2, `no test files`)
	c.script("go", "test", nil, "-run", "TestNothing").want(t, 2, `zero tests executed`)
	c.write(map[string]string{"sub/b.go": "package sub\nimport \"fmt\"\nfunc G()  { fmt.Printf(\"%d\", \"x\") }\n"})
	r = c.script("go", "lint", nil)
	r.want(t, 1, `BUILD FAILED: gofmt, vet\n`)
	r.found(t, "gofmt format sub/b.go", "vet printf sub/b.go")
	c.script("go", "lint", []string{"HOMEBOY_LINT_FILE=a.go"}).want(t, 0)
	c.script("go", "lint", []string{"HOMEBOY_LINT_GLOB={" + c.dir + "/a.go," + c.dir + "/sub/b.go}", "HOMEBOY_STEP=vet"}).found(t, "vet printf sub/b.go")
	c.script("go", "lint", []string{"HOMEBOY_LINT_GLOB=s*/**/*.go", "HOMEBOY_SKIP=vet"}).found(t, "gofmt format sub/b.go")
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("sub/b.go\nREADME.md\ngone.go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.script("go", "lint", []string{"HOMEBOY_LINT_CHANGED_FILES_FILE=" + list, "HOMEBOY_STEP=gofmt"}).found(t, "gofmt format sub/b.go")
	r = c.script("go", "lint", []string{"HOMEBOY_FIX_ONLY=1"})
	r.want(t, 0)
	if diff := cmp.Diff([]wire.FixResult{{File: "sub/b.go", Rule: "gofmt", Action: "fixed", Confidence: "safe"}}, r.fixes); diff != "" {
		t.Error(diff)
	}
	r = c.script("go", "test", []string{"HOMEBOY_STEP=nope"}) // edge case 5
	r.want(t, 0, `Not run: test`)
	if r.steps != "skipped test\n" {
		t.Errorf("steps %q", r.steps)
	}

	c.write(map[string]string{"a.go": "package x\n\nfunc F() int { return y }\n"})
	c.script("go", "test", nil).want(t, 2, `a.go:3:23: undefined: y`, `before the runner took control`)
	r = c.script("go", "lint", nil)
	r.want(t, 1, `undefined: y`)
	c.script("go", "build", nil).want(t, 1, `undefined: y`)
	c.only("git")
	c.script("go", "test", nil).want(t, 2, `go is not on PATH: install it from`)
}

// What go vet finds and what the compiler says go to files of their own: in one file that both share go writes the one over the other
// now and then, because it copies its findings without regard to who else writes.
func TestBuiltInGoVetApart(t *testing.T) {
	t.Parallel()
	if _, err := os.Readlink("/proc/self/fd/1"); err != nil {
		t.Skip("missing tool: /proc: only there can a process see where its output goes")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	c := newComponent(t, map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.24\n", "a.go": "package x\n\nfunc F() int { return y }\n",
		"sub/b.go": "package sub\n\nimport \"fmt\"\n\nfunc G() { fmt.Printf(\"%d\", \"x\") }\n",
	})
	bin, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
	shim := fmt.Sprintf(`#!/bin/sh
if [ "$1" = vet ]; then
  to=$(readlink /proc/$$/fd/1 /proc/$$/fd/2)
  printf '%%s\n' "$to" >>'%s'
fi
exec '%s' "$@"
`, seen, tool)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	c.path = bin + string(filepath.ListSeparator) + c.path
	r := c.script("go", "lint", nil)
	r.want(t, 1, `undefined: y`, `BUILD FAILED: vet\n`)
	r.found(t, "vet printf sub/b.go", "vet typecheck a.go")
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if to := strings.Split(strings.TrimSpace(string(text)), "\n"); len(to) != 2 || to[0] == to[1] {
		t.Errorf("go vet writes its findings and its errors to %q, want two files", to)
	}
}

func TestBuiltInNode(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install npm")
	c := newComponent(t, map[string]string{
		"package.json": `{"name":"x","scripts":{"build":"node build.js"}}`, "build.js": "if (process.argv[2] === 'broken') process.exit(1)",
		"test/a.test.js": `const {test} = require('node:test')
test('untold', () => { if (Object.keys(process.env).some((k) => /^(HOMEBOY|DEED)_/.test(k))) throw new Error('told') })
test('later', {skip: true}, () => {})
`,
	})
	r := c.script("node", "test", nil)
	r.want(t, 0, `tests 2`)
	r.reported(t, "node.xml", `<testcase name="untold"`, `<skipped`)
	c.script("node", "lint", nil).want(t, 0, `Not run: eslint`)
	c.script("node", "build", nil).want(t, 0)
	c.script("node", "build", nil, "broken").want(t, 1) // edge case 46

	// A test script: the reporters reach node all the same.
	c.write(map[string]string{
		"package.json":   `{"name":"x","scripts":{"test":"node --test","lint":"node lint.js"}}`,
		"test/a.test.js": "const {test} = require('node:test')\ntest('bad', () => { throw new Error('no') })\n",
		"lint.js":        "process.exit(process.argv[2] === undefined ? 0 : Number(process.argv[2]))",
	})
	r = c.script("node", "test", nil)
	r.want(t, 1, `BUILD FAILED: node --test\n`)
	r.reported(t, "node.xml", `<failure`)
	c.script("node", "lint", nil).want(t, 0)
	c.script("node", "lint", nil, "1").want(t, 1)
	c.script("node", "lint", nil, "7").want(t, 2)

	// Other runners speak by their text and their code.
	c.write(map[string]string{"package.json": `{"scripts":{"test":"echo hello && nosuchtool --flag"}}`})
	c.script("node", "test", nil).want(t, 127, `not found`)
	c.write(map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`})
	c.script("node", "test", nil).want(t, 1, `BUILD FAILED: node --test\n`)
	c.write(map[string]string{"package.json": `{"scripts":{"test":"node -e \"process.exit(0)\""}}`})
	c.script("node", "test", nil).want(t, 2, `no output`)

	// A project that is not ready.
	c.write(map[string]string{"package.json": `{"devDependencies":{"jest":"1"}}`, "package-lock.json": "{}"})
	c.script("node", "test", nil).want(t, 2, `run npm ci`)
	c.write(map[string]string{"pnpm-lock.yaml": ""})
	c.script("node", "lint", nil).want(t, 2, `run pnpm install --frozen-lockfile`)
	c.write(map[string]string{"package.json": `{"scripts":{"test":"x"}}`})
	saved := c.path
	c.only("node")
	c.script("node", "test", nil).want(t, 2, `pnpm is not on PATH`)
	c.path = saved
	c.write(map[string]string{"package.json": `{`})
	c.script("node", "build", nil).want(t, 2, `package.json is broken`)
}

// fakes are tools with the interface of the real ones: what they are given is in their answer.
func TestBuiltInNodeTools(t *testing.T) {
	t.Parallel()
	need(t, "node", "apt-get install npm")
	c := newComponent(t, map[string]string{
		"package.json": `{"devDependencies":{"eslint":"9","vitest":"2"}}`, "src/a b.js": "var x\n", "src/c.js": "",
		"node_modules/.bin/eslint": `#!/bin/sh
case " $* " in *' --fix '*) printf 'let x\n' >'src/a b.js'; exit 1 ;; esac
printf '[{"filePath":"%s/src/a b.js","messages":[{"ruleId":"no-var","severity":2,"message":"%s","line":1,"column":1}]}]' "$PWD" "${HOMEBOY_RUN_DIR:-untold}"
exit 1
`,
		"node_modules/.bin/vitest": `#!/bin/sh
for a in "$@"; do case $a in --outputFile.json=*) echo '{"numTotalTests":1}' >"${a#*=}" ;; esac; done
echo "args: $*"; echo ' Tests  1 failed | 2 passed (3)'; exit 1
`,
	})
	r := c.script("node", "lint", nil)
	r.want(t, 1, `src/a b.js:1:1: untold \(no-var\)`)
	r.found(t, "eslint no-var src/a b.js")
	c.script("node", "lint", []string{"HOMEBOY_LINT_FILE=src/c.js"}).want(t, 0) // the finding is in another file
	c.script("node", "lint", []string{"HOMEBOY_LINT_FILE=src/a b.js"}).want(t, 1)
	r = c.script("node", "lint", []string{"HOMEBOY_AUTO_FIX=1"})
	r.want(t, 0)
	if diff := cmp.Diff([]wire.FixResult{{File: "src/a b.js", Rule: "eslint", Action: "fixed", Confidence: "guarded"}}, r.fixes); diff != "" {
		t.Error(diff)
	}
	r = c.script("node", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=test/a b.test.js\ntest/c.test.js"}, "--retry", "2")
	r.want(t, 1, `args: --run .* --retry 2 test/a b.test.js test/c.test.js\n`)
	r.reported(t, "vitest.json", `numTotalTests`)
	c.write(map[string]string{"node_modules/.bin/eslint": "#!/bin/sh\necho 'no config' >&2; exit 2\n"})
	c.script("node", "lint", nil).want(t, 2, `no config`)
}

func TestBuiltInPython(t *testing.T) {
	t.Parallel()
	need(t, "python3", "apt-get install python3")
	c := newComponent(t, map[string]string{
		"pyproject.toml": "", "good.py": "x = 1\n", "tests/test_a.py": `import os, unittest


class T(unittest.TestCase):
    def test_untold(self):
        self.assertEqual([], [k for k in os.environ if k.startswith(("HOMEBOY_", "DEED_"))])

    @unittest.skip("why # not")
    def test_later(self):
        pass
`,
	})
	for _, python := range []struct{ name, path string }{{"unittest", withoutPytest(t)}, {"pytest", withPytest(t)}} {
		if python.path == "" {
			continue // reported by the last line of this test
		}
		c.path = python.path
		r := c.script("python", "test", nil)
		r.want(t, 0)
		for _, report := range r.reports {
			if !strings.Contains(report, "test_untold") || !strings.Contains(report, "why") {
				t.Errorf("%s: %s", python.name, report)
			}
		}
		if len(r.reports) != 1 {
			t.Errorf("%s: reports %v", python.name, r.reports)
		}
		c.write(map[string]string{"tests/test_b.py": "import unittest\n\n\nclass B(unittest.TestCase):\n    def test_bad(self):\n        self.assertEqual(1, 2)\n"})
		c.script("python", "test", nil).want(t, 1, "BUILD FAILED: "+python.name+"\n")
		c.write(map[string]string{"tests/test_b.py": "import nosuchmodule\n"})
		r = c.script("python", "test", nil)
		r.want(t, map[string]int{"unittest": 1, "pytest": 2}[python.name], `install the dependencies of the project`)
		if err := os.Remove(filepath.Join(c.dir, "tests/test_b.py")); err != nil {
			t.Fatal(err)
		}
	}
	c.path = withoutPytest(t)
	c.script("python", "lint", nil).want(t, 0)
	c.script("python", "build", nil).want(t, 0)
	c.write(map[string]string{"bad one.py": "def f(:\n", "caf\xc3\xa9.py": "y = (\n"})
	r := c.script("python", "lint", nil)
	r.want(t, 1)
	r.found(t, "syntax syntax bad one.py", "syntax syntax café.py")
	c.script("python", "build", nil).want(t, 1)
	if _, err := os.Stat(filepath.Join(c.dir, "__pycache__")); err == nil {
		t.Error("lint and build left __pycache__ behind")
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "tests")); err != nil {
		t.Fatal(err)
	}
	c.script("python", "test", nil).want(t, 2, `zero tests executed`)
	// Tests that only pytest sees run with it, also when it is the program of another interpreter.
	if _, err := exec.LookPath("pytest"); err == nil {
		c.write(map[string]string{"tests/test_c.py": "def test_fails():\n    assert 1 == 2\n"})
		c.script("python", "test", nil).want(t, 1, "BUILD FAILED: pytest\n")
	}
	if withPytest(t) == "" {
		t.Skip("missing tool: pytest: apt-get install python3-pytest")
	}
}

// withPytest is a PATH whose python3 has pytest, empty when there is none; withoutPytest one whose python3 has not.
func withPytest(t *testing.T) string {
	t.Helper()
	return pythonPath(t, true)
}

func withoutPytest(t *testing.T) string {
	t.Helper()
	if path := pythonPath(t, false); path != "" {
		return path
	}
	// Every python here has it: one is made that cannot find it.
	dir := t.TempDir()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\nexec " + python + " -S \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir + ":" + os.Getenv("PATH")
}

func pythonPath(t *testing.T, pytest bool) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		python := filepath.Join(dir, "python3")
		if exec.Command(python, "-c", "0").Run() != nil {
			continue
		}
		if has := exec.Command(python, "-c", "import pytest").Run() == nil; has == pytest {
			return dir + ":" + os.Getenv("PATH")
		}
	}
	return ""
}

func TestBuiltInRust(t *testing.T) {
	t.Parallel()
	needCargo(t)
	c := newComponent(t, map[string]string{
		"Cargo.toml": "[package]\nname = \"rsx\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs": `pub fn one() -> i32 {
    1
}

#[cfg(test)]
mod tests {
    #[test]
    fn untold() {
        assert!(std::env::vars().all(|(k, _)| !k.starts_with("HOMEBOY_") && !k.starts_with("DEED_")));
    }

    #[test]
    #[ignore = "slow"]
    fn later() {}
}
`,
	})
	r := c.script("rust", "test", nil)
	r.want(t, 0)
	r.reported(t, "cargo.txt", `test tests::untold ... ok\n`, `test tests::later ... ignored, slow\n`)
	c.script("rust", "build", nil).want(t, 0)
	c.write(map[string]string{"tests/it.rs": "#[test]\nfn bad() {\n    assert_eq!(rsx::one(), 2);\n}\n"})
	r = c.script("rust", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=tests/it.rs"})
	r.want(t, 1, `BUILD FAILED: cargo test\n`)
	r.reported(t, "cargo.txt", `Running tests/it.rs `, `test bad ... FAILED\n`)
	c.write(map[string]string{"src/lib.rs": "pub fn one() -> i32 {\n  return 1;\n}\n"})
	if exec.Command("cargo", "clippy", "--version").Run() == nil && exec.Command("cargo", "fmt", "--version").Run() == nil {
		r = c.script("rust", "lint", nil)
		r.want(t, 1)
		r.found(t, "clippy clippy::needless_return src/lib.rs", "fmt format src/lib.rs")
		c.script("rust", "lint", []string{"HOMEBOY_ERRORS_ONLY=1", "HOMEBOY_STEP=clippy"}).want(t, 0)
		if r = c.script("rust", "lint", []string{"HOMEBOY_FIX_ONLY=1"}); len(r.fixes) != 2 || r.fixes[0].Confidence != "safe" || r.fixes[1].Confidence != "guarded" {
			t.Errorf("fixes: %v\n%s", r.fixes, r.out)
		}
	}
	c.write(map[string]string{"src/lib.rs": "pub fn one() -> i32 { two() }\n"})
	c.script("rust", "test", nil).want(t, 101, `before the runner took control`)
	c.script("rust", "build", nil).want(t, 1)
	if r = c.script("rust", "lint", []string{"HOMEBOY_STEP=clippy"}); r.code != 1 || len(r.findings) != 1 {
		t.Errorf("exit %d, %v\n%s", r.code, r.findings, r.out)
	}
}

func TestBuiltInPHP(t *testing.T) {
	t.Parallel()
	need(t, "php", "apt-get install php-cli")
	c := newComponent(t, map[string]string{
		"composer.json": `{"require-dev":{"phpunit/phpunit":"*"}}`, "src/go od.php": "<?php\necho 1;\n", "vendor/x/bad.php": "<?php (",
	})
	c.script("php", "lint", nil).want(t, 0)
	c.script("php", "build", nil).want(t, 0, `nothing to build`)
	c.write(map[string]string{"src/bad.php": "<?php\nfunction f( { }\n"})
	r := c.script("php", "lint", nil)
	r.want(t, 1)
	r.found(t, "syntax syntax src/bad.php")

	saved := c.path
	c.only("php")
	c.script("php", "test", nil).want(t, 2, `run composer install`)
	c.path = saved
	phpunit, err := exec.LookPath("phpunit")
	if err != nil {
		t.Skip("missing tool: phpunit: apt-get install phpunit")
	}
	c.write(map[string]string{
		"vendor/bin/phpunit": "<?php require '" + phpunit + "';\n",
		"tests/ATest.php": `<?php
use PHPUnit\Framework\TestCase;
class ATest extends TestCase {
    public function testUntold() { foreach (getenv() as $k => $v) { $this->assertDoesNotMatchRegularExpression('/^(HOMEBOY|DEED)_/', $k); } }
    public function testLater() { $this->markTestSkipped('why'); }
}
`,
	})
	r = c.script("php", "test", nil)
	r.want(t, 0)
	r.reported(t, "phpunit.xml", `testUntold`, `<skipped/>`)
	c.write(map[string]string{"tests/BTest.php": "<?php\nclass BTest extends PHPUnit\\Framework\\TestCase {\n    public function testBad() { $this->assertTrue(false); }\n}\n"})
	c.script("php", "test", nil).want(t, 1, `BUILD FAILED: PHPUnit\n`)
	c.script("php", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=tests/ATest.php"}).want(t, 0)
	c.script("php", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=tests/NoTest.php"}).want(t, 2, `zero tests executed`)
	c.write(map[string]string{"tests/BTest.php": "<?php class {"})
	c.script("php", "test", nil).want(t, 255, `BUILD FAILED: PHPUnit crash`)
}

func TestBuiltInShell(t *testing.T) {
	t.Parallel()
	c := newComponent(t, map[string]string{
		"a b.sh": "#!/bin/sh\necho \"$1\"\n", "tests/good.test.sh": "#!/bin/sh\n! env | grep -q -e '^HOMEBOY_' -e '^DEED_'\n", "tests/later_test.sh": "#!/bin/sh\nexit 77\n",
	})
	r := c.script("shell", "test", nil)
	r.want(t, 0)
	r.reported(t, "scripts.tap", `ok 1 - tests/good.test.sh\nok 2 - tests/later_test.sh # SKIP\n1..2\n$`)
	c.script("shell", "lint", nil).want(t, 0)
	c.write(map[string]string{"tests/bad.test.sh": "#!/bin/sh\necho why; exit 3\n", "broken.sh": "#!/bin/sh\nif true; then\n", "b.sh": "#!/bin/bash\nif [[ a =~ b ]] then\n"})
	r = c.script("shell", "test", nil)
	r.want(t, 1, `BUILD FAILED: shell tests\n`)
	r.reported(t, "scripts.tap", `not ok 1 - tests/bad.test.sh\n  ---\n  message: \|\n    exit 3\n    why\n  ...\n`)
	c.script("shell", "test", []string{"HOMEBOY_CHANGED_TEST_FILES=tests/good.test.sh"}).want(t, 0)
	r = c.script("shell", "lint", []string{"HOMEBOY_STEP=syntax"})
	r.want(t, 1, `broken.sh:3: Syntax error: end of file unexpected`)
	if !slices.Contains(r.findings, "syntax syntax broken.sh") {
		t.Errorf("findings: %v", r.findings)
	}
	c.only("bash")
	c.script("shell", "lint", []string{"HOMEBOY_SKIP=syntax"}).want(t, 0, `Not run: shellcheck`)
	c.write(map[string]string{"tests/x.bats": "@test \"one\" { true; }\n@test \"untold\" { [ -z \"${HOMEBOY_RUN_DIR:-}\" ]; }\n"})
	c.script("shell", "test", []string{"HOMEBOY_SKIP=scripts"}).want(t, 2, `bats is not on PATH`)
	empty := newComponent(t, map[string]string{"x.sh": ""})
	empty.script("shell", "test", nil).want(t, 2, `no test files`)

	need(t, "bats", "apt-get install bats")
	need(t, "shellcheck", "apt-get install shellcheck")
	c.path = os.Getenv("PATH")
	r = c.script("shell", "test", []string{"HOMEBOY_STEP=bats"})
	r.want(t, 0)
	r.reported(t, "bats.tap", `ok 2 untold\n`)
	c.write(map[string]string{"a b.sh": "#!/bin/sh\necho $1\n"})
	c.script("shell", "lint", []string{"HOMEBOY_LINT_FILE=a b.sh"}).found(t, "shellcheck SC2086 a b.sh")
}

// The helper that has the host's binary writes what it writes without it.
func TestSidecarWriterByTheBinary(t *testing.T) {
	t.Parallel()
	bin := binarytest.Deed(t)
	helpers, err := helper.Materialise(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range helpertest.SidecarCases {
		dir := t.TempDir()
		env, err := c.Env(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-eu", "-c", `. "$HOMEBOY_RUNTIME_SIDECAR_WRITER"; `+c.Script)
		cmd.Dir, cmd.Env = t.TempDir(), append(env, "PATH="+os.Getenv("PATH"), "DEED_BIN="+bin, "HOMEBOY_RUNTIME_SIDECAR_WRITER="+helpers["HOMEBOY_RUNTIME_SIDECAR_WRITER"])
		out, _ := cmd.CombinedOutput() // its code is checked
		if err := c.Check(dir, cmd.ProcessState.ExitCode()); err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, out)
		}
	}
}

func TestHelperCommandFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		in   string
		code int
		want string
	}{
		{[]string{"sidecar", "nope", dir + "/x"}, "1\x00", ExitNotDone, `"nope" is no way to write a sidecar`},
		{[]string{"sidecar", "object", dir + "/x"}, "{}\x00{}\x00", ExitNotDone, "2 objects are given"},
		{[]string{"sidecar", "array", dir}, "1\x00", ExitNotDone, "is a directory"},
		{[]string{"sidecar", "array"}, "", ExitUsage, "accepts 2 arg(s)"},
		{[]string{"findings", "nope"}, "", ExitUsage, `format "nope" is unknown`},
		{[]string{"findings", "text", "--only", dir + "/none"}, "a:1: b\n", ExitUsage, "read the paths that are asked for"},
		{[]string{"findings", "text", "--errors-only"}, "a:1: warning: b\n", ExitInfra, ""},
	} {
		var out, stderr bytes.Buffer
		code := Main(append([]string{"helper"}, c.args...), nil, Stdio{In: strings.NewReader(c.in), Out: &out, Err: &stderr})
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: exit %d, %s", c.args, code, stderr.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

package observe_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/checks/observe"
)

// A project is a tree whose checks are run.
type project struct {
	dir string
	env map[string]string
}

// newProject writes files, a path to its text, into a new tree.
func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	p := &project{dir: t.TempDir(), env: map[string]string{}}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		p.env[name] = value
	}
	// What this test itself runs below has no say.
	for _, name := range []string{"DEED_OBSERVE_INSIDE", "NODE_OPTIONS", "NODE_TEST_CONTEXT", "PYTHONPATH", "PHP_INI_SCAN_DIR", "GOFLAGS", "FORCE_COLOR", "CI"} {
		delete(p.env, name)
	}
	maps.Copy(p.env, map[string]string{
		"GOWORK": "off", "NO_COLOR": "1", "npm_config_update_notifier": "false", "VITEST_SKIP_INSTALL_CHECKS": "1",
		"CARGO_TARGET_DIR": filepath.Join(p.dir, "target"), "CARGO_NET_OFFLINE": "true", "RUST_BACKTRACE": "0",
		"HOME": t.TempDir(), "GOCACHE": output(t, "go", "env", "GOCACHE"), "GOMODCACHE": output(t, "go", "env", "GOMODCACHE"),
	})
	for _, name := range []string{"RUSTUP_HOME", "CARGO_HOME"} { // they are below HOME, where nothing names them
		if p.env[name] == "" {
			p.env[name] = filepath.Join(os.Getenv("HOME"), "."+strings.ToLower(strings.TrimSuffix(name, "_HOME")))
		}
	}
	write(t, p.dir, files)
	return p
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func output(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A ran is how one check ended.
type ran struct {
	stdout, stderr string
	code           int
}

// plain runs a line of the shell without observation.
func (p *project) plain(t *testing.T, line string) ran {
	t.Helper()
	return p.run(t, line, p.env)
}

// observed runs a line of the shell and reads what was seen.
func (p *project) observed(t *testing.T, line string) (ran, observe.Seen) {
	t.Helper()
	dir := t.TempDir()
	w, err := observe.New(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	r := p.run(t, line, w.Env(p.env))
	seen, err := w.Read(p.dir, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, seen
}

func (p *project) run(t *testing.T, line string, env map[string]string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = p.dir
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("typed\n"), &stdout, &stderr
	err := cmd.Run()
	r := ran{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return r
}

// results are the tests of a report as lines, sorted: how each ended, and its name.
func results(cases []runner.TestCase) []string {
	var out []string
	for i := range cases {
		out = append(out, cases[i].Status+" "+cases[i].ID())
	}
	slices.Sort(out)
	return out
}

// needs skips a test where a program is missing.
func needs(t *testing.T, how string, argv ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: needs a test runner")
	}
	if err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Run(); err != nil {
		t.Skipf("missing tool: %s: %s", strings.Join(argv, " "), how)
	}
}

// runners links the pinned runners of node into the tree.
func (p *project) runners(t *testing.T) {
	t.Helper()
	needs(t, "nodejs.org", "node", "--version")
	modules, err := filepath.Abs("../../../.cache/observe/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Skip("missing tool: the test runners of node: scripts/setup.sh")
	}
	link, err := filepath.EvalSymlinks(modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(link, filepath.Join(p.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

func sortedLines(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

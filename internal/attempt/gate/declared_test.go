package gate

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A module that the project declares but that is not installed is distinguished from one that is still to be written.
func TestDeclared(t *testing.T) {
	t.Parallel()
	const project = `[project]
name = "calc"
dependencies = [
  "numbers-of-old[fast]>=1", # why
]
keywords = ["shapes"]
[project.optional-dependencies]
test = ["checker"]
[tool.poetry.dependencies]
waves = "^1"
[tool.setuptools]
packages = ["shapes"]
`
	for _, c := range []struct {
		file, text, name string
		want             bool
	}{
		{"requirements.txt", "# none\nNumbers_Of.old == 1\n", "numbers_of_old", true},
		{"requirements.txt", "numbers-of-older\n", "numbers_of_old", false},
		{"pyproject.toml", project, "numbers_of_old", true},
		{"pyproject.toml", project, "checker", true},
		{"pyproject.toml", project, "waves", true},
		{"pyproject.toml", project, "calc", false},
		{"pyproject.toml", project, "shapes", false},
		{"pyproject.toml", project, "test", false},
		{"package.json", `{"name": "calc", "devDependencies": {"@a/pad": "1"}}`, "@a/pad", true},
		{"package.json", `{"name": "calc", "devDependencies": {"@a/pad": "1"}}`, "calc", false},
	} {
		by := declaresPython
		if c.file == "package.json" {
			by = declaresNode
		}
		if got := by(c.file, []byte(c.text), c.name); got != c.want {
			t.Errorf("%s declares %s: %v", c.file, c.name, got)
		}
	}
	for text, want := range map[string]string{
		"ModuleNotFoundError: No module named 'numpy.linalg'":     "numpy",
		"Error: Cannot find module '@a/pad/lib'":                  "@a/pad",
		"Error: Cannot find module './lib'":                       "",
		"Cannot find package 'left-pad' imported from /a/b.mjs":   "left-pad",
		"ImportError: cannot import name 'add' from 'calc'":       "",
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/a/b'": "",
	} {
		if m := absentModule().FindStringSubmatch(text); strings.Join(append(m, "", "", "")[1:3], "") != want {
			t.Errorf("%s: %q, want %q", text, m, want)
		}
	}
}

// A line for the shell whose tests cannot be loaded for want of a declared module cannot be run on the base, and is tried again when
// it may be there: nothing that fails for want of something is remembered.
func TestUninstalledModules(t *testing.T) {
	t.Parallel()
	load := runner.TestCase{Name: "[load]", Suite: "test_calc", Status: runner.CaseFailed, Message: "Traceback\nModuleNotFoundError: No module named 'numpy'"}
	for _, c := range []struct {
		name         string
		base         map[string]string
		found        runner.TestCase
		broken       bool
		worthKeeping bool
	}{
		{"declared", map[string]string{"requirements.txt": "numpy\n"}, load, true, false},
		{"not declared", map[string]string{"requirements.txt": "other\n"}, load, false, false},
		{"the project's own", map[string]string{"requirements.txt": "numpy\n", "numpy/core.py": "x\n"}, load, false, false},
		{"a test ran", map[string]string{"requirements.txt": "numpy\n"}, runner.TestCase{Name: "test_add", Suite: "test_calc", Status: runner.CaseFailed, Message: load.Message}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src, base := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "base")
			for name, text := range c.base {
				put(t, src, name, text)
			}
			_, err := workspace.Seed(t.Context(), workspace.Source{Dir: src}, base)
			must(t, err)
			manifest, err := workspace.Snapshot(t.Context(), base, nil)
			must(t, err)
			y := &scripted{toy: &toy{}, ran: RunResult{
				Result:  deed.CheckResult{Status: deed.CheckFailed, ExitCode: 1},
				Report:  &runner.Report{Capability: runner.Test, Status: runner.StatusFailed, TestCases: []runner.TestCase{c.found}},
				Runners: []string{"unittest"},
			}}
			check := deed.Check{Shell: "make test"}
			runs, err := Bases(t.Context(), Input{
				Spec: deed.TaskSpec{Checks: []deed.Check{check}}, Base: workspace.BaseAt(base), Manifest: manifest, Rooms: t.TempDir(), Runner: y,
			})
			must(t, err)
			if b, broken := CannotRun(check, runs[0]); broken != c.broken || broken && !strings.Contains(b.Why, "numpy") {
				t.Errorf("broken: %v %+v", broken, b)
			}
			if _, kept := y.cached[CheckName(check)]; kept != c.worthKeeping {
				t.Errorf("remembered: %v", kept)
			}
		})
	}
}

// scripted is a check that always says the same.
type scripted struct {
	*toy
	ran RunResult
}

func (s *scripted) Run(context.Context, deed.Check, string, bool) RunResult { return s.ran }

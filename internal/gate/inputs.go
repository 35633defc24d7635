package gate

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/workspace"
)

// testFiles are where the usual tools of each language look for tests and what these read. New ones are welcome.
var testFiles = []string{
	"**/*_test.go", "**/testdata", // Go
	"**/*.test.*", "**/*.spec.*", "**/__tests__", "**/__snapshots__", // JavaScript
	"**/test_*.py", "**/*_test.py", // Python
	"**/*Test.php",                      // PHP
	"test", "tests", "spec", "**/tests", // most
}

// testConfig says what runs as a test and how. A new file of this kind can undo a test as well as an edit.
var testConfig = []string{
	"**/conftest.py", "**/pytest.ini", "**/.pytest.ini", "**/tox.ini", "**/noxfile.py", "**/setup.cfg", "**/pyproject.toml", "**/sitecustomize.py",
	"**/package.json", "**/.npmrc", "**/jest.config.*", "**/jest.setup.*", "**/vitest.config.*", "**/vitest.workspace.*", "**/vite.config.*", "**/.mocharc*",
	"**/karma.conf.*", "**/ava.config.*", "**/playwright.config.*", "**/cypress.config.*", "**/babel.config.*", "**/.babelrc*", "**/.swcrc",
	"**/phpunit.xml*", "**/phpunit.dist.xml", "**/pest.php",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml",
	"**/go.work", "**/.cargo", "**/.config/nextest.toml", "**/rust-toolchain*",
}

var lintConfig = []string{
	"**/.golangci.*", "**/staticcheck.conf", "**/revive.toml",
	"**/.eslintrc*", "**/eslint.config.*", "**/.eslintignore", "**/.prettierrc*", "**/prettier.config.*", "**/.prettierignore", "**/biome.json*", "**/.stylelintrc*", "**/tsconfig*.json", "**/package.json",
	"**/.flake8", "**/ruff.toml", "**/.ruff.toml", "**/.pylintrc", "**/pylintrc", "**/mypy.ini", "**/.mypy.ini", "**/pyproject.toml", "**/setup.cfg", "**/tox.ini",
	"**/phpcs.xml*", "**/.phpcs.xml*", "**/phpstan*.neon*", "**/psalm.xml*", "**/.php-cs-fixer*",
	"**/rustfmt.toml", "**/.rustfmt.toml", "**/clippy.toml", "**/.clippy.toml", "**/.shellcheckrc", "**/.editorconfig",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml",
}

// runnerFiles are deed's own: which extension runs what, and with which settings. Their effect on a check is that of the
// base anyway; a change is told.
var runnerFiles = []string{".deed", "**/homeboy.json", "**/deed.yaml"}

// Inputs are the globs of what a check judges by: its own, else those of its capability. A command has none of itself.
func Inputs(c deed.Check) []string {
	switch {
	case len(c.Inputs) > 0:
		return c.Inputs
	case c.Capability == runner.Test:
		return slices.Concat(testFiles, testConfig, runnerFiles)
	case c.Capability == runner.Lint:
		return slices.Concat(lintConfig, runnerFiles)
	case c.Capability != "":
		return runnerFiles
	}
	return nil
}

// changedInputs lists the inputs of a check that the patch does not leave as they were. A test that is only added is none:
// an agent that was asked for a feature adds its tests. redirected says of a go.mod whether the patch gives modules another
// place; a library of assertions that always holds would be one. What else changes in it is a dependency.
func changedInputs(c deed.Check, globs []string, changes workspace.ChangeSet, redirected func(path string) (bool, error)) ([]deed.ChangedInput, error) {
	var out []deed.ChangedInput
	for _, ch := range changes.Of(workspace.ClassTracked) {
		counts := matchAny(globs, ch.Path)
		switch {
		case !counts && len(c.Inputs) == 0 && c.Capability != "" && path.Base(ch.Path) == moduleFile:
			var err error
			if counts, err = redirected(ch.Path); err != nil {
				return nil, err
			}
		case ch.Status == workspace.Added && matchAny(testFiles, ch.Path) && !matchAny(testConfig, ch.Path) && !matchAny(runnerFiles, ch.Path):
			counts = false
		}
		if counts {
			out = append(out, deed.ChangedInput{Path: workspace.TextPath(ch.Path), Status: string(ch.Status)})
		}
	}
	return out, nil
}

// moduleFile is where Go keeps dependencies, and where modules can be given another place.
const moduleFile = "go.mod"

// maxModule bounds the part of a patch that is looked at for one go.mod.
const maxModule = 4 << 20

// redirected reports whether a patch adds or takes away a line with an arrow in a file: in a go.mod that is a replacement.
func redirected(patch, file string) (bool, error) {
	f, err := os.Open(patch)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	parts, err := workspace.SplitPatch(f)
	if err != nil {
		return false, err
	}
	for _, p := range parts {
		if p.Path != file {
			continue
		}
		if p.End-p.Start > maxModule {
			return true, nil // no go.mod that somebody wrote
		}
		text, err := io.ReadAll(io.NewSectionReader(f, p.Start, p.End-p.Start))
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "=>") && (line[0] == '+' || line[0] == '-') {
				return true, nil
			}
		}
	}
	return false, nil
}

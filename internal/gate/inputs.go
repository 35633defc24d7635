package gate

import (
	"slices"

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
// an agent that was asked for a feature adds its tests.
func changedInputs(c deed.Check, changes workspace.ChangeSet) []deed.ChangedInput {
	globs := Inputs(c)
	var out []deed.ChangedInput
	for _, ch := range changes.Of(workspace.ClassTracked) {
		switch {
		case !matchAny(globs, ch.Path):
		case ch.Status == workspace.Added && matchAny(testFiles, ch.Path) && !matchAny(testConfig, ch.Path) && !matchAny(runnerFiles, ch.Path):
		default:
			out = append(out, deed.ChangedInput{Path: workspace.TextPath(ch.Path), Status: string(ch.Status)})
		}
	}
	return out
}

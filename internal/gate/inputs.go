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
	"**/*.test.*", "**/*.spec.*", "**/__tests__", "**/__snapshots__", "**/__mocks__", // JavaScript
	"**/*-test.[jt]s", "**/*-test.[cm][jt]s", "**/*_test.[jt]s", "**/*_test.[cm][jt]s", "**/test-*.[jt]s", "**/test-*.[cm][jt]s", "**/test.[jt]s", "**/test.[cm][jt]s", // node --test
	"**/test*.py", "**/*_test.py", // Python: pytest, unittest, Django
	"**/*Test.php", "**/*.phpt", // PHP
	"**/*.bats", "**/*_test.sh", // shell
	"**/*_test.rs", "**/*_spec.rb", "**/*_test.rb",
	"**/test", "**/tests", "spec", // most
}

// testConfig says what runs as a test and how. A new file of this kind can undo a test as well as an edit.
var testConfig = []string{
	"**/conftest.py", "**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.ini", "**/noxfile.py", "**/setup.cfg", "**/pyproject.toml",
	"**/package.json", "**/.npmrc", "**/jest.config.*", "**/jest.setup.*", "**/vitest.config.*", "**/vitest.setup.*", "**/vitest.workspace.*", "**/vite.config.*", "**/.mocharc*",
	"**/karma.conf.*", "**/ava.config.*", "**/playwright.config.*", "**/cypress.config.*", "**/babel.config.*", "**/.babelrc*", "**/.swcrc", "**/bunfig.toml", "**/.nycrc*", "**/.c8rc*", "**/.taprc",
	"**/phpunit.xml*", "**/phpunit.dist.xml", "**/pest.php",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml", "**/.rspec", "**/Rakefile",
	"**/go.work", "**/.cargo", "**/.config/nextest.toml", "**/rust-toolchain*",
}

// tools are programs that run checks of every kind, where a project has them in its own tree, and what gets in before
// them: an interpreter, a package manager. Who can write these writes the report. As with a configuration, a new one counts.
var tools = []string{
	"**/.venv", "**/venv", "**/*.pth", "**/*.egg-info", "**/*.dist-info", "**/sitecustomize.py", "**/usercustomize.py", // Python
	"**/.yarn", "**/.yarnrc*", "**/.pnp.*", "**/.pnpmfile.*", "**/pnpm-workspace.yaml", // JavaScript: yarn runs what yarnPath names
	"**/vendor/bin", "**/vendor/autoload.php", "**/vendor/composer", // PHP
}

// testTools run tests, or are what assertions are made with. A Python module of the name of one is taken before it.
var testTools = slices.Concat(
	[]string{"**/pytest", "**/pytest.py", "**/_pytest", "**/pluggy", "**/pluggy.py", "**/unittest", "**/unittest.py", "**/pytest_cov*", "**/phpunit", "**/phpunit.phar"},
	below("**/node_modules/.bin/", "ava", "c8", "cross-env", "cypress", "jasmine*", "jest*", "karma*", "mocha*", "nyc", "playwright*", "tap", "ts-node", "tsx", "vitest*"),
	below("**/node_modules/", "@jest", "@vitest", "ava", "chai", "expect", "jasmine*", "jest*", "karma*", "mocha*", "should", "sinon", "tap", "ts-node", "tsx", "uvu", "vitest*"),
	below("**/vendor/", "github.com/google/go-cmp", "github.com/onsi", "github.com/stretchr", "gotest.tools", "mockery", "phpunit"),
)

// lintTools are linters.
var lintTools = slices.Concat(
	[]string{"**/ruff", "**/ruff.py", "**/flake8", "**/flake8.py", "**/mypy", "**/mypy.py"},
	below("**/node_modules/.bin/", "biome", "eslint*", "oxlint", "prettier", "stylelint", "tsc"),
	below("**/node_modules/", "@biomejs", "@eslint", "@typescript-eslint", "eslint*", "oxlint", "prettier", "stylelint*", "typescript"),
	below("**/vendor/", "phpstan", "squizlabs"),
)

func below(dir string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = dir + n
	}
	return out
}

// lockFiles choose the program that runs the scripts of a package. That of another one is new with it.
var lockFiles = []string{"**/pnpm-lock.yaml", "**/yarn.lock", "**/bun.lock", "**/bun.lockb"}

var lintConfig = []string{
	"**/.golangci.*", "**/staticcheck.conf", "**/revive.toml",
	"**/.eslintrc*", "**/eslint.config.*", "**/.eslintignore", "**/.prettierrc*", "**/prettier.config.*", "**/.prettierignore", "**/biome.json*", "**/.stylelintrc*", "**/tsconfig*.json", "**/package.json",
	"**/.flake8", "**/ruff.toml", "**/.ruff.toml", "**/.pylintrc", "**/pylintrc", "**/mypy.ini", "**/.mypy.ini", "**/pyproject.toml", "**/setup.cfg", "**/tox.ini",
	"**/phpcs.xml*", "**/.phpcs.xml*", "**/phpstan*.neon*", "**/psalm.xml*", "**/.php-cs-fixer*",
	"**/rustfmt.toml", "**/.rustfmt.toml", "**/clippy.toml", "**/.clippy.toml", "**/.shellcheckrc", "**/.editorconfig",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml",
	"**/.oxlintrc*", "**/.yamllint*", "**/.markdownlint*", "**/.rubocop.yml",
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
		return slices.Concat(testFiles, testConfig, tools, testTools, lockFiles, runnerFiles)
	case c.Capability == runner.Lint:
		return slices.Concat(lintConfig, tools, lintTools, lockFiles, runnerFiles)
	case c.Capability != "":
		return runnerFiles
	}
	return nil
}

// changedInputs lists the inputs of a check that the patch does not leave as they were. A test that is only added is none:
// an agent that was asked for a feature adds its tests. redirected says of a go.mod whether the patch gives modules another
// place; a library of assertions that always holds would be one. What else changes in it is a dependency.
func changedInputs(c deed.Check, globs []string, changes workspace.ChangeSet, redirected func(path string) (bool, error)) ([]deed.ChangedInput, error) {
	steers := slices.Concat(testConfig, tools, testTools, lockFiles, runnerFiles)
	var out []deed.ChangedInput
	for _, ch := range changes.Of(workspace.ClassTracked) {
		counts := matchAny(globs, ch.Path)
		switch {
		case !counts && len(c.Inputs) == 0 && c.Capability != "" && path.Base(ch.Path) == moduleFile:
			var err error
			if counts, err = redirected(ch.Path); err != nil {
				return nil, err
			}
		case ch.Status == workspace.Added && matchAny(testFiles, ch.Path) && !matchAny(steers, ch.Path),
			len(c.Inputs) == 0 && ch.Status != workspace.Added && matchAny(lockFiles, ch.Path):
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

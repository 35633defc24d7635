package gate

import (
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// testNames are how the usual tools of each language name tests. Adding such a file is allowed.
var testNames = []string{
	"**/*_test.go",                                                                                                   // Go
	"**/*.test.*", "**/*.spec.*", "**/*-test.[jt]s", "**/*-test.[cm][jt]s", "**/*_test.[jt]s", "**/*_test.[cm][jt]s", // JavaScript
	"**/test-*.[jt]s", "**/test-*.[cm][jt]s", "**/test.[jt]s", "**/test.[cm][jt]s", // node --test
	"**/test*.py", "**/*_test.py", // Python: pytest, unittest, Django
	"**/*Test.php", "**/*.phpt", // PHP
	"**/*.bats", "**/*_test.sh", "**/test*.sh", // shell
	"**/*_test.rs", "**/tests/*.rs", "**/tests.rs", "**/*_spec.rb", "**/*_test.rb",
}

// testData is what tests read. A new file here is allowed, as are the tests that come with it.
var testData = []string{"**/testdata", "**/__snapshots__", "**/fixtures", "**/golden", "**/goldens", "**/expected"}

// testDirs are where tests and their support code are kept.
var testDirs = []string{
	"**/__tests__", "**/__mocks__", "**/test", "**/tests", "spec",
	"**/testutil", "**/testutils", "**/testsupport", "**/testhelper*", "**/test_helper*", "**/test-helper*", "**/test_utils*", "**/test-utils*",
}

// dataExts are the extensions of files that are read and not run. Adding one of these to a directory of tests is
// allowed.
var dataExts = []string{
	".csv", ".dat", ".exp", ".expected", ".golden", ".htm", ".html", ".in", ".ini", ".json", ".jsonl", ".log", ".md", ".out", ".snap", ".sql", ".tsv", ".txt", ".want", ".xml", ".yaml", ".yml",
}

// testFiles are tests, their data and their directories.
var testFiles = slices.Concat(testNames, testData, testDirs)

// testConfig configures what runs as a test and how. A new file of this kind can disable a test as well as an edit
// can.
var testConfig = []string{
	"**/conftest.py", "**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.ini", "**/noxfile.py", "**/setup.cfg", "**/pyproject.toml",
	"**/package.json", "**/.npmrc", "**/jest.config.*", "**/jest.setup.*", "**/vitest.config.*", "**/vitest.setup.*", "**/vitest.workspace.*", "**/vite.config.*", "**/.mocharc*",
	"**/karma.conf.*", "**/ava.config.*", "**/playwright.config.*", "**/cypress.config.*", "**/babel.config.*", "**/.babelrc*", "**/.swcrc", "**/bunfig.toml", "**/.nycrc*", "**/.c8rc*", "**/.taprc",
	"**/phpunit.xml*", "**/phpunit.dist.xml", "**/pest.php",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml", "**/.rspec", "**/Rakefile",
	"**/go.work", "**/Cargo.toml", "**/.cargo", "**/.config/nextest.toml", "**/rust-toolchain*",
	"**/.env", "**/.envrc", "**/.tool-versions", "**/.node-version", "**/.nvmrc", "**/.python-version", // what chooses or configures the interpreters
}

// ciFiles configure what a CI system runs.
var ciFiles = []string{
	"ci", ".ci", ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".buildkite", "azure-pipelines.yml", "Jenkinsfile", ".travis.yml", ".woodpecker*", ".forgejo/workflows", ".gitea/workflows",
}

// tools are programs that run checks of any kind, if a project keeps them in its own tree, and what is loaded before
// them: an interpreter, a package manager. Whoever can write these can write the report. As with a configuration, a
// new one counts.
var tools = []string{
	"**/.venv", "**/venv", "**/*.pth", "**/*.egg-info", "**/*.dist-info", "**/sitecustomize.py", "**/usercustomize.py", // Python
	"**/.yarn", "**/.yarnrc*", "**/.pnp.*", "**/.pnpmfile.*", "**/pnpm-workspace.yaml", // JavaScript: yarn runs what yarnPath names
	"**/vendor/bin", "**/vendor/autoload.php", "**/vendor/composer", // PHP
}

// testTools run tests or provide their assertions. Python prefers a module of that name in the tree to the installed
// one.
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

// lockFiles also choose the package manager that runs the scripts of a package. Adding one can switch to another.
var lockFiles = []string{"**/pnpm-lock.yaml", "**/yarn.lock", "**/bun.lock", "**/bun.lockb"}

// formatFiles say how sources are to look. They are data: no program of the tree is in them.
var formatFiles = []string{"**/rustfmt.toml", "**/.rustfmt.toml", "**/.prettierrc", "**/.prettierrc.json", "**/.prettierrc.y*ml", "**/.prettierignore", "**/.editorconfig", "**/.clang-format"}

var lintConfig = []string{
	"**/.golangci.*", "**/staticcheck.conf", "**/revive.toml",
	"**/.eslintrc*", "**/eslint.config.*", "**/.eslintignore", "**/.prettierrc*", "**/prettier.config.*", "**/.prettierignore", "**/biome.json*", "**/.stylelintrc*", "**/tsconfig*.json", "**/package.json",
	"**/.flake8", "**/ruff.toml", "**/.ruff.toml", "**/.pylintrc", "**/pylintrc", "**/mypy.ini", "**/.mypy.ini", "**/pyproject.toml", "**/setup.cfg", "**/tox.ini",
	"**/phpcs.xml*", "**/.phpcs.xml*", "**/phpstan*.neon*", "**/psalm.xml*", "**/.php-cs-fixer*",
	"**/rustfmt.toml", "**/.rustfmt.toml", "**/clippy.toml", "**/.clippy.toml", "**/.shellcheckrc", "**/.editorconfig",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml",
	"**/.oxlintrc*", "**/.yamllint*", "**/.markdownlint*", "**/.rubocop.yml",
}

// runnerFiles configure deed itself: which extension runs what, and with which settings. Checks use those of the base
// in any case; a change is reported.
var runnerFiles = []string{".deed", "**/homeboy.json", "**/deed.yaml"}

// Inputs returns the globs of a check's inputs: those that it names, else those of its capability. A command may run
// tests and linters, so it gets those of both.
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
	return slices.Concat(testFiles, testConfig, lintConfig, tools, testTools, lintTools, lockFiles, runnerFiles, ciFiles)
}

// steeringFiles are inputs that decide what runs and how. A new one can disable a check as well as an edit can.
var steeringFiles = slices.Concat(testConfig, lintConfig, tools, testTools, lintTools, lockFiles, runnerFiles)

// changedInputs lists the inputs of the check that the patch changes. A new test is not one: an agent that was asked
// for a feature adds its tests. A new file next to tests that is not a test, such as a helper or an __init__.py, is
// one: it can change what the tests do. For a hidden check every match counts, since it judges by none of the agent's
// files.
func changedInputs(c deed.Check, globs []string, changes workspace.ChangeSet, patch string, base baseFiles) ([]deed.ChangedInput, error) {
	var out []deed.ChangedInput
	for _, ch := range changes.Of(workspace.ClassTracked) {
		counts, err := isInput(c, globs, ch, patch, base)
		if err != nil {
			return nil, err
		}
		if counts {
			out = append(out, deed.ChangedInput{Path: workspace.TextPath(ch.Path), Status: string(ch.Status)})
		}
	}
	return out, nil
}

// baseFiles is what is asked about the base.
type baseFiles struct {
	read func(path string) ([]byte, error)
	has  func(path string) bool // a file or a directory is there
}

func isInput(c deed.Check, globs []string, ch workspace.Change, patch string, base baseFiles) (bool, error) {
	usual := len(c.Inputs) == 0
	added := ch.Status == workspace.Added
	if usual && c.Capability != runner.Build && c.Capability != runner.Audit && path.Base(ch.Path) == moduleFile {
		old, err := base.read(ch.Path)
		if err != nil {
			return false, err
		}
		return redirected(patch, ch.Path, string(old))
	}
	if !matchAny(globs, ch.Path) {
		return false, nil
	}
	switch {
	case c.Hidden || !usual:
		return true, nil
	case added && (matchAny(slices.Concat(testNames, testData), ch.Path) || slices.Contains(dataExts, path.Ext(ch.Path))) && !matchAny(steeringFiles, ch.Path):
		return false, nil
	case added && path.Base(ch.Path) == "Cargo.toml":
		return false, nil // of a new crate
	case added && path.Base(ch.Path) == nodeManifest && !matchAny([]string{"**/node_modules"}, ch.Path) && !base.has(path.Dir(ch.Path)):
		return false, nil // of a new package: it says nothing of a file that was there
	case !added && matchAny(lockFiles, ch.Path):
		return false, nil
	case added && matchAny(ciFiles, ch.Path) && !matchAny(slices.Concat(steeringFiles, testFiles), ch.Path):
		return false, nil // nothing on the base runs it
	case !added && dependencyLine()[path.Base(ch.Path)] != nil:
		lines, err := manifestLines(ch.Path, base)
		if err != nil {
			return false, err
		}
		only, err := onlyLines(patch, ch.Path, lines)
		return !only, err
	}
	return true, nil
}

// dependencyLine matches, by file name, the lines that only declare dependencies in files that also steer a check. A
// change of nothing but these lines steers nothing.
var dependencyLine = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"package.json":   regexp.MustCompile(`^\s*(|[{}],?|"(dependencies|devDependencies|peerDependencies|optionalDependencies)": \{\}?,?|"(version|description|author|license|homepage)": "[^"]*",?|"@?[A-Za-z0-9._/-]+": "[~^<>=v ]*[0-9]+(\.[0-9x*]+)*[A-Za-z0-9.+-]*",?)\s*$`),
		"Cargo.toml":     regexp.MustCompile(`^\s*(|\[(dev-|build-)?dependencies\]|(version|description|edition|rust-version) = "[^"]*"|members = \[.*\]|"[A-Za-z0-9_./-]+",?|[A-Za-z0-9_-]+ = ("[~^<>= ]*[0-9][0-9A-Za-z.+-]*"|\{ ?(path|version|workspace) = ("[^"]*"|true) ?\})|[A-Za-z0-9_-]+\.workspace = true)\s*$`),
		"pyproject.toml": regexp.MustCompile(`^\s*(|[\[\]],?|dependencies = \[\]?|(version|description) = "[^"]*"|"[A-Za-z0-9._\[\]-]+ ?([~<>=!]=?=? ?[0-9][0-9A-Za-z.*]*,? ?)+",?)\s*$`),
	}
})

// nodeManifest is what describes a package of node, and its scripts.
const nodeManifest = "package.json"

// withImports are the lines of a package.json that give a local file a name of the package's own (#name), besides those that name
// dependencies.
var withImports = sync.OnceValue(func() *regexp.Regexp {
	lines := strings.TrimSuffix(dependencyLine()[nodeManifest].String(), `)\s*$`)
	return regexp.MustCompile(lines + `|"imports": \{\}?,?|"#[A-Za-z0-9._/-]+": "\./[^"]*",?)\s*$`)
})

// manifestLines are the lines of a file of dependencies that steer nothing. A new name of a package's own is used by nothing that was
// there. Where the base has such names, a new one may take the place of another.
func manifestLines(file string, base baseFiles) (*regexp.Regexp, error) {
	if path.Base(file) != nodeManifest {
		return dependencyLine()[path.Base(file)], nil
	}
	was, err := base.read(file)
	if err != nil || strings.Contains(string(was), `"imports"`) {
		return dependencyLine()[nodeManifest], err
	}
	return withImports(), nil
}

// moduleFile is where Go declares dependencies, and where a module can be redirected to another source.
const moduleFile = "go.mod"

// maxManifest bounds how much of a patch is read for one file.
const maxManifest = 4 << 20

// redirected reports whether a patch redirects a module that the go.mod of the base has, by a line with an arrow. The
// new target could be an assertion library that always passes. A module that the base does not have is new, and no
// existing test imports it.
func redirected(patch, file, was string) (bool, error) {
	lines, whole, err := changedLines(patch, file)
	if err != nil || !whole {
		return !whole, err
	}
	return slices.ContainsFunc(lines, func(line string) bool {
		left, _, arrow := strings.Cut(line, "=>")
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(left), "replace"))
		return arrow && (len(words) == 0 || strings.Contains(was, words[0]))
	}), nil
}

// onlyLines reports whether every line that a patch adds to a file or removes from it matches form.
func onlyLines(patch, file string, form *regexp.Regexp) (bool, error) {
	lines, whole, err := changedLines(patch, file)
	if err != nil || !whole || len(lines) == 0 {
		return false, err
	}
	return !slices.ContainsFunc(lines, func(line string) bool { return !form.MatchString(line) }), nil
}

// changedLines returns the lines that a patch adds to a file or removes from it. whole is false if that part of the
// patch is too long to have been written by hand.
func changedLines(patch, file string) (lines []string, whole bool, err error) {
	f, err := os.Open(patch)
	if err != nil {
		return nil, true, err
	}
	defer func() { _ = f.Close() }()
	parts, err := workspace.SplitPatch(f)
	if err != nil {
		return nil, true, err
	}
	for _, p := range parts {
		if p.Path != file {
			continue
		}
		if p.End-p.Start > maxManifest {
			return nil, false, nil
		}
		text, err := io.ReadAll(io.NewSectionReader(f, p.Start, p.End-p.Start))
		if err != nil {
			return nil, true, err
		}
		for line := range strings.Lines(string(text)) {
			if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "--- ") {
				lines = append(lines, strings.TrimRight(line[1:], "\r\n"))
			}
		}
	}
	return lines, true, nil
}

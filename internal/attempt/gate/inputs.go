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

// testNames are how the usual tools of each language name tests. New ones are welcome.
var testNames = []string{
	"**/*_test.go",                                                                                                   // Go
	"**/*.test.*", "**/*.spec.*", "**/*-test.[jt]s", "**/*-test.[cm][jt]s", "**/*_test.[jt]s", "**/*_test.[cm][jt]s", // JavaScript
	"**/test-*.[jt]s", "**/test-*.[cm][jt]s", "**/test.[jt]s", "**/test.[cm][jt]s", // node --test
	"**/test*.py", "**/*_test.py", // Python: pytest, unittest, Django
	"**/*Test.php", "**/*.phpt", // PHP
	"**/*.bats", "**/*_test.sh", "**/test*.sh", // shell
	"**/*_test.rs", "**/tests/*.rs", "**/tests.rs", "**/*_spec.rb", "**/*_test.rb",
}

// testData is what tests read. New files of it are as welcome as the tests that come with them.
var testData = []string{"**/testdata", "**/__snapshots__", "**/fixtures", "**/golden", "**/goldens", "**/expected"}

// testDirs are where tests and their support lie.
var testDirs = []string{
	"**/__tests__", "**/__mocks__", "**/test", "**/tests", "spec",
	"**/testutil", "**/testutils", "**/testsupport", "**/testhelper*", "**/test_helper*", "**/test-helper*", "**/test_utils*", "**/test-utils*",
}

// dataEnds are the endings of files that are read and not run. A new one of these is as welcome in a directory of tests.
var dataEnds = []string{
	".csv", ".dat", ".exp", ".expected", ".golden", ".htm", ".html", ".in", ".ini", ".json", ".jsonl", ".log", ".md", ".out", ".snap", ".sql", ".tsv", ".txt", ".want", ".xml", ".yaml", ".yml",
}

// testFiles are all of them.
var testFiles = slices.Concat(testNames, testData, testDirs)

// testConfig says what runs as a test and how. A new file of this kind can undo a test as well as an edit.
var testConfig = []string{
	"**/conftest.py", "**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.ini", "**/noxfile.py", "**/setup.cfg", "**/pyproject.toml",
	"**/package.json", "**/.npmrc", "**/jest.config.*", "**/jest.setup.*", "**/vitest.config.*", "**/vitest.setup.*", "**/vitest.workspace.*", "**/vite.config.*", "**/.mocharc*",
	"**/karma.conf.*", "**/ava.config.*", "**/playwright.config.*", "**/cypress.config.*", "**/babel.config.*", "**/.babelrc*", "**/.swcrc", "**/bunfig.toml", "**/.nycrc*", "**/.c8rc*", "**/.taprc",
	"**/phpunit.xml*", "**/phpunit.dist.xml", "**/pest.php",
	"**/Makefile", "**/makefile", "**/GNUmakefile", "**/*.mk", "**/justfile", "**/Taskfile.y*ml", "**/.rspec", "**/Rakefile",
	"**/go.work", "**/Cargo.toml", "**/.cargo", "**/.config/nextest.toml", "**/rust-toolchain*",
	"**/.env", "**/.envrc", "**/.tool-versions", "**/.node-version", "**/.nvmrc", "**/.python-version", // what chooses or steers the interpreters
}

// ciFiles say what a build machine runs.
var ciFiles = []string{
	"ci", ".ci", ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".buildkite", "azure-pipelines.yml", "Jenkinsfile", ".travis.yml", ".woodpecker*", ".forgejo/workflows", ".gitea/workflows",
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

// runnerFiles are deed's own: which extension runs what, and with which settings. Their effect on a check is that of the
// base anyway; a change is told.
var runnerFiles = []string{".deed", "**/homeboy.json", "**/deed.yaml"}

// Inputs are the globs of what a check judges by: its own, else those of its capability. A command may run tests and linters:
// it has those of both.
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

// steers are inputs of which a new one can undo a check as well as an edit.
var steers = slices.Concat(testConfig, lintConfig, tools, testTools, lintTools, lockFiles, runnerFiles)

// changedInputs lists the inputs of the check that the patch does not leave as they were. A test that is only added is none: an
// agent that was asked for a feature adds its tests. What stands beside tests and is none, such as a helper or an __init__.py, can
// change what the tests do. A hidden check judges by none of it.
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
	case added && (matchAny(slices.Concat(testNames, testData), ch.Path) || slices.Contains(dataEnds, path.Ext(ch.Path))) && !matchAny(steers, ch.Path):
		return false, nil
	case added && path.Base(ch.Path) == "Cargo.toml":
		return false, nil // of a new crate
	case added && path.Base(ch.Path) == nodeManifest && !matchAny([]string{"**/node_modules"}, ch.Path) && !base.has(path.Dir(ch.Path)):
		return false, nil // of a new package: it says nothing of a file that was there
	case !added && matchAny(lockFiles, ch.Path):
		return false, nil
	case added && matchAny(ciFiles, ch.Path) && !matchAny(slices.Concat(steers, testFiles), ch.Path):
		return false, nil // nothing that was there before runs it
	case !added && namesDependencies()[path.Base(ch.Path)] != nil:
		lines, err := manifestLines(ch.Path, base)
		if err != nil {
			return false, err
		}
		only, err := onlyLines(patch, ch.Path, lines)
		return !only, err
	}
	return true, nil
}

// namesDependencies are lines of files that hold dependencies beside what steers a check: a change of nothing else steers nothing.
var namesDependencies = sync.OnceValue(func() map[string]*regexp.Regexp {
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
	lines := strings.TrimSuffix(namesDependencies()[nodeManifest].String(), `)\s*$`)
	return regexp.MustCompile(lines + `|"imports": \{\}?,?|"#[A-Za-z0-9._/-]+": "\./[^"]*",?)\s*$`)
})

// manifestLines are the lines of a file of dependencies that steer nothing. A new name of a package's own is used by nothing that was
// there. Where the base has such names, a new one may take the place of another.
func manifestLines(file string, base baseFiles) (*regexp.Regexp, error) {
	if path.Base(file) != nodeManifest {
		return namesDependencies()[path.Base(file)], nil
	}
	was, err := base.read(file)
	if err != nil || strings.Contains(string(was), `"imports"`) {
		return namesDependencies()[nodeManifest], err
	}
	return withImports(), nil
}

// moduleFile is where Go keeps dependencies, and where modules can be given another place.
const moduleFile = "go.mod"

// maxManifest bounds the part of a patch that is looked at for one file of dependencies.
const maxManifest = 4 << 20

// redirected reports whether a patch gives a module that a go.mod knew another place, by a line with an arrow. A library of
// assertions that always holds would be one. What the go.mod did not know is new, and no test that was there imports it.
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

// onlyLines reports whether every line that a patch adds to a file or takes from it is of a form.
func onlyLines(patch, file string, form *regexp.Regexp) (bool, error) {
	lines, whole, err := changedLines(patch, file)
	if err != nil || !whole || len(lines) == 0 {
		return false, err
	}
	return !slices.ContainsFunc(lines, func(line string) bool { return !form.MatchString(line) }), nil
}

// changedLines are the lines that a patch adds to a file or takes from it. whole is false for a part so long that nobody wrote it.
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

package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What an agent can edit to have a say in a test that it did not make pass.
func TestChangesThatATestJudgesBy(t *testing.T) {
	t.Parallel()
	const added, modified, deleted = workspace.Added, workspace.Modified, workspace.Deleted
	for _, c := range []struct {
		path   string
		status workspace.Status
		want   bool
	}{
		{"calc.go", modified, false},
		{"src/calc.py", deleted, false},
		{"spec/openapi.yaml", modified, true},
		{"contract/spec/spec.go", modified, false}, // a package of that name is no test

		// Tests where the runners of the languages look for them.
		{"a/b/calc_test.go", modified, true},
		{"packages/a/test/calc.js", modified, true},
		{"src/test/java/CalcTest.java", modified, true},
		{"calc-test.mjs", modified, true},
		{"lib/calc_test.js", deleted, true},
		{"test-calc.js", modified, true},
		{"lib/test.ts", modified, true},
		{"app/tests.py", modified, true},
		{"checks/testcalc.py", modified, true},
		{"run.bats", modified, true},
		{"bin/run_test.sh", modified, true},
		{"a/b.phpt", modified, true},
		{"lib/__mocks__/fs.js", modified, true},
		{"lib/latest.js", modified, false},
		{"lib/contest.js", modified, false},
		{"attestation.py", modified, false},

		// A test that is new is welcome; what steers tests is not.
		{"packages/a/test/more.js", added, true},
		{"calc-test.mjs", added, false},
		{"tests/conftest.py", added, true},
		{"tests/package.json", added, true},
		{"tests/.venv/bin/python", added, true},
		{"pytest.toml", added, true},
		{"bunfig.toml", added, true},

		// The programs that run the tests, and what takes their place.
		{".venv/bin/python", added, true},
		{"venv/bin/python3", modified, true},
		{"pytest.py", added, true},
		{"pytest/__init__.py", added, true},
		{"_pytest/config.py", added, true},
		{"unittest/__init__.py", added, true},
		{"evil.egg-info/entry_points.txt", added, true},
		{"evil-1.dist-info/entry_points.txt", added, true},
		{"usercustomize.py", added, true},
		{"evil.pth", added, true},
		{"node_modules/.bin/jest", added, true},
		{"a/node_modules/jest-circus/runner.js", modified, true},
		{"node_modules/chai/index.js", modified, true},
		{"node_modules/@vitest/expect/dist/index.js", modified, true},
		{"node_modules/left-pad/index.js", added, false},
		{"node_modules/.bin/prettier", added, false},
		{".yarnrc.yml", added, true},
		{".yarn/releases/yarn.cjs", added, true},
		{".pnp.cjs", added, true},
		{"phpunit", added, true},
		{"phpunit.phar", added, true},
		{"vendor/bin/phpunit", modified, true},
		{"vendor/autoload.php", modified, true},
		{"vendor/github.com/stretchr/testify/assert/assertions.go", modified, true},
		{"vendor/example.com/lib/lib.go", added, false},

		// Another package manager runs other programs; the lock file of the one that is used only says what is installed.
		{"yarn.lock", added, true},
		{"pnpm-lock.yaml", added, true},
		{"yarn.lock", modified, false},
		{"package-lock.json", modified, false},
	} {
		set := workspace.ChangeSet{Changes: []workspace.Change{{Path: c.path, Status: c.status, Class: workspace.ClassTracked}}}
		check := deed.Check{Capability: runner.Test}
		got, err := changedInputs(check, Inputs(check), set, "", emptyBase)
		if err != nil || (len(got) == 1) != c.want {
			t.Errorf("%s %s: an input is %v, want %v", c.path, c.status, len(got) == 1, c.want)
		}
	}
}

func TestGlobsOfInputsAreValid(t *testing.T) {
	t.Parallel()
	for _, c := range runner.Capabilities {
		for _, g := range Inputs(deed.Check{Capability: c}) {
			if err := workspace.ValidateGlob(g); err != nil {
				t.Error(err)
			}
		}
	}
}

// emptyBase has the directory tests and nothing in it.
var emptyBase = baseFiles{func(string) ([]byte, error) { return nil, nil }, func(path string) bool { return path == "tests" || path == "." }}

// A package that is new judges nothing that was there, and neither does a name that nothing could use.
func TestManifestsOfNode(t *testing.T) {
	t.Parallel()
	const plain, named = "{\n  \"scripts\": {\"test\": \"jest\"}\n}\n", "{\n  \"imports\": {\"#*\": \"./lib/*.js\"}\n}\n"
	for _, c := range []struct {
		name, path, status, base, patch string
		want                            bool
	}{
		{"a new package", "packages/hash/package.json", "added", plain, "", false},
		{"in a directory that was there", "tests/package.json", "added", plain, "", true},
		{"at the top", "package.json", "added", plain, "", true},
		{"among the packages that tests load", "node_modules/chai/package.json", "added", plain, "", true},
		{"a name for a new file", "package.json", "modified", plain, "+  \"imports\": {\n+    \"#hash\": \"./packages/hash/index.js\"\n+  },\n", false},
		{"a name and a dependency", "package.json", "modified", plain, "+  \"imports\": {\n+    \"#hash\": \"./hash.js\"\n+  },\n+    \"left-pad\": \"^1.3.0\"\n", false},
		{"a name that one of the base may cover", "package.json", "modified", named, "+    \"#assert\": \"./fake.js\",\n", true},
		{"a name that leads out", "package.json", "modified", plain, "+  \"imports\": {\n+    \"#hash\": \"chai\"\n+  },\n", true},
		{"a name for a package", "package.json", "modified", plain, "+  \"imports\": {\n+    \"chai\": \"./fake.js\"\n+  },\n", true},
		{"a script", "package.json", "modified", plain, "-  \"test\": \"jest\"\n+  \"test\": \"true\"\n", true},
		{"how its files are loaded", "package.json", "modified", plain, "+  \"type\": \"module\",\n", true},
	} {
		patch := filepath.Join(t.TempDir(), "patch.diff")
		text := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1,9 @@\n%[2]s", c.path, c.patch)
		must(t, os.WriteFile(patch, []byte(text), 0o600))
		set := workspace.ChangeSet{Changes: []workspace.Change{{Path: c.path, Status: workspace.Status(c.status), Class: workspace.ClassTracked}}}
		base := baseFiles{func(string) ([]byte, error) { return []byte(c.base), nil }, emptyBase.has}
		got, err := changedInputs(deed.Check{Capability: runner.Test}, Inputs(deed.Check{Capability: runner.Test}), set, patch, base)
		if err != nil || (len(got) == 1) != c.want {
			t.Errorf("%s: an input is %v, want %v (%v)", c.name, len(got) == 1, c.want, err)
		}
	}
}

// Globs that a task names are taken as they are.
func TestInputsOfATaskAreItsOwn(t *testing.T) {
	t.Parallel()
	set := workspace.ChangeSet{Changes: []workspace.Change{
		{Path: "yarn.lock", Status: workspace.Modified, Class: workspace.ClassTracked},
		{Path: "calc_test.go", Status: workspace.Modified, Class: workspace.ClassTracked},
	}}
	check := deed.Check{Capability: runner.Test, Inputs: []string{"*.lock"}}
	got, err := changedInputs(check, Inputs(check), set, "", emptyBase)
	if err != nil || len(got) != 1 || got[0].Path != "yarn.lock" {
		t.Errorf("got %v", got)
	}
}

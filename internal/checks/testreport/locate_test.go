package testreport

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/runner"
)

// A file that could not be loaded is reported in the same way in two copies of a project, and by every tool.
func TestFilesThatCouldNotBeLoaded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"calc.test.js", "helper.test.js"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Report{Cases: []runner.TestCase{
		{Name: filepath.Join(root, "calc.test.js"), Status: runner.CaseFailed, Type: "testCodeFailure"},
		{Name: "/workspace/calc.test.js", Status: runner.CaseFailed},
		{Name: filepath.Join(root, "helper.test.js"), Status: runner.CasePassed},
		{Name: "/no/file/of/this", Status: runner.CaseFailed},
		{Name: "unittest.loader._FailedTest.test_calc", Status: runner.CaseFailed},
		{Suite: "pytest", Name: "test_calc", Status: runner.CaseFailed, Type: "error", Message: "collection failure"},
		{Suite: "pytest", Name: "test_add", Status: runner.CaseFailed, Type: "error", Message: "failed on setup"},
	}}
	r.Locate(root)
	var got []string
	for _, c := range r.Cases {
		got = append(got, c.ID()+" "+c.Status)
	}
	want := []string{
		"calc.test.js::[load] failed", "calc.test.js::[load]#2 failed", "helper.test.js passed", "/no/file/of/this failed",
		"test_calc::[load] failed", "test_calc::[load]#2 failed", "pytest::test_add failed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAncestorsAndExpectedFiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	one := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "two")
	for _, tc := range []struct {
		older, newer string
		want         bool
	}{{one, "HEAD", true}, {"HEAD", one, false}, {one, one, true}} {
		if got, err := IsAncestor(t.Context(), dir, tc.older, tc.newer); err != nil || got != tc.want {
			t.Errorf("%s before %s: %v, %v", tc.older, tc.newer, got, err)
		}
	}
	if _, err := IsAncestor(t.Context(), dir, strings.Repeat("12", 20), "HEAD"); err == nil {
		t.Error("a commit that is not there has descendants")
	}
	if got, err := Resolve(t.Context(), dir, "main~1"); err != nil || got != one {
		t.Errorf("main~1 is %s, %v", got, err)
	}
	if b, err := BranchOf(t.Context(), dir, "main"); err != nil || !b.InUse {
		t.Errorf("the branch that is checked out: %+v, %v", b, err)
	}

	patch := filepath.Join(t.TempDir(), "patch")
	const text = "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\ndiff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n"
	if err := os.WriteFile(patch, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := CommitSpec{
		Repo: dir, Branch: "made", Patch: patch, Message: "m", Author: Signature{Name: "a", Email: "a@localhost", When: time.Unix(1_700_000_000, 0)},
	}
	for _, expect := range [][]string{{"x"}, {"x", "y", "z"}, {}} {
		spec.Expect = expect
		if _, err := CommitTree(t.Context(), spec); !errors.Is(err, ErrUnexpected) {
			t.Errorf("expecting %q: %v", expect, err)
		}
		if git("branch", "--list", "made") != "" {
			t.Errorf("expecting %q: the branch was made", expect)
		}
	}
	spec.Expect = []string{"y", "x"}
	if _, err := CommitTree(t.Context(), spec); err != nil {
		t.Error(err)
	}
	if b, err := BranchOf(t.Context(), dir, "made"); err != nil || b.InUse || b.Tip == "" {
		t.Errorf("a branch that nobody has: %+v, %v", b, err)
	}
}

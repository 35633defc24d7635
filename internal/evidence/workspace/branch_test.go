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

// A branch can be taken back until someone else has used it.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	at := func() string {
		return strings.TrimSpace(gitIn(t, d.root, "for-each-ref", "--format=%(objectname)", "refs/heads/deed/x"))
	}
	commit := func(text, old string) Commit {
		t.Helper()
		d.write("a.txt", text)
		spec := commitSpec(d.root)
		spec.Old = old
		if spec.Parent = old; old == "" {
			spec.Parent = "main"
		}
		c, err := CommitTree(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := commit("2\n", "")
	two := commit("3\n", one.ID)
	if err := TakeBack(t.Context(), d.root, one, ""); !errors.Is(err, ErrBranchExists) || at() != two.ID {
		t.Errorf("one that has moved on: %v, it is at %s", err, at())
	}
	if err := TakeBack(t.Context(), d.root, two, one.ID); err != nil || at() != one.ID {
		t.Errorf("back to where it was: %v, it is at %s", err, at())
	}
	gitIn(t, d.root, "worktree", "add", "-q", d.path("../wt"), "deed/x")
	if err := TakeBack(t.Context(), d.root, one, ""); !errors.Is(err, ErrBranchExists) || at() != one.ID {
		t.Errorf("one that is checked out: %v, it is at %s", err, at())
	}
	gitIn(t, d.root, "worktree", "remove", "--force", d.path("../wt"))
	gitIn(t, d.root, "pack-refs", "--all")
	ran := trap(d)
	if err := TakeBack(t.Context(), d.root, one, ""); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("something of the repository ran")
	}
	if b, err := BranchOf(t.Context(), d.root, "deed/x"); err != nil || b.Tip != "" {
		t.Errorf("it is there: %+v, %v", b, err)
	}
}

// A dry run asks the remote and leaves it as it is.
func TestPushDryRun(t *testing.T) {
	t.Parallel()
	d := cleanRepo(t)
	root := newDir(t, tempDir(t))
	gitIn(t, root.root, "init", "-q", "--bare", "remote.git")
	remote := root.path("remote.git")
	dry := PushOptions{DryRun: true}
	if p, err := Push(t.Context(), d.root, remote, "main:x", dry); err != nil || p.Had || gitIn(t, remote, "for-each-ref") != "" {
		t.Errorf("a new branch: %+v, %v", p, err)
	}
	if p, err := Push(t.Context(), d.root, remote, "main:x", PushOptions{}); err != nil || p.Had {
		t.Errorf("the push: %+v, %v", p, err)
	}
	if p, err := Push(t.Context(), d.root, remote, "main:x", dry); err != nil || !p.Had {
		t.Errorf("what it has: %+v, %v", p, err)
	}
	gitIn(t, d.root, "commit", "-q", "--allow-empty", "--amend", "-m", "another")
	if _, err := Push(t.Context(), d.root, remote, "main:x", dry); !errors.Is(err, ErrPush) || !errors.Is(err, ErrPushRejected) {
		t.Errorf("a branch with other commits: %v", err)
	}
	if _, err := Push(t.Context(), d.root, root.root, "main:x", dry); !errors.Is(err, ErrPush) || errors.Is(err, ErrPushRejected) {
		t.Errorf("no repository: %v", err)
	}
}

// A partial object that a killed deed left does not get in the way: a user who is not root could not write to it. A directory stands for it
// here, which root cannot write to either.
func TestBringInBesideWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(from, "ab"), 0o755), os.WriteFile(filepath.Join(from, "ab", "cdef"), []byte("x"), 0o600), os.MkdirAll(filepath.Join(to, "ab", "tmp_obj_deed_cdef"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := bringIn(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "ab", "cdef")); err != nil || string(text) != "x" {
		t.Errorf("the object is %q, %v", text, err)
	}
}

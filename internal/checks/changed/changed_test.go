package changed

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deedrun/deed/internal/evidence/workspace"
)

// A repo is a real repository.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(path, text string) {
	r.t.Helper()
	p := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) remove(path string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, path)); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit(files map[string]string) string {
	r.t.Helper()
	for p, text := range files {
		r.write(p, text)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "m")
	return r.git("rev-parse", "HEAD")
}

// short forgets what a case does not speak of.
var short = cmp.Options{cmpopts.IgnoreFields(File{}, "Hunks", "Blob", "Lines"), cmpopts.EquateEmpty()}

const long = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

// Edge case 34, and all that can happen to a file, each file once.
func TestSinceTellsEveryChangeOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(map[string]string{
		"kept.go": "k\n", "gone.go": "g\n", "modified.go": "a\nb\nc\n", "moved.go": long, "copied.go": long + "eleven\n",
		".gitignore": "*.log\n", "both.go": "1\n", "link": "x\n",
	})
	base := r.git("rev-parse", "HEAD")
	r.git("checkout", "-q", "-b", "work")
	r.git("checkout", "-q", "main")
	r.commit(map[string]string{"elsewhere.go": "what main does meanwhile is no change of ours\n"})
	r.git("checkout", "-q", "work")
	r.remove("gone.go")
	r.remove("moved.go")
	r.commit(map[string]string{"modified.go": "a\nB\nc\n", "sub/moved.go": long, "copied.go": long + "eleven\nand\n", "copy.go": long + "eleven\n", "new.go": "n\n"})
	r.write("both.go", "2\n")
	r.git("add", "both.go")
	r.write("both.go", "3\n") // staged and unstaged
	r.write("staged.go", "s\n")
	r.git("add", "staged.go")
	r.write("forced.log", "f\n") // ignored, and staged all the same
	r.git("add", "-f", "forced.log")
	r.write("ignored.log", "i\n")
	r.write("untracked.go", "u\n")
	r.remove("link")
	if err := os.Symlink("kept.go", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	want := []File{
		{Path: "both.go", Status: Modified},
		{Path: "copied.go", Status: Modified},
		{Path: "copy.go", Status: Copied, Old: "copied.go"},
		{Path: "forced.log", Status: Added},
		{Path: "gone.go", Status: Deleted},
		{Path: "link", Status: Modified},
		{Path: "modified.go", Status: Modified},
		{Path: "new.go", Status: Added},
		{Path: "staged.go", Status: Added},
		{Path: "sub/moved.go", Status: Renamed, Old: "moved.go"},
		{Path: "untracked.go", Status: Added},
	}
	before := r.git("status", "--porcelain=v2")
	for _, ref := range []string{"main", base, "HEAD~1", base[:10]} {
		got, err := Since(t.Context(), r.dir, ref)
		if err != nil {
			t.Fatalf("%s: %v", ref, err)
		}
		if diff := cmp.Diff(want, got, short); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
	got, err := Worktree(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	want = []File{
		{Path: "both.go", Status: Modified},
		{Path: "forced.log", Status: Added},
		{Path: "link", Status: Modified},
		{Path: "staged.go", Status: Added},
		{Path: "untracked.go", Status: Added},
	}
	if diff := cmp.Diff(want, got, short); diff != "" {
		t.Error(diff)
	}
	if after := r.git("status", "--porcelain=v2"); after != before {
		t.Errorf("the caller's index changed:\n%s\n%s", before, after)
	}
}

// Edge case 33: a name is a sequence of bytes.
func TestSinceTakesAnyName(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(map[string]string{"a": "a\n"})
	names := []string{" lead", "a,b{c}.go", "new\nline", "quote\"'.go", "tab\t", "trail ", "u\xff.go", "{x,y}", "-rf", ":(top)x", "ünï.go", "*?[a]"}
	for _, n := range names {
		r.write(n, "x\n")
	}
	files, err := Since(t.Context(), r.dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range files {
		got[f.Path] = f.Status == Added && cmp.Equal(f.Lines, [][2]int{{1, 1}})
	}
	for _, n := range names {
		if !got[n] {
			t.Errorf("%q is missing, or its lines are", n)
		}
	}
	if len(got) != len(names) {
		t.Errorf("got %d files, want %d: %v", len(got), len(names), got)
	}
}

func TestSinceTellsChangedLines(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(map[string]string{"a.txt": long, "b.txt": "x\n", "c.bin": "\x00\x01", "d.txt": long, "e.txt": "no newline", "f.txt": "x\n"})
	r.write("a.txt", "zero\none\ntwo\nTHREE\nfive\nsix\n@@ -1 +1 @@\ndiff --git a/x b/x\nseven\neight\nnine\nten\n")
	r.remove("b.txt")
	r.write("c.bin", "\x00\x02")
	r.write("d.txt", long+strings.Repeat("m", 5000)+"\n") // a line that is longer than what is looked at
	r.write("e.txt", "no newline\nbut more")
	r.remove("f.txt")
	if err := os.Symlink("a.txt", filepath.Join(r.dir, "f.txt")); err != nil { // a change of type is two entries of a patch
		t.Fatal(err)
	}
	r.write("g.txt", "1\n2\n")
	r.write("h.txt", "")
	files, err := Since(t.Context(), r.dir, base)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][][2]int{
		"a.txt": {{1, 1}, {4, 4}, {7, 8}}, "d.txt": {{11, 11}}, "e.txt": {{1, 2}}, "f.txt": {{1, 1}}, "g.txt": {{1, 2}},
	}
	if diff := cmp.Diff(want, LinesOf(files)); diff != "" {
		t.Error(diff)
	}
	if len(files) != 8 {
		t.Errorf("got %d files, want 8", len(files))
	}
	old, err := Before(t.Context(), r.dir, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == "a.txt" && string(old[f.Blob]) != long {
			t.Errorf("a.txt was %q", old[f.Blob])
		}
	}
}

// Edge case 35 belongs here too: the component is a directory below the top, named relative to the working directory.
func TestSinceOfAComponentBelowTheTop(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(map[string]string{"app/a.go": long, "lib/b.go": "b\n", "lib/out.go": strings.ToUpper(long), "app/odd [x]/c.go": "c\n"})
	r.git("mv", "app/a.go", "app/d.go")
	r.git("mv", "lib/out.go", "app/in.go")
	r.write("lib/b.go", "B\n")
	r.write("app/odd [x]/c.go", "C\n")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		want []File
	}{
		{"app", []File{{Path: "d.go", Status: Renamed, Old: "a.go"}, {Path: "in.go", Status: Added}, {Path: "odd [x]/c.go", Status: Modified}}},
		{"app/odd [x]", []File{{Path: "c.go", Status: Modified}}},
		{"lib", []File{{Path: "b.go", Status: Modified}, {Path: "out.go", Status: Deleted}}},
	} {
		rel, err := filepath.Rel(wd, filepath.Join(r.dir, c.dir))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Since(t.Context(), rel, base)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got, short); diff != "" {
			t.Errorf("%s: %s", c.dir, diff)
		}
	}
	all, err := All(t.Context(), filepath.Join(r.dir, "app"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"d.go", "in.go", "odd [x]/c.go"}, all); diff != "" {
		t.Error(diff)
	}
}

func TestWorktreeBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.go", "a\nb\n")
	r.write("b.go", "b\n")
	r.git("add", "b.go")
	got, err := Worktree(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{Path: "a.go", Status: Added, Lines: [][2]int{{1, 2}}}, {Path: "b.go", Status: Added, Lines: [][2]int{{1, 1}}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(File{}, "Hunks")); diff != "" {
		t.Error(diff)
	}
	if _, err := Since(t.Context(), r.dir, "HEAD~1"); !errors.Is(err, workspace.ErrSource) {
		t.Errorf("got %v", err)
	}
}

func TestSinceNamesABadRef(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(map[string]string{"a": "a\n"})
	for _, ref := range []string{"nosuch", "--output=x", "HEAD~9", "a b", "$(x)"} {
		_, err := Since(t.Context(), r.dir, ref)
		if !errors.Is(err, workspace.ErrSource) || !strings.Contains(err.Error(), ref) {
			t.Errorf("%s: got %v", ref, err)
		}
	}
	r.git("checkout", "-q", "--orphan", "other")
	r.commit(map[string]string{"b": "b\n"})
	if _, err := Since(t.Context(), r.dir, "main"); err == nil || !strings.Contains(err.Error(), "no commit in common") {
		t.Errorf("got %v", err)
	}
	if _, err := Since(t.Context(), t.TempDir(), "main"); !errors.Is(err, workspace.ErrSource) || !strings.Contains(err.Error(), "no git work tree") {
		t.Errorf("got %v", err)
	}
}

// In a shallow clone the error says what to do; nothing is fetched.
func TestSinceOfAShallowClone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(map[string]string{"a": "a\n"})
	r.git("branch", "old")
	r.commit(map[string]string{"a": "b\n"})
	r.commit(map[string]string{"a": "c\n"})
	clone := repo{t, filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+r.dir, clone.dir)
	for _, ref := range []string{"origin/old", first, "HEAD~1"} {
		_, err := Since(t.Context(), clone.dir, ref)
		if !errors.Is(err, workspace.ErrShallow) || !strings.Contains(err.Error(), "git fetch --unshallow") {
			t.Errorf("%s: got %v", ref, err)
		}
	}
	if _, err := Since(t.Context(), clone.dir, "HEAD"); err != nil {
		t.Error(err)
	}
	clone.git("fetch", "-q", "--unshallow")
	got, err := Since(t.Context(), clone.dir, "origin/old")
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// Nothing that a repository says is run.
func TestSinceRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit(map[string]string{"a.txt": "a\n", ".gitattributes": "*.txt filter=evil diff=evil\n"})
	mark := filepath.Join(t.TempDir(), "mark")
	run := "touch " + mark
	for _, k := range []string{"filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external", "core.fsmonitor", "core.pager"} {
		r.git("config", k, run)
	}
	r.write("a.txt", "b\n")
	if _, err := Since(t.Context(), r.dir, "main"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("the repository had something run")
	}
}

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// objectsOf lists every object that the repository at dir has, whether something names it or not.
func objectsOf(t *testing.T, dir string) string {
	t.Helper()
	return gitIn(t, dir, "cat-file", "--batch-check", "--batch-all-objects", "--unordered")
}

// What is excluded is in no corner of the workspace's repository.
func TestSeedExcludeHidesHistory(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(d dir) // after one commit of keep
		gone bool        // the history is left behind
	}{
		"tracked": {func(d dir) {
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "with secrets")
		}, true},
		"in the past": {func(d dir) {
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "with secrets")
			gitIn(d.t, d.root, "rm", "-q", "-r", "secrets")
			gitIn(d.t, d.root, "commit", "-q", "-m", "without")
		}, true},
		"on a side that was merged away": {func(d dir) {
			gitIn(d.t, d.root, "checkout", "-q", "-b", "side")
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "with secrets")
			gitIn(d.t, d.root, "rm", "-q", "-r", "secrets")
			d.write("side", "1")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "without")
			gitIn(d.t, d.root, "checkout", "-q", "main")
			gitIn(d.t, d.root, "merge", "-q", "--no-ff", "--no-edit", "side")
			gitIn(d.t, d.root, "branch", "-D", "-q", "side")
		}, true},
		"on another branch": {func(d dir) {
			gitIn(d.t, d.root, "checkout", "-q", "-b", "side")
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "with secrets")
			gitIn(d.t, d.root, "checkout", "-q", "main")
		}, false},
		"by a prefix": {func(d dir) {
			d.write("tmp-[1]/k", "key")
			gitIn(d.t, d.root, "add", "-A")
			gitIn(d.t, d.root, "commit", "-q", "-m", "with secrets")
		}, true},
		"in no commit": {func(d dir) { d.write("secrets/k", "key") }, false},
		"a tag of a file": {func(d dir) {
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "tag", "blob", strings.TrimSpace(gitIn(d.t, d.root, "hash-object", "-w", "secrets/k")))
		}, false},
		"an annotated tag": {func(d dir) {
			d.write("secrets/k", "key")
			gitIn(d.t, d.root, "tag", "-a", "-m", "x", "note")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := newDir(t, filepath.Join(tempDir(t), "src"))
			gitIn(t, src.root, "init", "-q", "-b", "main")
			src.write("keep", "1")
			gitIn(t, src.root, "add", "-A")
			gitIn(t, src.root, "commit", "-q", "-m", "first")
			gitIn(t, src.root, "tag", "v1")
			tc.make(src)
			commit := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "HEAD"))
			heads := map[string]string{}
			for _, ref := range []string{"", "HEAD", commit} {
				s, d := seed(t, Source{Dir: src.root, Ref: ref, Exclude: []string{"secrets", "tmp-[*"}})
				head := strings.TrimSpace(gitIn(t, d.root, "rev-parse", "HEAD"))
				if s.Commit != commit || s.Dirty || gitIn(t, d.root, "status", "--porcelain") != "" {
					t.Errorf("ref %q: %+v\n%s", ref, s, gitIn(t, d.root, "status", "--porcelain"))
				}
				noted := slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Code == NoteHistory })
				if noted != tc.gone || (s.Head != "") != tc.gone {
					t.Errorf("ref %q: %+v", ref, s)
				}
				if got := objectsOf(t, d.root); strings.Contains(got, blobID(t, "key")) {
					t.Errorf("ref %q: the content is there:\n%s", ref, got)
				}
				if !tc.gone {
					if head != commit || !strings.Contains(gitIn(t, d.root, "for-each-ref"), "refs/tags/v1") {
						t.Errorf("ref %q: the history is gone", ref)
					}
					continue
				}
				heads[s.Head] = ref
				if head != s.Head || gitIn(t, d.root, "rev-list", "--all", "--count") != "1\n" {
					t.Errorf("ref %q: HEAD is %s, of %+v\n%s", ref, head, s, gitIn(t, d.root, "log", "--all"))
				}
				if branch := gitIn(t, d.root, "branch", "--show-current"); (branch == "main\n") != (ref != commit) {
					t.Errorf("ref %q: the branch is %q", ref, branch)
				}
				if got := gitIn(t, d.root, "ls-tree", "-r", "--name-only", "HEAD"); strings.Contains(got, "k") && strings.Contains(got, "/") || !strings.Contains(got, "keep") {
					t.Errorf("ref %q: the commit has %q", ref, got)
				}
				gitIn(t, d.root, "fsck", "--strict")
			}
			if tc.gone && len(heads) != 1 {
				t.Errorf("the same source gives %v", heads)
			}
		})
	}
}

func blobID(t *testing.T, text string) string {
	t.Helper()
	c := exec.Command("git", "hash-object", "--stdin")
	c.Dir, c.Stdin = t.TempDir(), strings.NewReader(text)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Where HEAD is on a branch without a commit, others have a history all the same.
func TestSeedExcludeBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	gitIn(t, src.root, "init", "-q", "-b", "other")
	src.write("secrets/k", "key")
	gitIn(t, src.root, "add", "-A")
	gitIn(t, src.root, "commit", "-q", "-m", "x")
	gitIn(t, src.root, "checkout", "-q", "--orphan", "main")
	s, d := seed(t, Source{Dir: src.root, Exclude: []string{"secrets"}})
	if s.Commit != "" || s.Head != "" || gitIn(t, d.root, "for-each-ref") != "" || objectsOf(t, d.root) != "" {
		t.Errorf("%+v\n%s", s, objectsOf(t, d.root))
	}
}

// A commit names its submodules and has none of their files: seeding from it leaves a note.
func TestSeedTellsEmptySubmodules(t *testing.T) {
	t.Parallel()
	src, _, _ := withSubmodule(t)
	s, d := seed(t, Source{Kind: SourceGit, Dir: src.root, Exclude: []string{"vendor/unwanted/"}})
	want := []Note{
		{".git", NoteHistory, "the history has paths that are excluded, and is left behind: the repository begins with one commit of its own"},
		{"vendor/lib", NoteSubmodule, "a submodule is left empty: a commit has its name, and none of its files"},
	}
	if diff := cmp.Diff(want, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if list, err := os.ReadDir(d.path("vendor/lib")); err != nil || len(list) > 0 {
		t.Errorf("the submodule: %v, %v", list, err)
	}
	if s, _ = seed(t, Source{Dir: src.root, Ref: "main"}); len(s.Notes) != 2 || s.Notes[1].Path != "vendor/unwanted" || s.Head != "" {
		t.Errorf("without an exclude: %+v", s)
	}
}

// One of several parts has no repository at all, and that is the only note about its history.
func TestSeedExcludeInSeveralParts(t *testing.T) {
	t.Parallel()
	src := cleanRepo(t)
	tree, err := SeedAll(t.Context(), []Part{
		{Source: Source{Dir: src.root, Exclude: []string{"sub"}}, Target: "/workspace/a"},
		{Source: Source{Kind: SourceEmpty}, Target: "/workspace/b", Index: 1},
	}, filepath.Join(tempDir(t), "base"))
	if err != nil {
		t.Fatal(err)
	}
	if p := tree.Parts[0]; p.Head != "" || len(p.Notes) != 1 || p.Notes[0].Code != NoteNestedRepository {
		t.Errorf("%+v", p)
	}
}

package workspace

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// minable is a repository with everything in which an agent could look for the solution of its task: a clean work tree at the commit "base",
// tagged "past", and the word SOLUTION in all that is not of its history.
func minable(t *testing.T, packed bool) dir {
	t.Helper()
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	git := func(args ...string) string { t.Helper(); return gitIn(t, src.root, args...) }
	commit := func(text, message string, more ...string) {
		t.Helper()
		src.write("a.txt", text)
		git("add", "-A")
		git(append([]string{"commit", "-q", "-m", message}, more...)...)
	}
	git("init", "-q", "-b", "main")
	git("config", "core.logAllRefUpdates", "true")
	commit("0\n", "first")
	git("tag", "-a", "-m", "a release", "past")
	commit("1\n", "base")
	git("tag", "light")
	commit("SOLUTION 1\n", "SOLUTION in a later commit")
	git("tag", "newer")
	git("tag", "-a", "-m", "SOLUTION in a tag", "newer-annotated")
	git("tag", "-a", "-m", "SOLUTION in a tag of a tag", "nested", "newer-annotated")
	git("tag", "file", strings.TrimSpace(git("rev-parse", "HEAD:a.txt")))
	git("branch", "later")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	git("config", "remote.origin.url", "https://user:token@SOLUTION.example/x")
	git("config", "branch.main.remote", "origin")
	git("config", "url.https://SOLUTION.example/.insteadOf", "sol:")
	git("notes", "add", "-m", "SOLUTION in a note", "HEAD~1")
	git("checkout", "-q", "--orphan", "apart")
	commit("SOLUTION 2\n", "SOLUTION on an orphan")
	git("checkout", "-q", "main")
	commit("SOLUTION 3\n", "SOLUTION thrown away")
	git("reset", "-q", "--hard", "HEAD~2") // leaves an ORIG_HEAD and a reflog
	src.write("a.txt", "SOLUTION 4\n")
	git("stash", "-q")
	git("replace", "HEAD", "later")
	git("fetch", "-q", ".", "later") // leaves a FETCH_HEAD
	src.write("staged", "SOLUTION 5\n")
	git("add", "staged")
	git("rm", "-q", "-f", "--cached", "staged")
	src.rm("staged")
	git("worktree", "add", "-q", "--detach", src.path("../linked"), "later")
	if packed {
		git("-c", "gc.auto=0", "repack", "-a", "-d", "-q", "--keep-unreachable")
		git("pack-refs", "--all")
	}
	return src
}

// What an agent gets of a repository ends at its base, whatever the base is named by.
func TestSeedHoldsNothingNewer(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		src := minable(t, packed)
		base := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "main"))
		gitIn(t, src.root, "branch", "same", "main")
		gitIn(t, src.root, "clone", "-q", "--mirror", src.root, "../mirror")
		for _, from := range []Source{
			{Dir: src.root}, // the work tree
			{Dir: src.root, Ref: "HEAD"},
			{Dir: src.root, Ref: "main"},
			{Dir: src.root, Ref: "same"},
			{Dir: src.root, Ref: "light"},
			{Dir: src.root, Ref: base},
			{Dir: src.root, Ref: base[:10]},
			{Dir: src.root, Ref: "later~1"},
			{Dir: src.root, Kind: SourceGit},
			{Dir: src.path("../linked"), Ref: "HEAD~1"},
			{Dir: src.path("../mirror")},
			{Dir: src.path("../mirror"), Ref: "newer~1"},
		} {
			for _, history := range []string{"", HistoryFull, HistoryNone} {
				from.History = history
				t.Run(fmt.Sprintf("packed=%v,%s,%q,%s", packed, filepath.Base(from.Dir), from.Ref, history), func(t *testing.T) {
					s, d := seed(t, from)
					if s.Commit != base || s.Dirty {
						t.Errorf("seeded: %+v", s)
					}
					notMinable(t, d, s, map[string]string{"": "base\nfirst\n", HistoryFull: "base\nfirst\n", HistoryNone: "Begin without a history\n"}[history])
				})
			}
		}
	}
}

// notMinable looks into every corner of a workspace's repository.
func notMinable(t *testing.T, d dir, s Seeded, log string) {
	t.Helper()
	if got := gitIn(t, d.root, "log", "--all", "--format=%s"); got != log {
		t.Errorf("log --all:\n%s", got)
	}
	var refs []string
	for line := range strings.Lines(gitIn(t, d.root, "for-each-ref", "--format=%(refname)")) {
		refs = append(refs, strings.TrimSpace(line))
	}
	want := []string{"refs/tags/light", "refs/tags/past"}
	if s.Head != "" {
		want = nil
	}
	if s.Branch != "" {
		want = append([]string{"refs/heads/" + s.Branch}, want...)
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	reached := map[string]bool{}
	for line := range strings.Lines(gitIn(t, d.root, "rev-list", "--objects", "--all", "HEAD")) {
		reached[line[:40]] = true
	}
	for line := range strings.Lines(gitIn(t, d.root, "for-each-ref", "--format=%(objectname)")) {
		reached[strings.TrimSpace(line)] = true // a tag is an object too
	}
	have := map[string]bool{}
	for line := range strings.Lines(gitIn(t, d.root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
		have[strings.TrimSpace(line)] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(reached)), slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("objects (-reached +there):\n%s", diff)
	}
	if got := gitIn(t, d.root, "fsck", "--strict", "--unreachable", "--no-reflogs"); strings.TrimSpace(got) != "" {
		t.Errorf("fsck: %s", got)
	}
	usual := regexp.MustCompile(`^(HEAD|config|index|packed-refs|objects/pack/pack-[0-9a-f]{40}\.(pack|idx|rev)|info/exclude|objects/[0-9a-f]{2}/[0-9a-f]{38})$`)
	err := fs.WalkDir(os.DirFS(d.path(".git")), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !usual.MatchString(p) {
			t.Errorf("an unusual file: .git/%s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if got := d.read(".git/config"); strings.Contains(got, "SOLUTION") || strings.Contains(got, "remote") {
		t.Errorf("the configuration:\n%s", got)
	}
	if d.read("a.txt") != "1\n" || gitIn(t, d.root, "status", "--porcelain") != "" {
		t.Errorf("the work tree: %q\n%s", d.read("a.txt"), gitIn(t, d.root, "status", "--porcelain"))
	}
}

// A work tree that is dirty or in the middle of something brings its files, and nothing that was only staged.
func TestSeedOfAWorkTreeHoldsNothingStaged(t *testing.T) {
	t.Parallel()
	src := minable(t, false)
	src.write("staged", "SOLUTION staged\n")
	gitIn(t, src.root, "add", "staged")
	src.write("staged", "as it stands\n")
	src.write(".git/MERGE_HEAD", strings.TrimSpace(gitIn(t, src.root, "rev-parse", "later"))+"\n")
	for _, history := range []string{HistoryFull, HistoryNone} {
		s, d := seed(t, Source{Dir: src.root, History: history})
		if !s.Dirty || d.read("staged") != "as it stands\n" || gitIn(t, d.root, "status", "--porcelain") != "?? staged\n" {
			t.Errorf("%s: %+v\n%s", history, s, gitIn(t, d.root, "status", "--porcelain"))
		}
		d.rm("staged")
		notMinable(t, d, s, map[string]string{HistoryFull: "base\nfirst\n", HistoryNone: "Begin without a history\n"}[history])
	}
}

// One commit is the same whenever it is made, and holds the tree alone.
func TestSeedWithoutAHistory(t *testing.T) {
	t.Parallel()
	src := repo(t)
	tree := gitIn(t, src.root, "rev-parse", "main^{tree}")
	heads := map[string]bool{}
	for _, ref := range []string{"", "HEAD", "main"} {
		s, d := seed(t, Source{Dir: src.root, Ref: ref, History: HistoryNone})
		heads[s.Head] = true
		if s.Head == "" || s.Head == s.Commit || s.Branch != "main" || s.Dirty != (ref == "") {
			t.Errorf("%q: %+v", ref, s)
		}
		if got := gitIn(t, d.root, "rev-parse", "HEAD^{tree}"); got != tree {
			t.Errorf("%q: the tree is %s", ref, got)
		}
		if got := gitIn(t, d.root, "rev-list", "--all", "HEAD"); got != s.Head+"\n" {
			t.Errorf("%q: commits: %s", ref, got)
		}
		if len(s.Notes) != 1 || s.Notes[0].Code != NoteHistory {
			t.Errorf("%q: notes: %+v", ref, s.Notes)
		}
	}
	if len(heads) != 1 {
		t.Errorf("the same commit is %v", heads)
	}
	// What is excluded is left out of that one commit.
	s, d := seed(t, Source{Dir: src.root, Ref: "main", History: HistoryNone, Exclude: []string{"a.txt"}})
	if got := gitIn(t, d.root, "ls-tree", "-r", "--name-only", "HEAD"); strings.Contains(got, "a.txt") || s.Head == "" || len(s.Notes) != 1 {
		t.Errorf("with an exclude: %+v\n%s", s, got)
	}
	// Where there is nothing to leave behind, nothing is.
	plain := newDir(t, filepath.Join(tempDir(t), "src"))
	plain.write("a", "1")
	if s, _ := seed(t, Source{Dir: plain.root, History: HistoryNone}); s.Kind != SourceDirectory || s.Notes != nil {
		t.Errorf("a directory: %+v", s)
	}
	gitIn(t, plain.root, "init", "-q", "-b", "trunk")
	if s, _ := seed(t, Source{Dir: plain.root, History: HistoryNone}); s.Commit != "" || s.Head != "" || s.Branch != "trunk" || s.Notes != nil {
		t.Errorf("before the first commit: %+v", s)
	}
}

// The edge of a shallow clone names commits of its own history alone.
func TestSeedOfAShallowClone(t *testing.T) {
	t.Parallel()
	src := minable(t, false)
	gitIn(t, src.root, "replace", "-d", "HEAD")
	gitIn(t, src.root, "clone", "-q", "--depth=1", "--no-single-branch", "file://"+src.root, "../shallow")
	from := src.path("../shallow")
	if n := strings.Count(src.read("../shallow/.git/shallow"), "\n"); n < 2 {
		t.Fatalf("the source has %d edges", n)
	}
	_, d := seed(t, Source{Dir: from})
	if got, want := d.read(".git/shallow"), gitIn(t, src.root, "rev-parse", "main"); got != want {
		t.Errorf("edges: %q, want %q", got, want)
	}
	if got := gitIn(t, d.root, "log", "--all", "--format=%s"); got != "base\n" {
		t.Errorf("log: %s", got)
	}
	gitIn(t, d.root, "fsck", "--strict")
	if _, d = seed(t, Source{Dir: from, History: HistoryNone}); strings.Contains(gitIn(t, d.root, "rev-parse", "--is-shallow-repository"), "true") {
		t.Error("one commit has an edge")
	}
}

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withSubmodule is a repository with a submodule of two commits at vendor/lib, and next to it another one that was not asked
// for.
func withSubmodule(t *testing.T) (d dir, first, second string) {
	t.Helper()
	d = cleanRepo(t)
	sub := newDir(t, filepath.Join(filepath.Dir(d.root), "sub"))
	gitIn(t, sub.root, "init", "-q", "-b", "main")
	for _, text := range []string{"1\n", "2\n"} {
		sub.write("x", text)
		gitIn(t, sub.root, "add", "-A")
		gitIn(t, sub.root, "commit", "-q", "-m", "x")
	}
	first, second = strings.TrimSpace(gitIn(t, sub.root, "rev-parse", "HEAD~1")), strings.TrimSpace(gitIn(t, sub.root, "rev-parse", "HEAD"))
	for _, p := range []string{"vendor/lib", "vendor/unwanted"} {
		gitIn(t, d.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.root, p)
	}
	gitIn(t, d.root, "commit", "-q", "-m", "submodules")
	gitIn(t, d.root, "submodule", "--quiet", "deinit", "-f", "vendor/unwanted")
	return d, first, second
}

func TestStatusOfSubmodules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(d dir, first string)
		files  string
		says   string // of the one note, with the commits as FIRST and SECOND
	}{
		"as it was":           {func(dir, string) {}, "", "the submodule is at its commit, and is not looked into: changes of its files are not seen"},
		"a change in it":      {func(d dir, _ string) { d.write("vendor/lib/x", "3\n") }, "", "the submodule is at its commit, and is not looked into: changes of its files are not seen"},
		"another commit":      {func(d dir, first string) { gitIn(d.t, d.path("vendor/lib"), "checkout", "-q", first) }, "modified vendor/lib\n", "the submodule is at FIRST, and not at SECOND: it is not looked into"},
		"a branch elsewhere":  {func(d dir, first string) { gitIn(d.t, d.path("vendor/lib"), "reset", "-q", "--hard", first) }, "modified vendor/lib\n", "the submodule is at FIRST, and not at SECOND: it is not looked into"},
		"no commit":           {func(d dir, _ string) { gitIn(d.t, d.path("vendor/lib"), "checkout", "-q", "--orphan", "new") }, "modified vendor/lib\n", "the submodule is at no commit, and not at SECOND: it is not looked into"},
		"gone":                {func(d dir, _ string) { d.rm("vendor/lib") }, "deleted vendor/lib\n", "the submodule is gone from the work tree"},
		"without repository":  {func(d dir, _ string) { d.rm("vendor/lib/.git"); d.write("vendor/lib/y", "1") }, "", "the files of the submodule are there without its repository, and are not looked into"},
		"a repository inside": {func(d dir, _ string) { d.rm("vendor/lib/.git"); gitIn(d.t, d.root, "init", "-q", "vendor/lib/in") }, "", "the files of the submodule are there without its repository, and are not looked into"},
		"a .git that is none": {func(d dir, _ string) { d.write("vendor/lib/.git", "gitdir: /nowhere\n") }, "", "the submodule is not looked into, and its commit cannot be told: it has no repository that can be read"},
		"a HEAD that is none": {func(d dir, _ string) { d.write(".git/modules/vendor/lib/HEAD", "x\n") }, "", "the submodule is not looked into, and its commit cannot be told: its HEAD names neither a branch nor a commit"},
		"someone else's repository": {func(d dir, _ string) {
			d.write("vendor/lib/.git", "gitdir: "+d.path("../sub/.git")+"\n")
		}, "", "the submodule is not looked into, and its commit cannot be told: its repository lies elsewhere"},
		"someone else's by a link": {func(d dir, _ string) {
			d.rm("vendor/lib/.git")
			d.link(d.path("../sub/.git"), "vendor/lib/.git")
		}, "", "the submodule is not looked into, and its commit cannot be told: its repository lies elsewhere"},
		"a file":         {func(d dir, _ string) { d.rm("vendor/lib"); d.write("vendor/lib", "1") }, "type_changed vendor/lib\n", "something that is no directory stands in the place of the submodule"},
		"a link":         {func(d dir, _ string) { d.rm("vendor/lib"); d.link("../a.txt", "vendor/lib") }, "type_changed vendor/lib\n", "something that is no directory stands in the place of the submodule"},
		"beyond a link":  {func(d dir, _ string) { d.rm("vendor"); d.link("../sub", "vendor") }, "added vendor\ndeleted vendor/lib\ndeleted vendor/unwanted\n", "the submodule is gone from the work tree"},
		"beside a plain": {func(d dir, _ string) { d.write("vendor/plain", "1") }, "added vendor/plain\n", "the submodule is at its commit, and is not looked into: changes of its files are not seen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, first, second := withSubmodule(t)
			tc.change(d, first)
			ran := trap(dir{t, d.root})
			// The submodule's own configuration is as hostile.
			run := "touch " + ran
			if _, err := os.Lstat(d.path(".git/modules/vendor/lib/config")); err == nil {
				d.write(".git/modules/vendor/lib/config", "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "+run+"\n\tworktree = ../../../../vendor/lib\n[filter \"evil\"]\n\tclean = "+run+"\n")
				d.write(".git/modules/vendor/lib/info/attributes", "* filter=evil\n")
			}
			before := times(t, d.root)
			opt := StatusOptions{Exclude: []string{"hooks", "more-config", ".gitm*", ".gitattributes"}}
			st, err := StatusOf(t.Context(), d.root, opt)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.files, statusLines(st.Files)); diff != "" || st.Dirty != strings.Count(tc.files, "\n") {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			var says []string
			for _, n := range st.Notes {
				if n.Code != NoteSubmodule {
					t.Errorf("a note: %+v", n)
				}
				if n.Path == "vendor/lib" {
					says = append(says, n.Detail)
				}
			}
			want := []string{strings.NewReplacer("FIRST", first, "SECOND", second).Replace(tc.says)}
			if diff := cmp.Diff(want, says); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if _, err := DiffOf(t.Context(), d.root, "", "", opt); err != nil {
				t.Errorf("diff: %v", err)
			}
			if delta := cmp.Diff(before, times(t, d.root)); delta != "" {
				t.Errorf("the directory was touched:\n%s", delta)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("something of the directory ran")
			}
		})
	}
}

// A commit has its submodules as the parent has them, whatever became of them.
func TestCommitKeepsSubmodules(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(d dir, first string){
		"as it was":          func(dir, string) {},
		"another commit":     func(d dir, first string) { gitIn(d.t, d.path("vendor/lib"), "checkout", "-q", first) },
		"gone":               func(d dir, _ string) { d.rm("vendor/lib") },
		"a file":             func(d dir, _ string) { d.rm("vendor/lib"); d.write("vendor/lib", "1") },
		"without repository": func(d dir, _ string) { d.rm("vendor/lib/.git"); d.fifo("vendor/lib/pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, first, second := withSubmodule(t)
			change(d, first)
			d.write("a.txt", "2\n")
			if _, err := CommitTree(t.Context(), commitSpec(d.root)); err != nil {
				t.Fatal(err)
			}
			if got := gitIn(t, d.root, "diff-tree", "-r", "--name-status", "main", "deed/x"); got != "M\ta.txt\n" {
				t.Errorf("it changes %q", got)
			}
			if got := gitIn(t, d.root, "ls-tree", "deed/x", "vendor/lib"); got != "160000 commit "+second+"\tvendor/lib\n" {
				t.Errorf("the submodule is %q", got)
			}
		})
	}
}

func TestCommitRefusesPathsOfSubmodules(t *testing.T) {
	t.Parallel()
	d, first, _ := withSubmodule(t)
	d.write("a.txt", "2\n")
	commit := func(branch string, paths ...string) error {
		spec := commitSpec(d.root)
		spec.Branch, spec.Paths = branch, paths
		_, err := CommitTree(t.Context(), spec)
		return err
	}
	for _, p := range []string{"vendor/lib/x", "vendor/unwanted/x"} {
		if err := commit("bad", "a.txt", p); !errors.Is(err, ErrSubmodule) || !strings.Contains(err.Error(), "it lies in the submodule") {
			t.Errorf("%s: %v", p, err)
		}
	}
	if err := commit("same", "a.txt", "vendor/lib/"); err != nil {
		t.Errorf("one that is as it was: %v", err)
	}
	gitIn(t, d.path("vendor/lib"), "checkout", "-q", first)
	if err := commit("bad", "a.txt", "vendor/lib"); !errors.Is(err, ErrSubmodule) || !strings.Contains(err.Error(), first) {
		t.Errorf("one that is at another commit: %v", err)
	}
	if err := commit("around", "a.txt", "vendor"); err != nil {
		t.Errorf("what is around it: %v", err)
	}
	// A repository inside refuses only the paths that it is in the way of.
	gitIn(t, d.root, "init", "-q", "inner")
	d.write("inner/f", "1")
	if err := commit("beside", "a.txt"); err != nil {
		t.Errorf("beside a repository: %v", err)
	}
	for _, p := range []string{"inner", "inner/f"} {
		if err := commit("bad", "a.txt", p); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

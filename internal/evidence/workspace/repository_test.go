package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Refs are read without git: packed and loose ones, and none that git would not have.
func TestSeedGitRefs(t *testing.T) {
	t.Parallel()
	src := repo(t)
	quiet := func(args ...string) {
		t.Helper()
		gitIn(t, src.root, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	}
	quiet("tag", "-a", "-m", "annotated", "v2")
	quiet("branch", "deep/er/name")
	quiet("tag", "deep/er/tag")
	quiet("tag", "moved", "v1")
	quiet("pack-refs", "--all")
	quiet("tag", "-f", "moved", "main") // loose over packed
	quiet("branch", "both", "v1")
	quiet("tag", "both", "main")
	quiet("symbolic-ref", "refs/tags/alias", "refs/tags/v1")
	head := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "main"))
	first := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "v1"))
	src.write(".git/refs/tags/broken", "")
	src.write(".git/refs/tags/half", head[:20])
	src.write(".git/refs/tags/x.lock", head)
	src.write(".git/refs/tags/new\n"+head+" refs/tags/line", head)
	src.write(".git/refs/tags/a b", head)
	src.do(os.Symlink("/etc/passwd", src.path(".git/refs/tags/link")))
	src.fifo(".git/refs/tags/pipe")
	_, d := seed(t, Source{Dir: src.root})
	want := "heads/main " + head + "\ntags/alias " + first + "\ntags/both " + head + "\ntags/deep/er/tag " + head + "\ntags/moved " + head + "\ntags/v1 " + first + "\ntags/v2 " + head + "\n"
	if diff := cmp.Diff(want, gitIn(t, d.root, "for-each-ref", "--format=%(refname:lstrip=1) %(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)")); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	gitIn(t, d.root, "fsck", "--strict")
	// A name that is a branch and a tag is the tag, as in git.
	if s, _ := seed(t, Source{Dir: src.root, Ref: "both"}); s.Commit != head || s.Branch != "" {
		t.Errorf("both: %+v", s)
	}
	if s, _ := seed(t, Source{Kind: SourceGit, Dir: src.root, Ref: "deep/er/name"}); s.Commit != head || s.Branch != "deep/er/name" {
		t.Errorf("deep: %+v", s)
	}
	// Without a ref it is the commit, not the work tree.
	if s, d := seed(t, Source{Kind: SourceGit, Dir: src.root}); s.Dirty || s.Branch != "main" || d.read("a.txt") != "2\n" {
		t.Errorf("git: %+v", s)
	}
}

func TestSeedGitHostile(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(d dir){
		"HEAD gone":       func(d dir) { d.rm(".git/HEAD") },
		"HEAD a FIFO":     func(d dir) { d.rm(".git/HEAD"); d.fifo(".git/HEAD") },
		"HEAD nonsense":   func(d dir) { d.write(".git/HEAD", "ref: ../../../etc/passwd\n") },
		"config nonsense": func(d dir) { d.write(".git/config", "[include\n") },
		"unknown extension": func(d dir) {
			d.write(".git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfuture = true\n")
		},
		"objects gone":      func(d dir) { d.rm(".git/objects"); d.mkdir(".git/objects") },
		"no objects":        func(d dir) { d.rm(".git/objects") },
		"gitdir to nowhere": func(d dir) { d.rm(".git"); d.write(".git", "gitdir: ../none\n") },
		"gitdir to a file":  func(d dir) { d.rm(".git"); d.write(".git", "nonsense") },
	} {
		src := repo(t)
		spoil(src)
		dst := filepath.Join(tempDir(t), "ws")
		if _, err := Seed(t.Context(), Source{Dir: src.root}, dst); err == nil {
			t.Errorf("%s: no error", name)
		} else if !errors.Is(err, ErrSource) && !errors.Is(err, ErrGit) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("%s: the destination is left behind", name)
		}
		if _, err := os.Lstat(src.path("../ran")); err == nil {
			t.Errorf("%s: something of the source ran", name)
		}
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(dst), ".deed-*"))
		if len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}

func TestSetTopdirFlag(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	SetTopdirFlag(d.root)
	SetTopdirFlag(d.path("none"))
	d.write("a/b", "1")
	if diff := cmp.Diff([]string{"dir a", "file a/b"}, paths(snap(t, d.root, nil))); diff != "" {
		t.Error(diff)
	}
}

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/internal/base/failure"
)

// repo makes a repository with two commits, a branch, a tag, a stash, a hook and uncommitted work of every kind.
func repo(t *testing.T) dir {
	t.Helper()
	d := newDir(t, filepath.Join(tempDir(t), "src"))
	gitIn(t, d.root, "init", "-q", "-b", "main")
	d.write(".gitignore", "*.log\nbuild/\n")
	d.write("a.txt", "1\n")
	d.write("gone.txt", "1\n")
	d.exec("run.sh", "#!/bin/sh\n")
	gitIn(t, d.root, "add", "-A")
	gitIn(t, d.root, "commit", "-q", "-m", "first")
	gitIn(t, d.root, "tag", "v1")
	gitIn(t, d.root, "branch", "side")
	d.write("a.txt", "2\n")
	gitIn(t, d.root, "commit", "-q", "-a", "-m", "second")
	d.write("a.txt", "stash secret\n")
	gitIn(t, d.root, "stash", "-q")
	gitIn(t, d.root, "remote", "add", "origin", "https://user:token@example.com/x.git")
	gitIn(t, d.root, "config", "core.fsmonitor", filepath.Join(d.root, ".git", "evil"))
	gitIn(t, d.root, "config", "filter.evil.clean", "touch "+d.path("../ran"))
	gitIn(t, d.root, "config", "filter.evil.smudge", "touch "+d.path("../ran"))
	for _, h := range []string{"evil", "hooks/post-checkout", "hooks/reference-transaction", "hooks/post-index-change"} {
		d.exec(".git/"+h, "#!/bin/sh\ntouch "+d.path("../ran")+"\n")
	}
	d.write("staged.txt", "s\n")
	gitIn(t, d.root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "staged.txt")
	d.write("a.txt", "uncommitted\n")
	d.rm("gone.txt")
	d.write("untracked.txt", "u\n")
	d.write("x.log", "ignored\n")
	d.write("build/out", "ignored\n")
	return d
}

func seed(t *testing.T, src Source) (Seeded, dir) {
	t.Helper()
	dst := filepath.Join(tempDir(t), "ws")
	s, err := Seed(t.Context(), src, dst)
	if err != nil {
		t.Fatal(err)
	}
	if src.Ref != "" && src.Kind != SourceBundle && s.Method != MethodCheckout {
		t.Errorf("%+v: got there by %q", src, s.Method)
	}
	s.Method = "" // it depends on the file system
	return s, dir{t, dst}
}

func TestSeedEmpty(t *testing.T) {
	t.Parallel()
	s, d := seed(t, Source{})
	if s.Kind != SourceEmpty || len(snap(t, d.root, nil).Entries) != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := Seed(t.Context(), Source{}, d.root); err != nil {
		t.Errorf("an empty directory is refused: %v", err)
	}
	d.write("x", "")
	if _, err := Seed(t.Context(), Source{}, d.root); !errors.Is(err, ErrDestination) {
		t.Errorf("a full directory: %v", err)
	}
	if d.read("x") != "" {
		t.Error("the content of a destination in use was touched")
	}
}

func TestSeedDirectory(t *testing.T) {
	t.Parallel()
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	src.write("a/b", "1\n")
	src.exec("run", "x")
	src.write("secret", "x")
	src.chmod("secret", 0o600)
	src.link("a/b", "in")
	src.link("../../out", "a/up")
	src.link("/etc/passwd", "abs")
	src.fifo("pipe")
	src.mkdir("empty")
	src.exec("suid", "x")
	src.chmod("suid", 0o755|os.ModeSetuid)
	src.write("nested/.git/config", "[remote]\n")
	src.write("nested/x", "x")
	src.write("ro/x", "x")
	src.chmod("ro", 0o555)
	t.Cleanup(func() { _ = os.Chmod(src.path("ro"), 0o755) })
	old := time.Unix(1e9, 123456789)
	src.do(os.Chtimes(src.path("run"), old, old))
	before := times(t, src.root)

	s, d := seed(t, Source{Dir: src.root})
	if s.Kind != SourceDirectory || s.Commit != "" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(before, times(t, src.root)); diff != "" {
		t.Errorf("the source was touched (-before +after):\n%s", diff)
	}
	want := []Note{
		{"a/up", NoteLinkOutside, "points to ../../out"},
		{"abs", NoteLinkOutside, "points to /etc/passwd"},
		{"nested/.git", NoteNestedRepository, "its files are copied, its history is not"},
		{"pipe", NoteSpecialFile, "a fifo is not copied"},
	}
	if diff := cmp.Diff(want, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	diffs := Compare(snap(t, src.root, nil), snap(t, d.root, nil))
	var got []string
	for _, x := range diffs {
		got = append(got, x.String())
	}
	if diff := cmp.Diff([]string{"pipe: missing fifo", "suid: mode 0755 instead of 4755"}, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if st, err := os.Stat(d.path("run")); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("modification time: %v, %v", st.ModTime(), err)
	}
}

func TestSeedGit(t *testing.T) {
	t.Parallel()
	src := repo(t)
	head := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "HEAD"))
	want := gitIn(t, src.root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status", "--porcelain")
	index := src.read(".git/index")
	before := times(t, src.root)

	s, d := seed(t, Source{Dir: src.root})
	if diff := cmp.Diff(before, times(t, src.root)); diff != "" {
		t.Errorf("the source was touched (-before +after):\n%s", diff)
	}
	if src.read(".git/index") != index {
		t.Error("the index of the source was rewritten")
	}
	if _, err := os.Stat(src.path("../ran")); err == nil {
		t.Error("a hook, filter or monitor of the source ran")
	}
	if diff := cmp.Diff(Seeded{Kind: SourceGit, Commit: head, Branch: "main", Dirty: true}, s); diff != "" {
		t.Errorf("seeded (-want +got):\n%s", diff)
	}
	if diffs := Compare(snap(t, src.root, nil), snap(t, d.root, nil)); len(diffs) > 0 {
		t.Errorf("work tree: %v", diffs)
	}
	// The same except for the staged file, which is untracked in an index that is that of HEAD.
	want = strings.Replace(want, "A  staged.txt\n", "", 1)
	want = strings.Replace(want, "?? untracked.txt\n", "?? staged.txt\n?? untracked.txt\n", 1)
	if diff := cmp.Diff(want, gitIn(t, d.root, "status", "--porcelain")); diff != "" {
		t.Errorf("status (-source +copy):\n%s", diff)
	}
	if got := gitIn(t, d.root, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main\nrefs/tags/v1\n" {
		t.Errorf("refs:\n%s", got)
	}
	if got := gitIn(t, d.root, "remote"); got != "" {
		t.Errorf("remotes: %s", got)
	}
	if got := gitIn(t, d.root, "log", "--format=%s"); got != "second\nfirst\n" {
		t.Errorf("log:\n%s", got)
	}
	gitIn(t, d.root, "fsck", "--strict", "--no-dangling")
	if got := gitIn(t, d.root, "fsck", "--unreachable", "--no-reflogs"); strings.Contains(got, "unreachable") {
		t.Errorf("objects of the stash came along: %s", got)
	}
	for _, p := range []string{"hooks", "logs", "objects/info/alternates", "FETCH_HEAD", "ORIG_HEAD"} {
		if _, err := os.Lstat(d.path(".git/" + p)); err == nil {
			t.Errorf(".git/%s came along", p)
		}
	}
	if got := d.read(".git/config"); strings.Contains(got, "token") || strings.Contains(got, "evil") {
		t.Errorf("configuration of the caller came along:\n%s", got)
	}
	err := filepath.WalkDir(d.root, func(p string, e fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && e.Type().IsRegular() && unix.Lstat(p, &st) == nil && st.Nlink > 1 {
			t.Errorf("%s is a hard link", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeedGitRef(t *testing.T) {
	t.Parallel()
	src := repo(t)
	first := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "v1"))
	second := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "main"))
	stash := strings.TrimSpace(gitIn(t, src.root, "rev-parse", "stash"))
	before := times(t, src.root)
	for _, tt := range []struct{ ref, commit, branch, a string }{
		{"v1", first, "", "1\n"},
		{"main", second, "main", "2\n"},
		{"side", first, "side", "1\n"},
		{"HEAD", second, "main", "2\n"},
		{first[:10], first, "", "1\n"},
		{"main~1", first, "", "1\n"},
		{stash, stash, "", "stash secret\n"}, // asked for by name, in no branch
	} {
		s, d := seed(t, Source{Dir: src.root, Ref: tt.ref})
		if diff := cmp.Diff(Seeded{Kind: SourceGit, Commit: tt.commit, Branch: tt.branch}, s); diff != "" {
			t.Errorf("%s: seeded (-want +got):\n%s", tt.ref, diff)
		}
		if got := d.read("a.txt"); got != tt.a {
			t.Errorf("%s: a.txt is %q", tt.ref, got)
		}
		if got := gitIn(t, d.root, "status", "--porcelain", "--ignored"); got != "" {
			t.Errorf("%s: status:\n%s", tt.ref, got)
		}
		if got := strings.TrimSpace(gitIn(t, d.root, "rev-parse", "HEAD")); got != tt.commit {
			t.Errorf("%s: HEAD is %s", tt.ref, got)
		}
	}
	for _, ref := range []string{"none", "--help", "-n", "a b", "main:a.txt", "", "v1^{tree}"} {
		if ref == "" {
			continue
		}
		dst := filepath.Join(tempDir(t), "ws")
		_, err := Seed(t.Context(), Source{Dir: src.root, Ref: ref}, dst)
		if !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Errorf("ref %q: %v", ref, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("ref %q: the destination is left behind", ref)
		}
	}
	if diff := cmp.Diff(before, times(t, src.root)); diff != "" {
		t.Errorf("the source was touched (-before +after):\n%s", diff)
	}
	if _, err := os.Stat(src.path("../ran")); err == nil {
		t.Error("a hook, filter or monitor of the source ran")
	}
}

func TestSeedGitShapes(t *testing.T) {
	t.Parallel()
	t.Run("clean", func(t *testing.T) {
		t.Parallel()
		src := newDir(t, filepath.Join(tempDir(t), "src"))
		gitIn(t, src.root, "init", "-q", "-b", "main")
		src.write("crlf.txt", "1\r\n")
		src.write(".gitattributes", "*.txt text eol=crlf\n")
		gitIn(t, src.root, "add", "-A")
		gitIn(t, src.root, "commit", "-q", "-m", "x")
		if s, _ := seed(t, Source{Dir: src.root}); s.Dirty {
			t.Error("a clean work tree is dirty in the copy")
		}
	})
	t.Run("before the first commit", func(t *testing.T) {
		t.Parallel()
		src := newDir(t, filepath.Join(tempDir(t), "src"))
		gitIn(t, src.root, "init", "-q", "-b", "trunk")
		src.write("a", "1")
		s, d := seed(t, Source{Dir: src.root})
		if diff := cmp.Diff(Seeded{Kind: SourceGit, Branch: "trunk", Dirty: true}, s); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := gitIn(t, d.root, "status", "--porcelain"); got != "?? a\n" {
			t.Errorf("status: %s", got)
		}
	})
	t.Run("detached", func(t *testing.T) {
		t.Parallel()
		src := repo(t)
		gitIn(t, src.root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "checkout", "-q", "-f", "--detach", "v1")
		s, d := seed(t, Source{Dir: src.root})
		if s.Branch != "" || s.Commit != strings.TrimSpace(gitIn(t, d.root, "rev-parse", "v1")) {
			t.Errorf("%+v", s)
		}
	})
	t.Run("linked work tree", func(t *testing.T) {
		t.Parallel()
		src := repo(t)
		wt := src.path("../wt")
		gitIn(t, src.root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "-b", "wt", wt, "v1")
		s, d := seed(t, Source{Dir: wt})
		if s.Branch != "wt" || s.Dirty || d.read("a.txt") != "1\n" {
			t.Errorf("%+v", s)
		}
		if st, err := os.Lstat(d.path(".git")); err != nil || !st.IsDir() {
			t.Errorf(".git is no directory of its own: %v", err)
		}
	})
	t.Run("submodule", func(t *testing.T) {
		t.Parallel()
		sub := repo(t)
		gitIn(t, sub.root, "config", "--unset", "core.fsmonitor")
		src := newDir(t, filepath.Join(tempDir(t), "src"))
		gitIn(t, src.root, "init", "-q", "-b", "main")
		gitIn(t, src.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.root, "lib")
		gitIn(t, src.root, "commit", "-q", "-m", "x")
		s, d := seed(t, Source{Dir: src.root})
		if s.Dirty || d.read("lib/a.txt") != "2\n" {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff([]Note{{"lib/.git", NoteNestedRepository, "its files are copied, its history is not"}}, s.Notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		if got := gitIn(t, d.root, "status", "--porcelain"); got != "" {
			t.Errorf("status: %s", got)
		}
		s, d = seed(t, Source{Dir: src.path("lib")})
		if s.Kind != SourceGit || s.Commit == "" || d.read("a.txt") != "2\n" {
			t.Errorf("the submodule itself: %+v", s)
		}
	})
	t.Run("shallow, sha256, alternates, bare", func(t *testing.T) {
		t.Parallel()
		src := repo(t)
		root := tempDir(t)
		gitIn(t, root, "clone", "-q", "--depth=1", "file://"+src.root, "shallow")
		s, d := seed(t, Source{Dir: filepath.Join(root, "shallow")})
		if s.Dirty || gitIn(t, d.root, "log", "--format=%s") != "second\n" {
			t.Errorf("shallow: %+v", s)
		}
		gitIn(t, root, "clone", "-q", "--shared", src.root, "shared")
		s, d = seed(t, Source{Dir: filepath.Join(root, "shared")})
		gitIn(t, d.root, "fsck")
		if _, err := os.Lstat(d.path(".git/objects/info/alternates")); err == nil || s.Dirty {
			t.Errorf("alternates came along: %+v", s)
		}
		gitIn(t, root, "clone", "-q", "--bare", src.root, "bare")
		s, d = seed(t, Source{Dir: filepath.Join(root, "bare")})
		if s.Dirty || s.Branch != "main" || d.read("a.txt") != "2\n" {
			t.Errorf("bare: %+v", s)
		}
		sha := newDir(t, filepath.Join(root, "sha"))
		gitIn(t, sha.root, "init", "-q", "--object-format=sha256")
		sha.write("a", "1")
		gitIn(t, sha.root, "add", "-A")
		gitIn(t, sha.root, "commit", "-q", "-m", "x")
		if s, _ = seed(t, Source{Dir: sha.root}); len(s.Commit) != 64 || s.Dirty {
			t.Errorf("sha256: %+v", s)
		}
	})
	t.Run("sparse", func(t *testing.T) {
		t.Parallel()
		src := newDir(t, filepath.Join(tempDir(t), "src"))
		gitIn(t, src.root, "init", "-q", "-b", "main")
		src.write("in/a", "1")
		src.write("out/a", "1")
		gitIn(t, src.root, "add", "-A")
		gitIn(t, src.root, "commit", "-q", "-m", "x")
		gitIn(t, src.root, "sparse-checkout", "set", "in")
		s, d := seed(t, Source{Dir: src.root})
		if s.Dirty {
			t.Errorf("%+v\n%s", s, gitIn(t, d.root, "status"))
		}
	})
	t.Run("local excludes", func(t *testing.T) {
		t.Parallel()
		src := repo(t)
		src.write(".git/info/exclude", "*.txt\n")
		s, d := seed(t, Source{Dir: src.root})
		if got := gitIn(t, d.root, "status", "--porcelain"); got != " M a.txt\n D gone.txt\n" || !s.Dirty {
			t.Errorf("status: %s", got)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		src := newDir(t, filepath.Join(tempDir(t), "src"))
		src.write(".git", "gitdir: /nowhere\n")
		dst := filepath.Join(tempDir(t), "ws")
		if _, err := Seed(t.Context(), Source{Dir: src.root}, dst); !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Errorf("err = %v", err)
		}
		// An empty .git must not lead to the repository around it.
		outer := repo(t)
		outer.mkdir("inner/.git")
		if s, err := Seed(t.Context(), Source{Dir: outer.path("inner")}, dst); !errors.Is(err, ErrSource) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestSeedRefuses(t *testing.T) {
	t.Parallel()
	root := newDir(t, tempDir(t))
	root.write("home/attempts/x", "1")
	root.write("project/x", "1")
	root.write("file", "1")
	root.link("home", "alias")
	dst := root.path("home/attempts/ws")
	home := root.path("home")
	for name, src := range map[string]Source{
		"absent":                   {Dir: root.path("none")},
		"a file":                   {Dir: root.path("file")},
		"NUL":                      {Dir: "a\x00b"},
		"a ref without directory":  {Ref: "main"},
		"a ref without repository": {Dir: root.path("project"), Ref: "main"},
		"the home":                 {Dir: home, Home: home},
		"around the home":          {Dir: root.root, Home: home},
		"in the home":              {Dir: root.path("home/attempts"), Home: home},
		"in the home by a link":    {Dir: root.path("alias/attempts"), Home: home},
		"around the workspace":     {Dir: root.root},
		"the root of the system":   {Dir: "/"},
		"a name of 5000 bytes":     {Dir: root.path(strings.Repeat("x", 5000))},
	} {
		_, err := Seed(t.Context(), src, dst)
		if !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Fatalf("%s: the destination is left behind", name)
		}
	}
	if _, err := Seed(t.Context(), Source{Dir: root.path("project"), Home: home}, dst); err != nil {
		t.Errorf("beside the home: %v", err)
	}
}

func TestSeedUnreadableSource(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	src.write("a", "1")
	src.chmod("a", 0)
	dst := filepath.Join(tempDir(t), "ws")
	if _, err := Seed(t.Context(), Source{Dir: src.root}, dst); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "copy a") {
		t.Errorf("err = %v", err)
	}
}

func TestCloneKeepsHoles(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	d := newDir(t, filepath.Join(root, "a"))
	f, err := os.OpenFile(d.path("sparse"), os.O_CREATE|os.O_RDWR, 0o644)
	d.do(err)
	d.do(f.Truncate(64 << 20))
	for _, off := range []int64{0, 20 << 20, 64<<20 - 1} {
		_, err := f.WriteAt([]byte("x"), off)
		d.do(err)
	}
	d.do(f.Close())
	to := filepath.Join(root, "b")
	if _, err := Clone(t.Context(), d.root, to); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	d.do(unix.Stat(filepath.Join(to, "sparse"), &st))
	if st.Size != 64<<20 || st.Blocks*512 > 1<<20 {
		t.Errorf("size %d, %d bytes on disk", st.Size, st.Blocks*512)
	}
	if diffs := Compare(snap(t, d.root, nil), snap(t, to, nil)); len(diffs) > 0 {
		t.Errorf("content: %v", diffs)
	}
}

func TestCloneRefuses(t *testing.T) {
	t.Parallel()
	root := newDir(t, tempDir(t))
	root.write("a/x", "1")
	root.fifo("a/pipe")
	root.link("a", "link")
	if _, err := Clone(t.Context(), root.path("a"), root.path("b")); err == nil {
		t.Error("a FIFO was cloned")
	}
	if _, err := os.Lstat(root.path("b")); err == nil {
		t.Error("half a clone is left behind")
	}
	if _, err := Clone(t.Context(), root.path("link"), root.path("b")); err == nil {
		t.Error("a link was followed")
	}
	if _, err := Clone(t.Context(), root.path("a"), root.path("a")); !errors.Is(err, ErrDestination) {
		t.Errorf("into itself: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root.rm("a/pipe")
	if _, err := Clone(ctx, root.path("a"), root.path("c")); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestRemoveTogether removes a tree from several sides at once, as an attempt and a sweep do.
func TestRemoveTogether(t *testing.T) {
	t.Parallel()
	root := newDir(t, tempDir(t))
	for range 200 {
		root.write("tree/a/b/c", "1")
		root.write("tree/d", "1")
		var g errgroup.Group
		for range 4 {
			g.Go(func() error { return Remove(root.path("tree")) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(root.path("tree")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("err = %v", err)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	root := newDir(t, tempDir(t))
	root.write("keep/x", "1")
	root.write("tree/locked/a/b", "1")
	root.link("../keep", "tree/link")
	root.link("../../keep", "tree/locked/link")
	root.fifo("tree/pipe")
	root.chmod("tree/locked/a", 0)
	root.chmod("tree/locked", 0o100)
	root.chmod("tree", 0o555)
	for range 2 {
		if err := Remove(root.path("tree")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(root.path("tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	root.link("keep", "link")
	if err := Remove(root.path("link")); err != nil {
		t.Fatal(err)
	}
	if root.read("keep/x") != "1" {
		t.Error("a link was followed")
	}
	if err := Remove(root.path("none/none")); err != nil {
		t.Errorf("absent: %v", err)
	}
}

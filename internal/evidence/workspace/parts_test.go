package workspace

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/failure"
)

func seedAll(t *testing.T, parts ...Part) (SeededTree, dir) {
	t.Helper()
	base := filepath.Join(tempDir(t), "base")
	s, err := SeedAll(t.Context(), parts, base)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir{t, base}
}

// Two workspaces with the same relative path: neither manifest, change set nor patch takes one for the other.
func TestSeedAllParts(t *testing.T) {
	t.Parallel()
	src := repo(t)
	before := times(t, src.root)
	other := newDir(t, filepath.Join(tempDir(t), "other"))
	other.write("a.txt", "other\n")
	other.write("skip/x", "x")
	other.fifo("pipe")
	file := newDir(t, tempDir(t))
	file.exec("tool.sh", "#!/bin/sh\n")
	tree, base := seedAll(t,
		Part{Source: Source{Kind: SourceDirectory, Dir: src.root}, Target: "/wordpress/wp-content/plugins/example", Index: 0, SourceMode: "repo-backed"},
		Part{Source: Source{Dir: other.root, Exclude: []string{"skip/"}}, Target: "//workspace//other/", Index: 2},
		Part{Source: Source{Kind: SourceTheme, Slug: "bare", Name: "Bare"}, Target: "/wordpress/wp-content/themes/bare", Index: 3},
		Part{Source: Source{Kind: SourceFile, Dir: file.path("tool.sh")}, Target: "/opt/bin/tool", Index: 4},
		Part{Source: Source{Kind: SourceEmpty}, Target: "/scratch", Index: 5},
	)
	if diff := cmp.Diff(before, times(t, src.root)); diff != "" {
		t.Errorf("the source was touched (-before +after):\n%s", diff)
	}
	if tree.Method() == "" {
		t.Error("no method is recorded")
	}
	want := []Mount{
		{0, "/wordpress/wp-content/plugins/example", "wordpress/wp-content/plugins/example", false},
		{2, "/workspace/other", "workspace/other", false},
		{3, "/wordpress/wp-content/themes/bare", "wordpress/wp-content/themes/bare", false},
		{4, "/opt/bin/tool", "opt/bin/tool", true},
		{5, "/scratch", "scratch", false},
	}
	if diff := cmp.Diff(want, tree.Layout.Mounts); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
	if m := snap(t, base.root, nil); len(m.Git) > 0 {
		t.Errorf("repositories in the tree: %v", m.Git)
	}
	if tree.Parts[0].Commit == "" || !tree.Parts[0].Dirty || !strings.Contains(tree.Parts[0].Notes[0].Detail, "history is not") {
		t.Errorf("the repository is not recorded: %+v", tree.Parts[0])
	}
	if got := tree.Parts[1].Notes; len(got) != 1 || got[0].Code != NoteSpecialFile {
		t.Errorf("notes: %v", got)
	}
	if _, err := os.Lstat(base.path("workspace/other/skip")); err == nil {
		t.Error("an excluded directory came along")
	}

	b := &testBundle{t: t, root: filepath.Dir(base.root), base: base.root, work: base.path("../work")}
	b.start()
	w := b.w()
	w.write("wordpress/wp-content/plugins/example/a.txt", "changed\n")
	w.write("workspace/other/a.txt", "changed too\n")
	w.write("opt/bin/tool", "#!/bin/sh\nexit 1\n")
	w.write("beside", "1\n")
	_, cs, text := b.verify()
	places := map[string]Place{}
	for _, f := range cs.Files() {
		p, ok := tree.Layout.Locate(f.Path)
		if ok != (f.RelativePath != "beside") {
			t.Errorf("%s: found %v", f.RelativePath, ok)
		}
		if back, found := tree.Layout.Find(p.Path); found != ok || ok && back != f.Path {
			t.Errorf("%s: at %s is %q (%v)", f.RelativePath, p.Path, back, found)
		}
		places[f.RelativePath] = p
	}
	if diff := cmp.Diff(map[string]Place{
		"wordpress/wp-content/plugins/example/a.txt": {"/wordpress/wp-content/plugins/example/a.txt", "a.txt", 0, "/wordpress/wp-content/plugins/example"},
		"workspace/other/a.txt":                      {"/workspace/other/a.txt", "a.txt", 2, "/workspace/other"},
		"opt/bin/tool":                               {"/opt/bin/tool", "tool", 4, "/opt/bin"},
		"beside":                                     {"/beside", "beside", -1, "/"},
	}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s\n%s", diff, text)
	}
}

func TestSeedAllOne(t *testing.T) {
	t.Parallel()
	src := repo(t)
	tree, d := seedAll(t, Part{Source: Source{Dir: src.root}, Target: "/wordpress/wp-content/plugins/example", Index: 1})
	if len(tree.Parts) != 1 || tree.Parts[0].Branch != "main" || !tree.Parts[0].Dirty {
		t.Errorf("%+v", tree)
	}
	if got := gitIn(t, d.root, "log", "--format=%s"); got != "second\nfirst\n" {
		t.Errorf("log: %s", got)
	}
	p, ok := tree.Layout.Locate("sub/x")
	if !ok || p != (Place{"/wordpress/wp-content/plugins/example/sub/x", "sub/x", 1, "/wordpress/wp-content/plugins/example"}) {
		t.Errorf("%+v", p)
	}
	_, d = seedAll(t, Part{Source: Source{Kind: SourceFile, Dir: src.path("run.sh")}, Target: "/x/as.sh"})
	if d.read("as.sh") != "#!/bin/sh\n" {
		t.Error("one file")
	}
	tree, d = seedAll(t)
	if len(tree.Parts) != 0 || len(snap(t, d.root, nil).Entries) != 0 {
		t.Errorf("no parts: %+v", tree)
	}
}

func TestSeedAllRefuses(t *testing.T) {
	t.Parallel()
	root := newDir(t, tempDir(t))
	root.write("a/x", "1")
	a := Source{Dir: root.path("a")}
	tests := map[string]struct {
		parts []Part
		want  []string
	}{
		"one target":     {[]Part{{Source: a, Target: "/w"}, {Source: a, Target: "/w/"}}, []string{"$[1].target duplicate"}},
		"nested":         {[]Part{{Source: a, Target: "/w/x"}, {Source: a, Target: "/w"}}, []string{"$[1].target conflict"}},
		"all at once":    {[]Part{{Source: a, Target: "w"}, {Source: a, Target: "/../w"}, {Source: a, Mode: "readonly", Target: "/ok"}}, []string{"$[0].target bad_format", "$[1].target bad_format", "$[2].mode not_allowed"}},
		"the root":       {[]Part{{Source: a, Target: "//"}}, []string{"$[0].target bad_format"}},
		"a dot":          {[]Part{{Source: a, Target: "/a/./b"}}, []string{"$[0].target bad_format"}},
		"git's own name": {[]Part{{Source: a, Target: "/a/.git/hooks"}}, []string{"$[0].target bad_format"}},
		"no target":      {[]Part{{Source: a}}, []string{"$[0].target bad_format"}},
		"a bad seed":     {[]Part{{Source: Source{Kind: SourcePlugin}, Target: "/w"}}, []string{"$[0].seed bad_format"}},
	}
	for name, tt := range tests {
		base := filepath.Join(tempDir(t), "base")
		_, err := SeedAll(t.Context(), tt.parts, base)
		var got []string
		for _, f := range fault.Of(err) {
			got = append(got, f.Path+" "+f.Code)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if _, err := os.Lstat(base); err == nil {
			t.Errorf("%s: the base is there", name)
		}
	}
	// The second part cannot be seeded: nothing of the first stays.
	base := filepath.Join(tempDir(t), "base")
	_, err := SeedAll(t.Context(), []Part{{Source: a, Target: "/a"}, {Source: Source{Dir: root.path("none")}, Target: "/b"}}, base)
	if !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(base); err == nil {
		t.Error("half a tree is left behind")
	}
	root.write("used/mine", "1")
	if _, err := SeedAll(t.Context(), []Part{{Source: a, Target: "/a"}, {Source: a, Target: "/b"}}, root.path("used")); !errors.Is(err, ErrDestination) {
		t.Errorf("err = %v", err)
	}
	if root.read("used/mine") != "1" {
		t.Error("a destination in use was touched")
	}
}

func TestSourceCheck(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]Source{
		"unknown kind":         {Kind: "tarball", Dir: "/x"},
		"directory without":    {Kind: SourceDirectory},
		"empty with directory": {Kind: SourceEmpty, Dir: "/x"},
		"bundle without":       {Kind: SourceBundle, Dir: "/x"},
		"bundle elsewhere":     {Kind: SourceGit, Dir: "/x", Bundle: "/b"},
		"ref of a directory":   {Kind: SourceDirectory, Dir: "/x", Ref: "main"},
		"slug with a slash":    {Kind: SourcePlugin, Slug: "../x"},
		"slug of a directory":  {Dir: "/x", Slug: "s"},
		"long slug":            {Kind: SourceTheme, Slug: strings.Repeat("x", 200)},
		"exclude of a file":    {Kind: SourceFile, Dir: "/x", Exclude: []string{"a"}},
	} {
		if _, err := Seed(t.Context(), src, filepath.Join(tempDir(t), "ws")); !errors.Is(err, ErrSource) || failure.ClassOf(err) != failure.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, p := range []string{"", "/abs", "../x", "a/../b", "a/**/b", "*x", "a//b", "./a", "a\x00b"} {
		_, err := Seed(t.Context(), Source{Dir: t.TempDir(), Exclude: []string{p}}, filepath.Join(tempDir(t), "ws"))
		if !errors.Is(err, ErrGlob) || failure.ClassOf(err) != failure.Config {
			t.Errorf("exclude %q: %v", p, err)
		}
	}
}

func TestSeedExclude(t *testing.T) {
	t.Parallel()
	fill := func(d dir) {
		for _, p := range []string{"keep", "exact", "exactly", "dir/x", "dir/sub/y", "dirt/z", "ci/a", "tmp-1", "tmp-2/x", "deep/in/it", "deep/in2/it"} {
			d.write(p, p)
		}
	}
	exclude := []string{"exact", "dir", "ci/**", "tmp-*", "deep/in/", "absent"}
	want := []string{"dir deep", "dir deep/in2", "file deep/in2/it", "dir dirt", "file dirt/z", "file exactly", "file keep"}
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	fill(src)
	_, d := seed(t, Source{Dir: src.root, Exclude: exclude})
	if diff := cmp.Diff(want, paths(snap(t, d.root, nil))); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	gitIn(t, src.root, "init", "-q", "-b", "main")
	gitIn(t, src.root, "add", "-A")
	gitIn(t, src.root, "commit", "-q", "-m", "x")
	for _, ref := range []string{"", "main"} {
		s, d := seed(t, Source{Dir: src.root, Ref: ref, Exclude: exclude})
		if diff := cmp.Diff(want, paths(snap(t, d.root, nil))); diff != "" {
			t.Errorf("ref %q (-want +got):\n%s", ref, diff)
		}
		if got := gitIn(t, d.root, "status", "--porcelain"); got != "" || s.Dirty {
			t.Errorf("ref %q: what was left out looks deleted:\n%s", ref, got)
		}
	}
	if _, d = seed(t, Source{Dir: src.root, Exclude: []string{"*"}}); len(snap(t, d.root, nil).Entries) != 0 {
		t.Error("all excluded, and something came along")
	}
}

func TestSeedScaffold(t *testing.T) {
	t.Parallel()
	s, d := seed(t, Source{Kind: SourcePlugin, Slug: "my-Plugin_1", Name: "My */ <?php evil(); ?>\nLicense: none"})
	if diff := cmp.Diff([]string{"file my-Plugin_1.php", "file readme.txt"}, paths(snap(t, d.root, nil))); diff != "" || s.Kind != SourcePlugin {
		t.Errorf("plugin %+v:\n%s", s, diff)
	}
	text := d.read("my-Plugin_1.php")
	if !strings.Contains(text, "\n * Plugin Name: My <?php evil(); License: none\n") || strings.Count(text, "*/") != 1 || strings.Contains(text, "?>") {
		t.Errorf("header:\n%s", text)
	}
	_, d = seed(t, Source{Kind: SourceTheme, Slug: "bare"})
	if diff := cmp.Diff([]string{"file functions.php", "file index.php", "file style.css"}, paths(snap(t, d.root, nil))); diff != "" {
		t.Errorf("theme:\n%s", diff)
	}
	if !strings.Contains(d.read("style.css"), "Theme Name: bare\n") {
		t.Errorf("style.css:\n%s", d.read("style.css"))
	}
}

// Nothing in a source is opened that is not a file, and what cannot be copied is reported.
func TestSeedSpecialFiles(t *testing.T) {
	t.Parallel()
	src := newDir(t, filepath.Join(tempDir(t), "s"))
	src.write("x", "1")
	src.fifo("pipe")
	l, err := net.Listen("unix", src.path("sock"))
	src.do(err)
	t.Cleanup(func() { _ = l.Close() })
	want := []Note{{"pipe", NoteSpecialFile, "a fifo is not copied"}, {"sock", NoteSpecialFile, "a socket is not copied"}}
	if err := unix.Mknod(src.path("dev"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err == nil { // only root may
		want = append([]Note{{"dev", NoteSpecialFile, "a device is not copied"}}, want...)
	}
	s, d := seed(t, Source{Dir: src.root})
	if diff := cmp.Diff(want, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"file x"}, paths(snap(t, d.root, nil))); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	for _, p := range []string{"pipe", "sock"} {
		if _, err := Seed(t.Context(), Source{Kind: SourceFile, Dir: src.path(p)}, d.path("../one")); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

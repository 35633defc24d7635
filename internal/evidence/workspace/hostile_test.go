package workspace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Patches that try to leave the tree, or to run something.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	add := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
	}
	tests := map[string]string{
		"parent":                  add("../outside/x"),
		"parent inside":           add("a/../../outside/x"),
		"absolute":                "--- /dev/null\n+++ /tmp/../etc/deed-x\n@@ -0,0 +1 @@\n+x\n",
		"into .git":               add(".git/hooks/pre-commit"),
		"into .GIT":               add(".GIT/config"),
		"through a link":          add("link/x"),
		"through a link inside":   add("inner/x"),
		"link and then through":   "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../outside\n\\ No newline at end of file\n" + add("l/x"),
		"over a file that exists": add("file"),
		"context does not match":  "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-other\n+x\n",
		"missing file":            "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-1\n+x\n",
		"no patch at all":         "hello\n",
		"cut short":               "diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n-1\n",
		"NUL":                     "diff --git a/file b/file\x00\n",
	}
	for name, patch := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newDir(t, tempDir(t))
			root.mkdir("outside")
			root.write("tree/file", "1\n")
			root.mkdir("tree/dir")
			root.link("../outside", "tree/link")
			root.link("dir", "tree/inner")
			root.write("p", patch)
			before := snap(t, root.root, nil)
			err := Apply(t.Context(), root.path("tree"), root.path("p"))
			if !errors.Is(err, ErrApply) {
				t.Errorf("err = %v", err)
			}
			if diffs := Compare(before, snap(t, root.root, nil)); len(diffs) > 0 {
				t.Errorf("something was written: %v", diffs)
			}
		})
	}
	d := newDir(t, tempDir(t))
	d.write("p", add("x"))
	d.link(".", "link")
	d.mkdir("pd")
	for _, tt := range [][2]string{{"link", "p"}, {"none", "p"}, {"p", "p"}, {".", "none"}, {".", "pd"}} {
		if err := Apply(t.Context(), d.path(tt[0]), d.path(tt[1])); err == nil {
			t.Errorf("apply %s to %s: no error", tt[1], tt[0])
		}
	}
}

// Attributes in the tree, the configuration of a repository in it, and its hooks have no effect on what Apply writes.
func TestApplyIsHermetic(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) {
		gitIn(t, d.root, "init", "-q")
		ran := filepath.Join(filepath.Dir(d.root), "ran")
		for _, k := range []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "core.fsmonitor"} {
			gitIn(t, d.root, "config", k, "touch "+ran)
		}
		gitIn(t, d.root, "config", "core.autocrlf", "true")
		d.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident working-tree-encoding=UTF-16LE\n")
		d.write("a", "1\n$Id$\n")
	})
	w := b.w()
	w.write("a", "2\n$Id: x $\n")
	w.write("new", "lf\ncrlf\r\n")
	after, cs := b.capture()
	p, _ := b.patch(cs)
	dst := filepath.Join(b.root, "room")
	if err := CleanRoom(t.Context(), b.base, b.before, p, nil, dst); err != nil {
		t.Fatal(err)
	}
	b.same(after, cs, dst)
	if err := Check(t.Context(), b.base, b.before, p, after, cs); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(b.root, "ran")); err == nil {
		t.Error("a driver or monitor ran")
	}
}

// What the agent swaps between snapshot and patch does not get into the patch.
func TestWritePatchNotices(t *testing.T) {
	t.Parallel()
	tests := map[string]func(root, base, work dir) Code{
		"content": func(_, _, w dir) Code { w.write("a", "3\n"); return ErrChangedDuringCapture },
		"size":    func(_, _, w dir) Code { w.write("a", "33333\n"); return ErrChangedDuringCapture },
		"gone":    func(_, _, w dir) Code { w.rm("a"); return ErrChangedDuringCapture },
		"link to a secret": func(r, _, w dir) Code {
			w.rm("a")
			w.link(r.path("secret"), "a")
			return ErrChangedDuringCapture
		},
		"FIFO":           func(_, _, w dir) Code { w.rm("a"); w.fifo("a"); return ErrChangedDuringCapture },
		"directory":      func(_, _, w dir) Code { w.rm("a"); w.mkdir("a"); return ErrChangedDuringCapture },
		"parent a link":  func(r, _, w dir) Code { w.rm("d"); w.link(r.path("other"), "d"); return ErrChangedDuringCapture },
		"retargeted":     func(_, _, w dir) Code { w.rm("l"); w.link("z", "l"); return ErrChangedDuringCapture },
		"link to file":   func(_, _, w dir) Code { w.rm("l"); w.write("l", "y"); return ErrChangedDuringCapture },
		"base":           func(_, b, _ dir) Code { b.write("a", "0\n"); return ErrBaseTampered },
		"base parent":    func(r, b, _ dir) Code { b.rm("d"); b.link(r.path("other"), "d"); return ErrBaseTampered },
		"base file gone": func(_, b, _ dir) Code { b.rm("a"); return ErrBaseTampered },
	}
	for name, swap := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(d dir) { d.write("a", "1\n"); d.write("d/x", "1\n"); d.link("x", "l") })
			root := dir{t, b.root}
			root.write("secret", "2\n") // the same content as recorded: the link itself must be refused
			root.write("other/x", "2\n")
			w := b.w()
			w.write("a", "2\n")
			w.write("d/x", "2\n")
			w.rm("l")
			w.link("y", "l")
			_, cs := b.capture()
			want := swap(root, dir{t, b.base}, w)
			if err := WritePatch(t.Context(), b.base, b.work, cs, io.Discard); !errors.Is(err, want) {
				t.Errorf("err = %v, want %v", err, want)
			}
		})
	}
}

func TestWritePatchPassesOnErrors(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.w().write("a", strings.Repeat("x\n", 1<<20))
	_, cs := b.capture()
	full := errors.New("no space left")
	if err := WritePatch(t.Context(), b.base, b.work, cs, failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("err = %v", err)
	}
	l := &limited{w: io.Discard, left: 3}
	if _, err := l.Write([]byte("1234")); !errors.Is(err, ErrPatchTooLarge) {
		t.Errorf("err = %v", err)
	}
	left, err := filepath.Glob(filepath.Join(b.root, ".deed-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

// A patch that says something else than the change set is caught, path by path.
func TestCheckNotices(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("a", "1\n"); d.write("same", "1\n") })
	w := b.w()
	w.write("a", "2\n")
	w.write("new", "1\n")
	w.link("x", "l")
	after, cs := b.capture()
	p, good := b.patch(cs)
	for name, tt := range map[string]struct {
		old, new string
		want     string
	}{
		"other content": {"+2\n", "+3\n", "a: content"},
		"other mode":    {"b/new\nnew file mode 100644", "b/new\nnew file mode 100755", "new: mode 0100 instead of 0000"},
		"other kind":    {"b/l\nnew file mode 120000", "b/l\nnew file mode 100644", "l: is a file instead of a symlink"},
		"one more":      {"diff --git a/l", "diff --git a/more b/more\nnew file mode 100644\ndiff --git a/l", "more: unexpected file"},
		"one less":      {good[strings.Index(good, "diff --git a/new"):], "", "new: missing file"},
	} {
		bad := strings.Replace(good, tt.old, tt.new, 1)
		if bad == good {
			t.Fatalf("%s: nothing replaced in\n%s", name, good)
		}
		dir{t, b.root}.write("bad", bad)
		err := Check(t.Context(), b.base, b.before, filepath.Join(b.root, "bad"), after, cs)
		var m *Mismatch
		if !errors.Is(err, ErrPatchMismatch) || !errors.As(err, &m) || !strings.Contains(m.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A path of the base that is in no change must not be touched: it is not there to be patched.
	dir{t, b.root}.write("bad", good+"diff --git a/same b/same\n--- a/same\n+++ b/same\n@@ -1 +1 @@\n-1\n+2\n")
	if err := Check(t.Context(), b.base, b.before, filepath.Join(b.root, "bad"), after, cs); !errors.Is(err, ErrApply) {
		t.Errorf("one more change: %v", err)
	}
	if err := Check(t.Context(), b.base, b.before, p, after, cs); err != nil {
		t.Errorf("the true patch: %v", err)
	}
	dir{t, b.base}.write("a", "0\n")
	if err := Check(t.Context(), b.base, b.before, p, after, cs); !errors.Is(err, ErrBaseTampered) {
		t.Errorf("another base: %v", err)
	}
}

func TestCleanRoom(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) {
		d.write("src/a", "1\n")
		d.write("tests/a_test", "true test\n")
		d.exec("tests/run", "#!/bin/sh\n")
		d.write("tests/sub/b_test", "b\n")
		d.link("a_test", "tests/link")
		d.mkdir("tests/empty")
		d.write("ci.yml", "ci\n")
		d.write("lock", "l\n")
	})
	w := b.w()
	w.write("src/a", "2\n")
	w.write("src/new", "n\n")
	w.rm("tests")
	w.link("evil", "tests")
	w.write("evil/a_test", "passes\n")
	w.write("ci.yml.d/x", "x\n")
	w.rm("lock")
	w.write("lock/x", "x\n")
	w.rm("ci.yml")
	after, cs := b.capture()
	_ = after
	p, _ := b.patch(cs)
	dst := filepath.Join(b.root, "room")
	// The empty directory makes the link unrepresentable; the deletions are in the patch all the same.
	if err := CleanRoom(t.Context(), b.base, b.before, p, []string{"tests/", "ci.yml", "lock", "ci.yml.d/**"}, dst); err != nil {
		t.Fatal(err)
	}
	got := snap(t, dst, nil)
	want := []string{
		"file ci.yml", "dir evil", "file evil/a_test", "file lock", "dir src", "file src/a", "file src/new",
		"dir tests", "file tests/a_test", "dir tests/empty", "symlink tests/link", "file tests/run", "dir tests/sub", "file tests/sub/b_test",
	}
	if diff := cmp.Diff(want, paths(got)); diff != "" {
		t.Errorf("room (-want +got):\n%s", diff)
	}
	for _, pinned := range []string{"tests/a_test", "tests/run", "tests/link", "tests/sub/b_test", "ci.yml", "lock"} {
		if s := describe(b.before.Find(pinned), got.Find(pinned)); s != "" {
			t.Errorf("%s: %s", pinned, s)
		}
	}
	if got.Find("src/a").SHA256.String() != sha("2\n") {
		t.Error("the patch is not in the room")
	}
}

func TestCleanRoomPinsAgainstLinks(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("tests/a", "1\n"); d.write("tests/sub/b", "1\n"); d.write("src/x", "x\n") })
	w := b.w()
	w.rm("tests")
	w.link("evil", "tests") // a link to a directory that the patch brings along
	w.write("evil/a", "forged\n")
	w.write("evil/sub/b", "forged\n")
	_, cs := b.capture()
	p, _ := b.patch(cs)
	dst := filepath.Join(b.root, "room")
	if err := CleanRoom(t.Context(), b.base, b.before, p, []string{"tests/**"}, dst); err != nil {
		t.Fatal(err)
	}
	d := dir{t, dst}
	if d.read("tests/a") != "1\n" || d.read("tests/sub/b") != "1\n" || d.read("evil/a") != "forged\n" {
		t.Errorf("tests: %q %q, evil: %q", d.read("tests/a"), d.read("tests/sub/b"), d.read("evil/a"))
	}
	if diffs := Compare(b.before, &Manifest{Entries: below2(snap(t, dst, nil), "evil")}); len(diffs) > 0 {
		t.Errorf("room: %v", diffs)
	}
}

// below2 leaves out a directory and all that is below it.
func below2(m *Manifest, without string) []Entry {
	var out []Entry
	for _, e := range m.Entries {
		if e.Path != without && !strings.HasPrefix(e.Path, without+"/") {
			out = append(out, e)
		}
	}
	return out
}

func TestCleanRoomRefusesAnotherBase(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(d dir){
		"content":    func(d dir) { d.write("a", "2\n") },
		"mode":       func(d dir) { d.chmod("a", 0o755) },
		"more":       func(d dir) { d.write("more", "") },
		"less":       func(d dir) { d.rm("a") },
		"repository": func(d dir) { d.write(".git/hooks/x", "evil") },
		"link":       func(d dir) { d.rm("a"); d.link("/etc/passwd", "a") },
	} {
		b := setup(t, func(d dir) { d.write("a", "1\n"); gitIn(t, d.root, "init", "-q", "--template=") })
		p, _ := b.patch(ChangeSet{})
		tamper(dir{t, b.base})
		dst := filepath.Join(b.root, "room")
		if err := CleanRoom(t.Context(), b.base, b.before, p, nil, dst); !errors.Is(err, ErrBaseTampered) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dst); err == nil {
			t.Errorf("%s: the room is left behind", name)
		}
	}
	b := setup(t, nil)
	p, _ := b.patch(ChangeSet{})
	if err := CleanRoom(t.Context(), b.base, b.before, p, []string{"../x"}, filepath.Join(b.root, "room")); !errors.Is(err, ErrGlob) {
		t.Errorf("bad glob: %v", err)
	}
	dir{t, b.root}.write("bad", "nonsense\n")
	if err := CleanRoom(t.Context(), b.base, b.before, filepath.Join(b.root, "bad"), nil, filepath.Join(b.root, "room")); !errors.Is(err, ErrApply) {
		t.Errorf("bad patch: %v", err)
	}
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	for _, isGit := range []bool{true, false} {
		b := setup(t, func(d dir) {
			d.write(".gitignore", "*.log\n/build/\n!keep.log\nnode_modules\n:odd\n")
			d.write("sub/.gitignore", "*.tmp\n")
			d.write("tracked.log", "1\n")
			d.write("untracked.log", "1\n")
			if isGit {
				gitIn(t, d.root, "init", "-q")
				gitIn(t, d.root, "add", ".gitignore", "sub/.gitignore")
				gitIn(t, d.root, "add", "-f", "tracked.log")
				gitIn(t, d.root, "commit", "-q", "-m", "x")
				d.write(".git/info/exclude", "local-only\n")
			}
		})
		w := b.w()
		w.write(".gitignore", "*\n") // must hide nothing
		w.write("new/.gitignore", "*\n")
		w.write("new/x", "1\n")
		w.write("tracked.log", "2\n")
		w.write("untracked.log", "2\n")
		w.write("a.log", "1\n")
		w.write("keep.log", "1\n")
		w.write("build/out/x", "1\n")
		w.write("sub/build/x", "1\n")
		w.write("sub/x.tmp", "1\n")
		w.write("x.tmp", "1\n")
		w.write(":odd", "1\n")
		w.write("local-only", "1\n")
		w.mkdir("node_modules")
		w.write("new\nline.log", "1\n")
		w.write(".git2", "1\n")
		_, cs, text := b.verify()
		logClass, localClass := "tracked", "ignored"
		if !isGit {
			logClass, localClass = "ignored", "tracked"
		}
		want := "tracked added .git2\ntracked modified .gitignore\nignored added :odd\nignored added a.log\nignored added build/out/x\ntracked added keep.log\n" +
			localClass + " added local-only\ntracked added new/.gitignore\ntracked added new/x\nignored added new\nline.log\nignored added node_modules\n" +
			"tracked added sub/build/x\nignored added sub/x.tmp\n" + logClass + " modified tracked.log\nignored modified untracked.log\ntracked added x.tmp\n"
		// "new\nline.log" sorts before "new/x": a newline is smaller than a slash.
		want = strings.Replace(want, "tracked added new/.gitignore\ntracked added new/x\nignored added new\nline.log\n", "ignored added new\nline.log\ntracked added new/.gitignore\ntracked added new/x\n", 1)
		if diff := cmp.Diff(want, summary(cs)); diff != "" {
			t.Errorf("git %v (-want +got):\n%s", isGit, diff)
		}
		if strings.Contains(text, "a.log") {
			t.Errorf("an ignored file is in the patch")
		}
	}
}

// An ignored file is carried after all where a carried change needs its place.
func TestIgnoredInTheWay(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) {
		d.write(".gitignore", "*.log\ncache/\nf.log\n")
		d.write("d/a", "1\n")
		d.write("d/x.log", "1\n")
		d.write("cache/x", "1\n")
		d.write("f.log", "1\n")
	})
	w := b.w()
	w.rm("d")
	w.link("elsewhere", "d")
	w.rm("cache")
	w.link("elsewhere", "cache") // "cache/" is for directories only
	_, cs, _ := b.verify()
	want := "tracked type_changed cache\ntracked deleted cache/x\ntracked type_changed d\ntracked deleted d/a\ntracked deleted d/x.log\n"
	if diff := cmp.Diff(want, summary(cs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRepositoryChanges(t *testing.T) {
	t.Parallel()
	src := repo(t)
	root := tempDir(t)
	b := &testBundle{t: t, root: root, base: filepath.Join(root, "base"), work: filepath.Join(root, "work")}
	if _, err := Seed(t.Context(), Source{Dir: src.root}, b.base); err != nil {
		t.Fatal(err)
	}
	b.start()
	w := b.w()
	gitIn(t, b.work, "commit", "-q", "-a", "-m", "agent's own")
	w.exec(".git/hooks/post-commit", "#!/bin/sh\n")
	gitIn(t, b.work, "init", "-q", "nested")
	w.write("nested/x", "1\n")
	w.write("x.log", "changed\n")
	_, cs, text := b.verify()
	want := "git modified .git\ngit added nested/.git\ntracked added nested/x\nignored modified x.log\n"
	if diff := cmp.Diff(want, summary(cs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(text, ".git/") {
		t.Errorf("the patch has a path in .git:\n%s", text)
	}
}

func TestPatchIsStable(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("a", "1\n") })
	b.w().write("a", "2\n")
	b.w().write("é", "\x00")
	_, cs := b.capture()
	var one, two bytes.Buffer
	for _, w := range []*bytes.Buffer{&one, &two} {
		if err := WritePatch(t.Context(), b.base, b.work, cs, w); err != nil {
			t.Fatal(err)
		}
	}
	if one.String() != two.String() || one.Len() == 0 {
		t.Error("the patch of the same change differs")
	}
}

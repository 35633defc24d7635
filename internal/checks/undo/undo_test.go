package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type tester interface {
	Helper()
	Fatal(args ...any)
}

func write(t tester, dir, p, text string) {
	t.Helper()
	p = filepath.Join(dir, p)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t tester, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// state is everything below a directory, for a comparison.
func state(t tester, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		st, err := os.Lstat(p)
		switch {
		case err != nil:
			return err
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			got[rel] = "-> " + to
		case st.IsDir():
			got[rel] = st.Mode().String()
		default:
			text, err := os.ReadFile(p)
			got[rel] = fmt.Sprintf("%s %s %q", st.Mode(), st.ModTime().Format(time.RFC3339Nano), text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// seeded is a tree with one of everything.
func seeded(t *testing.T) (store, dir string) {
	t.Helper()
	store, dir = t.TempDir(), t.TempDir()
	for p, text := range map[string]string{
		"a.go": "a\n", "b.go": "b\n", "gone/deep/c.go": "c\n", "odd \n name\xff.go": "o\n", "run.sh": "#!/bin/sh\n", "file": "f\n", "empty": "",
		"was/a/dir.go": "d\n", "node_modules/x.js": "x\n",
	} {
		write(t, dir, p, text)
	}
	must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o755), os.Symlink("a.go", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "hollow"), 0o750),
		os.Chtimes(filepath.Join(dir, "a.go"), time.Unix(1000, 5), time.Unix(1000, 5)))
	return store, dir
}

// damageTree does to a tree what a fixer should not.
func damageTree(t *testing.T, dir string) {
	t.Helper()
	at := func(p string) string { return filepath.Join(dir, p) }
	write(t, dir, "a.go", "spoilt\n")
	write(t, dir, "new/deep/n.go", "n\n")
	write(t, dir, "odd \n name\xff.go", "spoilt\n")
	must(t,
		os.RemoveAll(at("gone")), os.Chmod(at("run.sh"), 0o600), os.Remove(at("link")), os.Symlink("b.go", at("link")),
		os.Remove(at("file")), os.Mkdir(at("file"), 0o755), os.RemoveAll(at("was")), os.Symlink("/etc", at("was")), os.Remove(at("b.go")), os.Symlink("/etc/passwd", at("b.go")))
	write(t, dir, "file/inside/x", "x\n")
}

func TestRestorePutsEverythingBack(t *testing.T) {
	t.Parallel()
	store, dir := seeded(t)
	before := state(t, dir)
	c, err := Take(t.Context(), store, dir)
	must(t, err)
	defer c.Close()
	damageTree(t, dir)
	changes, err := c.Changes(t.Context())
	must(t, err)
	var got []string
	for _, ch := range changes {
		got = append(got, string(ch.Status)+" "+ch.Path)
	}
	want := []string{
		"modified a.go", "modified b.go", "modified file", "added file/inside/x", "deleted gone/deep/c.go", "modified link", "added new/deep/n.go",
		"modified odd \n name\xff.go", "modified run.sh", "modified was", "deleted was/a/dir.go",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(t, c.Restore(t.Context()))
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, ok := Pending(store, dir); ok {
		t.Error("there is still something to undo")
	}
	if _, err := os.Lstat("/etc/passwd"); err != nil {
		t.Error(err)
	}
}

func TestRestoreSomeAndKeepTheRest(t *testing.T) {
	t.Parallel()
	store, dir := seeded(t)
	c, err := Take(t.Context(), store, dir)
	must(t, err)
	defer c.Close()
	write(t, dir, "a.go", "fixed\n")
	write(t, dir, "b.go", "advice\n")
	must(t, c.Restore(t.Context(), "b.go"), c.Keep())
	got := state(t, dir)
	if !strings.Contains(got["a.go"], "fixed") || !strings.Contains(got["b.go"], `"b\n"`) {
		t.Errorf("got %q, %q", got["a.go"], got["b.go"])
	}
	entries, err := os.ReadDir(c.home)
	must(t, err)
	if len(entries) != 1 { // the lock
		t.Errorf("left: %v", entries)
	}
}

// A run that is killed leaves its copy. The next one puts the files back and lays aside what it found.
func TestRecoverAfterAKill(t *testing.T) {
	t.Parallel()
	store, dir := seeded(t)
	before := state(t, dir)
	c, err := Take(t.Context(), store, dir)
	must(t, err)
	damageTree(t, dir)
	if _, _, err := Recover(t.Context(), store, dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a run that is at work was undone: %v", err)
	}
	if _, ok := Pending(store, dir); ok {
		t.Error("a run that is at work is called killed")
	}
	c.Close() // as the kernel does
	if _, ok := Pending(store, dir); !ok {
		t.Error("nobody knows of the killed run")
	}
	if _, err := Take(t.Context(), store, dir); !errors.Is(err, ErrPending) {
		t.Errorf("the copy was overwritten: %v", err)
	}
	r, ok, err := Recover(t.Context(), store, dir)
	must(t, err)
	if !ok || len(r.Restored) != 11 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Error(diff)
	}
	aside := state(t, r.Aside)
	if !strings.Contains(aside["a.go"], "spoilt") || !strings.Contains(aside["new/deep/n.go"], "n") || aside["was"] != "-> /etc" {
		t.Errorf("got %v", aside)
	}
	if _, ok, err := Recover(t.Context(), store, dir); ok || err != nil {
		t.Errorf("recovered twice: %v", err)
	}
}

// What git ignores in the directories of tools is left alone, and what it knows there is not.
func TestCopyLooksWhereGitDoes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git: apt-get install git")
	}
	store, dir := t.TempDir(), t.TempDir()
	write(t, dir, ".gitignore", "node_modules\n.env\n")
	write(t, dir, "vendor/lib.php", "v\n")
	write(t, dir, "node_modules/x.js", "x\n")
	write(t, dir, ".env", "e\n")
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := Take(t.Context(), store, dir)
	must(t, err)
	defer c.Close()
	for _, p := range []string{"vendor/lib.php", "node_modules/x.js", ".env", ".git/description"} {
		write(t, dir, p, "changed\n")
	}
	changes, err := c.Changes(t.Context())
	must(t, err)
	var got []string
	for _, ch := range changes {
		got = append(got, ch.Path)
	}
	if diff := cmp.Diff([]string{".env", "vendor/lib.php"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestADamagedCopyIsNotUsed(t *testing.T) {
	t.Parallel()
	store, dir := seeded(t)
	c, err := Take(t.Context(), store, dir)
	must(t, err)
	write(t, dir, "a.go", "spoilt\n")
	must(t, os.WriteFile(c.contentPath(), []byte("x"), 0o600))
	if err := c.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	c.Close()
	must(t, os.WriteFile(c.recordPath(), []byte("{"), 0o600))
	if _, err := Take(t.Context(), store, dir); err == nil || !strings.Contains(err.Error(), "is not the record") {
		t.Errorf("got %v", err)
	}
}

// Whatever is done to a tree, Restore gives back what was there.
func TestRestoreOfAnything(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "f/a"}
	rapid.Check(t, func(rt *rapid.T) {
		store, dir := mkdir(rt), mkdir(rt)
		defer func() { must(rt, os.RemoveAll(store), os.RemoveAll(dir)) }()
		scramble(rt, dir, names)
		before := files(state(rt, dir))
		c, err := Take(t.Context(), store, dir)
		must(rt, err)
		defer c.Close()
		scramble(rt, dir, names)
		must(rt, c.Restore(t.Context()))
		if diff := cmp.Diff(before, files(state(rt, dir))); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func mkdir(t tester) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "deed-undo-")
	must(t, err)
	return dir
}

// files leaves out directories, since empty ones are nobody's work, and times, since a file that was written again as it
// was is the same.
func files(s map[string]string) map[string]string {
	for p, v := range s {
		switch f := strings.SplitN(v, " ", 3); {
		case strings.HasPrefix(v, "d"):
			delete(s, p)
		case len(f) == 3:
			s[p] = f[0] + " " + f[2]
		}
	}
	return s
}

func scramble(t *rapid.T, dir string, names []string) {
	for range rapid.IntRange(0, 8).Draw(t, "steps") {
		name := filepath.Join(dir, rapid.SampledFrom(names).Draw(t, "name"))
		what := rapid.IntRange(0, 4).Draw(t, "what")
		if what == 0 {
			must(t, os.RemoveAll(name))
			continue
		}
		for d := filepath.Dir(name); d != dir; d = filepath.Dir(d) { // a file or link in the way
			if st, err := os.Lstat(d); err == nil && !st.IsDir() {
				must(t, os.Remove(d))
			}
		}
		must(t, os.RemoveAll(name), os.MkdirAll(filepath.Dir(name), 0o755))
		switch what {
		case 1:
			must(t, os.Mkdir(name, 0o755), os.WriteFile(filepath.Join(name, "in"), []byte("i"), 0o600))
		case 2:
			must(t, os.Symlink(rapid.SampledFrom([]string{"a", "..", "/", "d"}).Draw(t, "to"), name))
		default:
			must(t, os.WriteFile(name, []byte(rapid.String().Draw(t, "text")), rapid.SampledFrom([]fs.FileMode{0o600, 0o755}).Draw(t, "mode")))
		}
	}
}

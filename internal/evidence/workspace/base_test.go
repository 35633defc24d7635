package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, mode os.FileMode, text []byte, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, text, mode), os.Chmod(p, mode)); err != nil {
		t.Fatal(err)
	}
	return p
}

func absent(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// A small base is not on the disk until it is asked for, and is then what the workspace was, whatever has become of
// that.
func TestBaseIsHeld(t *testing.T) {
	t.Parallel()
	work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
	tool := writeFile(t, 0o755, []byte("#!/bin/sh\n"), work, "bin", "tool")
	writeFile(t, 0o600, nil, work, "empty")
	writeFile(t, 0o444, []byte("a\x00b\xff"), work, "locked", "deep", "data")
	writeFile(t, 0o644, []byte("ref: refs/heads/main\n"), work, ".git", "HEAD")
	writeFile(t, 0o644, []byte("y"), work, "odd\nname \xff")
	then := time.Unix(1_500_000_000, 123456789)
	err := errors.Join(os.Symlink("../bin/tool", filepath.Join(work, "locked", "link")), os.Symlink("/nowhere", filepath.Join(work, "out")), os.Mkdir(filepath.Join(work, "hollow"), 0o755),
		os.Chtimes(tool, then, then), os.Chmod(filepath.Join(work, "locked", "deep"), 0o555), os.Chmod(filepath.Join(work, "locked"), 0o500))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(Remove(filepath.Join(work, "locked")), Remove(dir)) })
	b, m, err := new(Seeder).TakeBase(t.Context(), work, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, cs, err := Capture(t.Context(), b, work, m); err != nil || len(cs.Changes) > 0 || !absent(t, dir) {
		t.Fatalf("nothing changed: %v, %v, and the base lies on the disk: %v", cs, err, !absent(t, dir))
	}
	writeFile(t, 0o755, []byte("rm -rf /\n"), work, "bin", "tool")
	writeFile(t, 0o644, []byte("ref: refs/heads/evil\n"), work, ".git", "HEAD")
	if _, cs, err := Capture(t.Context(), b, work, m); err != nil || len(cs.Changes) != 2 {
		t.Fatalf("two things changed: %v, %v", cs, err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if at, err := b.Dir(); err != nil || at != dir {
				t.Errorf("the base: %q, %v", at, err)
			}
		})
	}
	wait.Wait()
	laid, err := Snapshot(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameTree(m, laid); err != nil || laid.Digest() != m.Digest() {
		t.Errorf("the base is not what the workspace was: %v", err)
	}
	if st, err := os.Stat(filepath.Join(dir, "bin", "tool")); err != nil || !st.ModTime().Equal(then) {
		t.Errorf("its times are not those of the workspace: %v, %v", st, err)
	}
}

// A base that is too large for memory is on the disk from the beginning, and so is one that cannot be made again from its
// content.
func TestBaseIsCopied(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(t *testing.T, work string){
		"a large file": func(t *testing.T, work string) { writeFile(t, 0o644, make([]byte, readBuffer+1), work, "large") },
		"many bytes":   func(t *testing.T, work string) { fillWith(t, work, 5, maxHeldBytes/4) },
		"many files":   func(t *testing.T, work string) { fillWith(t, work, maxHeldEntries+1, 1) },
		"many directories": func(t *testing.T, work string) {
			for i := range maxHeldEntries + 1 {
				if err := os.Mkdir(filepath.Join(work, fmt.Sprint("d", i)), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
			fill(t, work)
			b, m, err := new(Seeder).TakeBase(t.Context(), work, dir)
			if err != nil {
				t.Fatal(err)
			}
			if absent(t, dir) {
				t.Error("it is held in memory")
			}
			at, err := b.Dir()
			if err != nil {
				t.Fatal(err)
			}
			laid, err := Snapshot(t.Context(), at, nil)
			if err != nil || laid.Digest() != m.Digest() {
				t.Errorf("the base is not what the workspace was: %v", err)
			}
		})
	}
}

func fillWith(t *testing.T, work string, files, size int) {
	t.Helper()
	for i := range files {
		writeFile(t, 0o644, bytes.Repeat([]byte("x"), size), work, fmt.Sprint("f", i))
	}
}

// A base that cannot be laid out is an error, leaves nothing, and can be tried again.
func TestBaseThatCannotBeLaidOut(t *testing.T) {
	t.Parallel()
	work, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
	writeFile(t, 0o644, []byte("x"), work, "a")
	b, _, err := new(Seeder).TakeBase(t.Context(), work, dir)
	if err != nil {
		t.Fatal(err)
	}
	in := writeFile(t, 0o644, []byte("in the way"), dir, "stranger")
	if _, err := b.Dir(); !errors.Is(err, ErrDestination) {
		t.Fatalf("a directory that is in use: %v", err)
	}
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	if at, err := b.Dir(); err != nil || absent(t, filepath.Join(at, "a")) {
		t.Errorf("asked again: %q, %v", at, err)
	}
}

// What a seeder copied is not read again for the base, unless somebody wrote to it since.
func TestSeederKnowsWhatItWrote(t *testing.T) {
	t.Parallel()
	src := newDir(t, tempDir(t))
	src.write("same", "1")
	src.write("empty", "")
	src.write("dir/program", "#!/bin/sh\n")
	src.chmod("dir/program", 0o775)
	src.write("large", strings.Repeat("x", 2*readBuffer))
	src.write("rewritten", "1")
	src.write("made executable", "1")
	src.write("replaced", "1")
	at := time.Unix(1_700_000_000, 0)
	src.do(os.Chtimes(src.path("rewritten"), at, at))
	src.do(os.Symlink("same", src.path("link")))
	work := newDir(t, filepath.Join(tempDir(t), "work"))
	var s Seeder
	if _, err := s.SeedAll(t.Context(), []Part{{Target: "/workspace", Source: Source{Dir: src.root}}}, work.root); err != nil {
		t.Fatal(err)
	}
	_, grained, _ := fsClock(work.root)
	if known := len(s.wrote.files); grained && known != 0 || !grained && known != 6 { // all but the large one
		t.Errorf("%d files are known, with times of a grain: %t", known, grained)
	}
	work.write("rewritten", "2")
	work.do(os.Chtimes(work.path("rewritten"), at, at))
	work.chmod("made executable", 0o755)
	work.write("other", "1")
	work.do(os.Rename(work.path("other"), work.path("replaced")))
	// A digest that no content has shows which files were not read again.
	for id, w := range s.wrote.files {
		w.sum[0] ^= 1
		s.wrote.files[id] = w
	}
	_, m, err := s.TakeBase(t.Context(), work.root, filepath.Join(tempDir(t), "base"))
	if err != nil {
		t.Fatal(err)
	}
	for path, read := range map[string]bool{
		"same": grained, "empty": grained, "dir/program": grained, "large": true, "rewritten": true, "made executable": true, "replaced": true,
	} {
		if got := m.Find(path).SHA256 == snap(t, work.root, nil).Find(path).SHA256; got != read {
			t.Errorf("%s was read again: %t, want %t", path, got, read)
		}
	}
	for id, w := range s.wrote.files {
		w.sum[0] ^= 1
		s.wrote.files[id] = w
	}
	base, m, err := s.TakeBase(t.Context(), work.root, filepath.Join(tempDir(t), "base"))
	if err != nil {
		t.Fatal(err)
	}
	want := snap(t, work.root, nil)
	if d := cmp.Diff(want.Entries, m.Entries, cmp.AllowUnexported(Entry{}, identity{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	dir, err := base.Dir()
	if err != nil {
		t.Fatal(err)
	}
	if got := snap(t, dir, nil).Digest(); got != want.Digest() {
		t.Errorf("the base has the digest %s, the workspace %s", got, want.Digest())
	}
}

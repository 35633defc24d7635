package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func paths(m *Manifest) []string {
	var out []string
	for _, e := range m.Entries {
		out = append(out, string(e.Kind)+" "+e.Path)
	}
	return out
}

func TestSnapshotLists(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("b/z", "1")
	d.write("b-c", "2")
	d.write("b/.hidden", "")
	d.mkdir("empty")
	d.link("/etc/passwd", "link")
	d.fifo("pipe")
	d.write(".gitignore", "ignored\n")
	d.write("ignored", "x")
	d.write(".git/config", "c")
	d.write("sub/.git/HEAD", "h")
	d.write("sub/x", "x")
	d.write("wt/.git", "gitdir: elsewhere\n")
	d.write(".github/x", "x")
	d.write("x.git/y", "y")
	m := snap(t, d.root, nil)
	want := []string{
		"dir .github", "file .github/x", "file .gitignore", "dir b", "file b-c", "file b/.hidden", "file b/z", "dir empty", "file ignored",
		"symlink link", "fifo pipe", "dir sub", "file sub/x", "dir wt", "dir x.git", "file x.git/y",
	}
	if diff := cmp.Diff(want, paths(m)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	var gits []string
	for _, g := range m.Git {
		gits = append(gits, string(g.Kind)+" "+g.Path)
	}
	if diff := cmp.Diff([]string{"dir .git", "dir sub/.git", "file wt/.git"}, gits); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	if e := m.Find("link"); e.Target != "/etc/passwd" || e.SHA256.String() != sha("/etc/passwd") || e.GitMode() != "120000" {
		t.Errorf("link: %+v", e)
	}
	if e := m.Find("b/z"); e.SHA256.String() != sha("1") || e.Size != 1 || e.GitMode() != "100644" {
		t.Errorf("file: %+v", e)
	}
	if files, bytes := m.Count(); files != 8 || bytes != 14 {
		t.Errorf("count: %d files, %d bytes", files, bytes)
	}

	d.write(".git/hooks/pre-commit", "evil")
	m2 := snap(t, d.root, m)
	if m.Digest() != m2.Digest() {
		t.Error("a change in .git changes the digest of the tree")
	}
	if got := summary(Diff(m, m2, Ignore{})); got != "git modified .git\n" {
		t.Errorf("change in .git: %q", got)
	}
}

func TestSnapshotSpecialFiles(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.fifo("fifo") // opening it for reading without O_NONBLOCK would wait for ever
	addr := filepath.Join(d.root, "s")
	l, err := net.Listen("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := []string{"fifo fifo", "socket s"}
	if os.Geteuid() == 0 {
		if err := unix.Mknod(d.path("tty"), unix.S_IFCHR|0o666, int(unix.Mkdev(5, 0))); err == nil {
			want = append(want, "device tty")
		}
	}
	if diff := cmp.Diff(want, paths(snap(t, d.root, nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// age makes the files of a tree old enough to be trusted by a snapshot that starts afterwards.
func age(t *testing.T, m *Manifest) {
	t.Helper()
	m.fsStart += int64(time.Hour)
}

func TestSnapshotReuse(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("same", "1")
	d.write("grown", "1")
	d.write("rewritten", "1")
	d.write("touched", "1")
	d.write("replaced", "1")
	d.write(".git/HEAD", "h")
	first := snap(t, d.root, nil)
	age(t, first)
	// What is written now must not bear the same time.
	for now, _, ok := fsClock(d.root); ok && now <= first.Find("rewritten").id.Ctime; now, _, ok = fsClock(d.root) {
		runtime.Gosched()
	}
	// A digest that no content has shows which files were not read again.
	for i := range first.Entries {
		first.Entries[i].SHA256 = Hash{1}
	}
	d.write("grown", "12")
	info, err := os.Stat(d.path("rewritten"))
	d.do(err)
	d.write("rewritten", "2")
	d.do(os.Chtimes(d.path("rewritten"), info.ModTime(), info.ModTime())) // an agent can set the mtime, not the ctime
	d.chmod("touched", 0o600)
	d.write("tmp", "3")
	d.do(os.Rename(d.path("tmp"), d.path("replaced")))
	second := snap(t, d.root, first)
	for p, want := range map[string]string{
		"same": Hash{1}.String(), "grown": sha("12"), "rewritten": sha("2"), "touched": sha("1"), "replaced": sha("3"),
	} {
		if got := second.Find(p).SHA256.String(); got != want {
			t.Errorf("%s: %s instead of %s", p, got, want)
		}
	}
}

// A file that is written again within the clock's grain of the snapshot has the same identity and another content.
func TestSnapshotRace(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	var first *Manifest
	var e *Entry
	for tries := 1; ; tries++ {
		d.write("f", "1")
		first = snap(t, d.root, nil)
		if first.margin == noMargin {
			first.margin = fineMargin // as a file system with a grain has it
		}
		if e = first.Find("f"); !first.trusted(e) {
			break
		}
		// A machine that is busy may take longer than the grain between the two.
		if e.id.Ctime >= first.fsStart-first.margin || tries == 1000 {
			t.Fatalf("a file written just before the snapshot is trusted: ctime %d, start %d", e.id.Ctime, first.fsStart)
		}
	}
	e.SHA256 = Hash{1}
	if got := snap(t, d.root, first).Find("f").SHA256.String(); got != sha("1") {
		t.Errorf("the file was not read again: %s", got)
	}
	var zero Manifest
	if zero.trusted(&Entry{Path: "f", Kind: KindFile}) {
		t.Error("an entry without an identity is trusted")
	}
}

// However soon after a snapshot a file is written again, with the same size and with its mtime put back, the next
// snapshot notices: by the ctime where the file system gives each change its own, and by reading the file where it
// does not.
func TestSnapshotSeesTheNextWrite(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	m, reused := (*Manifest)(nil), 0
	for i := range 300 {
		text := strconv.Itoa(i % 10)
		at := time.Unix(1_700_000_000, 0)
		d.write("written", text)
		d.do(os.Chtimes(d.path("written"), at, at))
		d.write("mapped", "x")
		store(t, d.path("mapped"), text[0])
		if i == 0 {
			d.write("kept", "k")
		}
		m = snap(t, d.root, m)
		for _, p := range []string{"written", "mapped"} {
			if got := m.Find(p).SHA256.String(); got != sha(text) {
				t.Fatalf("round %d: %s is %s, not that of %q", i, p, got, text)
			}
		}
		// A digest that no content has shows whether the unchanged file is read again.
		kept := m.Find("kept")
		if kept.SHA256 == (Hash{1}) {
			reused++
		}
		kept.SHA256 = Hash{1}
	}
	if _, grained, _ := fsClock(d.root); !grained && reused < 299 {
		t.Errorf("the file that stayed was read %d times", 300-reused)
	}
}

// store writes one byte by way of a mapping.
func store(t *testing.T, path string, c byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	data[0] = c
	if err := unix.Munmap(data); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotWritesNothing(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("a/b", "1")
	before := times(t, d.root)
	m := snap(t, d.root, nil)
	snap(t, d.root, m)
	if diff := cmp.Diff(before, times(t, d.root)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// times lists the mtime and ctime of everything below a root, the root included.
func times(t *testing.T, root string) map[string][2]int64 {
	t.Helper()
	out := map[string][2]int64{}
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		out[p] = [2]int64{unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSnapshotUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	b := setup(t, func(d dir) {
		d.write("dir/a", "1")
		d.write("file", "1")
		d.write("ok", "1")
	})
	w := b.w()
	w.chmod("dir", 0)
	w.chmod("file", 0)
	w.write("ok", "2")
	_, cs, _ := b.verify()
	want := "unrepresentable mode_changed dir (mode_bits)\nunrepresentable modified dir (unreadable)\nunrepresentable deleted dir/a (unreadable)\n" +
		"unrepresentable modified file (unreadable)\nunrepresentable mode_changed file (mode_bits)\ntracked modified ok\n"
	if diff := cmp.Diff(want, summary(cs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotRefusesALinkAsRoot(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("real/x", "1")
	d.link("real", "root")
	if _, err := Snapshot(t.Context(), d.path("root"), nil); !errors.Is(err, ErrRoot) {
		t.Errorf("a link: %v", err)
	}
	if _, err := Snapshot(t.Context(), d.path("absent"), nil); !errors.Is(err, ErrRoot) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent root: %v", err)
	}
}

func TestSnapshotEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("a", "1")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Snapshot(ctx, d.root, nil); !errors.Is(err, cause) {
		t.Errorf("err = %v", err)
	}
	// A file of holes takes forever to read; the limit on a tree's bytes refuses it at once.
	f, err := os.OpenFile(d.path("hole"), os.O_CREATE|os.O_WRONLY, 0o600)
	d.do(err)
	d.do(f.Truncate(2 << 40))
	d.do(f.Close())
	if _, err := Snapshot(t.Context(), d.root, nil); !errors.Is(err, ErrTreeTooLarge) {
		t.Errorf("err = %v", err)
	}
}

func TestSnapshotOfATooDeepTree(t *testing.T) {
	t.Parallel()
	root := deepTree(t, 3000)
	if _, err := Snapshot(t.Context(), root, nil); !errors.Is(err, ErrTreeTooLarge) {
		t.Errorf("snapshot: %v", err)
	}
	if _, err := Clone(t.Context(), root, root+"-copy"); !errors.Is(err, ErrTreeTooLarge) {
		t.Errorf("clone: %v", err)
	}
	if err := Remove(root); err != nil {
		t.Errorf("remove: %v", err)
	}
}

// deepTree makes directories in directories, deeper than a path can say.
func deepTree(t *testing.T, depth int) string {
	t.Helper()
	root := filepath.Join(tempDir(t), "deep")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := errors.Join(unix.Mkdirat(fd, "d", 0o755), unix.Mkdirat(fd, "e", 0o500)); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	return root
}

func TestOpenBySteps(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("a/b/c", "1")
	d.link("a", "l")
	d.link("b", "a/l")
	tr, err := openTree(d.root)
	d.do(err)
	defer tr.close()
	for p, want := range map[string]bool{"a": true, "a/b": true, ".": true, "l": false, "l/b": false, "a/l": false, "a/../a": false, "a/b/c": false, "none": false} {
		for how, open := range map[string]func(int, string, int) (int, error){"steps": openBySteps, "once": openBeneath} {
			fd, err := open(tr.fd, p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			if p == "a/../a" && how == "once" {
				continue // it stays inside; deed never asks for such a path
			}
			if (err == nil) != want {
				t.Errorf("%s: open %s: %v", how, p, err)
			}
		}
	}
}

func TestManifestJSON(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	d.write("bad\xffname\\x", "1")
	d.write("new\nline", "2")
	d.link("t\xfe\\", "l")
	d.write(".git/x", "1")
	d.mkdir("e")
	m := snap(t, d.root, nil)
	b, err := json.Marshal(m)
	d.do(err)
	var got Manifest
	d.do(json.Unmarshal(b, &got))
	if diff := cmp.Diff(m.Entries, got.Entries, cmp.AllowUnexported(Entry{}, identity{})); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m.Git, got.Git); diff != "" {
		t.Errorf("git (-want +got):\n%s", diff)
	}
	if got.Digest() != m.Digest() || got.fsStart != m.fsStart || got.margin != m.margin {
		t.Error("digest or start differ")
	}
	for name, damage := range map[string][2]string{
		"another digest":     {sha("1"), sha("3")},
		"another schema":     {manifestSchema, "x"},
		"a path that leaves": {`"path":"e"`, `"path":"../e"`},
		"an absolute path":   {`"path":"e"`, `"path":"/e"`},
		"out of order":       {`"path":"e"`, `"path":"z"`},
		"a bad escape":       {`\\xffname`, `\\yffname`},
		"an unknown kind":    {`"kind":"dir"`, `"kind":"dri"`},
		"a bad mode":         {`"mode":"0755"`, `"mode":"99"`},
	} {
		text := strings.Replace(string(b), damage[0], damage[1], 1)
		if text == string(b) {
			t.Errorf("%s: nothing to damage", name)
		}
		var m Manifest
		if err := json.Unmarshal([]byte(text), &m); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"", "a/b", `a\b`, "\xff", `\x41`, `\\x41`, "é\xc3", "\ufffd", "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		enc := EncodePath(s)
		if b, err := json.Marshal(enc); err != nil {
			t.Fatal(err)
		} else if err := json.Unmarshal(b, &enc); err != nil {
			t.Fatal(err)
		}
		if got, err := DecodePath(enc); err != nil || got != s {
			t.Errorf("%q -> %q -> %q, %v", s, enc, got, err)
		}
		if dec, err := DecodePath(s); err == nil && EncodePath(dec) != s && !strings.Contains(s, `\x`) && !strings.ContainsRune(s, '\ufffd') && json.Valid([]byte(`"`+s+`"`)) {
			t.Errorf("%q decodes to %q, which encodes to %q", s, dec, EncodePath(dec))
		}
	})
}

// A tree that changes while it is read gives a manifest of things that were there, or an error that says so.
func TestSnapshotOfABusyTree(t *testing.T) {
	t.Parallel()
	d := newDir(t, tempDir(t))
	for i := range 50 {
		d.write(fmt.Sprintf("keep/%d", i), "kept")
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			p := d.path(fmt.Sprintf("busy/%d", i%7))
			switch i % 5 {
			case 0, 1:
				_ = os.MkdirAll(p, 0o755)
				_ = os.WriteFile(filepath.Join(p, "f"), []byte(strings.Repeat("x", i%100_000)), 0o644)
			case 2:
				_ = os.RemoveAll(p)
			case 3:
				_ = os.Symlink("/etc", p)
			case 4:
				_ = os.Remove(p)
				_ = syscall.Mkfifo(p, 0o644)
			}
		}
	})
	var prev *Manifest
	good := 0
	for range 300 {
		m, err := Snapshot(t.Context(), d.root, prev)
		if err != nil {
			if !errors.Is(err, ErrChangedDuringCapture) {
				t.Error(err)
			}
			continue
		}
		good++
		prev = m
		if files, _ := m.Count(); files < 50 {
			t.Errorf("%d files", files)
		}
	}
	stop()
	wg.Wait()
	if good == 0 {
		t.Error("no snapshot succeeded")
	}
	if diffs := Compare(snap(t, d.root, nil), snap(t, d.root, prev)); len(diffs) > 0 {
		t.Errorf("a snapshot that leans on one of the busy tree differs: %v", diffs)
	}
}

package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// sparse makes a file that is nothing but a hole.
func (d dir) sparse(p string, size int64) {
	d.t.Helper()
	d.write(p, "")
	d.do(os.Truncate(d.path(p), size))
}

// Ten gigabytes that cost nothing to make are not read, and the change set says that they are there.
func TestCaptureSparse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("a", "1\n"); d.write("b", "1\n"); d.write(".gitignore", "cache\n") })
	w := b.w()
	w.sparse("huge", 10<<30)
	w.do(os.Truncate(w.path("a"), 10<<30))
	w.sparse("cache", 10<<30)
	w.write("b", "2\n")
	after, cs, text := b.verify()
	want := "unrepresentable modified a (too_large)\ntracked modified b\nignored added cache\nunrepresentable added huge (too_large)\n"
	if diff := cmp.Diff(want, summary(cs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e := after.Find("huge"); e.Size != 10<<30 || !e.SHA256.IsZero() || !e.Unreadable {
		t.Errorf("%+v", e)
	}
	if strings.Contains(text, "huge") {
		t.Error("it is in the patch")
	}
	// Many that are each small enough to be carried.
	for i := range 6 {
		w.sparse(fmt.Sprint("many", i), 200<<20)
	}
	if _, _, err := Capture(t.Context(), BaseAt(b.base), b.work, b.before); !errors.Is(err, ErrTreeTooLarge) {
		t.Errorf("err = %v", err)
	}
}

// Long paths cost an agent nothing, and deed many times their length: what a tree may have of them beyond its first manifest has an end, which is
// seen while it is listed.
func TestCaptureLongPaths(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("a", "1\n") })
	fd, err := unix.Open(b.work, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	length := 0
	for name := strings.Repeat("e", 240); length < 15*241; length += len(name) + 1 {
		if err := unix.Mkdirat(fd, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		fd = next
	}
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			file, err := unix.Openat(fd, fmt.Sprintf("%05d", i), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			_ = unix.Close(file)
		}
	}
	most := (maxGrownPaths - 8*length) / (length + 5) // the directories themselves have paths, too
	fill(0, most)
	if _, _, err := Capture(t.Context(), BaseAt(b.base), b.work, b.before); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	fill(most, most+20)
	_, _, err = Capture(t.Context(), BaseAt(b.base), b.work, b.before)
	if !errors.Is(err, ErrTreeTooLarge) || !strings.Contains(err.Error(), "bytes together") || len(err.Error()) > 1000 {
		t.Errorf("err = %v", err)
	}
	if _, err := Snapshot(t.Context(), b.work, nil); err != nil {
		t.Errorf("the limit of what grew holds for a tree that is new: %v", err)
	}
}

func TestSeedSparse(t *testing.T) {
	t.Parallel()
	src := newDir(t, filepath.Join(tempDir(t), "src"))
	src.write("a", "1\n")
	src.sparse("disk.img", 10<<30)
	dst := filepath.Join(tempDir(t), "ws")
	if _, err := Seed(t.Context(), Source{Dir: src.root}, dst); !errors.Is(err, ErrTreeTooLarge) || !strings.Contains(err.Error(), "leave them out") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(dst); err == nil {
		t.Error("the destination is left behind")
	}
	if _, err := Seed(t.Context(), Source{Dir: src.root, Exclude: []string{"disk.img"}}, dst); err != nil {
		t.Errorf("excluded: %v", err)
	}
}

func TestCaptureSpecialFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.write("a", "1\n"); d.write("dir/b", "1\n") })
	w := b.w()
	w.rm("a")
	w.fifo("a")
	w.rm("dir")
	w.fifo("dir")
	l, err := net.Listen("unix", w.path("s"))
	w.do(err)
	t.Cleanup(func() { _ = l.Close() })
	want := "tracked type_changed a\nunrepresentable added a (special_file)\nunrepresentable type_changed dir (special_file)\ntracked deleted dir/b\nunrepresentable added s (special_file)\n"
	if err := unix.Mknod(w.path("zero"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err == nil { // only root may
		want += "unrepresentable added zero (special_file)\n"
	}
	_, cs := b.capture()
	if diff := cmp.Diff(want, summary(cs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that an agent can leave in its workspace to make a git on the host run something.
func TestCaptureTraps(t *testing.T) {
	t.Parallel()
	for name, spring := range map[string]func(w dir, ran string){
		"configuration": func(dir, string) {},
		".git is a file": func(w dir, _ string) {
			w.do(os.Rename(w.path(".git"), w.path("real")))
			w.write(".git", "gitdir: real\n")
		},
		".git is a link": func(w dir, _ string) { w.do(os.Rename(w.path(".git"), w.path("real"))); w.link("real", ".git") },
		".git is a FIFO": func(w dir, _ string) { w.rm(".git"); w.fifo(".git") },
		".git is gone":   func(w dir, _ string) { w.rm(".git") },
		"nested":         func(w dir, ran string) { gitIn(w.t, w.root, "init", "-q", "sub2"); trap(dir{w.t, w.path("sub2")}) },
		"bare inside": func(w dir, ran string) {
			gitIn(w.t, w.root, "init", "-q", "--bare", "bare")
			gitIn(w.t, w.path("bare"), "config", "core.fsmonitor", "touch "+ran)
		},
		"info/attributes": func(w dir, _ string) { w.write(".git/info/attributes", "* filter=evil diff=evil\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := cleanRepo(t)
			root := tempDir(t)
			b := &testBundle{t: t, root: root, base: filepath.Join(root, "base"), work: filepath.Join(root, "work")}
			if _, err := Seed(t.Context(), Source{Dir: src.root}, b.base); err != nil {
				t.Fatal(err)
			}
			b.start()
			w := b.w()
			ran := trap(w)
			w.write("a.txt", "2\r\n")
			w.write("new\nline \x1b]0;title\x07", "no newline at the end")
			spring(w, ran)
			after, cs := b.capture()
			p, _ := b.patch(cs)
			if err := Check(t.Context(), b.base, b.before, p, after, cs); err != nil {
				t.Error(err)
			}
			room := filepath.Join(root, "room")
			if err := CleanRoom(t.Context(), b.base, b.before, p, []string{"sub/**"}, room); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(ran); err == nil {
				t.Error("something of the workspace ran on the host")
			}
			if got := (dir{t, room}).read("a.txt"); got != "2\r\n" {
				t.Errorf("a.txt is %q", got)
			}
			// Names survive the documents that they go into.
			doc, err := json.Marshal(cs.Files())
			if err != nil || !strings.Contains(string(doc), `"new\nline \u001b]0;title\u0007"`) {
				t.Errorf("%v: %s", err, doc)
			}
		})
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b c.txt":       "a/b c.txt",
		"é/日本":            "é/日本",
		"new\nline":       `"new\nline"`,
		"\x1b[2Jx":        `"\x1b[2Jx"`,
		"a\u202egpj.exe":  `"a\u202egpj.exe"`,
		"\xff":            `"\xff"`,
		" lead":           `" lead"`,
		`"quoted"`:        `"\"quoted\""`,
		"":                `""`,
		"tab\there":       `"tab\there"`,
		"zero\u200bwidth": `"zero\u200bwidth"`,
		"c1\u009b31m":     `"c1\u009b31m"`,
	} {
		if got := Display(name); got != want {
			t.Errorf("Display(%q) = %s, want %s", name, got, want)
		}
	}
}

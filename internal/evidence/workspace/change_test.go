package workspace

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func noise(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// Every kind of change: what the change set says, and that the patch makes it.
func TestChanges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d", 200) + "/"
	deep := strings.Repeat(long, 18) + strings.Repeat("f", 255) // close to the longest path there is
	tests := []struct {
		name string
		base func(d dir)
		edit func(d dir)
		want string
	}{
		{"nothing", func(d dir) { d.write("a", "x\n") }, func(dir) {}, ""},
		{"new file", nil, func(d dir) { d.write("new", "x\n") }, "tracked added new\n"},
		{"new file in new directories", nil, func(d dir) { d.write("x/y/z", "x\n") }, "tracked added x/y/z\n"},
		{"new empty file", nil, func(d dir) { d.write("empty", "") }, "tracked added empty\n"},
		{"new executable", nil, func(d dir) { d.exec("run", "#!/bin/sh\n") }, "tracked added run\n"},
		{"new binary", nil, func(d dir) { d.write("b", "a\x00b"+noise(5000, 1)) }, "tracked added b\n"},
		{"new link", nil, func(d dir) { d.link("nowhere", "l") }, "tracked added l\n"},
		{"modified", func(d dir) { d.write("a", "1\n2\n3\n") }, func(d dir) { d.write("a", "1\ntwo\n3\n") }, "tracked modified a\n"},
		{"modified to empty", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.write("a", "") }, "tracked modified a\n"},
		{"empty to modified", func(d dir) { d.write("a", "") }, func(d dir) { d.write("a", "1\n") }, "tracked modified a\n"},
		{"binary modified", func(d dir) { d.write("b", noise(70000, 1)) }, func(d dir) { d.write("b", noise(70000, 2)) }, "tracked modified b\n"},
		{"binary to text", func(d dir) { d.write("b", "\x00\x01") }, func(d dir) { d.write("b", "text\n") }, "tracked modified b\n"},
		{"deleted", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.rm("a") }, "tracked deleted a\n"},
		{"deleted empty", func(d dir) { d.write("a", "") }, func(d dir) { d.rm("a") }, "tracked deleted a\n"},
		{"deleted binary", func(d dir) { d.write("a", "\x00") }, func(d dir) { d.rm("a") }, "tracked deleted a\n"},
		{"deleted directory", func(d dir) { d.write("x/y/a", "1\n"); d.write("x/b", "2\n") }, func(d dir) { d.rm("x") }, "tracked deleted x/b\ntracked deleted x/y/a\n"},
		{"renamed", func(d dir) { d.write("a", "1\n2\n3\n") }, func(d dir) { d.rm("a"); d.write("b", "1\n2\n3\n") }, "tracked deleted a\ntracked added b\n"},
		{"case renamed", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.rm("a"); d.write("A", "1\n") }, "tracked added A\ntracked deleted a\n"},
		{"made executable", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.chmod("a", 0o755) }, "tracked mode_changed a\n"},
		{"made executable and modified", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.exec("a", "2\n") }, "tracked modified a\n"},
		{"executable no more", func(d dir) { d.exec("a", "1\n") }, func(d dir) { d.chmod("a", 0o644) }, "tracked mode_changed a\n"},
		{"other mode bits", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.chmod("a", 0o600) }, "unrepresentable mode_changed a (mode_bits)\n"},
		{
			"modified with other mode bits", func(d dir) { d.write("a", "1\n") },
			func(d dir) { d.write("a", "2\n"); d.chmod("a", 0o640) },
			"tracked modified a\nunrepresentable mode_changed a (mode_bits)\n",
		},
		{
			"set-user-id", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.chmod("a", 0o755|os.ModeSetuid) },
			"tracked mode_changed a\nunrepresentable mode_changed a (special_bits)\n",
		},
		{
			"new set-user-id", nil, func(d dir) { d.exec("a", "1\n"); d.chmod("a", 0o755|os.ModeSetuid) },
			"tracked added a\nunrepresentable added a (special_bits)\n",
		},
		{"link retargeted", func(d dir) { d.link("x", "l") }, func(d dir) { d.rm("l"); d.link("y/z", "l") }, "tracked modified l\n"},
		{"link deleted", func(d dir) { d.link("x", "l") }, func(d dir) { d.rm("l") }, "tracked deleted l\n"},
		{"file to link", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.rm("a"); d.link("b", "a") }, "tracked type_changed a\n"},
		{"link to file", func(d dir) { d.link("b", "a") }, func(d dir) { d.rm("a"); d.write("a", "1\n") }, "tracked type_changed a\n"},
		{"link to same bytes", func(d dir) { d.link("b", "a") }, func(d dir) { d.rm("a"); d.write("a", "b") }, "tracked type_changed a\n"},
		{
			"file to directory", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.rm("a"); d.write("a/b", "1\n") },
			"tracked type_changed a\ntracked added a/b\n",
		},
		{
			"directory to file", func(d dir) { d.write("a/b", "1\n"); d.write("a/c/d", "2\n") }, func(d dir) { d.rm("a"); d.write("a", "1\n") },
			"tracked type_changed a\ntracked deleted a/b\ntracked deleted a/c/d\n",
		},
		{
			"directory to link", func(d dir) { d.write("a/b", "1\n"); d.write("c/b", "2\n") }, func(d dir) { d.rm("a"); d.link("c", "a") },
			"tracked type_changed a\ntracked deleted a/b\n",
		},
		{
			"link to directory", func(d dir) { d.link("c", "a"); d.write("c/b", "2\n") }, func(d dir) { d.rm("a"); d.write("a/b", "1\n") },
			"tracked type_changed a\ntracked added a/b\n",
		},
		{
			"file to empty directory", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.rm("a"); d.mkdir("a") },
			"tracked type_changed a\nunrepresentable added a (empty_directory)\n",
		},
		{
			"directory with an empty one to file", func(d dir) { d.write("a/b", "1\n"); d.mkdir("a/e/f") }, func(d dir) { d.rm("a"); d.write("a", "1\n") },
			"unrepresentable type_changed a (directory_in_the_way)\ntracked deleted a/b\nunrepresentable deleted a/e (empty_directory)\nunrepresentable deleted a/e/f (empty_directory)\n",
		},
		{"empty directory to file", func(d dir) { d.mkdir("a") }, func(d dir) { d.rm("a"); d.write("a", "1\n") }, "tracked type_changed a\n"},
		{"new empty directory", nil, func(d dir) { d.mkdir("e/f") }, "unrepresentable added e (empty_directory)\nunrepresentable added e/f (empty_directory)\n"},
		{"empty directory deleted", func(d dir) { d.mkdir("e") }, func(d dir) { d.rm("e") }, "unrepresentable deleted e (empty_directory)\n"},
		{"directory mode", func(d dir) { d.write("d/a", "1\n") }, func(d dir) { d.chmod("d", 0o700) }, "unrepresentable mode_changed d (mode_bits)\n"},
		{"new FIFO", nil, func(d dir) { d.fifo("p") }, "unrepresentable added p (special_file)\n"},
		{
			"file to FIFO", func(d dir) { d.write("p", "1\n") }, func(d dir) { d.rm("p"); d.fifo("p") },
			"tracked type_changed p\nunrepresentable added p (special_file)\n",
		},
		{"CRLF", func(d dir) { d.write("a", "1\r\n2\r\n3\r\n") }, func(d dir) { d.write("a", "1\r\n2\r\nthree\r\n") }, "tracked modified a\n"},
		{"CRLF to LF", func(d dir) { d.write("a", "1\r\n2\r\n") }, func(d dir) { d.write("a", "1\n2\n") }, "tracked modified a\n"},
		{"lone CR", func(d dir) { d.write("a", "1\r2\n") }, func(d dir) { d.write("a", "1\r3\r") }, "tracked modified a\n"},
		{"final newline dropped", func(d dir) { d.write("a", "1\n2\n") }, func(d dir) { d.write("a", "1\n2") }, "tracked modified a\n"},
		{"final newline added", func(d dir) { d.write("a", "1\n2") }, func(d dir) { d.write("a", "1\n2\n") }, "tracked modified a\n"},
		{"no final newline on both", func(d dir) { d.write("a", "1\n2") }, func(d dir) { d.write("a", "0\n2") }, "tracked modified a\n"},
		{"trailing white space", func(d dir) { d.write("a", "1\n") }, func(d dir) { d.write("a", "1  \t\n\n\n") }, "tracked modified a\n"},
		{"looks like a patch", func(d dir) { d.write("a", "-- a\n") }, func(d dir) { d.write("a", "--- a\n+++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\n") }, "tracked modified a\n"},
		{
			"names", nil, func(d dir) {
				for _, n := range []string{
					"a b", " lead", "trail ", "tab\there", "quote\"d", "back\\slash", "new\nline", "cr\rhere", "ünï/çødé", "日本語", "-dash", "--",
					":colon", ":(glob)x", "*", "?", "[a]", "a -> b", "b/../b"[:1], "\x01\x7f", "bad\xff\xfeutf8", "😀", "a/b/c", "dev/null", "#", "~", "$HOME", "'",
					strings.Repeat("n", 255), "con", "a.", "e\u0301", "\u202egnp",
				} {
					d.write(n, n)
				}
			},
			"tracked added \x01\x7f\ntracked added  lead\ntracked added #\ntracked added $HOME\ntracked added '\ntracked added *\ntracked added --\ntracked added -dash\n" +
				"tracked added :(glob)x\ntracked added :colon\ntracked added ?\ntracked added [a]\ntracked added a -> b\ntracked added a b\ntracked added a.\ntracked added a/b/c\n" +
				"tracked added b\ntracked added back\\\\slash\ntracked added bad\\xff\\xfeutf8\ntracked added con\ntracked added cr\rhere\ntracked added dev/null\n" +
				"tracked added e\u0301\ntracked added new\nline\ntracked added " + strings.Repeat("n", 255) + "\ntracked added quote\"d\ntracked added tab\there\n" +
				"tracked added trail \ntracked added ~\ntracked added ünï/çødé\ntracked added \u202egnp\ntracked added 日本語\ntracked added 😀\n",
		},
		{
			"odd names changed", func(d dir) { d.write("new\nline", "1\n"); d.write("bad\xff", "1\n"); d.write("tab\t\"", "1") },
			func(d dir) { d.write("new\nline", "2\n"); d.rm("bad\xff"); d.write("tab\t\"", "2") },
			"tracked deleted bad\\xff\ntracked modified new\nline\ntracked modified tab\t\"\n",
		},
		{"link with an odd target", nil, func(d dir) { d.link("a\nb\xff ", "l") }, "tracked added l\n"},
		{"a path of nearly 4 KB", func(d dir) { deepWrite(d, deep, "1\n") }, func(d dir) { deepWrite(d, deep, "2\n") }, "tracked modified " + deep + "\n"},
		{
			"names that git refuses", nil, func(d dir) {
				d.write(".GIT/config", "x")
				d.write("a/.Git", "x")
				d.write("git~1", "x")
				d.write(".g\u200cit", "x")
				d.write(".git. .", "x")
				d.link("x", ".gitmodules")
				d.write("fine", "x")
			},
			"unrepresentable added .GIT/config (reserved_name)\nunrepresentable added .git. . (reserved_name)\nunrepresentable added .gitmodules (reserved_name)\n" +
				"unrepresentable added .g\u200cit (reserved_name)\nunrepresentable added a/.Git (reserved_name)\ntracked added fine\nunrepresentable added git~1 (reserved_name)\n",
		},
		{"huge text", func(d dir) { d.write("h", strings.Repeat("line\n", 1<<20)) }, func(d dir) { d.write("h", strings.Repeat("line\n", 1<<20)+"end") }, "tracked modified h\n"},
		{"huge line", nil, func(d dir) { d.write("h", strings.Repeat("x", 8<<20)) }, "tracked added h\n"},
		{"huge binary", nil, func(d dir) { d.write("h", noise(8<<20, 3)) }, "tracked added h\n"},
		{
			"attributes in the tree", func(d dir) {
				d.write("a.txt", "1\r\n2\n$Id$\n")
				d.write("b.bin", "text\n")
			},
			func(d dir) {
				d.write(".gitattributes", "* text=auto eol=crlf ident working-tree-encoding=UTF-16 filter=evil diff=evil merge=evil\n*.bin -diff\n")
				d.write("a.txt", "1\r\n2\n$Id$\nthree\n")
				d.write("b.bin", "changed\n")
			},
			"tracked added .gitattributes\ntracked modified a.txt\ntracked modified b.bin\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tt.base)
			tt.edit(b.w())
			_, cs, _ := b.verify()
			if diff := cmp.Diff(tt.want, summary(cs)); diff != "" {
				t.Errorf("change set (-want +got):\n%s", diff)
			}
		})
	}
}

// deepWrite writes a file whose absolute path is longer than the kernel takes at once.
func deepWrite(d dir, p, text string) {
	d.t.Helper()
	r, err := os.OpenRoot(d.root)
	d.do(err)
	defer r.Close()
	d.do(r.MkdirAll(parentOf(p), 0o755))
	d.do(r.WriteFile(p, []byte(text), 0o644))
}

func TestTooLargeForAPatch(t *testing.T) {
	t.Parallel()
	at := func(size int64, sum byte) *Manifest {
		return &Manifest{Entries: []Entry{{Path: "big", Kind: KindFile, Mode: 0o644, Size: size, SHA256: Hash{sum}}}}
	}
	for _, tt := range []struct {
		before, after *Manifest
		want          string
	}{
		{at(1, 1), at(MaxPatchFile, 2), "tracked modified big\n"},
		{at(1, 1), at(MaxPatchFile+1, 2), "unrepresentable modified big (too_large)\n"},
		{at(MaxPatchFile+1, 1), &Manifest{}, "unrepresentable deleted big (too_large)\n"},
		{&Manifest{}, at(MaxPatchFile+1, 1), "unrepresentable added big (too_large)\n"},
	} {
		if got := summary(Diff(tt.before, tt.after, Ignore{})); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) {
		d.write("mod", "1\r\n")
		d.write("del", "1\n")
		d.write("type", "1\n")
		d.write("todir", "1\n")
	})
	w := b.w()
	w.write("mod", "2\r\n")
	w.rm("del")
	w.rm("type")
	w.link("x", "type")
	w.rm("todir")
	w.write("todir/f", "1\n")
	w.exec("new", "")
	w.fifo("pipe")
	w.write("bad\xff", "1\n")
	_, cs, _ := b.verify()
	one := sha("1\n") // digests are over true bytes, line ends included
	want := []ChangedFile{
		{"bad\xff", `bad\xff`, "added", "", "", one, "100644"},
		{"del", "del", "deleted", one, "100644", "", ""},
		{"mod", "mod", "modified", sha("1\r\n"), "100644", sha("2\r\n"), "100644"},
		{"new", "new", "added", "", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "100755"},
		{"todir", "todir", "deleted", one, "100644", "", ""},
		{"todir/f", "todir/f", "added", "", "", one, "100644"},
		{"type", "type", "modified", one, "100644", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", "120000"},
	}
	if diff := cmp.Diff(want, cs.Files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// git apply looks at a/b before it takes away the link a, and gives up when the link leads nowhere but to itself. No
// patch can say this; what matters is that Check does not call it good.
func TestLinkLoopToDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d dir) { d.link("a", "a") })
	b.w().rm("a")
	b.w().write("a/b", "1\n")
	after, cs := b.capture()
	p, _ := b.patch(cs)
	if err := Check(t.Context(), b.base, b.before, p, after, cs); !errors.Is(err, ErrApply) {
		t.Errorf("err = %v", err)
	}
}

package page

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"as it is\n\tin lines": "as it is\n\tin lines", "\x1b[31mred\x1b[0m": "red", "a\r\nb": "a\nb", "\x1b]8;;http://x\x07link\x1b]8;;\x07": "link", "x\u202egnp": "x⟦U+202E⟧gnp",
		"zero\u200bwidth": "zero⟦U+200B⟧width", "nul\x00": "nul⟦U+0000⟧", "ünï": "ünï", "a\u2028b": "a⟦U+2028⟧b",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParsePatch(t *testing.T) {
	t.Parallel()
	files := parsePatch([]byte("diff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\n--- a/old name\n+++ b/new name\n@@ -1,2 +1,3 @@ f\n same\n-gone\n+come\n+--- not a head\n" +
		"diff --git a/x.png b/x.png\nnew file mode 100755\nGIT binary patch\nliteral 3\nabc\n\n" +
		"diff --git \"a/\\303\\274\" \"b/\\303\\274\"\ndeleted file mode 100644\n--- \"a/\\303\\274\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"))
	if len(files) != 3 {
		t.Fatalf("%d files", len(files))
	}
	for i, want := range []fileDiff{
		{Path: "new name", Was: "old name", Added: 2, Deleted: 1, Rows: 5}, {Path: "x.png", Note: "new mode 100755 binary"}, {Path: "ü", Note: "deleted", Deleted: 1, Rows: 3},
	} {
		f := files[i]
		if f.Path != want.Path || f.Was != want.Was || f.Note != want.Note || f.Added != want.Added || f.Deleted != want.Deleted || f.Rows != want.Rows {
			t.Errorf("file %d is %+v, want %+v", i, f, want)
		}
	}
	rows := files[0].rows(1, 10)
	if len(rows) != 4 || rows[0].Old != 1 || rows[1].Old != 2 || rows[2].New != 2 || rows[3].New != 3 {
		t.Errorf("rows %+v", rows)
	}
	if pairs := sideBySide(rows); len(pairs) != 3 || pairs[1].Left == nil || pairs[1].Right == nil || pairs[2].Left != nil {
		t.Errorf("pairs %+v", pairs)
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"))
	f.Add([]byte("@@\n\n@@ -\n+\n\\"))
	f.Add([]byte("diff --git \"a/\\x\nrename from \"\n@@ -1,1 +9223372036854775808 @@\n \xff\n"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		for _, x := range parsePatch(patch) {
			rows := x.rows(0, x.Rows)
			if len(rows) != x.Rows {
				t.Fatalf("%d of %d rows", len(rows), x.Rows)
			}
			for _, p := range sideBySide(rows) {
				if p.Left == nil && p.Right == nil {
					t.Fatal("an empty pair")
				}
			}
		}
	})
}

// TestPaint looks that colours change no text, and mark what they should.
func TestPaint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, in, want string }{
		{"a.go", `return "a\"b" // done`, `k:return| |s:"a\"b"| |c:// done`},
		{"a.py", `def f(x): # no`, `k:def| f(x): |c:# no`},
		{"a.txt", `return "a"`, `return "a"`},
		{"a.go", "x := `raw", "x := |s:`raw"},
		{"a.ts", `if (n === 0x1F) /* c */ y`, `k:if| (n === |n:0x1F|) |c:/* c */| y`},
	} {
		p := painter{syntax: syntaxOf(c.file)}
		var got []string
		for _, s := range p.paint(c.in) {
			text := s.Text
			if s.Class != "" {
				text = s.Class + ":" + text
			}
			got = append(got, text)
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.file, c.in, g, c.want)
		}
	}
	p := painter{syntax: syntaxOf("a.go")}
	p.paint("/* begins")
	if s := p.paint("ends */ x"); s[0].Class != "c" || s[0].Text != "ends */" {
		t.Errorf("a comment over two lines: %+v", s)
	}
}

func FuzzPaint(f *testing.F) {
	f.Add("a.go", "x := \"\\")
	f.Add("a.html", "<!-- \xff -->")
	f.Fuzz(func(t *testing.T, file, line string) {
		p := painter{syntax: syntaxOf(file)}
		var b strings.Builder
		for _, s := range p.paint(line) {
			b.WriteString(s.Text)
		}
		if b.String() != line {
			t.Fatalf("%q became %q", line, b.String())
		}
	})
}

func TestWordsForNumbers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		money(0): "$0", money(214_300): "$0.21", money(900): "$0.0009", count(999): "999", count(48_200): "48 k", plural(1, "entry"): "1 entry", plural(2, "entry"): "2 entries",
		elapsed(5): "5 ms", elapsed(65_000): "1:05", ago("2026-11-15T11:00:00Z", now): "1h ago", ago("2026-11-15T13:30:00Z", now): "in 1h 30m", ago("", now): "", size(5 << 20): "5.0 MB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if l := line(5, "ä\x1b[1mbcdefg\nrest"); l != "äbcd…" || !utf8.ValidString(l) {
		t.Errorf("line %q", l)
	}
}

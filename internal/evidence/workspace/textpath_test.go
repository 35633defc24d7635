package workspace

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/evidence"
)

func TestTextPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b": "a/b", `a\b`: `a\b`, `\xFF`: `\xFF`, `\x41`: `\x41`, `\xc3\xa9`: `\xc3\xa9`, `a\\b`: `a\\b`, // as ever
		"bad\xffutf":     `bad\xffutf`,
		`bad\xffutf`:     `bad\\xffutf`,
		`bad\\xffutf`:    `bad\\\\xffutf`,
		"\\\xff":         `\\\xff`,
		`dir\x80/a\b.md`: `dir\x80/a\b.md`, // no encoding of anything
	} {
		got := TextPath(path)
		if got != want {
			t.Errorf("TextPath(%q) = %q, want %q", path, got, want)
		}
		if back := FromTextPath(got); back != path {
			t.Errorf("FromTextPath(%q) = %q, want %q", got, back, path)
		}
	}
	if got := FromTextPath("\xff\\"); got != "\xff\\" {
		t.Errorf("what no document has: %q", got)
	}
}

// No two paths have one name, and every name is text.
func TestTextPathIsOneToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{`\`, "x", "ff", "\xff", "80", "é", `\xff`, `\\`, "a/"}), 1, 8)
		one := ""
		for _, p := range parts.Draw(t, "path") {
			one += p
		}
		name := TextPath(one)
		if !utf8.ValidString(name) {
			t.Fatalf("%q is no text", name)
		}
		if back := FromTextPath(name); back != one {
			t.Fatalf("%q -> %q -> %q", one, name, back)
		}
	})
}

func TestPairParts(t *testing.T) {
	t.Parallel()
	parts := []PatchPart{{Path: "a"}, {Path: `b\xff`}, {Path: "b\xff"}}
	for _, c := range []struct {
		name  string
		names []string
		want  []int
		whole bool
	}{
		{"as deed names them", []string{`b\xff`, "a", `b\\xff`}, []int{2, 0, 1}, true},
		{"as an earlier deed did", []string{"a", `b\xff`, `b\xff`}, []int{0, 1, 2}, true},
		{"one is not listed", []string{"a", `b\xff`}, []int{0, 2}, false},
		{"one is listed twice", []string{"a", "a", `b\xff`, `b\\xff`}, []int{0, -1, 2, 1}, false},
		{"another is listed", []string{"a", `b\xff`, "c"}, []int{0, 2, -1}, false},
	} {
		of, whole := PairParts(c.names, parts)
		if diff := cmp.Diff(c.want, of); diff != "" || whole != c.whole {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, whole, diff)
		}
	}
	if of, whole := PairParts([]string{`b\xff`}, parts[1:2]); !whole || of[0] != 0 {
		t.Error("the only one of an earlier deed is not found")
	}
}

// A bundle whose change has names that are no text seeds a workspace, whichever form its list is in.
func TestSeedBundleOfOddNames(t *testing.T) {
	t.Parallel()
	const patch = "diff --git \"a/bad\\\\xff\" \"b/bad\\\\xff\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/bad\\\\xff\"\n@@ -0,0 +1 @@\n+text\n" +
		"diff --git \"a/bad\\377\" \"b/bad\\377\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/bad\\377\"\n@@ -0,0 +1 @@\n+byte\n"
	for form, names := range map[string][]string{"of deed": {`bad\\xff`, `bad\xff`}, "of an earlier deed": {`bad\xff`, `bad\xff`}} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			src := repo(t)
			var list []evidence.ChangedFile
			for i, text := range []string{"text\n", "byte\n"} {
				list = append(list, evidence.ChangedFile{
					Path: "/w/" + names[i], RelativePath: names[i], Status: "added", AfterSHA256: digestOf(text), AfterMode: "100644",
					MountTarget: "/w", PatchPath: evidence.PathPatch,
				})
			}
			_, d := seedAll(t, Part{Source: Source{Kind: SourceBundle, Dir: src.root, Bundle: sealBundle(t, list, patch, nil)}, Target: "/w"})
			if d.read(`bad\xff`) != "text\n" || d.read("bad\xff") != "byte\n" {
				t.Error("the files are not there under their own names")
			}
		})
	}
}

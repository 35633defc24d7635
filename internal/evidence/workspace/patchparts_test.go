package workspace

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSplitPatchOfItsOwn(t *testing.T) {
	t.Parallel()
	names := []string{"a", "with space", "two  spaces b/x", `quote"d`, "line\nbreak", "tab\t", "back\\slash", "ümläut", "\xff\xfe", "a b/b a/a", "dir/deep/f"}
	b := setup(t, nil)
	for i, n := range names {
		b.w().write(n, strings.Repeat("diff --git a/evil b/evil\n--- x\n", i)+"\x00"[:i%2])
	}
	_, cs := b.capture()
	var patch bytes.Buffer
	if err := WritePatch(t.Context(), b.base, b.work, cs, &patch); err != nil {
		t.Fatal(err)
	}
	parts, err := SplitPatch(bytes.NewReader(patch.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	at := int64(0)
	for _, p := range parts {
		got = append(got, p.Path)
		if p.Start != at {
			t.Errorf("%q starts at %d, want %d", p.Path, p.Start, at)
		}
		at = p.End
	}
	if at != int64(patch.Len()) {
		t.Errorf("the last part ends at %d of %d", at, patch.Len())
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("the parts are %q, want %q", got, names)
	}
}

func TestSplitPatchRefuses(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"text first":        "hello\ndiff --git a/a b/a\n",
		"traditional":       "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n",
		"two names":         "diff --git a/a b/b\n",
		"no prefix":         "diff --git a a\n",
		"rename":            "diff --git a/a b/a\nrename from b\nrename to a\n",
		"copy":              "diff --git a/a b/a\ncopy from b\n",
		"similarity":        "diff --git a/a b/a\nsimilarity index 50%\n",
		"submodule":         "diff --git a/a b/a\nindex 1..2 160000\n",
		"setuid":            "diff --git a/a b/a\nnew file mode 104755\n",
		"new mode":          "diff --git a/a b/a\nold mode 100644\nnew mode 100777\n",
		"binary notice":     "diff --git a/a b/a\nBinary files a/a and b/a differ\n",
		"open quote":        "diff --git \"a/a b/a\n",
		"bad escape":        "diff --git \"a/\\q\" \"b/\\q\"\n",
		"bad octal":         "diff --git \"a/\\38x\" \"b/\\38x\"\n",
		"quote and nothing": "diff --git \"a/a\"\n",
		"quote and more":    "diff --git \"a/a\" \"b/a\"x\n",
		"empty names":       "diff --git \n",
		"deleted and added": "diff --git a/a b/a\ndeleted file mode 100644\nnew file mode 120000\n",
		"added twice":       "diff --git a/a b/a\nnew file mode 100644\nnew file mode 120000\n",
	} {
		if parts, err := SplitPatch(strings.NewReader(patch)); !errors.Is(err, ErrApply) {
			t.Errorf("%s: %v, %v, want ErrApply", name, parts, err)
		}
	}
	if parts, err := SplitPatch(strings.NewReader("")); err != nil || len(parts) != 0 {
		t.Errorf("no bytes: %v, %v", parts, err)
	}
}

// A file that becomes a link, or a link that becomes a file, is one part. Nothing else that has a path twice is.
func TestSplitPatchJoinsATypeChange(t *testing.T) {
	t.Parallel()
	part := func(what, mode, path string) string {
		return "diff --git a/" + path + " b/" + path + "\n" + what + " file mode " + mode + "\n"
	}
	var (
		noFile, noRun, noLink = part("deleted", "100644", "f"), part("deleted", "100755", "f"), part("deleted", "120000", "f")
		file, link            = part("new", "100644", "f"), part("new", "120000", "f")
		other                 = part("new", "100644", "g")
	)
	for _, c := range []struct {
		name  string
		patch string
		want  []string
	}{
		{"file to link", noFile + link, []string{"f 100644 120000"}},
		{"program to link", noRun + link, []string{"f 100755 120000"}},
		{"link to file", other + noLink + file + other, []string{"g  100644", "f 120000 100644", "g  100644"}},
		{"with content", noLink + "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n" + file + "--- /dev/null\n", []string{"f 120000 100644"}},
		{"added before it is deleted", link + noFile, []string{"f  120000", "f 100644 "}},
		{"something between them", noFile + other + link, []string{"f 100644 ", "g  100644", "f  120000"}},
		{"of the same type", noRun + file, []string{"f 100755 ", "f  100644"}},
		{"links", noLink + link, []string{"f 120000 ", "f  120000"}},
		{"two files", noFile + part("new", "120000", "g"), []string{"f 100644 ", "g  120000"}},
		{"added twice", noFile + link + link, []string{"f 100644 120000", "f  120000"}},
		{"there and back", noFile + link + noLink + file, []string{"f 100644 120000", "f 120000 100644"}},
	} {
		parts, err := SplitPatch(strings.NewReader(c.patch))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		at := int64(0)
		for _, p := range parts {
			got = append(got, p.Path+" "+p.Deleted+" "+p.Added)
			if p.Start != at || p.Retypes() != (p.Deleted != "" && p.Added != "") {
				t.Errorf("%s: part %+v at %d", c.name, p, at)
			}
			at = p.End
		}
		if !slices.Equal(got, c.want) || at != int64(len(c.patch)) {
			t.Errorf("%s: the parts are %q up to %d, want %q", c.name, got, at, c.want)
		}
	}
}

func FuzzSplitPatch(f *testing.F) {
	f.Add([]byte("diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\nindex 1..2 100644\n"))
	f.Add([]byte("diff --git a/x y b/x y\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"))
	f.Add([]byte("diff --git a/f b/f\ndeleted file mode 100644\ndiff --git a/f b/f\nnew file mode 120000\n"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		parts, err := SplitPatch(bytes.NewReader(patch))
		if err != nil {
			return
		}
		at := int64(0)
		for _, p := range parts {
			if p.Start != at || p.End <= p.Start {
				t.Fatalf("part %+v at %d", p, at)
			}
			at = p.End
		}
		if at != int64(len(patch)) && len(parts) > 0 {
			t.Fatalf("the parts end at %d of %d", at, len(patch))
		}
	})
}

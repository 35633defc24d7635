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
	} {
		if parts, err := SplitPatch(strings.NewReader(patch)); !errors.Is(err, ErrApply) {
			t.Errorf("%s: %v, %v, want ErrApply", name, parts, err)
		}
	}
	if parts, err := SplitPatch(strings.NewReader("")); err != nil || len(parts) != 0 {
		t.Errorf("no bytes: %v, %v", parts, err)
	}
}

func FuzzSplitPatch(f *testing.F) {
	f.Add([]byte("diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\nindex 1..2 100644\n"))
	f.Add([]byte("diff --git a/x y b/x y\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"))
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

package workspace

import (
	"errors"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deedrun/deed/contract/fault"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, path string
		want       bool
	}{
		{"docs", "docs", true},
		{"docs", "docs/a/b", true},
		{"docs/", "docs/a", true},
		{"docs/**", "docs/a/b", true},
		{"docs/**", "docs", true},
		{"docs", "docs2", false},
		{"docs", "a/docs", false},
		{"**/docs", "a/docs/b", true},
		{"**/docs", "docs", true},
		{"*.go", "a.go", true},
		{"*.go", "a/b.go", false},
		{"**/*.go", "a/b.go", true},
		{"**/*.go", "b.go", true},
		{"**/*_test.go", "x/y_test.go", true},
		{"a/?", "a/b", true},
		{"a/?", "a/bc", false},
		{"a/[a-c]", "a/b", true},
		{"a/[!a-c]", "a/b", false},
		{"a/[^a-c]", "a/d", true},
		{"a[!b]c", "a/c", false},
		{"a[+-9]c", "a/c", false},
		{"**/[!a]", "b/c", true},
		{"docs/**/", "docs/a", true},
		{"**/a/**/b", "a/a/x/b/y", true},
		{"**", "anything/at/all", true},
		{"*", "a/b", true},
		{"*", ".hidden", true},
		{"a\\*", "a*", true},
		{"a\\*", "ab", false},
		{"tests/*", "tests/a/b", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/b", "a/x/y/c", false},
		{"f\xff*", "f\xffx", true},
		{"[", "[", false},
		{"a b", "a b", true},
		{"é*", "éa", true},
	} {
		if got := Match(tt.glob, tt.path); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.glob, tt.path, got)
		}
	}
	if MatchAny(nil, "a") || !MatchAny([]string{"b", "a"}, "a") {
		t.Error("MatchAny")
	}
}

func TestValidateGlob(t *testing.T) {
	t.Parallel()
	for _, g := range []string{"**", "a", "a/", "**/*_test.go", "docs/**/", "[a-z]", "[!a]", "a\\*", "..a", "..."} {
		if err := ValidateGlob(g); err != nil {
			t.Error(err)
		}
	}
	for _, g := range []string{"", "/", "//", "/abs", "../x", "a/../b", "a//b", "./a", "[", "[!]", "a//", "!a", "{a", "{a,b}", "a**", "a\\", "a\x00b", strings.Repeat("a", 2000)} {
		if err := ValidateGlob(g); !errors.Is(err, ErrGlob) {
			t.Errorf("%.20q: %v", g, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/a/**/b", "a/a/a/a/b")
	f.Add("[", "x")
	f.Fuzz(func(_ *testing.T, glob, path string) {
		if ValidateGlob(glob) == nil {
			Match(glob, path)
		}
	})
}

// What the contract admits as a glob is matched here as the contract says: component by component in the syntax of
// path.Match, with ** for any number of components, and with all that is below.
func TestMatchMeansWhatTheContractSays(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[ab.!^\-]{1,3}`)
	segment := rapid.OneOf(
		rapid.SampledFrom([]string{"**", "*", "?", "a*", "*a", "[!a]", "[^a]", "[a-b]", "[+-9]*", "[!-a]", `\*`, `[\]a]`, "a[!b]a", "[b-a]", "[!!]", "[a^]", "[[]", "..a"}),
		rapid.StringMatching(`[ab*?\[\]!^\-\\.é]{1,5}`),
		word,
	)
	globs := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(rt, "segments"), "/") + rapid.SampledFrom([]string{"", "", "/"}).Draw(rt, "end")
	})
	paths := rapid.Custom(func(rt *rapid.T) string {
		names := rapid.OneOf(word, rapid.SampledFrom([]string{"*", "[", "]", "é", "a]", "aba"}))
		return strings.Join(rapid.SliceOfN(names, 1, 5).Draw(rt, "names"), "/")
	})
	admitted, matched := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		glob, name := globs.Draw(rt, "glob"), paths.Draw(rt, "path")
		var l fault.List
		l.Glob(fault.Root, glob)
		if err := ValidateGlob(glob); (err == nil) != (l.Len() == 0) {
			rt.Fatalf("the contract says %v of %q, the workspace %v", l.Err(), glob, err)
		}
		if l.Len() > 0 {
			return
		}
		admitted++
		want := meaning(strings.Split(strings.TrimSuffix(glob, "/"), "/"), strings.Split(name, "/"))
		if got := Match(glob, name); got != want {
			rt.Fatalf("Match(%q, %q) = %v", glob, name, got)
		}
		if want {
			matched++
		}
	})
	if admitted == 0 || matched == 0 {
		t.Errorf("%d globs were admitted and %d matched: the property shows nothing", admitted, matched)
	}
}

// meaning is the definition of a glob, in the simplest words and with no care for time.
func meaning(glob, name []string) bool {
	switch {
	case len(glob) == 0:
		return true
	case glob[0] == "**":
		return meaning(glob[1:], name) || len(name) > 0 && meaning(glob, name[1:])
	case len(name) == 0:
		return false
	}
	ok, err := path.Match(standard(glob[0]), name[0])
	return err == nil && ok && meaning(glob[1:], name[1:])
}

// standard writes the ! that negates a class as path.Match knows it.
func standard(segment string) string {
	b, inside := []byte(segment), false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case !inside && b[i] == '[':
			inside = true
			if i+1 < len(b) && b[i+1] == '!' {
				b[i+1] = '^'
			}
		case b[i] == ']':
			inside = false
		}
	}
	return string(b)
}

// However a directory is named, the pattern covers everything below it and nothing else.
func TestADirectoryCoversWhatIsBelow(t *testing.T) {
	t.Parallel()
	for _, g := range []string{"docs", "docs/", "docs/**", "docs/**/", "[d]ocs", "**/docs", "d*s/"} {
		if err := ValidateGlob(g); err != nil {
			t.Error(err)
		}
		for _, p := range []string{"docs", "docs/a", "docs/.hidden", "docs/a/b/c.md", "docs/docs"} {
			if !Match(g, p) {
				t.Errorf("%q does not cover %q", g, p)
			}
		}
		for _, p := range []string{"doc", "docs2", "docs.md", "a/docsx", "Docs/a", "x"} {
			if Match(g, p) {
				t.Errorf("%q covers %q", g, p)
			}
		}
	}
}

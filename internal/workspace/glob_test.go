package workspace

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, path string
		want       bool
	}{
		{"docs", "docs", true}, {"docs", "docs/a/b", true}, {"docs/", "docs/a", true}, {"docs/**", "docs/a/b", true}, {"docs/**", "docs", true},
		{"docs", "docs2", false}, {"docs", "a/docs", false}, {"**/docs", "a/docs/b", true}, {"**/docs", "docs", true},
		{"*.go", "a.go", true}, {"*.go", "a/b.go", false}, {"**/*.go", "a/b.go", true}, {"**/*.go", "b.go", true}, {"**/*_test.go", "x/y_test.go", true},
		{"a/?", "a/b", true}, {"a/?", "a/bc", false}, {"a/[a-c]", "a/b", true}, {"a/[!a-c]", "a/b", false}, {"{a,b}/x", "b/x", true},
		{"**", "anything/at/all", true}, {"*", "a/b", true}, {"*", ".hidden", true}, {"a\\*", "a*", true}, {"a\\*", "ab", false},
		{"tests/*", "tests/a/b", true}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a/**/b", "a/x/y/c", false},
		{"f\xff*", "f\xffx", true}, {"[", "[", false}, {"a b", "a b", true}, {"é*", "éa", true},
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
	for _, g := range []string{"**", "a", "a/", "**/*_test.go", "{a,b}", "[a-z]", "a\\*", "..a", "..."} {
		if err := ValidateGlob(g); err != nil {
			t.Error(err)
		}
	}
	for _, g := range []string{"", "/", "//", "/abs", "../x", "a/../b", "a//b", "./a", "[", "{a", "a\\", "a\x00b", "{a,b}{a,b}{a,b}{a,b}{a,b}", strings.Repeat("a", 2000)} {
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

package truncate_test

import (
	"testing"

	"github.com/deedrun/deed/internal/base/truncate"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
		cut  bool
	}{
		{"", 0, "", false},
		{"abc", 3, "abc", false},
		{"abcd", 3, "abc", true},
		{"aé", 3, "aé", false},
		{"aéb", 2, "a", true},
		{"日本", 5, "日", true},
		{"a\xff", 2, "a\xff", false}, // it fits, and is nobody's to change here
		{"a\xffbc", 3, "ab", true},
		{"abc", 0, "", true},
	} {
		if got, cut := truncate.Cut(c.text, c.most); got != c.want || cut != c.cut {
			t.Errorf("Cut(%q, %d) = %q, %v", c.text, c.most, got, cut)
		}
		want := c.want
		if c.cut {
			want += "…"
		}
		if got := truncate.Head(c.text, c.most); got != want {
			t.Errorf("Head(%q, %d) = %q", c.text, c.most, got)
		}
	}
}

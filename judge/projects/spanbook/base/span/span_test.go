package span

import (
	"testing"

	"example.test/spanbook/internal/checktest"
)

func TestOverlaps(t *testing.T) {
	cases := []struct {
		name string
		a, b Span
		want bool
	}{
		{"apart", Span{0, 10}, Span{20, 30}, false},
		{"inside", Span{0, 60}, Span{20, 30}, true},
		{"partly", Span{0, 25}, Span{20, 30}, true},
		{"touching", Span{0, 20}, Span{20, 30}, false},
		{"empty", Span{5, 5}, Span{0, 30}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checktest.Equal(t, c.a.Overlaps(c.b), c.want)
			checktest.Equal(t, c.b.Overlaps(c.a), c.want)
		})
	}
}

func TestMerge(t *testing.T) {
	got := Merge([]Span{{50, 60}, {0, 30}, {10, 20}, {30, 40}})
	checktest.Equal(t, got, []Span{{0, 40}, {50, 60}})
}

func TestMergeOfNothing(t *testing.T) {
	checktest.Equal(t, len(Merge(nil)), 0)
}

func TestGaps(t *testing.T) {
	got := Gaps(Span{0, 100}, []Span{{10, 20}, {15, 30}, {90, 120}})
	checktest.Equal(t, got, []Span{{0, 10}, {30, 90}})
}

#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: A booking inside of a longer one makes the room look free too early. Fix Merge. Add a test for several inner spans.
# why: Merge keeps the later end, and a table of new tests shows it.
# base: nested.patch
# set: blind
sed -i 's/^\t\tout\[last\].End = s.End/\t\tout[last].End = max(out[last].End, s.End)/' span/span.go
cat >> span/span_test.go <<'G'

func TestMergeKeepsTheOuterSpan(t *testing.T) {
	cases := []struct {
		name  string
		given []Span
		want  []Span
	}{
		{"two inside", []Span{{0, 90}, {10, 20}, {30, 40}}, []Span{{0, 90}}},
		{"same start", []Span{{0, 90}, {0, 10}}, []Span{{0, 90}}},
		{"one reaches out", []Span{{0, 90}, {10, 20}, {80, 95}}, []Span{{0, 95}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checktest.Equal(t, Merge(c.given), c.want)
		})
	}
}
G

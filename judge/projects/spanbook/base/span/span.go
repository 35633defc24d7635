// Package span holds half-open spans of minutes of a day: a span has its start, not its end.
package span

import "sort"

// Day is the number of minutes of a day.
const Day = 24 * 60

// A Span goes from Start up to, but without, End.
type Span struct {
	Start, End int
}

// Empty says whether no minute is in s.
func (s Span) Empty() bool { return s.End <= s.Start }

// Minutes is the length of s.
func (s Span) Minutes() int {
	if s.Empty() {
		return 0
	}
	return s.End - s.Start
}

// Overlaps says whether a minute is in both spans. Spans that only touch do not overlap.
func (s Span) Overlaps(t Span) bool {
	if s.Empty() || t.Empty() {
		return false
	}
	return s.Start < t.End && t.Start < s.End
}

// Merge returns the union of spans as sorted spans that neither overlap nor touch.
func Merge(spans []Span) []Span {
	sorted := make([]Span, 0, len(spans))
	for _, s := range spans {
		if !s.Empty() {
			sorted = append(sorted, s)
		}
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Start < sorted[j].Start })
	var out []Span
	for _, s := range sorted {
		last := len(out) - 1
		if last < 0 || out[last].End < s.Start {
			out = append(out, s)
			continue
		}
		if s.End > out[last].End {
			out[last].End = s.End
		}
	}
	return out
}

// Gaps returns what is left of within when spans are taken away.
func Gaps(within Span, spans []Span) []Span {
	var out []Span
	at := within.Start
	for _, s := range Merge(spans) {
		if s.Start > within.End {
			break
		}
		if s.Start > at {
			out = append(out, Span{at, s.Start})
		}
		if s.End > at {
			at = s.End
		}
	}
	if at < within.End {
		out = append(out, Span{at, within.End})
	}
	return out
}

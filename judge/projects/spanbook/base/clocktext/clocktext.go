// Package clocktext reads and writes spans as people type them: 09:30-11:00.
package clocktext

import (
	"fmt"
	"strconv"
	"strings"

	"example.test/spanbook/span"
)

// Parse reads a span. The end may be 24:00; the start must be before the end.
func Parse(text string) (span.Span, error) {
	from, to, found := strings.Cut(strings.TrimSpace(text), "-")
	if !found {
		return span.Span{}, fmt.Errorf("%q has no dash", text)
	}
	start, err := minute(from)
	if err != nil {
		return span.Span{}, err
	}
	end, err := minute(to)
	if err != nil {
		return span.Span{}, err
	}
	if end <= start {
		return span.Span{}, fmt.Errorf("%q ends before it starts", text)
	}
	return span.Span{Start: start, End: end}, nil
}

func minute(text string) (int, error) {
	hours, minutes, found := strings.Cut(strings.TrimSpace(text), ":")
	if !found || len(minutes) != 2 {
		return 0, fmt.Errorf("%q is not a time like 09:30", text)
	}
	h, err := strconv.Atoi(hours)
	if err != nil || h < 0 {
		return 0, fmt.Errorf("%q has no hour", text)
	}
	m, err := strconv.Atoi(minutes)
	if err != nil || m < 0 || m > 59 {
		return 0, fmt.Errorf("%q has no minute from 00 to 59", text)
	}
	if h*60+m > span.Day {
		return 0, fmt.Errorf("%q is after 24:00", text)
	}
	return h*60 + m, nil
}

// Format writes a span.
func Format(s span.Span) string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", s.Start/60, s.Start%60, s.End/60, s.End%60)
}

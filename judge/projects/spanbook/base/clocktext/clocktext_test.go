package clocktext_test

import (
	"testing"

	"example.test/spanbook/clocktext"
	"example.test/spanbook/internal/checktest"
	"example.test/spanbook/span"
)

func TestParse(t *testing.T) {
	got, err := clocktext.Parse("09:30-11:00")
	checktest.NoError(t, err)
	checktest.Equal(t, got, span.Span{Start: 570, End: 660})
}

func TestParseMidnight(t *testing.T) {
	got, err := clocktext.Parse("22:00 - 24:00")
	checktest.NoError(t, err)
	checktest.Equal(t, got.Minutes(), 120)
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "0930-1100", "09:30", "09:75-11:00", "23:00-24:01", "11:00-09:00", "10:00-10:00", "9:5-10:00"} {
		t.Run(text, func(t *testing.T) {
			_, err := clocktext.Parse(text)
			checktest.HasError(t, err)
		})
	}
}

func TestFormatRoundTrip(t *testing.T) {
	for _, text := range []string{"00:00-24:00", "09:05-09:06", "13:00-17:45"} {
		s, err := clocktext.Parse(text)
		checktest.NoError(t, err)
		checktest.Equal(t, clocktext.Format(s), text)
	}
}

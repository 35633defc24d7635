package book

import (
	"strings"
	"testing"
	"time"

	"example.test/spanbook/clocktext"
	"example.test/spanbook/internal/checktest"
	"example.test/spanbook/span"
)

func TestConflicts(t *testing.T) {
	for _, c := range checktest.Cases(t, "testdata/conflicts.txt") {
		t.Run(c.Name, func(t *testing.T) {
			bookings, err := Read(strings.NewReader(c.Input))
			checktest.NoError(t, err)
			var got []string
			for _, x := range Conflicts(bookings) {
				got = append(got, x.First.Who+" and "+x.Second.Who)
			}
			checktest.Equal(t, strings.Join(got, "\n"), c.Want)
		})
	}
}

func TestFree(t *testing.T) {
	for _, c := range checktest.Cases(t, "testdata/free.txt") {
		t.Run(c.Name, func(t *testing.T) {
			bookings, err := Read(strings.NewReader(c.Input))
			checktest.NoError(t, err)
			var got []string
			for _, s := range Free(bookings, "blue", span.Span{Start: 8 * 60, End: 18 * 60}) {
				got = append(got, clocktext.Format(s))
			}
			checktest.Equal(t, strings.Join(got, "\n"), c.Want)
		})
	}
}

func TestReadNamesTheLine(t *testing.T) {
	_, err := Read(strings.NewReader("# plan\n\nblue 09:00 ann\n"))
	checktest.HasError(t, err)
	checktest.Equal(t, strings.HasPrefix(err.Error(), "line 3:"), true)
}

func TestManyBookingsAreQuick(t *testing.T) {
	var many []Booking
	for i := 0; i < 2000; i++ {
		at := i % (span.Day - 1)
		many = append(many, Booking{"blue", span.Span{Start: at, End: at + 1}, "x"})
	}
	start := time.Now()
	Conflicts(many)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

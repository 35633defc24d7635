// Command hiddencheck looks at the library from outside of any test.
package main

import (
	"fmt"
	"reflect"
	"strings"

	"example.test/spanbook/book"
	"example.test/spanbook/clocktext"
	"example.test/spanbook/span"
)

var good, all int

func check(name string, got, want any) {
	all++
	if fmt.Sprint(got) == fmt.Sprint(want) && (got == nil || reflect.TypeOf(got) == reflect.TypeOf(want)) {
		good++
		return
	}
	fmt.Printf("%s: got %v, want %v\n", name, got, want)
}

func main() {
	overlaps := func(a, b, c, d int) bool { return span.Span{Start: a, End: b}.Overlaps(span.Span{Start: c, End: d}) }
	check("touch", overlaps(100, 131, 131, 140), false)
	check("touch other way", overlaps(131, 140, 100, 131), false)
	check("one minute", overlaps(100, 132, 131, 140), true)
	check("same", overlaps(7, 9, 7, 9), true)
	check("inside", overlaps(7, 90, 70, 71), true)
	check("outside", overlaps(70, 71, 7, 90), true)
	check("empty", overlaps(70, 70, 7, 90), false)
	check("apart", overlaps(1, 2, 7, 90), false)
	s := func(a, b int) span.Span { return span.Span{Start: a, End: b} }
	check("contained", span.Merge([]span.Span{s(3, 77), s(4, 5), s(6, 9)}), []span.Span{s(3, 77)})
	check("two contained", span.Merge([]span.Span{s(100, 200), s(3, 77), s(4, 5), s(101, 102), s(300, 301)}),
		[]span.Span{s(3, 77), s(100, 200), s(300, 301)})
	check("touching", span.Merge([]span.Span{s(3, 7), s(7, 9)}), []span.Span{s(3, 9)})
	check("apart", span.Merge([]span.Span{s(8, 9), s(3, 7)}), []span.Span{s(3, 7), s(8, 9)})
	given := []span.Span{s(8, 9), s(3, 7)}
	span.Merge(given)
	check("given is as it was", given, []span.Span{s(8, 9), s(3, 7)})
	check("gaps", span.Gaps(s(0, 50), []span.Span{s(1, 40), s(2, 3)}), []span.Span{s(0, 1), s(40, 50)})
	for _, text := range []string{"09:60-11:00", "08:99-11:00", "10:00-10:61", "25:00-26:00", "24:30-24:40", "12:00-12:00",
		"12:30-12:00", "a:00-12:00", "-1:00-12:00", "12:00"} {
		_, err := clocktext.Parse(text)
		check(text, err != nil, true)
	}
	_, err := clocktext.Parse("00:59-23:59")
	check("59", err, error(nil))
	bookings, err := book.Read(strings.NewReader("g 09:10-10:10 a\ng 10:10-11:00 b\ng 10:59-12:00 c\nh 09:00-12:00 d\n"))
	check("read", err, error(nil))
	conflicts := book.Conflicts(bookings)
	check("conflicts", len(conflicts) == 1 && conflicts[0].First.Who == "b" && conflicts[0].Second.Who == "c", true)
	fmt.Printf("%d of %d\n", good, all)
}

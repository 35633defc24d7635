// Package book reads bookings, one per line: room, span, who.
package book

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"example.test/spanbook/clocktext"
	"example.test/spanbook/span"
)

// A Booking is a room for a span.
type Booking struct {
	Room string
	When span.Span
	Who  string
}

// Read reads bookings. Empty lines and lines with # are left out.
func Read(r io.Reader) ([]Booking, error) {
	var out []Booking
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d: want room, span and who", n)
		}
		when, err := clocktext.Parse(words[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, Booking{words[0], when, words[2]})
	}
	return out, lines.Err()
}

// A Conflict is two bookings of one room at one time.
type Conflict struct {
	First, Second Booking
}

// Conflicts returns the pairs that cannot both be held, in the order of the file.
func Conflicts(bookings []Booking) []Conflict {
	var out []Conflict
	for i, a := range bookings {
		for _, b := range bookings[i+1:] {
			if a.Room == b.Room && a.When.Overlaps(b.When) {
				out = append(out, Conflict{a, b})
			}
		}
	}
	return out
}

// Free returns the free spans of room within hours.
func Free(bookings []Booking, room string, hours span.Span) []span.Span {
	var taken []span.Span
	for _, b := range bookings {
		if b.Room == room {
			taken = append(taken, b.When)
		}
	}
	return span.Gaps(hours, taken)
}

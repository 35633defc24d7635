// Package convert converts values between units.
package convert

import (
	"fmt"
	"strconv"
	"strings"

	"example.test/wireunits/units"
)

// Value converts value from one unit to another of the same kind.
func Value(value float64, from, to string) (float64, error) {
	a, err := units.Find(from)
	if err != nil {
		return 0, err
	}
	b, err := units.Find(to)
	if err != nil {
		return 0, err
	}
	if a.Kind != b.Kind {
		return 0, fmt.Errorf("%s is a %s and %s a %s", from, a.Kind, to, b.Kind)
	}
	return (value*a.Factor + a.Offset - b.Offset) / b.Factor, nil
}

// Text converts a text like "3.5 km" to a unit and writes it with at most digits decimals.
func Text(text, to string, digits int) (string, error) {
	number, from, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		return "", fmt.Errorf("%q is not a number and a unit", text)
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return "", fmt.Errorf("%q is no number", number)
	}
	got, err := Value(value, strings.TrimSpace(from), to)
	if err != nil {
		return "", err
	}
	out := strconv.FormatFloat(got, 'f', digits, 64)
	if strings.Contains(out, ".") {
		out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	}
	if out == "-0" {
		out = "0"
	}
	return out + " " + to, nil
}

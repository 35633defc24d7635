// Package money holds amounts in cents.
package money

import (
	"fmt"
	"strconv"
	"strings"
)

// An Amount is a number of cents.
type Amount int64

// Parse reads 12, 12.3, 12.34 and -0.05.
func Parse(text string) (Amount, error) {
	digits := strings.TrimPrefix(text, "-")
	whole, cents, found := strings.Cut(digits, ".")
	if found && (len(cents) == 0 || len(cents) > 2) {
		return 0, fmt.Errorf("%q has not one or two digits of cents", text)
	}
	for len(cents) < 2 {
		cents += "0"
	}
	n, err := strconv.ParseUint(whole+cents, 10, 62)
	if err != nil || whole == "" {
		return 0, fmt.Errorf("%q is no amount", text)
	}
	if digits != text {
		return -Amount(n), nil
	}
	return Amount(n), nil
}

// String writes the amount with two digits of cents.
func (a Amount) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	return fmt.Sprintf("%s%d.%02d", sign, a/100, a%100)
}

// Percent returns tenths/10 percent of a, rounded half to even.
func (a Amount) Percent(tenths int64) Amount {
	product := int64(a) * tenths
	quotient, rest := product/1000, product%1000
	if rest < 0 {
		quotient, rest = quotient-1, rest+1000
	}
	if rest > 500 || rest == 500 && quotient%2 != 0 {
		quotient++
	}
	return Amount(quotient)
}

// Share divides a into n parts that differ by a cent at most and sum to a; the first ones are the larger.
func (a Amount) Share(n int) []Amount {
	out := make([]Amount, n)
	for i := range out {
		part := a / Amount(n-i)
		if a%Amount(n-i) > 0 {
			part++
		}
		out[i] = part
		a -= part
	}
	return out
}

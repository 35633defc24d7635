// Command hiddencheck looks at both modules from outside of any test.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.test/invoice"
	"example.test/money"
)

func must(name string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		fmt.Printf("%s: got %v, want %v\n", name, got, want)
		os.Exit(1)
	}
}

func main() {
	for _, text := range []string{"3.141", "2.", "0.0001", "x", "1.5.5", ".25"} {
		_, err := money.Parse(text)
		must(text, err != nil, true)
	}
	for text, want := range map[string]int64{"3.1": 310, "-3.14": -314, "70": 7000, "0.09": 9} {
		got, err := money.Parse(text)
		must(text, fmt.Sprint(int64(got), err), fmt.Sprint(want, nil))
	}
	for _, c := range [][3]int64{{250, 50, 12}, {350, 50, 18}, {10, 50, 0}, {30, 50, 2}, {70, 50, 4}, {1999, 190, 380}, {-350, 50, -18}, {1, 1000, 1}, {100, 5, 0}, {300, 5, 2}} {
		must(fmt.Sprint(c), int64(money.Amount(c[0]).Percent(c[1])), c[2])
	}
	must("share", money.Amount(1000).Share(7), "[1.43 1.43 1.43 1.43 1.43 1.43 1.42]")
	must("share of a few", money.Amount(2).Share(4), "[0.01 0.01 0.00 0.00]")
	must("share evenly", money.Amount(900).Share(3), "[3.00 3.00 3.00]")
	for text, want := range map[string]string{
		"7 9.99 19 pen\ndiscount 15\n":           "70.73",
		"1 100 20 a\n1 50 10 b\ndiscount 50\n":   "87.50",
		"1 100 20 a\n2 50 10 b\ndiscount 12.5\n": "201.25",
		"1 2.50 5 a\n":                           "2.62",
		"4 0.25 0 a b c\n":                       "1.00",
	} {
		in, err := invoice.Read(strings.NewReader(text))
		must(text, err, nil)
		must(text, in.Total(), want)
	}
	fmt.Println("all as it should be")
}

//go:build ignore

// Looks that every line of units.txt is in the generated table with its numbers, and at short texts.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"example.test/wireunits/convert"
)

func main() {
	for _, c := range [][3]string{{"20 m", "m", "20 m"}, {"1 km", "m", "1000 m"}, {"300 kg", "kg", "300 kg"}, {"7 mm", "m", "0 m"}, {"0 s", "h", "0 h"}} {
		if got, err := convert.Text(c[0], c[1], 0); err != nil || got != c[2] {
			fmt.Println(c, "got", got, err)
			os.Exit(1)
		}
	}
	text, _ := os.ReadFile("units.txt")
	code, _ := os.ReadFile("units/table_gen.go")
	lines := regexp.MustCompile(`Name: "([^"]+)", Kind: "([^"]+)", Factor: ([^,]+), Offset: ([^}]+)}`).FindAllStringSubmatch(string(code), -1)
	have := map[string]string{}
	for _, m := range lines {
		have[m[1]] = m[2] + number(m[3]) + number(m[4])
	}
	n := 0
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) != 4 || words[0] == "#" {
			continue
		}
		n++
		if have[words[0]] != words[1]+number(words[2])+number(words[3]) {
			fmt.Println("not fresh:", line)
			os.Exit(1)
		}
	}
	if n < 15 || n != len(have) {
		fmt.Println(n, "units in the text,", len(have), "in the table")
		os.Exit(1)
	}
}

func number(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	return fmt.Sprint(" ", f, err)
}

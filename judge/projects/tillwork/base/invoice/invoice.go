// Package invoice sums lines of an invoice, with discount and VAT.
package invoice

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"example.test/money"
)

// A Line is so many of one thing.
type Line struct {
	Text  string
	Count int64
	Price money.Amount
	VAT   int64 // tenths of a percent
}

// An Invoice has lines and a discount in tenths of a percent.
type Invoice struct {
	Lines    []Line
	Discount int64
}

// Read reads lines "count price vat text" and "discount percent".
func Read(r io.Reader) (Invoice, error) {
	var out Invoice
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		var err error
		switch {
		case len(words) == 0:
			continue
		case words[0] == "discount" && len(words) == 2:
			out.Discount, err = tenths(words[1])
		case len(words) >= 4:
			var line Line
			line, err = readLine(words)
			out.Lines = append(out.Lines, line)
		default:
			err = fmt.Errorf("want count, price, vat and text")
		}
		if err != nil {
			return Invoice{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return out, lines.Err()
}

func readLine(words []string) (Line, error) {
	count, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil || count < 1 {
		return Line{}, fmt.Errorf("count %q", words[0])
	}
	price, err := money.Parse(words[1])
	if err != nil {
		return Line{}, err
	}
	vat, err := tenths(words[2])
	return Line{strings.Join(words[3:], " "), count, price, vat}, err
}

func tenths(text string) (int64, error) {
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || f < 0 || f > 100 {
		return 0, fmt.Errorf("percent %q", text)
	}
	return int64(f*10 + 0.5), nil
}

// A Tax is what is due for one rate.
type Tax struct {
	Rate     int64
	Net, VAT money.Amount
}

// Taxes returns the sums for each rate, the lowest first. The discount is taken off before VAT.
func (i Invoice) Taxes() []Tax {
	nets := map[int64]money.Amount{}
	for _, line := range i.Lines {
		nets[line.VAT] += line.Price * money.Amount(line.Count)
	}
	var out []Tax
	for rate, net := range nets {
		net -= net.Percent(i.Discount)
		out = append(out, Tax{rate, net, net.Percent(rate)})
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Rate < out[b].Rate })
	return out
}

// Total is what is to be paid.
func (i Invoice) Total() money.Amount {
	var sum money.Amount
	for _, tax := range i.Taxes() {
		sum += tax.Net + tax.VAT
	}
	return sum
}

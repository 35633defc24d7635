// Command till prints the sums of the invoice on stdin.
package main

import (
	"fmt"
	"os"

	"example.test/invoice"
)

func main() {
	in, err := invoice.Read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "till:", err)
		os.Exit(1)
	}
	for _, tax := range in.Taxes() {
		fmt.Printf("%5.1f%% of %10s  %10s\n", float64(tax.Rate)/10, tax.Net, tax.VAT)
	}
	fmt.Printf("total     %21s\n", in.Total())
}

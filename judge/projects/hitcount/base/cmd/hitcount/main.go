// Command hitcount sums an access log.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"example.test/hitcount/access"
	"example.test/hitcount/report"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("hitcount", flag.ContinueOnError)
	flags.SetOutput(stderr)
	by := flags.String("by", "path", "path, status or hour")
	asJSON := flags.Bool("json", false, "print JSON")
	top := flags.Int("top", 0, "print at most so many rows")
	if flags.Parse(args) != nil {
		return 2
	}
	sum, err := report.New(*by)
	if err != nil {
		fmt.Fprintln(stderr, "hitcount:", err)
		return 2
	}
	bad := 0
	lines := bufio.NewScanner(stdin)
	for n := 1; lines.Scan(); n++ {
		hit, err := access.Parse(lines.Text())
		if err != nil {
			fmt.Fprintf(stderr, "hitcount: line %d: %v\n", n, err)
			bad++
			continue
		}
		sum.Add(hit)
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(stderr, "hitcount:", err)
		return 1
	}
	print := report.Table
	if *asJSON {
		print = report.JSON
	}
	if err := print(stdout, sum.Rows(*top)); err != nil {
		fmt.Fprintln(stderr, "hitcount:", err)
		return 1
	}
	if bad > 0 {
		return 1
	}
	return 0
}

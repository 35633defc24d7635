// Command units converts: units 3.5 km mi
package main

import (
	"fmt"
	"os"

	"example.test/wireunits/convert"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "use: units NUMBER UNIT UNIT")
		os.Exit(2)
	}
	out, err := convert.Text(os.Args[1]+" "+os.Args[2], os.Args[3], 6)
	if err != nil {
		fmt.Fprintln(os.Stderr, "units:", err)
		os.Exit(1)
	}
	fmt.Println(out)
}

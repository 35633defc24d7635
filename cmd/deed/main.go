// Command deed queues, runs, contains, gates and verifies the work of coding agents.
package main

import (
	"os"

	"github.com/deedrun/deed/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Environ(), cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// Command deed queues, runs, contains, gates and verifies the work of coding agents.
package main

import (
	"os"

	"github.com/deedrun/deed/internal/cli"
	"github.com/deedrun/deed/internal/sandbox"
	"github.com/deedrun/deed/internal/tool"
)

func main() {
	if sandbox.IsInner(os.Args) {
		os.Exit(sandbox.InnerMain(os.Args))
	}
	if tool.IsHost(os.Args) {
		os.Exit(tool.HostMain(os.Args))
	}
	os.Exit(cli.Main(os.Args[1:], os.Environ(), cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
